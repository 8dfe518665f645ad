#!/usr/bin/env python3
"""Models of exporters, read from ONNX, by libdl4 and by ONNX Runtime in the same rounds:

    onnx_models.py FOLDER [--rounds N] [--threads 1,2] [--rows REGEX]

Of the library that DL4_LIBRARY names. Models that are not in FOLDER are exported there by PyTorch (torchvision,
transformers: TorchScript's exporter, free batch and length, random weights); silero_vad*.onnx lie there or in the
folder that DL4_SILERO names. Each side runs on tensors of its own made beforehand, at batch 1. A round gives each side
a turn of some 50 ms; a time is the median of the rounds, the ratio the median of the rounds' ratios. One thread is timed
in processor time, so that neighbours count little. Outputs must agree to 1e-4 first. The table is Markdown. Ends with 1 where outputs differ."""

import argparse
import os
import pathlib
import re
import statistics
import sys
import time
import warnings

import numpy as np

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "capi/bindings/python"), str(HERE.parents[1] / "io")]
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)


def words(length, vocabulary):
    return rng.integers(3, vocabulary, (1, length))


IMAGE = {"x": rng.normal(size=(1, 3, 224, 224)).astype("float32")}
TEXT = {"x": words(128, 30522), "mask": np.ones((1, 128), "int64")}
# What is exported, by name of the file; inputs to run with.
EXPORTS = {
    "ResNet-50": IMAGE,
    "MobileNetV2": IMAGE,
    "ViT-tiny 12x192": IMAGE,
    "BERT-tiny 2x128 T128": TEXT,
    "GPT-2-tiny 2x128 T128": {"x": words(128, 50257), "mask": TEXT["mask"]},
}


def module(name):
    import torch
    import torchvision
    import transformers as t

    class Logits(torch.nn.Module):
        def __init__(self, inner, key):
            super().__init__()
            self.inner, self.key = inner, key

        def forward(self, x, *mask):
            return self.inner(x, **{"attention_mask": m for m in mask})[self.key]

    torch.manual_seed(1)
    if name == "ResNet-50":
        return torchvision.models.resnet50()
    if name == "MobileNetV2":
        return torchvision.models.mobilenet_v2()
    small = {"hidden_size": 192, "num_hidden_layers": 12, "num_attention_heads": 3, "intermediate_size": 768}
    tiny = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
    plain = {"attn_implementation": "eager"}
    if name.startswith("ViT"):
        return Logits(t.ViTForImageClassification._from_config(t.ViTConfig(**small), **plain), "logits")
    if name.startswith("BERT"):
        return Logits(t.BertModel._from_config(t.BertConfig(**tiny), **plain), "last_hidden_state")
    config = t.GPT2Config(n_embd=128, n_layer=2, n_head=2, use_cache=False)
    return Logits(t.GPT2LMHeadModel._from_config(config, **plain), "logits")


def export(name, given, path):
    import torch

    free = {n: {0: "batch", 1: "length"} if x.ndim == 2 else {0: "batch"} for n, x in given.items()}
    inputs = tuple(torch.from_numpy(x) for x in given.values())
    with torch.no_grad():
        torch.onnx.export(module(name).eval(), inputs, str(path), input_names=list(given), dynamic_axes=free, dynamo=False)


def rows(folder):
    """Name, path and inputs of each model."""
    for name, given in EXPORTS.items():
        path = folder / f"{re.sub(r'[^A-Za-z0-9]+', '_', name)}.onnx"
        if not path.exists():
            export(name, given, path)
        yield name, path, given
    chunk = {"input": 0.1 * rng.normal(size=(1, 576)).astype("float32"), "state": np.zeros((2, 1, 128), "float32")}
    for path in sorted(pathlib.Path(os.environ.get("DL4_SILERO", folder)).glob("silero_vad*.onnx")):
        if re.search(r"vad(_16k_op15|_op18_ifless|_half)?\.onnx", path.name):
            yield f"Silero, {path.name}", path, {**chunk, "sr": np.array(16000)}


def by_dl4(path, given, threads):
    from dl4.core import Context, Model, Tensor

    model = Model.load(str(path), Context(threads=threads))
    tensors = [Tensor.of(np.asarray(given[n])) for n in model.names(0)]
    bound = model.session().bind(tensors)
    return bound, lambda: (bound(), [t.numpy() for t in bound.outputs])[1]


def by_onnxruntime(path, given, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = {i.name: given[i.name] for i in session.get_inputs()}
    binding = session.io_binding()
    kept = [onnxruntime.OrtValue.ortvalue_from_numpy(x) for x in map(np.asarray, given.values())]
    for name, value in zip(given, kept):
        binding.bind_ortvalue_input(name, value)
    for output, y in zip(session.get_outputs(), session.run(None, given)):
        kept.append(onnxruntime.OrtValue.ortvalue_from_numpy(y))
        binding.bind_ortvalue_output(output.name, kept[-1])

    def call(run=session.run_with_iobinding, kept=kept):
        run(binding)

    return call, lambda: session.run(None, given)


def timed(call, clock, seconds=0.05):
    """Seconds a call, the least of chunks of some 2 ms."""
    time.sleep(0.02)  # the other side's threads go to sleep
    once, end, least = 1, time.perf_counter() + seconds, float("inf")
    while time.perf_counter() < end:
        begun = clock()
        for _ in range(once):
            call()
        spent = clock() - begun
        least = min(least, spent / once)
        once = max(1, min(1000, int(2e-3 / least)))
    return least


def measured(path, given, threads, rounds):
    from onnx_arrays import difference

    (ours, outputs), (peer, wanted) = by_dl4(path, given, threads), by_onnxruntime(path, given, threads)
    for got, want in zip(outputs(), wanted(), strict=True):
        if said := difference(got, want, 1e-4, 1e-4, equal_nan=False):
            return said
    clock, times = time.process_time if threads == 1 else time.perf_counter, []
    for i in range(rounds):
        turn = {side: timed(side, clock) for side in ((ours, peer) if i % 2 else (peer, ours))}
        times.append((turn[ours], turn[peer]))
    return *(1e6 * statistics.median(t) for t in zip(*times)), statistics.median(b / a for a, b in times)


def main():
    said = argparse.ArgumentParser()
    said.add_argument("folder", type=pathlib.Path)
    said.add_argument("--rounds", type=int, default=15)
    said.add_argument("--threads", default="1,2")
    said.add_argument("--rows", default="")
    said = said.parse_args()
    threads = [int(n) for n in said.threads.split(",")]
    print("| model |" + "".join(f" libdl4, {n} thread{'s'[: n > 1]}, us | ONNX Runtime | ratio |" for n in threads))
    print("|---|" + "--:|--:|--:|" * len(threads))
    wrong = False
    for name, path, given in rows(said.folder):
        if not re.search(said.rows, name):
            continue
        cells = []
        for n in threads:
            got = measured(path, given, n, said.rounds)
            wrong |= isinstance(got, str)
            cells += [got, "", ""] if isinstance(got, str) else [f"{got[0]:.4g}", f"{got[1]:.4g}", f"{got[2]:.2f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
