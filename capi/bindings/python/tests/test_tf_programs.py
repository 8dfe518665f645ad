"""Runs the programs of tf_programs.py on dl4 and compares with what TensorFlow and Keras gave."""

import pathlib
import sys
import unittest

import dl4 as tf
import dl4.keras as keras
import numpy as np
from dl4.keras.preprocessing import image, text

from tf_programs import plain, PROGRAMS

EXPECTED = pathlib.Path(__file__).parent / "tf_expected.npz"
sys.modules.update({"dl4.keras._text": text, "dl4.keras._image": image})


class Programs(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.expected = {}
        with np.load(EXPECTED) as f:
            for key in f.files:
                cls.expected.setdefault(key.split("/")[0], []).append(f[key])

    def same(self, name):
        wanted, got = self.expected[name], plain(PROGRAMS[name](tf, keras))
        self.assertEqual(len(got), len(wanted), name)
        for i, (a, b) in enumerate(zip(got, wanted)):
            place = f"{name}, result {i}"
            self.assertEqual(a.shape, b.shape, place)
            if b.dtype.kind == "U":
                self.assertEqual(a.tolist(), b.tolist(), place)
            else:
                self.assertEqual(a.dtype.kind, b.dtype.kind, place)
                np.testing.assert_allclose(a, b, 1e-4, 1e-4, err_msg=place)


def _test(name):
    return lambda self: self.same(name)


for _name in PROGRAMS:
    setattr(Programs, f"test_{_name}", _test(_name))


if __name__ == "__main__":
    unittest.main()
