#!/usr/bin/env bash
# The demonstration: installs what is missing, builds libdl4 and the demonstration alone, and trains four networks on
# real images. `cmake --build build/release` then builds what is left: the command dl4, the other examples.
#   bash cmake/demo.sh [FOLDER]   FOLDER: the full Fashion-MNIST set; without it, the 10,000 images in tests/data
set -euo pipefail
data=
if [ $# -gt 0 ]; then data=$(cd "$1" && pwd); fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/packages.sh

need $build_packages
want $tool_packages
build four_layers -DDL4_BUILD_EXAMPLES=ON -DDL4_BUILD_TESTS=OFF
say "training dense, convolution, LSTM and attention on Fashion-MNIST${data:+ from $data}"
exec build/release/capi/examples/four_layers "${data:-tests/data/fashion-mnist}"
