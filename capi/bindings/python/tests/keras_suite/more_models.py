"""Models with outputs in nests, and what layers, losses and metrics say of themselves."""

import collections
import warnings

import numpy as np

from . import DATA, fill, numbers, program, raised

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
        fit(lambda a, b, c: {"a": a, "b": b}, {"a": Y1}, loss={"a": "mse", "b": "mse"}),
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


@program
def model_from_the_middle(keras):
    x = keras.Input((4,), name="x")
    h = keras.layers.Dense(3, activation="tanh", name="h")(x)
    g = keras.layers.Dense(2, name="g")(h)
    y = keras.layers.Dense(1, name="y")(g * 2.0)
    whole = fill(keras.Model(x, y))
    tail, part = keras.Model(h, y), keras.Model([h], [g, y])
    data = numbers(40, 3, seed=5)
    results = [tail.predict(data, verbose=0), part.predict(data, verbose=0)]
    results += [str([w.shape for w in tail.get_weights()]), [layer.name for layer in tail.layers][1:]]
    tail.compile("sgd", "mse")
    tail.fit(data, Y1, epochs=2, verbose=0, shuffle=False)
    return results + [whole.predict(DATA, verbose=0), whole.get_weights()]


@program
def trainable_said_of_a_model(keras):
    x = keras.Input((4,))
    inner = keras.Model(x, keras.layers.Dense(3)(x), trainable=False)
    m = keras.Model(x, keras.layers.Dense(1)(inner(x)))
    fill(m)
    m.compile("sgd", "mse")
    m.fit(DATA, Y1, epochs=2, verbose=0, shuffle=False)
    return m.get_weights(), len(m.trainable_weights), str(inner.layers[-1].trainable)


@program
def dicts_of_inputs(keras):
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    m = fill(keras.Model({"c": a, "d": b}, keras.layers.Dense(2)(a - b)))
    named = fill(keras.Model([a, b], keras.layers.Dense(2)(a - b)))
    data = {"c": DATA, "d": DATA[::-1]}
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        more = m.predict({**data, "other": Y1}, verbose=0)
        a_list = m.predict([DATA, DATA[::-1]], verbose=0)
        refused = raised(lambda: m.predict({"a": DATA, "b": DATA}, verbose=0))
    told = ["The structure of `inputs`" in str(w.message) for w in found]
    by_name = named.predict({"a": DATA, "b": DATA[::-1]}, verbose=0)
    return more, a_list, str(any(told)), by_name, refused


@program
def integers_become_floats(keras):
    layers, results = keras.layers, []
    whole = np.random.RandomState(3).randint(0, 4, (2, 3, 4))
    for layer in (
        layers.Dense(2),
        layers.LSTM(2),
        layers.GRU(2, reset_after=False),
        layers.SimpleRNN(2),
        layers.Bidirectional(layers.SimpleRNN(2)),
        layers.RNN(layers.GRUCell(2)),
    ):
        layer.build((None, 3, 4))
        layer.set_weights([numbers(*w.shape, seed=i, scale=0.3) for i, w in enumerate(layer.get_weights())])
        for kind in ("int32", "int64", "uint8"):
            results.append(np.array(layer(whole.astype(kind))))
    return results


@program
def data_format_of_all_layers(keras):
    layers = keras.layers
    kept = keras.config.image_data_format()
    try:
        keras.config.set_image_data_format("channels_first")
        shapes = [
            str(tuple(layer(keras.Input((3, 8, 8))).shape))
            for layer in (
                layers.Conv2D(5, 3),
                layers.MaxPooling2D(2),
                layers.GlobalAveragePooling2D(),
                layers.Flatten(),
            )
        ]
        said = [keras.config.image_data_format(), layers.Conv2D(2, 3).data_format]
        last = layers.Conv2D(5, 3, data_format="channels_last")
        shapes.append(str(tuple(last(keras.Input((8, 8, 3))).shape)))
        refused = raised(lambda: keras.config.set_image_data_format("first"))
    finally:
        keras.config.set_image_data_format(kept)
    return shapes, said, refused, layers.Conv2D(2, 3).data_format


@program
def models_of_configs(keras):
    class Named(keras.Model):
        def __init__(self, *args, word="none", **kwargs):
            super().__init__(*args, **kwargs)
            self.word = word

        def get_config(self):
            return {**super().get_config(), "word": self.word}

    x = keras.Input((4,), name="x")
    h = keras.layers.Dense(3, name="h")(x)
    named = Named.from_config(Named(inputs=x, outputs=(h, h + 1.0), word="two").get_config())
    dense = {"class_name": "Dense", "name": "d", "config": {"units": 2, "name": "d"}}
    first = {"class_name": "InputLayer", "name": "i", "config": {"batch_shape": [None, 4], "name": "i"}}
    old = {
        "name": "old",
        "layers": [{**first, "inbound_nodes": []}, {**dense, "inbound_nodes": [[["i", 0, 0, {}]]]}],
        "input_layers": [["i", 0, 0]],
        "output_layers": [["d", 0, 0]],
    }
    loop = {**old, "layers": [old["layers"][0], {**dense, "inbound_nodes": [[["d", 0, 0, {}]]]}]}
    gone = {**old, "layers": [old["layers"][0], {**dense, "inbound_nodes": [[["e", 0, 0, {}]]]}]}
    m = fill(keras.Model.from_config(old))
    return (
        named.word,
        type(named.predict(DATA, verbose=0)).__name__,
        m.predict(DATA, verbose=0),
        raised(lambda: keras.Model.from_config(loop)),
        raised(lambda: keras.Model.from_config(gone)),
    )


def of_type(f):
    try:
        f()
    except TypeError:
        return "TypeError"


@program
def what_layers_refuse(keras):
    class Two(keras.layers.Layer):
        def call(self, x, other):
            return x + other

    def built():
        m = keras.Sequential([Two()])
        m.build((None, 2))

    spec = keras.Model(x := keras.Input((None, 3)), keras.layers.Dense(2)(x))
    spec.input_spec = keras.layers.InputSpec(shape=(None, 4, 3))
    layers, ones = keras.layers, np.ones((4, 5, 3), "float32")
    array = numbers(5, 5)
    made = keras.initializers.get(array)
    return [
        raised(built),
        raised(lambda: spec(np.zeros((2, 3, 3), "float32"))),
        str(tuple(spec(np.zeros((2, 4, 3), "float32")).shape)),
        raised(lambda: layers.Softmax()(ones[:1, 0], mask=np.ones((2, 3), bool))),
        raised(lambda: layers.TimeDistributed(layers.Dense(2))(ones, mask=np.ones((4, 6), bool))),
        raised(lambda: layers.Conv2D(2, (1, 0))),
        raised(lambda: layers.Dropout(0.5, noise_shape=(20, 1.5, 10))),
        of_type(lambda: layers.Embedding.from_config({"input_dim": 3.7, "output_dim": 2})),
        of_type(lambda: layers.UpSampling1D(2.5)),
        raised(lambda: keras.optimizers.SGD(clipnorm=1.0, clipvalue=2.0)),
        raised(lambda: made((4, 4))),
        np.array(made((5, 5))),
    ]
