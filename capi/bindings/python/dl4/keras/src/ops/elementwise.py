"""Elementwise functions: those of the library's table, by the registry, and those with arguments of their own."""

from ..registry import facts, in_python
from ..symbolic.tensor import as_tensor, cast_tensor, is_number, is_tensor, operate, operation, promoted
from ..utils.naming import snake_case
from .dispatch import dispatched, floats, of


def _function(kind, known):
    """One of the library's elementwise functions."""
    if len(known["inputs"]) == 2:
        kind = kind.removeprefix("Broadcast")

        def f(x1, x2):
            if is_number(x1) and is_number(x2):
                x1 = as_tensor(x1)
            return operate(kind, x1, x2) if is_tensor(x1) or is_tensor(x2) else operate(kind, as_tensor(x1), x2)

    else:

        def f(x):
            x = as_tensor(x)
            stays = known["takes"] == "any" or (known.get("integers") and x.dtype in ("int32", "int64"))
            return operation(kind)(x if stays else cast_tensor(x, known["takes"]))

    f.__name__, f.__doc__ = known["names"]["keras"].rpartition(".")[2], in_python(known["doc"])
    return dispatched(f)


def _functions():
    """By their names in keras.ops."""
    for kind, known in facts("layer").items():
        if "takes" in known and "keras" in known.get("names", ()):
            f = _function(kind, known)
            for name in (f.__name__, *(snake_case(other) for other in known.get("aliases", ()))):
                yield name, f


globals().update(_functions())


def _division(name, kind):
    """A function of two values that computes integers of 8 bits in wider ones."""

    def f(x1, x2):
        pair = [x if is_number(x) else as_tensor(x) for x in (x1, x2)]
        dtypes = {str(getattr(x, "dtype", "int32")) for x in pair}
        pair = [x if is_number(x) or x.dtype not in ("bool", "uint8") else cast_tensor(x, "int32") for x in pair]
        y = operate(kind, *pair)
        return cast_tensor(y, "uint8") if dtypes == {"uint8"} else y

    f.__name__, f.__doc__ = name, globals()[name].__doc__
    return dispatched(f)


floor_divide, mod, fmod = (
    _division(name, kind) for name, kind in (("floor_divide", "FloorDivide"), ("mod", "Mod"), ("fmod", "Fmod"))
)


@dispatched
def clip(x, x_min, x_max):
    return operation("Clip", x_min=float(x_min), x_max=float(x_max))(as_tensor(x))


@dispatched
def where(condition, x1=None, x2=None):
    if x1 is None or x2 is None:
        raise NotImplementedError("where: expected numbers or tensors as x1 and x2 in a graph, got None")
    condition = cast_tensor(as_tensor(condition), "bool")
    config = {k: float(v) for k, v in (("x1", x1), ("x2", x2)) if is_number(v)}
    tensors = [as_tensor(v) for v in (x1, x2) if not is_number(v)]
    return operation("Where", **config)([condition] + (promoted(tensors) if len(tensors) == 2 else tensors))


@dispatched
def round(x, decimals=0):  # noqa: A001
    scale = 10.0**decimals
    return of("Round", floats(x) * scale) / scale if decimals else of("Round", floats(x))


@dispatched
def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    most = 3.4028234663852886e38
    x = floats(x)
    x = of("Where", [of("Isnan", x), x], x1=float(nan))
    x = of("Where", [operate("Greater", x, most), x], x1=most if posinf is None else float(posinf))
    return of("Where", [operate("Less", x, -most), x], x1=-most if neginf is None else float(neginf))


@dispatched
def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    x1, x2 = floats(x1), floats(x2)
    near = operate("LessEqual", of("Absolute", x1 - x2), of("Absolute", x2) * rtol + atol)
    near = operate("LogicalOr", operate("Equal", x1, x2), operate("LogicalAnd", near, of("Isfinite", x2)))
    both = operate("LogicalAnd", of("Isnan", x1), of("Isnan", x2))
    return operate("LogicalOr", near, both) if equal_nan else near


@dispatched
def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return of("All", isclose(x1, x2, rtol, atol, equal_nan))


__all__ = [name for name, value in globals().items() if hasattr(value, "_traces") or hasattr(value, "__wrapped__")]
