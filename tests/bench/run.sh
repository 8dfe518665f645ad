#!/usr/bin/env bash
# Builds the bench, runs it and writes table.md and table.json (with a busy neighbour: busy.md and busy.json) into a
# folder (default build/bench/results). Other options go to dl4_bench; see README.md.
#   tests/bench/run.sh [--out FOLDER] [--busy] [--rows TEXT] [--threads N] [--rounds N] [--seconds S]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

out=build/bench/results name=table options=()
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift 2 ;;
    --busy) name=busy; options+=("$1"); shift ;;
    *) options+=("$1"); shift ;;
  esac
done

mkdir -p "$out"
if [ ! -f build/bench/CMakeCache.txt ]; then
  cmake --preset bench >"$out/configure.log" || { cat "$out/configure.log"; exit 1; }
fi
cmake --build build/bench --target dl4_bench

read -r load _ </proc/loadavg
echo "load average $load on $(nproc) cores"
if awk "BEGIN { exit !($load > 0.3) }"; then
  echo "warning: this machine is not idle; trust only large ratios, or wait" >&2
fi
build/bench/tests/bench/dl4_bench "${options[@]}" --markdown "$out/$name.md" --json "$out/$name.json"
echo "written: $out/$name.md, $out/$name.json"
