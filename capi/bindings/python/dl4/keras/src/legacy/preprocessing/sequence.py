"""TimeseriesGenerator, skipgrams."""

import json
import random

from ...backend.lazy import np
from ...utils.data_utils import PyDataset


class TimeseriesGenerator(PyDataset):
    """Batches of windows of a series, each with the target behind it."""

    def __init__(
        self,
        data,
        targets,
        length,
        sampling_rate=1,
        stride=1,
        start_index=0,
        end_index=None,
        shuffle=False,
        reverse=False,
        batch_size=128,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length. Data length is {len(data)} while target length is "
                f"{len(targets)}"
            )
        self.data, self.targets, self.length, self.sampling_rate, self.stride = (
            data,
            targets,
            length,
            sampling_rate,
            stride,
        )
        self.start_index, self.end_index = start_index + length, len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, as no "
                "part of the "
                "sequence would be left to be used as current step."
            )

    def __len__(self):
        step = self.batch_size * self.stride
        return (self.end_index - self.start_index + step) // step

    def __getitem__(self, index):
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            begin = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(begin, min(begin + self.batch_size * self.stride, self.end_index + 1), self.stride)
        x = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        return (x[:, ::-1] if self.reverse else x), np.array([self.targets[row] for row in rows])

    def get_config(self):
        names = "length sampling_rate stride start_index end_index shuffle reverse batch_size"
        config = {name: getattr(self, name) for name in names.split()}
        for name in ("data", "targets"):
            config[name] = json.dumps(np.asarray(getattr(self, name)).tolist())
        return config

    def to_json(self, **kwargs):
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def make_sampling_table(size, sampling_factor=1e-5):
    """How likely words are kept, by their rank: the frequent ones less."""
    rank = np.arange(size)
    rank[0] = 1
    f = sampling_factor * (rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank))
    return np.minimum(1.0, f / np.sqrt(f))


def skipgrams(
    sequence,
    vocabulary_size,
    window_size=4,
    negative_samples=1.0,
    shuffle=True,
    categorical=False,
    sampling_table=None,
    seed=None,
):
    """Pairs of words that stand near each other, and pairs of chance; with what they are."""
    couples = []
    for i, word in enumerate(sequence):
        if not word or sampling_table is not None and sampling_table[word] < random.random():
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                couples.append([word, sequence[j]])
    labels = [[0, 1] if categorical else 1] * len(couples)
    if negative_samples > 0:
        count, words = int(len(labels) * negative_samples), [c[0] for c in couples]
        random.shuffle(words)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        seed = random.randint(0, int(10e6)) if seed is None else seed
        for items in (couples, labels):
            random.seed(seed)
            random.shuffle(items)
    return couples, labels
