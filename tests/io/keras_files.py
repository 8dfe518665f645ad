"""Keras's files both ways, for the model of every golden case: what Keras saved is loaded here, what is saved here is
loaded by Keras, and all three give the same.   keras_files.py [FAMILY ...]

77 where the Keras of tests/golden/requirements.txt is not installed. DL4_LIBRARY names the library."""
import os
import pathlib
import sys
import tempfile
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/golden"), str(SOURCE / "capi/bindings/python")]

try:
    import keras
    import numpy as np
    import tensorflow as tf
except ImportError:
    print("Keras is not installed here")
    sys.exit(77)
import logging

import make
import record

if keras.__version__ != make.KERAS:
    print(f"needs keras {make.KERAS}, not {keras.__version__}")
    sys.exit(77)
warnings.filterwarnings("ignore")
logging.getLogger("tensorflow").setLevel(logging.ERROR)
logging.getLogger("absl").setLevel(logging.ERROR)
import dl4

# What has no place in a file of Keras 3, by what the refusal says.
UNSAID = ("product of transposed matrices", "reads a constant", "with custom settings")
FOLDER = pathlib.Path(tempfile.mkdtemp())
counts = {"cases": 0, "not saved by Keras": 0, "not written": 0}
failures = []
tolerance = 2e-6  # or what the golden case says


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def distance(a, b):
    a, b = (np.nan_to_num(np.asarray(x).astype(np.float64)) for x in (a, b))
    return 9.0 if a.shape != b.shape else np.abs(a - b).max(initial=0) / max(1, np.abs(b).max(initial=0))


def ours(path, inputs):
    model = dl4.Model.load(str(path))
    given = [x.astype(np.float32) if x.dtype == np.float64 else x for x in inputs]
    return model, [np.asarray(y) for y in model.session().run([dl4.Tensor.of(x) for x in given])]


def compare(what, got, wanted):
    if len(got) != len(wanted) or any(distance(a, b) > tolerance for a, b in zip(got, wanted)):
        failures.append(f"{what}: {[float(distance(a, b)) for a, b in zip(got, wanted)]}")


def both_ways(family, name, model, inputs):
    if "sparsemax" in name:
        return  # what Keras 3.15.1 gives does not sum to 1
    if family.name == "random_windows" and name in ("conv_transpose_8", "conv_transpose_9"):
        return  # channels first: Keras 3.15.1 adds the bias along the last axis where that is as long as there are channels
    if family.name == "ops" and name.startswith("arange"):
        return  # Keras makes it by a cumulative sum, which is no layer here
    counts["cases"] += 1
    case = f"{family.name}/{name}"
    record.begin_anew(model)
    wanted = [y.numpy() for y in as_list(model([tf.constant(x) for x in inputs], training=False))]
    kept = None
    for suffix in (".keras", ".h5"):
        path = FOLDER / f"theirs{suffix}"
        try:
            model.save(path)
        except TypeError:  # of layers that hold what Python can't copy
            if suffix == ".keras":
                raise
            counts["not saved by Keras"] += 1
            continue
        try:
            kept, got = ours(path, inputs)
            compare(f"{case}{suffix}", got, wanted)
        except dl4.Error as e:
            failures.append(f"{case}{suffix}: {e}")
    if kept is None:
        return
    path = FOLDER / "ours.keras"
    try:
        kept.save(str(path))
    except dl4.Unsupported as e:
        if not any(words in str(e) for words in UNSAID):
            failures.append(f"{case}, saved: {e}")
        counts["not written"] += 1
        return
    try:
        compare(f"{case}, saved, loaded here", ours(path, inputs)[1], wanted)
    except dl4.Error as e:
        failures.append(f"{case}, saved, loaded here: {e}")
    try:
        again = keras.saving.load_model(path)
        compare(f"{case}, saved", [y.numpy() for y in as_list(again([tf.constant(x) for x in inputs], training=False))],
                wanted)
        again, weights = model, FOLDER / "ours.weights.h5"
        kept.save(str(weights))
        before = [w.numpy() for w in again.weights]
        for w in again.weights:
            w.assign(tf.zeros_like(w))
        again.load_weights(weights)
        compare(f"{case}, weights", [w.numpy() for w in again.weights], before)
    except Exception as e:
        failures.append(f"{case}, saved, in Keras: {str(e).splitlines()[0][:300]}")


def model(self, name, net, outputs, inputs, *, weights=None, seed=None, **fields):
    global tolerance
    tolerance = fields.get("rtol", 2e-6)
    built = outputs if isinstance(outputs, keras.Model) else net.build(outputs)
    rng = self.rng(seed or name)
    for variable in built.weights:
        value = record.initial_weight(rng, variable)
        variable.assign((weights or {}).get(record.weight_name(variable), value))
    for layer in built.layers:
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()
    x = [np.asarray(a) for a in record.as_list(inputs)]
    both_ways(self, name, built, x)
    for i, y in enumerate(as_list(built([tf.constant(a) for a in x], training=False))):
        self.tensors[f"{name}/output/{i}"] = y.numpy()  # families look at them
        if (mask := record.backend.get_keras_mask(y)) is not None:
            self.tensors[f"{name}/output_mask/{i}"] = mask.numpy()
    return built


def main(families):
    record.Family.model = model
    for name in ("note", "put"):
        setattr(record.Family, name, lambda *_, **__: None)
    for name, family in make.families().items():
        if families and name not in families:
            continue
        keras.utils.set_random_seed(0)
        before = dict(counts), len(failures)
        family()
        keras.backend.clear_session()
        added = {key: n - before[0][key] for key, n in counts.items() if n > before[0][key]}
        print(name, added, *failures[before[1] :], sep="\n  ", flush=True)
    print(counts, f"{len(failures)} failures")
    return 1 if failures or counts["cases"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
