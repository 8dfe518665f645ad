"""The variables of an optimizer in Keras's order, for files."""

import warnings

from ..trainers.graphs import needs_targets
from .state import TrainerState

# Slots in the order in which Keras makes them: those of a group stand side by side for each weight. Of the others the
# library's own writer knows.
_TWO = ("momentum", "velocity")
_GROUPS = {
    "SGD": (("momentum",),),
    "Adam": (_TWO, ("velocity_hat",)),
    "AdamW": (_TWO, ("velocity_hat",)),
    "Adagrad": (("accumulator",),),
    "Adadelta": (("accumulated_grad", "accumulated_delta_var"),),
    "Adamax": (("momentum", "norm"),),
    "Ftrl": (("accumulator", "linear"),),
    "Lamb": (_TWO,),
    "Lion": (("momentum",),),
    "Nadam": (_TWO,),
    "RMSprop": (("velocity",), ("momentum",), ("average_gradient",)),
}


class _Number:
    """A number of the trainer's state."""

    def __init__(self, kept, name):
        self._array = kept.arrays[name]

    def get(self):
        return self._array.reshape(())

    def put(self, value):
        self._array[...] = value


class _Part(_Number):
    """A weight's part of a slot."""

    def __init__(self, view):
        self._array = view

    def get(self):
        return self._array


def numbers_of(optimizer):
    """What it keeps before it has trained."""
    return ["iterations"] if callable(optimizer._config.get("learning_rate")) else ["iterations", "learning_rate"]


def has_place(model):
    """Has the file of a model that is not the library's a place for the state of its optimizer?"""
    optimizer = model.optimizer if model.compiled else None
    return optimizer is None or optimizer._class_name in _GROUPS and not optimizer.gradient_accumulation_steps


def _entries(model, kept):
    optimizer = model.optimizer
    groups = _GROUPS.get(optimizer._class_name)
    if not has_place(model):
        raise NotImplementedError(f"the state of {type(optimizer).__name__} can't be saved for such a model")
    graph = model._for_training().graph
    names = [_name_in(graph, w) for w in model.trainable_weights]
    names = [name for name in names if name in kept.trained]
    if sorted(names) != sorted(kept.trained):
        raise NotImplementedError("the weights that are trained are not all those of layers of the model")
    order = [kept.trained.index(name) for name in names]
    entries = [_Number(kept, f"slot:{name}") for name in numbers_of(optimizer)]
    for group in (("average",), *groups):
        parts = [kept.of(f"slot:optimizer/{s}") for s in group if f"slot:optimizer/{s}" in kept.slots()]
        entries += [_Part(part[i]) for i in order for part in parts]
    if optimizer._class_name == "Nadam":
        entries.append(_Number(kept, "slot:optimizer/u_product"))
    return entries


def _name_in(graph, weight):
    """What a weight is called in that graph."""
    layer = weight._layer
    return f"{layer._names_in_graphs.get(graph) or getattr(layer, '_home_name', None)}/{weight._name}"


def arrays_of(model):
    """What the optimizer of a model keeps."""
    if model._from_file is not None:
        return model._from_file
    if model._trainer is None and model._suspended is None and not model._trains_by_steps():
        return []  # it has not trained
    if model._trains_by_steps():
        return [v.numpy() for v in model.optimizer.variables]
    with model._as_compiled():
        return [entry.get() for entry in _entries(model, TrainerState(model._get_trainer()))]


def is_under_way(model):
    """Has its optimizer trained, or is it that of a file?"""
    return model.optimizer.built or model._loaded or model._suspended is not None


def put(model, arrays):
    """Gives the optimizer of a model that state: now, or when its trainer is made, which may need targets."""
    if model._trains_by_steps():
        model.optimizer.build(model.trainable_weights)
        variables = model.optimizer.variables
        if is_count(model.optimizer, len(variables), len(arrays)):
            for v, value in zip(variables, arrays):
                v.assign(value)
        return
    if model._trainer is None and needs_targets(model._compiled):
        model._from_file, model._loaded = list(arrays), True
        fixed = not callable(model.optimizer._config.get("learning_rate"))
        model.optimizer._last = float(arrays[1]) if fixed else None, int(arrays[0])
        return
    with model._as_compiled():
        trainer = model._get_trainer()
        kept = TrainerState(trainer)
        entries = _entries(model, kept)
        if not is_count(model.optimizer, len(entries), len(arrays)):
            return
        for entry, value in zip(entries, arrays):
            entry.put(value)
        kept.put(trainer)
        model._loaded = True


def is_count(optimizer, expected, got):
    """Are there as many variables as in the file? If not, the optimizer stays as it is, which is said, as in Keras."""
    if expected != got:
        warnings.warn(
            f"Skipping variable loading for optimizer '{optimizer.name}', because it has {expected} variables whereas "
            f"the saved optimizer has {got} variables. ",
            stacklevel=2,
        )
    return expected == got
