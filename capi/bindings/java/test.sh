#!/usr/bin/env bash
# Tests of the Java library, by JNA and, if there is a JDK 22, by java.lang.foreign. DL4_LIBRARY names the library,
# DL4_SOURCE the sources, DL4_BUILD where products go; 77 says that there is no JDK or no JNA. "cost": what a call costs
# by JNA instead, "cost foreign": by java.lang.foreign.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source=${DL4_SOURCE:-$(cd ../../.. && pwd)}
out=${DL4_BUILD:?}/bindings/java
export DL4_LIBRARY=${DL4_LIBRARY:?}
bash build.sh "$out"
mkdir -p "$out/tests" "$out/alone"
javac --release 17 -cp "$out/dl4.jar:$out/jna.jar" -d "$out/tests" test/org/dl4/*.java
cp "$out/dl4.jar" "$out/alone"  # where there is no JNA
allowed=--enable-native-access=ALL-UNNAMED
jna() { java $allowed -Djdk.util.jar.enableMultiRelease=false -cp "$out/dl4.jar:$out/tests" "$@"; }
foreign() { "$out/jdk22/bin/java" $allowed -cp "$out/alone/dl4.jar:$out/tests" "$@"; }
ways=(jna)
if [ -e "$out/jdk22" ]; then ways+=(foreign); else echo "skipped: java.lang.foreign, no JDK 22"; fi

if [ "${1:-}" = cost ]; then
  [[ " ${ways[*]} " == *" ${2:-jna} "* ]] || exit 77
  "${2:-jna}" org.dl4.Cost
  exit
fi
for way in "${ways[@]}"; do
  echo "by $way:"
  "$way" org.dl4.Tests "$source" >"$out/tests.log" 2>&1 || { tail -40 "$out/tests.log"; exit 1; }
  tail -1 "$out/tests.log"
  "$way" examples/Xor.java
  "$way" examples/Fashion.java "$source/tests/data/fashion-mnist" 1
done
