"""Pictures of clothes."""

from ..src.datasets.images import fashion_mnist as load_data
