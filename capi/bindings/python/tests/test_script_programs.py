"""Runs the programs of scripts/ on dl4 and compares with what TensorFlow and Keras gave."""

import pathlib
import unittest

from recorded_programs import tests_of
from script_programs import PROGRAMS

Programs = tests_of(PROGRAMS, pathlib.Path(__file__).parent / "scripts_expected.npz")

if __name__ == "__main__":
    unittest.main()
