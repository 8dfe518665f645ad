"""Models that make.py wrote, read by libdl4, against ONNX Runtime's outputs of them to 1e-4:

    check.py FOLDER [--written] [REGEX]

Prints what is refused and what is wrong, the reasons by how often they come, and the counts. --written: models that
open are written again, checked by onnx.checker and run by ONNX Runtime. Ends with 1 where numbers are wrong."""

import collections
import os
import pathlib
import re
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "capi/bindings/python"))
from dl4.abi import Error  # noqa: E402
from dl4.core import Model, Tensor  # noqa: E402


def runs(folder):
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as f:
            yield {n[3:]: f[n] for n in f.files if n.startswith("in ")}, [f[n] for n in f.files if n.startswith("out ")]


def by_dl4(model, feeds):
    tensors = [Tensor.of(np.ascontiguousarray(feeds[n]), str(feeds[n].dtype)) for n in model.names(0)]
    return [t.numpy() for t in model.session().run(tensors)]


def by_onnxruntime(path, feeds):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {p.name: feeds[p.name] for p in session.get_inputs()})


def difference(got, wanted):
    """The largest, relative to numbers above 1; infinite where shapes or kinds of numbers differ."""
    if len(got) != len(wanted):
        return np.inf
    worst = 0.0
    for g, w in zip(got, wanted):
        if g.shape != w.shape or g.dtype.kind != w.dtype.kind:
            return np.inf
        g, w = g.astype("float64"), w.astype("float64")
        same = (g == w) | (np.isnan(g) & np.isnan(w))
        with np.errstate(invalid="ignore"):
            apart = np.where(same, 0, np.abs(g - w) / np.maximum(1, np.abs(w)))
        worst = max(worst, float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0)))
    return worst


def rounded(folder, got, wanted):
    """Of a statically quantized net: no output is more than two steps of its last scale away. What lies between two
    steps goes either way by the last bit of a sum: ONNX Runtime differs so from itself without its optimizer."""
    if ".static_" not in folder.name or len(got) != 1 or got[0].shape != wanted[0].shape:
        return False
    steps = np.unique(np.abs(wanted[0]))
    step = float(np.min(np.diff(steps)[np.diff(steps) > 1e-5 * steps[-1]], initial=np.inf))
    return float(np.max(np.abs(got[0] - wanted[0]))) < 2.01 * step


def checked(folder, written):
    """ok, refused, rounded or wrong; and why."""
    try:
        model = Model.load(str(folder / "m.onnx"))
        both = [(by_dl4(model, feeds), wanted) for feeds, wanted in runs(folder)]
        worst = max(difference(got, wanted) for got, wanted in both)
        if worst > 1e-4:
            near = all(rounded(folder, got, wanted) for got, wanted in both)
            return ("rounded" if near else "wrong"), f"{worst:.1e}"
        if not written:
            return "ok", f"{worst:.1e}"
        import onnx

        with tempfile.TemporaryDirectory() as there:
            path = os.path.join(there, "m.onnx")
            model.save(path)
            try:
                onnx.checker.check_model(path, full_check=True)
                worst = max(difference(by_onnxruntime(path, feeds), wanted) for feeds, wanted in runs(folder))
            except Error:
                raise
            except Exception as error:  # of onnx and ONNX Runtime
                return "wrong", f"written: {str(error)[:300]}"
            return ("ok" if worst <= 1e-4 else "wrong"), f"written {worst:.1e}"
    except Error as error:
        return "refused", str(error)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    wanted, written = re.compile(arguments[1] if arguments[1:] else ""), "--written" in sys.argv
    counts, reasons, groups = collections.Counter(), collections.Counter(), collections.defaultdict(collections.Counter)
    for folder in sorted(pathlib.Path(arguments[0]).iterdir()):
        if not (folder / "1.npz").exists() or not wanted.search(folder.name):
            continue
        started = time.time()
        result, why = checked(folder, written)
        counts[result] += 1
        groups[folder.name.split(".")[0]][result] += 1
        if result != "ok":
            print(f"{result:7} {folder.name}: {why[:330]} ({time.time() - started:.1f} s)", flush=True)
            reasons[re.sub(r'"[^"]*"', '""', re.sub(r"\d+", "N", why))[:160]] += 1
    for why, n in reasons.most_common(60):
        print(f"{n:5} {why}")
    for group, result in groups.items():
        print(f"{group}: {dict(result)}")
    print(f"all: {dict(counts)}")
    sys.exit(1 if counts["wrong"] else 0)


main()
