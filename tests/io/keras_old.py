"""Files of old versions of Keras, made by hand: what their models give is what Keras's layers give with the weights that
tf.keras's own conversion makes of theirs.   keras_old.py [--write: those beside tests/io/data/make.py too]

77 where the Keras of tests/golden/requirements.txt is not installed. DL4_LIBRARY names the library."""
import json
import os
import pathlib
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/golden"), str(SOURCE / "capi/bindings/python")]

try:
    import h5py
    import keras
    import numpy as np
    from safetensors.numpy import save
    from tensorflow.python.keras.saving import hdf5_format
except ImportError:
    print("Keras is not installed here")
    sys.exit(77)
import make

if keras.__version__ != make.KERAS:
    print(f"needs keras {make.KERAS}, not {keras.__version__}")
    sys.exit(77)
import dl4
from keras import layers

DATA = pathlib.Path(__file__).resolve().parent / "data"
FOLDER = pathlib.Path(tempfile.mkdtemp())
KEPT = {"lstm_1": "keras_1_lstm.h5", "conv_2d": "keras_1_conv.h5", "cudnn_gru": "keras_2_cudnn.h5"}
rng = np.random.default_rng(3)
recorded, failures = {}, []
UNITS, WIDTH = 3, 4


def some(*shape):
    return rng.normal(size=shape).astype("f4") * 0.5


def hard_sigmoid(x):
    """That of Keras 1 and 2."""
    return keras.ops.clip(0.2 * x + 0.5, 0, 1)


def write(path, version, described, weights):
    config = {"class_name": "Sequential", "config": [{"class_name": c, "config": k} for c, k in described]}
    with h5py.File(path, "w") as f:
        f.attrs["keras_version"] = version.encode()
        f.attrs["model_config"] = json.dumps(config).encode()
        g = f.create_group("model_weights")
        g.attrs["keras_version"] = version.encode()
        g.attrs["layer_names"] = [k["name"].encode() for _, k in described]
        for _, k in described:
            one = g.create_group(k["name"])
            own = weights.get(k["name"], {})
            one.attrs["weight_names"] = [name.encode() for name in own]
            for name, value in own.items():
                one[name] = value


def check(name, version, described, weights, x, net):
    """net: Keras's layers with their weights."""
    path = FOLDER / f"{name}.h5"
    write(path, version, described, weights)
    wanted = x
    for layer, values in net:
        layer.build(wanted.shape)
        layer.set_weights(values)
        wanted = np.asarray(layer(wanted))
    try:
        got = np.asarray(dl4.Model.load(str(path)).session().run([dl4.Tensor.of(np.ascontiguousarray(x))])[0])
        far = np.abs(got - wanted).max() if got.shape == wanted.shape else 9
        print(name, f"{far:.1e}", flush=True)
        if not far < 1e-6:
            failures.append(f"{name}: {far}")
    except dl4.Error as e:
        failures.append(f"{name}: {e}")
    if name in KEPT:
        recorded[f"{KEPT[name]}/input/0"] = np.ascontiguousarray(x)
        recorded[f"{KEPT[name]}/output/0"] = np.ascontiguousarray(wanted)


def converted(cls, values, version="1", **attributes):
    layer = type(cls, (), attributes)()
    if version == "1":
        return hdf5_format.preprocess_weights_for_loading(layer, list(values), version)
    return hdf5_format._convert_rnn_weights(layer, list(values))


def gates(name, words):
    shapes = {"W": (WIDTH, UNITS), "U": (UNITS, UNITS), "b": (UNITS,)}
    return {f"{name}_{w}_{gate}": some(*shape) for gate in words for w, shape in shapes.items()}


def recurrent_1():
    plain = {"output_dim": UNITS, "init": "glorot_uniform", "inner_init": "orthogonal", "activation": "tanh",
             "inner_activation": "hard_sigmoid", "consume_less": "cpu", "U_regularizer": None, "b_regularizer": None,
             "W_regularizer": {"name": "WeightRegularizer", "l1": 0.0, "l2": 0.01}, "dropout_W": 0.0, "dropout_U": 0.0,
             "batch_input_shape": [None, 5, WIDTH], "input_dim": WIDTH, "trainable": True}
    fc = {"name": "fc", "output_dim": 2, "init": "uniform", "activation": "sigmoid", "bias": True, "input_dim": None,
          "W_constraint": {"name": "MaxNorm", "m": 2, "axis": 0}, "trainable": True}
    dense = {"fc_W": some(UNITS, 2), "fc_b": some(2)}
    x = some(2, 5, WIDTH)
    lstm = gates("lstm", "icfo")
    check("lstm_1", "1.2.2",
          [("LSTM", {"name": "lstm", "forget_bias_init": "one", **plain}), ("Dropout", {"name": "drop", "p": 0.5}),
           ("Dense", fc)], {"lstm": lstm, "fc": dense}, x,
          [(layers.LSTM(UNITS, recurrent_activation=hard_sigmoid), converted("LSTM", lstm.values())),
           (layers.Dense(2, activation="sigmoid"), list(dense.values()))])
    gru = gates("gru", "zrh")
    check("gru_1", "1.1.0",
          [("GRU", {"name": "gru", "return_sequences": True, **plain}),
           ("TimeDistributed", {"name": "each", "layer": {"class_name": "Dense", "config": fc}})],
          {"gru": gru, "each": dense}, x,
          [(layers.GRU(UNITS, recurrent_activation=hard_sigmoid, reset_after=False, return_sequences=True),
            converted("GRU", gru.values(), reset_after=False)),
           (layers.Dense(2, activation="sigmoid"), list(dense.values()))])


def convolution_1():
    conv = {"c_W": some(3, 3, 2, 4), "c_b": some(4)}
    norm = {"n_gamma": some(4), "n_beta": some(4), "n_running_mean": some(4), "n_running_std": abs(some(4)) + 0.5}
    check("conv_2d", "1.2.2",
          [("Convolution2D", {"name": "c", "batch_input_shape": [None, 6, 6, 2], "nb_filter": 4, "nb_row": 3,
                              "nb_col": 3, "activation": "relu", "border_mode": "same", "subsample": [2, 2],
                              "dim_ordering": "tf", "bias": True}),
           ("BatchNormalization", {"name": "n", "epsilon": 0.001, "mode": 0, "axis": -1, "gamma_regularizer": None}),
           ("MaxPooling2D", {"name": "p", "pool_size": [2, 2], "strides": [2, 2], "border_mode": "valid",
                             "dim_ordering": "tf"})], {"c": conv, "n": norm}, some(2, 6, 6, 2),
          [(layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"), list(conv.values())),
           (layers.BatchNormalization(), list(norm.values())), (layers.MaxPooling2D(2), [])])
    conv = {"c_W": some(3, 1, WIDTH, 5), "c_b": some(5)}
    check("conv_1d", "1.0.8",
          [("Convolution1D", {"name": "c", "batch_input_shape": [None, 7, WIDTH], "nb_filter": 5, "filter_length": 3,
                              "border_mode": "valid", "subsample_length": 2, "activation": "linear", "bias": True}),
           ("MaxPooling1D", {"name": "p", "stride": 2, "pool_length": 2, "border_mode": "valid"})], {"c": conv},
          some(2, 7, WIDTH),
          [(layers.Conv1D(5, 3, strides=2), [conv["c_W"][:, 0], conv["c_b"]]), (layers.MaxPooling1D(2), [])])


def recurrent_2():
    x = some(2, 5, WIDTH)
    plain = {"name": "r", "batch_input_shape": [None, 5, WIDTH], "units": UNITS, "trainable": True}
    for cls, n in (("LSTM", 4), ("GRU", 3)):
        r = {"r/kernel:0": some(WIDTH, n * UNITS), "r/recurrent_kernel:0": some(UNITS, n * UNITS),
             "r/bias:0": some(2 * n * UNITS)}
        check(f"cudnn_{cls.lower()}", "2.2.4", [(f"CuDNN{cls}", plain)], {"r": r}, x,
              [(getattr(layers, cls)(UNITS), converted(cls, r.values(), "2", reset_after=True))])
    for after in (False, True, None):  # None: versions that had no such word
        r = {"r/kernel:0": some(WIDTH, 3 * UNITS), "r/recurrent_kernel:0": some(UNITS, 3 * UNITS),
             "r/bias:0": some(2, 3 * UNITS) if after else some(3 * UNITS)}
        said = {} if after is None else {"reset_after": after}
        check(f"gru_2_{after}", "2.2.4",
              [("GRU", {"recurrent_activation": "hard_sigmoid", "implementation": 1, **plain, **said})], {"r": r}, x,
              [(layers.GRU(UNITS, recurrent_activation=hard_sigmoid, reset_after=bool(after)), list(r.values()))])


def main(arguments):
    recurrent_1()
    convolution_1()
    recurrent_2()
    if "--write" in arguments:
        for name, file in KEPT.items():
            (DATA / file).write_bytes((FOLDER / f"{name}.h5").read_bytes())
        (DATA / "expected_old.safetensors").write_bytes(save(recorded))
    print(f"{len(failures)} failures", *failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
