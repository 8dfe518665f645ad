"""Arithmetic of tensors."""

from keras.src.backend.common.keras_tensor import KerasTensor

from . import elementwise as e
from . import products, shapes
from .tensor import Tensor


def _operator(f, swapped=False):
    def method(self, other):
        if isinstance(other, KerasTensor) or other is None or isinstance(other, (str, dict)):
            return NotImplemented
        return f(other, self) if swapped else f(self, other)

    return method


_BINARY = {
    "add": e.add,
    "sub": e.subtract,
    "mul": e.multiply,
    "truediv": e.divide,
    "floordiv": e.floor_divide,
    "mod": e.mod,
    "pow": e.power,
    "matmul": products.matmul,
}
_LOGICAL = {
    "and": (e.logical_and, e.bitwise_and),
    "or": (e.logical_or, e.bitwise_or),
    "xor": (e.logical_xor, e.bitwise_xor),
}
_COMPARED = {
    "eq": e.equal,
    "ne": e.not_equal,
    "lt": e.less,
    "le": e.less_equal,
    "gt": e.greater,
    "ge": e.greater_equal,
}


def _of_bits(flags, bits):
    def f(a, b):
        return (flags if "bool" in (e.type_of(a), e.type_of(b)) or bool in (e.type_of(a), e.type_of(b)) else bits)(a, b)

    return f


def _install():
    for name, f in _BINARY.items():
        setattr(Tensor, f"__{name}__", _operator(f))
        setattr(Tensor, f"__r{name}__", _operator(f, True))
    for name, (flags, bits) in _LOGICAL.items():
        setattr(Tensor, f"__{name}__", _operator(_of_bits(flags, bits)))
        setattr(Tensor, f"__r{name}__", _operator(_of_bits(flags, bits), True))
    for name, f in _COMPARED.items():
        setattr(Tensor, f"__{name}__", _operator(f))
    Tensor.__neg__ = lambda self: e.negative(self)
    Tensor.__pos__ = lambda self: self
    Tensor.__abs__ = lambda self: e.absolute(self)
    Tensor.__invert__ = lambda self: e.logical_not(self) if self.type_name == "bool" else e.bitwise_not(self)
    Tensor.__round__ = lambda self, decimals=None: e.round(self, decimals or 0)
    Tensor.__getitem__ = shapes.item
    Tensor.T = property(shapes.transpose)
    Tensor.astype = lambda self, dtype: shapes.cast(self, dtype)
    Tensor.reshape = lambda self, *shape: shapes.reshape(self, shape[0] if len(shape) == 1 else shape)


_install()
