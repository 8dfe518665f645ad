"""RNN of a cell that is Python: its steps are laid out one after the other."""

import inspect

from .. import ops
from ..kind import is_native, Kind
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ..tree import flatten, map_nest, pack_like
from .layer import category, Layer


def _is_python(cell):
    cells = cell if isinstance(cell, (list, tuple)) else [cell]
    return any(not isinstance(c, dict) and not (isinstance(c, Kind) and is_native(c)) for c in cells)


@category.base_of("RNN")
class _RNN(Layer):
    """A recurrent layer of a cell"""

    def __new__(cls, cell=None, *args, **kwargs):
        if cell is not None and cls._class_name is not None and _is_python(cell):
            return PythonRNN(cell, *args, **kwargs)
        return super().__new__(cls, cell, *args, **kwargs)

    @classmethod
    def from_config(cls, config, **_):
        config = dict(config)
        if isinstance(config.get("cell"), dict):
            config["cell"] = deserialize_keras_object(config["cell"])
        return cls(**config)


class PythonRNN(Layer):
    """A recurrent layer of a cell that is Python, or of several."""

    def __init__(
        self,
        cell,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        stateful=False,
        unroll=False,
        zero_output_for_mask=False,
        **kwargs,
    ):
        for one in cell if isinstance(cell, (list, tuple)) else [cell]:
            if not hasattr(one, "call"):
                raise ValueError(f"Argument `cell` should have a `call` method. Received: cell={cell}")
            if not hasattr(one, "state_size"):
                raise ValueError(
                    "The RNN cell should have a `state_size` attribute (single integer or list of integers, one "
                    f"integer per RNN state). Received: cell={cell}"
                )
        if stateful:
            raise NotImplementedError("RNN: stateful=True of a cell in Python is not in this version of the library")
        super().__init__(**kwargs)
        self.cell = list(cell) if isinstance(cell, (list, tuple)) else cell
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self.unroll, self.zero_output_for_mask = unroll, zero_output_for_mask
        self.stateful, self.supports_masking = False, True

    @property
    def _cells(self):
        return self.cell if isinstance(self.cell, list) else [self.cell]

    @property
    def state_size(self):
        sizes = [_sizes(c) for c in self._cells]
        return sizes if isinstance(self.cell, list) else self.cell.state_size

    def build(self, sequences_shape, initial_state_shape=None):
        shape = (sequences_shape[0], *sequences_shape[2:])
        for cell in self._cells:
            if not cell.built:
                cell.build(shape)
                cell.built = True
            shape = (sequences_shape[0], *_shape(_output_size(cell)))
        self.built = True

    def compute_output_shape(self, sequences_shape, initial_state_shape=None):
        batch, steps = sequences_shape[:2]
        one = (batch, *_shape(_output_size(self._cells[-1])))
        output = (batch, steps, *one[1:]) if self.return_sequences else one
        if not self.return_state:
            return output
        return (output, *((batch, *_shape(n)) for c in self._cells for n in _sizes(c)))

    def compute_mask(self, _, mask):
        mask = flatten(mask)[0] if mask is not None else None
        output = mask if self.return_sequences else None
        return [output] + [None] * sum(len(_sizes(c)) for c in self._cells) if self.return_state else output

    def get_initial_state(self, batch_size):
        def of(cell):
            if hasattr(cell, "get_initial_state"):
                return cell.get_initial_state(batch_size=batch_size)
            zeros = [ops.zeros((batch_size, *_shape(n))) for n in _sizes(cell)]
            return zeros if isinstance(cell.state_size, (list, tuple)) else zeros[0]

        found = [of(c) for c in self._cells]
        found = [list(s) if isinstance(s, (list, tuple)) else [s] for s in found]
        return found if isinstance(self.cell, list) else found[0]

    def call(self, sequences, initial_state=None, mask=None, training=False):
        steps = sequences.shape[1]
        if steps is None:
            raise NotImplementedError(
                f"{self.name}: RNN of a cell in Python: expected a known number of steps, got {sequences.shape}"
            )
        states = self.get_initial_state(ops.shape(sequences)[0])
        if initial_state is not None:
            given = initial_state if isinstance(initial_state, (list, tuple)) else [initial_state]
            states = pack_like(states, flatten(given))
        states = states if isinstance(self.cell, list) else [states]
        mask = flatten(mask)[0] if mask is not None else None
        outputs, last = [], None
        for t in reversed(range(steps)) if self.go_backwards else range(steps):
            output, new = self._step(sequences[:, t], states, training)
            if mask is not None:
                here = mask[:, t]
                blank = ops.zeros_like(output) if last is None or self.zero_output_for_mask else last
                last = _chosen(here, output, output * 0 if last is None else last)
                output = _chosen(here, output, blank)
                new = pack_like(new, [_chosen(here, a, b) for a, b in zip(flatten(new), flatten(states))])
            else:
                last = output
            outputs.append(output)
            states = new
        output = ops.stack(outputs, 1) if self.return_sequences else last
        return (output, *flatten(states)) if self.return_state else output

    def _step(self, x, states, training):
        found = []
        for cell, state in zip(self._cells, states):
            more = {"training": training} if _takes_training(cell) else {}
            x, new = cell(x, state, **more)
            new = list(new) if isinstance(new, (list, tuple)) else [new]
            found.append(new)
        return x, found

    def get_config(self):
        names = "return_sequences return_state go_backwards stateful unroll zero_output_for_mask".split()
        cell = map_nest(serialize_keras_object, self.cell) if isinstance(self.cell, list) else self.cell
        if not isinstance(self.cell, list):
            cell = serialize_keras_object(cell)
        return {**super().get_config(), **{n: getattr(self, n) for n in names}, "cell": cell}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        given = config.pop("cell")
        many = isinstance(given, list)
        cell = [deserialize_keras_object(c, custom_objects) for c in (given if many else [given])]
        return cls(cell if many else cell[0], **config)


PythonRNN.__name__ = PythonRNN.__qualname__ = "RNN"  # as which it is named in configs


def _takes_training(cell):
    return "training" in inspect.signature(cell.call).parameters


def _sizes(cell):
    size = cell.state_size
    return list(size) if isinstance(size, (list, tuple)) else [size]


def _output_size(cell):
    size = getattr(cell, "output_size", None)
    return _sizes(cell)[0] if size is None else size


def _shape(size):
    return tuple(size) if isinstance(size, (list, tuple)) else (size,)


def _chosen(mask, a, b):
    """Rows of a where the mask is true, else of b."""
    return ops.where(ops.reshape(mask, [-1, *[1] * (len(a.shape) - 1)]), a, b)
