"""Arguments of layers that are not the library's attributes, or say them in another way."""

import inspect
import warnings

from ..backend.config import image_data_format

EMBEDDINGS = {"Embedding", "ReversibleEmbedding"}


def data_format():
    """The data format of a layer that was given none."""
    found = image_data_format()
    return {"data_format": found} if found == "channels_first" else {}


def take_old_arguments(kind, kwargs):
    """What Keras still takes, with a warning."""
    if kind == "LeakyReLU" and "alpha" in kwargs:
        kwargs["negative_slope"] = kwargs.pop("alpha")
        warnings.warn("Argument `alpha` is deprecated. Use `negative_slope` instead.", stacklevel=3)
    if kind in EMBEDDINGS and kwargs.pop("input_length", None) is not None:
        warnings.warn("Argument `input_length` is deprecated. Just remove it.", stacklevel=3)


def axes_of(output_shape, equation):
    """Those that the outputs have behind the batch; as in Keras others say nothing."""
    shape = output_shape if isinstance(output_shape, (list, tuple)) else [output_shape]
    return list(shape)[: len(equation.split("->")[-1].strip()) - 1]


def by_side(value, axes):
    """How much is before and behind, of each axis where there are several."""
    each = list(value) if isinstance(value, (list, tuple)) else [value] * axes
    if axes == 1:
        return tuple(each) if isinstance(value, (list, tuple)) else (value, value)
    return tuple(tuple(v) if isinstance(v, (list, tuple)) else (v, v) for v in each)


_NONE = inspect.Signature()


def first_shape(layer, kwargs):
    """What old programs say of the input at the first layer of a Sequential model."""
    shape, batch = kwargs.pop("input_shape", None), kwargs.pop("batch_input_shape", None)
    size = None if "input_dim" in getattr(layer, "__signature__", _NONE).parameters else kwargs.pop("input_dim", None)
    if size is not None:
        shape = (size,)
    return tuple(batch) if batch is not None else None if shape is None else (None, *shape)
