"""Pipelines of data: what dl4.tf.data has."""
