"""Layers and models of one's own called on arrays: call() runs each time, on numbers."""

import numpy as np

from . import numbers, program

X = numbers(4, 3, seed=7)


@program
def attributes_and_closures_change(keras):
    class Scaled(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.scale = 1.0

        def call(self, x):
            return x * self.scale

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.scaled = Scaled()

        def call(self, x):
            return self.scaled(x) + 1.0

    k, layer, net, found = [1.0], Scaled(), Net(), []
    x = keras.Input((3,))
    h = keras.layers.Lambda(lambda t: t * k[0])(x)
    inner = keras.Model(x, h)
    y = keras.Input((3,))
    outer = keras.Model(y, keras.layers.ReLU()(inner(layer(y)) + y))
    rows = keras.Sequential([keras.Input((3,)), keras.layers.Lambda(lambda t: t[: int(k[0])])])
    for _ in range(2):
        found += [layer(X), net(X), inner(X), outer(X), rows(X)]
        layer.scale = net.scaled.scale = 3.0
        k[0] = 2.0
    return [np.asarray(v) for v in found]


@program
def numbers_are_seen(keras):
    ops, seen = keras.ops, []

    class Looks(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2, kernel_initializer="ones")

        def call(self, x, training=None):
            seen.append(float(ops.max(x)))
            if float(ops.sum(x)) > 0:
                x = x * 10.0
            return self.dense(x) + np.asarray(x).mean() * float(bool(training))

    layer = Looks()
    layer.build(X.shape)
    return np.asarray(layer(X)), np.asarray(layer(-X)), np.asarray(layer(X, training=True)), seen[-3:]


@program
def variables_are_assigned_in_calls(keras):
    """A count, and a normalization with moving means of its own."""
    ops = keras.ops

    class Counts(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.n = self.add_weight(shape=(), initializer="zeros", trainable=False)
            self.whole = keras.Variable(np.array(5), dtype="int32", trainable=False)

        def call(self, x):
            self.n.assign_add(1.0)
            self.whole.assign(self.whole + 2)
            return x + self.n

    class Normal(keras.layers.Layer):
        def build(self, shape):
            self.moving = self.add_weight(shape=(shape[-1],), initializer="zeros", trainable=False)

        def call(self, x, training=False):
            if training:
                self.moving.assign(self.moving * 0.5 + ops.mean(x, axis=0) * 0.5)
            return x - self.moving

    counts, normal = Counts(), Normal()
    found = [counts(X), counts(X), counts.n, counts.whole, normal(X), normal(X, training=True), normal(X, training=True)]
    return [np.asarray(v) for v in [*found, normal(X), normal.moving]]


@program
def training_reaches_inner_layers(keras):
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.drop, self.norm = keras.layers.Dropout(0.9999), keras.layers.BatchNormalization(momentum=0.5)

        def call(self, x):
            return self.drop(self.norm(x))

    net = Net()
    quiet = np.asarray(net(X))
    loud = np.asarray(net(X, training=True))
    functional = keras.Sequential([keras.Input((3,)), keras.layers.BatchNormalization(momentum=0.5)])
    functional(X + 5.0, training=True)
    return quiet, float((loud == 0).mean() > 0.5), np.asarray(net.norm.moving_mean), functional.get_weights()


@program
def masks_go_from_call_to_call(keras):
    """An embedding's mask on arrays reaches the layers that are called after it, and operations drop it."""
    ids = np.array([[1, 2, 0, 0], [3, 0, 0, 4]], "int32")
    table = numbers(5, 3, seed=9)

    class Same(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.supports_masking = True

        def call(self, x, mask=None):
            return x + (0.0 if mask is None else 1.0)

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.embed = keras.layers.Embedding(5, 3, mask_zero=True)
            self.same, self.mean = Same(), keras.layers.GlobalAveragePooling1D()

        def call(self, x):
            h = self.embed(x)
            return [self.mean(h), self.mean(self.same(h)), self.mean(h * 1.0), self.mean(keras.ops.relu(h))]

    net = Net()
    net(ids)
    net.embed.set_weights([table])
    encoder = keras.Sequential([keras.Input((4,), dtype="int32"), net.embed, keras.layers.ReLU()])
    return [np.asarray(v) for v in [*net(ids), net.mean(encoder(ids)), net.mean(net.same(encoder(ids)))]]


@program
def losses_of_a_call(keras):
    ops = keras.ops

    class Adds(keras.layers.Layer):
        def __init__(self):
            super().__init__(activity_regularizer=keras.regularizers.L2(0.1))
            self.dense = keras.layers.Dense(2, kernel_initializer="ones", kernel_regularizer="l2")

        def call(self, x):
            self.add_loss(ops.sum(x))
            return self.dense(x)

    layer, found = Adds(), []
    for x in (X, X * 2.0):
        layer(x)
        found.append(sorted(float(np.asarray(v)) for v in layer.losses))
    return found


@program
def nests_and_keywords_of_calls(keras):
    class Pair(keras.layers.Layer):
        def call(self, inputs, factor=2.0, other=None):
            a, b = inputs["a"], inputs["b"]
            return {"sum": a + b, "product": [a * b * factor, a if other is None else other]}

    got = Pair()({"a": X, "b": X + 1.0}, factor=3.0, other=X * 5.0)
    return np.asarray(got["sum"]), np.asarray(got["product"][0]), np.asarray(got["product"][1])


@program
def types_of_arrays(keras):
    """float64 becomes float32, integers stay."""

    class Types(keras.layers.Layer):
        def call(self, x):
            return x * 2 if "int" not in str(x.dtype) else x / 2

    wide, whole = Types()(X.astype("float64")), Types()(np.array([[1, 2, 3]], "int32"))
    return str(np.asarray(wide).dtype), np.asarray(whole)


@program
def a_sequential_model_without_symbols(keras):
    class Looks(keras.layers.Layer):
        def compute_output_spec(self, *args, **kwargs):
            raise NotImplementedError

        def call(self, x):
            return x * 2.0

    m = keras.Sequential([keras.layers.Dense(2, kernel_initializer="ones"), Looks(), keras.layers.Dropout(0.5)])
    return np.asarray(m(X)), np.asarray(m(X * 2.0)), len(m.weights)
