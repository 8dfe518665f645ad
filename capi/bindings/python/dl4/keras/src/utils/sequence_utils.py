"""Sequences of one length, and windows of time series."""

from .data_utils import Sequence


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
