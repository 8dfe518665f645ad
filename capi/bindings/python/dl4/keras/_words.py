"""What the library refuses, said as Keras says it where programs look for its words; the facts stay on the error."""

import contextlib

from ..abi import Error, InvalidArgument

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
    "noise_shape": "Invalid value received for argument `{a}`. Expected a tuple or list of integers. "
    "Expected all elements to be integers or None. Expected all dimensions to be positive integers or None. "
    "Received: {a}={v}",
    "cropping": "`{a}` parameter of `{k}` layer must be smaller than the axis it is cut off. Received: {a}={v}, "
    "inputs of shape {s}",
    (
        "GroupNormalization",
        "groups",
    ): "Invalid value for argument `{a}`. Number of groups ({v}) cannot be more than the "
    "number of channels, and must be a multiple of the number of channels (a divisor of it). Input shape: {s}",
    "key_dim": "Invalid value for argument `{a}`. Expected a positive integer. Received: {a}={v}",
    "value_dim": "Invalid value for argument `{a}`. Expected a positive integer. Received: {a}={v}",
    "num_regressors": "Invalid value for argument `{a}`. Received: {a}={v}",
    "thresholds": "Threshold values must be in [0, 1]. Received: {bad}",
    "rank": "`{a}` must be a positive integer. Received: {a}={v}",
}


_AXIS = "Expected an int or a list/tuple of ints for the argument '{a}', but received instead: {v}"
_SENTENCES.update({(kind, "axis"): _AXIS for kind in ("LayerNormalization", "UnitNormalization")})
# Where Keras raises TypeError for what is no integer.
_TYPED = {
    ("LayerNormalization", "axis"),
    ("UnitNormalization", "axis"),
    ("RepeatVector", "n"),
    ("UpSampling1D", "size"),
}


class InvalidType(InvalidArgument, TypeError):
    """An attribute of another type."""


def _typed(error):
    typed = InvalidType(error.args[0], error.code)
    vars(typed).update(vars(error))
    return typed


# Of calls: when it is that what the library refuses, and how Keras begins.
_CALLS = {
    **dict.fromkeys(
        ("Attention", "AdditiveAttention"),
        (lambda inputs, _: len(inputs) < 2, "{k} layer must be called on a list of inputs, [query, value] or more."),
    ),
    "Subtract": (lambda inputs, _: len(inputs) != 2, "A `Subtract` layer should be called on exactly 2 inputs."),
    "Concatenate": (
        lambda _, said: "matching shapes" in said,
        "A `Concatenate` layer requires inputs with matching shapes except for the concatenation axis.",
    ),
    "Dense": (lambda _, said: "was built with" in said, "Input 0 of the layer is incompatible with the layer."),
    **{
        f"{word}Conv{n}D": (lambda _, said: "does not fit" in said, "Computed output size would be zero or negative.")
        for word in ("Depthwise", "Separable")
        for n in (1, 2)
    },
}


@contextlib.contextmanager
def keras_words(kind, config, inputs=()):
    """Of one kind, what it was given, and the symbolic inputs of a call."""
    try:
        yield
    except Error as e:
        sentence = _SENTENCES.get((kind, e.attribute)) or _SENTENCES.get(e.attribute)
        if sentence is not None and e.attribute in config:
            value, shapes = config[e.attribute], ", ".join(str(t.shape) for t in inputs)
            numbers = value if isinstance(value, (list, tuple)) else [value]
            bad = [v for v in numbers if isinstance(v, (int, float)) and not 0 <= v <= 1]
            e.args = (sentence.format(a=e.attribute, v=value, k=kind, s=shapes, bad=bad),)
            if (kind, e.attribute) in _TYPED and not isinstance(value, (int, list, tuple)):
                raise _typed(e) from None
        elif e.attribute is None and kind in _CALLS and _CALLS[kind][0](inputs, str(e)):
            e.args = (f"{_CALLS[kind][1].format(k=kind)} Received inputs of shape {[t.shape for t in inputs]}. {e}",)
        elif kind == "Normalization" and e.attribute in ("mean", "variance"):
            e.args = (_SENTENCES[kind, e.attribute],)
        raise
