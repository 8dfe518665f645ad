"""Makes the goldens: what Keras computes for every layer, loss, metric, optimizer and initializer we have.

make.py writes <family>.safetensors beside itself; `make.py --check` makes them in memory and compares with the
committed ones (exit 0 equal, 1 different, 77 no Keras here). Names of families limit either to those.
"""
import argparse
import json
import os
import pathlib
import sys
import warnings

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.dont_write_bytecode = True

KERAS, TENSORFLOW = "3.15.1", "2.21.0"
TOLERANCE = 1e-6
HERE = pathlib.Path(__file__).resolve().parent


def families():
    """What every cases_*.py lists as its FAMILIES."""
    import importlib
    found = {}
    for path in sorted(HERE.glob("cases_*.py")):
        found.update(importlib.import_module(path.stem).FAMILIES)
    return found


def differences(name, family):
    """What differs between a family as made now and its committed file."""
    from safetensors import safe_open
    import numpy as np
    path = HERE / f"{name}.safetensors"
    if not path.exists():
        return [f"{path.name} is missing"]
    with safe_open(path, "numpy") as file:
        cases = json.loads(file.metadata()["cases"])
        kept = {key: file.get_tensor(key) for key in file.keys()}
    found = []
    if cases != json.loads(json.dumps(family.cases)):
        found.append("the list of cases differs")
    found += [f"{key} is only in {'the file' if key in kept else 'the script'}"
              for key in sorted(kept.keys() ^ family.tensors.keys())]
    for key in sorted(kept.keys() & family.tensors.keys()):
        old, new = kept[key], family.tensors[key]
        if old.shape != new.shape or old.dtype != new.dtype:
            found.append(f"{key}: {old.dtype}{old.shape} became {new.dtype}{new.shape}")
            continue
        if old.dtype == np.float32 and old.size:
            finite = np.abs(old[np.isfinite(old)])
            limit = TOLERANCE * max(1.0, finite.max() if finite.size else 1.0)
            if not np.allclose(old, new, rtol=0, atol=limit, equal_nan=True):
                found.append(f"{key}: differs by {np.nanmax(np.abs(old - new)):.3g}, allowed {limit:.3g}")
        elif not np.array_equal(old, new):
            found.append(f"{key}: differs")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("families", nargs="*")
    options = parser.parse_args()
    try:
        import keras
        import tensorflow
    except ImportError:
        print("Keras is not installed here")
        return 77
    if (keras.__version__, tensorflow.__version__) != (KERAS, TENSORFLOW):
        print(f"needs keras {KERAS} and tensorflow-cpu {TENSORFLOW}, not {keras.__version__}, {tensorflow.__version__}")
        return 77
    warnings.simplefilter("ignore")
    tensorflow.config.experimental.enable_op_determinism()
    tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    failed, total = False, 0
    for name, make in families().items():
        if options.families and name not in options.families:
            continue
        keras.utils.set_random_seed(0)
        family = make()
        data = family.bytes()
        total += len(data)
        text = f"{name}: {len(family.cases)} cases, {len(family.tensors)} tensors, {len(data) / 1e3:.0f} kB"
        if options.check:
            found = differences(name, family)
            failed = failed or bool(found)
            print("\n  ".join([f"{text}, {'DIFFERENT' if found else 'equal'}"] + found[:20]), flush=True)
        else:
            (HERE / f"{name}.safetensors").write_bytes(data)
            print(text, flush=True)
    print(f"{total / 1e6:.2f} MB")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
