"""Classes that override a method of one of Keras's."""

import numpy as np

from . import numbers, program

X = numbers(20, 3)
Y = numbers(20, 1, seed=1)


def dense(keras, cls=None, units=1, **config):
    return (cls or keras.layers.Dense)(units, kernel_initializer="ones", **config)


def through(keras, layer, x=X[:3]):
    return keras.Sequential([keras.Input(x.shape[1:]), layer]).predict(x, verbose=0)


def fitted(keras, layer, optimizer="sgd", loss="mse", **how):
    m = keras.Sequential([keras.Input((3,)), layer])
    m.compile(optimizer, loss, **how)
    h = m.fit(X, Y, epochs=2, batch_size=5, verbose=0, shuffle=False, validation_data=(X[:7], Y[:7]))
    return m, [h.history[key] for key in sorted(h.history)]


@program
def dense_that_goes_on(keras):
    class More(keras.layers.Dense):
        def call(self, x, training=None):
            return super().call(x) * 2 + 1

    m, history = fitted(keras, dense(keras, More, activity_regularizer="l2", kernel_regularizer="l2"))
    return history, m.get_weights(), m(X[:2]), [float(v) for v in m.losses]


@program
def dense_with_a_weight_more(keras):
    class Extra(keras.layers.Dense):
        def build(self, shape):
            super().build(shape)
            self.extra = self.add_weight(shape=(1,), initializer="ones", name="extra")

        def call(self, x):
            return super().call(x) + self.extra * 5

    m, history = fitted(keras, dense(keras, Extra))
    return history, [w.name for w in m.weights], m.get_weights()


@program
def dropout_that_always_drops(keras):
    class Always(keras.layers.Dropout):
        def call(self, x, training=None):
            return super().call(x, training=True)

    y = through(keras, Always(0.5), np.ones((4, 3), "float32"))
    return sorted(set(np.unique(y)) | {0.0, 2.0})


@program
def convolution_and_recurrence_that_go_on(keras):
    class Positive(keras.layers.Conv2D):
        def call(self, x):
            return keras.ops.relu(super().call(x))

    class Thrice(keras.layers.LSTM):
        def call(self, sequences, initial_state=None, mask=None, training=False):
            return super().call(sequences, initial_state=initial_state, mask=mask, training=training) * 3

    image = numbers(1, 4, 4, 1)
    lstm = Thrice(2, kernel_initializer="ones", recurrent_initializer="ones")
    return through(keras, dense(keras, Positive, kernel_size=3), image), through(keras, lstm, numbers(2, 4, 2))


@program
def mask_of_ones_own(keras):
    class Last(keras.layers.Dense):
        def compute_mask(self, inputs, mask=None):
            return keras.ops.any(keras.ops.abs(inputs) > 1.0, axis=-1)

    class Off(keras.layers.Embedding):
        def compute_mask(self, inputs, mask=None):
            return None

    x = keras.Input((4, 3))
    lstm = [keras.layers.LSTM(2, kernel_initializer="ones", recurrent_initializer="ones") for _ in range(2)]
    i = keras.Input((4,), dtype="int32")
    off = Off(5, 3, embeddings_initializer="ones", mask_zero=True)
    a, b = keras.Model(x, lstm[0](dense(keras, Last)(x))), keras.Model(i, lstm[1](off(i)))
    return a.predict(numbers(3, 4, 3), verbose=0), b.predict(np.array([[1, 2, 0, 0], [1, 0, 0, 1]]), verbose=0)


@program
def losses_that_go_on(keras):
    class Hundred(keras.losses.MeanSquaredError):
        def call(self, y_true, y_pred):
            return super().call(y_true, y_pred) * 100

    class Twice(keras.losses.SparseCategoricalCrossentropy):
        def call(self, y_true, y_pred):
            return super().call(y_true, y_pred) * 2

    m = keras.Sequential([keras.Input((3,)), dense(keras, units=3, activation="softmax")])
    m.compile("sgd", Twice(), metrics=["accuracy"])
    return fitted(keras, dense(keras), loss=Hundred())[1], m.evaluate(X, np.arange(20) % 3, verbose=0)


@program
def metrics_that_go_on(keras):
    class Hundred(keras.metrics.MeanAbsoluteError):
        def result(self):
            return super().result() * 100

    class Classes(keras.metrics.MeanIoU):
        def update_state(self, y_true, y_pred, sample_weight=None):
            return super().update_state(y_true, keras.ops.argmax(y_pred, -1), sample_weight)

    class Sum(keras.metrics.Metric):
        def __init__(self, name="sum"):
            super().__init__(name=name)
            self.total = self.add_variable((), "zeros", name="total")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.total.assign_add(keras.ops.sum(keras.ops.abs(y_true - y_pred)))

        def result(self):
            return self.total + 0.0

        def reset_state(self):
            self.total.assign(0.0)

    m, history = fitted(keras, dense(keras), metrics=[Hundred(name="hundred"), "mae", Sum()])
    n = keras.Sequential([keras.Input((3,)), dense(keras, units=2, activation="softmax")])
    n.compile("sgd", "sparse_categorical_crossentropy", metrics=[Classes(2)])
    return (
        history,
        m.evaluate(X, Y, verbose=0),
        m.train_on_batch(X, Y),
        n.evaluate(X, (Y > 0).astype(int), verbose=0),
    )


@program
def parts_that_go_on(keras):
    class Clipped(keras.constraints.Constraint):
        def __call__(self, w):
            return keras.ops.clip(w, -0.1, 0.1)

    class Half(keras.constraints.MaxNorm):
        def __call__(self, w):
            return super().__call__(w) * 0.5

    class Thrice(keras.initializers.Constant):
        def __call__(self, shape, dtype=None, **kwargs):
            return super().__call__(shape, dtype) * 3

    class Slow(keras.optimizers.schedules.ExponentialDecay):
        def __call__(self, step):
            return super().__call__(step) * 0.5

    found = [
        fitted(keras, dense(keras, kernel_constraint=Clipped())),
        fitted(keras, dense(keras, kernel_constraint=Half(1.0))),
        fitted(keras, keras.layers.Dense(1, kernel_initializer=Thrice(0.2), bias_initializer=Thrice(0.1))),
        fitted(keras, dense(keras), keras.optimizers.SGD(Slow(0.1, 2, 0.5))),
    ]
    lstm = keras.layers.LSTM(2, recurrent_initializer=Thrice(0.2), bias_initializer=Thrice(0.1))
    lstm.build((None, 4, 3))
    return [(history, m.get_weights()) for m, history in found], lstm.get_weights()[1:]


@program
def stopping_that_counts(keras):
    told = []

    class Stop(keras.callbacks.EarlyStopping):
        def on_epoch_end(self, epoch, logs=None):
            told.append(epoch)
            super().on_epoch_end(epoch, logs)

    stop = Stop(monitor="loss", patience=1, min_delta=100)
    m = keras.Sequential([keras.Input((3,)), dense(keras)])
    m.compile("sgd", "mse")
    m.fit(X, Y, epochs=5, verbose=0, shuffle=False, callbacks=[stop])
    return told, stop.stopped_epoch, stop.best, stop.wait


@program
def steps_that_go_on(keras):
    class Mine(keras.Model):
        def __init__(self):
            super().__init__()
            self.d = dense(keras, kernel_regularizer="l2", activity_regularizer="l2")

        def call(self, x):
            return self.d(x)

    class TenTimes(Mine):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return super().compute_loss(x, y, y_pred, sample_weight) * 10

    class Told(Mine):
        def test_step(self, data):
            return {**super().test_step(data), "told": keras.ops.convert_to_tensor(5.0)}

    class Seven(Mine):
        def predict_step(self, data):
            return super().predict_step(data) * 0 + 7

    def evaluated(cls):
        m = cls()
        m.compile("sgd", "mse", metrics=["mae"])
        logs = m.evaluate(X, Y, batch_size=8, verbose=0, return_dict=True)
        return sorted(logs), [logs[key] for key in sorted(logs)]

    m = Told()
    m.compile("sgd", "mse", metrics=["mae"])
    h = m.fit(X, Y, epochs=2, verbose=0, shuffle=False, validation_data=(X, Y)).history
    seven = Seven().predict(X, batch_size=8, verbose=0)
    return evaluated(TenTimes), evaluated(Told), evaluated(Mine), seven, [h[key] for key in sorted(h)]


@program
def models_whose_call_goes_on(keras):
    class Graph(keras.Model):
        def __init__(self):
            x = keras.Input((3,))
            super().__init__(x, dense(keras)(x))
            self.k = 5.0

        def call(self, x, training=None, mask=None):
            return super().call(x) * self.k

    class Row(keras.Sequential):
        def call(self, x, training=None, mask=None):
            return super().call(x) * 5.0

    found = []
    for m in (Graph(), Row([keras.Input((3,)), dense(keras)])):
        m.compile("sgd", "mse")
        found += [m.predict(X[:3], verbose=0), m.fit(X, Y, verbose=0, shuffle=False).history["loss"], m.get_weights()]
    return found
