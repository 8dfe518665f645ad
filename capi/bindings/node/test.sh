#!/usr/bin/env bash
# Tests of the Node.js binding. DL4_LIBRARY names the library; 77 says that there is no Node.js, npm or koffi.
# "cost": what a call costs instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
skip() { echo "skipped: $1"; exit 77; }
command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null ||
  skip "no Node.js 18 with npm"

source=${DL4_SOURCE:-$(cd ../../.. && pwd)}
export DL4_LIBRARY=${DL4_LIBRARY:-$source/build/release/libdl4.so.1}
work=${DL4_BUILD:-$source/build/release}/bindings/node
mkdir -p "$work"
rm -rf "$work"/{lib,tests,examples}
cp -r package.json types.js README.md lib tests examples "$work"
cd "$work"
if [ ! -d node_modules/koffi ] || [ ! -d node_modules/typescript ]; then
  npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error || skip "no koffi from npm"
fi

[ "${1:-}" != cost ] || exec node tests/speed.js
node types.js lib/kinds.d.ts
node node_modules/typescript/bin/tsc --noEmit --strict --noUncheckedIndexedAccess --target es2022 --module nodenext \
  --lib es2022,dom tests/sample.ts
npm pack --dry-run --ignore-scripts --json | grep -q '"lib/kinds.d.ts"' || { echo "the package lacks its types"; exit 1; }
export DL4_CONFORMANCE=$source/capi/bindings/conformance.json DL4_FASHION=$source/tests/data/fashion-mnist
table=${DL4_BUILD:-$source/build/release}/capi/examples
if [ -e "$table/adult.keras" ]; then  # the test example/table has made it, where there is NumPy
  node examples/table.js "$table/adult.keras" <"$source/capi/examples/adult.csv" | diff - "$table/adult.txt"
fi
exec node --test tests/*.test.js
