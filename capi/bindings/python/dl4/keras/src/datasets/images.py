"""MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100."""

import gzip
import os

from ..backend.config import image_data_format
from ..backend.lazy import np
from ..utils.file_utils import get_file
from .archives import ArraysAlone, fetched, ORIGIN


def mnist(path="mnist.npz"):
    """(x_train, y_train), (x_test, y_test): digits, 28 x 28 bytes."""
    path = fetched(path, "mnist.npz", "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1")
    with np.load(path, allow_pickle=False) as f:
        return (f["x_train"], f["y_train"]), (f["x_test"], f["y_test"])


def fashion_mnist():
    """(x_train, y_train), (x_test, y_test): clothes, 28 x 28 bytes."""
    folder, found = os.path.join("datasets", "fashion-mnist"), []
    for part in ("train", "t10k"):
        names = [f"{part}-images-idx3-ubyte.gz", f"{part}-labels-idx1-ubyte.gz"]
        images, labels = (get_file(name, origin=ORIGIN + name, cache_subdir=folder) for name in names)
        with gzip.open(labels) as f:
            y = np.frombuffer(f.read(), "uint8", offset=8)
        with gzip.open(images) as f:
            found.append((np.frombuffer(f.read(), "uint8", offset=16).reshape(len(y), 28, 28), y))
    return tuple(found)


def _batch(path, key):
    """The images and labels of a file of CIFAR's."""
    with open(path, "rb") as f:
        known = ArraysAlone(f, encoding="bytes").load()
    return known[b"data"].reshape(-1, 3, 32, 32), np.array(known[key.encode()])


def _cifar(name, url, file_hash, folder, training, test, key):
    path = get_file(fname=name, origin=f"https://www.cs.toronto.edu/~kriz/{url}", extract=True, file_hash=file_hash)
    path, found = os.path.join(path, folder), []
    for files in (training, test):
        parts = [_batch(os.path.join(path, file), key) for file in files]
        x, y = (np.concatenate([p[i] for p in parts]) for i in (0, 1))
        x = x.transpose(0, 2, 3, 1) if image_data_format() == "channels_last" else x
        found.append((x, y.reshape(-1, 1)))
    return found


def cifar10():
    """(x_train, y_train), (x_test, y_test): coloured pictures, 32 x 32 x 3 bytes, of 10 classes."""
    found = _cifar(
        "cifar-10-batches-py-target",
        "cifar-10-python.tar.gz",
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        "cifar-10-batches-py",
        [f"data_batch_{i}" for i in range(1, 6)],
        ["test_batch"],
        "labels",
    )
    return tuple((x, y.astype("uint8")) for x, y in found)


def cifar100(label_mode="fine"):
    """(x_train, y_train), (x_test, y_test): coloured pictures, 32 x 32 x 3 bytes, of 100 classes or 20."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f'`label_mode` must be one of `"fine"`, `"coarse"`. Received: label_mode={label_mode}.')
    return tuple(
        _cifar(
            "cifar-100-python-target",
            "cifar-100-python.tar.gz",
            "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
            "cifar-100-python",
            ["train"],
            ["test"],
            f"{label_mode}_labels",
        )
    )
