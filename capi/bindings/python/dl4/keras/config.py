"""Settings."""

from .src import state
from .src.kinds import absent, unsupported

set_context = state.set_context


def set_dtype_policy(policy):
    """The policy of layers made from now on: "float32" or "mixed_bfloat16"."""
    name = getattr(policy, "name", policy)
    if name not in ("float32", "mixed_bfloat16"):
        raise unsupported("set_dtype_policy", f"expected float32 or mixed_bfloat16, got {name!r}")
    state.policy = name


def dtype_policy():
    """The name of the policy."""
    return state.policy


def floatx():
    """The type of numbers."""
    return "float32"


def epsilon():
    """The small number that Keras adds."""
    return 1e-7


def image_data_format():
    """The order of the axes of images."""
    return "channels_last"


def backend():
    """What computes."""
    return "dl4"


def __getattr__(name):
    raise absent("module 'dl4.keras.config'", name, () if name[:2] == "__" else globals())
