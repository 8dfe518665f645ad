"""Writes small files of other programs into seeds/, where the fuzzers start:

    make_seeds.py torch|keras|keras_2|keras_texts|onnxruntime

Each word needs its package: torch with onnx and onnxscript; keras 3, for texts with TensorFlow; tf_keras; onnxruntime
with onnx. The models are as small as they may be with the layers that they are about, so that a changed byte is likely
to matter."""

import pathlib
import sys

import numpy as np

SEEDS = pathlib.Path(__file__).resolve().parent / "seeds"


def from_torch():
    import torch
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.loop, self.last = kind(3, 2, batch_first=True), nn.Linear(2, 1)

        def forward(self, x):
            return self.last(self.loop(x)[0][:, -1])

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.attend, self.norm = nn.MultiheadAttention(4, 2, batch_first=True), nn.LayerNorm(4)

        def forward(self, x):
            return self.norm(x + self.attend(x, x, x, need_weights=False)[0])

    torch.manual_seed(0)
    nets = {
        "mlp": (nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2), nn.Softmax(-1)), (2, 4)),
        "cnn": (nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.Flatten()), (1, 1, 6, 6)),
        "lstm": (Recurrent(nn.LSTM), (1, 4, 3)),
        "gru": (Recurrent(nn.GRU), (1, 4, 3)),
        "attention": (Attention(), (1, 3, 4)),
        "up": (nn.Sequential(nn.ConvTranspose2d(1, 1, 2, 2), nn.Upsample(scale_factor=2), nn.GELU()), (1, 1, 2, 2)),
    }
    for name, (net, shape) in nets.items():
        for dynamo in (False, True):
            path = SEEDS / "torch" / f"torch_{name}{'_dynamo' if dynamo else ''}.onnx"
            how = {"external_data": False} if dynamo else {"dynamic_axes": {"x": {0: "batch"}}}
            x = torch.ones(shape)
            torch.onnx.export(net.eval(), (x,), path, input_names=["x"], dynamo=dynamo, verbose=False, **how)
            if dynamo:
                strip(path)


def strip(path):
    """Without what the exporter notes for people, such as its stack traces."""
    import onnx

    model = onnx.load(path)
    for n in model.graph.node:
        del n.metadata_props[:]
        n.doc_string = ""
    for v in [*model.graph.input, *model.graph.output, *model.graph.value_info, *model.graph.initializer]:
        del v.metadata_props[:]
    del model.graph.metadata_props[:]
    path.write_bytes(model.SerializeToString(deterministic=True))


def keras_models(keras, three):
    layers = keras.layers
    image = keras.Input((5, 5, 1))
    conv = layers.DepthwiseConv2D(2)(layers.Conv2D(2, 2, padding="same", activation="relu")(image))
    conv = layers.GlobalAveragePooling2D()(layers.BatchNormalization()(layers.ZeroPadding2D()(conv)))
    yield "conv", keras.Model(image, layers.Dense(1)(conv))
    words = keras.Input((4,), dtype="int32")
    masked = layers.Embedding(5, 2, mask_zero=True)(words)
    loop = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(masked)
    yield "loop", keras.Model(words, layers.Dense(1)(layers.GRU(2)(loop)))
    x = keras.Input((3, 4))
    heads = layers.MultiHeadAttention(2, 2)(x, x)
    y = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.5)(heads)]))
    yield "attention", keras.Model(x, layers.TimeDistributed(layers.Dense(1))(y))
    a, b = keras.Input((2,)), keras.Input((2,))
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(2, "tanh", kernel_regularizer="l2")])
    yield "nested", keras.Model([a, b], inner(layers.Concatenate()([a, b])))
    x = keras.Input((3,))
    if three:
        yield "operations", keras.Model(x, keras.ops.sum(keras.ops.exp(x[:, :2]) * 2 + 1, axis=-1, keepdims=True))
    else:
        yield "operations", keras.Model(x, layers.LeakyReLU(0.1)(x * 2 + 1))


def from_keras(version):
    if version == 3:
        import keras
    else:
        import tf_keras as keras
    keras.utils.set_random_seed(1)
    for name, model in keras_models(keras, version == 3):
        if name == "nested":  # with an optimizer's variables
            model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
        for ending in ("keras", "h5") if name in ("loop", "nested") else ("keras",):
            model.save(SEEDS / "keras" / f"keras_{version}_{name}.{ending}")


def from_keras_texts():
    import keras
    from keras import layers

    x = keras.Input((1,), dtype="string", name="x")
    words = layers.TextVectorization(output_sequence_length=3, ngrams=2)
    words.adapt(np.array(["a b", "a c"]))
    weighed = layers.StringLookup(output_mode="tf_idf", num_oov_indices=2)
    weighed.adapt(np.array([["a", "b"], ["a", "c"]]))
    numbers = layers.IntegerLookup()
    numbers.adapt(np.array([[1], [2]]))
    model = keras.Model(x, [words(x), weighed(x), numbers(layers.Hashing(3, salt=1)(x))])
    model.save(SEEDS / "keras" / "keras_3_texts.keras")


def from_onnxruntime():
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_dynamic, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self, shape):
            self.batches = iter([{"x": np.linspace(-1, 1, int(np.prod(shape)), dtype="float32").reshape(shape)}])

        def get_next(self):
            return next(self.batches, None)

    for name, shape in (("mlp", (2, 4)), ("cnn", (1, 1, 6, 6))):
        source = SEEDS / "torch" / f"torch_{name}.onnx"
        to = SEEDS / "onnxruntime" / f"{name}.onnx"
        quant_pre_process(source, to.with_stem(f"onnxruntime_{name}_processed"), skip_symbolic_shape=True)
        quantize_dynamic(source, to.with_stem(f"onnxruntime_{name}_dynamic"))
        for form in QuantFormat:
            quantize_static(source, to.with_stem(f"onnxruntime_{name}_{form}".lower()), Reader(shape), quant_format=form)


if __name__ == "__main__":
    makers = {
        "torch": from_torch,
        "keras": lambda: from_keras(3),
        "keras_2": lambda: from_keras(2),
        "keras_texts": from_keras_texts,
        "onnxruntime": from_onnxruntime,
    }
    if sys.argv[1:2] == [] or sys.argv[1] not in makers:
        raise SystemExit(__doc__)
    makers[sys.argv[1]]()
