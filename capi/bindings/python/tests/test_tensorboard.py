"""What the callback TensorBoard writes, read as records; with the package `tensorboard` read by it too."""

import glob
import importlib.util
import os
import struct
import tempfile
import unittest

import numpy as np
from dl4 import keras, tf
from dl4.tf.records import _fields

layers = keras.layers
X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = X.sum(1, keepdims=True)


def read(folder):
    """(tag, step): the plugin and the bytes of the tensor's contents, of each value of the folder's files."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*"))):
        for record in tf.data.TFRecordDataset(path):
            parts = {key: value for key, _, value in _fields(bytes(record.numpy()))}
            for _, _, value in _fields(parts.get(5, b"")):
                one = {key: body for key, _, body in _fields(value)}
                tensor = {key: body for key, _, body in _fields(one[8])}
                plugin = {key: body for key, _, body in _fields(dict((k, v) for k, _, v in _fields(one[9]))[1])}
                found[one[1].decode(), parts[2]] = plugin[1].decode(), tensor.get(4, tensor.get(8))
    return found


def scalars(folder):
    return {k: struct.unpack("<f", body)[0] for k, (plugin, body) in read(folder).items() if plugin == "scalars"}


def model():
    m = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="first"), layers.Dense(1, use_bias=False)])
    m.compile(keras.optimizers.SGD(0.1), "mse")
    return m


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_summaries_by_hand(self):
        self.assertFalse(tf.summary.scalar("nobody", 1.0, step=0))
        writer = tf.summary.create_file_writer(os.path.join(self.folder, "mine"))
        with writer.as_default(step=4):
            self.assertTrue(tf.summary.scalar("score", np.float32(0.25)))
            self.assertTrue(tf.summary.scalar("score", tf.constant(0.75), step=5))
            self.assertTrue(tf.summary.histogram("weights", X, step=5))
            with self.assertRaisesRegex(ValueError, "Expected scalar shape"):
                tf.summary.scalar("score", X, step=6)
            with self.assertRaisesRegex(NotImplementedError, "`description`"):
                tf.summary.scalar("score", 1.0, step=6, description="of what")
        self.assertFalse(tf.summary.scalar("score", 1.0, step=7))
        with writer.as_default(), self.assertRaisesRegex(ValueError, "No step set"):
            tf.summary.scalar("score", 1.0)
        writer.close()
        self.assertEqual(scalars(f"{self.folder}/mine"), {("score", 4): 0.25, ("score", 5): 0.75})
        self.assertEqual(read(f"{self.folder}/mine")["weights", 5][0], "histograms")

    def fit(self, epochs=2, **options):
        m = model()
        callback = keras.callbacks.TensorBoard(self.folder, **options)
        data = (X, Y)
        past = m.fit(*data, batch_size=4, epochs=epochs, validation_data=data, callbacks=[callback], verbose=0)
        return m, past.history

    def test_logs_of_epochs_and_the_model(self):
        m, history = self.fit()
        train, validation = scalars(f"{self.folder}/train"), scalars(f"{self.folder}/validation")
        for epoch in range(2):
            self.assertAlmostEqual(train["epoch_loss", epoch], history["loss"][epoch], 6)
            self.assertAlmostEqual(train["epoch_learning_rate", epoch], 0.1, 6)
            self.assertAlmostEqual(validation["epoch_loss", epoch], history["val_loss"][epoch], 6)
            self.assertAlmostEqual(
                validation["evaluation_loss_vs_iterations", 2 * (epoch + 1)], history["val_loss"][epoch], 6
            )
        self.assertEqual(len(train), 4)
        self.assertEqual(len(validation), 4)
        self.assertEqual(read(f"{self.folder}/train")["keras", 0], ("graph_keras_model", m.to_json().encode()))

    def test_logs_of_batches(self):
        self.fit(update_freq=2, write_graph=False, write_steps_per_second=True)
        train = scalars(f"{self.folder}/train")
        self.assertEqual({step for tag, step in train if tag == "batch_loss"}, {2, 4})
        self.assertGreater(train["epoch_steps_per_second", 1], 0)
        self.assertGreater(train["batch_steps_per_second", 4], 0)
        self.assertNotIn(("keras", 0), read(f"{self.folder}/train"))

    def test_histograms(self):
        m, _ = self.fit(epochs=3, histogram_freq=2)
        found = {k: v for k, v in read(f"{self.folder}/train").items() if v[0] == "histograms"}
        paths = [w.path for w in m.weights]
        self.assertEqual(set(found), {(f"{path}/histogram", epoch) for path in paths for epoch in (0, 2)})
        buckets = np.frombuffer(found[f"{paths[0]}/histogram", 2][1], "<f8").reshape(30, 3)
        kernel = m.weights[0].numpy()
        self.assertEqual(buckets[:, 2].sum(), kernel.size)
        np.testing.assert_allclose([buckets[0, 0], buckets[-1, 1]], [kernel.min(), kernel.max()])
        counts, _ = np.histogram(kernel.astype("float64"), 30)
        np.testing.assert_array_equal(buckets[:, 2], counts)

    @unittest.skipUnless(importlib.util.find_spec("tensorboard"), "no package tensorboard")
    def test_tensorboard_reads_them(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.plugins.histogram.summary_v2 import histogram_pb
        from tensorboard.util.tensor_util import make_ndarray

        m, history = self.fit(histogram_freq=1)
        events = EventAccumulator(f"{self.folder}/train")
        events.Reload()
        losses = [float(make_ndarray(e.tensor_proto)) for e in events.Tensors("epoch_loss")]
        np.testing.assert_allclose(losses, history["loss"], 1e-6)
        self.assertEqual(make_ndarray(events.Tensors("keras")[0].tensor_proto).item(), m.to_json().encode())
        for w in m.weights:
            (wanted,) = histogram_pb("w", w.numpy()).value
            got = make_ndarray(events.Tensors(f"{w.path}/histogram")[-1].tensor_proto)
            np.testing.assert_allclose(got, make_ndarray(wanted.tensor), 1e-6, 1e-7)

    def test_refusals(self):
        given = {"write_images": True, "profile_batch": 2, "embeddings_freq": 1, "embeddings_metadata": "names.tsv"}
        for name, value in given.items():
            with self.assertRaisesRegex(NotImplementedError, f"TensorBoard: `{name}`: expected .*, got {value!r}"):
                keras.callbacks.TensorBoard(self.folder, **{name: value})
        with self.assertRaisesRegex(ValueError, "update_freq"):
            keras.callbacks.TensorBoard(self.folder, update_freq="often")


if __name__ == "__main__":
    unittest.main()
