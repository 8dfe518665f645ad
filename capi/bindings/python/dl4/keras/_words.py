"""What the library refuses, said as Keras says it where programs look for its words; the facts stay on the error."""

import contextlib

from ..abi import Error

_POSITIVE = "Invalid value for argument `{a}`. Expected a strictly positive value. Received {a}={v}."
_RATE = "Invalid value received for argument `{a}`. Expected a float value between 0 and 1. Received: {a}={v}"
_UNIT = "`{a}` must be in the range [0, 1]. Received: {a}={v}"
_AT_LEAST = "`{a}` needs to be positive or zero. Received: {a}={v}."
# By kind and attribute, or by attribute alone.
_SENTENCES = {
    "units": "Received an invalid value for `{a}`, expected a positive integer. Received: {a}={v}",
    "filters": _POSITIVE,
    "depth_multiplier": _POSITIVE,
    "rate": _RATE,
    "num_heads": "Invalid value for argument `{a}`. Expected a positive integer. Received: {a}={v}",
    "groups": "Invalid value for argument `{a}`. Expected a positive integer, or -1. Received: {a}={v}",
    "input_dim": "`{a}` must be a positive integer. Received: {a}={v}",
    "output_dim": "`{a}` must be a positive integer. Received: {a}={v}",
    "power_iterations": "`{a}` should be greater than zero. Received: {a}={v}",
    ("RepeatVector", "n"): "Expected an integer value for `{a}`, which should be a positive integer. Received: {a}={v}",
    ("UpSampling1D", "size"): "`{a}` should be a positive integer. Received: {a}={v}",
    "score_mode": "Invalid value for argument {a}. Expected one of {{'dot', 'concat'}}. Received: {a}={v}",
    ("LeakyReLU", "negative_slope"): "The {a} value of a Leaky ReLU layer cannot be None. Received: {a}={v}",
    ("ReLU", "max_value"): "{a} of a ReLU layer cannot be a negative value. Received: {a}={v}",
    ("ReLU", "negative_slope"): "{a} of a ReLU layer cannot be None or a negative value. Received: {a}={v}",
    ("ReLU", "threshold"): "{a} of a ReLU layer cannot be None or a negative value. Received: {a}={v}",
    ("Permute", "dims"): "Invalid permutation argument `{a}` for Permute Layer. The set of indices in `{a}` must be "
    "consecutive and start from 1. Received: {a}={v}",
    ("Reshape", "target_shape"): "Each entry of `{a}` must be a non-negative integer or -1. Received: {a}={v}",
    ("VarianceScaling", "mode"): "Invalid `{a}` argument: {v}. Please use one of 'fan_in', 'fan_out', 'fan_avg'",
    ("VarianceScaling", "scale"): "Argument `{a}` must be positive float. Received: {a}={v}",
    ("MultiHeadAttention", "output_shape"): "Invalid `{a}`: expected an integer or integers. Received: {a}={v}",
    ("BatchNormalization", "renorm_clipping"): "Received invalid keys for `{a}`: {v}",
    ("Normalization", "mean"): "When setting values directly, both `mean` and `variance` must be set.",
    ("Normalization", "variance"): "When setting values directly, both `mean` and `variance` must be set.",
    ("AUC", "num_thresholds"): "Argument `{a}` must be an integer > 1. Received: {a}={v}",
    "num_thresholds": "Argument `{a}` must be an integer > 0. Received: {a}={v}",
    "curve": 'Invalid AUC curve value: "{v}".',
    "summation_method": 'Invalid AUC summation method value: "{v}".',
    "recall": _UNIT,
    "precision": _UNIT,
    "specificity": _UNIT,
    "sensitivity": _UNIT,
    "class_aggregation": "Invalid value for argument `{a}`. Received: {a}={v}",
    "initial_accumulator_value": _AT_LEAST,
    "l1_regularization_strength": _AT_LEAST,
    "l2_regularization_strength": _AT_LEAST,
    "l2_shrinkage_regularization_strength": _AT_LEAST,
    "learning_rate_power": "`{a}` needs to be negative or zero. Received: {a}={v}.",
    ("Lion", "beta_1"): "Argument `{a}` must be in the [0, 1] range. Otherwise, the optimizer degenerates to SignSGD. "
    "Received: {a}={v}.",
    ("AdamW", "weight_decay"): "Argument `{a}` must be a float. Received: {a}={v}",
    "momentum": "`{a}` must be a float between [0, 1].",
    "rank": "`{a}` must be a positive integer. Received: {a}={v}",
}


@contextlib.contextmanager
def keras_words(kind, config):
    """Of one kind and what it was given."""
    try:
        yield
    except Error as e:
        sentence = _SENTENCES.get((kind, e.attribute)) or _SENTENCES.get(e.attribute)
        if sentence is not None and e.attribute in config:
            e.args = (sentence.format(a=e.attribute, v=config[e.attribute]),)
        elif kind == "Normalization" and e.attribute in ("mean", "variance"):
            e.args = (_SENTENCES[kind, e.attribute],)
        raise
