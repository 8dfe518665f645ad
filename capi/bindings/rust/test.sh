#!/usr/bin/env bash
# Tests of the Rust binding. DL4_LIBRARY names the library; 77 says that there is no cargo. "cost": what a call costs
# instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v cargo >/dev/null && command -v rustc >/dev/null || { echo "skipped: no cargo and rustc"; exit 77; }
export CARGO_TARGET_DIR=${DL4_BUILD:-$PWD/target}/bindings/rust
# Programs that cargo starts find the library by themselves, examples in the documentation do not.
LD_LIBRARY_PATH=$(dirname "$DL4_LIBRARY")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
[ "${1:-}" != cost ] || exec cargo run --release --offline --quiet --example overhead
# Modules use each other without a circle; tsort names one.
(cd dl4/src && for f in *.rs; do sed -nE "s/^use crate::([a-z_]+).*/${f%.rs} \1/p" "$f"; done) | tsort >/dev/null
cargo test --offline --quiet
cargo run --offline --quiet --example xor
cargo run --offline --quiet --example fashion -- "${DL4_SOURCE:-../../..}/tests/data/fashion-mnist"
