"""Cells of recurrent layers: their states and outputs in Keras's form."""

from .. import ops
from ..tree import map_nest

KINDS = ("SimpleRNNCell", "GRUCell", "LSTMCell", "StackedRNNCells")


def state_size(cell):
    """A number of one state, a list of more; of stacked cells one of these for each."""
    if cell._class_name == "StackedRNNCells":
        return [state_size(c) for c in cell.cells]
    return [cell.units, cell.units] if cell._class_name == "LSTMCell" else cell.units


def output_size(cell):
    """The size of the output."""
    return output_size(cell.cells[-1]) if cell._class_name == "StackedRNNCells" else cell.units


def states_of(cell):
    """The sizes as the states come: a list of each cell's."""
    if cell._class_name == "StackedRNNCells":
        return [states_of(c) for c in cell.cells]
    size = state_size(cell)
    return size if isinstance(size, list) else [size]


def packed(cell, outputs):
    """(output, states) of the library's output and states, one behind the other."""
    rest = iter(outputs[1:])
    return outputs[0], map_nest(lambda _: next(rest), states_of(cell))


def with_states(cell, outputs):
    """What RNN gives: its output and each cell's states."""
    if getattr(cell, "_class_name", None) != "StackedRNNCells":
        return tuple(outputs)
    rest = iter(outputs[1:])
    return (outputs[0], *map_nest(lambda _: next(rest), state_size(cell)))


def get_initial_state(cell, batch_size=None):
    """The states of all cells at the start of a sequence."""
    return map_nest(lambda size: ops.zeros((batch_size, size)), states_of(cell))


def complete(cls):
    """Adds the members of a cell to a class."""
    cls.state_size, cls.output_size = property(state_size), property(output_size)
    cls.get_initial_state = get_initial_state
