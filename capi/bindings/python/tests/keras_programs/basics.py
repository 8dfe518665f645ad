"""The shortest of everything: models, fit, callbacks, states, shapes and names."""

import numpy as np

from . import DATA, LABELS, ONE_HOT, fill, mlp, numbers, program


@program
def functional_predict(keras):
    return mlp(keras).predict(DATA, verbose=0)


@program
def call_on_arrays(keras):
    return np.asarray(mlp(keras)(DATA[:3]))


@program
def positional_arguments(keras):
    x = keras.Input((6, 6, 2))
    y = keras.layers.Conv2D(3, 3, 2, "same")(x)
    y = keras.layers.MaxPooling2D(2)(y)
    m = fill(keras.Model(x, keras.layers.Flatten()(y)))
    return m.predict(numbers(2, 6, 6, 2), verbose=0)


@program
def sequential_with_input(keras):
    m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, "relu"), keras.layers.Dense(2)])
    fill(m)
    return m.predict(DATA, verbose=0), [layer.name.split("_")[0] for layer in m.layers]


@program
def sequential_built_by_data(keras):
    m = keras.Sequential()
    m.add(keras.layers.Dense(5, activation="relu"))
    m.add(keras.layers.Dense(2))
    m(DATA)
    fill(m)
    return m.predict(DATA, verbose=0)


@program
def fit_history(keras):
    m = mlp(keras)
    m.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    h = m.fit(DATA, LABELS, epochs=4, batch_size=8, shuffle=False, verbose=0)
    return h.history["loss"], h.history["accuracy"], h.epoch, sorted(h.history)


@program
def fit_with_adam_object(keras):
    m = mlp(keras)
    m.compile(keras.optimizers.Adam(0.01, 0.8), keras.losses.CategoricalCrossentropy(label_smoothing=0.1))
    h = m.fit(DATA, ONE_HOT, epochs=3, batch_size=16, shuffle=False, verbose=0)
    return h.history["loss"], m.get_weights()


@program
def validation_data_and_split(keras):
    m = mlp(keras)
    m.compile("sgd", "mse", metrics=["mae"])
    a = m.fit(DATA, ONE_HOT, epochs=2, shuffle=False, verbose=0, validation_split=0.25).history
    b = m.fit(
        DATA[:20], ONE_HOT[:20], epochs=1, shuffle=False, verbose=0, validation_data=(DATA[20:], ONE_HOT[20:])
    ).history
    return [a[k] for k in sorted(a)], sorted(a), [b[k] for k in sorted(b)]


@program
def evaluate_and_dict(keras):
    m = mlp(keras)
    m.compile("sgd", "categorical_crossentropy", metrics=["accuracy", "mse"])
    told = m.evaluate(DATA, ONE_HOT, verbose=0, return_dict=True)
    return m.evaluate(DATA, ONE_HOT, verbose=0), sorted(told)


@program
def train_on_batch(keras):
    m = mlp(keras)
    m.compile("sgd", "mse")
    return [float(np.asarray(m.train_on_batch(DATA, ONE_HOT)).reshape(-1)[0]) for _ in range(3)]


@program
def sample_weights(keras):
    m = mlp(keras)
    m.compile("sgd", "mse")
    w = np.linspace(0, 2, 40).astype("float32")
    return m.fit(DATA, ONE_HOT, sample_weight=w, epochs=2, shuffle=False, verbose=0).history["loss"], m.get_weights()


@program
def class_weights(keras):
    m = mlp(keras)
    m.compile("sgd", "sparse_categorical_crossentropy")
    h = m.fit(DATA, LABELS, class_weight={0: 1.0, 1: 3.0, 2: 0.5}, epochs=2, shuffle=False, verbose=0)
    return h.history["loss"], m.get_weights()


@program
def function_losses(keras):
    m = mlp(keras)
    m.compile("sgd", keras.losses.mean_squared_error)
    return m.fit(DATA, ONE_HOT, epochs=2, shuffle=False, verbose=0).history["loss"]


@program
def losses_by_themselves(keras):
    y, p = ONE_HOT[:6], np.asarray(mlp(keras)(DATA[:6]))
    return [
        np.asarray(keras.losses.CategoricalCrossentropy()(y, p)),
        np.asarray(keras.losses.Huber(0.3)(y, p)),
        np.asarray(keras.losses.MeanSquaredError(reduction="none")(y, p)),
        np.asarray(keras.losses.MeanAbsoluteError()(y, p, np.arange(6, dtype="float32"))),
    ]


@program
def metrics_by_themselves(keras):
    m = keras.metrics.CategoricalAccuracy()
    p = np.asarray(mlp(keras)(DATA))
    m.update_state(ONE_HOT[:10], p[:10])
    m.update_state(ONE_HOT[10:], p[10:])
    return float(m.result()), m.name


@program
def set_weights_after_compile(keras):
    m = mlp(keras)
    m.compile("sgd", "mse")
    m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False)
    fill(m, seed=9)
    return m.evaluate(DATA, ONE_HOT, verbose=0), m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False).history[
        "loss"
    ]


@program
def predict_sees_new_weights(keras):
    m = mlp(keras)
    before = m.predict(DATA[:2], verbose=0)
    fill(m, seed=5)
    return before, m.predict(DATA[:2], verbose=0)


@program
def freezing(keras):
    m = mlp(keras)
    m.layers[1].trainable = False
    m.compile("sgd", "mse")
    m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False)
    return m.get_weights(), len(m.trainable_weights), len(m.non_trainable_weights)


@program
def thawed_and_compiled_again(keras):
    m = mlp(keras)
    m.layers[1].trainable = False
    m.compile("sgd", "mse")
    m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False)
    m.layers[1].trainable = True
    m.compile(keras.optimizers.SGD(0.1), "mse")
    m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False)
    return m.get_weights()


@program
def learning_rate_read_and_set(keras):
    m = mlp(keras)
    m.compile(keras.optimizers.SGD(0.5), "mse")
    before = float(np.asarray(m.optimizer.learning_rate))
    m.optimizer.learning_rate = 0.01
    m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False)
    return before, float(np.asarray(m.optimizer.learning_rate)), m.get_weights()


@program
def callback_that_stops(keras):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = epoch == 1

    m = mlp(keras)
    m.compile("sgd", "mse")
    h = m.fit(DATA, ONE_HOT, epochs=9, verbose=0, shuffle=False, callbacks=[Stop()])
    return h.history["loss"], h.epoch


@program
def callback_order_and_logs(keras):
    told = []

    class Tell(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            told.append("begin")

        def on_epoch_begin(self, epoch, logs=None):
            told.append(f"epoch {epoch}")

        def on_train_batch_end(self, batch, logs=None):
            told.append(f"batch {batch} {sorted(logs)}")

        def on_epoch_end(self, epoch, logs=None):
            told.append(f"end {epoch} {sorted(logs)}")

        def on_train_end(self, logs=None):
            told.append("done")

    m = mlp(keras)
    m.compile("sgd", "mse", metrics=["mae"])
    m.fit(DATA, ONE_HOT, epochs=2, batch_size=20, verbose=0, validation_split=0.5, callbacks=[Tell()])
    return told


@program
def callback_that_sets_the_rate(keras):
    class Halve(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.optimizer.learning_rate = float(np.asarray(self.model.optimizer.learning_rate)) / 2

    m = mlp(keras)
    m.compile(keras.optimizers.SGD(0.2), "mse")
    h = m.fit(DATA, ONE_HOT, epochs=4, verbose=0, shuffle=False, callbacks=[Halve()])
    return h.history["loss"], float(np.asarray(m.optimizer.learning_rate))


@program
def callback_that_predicts(keras):
    found = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            found.append(self.model.predict(DATA[:1], verbose=0))

    m = mlp(keras)
    m.compile("sgd", "mse")
    m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False, callbacks=[Look()])
    return found


@program
def callback_that_raises(keras):
    class Raise(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise KeyError("mine")

    m = mlp(keras)
    m.compile("sgd", "mse")
    try:
        m.fit(DATA, ONE_HOT, epochs=2, verbose=0, callbacks=[Raise()])
    except KeyError as e:
        return str(e)


@program
def lambda_callback(keras):
    told = []
    m = mlp(keras)
    m.compile("sgd", "mse")
    m.fit(
        DATA,
        ONE_HOT,
        epochs=2,
        verbose=0,
        callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: told.append((epoch, sorted(logs))))],
    )
    return str(told)


@program
def two_inputs_and_outputs(keras):
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    h = keras.layers.Concatenate()([a, b])
    m = fill(keras.Model([a, b], [keras.layers.Dense(2, name="p")(h), keras.layers.Dense(1, name="q")(h)]))
    m.compile("sgd", ["mse", "mae"], loss_weights=[1.0, 0.5])
    x, y = [numbers(16, 3), numbers(16, 2, seed=4)], [numbers(16, 2, seed=5), numbers(16, 1, seed=6)]
    h = m.fit(x, y, epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], m.predict(x, verbose=0), m.get_weights()


@program
def inputs_by_name(keras):
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    m = keras.Model({"a": a, "b": b}, keras.layers.Subtract()([a, b]))
    return m.predict({"b": numbers(2, 3), "a": numbers(2, 3, seed=3)}, verbose=0)


@program
def shared_layer(keras):
    a, b, d = keras.Input((3,)), keras.Input((3,)), keras.layers.Dense(2)
    m = fill(keras.Model([a, b], keras.layers.Add()([d(a), d(b)])))
    return m.predict([numbers(2, 3), numbers(2, 3, seed=3)], verbose=0), len(m.get_weights())


@program
def models_that_share_layers(keras):
    x = keras.Input((4,))
    h = keras.layers.Dense(3, activation="relu")(x)
    whole, part = keras.Model(x, keras.layers.Dense(2)(h)), keras.Model(x, h)
    fill(whole)
    whole.compile("sgd", "mse")
    whole.fit(DATA, numbers(40, 2), epochs=2, verbose=0, shuffle=False)
    return part.predict(DATA[:4], verbose=0)


@program
def model_called_as_a_layer(keras):
    inner = mlp(keras)
    x = keras.Input((4,))
    m = keras.Model(x, keras.layers.Dense(2)(inner(x)))
    fill(m)
    return m.predict(DATA[:4], verbose=0), inner.predict(DATA[:4], verbose=0)


@program
def lstm_states(keras):
    x = keras.Input((5, 3))
    y, h, c = keras.layers.LSTM(4, return_sequences=True, return_state=True)(x)
    m = fill(keras.Model(x, [y, h, c]))
    return m.predict(numbers(2, 5, 3), verbose=0)


@program
def encoder_decoder(keras):
    source, target = keras.Input((None, 3)), keras.Input((None, 2))
    _, h, c = keras.layers.LSTM(4, return_state=True)(source)
    y = keras.layers.LSTM(4, return_sequences=True)(target, initial_state=[h, c])
    m = fill(keras.Model([source, target], keras.layers.Dense(2)(y)))
    m.compile("adam", "mse")
    x = [numbers(4, 6, 3), numbers(4, 5, 2, seed=3)]
    h = m.fit(x, numbers(4, 5, 2, seed=4), epochs=3, verbose=0, shuffle=False)
    return h.history["loss"], m.predict(x, verbose=0)


@program
def embedding_with_mask(keras):
    x = keras.Input((None,), dtype="int32")
    y = keras.layers.LSTM(4)(keras.layers.Embedding(10, 3, mask_zero=True)(x))
    m = fill(keras.Model(x, y))
    return m.predict(np.array([[1, 2, 0, 0], [3, 4, 5, 6]]), verbose=0)


@program
def attention_with_scores(keras):
    q, v = keras.Input((None, 4)), keras.Input((None, 4))
    y, s = keras.layers.Attention()([q, v], return_attention_scores=True)
    m = keras.Model([q, v], [y, s])
    return m.predict([numbers(2, 3, 4), numbers(2, 5, 4, seed=3)], verbose=0)


@program
def heads_with_inputs_by_name(keras):
    q, k, v = keras.Input((3, 4)), keras.Input((5, 4)), keras.Input((5, 4))
    m = keras.Model([q, k, v], keras.layers.MultiHeadAttention(2, 3)(query=q, key=k, value=v))
    fill(m)
    return m.predict([numbers(2, 3, 4), numbers(2, 5, 4, seed=3), numbers(2, 5, 4, seed=4)], verbose=0)


@program
def causal_attention(keras):
    x = keras.Input((None, 4))
    m = keras.Model(x, keras.layers.Attention(use_scale=True)([x, x], use_causal_mask=True))
    fill(m)
    return m.predict(numbers(2, 5, 4), verbose=0)


@program
def arithmetic_of_tensors(keras):
    a, b = keras.Input((3,)), keras.Input((3,))
    m = keras.Model([a, b], [a + b, a * b - a, 2 * a + 1, (a - b) / 2, 1 - a, -b])
    return m.predict([numbers(2, 3), numbers(2, 3, seed=3)], verbose=0)


@program
def generator_of_batches(keras):
    def batches():
        for i in range(1000):
            at = (i * 8) % 40
            yield DATA[at : at + 8], ONE_HOT[at : at + 8]

    m = mlp(keras)
    m.compile("sgd", "mse")
    return m.fit(batches(), steps_per_epoch=5, epochs=2, verbose=0).history["loss"]


@program
def initializers_regularizers_constraints(keras):
    x = keras.Input((4,))
    y = keras.layers.Dense(
        3,
        kernel_initializer=keras.initializers.Constant(0.3),
        bias_initializer="ones",
        kernel_regularizer=keras.regularizers.L2(0.1),
        kernel_constraint=keras.constraints.MaxNorm(0.5),
    )(x)
    m = keras.Model(x, y)
    m.compile("sgd", "mse")
    return m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False).history["loss"], m.get_weights()


@program
def activations_by_object(keras):
    x = keras.Input((4,))
    m = keras.Model(
        x,
        [
            keras.layers.Activation(keras.activations.gelu)(x),
            keras.activations.relu(x),
            keras.layers.LeakyReLU(negative_slope=0.1)(x),
            keras.layers.Softmax()(x),
        ],
    )
    return m.predict(DATA[:3], verbose=0)


@program
def shapes_and_names(keras):
    x = keras.Input((None, 7), name="words")
    layer = keras.layers.LSTM(5, name="reader")
    y = layer(x)
    m = keras.Model(x, y, name="net")
    return [
        str(x.shape),
        str(y.shape),
        m.name,
        layer.name,
        m.count_params(),
        [list(w.shape) for w in m.weights],
        [w.name for w in layer.weights],
    ]


@program
def before_compile(keras):
    try:
        mlp(keras).fit(DATA, ONE_HOT, verbose=0)
    except ValueError as e:
        return "compile" in str(e)
