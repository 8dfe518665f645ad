"""Prices of houses in Boston."""

from ..src.datasets.housing import boston as load_data
