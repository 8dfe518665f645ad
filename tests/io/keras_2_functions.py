"""Usual models of Keras 2 with functions of TensorFlow between the layers, and some of tf_keras.applications."""
import numpy as np
import tensorflow as tf
import tf_keras as K

L, M, S, I = K.layers, K.Model, K.Sequential, K.Input
rng = np.random.default_rng(0)
MODELS = {}


def m(f):
    MODELS[f.__name__] = f
    return f


@m
def siamese():
    base = S([L.Dense(6, activation="relu", input_shape=(4,)), L.Dense(3)])
    a, b = (I((4,)), I((4,)))
    x = base(a) - base(b)
    return M([a, b], tf.sqrt(tf.reduce_sum(tf.square(x), axis=1, keepdims=True) + 1e-06))


@m
def residual_plus():
    x = I((8, 8, 4))
    h = L.Conv2D(4, 3, padding="same")(x)
    return M(x, tf.nn.relu(x + h))


@m
def vae():
    x = I((8,))
    h = L.Dense(6, activation="relu")(x)
    mu = L.Dense(2)(h)
    lv = L.Dense(2)(h)
    z = mu + tf.exp(0.5 * lv) * 0.3
    return M(x, L.Dense(8, activation="sigmoid")(z))


@m
def op_math():
    x = I((6,))
    return M(x, [tf.math.abs(x), tf.math.exp(x), tf.math.log(tf.abs(x) + 1.0), tf.math.square(x),
        tf.math.sqrt(tf.abs(x)), tf.math.tanh(x), tf.math.sigmoid(x), tf.math.sin(x), tf.math.cos(x),
        tf.math.softplus(x), tf.math.sign(x), tf.math.floor(x), tf.math.maximum(x, 0.1), tf.math.minimum(x, 0.5),
        tf.math.pow(tf.abs(x), 2.0), tf.math.rsqrt(tf.abs(x) + 1.0), tf.math.reciprocal(x), tf.math.negative(x),
        tf.math.erf(x), tf.math.round(x)])


@m
def op_reduce():
    x = I((4, 6))
    return M(x, [tf.reduce_mean(x, axis=1), tf.reduce_sum(x, axis=-1, keepdims=True), tf.reduce_max(x, axis=[1, 2]),
        tf.reduce_min(x, 1), tf.math.reduce_std(x, axis=1), tf.math.reduce_variance(x, axis=2), tf.reduce_logsumexp(x,
        axis=1), tf.reduce_prod(x, axis=1), K.backend.mean(x, axis=1), K.backend.sum(x, axis=1)])


@m
def op_shape():
    x = I((4, 6))
    return M(x, [tf.reshape(x, (-1, 24)), tf.reshape(x, [-1, 2, 12]), tf.transpose(x, [0, 2, 1]), tf.expand_dims(x,
        1), tf.squeeze(tf.expand_dims(x, -1), -1), tf.concat([x, x], axis=-1), tf.stack([x, x], axis=1), tf.tile(x,
        [1, 2, 1]), tf.pad(x, [[0, 0], [1, 1], [0, 2]]), tf.repeat(x, 2, axis=1), tf.reverse(x, [1]), tf.roll(x, 1,
        axis=1)])


@m
def op_slice():
    x = I((4, 6))
    return M(x, [x[:, 0], x[:, -1, :], x[:, 1:3], x[..., :2], x[:, ::2], x[:, tf.newaxis], x[:, :, 1:-1]])


@m
def op_arith():
    x, y = (I((6,)), I((6,)))
    return M([x, y], [x + y, x - y, x * y, x / (tf.abs(y) + 1), 2 * x + 1, 1 - x, x ** 2, -x, 3.0 / (tf.abs(x) + 1),
        abs(x)])


@m
def op_split():
    x = I((6,))
    a, b = tf.split(x, 2, axis=-1)
    p, q, r = tf.unstack(tf.reshape(x, (-1, 3, 2)), axis=1)
    return M(x, [a * b, p + q * r])


@m
def op_matmul():
    a, b = (I((4, 5)), I((5, 6)))
    return M([a, b], [tf.matmul(a, b), a @ b, tf.linalg.matmul(b, a, transpose_a=True, transpose_b=True),
        tf.einsum("bij,bjk->bik", a, b), K.backend.batch_dot(a, b)])


@m
def op_nn():
    x = I((4, 6))
    return M(x, [tf.nn.relu(x), tf.nn.softmax(x), tf.nn.softmax(x, axis=1), tf.nn.leaky_relu(x, alpha=0.1),
        tf.nn.elu(x), tf.nn.gelu(x), tf.nn.sigmoid(x), tf.nn.tanh(x), tf.nn.l2_normalize(x, axis=-1),
        tf.math.l2_normalize(x, -1), tf.nn.log_softmax(x), tf.nn.silu(x), tf.nn.relu6(x), tf.nn.selu(x),
        tf.nn.softplus(x)])


@m
def op_image():
    x = I((8, 8, 3))
    return M(x, [tf.nn.max_pool2d(x, 2, 2, "VALID"), tf.nn.avg_pool2d(x, 2, 2, "SAME"), tf.image.resize(x, (4, 4)),
        tf.image.resize(x, (16, 16), method="nearest"), tf.nn.depth_to_space(tf.concat([x, x, x, x], -1), 2),
        tf.nn.space_to_depth(x, 2)])


@m
def op_logic():
    x = I((6,))
    return M(x, [tf.where(x > 0, x, 0.1 * x), tf.cast(x > 0.0, tf.float32), tf.clip_by_value(x, -0.5, 0.5),
        tf.one_hot(tf.argmax(x, axis=-1), 6), tf.cast(tf.math.logical_and(x > 0, x < 1), "float32"),
        tf.cast(tf.equal(x, 0.0), "float32"), tf.zeros_like(x), tf.ones_like(x)])


@m
def op_gather():
    x = I((6,))
    i = I((), dtype="int32")
    return M([x, i], [tf.gather(x, [0, 2, 4], axis=1), tf.one_hot(i, 5), tf.math.top_k(x, 3)[0], tf.sort(x, axis=-1),
        tf.cumsum(x, axis=1)])


@m
def op_backend():
    B = K.backend
    x = I((6,))
    return M(x, [B.square(x), B.sqrt(B.abs(x)), B.exp(x), B.relu(x), B.softmax(x), B.sigmoid(x), B.expand_dims(x, 1),
        B.concatenate([x, x]), B.clip(x, -1, 1), B.l2_normalize(x, axis=1), B.max(x, axis=1), B.tanh(x),
        B.hard_sigmoid(x)])


@m
def op_const():
    x = I((6,))
    c = tf.constant(rng.normal(size=(6,)).astype("f4"))
    w = tf.constant(rng.normal(size=(6, 4)).astype("f4"))
    return M(x, [x * c, x + np.arange(6, dtype="f4"), tf.matmul(x, w), tf.subtract(1.0, x), tf.add_n([x, x, x])])


@m
def op_transpose_chain():
    x = I((4, 6))
    h = L.Dense(5)(x)
    s = tf.matmul(h, h, transpose_b=True) / np.sqrt(5.0).astype("f4")
    return M(x, tf.matmul(tf.nn.softmax(s), h))


@m
def se_block():
    x = I((8, 8, 6))
    s = L.GlobalAveragePooling2D()(x)
    s = L.Reshape((1, 1, 6))(s)
    s = L.Dense(2, activation="relu")(s)
    s = L.Dense(6, activation="sigmoid")(s)
    return M(x, x * s)


@m
def hswish():
    x = I((8, 8, 6))
    return M(x, x * tf.nn.relu6(x + 3.0) / 6.0)


@m
def mobilenet():
    return K.applications.MobileNet((32, 32, 3), alpha=0.25, weights=None, classes=5)


@m
def mobilenetv2():
    return K.applications.MobileNetV2((32, 32, 3), alpha=0.35, weights=None, classes=5)


@m
def mobilenetv3():
    return K.applications.MobileNetV3Small((32, 32, 3), weights=None, classes=5)


@m
def efficientnet():
    return K.applications.EfficientNetB0(input_shape=(32, 32, 3), weights=None, classes=5)


@m
def convnext():
    return K.applications.ConvNeXtTiny(input_shape=(32, 32, 3), weights=None, classes=5)


@m
def regnet():
    return K.applications.RegNetX002(input_shape=(32, 32, 3), weights=None, classes=5)


@m
def transfer():
    b = K.applications.MobileNetV2((32, 32, 3), alpha=0.35, weights=None, include_top=False)
    b.trainable = False
    x = I((32, 32, 3))
    h = L.RandomFlip()(x)
    h = K.applications.mobilenet_v2.preprocess_input(h)
    h = b(h, training=False)
    return M(x, L.Dense(2)(L.GlobalAveragePooling2D()(h)))
