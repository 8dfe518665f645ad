"""Sequences of one length, and windows of time series."""

from ..backend.lazy import np
from ..data.dataset import Dataset


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
    format="tf",
):
    """A dataset of windows of a series, in batches."""
    if format == "grain":
        raise NotImplementedError("timeseries_dataset_from_array: `format='grain'` is not in this version")
    if format != "tf":
        raise ValueError(f'`format` should be either "tf" or "grain". Received: format={format}')
    data = np.asarray(data)
    _need_places(len(data), start_index, end_index)
    for name, value in (("sampling_rate", sampling_rate), ("sequence_stride", sequence_stride)):
        if value <= 0:
            raise ValueError(f"`{name}` must be higher than 0. Received: {name}={value}")
        if value >= len(data):
            raise ValueError(
                f"`{name}` must be lower than the length of the data. Received: {name}={value}, for data of length "
                f"{len(data)}"
            )
    begin, end = start_index or 0, len(data) if end_index is None else end_index
    last = end - begin - (sequence_length - 1) * sampling_rate
    last = last if targets is None else min(last, len(targets))
    starts = np.arange(0, max(last, 0), sequence_stride, dtype="int32")
    if shuffle:
        seed = np.random.randint(10**6) if seed is None else seed
        np.random.RandomState(seed).shuffle(starts)
    data, steps = data[begin:end], np.arange(sequence_length) * sampling_rate
    targets = None if targets is None else np.asarray(targets)[begin:end]

    def windows(at):
        at = np.asarray(at)
        x = data[at[..., None] + steps]
        return x if targets is None else (x, targets[at])

    dataset = Dataset.from_tensor_slices(starts)
    if shuffle:
        dataset = dataset.shuffle(1024 if batch_size is None else batch_size * 8, seed=seed)
    return (dataset if batch_size is None else dataset.batch(batch_size)).map(windows)


def _need_places(length, start_index, end_index):
    """Raises for places that are not in the data, in Keras's words."""
    if start_index and start_index < 0:
        raise ValueError(f"`start_index` must be 0 or greater. Received: start_index={start_index}")
    if start_index and start_index >= length:
        raise ValueError(
            f"`start_index` must be lower than the length of the data. Received: start_index={start_index}, for "
            "data of "
            f"length {length}"
        )
    if not end_index:
        return
    if start_index and end_index <= start_index:
        raise ValueError(
            f"`end_index` must be higher than `start_index`. Received: start_index={start_index}, and "
            f"end_index={end_index} "
        )
    if end_index >= length:
        raise ValueError(
            f"`end_index` must be lower than the length of the data. Received: end_index={end_index}, for data "
            "of length "
            f"{length}"
        )
    if end_index <= 0:
        raise ValueError(f"`end_index` must be higher than 0. Received: end_index={end_index}")
