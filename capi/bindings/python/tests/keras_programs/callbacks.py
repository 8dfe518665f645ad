"""Callbacks: Keras's own and those of programs."""

import numpy as np

import os
import tempfile

from . import DATA, ONE_HOT, mlp, program


def fit(keras, *callbacks, epochs=4, rate=0.1, **more):
    m = mlp(keras)
    m.compile(keras.optimizers.SGD(rate), "mse", metrics=["mae"])
    return m, m.fit(DATA, ONE_HOT, epochs=epochs, verbose=0, shuffle=False, callbacks=list(callbacks), **more)


@program
def early_stopping(keras):
    m, h = fit(keras, keras.callbacks.EarlyStopping("loss", min_delta=0.01, patience=1), epochs=10)
    return h.history["loss"], len(h.epoch), m.get_weights()


@program
def early_stopping_restores(keras):
    m, h = fit(
        keras,
        keras.callbacks.EarlyStopping(monitor="val_loss", patience=1, restore_best_weights=True),
        epochs=6,
        rate=3.0,
        validation_split=0.3,
    )
    return len(h.epoch), m.get_weights()


@program
def plateau(keras):
    m, h = fit(
        keras, keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=1, min_delta=0.05), epochs=6
    )
    return h.history["loss"], float(np.asarray(m.optimizer.learning_rate))


@program
def rate_scheduler(keras):
    def rate(epoch, now):
        return 0.1 if epoch < 2 else now * 0.5

    m, h = fit(keras, keras.callbacks.LearningRateScheduler(rate))
    return h.history["loss"], h.history["learning_rate"], float(np.asarray(m.optimizer.learning_rate))


@program
def nan_ends_the_fit(keras):
    m = mlp(keras)
    m.compile("sgd", "mse")
    x = DATA.copy()
    x[20] = np.nan
    h = m.fit(
        x, ONE_HOT, batch_size=8, epochs=3, verbose=0, shuffle=False, callbacks=[keras.callbacks.TerminateOnNaN()]
    )
    return len(h.epoch)


@program
def csv_log(keras):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.csv")
        _, h = fit(keras, keras.callbacks.CSVLogger(path))
        with open(path) as f:
            lines = f.read().split()
    return lines[0], len(lines), [float(line.split(",")[1]) for line in lines[1:]]


@program
def every_batch(keras):
    told = []

    class Tell(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            told.append(f"begin {batch}")

        def on_train_batch_end(self, batch, logs=None):
            told.append(f"end {batch} {logs['loss']:.4f}")

    fit(keras, Tell(), epochs=2, batch_size=16)
    return told


@program
def own_weights_in_a_callback(keras):
    kept = []

    class Keep(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            kept.append(self.model.get_weights()[0])

    fit(keras, Keep(), epochs=2)
    return kept


@program
def stops_in_mid_epoch(keras):
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                self.model.stop_training = True

    _, h = fit(keras, Stop(), batch_size=8)
    return h.epoch, h.history["loss"]


@program
def params_of_a_fit(keras):
    seen = {}

    class See(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.update(self.params)

    fit(keras, See(), epochs=3, batch_size=16)
    return seen["epochs"], seen["steps"], seen["verbose"]


@program
def callbacks_of_evaluate_and_predict(keras):
    told = []

    class Tell(keras.callbacks.Callback):
        def on_test_begin(self, logs=None):
            told.append("test")

        def on_test_end(self, logs=None):
            told.append(f"tested {sorted(logs)}")

        def on_predict_begin(self, logs=None):
            told.append("predict")

        def on_predict_end(self, logs=None):
            told.append("predicted")

    m, _ = fit(keras, epochs=1)
    m.evaluate(DATA, ONE_HOT, verbose=0, callbacks=[Tell()])
    m.predict(DATA, verbose=0, callbacks=[Tell()])
    return told


@program
def history_as_a_callback(keras):
    h = keras.callbacks.History()
    m, got = fit(keras, h, epochs=2)
    return h.history["loss"], h.epoch, sorted(m.history.history)


@program
def several_callbacks_in_order(keras):
    told = []

    def teller(name):
        return keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: told.append(f"{name} {epoch}"))

    fit(keras, teller("a"), teller("b"), epochs=2)
    return told


@program
def lambda_callback_on_batches(keras):
    told = []
    fit(
        keras,
        keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: told.append(batch)),
        epochs=1,
        batch_size=20,
    )
    return told


@program
def swapped_averages(keras):
    m = mlp(keras)
    m.compile(keras.optimizers.SGD(0.5, use_ema=True, ema_momentum=0.9), "mse")
    h = m.fit(
        DATA,
        ONE_HOT,
        epochs=2,
        verbose=0,
        shuffle=False,
        validation_data=(DATA, ONE_HOT),
        callbacks=[keras.callbacks.SwapEMAWeights(swap_on_epoch=True)],
    )
    return h.history["val_loss"], m.get_weights()
