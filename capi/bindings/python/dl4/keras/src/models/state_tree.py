"""All variables of a model as nests by their paths."""

_VARIABLES = {
    "trainable_variables": lambda model: model.trainable_variables,
    "non_trainable_variables": lambda model: model.non_trainable_variables,
    "optimizer_variables": lambda model: model.optimizer.variables,
    "metrics_variables": lambda model: model.metrics_variables,
}
_FORMATS = {"backend_tensor": lambda v: v.value, "numpy_array": lambda v: v.numpy()}


class StateTree:
    """What a model has learned and counted, read and set."""

    def get_state_tree(self, value_format="backend_tensor"):
        """Nested dicts of the values of variables: trainable, non-trainable, the optimizer's and the metrics'."""
        if value_format not in _FORMATS:
            raise ValueError(
                "Invalid `value_format` argument. Expected one of {'numpy_array', 'backend_tensor'}. Received: "
                f"value_format={value_format}"
            )
        return {word: _nested(of(self), _FORMATS[value_format]) for word, of in _VARIABLES.items()}

    def set_state_tree(self, state_tree):
        """Assigns the values of such nests, or of parts of them, to the variables of the same paths."""
        for word, nest in state_tree.items():
            if word not in _VARIABLES:
                raise ValueError(f"Unknown variable name: {word}")
            values = _flat(nest)
            for variable in _VARIABLES[word](self) if values else ():
                if variable.path in values:
                    variable.assign(values[variable.path])


def _nested(variables, value_of):
    nest, known = {}, set()
    for v in variables:
        if v.path in known:
            raise ValueError(
                f"The following variable path is found twice in the model: '{v.path}'. `get_state_tree()` can only be "
                "called when all variable paths are unique. Make sure to give unique names to your layers (and other "
                "objects)."
            )
        known.add(v.path)
        *groups, name = v.path.split("/")
        group = nest
        for part in groups:
            group = group.setdefault(part, {})
        group[name] = value_of(v)
    return nest


def _flat(nest, prefix=""):
    found = {}
    for key, value in nest.items():
        found.update(_flat(value, f"{prefix}{key}/") if isinstance(value, dict) else {f"{prefix}{key}": value})
    return found
