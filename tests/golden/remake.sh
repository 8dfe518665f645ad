#!/bin/sh
# Makes the goldens again and compares; 77 where the Keras of requirements.txt is not installed.
# DL4_KERAS_PYTHON names the Python that has it.
python=${DL4_KERAS_PYTHON:-python3}
command -v "$python" > /dev/null || exit 77
"$python" "$(dirname "$0")/../../src/kinds/signatures.py" --check || exit
"$python" "$(dirname "$0")/configs.py" --check || exit
exec "$python" "$(dirname "$0")/make.py" --check
