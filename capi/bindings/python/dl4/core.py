"""The objects of the C interface: Context, Tensor, Graph, Model, Session, Dataset, Trainer."""

import ctypes as C
import enum
import json

from .abi import (
    Object,
    call,
    callbacks,
    check,
    constants,
    content,
    encoded,
    library,
    made,
    node_ids,
    options_text,
    refs,
    text,
)
from .cancel import check_call, heard, inside, inside_waiting, interruptible
from .session import KeptSession, Session
from .stream import Stream
from .tensor import DTYPES, NAMES, Tensor, dims, handles, numpy_module, shape_of

__all__ = [
    "Context",
    "Dataset",
    "Graph",
    "KeptSession",
    "Model",
    "Session",
    "Stream",
    "Tensor",
    "Trainer",
]


class Context(Object):
    """Threads, seed and memory of the objects made in it; options as for dl4_context_create()."""

    __slots__ = ()

    def __init__(self, **options):
        super().__init__(made("dl4_context_create", options_text(options)))

    def set_seed(self, seed):
        """Starts all random numbers of the context anew."""
        call("dl4_context_set_seed", self, int(seed))


class Graph(Object):
    """Layers that are called on symbolic values, nodes."""
    __slots__ = ("context", "names", "scratch")

    def __init__(self, context=None, scratch=False):
        """`scratch`: only its shape rules are asked; no model is made of it."""
        self.context, self.names, self.scratch = context, set(), scratch
        super().__init__(made("dl4_graph_create", context))

    def free_name(self, wanted):
        """The name, with a number appended if another layer has it; None for None."""
        name, i = wanted, 0
        while name is not None and name in self.names:
            i += 1
            name = f"{wanted}_{i}"
        self.names.add(name)
        return name

    def input(self, name, dtype, shape):
        """A node that each run is given: name, type ("float32") and shape, -1 or None where free."""
        return made("dl4_graph_add_input", self, encoded(name), DTYPES[dtype], len(shape), dims(shape), type=C.c_int32)

    def constant(self, value, name=None):
        """A node of a value that never changes, an array or Tensor."""
        return made("dl4_graph_add_constant", self, encoded(name), value, type=C.c_int32)

    def layer(self, kind, name=None, config=None, models=None):
        """Adds a layer. `models`: models as attributes, by attribute."""
        given = encoded(kind), encoded(name), options_text(config), refs(models)
        return made("dl4_graph_add_layer", self, *given, type=C.c_int32)

    def share(self, graph, layer, name=None):
        """Adds a layer of another graph; both share its weights."""
        return made("dl4_graph_add_shared", self, graph, layer, encoded(name), type=C.c_int32)

    def carries_mask(self, node):
        """Whether a node has a mask."""
        return made("dl4_graph_add_mask", self, node, type=C.c_int32) >= 0

    def call(self, layer, inputs, plain=None, nodes=None):
        """Calls a layer and returns all outputs."""
        ins, first = (C.c_int32 * len(inputs))(*inputs), C.c_int32()
        arguments = options_text(plain), refs(nodes=nodes)
        call("dl4_graph_call", self, layer, *arguments, ins, len(inputs), C.byref(first), 1)
        return self.outputs(first.value)

    def weight(self, name):
        """The value of the weight "<layer>/<weight>", after the assignments added so far."""
        return made("dl4_graph_add_weight", self, encoded(name), type=C.c_int32)

    def gradients(self, targets, by, config=None, output_gradients=None):
        """Gradients of the targets with respect to the nodes `by`; config: "sum", "unconnected"."""
        if output_gradients is not None and len(output_gradients) != len(targets):
            raise ValueError(f"expected {len(targets)} output_gradients, got {len(output_gradients)}")
        found = (C.c_int32 * len(by))()
        call(
            "dl4_graph_add_gradients",
            self,
            options_text(config),
            node_ids(targets),
            len(targets),
            None if output_gradients is None else node_ids(output_gradients),
            node_ids(by),
            len(by),
            found,
            len(by),
        )
        return list(found)

    def assign(self, weight, value, operation="assign"):
        """Assigns a node to a weight, or adds ("add") or subtracts ("sub") it; returns a node to pass to after()."""
        return made(
            "dl4_graph_add_assign", self, options_text({"operation": operation}), weight, value, type=C.c_int32
        )

    def update(self, config, weights, gradients, name=None, learning_rate=None):
        """Adds one update of the optimizer in config; returns the number of updates so far."""
        return made(
            "dl4_graph_add_update",
            self,
            encoded(name),
            options_text(config),
            -1 if learning_rate is None else learning_rate,
            node_ids(weights),
            len(weights),
            node_ids(gradients),
            len(gradients),
            type=C.c_int32,
        )

    def after(self, node, others):
        """The value of a node in a model that also makes the assignments `others`."""
        ins = (C.c_int32 * len(others))(*others)
        return made("dl4_graph_add_after", self, node, ins, len(others), type=C.c_int32)

    def outputs(self, node):
        """All outputs of the call that gave a node."""
        outs, count = (C.c_int32 * 64)(), C.c_int64()
        call("dl4_node_outputs", self, node, outs, len(outs), C.byref(count))
        if count.value > len(outs):
            outs = (C.c_int32 * count.value)()
            call("dl4_node_outputs", self, node, outs, len(outs), C.byref(count))
        return outs[: count.value]

    def merge_json(self, architecture):
        """Adds all layers of an architecture in JSON, as describe() gives it."""
        call("dl4_graph_add_json", self, architecture.encode())

    def shape(self, node):
        """The shape of a node; None where free."""
        return shape_of(library.dl4_node_shape, self, node)

    def dtype(self, node):
        """The type of a node, by name."""
        return NAMES[made("dl4_node_dtype", self, node, type=C.c_int32)]

    def build(self, inputs=(), outputs=()):
        """A Model of what lies between nodes: lists of inputs and of outputs."""
        ins, outs = (C.c_int32 * len(inputs))(*inputs), (C.c_int32 * len(outputs))(*outputs)
        return Model(made("dl4_graph_build", self, ins, len(inputs), outs, len(outputs)), self.context)


class Model(Object):
    """A finished architecture and its weights."""
    __slots__ = ("context", "_bytes")

    def __init__(self, handle, context=None):
        super().__init__(handle)
        self.context, self._bytes = context, None  # of quantized layers: weights of uint8, by name

    @classmethod
    def load(cls, path, context=None, **options):
        """A model from a file: .safetensors, .keras, .h5, .onnx; options as of dl4_model_load()."""
        return cls(made("dl4_model_load", context, encoded(path), options_text(options)), context)

    def save(self, path, **options):
        """Writes the model in the format that the suffix says: .safetensors, .keras, .onnx, .weights.h5, .npz."""
        call("dl4_model_save", self, encoded(path), options_text(options) if options else None)

    def load_weights(self, path, **options):
        """Sets all weights to those in a file; options as of dl4_model_load_weights()."""
        call("dl4_model_load_weights", self, encoded(path), options_text(options))

    def to_bytes(self):
        """The bytes of a native file."""
        return content(made("dl4_model_save_bytes", self, None))

    @classmethod
    def from_bytes(cls, data, context=None, **options):
        """A model of the bytes of a file; options as of dl4_model_load_bytes()."""
        file = Tensor(made("dl4_tensor_create", None, DTYPES["uint8"], 1, dims([len(data)])))
        call("dl4_tensor_copy_in", file, data, len(data))
        return cls(made("dl4_model_load_bytes", context, file, options_text(options)), context)

    @classmethod
    def mapped(cls, path, context=None, **options):
        """Loads a model whose weights stay in the file, shared by all processes that map it. It must not change."""
        file = Tensor.from_dlpack(numpy_module().memmap(path, "uint8", "c"))
        return cls(made("dl4_model_load_bytes", context, file, options_text(options)), context)

    def clone(self):
        """A copy with weights of its own."""
        return Model(made("dl4_model_clone", self), self.context)

    def names(self, which):
        """Names of the inputs (0), outputs (1) or weights (2)."""
        return [library.dl4_port_name(self, which, i).decode() for i in range(library.dl4_port_count(self, which))]

    def shapes(self, which):
        """Shapes of the inputs (0), outputs (1) or weights (2); None where free."""
        return [shape_of(library.dl4_port_shape, self, which, i) for i in range(library.dl4_port_count(self, which))]

    def dtypes(self, which):
        """Types of the inputs (0), outputs (1) or weights (2), by name."""
        return [NAMES[library.dl4_port_dtype(self, which, i)] for i in range(library.dl4_port_count(self, which))]

    def weights(self):
        """(name, shape, trainable) of each weight."""
        which = constants["DL4_WEIGHTS"]
        return [
            (name, shape, bool(made("dl4_model_get_trainable", self, name.encode(), type=C.c_int32)))
            for name, shape in zip(self.names(which), self.shapes(which))
        ]

    def get_weight(self, name):
        """A weight, "dense/kernel", as a Tensor of its own; "*": all trainable ones in a row."""
        return Tensor(made("dl4_model_get_weight", self, encoded(name))).numpy()

    def set_weight(self, name, value):
        """Sets a weight to a copy of a Tensor or array of its shape."""
        if self._bytes is None:
            which = constants["DL4_WEIGHTS"]
            self._bytes = {n for n, t in zip(self.names(which), self.dtypes(which)) if t == "uint8"}
        dtype = "uint8" if name in self._bytes else "float32"
        call("dl4_model_set_weight", self, encoded(name), Tensor.of(value, dtype))

    def set_trainable(self, name, yes):
        """Says whether training changes a weight, all of a layer, or with "*" all."""
        call("dl4_model_set_trainable", self, encoded(name), int(yes))

    def session(self, **options):
        """Makes a Session. With stateful layers each run starts from the states at the end of the previous one."""
        if "states" not in options and '"stateful":true' in self.describe(0):
            return KeptSession(self, options)
        return Session(self, options)

    def stream(self, batch=1, seed=0, **options):
        """Makes a Stream, and a session for it with these options: cache, cache_full."""
        return Stream(self.session(states=True, **options), batch, seed)

    def trainer(self, **options):
        """A Trainer of the model; options as of dl4_trainer_create(): optimizer, loss, metrics, ..."""
        return Trainer(self, options)


class Dataset(Object):
    """Whole tensors, or batches of a callback: `batches(index)` returns lists (x, y, w), or None at the end."""

    __slots__ = ("held", "failures")

    def __init__(self, x=(), y=(), w=(), batches=None, context=None, **options):
        self.failures = failures = []  # of `batches`, which raises what it gave the call under way
        if batches is None:
            self.held = [*x, *y, *w]
            super().__init__(
                made("dl4_dataset_from_tensors", context, *handles(x), *handles(y), *handles(w), options_text(options))
            )
            return
        if len(x) or len(y) or len(w):
            raise TypeError("expected whole tensors x, y, w or batches(index), got both")
        last = []

        def ask(_, index, xs, nx, ys, ny, ws, nw):
            try:
                with inside_waiting:
                    batch = batches(index)
                if batch is None:
                    return constants["DL4_STOP"]
                if len(batch) > 3:
                    raise ValueError(f"expected a batch (x, y, w), got {len(batch)} parts")
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
                failures.append(e)
                return -1

        function = callbacks["dl4_batch_fn"](ask)
        self.held = [function, last]
        super().__init__(
            made("dl4_dataset_from_callback", context, function, None, callbacks["dl4_release_fn"](), options_text(options))
        )


def adapt(kind, dataset, config=None, context=None, cancel=None):
    """The config of a layer of that kind with what it learns from a dataset's inputs: a vocabulary, limits of bins,
    means."""
    out = C.c_void_p()
    with heard() as lost, interruptible(cancel) as flag:
        error = library.dl4_adapt(
            context, encoded(kind), options_text(config), dataset.handle, flag, C.byref(out)
        )
        failures = dataset.failures[:]
        dataset.failures.clear()
        check_call(error, failures + lost)
    return json.loads(text(out.value))


class Flow(enum.IntEnum):
    """What a progress function answers."""

    CONTINUE = constants["DL4_CONTINUE"]
    STOP = constants["DL4_STOP"]


CONTINUE, STOP = Flow


class Trainer(Object):
    """A model being trained: loss, metrics, optimizer, place in the epoch."""
    __slots__ = ("names", "reduce", "failures")

    def __init__(self, model, options=None):
        """Without options, those that the model was compiled with in Keras."""
        self.reduce, self.failures = None, []  # of `reduce`
        super().__init__(made("dl4_trainer_create", model, None if options is None else options_text(options) or b"{}"))
        which = constants["DL4_METRICS"]
        self.names = [library.dl4_port_name(self, which, i).decode() for i in range(library.dl4_port_count(self, which))]

    def _batch(self, function, x, y, w):
        metrics, n = (C.c_double * len(self.names))(), C.c_int64()
        if self.reduce is None:
            check(function(self.handle, *handles(x), *handles(y), *handles(w), metrics, len(metrics), C.byref(n)))
            return list(metrics)
        with heard() as lost:
            error = function(self.handle, *handles(x), *handles(y), *handles(w), metrics, len(metrics), C.byref(n))
            self._raise(error, lost)
        return list(metrics)

    def step(self, x, y, w=()):
        """Trains on one batch: lists of inputs, targets and sample weights; returns loss and metrics."""
        return self._batch(library.dl4_trainer_step, x, y, w)

    def accumulate(self, x, y, w=()):
        """Adds the gradients of a batch, without an update; returns loss and metrics."""
        return self._batch(library.dl4_trainer_accumulate, x, y, w)

    def apply(self):
        """Updates the weights by the accumulated gradients."""
        call("dl4_trainer_apply", self)

    def fit(self, train, valid=None, progress=None, cancel=None, **options):
        """Trains and returns the history. progress(event, step, total, metrics) returns CONTINUE or None, or STOP, which
        ends the fit; its exceptions are raised again here. Ctrl-C or `cancel` ends the fit after a step."""

        def tell(_, event, step, total, metrics, n):
            try:
                if raised:
                    return -1
                values = list((C.c_double * n).from_address(metrics)) if n else []
                with inside:
                    answer = progress(event, step, total, values)
                if answer is not None and not isinstance(answer, Flow):
                    raise TypeError(f"progress: expected CONTINUE, STOP or None, got {answer!r}")
                return CONTINUE if answer is None else answer
            except BaseException as e:
                raised.append(e)
                return -1

        function = callbacks["dl4_progress_fn"](tell) if progress else callbacks["dl4_progress_fn"]()
        history = C.c_void_p()
        with heard() as raised, interruptible(cancel) as flag:
            error = library.dl4_trainer_fit(
                self.handle,
                train.handle,
                valid and valid.handle,
                options_text(options),
                function,
                None,
                flag,
                C.byref(history),
            )
            self._raise(error, raised, train, valid)
        return json.loads(text(history.value))

    def _raise(self, error, raised, *datasets):
        for of in (self, *datasets):
            if of is not None:
                raised += of.failures
                of.failures.clear()
        check_call(error, raised)

    def evaluate(self, dataset, cancel=None):
        """Computes the metrics over all batches. Ctrl-C or `cancel` ends it between two batches."""
        metrics, n = (C.c_double * len(self.names))(), C.c_int64()
        with heard() as lost, interruptible(cancel) as flag:
            error = library.dl4_trainer_evaluate(self.handle, dataset.handle, flag, metrics, len(metrics), C.byref(n))
            self._raise(error, lost, dataset)
        return list(metrics)

    def set_workers(self, rank, size, reduce):
        """Trains together with size - 1 other processes from now on, as documented for dl4_trainer_set_workers().

        reduce(array) sums an array, float32 or int32, in place over all of them; exceptions in it are raised by the
        current call. None: trains alone again.
        """
        import numpy as np

        failures = self.failures

        def sums(_, values, n, dtype):
            try:
                kind = C.c_float if dtype == constants["DL4_FLOAT32"] else C.c_int32
                with inside:
                    reduce(np.ctypeslib.as_array((kind * n).from_address(values)))
                return constants["DL4_CONTINUE"]
            except BaseException as e:
                failures.append(e)
                return -1

        function = callbacks["dl4_reduce_fn"](sums) if reduce else callbacks["dl4_reduce_fn"]()
        no_release = callbacks["dl4_release_fn"]()
        with heard() as lost:
            error = library.dl4_trainer_set_workers(self.handle, rank, size, function, None, no_release)
            self._raise(error, lost)
        self.reduce = function if reduce else None

    def get(self, key):
        """A number of the trainer: "learning_rate", "iterations", "epoch", "batch"."""
        return made("dl4_trainer_get_number", self, encoded(key), type=C.c_double)

    def set(self, key, value):
        """Sets a number of the trainer: "learning_rate", "epoch", "batch"."""
        call("dl4_trainer_set_number", self, encoded(key), float(value))

    def save(self, path):
        """Writes a checkpoint: weights, state of the optimizer, place in the epoch."""
        call("dl4_trainer_save", self, encoded(path))

    def load(self, path):
        """Loads a checkpoint of the same model and options."""
        call("dl4_trainer_load", self, encoded(path))
