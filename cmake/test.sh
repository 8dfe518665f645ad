#!/usr/bin/env bash
# The tests: installs what is missing, builds libdl4, and runs the fast set.
#   bash cmake/test.sh [--all] [CTEST ARGUMENT...]   with arguments they decide: -L slow for the slow set, -R conv for a
#   few; --all installs the toolchains of all bindings first, whose tests are otherwise skipped where one is missing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/packages.sh

toolchains=
if [ "${1:-}" = --all ]; then
  shift
  toolchains=$(cat capi/bindings/*/packages.txt)
fi
need $build_packages $test_packages $toolchains
want $tool_packages
unpack_openblas_variants
build all -DDL4_BUILD_EXAMPLES=ON -DDL4_BUILD_TESTS=ON -DDL4_STATIC=ON
if [ $# = 0 ]; then set -- -LE slow; fi
say "running ctest $*"
exec ctest --test-dir build/release --output-on-failure -j "$(nproc)" "$@"
