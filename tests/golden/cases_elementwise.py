"""Goldens of the elementwise functions of keras.ops that no other family has."""
import numpy as np

import record
from cases_sequence import finish
from keras import ops
from keras.src.utils.naming import to_snake_case
from record import Family, Net

# By layer, from where to where their arguments are drawn.
OF_ONE = {"Arcsinh": (-5, 5), "Arccosh": (1.1, 5), "Arctanh": (-0.95, 0.95), "Cbrt": (-5, 5), "Deg2rad": (-180, 180),
          "Rad2deg": (-3, 3), "Erfc": (-3, 3), "Erfinv": (-0.95, 0.95)}
OF_TWO = {"DivideNoNan": (-2, 2), "Mod": (-5, 5), "Fmod": (-5, 5), "Hypot": (-3, 3), "Logaddexp": (-5, 5),
          "Logaddexp2": (-5, 5), "Heaviside": (-1, 1), "FloorDivide": (-5, 5)}
OF_INTEGERS = ("FloorDivide", "Mod", "Fmod", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift")
FLAT = ("FloorDivide", "Heaviside")  # TensorFlow has no gradient

for _name in (*OF_ONE, "Isposinf", "Isneginf", "BitwiseNot"):
    record.OPS[_name] = getattr(ops, to_snake_case(_name))
for _name in {*OF_TWO, *OF_INTEGERS, "LogicalXor"}:
    record.OPS[_name] = record.pairwise(getattr(ops, to_snake_case(_name)))
record.OPS["SquaredDifference"] = record.pairwise(lambda a, b: ops.square(ops.subtract(a, b)))
PAIRS = (*OF_TWO, *OF_INTEGERS, "LogicalXor", "SquaredDifference")
record.LISTS += PAIRS


def elementwise():
    f = Family("elementwise")

    def one(name, kind, *values, loss=True, **options):
        net = Net()
        inputs = [net.input(c, v.shape[1:], str(v.dtype)) for c, v in zip("ab", values)]
        finish(f, name, net, net.add(kind, *inputs, **options), list(values), **({} if loss else {"loss": None}))

    def drawn(name, low, high, *shape):
        return f.rng(name).uniform(low, high, shape).astype(np.float32)

    for kind, (low, high) in OF_ONE.items():
        one(to_snake_case(kind), kind, drawn(kind, low, high, 2, 3, 4))
    ends = np.array([[np.inf, -np.inf, np.nan, 0, 3e38]], np.float32)
    one("isposinf", "Isposinf", ends, loss=False)
    one("isneginf", "Isneginf", ends, loss=False)
    for kind, (low, high) in {**OF_TWO, "SquaredDifference": (-2, 2)}.items():
        a, b = (drawn(kind + c, low, high, *shape) for c, shape in (("a", (2, 3, 4)), ("b", (2, 1, 4))))
        loss = kind not in FLAT
        one(to_snake_case(kind), kind, a, b, loss=loss)
        if kind in ("Mod", "FloorDivide"):  # Keras refuses numbers in others
            one(to_snake_case(kind) + "_x1", kind, b, loss=loss, x1=1.5)
            one(to_snake_case(kind) + "_x2", kind, a, loss=loss, x2=-0.75)
    zeros = np.array([[1, 0, -2, 0]], np.float32)
    one("divide_no_nan_zeros", "DivideNoNan", np.array([[3, 2, 1, 0]], np.float32), zeros)
    one("logical_xor", "LogicalXor", np.array([[True, True, False, False]]), np.array([[True, False, True, False]]),
        loss=False)
    rng = f.rng("integers")
    whole = rng.integers(-50, 50, (2, 3, 4)).astype(np.int32)
    for kind in OF_INTEGERS:
        shift = kind.endswith("Shift")
        by = rng.integers(0 if shift else 1, 9, (2, 3, 4)).astype(np.int32)
        by = by if shift else by * rng.choice(np.array([-1, 1], np.int32), (2, 3, 4))
        one(to_snake_case(kind) + "_integers", kind, whole, by, loss=False)
    one("bitwise_not", "BitwiseNot", whole, loss=False)
    return f


FAMILIES = {"elementwise": elementwise}
