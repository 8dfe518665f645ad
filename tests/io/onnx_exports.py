"""Models exported by PyTorch (both exporters), skl2onnx and tf2onnx, read by libdl4; and models of libdl4 written as ONNX:
each against ONNX Runtime, to 1e-5, with two batch sizes. An exporter that is not installed is named and left out; ends
with 77 where onnxruntime is not there, with 1 where numbers differ."""

import os
import pathlib
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))
warnings.filterwarnings("ignore")

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError:
    print("no onnxruntime: skipped")
    sys.exit(77)

from dl4.abi import Error
from dl4.core import Model, Tensor

random = np.random.default_rng(3)
failed = []


def by_onnxruntime(path, feeds):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)


def by_dl4(model, feeds):
    tensors = [Tensor.of(np.ascontiguousarray(feeds[n]), str(feeds[n].dtype)) for n in model.names(0)]
    return [t.numpy() for t in model.session().run(tensors)]


def compare(name, got, wanted):
    worst = max(float(np.max(np.abs(g - w) / np.maximum(1, np.abs(w)), initial=0)) for g, w in zip(got, wanted, strict=True))
    print(f"{'ok  ' if worst <= 1e-5 else 'FAIL'} {name}: {worst:.1e}")
    if not worst <= 1e-5:
        failed.append(name)


def read(name, path, feeds):
    try:
        compare(name, by_dl4(Model.load(path), feeds), by_onnxruntime(path, feeds))
    except Error as error:
        print(f"FAIL {name}: {error}")
        failed.append(name)


def torch_models():
    import torch
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self, kind, **options):
            super().__init__()
            self.inner = kind(5, 4, batch_first=True, **options)
            self.head = nn.Linear(8 if options.get("bidirectional") else 4, 3)

        def forward(self, x):
            return self.head(self.inner(x)[0][:, -1])

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4)
            y = torch.softmax(q @ k.transpose(-1, -2) / 2, -1) @ v
            return x + self.out(torch.nn.functional.gelu(y.transpose(1, 2).reshape(b, t, 8)))

    def image():
        return nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Hardswish(), nn.ConvTranspose2d(8, 4, 3, 2, 1, 1),
            nn.AvgPool2d(3, 2, 1), nn.GroupNorm(2, 4), nn.SiLU(), nn.Upsample(scale_factor=2), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(4, 5), nn.LogSoftmax(-1))  # fmt: skip

    makers = {
        "mlp": (lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3), nn.Softmax(-1)), (2, 6), [0]),
        "image": (image, (2, 3, 17, 19), [0]),
        "lstm": (lambda: Recurrent(nn.LSTM, bidirectional=True, num_layers=2), (2, 7, 5), [0]),
        "gru": (lambda: Recurrent(nn.GRU), (2, 7, 5), [0]),
        "rnn": (lambda: Recurrent(nn.RNN), (2, 7, 5), [0]),
        "attention": (Attention, (2, 7, 8), [0]),
        "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 7, 8), []),
    }
    for name, (make, shape, free) in makers.items():
        for dynamo in (False, True):
            torch.manual_seed(1)
            model, x = make().eval(), torch.randn(*shape)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.onnx")
                title = f"torch {name}, {'torch.export' if dynamo else 'TorchScript'}"
                try:
                    options = {"input_names": ["x"], "output_names": ["y"], "dynamo": dynamo}
                    if dynamo:
                        options.update(external_data=False, verbose=False)
                        options["dynamic_shapes"] = ({axis: torch.export.Dim.DYNAMIC for axis in free},) if free else None
                    else:
                        options["dynamic_axes"] = {"x": {axis: f"n{axis}" for axis in free}}
                    torch.onnx.export(model, (x,), path, **options)
                except Exception as error:  # the exporter's own limits
                    print(f"     {title}: not exported ({str(error).splitlines()[0][:90]})")
                    continue
                batch = 3 if free else 2
                read(title, path, {"x": random.standard_normal((batch, *shape[1:])).astype("float32")})


def sklearn_models():
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    x = random.standard_normal((60, 4)).astype("float32")
    for name, model, y in [
        ("MLPRegressor", MLPRegressor(hidden_layer_sizes=(7, 5), max_iter=20), x.sum(1)),
        ("MLPClassifier", MLPClassifier(hidden_layer_sizes=(6,), max_iter=20), (x.sum(1) > 0).astype("int64")),
    ]:
        options = {"zipmap": False} if "Classifier" in name else None
        exported = to_onnx(model.fit(x, y), x[:1], options=options and {id(model): options})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            onnx.save(exported, path)
            read(f"skl2onnx {name}", path, {exported.graph.input[0].name: x[:3]})


def tensorflow_models():
    import tensorflow as tf
    import tf2onnx

    layers = tf.keras.layers
    models = {
        "dense": ([layers.Dense(5, "relu"), layers.Dense(3, "softmax")], (4,)),
        "image": (
            [layers.Conv2D(4, 3, padding="same", activation="relu"), layers.MaxPooling2D(), layers.DepthwiseConv2D(3),
             layers.BatchNormalization(), layers.GlobalAveragePooling2D(), layers.Dense(3)],
            (12, 13, 3),
        ),
        "lstm": ([layers.Bidirectional(layers.LSTM(4, return_sequences=True)), layers.GRU(3)], (6, 5)),
    }  # fmt: skip
    for name, (stack, shape) in models.items():
        model = tf.keras.Sequential([tf.keras.Input(shape, name="x"), *stack])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            signature = [tf.TensorSpec([None, *shape], tf.float32, name="x")]
            tf2onnx.convert.from_function(tf.function(model), input_signature=signature, output_path=path)
            read(f"tf2onnx {name}", path, {"x": random.standard_normal((3, *shape)).astype("float32")})


def written():
    import dl4.keras as keras

    layers = keras.layers
    heads = layers.MultiHeadAttention(2, 4)
    sequence = keras.Input((None, 6))
    stacks = {
        "dense": ([layers.Dense(5, "gelu"), layers.Dropout(0.5), layers.Dense(3, "softmax")], (4,)),
        "image": (
            [layers.Conv2D(4, 3, 2, "same"), layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(2),
             layers.DepthwiseConv2D(3, padding="same"), layers.Conv2DTranspose(3, 3, 2, "same"),
             layers.AveragePooling2D(2, padding="same"), layers.UpSampling2D(2), layers.GroupNormalization(3),
             layers.SeparableConv2D(4, 3), layers.GlobalAveragePooling2D(), layers.Dense(3)],
            (12, 13, 3),
        ),
        "causal": ([layers.Conv1D(4, 3, padding="causal", dilation_rate=2), layers.ZeroPadding1D(1),
                    layers.Cropping1D((1, 0)), layers.GlobalMaxPooling1D()], (None, 5)),
        "lstm": ([layers.LSTM(4, return_sequences=True), layers.LSTM(3, go_backwards=True)], (None, 5)),
        "bidirectional": ([layers.Bidirectional(layers.LSTM(4, return_sequences=True)), layers.GRU(3)], (None, 5)),
        "gru": ([layers.GRU(4, return_sequences=True), layers.SimpleRNN(3)], (None, 5)),
        "gru backwards": ([layers.GRU(4, return_sequences=True, go_backwards=True, use_bias=False),
                           layers.Bidirectional(layers.GRU(3, return_sequences=True))], (None, 5)),
        "rnn": ([layers.Bidirectional(layers.SimpleRNN(4, "relu", return_sequences=True)),
                 layers.SimpleRNN(3, "linear", return_sequences=True, use_bias=False),
                 layers.SimpleRNN(3, "softsign", go_backwards=True)], (None, 5)),
        "scan": ([layers.GRU(4, reset_after=False, return_sequences=True), layers.SimpleRNN(3, "gelu")], (None, 5)),
        "normalizations": ([layers.LayerNormalization(), layers.RMSNormalization(), layers.UnitNormalization(),
                            layers.EinsumDense("abc,cd->abd", output_shape=(None, 4), bias_axes="d"),
                            layers.PReLU(shared_axes=[1]), layers.ELU(), layers.Permute((2, 1)), layers.Softmax()],
                           (7, 5)),
    }  # fmt: skip
    models = {name: keras.Sequential([keras.Input(shape), *stack]) for name, (stack, shape) in stacks.items()}
    attended = heads(sequence, sequence, use_causal_mask=True)
    models["attention"] = keras.Model(sequence, layers.LayerNormalization()(layers.Add()([sequence, attended])))
    states = layers.GRU(4, return_sequences=True, return_state=True, bias_initializer="glorot_uniform")(sequence)
    models["states"] = keras.Model(sequence, layers.GRU(4)(states[0], initial_state=states[1]))
    ids = keras.Input((None,), dtype="int32")
    models["embedding"] = keras.Model(ids, layers.GlobalAveragePooling1D()(layers.Embedding(9, 4, mask_zero=True)(ids)))
    for name, model in models.items():
        with tempfile.TemporaryDirectory() as folder:
            own, path = os.path.join(folder, "m.safetensors"), os.path.join(folder, "m.onnx")
            model.save(own)
            loaded = Model.load(own)
            try:
                loaded.save(path)
            except Error as error:
                print(f"FAIL written {name}: {error}")
                failed.append(name)
                continue
            onnx.checker.check_model(path, full_check=True)
            (dims,), (dtype,) = loaded.shapes(0), loaded.dtypes(0)
            for batch, time in ((1, 4), (3, 7)):
                shape = [batch, *(time if d is None or d < 0 else d for d in dims[1:])]
                x = random.integers(0, 9, shape).astype(dtype) if "int" in dtype else random.standard_normal(shape)
                feeds = {loaded.names(0)[0]: np.asarray(x, dtype)}
                compare(f"written {name} {shape}", by_onnxruntime(path, feeds), by_dl4(loaded, feeds))
            try:
                compare(f"written {name}, read again", by_dl4(Model.load(path), feeds), by_dl4(loaded, feeds))
            except Error as error:
                print(f"FAIL written {name}, read again: {error}")
                failed.append(name)


def small_numbers():
    """Each result to its own digits, where written() compares small ones with 1."""
    import dl4.keras as keras

    size = 10.0 ** random.uniform(-30, 0, 10000)
    given = np.concatenate([size, -size, size * 1e8]).astype("float32")[:, None]
    for name in ("expm1", "log1p"):
        x = keras.Input((1,))
        with tempfile.TemporaryDirectory() as folder:
            own, path = os.path.join(folder, "m.safetensors"), os.path.join(folder, "m.onnx")
            keras.Model(x, getattr(keras.ops, name)(x)).save(own)
            loaded = Model.load(own)
            loaded.save(path)
            feeds = {loaded.names(0)[0]: given}
            with np.errstate(over="ignore"):
                wanted = getattr(np, name)(given.astype("float64"))
            some = (wanted < 1e37) & (wanted != 0)
            for side, got in (("ONNX Runtime", by_onnxruntime(path, feeds)), ("read again", by_dl4(Model.load(path), feeds))):
                compare(f"{name}'s digits, {side}", [got[0][some] / wanted[some]], [np.ones(np.count_nonzero(some))])


for part in (written, small_numbers, sklearn_models, tensorflow_models, torch_models):
    if sys.argv[1:] and part.__name__ not in sys.argv[1:]:
        continue
    try:
        part()
    except ImportError as error:
        print(f"     {part.__name__}: left out, {error}")
print("failed:" if failed else "none failed", ", ".join(failed))
sys.exit(1 if failed else 0)
