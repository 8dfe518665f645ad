"""Small programs of gradients: tapes, train_step(), steps in tf.function. Each runs on TensorFlow with Keras and on
dl4, unchanged, with equal results.

A program takes `tf` and `keras` and gives numbers."""

import importlib

import numpy as np

from programs import Programs, raised

PROGRAMS = program = Programs()
R = np.random.RandomState(11)
X, IDS = R.normal(size=(48, 5)).astype("float32"), R.randint(0, 3, 48).astype("int32")
Y = X.sum(1, keepdims=True)
IMAGES = R.uniform(0, 1, (40, 8, 8, 1)).astype("float32")


def fill(*models):
    """Weights that follow from their shapes."""
    for m in models:
        r = np.random.RandomState(5)
        for w in m.weights:
            if w.path.split("/")[-1] in ("kernel", "recurrent_kernel", "bias", "gamma", "embeddings"):
                w.assign(0.3 * r.normal(size=w.shape))
    return models[0]


def sums(m):
    return [np.abs(np.asarray(w)).sum() for w in m.weights]


def mlp(keras, units=6, outputs=3):
    layers = keras.layers
    return fill(keras.Sequential([keras.Input((5,)), layers.Dense(units, activation="tanh"), layers.Dense(outputs)]))


def history(h):
    return [h.history[k] for k in sorted(h.history)]


# ---- tapes on arrays and variables


@program
def variables_on_a_tape(tf, keras):
    v, w = tf.Variable([1.0, -2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * v * w)
    return tape.gradient(y, [v, w]), y


@program
def watched_arrays(tf, keras):
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = tf.reduce_sum(tf.exp(-y) + x)
    with tf.GradientTape() as blind:
        u = tf.reduce_sum(x * x)
    return tape.gradient(z, x), tape.gradient(z, y), tape.gradient(y, x), str(blind.gradient(u, x))


@program
def second_order(tf, keras):
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3 + tf.sin(x)
        g = inner.gradient(y, x)
    return g, outer.gradient(g, x)


@program
def used_once(tf, keras):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    return raised(lambda: tape.gradient(y, x)).split(":")[0]


@program
def unconnected(tf, keras):
    x, y = tf.Variable(2.0), tf.Variable([1.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        z = x * 3.0
    return str(tape.gradient(z, y)), tape.gradient(z, [x, y], unconnected_gradients="zero")


@program
def given_output_gradients(tf, keras):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y, z = x * x, 3.0 * x
    return tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0])), tape.gradient([y, z], x)


@program
def jacobians(tf, keras):
    x, w = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.matmul(x, w) * x
        total = tf.reduce_sum(y, axis=0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            z = tf.reduce_sum(w * w * w)
        g = inner.gradient(z, w)
    return tape.batch_jacobian(y, x), tape.jacobian(total, [x, w]), outer.jacobian(g, w)


@program
def what_was_made_before_the_tape(tf, keras):
    w = tf.Variable([1.0, 1.0])
    before = tf.reduce_sum(w * 2.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(w * before)
    return tape.gradient(y, w)


@program
def stopped_recording(tf, keras):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            z = y * x
        u = y + z
    return tape.gradient(u, x)


@program
def frozen_and_watched(tf, keras):
    v, w = tf.Variable(2.0, trainable=False), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v * w
    with tf.GradientTape(watch_accessed_variables=False) as other:
        other.watch(v)
        z = v * v * w
    return str(tape.gradient(y, v)), tape.gradient(y, w), [str(g) for g in other.gradient(z, [w])]


@program
def a_loop_with_a_tape(tf, keras):
    m, opt = mlp(keras), keras.optimizers.SGD(0.1, momentum=0.9)
    loss_fn, metric = keras.losses.SparseCategoricalCrossentropy(from_logits=True), keras.metrics.SparseCategoricalAccuracy()
    seen = []
    for _ in range(2):
        for i in range(0, 48, 16):
            with tf.GradientTape() as tape:
                logits = m(X[i : i + 16], training=True)
                loss = loss_fn(IDS[i : i + 16], logits)
            grads = tape.gradient(loss, m.trainable_weights)
            opt.apply_gradients(zip(grads, m.trainable_weights))
            metric.update_state(IDS[i : i + 16], logits)
        seen += [float(loss), float(metric.result())]
        metric.reset_state()
    return seen, sums(m)


@program
def a_step_in_a_function(tf, keras):
    m, opt = mlp(keras), keras.optimizers.Adam(0.01)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metric = keras.metrics.Mean()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, m(x, training=True))
        opt.apply(tape.gradient(loss, m.trainable_weights), m.trainable_weights)
        metric.update_state(loss)
        return loss

    losses = [float(step(X[i : i + 20], IDS[i : i + 20])) for _ in range(3) for i in (0, 20, 40)]
    return losses, float(metric.result()), int(opt.iterations), sums(m)


@program
def functions_that_run_eagerly(tf, keras):
    calls = []

    @tf.function
    def doubled(x):
        calls.append(1)
        return x * 2

    tf.config.run_functions_eagerly(True)
    try:
        results = [doubled(tf.constant([1.0, i])) for i in range(3)]
        eagerly = tf.config.functions_run_eagerly()
    finally:
        tf.config.run_functions_eagerly(False)
    return results, len(calls), eagerly, tf.config.functions_run_eagerly()


@program
def a_signature_of_inputs(tf, keras):
    class Scaled:
        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([], tf.int32)])
        def by(self, x, n):
            return x * tf.cast(n, tf.float32)

    scaled = Scaled()
    wrong = raised(lambda: scaled.by(np.zeros((2, 3), "float32"), 1)).split(":")[0]
    unknown = raised(lambda: tf.function(lambda x: x, input_signatures=[])).split(":")[0]
    return scaled.by(np.ones((3, 2)), 2), scaled.by([[1, 2]], 3), wrong, unknown


@program
def a_schedule_in_a_step(tf, keras):
    m = mlp(keras, outputs=1)
    opt = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5))

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(m(x) - y))
        opt.apply_gradients(zip(tape.gradient(loss, m.trainable_weights), m.trainable_weights))
        return loss

    return [float(step(X, Y)) for _ in range(5)], sums(m)


@program
def class_activation_map(tf, keras):
    layers = keras.layers
    m = fill(
        keras.Sequential(
            [
                keras.Input((8, 8, 1)),
                layers.Conv2D(4, 3, activation="relu", name="conv"),
                layers.GlobalAveragePooling2D(),
                layers.Dense(3),
            ]
        )
    )
    both = keras.Model(m.inputs, [m.get_layer("conv").output, m.outputs[0]])
    with tf.GradientTape() as tape:
        maps, scores = both(IMAGES[:1])
        channel = scores[:, 1]
    grads = tape.gradient(channel, maps)
    pooled = tf.reduce_mean(grads, axis=(0, 1, 2))
    image = tf.constant(IMAGES[:2])
    with tf.GradientTape() as tape:
        tape.watch(image)
        score = m(image)[:, 0]
    return grads, pooled, tape.gradient(score, image)


@program
def integrated_gradients(tf, keras):
    m, x, total = mlp(keras), X[:1], 0.0
    for alpha in np.linspace(0, 1, 5):
        point = tf.convert_to_tensor((alpha * x).astype("float32"))
        with tf.GradientTape() as tape:
            tape.watch(point)
            score = m(point)[0, 1]
        total = total + np.asarray(tape.gradient(score, point))
    return total * x / 5


@program
def an_inner_step(tf, keras):
    """MAML's: the loss after a step, by the weights before it."""
    w = tf.Variable([[0.5], [-0.3], [0.2], [0.1], [0.4]])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_mean(tf.square(tf.matmul(X[:8], w) - Y[:8]))
        moved = w - 0.1 * inner.gradient(loss, w)
        after = tf.reduce_mean(tf.square(tf.matmul(X[8:16], moved) - Y[8:16]))
    return after, outer.gradient(after, w)


# ---- train_step() and what it calls


@program
def a_train_step(tf, keras):
    class Custom(keras.Model):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.loss_tracker = keras.metrics.Mean(name="loss")
            self.mae = keras.metrics.MeanAbsoluteError(name="mae")

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = keras.losses.MeanSquaredError()(y, y_pred)
            self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
            self.loss_tracker.update_state(loss)
            self.mae.update_state(y, y_pred)
            return {"loss": self.loss_tracker.result(), "mae": self.mae.result()}

        @property
        def metrics(self):
            return [self.loss_tracker, self.mae]

    layers, x = keras.layers, keras.Input((5,))
    h = layers.BatchNormalization()(layers.Dense(7, activation="tanh")(x))
    m = fill(Custom(x, layers.Dense(1)(h)))
    m.compile(optimizer=keras.optimizers.Adam(0.01))
    return history(m.fit(X, Y, epochs=3, batch_size=20, shuffle=False, verbose=0)), sums(m)


@program
def a_train_step_with_weights_and_compiled_metrics(tf, keras):
    class Custom(keras.Model):
        def train_step(self, data):
            x, y, w = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(y=y, y_pred=y_pred, sample_weight=w)
            variables = self.trainable_variables
            self.optimizer.apply(tape.gradient(loss, variables), variables)
            for metric in self.metrics:
                if metric.name == "loss":
                    metric.update_state(loss)
                else:
                    metric.update_state(y, y_pred, sample_weight=w)
            return {m.name: m.result() for m in self.metrics}

        def test_step(self, data):
            x, y = data
            y_pred = self(x, training=False)
            for metric in self.metrics:
                if metric.name != "loss":
                    metric.update_state(y, y_pred)
            return {m.name: m.result() for m in self.metrics}

    layers, x = keras.layers, keras.Input((5,))
    h = layers.Dense(4, activation="relu", activity_regularizer="l1")(x)
    m = fill(Custom(x, layers.Dense(1, kernel_regularizer="l2")(h)))
    m.compile("adam", "mse", metrics=["mae"])
    w = R.uniform(0.5, 1, (48, 1)).astype("float32") * 0 + 0.7
    h = m.fit(X, Y, sample_weight=w, epochs=2, shuffle=False, verbose=0, validation_data=(X, Y))
    return history(h), sums(m)


@program
def keras_own_train_step(tf, keras):
    class Same(keras.Model):
        def train_step(self, data):
            return super().train_step(data)

    x = keras.Input((5,))
    m = fill(Same(x, keras.layers.Dense(1)(keras.layers.Dense(4, activation="tanh")(x))))
    m.compile(keras.optimizers.RMSprop(0.01), "mse", metrics=["mae"])
    return history(m.fit(X, Y, epochs=2, batch_size=16, shuffle=False, verbose=0)), sums(m)


@program
def a_train_step_that_runs_eagerly(tf, keras):
    class Eager(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            if float(loss) > 1e-6:
                grads = tape.gradient(loss, self.trainable_weights)
                self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
            return {"loss": loss}

    x = keras.Input((5,))
    m = fill(Eager(x, keras.layers.Dense(1)(x)))
    m.compile(keras.optimizers.SGD(0.05), run_eagerly=True)
    return history(m.fit(X, Y, epochs=2, batch_size=24, shuffle=False, verbose=0)), sums(m)


@program
def variational_autoencoder(tf, keras):
    layers, ops = keras.layers, keras.ops

    class Sampling(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.seed_generator = keras.random.SeedGenerator(1337)

        def call(self, inputs):
            mean, log_var = inputs
            batch, dim = ops.shape(mean)[0], ops.shape(mean)[1]
            noise = keras.random.normal(shape=(batch, dim), seed=self.seed_generator)
            return mean + 0.0 * ops.exp(0.5 * log_var) * noise

    class Vae(keras.Model):
        def __init__(self, encoder, decoder, **kwargs):
            super().__init__(**kwargs)
            self.encoder, self.decoder = encoder, decoder
            self.trackers = [keras.metrics.Mean(name=n) for n in ("loss", "reconstruction", "kl")]

        @property
        def metrics(self):
            return self.trackers

        def train_step(self, data):
            with tf.GradientTape() as tape:
                mean, log_var, z = self.encoder(data)
                loss = keras.losses.binary_crossentropy(data, self.decoder(z))
                reconstruction = ops.mean(ops.sum(loss, axis=(1, 2)))
                kl = -0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var))
                kl = ops.mean(ops.sum(kl, axis=1))
                total = reconstruction + kl
            grads = tape.gradient(total, self.trainable_weights)
            self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
            for tracker, value in zip(self.trackers, (total, reconstruction, kl)):
                tracker.update_state(value)
            return {m.name: m.result() for m in self.metrics}

    x = keras.Input((8, 8, 1))
    h = layers.Flatten()(layers.Conv2D(4, 3, activation="relu", strides=2, padding="same")(x))
    h = layers.Dense(6, activation="relu")(h)
    mean, log_var = layers.Dense(2)(h), layers.Dense(2)(h)
    encoder = keras.Model(x, [mean, log_var, Sampling()([mean, log_var])])
    z = keras.Input((2,))
    h = layers.Reshape((4, 4, 4))(layers.Dense(64, activation="relu")(z))
    h = layers.Conv2DTranspose(4, 3, activation="relu", strides=2, padding="same")(h)
    decoder = keras.Model(z, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(h))
    fill(encoder, decoder)
    vae = Vae(encoder, decoder)
    vae.compile(optimizer=keras.optimizers.Adam(0.01))
    return history(vae.fit(IMAGES, epochs=2, batch_size=16, shuffle=False, verbose=0)), sums(encoder), sums(decoder)


@program
def distillation(tf, keras):
    class Distiller(keras.Model):
        def __init__(self, student, teacher):
            super().__init__()
            self.student, self.teacher = student, teacher

        def compile(self, optimizer, metrics):
            super().compile(optimizer=optimizer, metrics=metrics)
            self.hard = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            self.soft = keras.losses.KLDivergence()

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False):
            teacher, ops = self.teacher(x, training=False), keras.ops
            soft = self.soft(ops.softmax(teacher / 3, axis=1), ops.softmax(y_pred / 3, axis=1)) * 9
            return 0.1 * self.hard(y, y_pred) + 0.9 * soft

        def call(self, x):
            return self.student(x)

    teacher, student = mlp(keras, 9), mlp(keras, 4)
    teacher.trainable = False
    m = Distiller(student, teacher)
    m.compile(keras.optimizers.Adam(0.01), [keras.metrics.SparseCategoricalAccuracy()])
    return history(m.fit(X, IDS, epochs=3, batch_size=16, shuffle=False, verbose=0)), sums(student), sums(teacher)


@program
def wasserstein_gan_with_penalty(tf, keras):
    layers, ops = keras.layers, keras.ops

    class Gan(keras.Model):
        def __init__(self, critic, generator):
            super().__init__()
            self.critic, self.generator = critic, generator

        def compile(self, critic_optimizer, generator_optimizer):
            super().compile()
            self.critic_optimizer, self.generator_optimizer = critic_optimizer, generator_optimizer

        def penalty(self, real, fake):
            between = real + 0.3 * (fake - real)
            with tf.GradientTape() as tape:
                tape.watch(between)
                score = self.critic(between, training=True)
            grads = tape.gradient(score, [between])[0]
            norm = ops.sqrt(ops.sum(ops.square(grads), axis=[1, 2, 3]))
            return ops.mean((norm - 1.0) ** 2)

        def train_step(self, real):
            batch = ops.shape(real)[0]
            for i in range(2):
                noise = ops.ones((batch, 3)) * ops.reshape(ops.arange(batch, dtype="float32"), (-1, 1)) * (0.1 + i)
                with tf.GradientTape() as tape:
                    fake = self.generator(noise, training=True)
                    cost = ops.mean(self.critic(fake, training=True)) - ops.mean(self.critic(real, training=True))
                    critic_loss = cost + 10.0 * self.penalty(real, fake)
                grads = tape.gradient(critic_loss, self.critic.trainable_variables)
                self.critic_optimizer.apply_gradients(zip(grads, self.critic.trainable_variables))
            with tf.GradientTape() as tape:
                generator_loss = -ops.mean(self.critic(self.generator(noise, training=True), training=True))
            grads = tape.gradient(generator_loss, self.generator.trainable_variables)
            self.generator_optimizer.apply_gradients(zip(grads, self.generator.trainable_variables))
            return {"critic": critic_loss, "generator": generator_loss}

    critic = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, strides=2, padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.RMSNormalization(),  # in TensorFlow LayerNormalization stops a gradient that is not zero here
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    generator = keras.Sequential(
        [
            keras.Input((3,)),
            layers.Dense(64),
            layers.LeakyReLU(),
            layers.Reshape((8, 8, 1)),
            layers.Conv2D(1, 3, padding="same", activation="tanh"),
        ]
    )
    fill(critic, generator)
    gan = Gan(critic, generator)
    gan.compile(keras.optimizers.SGD(0.01), keras.optimizers.SGD(0.01))
    h = gan.fit(IMAGES, epochs=2, batch_size=20, shuffle=False, verbose=0)
    return history(h), sums(critic), sums(generator)


@program
def a_layer_that_counts_and_averages(tf, keras):
    class Counting(keras.layers.Layer):
        def build(self, input_shape):
            self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)
            self.mean = self.add_weight(shape=(input_shape[-1],), initializer="zeros", trainable=False)

        def call(self, x):
            self.count.assign_add(1.0)
            self.mean.assign(0.9 * self.mean + 0.1 * keras.ops.mean(x, axis=0))
            return x - self.mean

    class Same(keras.Model):
        def train_step(self, data):
            return super().train_step(data)

    x = keras.Input((5,))
    m = fill(Same(x, keras.layers.Dense(1)(Counting()(x))))
    m.compile("sgd", "mse")
    return history(m.fit(X, Y, epochs=2, batch_size=16, shuffle=False, verbose=0)), sums(m)


@program
def deep_q_learning(tf, keras):
    layers = keras.layers
    model, target = mlp(keras, 8), mlp(keras, 8)
    opt, huber = keras.optimizers.Adam(0.01, clipnorm=1.0), keras.losses.Huber()
    seen = []
    for i in range(6):
        state, after = X[i * 8 : i * 8 + 8], X[40 - i * 8 : 48 - i * 8]
        action, reward = IDS[i * 8 : i * 8 + 8], Y[i * 8 : i * 8 + 8, 0]
        future = target.predict(after, verbose=0)
        wanted = reward + 0.9 * tf.reduce_max(future, axis=1)
        masks = tf.one_hot(action, 3)
        with tf.GradientTape() as tape:
            q = model(state)
            taken = tf.reduce_sum(tf.multiply(q, masks), axis=1)
            loss = huber(wanted, taken)
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        seen.append(float(loss))
        if i % 3 == 2:
            target.set_weights(model.get_weights())
    return seen, sums(model), sums(target), layers.Dense.__name__


@program
def actor_and_critic(tf, keras):
    layers, x = keras.layers, keras.Input((5,))
    common = layers.Dense(8, activation="relu")(x)
    m = fill(keras.Model(x, [layers.Dense(2, activation="softmax")(common), layers.Dense(1)(common)]))
    opt, huber, seen = keras.optimizers.Adam(0.01), keras.losses.Huber(), []
    for episode in range(2):
        with tf.GradientTape() as tape:
            log_probs, values, rewards = [], [], []
            for t in range(4):
                state = tf.expand_dims(tf.convert_to_tensor(X[episode * 4 + t]), 0)
                probs, value = m(state)
                values.append(value[0, 0])
                log_probs.append(tf.math.log(probs[0, t % 2]))
                rewards.append(float(Y[t, 0]))
            actor, critic = [], []
            for log_prob, value, ret in zip(log_probs, values, rewards):
                actor.append(-log_prob * (ret - value))
                critic.append(huber(tf.expand_dims(value, 0), tf.expand_dims(ret, 0)))
            loss = sum(actor) + sum(critic)
        grads = tape.gradient(loss, m.trainable_variables)
        opt.apply_gradients(zip(grads, m.trainable_variables))
        seen.append(float(loss))
    return seen, sums(m)


@program
def accumulated_gradients(tf, keras):
    m, opt = mlp(keras, outputs=1), keras.optimizers.SGD(0.1)
    total = [tf.zeros(w.shape) for w in m.trainable_weights]
    for i in range(0, 48, 16):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(m(X[i : i + 16], training=True) - Y[i : i + 16]))
        total = [t + g for t, g in zip(total, tape.gradient(loss, m.trainable_weights))]
    opt.apply_gradients(zip([t / 3 for t in total], m.trainable_weights))
    return sums(m)


@PROGRAMS
def functions_that_numpy_computes(tf, keras):
    """Of keras.ops, which the library does not have: their gradients are by hand."""
    r, ops = np.random.RandomState(3), keras.ops
    square = (2 * np.eye(3) + 0.3 * r.rand(2, 3, 3)).astype("float32")
    labels, lengths, steps = np.array([[1, 2, 0], [2, 2, 1]]), np.array([2, 3]), np.array([6, 7])
    at = np.array([[0], [2]])
    pair = [(2, 4, 6), (2, 4, 6)]
    cases = [
        (lambda a: ops.image.extract_patches(a, 2, padding="same"), [(2, 5, 5, 2)]),
        (lambda a: ops.image.rgb_to_grayscale(a), [(2, 4, 4, 3)]),
        (lambda a: ops.image.crop_images(a, 1, 1, target_height=2, target_width=2), [(2, 4, 4, 2)]),
        (lambda a: ops.rot90(a), [(3, 4)]),
        (lambda a: ops.diag(a), [(4,)]),
        (lambda a, b: ops.append(a, b, axis=1), [(3, 2), (3, 1)]),
        (lambda a: ops.sort(a, axis=1), [(3, 5)]),
        (lambda a: ops.top_k(a, 2)[0], [(3, 5)]),
        (lambda a: ops.scatter(np.array([[0], [2], [0]]), a, (4,)), [(3,)]),
        (lambda a, b: ops.scatter_update(a, at, b), [(4,), (2,)]),
        (lambda a, b: ops.fft((a, b))[0] * 2 + ops.fft((a, b))[1], pair),
        (lambda a, b: ops.fft2((a, b))[0], pair),
        (lambda a, b: ops.ifft2((a, b))[1], pair),
        (lambda a: ops.rfft(a)[1] + ops.rfft(a)[0] * 2, [(2, 6)]),
        (lambda a, b: ops.irfft((a, b)), [(2, 4), (2, 4)]),
        (lambda a: ops.stft(a, 4, 2, 4)[0], [(2, 12)]),
        (lambda a: ops.extract_sequences(a, 4, 2), [(2, 12)]),
        (lambda a: ops.cumprod(a, axis=1), [(3, 5)]),
        (lambda a: ops.inv(a), [square]),
        (lambda a: ops.det(a), [square]),
        (lambda a, b: ops.solve(a, b), [square, (2, 3, 2)]),
        (lambda a: ops.cholesky((a + ops.swapaxes(a, -1, -2)) / 2), [square]),
        (lambda a, b: ops.cross(a, b), [(2, 3), (2, 3)]),
        (lambda a: ops.ctc_loss(target=labels, output=a, target_length=lengths, output_length=steps), [(2, 7, 4)]),
        (lambda a: tf.math.cumprod(a, axis=1, exclusive=True), [(3, 5)]),
        (lambda a: tf.math.cumsum(a, axis=1, exclusive=True, reverse=True), [(3, 5)]),
        (lambda a: tf.image.resize(a, (7, 3)), [(2, 4, 4, 2)]),
        (lambda a: tf.image.flip_left_right(a), [(2, 4, 4, 2)]),
        (lambda a: tf.image.total_variation(a), [(2, 4, 4, 2)]),
        (lambda a: tf.image.per_image_standardization(a), [(2, 4, 4, 2)]),
        (lambda a: tf.image.sobel_edges(a), [(2, 5, 5, 2)]),
        (lambda a, b: tf.image.ssim(a, b, 1.0), [(2, 12, 12, 3), (2, 12, 12, 3)]),
        (lambda a, b: tf.image.psnr(a, b, 1.0), [(2, 4, 4, 3), (2, 4, 4, 3)]),
    ]
    results = []
    for f, given in cases:
        xs = [tf.constant(v if hasattr(v, "dtype") else r.rand(*v).astype("float32")) for v in given]
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = f(*xs)
            total = tf.reduce_sum(y * r.rand(*y.shape).astype("float32"))
        results += [y, tape.gradient(total, xs)]
    return results


@PROGRAMS
def gradients_of_ones_own(tf, keras):
    """custom_gradient(): on tapes, in a layer of a model that fit() trains."""

    @tf.custom_gradient
    def steeper(x):
        y = tf.exp(x)

        def grad(upstream):
            return upstream * 3.0 * y

        return y, grad

    @keras.ops.custom_gradient
    def reversed_by(x, scale):
        def grad(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return keras.ops.multiply(-upstream, scale), keras.ops.zeros_like(scale)

        return keras.ops.multiply(x, scale), grad

    class Reversed(keras.layers.Layer):
        def call(self, x):
            return steeper(reversed_by(x, tf.constant([0.5, 2.0, 1.0])))

    v, scale = tf.Variable([0.1, 0.2, 0.3]), tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(steeper(v) * 2.0 + reversed_by(v, scale))
    results = [total, tape.gradient(total, v)]
    m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), Reversed(), keras.layers.Dense(1)])
    fill(m)
    m.compile("sgd", "mse")
    r = np.random.RandomState(1)
    h = m.fit(r.rand(8, 4), r.rand(8, 1), batch_size=4, epochs=2, shuffle=False, verbose=0)
    return [*results, history(h), sums(m)]


@PROGRAMS
def numbers_of_a_tape_afterwards(tf, keras):
    """What a loss was does not change with the weights."""
    m = mlp(keras)
    x, y = np.random.RandomState(2).rand(6, 5).astype("float32"), np.arange(6) % 3
    with tf.GradientTape() as tape:
        loss = keras.losses.sparse_categorical_crossentropy(y, m(x))
    gradients = tape.gradient(loss, m.trainable_variables)
    m.set_weights([0 * w for w in m.get_weights()])
    return [tf.reduce_mean(loss), loss * 2, gradients]


@PROGRAMS
def rounded_to_few_bits(tf, keras):
    """Their gradients too: to the numbers, and to the ends of the range."""
    x, rates, seen = tf.constant(3 * X[:2, :3]), tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), []
    for least, most, bits, narrow, axis in (
        (-3.0, 3.0, 8, False, None),
        (-0.1, 6.3, 4, True, None),
        (1.0, 6.0, 8, False, None),
        (0.0, 0.0, 8, False, None),
        ([-1.0, -0.3, 0.2], [1.0, 2.0, 5.0], 8, False, 1),
        ([-1.0, -0.3], [1.0, 2.0], 5, True, 0),
    ):
        ends = tf.constant(least), tf.constant(most)
        with tf.GradientTape() as tape:
            tape.watch([x, *ends])
            y = keras.quantizers.fake_quant_with_min_max_vars(x, *ends, bits, narrow, axis)
            total = tf.reduce_sum(y * rates)
        seen += [y, tape.gradient(total, [x, *ends])]
    return seen


@PROGRAMS
def numbers_of_few_bits(tf, keras):
    inner = "numbers" if keras.__name__ == "dl4.keras" else "quantizers"
    inner = importlib.import_module(f"{keras.__name__}.src.quantizers.{inner}")
    q, x = keras.quantizers, X[:7].copy()
    x[:, 4], seen = 0.25, []
    packed, shape, length = q.pack_int4(q.abs_max_quantize(x, 0, (-8, 7))[0])
    seen += [packed, shape, length, q.unpack_int4(packed, length)]
    for to_numpy in (False, True):
        seen += q.abs_max_quantize_grouped_with_zero_point(x, 3, to_numpy=to_numpy)
    for how in (
        {},
        {"symmetric": True},
        {"per_channel": True, "group_size": 2},
        {"per_channel": True, "symmetric": True, "signed": True},
        {"per_channel": True, "signed": True, "epsilon": 1e-3, "group_size": 4},
    ):
        scale, zero, most = inner.compute_quantization_parameters(x, bits=4, **how)
        groups = np.zeros(5, "int32") if scale.shape[1] == 1 else np.arange(5) // how["group_size"]
        whole = inner.quantize_with_sz_map(x, scale, zero, groups, most)
        seen += [scale, zero, most, whole, inner.dequantize_with_sz_map(whole, scale, zero, groups)]
    for largest in (3.0, 0.0, float("inf")):
        seen.append(q.compute_float8_scale(keras.ops.array(largest), keras.ops.array(4.0), 448.0))
    seen.append(q.compute_float8_amax_history(x, keras.ops.array([1.0, 2.0, 3.0])))
    return seen


@PROGRAMS
def what_is_assigned_while_a_tape_records(tf, keras):
    """Updates, metrics and moving means in its context, and gradients asked for behind an assignment."""
    ops, layers = keras.ops, keras.layers
    k, seen = keras.Variable(np.array([1.0, 2.0], "float32")), []
    with tf.GradientTape() as tape:
        before = ops.sum(k * 2.0)
        k.assign(np.array([3.0, 4.0], "float32"))
        behind = ops.sum(k * k)
    seen += [before, behind, k, tape.gradient(behind, [k])]
    with tf.GradientTape() as tape:
        k.assign_add([1.0, 1.0])
    seen.append(k)
    optimizers = keras.optimizers
    for optimizer in (
        optimizers.SGD(0.1),
        optimizers.Adam(0.1, clipnorm=1.0, weight_decay=0.1),
        optimizers.SGD(0.1, momentum=0.9, use_ema=True),
    ):
        for _ in range(2):
            with tf.GradientTape() as tape:
                loss = ops.sum(k * k)
                gradients = tape.gradient(loss, [k])
                optimizer.apply(gradients, [k])
                seen.append(np.array(k))
            seen += [gradients, np.array(k), loss, np.asarray(optimizer.iterations)]
    m, mean = mlp(keras, outputs=1), keras.metrics.Mean()
    with tf.GradientTape() as tape:
        loss = ops.mean(ops.square(m(X) - Y))
        mean.update_state(loss)
        now = mean.result()
    tape.gradient(loss, m.trainable_variables)

    class Counts(layers.Layer):
        def __init__(self):
            super().__init__()
            self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, x):
            self.count.assign_add(1.0)
            return x * 2.0

    counts = Counts()
    with tf.GradientTape() as tape:
        x = tf.constant([1.0, 2.0])
        tape.watch(x)
        y = counts(counts(x))
    return [*seen, now, loss, tape.gradient(y, x), counts.count]


@PROGRAMS
def gradients_of_what_was_recorded_before_an_update(tf, keras):
    """Of a persistent tape: of what weights held when it recorded."""
    ops = keras.ops
    a, b, seen = mlp(keras, outputs=5), mlp(keras, outputs=1), []
    first, second = keras.optimizers.SGD(0.5), keras.optimizers.Adam(0.1)
    with tf.GradientTape(persistent=True) as tape:
        h = a(X)
        inner, outer = ops.mean(ops.square(h - 1.0)), ops.mean(ops.square(b(h)))
    for optimizer, loss, m in ((first, inner, a), (second, outer, b), (first, outer, a)):
        gradients = tape.gradient(loss, m.trainable_variables)
        optimizer.apply_gradients(zip(gradients, m.trainable_variables))
        seen += [*gradients, *m.get_weights()]
    k = keras.Variable(np.array([1.0, 2.0], "float32"))
    with tf.GradientTape() as tape:
        squares = ops.sum(k * k)
    k.assign([5.0, 6.0])
    return [*seen, tape.gradient(squares, [k]), squares, k]
