"""NeRF: rays in tf.data, positions as sines, volume rendering by exclusive products, PSNR in train_step()."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import curves, fill, sums

r = np.random.RandomState(13)
AUTO = tf.data.AUTOTUNE
BATCH_SIZE, NUM_SAMPLES, POS_ENCODE_DIMS, H, W, focal = 2, 4, 4, 6, 6, 5.0
images = r.rand(4, H, W, 3).astype("float32")
poses = np.tile(np.eye(4, dtype="float32")[None], (4, 1, 1)) + 0.1 * r.rand(4, 4, 4).astype("float32")


def encode_position(x):
    positions = [x]
    for i in range(POS_ENCODE_DIMS):
        for fn in [tf.sin, tf.cos]:
            positions.append(fn(2.0**i * x))
    return tf.concat(positions, axis=-1)


def get_rays(height, width, focal, pose):
    i, j = tf.meshgrid(tf.range(width, dtype=tf.float32), tf.range(height, dtype=tf.float32), indexing="xy")
    transformed_i = (i - width * 0.5) / focal
    transformed_j = (j - height * 0.5) / focal
    directions = tf.stack([transformed_i, -transformed_j, -tf.ones_like(i)], axis=-1)
    camera_matrix = pose[:3, :3]
    height_width_focal = pose[:3, -1]
    transformed_dirs = directions[..., None, :]
    camera_dirs = transformed_dirs * camera_matrix
    ray_directions = tf.reduce_sum(camera_dirs, axis=-1)
    ray_origins = tf.broadcast_to(height_width_focal, tf.shape(ray_directions))
    return (ray_origins, ray_directions)


def render_flat_rays(ray_origins, ray_directions, near, far, num_samples, rand=False):
    t_vals = tf.linspace(near, far, num_samples)
    if rand:
        shape = list(ray_origins.shape[:-1]) + [num_samples]
        noise = tf.random.uniform(shape=shape) * (far - near) / num_samples * 0
        t_vals = t_vals + noise
    rays = ray_origins[..., None, :] + (ray_directions[..., None, :] * t_vals[..., None])
    rays_flat = tf.reshape(rays, [-1, 3])
    rays_flat = encode_position(rays_flat)
    return (rays_flat, t_vals)


def map_fn(pose):
    ray_origins, ray_directions = get_rays(height=H, width=W, focal=focal, pose=pose)
    return render_flat_rays(ray_origins, ray_directions, near=2.0, far=6.0, num_samples=NUM_SAMPLES, rand=True)


img_ds = tf.data.Dataset.from_tensor_slices(images)
pose_ds = tf.data.Dataset.from_tensor_slices(poses)
ray_ds = pose_ds.map(map_fn, num_parallel_calls=AUTO)
training_ds = tf.data.Dataset.zip((img_ds, ray_ds))
train_ds = training_ds.batch(BATCH_SIZE, drop_remainder=True, num_parallel_calls=AUTO).prefetch(AUTO)


def get_nerf_model(num_layers, num_pos):
    inputs = keras.Input(shape=(num_pos, 2 * 3 * POS_ENCODE_DIMS + 3))
    x = inputs
    for i in range(num_layers):
        x = layers.Dense(units=8, activation="relu")(x)
        if i % 4 == 0 and i > 0:
            x = layers.concatenate([x, inputs], axis=-1)
    outputs = layers.Dense(units=4)(x)
    return keras.Model(inputs=inputs, outputs=outputs)


def render_rgb_depth(model, rays_flat, t_vals, rand=True, train=True):
    if train:
        predictions = model(rays_flat)
    else:
        predictions = model.predict(rays_flat, verbose=0)
    predictions = tf.reshape(predictions, shape=(BATCH_SIZE, H, W, NUM_SAMPLES, 4))
    rgb = tf.sigmoid(predictions[..., :-1])
    sigma_a = tf.nn.relu(predictions[..., -1])
    delta = t_vals[..., 1:] - t_vals[..., :-1]
    if rand:
        delta = tf.concat([delta, tf.broadcast_to([1e10], shape=(BATCH_SIZE, H, W, 1))], axis=-1)
        alpha = 1.0 - tf.exp(-sigma_a * delta)
    else:
        delta = tf.concat([delta, tf.broadcast_to([1e10], shape=(BATCH_SIZE, 1))], axis=-1)
        alpha = 1.0 - tf.exp(-sigma_a * delta[:, None, None, :])
    exp_term = 1.0 - alpha
    epsilon = 1e-10
    transmittance = tf.math.cumprod(exp_term + epsilon, axis=-1, exclusive=True)
    weights = alpha * transmittance
    rgb = tf.reduce_sum(weights[..., None] * rgb, axis=-2)
    if rand:
        depth_map = tf.reduce_sum(weights * t_vals, axis=-1)
    else:
        depth_map = tf.reduce_sum(weights * t_vals[:, None, None], axis=-1)
    return (rgb, depth_map)


class NeRF(keras.Model):
    def __init__(self, nerf_model):
        super().__init__()
        self.nerf_model = nerf_model

    def compile(self, optimizer, loss_fn):
        super().compile()
        self.optimizer = optimizer
        self.loss_fn = loss_fn
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.psnr_metric = keras.metrics.Mean(name="psnr")

    def train_step(self, inputs):
        images, rays = inputs
        rays_flat, t_vals = rays
        with tf.GradientTape() as tape:
            rgb, _ = render_rgb_depth(model=self.nerf_model, rays_flat=rays_flat, t_vals=t_vals, rand=True)
            loss = self.loss_fn(images, rgb)
        trainable_variables = self.nerf_model.trainable_variables
        gradients = tape.gradient(loss, trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, trainable_variables))
        psnr = tf.image.psnr(images, rgb, max_val=1.0)
        self.loss_tracker.update_state(loss)
        self.psnr_metric.update_state(psnr)
        return {"loss": self.loss_tracker.result(), "psnr": self.psnr_metric.result()}

    def test_step(self, inputs):
        images, rays = inputs
        rays_flat, t_vals = rays
        rgb, _ = render_rgb_depth(model=self.nerf_model, rays_flat=rays_flat, t_vals=t_vals, rand=True)
        loss = self.loss_fn(images, rgb)
        psnr = tf.image.psnr(images, rgb, max_val=1.0)
        self.loss_tracker.update_state(loss)
        self.psnr_metric.update_state(psnr)
        return {"loss": self.loss_tracker.result(), "psnr": self.psnr_metric.result()}

    @property
    def metrics(self):
        return [self.loss_tracker, self.psnr_metric]


num_pos = H * W * NUM_SAMPLES
nerf_model = get_nerf_model(num_layers=6, num_pos=num_pos)
fill(nerf_model)
model = NeRF(nerf_model)
model.compile(optimizer=keras.optimizers.Adam(), loss_fn=keras.losses.MeanSquaredError())
h = model.fit(train_ds, validation_data=train_ds, epochs=2, verbose=0)
test_imgs, test_rays = next(iter(train_ds))
rgb, depth = render_rgb_depth(model.nerf_model, test_rays[0], test_rays[1], rand=True, train=False)
results = [curves(h), sums(nerf_model), rgb, depth]
