"""GauGAN: normalisation by a mask, losses on lists and of one number, a combined model, two optimizers."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(22)


class SPADE(layers.Layer):
    def __init__(self, filters, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.conv = layers.Conv2D(8, 3, padding="same", activation="relu")
        self.conv_gamma = layers.Conv2D(filters, 3, padding="same")
        self.conv_beta = layers.Conv2D(filters, 3, padding="same")

    def build(self, input_shape):
        self.resize_shape = input_shape[1:3]

    def call(self, input_tensor, raw_mask):
        mask = ops.image.resize(raw_mask, self.resize_shape, interpolation="nearest")
        x = self.conv(mask)
        gamma = self.conv_gamma(x)
        beta = self.conv_beta(x)
        mean, var = ops.moments(input_tensor, axes=(0, 1, 2), keepdims=True)
        std = ops.sqrt(var + self.epsilon)
        normalized = (input_tensor - mean) / std
        output = gamma * normalized + beta
        return output


class ResBlock(layers.Layer):
    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.filters = filters

    def build(self, input_shape):
        input_filter = input_shape[-1]
        self.spade_1 = SPADE(input_filter)
        self.spade_2 = SPADE(self.filters)
        self.conv_1 = layers.Conv2D(self.filters, 3, padding="same")
        self.conv_2 = layers.Conv2D(self.filters, 3, padding="same")
        self.learned_skip = False
        if self.filters != input_filter:
            self.learned_skip = True
            self.spade_3 = SPADE(input_filter)
            self.conv_3 = layers.Conv2D(self.filters, 3, padding="same")

    def call(self, input_tensor, mask):
        x = self.spade_1(input_tensor, mask)
        x = self.conv_1(keras.activations.leaky_relu(x, 0.2))
        x = self.spade_2(x, mask)
        x = self.conv_2(keras.activations.leaky_relu(x, 0.2))
        skip = (
            self.conv_3(keras.activations.leaky_relu(self.spade_3(input_tensor, mask), 0.2))
            if self.learned_skip
            else input_tensor
        )
        return skip + x


class GaussianSampler(layers.Layer):
    def __init__(self, batch_size, latent_dim, **kwargs):
        super().__init__(**kwargs)
        self.batch_size = batch_size
        self.latent_dim = latent_dim
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        means, variance = inputs
        epsilon = keras.random.normal((self.batch_size, self.latent_dim), 0.0, 1.0, seed=self.seed_generator)
        return means + ops.exp(0.5 * variance) * epsilon * 0


def downsample(channels, kernels, strides=2, apply_norm=True, apply_activation=True):
    block = keras.Sequential()
    block.add(
        layers.Conv2D(
            channels,
            kernels,
            strides=strides,
            padding="same",
            use_bias=False,
            kernel_initializer=keras.initializers.GlorotNormal(),
        )
    )
    if apply_norm:
        block.add(layers.GroupNormalization(groups=-1))
    if apply_activation:
        block.add(layers.LeakyReLU(0.2))
    return block


def build_encoder(image_shape, latent_dim=4):
    input_image = keras.Input(shape=image_shape)
    x = downsample(4, 3, apply_norm=False)(input_image)
    x = downsample(8, 3)(x)
    x = layers.Flatten()(x)
    return keras.Model(
        input_image,
        [layers.Dense(latent_dim, name="mean")(x), layers.Dense(latent_dim, name="variance")(x)],
        name="encoder",
    )


def build_generator(mask_shape, latent_dim=4):
    latent = keras.Input(shape=(latent_dim,))
    mask = keras.Input(shape=mask_shape)
    x = layers.Dense(2 * 2 * 8)(latent)
    x = layers.Reshape((2, 2, 8))(x)
    x = ResBlock(filters=8)(x, mask)
    x = layers.UpSampling2D((2, 2))(x)
    x = ResBlock(filters=4)(x, mask)
    x = layers.UpSampling2D((2, 2))(x)
    x = keras.activations.leaky_relu(x, 0.2)
    output_image = keras.activations.tanh(layers.Conv2D(3, 4, padding="same")(x))
    return keras.Model([latent, mask], output_image, name="generator")


def build_discriminator(image_shape):
    a = keras.Input(shape=image_shape, name="discriminator_image_A")
    b = keras.Input(shape=image_shape, name="discriminator_image_B")
    x = layers.Concatenate()([a, b])
    x1 = downsample(4, 4, apply_norm=False)(x)
    x2 = downsample(8, 4)(x1)
    x3 = layers.Conv2D(1, 4)(layers.ZeroPadding2D(2)(x2))
    return keras.Model([a, b], [x1, x2, x3], name="disc")


class FeatureMatchingLoss(keras.losses.Loss):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.mae = keras.losses.MeanAbsoluteError()

    def call(self, y_true, y_pred):
        loss = 0
        for i in range(len(y_true) - 1):
            loss += self.mae(y_true[i], y_pred[i])
        return loss


class DiscriminatorLoss(keras.losses.Loss):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hinge_loss = keras.losses.Hinge()

    def call(self, y, is_real):
        return self.hinge_loss(is_real, y)


def generator_loss(y):
    return -ops.mean(y)


def kl_divergence_loss(mean, variance):
    return -0.5 * ops.sum(1 + variance - ops.square(mean) - ops.exp(variance))


class GauGAN(keras.Model):
    def __init__(
        self, image_size, num_classes, batch_size, latent_dim, feature_loss_coeff=10, kl_div_loss_coeff=0.1, **kwargs
    ):
        super().__init__(**kwargs)
        self.image_shape = (image_size, image_size, 3)
        self.mask_shape = (image_size, image_size, num_classes)
        self.feature_loss_coeff, self.kl_div_loss_coeff = feature_loss_coeff, kl_div_loss_coeff
        self.discriminator = build_discriminator(self.image_shape)
        self.generator = build_generator(self.mask_shape)
        self.encoder = build_encoder(self.image_shape)
        self.sampler = GaussianSampler(batch_size, latent_dim)
        self.patch_size, self.combined_model = self.build_combined_generator()
        self.disc_loss_tracker = keras.metrics.Mean(name="disc_loss")
        self.gen_loss_tracker = keras.metrics.Mean(name="gen_loss")
        self.feat_loss_tracker = keras.metrics.Mean(name="feat_loss")
        self.kl_loss_tracker = keras.metrics.Mean(name="kl_loss")

    @property
    def metrics(self):
        return [self.disc_loss_tracker, self.gen_loss_tracker, self.feat_loss_tracker, self.kl_loss_tracker]

    def build_combined_generator(self):
        self.discriminator.trainable = False
        mask_input = keras.Input(shape=self.mask_shape, name="mask")
        image_input = keras.Input(shape=self.image_shape, name="image")
        latent_input = keras.Input(shape=(4,), name="latent")
        generated_image = self.generator([latent_input, mask_input])
        discriminator_output = self.discriminator([image_input, generated_image])
        combined_outputs = discriminator_output + [generated_image]
        patch_size = discriminator_output[-1].shape[1]
        combined_model = keras.Model([latent_input, mask_input, image_input], combined_outputs)
        return patch_size, combined_model

    def compile(self, gen_lr=1e-4, disc_lr=4e-4, **kwargs):
        super().compile(**kwargs)
        self.generator_optimizer = keras.optimizers.Adam(gen_lr, beta_1=0.0, beta_2=0.999)
        self.discriminator_optimizer = keras.optimizers.Adam(disc_lr, beta_1=0.0, beta_2=0.999)
        self.discriminator_loss = DiscriminatorLoss()
        self.feature_matching_loss = FeatureMatchingLoss()

    def train_discriminator(self, latent_vector, segmentation_map, real_image, labels):
        fake_images = self.generator([latent_vector, labels])
        with tf.GradientTape() as gradient_tape:
            pred_fake = self.discriminator([segmentation_map, fake_images])[-1]
            pred_real = self.discriminator([segmentation_map, real_image])[-1]
            loss_fake = self.discriminator_loss(pred_fake, -1.0)
            loss_real = self.discriminator_loss(pred_real, 1.0)
            total_loss = 0.5 * (loss_fake + loss_real)
        self.discriminator.trainable = True
        gradients = gradient_tape.gradient(total_loss, self.discriminator.trainable_variables)
        self.discriminator_optimizer.apply_gradients(zip(gradients, self.discriminator.trainable_variables))
        return total_loss

    def train_generator(self, latent_vector, segmentation_map, labels, image, mean, variance):
        self.discriminator.trainable = False
        with tf.GradientTape() as tape:
            real_d_output = self.discriminator([segmentation_map, image])
            combined_outputs = self.combined_model([latent_vector, labels, segmentation_map])
            fake_d_output, fake_image = combined_outputs[:-1], combined_outputs[-1]
            pred = fake_d_output[-1]
            g_loss = generator_loss(pred)
            kl_loss = self.kl_div_loss_coeff * kl_divergence_loss(mean, variance)
            feature_loss = self.feature_loss_coeff * self.feature_matching_loss(real_d_output, fake_d_output)
            total_loss = g_loss + kl_loss + feature_loss
        all_trainable_variables = self.combined_model.trainable_variables + self.encoder.trainable_variables
        gradients = tape.gradient(total_loss, all_trainable_variables)
        self.generator_optimizer.apply_gradients(
            zip(
                [g for g in gradients if g is not None],
                [v for v, g in zip(all_trainable_variables, gradients) if g is not None],
            )
        )
        return total_loss, feature_loss, kl_loss

    def train_step(self, data):
        segmentation_map, image, labels = data
        mean, variance = self.encoder(image)
        latent_vector = self.sampler([mean, variance])
        discriminator_loss = self.train_discriminator(latent_vector, segmentation_map, image, labels)
        generator_loss, feature_loss, kl_loss = self.train_generator(
            latent_vector, segmentation_map, labels, image, mean, variance
        )
        self.disc_loss_tracker.update_state(discriminator_loss)
        self.gen_loss_tracker.update_state(generator_loss)
        self.feat_loss_tracker.update_state(feature_loss)
        self.kl_loss_tracker.update_state(kl_loss)
        return {m.name: m.result() for m in self.metrics}

    def call(self, inputs):
        latent_vectors, labels = inputs
        return self.generator([latent_vectors, labels])


gaugan = GauGAN(8, 3, 2, latent_dim=4)
gaugan.discriminator.trainable = True
fill(gaugan.discriminator, gaugan.generator, gaugan.encoder)
gaugan.compile()
seg, im = r.rand(4, 8, 8, 3).astype("float32"), r.rand(4, 8, 8, 3).astype("float32")
lab = np.eye(3, dtype="float32")[r.randint(0, 3, (4, 8, 8))]
ds = tf.data.Dataset.from_tensor_slices((seg, im, lab)).batch(2, drop_remainder=True)
h = gaugan.fit(ds, epochs=1, verbose=0)
results = [curves(h), sums(gaugan.discriminator), gaugan.predict([r.rand(2, 4).astype("float32"), lab[:2]], verbose=0)]
