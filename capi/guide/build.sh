#!/usr/bin/env bash
# Renders the guide into build/guide, with the C reference (Doxygen) and the Python reference (pdoc).
#   bash capi/guide/build.sh          open build/guide/index.html: pages and search work without a server
# It installs what it needs: the packages of requirements.txt into build/guide-tools and, as root with apt, Doxygen.
# The library comes from build/release, or from the file that DL4_LIBRARY names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=build/guide-tools out=build/guide
library=$(realpath "${DL4_LIBRARY:-build/release/libdl4.so.1}")
[ -e "$library" ] || { echo "$0: there is no $library: build the library first (bash cmake/demo.sh)"; exit 1; }

if ! command -v doxygen >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -y --no-install-recommends doxygen >/dev/null || { apt-get update && apt-get install -y doxygen; } >/dev/null
  else
    echo "$0: install doxygen first (Debian: apt-get install doxygen)"; exit 1
  fi
fi
if ! cmp -s capi/guide/requirements.txt "$tools/requirements.txt"; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check -r capi/guide/requirements.txt
  cp capi/guide/requirements.txt "$tools"
fi

NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build --quiet -f capi/guide/mkdocs.yml
rm -rf "$out/c" && doxygen capi/guide/Doxyfile
sed -i 's|C reference</div>|<a href="../index.html">The guide</a> / C reference</div>|' "$out"/c/*.html
DL4_LIBRARY=$library PYTHONPATH=capi/bindings/python PYTHONDONTWRITEBYTECODE=1 \
  "$tools/bin/python" capi/guide/python_reference.py "$out/python"
echo "open $out/index.html"
