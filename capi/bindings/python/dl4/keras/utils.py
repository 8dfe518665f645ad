"""Seeds, one-hot labels, sequences, drawings."""

from . import _state


def set_random_seed(seed):
    """Of Python, NumPy and the models made from now on."""
    import random

    if not isinstance(seed, int):
        raise ValueError(f"Expected `seed` argument to be an integer. Received: seed={seed} (of type {type(seed)})")
    random.seed(seed)
    try:
        import numpy

        numpy.random.seed(seed)
    except ImportError:
        pass
    _state.set_seed(seed)


def to_categorical(x, num_classes=None):
    """One-hot rows of labels."""
    import numpy

    x = numpy.asarray(x, dtype="int64")
    if x.ndim > 1 and x.shape[-1] == 1:
        x = x[..., 0]
    classes = int(num_classes or x.max() + 1)
    return numpy.eye(classes, dtype="float32")[x]


def normalize(x, axis=-1, order=2):
    """An array divided by its norms along an axis."""
    import numpy

    norms = numpy.atleast_1d(numpy.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / numpy.expand_dims(norms, axis)


def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0):
    """Sequences of one length: cut, and filled up with a value."""
    import numpy

    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    lengths, sample = [], ()
    for s in sequences:
        if not hasattr(s, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {s}")
        lengths.append(len(s))
        sample = sample or numpy.asarray(s).shape[1:] if len(s) else sample
    length = max(lengths, default=0) if maxlen is None else maxlen
    if isinstance(value, str) and dtype is not object and not numpy.issubdtype(dtype, numpy.str_):
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\nYou should set "
            "`dtype=object` for variable length strings."
        )
    for word, what in ((padding, "Padding"), (truncating, "Truncating")):
        if word not in ("pre", "post"):
            raise ValueError(f'{what} type "{word}" not understood')
    x = numpy.full((len(lengths), length, *sample), value, dtype=dtype)
    for i, s in enumerate(sequences):
        s = s[-length:] if truncating == "pre" else s[:length]
        if not len(s) or not length:
            continue
        s = numpy.asarray(s, dtype=dtype)
        if s.shape[1:] != sample:
            raise ValueError(
                f"Shape of sample {s.shape[1:]} of sequence at position {i} is different from expected shape {sample}"
            )
        if padding == "post":
            x[i, : len(s)] = s
        else:
            x[i, -len(s) :] = s
    return x


def pack_x_y_sample_weight(x, y=None, sample_weight=None):
    """What fit() takes as one batch."""
    if y is None:
        return (x,) if isinstance(x, (list, tuple)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(data):
    """x, y and weights of a batch, None where one is not in it."""
    data = tuple(data) if isinstance(data, list) else data
    if not isinstance(data, tuple):
        return data, None, None
    if len(data) > 3:
        raise ValueError(
            f"Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, found: {data}"
        )
    return data + (None,) * (3 - len(data))


class Sequence:
    """Batches by number: __len__() and __getitem__(index), and on_epoch_end() if you like."""

    def __init__(self, workers=1, use_multiprocessing=False, max_queue_size=10):
        self.workers = workers

    def on_epoch_end(self):
        pass


PyDataset = Sequence


class _Windows(Sequence):
    def __init__(self, data, targets, starts, length, rate, batch_size):
        super().__init__()
        self.data, self.targets, self.starts = data, targets, starts
        self.length, self.rate, self.batch_size = length, rate, batch_size

    def __len__(self):
        return -(-len(self.starts) // self.batch_size)

    def __getitem__(self, i):
        import numpy

        starts = self.starts[i * self.batch_size : (i + 1) * self.batch_size]
        x = self.data[starts[:, None] + numpy.arange(self.length) * self.rate]
        return x if self.targets is None else (x, self.targets[starts])

    def __iter__(self):
        return (self[i] for i in range(len(self)))


def timeseries_dataset_from_array(
    data,
    targets,
    sequence_length,
    sequence_stride=1,
    sampling_rate=1,
    batch_size=128,
    shuffle=False,
    seed=None,
    start_index=None,
    end_index=None,
):
    """Windows of a series, in batches: what fit() takes."""
    import numpy

    data = numpy.asarray(data)
    begin, end = start_index or 0, len(data) if end_index is None else end_index
    last = end - begin - (sequence_length - 1) * sampling_rate
    if targets is not None:
        last = min(last, len(targets))
        targets = numpy.asarray(targets)[begin:end]
    starts = numpy.arange(0, max(last, 0), sequence_stride)
    if shuffle:
        numpy.random.RandomState(numpy.random.randint(10**6) if seed is None else seed).shuffle(starts)
    return _Windows(data[begin:end], targets, starts, sequence_length, sampling_rate, batch_size)


def model_to_dot(model, **_):
    """The model as DOT text."""
    return model.core.describe(2)


def plot_model(model, to_file="model.svg", **_):
    """Draws a model with Graphviz's `dot`. Without it, or where the name ends in .dot, its DOT text is written, and the
    name of that file comes back."""
    import pathlib
    import shutil
    import subprocess

    text, path = model_to_dot(model), pathlib.Path(to_file)
    if path.suffix == ".dot" or shutil.which("dot") is None:
        path = path.with_suffix(".dot")
        path.write_text(text, encoding="utf-8")
    else:
        subprocess.run(["dot", f"-T{path.suffix[1:] or 'svg'}", "-o", str(path)], input=text.encode(), check=True)
    return str(path)
