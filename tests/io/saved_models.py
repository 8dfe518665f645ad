"""Models that the library saved give in Keras 3.15.1 and in ONNX Runtime what they gave here: those of every kind with
inputs of every type, and those that ONNX's own cases make. Ends with 1 where a file is not read there, or gives other
numbers; with 77 without keras, or without onnxruntime and onnx.

    DL4_SAVED_MODELS=FOLDER build/release/tests/capi_tests --gtest_filter='SavedKinds.*'
    saved_models.py FOLDER [WORD...]   those files, or those of kinds with a word in their names
    saved_models.py --onnx [WORD...]   the cases of the package onnx, saved for Keras; DL4_LIBRARY names the library"""

import os
import pathlib
import sys
import tempfile
import warnings

os.environ.setdefault("KERAS_BACKEND", "numpy")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))
warnings.simplefilter("ignore")

try:
    import keras
    import numpy as np
    import onnxruntime
except ImportError as e:
    print(f"{e.name} is not installed here: skipped")
    sys.exit(77)

from onnx_arrays import difference

onnxruntime.set_default_logger_severity(4)
# The file is as it should be, by the beginning of its name.
ZERO = "ONNX Runtime ends where an integer is divided by 0"
DRAWN = "random numbers of another generator"
BELOW = "a float below 0 as uint8 may be any"
EMPTY = "Keras has no largest of nothing"
TEXTS = "Keras on NumPy takes no strings"
CYCLE = "Keras on NumPy builds no functional model with it"
OTHERWISE = {
    "onnx layer FloorDivide {} of type": ZERO,
    "onnx layer Fmod {} of type": ZERO,
    "onnx layer Mod {} of type": ZERO,
    "onnx layer RandomNormal": DRAWN,
    "onnx layer RandomUniform": DRAWN,
    "onnx layer SpectralNormalization": BELOW,
    "keras layer SpectralNormalization": BELOW,
    "keras layer Equalization": CYCLE,
    "keras activation sparsemax": "float64 in Keras on NumPy",
    'keras layer Resizing {"height":4,"width":4} of type 6': "bools between two are either",
    "test_ai_onnx_ml_label_encoder_string_int": TEXTS,
    "test_ai_onnx_ml_label_encoder_tensor_": TEXTS,
    "test_equal_string": TEXTS,
    "test_strnorm": TEXTS,
    "test_bitcast_uint32_to_int32": "integers wider than int32 are shifted otherwise in Keras on NumPy",
    "test_reduce_log_sum_exp_empty_set": EMPTY,
    "test_reduce_max_empty_set": EMPTY,
    "test_reduce_min_empty_set": EMPTY,
}


def in_keras(path, inputs):
    model = keras.saving.load_model(path, compile=False)
    found = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    return [np.asarray(y) for y in keras.tree.flatten(found)]


def in_onnx_runtime(path, inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip((i.name for i in session.get_inputs()), inputs, strict=True)))


def told(run, path, inputs, wanted):
    """What is wrong, or None."""
    try:
        found = run(path, inputs)
    except Exception as e:  # noqa: BLE001
        return f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"
    for got, want in zip(found, wanted):
        # Its integers may be of fewer bits there; the numbers count.
        if got.dtype != want.dtype and {got.dtype.kind, want.dtype.kind} <= set("iu"):
            got = got.astype(want.dtype)
        if said := difference(got, want, 1e-4, 1e-4):
            return said
    return None


def of_kinds(folder, words):
    for text in sorted(folder.glob("*.txt"), key=lambda p: int(p.stem)):
        who = text.read_text()
        if words and not any(w in who for w in words):
            continue
        inputs = [np.load(p) for p in sorted(folder.glob(f"{text.stem}.in*.npy"))]
        for suffix, run in ((".keras", in_keras), (".onnx", in_onnx_runtime)):
            path = text.with_suffix(suffix)
            if path.exists():
                yield f"{suffix[1:]} {who}", told(run, str(path), inputs, [np.load(folder / f"{text.stem}.out.npy")])


def of_onnx(words):
    import onnx.backend.test.loader

    import onnx_scoreboard as board
    from dl4 import onnx_backend
    from dl4.abi import Unsupported
    from dl4.core import Model

    onnx_backend._read = board.Recorded.read
    kinds = ("node", "simple", "pytorch-operator", "pytorch-converted")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.keras")
        for test in (t for kind in kinds for t in onnx.backend.test.loader.load_model_tests(kind=kind)):
            if words and not any(w in test.name for w in words):
                continue
            board.Recorded.runs.clear()
            try:
                board.check(test)
            except Exception:  # noqa: BLE001
                continue
            for model, tensors, outputs in board.Recorded.runs[-1:]:
                try:
                    model.save(path)
                except Unsupported as e:
                    yield test.name, e
                    continue
                inputs, wanted = ([t.numpy() for t in list_] for list_ in (tensors, outputs))
                try:
                    again = [t.numpy() for t in Model.load(path).session().run(tensors)]
                    here = next(filter(None, (difference(a, b, 1e-5, 1e-5) for a, b in zip(again, wanted))), None)
                except Exception as e:  # noqa: BLE001
                    here = f"{type(e).__name__} {e}"
                yield test.name, f"here: {here}" if here else told(in_keras, path, inputs, wanted)


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    cases = of_onnx(names) if "--onnx" in sys.argv else of_kinds(pathlib.Path(names[0]), names[1:])
    same, refused, wrong = 0, {}, 0
    for who, said in cases:
        if said is None:
            same += 1
        elif isinstance(said, Exception):
            why = str(said).split(": ", 2)[-1]
            refused[why] = refused.get(why, 0) + 1
        elif not any(who.startswith(name) for name in OTHERWISE):
            wrong += 1
            print(f"wrong: {who}: {said}", flush=True)
    for why, count in sorted(refused.items(), key=lambda item: -item[1]):
        print(f"{count:5} refused: {why}")
    print(f"{same} give the same, {wrong} are wrong, {sum(refused.values())} are refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
