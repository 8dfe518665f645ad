"""Layers that are Python: on arrays they run at once, in a model before the library's part of it."""

import inspect

from ...backend import call_context
from ...backend.eager_tensor import eager_tensor
from ...backend.lazy import np
from ...data.dataset import Dataset
from ...data.structure import as_array
from ...symbolic.host import host_call
from ...symbolic.tensor import is_tensor
from ...tree import flatten
from ..layer import Layer


class DataLayer(Layer):
    """A layer whose call() is NumPy. compute_output_spec() tells shapes and types of symbolic calls."""

    _interface, _input_dtype = "layer", "float32"

    def __init__(self, name=None, trainable=True, dtype=None, **kwargs):
        super().__init__(name=name, trainable=trainable, **kwargs)
        self.dtype = str(getattr(dtype, "name", dtype) or "float32")
        self.built = True

    def __call__(self, *args, **kwargs):
        if call_context.owner() is not None or any(is_tensor(leaf) for leaf in flatten([args, kwargs])):
            return host_call(self, args, kwargs, *self._spec(*args, **kwargs))
        if "training" in kwargs and "training" not in inspect.signature(self.call).parameters:
            kwargs = {k: v for k, v in kwargs.items() if k != "training"}
        return self.call(*args, **kwargs)

    def _spec(self, inputs, *_, **__):
        """Shape and type of what it gives."""
        return self.compute_output_shape(inputs.shape), self.dtype

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def build(self, input_shape=None):
        self.built = True

    def get_config(self):
        return {**super().get_config(), "dtype": self.dtype}


def refuse_sparse(layer, sparse):
    if sparse:
        raise NotImplementedError(f"{type(layer).__name__}: `sparse=True`: sparse tensors are not in this version")


def need_choice(layer, name, value, allowed, none=False, callables=False):
    """Raises for an argument of another value, in Keras's words."""
    if value is None and none or callables and callable(value) or isinstance(value, str) and value in allowed:
        return
    more = (" or a callable" if callables else "") + (" or None" if none else "")
    raise ValueError(
        f"Unknown value for `{name}` argument of layer {type(layer).__name__}. If restricted to strings, expected "
        f"values are {tuple(allowed)}{more}. Received: {name}={value}"
    )


def batches_of(data, steps, lists=True):
    """Of what adapt() was given: batches, and whether it is data itself."""
    whole = (list, tuple, np.ndarray) if lists else (np.ndarray,)
    if (
        isinstance(data, Dataset)
        or hasattr(data, "__iter__")
        and not (isinstance(data, whole) or hasattr(data, "shape"))
    ):
        for i, batch in enumerate(data):
            if steps is not None and i >= steps:
                return
            yield batch, False
    elif hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "__iter__"):
        for i in range(len(data) if steps is None else min(steps, len(data))):
            yield data[i], False
    else:
        yield data, True


def encoded(indices, mode, depth, dtype, count_weights=None):
    """Indices as they are, or as vectors of `depth` numbers: one_hot, multi_hot, count."""
    indices = np.asarray(indices)
    if mode == "int":
        return eager_tensor(indices.astype(dtype))
    if indices.ndim == 0:
        indices = indices[None]
    if mode == "one_hot" and indices.ndim > 1 and indices.shape[-1] == 1:
        indices = indices[..., 0]
    if mode == "one_hot":
        return eager_tensor((indices[..., None] == np.arange(depth)).astype(dtype))
    if indices.size and indices.min() < 0 and indices.ndim <= 2:
        raise ValueError("Input arr must be non-negative!")
    if indices.ndim <= 2:
        return _counted(indices, mode, depth, dtype, count_weights)
    hot = indices[..., None] == np.arange(depth)
    if count_weights is not None:
        hot = hot * np.asarray(count_weights, dtype)[..., None]
    return eager_tensor((hot.max(1) if mode == "multi_hot" else hot.sum(1)).astype(dtype))


def _counted(indices, mode, depth, dtype, count_weights):
    """How often each index is in each row; those from `depth` on are left out."""
    rows = indices.reshape(-1, indices.shape[-1]) if indices.ndim == 2 else indices[None]
    out = np.zeros((len(rows), depth), dtype if count_weights is None or mode == "multi_hot" else "float32")
    inside = rows < depth
    where = np.broadcast_to(np.arange(len(rows))[:, None], rows.shape)[inside], rows[inside]
    if mode == "multi_hot":
        out[where] = 1
    elif count_weights is None:
        np.add.at(out, where, 1)
    else:
        weights = np.broadcast_to(np.asarray(count_weights, out.dtype), indices.shape).reshape(rows.shape)
        np.add.at(out, where, weights[inside])
    return eager_tensor(out if indices.ndim == 2 else out[0])
