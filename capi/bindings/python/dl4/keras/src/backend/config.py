"""Settings: keras.config."""

import os
import warnings

_data_format = "channels_last"
# Most epochs and steps that programs do, to try them out.
_most = {"epochs": os.environ.get("KERAS_MAX_EPOCHS"), "steps_per_epoch": os.environ.get("KERAS_MAX_STEPS_PER_EPOCH")}


def backend():
    """The name of the backend."""
    return "dl4"


def epsilon():
    """The small number that Keras adds to divisors."""
    return 1e-7


def floatx():
    """The type of floating-point data."""
    return "float32"


def image_data_format():
    """The default data format of layers for images."""
    return _data_format


def computed_in(dtype):
    """The type that a layer of this dtype or policy computes in: of floats float32, which is said once."""
    given = dtype.get("config", {}).get("name") if isinstance(dtype, dict) else getattr(dtype, "name", dtype)
    if given is None or str(given) == "float32" or not str(given).startswith(("float", "bfloat16", "mixed_")):
        return dtype if given is None else str(given)
    if str(given) not in _told:
        _told.add(str(given))
        warnings.warn(f"dtype {str(given)!r}: layers have float32 weights and compute in float32", stacklevel=4)
    return "float32"


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
    most = max_epochs() if name == "epochs" else max_steps_per_epoch()
    if not most or given and given <= most:
        return given
    warnings.warn(f"Limiting {name} to {most}", stacklevel=4)
    return most
