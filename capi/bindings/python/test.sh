#!/usr/bin/env bash
# Tests of the Python binding. DL4_LIBRARY names the library; 77 says that there is no Python with NumPy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python=${DL4_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || { echo "skipped: no Python with NumPy"; exit 77; }
export PYTHONPATH=$PWD:$PWD/tests PYTHONDONTWRITEBYTECODE=1
failed=
for test in tests/test_*.py; do "$python" "$test" || failed+=" $test"; done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
# Calls once more by what is compiled for a wheel.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r dl4 "$copy"
if ! "$python" compiled.py "$copy/dl4"; then exit; fi
export PYTHONPATH=$copy:$PWD/tests
(cd "$copy" && "$python" -c 'from dl4 import _bound')
for test in tests/test_calls.py tests/test_handles.py; do "$python" "$test"; done
