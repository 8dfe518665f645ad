"""How fit(), evaluate() and predict() go over data, what callbacks are told, what is trained."""

import os
import tempfile
import warnings

import numpy as np

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
def validation_after_listed_epochs(keras):
    h = net(keras).fit(X, Y, epochs=4, shuffle=False, verbose=0, validation_split=0.3, validation_freq=[1, 4])
    return h.history["val_loss"], h.history["loss"]


def teller(keras):
    told = []

    def method(name):
        def tell(self, *arguments, **logs):
            number = [str(a) for a in arguments if isinstance(a, int)]
            told.append(" ".join([name, *number]))

        return tell

    names = [n for n in dir(keras.callbacks.Callback) if n.startswith("on_") and "_batch" in n or n[-6:] == "_begin"]
    names += ["on_train_end", "on_epoch_end", "on_test_end", "on_predict_end"]
    own = {n: method(n) for n in names if n not in ("on_batch_begin", "on_batch_end")}
    return type("Tell", (keras.callbacks.Callback,), own)(), told


@program
def order_of_callbacks(keras):
    m = net(keras)
    tell, told = teller(keras)
    m.fit(X, Y, batch_size=11, verbose=0, callbacks=[tell], validation_data=(X, Y), validation_batch_size=11)
    m.evaluate(X, Y, batch_size=11, verbose=0, callbacks=[tell])
    m.predict(X, batch_size=11, verbose=0, callbacks=[tell])
    return told


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
def watches_without_validation(keras):
    """EarlyStopping, ModelCheckpoint and ReduceLROnPlateau by default want val_loss: they warn, and the fit goes on."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        c = keras.callbacks
        path = os.path.join(folder, "best.keras")
        watching = [c.EarlyStopping(patience=1), c.ModelCheckpoint(path, save_best_only=True), c.ReduceLROnPlateau()]
        h = net(keras).fit(X, Y, epochs=3, shuffle=False, verbose=0, callbacks=watching)
        there = os.path.exists(path)
    texts = " ".join(str(w.message) for w in seen)
    words = ("Early stopping conditioned on metric `val_loss`", "save best model only with val_loss", "rate reduction is")
    return h.history["loss"], float(there), [float(w in texts) for w in words]


@program
def what_watches_tell(keras):
    with tempfile.TemporaryDirectory() as folder:
        stop = keras.callbacks.EarlyStopping("loss", patience=0, min_delta=100, restore_best_weights=True)
        keep = keras.callbacks.ModelCheckpoint(os.path.join(folder, "best.keras"), "loss", save_best_only=True)
        m = net(keras)
        h = m.fit(X, Y, epochs=5, shuffle=False, verbose=0, callbacks=[stop, keep])
    return stop.stopped_epoch, stop.best, stop.wait, stop.best_epoch, keep.best, len(h.epoch), m.get_weights()


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
def frozen_before_it_is_trained(keras):
    """What is trainable is told when training begins; the loss is there without any."""
    m = net(keras)
    m.trainable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        h = m.fit(X, Y, epochs=2, verbose=0, shuffle=False)
        one = m.train_on_batch(X, Y)
    m.trainable = True
    m.fit(X, Y, verbose=0)
    return h.history["loss"], one, m.get_weights(), int(m.optimizer.iterations)


@program
def frozen_after_it_was_trained(keras):
    """As in Keras it takes a compile() for that to count."""
    m = net(keras)
    m.fit(X, Y, verbose=0, shuffle=False)
    m.layers[0].trainable = False
    m.fit(X, Y, verbose=0, shuffle=False)
    moved = m.get_weights()
    m.compile("sgd", "mse")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m.fit(X, Y, verbose=0, shuffle=False)
    return moved, m.get_weights()


@program
def metrics_show_what_was_measured(keras):
    mae = keras.metrics.MeanAbsoluteError(name="far")
    m = net(keras, metrics=[mae, "mse"])
    m.fit(X, Y, verbose=0, shuffle=False)
    fitted = float(np.asarray(mae.result()))
    logs = m.evaluate(X, Y, verbose=0, return_dict=True)
    result = m.get_metrics_result()
    return fitted, float(np.asarray(mae.result())), [float(result[k]) for k in sorted(logs)], m.metrics_names


@program
def gradients_by_hand(keras):
    found = []
    gradients = [np.array([1.0, -2.0, 0.5], "float32"), np.array([[0.1]], "float32")]
    for optimizer in (
        keras.optimizers.SGD(0.1, momentum=0.9),
        keras.optimizers.Adam(0.1),
        keras.optimizers.RMSprop(0.1, clipnorm=1.0, weight_decay=0.1),
    ):
        variables = [keras.Variable(np.ones(3, "float32")), keras.Variable(np.zeros((1, 1), "float32"))]
        for _ in range(3):
            optimizer.apply(gradients, variables)
        optimizer.apply_gradients(zip(gradients, variables))
        found += [np.asarray(v) for v in variables] + [int(optimizer.iterations)]
    return found


@program
def what_an_optimizer_keeps(keras):
    m = net(keras, keras.optimizers.Adam(0.1))
    m.fit(X, Y, batch_size=5, verbose=0, shuffle=False)
    kept = m.optimizer.variables
    return len(kept), int(np.asarray(kept[0])), [np.asarray(v) for v in kept[1:]]


@program
def an_optimizer_is_for_its_variables(keras):
    optimizer = keras.optimizers.Adam()
    net(keras, optimizer).fit(X, Y, verbose=0)
    return raised(lambda: net(keras, optimizer).fit(X, Y, verbose=0))


@program
def generators_give_tuples(keras):
    m = net(keras)
    return [
        raised(lambda: m.predict((X[i : i + 5] for i in (0, 5)), verbose=0)),
        m.predict(((X[i : i + 5],) for i in (0, 5)), verbose=0),
    ]


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


@program
def frozen_by_a_callback(keras):
    """It counts from the next compile() on."""

    class Freeze(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.layers[0].trainable = False

    m = net(keras)
    m.fit(X, Y, batch_size=5, epochs=2, verbose=0, shuffle=False, callbacks=[Freeze()])
    moved, left = m.get_weights(), len(m.trainable_weights)
    m.compile("sgd", "mse")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m.fit(X, Y, verbose=0)
    return moved, left, m.get_weights()
