"""image_dataset_from_directory(), text_dataset_from_directory(), audio_dataset_from_directory()."""

import io
import wave

from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from ..data.structure import string_array
from .dataset_utils import check_directory_arguments, from_directory
from .image_utils import pillow, resized

IMAGE_FORMATS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_MODES = {"rgb": "RGB", "rgba": "RGBA", "grayscale": "L"}
_METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")


def path_of(path):
    """A name of a file in a dataset."""
    path = np.asarray(path).item() if hasattr(path, "shape") else path
    return path.decode() if isinstance(path, bytes) else path


def pixels_of(content, mode, who):
    """The pixels of an image file, bytes as they are in it."""
    image = pillow(who).open(io.BytesIO(content))
    image = image if mode is None or image.mode == mode else image.convert(mode)
    array = np.asarray(image)
    return array[..., None] if array.ndim == 2 else array


def frames_of(content, who):
    """The pictures of an animated image file, in RGB."""
    image = pillow(who).open(io.BytesIO(content))
    frames = []
    for i in range(getattr(image, "n_frames", 1)):
        image.seek(i)
        frames.append(np.asarray(image.convert("RGB")))
    return np.stack(frames)


def image_dataset_from_directory(
    directory,
    labels="inferred",
    label_mode="int",
    class_names=None,
    color_mode="rgb",
    batch_size=32,
    image_size=(256, 256),
    shuffle=True,
    seed=None,
    validation_split=None,
    subset=None,
    interpolation="bilinear",
    follow_links=False,
    crop_to_aspect_ratio=False,
    pad_to_aspect_ratio=False,
    data_format=None,
    format="tf",
    verbose=True,
):
    """Batches of the images of a directory, in float32 and in one size, with the numbers of their folders."""
    check_directory_arguments("image", labels, label_mode, class_names, format)
    if color_mode not in _MODES:
        raise ValueError(
            f'`color_mode` must be one of {{"rgb", "rgba", "grayscale"}}. Received: color_mode={color_mode}'
        )
    size = (image_size, image_size) if isinstance(image_size, int) else image_size
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise ValueError(
            f"Invalid `image_size` value. Expected a tuple of 2 integers. Received: image_size={image_size}"
        )
    interpolation = interpolation.lower()
    if interpolation not in _METHODS:
        raise ValueError(
            f"Argument `interpolation` should be one of {_METHODS}. Received: interpolation={interpolation}"
        )
    if interpolation in ("area", "gaussian", "mitchellcubic"):
        raise NotImplementedError(
            f"image_dataset_from_directory: `interpolation`: {interpolation!r} is not in this version of the library"
        )
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio`, `crop_to_aspect_ratio` can be set to `True`.")
    pillow("image_dataset_from_directory")
    first = data_format == "channels_first"

    def read(path):
        with open(path_of(path), "rb") as f:
            image = pixels_of(f.read(), _MODES[color_mode], "image_dataset_from_directory")
        make = padded if pad_to_aspect_ratio else resized
        more = {} if pad_to_aspect_ratio else {"crop": crop_to_aspect_ratio}
        out = make(image, size, interpolation, **more)
        return eager_tensor(np.ascontiguousarray(np.moveaxis(np.asarray(out), -1, 0))) if first else out

    return from_directory(
        read,
        directory,
        IMAGE_FORMATS,
        "images",
        labels,
        label_mode,
        class_names,
        batch_size,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        verbose,
    )


def padded(image, size, interpolation="bilinear"):
    """An image in another size, whole, with zeros around it where it has another form."""
    image = np.asarray(image)
    h, w = image.shape[:2]
    ratio = max(w / size[1], h / size[0])
    high, wide = max(int(h / ratio), 1), max(int(w / ratio), 1)
    out = np.zeros((size[0], size[1], image.shape[2]), "float32")
    top, left = int((size[0] - h / ratio) / 2), int((size[1] - w / ratio) / 2)
    out[top : top + high, left : left + wide] = np.asarray(resized(image, (high, wide), interpolation))
    return eager_tensor(out)


def text_dataset_from_directory(
    directory,
    labels="inferred",
    label_mode="int",
    class_names=None,
    batch_size=32,
    max_length=None,
    shuffle=True,
    seed=None,
    validation_split=None,
    subset=None,
    follow_links=False,
    format="tf",
    verbose=True,
):
    """Batches of the texts of a directory, one of each .txt file, with the numbers of their folders."""
    check_directory_arguments("text", labels, label_mode, class_names, format)

    def read(path):
        with open(path_of(path), "rb") as f:
            return eager_tensor(string_array(f.read() if max_length is None else f.read(max_length)))

    return from_directory(
        read,
        directory,
        (".txt",),
        "text files",
        labels,
        label_mode,
        class_names,
        batch_size,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        verbose,
    )


def samples_of(path, length=None):
    """The samples of a .wav file of 16 bits, from -1 to 1, (samples, channels), and how many a second."""
    with wave.open(path, "rb") as f:
        if f.getsampwidth() != 2:
            raise ValueError(f"{path}: expected samples of 16 bits, got {8 * f.getsampwidth()}")
        data = np.frombuffer(f.readframes(f.getnframes()), "<i2").reshape(-1, f.getnchannels())
        rate = f.getframerate()
    out = (data / np.float32(32768)).astype("float32")
    if length is not None:
        out = np.pad(out[:length], ((0, max(length - len(out), 0)), (0, 0)))
    return out, rate


def audio_dataset_from_directory(
    directory,
    labels="inferred",
    label_mode="int",
    class_names=None,
    batch_size=32,
    sampling_rate=None,
    output_sequence_length=None,
    ragged=False,
    shuffle=True,
    seed=None,
    validation_split=None,
    subset=None,
    follow_links=False,
    format="tf",
    verbose=True,
):
    """Batches of the sounds of a directory, one of each .wav file, with the numbers of their folders."""
    check_directory_arguments("audio", labels, label_mode, class_names, format)
    for name, value in (("sampling_rate", sampling_rate is not None), ("ragged", ragged)):
        if value:
            raise NotImplementedError(f"audio_dataset_from_directory: `{name}` is not in this version of the library")

    def read(path):
        return eager_tensor(samples_of(path_of(path), output_sequence_length)[0])

    return from_directory(
        read,
        directory,
        (".wav",),
        "audio files",
        labels,
        label_mode,
        class_names,
        batch_size,
        shuffle,
        seed,
        validation_split,
        subset,
        follow_links,
        verbose,
        padded=output_sequence_length is None,
    )
