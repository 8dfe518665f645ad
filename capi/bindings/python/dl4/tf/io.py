"""tf.io: files, images and records."""

import csv
import glob as _glob
import io as _io
import os
import shutil
from types import SimpleNamespace

import numpy as np

from ..keras.src.data.structure import as_bytes, string_array
from ..keras.src.utils.directory_utils import frames_of, path_of, pixels_of, samples_of
from ..keras.src.utils.image_utils import array_to_img
from . import errors
from .dispatch import array, name_of, refuse, tensor
from .records import FixedLenFeature, parse_example, parse_single_example, TFRecordWriter, VarLenFeature

_MODES = {0: None, 1: "L", 3: "RGB", 4: "RGBA"}


def read_file(filename, name=None):
    """The bytes of a file."""
    with open(path_of(filename), "rb") as f:
        return tensor(string_array(f.read()))


def write_file(filename, contents, name=None):
    with open(path_of(filename), "wb") as f:
        f.write(as_bytes(np.asarray(contents).item() if hasattr(contents, "shape") else contents))


def matching_files(pattern, name=None):
    return tensor(string_array(sorted(_glob.glob(path_of(pattern)))))


def decode_image(contents, channels=0, dtype="uint8", name=None, expand_animations=True):
    """The pixels of an image file's bytes; of a GIF all its pictures, unless `expand_animations` is False."""
    channels, dtype = int(channels or 0), name_of(dtype)
    if channels not in _MODES:
        raise ValueError(f"tf.io.decode_image: `channels`: expected 0, 1, 3 or 4, got {channels}")
    if dtype not in ("uint8", "float32"):
        raise NotImplementedError(f"tf.io.decode_image: `dtype`: expected uint8 or float32, got {dtype}")
    contents = np.asarray(contents, object).item() if hasattr(contents, "shape") else contents
    if expand_animations and contents[:4] == b"GIF8":
        pixels = frames_of(contents, "tf.io.decode_image")
    else:
        pixels = pixels_of(contents, _MODES[channels], "tf.io.decode_image")
    return tensor(pixels if dtype == "uint8" else pixels.astype("float32") / np.float32(255))


def _decoder(name):
    def decode(contents, channels=0, **kwargs):
        for key in kwargs:
            if key not in ("dtype", "name", "expand_animations", "fancy_upscaling", "dct_method"):
                raise NotImplementedError(f"tf.io.{name}: `{key}` is not in this version of the library")
        animated = kwargs.get("expand_animations", name == "decode_gif")
        return decode_image(contents, channels, kwargs.get("dtype", "uint8"), expand_animations=animated)

    decode.__name__ = name
    return decode


decode_jpeg, decode_png, decode_bmp, decode_gif = map(
    _decoder, ("decode_jpeg", "decode_png", "decode_bmp", "decode_gif")
)


def _encoded(image, kind, **options):
    file = _io.BytesIO()
    array_to_img(array(image), data_format="channels_last", scale=False).save(file, kind, **options)
    return tensor(string_array(file.getvalue()))


def encode_jpeg(
    image,
    format="",  # noqa: A002
    quality=95,
    progressive=False,
    optimize_size=False,
    chroma_downsampling=True,
    density_unit="in",
    x_density=300,
    y_density=300,
    xmp_metadata="",
    name=None,
):
    """The bytes of a JPEG file. Grey or RGB, as the image is."""
    channels = {"": array(image).shape[-1], "grayscale": 1, "rgb": 3}
    refuse(
        "tf.io.encode_jpeg",
        format=(format, *channels),
        xmp_metadata=(xmp_metadata, ""),
        density_unit=(density_unit, "in"),
    )
    if channels[format] != array(image).shape[-1]:
        raise ValueError(f"tf.io.encode_jpeg: format {format!r} of an image of {array(image).shape[-1]} channels")
    return _encoded(
        image,
        "jpeg",
        quality=quality,
        progressive=progressive,
        optimize=optimize_size,
        subsampling=2 if chroma_downsampling else 0,
        dpi=(x_density, y_density),
    )


def encode_png(image, compression=-1, name=None):
    """The bytes of a PNG file."""
    return _encoded(image, "png", **({} if compression == -1 else {"compress_level": compression}))


def decode_raw(input_bytes, out_type, little_endian=True, fixed_length=None, name=None):
    """The numbers that bytes are."""
    kind = np.dtype(name_of(out_type)).newbyteorder("<" if little_endian else ">")
    texts = array(input_bytes)
    if fixed_length is not None:
        texts = np.frompyfunc(lambda t: t[:fixed_length].ljust(fixed_length, b"\0"), 1, 1)(texts)
    found = [np.frombuffer(t, kind) for t in np.ravel(texts)]
    return tensor(np.stack(found).reshape(*np.shape(texts), -1).astype(name_of(out_type)))


def decode_csv(
    records, record_defaults, field_delim=",", use_quote_delim=True, na_value="", select_cols=None, name=None
):
    """The columns of lines of a table, each with the type of its default."""

    texts = array(records)
    quoting = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
    rows = list(csv.reader([t.decode() for t in texts.ravel()], delimiter=field_delim, quoting=quoting))
    out = []
    for i, default in zip(select_cols or range(len(record_defaults)), record_defaults):
        default = array(default)
        kind, given = default.dtype, default.ravel()
        cells = [row[i] for row in rows]
        if kind == object:
            column = string_array([c if c != na_value else given[0] if given.size else b"" for c in cells])
        else:
            column = np.array([given[0] if c == na_value else kind.type(c) for c in cells], kind)
        out.append(tensor(column.reshape(texts.shape)))
    return out


def decode_wav(contents, desired_channels=-1, desired_samples=-1, name=None):
    """The samples of a .wav file's bytes and how many a second."""
    x, rate = samples_of(_io.BytesIO(np.asarray(contents, object).item()))
    x = x if desired_channels == -1 else x[:, :desired_channels]
    if desired_samples != -1:
        x = np.pad(x[:desired_samples], ((0, max(desired_samples - len(x), 0)), (0, 0)))
    return tensor(x), tensor(np.asarray(rate, "int32"))


def _moved(move):
    def to(src, dst, overwrite=False):
        if not overwrite and os.path.exists(path_of(dst)):
            raise errors.AlreadyExistsError(f"{path_of(dst)}: the file exists, and `overwrite` is False")
        move(path_of(src), path_of(dst))

    return to


gfile = SimpleNamespace(
    GFile=lambda name, mode="r": open(path_of(name), mode),
    exists=lambda path: os.path.exists(path_of(path)),
    isdir=lambda path: os.path.isdir(path_of(path)),
    listdir=lambda path: os.listdir(path_of(path)),
    glob=lambda pattern: sorted(n for p in np.ravel(pattern) for n in _glob.glob(path_of(p))),
    makedirs=lambda path: os.makedirs(path_of(path), exist_ok=True),
    mkdir=lambda path: os.mkdir(path_of(path)),
    remove=lambda path: os.remove(path_of(path)),
    rmtree=lambda path: shutil.rmtree(path_of(path)),
    copy=_moved(shutil.copyfile),
    rename=_moved(os.replace),
    join=os.path.join,
    walk=lambda top: os.walk(path_of(top)),
)

__all__ = [
    "decode_bmp",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "decode_wav",
    "encode_jpeg",
    "encode_png",
    "FixedLenFeature",
    "gfile",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "read_file",
    "TFRecordWriter",
    "VarLenFeature",
    "write_file",
]
