"""The sides of the comparison as processes: found, started on their cores, asked over a pipe, ended."""
import json
import os
import select
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))

# Name of a peer: its script, the package it needs, how it is called in the tables. Those with "_c" are called from C++.
peers = {
    "torch": ("torch_eager.py", "torch", "PyTorch"),
    "torch_compiled": ("torch_compiled.py", "torch", "PyTorch compiled"),
    "tensorflow": ("tf_function.py", "tensorflow", "TensorFlow"),
    "xla": ("tf_xla.py", "tensorflow", "TensorFlow XLA"),
    "keras": ("keras_model.py", "tensorflow", "Keras"),
    "jax": ("jax_jit.py", "jax", "JAX"),
    "onnxruntime": ("onnxruntime_session.py", "onnxruntime", "ONNX Runtime"),
    "onnxruntime_c": ("onnxruntime_c.py", "onnxruntime", "ONNX Runtime, C"),
    "openvino": ("openvino_compiled.py", "openvino", "OpenVINO"),
    "openvino_c": ("openvino_c.py", "openvino", "OpenVINO, C"),
    "litert": ("litert_interpreter.py", "ai_edge_litert", "LiteRT"),
    "litert_c": ("litert_c.py", "ai_edge_litert", "LiteRT, C"),
    "ctypes": ("libdl4_ctypes.py", "ctypes", "libdl4 from Python"),  # ours as its peers are called: never the best peer
}
ours = "libdl4"


def title(side):
    return side if side == ours else peers[side][2]


def log(text):
    print(text, file=sys.stderr, flush=True)


def find(names, pythons):
    """The interpreter of each peer that can be had: the first of `pythons` that has its package."""
    found, has = {}, {}
    for name in names:
        if name.endswith("_c") and not os.path.isfile(os.environ.get("DL4_PEER_CALLS", "")):
            log(f"skipped: {title(name)} (no file DL4_PEER_CALLS)")
            continue
        if name == "ctypes" and not os.environ.get("DL4_LIBRARY"):
            log(f"skipped: {title(name)} (no --library)")
            continue
        package = peers[name][1]
        for python in pythons:
            key = python, package
            if key not in has:
                code = f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"
                try:
                    has[key] = subprocess.run([python, "-c", code], capture_output=True, timeout=60).returncode == 0
                except (OSError, subprocess.TimeoutExpired):
                    has[key] = False
            if has[key]:
                found[name] = python
                break
        else:
            log(f"skipped: {title(name)} (no package {package} in {', '.join(pythons)})")
    return found


class Failed(Exception):
    pass


class Side:
    """One process. What hangs or dies is started anew at the next request."""

    def __init__(self, name, command, threads, cores, folder):
        self.name, self.process = name, None
        self.command = [*command, "--threads", str(threads), "--cores", ",".join(map(str, cores))]
        self.log = os.path.join(folder, f"{name}.log")

    def start(self):
        with open(self.log, "ab") as errors:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        os.set_blocking(self.process.stdout.fileno(), False)

    def end(self):
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        self.process.stdin.close(), self.process.stdout.close()
        self.process = None

    def ask(self, what, timeout=300, **request):
        if self.process is None:
            self.start()
        out = self.process.stdout.fileno()
        try:
            self.process.stdin.write((json.dumps({"do": what, **request}) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            self.end()
            raise Failed("died") from None
        text, until = b"", time.monotonic() + timeout
        while not text.endswith(b"\n"):
            if not select.select([out], [], [], max(0, until - time.monotonic()))[0]:
                self.end()
                raise Failed(f"no answer in {timeout} s")
            part = os.read(out, 1 << 20)
            if not part:
                self.end()
                raise Failed("died; see " + os.path.basename(self.log))
            text += part
        answer = json.loads(text)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer


def start(names, interpreters, library_side, threads, cores, folder):
    """libdl4 first, then the peers. They start at their first request."""
    all_of = {}
    for name in [ours, *names]:
        command = [library_side] if name == ours else [interpreters[name], os.path.join(here, peers[name][0])]
        all_of[name] = Side(name, command, threads, cores, folder)
    return all_of


class Neighbour:
    """A process that spins on one core."""

    def __init__(self, core):
        code = f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"
        self.process = subprocess.Popen([sys.executable, "-c", code])

    def end(self):
        self.process.kill()
        self.process.wait()
