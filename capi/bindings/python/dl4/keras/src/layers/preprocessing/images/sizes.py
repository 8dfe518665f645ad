"""Resizing and CenterCrop, on arrays also of one image."""

from ....backend import call_context
from ....backend.lazy import np
from ....ops import cast, convert_to_tensor
from ....ops.image import resize
from ....symbolic.tensor import is_tensor
from ...layer import category, Layer


@category.base_of("CenterCrop")
class OfOne(Layer):
    def __call__(self, data, **kwargs):
        if call_context.owner() is not None or is_tensor(data) or np.ndim(data) != 3:
            return super().__call__(data, **kwargs)
        return super().__call__(np.asarray(data)[None], **kwargs)[0]


@category.base_of("Resizing")
class Resized(OfOne):
    """Images in another size"""

    _PADDED = {"pad_to_aspect_ratio": False, "fill_mode": "constant", "fill_value": 0.0}

    def __init__(self, *args, **kwargs):
        given = dict(self.__signature__.bind(*args, **kwargs).arguments)
        given.update(given.pop("kwargs", {}))
        padded = {key: given.pop(key, default) for key, default in self._PADDED.items()}
        if not padded["pad_to_aspect_ratio"]:
            padded, given = {}, {**given, **{k: v for k, v in padded.items() if v != self._PADDED[k]}}
        self.__dict__["_padded"] = padded  # with margins, where the library's layer has none
        super().__init__(**given)
        if padded and self.crop_to_aspect_ratio:
            raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")

    def __getattr__(self, key):
        padded = self.__dict__.get("_padded", {})
        return padded[key] if key in padded else super().__getattr__(key)

    def get_config(self):
        return {**super().get_config(), **self.__dict__["_padded"]}

    def __call__(self, data, **kwargs):
        if not self.__dict__["_padded"]:
            return super().__call__(data, **kwargs)
        self.built, size = True, (self.height, self.width)
        how = {key: getattr(self, key) for key in ("interpolation", "antialias", "data_format", *self._PADDED)}
        return resize(cast(convert_to_tensor(data), "float32"), size, **how)
