#!/usr/bin/env python3
"""From the start of a process to the first result, of one sample:   start.py MODEL.keras INPUT.npy [PYTHON ...]

dl4 run, Keras and ONNX Runtime (on what dl4 convert makes of the model), each a process of its own, three times in turn.
Medians of wall and processor seconds and the largest memory; the load of the machine is said. DL4_TOOL names the
program. What no PYTHON has is left out, with a line that says so."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

KERAS = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy
y = keras.saving.load_model(sys.argv[1], compile=False).predict(numpy.load(sys.argv[2]), verbose=0)
numpy.save(sys.argv[3], y)
"""
ONNX = """
import sys
import numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
numpy.save(sys.argv[3], session.run(None, {session.get_inputs()[0].name: numpy.load(sys.argv[2])})[0])
"""


def measured(command):
    """Wall seconds, processor seconds and MB of a process, or what it complains of."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return errors.strip().splitlines()[-1] if errors.strip() else f"ended with {process.returncode}"
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main(model, sample, *pythons):
    tool = os.environ["DL4_TOOL"]
    with tempfile.TemporaryDirectory() as folder:
        onnx, native, out = (str(pathlib.Path(folder) / name) for name in ("net.onnx", "net.safetensors", "y.npy"))
        for to in (onnx, native):
            subprocess.run([tool, "convert", model, to], check=True)
        sides = {
            "dl4 run, .keras": [tool, "run", model, "-i", sample, "-o", out],
            "dl4 run, .safetensors": [tool, "run", native, "-i", sample, "-o", out],
            "dl4 run, .onnx": [tool, "run", onnx, "-i", sample, "-o", out],
        }
        for python in pythons:
            sides[f"Keras ({python})"] = [python, "-c", KERAS, model, sample, out]
            sides[f"ONNX Runtime ({python})"] = [python, "-c", ONNX, onnx, sample, out]
        results = {name: [] for name in sides}
        for _ in range(3):
            for name, command in list(sides.items()):
                got = measured(command)
                if isinstance(got, str):
                    print(f"{name}: left out: {got}", file=sys.stderr)
                    del sides[name], results[name]
                else:
                    results[name].append(got)
    print("| | wall, s | processor, s | memory, MB |\n|---|---|---|---|")
    for name, rows in results.items():
        wall, cpu, memory = (statistics.median(column) for column in zip(*rows))
        print(f"| {name} | {wall:.3f} | {cpu:.3f} | {memory:.0f} |")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main(*sys.argv[1:])
