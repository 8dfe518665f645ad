"""Images of files as arrays, and back: with Pillow where it is there."""

import io
import os
import pathlib
import warnings

from ..backend.config import image_data_format
from ..backend.lazy import np
from ..registry import create


def pillow(who):
    """PIL.Image."""
    try:
        import PIL.Image
    except ImportError:
        raise ImportError(f"Could not import PIL.Image. The use of `{who}` requires PIL.") from None
    return PIL.Image


def _format_of(data_format):
    data_format = data_format or image_data_format()
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            "The `data_format` argument must be one of {'channels_first', 'channels_last'}. "
            f"Received: data_format={data_format}"
        )
    return data_format


def array_to_img(x, data_format=None, scale=True, dtype=None):
    """An image of Pillow's; with `scale` its values are spread over 0 to 255."""
    image, first = pillow("array_to_img"), _format_of(data_format) == "channels_first"
    x = np.asarray(x, dtype=dtype or "float32")
    if x.ndim != 3:
        raise ValueError(f"Expected image array to have rank 3 (single image). Got array with shape: {x.shape}")
    x = x.transpose(1, 2, 0) if first else x
    if scale:
        x = x - x.min()
        x = x / x.max() * 255 if x.max() else x
    channels = x.shape[2]
    if channels == 1:
        return image.fromarray(x[:, :, 0].astype("int32" if x.max() > 255 else "uint8"))
    if channels not in (3, 4):
        raise ValueError(f"Unsupported channel number: {channels}")
    return image.fromarray(x.astype("uint8"), "RGBA" if channels == 4 else "RGB")


def img_to_array(img, data_format=None, dtype=None):
    """The pixels of an image of Pillow's as an array of three axes."""
    first = _format_of(data_format) == "channels_first"
    x = np.asarray(img, dtype=dtype or "float32")
    if x.ndim == 3:
        return x.transpose(2, 0, 1) if first else x
    if x.ndim != 2:
        raise ValueError(f"Unsupported image shape: {x.shape}")
    return x[None] if first else x[..., None]


def save_img(path, x, data_format=None, file_format=None, scale=True, **kwargs):
    """Writes an array as an image."""
    if file_format is None and isinstance(path, (str, pathlib.Path)):
        file_format = pathlib.Path(path).suffix[1:].lower()
    file_format = "jpeg" if file_format and file_format.lower() == "jpg" else file_format
    img = array_to_img(x, data_format=data_format, scale=scale)
    if img.mode == "RGBA" and file_format == "jpeg":
        warnings.warn("The JPEG format does not support RGBA images, converting to RGB.", stacklevel=2)
        img = img.convert("RGB")
    img.save(path, format=file_format, **kwargs)


_METHODS = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def load_img(path, color_mode="rgb", target_size=None, interpolation="nearest", keep_aspect_ratio=False):
    """The image of a file, of Pillow's, in another mode or size."""
    image = pillow("load_img")
    if isinstance(path, io.BytesIO):
        img = image.open(path)
    elif isinstance(path, (os.PathLike, bytes, str)):
        with open(path, "rb") as f:
            img = image.open(io.BytesIO(f.read()))
    else:
        raise TypeError(f"path should be path-like or io.BytesIO, not {type(path)}")
    modes = {"grayscale": ("L", "I;16", "I"), "rgba": ("RGBA",), "rgb": ("RGB",)}
    if color_mode not in modes:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    img = img if img.mode in modes[color_mode] else img.convert(modes[color_mode][0])
    if target_size is None or img.size == (target_size[1], target_size[0]):
        return img
    if interpolation not in _METHODS:
        raise ValueError(
            f"Invalid interpolation method {interpolation} specified. Supported methods are {', '.join(_METHODS)}"
        )
    resample = getattr(getattr(image, "Resampling", image), interpolation.upper())
    size, box = (target_size[1], target_size[0]), None
    if keep_aspect_ratio:
        width, height = img.size
        high, wide = min(height, width * size[1] // size[0]), min(width, height * size[0] // size[1])
        top, left = (height - high) // 2, (width - wide) // 2
        box = (left, top, left + wide, top + high)
    return img.resize(size, resample, box=box)


def resized(images, size, interpolation="bilinear", data_format="channels_last", antialias=False, crop=False):
    """Images, or one, in another size, in float32: by the library's layer."""
    x = np.asarray(images)
    batch = x[None] if x.ndim == 3 else x
    layer = create(
        "layer",
        "Resizing",
        height=int(size[0]),
        width=int(size[1]),
        interpolation=interpolation,
        crop_to_aspect_ratio=crop,
        antialias=antialias,
        data_format=data_format,
    )
    out = layer(np.ascontiguousarray(batch, dtype="float32"))
    return out[0] if x.ndim == 3 else out


def smart_resize(x, size, interpolation="bilinear", data_format="channels_last"):
    """An image in another size, of whose middle as much is taken as has that form."""
    if len(size) != 2:
        raise ValueError(f"Expected `size` to be a tuple of 2 integers, but got: {size}.")
    if np.ndim(x) not in (3, 4):
        raise ValueError(
            "Expected an image array with shape `(height, width, channels)`, or `(batch_size, height, width, "
            "channels)`, "
            f"but got input with incorrect rank, of shape {np.shape(x)}."
        )
    out = resized(x, size, interpolation, data_format, crop=True)
    return np.array(out) if type(x) is np.ndarray else out
