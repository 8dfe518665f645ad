#!/bin/sh
# older_libraries.sh DL4_BENCH: with a library that takes the processor for an older one, the plans of the table's rows
# name none of its kernels.
set -eu
bench=$1
grep -qw avx2 /proc/cpuinfo || exit 77
wrong=0
check() { # VARIABLE=VALUE PREFIX
  found=$(env "$1" "$bench" --smoke --describe 2>/dev/null | grep -c "$2" || true)
  echo "$1: $found lines name a kernel $2..."
  [ "$found" = 0 ] || wrong=1
}
check OPENBLAS_CORETYPE=Prescott openblas_
check OPENBLAS_CORETYPE=Nehalem openblas_
check ONEDNN_MAX_CPU_ISA=SSE41 dnnl_
if grep -qw avx512f /proc/cpuinfo; then check OPENBLAS_CORETYPE=Haswell openblas_; fi
exit $wrong
