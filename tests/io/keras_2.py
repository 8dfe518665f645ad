"""Usual models of Keras 2 (tf_keras), as .h5 and .keras: what they give there they give here.

    keras_2.py [--write] [NAME ...]      --write: those of KEPT and what they give, into data/

77 where tf_keras is not installed. DL4_LIBRARY names the library."""

import os
import pathlib
import sys
import tempfile
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "capi/bindings/python"))

try:
    import tf_keras as K
    import numpy as np
    import tensorflow as tf
    from safetensors.numpy import save
except ImportError:
    print("tf_keras is not installed here")
    sys.exit(77)
import dl4
import keras_2_functions
import keras_2_layers

warnings.filterwarnings("ignore")
DATA = pathlib.Path(__file__).resolve().parent / "data"
FOLDER = pathlib.Path(tempfile.mkdtemp())
KEPT = ("activations", "depthwise1d", "seq2seq", "mha_scores", "op_slice", "op_arith", "op_shape", "op_nn", "op_logic",
        "op_gather", "local2d", "td_dense", "ncf", "masked_states")
# Of models that compute in float16 half of its precision is left; of the others what float32 rounds.
TOLERANCE = {"mixed16": 2e-3}
MODELS = {**keras_2_layers.MODELS, **keras_2_functions.MODELS}


def some(r, shape):
    return r.normal(size=shape) * 0.4


def given(model, r):
    """Inputs of the kinds that the model's layers take."""
    ids = any(isinstance(layer, (K.layers.Embedding, K.layers.CategoryEncoding)) for layer in model.layers)
    for t in tf.nest.flatten(model.inputs):
        shape = [2 if d is None else d for d in t.shape]
        whole = t.dtype.is_integer or ids
        x = r.integers(0, 5, size=shape) if whole else r.normal(size=shape)
        if not whole and any(isinstance(layer, K.layers.Masking) for layer in model.layers):
            x[0, 3:] = 0
        yield x.astype(t.dtype.as_numpy_dtype)


def ours(path, inputs):
    plain = [x.astype("f4") if x.dtype in (np.float64, np.float16) else x for x in inputs]
    found = dl4.Model.load(str(path)).session().run([dl4.Tensor.of(np.ascontiguousarray(x)) for x in plain])
    return [np.asarray(y) for y in found]


def distance(a, b):
    a, b = (np.asarray(x).astype("f8") for x in (a, b))
    return 9.0 if a.shape != b.shape else np.abs(a - b).max(initial=0) / max(1, np.abs(b).max(initial=0))


def main(arguments):
    write, names = "--write" in arguments, [a for a in arguments if not a.startswith("--")]
    recorded, failures, files = {}, [], 0
    for name in names or MODELS:
        K.backend.clear_session()
        K.utils.set_random_seed(1)
        model, r = MODELS[name](), np.random.default_rng(5)
        if model.count_params() < 20000 and "normalization" not in name:
            values = [some(r, w.shape).astype(w.dtype) if w.dtype.kind == "f" else w for w in model.get_weights()]
            model.set_weights(
                [abs(w) + np.float32(0.5) if "variance" in v.name else w for v, w in zip(model.weights, values)]
            )
        inputs = list(given(model, r))
        keys = [t.name for t in tf.nest.flatten(model.inputs)]
        asked = dict(zip(keys, inputs)) if name == "dict_in" else inputs if len(inputs) > 1 else inputs[0]
        wanted = [np.asarray(y) for y in tf.nest.flatten(model(asked, training=False))]
        for suffix in (".h5", ".keras"):
            path = FOLDER / f"{name}{suffix}"
            try:
                model.save(path)
            except TypeError:  # a slice with an ellipsis
                continue
            files += 1
            try:
                got = ours(path, inputs)
                far = max(distance(a, b) for a, b in zip(got, wanted)) if len(got) == len(wanted) else 9
                if not far <= TOLERANCE.get(name, 3e-6):
                    failures.append(f"{path.name}: {far}")
            except dl4.Error as e:
                failures.append(f"{path.name}: {e}")
        if write and name in KEPT:
            file = f"tf_keras_{name}.h5"
            (DATA / file).write_bytes((FOLDER / f"{name}.h5").read_bytes())
            for role, tensors in ("input", inputs), ("output", wanted):
                recorded.update({f"{file}/{role}/{i}": np.ascontiguousarray(t) for i, t in enumerate(tensors)})
    if write:
        (DATA / "expected_tf_keras.safetensors").write_bytes(save(recorded))
    print(f"{len(names or MODELS)} models, {files} files, {len(failures)} failures", *failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
