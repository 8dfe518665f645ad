"""Writes the Keras files beside it, and what their models give: keras/file_test.cpp reads them.

Needs the Keras of tests/golden/requirements.txt; the file of Keras 2 (`tf_keras`) is made as that writes it."""
import json
import os
import pathlib
import zipfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import h5py
import keras
import numpy as np
from keras import layers, ops
from safetensors.numpy import save

HERE = pathlib.Path(__file__).resolve().parent
expected = {}


def record(name, model, *inputs):
    for i, x in enumerate(inputs):
        expected[f"{name}/input/{i}"] = x
    outputs = model(list(inputs) if len(inputs) > 1 else inputs[0], training=False)
    for i, y in enumerate(outputs if isinstance(outputs, (list, tuple)) else [outputs]):
        expected[f"{name}/output/{i}"] = np.asarray(y)


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def stir(model):
    """Weights that no initializer gives."""
    rng = np.random.default_rng(7)
    for v in model.weights:
        if v.dtype == "float32":
            v.assign(rng.uniform(0.1, 1, v.shape))
    return model


def functional():
    x = keras.Input((6, 4), name="steps")
    shared = layers.Dense(4, activation="tanh", name="shared")
    h = shared(shared(x))
    h = layers.LSTM(3, return_sequences=True)(h)
    h = layers.Bidirectional(layers.GRU(2, return_sequences=True))(h)
    h = layers.TimeDistributed(layers.Dense(4))(h)
    h = layers.MultiHeadAttention(2, 2)(h, h)
    h = layers.LayerNormalization()(h + 0.5)
    h = ops.relu(2.0 - h[:, 1:4])
    h = keras.Sequential([layers.Input((3, 4)), layers.Dense(3), layers.BatchNormalization()])(h)
    inner = keras.Input((3, 3))
    h = keras.Model(inner, layers.Dense(2)(layers.Dropout(0.2)(inner)))(h)
    h = layers.RNN([layers.LSTMCell(2), layers.GRUCell(3)])(h)
    return stir(keras.Model(x, [layers.Dense(2, name="first")(h), layers.Dense(1, name="second")(h)]))


def masked():
    """Masks that stand in the graph, that attention takes off, that its kinds make of others."""
    ids = keras.Input((5,), dtype="int32", name="ids")
    x = layers.Embedding(7, 4, mask_zero=True)(ids)
    q = layers.Dense(4)(x)
    y = layers.Attention()([q, x])
    h = layers.Add()([y, layers.MultiHeadAttention(2, 2)(y, y, q)])
    joined = layers.Concatenate(axis=1)([layers.Concatenate()([x, q]), layers.Conv1D(8, 1)(x)])
    return stir(keras.Model(ids, [layers.GlobalAveragePooling1D()(h), layers.LSTM(2)(y), layers.LSTM(2)(joined),
                                  layers.Dense(2)(layers.MultiHeadAttention(1, 2)(h, x))]))


def nested():
    """Models whose calls are outputs of models, which count them otherwise than layers' arguments do; one half frozen;
    operations that become others."""
    def reader(name):
        x = keras.Input((5, 3))
        return keras.Model(x, layers.LSTM(2)(layers.Dense(3)(x)), name=name)

    x, read = keras.Input((5, 3)), reader("inner")
    twice = keras.Model(x, [read(x), read(layers.Masking()(x))], name="twice")
    x, read = keras.Input((5, 3)), reader("outer")
    first, second = twice(x)
    both = layers.Bidirectional(layers.LSTM(2, trainable=False), backward_layer=layers.LSTM(2, go_backwards=True))(x)
    moved = ops.round(ops.moveaxis(x, (1, -1), (-1, 1)) * 2.0, 1)
    moved = moved + ops.ones_like(moved) - ops.zeros_like(moved)
    steps = keras.Sequential([keras.Input((3,)), layers.Dense(2)], name="steps")
    return stir(keras.Model(x, [read(x), layers.Add()([first, second]), read(layers.Masking()(x)), both, moved,
                                layers.TimeDistributed(steps)(x)]))


def scaled():
    """Layers whose weights have no names of their own: a file calls them variable, variable_1."""
    from keras.src.applications.convnext import LayerScale
    x = keras.Input((5,))
    h = LayerScale(0.1, 4)(layers.Dense(4)(x))
    return stir(keras.Model(x, LayerScale(0.2, 4)(layers.Dense(4)(h))))


def numpy_arrays(path):
    """As NumPy saves them, with the same bytes each time."""
    count = np.arange(6).reshape(2, 3)
    types = ["<f2", "<f4", ">f4", "<f8", "|i1", "<i2", ">i4", "<i8", "|u1", "<u2", "<u4"]
    tensors = {name: count.astype(name) for name in types}
    tensors |= {
        "|b1": count % 2 == 1,
        "turned": np.asfortranarray(count.astype("<f4")),
        "scalar": np.float32(2.5),
        "deep/nothing": np.zeros((0, 3), "<f4"),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in tensors.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                np.lib.format.write_array(member, np.asanyarray(array))


def sequential():
    return stir(keras.Sequential([layers.Input((6, 6, 2)), layers.Conv2D(3, 3, activation="relu"),
                                  layers.BatchNormalization(), layers.Flatten(), layers.Dense(2)]))


def deflated(path):
    """The same archive, compressed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def arrays():
    """Every form of data that is read, in old and new files."""
    for libver in ("earliest", "v110"):
        with h5py.File(HERE / f"arrays_{libver}.h5", "w", libver=libver) as f:
            for dtype in ("float16", "float32", "float64", "int8", "uint16", "int64", ">f4", "bool"):
                f[f"plain/{dtype}"] = (np.arange(-6, 6).reshape(3, 4) % 7 / (2 if "f" in dtype else 1)).astype(dtype)
            f["scalar"] = np.float32(2.5)
            f["nothing"] = np.zeros((0, 3), np.float32)
            g = f.create_group("many", track_order=True)
            for i in range(24):
                g[f"member_{i}"] = np.full(1, i, np.int32)
            f.attrs["text"] = "one"
            f.attrs["list"] = ["a", "bc", ""]
            f.attrs["fixed"] = np.array([b"x", b"yz"])
            f.attrs["parts0"], f.attrs["parts1"] = ["p"], ["q", "r"]
            if libver != "earliest":
                continue
            x = np.arange(35, dtype=np.float32).reshape(5, 7)
            f.create_dataset("chunks/plain", data=x, chunks=(2, 3))
            f.create_dataset("chunks/gzip", data=x, chunks=(2, 3), compression="gzip")
            f.create_dataset("chunks/shuffled", data=x, chunks=(5, 7), compression="gzip", shuffle=True)
            f.create_dataset("chunks/checked", data=x, chunks=(5, 7), fletcher32=True)
            f.create_dataset("chunks/missing", shape=(4, 4), dtype="f4", chunks=(2, 2))[0, 0] = 1
            f["soft/link"] = np.float32(1)


def links():
    with h5py.File(HERE / "link_soft.h5", "w") as f:
        f["a"] = np.float32(1)
        f["b"] = h5py.SoftLink("/a")
    with h5py.File(HERE / "link_external.h5", "w") as f:
        f["b"] = h5py.ExternalLink("/etc/passwd", "/a")
    with h5py.File(HERE / "link_circle.h5", "w") as f:
        f.create_group("a")["b"] = f["/"]


def keras_2():
    """As tf_keras writes a Sequential without an InputLayer: nested lists, batch_input_shape, names with ":0"."""
    rng = np.random.default_rng(3)
    kernel, bias = rng.normal(size=(3, 2)).astype("f4"), rng.normal(size=2).astype("f4")
    gamma, beta, mean, variance = (rng.uniform(0.5, 1, 2).astype("f4") for _ in range(4))
    config = {"class_name": "Sequential", "config": {"name": "old", "layers": [
        {"class_name": "Dense", "config": {"name": "fc", "trainable": True, "batch_input_shape": [None, 3],
                                           "dtype": "float32", "units": 2, "activation": "tanh", "use_bias": True,
                                           "kernel_initializer": {"class_name": "GlorotUniform",
                                                                  "config": {"seed": None}}}},
        {"class_name": "BatchNormalization", "config": {"name": "bn", "trainable": True, "dtype": "float32",
                                                        "axis": [1], "momentum": 0.99, "epsilon": 0.001}}]}}
    with h5py.File(HERE / "keras_2.h5", "w") as f:
        f.attrs["keras_version"], f.attrs["backend"] = "2.15.0", "tensorflow"
        f.attrs["model_config"] = json.dumps(config)
        g = f.create_group("model_weights")
        g.attrs["layer_names"] = [b"fc", b"bn"]
        for layer, weights in {"fc": {"kernel": kernel, "bias": bias},
                               "bn": {"gamma": gamma, "beta": beta, "moving_mean": mean,
                                      "moving_variance": variance}}.items():
            one = g.create_group(layer)
            one.attrs["weight_names"] = [f"{layer}/{w}:0".encode() for w in weights]
            for w, value in weights.items():
                one[f"{layer}/{w}:0"] = value
    x = normal(4, 3)
    expected["keras_2.h5/input/0"] = x
    expected["keras_2.h5/output/0"] = ((np.tanh(x @ kernel + bias) - mean) / np.sqrt(variance + 0.001) * gamma
                                       + beta).astype("f4")


def mixed():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2, dtype="mixed_float16", name="half")], name="mixed")
    stir(model).save(HERE / "mixed.keras")
    deflated(HERE / "mixed.keras")


def main():
    keras.utils.set_random_seed(1)
    model = functional()
    model.save(HERE / "functional.keras")
    deflated(HERE / "functional.keras")
    record("functional.keras", model, normal(3, 6, 4))
    keras.backend.clear_session()
    model = masked()
    model.save(HERE / "masked.keras")
    deflated(HERE / "masked.keras")
    record("masked.keras", model, np.array([[1, 2, 3, 0, 0], [4, 5, 6, 1, 2], [3, 0, 2, 0, 0]], "int32"))
    keras.backend.clear_session()
    model = nested()
    model.save(HERE / "nested.keras")
    deflated(HERE / "nested.keras")
    record("nested.keras", model, np.where(np.arange(5)[:, None] % 3 == 1, 0, normal(2, 5, 3)).astype("f4"))
    keras.backend.clear_session()
    model = sequential()
    model.compile("adam", "mse")
    model.save(HERE / "sequential.keras")
    deflated(HERE / "sequential.keras")
    model.save(HERE / "sequential.h5")
    model.save_weights(HERE / "sequential.weights.h5")
    for name in ("sequential.keras", "sequential.h5"):
        record(name, model, normal(2, 6, 6, 2))
    keras.backend.clear_session()
    model = scaled()
    model.save(HERE / "scaled.h5")
    record("scaled.h5", model, normal(3, 5))
    mixed()
    arrays()
    numpy_arrays(HERE / "arrays.npz")
    links()
    keras_2()
    (HERE / "expected.safetensors").write_bytes(save(expected))


if __name__ == "__main__":
    main()
