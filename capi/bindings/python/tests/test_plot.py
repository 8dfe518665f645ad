"""Pictures: what is drawn, and what is refused."""

import os
import pathlib
import shutil
import tempfile
import unittest

import numpy as np

import dl4.keras as keras

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    matplotlib = None


def model():
    x = keras.Input((6, 6, 1))
    y = keras.layers.Conv2D(4, 3, name="conv")(x)
    return keras.Model(x, keras.layers.Dense(2, name="head")(keras.layers.Flatten()(y)))


class PlotModel(unittest.TestCase):
    def test_dot_and_svg(self):
        with tempfile.TemporaryDirectory() as folder:
            path = keras.utils.plot_model(model(), os.path.join(folder, "m.dot"), show_layer_names=True)
            text = pathlib.Path(path).read_text()
            self.assertIn("digraph", text)
            self.assertIn("conv", text)
            if shutil.which("dot") is None:
                with self.assertRaisesRegex(ImportError, "Graphviz"):
                    keras.utils.plot_model(model(), os.path.join(folder, "m.svg"))
                return
            path = keras.utils.plot_model(model(), os.path.join(folder, "m.svg"))
            drawn = pathlib.Path(path).read_text()
            self.assertIn("<svg", drawn)

    def test_what_is_shown(self):
        text = keras.utils.model_to_dot(model())
        self.assertIn('[label="conv (Conv2D)"]', text)
        self.assertIn('[label="conv (Conv2D)\\n(None, 4, 4, 4)"]', keras.utils.model_to_dot(model(), show_shapes=True))
        with self.assertRaisesRegex(NotImplementedError, "subgraph"):
            keras.utils.model_to_dot(model(), subgraph=True)
        with self.assertRaisesRegex(NotImplementedError, "show_dtype"):
            keras.utils.plot_model(model(), show_dtype=True)


@unittest.skipUnless(matplotlib, "no matplotlib")
class Plot(unittest.TestCase):
    def setUp(self):
        from dl4 import plot

        self.plot = plot
        self.addCleanup(plt.close, "all")

    def test_learning_curves(self):
        m = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        m.compile("sgd", "mse", metrics=["mae"])
        x = np.ones((8, 3), "float32")
        h = m.fit(x, x[:, :1], epochs=4, verbose=0, validation_data=(x, x[:, :1]), validation_freq=2)
        ax = self.plot.learning_curves(h)
        self.assertEqual([line.get_label() for line in ax.lines], ["loss", "val_loss", "mae", "val_mae"])
        np.testing.assert_allclose(ax.lines[0].get_ydata(), h.history["loss"])
        self.assertEqual(list(ax.lines[1].get_xdata()), [2, 4])
        self.assertEqual(ax.lines[0].get_color(), ax.lines[1].get_color())
        with self.assertRaises(ValueError):
            self.plot.learning_curves(h, ["acc"])

    def test_attention(self):
        w = np.eye(3)[:, :2]
        ax = self.plot.attention(w, ["a", "b"], ["x", "y", "z"])
        np.testing.assert_array_equal(ax.images[0].get_array(), w)
        self.assertEqual([t.get_text() for t in ax.get_yticklabels()], ["x", "y", "z"])
        for wrong in (lambda: self.plot.attention(np.ones((2, 2, 2))), lambda: self.plot.attention(w, ["a"])):
            with self.assertRaises(ValueError):
                wrong()

    def test_maps_and_filters(self):
        m = model()
        part = keras.Model(m.inputs, m.get_layer("conv").output)
        maps = part.predict(np.ones((1, 6, 6, 1)), verbose=0)
        figure = self.plot.feature_maps(maps)
        self.assertEqual(len(figure.axes), 4)
        np.testing.assert_array_equal(figure.axes[2].images[0].get_array(), maps[0, ..., 2])
        self.assertEqual(len(self.plot.filters(m.get_layer("conv")).axes), 4)
        self.assertEqual(len(self.plot.filters(np.random.rand(3, 3, 5, 6)).axes), 6)
        for wrong in (lambda: self.plot.feature_maps(np.ones((2, 3))), lambda: self.plot.filters(np.ones((2, 3)))):
            with self.assertRaises(ValueError):
                wrong()

    def test_confusion_matrix(self):
        ax = self.plot.confusion_matrix([0, 1, 1, 2], np.eye(3)[[0, 1, 2, 2]], ["a", "b", "c"])
        np.testing.assert_array_equal(ax.images[0].get_array(), [[1, 0, 0], [0, 1, 1], [0, 0, 1]])
        self.assertEqual([t.get_text() for t in ax.texts], list("100011001"))
        with self.assertRaises(ValueError):
            self.plot.confusion_matrix([0, 1], [0])


if __name__ == "__main__":
    unittest.main()
