"""keras.ops: functions of symbolic tensors, which add layers to a graph, and of arrays, which compute."""

import sys as _sys

from .src.absent import absent_from as _absent_from
from .src.ops import *  # noqa: F403
from .src.ops import __all__ as _names
from .src.ops import image

nn = numpy = math = linalg = core = _sys.modules[__name__]  # keras.ops.nn and the like hold the same functions
_sys.modules.update({f"{__name__}.{_n}": nn for _n in ("nn", "numpy", "math", "linalg", "core")})
_sys.modules[f"{__name__}.image"] = image
__all__ = [*_names, "image", "nn", "numpy", "math", "linalg", "core"]

__getattr__ = _absent_from(__name__)
