#!/usr/bin/env bash
# Makes dl4.jar in the folder given: build.sh FOLDER. Needs a JDK from 17 on, and JNA: Debian's libjna-java, the jar that
# DL4_JNA names, or, by Maven, the one of Maven Central. 77 says that one of them is missing.
set -euo pipefail
out=$(realpath -m "${1:?usage: build.sh FOLDER}")
cd "$(dirname "${BASH_SOURCE[0]}")"
skip() { echo "skipped: $1"; exit 77; }
for tool in javac jar java; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
version=$(javac -version 2>&1 | sed -nE 's/^javac ([0-9]+).*/\1/p')
[ "${version:-0}" -ge 17 ] || skip "a JDK from 17 on is needed, found $(javac -version 2>&1)"

mkdir -p "$out/classes"
jna=${DL4_JNA:-/usr/share/java/jna.jar}
if [ ! -e "$jna" ]; then
  jna=$out/jna.jar
  [ -e "$jna" ] || { command -v mvn >/dev/null && mvn -q -B dependency:copy -Dartifact=net.java.dev.jna:jna:5.14.0 \
    -DoutputDirectory="$out" -Dmdep.stripVersion=true; } || skip "there is neither libjna-java nor a way to Maven Central"
fi
[ "$jna" -ef "$out/jna.jar" ] || cp -L "$jna" "$out/jna.jar"
javac -Xlint:cast,deprecation,fallthrough,rawtypes,unchecked -Werror --release 17 -cp "$out/jna.jar" -d "$out/classes" \
  src/org/dl4/*.java
printf 'Automatic-Module-Name: org.dl4\nClass-Path: jna.jar\n' >"$out/manifest"
jar --create --file "$out/dl4.jar" --manifest "$out/manifest" -C "$out/classes" .
