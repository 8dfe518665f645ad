"""Settings: keras.config."""

_data_format = "channels_last"


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


def set_image_data_format(data_format):
    """Sets the default data format of layers that are made from now on."""
    global _data_format
    if str(data_format) not in ("channels_last", "channels_first"):
        raise ValueError(
            "The `data_format` argument must be one of {'channels_first', 'channels_last'}. "
            f"Received: data_format={data_format}"
        )
    _data_format = str(data_format)
