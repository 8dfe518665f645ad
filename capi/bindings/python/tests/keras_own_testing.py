"""What Keras's own tests need beside dl4.keras: their modules' names, a backend, and the case class with its checks."""

import contextlib
import inspect
import pathlib
import re
import shutil
import sys
import tempfile
import types

import numpy as np
from absl.testing import parameterized

# What a case asks by its source that is not there; each an exclusion with a reason.
NOT_HERE = {
    r"float8": "floats of 8 bits",
    r"get_dataloader|gptq_quantize\(|_analyze_einsum": "inner functions of GPTQ and EinsumDense",
    r"tf\.(ragged|sparse|Ragged|Sparse|saved|Graph|Module)|jax\.(?!numpy|nn|lax)|torch\.|grain\.": "another framework",
    r"sparse=True|ragged=True|SparseTensor|RaggedTensor|create_sparse": "sparse and ragged tensors",
    r"complex64|complex128|1j\b": "complex numbers",
    r"distribution_lib|distribution\.|DeviceMesh|RematScope": "distribution",
    r"optree|tree_util": "another framework",
}


# In trainer_test models are layers beside a class of Keras's backend: here they are models that have such a layer.
OTHER_MODELS = (
    (r'if backend.backend\(\) == "jax":\n    from keras.src.backend.jax.trainer.*?raise ImportError\([^\n]*', ""),
    (r"# A model is just a layer mixed in with a Trainer.", "from keras_own_testing import dense_model"),
    (r"\(Trainer, layers.Dense\)", "(dense_model())"),
    (r"\(Trainer, layers.Layer\)", "(keras.Model)"),
    (r"layers.Dense.__init__\(\s*self,", "self.of_dense("),
    (r"layers.Layer.__init__\(self", "keras.Model.__init__(self"),
    (r"Trainer.__init__\(self\)", "pass"),
    (r"with backend.device\(CPU_DEVICES\[backend.backend\(\)\]\):", "if True:"),
)
# A Sequential model's graph is none of the public classes.
OTHER_GRAPHS = ((r"type\(model\._functional\), Functional\)", 'type(model._functional).__name__, "Function")'),)
# Texts and data sets are here, for which Keras asks for TensorFlow as the backend.
OTHER_BACKENDS = ((r'backend\.backend\(\) != "tensorflow"|not backend\.backend\(\) == "tensorflow"', "False"),)
OF_TEXTS = "feature_space hashing index_lookup resizing stft_spectrogram string_lookup text_vectorization".split()
# Ids of a table: Keras takes floats for whole numbers, and those below 0 from the table's end.
OTHER_IDS = ((r"rng\.normal\(loc=0, scale=1, size=\(2, 64\)\)", "rng.integers(0, VOCAB_SIZE, (2, 64))"),)
OTHER_WORDS = {"trainer_test": OTHER_MODELS, "sequential_test": OTHER_GRAPHS, "gptq_core_test": OTHER_IDS}
OTHER_WORDS.update((f"{name}_test", OTHER_BACKENDS) for name in OF_TEXTS)


def dense_model():
    import dl4.keras as keras

    class DenseModel(keras.Model):
        def of_dense(self, **how):
            keras.Model.__init__(self)
            self.dense = keras.layers.Dense(**how)

        def call(self, x):
            return self.dense(x)

        @property
        def kernel(self):
            return self.dense.kernel

    return DenseModel


def source_of(case):
    return (
        inspect.getsource(
            getattr(
                type(case),
                case._testMethodName.split("__")[0]
                if not hasattr(type(case), case._testMethodName)
                else case._testMethodName,
            )
        )
        if _own_source(case)
        else ""
    )


def _own_source(case):
    try:
        inspect.getsource(getattr(type(case), case._testMethodName))
    except (OSError, TypeError, AttributeError):
        return False
    return True


def standardize_dtype(dtype):
    if dtype is None:
        return "float32"
    if isinstance(dtype, type) and dtype in (int, float, bool):
        return {int: "int32", float: "float32", bool: "bool"}[dtype]
    if getattr(dtype, "kind", "f") in "SOU":  # texts
        return "string"
    return str(getattr(dtype, "name", dtype))


def _backend():
    import dl4.keras as keras
    from dl4.keras.src.backend.dtypes import result_type

    b = types.SimpleNamespace()
    b.backend, b.floatx, b.epsilon = (lambda: "dl4"), (lambda: "float32"), (lambda: 1e-7)
    b.image_data_format, b.config = (
        keras.backend.image_data_format,
        types.SimpleNamespace(
            image_data_format=keras.backend.image_data_format,
            floatx=lambda: "float32",
            backend=lambda: "dl4",
            epsilon=lambda: 1e-7,
            set_max_epochs=keras.config.set_max_epochs,
            set_max_steps_per_epoch=keras.config.set_max_steps_per_epoch,
        ),
    )
    b.set_floatx = b.set_epsilon = lambda _: None
    b.set_image_data_format = keras.backend.set_image_data_format
    b.clear_session = keras.backend.clear_session
    b.is_tensor = lambda x: isinstance(x, np.ndarray)
    b.convert_to_tensor, b.convert_to_numpy = keras.ops.convert_to_tensor, np.asarray
    b.standardize_dtype, b.KerasTensor, b.Variable = standardize_dtype, keras.KerasTensor, keras.Variable
    b.is_float_dtype = lambda d: "float" in standardize_dtype(d)
    b.is_int_dtype = lambda d: "int" in standardize_dtype(d)
    b.is_keras_tensor, b.cast, b.shape = keras.ops.is_keras_tensor, keras.ops.cast, keras.ops.shape
    b.SUPPORTS_SPARSE_TENSORS = b.SUPPORTS_RAGGED_TENSORS = b.SUPPORTS_COMPLEX_DTYPES = False
    b.compute_output_spec = lambda f, *a, **k: f(*a, **k)
    b.AutocastScope = lambda *_: contextlib.nullcontext()  # all is computed in float32
    b.is_nnx_enabled = b.is_flash_attention_enabled = lambda: False
    b.enable_flash_attention = b.disable_flash_attention = lambda: None
    b.random, b.numpy, b.result_type = keras.random, keras.ops, result_type
    b.standardize_shape, b.random_seed_dtype = tuple, lambda: "uint32"
    b.get_keras_mask, b.set_keras_mask = (lambda x: getattr(x, "_keras_mask", None)), set_keras_mask
    b.standardize_data_format = lambda d: d or b.image_data_format()
    b.name_scope, b.device = keras.name_scope, lambda *_: contextlib.nullcontext()
    b.common = types.SimpleNamespace(global_state=types.SimpleNamespace(clear_session=keras.backend.clear_session))
    return b


def set_keras_mask(x, mask):
    x._keras_mask = mask


def operation_class(function):
    """What keras.src.ops has of a function: a class whose object is called on tensors."""

    class Operation:
        def __init__(self, *args, **kwargs):
            kwargs.pop("name", None)
            self.args, self.kwargs = args, kwargs

        def __call__(self, *args, **kwargs):
            if function.__name__ == "einsum":
                return function(*self.args, *args, **kwargs)
            if function.__name__ == "while_loop":
                return function(*self.args, *args, **{**self.kwargs, **kwargs})
            return function(*args, *self.args, **{**self.kwargs, **kwargs})

        call = __call__

        def __getattr__(self, name):
            given = inspect.signature(function).parameters
            names = [n for n in given if n in self.kwargs or given[n].default is not inspect.Parameter.empty]
            if name in self.kwargs or name in names:
                return {**dict(zip(names, self.args)), **self.kwargs}.get(name, given[name].default)
            raise AttributeError(name)

        def symbolic_call(self, *args, **kwargs):
            """On symbols of the shapes and types of arrays."""
            return self(*(as_symbols(a) for a in args), **{k: as_symbols(v) for k, v in kwargs.items()})

        compute_output_spec = symbolic_call

    Operation.__name__ = function.__name__.title().replace("_", "")
    return Operation


def as_symbols(x):
    import dl4.keras as keras

    if isinstance(x, (list, tuple)):
        return type(x)(as_symbols(v) for v in x)
    if hasattr(x, "__array__") and not isinstance(x, (keras.KerasTensor, np.generic)):
        return keras.KerasTensor(x.shape, dtype=standardize_dtype(x.dtype))
    return x


class Tree:
    """keras.tree, on lists, tuples and dicts."""

    @staticmethod
    def flatten(x):
        from dl4.keras.src.tree import flatten

        return flatten(x)

    @staticmethod
    def map_structure(f, *nests):
        from dl4.keras.src.tree import flatten, pack_like

        return pack_like(nests[0], [f(*leaves) for leaves in zip(*[flatten(n) for n in nests])])

    @staticmethod
    def is_nested(x):
        return isinstance(x, (list, tuple, dict))

    @staticmethod
    def assert_same_structure(a, b, **_):
        if not Tree.is_nested(a):
            if Tree.is_nested(b):
                raise ValueError(f"Expected a leaf, got {b}")
            return
        if type(a) is not type(b):
            raise ValueError(f"Expected an instance of {type(a)}, got {b}")
        if len(a) != len(b) or isinstance(a, dict) and set(a) != set(b):
            raise ValueError(f"Expected the structure of {a}, got {b}")
        for key in a if isinstance(a, dict) else range(len(a)):
            Tree.assert_same_structure(a[key], b[key])


def is_shape(x):
    return isinstance(x, (list, tuple)) and all(d is None or isinstance(d, int) for d in x)


def map_shapes(f, shapes, *more):
    """Over a nest of shapes."""
    if is_shape(shapes):
        return f(tuple(shapes), *more)
    if isinstance(shapes, dict):
        return {k: map_shapes(f, v, *[m[k] if isinstance(m, dict) else m for m in more]) for k, v in shapes.items()}
    return type(shapes)(
        map_shapes(f, s, *[m[i] if isinstance(m, (list, tuple)) else m for m in more]) for i, s in enumerate(shapes)
    )


class TestCase(parameterized.TestCase):
    """Keras's, with its checks on arrays and on layers; what is of other types of data, devices and Keras's own random
    generators is left out of run_layer_test()."""

    maxDiff = None

    def setUp(self):
        import dl4.keras as keras

        keras.backend.clear_session()

    def get_temp_dir(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        return folder

    def assertAllClose(self, actual, desired, atol=1e-6, rtol=1e-6, msg=None, **_):
        np.testing.assert_allclose(np.asarray(actual), np.asarray(desired), rtol, atol, err_msg=msg or "")

    def assertNotAllClose(self, x1, x2, atol=1e-6, rtol=1e-6, msg=None):
        x1, x2 = np.asarray(x1), np.asarray(x2)
        self.assertFalse(x1.shape == x2.shape and np.allclose(x1, x2, rtol, atol), msg)

    def assertAlmostEqual(self, actual, desired, decimal=3, msg=None, **_):
        np.testing.assert_almost_equal(np.asarray(actual), np.asarray(desired), decimal, msg or "")

    def assertAllEqual(self, actual, desired, msg=None):
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(desired), msg or "")

    def assertLen(self, iterable, expected_len, msg=None):
        self.assertEqual(len(iterable), expected_len, msg)

    def assertEmpty(self, container, msg=None):
        self.assertEqual(len(container), 0, msg)

    def assertNotEmpty(self, container, msg=None):
        self.assertTrue(len(container), msg)

    def assertDType(self, x, dtype, msg=None):
        self.assertEqual(standardize_dtype(x.dtype), standardize_dtype(dtype), msg)

    def assertSparse(self, x, sparse=True):
        self.assertFalse(sparse)

    assertRagged = assertSparse

    def assertFileExists(self, path):
        self.assertTrue(pathlib.Path(path).is_file())

    def run_class_serialization_test(self, instance, custom_objects=None):
        from dl4.keras import saving

        config = instance.get_config()
        # Keras finds classes of its own package by module.
        beside = {**vars(sys.modules[type(instance).__module__]), **vars(sys.modules[type(self).__module__])}
        beside = {n: c for n, c in beside.items() if isinstance(c, type) and c.__module__.startswith("keras.")}
        custom_objects = {**beside, type(instance).__name__: type(instance), **(custom_objects or {})}
        if type(instance).__module__.startswith("dl4."):
            custom_objects.pop(type(instance).__name__)
        with saving.custom_object_scope(custom_objects):
            revived = type(instance).from_config(config)
        self.assertEqual(plain(config), plain(revived.get_config()))
        with saving.custom_object_scope(custom_objects):
            revived = saving.deserialize_keras_object(saving.serialize_keras_object(instance))
        self.assertEqual(plain(config), plain(revived.get_config()))
        return revived

    def run_layer_test(
        self,
        layer_cls,
        init_kwargs,
        input_shape=None,
        input_dtype=None,
        input_sparse=False,
        input_data=None,
        call_kwargs=None,
        expected_output_shape=None,
        expected_output_dtype=None,
        expected_output=None,
        expected_num_trainable_weights=None,
        expected_num_non_trainable_weights=None,
        expected_num_losses=None,
        supports_masking=None,
        custom_objects=None,
        run_training_check=True,
        **_,
    ):
        if input_sparse:
            self.skipTest("sparse tensors")
        call_kwargs, dtype = call_kwargs or {}, input_dtype or "float32"
        self.run_class_serialization_test(layer_cls(**init_kwargs), custom_objects)
        if input_data is None and input_shape is None:
            return

        def check_counts(layer):
            self.assertTrue(layer.built)
            if expected_num_trainable_weights is not None:
                self.assertLen(layer.trainable_weights, expected_num_trainable_weights)
            if expected_num_non_trainable_weights is not None:
                self.assertLen(layer.non_trainable_weights, expected_num_non_trainable_weights)

        def check_output(output):
            if expected_output_shape is not None:
                wanted = (
                    [expected_output_shape]
                    if is_shape(expected_output_shape)
                    else list(
                        expected_output_shape.values()
                        if isinstance(expected_output_shape, dict)
                        else expected_output_shape
                    )
                )
                for shape, t in zip(wanted, Tree.flatten(output)):
                    self.assertEqual(len(shape), len(t.shape))
                    self.assertTrue(
                        all(a is None or b is None or a == b for a, b in zip(shape, t.shape)),
                        f"expected {shape}, got {t.shape}",
                    )
            if expected_output_dtype is not None:
                self.assertEqual(
                    [standardize_dtype(t.dtype) for t in Tree.flatten(output)], Tree.flatten(expected_output_dtype)
                )

        import dl4.keras as keras

        shapes = (
            input_shape
            if input_shape is not None
            else Tree.map_structure(lambda x: x.shape, input_data)
            if not hasattr(input_data, "shape")
            else input_data.shape
        )
        layer = layer_cls(**init_kwargs)
        layer.build(**shapes) if isinstance(shapes, dict) else layer.build(shapes)
        check_counts(layer)
        if input_data is None:
            input_data = map_shapes(lambda s, d: example(s, d), shapes, dtype)
            symbolic = map_shapes(lambda s, d: keras.Input(batch_shape=s, dtype=d), shapes, dtype)
        else:
            symbolic = Tree.map_structure(
                lambda x: keras.Input(batch_shape=x.shape, dtype=standardize_dtype(x.dtype)),
                Tree.map_structure(keras.ops.convert_to_tensor, input_data),
            )
        named = isinstance(symbolic, dict)
        inputs = {re.sub("_shape$", "", k): v for k, v in symbolic.items()} if named else symbolic
        data = {re.sub("_shape$", "", k): v for k, v in input_data.items()} if named else input_data
        layer = layer_cls(**init_kwargs)
        output = layer(**inputs, **call_kwargs) if named else layer(inputs, **call_kwargs)
        check_counts(layer)
        check_output(output)
        layer = layer_cls(**init_kwargs)
        output = layer(**data, **call_kwargs) if named else layer(data, **call_kwargs)
        check_output(output)
        if expected_output is not None:
            for a, b in zip(Tree.flatten(expected_output), Tree.flatten(output)):
                self.assertAllClose(a, b)
        if expected_num_losses is not None and expected_num_losses != len(layer.losses):
            self.assertLen(layer.losses, expected_num_losses)
        if run_training_check and layer.trainable_weights and not named:
            train(keras, layer, data, output)


def train(keras, layer, data, output):
    """One step of a model of it."""

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def call(self, x, training=False):
            return self.layer(x, training=training)

    model = Net()
    targets = [np.zeros_like(np.asarray(t)) for t in Tree.flatten(output)]
    model.compile("sgd", ["mse"] * len(targets) if len(targets) > 1 else "mse")

    def batches():
        while True:
            yield data, targets if len(targets) > 1 else targets[0]

    model.fit(batches(), steps_per_epoch=1, verbose=0)


def example(shape, dtype):
    rng = np.random.default_rng(0)
    if "int" in dtype:
        return rng.integers(0, 2, shape).astype(dtype)
    return (4 * rng.standard_normal(shape)).astype(dtype)


def plain(config):
    """A config that can be compared."""
    from dl4.keras import saving

    if isinstance(config, dict):
        return {k: plain(v) for k, v in config.items()}
    if isinstance(config, (list, tuple)):
        return [plain(v) for v in config]
    return saving.serialize_keras_object(config) if hasattr(config, "get_config") else config
