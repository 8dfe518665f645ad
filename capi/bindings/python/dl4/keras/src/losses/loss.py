"""The base class of losses, and losses of arrays."""

from .... import core
from ....abi import encoded, made, options_text
from .. import ops, overrides
from ..backend import global_state
from ..backend.eager_tensor import eager_tensor
from ..errors import keras_errors
from ..export import keras_export
from ..kind import as_json, Kind
from ..registry import Category, create
from ..saving.object_registration import registered
from ..symbolic.tensor import as_tensor, is_tensor
from ..tree import flatten, map_nest
from ..utils.naming import snake_case


def measured(category, kind, config, y_true, y_pred, sample_weight=None):
    """A loss or metric of arrays."""
    given = [core.Tensor.of(y_true), core.Tensor.of(y_pred, "float32")]
    w = None if sample_weight is None else core.Tensor.of(sample_weight, "float32")
    attrs = options_text({k: as_json(v) for k, v in config.items()})
    with keras_errors(kind, config):
        got = made("dl4_measure", global_state.context(), encoded(category), encoded(kind), attrs, *given, w)
    return core.Tensor(got).numpy()


_REDUCTIONS = ("sum_over_batch_size", "sum", None, "none", "mean", "mean_with_sample_weight")


@keras_export("losses")
class Loss(Kind):
    """Called on targets and predictions it gives a number, or with reduction="none" one for each item.

    One of your own derives from it and has call(y_true, y_pred), which is traced, with a value for each item."""

    _category = "loss"

    def __init__(self, *args, **kwargs):
        if self._class_name is not None:
            super().__init__(*args, **kwargs)
            _need_reduction(self._config)
            return
        given = {**dict(zip(("name", "reduction", "dtype"), args)), **kwargs}
        _need_reduction(given)
        self.name = given.get("name") or snake_case(type(self).__name__)
        self.reduction = given.get("reduction", "sum_over_batch_size")
        self._config = {} if given.get("dtype") is None else {"dtype": given["dtype"]}

    def __getattr__(self, key):
        if key == "name" and self._class_name is not None:
            return self._config.get("name") or snake_case(self._class_name)
        return super().__getattr__(key)

    @property
    def dtype(self):
        """The type of data of what it gives on arrays."""
        given = self._config.get("dtype")
        return str(getattr(given, "compute_dtype", None) or getattr(given, "name", None) or given or "float32")

    def __call__(self, y_true, y_pred, sample_weight=None):
        if len(getattr(y_true, "shape", ())) == 0 and not isinstance(y_true, (list, tuple, dict)):
            y_true = ops.zeros_like(ops.convert_to_tensor(y_pred), dtype="float32") + y_true  # one for all
        mask = getattr(y_pred, "_keras_mask", None)
        if mask is not None and not is_tensor(y_pred):
            sample_weight = _masked(sample_weight, mask, self.reduction)
            y_pred = eager_tensor(ops.convert_to_numpy(y_pred))  # without it
        if overrides.is_custom(self):
            value = self._own(y_true, y_pred, sample_weight)
        else:
            value = self._measured(y_true, y_pred, sample_weight)
        return value if self.dtype == "float32" or is_tensor(value) else ops.cast(value, self.dtype)

    def _measured(self, y_true, y_pred, sample_weight=None, **other):
        """By the library, with other options."""
        if is_tensor(y_true) or is_tensor(y_pred):
            native = self._native()
            native["config"].update(other)
            layer = create("layer", "Loss", loss=native)
            layer._is_operation = True
            return layer([as_tensor(t) for t in (y_true, y_pred, sample_weight) if t is not None])
        config = {k: v for k, v in {**self._config, **other}.items() if k not in ("name", "dtype")}
        return eager_tensor(measured("loss", self._class_name, config, y_true, y_pred, sample_weight))

    def _own(self, y_true, y_pred, sample_weight):
        values = self.call(_floats(y_true), _floats(y_pred))
        if sample_weight is not None:
            w = _floats(sample_weight)
            while len(w.shape) < len(values.shape):
                w = ops.expand_dims(w, -1)
            while len(w.shape) > len(values.shape) and w.shape[-1] == 1:
                w = ops.squeeze(w, -1)
            values = values * w
        if self.reduction in ("none", None):
            return values
        if self.reduction == "mean_with_sample_weight" and sample_weight is not None:
            return ops.sum(values) / ops.sum(w)
        return ops.sum(values) if self.reduction == "sum" else ops.mean(values)

    def call(self, y_true, y_pred):
        """The loss of each item, (batch, ...); override it in a class of your own."""
        if self._class_name is None:
            raise NotImplementedError(f"{type(self).__name__} has no call()")
        return self._measured(y_true, y_pred, reduction="none")

    def _native(self):
        value = super()._native()
        value["config"].pop("name", None)
        value["config"].pop("dtype", None)
        return value

    def get_config(self):
        if self._class_name is None:
            return {"name": self.name, "reduction": self.reduction}
        return {"name": self.name, **super().get_config()}


def _need_reduction(given):
    if given.get("reduction", "none") not in _REDUCTIONS:
        raise ValueError(
            "Invalid value for argument `reduction`. Expected one of "
            f"{set(_REDUCTIONS)}. Received: reduction={given['reduction']}"
        )


def _masked(sample_weight, mask, reduction):
    """Sample weights that leave out what is masked; a mean is that of the rest."""
    w = ops.cast(mask, "float32")
    if reduction in ("mean", "sum_over_batch_size"):
        w = w * (ops.size(w) / (ops.sum(w) + 1e-7))
    if sample_weight is None:
        return w
    given = ops.cast(ops.convert_to_tensor(sample_weight), "float32")
    while len(given.shape) > len(w.shape):
        if given.shape[-1] == 1:
            given = ops.squeeze(given, -1)
        else:
            w = ops.expand_dims(w, -1)
    while len(given.shape) < len(w.shape):
        given = ops.expand_dims(given, -1)
    return given * w


def _floats(x):
    if isinstance(x, (list, tuple, dict)) and any(hasattr(leaf, "shape") for leaf in flatten(x)):
        return map_nest(_floats, x)
    return ops.cast(ops.convert_to_tensor(x), "float32")


def loss_function(cls, name):
    def function(y_true, y_pred, *args, **kwargs):
        names = [n for n in cls.__signature__.parameters if n not in ("reduction", "name")]
        return cls(reduction="none", **dict(zip(names, args)), **kwargs)(y_true, y_pred)

    function.__name__ = function.__qualname__ = name
    function.__module__ = cls.__module__  # where pickle finds it
    function.__doc__, function._to_json = cls.__doc__, lambda: name
    return function


category = Category("loss", "losses", Loss, loss_function)


def get(identifier):
    """A loss of a name: the function, as in Keras; of a config, the object."""
    if isinstance(identifier, str):
        own = registered(identifier)
        if own is not None:
            return own
        found = category.find(identifier)
        if found is None or isinstance(found, type):
            return category.get(identifier)
        return found
    return category.get(identifier)
