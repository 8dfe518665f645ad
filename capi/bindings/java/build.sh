#!/usr/bin/env bash
# Makes dl4.jar in the folder given: build.sh FOLDER. Needs a JDK from 17 on, and JNA: Debian's libjna-java, the jar that
# DL4_JNA names, or, by Maven, the one of Maven Central. 77 says that one of them is missing. A JDK from 22 on, in
# JAVA_HOME, the PATH or /usr/lib/jvm, adds the classes that call without JNA; FOLDER/jdk22 then leads to it.
set -euo pipefail
out=$(realpath -m "${1:?usage: build.sh FOLDER}")
cd "$(dirname "${BASH_SOURCE[0]}")"
skip() { echo "skipped: $1"; exit 77; }
for tool in javac jar java; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
version() { "$1/bin/javac" -version 2>/dev/null | sed -nE 's/^javac ([0-9]+).*/\1/p'; }
path=$(dirname "$(dirname "$(realpath "$(command -v javac)")")")
[ "0$(version "$path")" -ge 17 ] || skip "a JDK from 17 on is needed, found $(javac -version 2>&1)"

mkdir -p "$out"
rm -rf "$out"/{classes,src17,src22,classes22,jdk22}
for jdk in ${JAVA_HOME:+"$JAVA_HOME"} "$path" /usr/lib/jvm/*; do
  if [ "0$(version "$jdk")" -ge 22 ]; then ln -s "$jdk" "$out/jdk22"; break; fi
done
jna=${DL4_JNA:-/usr/share/java/jna.jar}
if [ ! -e "$jna" ]; then
  jna=$out/jna.jar
  [ -e "$jna" ] || { command -v mvn >/dev/null && mvn -q -B dependency:copy -Dartifact=net.java.dev.jna:jna:5.14.0 \
    -DoutputDirectory="$out" -Dmdep.stripVersion=true; } || skip "there is neither libjna-java nor a way to Maven Central"
fi
[ "$jna" -ef "$out/jna.jar" ] || cp -L "$jna" "$out/jna.jar"
lint="-Xlint:cast,deprecation,fallthrough,rawtypes,unchecked -Werror"
mkdir -p "$out/src17"
java MakeLib.java ../../dl4-api.json >"$out/src17/Lib.java"
javac $lint --release 17 -cp "$out/jna.jar" -d "$out/classes" "$out/src17/Lib.java" src/org/dl4/*.java
printf 'Automatic-Module-Name: org.dl4\nClass-Path: jna.jar\n' >"$out/manifest"
if [ -e "$out/jdk22" ]; then
  mkdir -p "$out/src22"
  "$out/jdk22/bin/java" MakeLib.java ../../dl4-api.json foreign >"$out/src22/Lib.java"
  "$out/jdk22/bin/javac" $lint --release 22 -cp "$out/classes" -d "$out/classes22" \
    "$out/src22/Lib.java" src22/org/dl4/*.java
  "$out/jdk22/bin/jar" --create --file "$out/dl4.jar" --manifest "$out/manifest" -C "$out/classes" . \
    --release 22 -C "$out/classes22" .
else
  echo "no JDK 22: the jar calls by JNA on every JDK"
  jar --create --file "$out/dl4.jar" --manifest "$out/manifest" -C "$out/classes" .
fi
