#!/usr/bin/env bash
# Makes all that is released of a commit, in build/release-files: packages for the languages and for Debian, archives of
# the library, SHA256SUMS, and of each file what it contains of others (CycloneDX).
#   bash cmake/release.sh [PLATFORM...]   of tests/platforms: all that are released, or these and glibc, which describes
#                                         the library to the rest
# It needs Debian 12, whose glibc the packages are made for, and installs with apt what is missing. The tree must be
# clean, so that the files are those of a commit. Started again, it keeps the platforms that are finished of this commit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/packages.sh
out=build/release-files
known=(glibc full arm64 musl musl-arm64 windows wasm)
refuse() { echo "release.sh: $*" >&2; exit 1; }

# ---- What is refused before anything is built ------------------------------------------------------------------------

platforms=(glibc)
[ $# -gt 0 ] || set -- "${known[@]}"
for platform; do
  [[ " ${known[*]} " == *" $platform "* ]] || refuse "unknown platform \"$platform\", expected of: ${known[*]}"
  [[ " ${platforms[*]} " == *" $platform "* ]] || platforms+=("$platform")
done

command -v git >/dev/null || refuse "there is no git (Debian: git)"
changes=$(git status --porcelain) || refuse "this is no clone of the repository"
[ -z "$changes" ] || refuse "the tree is not clean, so no commit has these files:"$'\n'"$(head -5 <<<"$changes")"
version=$(project_version)
for tag in $(git tag --points-at HEAD); do
  [ "$tag" = "v$version" ] || refuse "the tag is $tag, the version in CMakeLists.txt $version: expected v$version"
done

# COMMAND:PACKAGE of Debian's
tools=(python3:python3 zip:zip unzip:unzip advzip:advancecomp npm:npm javac:default-jdk-headless)
missing=()
for tool in "${tools[@]}"; do command -v "${tool%:*}" >/dev/null || missing+=("${tool#*:}"); done
[ -e /usr/share/java/jna.jar ] || command -v mvn >/dev/null || missing+=(libjna-java) # what build.sh compiles with
[ ${#missing[@]} = 0 ] || installed "${missing[@]}"
for tool in "${tools[@]}"; do
  command -v "${tool%:*}" >/dev/null || refuse "there is no ${tool%:*} (Debian: ${tool#*:})"
done
for platform in "${platforms[@]}"; do
  bash tests/platforms/run.sh "$platform" tools || refuse "what $platform is built with cannot be installed"
done

# ---- Of each platform ------------------------------------------------------------------------------------------------

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -rf "$out"
mkdir -p "$out"
made=$(realpath "$out")
of() { [[ " ${platforms[*]} " == *" $1 "* ]]; }

# Lists what a file contains of others: bill FILE [PLATFORM | NAME]..., platforms whose library it has if that was made.
bill() {
  local content contents=() folder
  for content in "${@:2}"; do
    folder=build/platforms/$content
    if [[ " ${known[*]} " != *" $content "* ]]; then
      contents+=("$content")
    elif of "$content"; then
      contents+=("$folder/build:$(find "$folder/native" -name '*.so.1' -o -name '*.dll' -o -name '*.wasm')")
    fi
  done
  python3 capi/bindings/python/sbom.py "$out/$1" "$version" "${contents[@]}"
}

commit=$(git rev-parse HEAD)
for platform in "${platforms[@]}"; do
  finished=build/platforms/$platform/finished # the commit that it was made of
  if [ "$(cat "$finished" 2>/dev/null)" = "$commit" ]; then
    say "$platform is finished"
  else
    bash tests/platforms/run.sh "$platform" release
    echo "$commit" >"$finished"
  fi
  for file in build/platforms/"$platform"/made/*; do
    cp "$file" "$out"
    file=$(basename "$file")
    case $file in
      python3-dl4_* | *.whl) bill "$file" ;; # a wheel has its list inside
      dl4_*.deb) bill "$file" CLI11 nlohmann-json ;;
      *.deb) bill "$file" "build/platforms/glibc/build:build/platforms/glibc/build/libdl4.so.1" ;;
      *) bill "$file" "$platform" ;;
    esac
  done
done

# ---- Of each language ------------------------------------------------------------------------------------------------

export DL4_LIBRARY=$PWD/build/platforms/glibc/native/libdl4.so.1 # describes itself to what is generated of it
work=$PWD/build/platforms/languages
rm -rf "$work"
mkdir -p "$work"

source_of() { mkdir -p "$2" && git archive "HEAD:capi/bindings/$1" | tar -x -C "$2"; } # LANGUAGE FOLDER

# The libraries of those platforms that were made: natives FOLDER PLATFORM:NAME...
natives() {
  local pair
  for pair in "${@:2}"; do
    if of "${pair%:*}"; then
      mkdir -p "$1/${pair#*:}"
      cp build/platforms/"${pair%:*}"/native/* "$1/${pair#*:}"
    fi
  done
}

say "npm package"
source_of node "$work/npm"
natives "$work/npm/lib/native" glibc:linux-x64 arm64:linux-arm64 musl:linux-x64-musl musl-arm64:linux-arm64-musl \
  windows:win32-x64
if of wasm; then cp build/platforms/wasm/native/* "$work/npm/lib"; fi
(
  cd "$work/npm"
  # What the types are generated with.
  npm install --no-save --no-package-lock --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
  npm pack --loglevel=error --pack-destination "$made"
)
bill "dl4-$version.tgz" glibc arm64 musl musl-arm64 windows wasm

say "jar"
bash capi/bindings/java/build.sh "$work/java"
natives "$work/java/with/natives" glibc:linux-x86_64 arm64:linux-aarch64 windows:windows-x86_64
cp "$work/java/dl4.jar" "$out/dl4-$version.jar"
jar --update --file "$out/dl4-$version.jar" -C "$work/java/with" natives
cp capi/bindings/java/pom.xml "$out/dl4-$version.pom"
bill "dl4-$version.pom"
bill "dl4-$version.jar" glibc arm64 windows

say "crates"
for name in dl4-sys dl4; do # as cargo packages them, from 1.90 on both at once
  folder=$work/crates/$name-$version
  source_of "rust/$name" "$folder"
  rm -rf "$folder/tests"
  cp LICENSE "$folder"
  [ ! -L "$folder/dl4-api.json" ] || cp --remove-destination capi/dl4-api.json "$folder"
  sed -i 's/path = "[^"]*", //' "$folder/Cargo.toml"
  tar_of "$work/crates" "$name-$version" "$out/$name-$version.crate"
  bill "$name-$version.crate"
done

say "Go module"
module=dl4.invalid/dl4
folder=$work/go/$module/@v # as a proxy has it
mkdir -p "$folder"
source_of go "$work/module/$module@v$version"
cp LICENSE "$work/module/$module@v$version"
(cd "$work/module" && zip -qrX "$folder/v$version.zip" "$module@v$version")
cp capi/bindings/go/go.mod "$folder/v$version.mod"
echo "v$version" >"$folder/list"
echo "{\"Version\": \"v$version\"}" >"$folder/v$version.info"
(cd "$work/go" && zip -qrX "$made/dl4-go-$version.zip" "${module%%/*}")
bill "dl4-go-$version.zip"

say "R package"
source_of r "$work/r/dl4"
rm -r "$work"/r/dl4/{examples,tests,packages.txt,test.sh}
tar_of "$work/r" dl4 "$out/dl4_$version.tar.gz"
bill "dl4_$version.tar.gz"

(cd "$out" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
say "$out: $(git log -1 --format=%h), platforms ${platforms[*]}"
(cd "$out" && stat -c '%s %n' -- * | grep -v 'cdx.json$' | numfmt --to=iec --padding=6)
