"""Pictures of 10 classes."""

from ..src.datasets.images import cifar10 as load_data
