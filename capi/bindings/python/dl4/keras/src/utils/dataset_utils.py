"""Datasets of directories: which files, whose labels, which part of them; and datasets cut in two."""

import os
import random

from ..backend.lazy import np
from ..data.dataset import Dataset
from ..data.structure import leaves, map_structure
from ..data.steps import AUTOTUNE


def index_directory(
    directory, labels, formats, class_names=None, shuffle=True, seed=None, follow_links=False, verbose=True
):
    """Paths, labels and names of the classes, which are the folders in a directory."""
    directory = os.fspath(directory)
    if labels == "inferred":
        folders = sorted(d for d in os.listdir(directory) if os.path.isdir(os.path.join(directory, d)) and d[0] != ".")
        if class_names is not None and not set(class_names) <= set(folders):
            raise ValueError(
                "The `class_names` passed did not match the names of the subdirectories of the target directory. "
                f"Expected: {folders} (or a subset of it), but received: class_names={class_names}"
            )
        names = list(class_names) if class_names is not None else folders
        found = [(path, i) for i, name in enumerate(names) for path in _files(directory, name, follow_links, formats)]
        paths, labels = [p for p, _ in found], np.array([i for _, i in found], "int32")
    else:
        if class_names is not None:
            raise ValueError(
                "When `labels=None` (no labels), argument `class_names` cannot be specified."
                if labels is None
                else "When argument `labels` is specified, argument `class_names` cannot be specified (the "
                "`class_names` will be the sorted list of labels)."
            )
        paths, names = _files(directory, "", follow_links, formats), None
        if labels is not None:
            if len(labels) != len(paths):
                raise ValueError(
                    "Expected the lengths of `labels` to match the number of files in the target directory. "
                    "len(labels) "
                    f"is {len(labels)} while we found {len(paths)} files in directory {directory}."
                )
            names = [str(label) for label in sorted(set(labels))]
    if verbose:
        print(f"Found {len(paths)} files" + ("." if labels is None else f" belonging to {len(names)} classes."))
    if shuffle:
        seed = np.random.randint(1e6) if seed is None else seed
        np.random.RandomState(seed).shuffle(paths)
        if labels is not None:
            labels = labels if isinstance(labels, np.ndarray) else list(labels)
            np.random.RandomState(seed).shuffle(labels)
    return paths, labels, names


def _files(directory, name, follow_links, formats):
    top, found = os.path.join(directory, name), []
    for root, _, files in sorted(os.walk(top, followlinks=follow_links), key=lambda x: x[0]):
        for file in sorted(files):
            if file.lower().endswith(formats):
                inside = os.path.relpath(os.path.join(root, file), top)
                found.append(os.path.join(directory, name, inside))
    return found


def check_directory_arguments(what, labels, label_mode, class_names, format):
    """Raises for arguments that don't go together, in Keras's words."""
    if labels not in ("inferred", None):
        if not isinstance(labels, (list, tuple)):
            raise ValueError(
                f"`labels` argument should be a list/tuple of integer labels, of the same size as the number of {what} "
                "files in the target directory. If you wish to infer the labels from the subdirectory names in the "
                'target directory, pass `labels="inferred"`. If you wish to get a dataset that only contains '
                f"{what} samples (no labels), pass `labels=None`. Received: labels={labels}"
            )
        if class_names:
            raise ValueError(
                f'You can only pass `class_names` if `labels="inferred"`. Received: labels={labels}, and '
                f"class_names={class_names}"
            )
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(
            f'`label_mode` argument must be one of "int", "categorical", "binary", or None. Received: '
            f"label_mode={label_mode}"
        )
    if format == "grain":
        raise NotImplementedError("`format='grain'`: datasets of Grain are not in this version of the library")
    if format != "tf":
        raise ValueError(f'`format` should be either "tf" or "grain". Received: format={format}')


def check_validation_split_arg(validation_split, subset, shuffle, seed):
    if validation_split and not 0 < validation_split < 1:
        raise ValueError(f"`validation_split` must be between 0 and 1, received: {validation_split}")
    if bool(validation_split) != bool(subset):
        raise ValueError("If `subset` is set, `validation_split` must be set, and inversely.")
    if subset not in ("training", "validation", "both", None):
        raise ValueError(f'`subset` must be either "training", "validation" or "both", received: {subset}')
    if validation_split and shuffle and seed is None:
        raise ValueError(
            "If using `validation_split` and shuffling the data, you must provide a `seed` argument, to make sure that "
            "there is no overlap between the training and validation subset."
        )


def part_of(samples, labels, validation_split, subset):
    """The files for training, or those for validation, which are the last ones."""
    if not validation_split:
        return samples, labels
    last = int(validation_split * len(samples))
    if subset == "training":
        print(f"Using {len(samples) - last} files for training.")
        part = slice(None, -last)
    else:
        print(f"Using {last} files for validation.")
        part = slice(-last, None)
    return samples[part], labels if labels is None else labels[part]


def dataset_of_files(read, paths, labels, label_mode, classes, batch_size, shuffle, seed, padded=False):
    """What a function reads of files, with labels, in batches."""
    dataset = Dataset.from_tensor_slices(paths)
    if label_mode is not None:
        values = np.asarray(labels)
        if label_mode == "binary":
            values = values.astype("float32")[:, None]
        elif label_mode == "categorical":
            values = np.eye(classes, dtype="float32")[values]
        dataset = Dataset.from_tensor_slices((list(paths), values))
    if shuffle:
        dataset = dataset.shuffle((batch_size or 128) * 8, seed=seed)
    both = (lambda path, label: (read(path), label)) if label_mode is not None else read
    dataset = dataset.map(both, num_parallel_calls=AUTOTUNE)
    if batch_size is not None:
        dataset = dataset.padded_batch(batch_size) if padded else dataset.batch(batch_size)
    return dataset.prefetch(AUTOTUNE)


def from_directory(
    read,
    directory,
    formats,
    what,
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
    padded=False,
):
    """The dataset of a directory, or those for training and validation."""
    if labels is None or label_mode is None:
        labels = label_mode = None
    check_validation_split_arg(validation_split, subset, shuffle, seed)
    seed = np.random.randint(1e6) if seed is None else seed
    paths, labels, names = index_directory(
        directory, labels, formats, class_names, shuffle, seed, follow_links, verbose
    )
    if label_mode == "binary" and len(names) != 2:
        raise ValueError(
            f'When passing `label_mode="binary"`, there must be exactly 2 class_names. Received: class_names={names}'
        )
    made = []
    for part in ("training", "validation") if subset == "both" else (subset,):
        some, of_some = part_of(paths, labels, validation_split, part)
        if not some:
            which = f"{part} " if subset == "both" else ""
            raise ValueError(f"No {which}{what} found in directory {directory}. Allowed formats: {formats}")
        mixed = shuffle and not (subset == "both" and part == "validation")
        dataset = dataset_of_files(read, some, of_some, label_mode, len(names or ()), batch_size, mixed, seed, padded)
        dataset.class_names, dataset.file_paths = names, some
        made.append(dataset)
    return made if subset == "both" else made[0]


def split_dataset(dataset, left_size=None, right_size=None, shuffle=False, seed=None, preferred_backend=None):
    """Two datasets of the first and the last elements of one, of an array, or of a list or tuple of arrays."""
    if preferred_backend not in (None, "tensorflow", "dl4"):
        raise NotImplementedError(
            f"split_dataset: `preferred_backend`: expected 'tensorflow', got {preferred_backend!r}"
        )
    size, rows = None, dataset
    if isinstance(dataset, Dataset):
        if dataset._free:
            size = len(leaves(next(iter(dataset)))[0])
            rows = dataset.unbatch()
    elif isinstance(dataset, (list, tuple)):
        rows = zip(*_alike(dataset))
    elif not isinstance(dataset, np.ndarray):
        raise TypeError(
            "The `dataset` argument must be either a `tf.data.Dataset` object, or a list/tuple of arrays. "
            f"Received: dataset={dataset} of type {type(dataset)}"
        )
    if left_size is None and right_size is None:
        raise ValueError(
            "At least one of the `left_size` or `right_size` must be specified. Received: left_size=None and "
            "right_size=None"
        )
    rows = list(rows)
    if not rows:
        raise ValueError(
            "Received an empty dataset. Argument `dataset` must be a non-empty list/tuple of `numpy.ndarray` "
            "objects or "
            "`tf.data.Dataset` objects."
        )
    if shuffle:
        random.seed(random.randint(0, int(1e6)) if seed is None else seed)
        random.shuffle(rows)
    left, right = _sizes(left_size, right_size, len(rows))
    return tuple(_of_rows(part, size) for part in (rows[:left], rows[-right:]))


def _of_rows(rows, size):
    whole = map_structure(lambda *parts: np.stack([np.asarray(p) for p in parts]), *rows)
    dataset = Dataset.from_tensor_slices(whole)
    return (dataset if size is None else dataset.batch(size)).prefetch(AUTOTUNE)


def _alike(arrays):
    if not len(arrays):
        raise ValueError("Received an empty list dataset. Please provide a non-empty list of arrays.")
    for i, a in enumerate(arrays):
        if not isinstance(a, np.ndarray):
            raise ValueError(f"Expected a list of `numpy.ndarray` objects, Received: {type(a)} at index {i}.")
        if len(a) != len(arrays[0]):
            raise ValueError(
                f"Received a list of NumPy arrays with different lengths. Mismatch found at index {i}, Expected "
                f"shape={arrays[0].shape} Received shape={a.shape}. Please provide a list of NumPy arrays of the same "
                "length."
            )
    return arrays


def _sizes(left, right, total):
    for name, value in (("left_size", left), ("right_size", right)):
        if value is not None and type(value) not in (int, float):
            raise TypeError(
                f"Invalid `{name}` Type. Expected: int or float or None, Received: type({name})={type(value)}."
            )
    if left == 0 and right == 0:
        raise ValueError(
            "Both `left_size` and `right_size` are zero. At least one of the split sizes must be non-zero."
        )
    for name, value in (("left_size", left), ("right_size", right)):
        if value is not None and not 0 < value < (total if type(value) is int else 1):
            raise ValueError(
                f"`{name}` should be either a positive integer smaller than {total}, or a float within the range "
                f"`[0, 1]`. Received: {name}={value}"
            )
    if type(left) is float and type(right) is float and left + right > 1:
        raise ValueError(
            "The sum of `left_size` and `right_size` is greater than 1. It must be less than or equal to 1."
        )
    left = round(left * total) if type(left) is float else left
    right = round(right * total) if type(right) is float else right
    left = total - right if left is None else left
    right = total - left if right is None else right
    if left + right > total:
        raise ValueError(
            "The sum of `left_size` and `right_size` should be smaller than the {total_length}. Received: left_size + "
            f"right_size = {left + right}and total_length = {total}"
        )
    for name, value in (("left", left), ("right", right)):
        if value == 0:
            raise ValueError(
                f"With `dataset` of length={total}, `left_size`={left} and `right_size`={right}, the resulting {name} "
                "side dataset split will be empty. Adjust any of the aforementioned parameters"
            )
    return left, right
