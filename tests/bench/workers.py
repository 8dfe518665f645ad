#!/usr/bin/env python3
"""Two processes of one thread against one, by libdl4 and by PyTorch's DDP (Gloo):   workers.py [ROUNDS] [SIZE]

Each process trains on batches of the row's size, so that SIZE of them (default 2) should take as long as one. Apart:
as many processes that know nothing of each other, which is what the machine's memory and clock allow. DL4_LIBRARY
names the library, DL4_LOCAL libdl4_local; DL4_TORCH_PYTHON a Python with PyTorch, without which its columns stay empty.
Sides take turns in each round; a number is the median over the rounds of the fastest of ten parts of a run. Needs NumPy.
The table is Markdown. In DL4_WORKERS_ROWS stand the rows to run, by number, "0,3"."""

import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# Name, batch, shape of a sample (a number: ids below it, as many as stand behind), layers, classes.
ROWS = [
    ("MLP 784-256-128-10 B128", 128, (784,), [("Dense", 256), ("Dense", 128)], 10),
    ("MLP 784-1024-1024-10 B512", 512, (784,), [("Dense", 1024), ("Dense", 1024)], 10),
    ("LeNet-5 B128", 128, (28, 28, 1), [("Conv2D", 6, 5), ("MaxPooling2D",), ("Conv2D", 16, 5), ("MaxPooling2D",),
                                        ("Flatten",), ("Dense", 120), ("Dense", 84)], 10),
    ("LSTM 28x28-128 B128", 128, (28, 28), [("LSTM", 128)], 10),
    ("LSTM 100x256-256 B32", 32, (100, 256), [("LSTM", 256)], 10),
    ("GRU 28x32-128 B32", 32, (28, 32), [("GRU", 128)], 10),
]
# Side and processes; 0: all.
SIDES = [("dl4", 1), ("dl4", 0), ("apart", 0), ("torch", 1), ("torch", 0)]
SECONDS = float(os.environ.get("DL4_WORKERS_SECONDS", "2"))


def told_at(place):
    return pathlib.Path(tempfile.gettempdir()) / f"dl4-workers-bench-{place.strip('/')}"


def timed(step):
    """How many steps take a tenth of SECONDS; all workers must make as many."""
    for _ in range(3):
        step()
    begin = time.perf_counter()
    for _ in range(5):
        step()
    return max(1, int(SECONDS / 10 / ((time.perf_counter() - begin) / 5)))


def parts(step, each):
    """The fastest of ten parts of so many steps, in microseconds of one."""
    best = float("inf")
    for _ in range(10):
        begin = time.perf_counter()
        for _ in range(each):
            step()
        best = min(best, (time.perf_counter() - begin) / each)
    return best * 1e6


def data(row, rank):
    import numpy as np

    random = np.random.default_rng(rank)
    x = random.standard_normal((row[1], *row[2]), dtype=np.float32)
    return x, random.integers(0, row[4], row[1]).astype(np.int32)


def dl4_side(row, rank, size, place):
    import ctypes

    sys.path.insert(0, str(HERE.parents[1] / "capi" / "bindings" / "python"))
    from dl4.abi import call, callbacks
    from dl4.core import Context, Graph
    from dl4.tensor import Tensor

    graph = Graph(Context(threads=1))
    node = source = graph.input("x", "float32", (-1, *row[2]))
    for kind, *how in row[3]:
        config = {"units": how[0]} if kind in ("Dense", "LSTM", "GRU") else {}
        if kind == "Conv2D":
            config = {"filters": how[0], "kernel_size": how[1]}
        if kind in ("Dense", "Conv2D"):
            config["activation"] = "relu"
        node = graph.call(graph.layer(kind, None, config), [node])[0]
    node = graph.call(graph.layer("Dense", None, {"units": row[4], "activation": "softmax"}), [node])[0]
    trainer = graph.build([source], [node]).trainer(optimizer="Adam", loss="sparse_categorical_crossentropy")
    if size > 1:
        local = ctypes.CDLL(os.environ["DL4_LOCAL"])
        joined = ctypes.c_void_p()
        error = local.dl4_local_join(place.encode(), ctypes.c_int64(rank), ctypes.c_int64(size), ctypes.c_double(60),
                                     ctypes.byref(joined))
        if error:
            raise OSError(error, os.strerror(error))
        reduce = callbacks["dl4_reduce_fn"](("dl4_local_reduce", local))
        leave = callbacks["dl4_release_fn"](("dl4_local_leave", local))
        call("dl4_trainer_set_workers", trainer, rank, size, reduce, joined, leave)
    x, y = data(row, rank)
    x, y = [Tensor.of(x, "float32")], [Tensor.of(y, "int32")]
    return lambda: trainer.step(x, y)


def torch_side(row, rank, size, place):
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = (1, *row[2])
    layers = []

    class Last(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, x):
            return self.module(x)[0][:, -1]

    x = torch.zeros(shape if len(shape) < 4 else (1, row[2][2], row[2][0], row[2][1]))
    for kind, *how in row[3]:
        if kind == "Dense":
            add = [nn.Linear(x.shape[-1], how[0]), nn.ReLU()]
        elif kind == "Conv2D":
            add = [nn.Conv2d(x.shape[1], how[0], how[1]), nn.ReLU()]
        elif kind == "MaxPooling2D":
            add = [nn.MaxPool2d(2)]
        elif kind == "Flatten":
            add = [nn.Flatten()]
        else:
            add = [Last((nn.LSTM if kind == "LSTM" else nn.GRU)(x.shape[-1], how[0], batch_first=True))]
        for layer in add:
            x = layer(x)
        layers += add
    model = nn.Sequential(*layers, nn.Linear(x.shape[-1], row[4]))
    if size > 1:
        torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{place}", rank=rank, world_size=size)
        model = nn.parallel.DistributedDataParallel(model)
    optimizer, loss = torch.optim.Adam(model.parameters(), eps=1e-7), nn.CrossEntropyLoss()
    a, b = data(row, rank)
    a, b = torch.from_numpy(a), torch.from_numpy(b).long()
    if a.ndim == 4:
        a = a.permute(0, 3, 1, 2).contiguous()

    def step():
        optimizer.zero_grad()
        value = loss(model(a), b)
        value.backward()
        optimizer.step()
        return value.item()

    return step


def work(side, number, rank, size, place):
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    if side == "torch":
        step = torch_side(ROWS[number], rank, size, place)
    else:
        step = dl4_side(ROWS[number], rank, 1 if side == "apart" else size, place)
    told = told_at(place)
    if side == "apart" and rank > 0:  # until it is ended
        timed(step)
        told.touch()
        while True:
            step()
    while side == "apart" and not told.exists():
        time.sleep(0.001)
    each = timed(step)
    # All make as many steps as rank 0 says; it comes through a file of the run.
    if side != "apart" and size > 1:
        if rank == 0:
            told.with_suffix(".new").write_text(str(each))
            told.with_suffix(".new").rename(told)
        while not told.exists():
            time.sleep(0.001)
        each = int(told.read_text())
    spent = parts(step, each)
    if rank == 0:
        print(json.dumps(spent))


def run(side, number, size):
    python = os.environ.get("DL4_TORCH_PYTHON") if side == "torch" else sys.executable
    if not python:
        return None
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    place = str(port) if side == "torch" else f"/dl4-bench-{port}"
    told = told_at(place)
    told.unlink(missing_ok=True)
    command = [python, __file__, "--work", side, str(number)]
    all_ = [subprocess.Popen([*command, str(rank), str(size), place], stdout=subprocess.PIPE) for rank in range(size)]
    first = all_[0].communicate(timeout=300)[0]
    for p in all_[1:]:
        if side == "apart":
            p.terminate()
        p.communicate(timeout=300)
    told.unlink(missing_ok=True)
    if any(p.returncode for p in (all_[:1] if side == "apart" else all_)):
        raise SystemExit(f"{side} {ROWS[number][0]}: a process ended in {[p.returncode for p in all_]}")
    return json.loads(first)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    chosen = [int(n) for n in os.environ.get("DL4_WORKERS_ROWS", "").split(",") if n] or range(len(ROWS))
    print(f"load at the start: {os.getloadavg()[0]:.2f}\n")
    print(f"| us of a step | dl4, 1 | dl4, {size} | efficiency | apart | PyTorch, 1 | DDP, {size} | efficiency |")
    print("|---|---|---|---|---|---|---|---|")
    for number in chosen:
        times = {}
        for _ in range(rounds):
            for side, n in SIDES:
                n = n or size
                spent = run(side, number, n)
                if spent is not None:
                    times.setdefault((side, n > 1), []).append(spent)
        us = {key: statistics.median(all_) for key, all_ in times.items()}

        def efficiency(one, more):
            return f"{100 * us[one] / us[more]:.0f} %" if one in us and more in us else ""

        cells = [ROWS[number][0]]
        for side in ("dl4", "torch"):
            cells += [f"{us[side, several]:.0f}" if (side, several) in us else "" for several in (False, True)]
            cells.append(efficiency((side, False), (side, True)))
            if side == "dl4":
                cells.append(efficiency((side, False), ("apart", True)))
        print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\nload at the end: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6])
    else:
        main()
