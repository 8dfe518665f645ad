#!/usr/bin/env python3
"""Keras's own tests, run with the import swapped:   keras_own.py [--all] [PATTERN ...]

They come with Keras 3.15's package (`pip install keras==3.15.1 absl-py`). Of each case it is told whether it passes,
fails or is excluded, and why; the figures come last. PATTERN: of files, such as losses/ or dense_test. Files of layers
that the library does not have are left out, and counted. --all: every case is printed, not only those that fail."""

import ast
import collections
import contextlib
import importlib.util
import io
import json
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
    "callbacks",
    "constraints",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "optimizers",
    "regularizers",
    "utils",
)
SECONDS = 60

# By the path of the file, and by that of the file with class and name of the case.
FILES = {
    r"preprocessing/(image_preprocessing/)?(clahe|max_num|bounding|random_elastic)": "that layer is not in the library",
    r"quantiz|gptq|awq|lora": "quantization and LoRA are not in the library",
    r"optimizers/(loss_scale|schedule_free|muon|base_)": "that optimizer is not in the library",
    r"layers/core/(wrapper|remat)|rematscope": "of Keras's machinery",
    r"layers/(layer_test|merging/base)|random/seed|input_spec": "of Keras's machinery",
    r"utils/(code_stats|dtype|python|tracking|naming|io|progbar|backend|jax|torch|summary|rng|grain)": "of Keras's machinery",
    r"models/variable_mapping": "of Keras's machinery",
    r"callbacks/(tensorboard|remote|orbax|monitor_callback|backup)": "that callback is not in the library",
}
CASES = {
    r"quantiz|int8|int4|float8|lora|gptq|awq|fp8": "quantization and LoRA are not in the library",
    r"mixed|float16|bfloat16|autocast|dtype_polic|float64|dtype_arg|_dtype$|dtypes|dtype\b": "numbers are float32",
    r"sparse_(input|tensor|grad)|_sparse\b|sparse$|ragged|with_sparse|embeddings?_sparse": "sparse and ragged tensors",
    r"grain": "datasets of Grain",
    r"bounding_box|Random(Brightness|Contrast|Crop)Test.test_dict_input": "bounding boxes",
    r"GetFileTest.test_(copy|exists|file_open|isdir|join_s|listdir|makedirs|remove_)|build_pos_neg": "of Keras's machinery",
    r"^(ResolveSubPath|PathToString|IsLinkInDir|FilterSafe|IsRemotePath|TestRaiseIfNoGFile|TestFileUtils|ResolveHasher|"
    r"ResolvePath)|_set_factor|one_hot_(batched|single)": "of Keras's machinery",
    r"torch|jax|flax|_tpu|_gpu|distribut|tensorflow": "of a backend of Keras",
    r"stateless|functional_call|symbolic_scope": "the stateless interface",
    r"export|onnx|openvino|saved_model|litert": "export to other formats",
    r"legacy|load_own|save_own": "Keras's own files from within",
    r"numpy_backend|memory_limit|name_scope|rematerial|rng|seed_gen": "of Keras's machinery",
    r"complex": "complex numbers",
    r"ref_labels|reference": "not in the library",
    r"ValidateFloatArg": "of Keras's machinery",
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
        if name and re.search(pattern, name):
            return reason
    return None


def needs(case):
    """What the source of a case asks that is not there, by its words."""
    words = swapped.source_of(case)
    for pattern, reason in swapped.NOT_HERE.items():
        if re.search(pattern, words):
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
    name = "keras.src." + ".".join(path.relative_to(root).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
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
    counts, reasons, left_out = collections.Counter(), collections.Counter(), 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*_test.py")):
            short = path.relative_to(root).as_posix()
            if patterns and not any(re.search(p, short) for p in patterns):
                continue
            why = excluded(short) or swapped.missing_kind(path)
            if why:
                left_out += len(cases_in(path))
                reasons[why] += len(cases_in(path))
                continue
            try:
                module = module_of(path, root)
            except Exception as e:
                names = cases_in(path)
                counts["excluded"] += len(names)
                reasons[f"the file asks for more: {e}"] += len(names)
                print(f"excluded {short}: {len(names)} cases: {e}")
                continue
            for case in flat(unittest.defaultTestLoader.loadTestsFromModule(module)):
                name = f"{short}:{case.id().split('.', 4)[-1]}"
                why = excluded(short, f"{type(case).__name__}.{case._testMethodName}") or needs(case)
                outcome, text = ("excluded", why) if why else run(case)
                counts[outcome] += 1
                if outcome == "excluded":
                    reasons[text] += 1
                if outcome in ("fail", "other words") or show_all:
                    print(f"{outcome} {name}: {last_line(text)}", flush=True)
    told = {**counts, "in files of what the library lacks": left_out, "excluded for": dict(reasons.most_common())}
    ran = counts["pass"] + counts["fail"] + counts["other words"]
    print(json.dumps({**told, "passing": round(counts["pass"] / ran, 4) if ran else None}, indent=1))
    return 0


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
