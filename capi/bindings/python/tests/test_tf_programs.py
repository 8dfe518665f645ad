"""Runs the programs of tf_programs on dl4 and compares with what TensorFlow and Keras gave."""

import json
import pathlib
import sys
import tempfile
import unittest

import dl4 as tf
import dl4.keras as keras
import numpy as np
from dl4.keras.preprocessing import image, text
from dl4.keras.src.backend import global_state
from PIL import Image

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
        image = np.zeros((1, 4, 4, 3), "float32")
        for words, call in (
            ("enable_check_numerics", tf.debugging.enable_check_numerics),
            ("data_format", lambda: tf.nn.space_to_depth(image, 2, "NCHW")),
            ("data_format", lambda: tf.nn.depth_to_space(image, 2, "NCHW")),
            ("antialias", lambda: tf.image.resize_with_pad(image, 2, 2, antialias=True)),
            ("errors", lambda: tf.strings.unicode_split("a", "UTF-8", errors="strict")),
            ("encoding", lambda: tf.strings.unicode_decode("a", "UTF-16-BE")),
            ("encoding", lambda: tf.strings.unicode_encode([97], "UTF-32-BE")),
            ("summarize", lambda: tf.strings.format("{}", [1], summarize=-1)),
            ("back_prop", lambda: tf.map_fn(lambda x: x, image, back_prop=False)),
            ("ragged_rank", lambda: tf.ragged.constant([[1]], ragged_rank=2)),
            ("density_unit", lambda: tf.io.encode_jpeg(image[0].astype("uint8"), density_unit="cm")),
            ("overwrite_with_gradient", lambda: keras.layers.Layer().add_weight((1,), overwrite_with_gradient=True)),
            ("sparse", lambda: keras.layers.InputLayer((1,), sparse=True)),
        ):
            with self.subTest(words), self.assertRaisesRegex(NotImplementedError, words):
                call()

    def test_files(self):
        image = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype("uint8")
        sizes = [len(np.asarray(tf.io.encode_jpeg(image, quality=q), object).item()) for q in (20, 95)]
        self.assertLess(sizes[0] * 2, sizes[1])
        with tempfile.TemporaryDirectory() as folder:
            a, b = f"{folder}/a", f"{folder}/b"
            for path in a, b:
                tf.io.write_file(path, path)
            with self.assertRaises(tf.errors.AlreadyExistsError):
                tf.io.gfile.copy(a, b)
            tf.io.gfile.copy(a, b, overwrite=True)
            self.assertEqual(np.asarray(tf.io.read_file(b), object).item(), a.encode())
            frames = [Image.fromarray(np.full((2, 2, 3), v, "uint8")) for v in (0, 255)]
            frames[0].save(f"{folder}/two.gif", save_all=True, append_images=frames[1:])
            content = tf.io.read_file(f"{folder}/two.gif")
            self.assertEqual(tuple(tf.io.decode_image(content).shape), (2, 2, 2, 3))
            self.assertEqual(tuple(tf.io.decode_gif(content).shape), (2, 2, 2, 3))
            self.assertEqual(tuple(tf.io.decode_image(content, 3, expand_animations=False).shape), (2, 2, 3))


if __name__ == "__main__":
    unittest.main()
