"""Runs the programs of tf_programs.py on dl4 and compares with what TensorFlow and Keras gave."""

import json
import pathlib
import sys
import unittest

import dl4 as tf
from dl4.keras.preprocessing import image, text
from dl4.keras.src.backend import global_state

from recorded_programs import tests_of
from tf_programs import PROGRAMS

sys.modules.update({"dl4.keras._text": text, "dl4.keras._image": image})
Programs = tests_of(PROGRAMS, pathlib.Path(__file__).parent / "tf_expected.npz")


class Settings(unittest.TestCase):
    def test_threads(self):
        built = json.loads(global_state.context().describe(0))
        try:
            for set_threads in tf.config.set_threads, tf.config.threading.set_intra_op_parallelism_threads:
                set_threads(1)
                self.assertEqual(json.loads(global_state.context().describe(0))["threads"], 1)
                with self.assertRaisesRegex(ValueError, "threads"):
                    set_threads(-2)
        finally:
            tf.config.set_threads(0)
        self.assertEqual(json.loads(global_state.context().describe(0))["threads"], built["threads"])

    def test_what_is_not_honoured_is_refused(self):
        with self.assertRaisesRegex(NotImplementedError, "enable_check_numerics"):
            tf.debugging.enable_check_numerics()


if __name__ == "__main__":
    unittest.main()
