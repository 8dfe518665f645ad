"""tf.data."""

from types import SimpleNamespace

from ..keras.src.data.arguments import INFINITE as INFINITE_CARDINALITY, UNKNOWN as UNKNOWN_CARDINALITY
from ..keras.src.data.dataset import Dataset, Iterator
from ..keras.src.data.readers import (
    counter,
    FixedLengthRecordDataset,
    make_csv_dataset,
    TextLineDataset,
    TFRecordDataset,
)
from ..keras.src.data.steps import AUTOTUNE


class Options:
    """How a pipeline runs: it changes no element, and is not asked here."""

    def __init__(self):
        self.deterministic, self.autotune, self.threading = None, SimpleNamespace(), SimpleNamespace()
        self.experimental_optimization, self.experimental_distribute = SimpleNamespace(), SimpleNamespace()
        self.experimental_deterministic = None


def _assert_cardinality(expected):
    def apply(dataset):
        return Dataset(dataset._iterate, int(expected), dataset._free)

    return apply


experimental = SimpleNamespace(
    AUTOTUNE=AUTOTUNE,
    INFINITE_CARDINALITY=INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY=UNKNOWN_CARDINALITY,
    cardinality=lambda dataset: dataset.cardinality(),
    get_single_element=lambda dataset: dataset.get_single_element(),
    assert_cardinality=_assert_cardinality,
    make_csv_dataset=make_csv_dataset,
    sample_from_datasets=Dataset.sample_from_datasets,
    choose_from_datasets=Dataset.choose_from_datasets,
    Counter=counter,
    AutoShardPolicy=SimpleNamespace(OFF=-1, AUTO=0, FILE=1, DATA=2),
)

__all__ = [
    "AUTOTUNE",
    "Dataset",
    "experimental",
    "FixedLengthRecordDataset",
    "INFINITE_CARDINALITY",
    "Iterator",
    "Options",
    "TextLineDataset",
    "TFRecordDataset",
    "UNKNOWN_CARDINALITY",
]
