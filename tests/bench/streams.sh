#!/usr/bin/env bash
# Streams against RTNeural's static models on the same weights, in interleaved rounds on one thread.
#   tests/bench/streams.sh RTNEURAL XSIMD [--rows TEXT] [--rounds N]   folders of the sources of both (no part of this one)
#   ... --chunk 4096                                                   so many steps a call; else one
#   tests/bench/streams.sh --spread                                    the spread of a step's time, 10^6 calls
#   tests/bench/streams.sh --whole                                     nets of which only ours is timed
#   tests/bench/streams.sh --many                                      10,000 streams in one call against a call for each
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

peers=()
if [ "${1:-}" ] && [ "${1#--}" = "$1" ]; then
  rtneural=$1 xsimd=$2 built=build/bench/rtneural
  shift 2
  mkdir -p "$built"
  # As its README asks for, and once more for the whole instruction set of this machine.
  build() {
    local name=$1
    shift
    c++ -std=c++17 -O3 -DNDEBUG -shared -fPIC -w -DRTNEURAL_NAMESPACE=RTNeural -DRTNEURAL_AVX_ENABLED=1 -I"$rtneural" \
      -I"$rtneural/modules/json" "$@" tests/bench/peers/rtneural.cpp -o "$built/$name.so"
    peers+=("$built/$name.so")
  }
  build xsimd_avx2 -mavx2 -mfma -DRTNEURAL_USE_XSIMD=1 -DRTNEURAL_DEFAULT_ALIGNMENT=32 -I"$xsimd/include"
  build xsimd_native -march=native -DRTNEURAL_USE_XSIMD=1 -DRTNEURAL_DEFAULT_ALIGNMENT=64 -I"$xsimd/include"
  build eigen -mavx2 -mfma -DRTNEURAL_USE_EIGEN=1 -DRTNEURAL_DEFAULT_ALIGNMENT=32 -DEIGEN_STACK_ALLOCATION_LIMIT=0 \
    -I"$rtneural/modules/Eigen"
fi

[ -f build/bench/CMakeCache.txt ] || cmake --preset bench >/dev/null
cmake --build build/bench --target dl4_streams >/dev/null
build/bench/tests/bench/dl4_streams ${peers[@]+"${peers[@]}"} "$@"
