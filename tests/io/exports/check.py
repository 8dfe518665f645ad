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


QUANTIZES = ("QuantizeLinear", "QLinear", "QGemm")


def by_layers(folder):
    """Of a statically quantized net, the share of numbers that differ, each layer given ONNX Runtime's numbers; infinite
    where one is more than a step away. What lies between two steps goes either way by the last bit of a sum, and from
    there on all numbers differ: ONNX Runtime's own, too, with its optimizer and without."""
    import onnx
    import onnxruntime
    from onnx import helper

    model = onnx.load(folder / "m.onnx")
    kinds = {t.name: t.data_type for t in model.graph.initializer}
    cuts = {}
    for node in model.graph.node:
        if node.op_type.startswith(QUANTIZES):
            zero = node.input[2] if node.op_type == "QuantizeLinear" else node.input[1 if "Concat" in node.op_type else -1]
            if node.op_type == "QLinearConv":
                zero = node.input[7]
            cuts[node.output[0]] = kinds[zero]
    ports = [helper.make_tensor_value_info(n, kind, None) for n, kind in cuts.items()]
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    shown.graph.output.extend(ports)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names, worst = [o.name for o in session.get_outputs()], 0.0
    for feeds, _ in runs(folder):
        wanted = dict(zip(names, session.run(None, feeds)))
        given = {f"{n} given": wanted[n] for n in cuts}
        apart = onnx.ModelProto()
        apart.CopyFrom(shown)
        for node in apart.graph.node:
            for i, name in enumerate(node.input):
                if name in cuts:
                    node.input[i] = f"{name} given"
        for port in ports:
            shape = wanted[port.name].shape
            apart.graph.input.append(helper.make_tensor_value_info(f"{port.name} given", cuts[port.name], shape))
        loaded = Model.from_bytes(apart.SerializeToString())
        held = {n: v.astype("int32") if v.dtype == np.int8 else v for n, v in (feeds | given).items()}
        got = dict(zip(loaded.names(1), by_dl4(loaded, held)))
        off = np.concatenate([np.abs(got[n].astype("int64") - wanted[n].astype("int64")).ravel() for n in cuts])
        worst = max(worst, np.inf if off.max() > 1 else float(np.mean(off > 0)))
        for n in set(names) - set(cuts):
            if not np.allclose(got[n], wanted[n], rtol=1e-4, atol=1e-4):
                return np.inf
    return worst


def checked(folder, written):
    """ok, refused, wrong, or ok by layers; and why."""
    try:
        model = Model.load(str(folder / "m.onnx"))
        both = [(by_dl4(model, feeds), wanted) for feeds, wanted in runs(folder)]
        worst = max(difference(got, wanted) for got, wanted in both)
        if worst > 1e-4:
            if ".static_" not in folder.name:
                return "wrong", f"{worst:.1e}"
            share = by_layers(folder)
            return ("by layers" if share < 1e-4 else "wrong"), f"{worst:.1e}; by layers {share:.1e} of the numbers differ"
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
            print(f"{result:9} {folder.name}: {why[:330]} ({time.time() - started:.1f} s)", flush=True)
            reasons[re.sub(r'"[^"]*"', '""', re.sub(r"\d+", "N", why))[:160]] += 1
    for why, n in reasons.most_common(60):
        print(f"{n:5} {why}")
    for group, result in groups.items():
        print(f"{group}: {dict(result)}")
    print(f"all: {dict(counts)}")
    sys.exit(1 if counts["wrong"] else 0)


main()
