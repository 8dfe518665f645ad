"""Settings: keras.config."""

import os
import warnings

_data_format, _interactive = "channels_last", True
# Most epochs and steps that programs do, to try them out.
_most = {"epochs": os.environ.get("KERAS_MAX_EPOCHS"), "steps_per_epoch": os.environ.get("KERAS_MAX_STEPS_PER_EPOCH")}


def version():
    """Of the Keras whose API this is."""
    return "3.15.1"


def backend():
    """The name of the backend."""
    return "dl4"


def epsilon():
    """The small number that Keras adds to divisors."""
    return 1e-7


def floatx():
    """The type of floating-point data."""
    return "float32"


def set_floatx(value):
    """Of floats there is float32; another is told so once."""
    if str(value) not in ("bfloat16", "float16", "float32", "float64"):
        raise ValueError(
            f"Unknown `floatx` value: {value}. Expected one of {{'bfloat16', 'float16', 'float32', 'float64'}}"
        )
    computed_in(value)


def set_epsilon(value):
    if float(value) != epsilon():
        raise NotImplementedError(f"set_epsilon: the library's layers and losses have {epsilon()}, got {value}")


def enable_interactive_logging():
    """verbose="auto" shows progress bars."""
    global _interactive
    _interactive = True


def disable_interactive_logging():
    """verbose="auto" prints a line for each epoch."""
    global _interactive
    _interactive = False


def is_interactive_logging_enabled():
    """Whether bars of progress are drawn."""
    return _interactive


def verbosity(verbose):
    """What "auto" says to show: a progress bar, or a line for each epoch."""
    return (1 if _interactive else 2) if verbose == "auto" else verbose


def disable_traceback_filtering():
    """Tracebacks are whole, as they always are here."""


def is_traceback_filtering_enabled():
    return False


def image_data_format():
    """The default data format of layers for images."""
    return _data_format


def computed_in(dtype):
    """The type that a layer of this dtype or policy computes in: of floats float32, which is said once."""
    given = dtype.get("config", {}).get("name") if isinstance(dtype, dict) else getattr(dtype, "name", dtype)
    if given is None or str(given) == "float32" or not str(given).startswith(("float", "bfloat16", "mixed_")):
        return dtype if given is None else str(given)
    if str(given).startswith("float8"):
        raise NotImplementedError(f"dtype {str(given)!r}: float8 is not in this version")
    if str(given) not in _told:
        _told.add(str(given))
        warnings.warn(f"dtype {str(given)!r}: layers have float32 weights and compute in float32", stacklevel=4)
    return "float32"


_WHOLE = {"int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64"}


def in_graph(dtype):
    """The type that data of an input has in the library: whole numbers in one that holds them all."""
    if dtype == "uint64":
        raise NotImplementedError("Input: dtype 'uint64': expected a type whose numbers int64 holds")
    return _WHOLE.get(dtype) or computed_in(dtype)


_told = set()


def set_image_data_format(data_format):
    """Sets the default data format of layers that are made from now on."""
    global _data_format
    if str(data_format) not in ("channels_last", "channels_first"):
        raise ValueError(
            "The `data_format` argument must be one of {'channels_first', 'channels_last'}. "
            f"Received: data_format={data_format}"
        )
    _data_format = str(data_format)


def max_epochs():
    """The most epochs of a fit(), from KERAS_MAX_EPOCHS or set_max_epochs(); None: as many as it is told."""
    return None if _most["epochs"] is None else int(_most["epochs"])


def set_max_epochs(max_epochs):
    _most["epochs"] = max_epochs


def max_steps_per_epoch():
    """The most steps of an epoch, an evaluation or a prediction, from KERAS_MAX_STEPS_PER_EPOCH or
    set_max_steps_per_epoch()."""
    return None if _most["steps_per_epoch"] is None else int(_most["steps_per_epoch"])


def set_max_steps_per_epoch(max_steps_per_epoch):
    _most["steps_per_epoch"] = max_steps_per_epoch


def limited(name, given):
    """So many epochs or steps_per_epoch (None: all) as are allowed."""
    if name == "epochs" and not hasattr(given, "__index__"):
        raise TypeError(f"`{name}`: expected an integer, got {given!r}")
    most = max_epochs() if name == "epochs" else max_steps_per_epoch()
    if not most or given and given <= most:
        return given
    warnings.warn(f"Limiting {name} to {most}", stacklevel=4)
    return most
