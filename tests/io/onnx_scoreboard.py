"""Runs the tests of the package `onnx` (node, simple, pytorch-operator, pytorch-converted) through dl4.onnx_backend, fed
as its own runner feeds them, and prints how many pass, of all and of those whose types are float32, int32, int64 and
bool alone. Ends with 1 where a case has another result than the lists here say: WRONG, numbers that differ; REFUSED, by
the beginnings of names; all others pass. Of all cases too where less than PLAIN_SHARE of the plain ones pass. With 77
without `onnx`.

    onnx_scoreboard.py [WORD...]             cases with a word in their names alone; what is wrong with them in full
    onnx_scoreboard.py --refusals            what is refused, by reason
    onnx_scoreboard.py --written [WORD...]   writes the model of each case that passes as ONNX again: checked by the
                                             package, run by ONNX Runtime, the same numbers"""

import collections
import os
import pathlib
import re
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))
warnings.simplefilter("ignore")

try:
    import numpy as np
    import onnx
    import onnx.backend.test.loader
    from onnx import numpy_helper
except ImportError:
    print("no onnx package: skipped")
    sys.exit(77)

from dl4 import onnx_backend
from dl4.abi import Error, InternalError
from dl4.core import Model

from onnx_arrays import difference

try:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None  # asked for by --written alone

WRITTEN_OTHERWISE = {}
DRAWN = "random numbers of another generator"
ROUNDED = "computed in float32 and rounded once: by the last digits from what is rounded after each step"
WRONG = {
    "test_attention_3d_causal_bf16": ROUNDED,
    "test_attention_3d_causal_bf16_expanded": ROUNDED,
    "test_attention_4d_attn_mask_causal_bf16": ROUNDED,
    "test_attention_4d_attn_mask_causal_bf16_expanded": ROUNDED,
    "test_attention_4d_causal_bf16": ROUNDED,
    "test_attention_4d_causal_fp16_expanded": ROUNDED,
    "test_attention_4d_causal_padded_kv_bf16_expanded": ROUNDED,
    "test_attention_4d_padded_kv_bf16_expanded": ROUNDED,
    "test_attention_4d_causal_bf16_expanded": ROUNDED,
    "test_attention_4d_causal_padded_kv_bf16": ROUNDED,
    "test_attention_4d_padded_kv_bf16": ROUNDED,
    "test_bernoulli": DRAWN,
    "test_bernoulli_double": DRAWN,
    "test_bernoulli_double_expanded": DRAWN,
    "test_bernoulli_expanded": DRAWN,
    "test_bernoulli_seed": DRAWN,
    "test_bernoulli_seed_expanded": DRAWN,
    "test_training_dropout": DRAWN,
    "test_training_dropout_default": DRAWN,
    "test_training_dropout_default_mask": DRAWN,
    "test_training_dropout_mask": DRAWN,
    "test_resize_downsample_scales_linear_align_corners": "the corner of a size that is no whole number; as ONNX Runtime",
    "test_resize_downsample_scales_cubic_align_corners": "the corner of a size that is no whole number; as ONNX Runtime",
}


TRAINING = "a step of training, of the domain ai.onnx.preview.training"
PAST = "doubles past float32"
OTHER_TYPE = "a type of data that is not read"
REFUSED = {
    "test_adagrad": TRAINING,
    "test_adam": TRAINING,
    "test_momentum": TRAINING,
    "test_nesterov_momentum": TRAINING,
    "test_gradient_of_": TRAINING,
    "test_bitcast_float64": OTHER_TYPE,
    "test_bitcast_int64_to_float64": OTHER_TYPE,
    "test_cast_e8m0_": OTHER_TYPE,
    "test_image_decoder_": "an image in a format of files",
    "test_maxunpool_export_with_output_shape": "places of the smaller image; ONNX Runtime's are those of the larger one",
    "test_regex_full_match_": "regular expressions",
    "test_roialign_mode_max": "the largest of weighted corners, as ONNX Runtime has it",
    "test_operator_add_broadcast": PAST,
    "test_operator_add_size1_right_broadcast": PAST,
    "test_operator_add_size1_singleton_broadcast": PAST,
    "test_operator_addconstant": PAST,
}


PLAIN = {onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.BOOL}
PLAIN_SHARE = 0.98


def types(message):
    """Every type of data that a model names: of its inputs, outputs, values between, constants and casts."""
    if isinstance(message, onnx.TensorProto):
        yield message.data_type
    elif isinstance(message, (onnx.TypeProto.Tensor, onnx.TypeProto.SparseTensor)):
        yield message.elem_type
    elif isinstance(message, onnx.AttributeProto) and message.name in {"to", "dtype"}:
        yield message.i
    else:
        for field, value in message.ListFields():
            if field.message_type:
                for one in [value] if hasattr(value, "ListFields") else value:
                    yield from types(one)


def plain(test):
    """Of float32, int32, int64 and bool alone."""
    model = test.model or onnx.load(os.path.join(test.model_dir, "model.onnx"))
    return set(types(model)) <= PLAIN | {onnx.TensorProto.UNDEFINED}


def array(value):
    """What a run takes and gives: an array, a list of them for a sequence, None for an Optional without a value."""
    if value is None or isinstance(value, list):
        return value and [array(v) for v in value]
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def loaded(folder, prefix):
    names = sorted(folder.glob(f"{prefix}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    return [numpy_helper.to_array(onnx.load_tensor(p)) for p in names]


def pairs(got, wanted):
    for one, want in zip(got, wanted, strict=True):
        if isinstance(want, list):
            yield from pairs(one, want)
        else:
            yield one, want


def data_sets(test):
    if test.data_sets is not None:
        return [([array(v) for v in ins], [array(v) for v in outs]) for ins, outs in test.data_sets]
    folders = sorted(p for p in pathlib.Path(test.model_dir).iterdir() if p.is_dir())
    return [(loaded(p, "input"), loaded(p, "output")) for p in folders]


def check(test):
    model = test.model or onnx.load(os.path.join(test.model_dir, "model.onnx"))
    ready = onnx_backend.prepare(model)
    for inputs, wanted in data_sets(test):
        for got, want in pairs(ready.run(inputs), wanted):
            if said := difference(got, want, test.rtol, max(test.atol, 1e-6)):
                raise AssertionError(said)


class Recorded:
    """A session that keeps what it ran."""

    runs = []

    def __init__(self, model):
        self.model, self.session = model, model.session()

    def run(self, tensors):
        outputs = self.session.run(tensors)
        Recorded.runs.append((self.model, tensors, outputs))
        return outputs

    @classmethod
    def read(cls, model):
        loaded = Model.from_bytes(model.SerializeToString())
        return cls(loaded), loaded.names(1)


def written_again(model, tensors, outputs):
    """What is wrong with the model written as ONNX; None: ONNX Runtime has the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "again.onnx")
        model.save(path)
        try:
            onnx.checker.check_model(path, full_check=True)
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            again = session.run(None, dict(zip(model.names(0), (t.numpy() for t in tensors), strict=True)))
        except Exception as e:  # noqa: BLE001
            return f"ONNX Runtime: {type(e).__name__} {e}"
    for one, want in zip(again, (t.numpy() for t in outputs), strict=True):
        if said := difference(one, want, 1e-4, 1e-4):
            return said
    return None


def write_all(tests):
    """Each model of a case that passes, as it was read, written and run by ONNX Runtime."""
    onnx_backend._read = Recorded.read
    same, wrong, refused = 0, [], collections.Counter()
    for test in tests:
        Recorded.runs.clear()
        try:
            check(test)
        except Exception:  # noqa: BLE001
            continue
        for run in Recorded.runs[-1:]:
            try:
                said = written_again(*run)
            except Error as e:
                refused[reason(e)] += 1
                if "--names" in sys.argv:
                    print(f"{test.name}: {reason(e)}")
                continue
            same += said is None
            if said and test.name not in WRITTEN_OTHERWISE:
                wrong.append(f"{test.name}: {' '.join(said.split())[:300]}")
    for line in wrong:
        print("wrong:", line)
    for why, count in refused.most_common():
        print(f"{count:5} {why}")
    print(f"written again: {same} are the same in ONNX Runtime, {len(wrong)} are not, {sum(refused.values())} are refused")
    return 1 if wrong else 0


def reason(error):
    return re.sub(r'"[^"]*"|\d+', "#", f"{type(error).__name__}: {error}".split("\n")[0])[:140]


def refusal(name):
    return next((r for r in REFUSED if name.startswith(r)), None)


def main():
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    kinds = ("node", "simple", "pytorch-operator", "pytorch-converted")
    tests = [t for kind in kinds for t in onnx.backend.test.loader.load_model_tests(kind=kind)]
    tests = [t for t in tests if not words or any(w in t.name for w in words)]
    if "--written" in sys.argv:
        return write_all(tests)
    passed, known, wrong, refused, named = 0, 0, [], collections.Counter(), set()
    of_plain, plain_passed = [plain(t) for t in tests], 0
    for test, is_plain in zip(tests, of_plain):
        by = refusal(test.name)
        try:
            check(test)
            passed += 1
            plain_passed += is_plain
            if test.name in WRONG or by:
                wrong.append(f"{test.name}: passes, though a list names it")
        except (AssertionError, InternalError) as e:
            if test.name in WRONG:
                known += 1
            else:
                wrong.append(f"{test.name}: {' '.join(str(e).split())[: 2000 if words else 200]}")
        except Exception as e:  # noqa: BLE001
            refused[reason(e)] += 1
            named.add(by)
            if not by:
                wrong.append(f"{test.name}: {' '.join(str(e).split())[: 2000 if words else 200]}")
    if not words:
        wrong.extend(f"{name}: REFUSED names it, and nothing is refused" for name in REFUSED.keys() - named)
        if plain_passed < PLAIN_SHARE * sum(of_plain):
            wrong.append(f"{plain_passed} of {sum(of_plain)} plain cases pass, expected {PLAIN_SHARE:.0%}")
    for line in wrong:
        print("wrong:", line)
    if "--refusals" in sys.argv:
        for why, count in refused.most_common():
            print(f"{count:5} {why}")
    print(
        f"{len(tests)} tests: {passed} pass, {known} differ as WRONG says, {len(wrong)} are wrong, "
        f"{sum(refused.values())} are refused"
    )
    print(
        f"of float32, int32, int64 and bool alone: {plain_passed} of {sum(of_plain)} pass"
        f" ({plain_passed / max(1, sum(of_plain)):.1%})"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
