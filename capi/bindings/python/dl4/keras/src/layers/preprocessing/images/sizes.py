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

    _RESIZED = ("interpolation", "antialias", "crop_to_aspect_ratio", "data_format", *_PADDED)

    def __call__(self, data, **kwargs):
        if self.__dict__["_padded"]:
            self.built = True
            return self.call(data)
        if is_tensor(data) and len(data.shape) == 4 and None in data.shape[1:]:
            self.__dict__["_sizes_are_free"] = True
        return super().__call__(data, **kwargs)

    def _is_custom(self):
        return "_sizes_are_free" in self.__dict__ or super()._is_custom()

    def _with_mask(self, args, kwargs, outputs):
        return outputs if "_sizes_are_free" in self.__dict__ else super()._with_mask(args, kwargs, outputs)

    def call(self, data):
        """By keras.ops: with margins, and where the library needs to know the sizes."""
        how = {key: getattr(self, key) for key in self._RESIZED if hasattr(self, key)}
        return resize(cast(convert_to_tensor(data), "float32"), (self.height, self.width), **how)
