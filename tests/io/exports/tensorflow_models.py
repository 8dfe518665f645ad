"""Nets of Keras, by tf2onnx and by Keras's own export."""

import os
import tempfile


def files():
    import keras
    import numpy as np
    import onnx
    import tensorflow as tf
    import tf2onnx

    layers = keras.layers
    random = np.random.default_rng(3)
    stacks = {
        "dense": ([layers.Dense(5, "relu"), layers.Dense(3, "softmax")], (4,)),
        "image": ([layers.Conv2D(4, 3, padding="same", activation="relu"), layers.MaxPooling2D(2), layers.DepthwiseConv2D(3),
                   layers.BatchNormalization(), layers.GlobalAveragePooling2D(), layers.Dense(3)], (12, 13, 3)),
        "separable": ([layers.SeparableConv2D(4, 3), layers.Conv2DTranspose(3, 3, 2), layers.AveragePooling2D(2)], (12, 13, 3)),
        "upsampled": ([layers.UpSampling2D(2, interpolation="bilinear"), layers.ZeroPadding2D(1), layers.Cropping2D(2)], (8, 6, 3)),
        "conv1d": ([layers.Conv1D(4, 3, padding="causal"), layers.GlobalMaxPooling1D()], (None, 5)),
        "lstm": ([layers.LSTM(4, return_sequences=True), layers.LSTM(3)], (6, 5)),
        "bidirectional": ([layers.Bidirectional(layers.LSTM(4, return_sequences=True))], (6, 5)),
        "gru": ([layers.GRU(4, return_sequences=True), layers.GRU(3, reset_after=False)], (6, 5)),
        "rnn": ([layers.SimpleRNN(4)], (6, 5)),
        "normalized": ([layers.LayerNormalization(), layers.Dense(4, "gelu"), layers.Dropout(0.5)], (None, 5)),
        "activations": ([layers.Dense(4, a) for a in ("elu", "selu", "softplus", "softsign", "silu", "tanh", "sigmoid",
                                                       "hard_sigmoid", "leaky_relu", "relu6", "mish")], (4,)),
        "embedding": ([layers.Embedding(9, 4), layers.GlobalAveragePooling1D()], (None,)),
        "reshaped": ([layers.Reshape((3, 4)), layers.Permute((2, 1)), layers.Flatten()], (12,)),
        "time distributed": ([layers.TimeDistributed(layers.Dense(3))], (None, 5)),
        "conv3d": ([layers.Conv3D(2, 3), layers.MaxPooling3D(2)], (6, 7, 8, 2)),
        "convlstm": ([layers.ConvLSTM2D(2, 3)], (4, 6, 6, 2)),
    }  # fmt: skip

    def attention():
        x = keras.Input((None, 6), name="x")
        y = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(2, 4)(x, x)]))
        return keras.Model(x, y), (None, 6)

    def made(name):
        keras.utils.set_random_seed(1)
        if name == "attention":
            return attention()
        stack, shape = stacks[name]
        kind = "int32" if name == "embedding" else "float32"
        return keras.Sequential([keras.Input(shape, name="x", dtype=kind), *stack]), shape

    def feeds(proto, shape, name):
        port = proto.graph.input[0]
        kind = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        sizes = [[n, *(t if d is None else d for d in shape)] for n, t in ((2, 7), (3, 9))]
        return [{port.name: (random.integers(0, 9, s) if name == "embedding" else random.standard_normal(s)).astype(kind)}
                for s in sizes]  # fmt: skip

    for name in [*stacks, "attention"]:
        def by_tf2onnx(name=name):
            model, shape = made(name)
            kind = tf.int32 if name == "embedding" else tf.float32
            signature = [tf.TensorSpec([None, *shape], kind, name="x")]
            proto, _ = tf2onnx.convert.from_function(tf.function(lambda x: model(x)), input_signature=signature, opset=18)
            return proto, feeds(proto, shape, name)

        def by_keras(name=name):
            model, shape = made(name)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.onnx")
                model(np.zeros((2, *(n or 8 for n in shape)), "int32" if name == "embedding" else "float32"))
                model.export(path, format="onnx", verbose=False)
                proto = onnx.load(path)
            return proto, feeds(proto, shape, name)

        yield f"tf2onnx {name}", by_tf2onnx
        yield f"keras {name}", by_keras
