"""Files of models: Keras's own, read; what is written here, read again."""

import json
import os
import pathlib
import tempfile
import unittest
import unittest.mock
import zipfile

import numpy as np

import dl4
import dl4.keras as keras
import keras_files
from dl4.keras.src.saving import hdf5, saving_lib

HERE = pathlib.Path(__file__).resolve().parent / "keras_files"
EXPECTED = np.load(HERE / "expected.npz")
layers = keras.layers


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-5, 1e-5)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Files(Folder):
    def setUp(self):
        super().setUp()
        keras_files.classes(keras)

    def test_keras_files_of_subclassed_models(self):
        m = keras.saving.load_model(HERE / "tagger.keras")
        self.assertEqual(type(m).__name__, "Tagger")
        close(m.predict(keras_files.TOKENS, verbose=0), EXPECTED["tagger"])
        m = keras_files.tagger(keras)
        m.load_weights(HERE / "tagger.weights.h5")
        close(m.predict(keras_files.TOKENS, verbose=0), EXPECTED["tagger"])

    def test_keras_files_of_nested_models_train_on(self):
        m = keras.saving.load_model(HERE / "nested.keras")
        self.assertEqual([layer.name for layer in m.get_layer("encoder").layers[:1]], ["conv2d"])
        close(m.predict(keras_files.IMAGES, verbose=0), EXPECTED["nested"])
        self.assertEqual(int(m.optimizer.iterations), 2)
        m.fit(keras_files.IMAGES, np.ones((5, 3)), batch_size=5, verbose=0, shuffle=False)
        close(m.predict(keras_files.IMAGES, verbose=0), EXPECTED["trained_on"])

    def test_operators_beside_models_are_keras_s(self):
        """Keras reads them, the library reads them, and models within stay models."""
        x = keras.Input((5,))
        inner = keras.Sequential([keras.Input((5,)), layers.Dense(5)], name="inner")
        y = 1.5 - (inner(x) + x) * 0.5
        m = keras.Model(x, layers.Dense(2)(keras.ops.maximum(y / (x**2 + 1.0), y)))
        m.save(self.folder / "m.keras")
        with zipfile.ZipFile(self.folder / "m.keras") as archive:
            written = json.loads(archive.read("config.json"))["config"]["layers"]
        operators = [item["class_name"] for item in written if item["module"] == "keras.src.ops.numpy"]
        self.assertEqual(sorted(operators), ["Add", "Add", "Divide", "Maximum", "Multiply", "Power", "Subtract"])
        data = np.linspace(-1, 1, 20).reshape(4, 5).astype("float32")
        again = keras.models.load_model(self.folder / "m.keras")
        self.assertIsInstance(again.get_layer("inner"), keras.Sequential)
        self.assertEqual([layer.name for layer in again.layers], [layer.name for layer in m.layers])
        close(again.predict(data, verbose=0), m.predict(data, verbose=0))
        native = dl4.Model.load(str(self.folder / "m.keras")).session()
        close(native.run([dl4.Tensor.of(data)])[0].numpy(), m.predict(data, verbose=0))
        whole = keras.Model(x, inner(x) + keras.ops.cast(keras.ops.cast(x, "int32") * 2, "float32"))
        whole.save(self.folder / "whole.keras")
        again = keras.models.load_model(self.folder / "whole.keras")
        close(again.predict(data, verbose=0), whole.predict(data, verbose=0))

    def test_what_is_written_is_in_keras_order(self):
        m = keras_files.tagger(keras)
        m.save_weights(self.folder / "m.weights.h5")
        mine, theirs = ((f / n).read_bytes() for f, n in ((self.folder, "m.weights.h5"), (HERE, "tagger.weights.h5")))
        mine, theirs = hdf5.Hdf5(mine), hdf5.Hdf5(theirs)
        self.assertEqual(mine.paths(), theirs.paths())
        self.assertEqual([mine.shape_of(p) for p in mine.paths()], [theirs.shape_of(p) for p in theirs.paths()])

    def test_models_keep_their_form(self):
        x = np.arange(12, dtype="float32").reshape(3, 4)
        sequential = keras.Sequential([keras.Input((4,)), layers.Dense(2)])
        sequential.compile("adam", "mse")
        sequential.fit(x, x[:, :2], verbose=0)
        sequential.save(self.folder / "m.keras")
        again = keras.models.load_model(self.folder / "m.keras")
        self.assertEqual((type(again), type(again.layers[0])), (keras.Sequential, layers.Dense))
        for _ in range(2):  # from the same state of the optimizer
            histories = [m.fit(x, x[:, :2], shuffle=False, verbose=0).history for m in (again, sequential)]
            self.assertEqual(*histories)
        inputs = {"a": keras.Input((4,)), "b": keras.Input((4,))}
        model = keras.Model(inputs, {"sum": layers.Add()([layers.Dense(2)(inputs["a"]), layers.Dense(2)(inputs["b"])])})
        model.save(self.folder / "m.keras")
        again = keras.models.load_model(self.folder / "m.keras")
        close(again.predict({"a": x, "b": -x}, verbose=0)["sum"], model.predict({"a": x, "b": -x}, verbose=0)["sum"])

    def test_a_file_names_functions_of_the_library_only(self):
        path = self.folder / "m.keras"
        x = keras.Input((8,))
        image = keras.ops.reshape(x, (-1, 2, 4))
        keras.Model(x, keras.ops.fft2((image, image))[0]).save(path)
        config = json.loads(zipfile.ZipFile(path).read("config.json"))
        known = next(v for v in config["config"]["layers"] if v["class_name"] == "NumPyOperation")
        known["config"]["function"] = "system"
        with self.assertRaisesRegex(ValueError, "no function 'system'"):
            keras.models.model_from_json(json.dumps(config))

    def test_round_trips(self):
        for model, x in (
            (keras_files.tagger(keras), keras_files.TOKENS),
            (keras_files.nested(keras), keras_files.IMAGES),
        ):
            expected = model.predict(x, verbose=0)
            model.save(self.folder / "m.keras")
            close(keras.saving.load_model(self.folder / "m.keras").predict(x, verbose=0), expected)
            model.save(self.folder / "m", zipped=False)
            close(keras.saving.load_model(self.folder / "m").predict(x, verbose=0), expected)
            with open(self.folder / "m.bin", "w+b") as file:
                keras.saving.save_model(model, file)
                close(keras.saving.load_model(file).predict(x, verbose=0), expected)

    def test_optimizers_go_on(self):
        x, y = keras_files.IMAGES, np.ones((5, 3))
        for optimizer in ("sgd", "adam", "rmsprop", "nadam", "adadelta", "ftrl"):
            model = keras_files.nested(keras)
            model.compile(optimizer, "mse")
            model.fit(x, y, verbose=0, shuffle=False)
            model.save(self.folder / "m.keras")
            again = keras.saving.load_model(self.folder / "m.keras")
            for m in (model, again):
                m.fit(x, y, epochs=2, verbose=0, shuffle=False)
            close(again.predict(x, verbose=0), model.predict(x, verbose=0))

    def test_shards_and_objects_to_skip(self):
        model = keras_files.tagger(keras)
        path = self.folder / "m.weights.json"
        model.save_weights(path, max_shard_size=1e-6)
        places = json.loads(path.read_text())["weight_map"]
        self.assertGreater(len({str(p) for p in places.values()}), 1)
        again = keras_files.tagger(keras)
        again.load_weights(path)
        close(again.predict(keras_files.TOKENS, verbose=0), model.predict(keras_files.TOKENS, verbose=0))
        with self.assertRaisesRegex(ValueError, "max_shard_size"):
            model.save_weights(path, max_shard_size=1e-9)
        kept = np.asarray(again.zz_last.kernel)
        other = keras_files.tagger(keras)
        keras.saving.save_weights(other, self.folder / "o.weights.h5")
        keras.saving.load_weights(again, self.folder / "o.weights.h5", objects_to_skip=[again.zz_last])
        close(again.zz_last.kernel, kept)
        close(again.words.embeddings, other.words.embeddings)

    def test_skip_mismatch(self):
        a = keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(2)])
        b = keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(5)])
        a.save_weights(self.folder / "a.weights.h5")
        kept = np.asarray(b.layers[1].kernel)
        with self.assertRaisesRegex(ValueError, r"dense|\(4, 5\)"):
            b.load_weights(self.folder / "a.weights.h5")
        with self.assertWarnsRegex(UserWarning, "could not be loaded"):
            b.load_weights(self.folder / "a.weights.h5", skip_mismatch=True)
        close(b.layers[0].kernel, a.layers[0].kernel)
        close(b.layers[1].kernel, kept)

    def test_what_is_written_by_hand(self):
        class Words(layers.Layer):
            told = None

            def call(self, x):
                return x * 2.0

            def save_own_variables(self, store):
                store["told"] = np.arange(3)

            def load_own_variables(self, store):
                self.told = store["told"]

            def save_assets(self, folder):
                pathlib.Path(folder, "words.txt").write_text("a b")

            def load_assets(self, folder):
                self.words = pathlib.Path(folder, "words.txt").read_text()

        model = keras.Sequential([keras.Input((3,)), Words()])
        model.save(self.folder / "m.keras")
        again = keras.saving.load_model(self.folder / "m.keras", custom_objects={"Words": Words})
        np.testing.assert_array_equal(again.layers[0].told, [0, 1, 2])
        self.assertEqual(again.layers[0].words, "a b")
        with self.assertRaisesRegex(TypeError, "Could not locate class 'Words'"):
            keras.saving.load_model(self.folder / "m.keras")

    def test_exports(self):
        model = keras.Sequential([keras.Input((3,)), layers.Dense(2), layers.ReLU()])
        x = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)
        for form in ("onnx", "safetensors"):
            model.export(self.folder / f"m.{form}", format=form, verbose=False)
            close(keras.saving.load_model(self.folder / f"m.{form}").predict(x, verbose=0), model.predict(x, verbose=0))
        for form in ("tf_saved_model", "openvino", "litert", "torch"):
            with self.assertRaisesRegex(NotImplementedError, f"format='{form}'"):
                model.export(self.folder / "m", format=form)
        with self.assertRaisesRegex(ValueError, "Unrecognized format=png"):
            model.export(self.folder / "m", format="png")
        with self.assertRaisesRegex(NotImplementedError, "opset_version"):
            model.export(self.folder / "m.onnx", format="onnx", opset_version=18)

    def test_clones_with_other_calls(self):
        def dropped(layer, *args, **kwargs):
            out = layer(*args, **kwargs)
            return layers.Dropout(0.5)(out) if isinstance(layer, layers.Dense) else out

        x = keras.Input((3,))
        model = keras.Model(x, layers.Dense(2)(layers.ReLU()(layers.Dense(4)(x))))
        clone = keras.models.clone_model(model, call_function=dropped)
        kinds = [type(layer).__name__ for layer in clone.layers]
        self.assertEqual(kinds, ["InputLayer", "Dense", "Dropout", "ReLU", "Dense", "Dropout"])
        with self.assertRaisesRegex(ValueError, "call_function"):
            keras.models.clone_model(keras.Sequential([layers.Dense(2)]), call_function=dropped)

    def test_bad_files(self):
        (self.folder / "m.keras").write_text("no zip")
        with self.assertRaisesRegex(ValueError, "accessible"):
            keras.saving.load_model(self.folder / "m.keras")
        with self.assertRaisesRegex(ValueError, "File format not supported"):
            keras.saving.load_model(self.folder / "m.pkl")
        data = (HERE / "tagger.weights.h5").read_bytes()
        for cut in (0, 7, 90, 600, len(data) // 2):
            with self.assertRaises((ValueError, NotImplementedError, IndexError)):
                file = hdf5.Hdf5(data[:cut])
                [file.read(p) for p in file.paths()]
        model = keras_files.tagger(keras)
        model.save(self.folder / "m.keras")
        with zipfile.ZipFile(self.folder / "n.keras", "w") as archive:
            with zipfile.ZipFile(self.folder / "m.keras") as given:
                archive.writestr("config.json", given.read("config.json"))
        with self.assertRaisesRegex(ValueError, "model.weights.h5"):
            keras.saving.load_model(self.folder / "n.keras")
        self.assertNotIn("tmp", "".join(os.listdir(self.folder)))

    def compiled(self):
        x = keras.Input((6,))
        h = layers.BatchNormalization()(layers.Dense(5, activation="relu", kernel_regularizer="l2")(x))
        m = keras.Model(x, layers.Dense(2)(layers.Add()([h, layers.Dense(5)(x)])))
        m.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
        m.fit(DATA, DATA[:, :2], epochs=2, batch_size=8, verbose=0, shuffle=False)
        return m

    def test_h5_of_keras_2s_form_trains_on(self):
        m, path = self.compiled(), self.folder / "model.h5"
        m.save(path)
        again = keras.models.load_model(path)
        self.assertEqual(again.predict(DATA, verbose=0).tolist(), m.predict(DATA, verbose=0).tolist())
        losses = [x.fit(DATA, DATA[:, :2], batch_size=8, verbose=0, shuffle=False).history["loss"] for x in (m, again)]
        self.assertEqual(*losses)
        self.assertEqual(int(again.optimizer.iterations), 6)
        m.save(path, include_optimizer=False)
        self.assertFalse(keras.models.load_model(path).compiled)
        self.assertRaises(ValueError, m.save, self.folder / "model.keras", include_optimizer=False)

    def test_h5_weights_go_by_order_or_by_name(self):
        m, path = self.compiled(), self.folder / "model.h5"
        m.save(path)
        other = self.compiled()
        other.load_weights(path)
        self.assertEqual(other.predict(DATA, verbose=0).tolist(), m.predict(DATA, verbose=0).tolist())
        some = keras.Sequential([keras.Input((6,)), layers.Dense(5, name=m.layers[1].name), layers.Dense(7)])
        last = some.layers[1].get_weights()
        some.load_weights(path, by_name=True)
        close(some.layers[0].kernel, m.layers[1].kernel)
        close(some.layers[1].get_weights()[0], last[0])
        self.assertRaisesRegex(ValueError, "Layer count mismatch", some.load_weights, path)
        some = keras.Sequential([keras.Input((6,)), layers.Dense(4, name=m.layers[1].name)])
        self.assertRaisesRegex(ValueError, "Weight count mismatch", some.load_weights, path, by_name=True)

    def test_h5_of_layers_and_losses_of_ones_own(self):
        @keras.saving.register_keras_serializable("h5")
        class Twice(layers.Layer):
            def build(self, shape):
                self.factor = self.add_weight(shape=(shape[-1],), initializer="ones", name="factor")

            def call(self, x):
                return 2 * x * self.factor

        @keras.saving.register_keras_serializable("h5")
        def far(y, p):
            return keras.ops.mean(keras.ops.abs(y - p), axis=-1)

        m = keras.Sequential([keras.Input((6,)), layers.Dense(3), Twice()])
        m.compile("sgd", far)
        m.fit(DATA, DATA[:, :3], verbose=0)
        path = self.folder / "model.h5"
        m.save(path)
        with self.assertWarnsRegex(UserWarning, "begins anew"):
            again = keras.models.load_model(path)
        close(again.predict(DATA, verbose=0), m.predict(DATA, verbose=0))
        close(again.evaluate(DATA, DATA[:, :3], verbose=0), m.evaluate(DATA, DATA[:, :3], verbose=0))

    def test_keras_h5_with_a_layer_of_ones_own(self):
        with self.assertWarnsRegex(UserWarning, "begins anew"):
            m = keras.models.load_model(HERE / "nested.h5")
        close(m.predict(keras_files.IMAGES, verbose=0), EXPECTED["nested"])
        self.assertEqual(type(m.optimizer).__name__, "Adam")
        other = keras_files.nested(keras)
        other.load_weights(HERE / "nested.h5")
        close(other.predict(keras_files.IMAGES, verbose=0), EXPECTED["nested"])

    def test_h5_has_long_texts_and_lists(self):
        names = [f"layer_{i}_{'n' * 200}" for i in range(600)]
        x = y = keras.Input((1,))
        for name in names:
            y = layers.Activation("relu", name=name)(y)
        m, path = keras.Model(x, y), self.folder / "long.h5"
        m.save(path)
        file = hdf5.Hdf5(path.read_bytes())
        self.assertEqual([n.decode() for n in file.texts("model_weights", "layer_names")][1:], names)
        self.assertGreater(len(file.texts("", "model_config")), 64512)

    def test_file_editor(self):
        x = keras.Input((2,))
        small = keras.Model(x, layers.Dense(3)(layers.Dense(3)(x)))
        large = keras.Model(x, layers.Dense(3)(layers.Dense(3)(layers.Dense(3)(x))))
        small.save(self.folder / "small.keras")
        editor = keras.saving.KerasFileEditor(self.folder / "small.keras")
        editor.summary()
        self.assertEqual(editor.compare(small)["status"], "success")
        self.assertEqual(editor.compare(large), {"status": "error", "error_count": 1, "match_count": 4})
        editor.add_object("layers/more", {"0": np.ones((3, 3))})
        editor.rename_object("more", "dense_2")
        editor.add_weights("layers/dense_2", {"1": np.ones(4)})
        self.assertEqual(editor.compare(large)["error_count"], 1)
        editor.delete_weight("dense_2", "1")
        editor.add_weights("dense_2", {"1": np.ones(3)})
        editor.save(self.folder / "large.weights.h5")
        large.load_weights(self.folder / "large.weights.h5")
        close(large.layers[-1].kernel, np.ones((3, 3)))
        close(large.layers[1].kernel, small.layers[1].kernel)
        editor.delete_object("dense_2")
        self.assertEqual(editor.compare(small)["status"], "success")
        self.assertRaises(ValueError, editor.save, "x.h5")
        self.assertRaises(ValueError, editor.delete_object, "none")
        self.assertRaises(ValueError, editor.add_object, "a/b", {})
        self.assertRaises(ValueError, keras.saving.KerasFileEditor, "model.h5")


class Untrusted(Folder):
    """Archives that say to be far more than they are; small limits stand for those of gigabytes."""

    def saved(self):
        x = keras.Input((4,))
        m = keras.Model({"x": x}, layers.Dense(3)(x))
        m.save(self.folder / "good.keras")
        return m

    def altered(self, **members):
        """The file with other members, compressed."""
        with zipfile.ZipFile(self.folder / "good.keras") as good:
            held = {name: good.read(name) for name in good.namelist()}
        with zipfile.ZipFile(self.folder / "bad.keras", "w") as bad:
            for name, data in held.items():
                if name not in members:
                    bad.writestr(name, data)
            for name, data in members.items():
                bad.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        return self.folder / "bad.keras"

    def test_members_that_expand(self):
        m, zeros = self.saved(), b" " * 200_000
        cases = (
            ("_ZIP_MEMBER_BOMB_FLOOR_BYTES", {"config.json": b'{"x": "' + zeros + b'"}'}, keras.models.load_model),
            ("_ZIP_MEMBER_BOMB_FLOOR_BYTES", {"model.weights.h5": zeros}, keras.models.load_model),
            ("_ZIP_MEMBER_BOMB_FLOOR_BYTES", {"model.weights.h5": zeros}, m.load_weights),
            ("_ZIP_EXTRACT_BOMB_FLOOR_BYTES", {"assets/more.bin": zeros}, keras.models.load_model),
        )
        for floor, members, load in cases:
            path = self.altered(**members)
            with unittest.mock.patch.object(saving_lib, floor, 64):
                with self.assertRaisesRegex(ValueError, "potential decompression bomb"):
                    load(path)
                keras.models.load_model(self.folder / "good.keras")
            if members == {"assets/more.bin": zeros}:
                keras.models.load_model(path)  # of that size it is none


class Optimizers(Folder):
    """Weights of a compiled model go with what its optimizer keeps."""

    def model(self, rate=0.001):
        m = keras.Sequential([keras.Input((3,)), layers.Dense(1, kernel_initializer="ones")])
        m.compile(keras.optimizers.Adam(rate), "mse")
        return m

    def test_one_that_has_trained_goes_on(self):
        m, path = self.model(), self.folder / "m.weights.h5"
        x, y = np.ones((4, 3)), np.zeros((4, 1))
        m.fit(x, y, epochs=2, verbose=0)
        m.save_weights(path)
        self.assertEqual(len(keras.tree.flatten(keras.saving.KerasFileEditor(path).weights_dict)), 8)
        other = self.model(0.5)
        other.fit(x, y, epochs=5, verbose=0)
        other.load_weights(path)
        self.assertEqual(int(other.optimizer.iterations), 2)
        m.fit(x, y, verbose=0), other.fit(x, y, verbose=0)
        close(m.get_weights()[0], other.get_weights()[0])

    def test_one_that_has_not_keeps_what_it_was_made_with(self):
        m, path = self.model(), self.folder / "m.weights.h5"
        m.fit(np.ones((4, 3)), np.zeros((4, 1)), verbose=0)
        m.save_weights(path)
        other = self.model(0.5)
        with self.assertWarnsRegex(UserWarning, "has 2 variables whereas the saved optimizer has 6 variables"):
            other.load_weights(path)
        close(m.get_weights()[0], other.get_weights()[0])
        self.assertEqual((int(other.optimizer.iterations), float(other.optimizer.learning_rate)), (0, 0.5))


class Nests(Folder):
    """Dictionaries of inputs and outputs stay, whoever reads the file: Python or the library."""

    def test_dicts_stay_dicts(self):
        inner = {
            "Dense": lambda: layers.Dense(2),
            "Bidirectional": lambda: layers.Bidirectional(layers.LSTM(1)),
            "TimeDistributed": lambda: layers.TimeDistributed(layers.Dense(2)),
            "RNN": lambda: layers.RNN(layers.GRUCell(2)),
            "SpectralNormalization": lambda: layers.SpectralNormalization(layers.Dense(2)),
            "operation": lambda: lambda x: keras.ops.mean(x, axis=1),
        }
        for name, make in inner.items():
            a, b = keras.Input((4, 3), name="a"), keras.Input((2,), name="b")
            y, z = make()(a), layers.Dense(2)(b)
            m = keras.Model({"q": a, "p": b}, {"z": z, "all": [y, {"only": z}]})
            x = {"q": DATA[:12].reshape(6, 4, 3), "p": DATA[:6, :2]}
            for suffix in (".keras", ".h5"):
                m.save(self.folder / f"m{suffix}")
                got = keras.models.load_model(self.folder / f"m{suffix}").predict(x, verbose=0)
                self.assertEqual(list(got), ["z", "all"], name + suffix)
                want = m.predict(x, verbose=0)
                close(got["z"], want["z"])
                close(got["all"][0], want["all"][0])
                close(got["all"][1]["only"], want["z"])


class OldFiles(Folder):
    DATA = pathlib.Path(__file__).resolve().parents[4] / "tests/io/data"

    def test_a_keras_2_archive_is_read_by_the_library(self):
        m = keras.models.load_model(self.DATA / "keras_2_nested.keras")
        core = dl4.Model.load(str(self.DATA / "keras_2_nested.keras"))
        x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
        for mine, want in zip(m.predict(x, verbose=0), core.session().run([dl4.Tensor.of(x)])):
            close(mine, want)

    def test_hdf5_under_the_name_of_an_archive(self):
        m = keras.Sequential([keras.Input((4,)), layers.Dense(3)])
        m.save(self.folder / "m.h5")
        os.rename(self.folder / "m.h5", self.folder / "m.keras")
        x = np.ones((2, 4), "float32")
        close(keras.models.load_model(self.folder / "m.keras").predict(x, verbose=0), m.predict(x, verbose=0))
        (self.folder / "m.keras").write_text("{}")
        with self.assertRaisesRegex(ValueError, "accessible `.keras` zip file"):
            keras.models.load_model(self.folder / "m.keras")


class Shared(Folder):
    def test_a_layer_that_another_stands_around_is_one(self):
        class Around(layers.Wrapper):
            def call(self, x):
                return self.layer(x)

        a, b, shared = keras.Input((2,)), keras.Input((2,)), layers.Dense(1)
        m = keras.Model([a, b], [shared(a), Around(shared)(b)])
        config = json.loads(json.dumps(keras.saving.serialize_keras_object(m), default=list))
        other = keras.saving.deserialize_keras_object(config, {"Around": Around})
        self.assertIs(other.layers[2], other.layers[3].layer)
        self.assertEqual(len(other.weights), 2)

    def test_the_form_of_keras_2_is_warned_of(self):
        m = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
        with self.assertLogs("absl", "WARNING") as seen:
            m.save(self.folder / "m.h5")
        self.assertIn("This file format is considered legacy", seen.output[0])

    def test_functions_that_are_losses_and_metrics_are_one(self):
        for name in ("kl_divergence", "mean_squared_error", "hinge"):
            self.assertIs(getattr(keras.losses, name), getattr(keras.metrics, name))


DATA = np.random.default_rng(3).normal(size=(16, 6)).astype("float32")


if __name__ == "__main__":
    unittest.main()
