"""Layers, weights and functions of one's own."""

import numpy as np

from . import DATA, ONE_HOT, fill, mlp, numbers, program, raised


def linear(keras):
    class Linear(keras.layers.Layer):
        def __init__(self, units=3, **kwargs):
            super().__init__(**kwargs)
            self.units = units

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="ones", name="w")
            self.b = self.add_weight(shape=(self.units,), initializer="zeros", name="b")

        def call(self, inputs):
            return keras.ops.matmul(inputs, self.w) + self.b

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    return Linear


@program
def layer_with_weights(keras):
    x = keras.Input((4,))
    m = fill(keras.Model(x, linear(keras)(3)(x)))
    m.compile("sgd", "mse")
    h = m.fit(DATA, ONE_HOT, epochs=3, verbose=0, shuffle=False)
    return h.history["loss"], m.get_weights(), [w.name for w in m.weights], len(m.layers)


@program
def layer_with_weights_on_arrays(keras):
    layer = linear(keras)(2)
    y = np.asarray(layer(DATA[:3]))
    layer.set_weights([numbers(4, 2), numbers(2)])
    return y, np.asarray(layer(DATA[:3])), len(layer.weights), layer.built, layer.count_params()


@program
def layer_from_its_config(keras):
    cls = linear(keras)
    layer = cls.from_config(cls(5, name="mine").get_config())
    layer.build((None, 4))
    return layer.units, layer.name, [tuple(w.shape) for w in layer.weights]


@program
def layer_in_a_sequential_model(keras):
    m = keras.Sequential([keras.Input((4,)), linear(keras)(6), keras.layers.ReLU(), linear(keras)(3)])
    fill(m)
    m.compile("adam", "mse")
    return m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False).history["loss"], m.predict(DATA[:2], verbose=0)


@program
def weight_that_is_not_trained(keras):
    class Scale(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.factor = self.add_weight(shape=(), initializer=keras.initializers.Constant(2.0), trainable=False)
            self.shift = self.add_weight(shape=(4,), initializer="zeros")

        def call(self, x):
            return x * self.factor + self.shift

    layer = Scale()
    x = keras.Input((4,))
    m = keras.Model(x, layer(x))
    m.compile("sgd", "mse")
    m.fit(DATA, DATA, epochs=2, verbose=0, shuffle=False)
    return m.get_weights(), len(layer.trainable_weights), len(layer.non_trainable_weights)


@program
def layer_that_adds_a_loss(keras):
    class Active(keras.layers.Layer):
        def call(self, x):
            self.add_loss(0.1 * keras.ops.mean(keras.ops.square(x)))
            return x

    x = keras.Input((4,))
    m = keras.Model(x, keras.layers.Dense(3)(Active()(keras.layers.Dense(5)(x))))
    fill(m)
    m.compile("sgd", "mse", metrics=["mae"])
    h = m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], sorted(h.history), m.get_weights()


@program
def regularized_weight(keras):
    class Linear(keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(
                shape=(shape[-1], 3), regularizer=keras.regularizers.L2(0.1), constraint="non_neg", name="w"
            )

        def call(self, x):
            return x @ self.w

    x = keras.Input((4,))
    m = keras.Model(x, Linear()(x))
    m.set_weights([np.abs(numbers(4, 3))])
    m.compile("sgd", "mse")
    return m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False).history["loss"], m.get_weights()


@program
def layer_of_layers(keras):
    class Residual(keras.layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.a, self.b = keras.layers.Dense(units, activation="relu"), keras.layers.Dense(units)
            self.norm = keras.layers.LayerNormalization()

        def call(self, x):
            return self.norm(x + self.b(self.a(x)))

    x = keras.Input((4,))
    m = fill(keras.Model(x, keras.layers.Dense(3)(Residual(4)(Residual(4)(x)))))
    m.compile("adam", "mse")
    h = m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], len(m.layers), len(m.weights), m.count_params()


@program
def layer_with_two_inputs(keras):
    class Gate(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(4, activation="sigmoid")

        def call(self, inputs):
            a, b = inputs
            g = self.dense(a)
            return g * a + (1.0 - g) * b

    a, b = keras.Input((4,)), keras.Input((4,))
    m = fill(keras.Model([a, b], Gate()([a, b])))
    return m.predict([DATA[:3], DATA[3:6]], verbose=0)


@program
def layer_with_keyword_inputs(keras):
    class Mix(keras.layers.Layer):
        def call(self, x, other=None, scale=1.0):
            return x * scale if other is None else x * scale + other

    a, b = keras.Input((4,)), keras.Input((4,))
    mix = Mix()
    m = keras.Model([a, b], [mix(a), mix(a, other=b), mix(a, b, scale=3.0)])
    return m.predict([DATA[:2], DATA[2:4]], verbose=0)


@program
def layer_with_training(keras):
    class Noise(keras.layers.Layer):
        def call(self, x, training=None):
            if training:
                return x + 1.0
            return x

    x = keras.Input((4,))
    m = fill(keras.Model(x, keras.layers.Dense(3)(Noise()(x))))
    m.compile("sgd", "mse")
    h = m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], m.predict(DATA[:2], verbose=0), np.asarray(Noise()(DATA[:1], training=True))


@program
def layer_that_reads_the_mask(keras):
    class MeanOf(keras.layers.Layer):
        def call(self, x, mask=None):
            m = keras.ops.expand_dims(keras.ops.cast(mask, "float32"), -1)
            return keras.ops.sum(x * m, axis=1) / keras.ops.sum(m, axis=1)

    x = keras.Input((None,), dtype="int32")
    y = MeanOf()(keras.layers.Embedding(6, 3, mask_zero=True)(x))
    m = fill(keras.Model(x, y))
    return m.predict(np.array([[1, 2, 0], [3, 4, 5]]), verbose=0)


@program
def layer_that_passes_the_mask_on(keras):
    class Twice(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.supports_masking = True

        def call(self, x):
            return x * 2.0

    x = keras.Input((None,), dtype="int32")
    y = keras.layers.LSTM(3)(Twice()(keras.layers.Embedding(6, 3, mask_zero=True)(x)))
    return fill(keras.Model(x, y)).predict(np.array([[1, 2, 0], [3, 4, 5]]), verbose=0)


@program
def frozen_layer_of_ones_own(keras):
    layer = linear(keras)(3)
    x = keras.Input((4,))
    m = fill(keras.Model(x, keras.layers.Dense(3)(layer(x))))
    layer.trainable = False
    m.compile("sgd", "mse")
    m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False)
    return m.get_weights(), len(m.trainable_weights)


@program
def positional_embedding(keras):
    class Positions(keras.layers.Layer):
        def __init__(self, length, words, size):
            super().__init__()
            self.tokens = keras.layers.Embedding(words, size)
            self.places = keras.layers.Embedding(length, size)

        def call(self, x):
            return self.tokens(x) + self.places(keras.ops.arange(0, x.shape[-1], 1))

    x = keras.Input((5,), dtype="int32")
    m = fill(keras.Model(x, Positions(5, 9, 4)(x)))
    return m.predict(np.array([[1, 2, 3, 4, 5], [5, 5, 0, 1, 8]]), verbose=0)


@program
def lambda_layers(keras):
    x = keras.Input((4,))
    m = keras.Model(
        x,
        [
            keras.layers.Lambda(lambda t: t**2)(x),
            keras.layers.Lambda(lambda t, k: t * k, arguments={"k": 3.0})(x),
            keras.layers.Lambda(lambda t: keras.ops.sum(t, axis=-1, keepdims=True))(x),
            keras.layers.Lambda(lambda ts: ts[0] - ts[1])([x, x * 2.0]),
        ],
    )
    return m.predict(DATA[:3], verbose=0)


@program
def activation_in_python(keras):
    def mine(x):
        return keras.ops.maximum(x, 0.1 * x)

    x = keras.Input((4,))
    y = keras.layers.Dense(3, activation=mine)(x)
    m = fill(keras.Model(x, keras.layers.Activation(lambda t: keras.ops.tanh(t) * 2.0)(y)))
    m.compile("sgd", "mse")
    return m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False).history["loss"], len(m.layers)


@program
def variables(keras):
    v = keras.Variable(np.arange(3, dtype="float32"), name="v")
    v.assign(v + 1.0)
    v.assign_add([1.0, 1.0, 1.0])
    return np.asarray(v), tuple(v.shape), v.trainable, np.asarray(v * 2.0), np.asarray(2.0 - v), np.asarray(v)[1]


@program
def variable_as_attribute(keras):
    class Bias(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.bias = keras.Variable(np.zeros(4, "float32"))

        def call(self, x):
            return x + self.bias

    layer = Bias()
    x = keras.Input((4,))
    m = keras.Model(x, layer(x))
    m.compile("sgd", "mse")
    m.fit(DATA, DATA + 1.0, epochs=3, verbose=0, shuffle=False)
    return m.get_weights(), len(layer.weights)


@program
def registered_layer(keras):
    cls = keras.saving.register_keras_serializable("suite")(linear(keras))
    x = keras.Input((4,))
    m = fill(keras.Model(x, cls(3, name="mine")(x)))
    n = keras.Model.from_config(m.get_config())
    n.set_weights(m.get_weights())
    return n.predict(DATA[:2], verbose=0), n.layers[1].units


@program
def custom_objects(keras):
    cls = linear(keras)
    config = keras.Sequential([keras.Input((4,)), cls(3)]).get_config()
    m = keras.Sequential.from_config(config, custom_objects={"Linear": cls})
    return str(m.output_shape), raised(
        lambda: keras.Sequential.from_config(
            keras.Sequential([keras.Input((4,)), type("Unknown", (cls,), {})(3)]).get_config()
        )
    )


@program
def regularizer_in_python(keras):
    class Linear(keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(
                shape=(shape[-1], 3), regularizer=lambda w: 0.1 * keras.ops.sum(keras.ops.square(w))
            )

        def call(self, x):
            return x @ self.w

    x = keras.Input((4,))
    m = keras.Model(x, Linear()(x))
    m.set_weights([numbers(4, 3)])
    m.compile("sgd", "mse")
    return m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False).history["loss"]


@program
def wrong_layers_of_ones_own(keras):
    class NoSuper(keras.layers.Layer):
        def __init__(self):
            self.x = 1

    class NoCall(keras.layers.Layer):
        pass

    class Spec(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.input_spec = keras.layers.InputSpec(ndim=3)

        def call(self, x):
            return x

    return [
        raised(lambda: NoSuper()(keras.Input((3,)))),
        raised(lambda: NoCall()(keras.Input((3,)))),
        raised(lambda: Spec()(keras.Input((3,)))),
        raised(lambda: keras.layers.Layer(no_such=1)),
        raised(lambda: bool(keras.Input((3,)))),
        raised(lambda: mlp(keras).layers[1](keras.Input((7,)))),
    ]
