"""Pictures of 100 classes."""

from ..src.datasets.images import cifar100 as load_data
