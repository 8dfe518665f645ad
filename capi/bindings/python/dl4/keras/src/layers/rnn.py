"""RNN of a cell that is Python: its steps are laid out one after the other, or a loop where their number is free."""

import inspect

from .. import ops
from ..kind import is_native, Kind
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ..symbolic.loop import scanned
from ..tree import flatten, map_nest, pack_like
from . import weights
from .in_python import in_python
from .layer import category, Layer
from .variable import Variable


def _is_python(cell):
    cells = cell if isinstance(cell, (list, tuple)) else [cell]
    return any(not isinstance(c, dict) and not (isinstance(c, Kind) and is_native(c)) for c in cells)


@category.base_of("RNN")
@in_python("build", "call", "compute_mask", "compute_output_shape", "get_config")
class _RNN(Layer):
    """A recurrent layer of a cell"""

    def __init__(self, cell=None, *args, **kwargs):
        if cell is None or not _is_python(cell):
            super().__init__(*(() if cell is None else (cell,)), *args, **kwargs)
        else:
            self._class_name = None  # the layer is Python as its cell is
            self._of_python(cell, *args, **kwargs)

    def _of_python(
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
        super().__init__(**kwargs)
        self.cell = list(cell) if isinstance(cell, (list, tuple)) else cell
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self.stateful, self.unroll, self.zero_output_for_mask = stateful, unroll, zero_output_for_mask
        self.supports_masking, self._states = True, None

    @property
    def _cells(self):
        return self.cell if isinstance(self.cell, list) else [self.cell]

    @property
    def state_size(self):
        """The sizes of the states."""
        return [_sizes(c) for c in self.cell] if isinstance(self.cell, list) else _sizes(self.cell)

    def build(self, sequences_shape, initial_state_shape=None):
        shape = (sequences_shape[0], *sequences_shape[2:])
        for cell in self._cells:
            if not cell.built:
                cell.build(shape)
                cell.built = True
            shape = (sequences_shape[0], *_shape(_output_size(cell)))
        self.built = True

    def _create_state_variables(self, batch_size):
        if batch_size is None:
            raise ValueError(
                "When using `stateful=True` in a RNN, the batch size must be static. Found dynamic batch size: expected"
                " the layer's inputs to have one"
            )
        self._states = map_nest(
            lambda value: Variable(value, trainable=False, name="rnn_state"), self.get_initial_state(batch_size)
        )

    @property
    def states(self):
        """The states that a stateful layer keeps, as variables."""
        return weights.states(self) if self._class_name is not None else self._states

    def reset_state(self):
        """Sets the states that a stateful layer keeps back to zeros."""
        if self._class_name is not None:
            weights.reset_state(self)
            return
        for v in flatten(self._states or []):
            v.assign(ops.zeros(v.shape))

    def reset_states(self):
        """Sets the states that a stateful layer keeps back to zeros."""
        self.reset_state()

    def compute_output_shape(self, sequences_shape, initial_state_shape=None):
        batch, steps = sequences_shape[:2]
        one = (batch, *_shape(_output_size(self._cells[-1])))
        output = (batch, steps, *one[1:]) if self.return_sequences else one
        if not self.return_state:
            return output
        return (output, *self._shown([[(batch, *_shape(n)) for n in _sizes(c)] for c in self._cells]))

    def compute_mask(self, _, mask):
        mask = flatten(mask)[0] if mask is not None else None
        output = mask if self.return_sequences else None
        return [output] + [None] * sum(len(_sizes(c)) for c in self._cells) if self.return_state else output

    def get_initial_state(self, batch_size):
        """The states at the start of a sequence, for a batch size."""
        def of(cell):
            if hasattr(cell, "get_initial_state"):
                return cell.get_initial_state(batch_size=batch_size)
            zeros = [ops.zeros((batch_size, *_shape(n))) for n in _sizes(cell)]
            return zeros if isinstance(cell.state_size, (list, tuple)) else zeros[0]

        found = [of(c) for c in self._cells]
        found = [list(s) if isinstance(s, (list, tuple)) else [s] for s in found]
        return found if isinstance(self.cell, list) else found[0]

    def call(self, sequences, initial_state=None, mask=None, training=False):
        mask = flatten(mask)[0] if mask is not None else None
        states, batch = self._first_states(sequences, initial_state), ops.shape(sequences)[0]
        states = states if isinstance(self.cell, list) else [states]
        last = ops.zeros((batch, *_shape(_output_size(self._cells[-1]))))

        def step(carried, items):
            (states, last), (x, seen) = carried, items
            output, new = self._step(x, states, training)
            if seen is None:
                return (new, output), output
            blank = ops.zeros_like(output) if self.zero_output_for_mask else last
            new = pack_like(new, [_chosen(seen, a, b) for a, b in zip(flatten(new), flatten(states))])
            return (new, _chosen(seen, output, last)), _chosen(seen, output, blank)

        if sequences.shape[1] is None:
            (states, last), output = self._scanned(step, (states, last), sequences, mask)
        else:
            outputs, steps = [], range(sequences.shape[1])
            for t in reversed(steps) if self.go_backwards else steps:
                items = sequences[:, t], None if mask is None else mask[:, t]
                (states, last), output = step((states, last), items)
                outputs.append(output)
            output = ops.stack(outputs, 1) if self.return_sequences else last
        if self.stateful:
            for variable, state in zip(flatten(self._states), flatten(states)):
                variable.assign(state)
        output = output if self.return_sequences else last
        return (output, *self._shown(states)) if self.return_state else output

    def _scanned(self, step, carried, sequences, mask):
        """As many steps as the data has."""
        by_time = [ops.swapaxes(x, 0, 1) for x in (sequences, mask) if x is not None]

        def one(carried, items):
            return step(carried, (items[0], items[1] if mask is not None else None))

        carried, outputs = scanned(one, carried, by_time, self.go_backwards)
        return carried, ops.swapaxes(outputs, 0, 1)

    def _first_states(self, sequences, initial_state):
        size = sequences.shape[0]
        if self.stateful and self._states is None:
            self._create_state_variables(size)
        if self.stateful and size not in (None, expected := flatten(self._states)[0].shape[0]):
            raise ValueError(
                "If an RNN is stateful, the batch size of the input sequences must be the same as the batch size of "
                f"the initial state.\n- Expected batch size: {expected}\n- Received batch size: {size}"
            )
        states = self._states if self.stateful else self.get_initial_state(ops.shape(sequences)[0])
        given = states if initial_state is None else initial_state
        return pack_like(states, [ops.convert_to_tensor(state) for state in flatten(given)])

    def _shown(self, states):
        """Of one cell its states, of several what each has."""
        if not isinstance(self.cell, list):
            return states[0]
        return [s if isinstance(c.state_size, (list, tuple)) else s[0] for c, s in zip(self.cell, states)]

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
        cell = [deserialize_keras_object(c, custom_objects) for c in (given if isinstance(given, list) else [given])]
        return cls(cell if isinstance(given, list) else cell[0], **config)


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
