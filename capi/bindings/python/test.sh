#!/usr/bin/env bash
# Tests of the Python binding. DL4_LIBRARY names the library; 77 says that there is no Python with NumPy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python=${DL4_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || { echo "skipped: no Python with NumPy"; exit 77; }
export PYTHONPATH=$PWD PYTHONDONTWRITEBYTECODE=1
"$python" tests/test_conformance.py
exec "$python" tests/test_dl4.py
