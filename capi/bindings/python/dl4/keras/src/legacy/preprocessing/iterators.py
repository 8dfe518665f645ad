"""Batches of changed images: of arrays, of a directory, of a table of names."""

import os
import threading

from ...backend.config import image_data_format
from ...backend.lazy import np
from ...utils.data_utils import PyDataset
from ...utils.image_utils import array_to_img, img_to_array, load_img

_FORMATS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")


class Iterator(PyDataset):
    """Batches by number, and without end where it is iterated over."""

    white_list_formats = _FORMATS

    def __init__(self, n, batch_size, shuffle, seed, **kwargs):
        super().__init__(**kwargs)
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.index_array, self._lock = None, threading.Lock()

    def _order(self):
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _seed(self):
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1

    def __len__(self):
        return -(-self.n // self.batch_size)

    def __getitem__(self, idx):
        if idx >= len(self):
            raise ValueError(f"Asked to retrieve element {idx}, but the Sequence has length {len(self)}")
        self._seed()
        if self.index_array is None:
            self._order()
        return self._get_batches_of_transformed_samples(
            self.index_array[self.batch_size * idx : self.batch_size * (idx + 1)]
        )

    def on_epoch_end(self):
        self._order()

    def reset(self):
        self.batch_index = 0

    def __iter__(self):
        return self

    def __next__(self):
        with self._lock:
            self._seed()
            if self.batch_index == 0:
                self._order()
            begin = self.batch_index * self.batch_size % self.n if self.n else 0
            self.batch_index = self.batch_index + 1 if self.n > begin + self.batch_size else 0
            rows = self.index_array[begin : begin + self.batch_size]
        return self._get_batches_of_transformed_samples(rows)

    next = __next__

    def _changed(self, x):
        generator = self.image_data_generator
        if generator is None:
            return x
        return generator.standardize(generator.apply_transform(x, generator.get_random_transform(x.shape)))

    def _save(self, images, rows):
        for image, row in zip(images, rows) if self.save_to_dir else ():
            name = f"{self.save_prefix}_{row}_{np.random.randint(10**7)}.{self.save_format}"
            array_to_img(image, self.data_format, scale=True).save(os.path.join(self.save_to_dir, name))


class NumpyArrayIterator(Iterator):
    """Batches of an array of images."""

    def __init__(
        self,
        x,
        y,
        image_data_generator,
        batch_size=32,
        shuffle=False,
        sample_weight=None,
        seed=None,
        data_format=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
        ignore_class_split=False,
        dtype=None,
    ):
        self.dtype, self.data_format = dtype or "float32", data_format or image_data_format()
        more = []
        if isinstance(x, (tuple, list)):
            more = [np.asarray(m) for m in (x[1] if isinstance(x[1], list) else [x[1]])]
            x = x[0]
        for other, what in (*((m, "x[1]") for m in more), (y, "y"), (sample_weight, "sample_weight")):
            if other is not None and len(other) != len(x):
                raise ValueError(
                    f"`x` (images tensor) and `{what}` should have the same length. Found: x.shape = {np.shape(x)}, "
                    f"{what}.shape = {np.shape(other)}"
                )
        part = slice(None)
        if subset is not None:
            part = self._part(subset, int(len(x) * image_data_generator._validation_split), y, ignore_class_split)
        self.x = np.asarray(x[part], dtype=self.dtype)
        if self.x.ndim != 4:
            raise ValueError(
                f"Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape {self.x.shape}"
            )
        self.x_misc = [m[part] for m in more]
        self.y = None if y is None else np.asarray(y)[part]
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)[part]
        self.image_data_generator = image_data_generator
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        super().__init__(len(self.x), batch_size, shuffle, seed)

    @staticmethod
    def _part(subset, at, y, ignore_class_split):
        if subset not in ("training", "validation"):
            raise ValueError(f'Invalid subset name: {subset}; expected "training" or "validation".')
        if y is not None and not ignore_class_split and not np.array_equal(np.unique(y[:at]), np.unique(y[at:])):
            raise ValueError(
                "Training and validation subsets have different number of classes after the split. If your "
                "numpy arrays "
                "are sorted by the label, you might want to shuffle them."
            )
        return slice(None, at) if subset == "validation" else slice(at, None)

    def _get_batches_of_transformed_samples(self, index_array):
        images = np.zeros((len(index_array), *self.x.shape[1:]), dtype=self.dtype)
        for i, row in enumerate(index_array):
            images[i] = self._changed(self.x[row].copy())
        self._save(images, index_array)
        more = [m[index_array] for m in self.x_misc]
        x = [images, *more] if more else images
        rest = [v[index_array] for v in (self.y, self.sample_weight) if v is not None]
        return x if self.y is None else (x, *rest)


class _Files(Iterator):
    """Batches of images of files."""

    def _take(self, generator, target_size, color_mode, class_mode, modes, more):
        if color_mode not in ("rgb", "rgba", "grayscale"):
            raise ValueError(f'Invalid color mode: {color_mode}; expected "rgb", "rgba", or "grayscale".')
        if class_mode not in modes:
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: {modes}")
        self.image_data_generator, self.target_size, self.color_mode = generator, tuple(target_size), color_mode
        self.class_mode = class_mode
        for name, value in more.items():
            setattr(self, name, value)
        self.data_format, self.dtype = self.data_format or image_data_format(), self.dtype or "float32"
        channels = {"rgb": 3, "rgba": 4, "grayscale": 1}[color_mode]
        last = self.data_format == "channels_last"
        self.image_shape = (*self.target_size, channels) if last else (channels, *self.target_size)

    def _part(self, items):
        """Of the files those of the subset."""
        if self.subset is None:
            return items
        if self.subset not in ("training", "validation"):
            raise ValueError(f'Invalid subset name: {self.subset};expected "training" or "validation"')
        at = int(self.image_data_generator._validation_split * len(items))
        return items[:at] if self.subset == "validation" else items[at:]

    def _get_batches_of_transformed_samples(self, index_array):
        images = np.zeros((len(index_array), *self.image_shape), dtype=self.dtype)
        for i, row in enumerate(index_array):
            image = load_img(
                self.filepaths[row],
                color_mode=self.color_mode,
                target_size=self.target_size,
                interpolation=self.interpolation,
                keep_aspect_ratio=self.keep_aspect_ratio,
            )
            images[i] = self._changed(img_to_array(image, data_format=self.data_format).copy())
        self._save(images, index_array)
        if self.class_mode is None:
            return images
        y = self._labels(images, index_array)
        return (images, y) if self.sample_weight is None else (images, y, self.sample_weight[index_array])

    def _labels(self, images, rows):
        if self.class_mode == "input":
            return images.copy()
        if self.class_mode == "multi_output":
            return [output[rows] for output in self.labels]
        if self.class_mode == "raw":
            return self.labels[rows]
        found = np.asarray([self.classes[row] for row in rows])
        if self.class_mode == "categorical":
            return np.eye(len(self.class_indices), dtype=self.dtype)[found]
        return found.astype(self.dtype)


class DirectoryIterator(_Files):
    """Batches of the images of a directory, whose folders are the classes."""

    allowed_class_modes = ("categorical", "binary", "sparse", "input", None)
    sample_weight = None

    def __init__(
        self,
        directory,
        image_data_generator,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        data_format=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        follow_links=False,
        subset=None,
        interpolation="nearest",
        keep_aspect_ratio=False,
        dtype=None,
    ):
        more = {
            "data_format": data_format,
            "save_to_dir": save_to_dir,
            "save_prefix": save_prefix,
            "save_format": save_format,
            "subset": subset,
            "interpolation": interpolation,
            "keep_aspect_ratio": keep_aspect_ratio,
            "dtype": dtype,
        }
        self._take(image_data_generator, target_size, color_mode, class_mode, self.allowed_class_modes, more)
        self.directory = directory
        names = classes or sorted(d for d in os.listdir(directory) if os.path.isdir(os.path.join(directory, d)))
        self.num_classes, self.class_indices = len(names), {name: i for i, name in enumerate(names)}
        self.filenames, found = [], []
        for i, name in enumerate(names):
            files = self._part(_images_in(os.path.join(directory, name), follow_links))
            self.filenames += [os.path.join(name, file) for file in files]
            found += [i] * len(files)
        self.samples, self.classes = len(self.filenames), np.array(found, "int32")
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        self.filepaths = [os.path.join(directory, file) for file in self.filenames]
        super().__init__(self.samples, batch_size, shuffle, seed)

    @property
    def labels(self):
        return self.classes


def _images_in(folder, follow_links):
    found = []
    for root, _, files in sorted(os.walk(folder, followlinks=follow_links), key=lambda x: x[0]):
        names = [f for f in sorted(files) if f.lower().endswith(_FORMATS)]
        found += [os.path.relpath(os.path.join(root, f), folder) for f in names]
    return found


class DataFrameIterator(_Files):
    """Batches of the images whose names are in a table, with other columns as targets."""

    allowed_class_modes = ("binary", "categorical", "input", "multi_output", "raw", "sparse", None)

    def __init__(
        self,
        dataframe,
        directory=None,
        image_data_generator=None,
        x_col="filename",
        y_col="class",
        weight_col=None,
        target_size=(256, 256),
        color_mode="rgb",
        classes=None,
        class_mode="categorical",
        batch_size=32,
        shuffle=True,
        seed=None,
        data_format="channels_last",
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        subset=None,
        interpolation="nearest",
        keep_aspect_ratio=False,
        dtype="float32",
        validate_filenames=True,
    ):
        more = {
            "data_format": data_format,
            "save_to_dir": save_to_dir,
            "save_prefix": save_prefix,
            "save_format": save_format,
            "subset": subset,
            "interpolation": interpolation,
            "keep_aspect_ratio": keep_aspect_ratio,
            "dtype": dtype,
        }
        self._take(image_data_generator, target_size, color_mode, class_mode, self.allowed_class_modes, more)
        self.directory = directory or ""
        names = list(dataframe[x_col])
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"All values in column x_col={x_col} must be strings.")
        rows = [i for i, name in enumerate(names) if not validate_filenames or self._is_image(name)]
        by_class = class_mode in ("binary", "categorical", "sparse")
        if by_class:
            rows = self._by_class(list(dataframe[y_col]), rows, classes)
        rows = self._part(rows)
        self.filenames = [names[i] for i in rows]
        self.classes = [self._class_of_row[i] for i in rows] if by_class else None
        self.sample_weight = None if weight_col is None else np.asarray(dataframe[weight_col])[rows]
        if class_mode == "multi_output":
            self.labels = [np.array([list(dataframe[c])[i] for i in rows]) for c in y_col]
        elif class_mode == "raw":
            self.labels = np.asarray(dataframe[y_col])[rows]
        self.samples, self.filepaths = len(rows), [os.path.join(self.directory, f) for f in self.filenames]
        told = f" belonging to {len(self.class_indices)} classes." if by_class else "."
        print(f"Found {self.samples} {'' if validate_filenames else 'non-'}validated image filenames{told}")
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _is_image(self, name):
        path = os.path.join(self.directory, name)
        return path.lower().endswith(_FORMATS) and os.path.isfile(path)

    def _by_class(self, given, rows, classes):
        """The rows of known classes, whose numbers are kept."""
        if any(not isinstance(c, str) for c in given):
            raise TypeError(f'If class_mode="{self.class_mode}", y_col column values must be strings.')
        names = list(classes) if classes else sorted({given[i] for i in rows})
        if self.class_mode == "binary" and len(names) != 2:
            raise ValueError(f'If class_mode="binary" there must be 2 classes. Found {len(names)} classes.')
        self.class_indices = {name: i for i, name in enumerate(names)}
        rows = [i for i in rows if given[i] in self.class_indices]
        self._class_of_row = {i: self.class_indices[given[i]] for i in rows}
        return rows
