"""Models with outputs in nests, and what layers, losses and metrics say of themselves."""

import collections

import numpy as np

from . import DATA, fill, numbers, program

Y1, Y2, Y3 = (numbers(40, 1, seed=i) for i in (11, 12, 13))
Pair = collections.namedtuple("Pair", "first second")


def outputs_of(keras, nest):
    x = keras.Input((4,), name="x")
    y = [keras.layers.Dense(1, name=f"y{i}", activation="sigmoid")(x) for i in (1, 2, 3)]
    return fill(keras.Model(x, nest(*y)))


def together(keras):
    """A loss of all that it is given."""

    def loss(y_true, y_pred):
        flat = [(y_true[k], y_pred[k]) for k in (y_pred if isinstance(y_pred, dict) else range(len(y_pred)))]
        total = 0.0
        for t, p in flat:
            total = total + keras.ops.mean(keras.ops.square(t - p) * keras.ops.abs(flat[0][1]), axis=-1)
        return total

    return loss


def trained(m, y, sample_weight=None):
    h = m.fit(DATA, y, epochs=2, batch_size=10, verbose=0, shuffle=False, sample_weight=sample_weight).history
    names = sorted(h)
    told = m.evaluate(DATA, y, batch_size=10, verbose=0, return_dict=True)
    return [",".join(names), [h[n] for n in names], ",".join(sorted(told)), [told[n] for n in sorted(told)]]


@program
def losses_of_a_list_of_outputs(keras):
    m = outputs_of(keras, lambda a, b, c: [a, b])
    m.compile("sgd", (together(keras), ["mse", "mae"]), loss_weights=(0.5, [2.0, 3.0]))
    return trained(m, [Y1, Y2]), trained(m, (Y1, Y2), np.linspace(0, 1, 40).astype("float32"))


@program
def losses_of_a_dict_of_outputs(keras):
    m = outputs_of(keras, lambda a, b, c: {"a": a, "b": b})
    m.compile("sgd", [together(keras), {"a": "mse", "b": "mae"}], metrics={"b": ["mse"]})
    return trained(m, {"a": Y1, "b": Y2})


@program
def losses_of_a_named_tuple(keras):
    m = outputs_of(keras, lambda a, b, c: Pair(a, b))
    m.compile("sgd", [together(keras), Pair("mse", "mae")])
    return trained(m, Pair(Y1, Y2)), type(m.predict(DATA, verbose=0)).__name__


@program
def losses_of_a_deep_nest(keras):
    m = outputs_of(keras, lambda a, b, c: {"a": (a, b), "b": {"b1": a, "b2": b}, "c": {"c1": (a, b), "c2": b}, "d": c})
    f = together(keras)
    m.compile("sgd", {"a": [f, (None, "mse")], "b": [f, {"b1": "mae"}], "c": {"c1": f}, "d": "mse"})
    y = {"a": (Y1, Y2), "b": {"b1": Y1, "b2": Y2}, "c": {"c1": (Y1, Y2), "c2": Y2}, "d": Y3}
    return trained(m, y)


@program
def one_tensor_as_two_outputs(keras):
    m = outputs_of(keras, lambda a, b, c: {"a": a, "b": a})
    m.compile("sgd", {"a": "mse", "b": "mae"})
    return trained(m, (Y1, Y2))


@program
def several_losses_of_one_output(keras):
    m = outputs_of(keras, lambda a, b, c: [a, b])
    m.compile("sgd", ["mse", ["mse", "mae"]])
    return trained(m, [Y1, Y2])


@program
def one_loss_among_outputs(keras):
    m = outputs_of(keras, lambda a, b, c: {"a": a, "b": b})
    m.compile("sgd", {"b": ["mse"]}, metrics={"b": ["mae"]})
    return trained(m, {"a": Y1, "b": Y2})


@program
def losses_and_metrics_of_other_outputs(keras):
    def fit(nest, y, **compiled):
        try:
            m = outputs_of(keras, nest)
            m.compile("sgd", **compiled)
            m.fit(DATA, y, verbose=0)
        except (ValueError, KeyError) as e:
            return "KeyError" if isinstance(e, KeyError) else "ValueError"

    return [
        fit(lambda a, b, c: [a, b], [Y1, Y2], loss={"y1": "mse", "y3": "mse"}),
        fit(lambda a, b, c: [a, b], [Y1, Y2], loss={"y1": "mse"}),
        fit(lambda a, b, c: [a, b], [Y1, Y2], loss="mse", metrics={"y3": ["mse"]}),
        fit(lambda a, b, c: {"a": a}, {"a": Y1}, loss=["mse", {"c": "mse"}]),
        fit(lambda a, b, c: {"a": a, "b": b}, {"a": Y1}, loss=[lambda y, p: p, {"a": "mse"}]),
    ]


@program
def sizes_are_tuples(keras):
    layers, found = keras.layers, []
    for layer in (
        layers.Conv1D(2, 3),
        layers.Conv2D(2, 3, strides=2),
        layers.Conv2DTranspose(2, [3, 2]),
        layers.DepthwiseConv2D(3),
        layers.SeparableConv1D(2, 3),
        layers.ConvLSTM2D(2, 3),
        layers.MaxPooling2D(2),
        layers.AveragePooling1D(3, strides=2),
        layers.UpSampling2D(2),
        layers.UpSampling1D(2),
        layers.Dropout(0.5, noise_shape=[None, 1, 3]),
    ):
        config = layer.get_config()
        keys = ("kernel_size", "strides", "dilation_rate", "pool_size", "size", "noise_shape")
        found.append(str({k: config[k] for k in keys if k in config}))
        found.append(str([getattr(layer, k) for k in keys if hasattr(layer, k)]))
    return found
