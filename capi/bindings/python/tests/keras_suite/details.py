"""What is seldom asked: configs of functions, masks asked for, losses on weights, refusals in Keras's words."""

import os
import tempfile

import numpy as np

from . import DATA, ONE_HOT, fill, mlp, numbers, program, raised


def said(f, *words):
    """Are these words in the refusal?"""
    try:
        f()
    except (ValueError, TypeError, KeyError) as e:
        return [word in str(e) for word in words]
    return "nothing"


@program
def penalties_of_recurrent_kernels(keras):
    x = keras.Input((5, 3))
    layer = keras.layers.GRU(4, kernel_regularizer="l2", recurrent_regularizer="l1", bias_regularizer="l2")
    m = fill(keras.Model(x, layer(x)))
    return len(m.losses), sorted(float(v) for v in m.losses)


@program
def lambdas_in_configs(keras):
    layer = keras.layers.Lambda(lambda x, k=3.0: x * k)
    config = layer.get_config()
    again = keras.layers.Lambda.from_config(config, safe_mode=False)
    return np.asarray(again(DATA[:2])), raised(lambda: keras.layers.Lambda.from_config(layer.get_config()))


@program
def masks_of_merges_and_attention(keras):
    a, b = np.array([[True, False, True]]), np.array([[False, False, True]])
    x, y = keras.Input((3, 4)), keras.Input((3, 4))
    attention = keras.layers.Attention()
    return (
        np.asarray(keras.layers.Add().compute_mask([x, y], [a, b])),
        np.asarray(keras.layers.Multiply().compute_mask([x, y], [a, a])),
        np.asarray(attention.compute_mask([numbers(1, 3, 4), numbers(1, 3, 4)], [a, b])),
        attention.compute_mask([numbers(1, 3, 4), numbers(1, 3, 4)], [None, b]) is None,
    )


@program
def masks_of_lambdas(keras):
    x = keras.Input((3, 2))
    y = keras.layers.Lambda(lambda t: t * 2.0, mask=lambda t, _: keras.ops.not_equal(t[:, :, 0], 0.0))(x)
    m = keras.Model(x, keras.layers.GlobalAveragePooling1D()(y))
    return m.predict(np.array([[[0, 5], [1, 2], [3, 4]]], "float32"), verbose=0)


@program
def triangles(keras):
    x = numbers(2, 4, 3)
    return [np.asarray(f(x, k)) for f in (keras.ops.tril, keras.ops.triu) for k in (-1, 0, 2)]


@program
def keras_files(keras):
    m = mlp(keras)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.keras")
        m.save(path)
        again = keras.saving.load_model(path)
        m.save_weights(os.path.join(folder, "m.weights.h5"))
        return again.predict(DATA[:3], verbose=0), sorted(os.listdir(folder))


@program
def clones_are_compiled(keras):
    m = mlp(keras)
    m.compile("sgd", "categorical_crossentropy")
    other = keras.models.clone_model(m)
    other.set_weights(m.get_weights())
    return other.compiled, other.evaluate(DATA, ONE_HOT, verbose=0)


@program
def clones_of_nested_models(keras):
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="deep")], name="inner")
    m = keras.Sequential([keras.Input((4,)), inner])

    def marked(layer):
        layer = type(layer).from_config(layer.get_config())
        layer.mark = True
        return layer

    other = keras.models.clone_model(m, clone_function=marked, recursive=True)
    return getattr(other.layers[0].layers[0], "mark", False), other.layers[0].layers[0] is inner.layers[0]


@program
def optimizers_have_names(keras):
    first, second, mine = keras.optimizers.Adam(), keras.optimizers.Adam(), keras.optimizers.SGD(name="mine")
    again = keras.optimizers.deserialize(keras.optimizers.serialize(second))
    return second.name == f"{first.name}_1" or second.name[:5], again.name == second.name, mine.name


@program
def statistics_of_batches(keras):
    x = numbers(12, 4, 3)
    layer = keras.layers.Normalization(axis=(1, 2))
    layer.adapt([(x[:4], 0), (x[4:8], 0), (x[8:], 0)])
    given = keras.layers.Normalization(axis=-1, mean=2.0, variance=4.0)
    given.build((None, 3))
    return np.asarray(layer(x)), np.asarray(given.mean), raised(lambda: keras.layers.Normalization().adapt([]))


@program
def nested_inputs(keras):
    a, b, c = keras.Input((1,)), keras.Input((2,)), keras.Input((3,))
    d = keras.layers.Concatenate()([a, b, c])
    m = fill(keras.Model({"a": a, "more": {"b": b, "c": c}}, keras.layers.Dense(2)(d)))
    x = {"a": numbers(2, 1), "more": {"b": numbers(2, 2), "c": numbers(2, 3)}}
    return np.asarray(m(x)), m.predict(x, verbose=0)


@program
def embeddings_that_are_given(keras):
    layer = keras.layers.Embedding(3, 2)
    layer.build()
    layer.set_weights([numbers(3, 2)])
    return np.asarray(layer(np.array([2, 0])))


@program
def words_of_refusals(keras):
    k = keras.layers
    return (
        said(lambda: k.Dense(-3), "positive integer"),
        said(lambda: k.Dropout(1.5), "`rate`", "between 0 and 1", "rate=1.5"),
        said(lambda: k.Conv2D(0, 3), "strictly positive", "filters=0"),
        said(lambda: k.ReLU(max_value=-10), "cannot be a negative value"),
        said(lambda: keras.metrics.AUC(num_thresholds=-1), "must be an integer > 1"),
        said(lambda: keras.optimizers.Ftrl(l1_regularization_strength=-0.1), "needs to be positive or zero"),
        said(lambda: keras.metrics.FBetaScore(beta=1), "It should be a Python float"),
        said(lambda: k.Subtract()([keras.Input((2,))] * 3), "exactly 2 inputs"),
        said(lambda: keras.Input(batch_shape=(1, 2), batch_size=1), "cannot pass both `batch_size`"),
    )


@program
def penalties_on_outputs(keras):
    plain, dense = keras.layers.ActivityRegularization(l1=0.2, l2=0.3), keras.layers.Dense(2, activity_regularizer="l2")
    dense.build((None, 4))
    dense.set_weights([numbers(4, 2), np.zeros(2, "float32")])
    plain(DATA[:1]), dense(DATA[:1])
    return [[float(v) for v in layer.losses] for layer in (plain, dense)]


@program
def stateful_layers_on_arrays(keras):
    layer = keras.layers.GRU(3, stateful=True)
    layer(numbers(2, 4, 3))
    r = np.random.RandomState(3)
    layer.set_weights([r.standard_normal(w.shape).astype("float32") for w in layer.get_weights()[:3]])
    layer.reset_state()
    first, second = np.asarray(layer(numbers(2, 4, 3))), np.asarray(layer(numbers(2, 4, 3)))
    layer.reset_state()
    return first, second, np.asarray(layer(numbers(2, 4, 3)))


@program
def configs_without_get_config(keras):
    class Scaled(keras.layers.Layer):
        def __init__(self, factor, shift=1.0, **kwargs):
            super().__init__(**kwargs)
            self.factor, self.shift = factor, shift

        def call(self, x):
            return x * self.factor + self.shift

    layer = Scaled(3, shift=2.0, name="mine")
    again = Scaled.from_config(layer.get_config())
    return np.asarray(again(DATA[:2])), again.name


def mistyped(f):
    try:
        f()
    except TypeError:  # of dl4 also a ValueError
        return True
    return False


@program
def integers_that_are_none(keras):
    axis = mistyped(lambda: keras.layers.LayerNormalization(axis={"a": 1}))
    auc = keras.metrics.AUC(thresholds=[0.5])
    return axis, mistyped(lambda: keras.layers.RepeatVector("3")), list(auc.thresholds), auc.num_thresholds


@program
def operations_set_no_mask(keras):
    """A mean over time leaves out what a mask masks: keras.ops carry none on, layers do."""
    ops, found = keras.ops, []
    ids = np.array([[1, 2, 0, 0], [3, 0, 0, 4]], "int32")
    table = np.random.RandomState(3).standard_normal((5, 4)).astype("float32")
    for f in (
        lambda x: ops.tile(x, (1, 1, 2)),
        lambda x: ops.concatenate([x, x], -1),
        ops.softmax,
        ops.relu,
        ops.gelu,
        ops.silu,
        ops.sigmoid,
        ops.tanh,
        lambda x: ops.swapaxes(ops.swapaxes(x, 1, 2), 1, 2),
        lambda x: ops.moveaxis(x, 2, 1),
        lambda x: x + 1.0,
        lambda x: keras.activations.relu(x) * x,
        ops.stop_gradient,
        ops.log_softmax,
        keras.layers.ReLU(),
        keras.layers.Dense(2, activation=lambda x: x * 2.0, kernel_initializer="ones"),
        keras.layers.Activation(lambda x: ops.tanh(x) * 2.0),
        lambda x: keras.layers.ReLU()(ops.convert_to_tensor(x)),
    ):
        x = keras.Input((4,), dtype="int32")
        y = keras.layers.Embedding(5, 4, mask_zero=True, name="table")(x)
        m = keras.Model(x, keras.layers.GlobalAveragePooling1D()(f(y)))
        m.get_layer("table").set_weights([table])
        found.append(m.predict(ids, verbose=0))
    return found


@program
def masks_of_layers_of_ones_own(keras):
    """supports_masking carries the masks of a list to the outputs in their order, unless they have one."""

    class Both(keras.layers.Layer):
        def __init__(self, supports):
            super().__init__()
            self.supports_masking = supports

        def call(self, inputs):
            return [x * 2.0 for x in inputs]

    class First(Both):
        def call(self, inputs):
            return inputs[0] + inputs[1]

    class Told(Both):
        def compute_mask(self, inputs, previous_mask):
            return previous_mask[1]

        def call(self, inputs):
            return inputs[0] + inputs[1]

    ids = [np.array([[1, 2, 0, 0], [3, 0, 0, 4]], "int32"), np.array([[0, 2, 1, 0], [3, 3, 0, 4]], "int32")]
    table, found = np.random.RandomState(3).standard_normal((5, 4)).astype("float32"), []
    for layer in (Both(True), Both(False), First(True), Told(True)):
        xs = [keras.Input((4,), dtype="int32") for _ in ids]
        embed = keras.layers.Embedding(5, 4, mask_zero=True)
        ys = layer([embed(x) for x in xs])
        ys = ys if isinstance(ys, (list, tuple)) else [ys]
        m = keras.Model(xs, [keras.layers.GlobalAveragePooling1D()(y) for y in ys])
        embed.set_weights([table])
        found += [np.asarray(v) for v in (lambda p: p if isinstance(p, list) else [p])(m.predict(ids, verbose=0))]
    return found


@program
def input_of_a_sequential_model(keras):
    """It is of its first call; the model's own are `inputs`."""
    m = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(2)])
    before = [raised(lambda: m.input), raised(lambda: m.output)]
    x = keras.Input((3,), name="given")
    y = m(x)
    part = keras.Model(m.inputs, m.layers[0].output)
    part.trainable = False
    return before, m.input.name, float(m.output is y), len(m.trainable_weights), part.output_shape[1]
