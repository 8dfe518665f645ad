#!/bin/sh
# openblas_variant.sh VARIANT FOLDER PROGRAM ARGUMENT...: runs a program of tests with that variant of OpenBLAS, unpacked
# in the folder or installed.
set -eu
variant=$1 folder=$2
shift 2
library=$(ls "$folder"/usr/lib/*/openblas-"$variant"/libopenblas.so.0 /usr/lib/*/openblas-"$variant"/libopenblas.so.0 \
  2>/dev/null | head -n 1)
if [ -z "$library" ]; then
  echo "skipped: there is no libopenblas0-$variant"
  exit 77
fi
LD_LIBRARY_PATH=$(dirname "$library") "$@" --gtest_brief=1
