"""Runs the tests of the package `onnx` (node, simple, pytorch-operator, pytorch-converted) through dl4.onnx_backend, fed
as its own runner feeds them, and prints how many pass. Ends with 1 where fewer pass than PASSING, or numbers are wrong
in a case that WRONG does not name, or one that it names passes; with 77 without `onnx`.   --refusals lists what is refused, by reason."""

import collections
import os
import pathlib
import re
import sys
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
from dl4.abi import InternalError

from onnx_arrays import difference

PASSING = 1924
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


def main():
    kinds = ("node", "simple", "pytorch-operator", "pytorch-converted")
    tests = [t for kind in kinds for t in onnx.backend.test.loader.load_model_tests(kind=kind)]
    passed, known, wrong, refused = 0, 0, [], collections.Counter()
    for test in tests:
        try:
            check(test)
            passed += 1
            if test.name in WRONG:
                wrong.append(f"{test.name}: passes, though WRONG names it")
        except (AssertionError, InternalError) as e:
            if test.name in WRONG:
                known += 1
            else:
                wrong.append(f"{test.name}: {' '.join(str(e).split())[:200]}")
        except Exception as e:  # noqa: BLE001
            refused[re.sub(r'"[^"]*"|\d+', "#", f"{type(e).__name__}: {e}".split("\n")[0])[:140]] += 1
    for line in wrong:
        print("wrong:", line)
    if "--refusals" in sys.argv:
        for reason, count in refused.most_common():
            print(f"{count:5} {reason}")
    print(
        f"{len(tests)} tests: {passed} pass, {known} differ as WRONG says, {len(wrong)} are wrong, "
        f"{sum(refused.values())} are refused"
    )
    return 1 if wrong or passed < PASSING else 0


if __name__ == "__main__":
    sys.exit(main())
