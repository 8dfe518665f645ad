#!/usr/bin/env bash
# What cmake/release.sh refuses, before it builds anything:   release.sh SOURCE
set -euo pipefail
source=${1:?usage: release.sh SOURCE}
git -C "$source" rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "skipped: no clone, or no git"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git() { command git -c safe.directory='*' -c user.name=test -c user.email=test@invalid -c advice.detachedHead=false "$@"; }
git clone -q --no-hardlinks "$source" "$work/clone"
cp "$source"/cmake/{release,packages}.sh "$work/clone/cmake"
cp "$source"/tests/platforms/*.sh "$work/clone/tests/platforms"
cd "$work/clone"
git add -A
git diff --cached --quiet || git commit -qm "as it is here"

# Of all tools those that the checks themselves call.
mkdir "$work/bin"
for tool in bash cat dirname dpkg-query env git grep head id sed; do
  ln -s "$(type -P "$tool")" "$work/bin"
done

refused() { # SENTENCE ARGUMENT...
  local said
  if said=$(PATH=${path:-$PATH} bash cmake/release.sh "${@:2}" 2>&1) || ! grep -qE -- "$1" <<<"$said" || [ -e build ]; then
    printf 'release.sh %s: expected "%s", got: %s\n' "${*:2}" "$1" "$said"
    exit 1
  fi
  head -1 <<<"$said"
}

refused 'unknown platform "winows", expected of: glibc full arm64' arm64 winows
path=$work/bin refused 'missing, and there is no apt to install it: .|there is no python3 .Debian: python3.' glibc
echo >>README.md
refused "the tree is not clean, so no commit has these files:" glibc
git checkout -q README.md
echo >stray
refused "\?\? stray"
rm stray
git tag v0.0.1
refused "the tag is v0.0.1, the version in CMakeLists.txt" glibc
