"""Files of data sets: .npz without code, and the data sets' pickles of arrays alone."""

import io
import pickle
import zipfile

from ..backend.lazy import np
from ..utils.file_utils import get_file

ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_ARRAYS = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
}


class ArraysAlone(pickle.Unpickler):
    """Reads pickles that hold arrays and nothing else."""

    def find_class(self, module, name):
        if (module, name) in _ARRAYS:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"Refusing to deserialize `{module}.{name}` while loading a Keras dataset. The file may be corrupted or "
            "malicious."
        )


def fetched(path, name, file_hash):
    """The path of a file of Google's folder of data sets."""
    return get_file(fname=path, origin=ORIGIN + name, file_hash=file_hash)


def arrays_of(path):
    """The arrays of a .npz file by name; those of lists are pickles."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if member.endswith(".npy"):
                found[member[:-4]] = _array_of(io.BytesIO(archive.read(member)))
    return found


def _array_of(file):
    try:
        return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError:
        file.seek(0)
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        read(file)
        return ArraysAlone(file).load()


def shuffled(seed, *arrays):
    """Arrays in one order of a seed."""
    order = np.arange(len(arrays[0]))
    np.random.RandomState(seed).shuffle(order)
    return [a[order] for a in arrays]


def need_share(test_split):
    if not 0 <= test_split < 1:
        raise ValueError(f"Invalid `test_split` argument: {test_split}. It must be between 0 and 1 (exclusive of 1).")
