"""How fit(), evaluate() and predict() go over data, what callbacks are told, what is trained."""

import numpy as np

import warnings

from . import program, raised

R = np.random.default_rng(5)
X, Y = R.normal(size=(22, 3)).astype("float32"), R.normal(size=(22, 1)).astype("float32")


def net(keras, optimizer=None, **compiled):
    m = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, kernel_initializer="ones")])
    m.compile(optimizer or keras.optimizers.SGD(0.1), "mse", **compiled)
    return m


def warned(f):
    """What f gives, and whether it warned of data that ran out."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        got = f()
    return got, float(any("ran out of data" in str(w.message) for w in seen))


@program
def steps_of_arrays(keras):
    """5 batches of arrays, 2 of them an epoch: each epoch goes on where the last one ended."""
    m = net(keras)
    h = m.fit(X, Y, batch_size=5, epochs=3, steps_per_epoch=2, shuffle=False, verbose=0)
    return h.history["loss"], m.get_weights(), h.params["steps"]


@program
def steps_that_run_out(keras):
    m = net(keras)
    h, out = warned(lambda: m.fit(X, Y, batch_size=5, epochs=3, steps_per_epoch=7, shuffle=False, verbose=0))
    return h.history["loss"], len(h.epoch), out


@program
def steps_of_validation(keras):
    m = net(keras)
    h = m.fit(
        X,
        Y,
        batch_size=5,
        epochs=4,
        shuffle=False,
        verbose=0,
        validation_data=(X, Y),
        validation_freq=2,
        validation_steps=2,
        validation_batch_size=4,
    )
    return h.history["loss"], h.history["val_loss"]


@program
def steps_of_evaluate_and_predict(keras):
    m = net(keras, metrics=["mae"])
    more, out = warned(lambda: m.evaluate(X, Y, batch_size=5, steps=9, verbose=0))
    return m.evaluate(X, Y, batch_size=5, steps=2, verbose=0), more, out, m.predict(X, batch_size=5, steps=2, verbose=0)


@program
def logs_of_tests_and_predictions(keras):
    seen = []

    class See(keras.callbacks.Callback):
        def on_test_end(self, logs=None):
            seen.append(" ".join(sorted(logs)))

        def on_predict_batch_end(self, batch, logs=None):
            seen.append(np.asarray(logs["outputs"]))

    m = net(keras, metrics=["mae"])
    m.fit(X, Y, verbose=0, callbacks=[See()], validation_split=0.5)
    m.predict(X[:6], batch_size=3, verbose=0, callbacks=[See()])
    return seen[0], np.shape(seen[1]), len(seen)


@program
def weights_set_by_a_callback(keras):
    class Set(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.set_weights([np.full((3, 1), batch), np.zeros(1)])

    m = net(keras)
    h = m.fit(X, Y, batch_size=5, verbose=0, callbacks=[Set()], shuffle=False)
    return m.get_weights(), h.history["loss"]


@program
def which_is_better_is_told_by_the_metric(keras):
    def stopped(monitor, **more):
        m = net(keras, metrics=["mae", "accuracy", keras.metrics.R2Score(name="r2")])
        stop = keras.callbacks.EarlyStopping(monitor, patience=0, min_delta=100, **more)
        return len(m.fit(X, Y, epochs=3, verbose=0, callbacks=[stop]).epoch)

    def one(y, p):
        return keras.ops.mean(p)

    def unknown():
        m = net(keras, metrics=[one])
        m.fit(X, Y, verbose=0, callbacks=[keras.callbacks.EarlyStopping("one")])

    return stopped("mae"), stopped("r2"), stopped("accuracy", mode="min"), raised(unknown)


@program
def adversaries(keras):
    """Two models that share one, which the second does not train, in turn."""
    judge = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, "sigmoid", kernel_initializer="ones")])
    judge.compile(keras.optimizers.Adam(0.1), "binary_crossentropy")
    maker = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, kernel_initializer="ones")])
    ones, losses = np.ones((22, 1)), [judge.train_on_batch(X, np.ones((22, 1)))]
    judge.trainable = False
    z = keras.Input((2,))
    both = keras.Model(z, judge(maker(z)))
    both.compile(keras.optimizers.Adam(0.1), "binary_crossentropy")
    for _ in range(3):
        losses += [judge.train_on_batch(X, 0 * ones), both.train_on_batch(X[:, :2], ones)]
    return losses, judge.get_weights(), maker.get_weights()


@program
def an_optimizer_is_for_its_variables(keras):
    optimizer = keras.optimizers.Adam()
    net(keras, optimizer).fit(X, Y, verbose=0)
    return raised(lambda: net(keras, optimizer).fit(X, Y, verbose=0))


@program
def a_seed_repeats_a_fit(keras):
    losses = []
    for _ in range(2):
        keras.utils.set_random_seed(3)
        m = keras.Sequential(
            [keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
        )
        m.compile("adam", "mse")
        losses.append(m.fit(X, Y, verbose=0, epochs=2, batch_size=4).history["loss"])
        losses.append(m.fit(X, Y, verbose=0, epochs=2, batch_size=4, steps_per_epoch=3).history["loss"])
    return [float(losses[:2] == losses[2:])]
