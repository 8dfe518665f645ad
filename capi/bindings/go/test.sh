#!/usr/bin/env bash
# Tests of the Go module. DL4_LIBRARY names the library, DL4_SOURCE the sources, DL4_BUILD where products go; 77 says that
# there is no Go with cgo. "cost": what a call costs instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
skip() { echo "skipped: $1"; exit 77; }
for tool in go gcc pkg-config; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
minor=$(go env GOVERSION | sed -nE 's/^go1\.([0-9]+).*/\1/p')
[ "${minor:-0}" -ge 19 ] || skip "Go 1.19 or later is needed, found $(go env GOVERSION)"

source=${DL4_SOURCE:-$(cd ../../.. && pwd)}
out=${DL4_BUILD:?}/bindings/go
library=$(dirname "${DL4_LIBRARY:?}")
mkdir -p "$out"
cat >"$out/dl4.pc" <<END
Name: dl4
Description: the library as it was built
Version: 1
Cflags: -I$source/include
Libs: -L$library -ldl4
END
export PKG_CONFIG_PATH=$out LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GOCACHE=$out/cache
export GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=readonly DL4_SOURCE=$source

if [ "${1:-}" = cost ]; then
  exec go test -run - -bench . -benchtime 500x -count 200 .
fi
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "not as gofmt would have it: $unformatted"; exit 1; }
go vet ./...
race=
if [ "${DL4_FULL_TESTS:-}" ]; then  # a cold build of its runtime takes minutes
  race=-race
  go build -race -o "$out/race" ./examples/xor 2>"$out/race.log" || { echo "without the race detector: it does not link"; race=; }
fi
go test $race ./...
go build -o "$out" ./examples/...
"$out/xor"
"$out/fashion" "$source/tests/data/fashion-mnist" 1
table=$DL4_BUILD/capi/examples
if [ -e "$table/adult.keras" ]; then  # the test example/table has made it, where there is NumPy
  "$out/table" "$table/adult.keras" <"$source/capi/examples/adult.csv" | diff - "$table/adult.txt"
fi
