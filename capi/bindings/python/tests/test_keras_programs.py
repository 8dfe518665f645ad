"""Programs that run on Keras and on dl4.keras unchanged, with equal results.

test_keras_programs.py keras   records what Keras 3.15.1 gives."""

import pathlib
import sys
import unittest
import warnings

import numpy as np

from keras_programs import PROGRAMS

EXPECTED = pathlib.Path(__file__).resolve().parent / "keras_programs" / "expected.npz"


def flat(value):
    """Arrays and texts of a nest, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flat(item)]
    return [value if isinstance(value, str) else np.asarray(value)]


def record():
    import keras

    results = {}
    for name, f in PROGRAMS.items():
        results.update((f"{name}/{i}", np.asarray(leaf)) for i, leaf in enumerate(flat(f(keras))))
    np.savez_compressed(EXPECTED, **results)


class Programs(unittest.TestCase):
    def same(self, name, wanted):
        import dl4.keras as keras

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = flat(PROGRAMS[name](keras))
        self.assertEqual(len(got), len(wanted))
        for i, (a, b) in enumerate(zip(got, wanted)):
            if b.dtype.kind in "US":
                self.assertEqual(str(a), str(b), f"result {i}")
            else:
                np.testing.assert_allclose(np.asarray(a, dtype=b.dtype), b, 1e-5, 1e-5, err_msg=f"result {i}")


def add_tests():
    expected = {}
    with np.load(EXPECTED) as file:
        for key in file.files:
            expected.setdefault(key.split("/")[0], []).append(file[key])
    assert set(expected) == set(PROGRAMS), set(expected) ^ set(PROGRAMS)
    for name, wanted in expected.items():
        setattr(Programs, f"test_{name}", lambda self, n=name, w=wanted: self.same(n, w))


if __name__ == "__main__":
    if sys.argv[1:] == ["keras"]:
        record()
    else:
        add_tests()
        unittest.main()
