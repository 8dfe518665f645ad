"""The architectures of keras.applications against what Keras's are: application_models.py records them."""

import json
import os
import pathlib
import tempfile
import unittest
import unittest.mock
import urllib.error

import numpy as np

import application_models as models
import dl4.keras as keras

EXPECTED = json.loads(pathlib.Path(__file__).with_name("application_expected.json").read_text())


class Architectures(unittest.TestCase):
    def test_layers_names_and_weights_are_keras_s(self):
        for name, expected in EXPECTED["described"].items():
            with self.subTest(name):
                self.assertEqual(models.described(keras, name), expected)

    def test_equal_weights_give_equal_numbers(self):
        for title, expected in EXPECTED["computed"].items():
            with self.subTest(title):
                got = models.computed(keras, title)
                np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5 * max(map(abs, expected[:-1])))


SMALL = {"alpha": 0.25, "input_shape": (32, 32, 3)}


class Arguments(unittest.TestCase):
    def setUp(self):
        keras.backend.clear_session()

    def test_weights_of_a_file(self):
        make = keras.applications.MobileNet
        first = make(weights=None, include_top=False, **SMALL)
        models.fill(first)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.weights.h5")
            first.save_weights(path)
            second = make(weights=path, include_top=False, **SMALL)
        for a, b in zip(first.get_weights(), second.get_weights()):
            np.testing.assert_array_equal(a, b)

    def test_imagenet_s_weights_without_a_network(self):
        """The error says where the file has to be."""
        with tempfile.TemporaryDirectory() as home, unittest.mock.patch.dict(os.environ, {"KERAS_HOME": home}):
            with unittest.mock.patch("urllib.request.urlopen", side_effect=urllib.error.URLError("no network")):
                place = os.path.join(home, "models", "resnet50_weights_tf_dim_ordering_tf_kernels_notop.h5")
                with self.assertRaisesRegex(OSError, f"put the file at {place} .its hash is 4d473c1dd8becc"):
                    keras.applications.ResNet50(include_top=False, input_shape=(32, 32, 3))

    def test_what_is_refused(self):
        a = keras.applications
        for error, words, make in (
            (ValueError, "The `weights` argument should be either", lambda: a.VGG16(weights="nowhere.h5")),
            (ValueError, "`classes` should be 1000", lambda: a.VGG16(classes=3)),
            (ValueError, "Input size must be at least 71x71", lambda: a.Xception(weights=None, input_shape=(70, 71, 3))),
            (ValueError, "static `input_shape`", lambda: a.VGG19(weights=None, input_shape=(None, None, 3))),
            (ValueError, "a tuple of three integers", lambda: a.ResNet50(weights=None, input_shape=(32, 32))),
            (ValueError, "`pooling`: expected", lambda: a.MobileNet(weights=None, include_top=False, pooling="sum")),
            (ValueError, "expected a Keras tensor", lambda: a.MobileNet(weights=None, input_tensor=np.ones(3))),
            (ValueError, "alpha can be one of", lambda: a.MobileNet(alpha=0.3)),
            (ValueError, "depth multiplier must be 1", lambda: a.MobileNet(depth_multiplier=2)),
            (ValueError, "does not match weights variant", lambda: a.ConvNeXtTiny(name="mine")),
            (TypeError, "VGG16.. got an unexpected keyword argument 'depth'", lambda: a.VGG16(depth=3)),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                make()
        keras.backend.set_image_data_format("channels_first")
        try:
            for name in ("NASNetMobile", "ConvNeXtTiny", "DenseNet121"):
                with self.assertRaisesRegex(ValueError, "does not support the `channels_first`"):
                    getattr(a, name)(weights=None)
            m = a.MobileNetV2(weights=None, include_top=False, input_shape=(3, None, None))
            self.assertEqual(m.output_shape, (None, 1280, None, None))
        finally:
            keras.backend.set_image_data_format("channels_last")

    def test_input_tensor_and_name(self):
        x = keras.Input((40, 40, 4), name="mine")
        h = keras.layers.Conv2D(3, 2)(x)
        m = keras.applications.MobileNetV2(
            alpha=0.35, weights=None, include_top=False, input_tensor=h, pooling="avg", name="features"
        )
        self.assertEqual((m.name, m.input_names, m.output_shape), ("features", ["mine"], (None, 1280)))
        self.assertEqual(m.layers[1].name, "conv2d")

    def test_config(self):
        """With layers of the architecture's own too."""
        m = keras.applications.ConvNeXtTiny(weights=None, include_top=False, input_shape=(32, 32, 3))
        config = m.get_config()
        keras.backend.clear_session()
        again = keras.Model.from_config(config)
        self.assertEqual(models.digest(again), models.digest(m))


class Images(unittest.TestCase):
    def test_preparation(self):
        x = np.random.default_rng(0).integers(0, 256, (2, 4, 5, 3))
        means, deviations = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
        expected = {
            "vgg16": x[..., ::-1] - np.array([103.939, 116.779, 123.68]),
            "densenet": (x / 255 - means) / deviations,
            "xception": x / 127.5 - 1,
            "efficientnet": x,
        }
        for name, wanted in expected.items():
            prepare = getattr(keras.applications, name).preprocess_input
            np.testing.assert_allclose(prepare(x.copy()), wanted, 1e-5, 1e-5)
            first = prepare(np.moveaxis(x, -1, 1).copy(), data_format="channels_first")
            np.testing.assert_allclose(np.moveaxis(first, 1, -1), wanted, 1e-5, 1e-5)
            i = keras.Input((4, 5, 3))
            m = keras.Model(i, prepare(i) * 1.0)
            np.testing.assert_allclose(m(x.astype("float32")), wanted, 1e-5, 1e-5)
        floats = x.astype("float32")
        self.assertIs(keras.applications.imagenet_utils.preprocess_input(floats, mode="tf"), floats)
        with self.assertRaisesRegex(ValueError, "Expected mode to be one of"):
            keras.applications.imagenet_utils.preprocess_input(x, mode="other")
        with self.assertRaisesRegex(ValueError, "Expected data_format"):
            keras.applications.vgg19.preprocess_input(x, data_format="other")

    def test_names_of_classes(self):
        from dl4.keras.src.applications import imagenet_utils

        names = {str(i): [f"n{i}", f"class {i}"] for i in range(1000)}
        scores = np.zeros((1, 1000), "float32")
        scores[0, [7, 900]] = 0.25, 0.75
        with unittest.mock.patch.dict(imagenet_utils.CLASSES, names):
            got = keras.applications.resnet50.decode_predictions(scores, top=2)
        self.assertEqual(got, [[("n900", "class 900", 0.75), ("n7", "class 7", 0.25)]])
        with self.assertRaisesRegex(ValueError, "expects a batch of predictions"):
            keras.applications.vgg16.decode_predictions(scores[0])


if __name__ == "__main__":
    unittest.main()
