"""The objects of the C interface, for those who want them: Context, Tensor, Graph, Model, Session, Dataset, Trainer."""

import ctypes as C
import json

from .abi import Attrs, Object, call, callbacks, check, constants, content, encoded, library, made, text

_NAMES = {"float32": "f4", "float64": "f8", "int32": "i4", "int64": "i8", "bool": "b1", "uint8": "u1"}
DTYPES = {name: constants["DL4_" + name.upper()] for name in _NAMES}
NAMES = {number: name for name, number in DTYPES.items()}


def _numpy():
    import numpy

    return numpy


def _dims(shape):
    return (C.c_int64 * len(shape))(*[-1 if d is None else d for d in shape])


def _shape(function, *args):
    dims, rank = (C.c_int64 * 8)(), C.c_int32()
    check(function(*args, dims, 8, C.byref(rank)))
    return tuple(None if d < 0 else d for d in dims[: rank.value])


class Context(Object):
    """Threads, seed and memory of what is made in it; options as in dl4_context_create()."""

    __slots__ = ()

    def __init__(self, **options):
        super().__init__(made("dl4_context_create", Attrs(options)))

    def set_seed(self, seed):
        call("dl4_context_set_seed", self, int(seed))


_known = None


def _learn():
    """NumPy's array class, its types by name, and our numbers by its types: slow to ask for, so asked once."""
    global _known
    np = _numpy()
    types = {name: np.dtype(name) for name in DTYPES}
    _known = {0: np.ndarray, **types, **{types[name]: number for name, number in DTYPES.items()}}
    return _known


_NO_RELEASE = callbacks["dl4_release_fn"]()


def _wrapped(dtype, shape, address, nbytes):
    """A tensor over memory of NumPy's."""
    out = C.c_void_p()
    check(
        library.dl4_tensor_wrap(
            None,
            dtype,
            len(shape),
            _dims(shape),
            None,
            address if nbytes else None,
            nbytes,
            _NO_RELEASE,
            None,
            C.byref(out),
        )
    )
    return out.value


_capsule = C.PyDLL(None)
_capsule.PyCapsule_New.restype = C.py_object
_capsule.PyCapsule_New.argtypes = [C.c_void_p, C.c_char_p, C.c_void_p]
_capsule.PyCapsule_GetName.restype, _capsule.PyCapsule_GetName.argtypes = C.c_char_p, [C.py_object]
_capsule.PyCapsule_GetPointer.restype = C.c_void_p
_capsule.PyCapsule_GetPointer.argtypes = [C.py_object, C.c_char_p]
_capsule.PyCapsule_SetName.argtypes = [C.py_object, C.c_char_p]
_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


_DELETERS = {b"dltensor": 48 + 8, b"dltensor_versioned": 16}  # where its deleter stands in a managed tensor


@C.CFUNCTYPE(None, C.c_void_p)
def _dropped(capsule):
    """Of a capsule that nobody took: the tensor in it goes by its own deleter."""
    for name, place in _DELETERS.items():
        if _capsule_raw.PyCapsule_IsValid(capsule, name):
            managed = _capsule_raw.PyCapsule_GetPointer(capsule, name)
            C.CFUNCTYPE(None, C.c_void_p)(C.c_void_p.from_address(managed + place).value)(managed)


_capsule_raw = C.PyDLL(None)  # for a capsule that is being freed: no reference may be taken
_capsule_raw.PyCapsule_IsValid.argtypes = [C.c_void_p, C.c_char_p]
_capsule_raw.PyCapsule_GetPointer.restype = C.c_void_p
_capsule_raw.PyCapsule_GetPointer.argtypes = [C.c_void_p, C.c_char_p]
_drop = C.cast(_dropped, C.c_void_p)


class Tensor(Object):
    """Numbers of the library's, seen by NumPy without a copy; or an array of NumPy's, seen by the library."""

    __slots__ = ("array",)

    @classmethod
    def of(cls, value, dtype=None):
        """Of anything NumPy takes; float64 becomes float32. Copies only what has the wrong type or is not dense."""
        array, known = value, _known or _learn()
        if type(value) is not known[0] or value.dtype != known.get(dtype or "float32") or not value.flags.c_contiguous:
            array = cls._array_of(value, dtype)
        address = array.__array_interface__["data"][0]
        number = known.get(array.dtype) or DTYPES[array.dtype.name]  # NumPy has two int64
        tensor = cls(_wrapped(number, array.shape, address, array.nbytes))
        tensor.array = array
        return tensor

    @staticmethod
    def _array_of(value, dtype):
        np = _numpy()
        array = np.asarray(value)
        if dtype is None:
            dtype = "float32" if array.dtype.kind == "f" else array.dtype.name
        if dtype not in DTYPES:
            dtype = "float32" if array.dtype.kind == "f" else "int64" if array.dtype.kind in "iu" else dtype
        if dtype not in DTYPES:
            raise TypeError(f"expected numbers, got an array of {array.dtype}")
        return np.ascontiguousarray(array, dtype).reshape(array.shape)

    @classmethod
    def from_dlpack(cls, value):
        """Of an array of any library on the CPU, in place."""
        if not hasattr(value, "__dlpack__"):
            raise TypeError(f"expected an array with __dlpack__(), got {type(value).__name__}")
        try:
            capsule = value.__dlpack__(max_version=(1, 0))  # what is read-only can say so
        except TypeError:
            capsule = value.__dlpack__()
        name = _capsule.PyCapsule_GetName(capsule)
        tensor = cls(
            made(
                "dl4_tensor_from_dlpack",
                None,
                int(name == b"dltensor_versioned"),
                _capsule.PyCapsule_GetPointer(capsule, name),
            )
        )
        _capsule.PyCapsule_SetName(capsule, _USED[name])
        return tensor

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        versioned = max_version is not None and max_version[0] >= 1
        managed = made("dl4_tensor_to_dlpack", self, int(versioned))
        return _capsule.PyCapsule_New(managed, b"dltensor_versioned" if versioned else b"dltensor", _drop)

    def __dlpack_device__(self):
        return 1, 0  # the CPU

    @property
    def shape(self):
        rank = library.dl4_tensor_rank(self)
        return tuple((C.c_int64 * rank).from_address(library.dl4_tensor_dims(self))) if rank else ()

    @property
    def dtype(self):
        return NAMES[library.dl4_tensor_dtype(self)]

    @property
    def __array_interface__(self):
        kind = _NAMES[self.dtype]
        return {
            "shape": self.shape,
            "typestr": ("|" if kind in ("b1", "u1") else "<") + kind,
            "version": 3,
            "data": (library.dl4_tensor_data(self) or 0, False),
        }

    def numpy(self):
        """An array over the same memory."""
        np = _numpy()
        if getattr(self, "array", None) is not None:
            return self.array
        if not library.dl4_tensor_bytes(self):
            return np.empty(self.shape, self.dtype)
        return np.asarray(self)


def _handles(tensors):
    return (C.c_void_p * len(tensors))(*[None if t is None else t.handle for t in tensors]), len(tensors)


class Graph(Object):
    __slots__ = ("context", "names", "scratch")

    def __init__(self, context=None, scratch=False):
        """`scratch`: only its shape rules are asked; no model is made of it."""
        self.context, self.names, self.scratch = context, set(), scratch
        super().__init__(made("dl4_graph_create", context))

    def free_name(self, wanted):
        """The name, with a number if another layer has it; None in, None out."""
        name, i = wanted, 0
        while name is not None and name in self.names:
            i += 1
            name = f"{wanted}_{i}"
        self.names.add(name)
        return name

    def input(self, name, dtype, shape):
        return made("dl4_graph_input", self, encoded(name), DTYPES[dtype], len(shape), _dims(shape), type=C.c_int32)

    def constant(self, value, name=None):
        return made("dl4_graph_constant", self, encoded(name), value, type=C.c_int32)

    def layer(self, kind, name=None, config=None, models=None):
        """models: by attribute, those that are layers in it."""
        attrs = Attrs(config)
        for key, model in (models or {}).items():
            call("dl4_attrs_set_model", attrs, key.encode(), model)
        return made("dl4_graph_layer", self, encoded(kind), encoded(name), attrs, type=C.c_int32)

    def share(self, graph, layer, name=None):
        """A layer of another graph, with its weights."""
        return made("dl4_graph_share", self, graph, layer, encoded(name), type=C.c_int32)

    def carries_mask(self, node):
        return made("dl4_graph_mask", self, node, type=C.c_int32) >= 0

    def call(self, layer, inputs, plain=None, nodes=None):
        """All outputs."""
        ins, first = (C.c_int32 * len(inputs))(*inputs), C.c_int32()
        call("dl4_graph_call", self, layer, Attrs(plain, nodes), ins, len(inputs), C.byref(first), 1)
        return self.outputs(first.value)

    def outputs(self, node):
        """All outputs of the call that gave a node."""
        outs, count = (C.c_int32 * 64)(), C.c_int64()
        call("dl4_graph_outputs", self, node, outs, 64, C.byref(count))
        return outs[: count.value]

    def merge_json(self, architecture):
        call("dl4_graph_merge_json", self, architecture.encode())

    def shape(self, node):
        return _shape(library.dl4_graph_shape, self, node)

    def dtype(self, node):
        return NAMES[made("dl4_graph_dtype", self, node, type=C.c_int32)]

    def build(self, inputs=(), outputs=()):
        ins, outs = (C.c_int32 * len(inputs))(*inputs), (C.c_int32 * len(outputs))(*outputs)
        return Model(made("dl4_graph_build", self, ins, len(inputs), outs, len(outputs)), self.context)


class Model(Object):
    __slots__ = ("context",)

    def __init__(self, handle, context=None):
        super().__init__(handle)
        self.context = context

    @classmethod
    def load(cls, path, context=None, **options):
        return cls(made("dl4_model_load", context, encoded(path), Attrs(options)), context)

    def save(self, path):
        call("dl4_model_save", self, encoded(path), None)

    def load_weights(self, path, **options):
        call("dl4_model_load_weights", self, encoded(path), Attrs(options))

    def to_bytes(self):
        return content(made("dl4_model_save_memory", self, None))

    @classmethod
    def from_bytes(cls, data, context=None, **options):
        return cls(made("dl4_model_load_memory", context, data, len(data), Attrs(options)), context)

    def clone(self):
        return Model(made("dl4_model_clone", self), self.context)

    def names(self, direction):
        """Of the inputs (0) or outputs (1)."""
        return [
            library.dl4_model_io_name(self, direction, i).decode()
            for i in range(library.dl4_model_io_count(self, direction))
        ]

    def shapes(self, direction):
        return [
            _shape(library.dl4_model_io_shape, self, direction, i)
            for i in range(library.dl4_model_io_count(self, direction))
        ]

    def dtypes(self, direction):
        return [
            NAMES[library.dl4_model_io_dtype(self, direction, i)]
            for i in range(library.dl4_model_io_count(self, direction))
        ]

    def weights(self):
        """(name, shape, trainable) of each."""
        return [
            (
                library.dl4_model_weight_name(self, i).decode(),
                _shape(library.dl4_model_weight_shape, self, i),
                bool(library.dl4_model_weight_trainable(self, i)),
            )
            for i in range(library.dl4_model_weight_count(self))
        ]

    def get_weight(self, name):
        return Tensor(made("dl4_model_get_weight", self, encoded(name))).numpy()

    def set_weight(self, name, value):
        call("dl4_model_set_weight", self, encoded(name), Tensor.of(value, "float32"))

    def set_trainable(self, name, yes):
        call("dl4_model_set_trainable", self, encoded(name), int(yes))

    def session(self, **options):
        """A Session; of a model with stateful layers one whose runs go on where the one before ended."""
        if "states" not in options and '"stateful":true' in self.describe(0):
            return KeptSession(self, options)
        return Session(self, options)

    def trainer(self, **options):
        return Trainer(self, options)


class Session(Object):
    __slots__ = ("count",)

    def __init__(self, model, options=None):
        super().__init__(made("dl4_session_create", model, Attrs(options)))
        self.count = library.dl4_session_io_count(self, 1)

    def run(self, inputs):
        """Tensors in, Tensors out."""
        outs = (C.c_void_p * self.count)()
        check(library.dl4_session_run(self.handle, *_handles(inputs), outs, self.count, None))
        return [Tensor(out) for out in outs]

    def predict(self, dataset):
        outs = (C.c_void_p * self.count)()
        check(library.dl4_session_predict(self.handle, dataset.handle, None, outs, self.count))
        return [Tensor(out) for out in outs]


class KeptSession(Session):
    """Begins each run with what the model's stateful layers keep, which is then what the run left."""

    __slots__ = ("model", "states")

    def __init__(self, model, options):
        super().__init__(model, {**options, "states": True})
        self.model, first = model, library.dl4_model_io_count(model, 0)
        self.states = []  # name, shape, whether a layer keeps it
        for i in range(first, library.dl4_session_io_count(self, 0)):
            name = library.dl4_session_io_name(self, 0, i).decode()
            self.states.append((name, _shape(library.dl4_session_io_shape, self, 0, i), self._keeps(name)))

    def _keeps(self, name):
        try:
            self.model.get_weight(name)
            return True
        except LookupError:
            return False

    def run(self, inputs):
        rows = inputs[0].shape[0]
        now = [
            self.model.get_weight(name) if kept else _numpy().zeros((rows, *shape[1:]), "f4")
            for name, shape, kept in self.states
        ]
        outs = super().run([*inputs, *(Tensor.of(v) for v in now)])
        count = len(outs) - len(now)
        for (name, _, kept), value in zip(self.states, outs[count:]):
            if kept:
                self.model.set_weight(name, value.numpy())
        return outs[:count]

    def predict(self, dataset):
        raise NotImplementedError("a stateful model predicts on arrays, or batch by batch: predict_on_batch()")

    def reset(self, prefix=""):
        """What the layers whose names begin so keep is zeros again."""
        for name, shape, kept in self.states:
            if kept and name.startswith(prefix):
                self.model.set_weight(name, _numpy().zeros(shape, "f4"))


class Stream(Object):
    """A sequence that goes on: steps as they come, of a session made with states=True."""

    __slots__ = ("count",)

    def __init__(self, session, batch=1):
        super().__init__(made("dl4_stream_create", session, Attrs({"batch": batch})))
        self.count = library.dl4_stream_io_count(self, 1)

    def run(self, inputs):
        """Tensors of some steps in, Tensors out."""
        outs = (C.c_void_p * self.count)()
        check(library.dl4_stream_run(self.handle, *_handles(inputs), outs, self.count, None))
        return [Tensor(out) for out in outs]

    def reset(self):
        call("dl4_stream_reset", self)

    def save(self):
        """Where it stands, as bytes; load() goes on from there."""
        return content(made("dl4_stream_save_memory", self))

    def load(self, state):
        call("dl4_stream_load_memory", self, state, len(state))


class Dataset(Object):
    """Of whole tensors, or of batches that `batches(index)` gives: (x, y, w), lists of arrays, or None at the end."""

    __slots__ = ("held", "failure")

    def __init__(self, x=(), y=(), w=(), batches=None, context=None, **options):
        self.failure = None
        if batches is None:
            self.held = [*x, *y, *w]
            super().__init__(
                made("dl4_dataset_from_tensors", context, *_handles(x), *_handles(y), *_handles(w), Attrs(options))
            )
            return
        last = []

        def ask(_, index, xs, nx, ys, ny, ws, nw):
            try:
                batch = batches(index)
                if batch is None:
                    return constants["DL4_STOP"]
                last[:] = [t for part in batch for t in part if t is not None]
                for part, slots, n in zip(batch, (xs, ys, ws), (nx, ny, nw)):
                    to = (C.c_void_p * n).from_address(slots) if n else ()
                    if part and len(part) != n:
                        raise ValueError(f"expected {n} arrays, got {len(part)}")
                    for i, t in enumerate(part):
                        if t is not None:
                            library.dl4_retain(t.handle)
                            to[i] = t.handle
                return constants["DL4_CONTINUE"]
            except BaseException as e:  # comes back as itself when the call ends
                self.failure = e
                return -1

        function = callbacks["dl4_batch_fn"](ask)
        self.held = [function, last]
        super().__init__(
            made("dl4_dataset_from_callback", context, function, None, callbacks["dl4_release_fn"](), Attrs(options))
        )


class Trainer(Object):
    __slots__ = ("names",)

    def __init__(self, model, options=None):
        """Without options those that the model was compiled with in Keras."""
        super().__init__(made("dl4_trainer_create", model, None if options is None else Attrs(options)))
        self.names = json.loads(self.describe(0))["metric_names"]

    def _batch(self, function, x, y, w):
        metrics, n = (C.c_double * len(self.names))(), C.c_int64()
        check(function(self.handle, *_handles(x), *_handles(y), *_handles(w), metrics, len(metrics), C.byref(n)))
        return list(metrics)

    def step(self, x, y, w=()):
        return self._batch(library.dl4_trainer_step, x, y, w)

    def accumulate(self, x, y, w=()):
        return self._batch(library.dl4_trainer_accumulate, x, y, w)

    def apply(self):
        call("dl4_trainer_apply", self)

    def fit(self, train, valid=None, progress=None, **options):
        """The history. progress(event, step, total, metrics) answers whether to stop; what it raises comes back."""
        raised = []

        def tell(_, event, step, total, metrics, n):
            try:
                values = list((C.c_double * n).from_address(metrics)) if n else []
                return constants["DL4_STOP" if progress(event, step, total, values) else "DL4_CONTINUE"]
            except BaseException as e:
                raised.append(e)
                return -1

        function = callbacks["dl4_progress_fn"](tell) if progress else callbacks["dl4_progress_fn"]()
        history = C.c_void_p()
        error = library.dl4_trainer_fit(
            self.handle, train.handle, valid and valid.handle, Attrs(options), function, None, None, C.byref(history)
        )
        self._raise(error, raised, train, valid)
        return json.loads(text(history.value))

    @staticmethod
    def _raise(error, raised, *datasets):
        for d in datasets:
            if d is not None and d.failure is not None:
                raised.append(d.failure)
                d.failure = None
        try:
            check(error)
        except Exception as e:
            if raised:
                raise raised[0] from None
            raise e

    def evaluate(self, dataset):
        metrics, n = (C.c_double * len(self.names))(), C.c_int64()
        self._raise(
            library.dl4_trainer_evaluate(self.handle, dataset.handle, None, metrics, len(metrics), C.byref(n)),
            [],
            dataset,
        )
        return list(metrics)

    def get(self, key):
        return made("dl4_trainer_get", self, encoded(key), type=C.c_double)

    def set(self, key, value):
        call("dl4_trainer_set", self, encoded(key), float(value))

    def save(self, path):
        call("dl4_trainer_save", self, encoded(path))

    def load(self, path):
        call("dl4_trainer_load", self, encoded(path))
