"""Usual models of Keras 2, of layers."""
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
def mlp():
    return S([I((4,)), L.Dense(8, activation="relu"), L.Dropout(0.5), L.Dense(3, activation="softmax")])


@m
def mlp_input_shape():
    return S([L.Dense(8, activation="relu", input_shape=(4,)), L.Dense(3, activation="softmax",
        kernel_regularizer="l2")])


@m
def mlp_input_dim():
    return S([L.Dense(8, input_dim=4), L.BatchNormalization(), L.LeakyReLU(0.1), L.Dense(1, activation="sigmoid")])


@m
def cnn():
    return S([L.Conv2D(4, 3, activation="relu", input_shape=(12, 12, 1)), L.MaxPooling2D(), L.Conv2D(4, 3,
        padding="same"), L.GlobalAveragePooling2D(), L.Dense(3)])


@m
def cnn1d():
    return S([L.Conv1D(4, 3, input_shape=(12, 3)), L.MaxPooling1D(), L.SeparableConv1D(5, 3), L.GlobalMaxPooling1D(),
        L.Dense(3)])


@m
def cnn3d():
    return S([L.Conv3D(3, 2, input_shape=(6, 6, 6, 2)), L.MaxPooling3D(), L.Flatten(), L.Dense(3)])


@m
def depthwise():
    return S([L.DepthwiseConv2D(3, input_shape=(8, 8, 3)), L.SeparableConv2D(4, 3, padding="same"),
        L.Conv2DTranspose(3, 3, strides=2), L.GlobalAveragePooling2D(keepdims=True)])


@m
def depthwise1d():
    return S([L.DepthwiseConv1D(3, input_shape=(8, 3)), L.Conv1DTranspose(3, 3, strides=2), L.AveragePooling1D()])


@m
def transpose3d():
    return S([L.Conv3DTranspose(2, 2, strides=2, input_shape=(3, 3, 3, 2)), L.AveragePooling3D()])


@m
def embedding_lstm():
    return S([L.Embedding(20, 8, input_length=6), L.LSTM(5), L.Dense(1, activation="sigmoid")])


@m
def embedding_mask():
    return S([L.Embedding(20, 8, input_length=6, mask_zero=True), L.LSTM(5, return_sequences=True), L.GRU(4),
        L.Dense(1)])


@m
def bidirectional():
    return S([L.Embedding(20, 8, mask_zero=True, input_shape=(6,)), L.Bidirectional(L.LSTM(5, return_sequences=True)),
        L.Bidirectional(L.GRU(4), merge_mode="sum"), L.Dense(1)])


@m
def bidir_backward():
    return S([I((6, 3)), L.Bidirectional(L.LSTM(5, return_sequences=True), backward_layer=L.GRU(5,
        return_sequences=True, go_backwards=True))])


@m
def simple_rnn():
    return S([I((6, 3)), L.SimpleRNN(5, return_sequences=True), L.SimpleRNN(4, activation="relu")])


@m
def rnn_cells():
    return S([I((6, 3)), L.RNN([L.LSTMCell(4), L.GRUCell(3)], return_sequences=True), L.RNN(L.SimpleRNNCell(4))])


@m
def stateful():
    return S([L.LSTM(4, stateful=True, batch_input_shape=(2, 6, 3)), L.Dense(1)])


@m
def td():
    return S([I((5, 8, 8, 1)), L.TimeDistributed(L.Conv2D(3, 3, activation="relu")),
        L.TimeDistributed(L.GlobalAveragePooling2D()), L.LSTM(4), L.Dense(2)])


@m
def td_dense():
    return S([I((5, 4)), L.Masking(0.0), L.TimeDistributed(L.Dense(3)), L.GRU(4, reset_after=False)])


@m
def convlstm():
    return S([I((4, 8, 8, 1)), L.ConvLSTM2D(3, 3, padding="same", return_sequences=True), L.ConvLSTM2D(2, 3)])


@m
def convlstm1d():
    return S([I((4, 8, 2)), L.ConvLSTM1D(3, 3)])


@m
def activations():
    x = I((6,))
    return M(x, L.Concatenate()([L.LeakyReLU()(x), L.LeakyReLU(alpha=0.2)(x), L.ELU(alpha=0.7)(x),
        L.ThresholdedReLU(theta=0.5)(x), L.PReLU()(x), L.ReLU(6.0, 0.1, 0.2)(x), L.Softmax()(x),
        L.Activation("swish")(x), L.Activation("hard_sigmoid")(x), L.Activation("selu")(x), L.Activation("gelu")(x),
        L.Activation("softsign")(x), L.Activation("exponential")(x), L.Activation("mish")(x)]))


@m
def merges():
    a, b = (I((4,)), I((4,)))
    return M([a, b], [L.Add()([a, b]), L.Subtract()([a, b]), L.Multiply()([a, b]), L.Average()([a, b]),
        L.Maximum()([a, b]), L.Minimum()([a, b]), L.Concatenate()([a, b]), L.Dot(1, normalize=True)([a, b])])


@m
def functional_heads():
    a = I((4,), name="a")
    h = L.Dense(5, activation="tanh")(a)
    return M(a, {"y": L.Dense(2, name="y")(h), "z": L.Dense(3, name="z")(h)})


@m
def dict_in():
    a = I((4,), name="a")
    b = I((3,), name="b")
    return M({"a": a, "b": b}, L.Dense(2)(L.concatenate([a, b])))


@m
def shared():
    d = L.Dense(4, activation="relu")
    a, b = (I((4,)), I((4,)))
    return M([a, b], L.Dense(1)(L.concatenate([d(a), d(b)])))


@m
def nested():
    i = I((4,))
    inner = M(i, L.Dense(3, activation="relu")(i), name="inner")
    x = I((4,))
    return M(x, L.Dense(2)(inner(x)))


@m
def nested_seq():
    return S([I((8, 8, 3)), S([L.Conv2D(3, 3), L.BatchNormalization()], name="a"), S([L.Flatten(), L.Dense(2)],
        name="b")])


@m
def autoencoder():
    x = I((12,))
    e = M(x, L.Dense(4, activation="relu")(x), name="enc")
    z = I((4,))
    d = M(z, L.Dense(12, activation="sigmoid")(z), name="dec")
    return M(x, d(e(x)))


@m
def mha():
    q, v = (I((5, 8)), I((6, 8)))
    return M([q, v], L.MultiHeadAttention(2, 4)(q, v))


@m
def mha_self():
    q = I((5, 8))
    a = L.MultiHeadAttention(2, 4, value_dim=3)(q, q, q)
    return M(q, L.LayerNormalization(epsilon=1e-06)(q + a))


@m
def mha_scores():
    q = I((5, 8))
    y, s = L.MultiHeadAttention(2, 4)(q, q, return_attention_scores=True)
    return M(q, [y, s])


@m
def mha_causal():
    q = I((5, 8))
    return M(q, L.MultiHeadAttention(2, 4)(q, q, use_causal_mask=True))


@m
def attention():
    q, v = (I((5, 8)), I((6, 8)))
    return M([q, v], L.concatenate([L.Attention(use_scale=True)([q, v]), L.AdditiveAttention()([q, v])]))


@m
def transformer():
    x = I((6,), dtype="int32")
    e = L.Embedding(20, 8)(x)
    p = L.Embedding(6, 8)(tf.range(6))
    h = e + p
    a = L.MultiHeadAttention(2, 4)(h, h)
    h = L.LayerNormalization()(h + a)
    f = L.Dense(8)(L.Dense(16, activation="gelu")(h))
    h = L.LayerNormalization()(h + f)
    return M(x, L.Dense(2)(L.GlobalAveragePooling1D()(h)))


@m
def transformer_add():
    x = I((6,))
    e = L.Embedding(20, 8)(x)
    h = e
    a = L.MultiHeadAttention(2, 4)(h, h)
    h = L.LayerNormalization()(L.Add()([h, a]))
    return M(x, L.Dense(2)(L.GlobalMaxPooling1D()(h)))


@m
def seq2seq():
    a, b = (I((5, 3)), I((4, 3)))
    _, h, c = L.LSTM(6, return_state=True)(a)
    y = L.LSTM(6, return_sequences=True)(b, initial_state=[h, c])
    return M([a, b], L.Dense(3, activation="softmax")(y))


@m
def seq2seq_gru():
    a, b = (I((5, 3)), I((4, 3)))
    _, h = L.GRU(6, return_state=True)(a)
    y, _ = L.GRU(6, return_sequences=True, return_state=True)(b, initial_state=h)
    return M([a, b], L.Dense(3)(y))


@m
def seq2seq_emb():
    a, b = (I((5,)), I((4,)))
    _, h, c = L.LSTM(6, return_state=True)(L.Embedding(9, 4, mask_zero=True)(a))
    y, _, _ = L.LSTM(6, return_sequences=True, return_state=True)(L.Embedding(9, 4)(b), initial_state=[h, c])
    return M([a, b], L.Dense(3)(y))


@m
def masked_states():
    """Keras 2 uses the masks beside the first states."""
    a, b = (I((5,)), I((4,)))
    e, d = L.Embedding(5, 4, mask_zero=True)(a), L.Embedding(5, 4, mask_zero=True)(b)
    _, h, c = L.LSTM(3, return_state=True)(e)
    s = L.Bidirectional(L.GRU(3, return_state=True))(e)[1:]
    y = L.LSTM(3, return_sequences=True)(d, initial_state=[h, c])
    z = L.Bidirectional(L.GRU(3))(d, initial_state=s)
    return M([a, b], [L.Dense(3)(y), L.Dense(3)(L.LSTM(3)(y, initial_state=[h, c])), z])


@m
def bidir_state():
    a, b = (I((5, 3)), I((4, 3)))
    _, fh, fc, bh, bc = L.Bidirectional(L.LSTM(3, return_state=True))(a)
    y = L.LSTM(6)(b, initial_state=[L.concatenate([fh, bh]), L.concatenate([fc, bc])])
    return M([a, b], y)


@m
def bidir_initial():
    a, b = (I((5, 3)), I((4, 3)))
    s = L.Bidirectional(L.LSTM(3, return_state=True))(a)[1:]
    y = L.Bidirectional(L.LSTM(3))(b, initial_state=s)
    return M([a, b], y)


@m
def local1d():
    return S([L.LocallyConnected1D(3, 2, input_shape=(7, 3)), L.Flatten(), L.Dense(2)])


@m
def local1d_impl2():
    return S([L.LocallyConnected1D(3, 2, strides=2, activation="relu", implementation=2, input_shape=(7, 3))])


@m
def local1d_impl3():
    return S([L.LocallyConnected1D(3, 2, implementation=3, input_shape=(7, 3))])


@m
def local2d():
    return S([L.LocallyConnected2D(3, 2, input_shape=(6, 5, 2)), L.Flatten(), L.Dense(2)])


@m
def unet():
    x = I((16, 16, 3))
    a = L.Conv2D(4, 3, padding="same", activation="relu")(x)
    b = L.MaxPooling2D()(a)
    b = L.Conv2D(8, 3, padding="same")(b)
    u = L.UpSampling2D()(b)
    u = L.Concatenate()([u, a])
    t = L.Conv2DTranspose(4, 2, strides=2, padding="same")(b)
    return M(x, L.Conv2D(1, 1, activation="sigmoid")(L.Concatenate()([u, t])))


@m
def resblock():
    x = I((8, 8, 4))
    h = L.Conv2D(4, 3, padding="same", use_bias=False)(x)
    h = L.BatchNormalization()(h)
    h = L.ReLU()(h)
    return M(x, L.Activation("relu")(L.add([x, h])))


@m
def upsampling():
    return S([I((4, 4, 2)), L.UpSampling2D(2, interpolation="bilinear"), L.ZeroPadding2D(1), L.Cropping2D(((1, 0), (0,
        1))), L.UpSampling2D(2, interpolation="bicubic")])


@m
def shapes1d():
    return S([I((6, 2)), L.ZeroPadding1D(2), L.Cropping1D(1), L.UpSampling1D(2), L.Permute((2, 1)), L.Reshape((4,
        -1)), L.Flatten(), L.RepeatVector(3)])


@m
def shapes3d():
    return S([I((3, 3, 3, 2)), L.ZeroPadding3D(1), L.Cropping3D(1), L.UpSampling3D(2), L.GlobalMaxPooling3D()])


@m
def noises():
    return S([I((6, 3)), L.GaussianNoise(0.1), L.GaussianDropout(0.2), L.AlphaDropout(0.1), L.SpatialDropout1D(0.2),
        L.ActivityRegularization(l1=0.1), L.Dense(2)])


@m
def norms():
    x = I((6, 8))
    return M(x, [L.LayerNormalization(axis=[1, 2])(x), L.UnitNormalization()(x), L.GroupNormalization(4)(x),
        L.BatchNormalization(axis=1, scale=False)(x), L.LayerNormalization(axis=-1, center=False)(x)])


@m
def normalization():
    l = L.Normalization()
    l.adapt(rng.normal(size=(20, 4)).astype("f4"))
    return S([I((4,)), l, L.Dense(2)])


@m
def normalization_unadapted():
    return S([I((4,)), L.Normalization(), L.Dense(2)])


@m
def normalization_given():
    return S([I((4,)), L.Normalization(mean=[1.0, 2, 3, 4], variance=[1.0, 2, 1, 2]), L.Dense(2)])


@m
def spectral():
    return S([I((6,)), L.SpectralNormalization(L.Dense(4))])


@m
def rescaling():
    return S([I((8, 8, 3)), L.Rescaling(1 / 127.5, offset=-1), L.RandomFlip("horizontal"), L.RandomRotation(0.1),
        L.RandomZoom(0.1), L.RandomContrast(0.1), L.RandomTranslation(0.1, 0.1), L.RandomBrightness(0.1), L.Conv2D(3,
        3), L.Flatten(), L.Dense(2)])


@m
def resizing():
    return S([I((9, 7, 3)), L.Resizing(6, 5), L.CenterCrop(4, 4), L.Flatten()])


@m
def resizing2():
    return S([I((9, 7, 3)), L.Resizing(6, 5, interpolation="nearest"), L.Resizing(12, 13, interpolation="bicubic")])


@m
def category():
    return S([I((3,), dtype="int32"), L.CategoryEncoding(6, output_mode="multi_hot"), L.Dense(2)])


@m
def discretize():
    return S([I((3,)), L.Discretization([0.0, 0.5, 1.0]), L.CategoryEncoding(4, output_mode="count")])


@m
def einsum_dense():
    return S([I((5, 8)), L.EinsumDense("abc,cd->abd", output_shape=(None, 4), bias_axes="d")])


@m
def int_embedding():
    return S([I((6,), dtype="int32"), L.Embedding(20, 4), L.Flatten(), L.Dense(1)])


@m
def conv_groups():
    return S([I((8, 8, 4)), L.Conv2D(8, 3, groups=2, dilation_rate=2), L.Conv2D(4, 1, strides=2, padding="same")])


@m
def causal():
    return S([I((10, 2)), L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="relu"), L.Conv1D(4, 3,
        padding="causal")])


@m
def gru_reset():
    return S([I((6, 3)), L.GRU(4, reset_after=True, return_sequences=True, go_backwards=True), L.GRU(3,
        recurrent_activation="hard_sigmoid", time_major=False, unroll=True)])


@m
def lstm_opts():
    return S([I((6, 3)), L.LSTM(4, recurrent_activation="hard_sigmoid", unit_forget_bias=False, use_bias=False,
        return_sequences=True, implementation=1, dropout=0.1, recurrent_dropout=0.1), L.LSTM(3, activation="relu")])


@m
def layer_norm_lstm():
    return S([I((6, 3)), L.Masking(0.0), L.LSTM(4, return_sequences=True), L.LayerNormalization(),
        L.TimeDistributed(L.Dense(2, activation="softmax"))])


@m
def ncf():
    u, i = (I((1,)), I((1,)))
    a = L.Flatten()(L.Embedding(9, 4, input_length=1)(u))
    b = L.Flatten()(L.Embedding(8, 4, input_length=1)(i))
    return M([u, i], L.Dense(1, activation="sigmoid")(L.concatenate([L.dot([a, b], axes=1), a, b])))


@m
def textcnn():
    x = I((12,))
    e = L.Embedding(30, 6, input_length=12)(x)
    return M(x, L.Dense(2, activation="softmax")(L.concatenate([L.GlobalMaxPooling1D()(L.Conv1D(3, k,
        activation="relu")(e)) for k in (2, 3, 4)])))


@m
def wide_deep():
    a, b = (I((5,)), I((4,)))
    h = L.Dense(8, activation="relu")(b)
    return M([a, b], L.Dense(1)(L.concatenate([a, h])))


@m
def mixed16():
    K.mixed_precision.set_global_policy("mixed_float16")
    try:
        x = I((6,))
        return M(x, L.Dense(2, dtype="float32")(L.Dense(8, activation="relu")(x)))
    finally:
        K.mixed_precision.set_global_policy("float32")


@m
def float64():
    x = I((6,), dtype="float64")
    return M(x, L.Dense(2, dtype="float64")(x))
