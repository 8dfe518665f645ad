"""CycleGAN: two generators and two discriminators in one train_step(), reflection padding, a persistent tape."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(25)
horses, zebras = [r.uniform(-1, 1, (8, 8, 8, 3)).astype("float32") for _ in range(2)]
kernel_init = keras.initializers.RandomNormal(mean=0.0, stddev=0.02)
gamma_init = keras.initializers.RandomNormal(mean=0.0, stddev=0.02)


class ReflectionPadding2D(layers.Layer):
    def __init__(self, padding=(1, 1), **kwargs):
        self.padding = tuple(padding)
        super().__init__(**kwargs)

    def call(self, input_tensor, mask=None):
        padding_width, padding_height = self.padding
        padding_tensor = [[0, 0], [padding_height, padding_height], [padding_width, padding_width], [0, 0]]
        return ops.pad(input_tensor, padding_tensor, mode="reflect")


def residual_block(x, activation, gamma_initializer=gamma_init):
    dim = x.shape[-1]
    input_tensor = x
    x = ReflectionPadding2D()(input_tensor)
    x = layers.Conv2D(dim, (3, 3), strides=(1, 1), kernel_initializer=kernel_init, padding="valid", use_bias=False)(x)
    x = keras.layers.GroupNormalization(groups=1, gamma_initializer=gamma_initializer)(x)
    x = activation(x)
    return layers.add([input_tensor, x])


def get_resnet_generator(filters=4, name=None):
    img_input = layers.Input(shape=(8, 8, 3), name=name + "_img_input")
    x = ReflectionPadding2D(padding=(3, 3))(img_input)
    x = layers.Conv2D(filters, (7, 7), kernel_initializer=kernel_init, use_bias=False)(x)
    x = keras.layers.GroupNormalization(groups=1, gamma_initializer=gamma_init)(x)
    x = layers.Activation("relu")(x)
    x = layers.Conv2D(2 * filters, (3, 3), strides=(2, 2), padding="same", use_bias=False)(x)
    x = residual_block(x, activation=layers.Activation("relu"))
    x = layers.Conv2DTranspose(filters, (3, 3), strides=(2, 2), padding="same", use_bias=False)(x)
    x = ReflectionPadding2D(padding=(3, 3))(x)
    x = layers.Conv2D(3, (7, 7), padding="valid")(x)
    x = layers.Activation("tanh")(x)
    return keras.models.Model(img_input, x, name=name)


def get_discriminator(filters=4, name=None):
    img_input = layers.Input(shape=(8, 8, 3), name=name + "_img_input")
    x = layers.Conv2D(filters, (4, 4), strides=(2, 2), padding="same", kernel_initializer=kernel_init)(img_input)
    x = layers.LeakyReLU(0.2)(x)
    x = layers.Conv2D(1, (4, 4), strides=(1, 1), padding="same", kernel_initializer=kernel_init)(x)
    return keras.models.Model(inputs=img_input, outputs=x, name=name)


gen_G, gen_F = get_resnet_generator(name="generator_G"), get_resnet_generator(name="generator_F")
disc_X, disc_Y = get_discriminator(name="discriminator_X"), get_discriminator(name="discriminator_Y")
fill(gen_G, disc_X)
fill(gen_F, disc_Y, seed=6)


class CycleGan(keras.Model):
    def __init__(
        self, generator_G, generator_F, discriminator_X, discriminator_Y, lambda_cycle=10.0, lambda_identity=0.5
    ):
        super().__init__()
        self.gen_G = generator_G
        self.gen_F = generator_F
        self.disc_X = discriminator_X
        self.disc_Y = discriminator_Y
        self.lambda_cycle = lambda_cycle
        self.lambda_identity = lambda_identity

    def call(self, inputs):
        return (
            self.disc_X(inputs),
            self.disc_Y(inputs),
            self.gen_G(inputs),
            self.gen_F(inputs),
        )

    def compile(self, gen_G_optimizer, gen_F_optimizer, disc_X_optimizer, disc_Y_optimizer, gen_loss_fn, disc_loss_fn):
        super().compile()
        self.gen_G_optimizer = gen_G_optimizer
        self.gen_F_optimizer = gen_F_optimizer
        self.disc_X_optimizer = disc_X_optimizer
        self.disc_Y_optimizer = disc_Y_optimizer
        self.generator_loss_fn = gen_loss_fn
        self.discriminator_loss_fn = disc_loss_fn
        self.cycle_loss_fn = keras.losses.MeanAbsoluteError()
        self.identity_loss_fn = keras.losses.MeanAbsoluteError()

    def train_step(self, batch_data):
        real_x, real_y = batch_data
        with tf.GradientTape(persistent=True) as tape:
            fake_y = self.gen_G(real_x, training=True)
            fake_x = self.gen_F(real_y, training=True)
            cycled_x = self.gen_F(fake_y, training=True)
            cycled_y = self.gen_G(fake_x, training=True)
            same_x = self.gen_F(real_x, training=True)
            same_y = self.gen_G(real_y, training=True)
            disc_real_x = self.disc_X(real_x, training=True)
            disc_fake_x = self.disc_X(fake_x, training=True)
            disc_real_y = self.disc_Y(real_y, training=True)
            disc_fake_y = self.disc_Y(fake_y, training=True)
            gen_G_loss = self.generator_loss_fn(disc_fake_y)
            gen_F_loss = self.generator_loss_fn(disc_fake_x)
            cycle_loss_G = self.cycle_loss_fn(real_y, cycled_y) * self.lambda_cycle
            cycle_loss_F = self.cycle_loss_fn(real_x, cycled_x) * self.lambda_cycle
            id_loss_G = self.identity_loss_fn(real_y, same_y) * self.lambda_cycle * self.lambda_identity
            id_loss_F = self.identity_loss_fn(real_x, same_x) * self.lambda_cycle * self.lambda_identity
            total_loss_G = gen_G_loss + cycle_loss_G + id_loss_G
            total_loss_F = gen_F_loss + cycle_loss_F + id_loss_F
            disc_X_loss = self.discriminator_loss_fn(disc_real_x, disc_fake_x)
            disc_Y_loss = self.discriminator_loss_fn(disc_real_y, disc_fake_y)
        grads_G = tape.gradient(total_loss_G, self.gen_G.trainable_variables)
        grads_F = tape.gradient(total_loss_F, self.gen_F.trainable_variables)
        disc_X_grads = tape.gradient(disc_X_loss, self.disc_X.trainable_variables)
        disc_Y_grads = tape.gradient(disc_Y_loss, self.disc_Y.trainable_variables)
        self.gen_G_optimizer.apply_gradients(zip(grads_G, self.gen_G.trainable_variables))
        self.gen_F_optimizer.apply_gradients(zip(grads_F, self.gen_F.trainable_variables))
        self.disc_X_optimizer.apply_gradients(zip(disc_X_grads, self.disc_X.trainable_variables))
        self.disc_Y_optimizer.apply_gradients(zip(disc_Y_grads, self.disc_Y.trainable_variables))
        return {
            "G_loss": total_loss_G,
            "F_loss": total_loss_F,
            "D_X_loss": disc_X_loss,
            "D_Y_loss": disc_Y_loss,
        }


adv_loss_fn = keras.losses.MeanSquaredError()


def generator_loss_fn(fake):
    return adv_loss_fn(ops.ones_like(fake), fake)


def discriminator_loss_fn(real, fake):
    real_loss = adv_loss_fn(ops.ones_like(real), real)
    fake_loss = adv_loss_fn(ops.zeros_like(fake), fake)
    return (real_loss + fake_loss) * 0.5


cycle_gan_model = CycleGan(
    generator_G=gen_G, generator_F=gen_F, discriminator_X=disc_X, discriminator_Y=disc_Y
)
cycle_gan_model.compile(
    gen_G_optimizer=keras.optimizers.SGD(learning_rate=2e-3),
    gen_F_optimizer=keras.optimizers.SGD(learning_rate=2e-3),
    disc_X_optimizer=keras.optimizers.SGD(learning_rate=2e-3),
    disc_Y_optimizer=keras.optimizers.SGD(learning_rate=2e-3),
    gen_loss_fn=generator_loss_fn,
    disc_loss_fn=discriminator_loss_fn,
)
train_horses = tf.data.Dataset.from_tensor_slices(horses).batch(2)
train_zebras = tf.data.Dataset.from_tensor_slices(zebras).batch(2)
history = cycle_gan_model.fit(tf.data.Dataset.zip((train_horses, train_zebras)), epochs=1)
prediction = cycle_gan_model.gen_G(horses[:1], training=False)[0].numpy()
prediction = (prediction * 127.5 + 127.5).astype(np.uint8)
results = [curves(history), prediction.astype("int32").mean(), sums(gen_G, gen_F, disc_X, disc_Y)]
