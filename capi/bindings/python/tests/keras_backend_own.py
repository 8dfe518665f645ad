#!/usr/bin/env python3
"""Keras's own tests on the backend:   keras_backend_own.py [--backend NAME] [FOLDER or FILE ...]

They come with Keras's package: pip install keras==3.15.1 pytest absl-py jax. Cases that fail are printed, then a table
of the folders. --backend: one of Keras's own, to compare with."""

import argparse
import collections
import importlib
import importlib.util
import os
import pathlib
import re
import sys
import types

import pytest

FOLDERS = """activations applications callbacks constraints initializers layers losses metrics models ops optimizers
quantizers random regularizers saving trainers tree utils""".split()

# Left out, by the path of the file and the name of the case.
ABSENT = "asks for a file that Keras's package has not"
SPARSE, COMPLEX, FLOAT8 = "sparse and ragged tensors", "complex numbers", "floats of 8 bits"
DISTRIBUTED, FRAMEWORK, NETWORK = "distribution", "another framework", "asks for a file of the network"
EXCLUDED = {
    r"[Ss]parse(Test|_input|_tensor|_grad|_data|_weights|_variable)|[_-]sparse\b|ragged|optimizer_sparse": SPARSE,
    r"complex|view_as_|ViewAs|_eig\b|polar": COMPLEX,
    r"float8|fp8|overwrite_with_gradient|with_overwrite_state": FLOAT8,
    r"QuantizersTest::test_quantize_and_dequantize$|test_quantized_layer_with_remat": FLOAT8,
    r"(?<!time_)(?<!Time)distribut|device_mesh|multi_worker|_tpu|_gpu": DISTRIBUTED,
    r"jax_layer|torch_|backend_torch|tfsm_layer|jax_utils|orbax": FRAMEWORK,
    r"tensorboard|litert|openvino|saved_model|flax|tensorflow": FRAMEWORK,
    r"[Ff]lash_?[Aa]ttention|dot_product_attention_.*true$|test_jvp": "what no backend on a processor has",
    r"(soft|hard|tanh)_shrink_\w*float|NNOpsDtypeTest::test_threshold": FRAMEWORK,  # by PyTorch's numbers
    r"test_arg(max|min)_negative_zero": "of -0 and 0 the first, as in NumPy",
    r"test_fit_eval_flow_for_jax_model_weights": FRAMEWORK,
    r"test_loss_scaling_prevents_underflow": "gradients of float16, which are float32 here and don't underflow",
    r"test_legacy_load_skips_missing_nested_containers": ABSENT,
    r"test_application_base|applications.*test_application_classification": NETWORK,
}

CHOOSES = "trainer_test"


def inside(nodeid):
    """The path in Keras's package."""
    return nodeid.rpartition("src/")[2]


class Counts:
    """Leaves cases out, and counts what becomes of the others by folder."""

    def __init__(self, leaves_out):
        self.leaves_out, self.done, self.found = leaves_out, {}, collections.defaultdict(collections.Counter)

    def pytest_collection_modifyitems(self, config, items):
        for item in items:
            name = inside(item.nodeid)
            for pattern, reason in EXCLUDED.items() if self.leaves_out else ():
                if re.search(pattern, name):
                    item.add_marker(pytest.mark.skip(reason="left out: " + reason))
                    break

    def pytest_collectreport(self, report):
        if report.failed:  # a file that imports what is not installed, as TensorFlow
            self.found[inside(report.nodeid).partition("/")[0]]["files"] += 1

    def pytest_runtest_logreport(self, report):
        folder = inside(report.nodeid).partition("/")[0]
        if report.when != "call" and report.outcome == "passed":
            return
        kind = report.outcome
        if kind == "skipped":
            kind = "left out" if "left out" in str(report.longrepr) else "skipped"
        before = self.done.get(report.nodeid)
        if before is None or kind == "failed" and before != "failed":
            self.found[folder][kind] += 1
            if before is not None:
                self.found[folder][before] -= 1
            self.done[report.nodeid] = kind

    def table(self):
        total = collections.Counter()
        lines = [
            "| folder | passed | failed | left out | skipped by Keras | files not loaded | share |",
            "|" + "---|" * 7,
        ]
        for folder, counts in [*sorted(self.found.items()), ("all", total)]:
            if counts is not total:
                total.update(counts)
            run = counts["passed"] + counts["failed"]
            share = f"{100 * counts['passed'] / run:.1f}%" if run else ""
            cells = [counts[k] for k in ("passed", "failed", "left out", "skipped", "files")]
            lines.append(f"| `{folder}` | {' | '.join(map(str, cells))} | {share} |")
        return "\n".join(lines)


def conftest():
    """What Keras's tests import from a file that its package has not."""
    module = types.ModuleType("conftest")
    backend = importlib.import_module("keras").backend.backend

    def skip_if_backend(given_backend, reason):
        return pytest.mark.skipif(backend() == given_backend, reason=reason)

    module.skip_if_backend = skip_if_backend
    sys.modules["conftest"] = module


def stand_in():
    """Files that choose a class by the names of Keras's backends find ours by that of JAX, whose states ours follow."""
    backend, trainer = (importlib.import_module(f"keras.src.backend{part}") for part in ("", ".numpy.trainer"))
    ours = types.ModuleType("keras.src.backend.jax.trainer")
    ours.JAXTrainer = trainer.NumpyTrainer
    known = backend.backend

    def name():
        asks = sys._getframe(1).f_globals.get("__name__", "")
        return "jax" if asks.endswith(CHOOSES) else known()

    backend.backend = name
    sys.modules[ours.__name__] = ours


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="dl4")
    parser.add_argument("--seconds", default="120", help="for one case, with pytest-timeout")
    parser.add_argument("paths", nargs="*", default=FOLDERS)
    given = parser.parse_args()
    if given.backend == "dl4":
        importlib.import_module("dl4.keras_backend")
        stand_in()
    else:
        os.environ["KERAS_BACKEND"] = given.backend
    conftest()
    root = pathlib.Path(importlib.util.find_spec("keras").origin).parent / "src"
    counts = Counts(given.backend == "dl4")
    words = [
        "-q",
        "--tb=no",
        "-rf",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        "--import-mode=importlib",
        "--rootdir",
        str(root.parent),
        "-W",
        "ignore",
    ]
    if importlib.util.find_spec("pytest_timeout"):
        words.append("--timeout=" + given.seconds)
    pytest.main([*words, *(str(root / p) for p in given.paths)], plugins=[counts])
    print(counts.table())


if __name__ == "__main__":
    main()
