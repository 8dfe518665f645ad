"""Tests of programs whose results TensorFlow and Keras gave."""

import unittest

import dl4 as tf
import dl4.keras as keras
import numpy as np

from programs import plain


def tests_of(programs, path):
    """A test for each program, that compares with the results in a file."""
    expected = {}
    with np.load(path) as f:
        for key in f.files:
            expected.setdefault(key.split("/")[0], []).append(f[key])

    class Programs(unittest.TestCase):
        maxDiff = None

        def same(self, name):
            wanted, got = expected[name], plain(programs[name](tf, keras))
            self.assertEqual(len(got), len(wanted), name)
            for i, (a, b) in enumerate(zip(got, wanted)):
                place = f"{name}, result {i}"
                self.assertEqual(a.shape, b.shape, place)
                if b.dtype.kind == "U":
                    self.assertEqual(a.tolist(), b.tolist(), place)
                else:
                    self.assertEqual(a.dtype.kind, b.dtype.kind, place)
                    np.testing.assert_allclose(a, b, 1e-4, 1e-4, err_msg=place)

    def test(name):
        return lambda self: self.same(name)

    for name in programs:
        setattr(Programs, f"test_{name}", test(name))
    return Programs
