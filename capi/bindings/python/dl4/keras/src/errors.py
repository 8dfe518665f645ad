"""Refusals of the library in Keras's words, where programs look for them; the details stay on the error."""

import re

from ...abi import Error, InvalidType

_POSITIVE = "Invalid value for argument `{a}`. Expected a strictly positive value. Received {a}={v}."
_RATE = "Invalid value received for argument `{a}`. Expected a float value between 0 and 1. Received: {a}={v}"
_UNIT = "`{a}` must be in the range [0, 1]. Received: {a}={v}"
_AT_LEAST = "`{a}` needs to be positive or zero. Received: {a}={v}."
_COUNT = "Expected an integer value for `{a}`, which should be a positive integer. Received: {a}={v}"


# By kind and attribute, or by attribute alone.
_BY_ATTRIBUTE = {
    "units": "Received an invalid value for `{a}`, expected a positive integer. Received: {a}={v}",
    "filters": _POSITIVE,
    "depth_multiplier": _POSITIVE,
    "rate": _RATE,
    "num_heads": "Invalid value for argument `{a}`. Expected a positive integer. Received: {a}={v}",
    "groups": "Invalid value for argument `{a}`. Expected a positive integer, or -1. Received: {a}={v}",
    "input_dim": "`{a}` must be a positive integer. Received: {a}={v}",
    "output_dim": "`{a}` must be a positive integer. Received: {a}={v}",
    "power_iterations": "`{a}` should be greater than zero. Received: {a}={v}",
    ("RepeatVector", "n"): _COUNT,
    ("UpSampling1D", "size"): _COUNT,
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
    "momentum": "`{a}` must be a float between [0, 1].",
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
_BY_ATTRIBUTE["LayerNormalization", "axis"] = _AXIS


_BY_ATTRIBUTE["UnitNormalization", "axis"] = (
    "Invalid value for `{a}` argument: expected an int or a list/tuple of ints. Received: {a}={v}"
)


# What an attribute may be; of another type Keras raises TypeError.
_TYPES = {
    ("LayerNormalization", "axis"): (int, list, tuple),
    ("UnitNormalization", "axis"): (int, list, tuple),
    ("RepeatVector", "n"): (int,),
    ("UpSampling1D", "size"): (int,),
}

_TUPLE = "The `{a}` argument must be a tuple of {n} integers. Received {a}={v}, including values {low} that do not "
_NOISE = "Invalid value received for argument `noise_shape`. Expected "
_ONE_SIZE = "Computed output size would be zero or negative. Received inputs of shape {s}. "


# By what the library says of a kind, both as patterns; groups have their names in the sentence. Some are TypeErrors.
_BY_MESSAGE = [
    (r".*Conv.*", r'"(kernel_size|strides|dilation_rate)": expected at least 1', _TUPLE + "satisfy `value > 0`"),
    (
        r".*Conv.*",
        r'"groups": expected at least 1',
        "The number of groups must be a positive integer. Received: {a}={v}.",
    ),
    (
        r"ConvLSTM.*",
        r"strides > 1 are not supported",
        "Specifying `strides > 1` is not compatible with `dilation_rate > 1`. Received: strides={c[strides]} and "
        "dilation_rate={c[dilation_rate]}",
    ),
    (
        r".*Conv.*",
        r"strides > 1 are not supported",
        "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: strides={c[strides]} and "
        "dilation_rate={c[dilation_rate]}",
    ),
    (
        r"Conv.*Transpose",
        r'"output_padding": expected less than strides',
        "`output_padding` must be strictly less than `strides`. Received: output_padding={c[output_padding]}",
    ),
    (
        r".*Conv.*",
        r"number of filters must be evenly divisible",
        "The number of filters must be evenly divisible by the number of groups. Received: groups={c[groups]}, "
        "filters={c[filters]}.",
    ),
    (
        r".*(Conv|Pooling).*",
        r"does not fit",
        _ONE_SIZE + '{said}; padding="same", a smaller window or larger inputs mend it',
    ),
    (
        r"Cropping1D",
        r"should be smaller",
        "`cropping` parameter of `{k}` layer must be smaller than the input length. Received: inputs of shape {s}, "
        "cropping={c[cropping]}",
    ),
    (
        r"Cropping.*",
        r"should be smaller",
        "Values in `cropping` argument should be smaller than the corresponding spatial dimension of the input. "
        "Received: inputs of shape {s}, cropping={c[cropping]}",
    ),
    (r".*", r'"noise_shape": .*got "', _NOISE + "a tuple or list of integers. Received: noise_shape={v}"),
    (
        r".*",
        r'"noise_shape": expected an int',
        _NOISE + "all elements to be integers or None. Received: noise_shape={v}",
    ),
    (
        r".*",
        r'"noise_shape": expected at least',
        _NOISE + "all dimensions to be positive integers or None. Received: noise_shape={v}",
    ),
    (r"Reshape", r"at most one unknown", "There must be at most one unknown dimension (-1). Received: {a}={v}."),
    (
        r"BatchNormalization",
        r"expected rmax",
        "rmax should be greater than rmin in the `{a}` argument. Received: {a}={v}",
    ),
    (r"BatchNormalization", r"expected dmax", "dmax should be non-negative in the `{a}` argument. Received: {a}={v}"),
    (
        r"GroupNormalization",
        r"axis \S+ of input 0 should be known",
        "Axis {c[axis]} of input tensor should have a defined dimension but the layer received an input with shape "
        "{s}.",
    ),
    (
        r"Normalization",
        r"out of range",
        "All `axis` values must be in the range [-ndim, ndim). Received inputs of shape {s}, while axis={c[axis]}",
    ),
    (
        r"Normalization",
        r"should be known",
        "All `axis` values to be kept must have a known shape. Received axis={c[axis]}, inputs of shape {s}",
    ),
    (
        r"Normalization",
        r'"(mean|variance)": (?!.*shape)',
        "When setting values directly, both `mean` and `variance` must be set.",
    ),
    (
        r"Softmax",
        r'"mask": expected a shape that broadcasts to \(.*\), got (?P<mask>.*)$',
        "`mask` must not have more dimensions than the inputs, and must be broadcastable to them. Received: mask of "
        "shape {mask}, inputs of shape {s}",
    ),
    (
        r"TimeDistributed",
        r'"mask": expected .*, got (?P<mask>.*)$',
        "The `mask` passed to the `TimeDistributed` layer has a shape {mask} that is incompatible with the input shape "
        "{s}. The first two dimensions of the mask (batch size and timesteps) must match the input's.",
    ),
    (
        r"(Additive)?Attention",
        r'"mask": expected a list of 2 or 3',
        "{k} layer mask must be a list of length 2 or 3, namely [query_mask, value_mask]. {said}",
    ),
    (
        r"(Additive)?Attention",
        r"inputs, got [01]$",
        "{k} layer must be called on a list of inputs, [query, value] or more. Received inputs of shape {s}. {said}",
    ),
    (
        r"(Additive)?Attention",
        r"inputs, got",
        "{k} layer accepts inputs list of length 2 or 3, namely [query, value] or [query, value, key]. {said}",
    ),
    (
        r"MultiHeadAttention",
        r"input [12] is incompatible with the layer: expected ndim",
        "All dimensions of `value` and `key`, except the last one, must be equal. Received inputs of shape {s}. {said}",
    ),
    (
        r"(MultiHead|GroupedQuery|GroupQuery)Attention",
        r"inputs, got 1$",
        "{k}.call() is missing a required argument: 'value'; attention of an input to itself is layer(x, x)",
        TypeError,
    ),
    (r"Subtract", r"inputs, got", "A `Subtract` layer should be called on exactly 2 inputs. {said}"),
    (
        r"Concatenate",
        r"matching shapes",
        "A `Concatenate` layer requires inputs with matching shapes except for the concatenation axis. Received inputs "
        "of shape {s}. {said}",
    ),
    (r"Dense", r"was built with", "Input 0 of the layer is incompatible with the layer. {said}"),
    (
        r".*Crossentropy",
        r"targets have shape (?P<y>\(.*\)), predictions (?P<p>\(.*\))",
        "Arguments `target` and `output` must have the same shape. Received: target.shape={y}, output.shape={p}",
    ),
    (
        r".*",
        r'"class_id": expected one of the numbers of the last axis, got .* for predictions (?P<p>\([^,]*,\))',
        "When class_id is provided, y_pred must be a 2D array with shape (num_samples, num_classes), found shape: {p}",
    ),
    (
        r"AdamW",
        r'"weight_decay": expected a number',
        "Argument `weight_decay` must be a float. Received: weight_decay={c[weight_decay]}",
    ),
    (
        r".*",
        r'only one of "clipnorm"',
        "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: {c}",
    ),
    (
        r"Functional",
        r'input "(?P<name>[^"]*)": expected shape (?P<wanted>.*), got (?P<got>.*)$',
        "Input '{name}' is incompatible with the layer: expected shape={wanted}, found shape={got}",
    ),
    (
        r"fit",
        r"can't lower the learning rate",
        "This optimizer was created with a `LearningRateSchedule` object as its `learning_rate` constructor argument, "
        "hence its learning rate is not settable. {said}",
        TypeError,
    ),
    (
        r"fit",
        r"SwapEMAWeights needs",
        "SwapEMAWeights must be used when `use_ema=True` is set on the optimizer. {said}",
    ),
    (
        r"fit",
        r"the loss is not finite at batch (?P<batch>\d+)",
        "NaN or Inf loss encountered at batch {batch}. Terminating training immediately.",
    ),
]


class _Given(dict):
    """A config, whose other attributes are what they are by default."""

    def __missing__(self, key):
        return f"the default {key}"


def typed(error, message):
    """The same refusal, a TypeError too."""
    made = InvalidType(message, error.code)
    vars(made).update(vars(error))
    return made


def _sentence(kind, error, known):
    """Keras's of what the library says, its values, whether it is a TypeError; None where no words are asked for."""
    for pattern, said, sentence, *other in _BY_MESSAGE:
        found = re.search(said, str(error)) if re.fullmatch(pattern, kind or "") else None
        if found:
            return sentence, {key: text.replace("?", "None") for key, text in found.groupdict().items()}, bool(other)
    return (
        (_BY_ATTRIBUTE.get((kind, error.attribute)) or _BY_ATTRIBUTE.get(error.attribute)) if known else None,
        {},
        False,
    )


class keras_errors:  # noqa: N801
    """Rewords the library's refusals of a kind, by its config and the inputs of a call."""

    __slots__ = ("kind", "config", "inputs")

    def __init__(self, kind, config, inputs=()):
        self.kind, self.config, self.inputs = kind, config, inputs

    def __enter__(self):
        pass

    def __exit__(self, _, e, __):
        if isinstance(e, Error):
            self._reword(e)

    def _reword(self, e):
        known, value = e.attribute in self.config, self.config.get(e.attribute)
        sentence, found, of_type = _sentence(self.kind, e, known)
        if sentence is None:
            return
        numbers = list(value) if isinstance(value, (list, tuple)) else [value]
        words = {
            "a": e.attribute,
            "v": value,
            "k": self.kind,
            "c": _Given(self.config),
            "n": len(numbers),
            "s": ", ".join(str(t.shape) for t in self.inputs),
            "bad": [v for v in numbers if v is None or isinstance(v, (int, float)) and not 0 <= v <= 1],
            "low": {v for v in numbers if isinstance(v, int) and v < 1},
            "said": e,
        }
        e.args = (sentence.format(**words, **found),)
        wanted = _TYPES.get((self.kind, e.attribute))
        if of_type or (known and wanted and type(value) not in wanted):
            raise typed(e, str(e)) from None


def refuse(who, **given):
    """Refuses arguments that are not one of the values by which the library computes: `refuse("tf.x", a=(a, None))`."""
    for key, (value, *known) in given.items():
        if not any(value is k or value == k for k in known):
            raise NotImplementedError(f"{who}: `{key}`: expected {' or '.join(map(repr, known))}, got {value!r}")
