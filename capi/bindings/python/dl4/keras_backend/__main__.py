"""python -m dl4.keras_backend script.py [arguments]: runs a program with Keras on libdl4."""

import runpy
import sys

if len(sys.argv) < 2:
    sys.exit("usage: python -m dl4.keras_backend script.py [arguments]")
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
