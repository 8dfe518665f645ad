"""Runs the programs:   run_programs.py keras RESULTS.npz   or   run_programs.py dl4 RESULTS.npz, which compares."""

import json
import sys
import traceback

import numpy as np

from keras_suite import PROGRAMS


def flat(value):
    """Arrays and texts of a nest, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flat(item)]
    return [value if isinstance(value, str) else np.asarray(value)]


def main(side, path):
    if side == "keras":
        import keras

        results = {}
        for name, f in PROGRAMS.items():
            for i, leaf in enumerate(flat(f(keras))):
                results[f"{name}/{i}"] = np.asarray(leaf)
        np.savez_compressed(path, **results)
        return 0
    import dl4.keras as keras

    expected, failed = np.load(path), []
    for name, f in PROGRAMS.items():
        wanted = [expected[k] for k in expected.files if k.split("/")[0] == name]
        try:
            got = flat(f(keras))
            if len(got) != len(wanted):
                raise AssertionError(f"expected {len(wanted)} results, got {len(got)}")
            for i, (a, b) in enumerate(zip(got, wanted)):
                if b.dtype.kind in "US":
                    assert str(a) == str(b), f"result {i}: expected {b}, got {a}"
                else:
                    np.testing.assert_allclose(np.asarray(a, dtype=b.dtype), b, 1e-5, 1e-5, err_msg=f"result {i}")
        except Exception:
            failed.append(name)
            print(f"--- {name}\n{traceback.format_exc(limit=-3)}")
    print(json.dumps({"programs": len(PROGRAMS), "passed": len(PROGRAMS) - len(failed), "failed": failed}))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
