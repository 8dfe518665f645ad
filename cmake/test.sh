#!/usr/bin/env bash
# The tests: installs what is missing, builds libdl4, and runs the fast set.
#   bash cmake/test.sh [CTEST ARGUMENT...]   with arguments they decide: -L slow for the slow set, -R conv for a few
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/packages.sh

need $build_packages libgtest-dev
build -DDL4_BUILD_EXAMPLES=ON -DDL4_BUILD_TESTS=ON
if [ $# = 0 ]; then set -- -LE slow; fi
say "running ctest $*"
exec ctest --test-dir build/release --output-on-failure -j "$(nproc)" "$@"
