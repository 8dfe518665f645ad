"""Exports the models of a group into a folder, each with two sets of inputs and ONNX Runtime's outputs of them:

    make.py FOLDER [GROUP[,GROUP] [script|dynamo [REGEX]]]

What is there already is not made again. Versions this set was made with: torch 2.15.0, torchvision 0.29.2, transformers
5.24.0, onnxscript 0.7.2, skl2onnx 1.20.0, tf2onnx 1.17.0, onnx 1.23.2, onnxruntime 1.32.0."""

import contextlib
import importlib
import io
import logging
import os
import pathlib
import re
import sys
import traceback
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
warnings.filterwarnings("ignore")
GROUPS = ("torch_layers", "torch_functions", "huggingface", "vision_models")  # modules, by both exporters of PyTorch
FILES = ("sklearn_pipelines", "tensorflow_models", "optimized")  # the last one changes what is in FOLDER


def expected(folder, name, feeds):
    """Writes the inputs of a run and ONNX Runtime's outputs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "m.onnx", options, providers=["CPUExecutionProvider"])
    kept = {p.name: feeds[p.name] for p in session.get_inputs()}
    out = session.run(None, kept)
    numbered = {f"in {n}": v for n, v in kept.items()} | {f"out {i:03}": v for i, v in enumerate(out)}
    np.savez(folder / f"{name}.npz", **numbered)


def export(case, exporter, folder):
    import torch

    torch.manual_seed(1)
    model = case.make().eval()
    torch.manual_seed(2)
    first, second = (case.inputs(*s) for s in case.sizes)
    free = [[i for i, (a, b) in enumerate(zip(x.shape, y.shape)) if a != b] for x, y in zip(first, second)]
    names = [f"x{i}" for i in range(len(first))]
    options = {"input_names": names, "dynamo": exporter == "dynamo"}
    if exporter == "dynamo":
        options["verbose"] = False
        options["external_data"] = False
        options["dynamic_shapes"] = None
        if any(free):
            shapes = tuple({axis: torch.export.Dim.DYNAMIC for axis in axes} for axes in free)
            import inspect

            variadic = any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(model.forward).parameters.values())
            options["dynamic_shapes"] = (shapes,) if variadic else shapes
    else:
        options["dynamic_axes"] = {n: {a: f"{n}_{a}" for a in axes} for n, axes in zip(names, free) if axes}
    with torch.no_grad():
        torch.onnx.export(model, first, str(folder / "m.onnx"), **options)
    for i, x in enumerate((first, second)):
        expected(folder, str(i), {n: v.numpy() for n, v in zip(names, x)})


def write(make, folder):
    import onnx

    proto, feeds = make()
    onnx.save(proto, folder / "m.onnx")
    for i, some in enumerate(feeds):
        expected(folder, str(i), some)


def kept(folder, make):
    """Runs it, unless the folder is there; says what was made, or why not."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            make()
        print("made", folder.name, flush=True)
    except Exception as error:  # the exporter's own limits
        (folder / "failed.txt").write_text(traceback.format_exc())
        for made in folder.glob("*.npz"):
            os.remove(made)
        print("FAIL", folder.name, type(error).__name__, (str(error).splitlines() or [""])[0][:150], flush=True)


def main():
    where = pathlib.Path(sys.argv[1])
    groups = sys.argv[2].split(",") if sys.argv[2:] else GROUPS + FILES
    exporters = sys.argv[3].split(",") if sys.argv[3:] else ("script", "dynamo")
    wanted = re.compile(sys.argv[4] if sys.argv[4:] else "")
    logging.disable(logging.ERROR)
    for exporter in exporters:
        for group in (g for g in groups if g in GROUPS):
            for case in importlib.import_module(group).cases():
                folder = where / f"{group}.{case.name.replace(' ', '_')}.{exporter}"
                if exporter in case.exporters and wanted.search(case.name):
                    kept(folder, lambda: export(case, exporter, folder))
    for group in (g for g in groups if g in FILES):
        module = importlib.import_module(group)
        for name, make in module.files(where) if group == "optimized" else module.files():
            if wanted.search(name):
                folder = where / f"{group}.{name.replace(' ', '_')}"
                kept(folder, lambda: write(make, folder))

main()
