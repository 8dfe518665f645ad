"""Sessions, which run a model."""

import ctypes as C
import functools

from .abi import Object, Unsupported, check, library, made, options_text
from .cancel import check_call, heard, interruptible
from .tensor import NAMES, Tensor, handles, numpy_module, shape_of

_SMALL = 1 << 16  # bytes of an array that is rather copied than wrapped
_SHAPES = 16  # of the arrays for which a session keeps tensors
# dl4_session_run, whose arguments come as they have to be, which is quicker.
run_session = C.CFUNCTYPE(C.c_void_p)(("dl4_session_run", library))


class Session(Object):
    """A model made ready to run, with the weights of that moment; for any number of threads."""
    __slots__ = ("count", "dtype", "_waiting")

    def __init__(self, model, options=None):
        super().__init__(made("dl4_session_create", model, options_text(options)))
        self.count = library.dl4_port_count(self, 1)
        self.dtype = NAMES.get(library.dl4_port_dtype(self, 0, 0))  # of its first input
        self._waiting = {}

    def run(self, inputs, cancel=None):
        """Runs the model on Tensors or arrays, one for each input (one needs no list), and returns Tensors."""
        outs, given = (C.c_void_p * self.count)(), self._given(inputs)
        check(library.dl4_session_run(self.handle, *handles(given), outs, self.count, cancel))
        return [Tensor(out) for out in outs]

    def _given(self, inputs):
        """Tensors of the inputs' types."""
        if not isinstance(inputs, (list, tuple)):
            inputs = [inputs]
        return [
            x if isinstance(x, Tensor) else Tensor.of(x, NAMES.get(library.dl4_port_dtype(self, 0, i)))
            for i, x in enumerate(inputs)
        ]

    def bind(self, inputs):
        """Runs the model on these tensors and returns a callable that runs it again, into the same outputs."""
        return Bound(self, self._given(inputs))

    def through(self, array):
        """Runs the model on one array and returns arrays. Small arrays are copied to tensors that each thread keeps."""
        waiting = self._waiting.get(array.shape)
        try:
            bound = waiting.pop()
            bound.take(array)
        except (AttributeError, IndexError, TypeError):  # a new shape, all are at work, not a number for this input
            return self._first(array)
        bound()
        arrays = [a.copy() for a in bound.arrays]
        waiting.append(bound)
        return arrays

    def _first(self, array):
        given = Tensor.of(array, self.dtype)
        if given.array is None or self._gives_strings():
            return [t.numpy() for t in self.run([given])]
        if array.nbytes > _SMALL:
            return [t.numpy() for t in self.run([given])]
        own = given.array.copy()
        if not self._is_sized(own.shape):
            return [t.numpy() for t in self.run([given])]
        bound = Bound(self, [Tensor.of(own)])
        bound.take = functools.partial(numpy_module().copyto, own)
        arrays = [a.copy() for a in bound.arrays]
        if sum(a.nbytes for a in arrays) <= _SMALL:
            if len(self._waiting) >= _SHAPES:
                self._waiting.clear()
            self._waiting.setdefault(array.shape, []).append(bound)
        return arrays

    def _gives_strings(self):
        return any(NAMES.get(library.dl4_port_dtype(self, 1, i)) == "string" for i in range(self.count))

    def _is_sized(self, shape):
        """Whether the shapes of the outputs depend on the input's shape only, not on computed numbers."""
        ranks, dims = (C.c_int32 * 1)(len(shape)), (C.c_int64 * len(shape))(*shape)
        rank = C.c_int32()
        for i in range(self.count):
            error = library.dl4_session_output_shape(self, ranks, dims, 1, i, None, 0, C.byref(rank))
            try:
                check(error)
            except Unsupported:
                return False
        return True

    def predict(self, dataset, cancel=None):
        """Runs all batches and joins the outputs. Ctrl-C or `cancel` ends it between two batches."""
        outs = (C.c_void_p * self.count)()
        with heard() as lost, interruptible(cancel) as flag:
            error = library.dl4_session_predict(self.handle, dataset.handle, flag, outs, self.count)
            failures = dataset.failures[:]
            dataset.failures.clear()
            check_call(error, failures + lost)
        return [Tensor(out) for out in outs]


class _Call:
    """dl4_session_run on arguments that stay. `_bound.c` has the same in C; a wheel brings it."""

    __slots__ = ("outputs", "_check", "_arguments")

    def __init__(self, run, session, ins, n_ins, outs, n_outs, check):
        places = (
            C.c_void_p(session),
            C.c_void_p(ins),
            C.c_int64(n_ins),
            C.c_void_p(outs),
            C.c_int64(n_outs),
            C.c_void_p(),
        )
        self._arguments, self._check = places, check
        self.outputs = None

    def __call__(self):
        error = run_session(*self._arguments)
        if error:
            self._check(error)
        return self.outputs


try:
    from ._bound import Call as _Call
except ImportError:
    pass


class Bound(_Call):
    """A session with tensors and the outputs of their first run, which each call overwrites. For one thread at a
    time."""

    __slots__ = ("take", "arrays", "_held")

    def __init__(self, session, inputs):
        ins, outs = handles(inputs)[0], (C.c_void_p * session.count)()
        self._held = session, inputs, ins, outs
        places = C.addressof(ins), len(inputs), C.addressof(outs), session.count
        super().__init__(C.cast(run_session, C.c_void_p).value, session.handle, *places, check)
        self()
        self.outputs = [Tensor(out) for out in outs]
        self.arrays = [t.numpy() for t in self.outputs]

    __reduce_ex__ = Object.__reduce_ex__  # a copy would write the same outputs


class KeptSession(Session):
    """A session of a model with stateful layers: each run starts from the states at the end of the previous one."""

    __slots__ = ("model", "states")

    def __init__(self, model, options):
        super().__init__(model, {**options, "states": True})
        self.model, first = model, library.dl4_port_count(model, 0)
        self.states = []  # name, shape, whether a layer keeps it
        for i in range(first, library.dl4_port_count(self, 0)):
            name = library.dl4_port_name(self, 0, i).decode()
            self.states.append((name, shape_of(library.dl4_port_shape, self, 0, i), self._keeps(name)))

    def _keeps(self, name):
        try:
            self.model.get_weight(name)
            return True
        except LookupError:
            return False

    def run(self, inputs, cancel=None):
        inputs = self._given(inputs)
        rows = inputs[0].shape[0]
        now = [
            self.model.get_weight(name) if kept else numpy_module().zeros((rows, *shape[1:]), "f4")
            for name, shape, kept in self.states
        ]
        outs = super().run([*inputs, *(Tensor.of(v) for v in now)], cancel)
        count = len(outs) - len(now)
        for (name, _, kept), value in zip(self.states, outs[count:]):
            if kept:
                self.model.set_weight(name, value.numpy())
        return outs[:count]

    def through(self, array):
        return [t.numpy() for t in self.run([Tensor.of(array, self.dtype)])]

    def predict(self, dataset, cancel=None):
        raise NotImplementedError("a stateful model predicts on arrays, or batch by batch: predict_on_batch()")

    def reset(self, prefix=""):
        """Sets the states of the layers with this prefix to zeros."""
        for name, shape, kept in self.states:
            if kept and name.startswith(prefix):
                self.model.set_weight(name, numpy_module().zeros(shape, "f4"))


