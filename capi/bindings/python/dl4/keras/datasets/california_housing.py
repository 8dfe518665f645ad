"""Prices of houses in California."""

from ..src.datasets.housing import california as load_data
