"""Data and its preparation where no numbers of Keras's are needed: files, threads, chance, and what is refused."""

import hashlib
import io
import os
import pathlib
import sys
import tarfile
import tempfile
import threading
import time
import unittest
import warnings
import zipfile

import numpy as np

import dl4 as tf
import dl4.keras as keras

try:
    from PIL import Image
except ImportError:
    Image = None

R = np.random.RandomState(0)
IMAGES = R.uniform(0, 255, (4, 6, 8, 3)).astype("float32")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.environ["KERAS_HOME"] = str(self.folder / "home")
        self.addCleanup(os.environ.pop, "KERAS_HOME")

    def written(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def refused(self, kind, words, f):
        with self.assertRaisesRegex(kind, words):
            f()


class Files(Case):
    def test_a_file_is_fetched_once_and_checked(self):
        source = self.written("a.bin", b"content")
        good = hashlib.sha256(b"content").hexdigest()
        path = keras.utils.get_file(origin=source.as_uri(), file_hash=good)
        self.assertEqual(pathlib.Path(path).read_bytes(), b"content")
        self.assertTrue(path.startswith(str(self.folder / "home" / "datasets")))
        source.write_bytes(b"other")
        self.assertEqual(keras.utils.get_file(origin=source.as_uri(), file_hash=good), path)
        keras.utils.get_file(origin=source.as_uri(), force_download=True)
        self.assertEqual(pathlib.Path(path).read_bytes(), b"other")
        md5 = hashlib.md5(b"other").hexdigest()
        self.assertEqual(keras.utils.get_file("a.bin", source.as_uri(), md5_hash=md5), path)

    def test_what_does_not_arrive_whole_is_not_kept(self):
        source = self.written("b.bin", b"bad")
        with self.assertRaisesRegex(ValueError, "Incomplete or corrupted file detected"):
            keras.utils.get_file(origin=source.as_uri(), file_hash="0" * 64)
        with self.assertRaisesRegex(OSError, "URL fetch failure on .*put the file at .*none.bin"):
            keras.utils.get_file("none.bin", (self.folder / "none").as_uri())
        self.assertEqual(os.listdir(self.folder / "home" / "datasets"), [])

    def test_arguments_of_get_file(self):
        self.refused(ValueError, '"origin"', lambda: keras.utils.get_file("x"))
        self.refused(ValueError, "Paths are no longer accepted", lambda: keras.utils.get_file("a/b", "file:///x"))
        source = self.written("c.bin", b"x")
        for name, hashed in (("hash_algorithm", {"hash_algorithm": "sha1", "file_hash": "0"}),):
            self.refused(ValueError, name, lambda h=hashed: keras.utils.get_file("c", source.as_uri(), **h))

    def tar(self, *members):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as t:
            for name, kind, content in members:
                info = tarfile.TarInfo(name)
                info.type, info.size = kind, len(content) if kind == tarfile.REGTYPE else 0
                info.linkname = content.decode() if kind != tarfile.REGTYPE else ""
                t.addfile(info, io.BytesIO(content) if kind == tarfile.REGTYPE else None)
        return data.getvalue()

    def test_an_archive_stays_in_its_folder(self):
        plain = tarfile.REGTYPE
        source = self.written(
            "evil.tar",
            self.tar(
                ("in/side.txt", plain, b"fine"),
                ("../outside.txt", plain, b"bad"),
                (str(self.folder / "absolute.txt"), plain, b"bad"),
                ("link", tarfile.SYMTYPE, b"../../.."),
                ("link/through.txt", plain, b"bad"),
                ("hard", tarfile.LNKTYPE, b"../../etc/passwd"),
                ("pipe", tarfile.FIFOTYPE, b""),
            ),
        )
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            path = pathlib.Path(keras.utils.get_file("e.tar", source.as_uri(), extract=True))
        self.assertEqual((path / "in" / "side.txt").read_text(), "fine")
        self.assertGreaterEqual(sum("Skipping invalid path" in str(w.message) for w in told), 5)
        self.assertEqual(
            [p.name for p in self.folder.rglob("outside.txt")] + [p.name for p in self.folder.glob("abs*")], []
        )
        self.assertFalse((path / "link").is_symlink())

    def test_zip_archives(self):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as z:
            z.writestr("a/b.txt", "text")
            z.writestr("../c.txt", "bad")
        source = self.written("z.zip", data.getvalue())
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            path = pathlib.Path(keras.utils.get_file(origin=source.as_uri(), extract=True))
        self.assertEqual((path / "a" / "b.txt").read_text(), "text")
        self.assertEqual(len(list((self.folder / "home").rglob("c.txt"))), 0)
        with self.assertWarnsRegex(UserWarning, "Could not extract"):
            keras.utils.get_file("t.txt", self.written("t.txt", b"no archive").as_uri(), extract=True)

    def test_data_sets_of_the_cache(self):
        """Files that are there with the right hash are read: the hashes are replaced by those of small files."""
        from dl4.keras.src.datasets import housing, images, texts

        folder = self.folder / "home" / "datasets"
        folder.mkdir(parents=True)
        np.savez(folder / "mnist.npz", x_train=IMAGES, y_train=[1, 2, 3, 4], x_test=IMAGES[:1], y_test=[5])
        np.savez(folder / "boston_housing.npz", x=np.arange(20).reshape(10, 2), y=np.arange(10))
        ragged = np.empty(4, object)
        ragged[:] = [[1, 2, 3], [4], [5, 6], [1, 9]]
        np.savez(folder / "imdb.npz", x_train=ragged, y_train=[0, 1, 1, 0], x_test=ragged[:2], y_test=[1, 0])
        for module in (housing, images, texts):
            self.addCleanup(setattr, module, "fetched", module.fetched)
            module.fetched = lambda path, name, file_hash: str(folder / path)
        (x, y), (_, last) = keras.datasets.mnist.load_data()
        np.testing.assert_array_equal(x, IMAGES)
        self.assertEqual((y.tolist(), last.tolist()), ([1, 2, 3, 4], [5]))
        (x, y), (x2, y2) = keras.datasets.boston_housing.load_data(test_split=0.3)
        self.assertEqual((len(x), len(x2), sorted([*y, *y2])), (7, 3, list(range(10))))
        np.testing.assert_array_equal(x[:, 0], y * 2)
        (x, y), (x2, _) = keras.datasets.imdb.load_data(num_words=8)
        self.assertEqual(sorted(map(len, x)), [2, 3, 3, 4])
        self.assertTrue(all(t[0] == 1 and max(t) < 8 for t in [*x, *x2]))
        self.refused(ValueError, "no sequence was kept", lambda: keras.datasets.imdb.load_data(maxlen=1))
        self.refused(TypeError, "nb_words", lambda: keras.datasets.imdb.load_data(nb_words=1))
        self.refused(ValueError, "test_split", lambda: keras.datasets.boston_housing.load_data(test_split=1))
        self.assertEqual(len(keras.datasets.reuters.get_label_names()), 46)

    def test_pickles_of_data_sets_hold_arrays_alone(self):
        import pickle

        from dl4.keras.src.datasets.archives import ArraysAlone, arrays_of

        class Evil:
            def __reduce__(self):
                return os.system, ("echo bad",)

        self.refused(
            pickle.UnpicklingError,
            "Refusing to deserialize",
            lambda: ArraysAlone(io.BytesIO(pickle.dumps(Evil()))).load(),
        )
        ragged = np.empty(2, object)
        ragged[:] = [[1], [2, 3]]
        np.savez(self.folder / "r.npz", x=ragged)
        self.assertEqual(arrays_of(self.folder / "r.npz")["x"].tolist(), [[1], [2, 3]])

    def test_audio_directories(self):
        import wave

        for name in ("a", "b"):
            (self.folder / "audio" / name).mkdir(parents=True)
            with wave.open(str(self.folder / "audio" / name / "1.wav"), "wb") as f:
                f.setnchannels(1), f.setsampwidth(2), f.setframerate(8000)
                f.writeframes(np.array([0, 16384, -32768], "<i2").tobytes())
        make = keras.utils.audio_dataset_from_directory
        data = make(self.folder / "audio", output_sequence_length=5, shuffle=False, verbose=False)
        ((x, y),) = list(data)
        np.testing.assert_allclose(x[0, :, 0], [0, 0.5, -1, 0, 0])
        self.assertEqual(y.tolist(), [0, 1])
        for more in ({"ragged": True}, {"sampling_rate": 4000}):
            self.refused(NotImplementedError, next(iter(more)), lambda m=more: make(self.folder / "audio", **m))


@unittest.skipIf(Image is None, "no Pillow")
class Pictures(Case):
    def setUp(self):
        super().setUp()
        for i, name in enumerate(("cats", "dogs")):
            (self.folder / "pictures" / name).mkdir(parents=True)
            for j in range(3):
                Image.fromarray(np.full((6, 8, 3), 40 * (i * 3 + j), "uint8")).save(
                    self.folder / "pictures" / name / f"{j}.png"
                )
        self.top = self.folder / "pictures"

    def test_directories(self):
        make = keras.utils.image_dataset_from_directory
        data = make(self.top, image_size=(3, 4), batch_size=4, shuffle=False, verbose=False)
        batches = list(data)
        self.assertEqual([b[0].shape for b in batches], [(4, 3, 4, 3), (2, 3, 4, 3)])
        self.assertEqual([int(v) for b in batches for v in b[1]], [0, 0, 0, 1, 1, 1])
        np.testing.assert_allclose(np.concatenate([b[0] for b in batches])[:, 0, 0, 0], np.arange(6) * 40.0)
        self.assertEqual(
            (data.class_names, len(data.file_paths), str(batches[0][0].dtype)), (["cats", "dogs"], 6, "float32")
        )
        gray = make(self.top, color_mode="grayscale", label_mode="binary", image_size=(3, 4), verbose=False, seed=1)
        x, y = next(iter(gray))
        self.assertEqual((x.shape, y.shape), ((6, 3, 4, 1), (6, 1)))
        padded = make(self.top, labels=None, image_size=(8, 8), pad_to_aspect_ratio=True, shuffle=False, verbose=False)
        image = np.asarray(next(iter(padded)))[5]
        self.assertEqual((image[0, 0, 0], image[4, 4, 0]), (0, 200))
        first = make(self.top, labels=None, image_size=(3, 4), data_format="channels_first", verbose=False)
        self.assertEqual(next(iter(first)).shape, (6, 3, 3, 4))
        cropped = make(self.top, image_size=(4, 4), crop_to_aspect_ratio=True, batch_size=None, verbose=False)
        self.assertEqual(next(iter(cropped))[0].shape, (4, 4, 3))

    def test_refusals(self):
        make = keras.utils.image_dataset_from_directory
        for words, more in (
            ("color_mode", {"color_mode": "x"}),
            ("image_size", {"image_size": (1, 2, 3)}),
            ("interpolation", {"interpolation": "x"}),
            ("interpolation", {"interpolation": "area"}),
            ("grain", {"format": "grain"}),
            ("Only one of", {"crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True}),
            ("exactly 2", {"label_mode": "binary", "class_names": ["cats"]}),
            ("did not match", {"class_names": ["cows"]}),
        ):
            self.refused((ValueError, NotImplementedError), words, lambda m=more: make(self.top, verbose=False, **m))

    def test_images_of_files(self):
        k = keras.utils
        image = k.load_img(self.top / "dogs" / "2.png", target_size=(3, 4), color_mode="rgb")
        x = k.img_to_array(image)
        self.assertEqual((x.shape, x[0, 0, 0], str(x.dtype)), ((3, 4, 3), 200.0, "float32"))
        k.save_img(self.folder / "saved.png", x, scale=False)
        np.testing.assert_array_equal(k.img_to_array(k.load_img(self.folder / "saved.png")), x)
        self.assertEqual(k.img_to_array(k.array_to_img(IMAGES[0])).shape, (6, 8, 3))
        self.assertEqual(k.load_img(self.top / "dogs" / "2.png", "grayscale").mode, "L")
        self.refused(ValueError, "color_mode", lambda: k.load_img(self.top / "dogs" / "2.png", "x"))
        self.refused(ValueError, "rank 3", lambda: k.array_to_img(IMAGES))
        self.assertEqual(keras.preprocessing.image.smart_resize(IMAGES[0], (4, 4)).shape, (4, 4, 3))

    def test_decoding(self):
        content = tf.io.read_file(str(self.top / "dogs" / "1.png"))
        x = tf.io.decode_png(content, channels=3)
        self.assertEqual((x.shape, int(x[0, 0, 0]), x.dtype), ((6, 8, 3), 160, tf.uint8))
        self.assertEqual(tf.image.decode_jpeg(content, channels=1).shape, (6, 8, 1))
        np.testing.assert_array_equal(tf.io.decode_image(tf.io.encode_png(x)), x)
        self.assertEqual(float(tf.io.decode_image(content, dtype=tf.float32).max()), np.float32(160 / 255))
        self.refused(ValueError, "channels", lambda: tf.io.decode_image(content, channels=2))

    def test_generators(self):
        image = keras.preprocessing.image
        flow = image.ImageDataGenerator(rescale=1 / 200).flow_from_directory(
            self.top, target_size=(3, 4), class_mode="sparse", batch_size=4, shuffle=False
        )
        x, y = flow[0]
        self.assertEqual(
            (x.shape, y.tolist(), len(flow), flow.class_indices),
            ((4, 3, 4, 3), [0, 0, 0, 1], 2, {"cats": 0, "dogs": 1}),
        )
        np.testing.assert_allclose(x[:, 0, 0, 0], np.arange(4) * 0.2, 1e-6)
        split = image.ImageDataGenerator(validation_split=0.34)
        parts = [
            split.flow_from_directory(self.top, subset=s, batch_size=9).samples for s in ("training", "validation")
        ]
        self.assertEqual(parts, [4, 2])
        table = {"filename": ["cats/0.png", "dogs/1.png", "none.png"], "class": ["cats", "dogs", "cats"]}
        frame = image.ImageDataGenerator().flow_from_dataframe(table, str(self.top), shuffle=False, target_size=(3, 4))
        self.assertEqual((frame.samples, frame[0][1].tolist()), (2, [[1, 0], [0, 1]]))


class Generators(Case):
    def test_arrays(self):
        generator = keras.preprocessing.image.ImageDataGenerator(
            featurewise_center=True, featurewise_std_normalization=True
        )
        generator.fit(IMAGES)
        x, y = next(iter(generator.flow(IMAGES, np.arange(4), batch_size=4, shuffle=False)))
        np.testing.assert_allclose(x.mean((0, 1, 2)), 0, atol=1e-4)
        np.testing.assert_allclose(x.std((0, 1, 2)), 1, atol=1e-3)
        self.assertEqual(y.tolist(), [0, 1, 2, 3])
        seen = keras.preprocessing.image.ImageDataGenerator(horizontal_flip=True).flow(IMAGES, batch_size=3, seed=1)
        again = keras.preprocessing.image.ImageDataGenerator(horizontal_flip=True).flow(IMAGES, batch_size=3, seed=1)
        np.testing.assert_array_equal(next(seen), next(again))
        self.assertEqual([len(next(seen)) for _ in range(3)], [1, 3, 1])

    def test_fit_on_generators(self):
        generator = keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255, rotation_range=10)
        model = keras.Sequential([keras.Input((6, 8, 3)), keras.layers.Flatten(), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        flow = generator.flow(IMAGES, np.zeros((4, 1)), batch_size=2)
        self.assertEqual(len(model.fit(flow, epochs=2, verbose=0).history["loss"]), 2)
        self.assertEqual(len(model.fit(flow, epochs=2, steps_per_epoch=3, verbose=0).history["loss"]), 2)
        self.assertEqual(model.predict(generator.flow(IMAGES, batch_size=3), verbose=0).shape, (4, 1))

    def test_transforms(self):
        """A turn by 90 degrees, and what is refused."""
        image = keras.preprocessing.image
        x = np.arange(25.0).reshape(5, 5, 1)
        turned = image.apply_affine_transform(x, theta=90, row_axis=0, col_axis=1, channel_axis=2)
        np.testing.assert_allclose(turned[..., 0], np.rot90(x[..., 0], 1), atol=1e-9)
        self.refused(
            NotImplementedError,
            "interpolation_order",
            lambda: image.apply_affine_transform(x, theta=3, order=3, row_axis=0, col_axis=1, channel_axis=2),
        )
        self.refused(
            ValueError,
            "fill_mode",
            lambda: image.apply_affine_transform(x, theta=3, fill_mode="x", row_axis=0, col_axis=1, channel_axis=2),
        )
        self.assertEqual(image.random_shift(x, 0.2, 0.2, row_axis=0, col_axis=1, channel_axis=2).shape, x.shape)
        self.refused(ValueError, "zoom_range", lambda: image.ImageDataGenerator(zoom_range=(1, 2, 3)))

    def test_sequences(self):
        s = keras.preprocessing.sequence
        g = s.TimeseriesGenerator(np.arange(10), np.arange(10), length=3, batch_size=4)
        x, y = g[0]
        self.assertEqual((x.tolist()[0], y.tolist(), len(g)), ([0, 1, 2], [3, 4, 5, 6], 2))
        couples, labels = s.skipgrams([1, 2, 3], 10, window_size=1, negative_samples=1.0, seed=1)
        self.assertEqual((len(couples), sum(labels)), (8, 4))
        self.assertEqual(s.make_sampling_table(4).shape, (4,))


class Pipelines(unittest.TestCase):
    def test_an_exception_names_step_function_and_element(self):
        def broken(x):
            if int(x) == 3:
                raise KeyError("no such thing")
            return x

        for step, make in (
            ("map", lambda d: d.map(broken)),
            ("map", lambda d: d.map(broken, num_parallel_calls=2)),
            ("filter", lambda d: d.filter(broken)),
        ):
            with self.assertRaisesRegex(
                RuntimeError, f"Dataset.{step}: .*broken failed at element 3.*KeyError: 'no such"
            ):
                list(make(tf.data.Dataset.range(5)))

    def test_threads_keep_the_order(self):
        seen = set()

        def slow(x):
            seen.add(threading.get_ident())
            time.sleep(0.01 if int(x) % 2 else 0.0)
            return x

        got = [int(x) for x in tf.data.Dataset.range(20).map(slow, num_parallel_calls=4)]
        self.assertEqual(got, list(range(20)))
        self.assertGreater(len(seen), 1)

    def test_prefetch_runs_ahead_and_ends_with_its_iterator(self):
        made = []

        def note(x):
            made.append(int(x))
            return x

        iterator = iter(tf.data.Dataset.range(1000).map(note).prefetch(3))
        next(iterator)
        deadline = time.time() + 5
        while len(made) < 4 and time.time() < deadline:
            time.sleep(0.01)
        self.assertGreaterEqual(len(made), 4)
        del iterator
        while any(t.name == "dl4-prefetch" for t in threading.enumerate()) and time.time() < deadline:
            time.sleep(0.01)
        self.assertFalse(any(t.name == "dl4-prefetch" for t in threading.enumerate()))
        self.assertLess(len(made), 20)

        def fails(x):
            raise ValueError("inside")

        with self.assertRaisesRegex(RuntimeError, "inside"):
            list(tf.data.Dataset.range(2).map(fails).prefetch(1))

    def test_data_by_number_with_workers(self):
        threads = set()

        class Batches(keras.utils.PyDataset):
            ended = 0

            def __len__(self):
                return 6

            def __getitem__(self, i):
                threads.add(threading.current_thread().name)
                time.sleep(0.005)
                return np.full((2, 1), i, "float32"), np.full((2, 1), 2.0 * i, "float32")

            def on_epoch_end(self):
                self.ended += 1

        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
        losses = []
        for workers in (1, 3):
            model.set_weights([np.ones((1, 1), "float32")])
            model.compile(keras.optimizers.SGD(0.01), "mse")
            data = Batches(workers=workers, max_queue_size=4)
            losses.append(model.fit(data, epochs=2, shuffle=False, verbose=0).history["loss"])
            self.assertEqual((data.ended, data.num_batches), (2, 6))
        np.testing.assert_allclose(losses[0], losses[1])
        self.assertGreater(len(threads), 2)
        np.testing.assert_allclose(model.predict(Batches(workers=2), verbose=0).shape, (12, 1))
        with self.assertWarnsRegex(UserWarning, "threads"):
            Batches(use_multiprocessing=True)

    def test_seeds(self):
        def order(seed=None):
            return [int(x) for x in tf.data.Dataset.range(50).shuffle(50, seed=seed)]

        self.assertEqual(order(1), order(1))
        self.assertNotEqual(order(1), order(2))
        d = tf.data.Dataset.range(50).shuffle(50, seed=1)
        self.assertNotEqual([int(x) for x in d], [int(x) for x in d])
        keras.utils.set_random_seed(5)
        first = order()
        keras.utils.set_random_seed(5)
        self.assertEqual(first, order())
        tf.random.set_seed(3)
        drawn = tf.random.normal((4,))
        tf.random.set_seed(3)
        np.testing.assert_array_equal(drawn, tf.random.normal((4,)))
        samples = tf.random.uniform((20000,), 2.0, 4.0, seed=1)
        self.assertTrue(2 <= samples.min() and samples.max() < 4 and abs(samples.mean() - 3) < 0.02)
        self.assertLess(abs(tf.random.truncated_normal((20000,)).std() - 0.88), 0.02)

    def test_cache_and_sources_are_read_once(self):
        count = []

        def generate():
            count.append(1)
            yield from range(3)

        d = tf.data.Dataset.from_generator(generate, output_types=tf.int32).cache()
        self.assertEqual([[int(x) for x in d] for _ in range(3)], [[0, 1, 2]] * 3)
        self.assertEqual(len(count), 1)

    def test_scalars_and_texts_of_elements(self):
        for x, t in tf.data.Dataset.from_tensor_slices(([1.5], ["é"])):
            self.assertEqual((x.numpy(), t.numpy().decode(), f"{x:.2f}", round(x)), (1.5, "é", "1.50", 2))
            self.assertEqual({x: 1}[np.float32(1.5)], 1)
        batch = next(iter(tf.data.Dataset.from_tensor_slices(["a", "b"]).batch(2)))
        self.assertEqual([t.numpy() for t in batch], [b"a", b"b"])
        self.assertEqual(["x", "y"][tf.constant([0, 1])[1]], "y")

    def test_refusals(self):
        d = tf.data.Dataset.range(3)
        for words, f in (
            ("filename", lambda: d.cache("x")),
            ("batch_size", lambda: d.batch(0)),
            ("num_parallel_calls", lambda: d.map(abs, num_parallel_calls=0)),
            ("ignore_errors", lambda: d.ignore_errors()),
            ("buffer_size", lambda: d.shuffle(0)),
            ("index from 0", lambda: d.shard(2, 2)),
            ("Dataset.zip", lambda: tf.data.Dataset.zip((d, 3))),
            ("return a `Dataset`", lambda: list(d.flat_map(lambda x: 3))),
            (
                "pad_to_bucket_boundary",
                lambda: d.bucket_by_sequence_length(len, [1], [1, 1], pad_to_bucket_boundary=True),
            ),
            ("Can't convert non-rectangular", lambda: tf.constant([[1], [2, 3]])),
            (
                "expected an element of shape",
                lambda: list(
                    tf.data.Dataset.from_generator(
                        lambda: iter([[1, 2]]), output_signature=tf.TensorSpec((1,), tf.int32)
                    )
                ),
            ),
            ("No files matched", lambda: tf.data.Dataset.list_files("/nowhere/*")),
            ("data gave no batch|no elements", lambda: d.take(0).element_spec),
            ("one element", lambda: d.get_single_element()),
        ):
            with self.assertRaisesRegex((ValueError, TypeError, NotImplementedError), words):
                f()

    def test_what_is_not_here_is_named(self):
        for name in ("GradientTapes", "tpu", "saved_model"):
            with self.assertRaisesRegex(AttributeError, name):
                getattr(tf, name)


class Layers(Case):
    def test_chance_is_of_seeds_and_of_each_image(self):
        layers = keras.layers
        x = np.repeat(IMAGES[:1], 64, 0)
        for make in (
            lambda s: layers.RandomFlip(seed=s),
            lambda s: layers.RandomRotation(0.4, seed=s),
            lambda s: layers.RandomZoom(0.4, seed=s),
            lambda s: layers.RandomTranslation(0.4, 0.4, seed=s),
            lambda s: layers.RandomShear(0.4, 0.4, seed=s),
            lambda s: layers.RandomContrast(0.4, seed=s),
            lambda s: layers.RandomBrightness(0.4, seed=s),
            lambda s: layers.RandomHue(0.4, seed=s),
            lambda s: layers.RandomErasing(seed=s),
            lambda s: layers.RandomPerspective(scale=0.5, seed=s),
            lambda s: layers.RandomColorJitter(brightness_factor=0.5, contrast_factor=0.5, seed=s),
            lambda s: layers.RandomInvert(0.5, seed=s),
            lambda s: layers.RandomGrayscale(0.5, seed=s),
            lambda s: layers.RandomPosterization((2, 6), seed=s),
            lambda s: layers.RandomSharpness(0.5, seed=s),
            lambda s: layers.RandomGaussianBlur(0.5, seed=s),
            lambda s: layers.Solarization(0.5, 0.5, seed=s),
            lambda s: layers.RandomColorDegeneration(0.5, seed=s),
        ):
            name = type(make(1)).__name__
            with self.subTest(name):
                a, b, c = np.asarray(make(1)(x)), np.asarray(make(1)(x)), np.asarray(make(2)(x))
                np.testing.assert_array_equal(a, b)
                self.assertGreater(np.abs(a - c).max(), 0)
                self.assertGreater(np.abs(a - a[:1]).max(), 0)
                self.assertEqual((a.shape, a.dtype), (x.shape, np.float32))
                np.testing.assert_array_equal(make(1)(x, training=False), x)
                self.assertEqual(make(1)(x[0]).shape, x[0].shape)
                config = make(3).get_config()
                again = type(make(3)).from_config(config)
                np.testing.assert_array_equal(again(x), make(3)(x))

    def test_shares_of_chance(self):
        x = np.repeat(IMAGES[:1], 4000, 0)
        flipped = np.asarray(keras.layers.RandomFlip("horizontal", seed=0)(x))
        share = (flipped[:, 0, 0] != x[:, 0, 0]).any(-1).mean()
        self.assertLess(abs(share - 0.5), 0.03)
        t = keras.layers.RandomRotation((0.1, 0.3), seed=0).get_random_transformation(x)
        self.assertTrue(36 <= t["angle"].min() and t["angle"].max() <= 108 and abs(t["angle"].mean() - 72) < 2)
        crops = keras.layers.RandomCrop(4, 4, seed=0)
        self.assertEqual({crops.get_random_transformation(x)[0] for _ in range(200)}, {0, 1, 2})

    def test_crops(self):
        for size in ((4, 4), (6, 8), (9, 9)):
            self.assertEqual(keras.layers.RandomCrop(*size)(IMAGES).shape, (4, *size, 3))

    def test_labels_and_masks_beside_images(self):
        labels, masks = np.eye(4, dtype="float32"), np.ones((4, 6, 8, 1), "float32")
        out = keras.layers.MixUp(seed=1)({"images": IMAGES, "labels": labels})
        self.assertEqual(out["images"].shape, IMAGES.shape)
        np.testing.assert_allclose(out["labels"].sum(-1), 1, 1e-5)
        flip = keras.layers.RandomFlip("horizontal", seed=1)
        masks[:, :, :4] = 0
        out = flip({"images": IMAGES, "segmentation_masks": masks})
        moved = (out["images"] != IMAGES).any((1, 2, 3))
        np.testing.assert_array_equal((out["segmentation_masks"] != masks).any((1, 2, 3)), moved)
        self.refused(NotImplementedError, "segmentation_masks", lambda: flip({"images": IMAGES, "depths": masks}))
        self.refused(ValueError, "bounding_box_format", lambda: flip({"images": IMAGES, "bounding_boxes": {}}))

    def test_several_layers_by_chance(self):
        for layer in (keras.layers.RandAugment(seed=1), keras.layers.AugMix(seed=1), keras.layers.CutMix(seed=1)):
            out = np.asarray(layer(IMAGES))
            self.assertEqual(out.shape, IMAGES.shape)
            self.assertTrue(np.isfinite(out).all() and out.min() >= 0 and out.max() <= 255.001)
        pipeline = keras.layers.Pipeline([keras.layers.RandomFlip(seed=1), keras.layers.Rescaling(1 / 255)])
        self.assertLessEqual(np.asarray(pipeline(IMAGES)).max(), 1)
        np.testing.assert_allclose(pipeline(IMAGES, training=False), IMAGES / 255, 1e-5)

    def test_elastic_transforms(self):
        layer = keras.layers.RandomElasticTransform(seed=1)
        out = np.asarray(layer(IMAGES))
        moved = (out != IMAGES).any((1, 2, 3))
        self.assertTrue(moved.any() and out.min() >= 0 and out.max() <= 255)
        masks = np.ones((*IMAGES.shape[:3], 1), "float32")
        out = layer({"images": IMAGES, "segmentation_masks": masks})
        np.testing.assert_array_equal(out["segmentation_masks"], masks)
        for how in ({"factor": 0}, {"scale": 0}):
            np.testing.assert_array_equal(keras.layers.RandomElasticTransform(**how)(IMAGES), IMAGES)
        np.testing.assert_array_equal(layer(IMAGES, training=False), IMAGES)
        self.refused(ValueError, "scale", lambda: keras.layers.RandomElasticTransform(scale=2))

    def test_channels_first(self):
        first = np.ascontiguousarray(np.moveaxis(IMAGES, -1, 1))
        for kind, args in (("RandomRotation", (0.3,)), ("RandomContrast", (0.5,)), ("RandomHue", (0.5,))):
            make = getattr(keras.layers, kind)
            last = np.asarray(make(*args, seed=3)(IMAGES))
            got = np.asarray(make(*args, seed=3, data_format="channels_first")(first))
            np.testing.assert_allclose(np.moveaxis(got, 1, -1), last, 1e-5, 1e-3)

    def test_methods_of_ones_own_are_called(self):
        class Mine(keras.layers.RandomFlip):
            def transform_images(self, images, transformation, training=True):
                return super().transform_images(images, transformation, training) + (1000 if training else 500)

        class Words(keras.layers.TextVectorization):
            def get_vocabulary(self, include_special_tokens=True):
                return [w.upper() for w in super().get_vocabulary(include_special_tokens)]

        self.assertEqual(Words(vocabulary=["a"]).get_vocabulary(), ["", "[UNK]", "A"])
        x = keras.Input((6, 8, 3))
        model = keras.Model(x, Mine()(x))
        np.testing.assert_allclose(model.predict(IMAGES, verbose=0), IMAGES + 500)
        self.assertGreaterEqual(np.asarray(Mine()(IMAGES)).min(), 1000)

    def test_classes_by_name(self):
        layer = keras.layers.StringLookup(vocabulary=["a"])
        again = keras.layers.deserialize({"class_name": "StringLookup", "config": layer.get_config()})
        self.assertEqual(again.get_vocabulary(), layer.get_vocabulary())
        again = keras.layers.deserialize(keras.layers.serialize(keras.layers.RandomFlip("vertical")))
        self.assertEqual((type(again), again.mode), (keras.layers.RandomFlip, "vertical"))
        self.assertLessEqual(
            {"StringLookup", "TextVectorization", "AutoContrast", "RandomFlip"}, set(dir(keras.layers))
        )
        self.assertLessEqual({"get_file", "pad_sequences", "FeatureSpace"}, set(dir(keras.utils)))
        self.refused(AttributeError, "no attribute 'StringLookups'", lambda: keras.layers.StringLookups)
        self.refused(AttributeError, "no attribute 'get_files'", lambda: keras.utils.get_files)

    def test_sparse_and_ragged_are_refused(self):
        layers = keras.layers
        for f in (
            lambda: layers.CategoryEncoding(3, sparse=True),
            lambda: layers.StringLookup(output_mode="count", sparse=True),
            lambda: layers.Hashing(3, output_mode="count", sparse=True),
            lambda: layers.TextVectorization(ragged=True),
            lambda: layers.Discretization([1.0], output_mode="count", sparse=True),
        ):
            self.refused(NotImplementedError, "sparse|ragged", f)

    def test_vocabularies_of_files(self):
        path = self.written("words.txt", b"red\ngreen\n")
        layer = keras.layers.StringLookup(vocabulary=str(path))
        self.assertEqual(layer.get_vocabulary(), ["[UNK]", "red", "green"])
        self.refused(ValueError, "does not exist", lambda: keras.layers.StringLookup(vocabulary=str(path) + "x"))
        config = {"module": "keras.layers", "class_name": "StringLookup", "config": {"vocabulary": str(path)}}
        self.refused(ValueError, "outside of the model archive", lambda: keras.saving.deserialize_keras_object(config))
        layer = keras.layers.TextVectorization()
        layer.adapt(["a b", "b"])
        layer.save_assets(str(self.folder))
        again = keras.layers.TextVectorization()
        again.load_assets(str(self.folder))
        self.assertEqual(again.get_vocabulary(), layer.get_vocabulary())

    def test_models_with_texts_say_what_they_can_not(self):
        layers = keras.layers
        lookup = layers.StringLookup(vocabulary=["a", "b"])
        x = keras.Input((1,), dtype="string", name="word")
        model = keras.Model(x, layers.Embedding(4, 2)(lookup(x)))
        with self.assertRaisesRegex(NotImplementedError, "layers that run in Python"):
            model.save(self.folder / "m.safetensors")
        model.save(self.folder / "m.keras")
        words = np.array([["b"], ["a"], ["?"]])
        again = keras.saving.load_model(self.folder / "m.keras")
        np.testing.assert_array_equal(again.predict(words, verbose=0), model.predict(words, verbose=0))
        with self.assertRaisesRegex(NotImplementedError, "a tensor of texts"):
            layers.Flatten()(x)
        inverse = layers.StringLookup(vocabulary=["a"], invert=True)
        i = keras.Input((1,), dtype="int64")
        with self.assertRaisesRegex(NotImplementedError, "outputs that are texts"):
            keras.Model(i, inverse(i))
        dense = keras.Input((3,))
        hidden = layers.Dense(2)(dense)
        with self.assertRaisesRegex(NotImplementedError, "after trained layers"):
            keras.Model(dense, layers.Dense(1)(layers.IntegerLookup(vocabulary=[1], output_mode="multi_hot")(hidden)))

    def test_configs_of_models_with_texts(self):
        lookup = keras.layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot", name="look")
        x = keras.Input((1,), dtype="string", name="word")
        model = keras.Model(x, keras.layers.Dense(2)(lookup(x)))
        again = keras.Model.from_config(model.get_config())
        again.set_weights(model.get_weights())
        words = tf.constant([["a"], ["q"]])
        np.testing.assert_array_equal(model.predict(words, verbose=0), again.predict(words, verbose=0))

    def test_python_metrics_beside_changes_of_images(self):
        class Mine(keras.metrics.Metric):
            def update_state(self, y, p, sample_weight=None):
                pass

            def result(self):
                return 1.0

        x = keras.Input((6, 8, 3))
        model = keras.Model(x, keras.layers.Dense(1)(keras.layers.Flatten()(keras.layers.RandomFlip()(x))))
        model.compile("sgd", "mse", metrics=[Mine()])
        with self.assertRaisesRegex(NotImplementedError, "metrics in Python beside layers that change images"):
            model.fit(IMAGES, np.zeros((4, 1)), verbose=0)


class WithoutPackages(Case):
    def test_estimators_name_the_package_that_they_need(self):
        try:
            import sklearn  # noqa: F401
        except ImportError:
            self.refused(ImportError, "scikit-learn", lambda: keras.wrappers.SKLearnClassifier(None))
        else:
            self.skipTest("scikit-learn is there")


class Documents(Case):
    def test_weights_of_documents(self):
        """Of a vocabulary that was learned they stand in the file, as in Keras's."""
        layers, texts = keras.layers, np.array(["foo bar", "bar baz", "baz bada boom"])
        for layer, x in (
            (layers.TextVectorization(max_tokens=100, output_mode="tf_idf"), texts),
            (layers.StringLookup(output_mode="tf_idf", max_tokens=9, pad_to_max_tokens=True), np.array([["a", "b"]] * 2)),
        ):
            layer.adapt(x)
            model = keras.Sequential([keras.Input(x.shape[1:], dtype="string"), layer])
            with tempfile.TemporaryDirectory() as folder:
                model.save(f"{folder}/m.keras")
                again = keras.saving.load_model(f"{folder}/m.keras")
            np.testing.assert_array_equal(again(x), model(x))
            self.assertGreater(np.asarray(model(x)).max(), 0)


class Estimators(Case):
    def setUp(self):
        super().setUp()
        try:
            import sklearn  # noqa: F401
        except ImportError:
            self.skipTest("no scikit-learn")

    @staticmethod
    def made(X, y, loss="categorical_crossentropy", **_):
        model = keras.Sequential(
            [
                keras.Input((X.shape[1],)),
                keras.layers.Dense(y.shape[1], activation="softmax" if loss[0] == "c" else None),
            ]
        )
        model.compile(keras.optimizers.Adam(0.1), loss)
        return model

    def test_classifiers(self):
        from sklearn.base import clone
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        x = R.standard_normal((90, 3))
        y = np.array(["a", "b", "c"])[x.argmax(1)]
        classifier = keras.wrappers.SKLearnClassifier(self.made, fit_kwargs={"epochs": 20, "verbose": 0})
        classifier.fit(x, y)
        self.assertGreater(classifier.score(x, y), 0.9)
        self.assertEqual((list(classifier.classes_), classifier.decision_function(x).shape), (["a", "b", "c"], (90, 3)))
        self.assertEqual(len(classifier.epoch_), 20)
        scores = cross_val_score(make_pipeline(StandardScaler(), clone(classifier)), x, y, cv=3)
        self.assertGreater(scores.mean(), 0.8)
        self.refused(ValueError, "one class", lambda: classifier.fit(x, np.full(90, "a")))
        self.refused(ValueError, "Only binary", lambda: classifier.fit(x, x[:, 0]))

    def test_regressors_and_transformers(self):
        x = R.standard_normal((60, 3))
        y = x @ [1.0, 2.0, 3.0]
        more = {"model_kwargs": {"loss": "mse"}, "fit_kwargs": {"epochs": 60, "verbose": 0}}
        regressor = keras.wrappers.SKLearnRegressor(self.made, **more).fit(x, y)
        self.assertGreater(regressor.score(x, y), 0.9)
        self.assertEqual(regressor.predict(x).shape, (60,))
        of_model = keras.wrappers.SKLearnRegressor(
            self.made(x, y[:, None], "mse"), fit_kwargs={"epochs": 60, "verbose": 0}
        )
        self.assertGreater(of_model.fit(x, y).score(x, y), 0.9)
        transformer = keras.wrappers.SKLearnTransformer(self.made, **more)
        self.assertEqual(transformer.fit(x, y).transform(x).shape, (60, 1))
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        self.refused(RuntimeError, "compiled", lambda: keras.wrappers.SKLearnRegressor(model).fit(x, y))


class Names(Case):
    def test_small_things(self):
        @tf.function
        def double(x):
            return x * 2

        self.assertEqual(double(tf.constant([1, 2])).tolist(), [2, 4])
        self.assertIsInstance(tf.constant(1), tf.tf.Tensor)
        self.assertEqual(tf.TensorShape([1, None]).as_list(), [1, None])
        self.assertEqual(tf.config.list_physical_devices("GPU"), [])
        self.assertEqual(tf.py_function(lambda x: x + 1, [tf.constant(1)], tf.int32).numpy(), 2)
        self.assertEqual(tf.while_loop(lambda i: i < 3, lambda i: (i + 1,), [tf.constant(0)])[0].numpy(), 3)
        self.assertEqual(tf.cond(tf.constant(True), lambda: 1, lambda: 2), 1)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "did not hold"):
            tf.debugging.assert_equal(1, 2)
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
        self.assertEqual(table.lookup(tf.constant(["b", "c"])).tolist(), [2, -1])
        v = tf.Variable([1.0, 2.0])
        v.assign_add([1.0, 1.0])
        self.assertEqual(v.numpy().tolist(), [2, 3])
        with tf.device("/CPU:0"), tf.name_scope("x"):
            self.assertEqual(tf.ragged.constant([[1], [2, 3]]).to_tensor().tolist(), [[1, 0], [2, 3]])

    def test_what_a_seed_gives(self):
        i, x = tf.image, IMAGES[0] / 255
        for f in (
            lambda s: i.stateless_random_crop(x, (3, 3, 3), s),
            lambda s: i.stateless_random_brightness(x, 0.3, s),
            lambda s: i.stateless_random_contrast(x, 0.3, 0.9, s),
            lambda s: i.stateless_random_hue(x, 0.3, s),
            lambda s: i.stateless_random_saturation(x, 0.3, 0.9, s),
            lambda s: tf.random.stateless_normal((3,), s),
        ):
            np.testing.assert_array_equal(f((1, 2)), f((1, 2)))
            self.assertGreater(np.abs(np.asarray(f((1, 2))) - np.asarray(f((3, 4)))).max(), 0)
        flips = [np.array_equal(i.stateless_random_flip_left_right(x, (s, 0)), x) for s in range(40)]
        self.assertTrue(8 < sum(flips) < 32)

    def test_in_models(self):
        x = keras.Input((3,))
        y = keras.layers.Lambda(
            lambda t: tf.reduce_sum(tf.cast(tf.concat([t, tf.nn.relu(t)], -1), tf.float32), axis=-1)
        )(x)
        data = np.array([[1, -2, 3]], "float32")
        np.testing.assert_allclose(keras.Model(x, y).predict(data, verbose=0), [6.0])

    def test_csv_datasets(self):
        path = self.written("t.csv", b"a,b,c\n1,x,2.5\n2,y,3.5\n3,z,\n")
        make = tf.data.experimental.make_csv_dataset
        d = make(str(path), 2, label_name="a", num_epochs=1, shuffle=False)
        (x, y), (x2, _) = list(d)
        self.assertEqual((y.tolist(), x["b"].tolist(), x2["c"].tolist()), ([1, 2], [b"x", b"y"], [0.0]))
        self.refused(ValueError, "label_name", lambda: make(str(path), 2, label_name="q"))
        self.refused(NotImplementedError, "compression", lambda: make(str(path), 2, compression="GZIP"))

    def test_records_that_are_cut(self):
        path = self.folder / "r.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as w:
            w.write(b"a record")
        path.write_bytes(path.read_bytes()[:-3])
        self.refused(OSError, "ends amid a record", lambda: list(tf.data.TFRecordDataset(str(path))))
        bad = tf.train.Example(features=tf.train.Features(feature={})).SerializeToString()
        spec = {"x": tf.io.FixedLenFeature([], tf.int64)}
        self.refused(ValueError, "Feature: x .*required", lambda: tf.io.parse_single_example(bad, spec))
        self.refused(ValueError, "corrupted", lambda: tf.io.parse_single_example(b"\x0a\x7f", spec))


class Sizes(unittest.TestCase):
    """Batches of other sizes than the first: as Keras, what differs between the first two is free."""

    @staticmethod
    def batch(n):
        return np.full((2, n), 3, "int32"), np.zeros((2, 1), "float32")

    def sources(self):
        batch = self.batch

        class Numbered(keras.utils.PyDataset):
            def __len__(self):
                return 3

            def __getitem__(self, i):
                return batch((4, 5, 7)[i])

        class Iterated:
            def __iter__(self):
                return map(batch, (4, 5, 7))

        return Numbered, Iterated, lambda: map(batch, (4, 5, 7))

    def model(self):
        layers = keras.layers
        model = keras.Sequential([layers.Embedding(10, 4), layers.LSTM(3), layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    def test_lengths(self):
        for source in self.sources():
            model = self.model()
            model.fit(source(), verbose=0)
            self.assertEqual(model.input_shape, (None, None))
            expected = [model.predict(self.batch(n)[0], verbose=0) for n in (4, 5, 7)]
            again = self.model()
            again.build((None, 4))
            again.set_weights(model.get_weights())
            np.testing.assert_allclose(again.predict(source(), verbose=0), np.concatenate(expected), 1e-5)
            self.assertGreater(again.evaluate(source(), verbose=0), 0)

    def test_every_batch_is_seen_once(self):
        seen = []

        class Counts(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                seen.append(batch)

        self.model().fit(map(self.batch, (4, 5, 6, 7)), callbacks=[Counts()], verbose=0)
        self.assertEqual(seen, [0, 1, 2, 3])
        alone = self.model()
        alone.fit(map(self.batch, (4,)), verbose=0)
        self.assertEqual(alone.input_shape, (None, 4))


if __name__ == "__main__":
    sys.exit(unittest.main())
