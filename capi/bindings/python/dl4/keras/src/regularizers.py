"""Regularizers: penalties on weights and outputs."""

from . import ops
from .export import keras_export
from .kind import Kind
from .registry import Category, create


@keras_export("regularizers")
class Regularizer(Kind):
    """A penalty on a weight or an output. One of your own has __call__(x), traced where it is on a weight that
    add_weight() made."""

    _category = "regularizer"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for key in ("l1", "l2", "factor"):
            value = self._config.get(key)
            if value is not None and (not isinstance(value, (int, float)) or value < 0 or value != value):
                raise ValueError(
                    f"Invalid value for argument {key}: expected a non-negative float. Received: {key}={value}"
                )

        if self._config.get("mode", "rows") not in ("rows", "columns"):
            raise ValueError(
                'Invalid value for argument `mode`. Expected one of {"rows", "columns"}. Received: '
                f"mode={self._config['mode']}"
            )

    def __call__(self, x):
        if self._class_name == "OrthogonalRegularizer":
            return self._orthogonal(x)
        if self._class_name is None:
            raise NotImplementedError(f"{type(self).__name__} has no __call__()")
        config, total = Regularizer.get_config(self), None
        for key, f in (("l1", ops.abs), ("l2", ops.square)):
            if config.get(key):
                term = float(config[key]) * ops.sum(f(x))
                total = term if total is None else total + term
        return 0.0 * ops.sum(x) if total is None else total

    def _orthogonal(self, x):
        config = Regularizer.get_config(self)
        if len(x.shape) != 2:
            raise ValueError(f"Inputs to OrthogonalRegularizer must have rank 2. Received: inputs.shape={x.shape}")
        rows = config["mode"] == "rows"
        x = ops.normalize(x, axis=1 if rows else 0)
        size = x.shape[0 if rows else 1]
        product = ops.matmul(x, ops.transpose(x)) if rows else ops.matmul(ops.transpose(x), x)
        off = product * (1.0 - ops.eye(size))
        return float(config["factor"]) * 0.5 * ops.sum(ops.abs(off)) / (size * (size - 1.0) / 2.0)


def l1(l1=0.01):
    """A penalty of l1 times the sum of |x|."""
    return create("regularizer", "L1", l1)


def l2(l2=0.01):
    """A penalty of l2 times the sum of x^2."""
    return create("regularizer", "L2", l2)


def l1_l2(l1=0.01, l2=0.01):
    """A penalty of l1 times the sum of |x| and l2 times the sum of x^2."""
    return create("regularizer", "L1L2", l1, l2)


category = Category("regularizer", "regularizers", Regularizer)
get = category.get
