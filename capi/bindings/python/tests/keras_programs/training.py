"""Fitting: optimizers and schedules, freezing, weights of samples and classes, data of all kinds, dicts of outputs."""

import numpy as np

from . import DATA, LABELS, ONE_HOT, fill, mlp, numbers, program, raised


def fitted(keras, optimizer, epochs=3):
    m = mlp(keras)
    m.compile(optimizer, "categorical_crossentropy")
    return m.fit(DATA, ONE_HOT, epochs=epochs, verbose=0, shuffle=False).history["loss"], m.get_weights()


@program
def optimizers_by_name(keras):
    return [
        fitted(keras, name, 2)[0]
        for name in ("sgd", "RMSprop", "adam", "Adagrad", "adamax", "nadam", "Adadelta", "adamw", "Lion", "ftrl")
    ]


@program
def optimizers_with_settings(keras):
    o = keras.optimizers
    return [
        fitted(keras, make, 2)[0]
        for make in (
            o.SGD(0.05, momentum=0.9, nesterov=True),
            o.RMSprop(0.01, rho=0.8, momentum=0.1, centered=True),
            o.Adam(0.01, amsgrad=True),
            o.AdamW(0.01, weight_decay=0.1),
            o.Nadam(0.01, 0.8),
            o.Adagrad(0.1),
        )
    ]


@program
def clipped_gradients(keras):
    o = keras.optimizers
    return [
        fitted(keras, make, 2)[0]
        for make in (o.SGD(0.1, clipnorm=0.01), o.SGD(0.1, clipvalue=0.001), o.SGD(0.1, global_clipnorm=0.02))
    ]


@program
def ema_of_weights(keras):
    return fitted(keras, keras.optimizers.SGD(0.5, use_ema=True, ema_momentum=0.5))[1]


@program
def accumulated_steps(keras):
    return fitted(keras, keras.optimizers.SGD(0.5, gradient_accumulation_steps=2))


@program
def schedules_in_optimizers(keras):
    s = keras.optimizers.schedules
    return [
        fitted(keras, keras.optimizers.SGD(make), 3)[0]
        for make in (
            s.ExponentialDecay(0.5, 2, 0.5, staircase=True),
            s.PiecewiseConstantDecay([2, 4], [0.5, 0.2, 0.1]),
            s.PolynomialDecay(0.5, 5, 0.1, power=2.0),
            s.InverseTimeDecay(0.5, 3, 0.5),
            s.CosineDecay(0.5, 6, alpha=0.1),
            s.CosineDecayRestarts(0.5, 2),
        )
    ]


@program
def frozen_first_layers(keras):
    m = mlp(keras)
    for layer in m.layers[:-1]:
        layer.trainable = False
    m.compile("adam", "categorical_crossentropy")
    m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False)
    return m.get_weights(), [layer.trainable for layer in m.layers[1:]], len(m.trainable_variables)


@program
def frozen_model_and_thawed(keras):
    m = mlp(keras)
    m.trainable = False
    before = len(m.trainable_weights), len(m.non_trainable_weights)
    m.trainable = True
    return before, len(m.trainable_weights), [layer.trainable for layer in m.layers[1:]]


@program
def transfer_to_a_new_head(keras):
    base = mlp(keras, "relu")
    base.trainable = False
    x = keras.Input((4,))
    m = keras.Model(x, keras.layers.Dense(3, activation="softmax")(base(x, training=False)))
    fill(m)
    m.compile("adam", "categorical_crossentropy")
    m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False)
    return m.get_weights(), len(m.trainable_weights), [layer.name.split("_")[0] for layer in m.layers]


@program
def features_of_a_layer_inside(keras):
    m = mlp(keras)
    m.compile("sgd", "mse")
    m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False)
    part = keras.Model(m.input, m.layers[1].output)
    return part.predict(DATA[:3], verbose=0)


@program
def two_models_that_were_built_apart(keras):
    def tower():
        x = keras.Input((4,))
        return fill(keras.Model(x, keras.layers.Dense(5, activation="tanh")(x)))

    a, b = tower(), tower()
    y = keras.layers.Concatenate()([a.output, b.output])
    m = keras.Model([a.input, b.input], keras.layers.Dense(2)(y))
    fill(m)
    m.compile("sgd", "mse")
    h = m.fit([DATA, DATA], numbers(40, 2), epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], a.predict(DATA[:2], verbose=0), b.predict(DATA[:2], verbose=0)


@program
def two_trained_models_that_share_weights(keras):
    m = mlp(keras)
    part = keras.Model(m.input, m.layers[1].output)
    m.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    part.compile("adam", "mse")
    told = []
    for _ in range(2):
        told.append(m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False).history["loss"])
        told.append(part.fit(DATA, numbers(40, 8), epochs=1, verbose=0, shuffle=False).history["loss"])
    return told, m.get_weights()


@program
def sample_weights_of_two_outputs(keras):
    x = keras.Input((4,))
    m = fill(keras.Model(x, [keras.layers.Dense(2, name="p")(x), keras.layers.Dense(1, name="q")(x)]))
    m.compile("sgd", ["mse", "mae"])
    w = [np.linspace(0, 1, 40).astype("float32"), np.linspace(1, 0, 40).astype("float32")]
    h = m.fit(DATA, [numbers(40, 2), numbers(40, 1, seed=3)], sample_weight=w, epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], h.history["p_loss"], sorted(h.history)


@program
def weighted_metrics(keras):
    m = mlp(keras)
    m.compile("sgd", "categorical_crossentropy", metrics=["accuracy"], weighted_metrics=["mae"])
    w = np.linspace(0, 2, 40).astype("float32")
    return [m.evaluate(DATA, ONE_HOT, sample_weight=w, verbose=0)]


@program
def class_weights_of_one_hot(keras):
    m = mlp(keras)
    m.compile("sgd", "categorical_crossentropy")
    return m.fit(DATA, ONE_HOT, class_weight={0: 2.0, 2: 0.5}, epochs=2, shuffle=False, verbose=0).history["loss"]


@program
def class_weight_on_a_batch(keras):
    m = mlp(keras)
    m.compile("sgd", "sparse_categorical_crossentropy")
    loss = m.train_on_batch(DATA, LABELS, class_weight={0: 1.0, 1: 3.0, 2: 0.5})
    return float(np.asarray(loss).reshape(-1)[0]), m.get_weights()


@program
def class_and_sample_weights_together(keras):
    m = mlp(keras)
    m.compile("sgd", "sparse_categorical_crossentropy")
    return raised(lambda: m.fit(DATA, LABELS, class_weight={0: 1.0}, sample_weight=np.ones(40), verbose=0))


@program
def losses_and_targets_by_name(keras):
    x = keras.Input((4,), name="x")
    m = fill(
        keras.Model(x, [keras.layers.Dense(2, name="p")(x), keras.layers.Dense(3, activation="softmax", name="q")(x)])
    )
    m.compile(
        "sgd",
        {"p": "mse", "q": "categorical_crossentropy"},
        loss_weights={"p": 0.5, "q": 2.0},
        metrics={"q": ["accuracy"]},
    )
    h = m.fit({"x": DATA}, {"q": ONE_HOT, "p": numbers(40, 2)}, epochs=2, verbose=0, shuffle=False)
    return sorted(h.history), [h.history[k] for k in sorted(h.history)]


@program
def outputs_as_a_dict(keras):
    x = keras.Input((4,))
    m = keras.Model(x, {"p": keras.layers.Dense(2)(x), "q": keras.layers.Dense(1)(x)})
    fill(m)
    m.compile("sgd", {"p": "mse", "q": "mae"})
    h = m.fit(DATA, {"p": numbers(40, 2), "q": numbers(40, 1)}, epochs=2, verbose=0, shuffle=False)
    got = m.predict(DATA[:3], verbose=0)
    return sorted(got), got["p"], got["q"], h.history["loss"]


@program
def validation_every_second_epoch(keras):
    m = mlp(keras)
    m.compile("sgd", "mse")
    h = m.fit(
        DATA,
        ONE_HOT,
        epochs=4,
        verbose=0,
        shuffle=False,
        validation_data=(DATA[:8], ONE_HOT[:8]),
        validation_freq=2,
        validation_batch_size=4,
    )
    return h.history["val_loss"], h.epoch


@program
def validation_with_weights(keras):
    m = mlp(keras)
    m.compile("sgd", "mse")
    w = np.linspace(0, 1, 8).astype("float32")
    return m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False, validation_data=(DATA[:8], ONE_HOT[:8], w)).history[
        "val_loss"
    ]


@program
def fit_goes_on_at_an_epoch(keras):
    m = mlp(keras)
    m.compile("adam", "mse")
    a = m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False)
    b = m.fit(DATA, ONE_HOT, epochs=5, initial_epoch=2, verbose=0, shuffle=False)
    return a.epoch, b.epoch, b.history["loss"], int(np.asarray(m.optimizer.iterations))


@program
def batches_by_number(keras):
    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return DATA[8 * i : 8 * i + 8], ONE_HOT[8 * i : 8 * i + 8]

    m = mlp(keras)
    m.compile("sgd", "mse")
    h = m.fit(Batches(), epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], m.evaluate(Batches(), verbose=0), m.predict(Batches(), verbose=0)


@program
def generator_for_validation_and_predict(keras):
    def batches(labels=True):
        while True:
            yield (DATA[:8], ONE_HOT[:8]) if labels else (DATA[:8],)

    m = mlp(keras)
    m.compile("sgd", "mse")
    h = m.fit(batches(), steps_per_epoch=3, epochs=2, validation_data=batches(), validation_steps=2, verbose=0)
    return (
        h.history["loss"],
        h.history["val_loss"],
        m.evaluate(batches(), steps=2, verbose=0),
        m.predict(batches(False), steps=2, verbose=0),
    )


@program
def generator_with_weights(keras):
    def batches():
        while True:
            yield DATA[:8], ONE_HOT[:8], np.arange(8, dtype="float32")

    m = mlp(keras)
    m.compile("sgd", "mse")
    return m.fit(batches(), steps_per_epoch=2, verbose=0).history["loss"]


@program
def batches_as_dicts(keras):
    def batches():
        while True:
            yield {"x": DATA[:8]}, ONE_HOT[:8]

    m = mlp(keras)
    m.compile("sgd", "mse")
    return m.fit(batches(), steps_per_epoch=2, verbose=0).history["loss"]


@program
def train_and_test_on_batch_as_dicts(keras):
    m = mlp(keras)
    m.compile("sgd", "mse", metrics=["mae"])
    a = m.test_on_batch(DATA, ONE_HOT, return_dict=True)
    b = m.train_on_batch(DATA, ONE_HOT, return_dict=True)
    return sorted(a), [float(a[k]) for k in sorted(a)], sorted(b), [float(b[k]) for k in sorted(b)]


@program
def evaluate_weighs_the_last_batch(keras):
    m = mlp(keras)
    m.compile("sgd", "mse", metrics=["mae"])
    return m.evaluate(DATA[:37], ONE_HOT[:37], batch_size=10, verbose=0)


@program
def predict_in_batches(keras):
    m = mlp(keras)
    return m.predict(DATA, batch_size=7, verbose=0), m.predict_on_batch(DATA[:5])


@program
def predict_several_outputs(keras):
    x = keras.Input((4,))
    m = fill(keras.Model(x, [keras.layers.Dense(2)(x), keras.layers.Dense(1)(x)]))
    a, b = m.predict_on_batch(DATA[:3])
    return m.predict(DATA, batch_size=9, verbose=0), a, b


@program
def recompiled_keeps_weights(keras):
    m = mlp(keras)
    m.compile("adam", "mse")
    m.fit(DATA, ONE_HOT, epochs=1, verbose=0, shuffle=False)
    m.compile("sgd", "mae")
    return m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False).history["loss"], m.get_weights()


@program
def errors_of_fit(keras):
    m = mlp(keras)
    m.compile("sgd", "mse")

    def twice():
        m.compile("sgd", "no such loss")
        m.fit(DATA, ONE_HOT, verbose=0)

    return [
        raised(lambda: m.fit(DATA, ONE_HOT[:5], verbose=0)),
        raised(lambda: m.predict(numbers(3, 5), verbose=0)),
        raised(lambda: m.compile("no such optimizer", "mse")),
        raised(twice),
    ]
