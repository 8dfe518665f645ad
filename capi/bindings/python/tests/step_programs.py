"""Small programs of optimizers of one's own, and of what stands around a model's own steps. Each runs on TensorFlow with
Keras and on dl4, unchanged, with equal results.

A program takes `tf` and `keras` and gives numbers."""

import collections
import tempfile
import warnings

import numpy as np

from programs import Programs

PROGRAMS = program = Programs()
R = np.random.RandomState(3)
X, Y = R.normal(size=(40, 3)).astype("float32"), R.normal(size=(40, 2)).astype("float32")
SCHEDULE = {"initial_learning_rate": 0.1, "decay_steps": 2, "decay_rate": 0.5}


def lion(keras):
    ops = keras.ops

    class Lion(keras.optimizers.Optimizer):
        def __init__(self, learning_rate=0.01, beta=0.9, name="own", **kwargs):
            super().__init__(learning_rate=learning_rate, name=name, **kwargs)
            self.beta = beta

        def build(self, variables):
            if self.built:
                return
            super().build(variables)
            self.moments = [self.add_variable_from_reference(v, name="moment") for v in variables]

        def update_step(self, gradient, variable, learning_rate):
            rate = ops.cast(learning_rate, variable.dtype)
            moment = self.moments[self._get_variable_index(variable)]
            count = ops.cast(self.iterations + 1, variable.dtype)
            self.assign(moment, self.beta * moment + (1 - self.beta) * gradient)
            self.assign_sub(variable, rate * ops.sign(moment) * (1 + 1 / count))

        def get_config(self):
            return {**super().get_config(), "beta": self.beta}

    return Lion


def halved(keras):
    class Halved(keras.optimizers.Adam):
        def update_step(self, gradient, variable, learning_rate):
            super().update_step(gradient * 0.5, variable, learning_rate)

    return Halved


def stepping(keras):
    class Stepping(keras.Model):
        def train_step(self, data):
            return super().train_step(data)

    return Stepping


def made(keras, optimizer, cls=None, **how):
    x = keras.Input((3,))
    m = (cls or keras.Model)(x, keras.layers.Dense(2, kernel_initializer="ones")(x))
    m.compile(optimizer, "mse", **how)
    return m


def fitted(m, epochs=3, **how):
    h = m.fit(X, Y, **{"batch_size": 8, "epochs": epochs, "shuffle": False, "verbose": 0, **how})
    return [h.history[k] for k in sorted(h.history)], m.get_weights(), int(m.optimizer.iterations)


@program
def optimizers_of_ones_own(tf, keras):
    Lion = lion(keras)
    given = [
        {},
        {"clipnorm": 1.0},
        {"clipvalue": 0.01},
        {"weight_decay": 0.1, "global_clipnorm": 0.5},
        {"use_ema": True, "ema_momentum": 0.5},
        {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2},
    ]
    return [fitted(made(keras, Lion(0.01, **how))) for how in given]


@program
def optimizers_of_ones_own_run_eagerly(tf, keras):
    return [fitted(made(keras, o(0.01), run_eagerly=True), 1) for o in (lion(keras), halved(keras))]


@program
def an_optimizer_s_config(tf, keras):
    Lion = lion(keras)
    o = Lion.from_config(Lion(0.02, beta=0.5, weight_decay=0.1).get_config())
    return sorted(o.get_config()), o.beta, o.weight_decay, float(o.learning_rate), fitted(made(keras, o))


@program
def update_step_around_the_library_s(tf, keras):
    Halved = halved(keras)
    return [fitted(made(keras, Halved(r))) for r in (0.01, keras.optimizers.schedules.ExponentialDecay(**SCHEDULE))]


@program
def apply_of_ones_own(tf, keras):
    class Scaled(keras.optimizers.SGD):
        def apply(self, grads, trainable_variables=None):
            super().apply([0.5 * g for g in grads], trainable_variables)

    return fitted(made(keras, Scaled(0.1, momentum=0.9)))


@program
def weight_decay_that_leaves_some_alone(tf, keras):
    o = lion(keras)(0.01, weight_decay=0.5)
    o.exclude_from_weight_decay(var_names=["bias"])
    m = made(keras, o)
    m.layers[1].bias.assign([1.0, 2.0])
    return fitted(m)


@program
def by_hand(tf, keras):
    v = keras.Variable(np.ones(3, "float32"))
    got = []
    for o in (lion(keras)(0.1), halved(keras)(0.1)):
        o.build([v])
        for g in ([1.0, -1.0, 2.0], [1.0, 1.0, -2.0]):
            o.apply([tf.constant(g)], [v])
        o.apply([tf.constant([0.5, 0.5, 0.5])])
        got += [np.array(v), int(o.iterations), len(o.variables)]
    return got


@program
def in_a_traced_step(tf, keras):
    v, o = keras.Variable(np.ones(3, "float32")), lion(keras)(0.1)
    o.build([v])

    @tf.function
    def step(g):
        o.apply([g], [v])
        return v + 0.0

    return step(tf.constant([1.0, 2.0, 3.0])), step(tf.constant([1.0, 2.0, -9.0])), int(o.iterations)


@program
def a_rate_that_a_callback_sets(tf, keras):
    class Slower(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.model.optimizer.learning_rate = 0.1 / (epoch + 1)

    return [
        fitted(made(keras, o, cls), callbacks=[Slower()])
        for o, cls in ((lion(keras)(0.01), None), (keras.optimizers.Adam(0.01), stepping(keras)))
    ]


@program
def averages_and_scales_where_steps_train(tf, keras):
    given = [
        keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.5),
        keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2),
        keras.optimizers.SGD(0.01, loss_scale_factor=4.0),
        keras.optimizers.SGD(0.01, clipnorm=0.1, weight_decay=0.1, use_ema=True),
    ]
    return [fitted(made(keras, o, stepping(keras))) for o in given]


@program
def averages_that_a_callback_swaps_in(tf, keras):
    got = []
    for on_epoch in (False, True):
        m = made(keras, keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5), stepping(keras))
        swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=on_epoch)
        got.append(fitted(m, validation_data=(X, Y), callbacks=[swap]))
        got.append(m.evaluate(X, Y, verbose=0, callbacks=[keras.callbacks.SwapEMAWeights()]))
        got.append(m.get_weights())
    return got


@program
def a_fit_that_goes_on(tf, keras):
    """From the backup of one that was interrupted."""

    class Interrupt(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise KeyboardInterrupt

    got = []
    for make in (
        lambda: made(keras, keras.optimizers.Adam(0.01), stepping(keras)),
        lambda: made(keras, keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.5), stepping(keras)),
        lambda: made(keras, lion(keras)(0.01)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            backup = keras.callbacks.BackupAndRestore(folder, delete_checkpoint=False)
            try:
                fitted(make(), callbacks=[backup, Interrupt()])
            except KeyboardInterrupt:
                pass
            got.append(fitted(make(), callbacks=[keras.callbacks.BackupAndRestore(folder)]))
        got.append(fitted(make())[1:])
    return got


@program
def steps_per_epoch_of_arrays(tf, keras):
    """An epoch goes on where the last one ended."""
    got = []
    for steps in (2, 3, 5, 7):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for cls in (None, stepping(keras)):
                m = made(keras, keras.optimizers.SGD(0.1), cls)
                got.append(fitted(m, 4, steps_per_epoch=steps))
        got.append(sum("ran out of data" in str(w.message) for w in found))
    return got


@program
def steps_per_epoch_of_a_data_set(tf, keras):
    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return X[8 * i : 8 * i + 8], Y[8 * i : 8 * i + 8]

    got = []
    for cls in (None, stepping(keras)):
        for steps in (2, 3):
            for data in (Batches(), tf.data.Dataset.from_tensor_slices((X[:24], Y[:24])).batch(8)):
                m = made(keras, keras.optimizers.SGD(0.1), cls)
                h = m.fit(data, steps_per_epoch=steps, epochs=4, shuffle=False, verbose=0)
                got.append(h.history["loss"])
    return got


@program
def functions_of_steps(tf, keras):
    hits = []

    class Counting(keras.Model):
        def make_train_function(self, force=False):
            super().make_train_function(force)
            self.train_function = self.counted(self.train_function, 1)
            return self.train_function

        def make_test_function(self, force=False):
            super().make_test_function(force)
            self.test_function = self.counted(self.test_function, 2)
            return self.test_function

        def make_predict_function(self, force=False):
            super().make_predict_function(force)
            self.predict_function = self.counted(self.predict_function, 3)
            return self.predict_function

        def counted(self, function, number):
            def call(iterator):
                hits.append(number)
                return function(iterator)

            return call

    m = made(keras, keras.optimizers.SGD(0.1), Counting)
    got = [fitted(m, 1, validation_data=(X, Y)), m.evaluate(X, Y, batch_size=20, verbose=0)]
    return got, m.predict(X, batch_size=20, verbose=0), sorted(hits)


def hearing(keras, stop=None):
    """A callback that writes down what it hears; `stop`: where it ends an evaluation."""

    class Hearing(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.heard = []

        def on_train_batch_begin(self, batch, logs=None):
            self.heard.append(f"train {batch}")

        def on_train_batch_end(self, batch, logs=None):
            self.heard.append(f"trained {batch} {sorted(logs)}")

        def on_test_batch_begin(self, batch, logs=None):
            self.heard.append(f"test {batch}")

        def on_test_batch_end(self, batch, logs=None):
            self.heard.append(f"tested {batch} {sorted(logs)}")
            self.model.stop_evaluating = batch == stop

        def on_predict_batch_begin(self, batch, logs=None):
            self.heard.append(f"predict {batch}")

        def on_predict_batch_end(self, batch, logs=None):
            self.heard.append(f"predicted {batch} {sorted(logs)}")
            self.model.stop_predicting = batch == stop

        def on_epoch_end(self, epoch, logs=None):
            self.heard.append(f"epoch {epoch}")

        def on_test_end(self, logs=None):
            self.heard.append("tested")

    return Hearing()


@program
def callbacks_of_several_steps_in_one(tf, keras):
    got = []
    for cls in (None, stepping(keras)):
        for n in (2, 3, 9):
            c, m = hearing(keras), made(keras, keras.optimizers.SGD(0.1), cls, steps_per_execution=n, metrics=["mae"])
            got.append(fitted(m, 2, validation_data=(X, Y), callbacks=[c], batch_size=9))
            m.predict(X, batch_size=9, callbacks=[c], verbose=0)
            got.append(c.heard)
    return got


@program
def a_callback_ends_an_evaluation(tf, keras):
    got = []
    for cls in (None, stepping(keras)):
        c, m = hearing(keras, 2), made(keras, keras.optimizers.SGD(0.1), cls)
        endless = ((X[:4], Y[:4]) for _ in iter(int, 1))
        got.append(m.evaluate(endless, callbacks=[c], verbose=0))
        got.append(m.predict(((X[:4],) for _ in iter(int, 1)), callbacks=[c], verbose=0).shape)
        got.append(c.heard)
    return got


@program
def data_sets_without_an_end(tf, keras):
    class Endless(keras.utils.PyDataset):
        @property
        def num_batches(self):
            return None

        def __getitem__(self, i):
            i = i % 5
            return X[8 * i : 8 * i + 8], Y[8 * i : 8 * i + 8]

    got = []
    for cls in (None, stepping(keras)):
        m = made(keras, keras.optimizers.SGD(0.1), cls)
        h = m.fit(Endless(), steps_per_epoch=4, epochs=3, shuffle=False, verbose=0)
        got.append(h.history["loss"])
    return got


@program
def nests(tf, keras):
    Point = collections.namedtuple("Point", "x y")
    ordered = collections.OrderedDict([("b", 1), ("a", [2, 3])])
    nest = {"b": (1, 2), "a": [Point(3, {"z": 4}), collections.deque([5])], "c": None, "o": ordered}
    t, seen = keras.tree, []
    got = [repr(t.flatten(nest)), repr(t.flatten_with_path(nest)), repr(t.is_nested(ordered)), repr(t.is_nested("ab"))]
    got.append(repr(t.map_structure(lambda x, y: (x, y), nest, nest)))
    got.append(repr(t.pack_sequence_as(nest, range(9))))
    got.append(repr(t.traverse(lambda x: seen.append(repr(x)), nest)))
    got.append(repr(t.traverse(lambda x: t.MAP_TO_NONE if x == 4 else x + 1 if isinstance(x, int) else None, nest)))
    got.append(repr(t.traverse(lambda x: tuple(x) if isinstance(x, list) else None, nest, top_down=False)))
    got.append(repr(t.lists_to_tuples(nest)))
    got.append(repr(t.map_shape_structure(lambda s: (*s, 7), {"x": (1, None), "y": [(2,), [3, 4]]})))
    got.append(repr(t.map_structure_up_to([1, [2]], lambda a, b: a + len(b), [1, [2]], [[3, 4], [[5]]])))
    t.assert_same_structure(nest, nest)
    t.assert_same_paths([1, {"a": 2}], (1, {"a": 3}))
    for f in (
        lambda: t.assert_same_structure([1, 2], [1]),
        lambda: t.assert_same_structure([1], (1,)),
        lambda: t.map_structure(lambda x, y: x, {"a": 1}, {"b": 1}),
        lambda: t.pack_sequence_as([1, 2], [1]),
        lambda: t.assert_same_paths([1], [[1]]),
        lambda: t.map_structure(max),
    ):
        try:
            got.append(f())
        except ValueError:
            got.append("refused")
    return got, seen


@program
def settings_that_limit_a_fit(tf, keras):
    got = []
    keras.config.set_max_epochs(2)
    keras.config.set_max_steps_per_epoch(3)
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for cls in (None, stepping(keras)):
                m = made(keras, keras.optimizers.SGD(0.1), cls)
                got.append(fitted(m, 4, validation_data=(X, Y), validation_batch_size=8))
                got += [m.evaluate(X, Y, batch_size=8, verbose=0), m.predict(X, batch_size=8, verbose=0).shape]
        got.append(sorted({str(w.message) for w in found if "Limiting" in str(w.message)}))
        got += [keras.config.max_epochs(), keras.config.max_steps_per_epoch()]
    finally:
        keras.config.set_max_epochs(None)
        keras.config.set_max_steps_per_epoch(None)
    return got
