"""Goldens of random configurations of layers that know no time: windows, shapes, functions, normalizations, weights.

Each draw takes its options from a seed of its own; what Keras refuses is drawn again, what it can compute but not
differentiate is kept without training."""
import numpy as np
import tensorflow as tf
import zlib

from cases_sequence import finish, normal
from record import Family, Net, kind

REFUSALS = (ValueError, NotImplementedError, tf.errors.OpError)
# Without sparsemax, which is wrong in Keras, and glu, whose width Keras declares wrong.
ACTIVATIONS = ("linear", "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus",
               "softsign", "softmax", "log_softmax", "sigmoid", "log_sigmoid", "hard_sigmoid", "hard_silu", "hard_tanh",
               "hard_shrink", "soft_shrink", "tanh", "tanh_shrink", "squareplus", "sparse_plus", "sparse_sigmoid",
               "exponential")


class Draw:
    """Random choices; `options` has what was drawn by name, defaults left out."""

    def __init__(self, seed):
        self.r = np.random.default_rng(zlib.crc32(seed.encode()))

    def one(self, *values):
        return values[self.r.integers(len(values))]

    def number(self, low, high):
        """A whole number, both ends within."""
        return int(self.r.integers(low, high + 1))

    def real(self, low, high):
        return round(float(self.r.uniform(low, high)), 3)

    def chance(self, p=0.5):
        return bool(self.r.random() < p)

    def options(self, p=0.5, **choices):
        """Some of the choices, each one of its values; a single value is drawn by calling it."""
        return {key: values() if callable(values) else self.one(*values)
                for key, values in choices.items() if self.chance(p)}

    def each(self, n, low, high):
        """A number for all axes, or one for each."""
        return self.number(low, high) if self.chance() else [self.number(low, high) for _ in range(n)]

    def sizes(self, n, low, high):
        return tuple(self.number(low, high) for _ in range(n))

    def activation(self):
        return self.one(*ACTIVATIONS)

    def regularizer(self):
        return self.one(kind("L1", l1=self.real(0.01, 0.1)), kind("L2", l2=self.real(0.01, 0.1)),
                        kind("L1L2", l1=self.real(0.01, 0.1), l2=self.real(0.01, 0.1)))

    def constraint(self):
        return self.one(kind("MaxNorm", max_value=self.real(0.3, 1), axis=0), kind("NonNeg"), kind("UnitNorm", axis=0),
                        kind("MinMaxNorm", min_value=0.2, max_value=0.8, rate=self.real(0.5, 1), axis=0))

    def initializer(self):
        return self.one(kind("GlorotNormal"), kind("HeUniform", seed=self.number(0, 9)), kind("LecunNormal"),
                        kind("Constant", value=0.5), kind("RandomUniform", minval=-0.1, maxval=0.2),
                        kind("VarianceScaling", scale=2.0, mode="fan_avg", distribution="uniform"), "ones")

    def weights(self, *names, activity=True, p=0.15):
        """Regularizers, constraints and initializers of these weights."""
        found = {}
        for name in names:
            found |= self.options(p, **{f"{name}_regularizer": self.regularizer, f"{name}_constraint": self.constraint,
                                        f"{name}_initializer": self.initializer})
        return found | (self.options(p, activity_regularizer=self.regularizer) if activity else {})

    def optimizer(self):
        return kind("SGD", learning_rate=self.real(0.01, 0.1), **self.options(0.4, momentum=lambda: self.real(0.1, 0.9),
                                                                              nesterov=(True, False)))

    def x(self, *shape):
        return normal(self.r, *shape)


def record(f, name, d, net, outputs, inputs, trained=True, **more):
    """Five steps of training; one without, or nothing but the outputs, if Keras can do no more."""
    kept = len(f.cases), set(f.tensors)
    ways = [{"steps": 5, "optimizer": d.optimizer()}, {"loss": None}] if trained else [{"loss": None}]
    for way in ways:
        try:
            return finish(f, name, net, outputs, inputs, **{**more, **way})
        except REFUSALS:
            forget(f, kept)
            if way is ways[-1]:
                raise


def forget(f, kept):
    count, names = kept
    del f.cases[count:]
    for key in set(f.tensors) - names:
        del f.tensors[key]


def cases(f, count, draws):
    """`count` cases of each way of drawing; those that Keras refuses are drawn again."""
    for draw in draws:
        made = attempt = 0
        while made < count:
            kept = len(f.cases), set(f.tensors)
            name, attempt = f"{draw.__name__}_{made}", attempt + 1
            try:
                draw(f, name, Draw(f"{f.name}/{draw.__name__}/{attempt}"))
                made += 1
            except REFUSALS:
                forget(f, kept)
                if attempt > 20 * count:
                    raise


def layer(f, name, d, class_name, shape, /, batch=None, dense=None, trained=True, x=None, **attributes):
    """One layer; `dense`: behind a layer of so many units, whose gradients pass through it."""
    net = Net()
    h = net.input("x", shape)
    if dense:
        h = net.add("Dense", h, units=dense)
    h = net.add(class_name, h, **attributes)
    if d.chance(0.15):
        h = net.add("Dense", h, units=2, name="head")
    value = d.x(batch or d.number(1, 3), *shape) if x is None else x
    record(f, name, d, net, h, [value], trained)


def image(d, n, channels, low=3, high=6):
    """A shape of n axes and channels, and where the channels are."""
    space = d.sizes(n, low, high if n < 3 else min(high, 4))
    if d.chance(0.25):
        return (channels, *space), {"data_format": "channels_first"}
    return (*space, channels), d.options(0.2, data_format=("channels_last",))


def conv(f, name, d):
    n, groups = d.number(1, 3), d.one(1, 1, 1, 2, 3)
    shape, order = image(d, n, groups * d.number(1, 2))
    steps = {"strides": d.each(n, 1, 3)} if d.chance(0.4) else {"dilation_rate": d.each(n, 1, 2)} if d.chance() else {}
    layer(f, name, d, f"Conv{n}D", shape, filters=groups * d.number(1, 2), kernel_size=d.each(n, 1, 3), **order,
          **steps, **({"groups": groups} if groups > 1 else {}),
          **d.options(padding=("valid", "same", "causal") if n == 1 else ("valid", "same"), use_bias=(True, False),
                      activation=d.activation), **d.weights("kernel", "bias"))


def conv_transpose(f, name, d):
    n = d.number(1, 3)
    shape, order = image(d, n, d.number(1, 2), 2, 4)
    strides = d.each(n, 1, 3)
    steps = {"strides": strides} if d.chance(0.7) else {"dilation_rate": d.number(1, 2)} if d.chance() else {}
    if "strides" in steps and d.chance(0.4):
        least = min(strides) if isinstance(strides, list) else strides
        steps["output_padding"] = d.each(n, 0, max(least - 1, 0))
    layer(f, name, d, f"Conv{n}DTranspose", shape, filters=d.number(1, 3), kernel_size=d.each(n, 1, 3), **order,
          **steps, **d.options(padding=("valid", "same"), use_bias=(True, False), activation=d.activation),
          **d.weights("kernel", "bias"))


def by_channel(f, name, d):
    n, separable = d.number(1, 2), d.chance()
    shape, order = image(d, n, d.number(1, 3))
    steps = {"strides": d.each(n, 1, 3)} if d.chance(0.4) else {"dilation_rate": d.each(n, 1, 2)} if d.chance() else {}
    names = ("depthwise", "pointwise", "bias") if separable else ("depthwise", "bias")
    layer(f, name, d, f"{'Separable' if separable else 'Depthwise'}Conv{n}D", shape, kernel_size=d.each(n, 1, 3),
          **order, **steps, **({"filters": d.number(1, 3)} if separable else {}),
          **d.options(padding=("valid", "same"), depth_multiplier=(1, 2, 3), use_bias=(True, False),
                      activation=d.activation), **d.weights(*names))


def pooling(f, name, d):
    n, class_name = d.number(1, 3), d.one("Max", "Average")
    shape, order = image(d, n, d.number(1, 3))
    first = order.get("data_format") == "channels_first"
    options = {"pool_size": d.each(n, 1, 3), **order, **d.options(strides=lambda: d.each(n, 1, 3),
                                                                  padding=("valid", "same"))}
    layer(f, name, d, f"{class_name}Pooling{n}D", shape, dense=None if first else shape[-1], **options)


def whole_pooling(f, name, d):
    n, class_name = d.number(1, 3), d.one("Max", "Average")
    shape, order = image(d, n, d.number(1, 3))
    first = order.get("data_format") == "channels_first"
    dense = None if first else shape[-1]
    if d.chance():
        layer(f, name, d, f"Global{class_name}Pooling{n}D", shape, dense=dense, **order,
              **d.options(keepdims=(True, False)))
    else:  # Keras's adaptive maximum of a single part ends the process
        space = shape[1:] if first else shape[:-1]
        sizes = [d.number(2, s) for s in space]
        if class_name == "Average" and d.chance(0.3):
            sizes = d.number(1, 2)
        layer(f, name, d, f"Adaptive{class_name}Pooling{n}D", shape, dense=dense, output_size=sizes, **order)


def resizing(f, name, d):
    n = d.number(1, 3)
    shape, order = image(d, n, d.number(1, 3), 3, 5)
    class_name = d.one("ZeroPadding", "Cropping", "UpSampling")
    if n == 1:
        shape, order = (d.number(3, 5), d.number(1, 3)), {}
    first = order.get("data_format") == "channels_first"
    most = 1 if class_name == "Cropping" else 2
    pairs = [[d.number(0, most), d.number(0, most)] for _ in range(n)]
    amounts = d.one(d.number(0, most), pairs[0] if n == 1 else pairs)
    if class_name == "UpSampling":
        options = {"size": d.number(1, 3) if n == 1 else d.each(n, 1, 3)}
        options |= d.options(interpolation=("nearest", "bilinear")) if n == 2 else {}
    else:
        options = {"padding" if class_name == "ZeroPadding" else "cropping": amounts}
    layer(f, name, d, f"{class_name}{n}D", shape, dense=None if first else shape[-1], **order, **options)


def spectrogram(f, name, d):
    frame, first = d.number(4, 8), d.chance(0.3)
    channels, time = d.number(1, 2), d.number(16, 20)
    layer(f, name, d, "STFTSpectrogram", (channels, time) if first else (time, channels), frame_length=frame,
          **({"data_format": "channels_first"} if first else {}),
          **d.options(mode=("log", "magnitude", "psd", "real", "imag", "stft"), frame_step=lambda: d.number(1, 4),
                      fft_length=(8, 16), window=("hann", "hamming", None), periodic=(True, False),
                      expand_dims=(True, False), scaling=("density", "spectrum", None), padding=("valid", "same")))


def dense(f, name, d):
    rank = d.number(1, 3)
    layer(f, name, d, "Dense", d.sizes(rank, 1, 5), units=d.number(1, 6),
          **d.options(use_bias=(True, False), activation=d.activation), **d.weights("kernel", "bias", p=0.25))


def einsum(f, name, d):
    t, x, h, y = d.sizes(4, 2, 4)
    equation, shape, out, biases = d.one(
        ("ab,bc->ac", (x,), y, ("c", None)), ("abc,cd->abd", (t, x), [None, y], ("d", "bd", "b", None)),
        ("abc,cde->abde", (t, x), [None, h, y], ("de", "e", None)), ("abcd,cde->abe", (t, h, x), [None, y], ("e",)),
        ("...x,xy->...y", (t, x), y, ("y", None)), ("abc,dc->adb", (t, x), [y, t], (None, "d")),
        ("abc,bcd->abd", (h, x), [h, y], ("bd", "d")), ("abc,cd->ad", (t, x), y, (None, "d")))
    layer(f, name, d, "EinsumDense", shape, equation=equation, output_shape=out, bias_axes=d.one(*biases),
          **d.options(activation=d.activation), **d.weights("kernel"))


def embedding(f, name, d):
    net, words = Net(), d.number(3, 8)
    ids = d.r.integers(0, words, (d.number(1, 3), d.number(2, 5))).astype(np.int32)
    h = net.add("Embedding", net.input("ids", ids.shape[1:], "int32"), input_dim=words, output_dim=d.number(1, 4),
                **d.options(mask_zero=(True, False)), **d.weights("embeddings", activity=False, p=0.3))
    h = net.add(d.one("Dense", "LSTM", "GRU"), h, units=d.number(1, 3))
    record(f, name, d, net, h, [ids])


def function(f, name, d):
    class_name = d.one("ReLU", "LeakyReLU", "ELU", "PReLU", "Softmax", "Activation", "Activation", "Rescaling")
    shape, attributes = d.sizes(d.number(1, 3), 2, 4), {}
    if class_name == "ReLU":
        attributes = d.options(max_value=(1.0, 6.0), negative_slope=(0.0, 0.2), threshold=(0.0, 0.5))
    elif class_name in ("LeakyReLU", "ELU"):
        attributes = d.options(**{"negative_slope" if class_name == "LeakyReLU" else "alpha": (0.1, 0.7, 1.0)})
    elif class_name == "PReLU":
        axes = [i + 1 for i in range(len(shape)) if d.chance()]
        attributes = {"alpha_initializer": kind("Constant", value=0.25), **({"shared_axes": axes} if axes else {}),
                      **d.options(0.3, alpha_regularizer=d.regularizer, alpha_constraint=d.constraint)}
    elif class_name == "Softmax":
        attributes = d.options(0.7, axis=(-1, 1, len(shape)))
    elif class_name == "Rescaling":
        attributes = {"scale": d.one(0.5, [d.real(-1, 1) for _ in range(shape[-1])]), **d.options(offset=(0.3, -1.0))}
    else:
        attributes = {"activation": d.activation()}
    layer(f, name, d, class_name, shape, dense=shape[-1], **attributes)


def shaping(f, name, d):
    shape = d.sizes(d.number(2, 3), 2, 4)
    rank, size = len(shape) + 1, int(np.prod(shape))
    class_name = d.one("Flatten", "Reshape", "Permute", "Transpose", "RepeatVector", "Identity",
                       "ActivityRegularization")
    if class_name == "RepeatVector":
        return layer(f, name, d, class_name, shape[:1], dense=shape[0], n=d.number(1, 4))
    attributes = {"Flatten": lambda: d.options(data_format=("channels_first", "channels_last")),
                  "Reshape": lambda: {"target_shape": d.one([size], [-1, shape[0]], [shape[-1], -1], [1, size, 1])},
                  "Permute": lambda: {"dims": [int(i) + 1 for i in d.r.permutation(rank - 1)]},
                  "Transpose": lambda: {"perm": [0] + [int(i) + 1 for i in d.r.permutation(rank - 1)]},
                  "Identity": dict, "ActivityRegularization": lambda: d.options(0.8, l1=(0.1, 0.02), l2=(0.1, 0.03))}
    layer(f, name, d, class_name, shape, dense=shape[-1], **attributes[class_name]())


def reducing(f, name, d):
    shape = d.sizes(d.number(2, 3), 2, 4)
    class_name = d.one("Sum", "Mean", "Max", "Min", "Prod", "Var", "Std", "Argmax", "Flip", "Repeat", "ExpandDims",
                       "Take", "Slice", "Clip", "Absolute", "Square", "Exp", "Tanh", "Negative", "Sign")
    axis = d.number(1, len(shape)) * (1 if d.chance(0.7) else -1)
    axes = sorted({d.number(1, len(shape)) for _ in range(2)})
    attributes = {}
    if class_name in ("Sum", "Mean", "Max", "Min", "Prod", "Var", "Std"):
        attributes = {"axis": d.one(axis, axes), **d.options(keepdims=(True, False))}
    elif class_name == "Argmax":
        attributes = {"axis": axis, **d.options(keepdims=(True, False))}
    elif class_name in ("Flip", "ExpandDims"):
        attributes = {"axis": axis}
    elif class_name == "Repeat":
        attributes = {"repeats": d.number(1, 3), "axis": axis}
    elif class_name == "Take":
        n = shape[axis - 1 if axis > 0 else axis]
        attributes = {"indices": [d.number(-n, n - 1) for _ in range(d.number(1, 4))], "axis": axis}
    elif class_name == "Slice":
        begin = [d.number(0, s - 1) for s in shape]
        attributes = {"start_indices": [0, *begin], "shape": [2, *(d.number(1, s - b) for s, b in zip(shape, begin))]}
    elif class_name == "Clip":
        attributes = {"x_min": d.real(-1, 0), "x_max": d.real(0.1, 1)}
    layer(f, name, d, class_name, shape, batch=2, dense=shape[-1], trained=class_name != "Argmax", **attributes)


def merging(f, name, d):
    class_name = d.one("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot", "MatMul",
                       "Stack", "Divide")
    net, batch, shape = Net(), d.number(1, 3), d.sizes(d.number(1, 3), 2, 4)
    count = 2 if class_name in ("Subtract", "Dot", "MatMul", "Divide") else d.number(2, 3)
    shapes, attributes = [shape] * count, {}
    if class_name == "Concatenate":
        axis = d.number(1, len(shape))
        shapes = [(*shape[:axis - 1], d.number(1, 3), *shape[axis:]) for _ in range(count)]
        attributes = {"axis": d.one(axis, axis - len(shape) - 1)}
    elif class_name == "Stack":
        attributes = {"axis": d.number(1, len(shape) + 1)}
    elif class_name == "Dot":
        t, k, m = d.sizes(3, 2, 4)
        shapes, axes = d.one(([(k,), (k,)], 1), ([(t, k), (m, k)], 2), ([(t, k), (k, m)], [2, 1]),
                             ([(k, t), (k, m)], 1))
        attributes = {"axes": axes, **d.options(normalize=(True, False))}
    elif class_name == "MatMul":
        t, k, m = d.sizes(3, 2, 4)
        a, b = d.chance(), d.chance()
        shapes = [(k, t) if a else (t, k), (m, k) if b else (k, m)]
        attributes = {"transpose_a": a, "transpose_b": b}
    elif d.chance(0.3) and len(shape) > 1:
        shapes = [shape, (1, *shape[1:]), *[shape] * (count - 2)]
    inputs = [net.input(c, s) for c, s in zip("abc", shapes)]
    hidden = [net.add("Dense", i, units=s[-1]) for i, s in zip(inputs, shapes)]
    if class_name == "Divide":
        hidden[1] = net.add("Activation", hidden[1], activation="softplus")
    record(f, name, d, net, net.add(class_name, *hidden, **attributes), [d.x(batch, *s) for s in shapes])


def normalizing(f, name, d):
    shape, attributes = d.sizes(d.number(1, 3), 3, 5), {}
    class_name = d.one("LayerNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization",
                       "UnitNormalization", "Normalization")
    axis = d.one(-1, d.number(1, len(shape)), sorted({d.number(1, len(shape)), len(shape)}))
    if class_name == "LayerNormalization":
        attributes = {"axis": axis, **d.options(epsilon=(1e-3, 0.1), center=(True, False), scale=(True, False))}
    elif class_name == "RMSNormalization":
        attributes = {"axis": axis, **d.options(epsilon=(1e-3, 0.1))}
    elif class_name == "UnitNormalization":
        attributes = {"axis": axis}
    elif class_name == "GroupNormalization":
        groups = d.one(1, 2, 3, -1)
        shape = (*shape[:-1], max(groups, 1) * d.number(1, 2))
        attributes = {"groups": groups, **d.options(epsilon=(1e-3, 0.1), center=(True, False), scale=(True, False))}
    else:
        attributes = {"mean": [d.real(-1, 1) for _ in range(shape[-1])], "invert": d.chance(),
                      "variance": [d.real(0.1, 2) for _ in range(shape[-1])]}
    layer(f, name, d, class_name, shape, dense=shape[-1] if class_name != "GroupNormalization" else None, **attributes)


def batch_normalizing(f, name, d):
    shape = d.sizes(d.number(1, 3), 2, 4)
    axis = d.one(-1, d.number(1, len(shape)))
    attributes = d.options(momentum=(0.5, 0.9, 0.99), epsilon=(1e-3, 0.1), center=(True, False), scale=(True, False),
                           renorm=(True, False), trainable=(True, True, False))
    if attributes.get("renorm"):
        clipping = {"rmax": 1.2}, {"rmin": 0.7, "rmax": 1.3, "dmax": 0.4}
        attributes |= d.options(renorm_momentum=(0.6, 0.9), renorm_clipping=clipping)
    attributes |= d.weights("gamma", "beta", activity=False)
    net, x = Net(), d.x(d.number(3, 4), *shape) * 1.5 + 0.7
    h, arguments = net.input("x", shape), {}
    if len(shape) > 1 and axis in (-1, len(shape)) and d.chance(0.4):
        mask = d.r.random((len(x), shape[0])) < 0.7
        mask[:, 0] = True
        x[~mask] = 0
        h = net.add("Masking", h)
    h = net.add("BatchNormalization", h, axis=axis, **attributes)
    # A head: the gradient of a mean over the batch is 0.
    record(f, name, d, net, net.add("Dense", h, units=2, activation="tanh"), [x])


def dropping(f, name, d):
    """As rate 0 in training, as anything without."""
    class_name = d.one("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianNoise",
                       "GaussianDropout", "AlphaDropout")
    n = int(class_name[-2]) if class_name[-1] == "D" else d.number(0, 2)
    trained = d.chance()
    rate = 0.0 if trained else d.real(0.1, 0.9)
    shape = d.sizes(n + 1, 2, 4)
    layer(f, name, d, class_name, shape, dense=shape[-1], trained=trained,
          **{"stddev" if class_name == "GaussianNoise" else "rate": rate}, **d.options(seed=(3, None)))


def random_windows():
    f = Family("random_windows")
    cases(f, 40, [conv])
    cases(f, 25, [conv_transpose, by_channel, pooling, resizing])
    cases(f, 16, [whole_pooling, spectrogram])
    return f


def random_functions():
    f = Family("random_functions")
    cases(f, 25, [merging, reducing, function])
    cases(f, 14, [shaping, dropping])
    return f


def random_weights():
    f = Family("random_weights")
    cases(f, 20, [normalizing, batch_normalizing])
    cases(f, 10, [dense, einsum, embedding])
    return f


FAMILIES = {"random_windows": random_windows, "random_functions": random_functions, "random_weights": random_weights}
