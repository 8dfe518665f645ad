"""Denoising diffusion with a U-Net of time embeddings and an average of weights, and a masked autoencoder of patches,
both by train_step() and test_step()."""

import math

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(21)
images = r.rand(24, 8, 8, 1).astype("float32")
timesteps = 10
betas = np.linspace(1e-4, 0.2, timesteps)
alphas_bar = np.cumprod(1 - betas).astype("float32")
noises, times = r.randn(24, 8, 8, 1).astype("float32"), r.randint(0, timesteps, 24)


class TimeEmbedding(layers.Layer):
    def __init__(self, dim, **kwargs):
        super().__init__(**kwargs)
        self.dim, self.half = dim, dim // 2
        self.table = ops.exp(ops.arange(self.half, dtype="float32") * -(math.log(10000) / (self.half - 1)))

    def call(self, inputs):
        angles = ops.cast(inputs, "float32")[:, None] * self.table[None, :]
        return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)


def residual(width, groups=2):
    def apply(inputs):
        x, t = inputs
        skip = x if x.shape[-1] == width else layers.Conv2D(width, 1, kernel_initializer="he_normal")(x)
        t = layers.Dense(width)(keras.activations.silu(t))[:, None, None, :]
        x = layers.GroupNormalization(groups)(x) if x.shape[-1] > 1 else x
        x = layers.Conv2D(width, 3, padding="same")(keras.activations.swish(x))
        x = layers.Add()([x, t])
        x = keras.activations.swish(layers.GroupNormalization(groups)(x))
        return layers.Add()([layers.Conv2D(width, 3, padding="same")(x), skip])

    return apply


def attention(x):
    b, h, w, c = x.shape
    y = layers.Reshape((h * w, c))(layers.GroupNormalization(2)(x))
    y = layers.MultiHeadAttention(1, c)(y, y)
    return layers.Add()([x, layers.Reshape((h, w, c))(y)])


def unet():
    image, time = keras.Input((8, 8, 1), name="image"), keras.Input((), dtype="int64", name="time")
    t = layers.Dense(8, activation="silu")(TimeEmbedding(8)(time))
    x = layers.Conv2D(4, 3, padding="same")(image)
    skips = [x]
    for width in (4, 8):
        x = residual(width)([x, t])
        skips.append(x)
        x = layers.AveragePooling2D(2)(x)
    x = attention(residual(8)([x, t]))
    for width in (8, 4):
        x = layers.UpSampling2D(2, interpolation="nearest")(x)
        x = layers.Concatenate(axis=-1)([x, skips.pop()])
        x = residual(width)([x, t])
    return keras.Model([image, time], layers.Conv2D(1, 3, padding="same")(x), name="unet")


class Diffusion(keras.Model):
    def __init__(self, network, average, ema=0.9):
        super().__init__()
        self.network, self.average, self.ema = network, average, ema

    def train_step(self, data):
        x, t, noise = data
        bar = ops.reshape(ops.take(alphas_bar, t), (-1, 1, 1, 1))
        with tf.GradientTape() as tape:
            noisy = ops.sqrt(bar) * x + ops.sqrt(1 - bar) * noise
            loss = self.loss(noise, self.network([noisy, t], training=True))
        gradients = tape.gradient(loss, self.network.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.network.trainable_weights))
        for weight, mean in zip(self.network.weights, self.average.weights):
            mean.assign(self.ema * mean + (1 - self.ema) * weight)
        return {"loss": loss}

    def sample(self, x):
        for t in reversed(range(timesteps)):
            step = np.full(len(x), t)
            guess = self.average.predict([x, step], verbose=0)
            kept = alphas_bar[t]
            mean = (x - math.sqrt(1 - kept) * guess) / math.sqrt(kept)
            before = alphas_bar[t - 1]
            x = np.clip(mean, -1, 1) if t == 0 else math.sqrt(before) * mean + math.sqrt(1 - before) * guess
        return x


network, average = unet(), unet()
fill(network)
average.set_weights(network.get_weights())
model = Diffusion(network, average)
model.compile(loss=keras.losses.MeanSquaredError(), optimizer=keras.optimizers.Adam(2e-3))
dataset = tf.data.Dataset.from_tensor_slices((images, times, noises)).batch(8, drop_remainder=True)
history = model.fit(dataset.map(lambda x, t, e: ((x, t, e),)[0]), epochs=2, verbose=0)
results = [curves(history), sums(network), sums(average), model.sample(noises[:2])]


class Patches(layers.Layer):
    def __init__(self, size=2, masked=0.5, **kwargs):
        super().__init__(**kwargs)
        self.size, self.count = size, (8 // size) ** 2
        self.hidden = int(self.count * masked)

    def call(self, images):
        patches = ops.image.extract_patches(images, self.size)
        return ops.reshape(patches, (-1, self.count, self.size * self.size))


class PatchEncoder(layers.Layer):
    def __init__(self, patches, dim, **kwargs):
        super().__init__(**kwargs)
        self.patches, self.dim = patches, dim

    def build(self, shape):
        self.token = self.add_weight(shape=(1, shape[-1]), initializer="random_normal", name="token")
        self.projection = layers.Dense(self.dim)
        self.table = self.add_weight(shape=(shape[1], self.dim), initializer="random_normal", name="position")

    def call(self, patches, order):
        places = ops.arange(self.patches.count)
        position = ops.take(self.table, places, axis=0)
        embedded = self.projection(patches) + position
        hidden, seen = order[:, : self.patches.hidden], order[:, self.patches.hidden :]
        blank = ops.repeat(self.projection(self.token)[None], self.patches.hidden, axis=1)
        blank = blank + ops.take(position, hidden, axis=0)
        return ops.take_along_axis(embedded, seen[:, :, None], axis=1), blank, hidden


class Masked(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.patches = Patches()
        self.encoder = PatchEncoder(self.patches, 6)
        self.mix = [layers.MultiHeadAttention(2, 3), layers.LayerNormalization(), layers.Dense(6, activation="gelu")]
        self.head = layers.Dense(4)
        self.seen = keras.metrics.Mean(name="loss")

    def call(self, inputs):
        x, order = inputs
        patches = self.patches(x)
        visible, blank, hidden = self.encoder(patches, order)
        h = ops.concatenate([visible, blank], axis=1)
        attention, norm, dense = self.mix
        h = h + attention(norm(h), norm(h))
        out = self.head(h + dense(h))[:, -self.patches.hidden :]
        return out, ops.take_along_axis(patches, hidden[:, :, None], axis=1)

    @property
    def metrics(self):
        return [self.seen]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            out, wanted = self(data, training=True)
            loss = ops.mean(ops.abs(out - wanted))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        self.seen.update_state(loss)
        return {"loss": self.seen.result()}

    def test_step(self, data):
        out, wanted = self(data, training=False)
        self.seen.update_state(ops.mean(ops.abs(out - wanted)))
        return {"loss": self.seen.result()}


order = np.stack([r.permutation(16) for _ in range(24)]).astype("int32")
masked = Masked()
masked([images, order])
fill(masked)
masked.compile(optimizer=keras.optimizers.AdamW(1e-2, weight_decay=1e-3))
pairs = tf.data.Dataset.from_tensor_slices((images, order)).batch(8).map(lambda x, o: ((x, o),)[0])
history = masked.fit(pairs, epochs=2, verbose=0)
results += [curves(history), sums(masked), masked.evaluate(pairs, verbose=0)]
