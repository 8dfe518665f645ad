"""Runs the programs of tf_programs.py on dl4 and compares with what TensorFlow and Keras gave."""

import pathlib
import sys
import unittest

from dl4.keras.preprocessing import image, text

from recorded_programs import tests_of
from tf_programs import PROGRAMS

sys.modules.update({"dl4.keras._text": text, "dl4.keras._image": image})
Programs = tests_of(PROGRAMS, pathlib.Path(__file__).parent / "tf_expected.npz")

if __name__ == "__main__":
    unittest.main()
