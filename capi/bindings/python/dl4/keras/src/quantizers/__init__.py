"""Weights as whole numbers of fewer bits."""
