"""keras.ops.image."""

from ..on_arrays import FUNCTIONS
from ..on_arrays.image import channels_first, need_images, need_size
from ..symbolic.tensor import as_tensor, operation
from .dispatch import computed, dispatched, floats
from .shapes import expand_dims, squeeze

globals().update({name[6:]: computed(name) for name in FUNCTIONS if name.startswith("image.")})


def _resize(
    images,
    size,
    interpolation="bilinear",
    antialias=False,
    crop_to_aspect_ratio=False,
    pad_to_aspect_ratio=False,
    fill_mode="constant",
    fill_value=0.0,
    data_format=None,
):
    size = tuple(int(n) for n in size)
    need_size(size, interpolation, pad_to_aspect_ratio, crop_to_aspect_ratio)
    x = as_tensor(images)
    need_images(x.shape, " input with shape")
    channels = -3 if channels_first(data_format) else -1
    free = None in [d for i, d in enumerate(x.shape[-3:], -3) if i != channels]
    if free or pad_to_aspect_ratio or fill_mode != "constant" or x.dtype != "float32":
        raise NotImplementedError(f"resize: of {x.dtype} {x.shape}, with pad_to_aspect_ratio={pad_to_aspect_ratio}")
    layer = operation(
        "Resizing",
        height=size[0],
        width=size[1],
        interpolation=interpolation,
        antialias=bool(antialias),
        crop_to_aspect_ratio=bool(crop_to_aspect_ratio),
        data_format="channels_first" if channels_first(data_format) else "channels_last",
    )
    if len(x.shape) == 3:
        return squeeze(layer(expand_dims(floats(x), 0)), 0)
    return layer(x)


_resize.__name__ = "image.resize"
resize = dispatched(_resize)
__all__ = [name[6:] for name in FUNCTIONS if name.startswith("image.")]
