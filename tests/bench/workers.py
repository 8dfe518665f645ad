#!/usr/bin/env python3
"""Processes of one thread against one, by libdl4, PyTorch's DDP (Gloo) and Horovod:   workers.py [ROUNDS] [SIZE]
What networks would add to a step, for 4 and 8 processes:                             workers.py --network [ROUNDS]

Each process trains on batches of the row's size, so that SIZE of them (default 2) should take as long as one. Apart:
as many processes that know nothing of each other, which is what the machine's memory and clock allow. DL4_LIBRARY
names the library, DL4_LOCAL libdl4_local; DL4_TORCH_PYTHON a Python with PyTorch, DL4_HOROVOD_PYTHON one with Horovod
for it (whose efficiency is over the same PyTorch's one process): without them their columns stay empty.
Sides take turns in each round; a number is the median over the rounds of the fastest of ten parts of a run. Needs NumPy.
The table is Markdown. In DL4_WORKERS_ROWS stand the rows to run, by number, "0,3".

--network: each sum over the workers of this machine is followed by the wait that it would have taken over a network of
that latency and bandwidth. What a step then takes longer than without the waits is what the network adds to it, however
few cores the processes share; efficiency is that of one process for each machine."""

import json
import math
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
SIDES = [("dl4", 1), ("dl4", 0), ("apart", 0), ("torch", 1), ("torch", 0), ("horovod", 1), ("horovod", 0)]
PYTHONS = {"torch": "DL4_TORCH_PYTHON", "horovod": "DL4_HOROVOD_PYTHON"}
NETWORKS = [("50 us, 10 Gbit/s", 50e-6, 1.25e9), ("0.5 ms, 1 Gbit/s", 0.5e-3, 0.125e9)]
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


def wait(meeting, n_bytes, size, latency, bandwidth):
    """Seconds of a sum over machines, as capi/workers/README.md has it: of a meeting's words, or of gradients."""
    rounds, whole = math.ceil(math.log2(size)), n_bytes / bandwidth
    return rounds * latency + whole if meeting else 2 * rounds * latency + 2 * whole * (size - 1) / size


class Network:
    """libdl4_local's sums, each with the wait of a network; and which they were in the last step."""

    def __init__(self, local, size, latency, bandwidth):
        import ctypes

        self.of, self.sums = (size, latency, bandwidth), []
        libc = ctypes.CDLL(None)
        libc.prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK: nanoseconds
        sum_up = local.dl4_local_reduce
        sum_up.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32]

        def reduce(place, values, n, dtype):
            error = sum_up(place, values, n, dtype)
            self.sums.append((dtype != 1, 4 * n))  # of int32, each worker's words in a place of their own: a meeting
            if latency > 0:
                time.sleep(wait(*self.sums[-1], *self.of))
            return error

        self.reduce = reduce


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
    network = None
    if size > 1:
        local = ctypes.CDLL(os.environ["DL4_LOCAL"])
        joined = ctypes.c_void_p()
        error = local.dl4_local_join(place.encode(), ctypes.c_int64(rank), ctypes.c_int64(size), ctypes.c_double(60),
                                     ctypes.byref(joined))
        if error:
            raise OSError(error, os.strerror(error))
        reduce = callbacks["dl4_reduce_fn"](("dl4_local_reduce", local))
        if "DL4_WORKERS_NETWORK" in os.environ:
            network = Network(local, size, *json.loads(os.environ["DL4_WORKERS_NETWORK"]))
            trainer.reduce = reduce = callbacks["dl4_reduce_fn"](network.reduce)
        leave = callbacks["dl4_release_fn"](("dl4_local_leave", local))
        call("dl4_trainer_set_workers", trainer, rank, size, reduce, joined, leave)
    x, y = data(row, rank)
    x, y = [Tensor.of(x, "float32")], [Tensor.of(y, "int32")]

    def step():
        if network:
            network.sums.clear()
        trainer.step(x, y)

    step.network = network
    return step


def torch_side(row, rank, size, place, horovod=False):
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
    if size > 1 and not horovod:
        torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{place}", rank=rank, world_size=size)
        model = nn.parallel.DistributedDataParallel(model)
    optimizer, loss = torch.optim.Adam(model.parameters(), eps=1e-7), nn.CrossEntropyLoss()
    if size > 1 and horovod:
        import horovod.torch as hvd

        hvd.init()
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
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
    rank = int(os.environ.get("HOROVOD_RANK", rank))  # horovodrun makes the processes
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    if side in PYTHONS:
        step = torch_side(ROWS[number], rank, size, place, side == "horovod")
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
        network = getattr(step, "network", None)
        print(json.dumps([spent, network.sums if network else []]))


def run(side, number, size):
    told = measured(side, number, size)
    return told and told[0]


def measured(side, number, size):
    """Microseconds of a step, and the sums of one over a network."""
    python = os.environ.get(PYTHONS[side]) if side in PYTHONS else sys.executable
    if not python:
        return None
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    place = str(port) if side == "torch" else f"/dl4-bench-{port}"
    told = told_at(place)
    told.unlink(missing_ok=True)
    command = [python, __file__, "--work", side, str(number)]
    commands = [[*command, str(rank), str(size), place] for rank in range(size)]
    if side == "horovod" and size > 1:
        start = pathlib.Path(python).parent / "horovodrun"
        commands = [[start, "-np", str(size), "--gloo", *commands[0]]]
    all_ = [subprocess.Popen(c, stdout=subprocess.PIPE) for c in commands]
    first = all_[0].communicate(timeout=300)[0]
    for p in all_[1:]:
        if side == "apart":
            p.terminate()
        p.communicate(timeout=300)
    told.unlink(missing_ok=True)
    if any(p.returncode for p in (all_[:1] if side == "apart" else all_)):
        raise SystemExit(f"{side} {ROWS[number][0]}: a process ended in {[p.returncode for p in all_]}")
    return json.loads(first.splitlines()[-1].removeprefix(b"[0]<stdout>:"))


def chosen_rows():
    return [int(n) for n in os.environ.get("DL4_WORKERS_ROWS", "").split(",") if n] or range(len(ROWS))


def over_network(number, size, latency, bandwidth):
    os.environ["DL4_WORKERS_NETWORK"] = json.dumps([latency, bandwidth])
    try:
        return measured("dl4", number, size)
    finally:
        del os.environ["DL4_WORKERS_NETWORK"]


def networks(rounds):
    sizes = (4, 8)
    print(f"load at the start: {os.getloadavg()[0]:.2f}\n")
    columns = [f"{what}, {n}" for n in sizes for what in ("adds", "on paper", "efficiency")]
    print("| us of a step | alone | network | " + " | ".join(columns) + " | 64 on paper |")
    print("|---" * (len(columns) + 4) + "|")
    for number in chosen_rows():
        alone, times, sums = [], {}, {}
        for _ in range(rounds):
            alone.append(run("dl4", number, 1))
            for n in sizes:
                for network in [("", 0, 1)] + NETWORKS:
                    us, sums[n] = over_network(number, n, *network[1:])
                    times.setdefault((n, network), []).append(us)
        c = statistics.median(alone)
        us = {key: statistics.median(all_) for key, all_ in times.items()}

        def paper(n, network):
            seen = n if n in sizes else sizes[-1]
            return 1e6 * sum(wait(m, b * n / seen if m else b, n, *network[1:]) for m, b in sums[seen])

        for network in NETWORKS:
            cells = [ROWS[number][0], f"{c:.0f}", network[0]]
            for n in sizes:
                adds = us[n, network] - us[n, ("", 0, 1)]
                cells += [f"{adds:.0f}", f"{paper(n, network):.0f}", f"{100 * c / (c + adds):.0f} %"]
            cells.append(f"{100 * c / (c + paper(64, network)):.0f} %")
            print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\nload at the end: {os.getloadavg()[0]:.2f}")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    chosen = chosen_rows()
    print(f"load at the start: {os.getloadavg()[0]:.2f}\n")
    sides = f"dl4, 1 | dl4, {size} | efficiency | apart | PyTorch, 1 | DDP, {size} | efficiency"
    print(f"| us of a step | {sides} | its PyTorch, 1 | Horovod, {size} | efficiency |")
    print("|---" * 11 + "|")
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
        for side in ("dl4", "torch", "horovod"):
            cells += [f"{us[side, several]:.0f}" if (side, several) in us else "" for several in (False, True)]
            cells.append(efficiency((side, False), (side, True)))
            if side == "dl4":
                cells.append(efficiency((side, False), ("apart", True)))
        print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\nload at the end: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6])
    elif sys.argv[1:2] == ["--network"]:
        networks(int(sys.argv[2]) if len(sys.argv) > 2 else 5)
    else:
        main()
