#!/usr/bin/env bash
# Builds the bench, runs it and writes table.md and table.json (--scaling: scaling.md and scaling.json; with a busy
# neighbour: busy.md and busy.json) into a folder (default build/bench/results). With --peers: libdl4 against other
# frameworks, peers.md and peers.json (peers_busy with --busy, peers_load with --load, peers_first with --first). Other options go to dl4_bench or to
# peers/run.py; see README.md.
#   tests/bench/run.sh [--out FOLDER] [--scaling | --busy] [--rows TEXT] [--threads N] [--rounds N] [--seconds S]
#   tests/bench/run.sh --peers [--python PYTHON]... [--only PEER,...] [--busy | --load | --first] [--page README] ...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

out=build/bench/results name=table peers= options=()
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift 2 ;;
    --peers) peers=yes; shift ;;
    --scaling|--busy) name=${1#--}; options+=("$1"); shift ;;
    *) options+=("$1"); shift ;;
  esac
done

mkdir -p "$out"
if [ ! -f build/bench/CMakeCache.txt ]; then
  cmake --preset bench >"$out/configure.log" || { cat "$out/configure.log"; exit 1; }
fi
cmake --build build/bench --target "$([ "$peers" ] && echo dl4_side || echo dl4_bench)"

read -r load _ </proc/loadavg
echo "load average $load on $(nproc) cores"
if awk "BEGIN { exit !($load > 0.3) }"; then
  echo "warning: this machine is not idle; trust only large ratios, or wait" >&2
fi
if [ "$peers" ]; then
  python3 tests/bench/peers/run.py --side build/bench/tests/bench/dl4_side --library build/bench/libdl4.so \
    --calls build/bench/tests/bench/libdl4_peer_calls.so --out "$out" "${options[@]}"
else
  build/bench/tests/bench/dl4_bench "${options[@]}" --markdown "$out/$name.md" --json "$out/$name.json"
  echo "written: $out/$name.md, $out/$name.json"
fi
