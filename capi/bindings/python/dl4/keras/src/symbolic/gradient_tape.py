"""GradientTape: gradients of what was computed while it records."""

import contextlib
import weakref

from .. import ops
from ..backend import call_context
from ..backend.eager_tensor import eager_tensor
from ..tree import flatten, pack_like
from .arrays_on_tape import ArrayStep
from .step import gradients, read, WeightCall
from .tensor import Call, is_tensor, KerasTensor, operation

_CUT = {"StopGradient", "Assign", "ApplyGradients"}
_ROWS = 4096  # of a jacobian


def _need_size(shape):
    count = 1
    for d in shape:
        if d is None:
            raise NotImplementedError(f"jacobian: the size of the target must be known, got shape {shape}")
        count *= d
    if count > _ROWS:
        raise NotImplementedError(f"jacobian: at most {_ROWS} numbers are supported, got {count}")
    return count


class GradientTape:
    """Records what is computed in its context, of arrays or in a traced step.

    Variables that are trainable are watched; tensors are where watch() says so or what was computed of watched ones."""

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent, self._watches_all = persistent, watch_accessed_variables
        self._spans, self._watched, self._stopped = [], {}, {}
        self._used = self._arrays = self._below = None

    # ---- recording

    def __enter__(self):
        if self._spans:
            raise ValueError("Tape is still recording, or has been used: make another one.")
        if call_context.step() is None:
            self._arrays = contextlib.ExitStack()
            record = self._arrays.enter_context(call_context.traced(None))
            record.step = ArrayStep(record)
        self._step = call_context.step()
        if self._step.binds:
            self._step.tapes.append(weakref.ref(self))
        self._below = list(call_context.tapes())
        self._begin()
        return self

    def __exit__(self, *_):
        if self._is_recording():
            self._end()
        if self._arrays is not None:
            self._arrays.close()
            self._arrays = None

    def _begin(self):
        self._spans.append([next(Call._numbers), None])
        call_context.tapes().append(self)

    def _end(self):
        self._spans[-1][1] = next(Call._numbers)
        call_context.tapes().remove(self)

    def may_be_asked(self):
        """For gradients, from now on?"""
        return self._persistent or not self._used

    def _is_recording(self):
        return bool(self._spans) and self._spans[-1][1] is None

    @contextlib.contextmanager
    def stop_recording(self):
        if not self._is_recording():
            raise ValueError("Tape is not recording.")
        self._end()
        try:
            yield
        finally:
            self._begin()

    def reset(self):
        self._spans[:-1], self._watched, self._used = [], {}, None
        self._spans[-1][0] = next(Call._numbers)

    def watch(self, tensor):
        for t in flatten(tensor):
            if is_tensor(t) or hasattr(t, "_as_tensor"):
                self._watched[id(t)] = t
            elif hasattr(t, "__array__") and self._step is not None and self._step.binds:
                self._watched[id(t)] = t
                symbol = self._step.symbol(t)
                self._watched[id(symbol)] = symbol
            else:
                raise ValueError(f"Passed in object {t!r} of type '{type(t).__name__}', not tf.Tensor or tf.Variable.")

    def watched_variables(self):
        return [v for v in self._watched.values() if hasattr(v, "_as_tensor")]

    def _records(self, call):
        return any(begin < call.number and (end is None or call.number < end) for begin, end in self._spans)

    def _passed(self, t):
        """What a recorded call reads in a tensor's place: through what was made before there is no gradient."""
        if t is None or t.dtype != "float32" or t.call.layer is None or self._records(t.call):
            return t
        if getattr(t.call.layer, "_class_name", None) in ("Weight", "GetWeight", "StopGradient"):
            return t
        if call_context.is_watched(t):
            return t
        if id(t) not in self._stopped:
            kept = list(call_context.tapes())
            call_context.tapes().clear()
            try:
                self._stopped[id(t)] = t, Call(operation("StopGradient"), [t]).infer_outputs()[0]
            finally:
                call_context.tapes().extend(kept)
        return self._stopped[id(t)][1]

    # ---- gradients

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients="none"):
        if str(unconnected_gradients).lower() not in ("none", "zero"):
            raise ValueError(f"`unconnected_gradients`: expected 'none' or 'zero', got {unconnected_gradients!r}")
        self._use()
        zeros = str(unconnected_gradients).lower() == "zero"
        targets = [t for t in map(self._symbol, flatten(target)) if is_tensor(t)]
        given = None if output_gradients is None else [self._symbol(g) for g in flatten(output_gradients)]
        leaves = flatten(sources)
        places = [self._place(s) for s in leaves]
        calls = self._calls(targets)
        found = [i for i, (s, p) in enumerate(zip(leaves, places)) if p is not None and self._reaches(calls, s, p)]
        got = self._run(targets, [places[i] for i in found], given) if found and targets else []
        values = [None] * len(leaves)
        for i, g in zip(found, got):
            values[i] = g
        if zeros:
            values = [self._zeros(s) if v is None else v for s, v in zip(leaves, values)]
        return pack_like(sources, values)

    def jacobian(
        self, target, sources, unconnected_gradients="none", parallel_iterations=None, experimental_use_pfor=True
    ):
        """Of each number of one target by each number of the sources."""
        target = self._symbol(target)
        count = _need_size(target.shape)
        rows = [self._row(target, sources, i, count, unconnected_gradients) for i in range(count)]
        return self._stacked(rows, sources, tuple(target.shape))

    def batch_jacobian(
        self, target, source, unconnected_gradients="none", parallel_iterations=None, experimental_use_pfor=True
    ):
        """Of each number of one target by each number of the source in the same row."""
        target = self._symbol(target)
        rows, count = target.shape[0], _need_size(target.shape[1:])
        of_all = [
            self._row(target, source, [r * count + i for r in range(rows)], rows * count, unconnected_gradients)
            for i in range(count)
        ]
        if of_all[0] is None:
            return None
        together = ops.stack(of_all, axis=1)
        return ops.reshape(together, (rows, *target.shape[1:], *source.shape[1:]))

    def _row(self, target, sources, places, count, unconnected):
        """The gradients of the sum of some numbers of a target."""
        import numpy

        chosen = numpy.zeros(count, "float32")
        chosen[places] = 1.0
        self._used = None
        return self.gradient(target, sources, chosen.reshape(target.shape), unconnected)

    @staticmethod
    def _stacked(rows, sources, shape):
        columns = zip(*(flatten(row) for row in rows))
        found = [
            None if column[0] is None else ops.reshape(ops.stack(column, axis=0), (*shape, *source.shape))
            for column, source in zip(columns, flatten(sources))
        ]
        return pack_like(sources, found)

    def _use(self):
        if not self._spans:
            raise RuntimeError("The tape has recorded nothing: compute in its context first.")
        if self._used and not self._persistent:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"
            )
        self._used = True
        if self._is_recording() and not self._persistent:
            self._end()

    def _symbol(self, t):
        if is_tensor(t) or not hasattr(t, "__array__") and not hasattr(t, "_as_tensor"):
            return t
        if hasattr(t, "_as_tensor"):
            return read(t)
        return self._step.symbol(t) if self._step.binds else t

    def _place(self, source):
        """The tensor to differentiate by; None: the tape does not watch it."""
        if source is None or isinstance(source, (int, float, str)):
            raise ValueError(f"expected tensors or variables to differentiate by, got {source!r}")
        if hasattr(source, "_as_tensor"):
            if source.dtype != "float32":
                return None
            watched = id(source) in self._watched or (self._watches_all and source.trainable)
            return read(source) if watched else None
        t = self._symbol(source)
        if not isinstance(t, KerasTensor) or t.dtype != "float32":
            return None
        made = t.call.layer is not None and self._records(t.call)
        return t if made or id(t) in self._watched else None

    def _calls(self, targets):
        found, stack = set(), [t.call for t in targets]
        while stack:
            call = stack.pop()
            if call in found:
                continue
            found.add(call)
            if getattr(call.layer, "_class_name", None) not in _CUT:
                stack.extend(t.call for t in call.sources())
        return found

    def _reaches(self, calls, source, place):
        if not hasattr(source, "_as_tensor"):
            return place.call in calls
        used = [c for c in calls if c.layer is source._layer or isinstance(c, WeightCall) and c.weight is source]
        if self._below and any(c.layer is source._layer and not self._records(c) for c in used):
            raise NotImplementedError(
                f"GradientTape.gradient: {source.path} is used on an outer tape but not on this one: a "
                "gradient of the inner tape alone is not supported"
            )
        return bool(used)

    def _run(self, targets, places, given):
        if self._step.binds and not any(tape is not self for tape in call_context.tapes()):
            return [eager_tensor(v) for v in self._step.gradients(targets, places, given)]
        return gradients(targets, places, given)

    def _zeros(self, source):
        import numpy

        zeros = numpy.zeros(tuple(source.shape), "float32")
        return eager_tensor(zeros)
