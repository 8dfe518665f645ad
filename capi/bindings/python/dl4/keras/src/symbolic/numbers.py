"""What Python and NumPy ask of a symbolic tensor: the numbers of one that stands for an array, else what to call."""

import operator

from ....abi import InvalidType
from ..backend import call_context

# NumPy's names of Python's operators.
UFUNCS = {name: name for name in "add matmul".split()}
UFUNCS.update(subtract="sub", multiply="mul", divide="truediv", true_divide="truediv", power="pow", remainder="mod")
UFUNCS.update(floor_divide="floordiv", less="lt", less_equal="le", greater="gt", greater_equal="ge", equal="eq")
UFUNCS.update(not_equal="ne", negative="neg", absolute="abs", invert="invert", bitwise_and="and_", bitwise_or="or_")
UFUNCS.update(bitwise_xor="xor")
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_REDUCED = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all"}
_REDUCED.update(logical_or="any")


def refuse_symbolic(t):
    raise InvalidType(
        "A KerasTensor is symbolic: it's a placeholder for a shape and a dtype. It doesn't have any "
        "actual numerical value. You cannot convert it to a NumPy array. In place of NumPy's functions call those of "
        "keras.ops."
    )


functions = ()  # the names of keras.ops, which puts them in place
compute = refuse_symbolic  # what a tape on arrays puts in place


def computed(t):
    """The array that a tensor of a tape on arrays stands for."""
    return compute(t) if t.call.is_bound() else refuse_symbolic(t)


class Numbers:
    """The part of a tensor that has `call` and `shape`."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Python's operators, which NumPy takes for its own where an array stands on the left."""
        name = UFUNCS.get(ufunc.__name__)
        if method == "__call__" and name and not kwargs:
            if isinstance(inputs[0], Numbers):
                return getattr(operator, name)(*inputs)
            return getattr(inputs[1], f"__{_SWAPPED.get(name) or 'r' + name.strip('_')}__")(inputs[0])
        known = _REDUCED.get(ufunc.__name__) if method == "reduce" else ufunc.__name__
        instead = f"use keras.ops.{known}" if known in functions else "use the functions of keras.ops"
        raise InvalidType(f"np.{known or ufunc.__name__}: a KerasTensor is symbolic and has no numbers: {instead}")

    def __bool__(self):
        if not self.call.is_bound():
            raise TypeError(
                "A symbolic KerasTensor cannot be used as a boolean. In place of `if` call keras.ops.cond or "
                "keras.ops.where, in place of `while` keras.ops.while_loop, of `and`, `or` and `not` "
                "keras.ops.logical_and, logical_or and logical_not."
            )
        return bool(computed(self))

    def __array__(self, dtype=None, copy=None):
        array = computed(self)
        return array if dtype is None else array.astype(dtype)

    def numpy(self):
        """Raises: a symbolic tensor has no numbers."""
        return computed(self)

    def __float__(self):
        return float(computed(self))

    def __int__(self):
        return int(computed(self))

    def __index__(self):
        return computed(self).__index__()

    def __len__(self):
        if self.shape and self.shape[0] is not None and (call_context.step() or self.call.is_bound()):
            return self.shape[0]
        return len(computed(self))

    def __format__(self, spec):
        return format(float(self), spec) if spec else repr(self)
