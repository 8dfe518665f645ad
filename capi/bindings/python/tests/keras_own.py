#!/usr/bin/env python3
"""Keras's own tests, run with the import swapped:   keras_own.py [--all] [PATTERN ...]

They come with Keras 3.15's package (`pip install keras==3.15.1 absl-py`). Of each case it is told whether it passes,
fails or is left out, and why; a table of the folders comes last. PATTERN: of files, such as losses/ or dense_test.
--all: every case is printed, not only those that fail."""

import ast
import collections
import contextlib
import importlib.util
import io
import pathlib
import re
import signal
import sys
import traceback
import unittest

import keras_own_names
import keras_own_testing as swapped

FOLDERS = (
    "activations",
    "applications",
    "callbacks",
    "constraints",
    "datasets",
    "dtype_policies",
    "export",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "ops",
    "optimizers",
    "quantizers",
    "random",
    "regularizers",
    "saving",
    "trainers",
    "tree",
    "utils",
    "wrappers",
)
SECONDS = 60

# By the path of the file, and by that of the class with the name of the case.
FLOAT8, SPARSE, COMPLEX = "floats of 8 bits", "sparse and ragged tensors", "complex numbers"
DISTRIBUTED, FRAMEWORK, MACHINERY = "distribution", "another framework", "Keras's machinery"
FILES = {
    r"optimizer_sparse": SPARSE,
    r"jax_layer|torch_|tfsm_layer|jax_utils|grain": FRAMEWORK,
    r"ops/(node|function|operation|operation_utils|symbolic_arguments)_test|rematscope": MACHINERY,
    r"utils/(code_stats|dtype|python|tracking|naming|io|backend)": MACHINERY,
    r"models/variable_mapping": MACHINERY,
    r"callbacks/(orbax|tensorboard)": FRAMEWORK,  # their files are JAX's, and are read by TensorFlow
    r"export/(openvino|saved_model|litert|torch)|tf_dataset_adapter|torch_data_loader|tf_saved": FRAMEWORK,
}
CASES = {
    r"overwrite_with_gradient|with_overwrite_state|float8|fp8": FLOAT8,
    r"SparseTest|sparse_(input|tensor|grad|data|weights)|_sparse\b|_sparse_|sparse$|sparse_?True|ragged": SPARSE,
    r"complex|view_as_|eig\b|ViewAs|polar|test_angle|test_(real|imag)$": COMPLEX,
    r"distribut|multi_worker|_tpu|_gpu|device_mesh": DISTRIBUTED,
    r"grain|torch|jax|flax|litert|saved_model|openvino|remat": FRAMEWORK,
    r"NumpyDtypeTest.*uint32": "types that Keras leaves out on TensorFlow",
    r"broadcast_shapes|_set_factor|ValidateFloatArg|compute_fans|squeeze_or_expand": MACHINERY,
    r"test_application_base": "asks for a file of the network",
    r"GetFileTest.test_(copy|exists|file_open|isdir|join_s|listdir|makedirs|remove_)": MACHINERY,
    r"^(SavingH5IOStore|SavingNpzIOStore|SavingDiskIOStore|SafeGetH5DatasetTest.test_rejects)": MACHINERY,
    r"legacy_load_skips_missing_nested_containers": "asks for a file that Keras's package does not have",
    r"^(ResolveSubPath|PathToString|IsLinkInDir|FilterSafe|IsRemotePath|TestRaiseIfNoGFile|TestFileUtils|ResolveHasher|"
    r"ResolvePath)": MACHINERY,
}


# The right class of error was raised; the case wants Keras's wording of it.
OTHER_WORDS = re.compile(r'AssertionError: "[^\n]*" does not match "')


class TooLong(Exception):
    pass


def excluded(path, name=""):
    for pattern, reason in FILES.items():
        if re.search(pattern, path):
            return reason
    for pattern, reason in CASES.items():
        if name and re.search(pattern, name) and not (reason == FLOAT8 and path.startswith("quantizers/")):
            return reason
    return None


def needs(case, path):
    """What the source of a case asks that is not there, by its words; the cases of data say it by their names."""
    if path.startswith("trainers/data_adapters/"):
        return None
    words = swapped.source_of(case)
    for pattern, reason in swapped.NOT_HERE.items():
        if re.search(pattern, words) and not (reason == FLOAT8 and path.startswith("quantizers/")):
            return reason
    return None


def run(case):
    """pass, excluded, fail, or "other words": an error of the right class without Keras's wording; with a reason."""
    result = unittest.TestResult()

    def late(*_):
        raise TooLong(f"took over {SECONDS} seconds")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            case.run(result)
    except BaseException as e:  # a test may end the interpreter
        return "fail", repr(e)
    finally:
        signal.alarm(0)
    if result.skipped:
        return "excluded", "Keras skips it: " + result.skipped[0][1]
    if result.errors or result.failures:
        text = (result.errors + result.failures)[0][1]
        return ("other words" if OTHER_WORDS.search(text) else "fail"), text
    return "pass", ""


def module_of(path, root):
    config = importlib.import_module("dl4.keras").config  # which the file before may have set
    config.set_dtype_policy("float32")
    config.enable_interactive_logging()
    name = "keras.src." + ".".join(path.relative_to(root).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    words = path.read_text()
    for pattern, other in swapped.OTHER_WORDS.get(path.stem, ()):
        words = re.sub(pattern, other, words, flags=re.DOTALL)
    exec(compile(words, str(path), "exec"), module.__dict__)
    return module


def cases_in(path):
    """Names of the cases, for files that can't be imported."""
    tree = ast.parse(path.read_text())
    return [
        f"{c.name}.{f.name}"
        for c in tree.body
        if isinstance(c, ast.ClassDef)
        for f in c.body
        if isinstance(f, ast.FunctionDef) and f.name.startswith("test")
    ]


def main(*arguments):
    show_all, patterns = "--all" in arguments, [a for a in arguments if a != "--all"]
    root = keras_own_names.install()
    counts = {folder: collections.Counter() for folder in FOLDERS}
    reasons = {folder: collections.Counter() for folder in FOLDERS}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*_test.py")):
            short = path.relative_to(root).as_posix()
            if patterns and not any(re.search(p, short) for p in patterns):
                continue
            names, why = cases_in(path), excluded(short)
            if not why:
                try:
                    module = module_of(path, root)
                except Exception as e:
                    counts[folder]["fail"] += len(names)
                    print(f"fail {short}: {len(names)} cases: {e}", flush=True)
                    continue
            if why:
                reasons[folder][why] += len(names)
                continue
            for case in flat(unittest.defaultTestLoader.loadTestsFromModule(module)):
                name = f"{short}:{case.id().split('.', 4)[-1]}"
                why = excluded(short, f"{type(case).__name__}.{case._testMethodName}") or needs(case, short)
                outcome, text = ("excluded", why) if why else run(case)
                if outcome == "excluded":
                    reasons[folder][text] += 1
                else:
                    counts[folder][outcome] += 1
                if outcome in ("fail", "other words") or show_all:
                    print(f"{outcome} {name}: {last_line(text)}", flush=True)
    table(counts, reasons)
    return 0


def table(counts, reasons):
    """Of each folder: cases, those left out, run and passed; then why cases are left out."""
    print("| folder | collected | left out | run | passed | share of the run | share of the collected |")
    print("|---|---|---|---|---|---|---|")
    rows = [(f, counts[f], sum(reasons[f].values())) for f in counts if counts[f] or reasons[f]]
    rows.append(("all", sum((c for _, c, _ in rows), collections.Counter()), sum(r[2] for r in rows)))
    for folder, outcomes, out in rows:
        ran, passed = sum(outcomes.values()), outcomes["pass"] + outcomes["other words"]
        shares = " | ".join(f"{passed / n:.1%}" if n else "" for n in (ran, ran + out))
        print(f"| {folder} | {ran + out} | {out} | {ran} | {passed} | {shares} |")
    for why, n in sum(reasons.values(), collections.Counter()).most_common():
        print(f"left out: {n} {why}")
    print("passed with other words than Keras's:", sum(c["other words"] for c in counts.values()))


def flat(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flat(item)
        else:
            yield item


def last_line(text):
    lines = [line for line in (text or "").strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else traceback.format_exc(limit=0).strip()


if __name__ == "__main__":
    if "-h" in sys.argv or "--help" in sys.argv:
        raise SystemExit(__doc__)
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    sys.exit(main(*sys.argv[1:]))
