#!/usr/bin/env bash
# Tests of the Java library. DL4_LIBRARY names the library, DL4_SOURCE the sources, DL4_BUILD where products go; 77 says
# that there is no JDK or no JNA. "cost": what a call costs instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source=${DL4_SOURCE:-$(cd ../../.. && pwd)}
out=${DL4_BUILD:?}/bindings/java
export DL4_LIBRARY=${DL4_LIBRARY:?}
bash build.sh "$out"
mkdir -p "$out/tests"
javac --release 17 -cp "$out/dl4.jar:$out/jna.jar" -d "$out/tests" test/org/dl4/*.java
[ "${1:-}" != cost ] || exec java -cp "$out/dl4.jar:$out/tests" org.dl4.Cost
java -cp "$out/dl4.jar:$out/tests" org.dl4.Tests "$source" >"$out/tests.log" 2>&1 ||
  { tail -40 "$out/tests.log"; exit 1; }
tail -1 "$out/tests.log"
java -cp "$out/dl4.jar" examples/Xor.java
java -cp "$out/dl4.jar" examples/Fashion.java "$source/tests/data/fashion-mnist" 1
