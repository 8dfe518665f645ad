"""A peer's side of the comparison: pins the process, reads requests as JSON lines, answers with JSON lines.

A peer's script calls serve(make). make(row, threads) builds the row and gives (call, read): call() is what is timed,
a run or a training step; read(what call returned) is a list of numpy arrays, of a step the loss alone.
"""
import argparse
import contextlib
import ctypes
import gc
import json
import os
import sys
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--cores", default="0", help="0,1: the cores this process may use")
options = parser.parse_args()

# Before any framework is imported: some size their pools then.
os.sched_setaffinity(0, [int(core) for core in options.cores.split(",")])
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(options.threads)

# Frameworks print; the answers have a stream of their own.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import numpy as np  # noqa: E402

tolerance = 1e-4


class Row:
    """A row as the bench describes it, with its arrays as numpy: inputs, weights ("layer/kernel"), target."""

    def __init__(self, text, folder, training):
        self.name, self.layers, self.outputs, self.folder = text["name"], text["layers"], text["outputs"], folder
        self.inputs = text["inputs"]
        self.training = text["training"] if training else None
        with open(os.path.join(folder, "arrays.json")) as f:
            index = json.load(f)
        data = np.fromfile(os.path.join(folder, "arrays.bin"), np.uint8).tobytes()
        arrays = {}
        for name, a in index.items():
            count = int(np.prod(a["shape"]))
            arrays[name] = np.frombuffer(data, a["type"], count, a["offset"]).reshape(a["shape"]).copy()
        self.data = {i["name"]: arrays["input " + i["name"]] for i in self.inputs}
        self.weights = {n[len("weight "):]: a for n, a in arrays.items() if n.startswith("weight ")}
        self.target = arrays.get("target")
        self.expected = [arrays[f"expected {i}"] for i in range(sum(n.startswith("expected") for n in arrays))]
        self.sparse = bool(self.training) and self.training["loss"].startswith("sparse")
        self.images = any(layer["kind"].endswith("Conv2D") for layer in self.layers)


def difference(values, expected):
    """The largest difference, in units of the largest value expected."""
    worst = 0.0
    for a, b in zip(values, expected, strict=True):
        a = np.asarray(a, np.float64).reshape(-1)
        if a.size != b.size or not np.isfinite(a).all():
            return 1e30
        worst = max(worst, float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)))
    return worst


trials = 0.0  # seconds that are not part of getting ready: finding out what is faster, writing the model's file
trying = True


@contextlib.contextmanager
def aside():
    """What is done within does not count as getting ready."""
    global trials
    start = time.perf_counter()
    yield
    trials += time.perf_counter() - start


def faster(makers, calls=3):
    """The faster of several ways, made anew: for choices a user makes by trying, such as the layout of images."""
    global trials
    if len(makers) == 1 or not trying:
        return makers[0]()
    start, best = time.perf_counter(), None
    for make in makers:
        call, _ = make()
        call(), call()
        times = []
        for _ in range(calls):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        if best is None or min(times) < best[0]:
            best = min(times), make
    trials += time.perf_counter() - start
    return best[1]()


def memory(what):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(what + ":"))


class Side:
    def __init__(self, make):
        self.make = make
        self.call = self.read = None

    def prepare(self, row, folder, training, **request):
        global trials, trying
        trying = request.get("trying", True)
        self.call = self.read = None
        row = Row(row, folder, training)
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what is free already must not hide what the row takes
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        self.before = memory("VmRSS") - memory("RssFile")  # code that is read from files is no memory of the row
        start, trials = time.perf_counter(), 0.0
        self.call, self.read = self.make(row, options.threads)
        if training:
            values = [self.read(self.call())]
            ready = time.perf_counter() - start - trials
            values += [self.read(self.call()), self.read(self.call())]
            values = [np.asarray([float(np.asarray(v[0])) for v in values])]
        else:
            values = self.read(self.call())
            ready = time.perf_counter() - start - trials
            # Once more: what a framework specialises after its first call must be right too.
            values = self.read(self.call())
        warm, calls = time.perf_counter(), 0
        while calls < 2 or time.perf_counter() - warm < 0.05:
            self.call()
            calls += 1
        self.chunk = max(1, round(0.002 * calls / (time.perf_counter() - warm)))
        return {"ready_ms": ready * 1e3, "difference": difference(values, row.expected)}

    def first(self, row, folder, training, starts, **_):
        """Milliseconds until the first result, in fresh processes that have the framework and the weights in memory."""
        global trials, trying
        row, trying, ms, worst = Row(row, folder, training), False, [], 0.0
        for _ in range(starts):
            out, into = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    start, trials = time.perf_counter(), 0.0
                    call, read = self.make(row, options.threads)
                    values = read(call())
                    spent = (time.perf_counter() - start - trials) * 1e3
                    expected = [row.expected[0][:1]] if training else row.expected
                    answer = {"ms": spent, "difference": difference([np.atleast_1d(v) for v in values], expected)}
                except Exception as e:
                    answer = {"error": f"{type(e).__name__}: {e}"[:500]}
                os.write(into, json.dumps(answer).encode())
                os._exit(0)
            os.close(into)
            with os.fdopen(out) as f:
                text = f.read()
            os.waitpid(child, 0)
            answer = json.loads(text) if text else {"error": "died"}
            if "error" in answer:
                return answer
            ms.append(answer["ms"])
            worst = max(worst, answer["difference"])
        return {"ms": ms, "difference": worst}

    def time(self, seconds, cpu=False, **_):
        """Microseconds of a call: means of chunks of about 2 ms. What brings the caches back doesn't count."""
        call, clock, chunk, us = self.call, time.process_time if cpu else time.perf_counter, self.chunk, []
        many = getattr(call, "many", None)  # so many calls at once, from C
        start = time.perf_counter()
        while True:
            call()
            if time.perf_counter() - start >= 0.01:
                break
        start = time.perf_counter()
        while True:
            begin = clock()
            if many:
                many(chunk)
            else:
                for _ in range(chunk):
                    call()
            us.append((clock() - begin) * 1e6 / chunk)
            if time.perf_counter() - start >= seconds:
                return {"us": us}

    def latency(self, calls, **_):
        call, clock = self.call, time.perf_counter
        for _ in range(100):
            call()
        us = []
        for _ in range(calls):
            begin = clock()
            call()
            us.append((clock() - begin) * 1e6)
        us.sort()
        at = {f"p{q}": us[int(q / 100 * (calls - 1))] for q in (50, 99, 99.9)}
        return {**at, "max": us[-1]}

    def callers(self, callers, seconds, **_):
        """Calls per second of so many threads on the one model."""
        go, stop, counts, failures = threading.Event(), threading.Event(), [], []

        def work():
            own = 0
            go.wait()
            try:
                call = getattr(self.call, "another", lambda: self.call)()
                while not stop.is_set():
                    call()
                    own += 1
            except Exception as e:
                failures.append(e)
            counts.append(own)

        threads = [threading.Thread(target=work) for _ in range(callers)]
        for t in threads:
            t.start()
        start = time.perf_counter()
        go.set()
        time.sleep(seconds)
        stop.set()
        for t in threads:
            t.join()
        spent = time.perf_counter() - start
        if failures:
            raise failures[0]
        return {"per_second": sum(counts) / spent}

    def memory(self, **_):
        return {"growth": memory("VmHWM") - memory("RssFile") - self.before, "peak": memory("VmHWM")}


def serve(make, version):
    side = Side(make)
    for line in sys.stdin:
        request = json.loads(line)
        what = request.pop("do")
        if what == "stop":
            break
        try:
            answer = {"version": version} if what == "version" else getattr(side, what)(**request)
        except Exception as e:  # told to the other side, which goes on with the next row
            answer = {"error": f"{type(e).__name__}: {e}"[:500]}
        answers.write(json.dumps(answer) + "\n")
    answers.flush()
    os._exit(0)  # some frameworks crash while they are taken down
