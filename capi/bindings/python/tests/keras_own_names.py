"""Modules by Keras's names, in which everything is dl4.keras's."""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import operator
import os
import pathlib
import re
import shutil
import sys
import types
import unittest
import warnings

import numpy as np

import keras_own_data
from keras_own_testing import TestCase, Tree, _backend, operation_class


# Of these the names are looked for in the modules of the same name first.
OWN_MODULES = tuple(f"keras.src.{m}." for m in ("applications", "datasets", "layers.preprocessing", "saving", "utils"))


class Names(types.ModuleType):
    """A module of Keras: what it is asked for is looked for in dl4.keras."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in special(self.__name__):
            return special(self.__name__)[name]
        if (self.__name__, name) == ("keras.src", "ops"):
            return importlib.import_module("keras.src.ops")
        if self.__name__.startswith("keras.src.") and not name.endswith("_test"):
            file = Finder.root.joinpath(*self.__name__.split(".")[2:], name)
            if file.is_dir() or file.with_suffix(".py").is_file():
                return importlib.import_module(f"{self.__name__}.{name}")
        import dl4.keras as keras

        if self.__name__.startswith(OWN_MODULES):
            for module in (self.__name__, self.__name__.replace("keras.src.", "keras.")):
                with contextlib.suppress(ImportError):
                    own = importlib.import_module("dl4." + module)
                    if hasattr(own, name):
                        return getattr(own, name)
        pools = [
            keras.layers,
            keras.losses,
            keras.metrics,
            keras.optimizers,
            keras.schedules,
            keras.initializers,
            keras.regularizers,
            keras.constraints,
            keras.callbacks,
            keras.models,
            keras.saving,
            keras.activations,
            keras.utils,
            keras.ops,
        ]
        parts = self.__name__.split(".")
        if "bounding_boxes" in parts and hasattr(keras.utils.bounding_boxes, name):
            return getattr(keras.utils.bounding_boxes, name)
        pools.sort(key=lambda m: m.__name__.split(".")[-1] not in parts)
        if parts[:3] == ["keras", "src", "ops"]:
            found = self._operation(name)
            if found is not None:
                return found
        for pool in [keras] + pools if parts[-1] in ("keras", "src") else pools + [keras]:
            if hasattr(pool, name):
                return getattr(pool, name)
        raise AttributeError(f"dl4.keras has no {name}, which the tests take from {self.__name__}")

    def __setattr__(self, name, value):
        """What a case sets, as another limit, is set in the module of dl4.keras that has it too."""
        own = None if isinstance(value, types.ModuleType) else sys.modules.get("dl4." + self.__name__)
        if name[:2] != "__" and hasattr(own, name):
            return setattr(own, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        if name in vars(self):
            super().__delattr__(name)

    def _operation(self, name):
        """A function of keras.ops, or the class of one."""
        import dl4.keras as keras

        part = getattr(keras.ops, self.__name__.split(".")[-1], None)
        for pool in [part, keras.ops] if isinstance(part, types.ModuleType) else [keras.ops]:
            if hasattr(pool, name):
                return getattr(pool, name)
            if name[0].isupper():
                word = {"layernorm": "layer_normalization", "rmsnorm": "rms_normalization"}.get(
                    name.lower(), name.lower()
                )
                for other in dir(pool):
                    if other[0] != "_" and other.replace("_", "") == word.replace("_", ""):
                        return operation_class(getattr(pool, other))
        return None


_special, _attributes = {}, {}
_QUANTIZERS = "numbers", "quantization_config", "quantize", "gptq", "awq"


def special(module):
    """What stands in modules of Keras that are of its machinery."""
    if not _special:
        import dl4.keras as keras

        lookup = importlib.import_module("dl4.keras.src.layers.preprocessing.index_lookup")
        keras.layers.IndexLookup = lookup_class(keras, lookup.IndexLookup)  # which Keras's inner module has
        texts = importlib.import_module("dl4.keras.src.saving.serialization_lib")
        nests = vars(importlib.import_module("dl4.keras.src.structures"))
        keras.layers.Layer.__getattr__ = _with_stored(keras.layers.Layer.__getattr__)
        projection = importlib.import_module("dl4.keras.src.layers.projections").Projection
        projection._kernel = property(lambda self: self._weight("kernel"))
        keras.optimizers.Optimizer.__getattr__ = _with_averages(keras.optimizers.Optimizer.__getattr__)
        policies = importlib.import_module("dl4.keras.src.dtype_policies")
        folder = "dl4.keras.src.quantizers."
        parts = [vars(importlib.import_module(folder + n)) for n in _QUANTIZERS]
        quantizers = {k: v for part in [*parts, vars(keras.quantizers)] for k, v in part.items() if k[:2] != "__"}
        b, named = _backend(), {"named_product": named_product, "get_test_data": get_test_data}
        testing = types.SimpleNamespace(
            TestCase=TestCase,
            uses_gpu=lambda: False,
            uses_tpu=lambda: False,
            tensorflow_uses_gpu=lambda: False,
            jax_uses_gpu=lambda: False,
            test_case=None,
            torch_uses_gpu=lambda: False,
            jax_uses_tpu=lambda: False,
            tensorflow_uses_tpu=lambda: False,
        )
        testing.test_case = testing
        testing.test_utils = types.SimpleNamespace(**named)
        _special.update(
            {
                "keras.src": {
                    "backend": b,
                    "testing": testing,
                    "tree": Tree,
                    "random": keras.random,
                    "quantizers": keras.quantizers,
                    "dtype_policies": types.SimpleNamespace(**{**vars(policies), "dtype_policy": policies}),
                },
                "keras": {"backend": keras.backend, "random": keras.random, "tree": Tree},
                **{"keras.src.quantizers" + n: quantizers for n in ("", ".quantizers", ".quantization_config")},
                **{f"keras.src.quantizers.{n}{rest}": quantizers for n in ("gptq", "awq") for rest in ("", "_config")},
                "keras.src.quantizers.utils": quantizers,
                "keras.src.testing": {**vars(testing), "test_utils": testing.test_utils},
                "keras.src.testing.test_utils": named,
                "keras.src.testing.test_case": vars(testing),
                "keras.src.backend": vars(b),
                "keras.src.backend.config": vars(b),
                "keras.src.backend.common.keras_tensor": vars(b),
                "keras.src.backend.common": vars(b),
                "keras.src.backend.common.variables": vars(b),
                "keras.src.backend.common.symbolic_scope": {"in_symbolic_scope": is_traced},
                "keras.src.distribution.distribution_lib": {n: Use(n) for n in ("DataParallel", "DeviceMesh")},
                "keras.src.saving.object_registration": {
                    "GLOBAL_CUSTOM_OBJECTS": keras.saving.get_custom_objects(),
                    "GLOBAL_CUSTOM_NAMES": RegisteredNames(),
                },
                "keras.src.saving.serialization_lib": {
                    "SafeModeScope": texts.safely,
                    "ObjectSharingScope": texts._sharing,
                },
                "keras.src.legacy.saving.legacy_h5_format": {"save_model_to_hdf5": keras.Model.save},
                "keras.src.saving.saving_lib": {
                    "_CONFIG_FILENAME": "config.json",
                    "_METADATA_FILENAME": "metadata.json",
                    "_MEMORY_UPPER_BOUND": 0.5,
                    "save_weights_only": keras.saving.save_weights,
                    "load_weights_only": keras.saving.load_weights,
                },
                "keras.src.utils.file_utils": {
                    "File": open,
                    "join": os.path.join,
                    "exists": os.path.exists,
                    "isdir": os.path.isdir,
                    "listdir": os.listdir,
                    "makedirs": os.makedirs,
                    "remove": os.remove,
                    "rmtree": shutil.rmtree,
                },
                "keras.src.api_export": {"keras_export": lambda *_: lambda f: f},
                "keras.src.random": vars(keras.random),
                "keras.src.random.random": vars(keras.random),
                "keras.src.random.seed_generator": vars(importlib.import_module("dl4.keras.src.random")),
                "keras.random": vars(keras.random),
                "keras.src.utils.module_utils": {
                    "tensorflow": importlib.import_module("dl4.tf"),
                    "dmtree": types.SimpleNamespace(available=False),
                    "optree": types.SimpleNamespace(available=True),
                },
                "keras.src.layers.rnn.conv_lstm": {
                    "ConvLSTM": lambda rank, **how: getattr(keras.layers, f"ConvLSTM{rank}D")(**how),
                },
                "keras.src.utils.backend_utils": {"convert_tf_tensor": np.asarray, "in_tf_graph": lambda: False},
                "keras.src.tree": nests,
                "keras.src.tree.tree_api": nests,
                "keras.src.tree.optree_impl": nests,
                "keras.src.backend.common.global_state": {
                    "get_global_attribute": lambda name, default=None, **_: _attributes.get(name, default),
                    "set_global_attribute": _attributes.__setitem__,
                },
                "keras.backend": {n: getattr(keras.backend, n) for n in dir(keras.backend)},
                **{f"keras.src.dtype_policies.dtype_policy{n}": vars(policies) for n in ("", "_map")},
                "keras.src.dtype_policies": {**vars(policies), "dtype_policy": policies},
                "keras.src.utils.io_utils": {
                    "disable_interactive_logging": keras.config.disable_interactive_logging,
                    "enable_interactive_logging": keras.config.enable_interactive_logging,
                    "set_logging_verbosity": logging.getLogger("absl").setLevel,
                },
                "keras.src.utils.summary_utils": {"print_summary": lambda model, **how: model.summary(**how)},
                **keras_own_data.modules(),
                "conftest": {"skip_if_backend": lambda *_: lambda f: f},
            }
        )
    return _special.get(module, {})


def _block_size(layer):
    size = getattr(layer.quantization_config or layer.dtype_policy, "block_size", None)
    return None if size == -1 and layer._class_name == "EinsumDense" else size


def _with_stored(getattr_of):
    """Of a layer's attributes also those that are private in Keras's."""
    columns = lambda self: self.get_weights()[[w.name for w in self.weights].index("kernel_scale")].shape[-1]
    kept = {
        "_kernel": lambda self: self._weight("kernel"),
        "_embeddings": lambda self: self._weight("embeddings"),
        "_int4_block_size": _block_size,
        "original_kernel_shape": lambda self: tuple(self.kernel.shape),
        "_orig_output_dim": columns,
        "_int4_unpacked_column_size": columns,
        "_is_quantized": lambda self: self.quantization_mode is not None,
        "_dtype_policy": lambda self: self.dtype_policy,
        **{f"_{part}": operator.attrgetter(part) for part in ("query_dense", "key_dense", "value_dense", "output_dense")},
    }

    def found(layer, key):
        return kept[key](layer) if key in kept else getattr_of(layer, key)

    return found


def _with_averages(getattr_of):
    """Of an optimizer also the averages of weights, by Keras's private name."""
    averages = lambda self: [v for v in self.variables if v.path.endswith("_average")]
    return lambda self, key: averages(self) if key == "_model_variables_moving_average" else getattr_of(self, key)


def lookup_class(keras, base):
    """The class under StringLookup and IntegerLookup, by the type of the vocabulary."""

    class IndexLookup:
        def __new__(cls, *args, vocabulary_dtype, **kwargs):
            kind = keras.layers.StringLookup if vocabulary_dtype == "string" else keras.layers.IntegerLookup
            made = type("IndexLookup", (kind,), {"__init__": base.__init__, "_vocabulary_dtype": vocabulary_dtype})
            made.encoding, made.get_config = "utf-8", base.get_config
            return made(*args, **kwargs)

    return IndexLookup


def is_traced():
    from dl4.keras.src.backend import call_context

    return call_context.owner() is not None


def named_product(*args, **kwargs):
    """All combinations, each with a name."""
    import itertools

    def word(v):
        return getattr(v, "__name__", str(v)).lower()

    lists = [list(given) for given in args]
    lists += [[{"testcase_name": word(v), k: v} for v in values] for k, values in kwargs.items()]
    for given in itertools.product(*lists):
        merged = {k: v for one in given for k, v in one.items()}
        yield {**merged, "testcase_name": "_".join(one["testcase_name"] for one in given)}


def get_test_data(train_samples, test_samples, input_shape, num_classes, random_seed=None):
    """Classes around points of their own."""
    rng = np.random.RandomState(random_seed)
    n = train_samples + test_samples
    labels = np.arange(n) % num_classes
    rng.shuffle(labels)
    centres = 2 * num_classes * rng.random_sample((num_classes,) + tuple(input_shape))
    x = (centres[labels] + rng.normal(size=(n,) + tuple(input_shape))).astype("float32")
    return (x[:train_samples], labels[:train_samples]), (x[train_samples:], labels[train_samples:])


class RegisteredNames:
    """Names of custom objects, by the objects."""

    def __getitem__(self, thing):
        import dl4.keras as keras

        return keras.saving.get_registered_name(thing)


class Marks:
    def __getattr__(self, name):
        if name == "skipif":
            return lambda condition, *_, reason="", **__: unittest.skipIf(condition, reason or "by its mark")
        if name == "skip":
            return lambda *_, reason="", **__: unittest.skip(reason or "by its mark")
        return lambda *a, **__: a[0] if len(a) == 1 and callable(a[0]) else (lambda f: f)

    requires_trainable_backend = staticmethod(lambda f: f)


# Functions of numbers alone, which tests compute expected values with.
PURE = (
    "keras.src.backend.common.backend_utils",
    "keras.src.backend.common.dtypes",
    "keras.src.utils.tracking",
    "keras.src.utils.python_utils",
)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    root, absent = None, {"tensorflow", "torch", "grain", "tf_keras"}

    def find_spec(self, name, path=None, target=None):
        if name == "keras" or name.startswith("keras.") or name == "conftest":
            file = self.root / (name[len("keras.src.") :].replace(".", "/") + ".py")
            if (name.endswith("_test") or name in PURE) and file.is_file():
                return importlib.util.spec_from_file_location(name, file)
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name.split(".")[0] in self.absent:
            return importlib.machinery.ModuleSpec(name, Absent(), is_package=True)
        return None

    def create_module(self, spec):
        return Names(spec.name)

    def exec_module(self, module):
        pass


# Classes that others ask for, as SciPy does.
CLASSES = ("Tensor", "Array", "Variable", "SparseTensor", "RaggedTensor")


class Absent(importlib.abc.Loader):
    """Another framework: a case that uses it is skipped."""

    def create_module(self, spec):
        class Module(types.ModuleType):
            __path__ = []

            def __getattr__(self, name):
                if name.startswith("__"):
                    raise AttributeError(name)
                if spec.name == "tensorflow" and hasattr(importlib.import_module("dl4.tf"), name):
                    return getattr(importlib.import_module("dl4.tf"), name)
                if name in CLASSES:
                    return type(name, (), {})
                return Use(f"{spec.name}.{name}")

        return Module(spec.name)

    def exec_module(self, module):
        pass


class Use:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Use(f"{self._name}.{name}")

    def __call__(self, *_, **__):
        raise unittest.SkipTest(f"asks for {self._name}")

    def __mro_entries__(self, bases):  # a class of the test's that derives from it is skipped where it is used
        return (_Derived,)


class _Derived:
    def __new__(cls, *_, **__):
        raise unittest.SkipTest(f"{cls.__name__} asks for another framework")


def install():
    """Keras's names mean dl4.keras from now on; gives the folder of Keras's sources."""
    found = importlib.util.find_spec("keras")
    root = pathlib.Path(found.submodule_search_locations[0]) / "src"
    Finder.root = root
    with contextlib.suppress(ImportError):
        importlib.import_module("ml_dtypes")  # NumPy's bfloat16, which Keras imports
    if importlib.util.find_spec("jax") is None:  # which cases ask for dtypes
        Finder.absent.add("jax")
    sys.meta_path.insert(0, Finder())
    pytest = types.ModuleType("pytest")
    pytest.mark, pytest.raises, pytest.fixture = Marks(), raises, lambda *a, **k: a[0] if a else (lambda f: f)
    pytest.skip = lambda reason="", **_: (_ for _ in ()).throw(unittest.SkipTest(reason))
    pytest.warns = warns
    pytest.param = lambda *a, **_: a
    sys.modules.setdefault("pytest", pytest)
    return root


@contextlib.contextmanager
def warns(kind=Warning, match=None):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found
    if not any(issubclass(w.category, kind) and re.search(match or "", str(w.message)) for w in found):
        raise AssertionError("Warning not triggered")


@contextlib.contextmanager
def raises(kind, match=None):
    try:
        yield
    except kind as e:
        if match and not re.search(match, str(e)):
            raise AssertionError(f"expected {match!r} in {e}") from e
        return
    raise AssertionError(f"expected {kind}")
