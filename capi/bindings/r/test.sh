#!/usr/bin/env bash
# Tests of the R package. DL4_LIBRARY names the library, DL4_SOURCE the sources, DL4_BUILD where products go; 77 says
# that there is no R with jsonlite, or no make and C compiler with libffi.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source=${DL4_SOURCE:-$(cd ../../.. && pwd)}
out=${DL4_BUILD:?}/bindings/r
export DL4_LIBRARY=${DL4_LIBRARY:?} R_LIBS=$out/lib
skip() { echo "skipped: $1"; exit 77; }
command -v Rscript >/dev/null || skip "there is no R"
Rscript -e 'quit(status = !(getRversion() >= "4.1" && requireNamespace("jsonlite", quietly = TRUE)))' ||
  skip "no R 4.1 with jsonlite"
command -v make >/dev/null || skip "there is no make"
echo '#include <ffi.h>' | gcc -fsyntax-only -xc - 2>/dev/null || skip "no gcc with libffi"

rm -rf "$out"
mkdir -p "$out"/{lib,source}
cp -r DESCRIPTION NAMESPACE R src "$out/source"
R CMD INSTALL --no-docs -l "$out/lib" "$out/source" >"$out/install.log" 2>&1 || { cat "$out/install.log"; exit 1; }
if grep 'warning:' "$out/install.log"; then exit 1; fi
Rscript tests/conformance.R "$source/capi/bindings/conformance.json"
Rscript tests/tests.R
Rscript examples/xor.R
