"""Digits."""

from ..src.datasets.images import mnist as load_data
