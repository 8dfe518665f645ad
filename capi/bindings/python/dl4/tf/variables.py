"""Variables and lists of tensors, as TensorFlow has them."""

import functools

import numpy as np

from ..keras import ops
from ..keras.src.backend import call_context
from ..keras.src.layers.variable import Variable as _KerasVariable
from ..keras.src.symbolic.tensor import KerasTensor
from . import errors
from .dispatch import array, name_of, tensor


class IndexedSlices:
    """Some rows of an array: their numbers and their places."""

    def __init__(self, values, indices, dense_shape=None):
        self.values, self.indices, self.dense_shape = tensor(array(values)), tensor(array(indices)), dense_shape


class Variable(_KerasVariable):
    """tf.Variable: with TensorFlow's arguments."""

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        import_scope=None,
        constraint=None,
        synchronization=None,
        aggregation=None,
        shape=None,
    ):
        if initial_value is None:
            raise ValueError("Variable: expected `initial_value`, got None")
        if not validate_shape or variable_def is not None or import_scope is not None:
            raise NotImplementedError("Variable: `validate_shape`, `variable_def` and `import_scope` are not here")
        given = array(initial_value() if callable(initial_value) else initial_value, dtype)
        if shape is not None and tuple(shape) != given.shape:
            raise ValueError(f"Variable: `shape`: expected that of the initial value, {given.shape}, got {shape}")
        super().__init__(
            given,
            dtype=name_of(dtype) or given.dtype.name,
            trainable=trainable is None or trainable,
            name=name or "Variable",
            constraint=constraint,
        )

    def __getitem__(self, key):
        part = super().__getitem__(key)
        if not isinstance(part, KerasTensor):
            part.assign = functools.partial(self._put_at, key, "assign")
        return part

    def _put_at(self, key, word, value):
        """Numbers at some places put in place of its own, or added to these."""
        if call_context.owner() is not None:
            raise NotImplementedError(f"Variable: parts of it are changed on arrays, not in a traced call: {self.path}")
        whole = self.numpy().copy()
        if word == "assign":
            whole[key] = value
        else:
            np.add.at(whole, key, value if word == "assign_add" else -np.asarray(value))
        return self.assign(whole)

    def __repr__(self):
        value = np.asarray(self.numpy())
        text = repr(value) if value.ndim else str(value)
        text = "\n" + text if "\n" in text else text
        return f"<tf.Variable '{self.name}:0' shape={tuple(self.shape)} dtype={self.dtype}, numpy={text}>"


def _by_places(word):
    def scatter(self, indices, updates, name=None):
        return self._put_at(tuple(np.moveaxis(array(indices), -1, 0)), word, array(updates))

    return scatter


def _by_rows(word):
    def scatter(self, sparse_delta, name=None):
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        return self._put_at(array(sparse_delta.indices), word, array(sparse_delta.values))

    return scatter


for _name, _word in (("update", "assign"), ("add", "assign_add"), ("sub", "assign_sub")):
    setattr(Variable, f"scatter_nd_{_name}", _by_places(_word))
    setattr(Variable, f"scatter_{_name}", _by_rows(_word))


class TensorArray:
    """Tensors by their numbers, arrays or symbolic ones; what is read is forgotten unless that was said."""

    def __init__(
        self,
        dtype,
        size=None,
        dynamic_size=None,
        clear_after_read=None,
        tensor_array_name=None,
        handle=None,
        flow=None,
        infer_shape=True,
        element_shape=None,
        colocate_with_first_write_call=True,
        name=None,
    ):
        if handle is not None or flow is not None or not infer_shape or not colocate_with_first_write_call:
            raise NotImplementedError("TensorArray: `handle`, `flow` and tensors of several shapes are not here")
        self.name = name or tensor_array_name
        self.dtype, self.element_shape, self.dynamic_size = dtype, element_shape, bool(dynamic_size)
        self._forgets, self._kept, self._read = clear_after_read is not False, [None] * int(size or 0), set()

    def write(self, index, value, name=None):
        index = int(index)
        if index >= len(self._kept):
            if not self.dynamic_size:
                raise errors.OutOfRangeError(
                    f"Tried to write to index {index} but array is not resizeable and size is: {len(self._kept)}"
                )
            self._kept += [None] * (index + 1 - len(self._kept))
        value = value if hasattr(value, "dtype") else tensor(array(value, self.dtype))
        if name_of(value.dtype) != name_of(self.dtype):
            raise errors.InvalidArgumentError(
                f"TensorArray: expected a tensor of {name_of(self.dtype)}, got one of {name_of(value.dtype)}"
            )
        self._kept[index] = value
        return self

    def read(self, index, name=None):
        index = int(index)
        if not 0 <= index < len(self._kept):
            raise errors.OutOfRangeError(f"Tried to read from index {index} but array size is: {len(self._kept)}")
        value = self._kept[index]
        if value is None and index in self._read:
            raise errors.InvalidArgumentError(
                f"Could not read index {index} twice because it was cleared after a previous read (perhaps try "
                "setting clear_after_read = false?)"
            )
        value = self._filled()[index] if value is None else value
        if self._forgets:
            self._kept[index] = None
            self._read.add(index)
        return value

    def _filled(self):
        """Its tensors, zeros where there are none."""
        some = next((t for t in self._kept if t is not None), None)
        if some is None and (self.element_shape is None or None in self.element_shape):
            raise errors.InvalidArgumentError("TensorArray: nothing was written, and its `element_shape` is unknown")
        shape = tuple(self.element_shape if some is None else some.shape)
        self._kept = [tensor(np.zeros(shape, name_of(self.dtype))) if t is None else t for t in self._kept]
        return self._kept

    def stack(self, name=None):
        return ops.stack(self._filled()) if self._kept else tensor(np.zeros((0,), name_of(self.dtype)))

    def concat(self, name=None):
        return ops.concatenate(self._filled())

    def gather(self, indices, name=None):
        return ops.stack([self._filled()[int(i)] for i in array(indices)])

    def unstack(self, value, name=None):
        self._kept = list(ops.unstack(value))
        return self

    def scatter(self, indices, value, name=None):
        for i, part in zip(array(indices), ops.unstack(value)):
            self.write(i, part)
        return self

    def split(self, value, lengths, name=None):
        ends = [int(n) for n in np.cumsum(array(lengths))]
        self._kept = [value[end - int(n) : end] for end, n in zip(ends, array(lengths))]
        return self

    def size(self, name=None):
        return tensor(np.asarray(len(self._kept), "int32"))

    def identity(self):
        return self

    def grad(self, source, flow=None, name=None):
        raise NotImplementedError("TensorArray.grad: expected tf.GradientTape")

    def close(self, name=None):
        self._kept = []


__all__ = ["IndexedSlices", "TensorArray", "Variable"]
