"""Elements of datasets: tensors in tuples and dicts. A list is one tensor."""

from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from ..backend.texts import as_bytes, string_array  # noqa: F401 names of this module too


def map_structure(function, *nests):
    """A function of the leaves at the same place of nests."""
    first = nests[0]
    if isinstance(first, dict):
        return {key: map_structure(function, *(n[key] for n in nests)) for key in first}
    if isinstance(first, tuple):
        items = [map_structure(function, *items) for items in zip(*nests)]
        return type(first)(*items) if hasattr(first, "_fields") else tuple(items)
    return function(*nests)


def leaves(nest):
    if isinstance(nest, dict):
        return [leaf for value in nest.values() for leaf in leaves(value)]
    return [leaf for value in nest for leaf in leaves(value)] if isinstance(nest, tuple) else [nest]


def as_array(x, dtype=None):
    """One tensor: floats of Python are float32, integers of Python int32, texts are bytes."""
    if hasattr(x, "numpy") and not isinstance(x, np.ndarray):
        x = x.numpy()
    if isinstance(x, (list, tuple)) and x and all(isinstance(v, np.ndarray) for v in x):
        x = np.stack([np.asarray(v) for v in x])
    plain = not hasattr(x, "dtype")
    try:
        array = np.asarray(x)
    except ValueError as e:
        raise ValueError(f"Can't convert non-rectangular Python sequence to Tensor: {x!r}") from e
    if array.dtype.kind in "USO":
        if array.dtype == object and any(not isinstance(v, (str, bytes)) for v in array.ravel()):
            kinds = sorted({type(v).__name__ for v in array.ravel()})
            raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported object type {kinds[0]}).")
        array = string_array(array if isinstance(x, np.ndarray) else x)
    if dtype is not None:
        return array if str(dtype) == "string" else array.astype(dtype)
    if plain and array.dtype.kind == "f":
        array = array.astype("float32")
    if plain and array.dtype.kind in "iu" and (not array.size or abs(array).max() < 2**31):
        array = array.astype("int32")
    return array


def as_tensor(x):
    """One leaf of an element; None, datasets and symbolic tensors stay what they are."""
    if x is None or hasattr(x, "_iterate") or (type(x).__module__ or "").startswith("dl4.keras") and x is not None:
        if not isinstance(x, np.ndarray):
            return x
    return eager_tensor(as_array(x))


def as_element(x):
    return map_structure(as_tensor, x)


def as_numpy(x):
    """A leaf as NumPy has it; a scalar as a number, one text as bytes."""
    if not isinstance(x, np.ndarray):
        return x
    array = np.asarray(x)
    return array[()] if array.ndim == 0 else array


class TensorSpec:
    """The shape and type of a tensor."""

    def __init__(self, shape=None, dtype="float32", name=None):
        self.shape = None if shape is None else tuple(shape)
        self.dtype, self.name = getattr(dtype, "name", None) or str(dtype), name

    def __eq__(self, other):
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    __hash__ = object.__hash__

    def __repr__(self):
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype}, name={self.name!r})"

    def checked(self, x, who):
        """A tensor of that type; refused if the shape is another."""
        array = as_array(x, self.dtype)
        if self.shape is not None and (
            len(self.shape) != array.ndim or any(s is not None and s != d for s, d in zip(self.shape, array.shape))
        ):
            raise TypeError(f"{who}: expected an element of shape {self.shape}, got one of shape {array.shape}")
        return eager_tensor(array)


def spec_of(x, free):
    """The spec of a leaf, of whose axes the first are free."""
    if x is None or not hasattr(x, "shape"):
        return x
    shape = tuple(None if i < free else d for i, d in enumerate(x.shape))
    return TensorSpec(shape, "string" if x.dtype == object else x.dtype.name)
