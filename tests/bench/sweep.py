#!/usr/bin/env python3
"""Random layers, nets and training steps, by libdl4 and by the peers that are installed, in the same rounds:

    sweep.py [--draws N] [--seed N] [--threads 1,2] [--families REGEX] [--rounds N] [--list]

Of the library that DL4_LIBRARY names. Sizes are drawn log-uniformly. Inference is compared with ONNX Runtime and OpenVINO
(images as NCHW) and, of products, Dense and attention, with JAX's jitted functions; training steps with JAX's. All are called from
Python on arrays made beforehand; times are the least of turns of some 30 ms, in which neighbours count little. The
ratio is the best peer's time by libdl4's. Outputs must agree to 1e-3 first. DL4_ROOFLINE names dl4_roofline, for the
share of the peak that draws of more than 2^24 multiply-adds reach. --list prints each draw."""

import argparse
import collections
import functools
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2] / "capi/bindings/python"))

MOST_WORK = 1 << 29  # multiply-adds
ONE = "libdl4, one thread"
ACTIVATIONS = ["linear", "relu", "gelu", "tanh", "sigmoid", "softmax"]


class Draw(random.Random):
    """Numbers of one draw."""

    def log(self, least, most):
        return min(most, max(least, int(math.exp(self.uniform(math.log(least), math.log(most + 0.99))))))


class Case:
    """A model of libdl4 by its layers; work in multiply-adds; peers: name -> make(case, threads)."""

    def __init__(self, told, work, inputs, layers, peers, target=None):
        self.told, self.work, self.inputs, self.layers, self.peers, self.target = told, work, inputs, layers, peers, target
        rng = np.random.default_rng(1)
        self.data = [rng.uniform(-1, 1, s).astype("float32") for s in inputs]

    @functools.lru_cache
    def model(self, threads):
        from dl4.core import Context, Graph

        g = Graph(Context(threads=threads))
        nodes = [g.input(f"x{i}", "float32", (-1, *s[1:])) for i, s in enumerate(self.inputs)]
        first, x = list(nodes), nodes
        for i, (kind, config, *take) in enumerate(self.layers):
            x = g.call(g.layer(kind, f"layer{i}", config), take[0](nodes, x) if take else x[:1])
            nodes = [*nodes, *x]
        return g.build(first, x[:1])

    def ours(self, threads):
        from dl4.core import Tensor

        model = self.model(threads)
        if self.target is not None:
            trainer = model.trainer(optimizer={"class_name": "SGD", "config": {"learning_rate": 1e-4}},
                                    loss="MeanSquaredError")
            x, y = [Tensor.of(v) for v in self.data], [Tensor.of(self.target)]
            return lambda: trainer.step(x, y), None
        bound = model.session().bind([Tensor.of(v) for v in self.data])
        return bound, lambda: (bound(), bound.outputs[0].numpy())[1]

    def weights(self):
        model = self.model(1)
        return {name: model.get_weight(name) for name in model.names(2)}


def onnx_session(content, feeds, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    kept = [onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(x)) for x in feeds]
    for i, value in zip(session.get_inputs(), kept):
        binding.bind_ortvalue_input(i.name, value)
    feed = {i.name: np.ascontiguousarray(x) for i, x in zip(session.get_inputs(), feeds)}
    kept.append(onnxruntime.OrtValue.ortvalue_from_numpy(session.run(None, feed)[0]))
    binding.bind_ortvalue_output(session.get_outputs()[0].name, kept[-1])
    return lambda kept=kept: session.run_with_iobinding(binding), lambda: session.run(None, feed)[0]


def openvino_request(content, feeds, threads):
    import openvino

    core = openvino.Core()
    request = core.compile_model(core.read_model(content), "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for i, x in enumerate(feeds):
        request.set_input_tensor(i, openvino.Tensor(np.ascontiguousarray(x)))
    return request.infer, lambda: (request.infer(), request.get_output_tensor(0).data.copy())[1]


def by_file(run, case, threads):
    """The ONNX file that libdl4 writes."""
    path = pathlib.Path(f"/tmp/dl4_sweep_{os.getpid()}.onnx")
    case.model(1).save(str(path))
    content = path.read_bytes()
    path.unlink()
    return run(content, case.data, threads)


def by_image(run, case, threads):
    """One convolution or pooling in an ONNX file, channels first."""
    from onnx import TensorProto, helper, numpy_helper

    kind, a = case.layers[0][:2]
    rank, x = case.data[0].ndim - 2, case.data[0]
    first = (0, rank + 1, *range(1, rank + 1))
    same = a.get("padding") == "same"
    window = {"strides": [a.get("strides", 1)] * rank, "auto_pad": "SAME_UPPER" if same else "VALID"}
    constants, names = [], ["x"]
    if "Pooling" in kind:
        kind, window = ("MaxPool" if "Max" in kind else "AveragePool"), {**window, "kernel_shape": [a["pool_size"]] * rank}
    else:
        w = {name.split("/")[1]: v for name, v in case.weights().items()}
        kernel = w["kernel"]
        if "Depthwise" in kind:
            kernel, group = kernel.transpose(rank, rank + 1, *range(rank)), x.shape[-1]
        elif "Transpose" in kind:
            kernel, group = kernel.transpose(rank + 1, rank, *range(rank)), 1
        else:
            kernel, group = kernel.transpose(rank + 1, rank, *range(rank)), a.get("groups", 1)
        kind = "ConvTranspose" if "Transpose" in kind else "Conv"
        if kind == "ConvTranspose":  # Keras's end at the last input's stride
            window["output_padding"] = [max(0, a["strides"] - a["kernel_size"])] * rank
        elif same and a.get("dilation_rate", 1) > 1:  # ONNX Runtime refuses auto_pad there
            del window["auto_pad"]
            over = (a["kernel_size"] - 1) * a["dilation_rate"]
            window["pads"] = [over // 2] * rank + [over - over // 2] * rank
        window |= {"dilations": [a.get("dilation_rate", 1)] * rank, "group": group, "kernel_shape": kernel.shape[2:]}
        constants = [numpy_helper.from_array(np.ascontiguousarray(kernel), "w"), numpy_helper.from_array(w["bias"], "b")]
        names += ["w", "b"]
    graph = helper.make_graph(
        [helper.make_node(kind, names, ["y"], **window)], "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.transpose(first).shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    content = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    call, outputs = run(content, [x.transpose(first)], threads)
    last = (0, *range(2, rank + 2), 1)
    return call, lambda: outputs().transpose(last)


def jitted(function, *arrays, donate=()):
    import jax

    run = jax.jit(function, donate_argnums=donate)
    arrays = [jax.device_put(a) for a in arrays]
    return lambda: run(*arrays).block_until_ready(), lambda: np.asarray(run(*arrays))


def jax_activation(name):
    import jax

    exact = {"gelu": lambda x: jax.nn.gelu(x, approximate=False), "linear": lambda x: x, "tanh": jax.numpy.tanh}
    return exact.get(name) or getattr(jax.nn, name)


def by_jax_dense(case, threads):
    w = case.weights()
    act = jax_activation(case.layers[0][1]["activation"])
    kernel, bias = w["layer0/kernel"], w["layer0/bias"]
    return jitted(lambda x: act(x @ kernel + bias), case.data[0])


def by_jax_matmul(case, threads):
    return jitted(lambda a, b: a @ b, *case.data)


def by_jax_attention(case, threads):
    import jax

    return jitted(lambda q, v: jax.nn.softmax(q @ v.swapaxes(1, 2), -1) @ v, *case.data)


def by_jax_training(case, threads):
    """Nets of Dense and Conv2D, and LSTMs whose last output a Dense takes."""
    import jax
    import jax.numpy as jnp

    params, y = case.weights(), case.target

    def lstm(x, kernel, recurrent, bias):
        def step(state, g):
            h, c = state
            i, f, n, o = jnp.split(g + h @ recurrent, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(n)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zero = jnp.zeros((x.shape[0], recurrent.shape[0]), x.dtype)
        return jax.lax.scan(step, (zero, zero), jnp.swapaxes(x @ kernel + bias, 0, 1))[0][0]

    def loss(p):
        x = jnp.asarray(case.data[0])
        for i, (kind, a, *_) in enumerate(case.layers):
            w = {k.split("/")[1]: v for k, v in p.items() if k.startswith(f"layer{i}/")}
            if kind == "Conv2D":
                x = jax.lax.conv_general_dilated(x, w["kernel"], (a.get("strides", 1),) * 2, a["padding"].upper(),
                                                 dimension_numbers=("NHWC", "HWIO", "NHWC")) + w["bias"]
            elif kind == "Dense":
                x = x @ w["kernel"] + w["bias"]
            elif kind == "LSTM":
                x = lstm(x, w["kernel"], w["recurrent_kernel"], w["bias"])
            elif kind == "Flatten":
                x = x.reshape(x.shape[0], -1)
            x = jax_activation(a["activation"])(x) if "activation" in a and kind != "LSTM" else x
        return jnp.mean((x - y) ** 2)

    def step(p):
        value, grads = jax.value_and_grad(loss)(p)
        return {k: v - 1e-4 * grads[k] for k, v in p.items()}, value

    run, state = jax.jit(step, donate_argnums=0), [jax.device_put(params)]

    def call():
        state[0], value = run(state[0])
        value.block_until_ready()

    return call, None


READERS = {"ONNX Runtime": onnx_session, "OpenVINO": openvino_request}
FILE, IMAGE = ({name: functools.partial(by, run) for name, run in READERS.items()} for by in (by_file, by_image))


def dense(r):
    m, n, k, act = r.log(1, 2048), r.log(8, 4096), r.log(8, 4096), r.choice(ACTIVATIONS)
    return Case(f"Dense {m}x{k}x{n} {act}", m * n * k, [(m, k)], [("Dense", {"units": n, "activation": act})],
                {**FILE, "JAX": by_jax_dense})


def matmul(r):
    b, m, n, k = r.choice([1, 1, r.log(2, 16)]), r.log(1, 1024), r.log(8, 2048), r.log(8, 2048)
    both = lambda nodes, x: nodes[:2]
    return Case(f"product {b}x{m}x{k}x{n}", b * m * n * k, [(b, m, k), (b, k, n)], [("MatMul", {}, both)],
                {"JAX": by_jax_matmul} | FILE)


def convolution(r):
    rank = r.choice([1, 2, 2, 2, 3])
    window, stride, n = r.randint(1, 7), r.choice([1, 1, 1, 2, 3]), r.log(1, 64)
    size = r.log(max(window, 4), (1000, 112, 20)[rank - 1])
    c, f, kind = r.log(1, 512), r.log(1, 512), r.choice(["Conv", "Conv", "Conv", "Conv", "Depthwise", "Transpose"])
    a = {"kernel_size": window, "strides": stride, "padding": r.choice(["valid", "same"])}
    if kind == "Depthwise" and rank == 3:
        rank = 2
    if kind == "Transpose":
        a["padding"] = "valid"
    if kind == "Conv" and r.randrange(5) == 0 and stride == 1 and 2 * (window - 1) < size:
        a["dilation_rate"] = 2
    if kind == "Conv" and r.randrange(6) == 0:
        a["groups"] = g = r.choice([2, 4])
        c, f = -(-c // g) * g, -(-f // g) * g
    out = size if kind == "Transpose" else -(-size // stride)
    work = n * out**rank * window**rank * c * (1 if kind == "Depthwise" else f // a.get("groups", 1))
    name = {"Conv": f"Conv{rank}D", "Depthwise": f"DepthwiseConv{rank}D", "Transpose": f"Conv{rank}DTranspose"}[kind]
    a |= {} if kind == "Depthwise" else {"filters": f}
    return Case(f"{name} {n}x{'x'.join([str(size)] * rank)}x{c} {a}", work, [(n, *[size] * rank, c)], [(name, a)], IMAGE)


def pooling(r):
    rank, window, n, c = r.choice([1, 2, 2, 3]), r.randint(2, 4), r.log(1, 64), r.log(1, 512)
    size, kind = r.log(window, (1000, 112, 20)[rank - 1]), r.choice(["Max", "Average"])
    a = {"pool_size": window, "strides": r.randint(1, window), "padding": r.choice(["valid", "same"])}
    return Case(f"{kind}Pooling{rank}D {n}x{'x'.join([str(size)] * rank)}x{c} {a}", 30 * n * size**rank * c,
                [(n, *[size] * rank, c)], [(f"{kind}Pooling{rank}D", a)], IMAGE)


def recurrent(r):
    kind, t, b, i, h = r.choice(["LSTM", "GRU", "SimpleRNN"]), r.log(1, 1000), r.log(1, 256), r.log(4, 512), r.log(4, 1024)
    gates = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}[kind]
    return Case(f"{kind} B{b} T{t} I{i} H{h}", b * t * (i + h) * gates * h, [(b, t, i)],
                [(kind, {"units": h, "return_sequences": r.choice([True, False])})], FILE)


def attention(r):
    t, b = r.log(1, 2048), r.log(1, 8)
    if r.randrange(2):
        d = r.log(8, 128)
        return Case(f"Attention B{b} T{t} D{d}", 2 * b * t * t * d, [(b, t, d)] * 2,
                    [("Attention", {}, lambda nodes, x: nodes[:2])], {"JAX": by_jax_attention} | FILE)
    heads, d = r.choice([1, 2, 4, 8, 12]), r.choice([16, 32, 64])
    width = heads * d
    return Case(f"MHSA B{b} T{t} {heads}x{d}", b * t * (4 * width * width + 2 * t * width), [(b, t, width)],
                [("MultiHeadAttention", {"num_heads": heads, "key_dim": d}, lambda nodes, x: [nodes[0]] * 2)], FILE)


def rows(r):
    kind = r.choice(["LayerNormalization", "Softmax", "RMSNormalization", "GlobalAveragePooling1D", "chain"])
    b, t, d = r.log(1, 64), r.log(1, 512), r.log(4, 2048)
    layers = [(kind, {})]
    if kind == "chain":
        layers = [("Activation", {"activation": r.choice(ACTIVATIONS[1:5])}) for _ in range(r.randint(2, 4))]
    return Case(f"{kind} {b}x{t}x{d}", 40 * b * t * d, [(b, t, d)], layers, FILE)


def net(r, training=False):
    kind, b = r.choice(["MLP", "CNN", "recurrent"]), r.log(1, 128)
    act = r.choice(["relu", "tanh", "gelu"])
    if kind == "MLP":
        k = r.log(8, 1024)
        sizes = [r.log(8, 1024) for _ in range(r.randint(1, 3))] + [r.log(1, 100)]
        work = b * sum(x * y for x, y in zip([k, *sizes], sizes))
        shape, layers = (b, k), [("Dense", {"units": n, "activation": act}) for n in sizes[:-1]]
    elif kind == "CNN":
        size, c, act = r.log(8, 32), r.choice([1, 3]), "relu"
        filters = [r.log(4, 64) for _ in range(r.randint(1, 3))]
        layers, work, shape, sizes = [], 0, (b, size, size, c), [r.log(2, 100)]
        for f in filters:
            stride = r.choice([1, 2])
            layers.append(("Conv2D", {"filters": f, "kernel_size": 3, "strides": stride, "padding": "same",
                                      "activation": act}))
            size = -(-size // stride)
            work, c = work + b * size * size * 9 * c * f, f
        layers.append(("Flatten", {}))
        work += b * size * size * c * sizes[-1]
    else:
        t, i, h, sizes = r.log(2, 100), r.log(4, 128), r.log(4, 256), [r.log(1, 50)]
        layers, shape, work = [("LSTM", {"units": h})], (b, t, i), b * t * (i + h) * 4 * h
    layers.append(("Dense", {"units": sizes[-1]}))
    told = f"{kind} {'x'.join(map(str, shape))} {[a.get('units') or a.get('filters') for _, a in layers if a]} {act}"
    if not training:
        return Case(told, work, [shape], layers, FILE)
    target = np.random.default_rng(2).normal(size=(b, sizes[-1])).astype("float32")
    return Case(told + ", training step", 3 * work, [shape], layers, {"JAX": by_jax_training}, target)


FAMILIES = {"Dense": dense, "products": matmul, "convolutions": convolution, "pooling": pooling, "recurrent": recurrent,
            "attention": attention, "rows": rows, "nets": net, "training": functools.partial(net, training=True)}


def drawn(family, number, seed):
    while True:
        case = FAMILIES[family](Draw(f"{family} {number} {seed}"))
        if case.work <= MOST_WORK and sum(map(math.prod, case.inputs)) < 1 << 24:
            return case
        number += 1_000_003


def turn(call, seconds=0.03):
    """Seconds a call, the least of chunks of some 2 ms."""
    time.sleep(0.01)  # the other side's threads go to sleep
    once, end, least = 1, time.perf_counter() + seconds, float("inf")
    call()
    while True:
        begun = time.perf_counter()
        for _ in range(once):
            call()
        now = time.perf_counter()
        least, once = min(least, (now - begun) / once), max(1, min(1000, int(2e-3 / max(least, 1e-7))))
        if now > end:
            return least


def measured(case, threads, rounds, differ):
    """Seconds by side."""
    sides, (ours, outputs) = {}, case.ours(threads)
    for name, make in case.peers.items():
        if name not in PEERS:
            continue
        try:
            call, theirs = make(case, threads)
        except Exception as error:
            differ.append(f"{case.told}: {name}: {type(error).__name__}: {error}"[:300])
            continue
        if outputs and not np.allclose(outputs(), theirs(), rtol=1e-3, atol=1e-3):
            differ.append(f"{case.told}: {name}'s numbers differ")
            continue
        sides[name] = call
    if threads > 1:
        sides[ONE] = case.ours(1)[0]
    times = collections.defaultdict(lambda: float("inf"))
    for i in range(rounds):
        order = [("libdl4", ours), *sides.items()]
        for name, call in order if i % 2 else order[::-1]:
            times[name] = min(times[name], turn(call))
    return times


def installed():
    """Those peers that are there; each other one is named."""
    found = []
    for name, module in {"ONNX Runtime": "onnxruntime", "JAX": "jax", "OpenVINO": "openvino", "PyTorch": "torch",
                         "LiteRT": "ai_edge_litert"}.items():
        try:
            version = getattr(__import__(module), "__version__", "")
        except ImportError:
            print(f"{name}: not installed, left out")
            continue
        if name in (*READERS, "JAX"):
            found.append(name)
            print(f"{name} {version}")
        else:
            print(f"{name} {version}: these draws are not written for it, left out")
    return found


def quantiles(values):
    return " | ".join(f"{np.quantile(values, q):.2f}" for q in (0, 0.03, 0.25, 0.5, 0.75, 1))


def main():
    said = argparse.ArgumentParser()
    said.add_argument("--draws", type=int, default=400)
    said.add_argument("--seed", type=int, default=1)
    said.add_argument("--threads", type=int, default=1)
    said.add_argument("--families", default="")
    said.add_argument("--rounds", type=int, default=3)
    said.add_argument("--list", action="store_true")
    said = said.parse_args()
    if said.threads == 1:  # before JAX is imported
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]})
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    global PEERS
    PEERS = installed()
    roofline = None
    if program := os.environ.get("DL4_ROOFLINE"):
        roofline = json.loads(subprocess.run([program], capture_output=True, check=True, text=True).stdout)
        print(f"one core: {roofline['gflops']:.0f} Gflop/s, reads of {roofline['gigabytes']} GB/s by level")
    families = [f for f in FAMILIES if re.search(said.families, f)]
    ratios, differ, shares, all_draws = collections.defaultdict(list), [], collections.defaultdict(list), []
    gains = []  # of more threads: one thread's time by theirs
    for i in range(said.draws):
        family = families[i % len(families)]
        case = drawn(family, i, said.seed)
        try:
            times = measured(case, said.threads, said.rounds, differ)
        except Exception as error:  # named, and counted below
            differ.append(f"{case.told}: {type(error).__name__}: {error}"[:300])
            continue
        if one := times.pop(ONE, None):
            gains.append((one / times["libdl4"], one, f"{case.told}: {times['libdl4'] * 1e6:.4g} us, one {one * 1e6:.4g}"))
        if roofline and case.work > 1 << 24 and family in ("Dense", "products"):
            share = 2 * case.work / times["libdl4"] / 1e9 / roofline["gflops"] / said.threads
            shares[family].append(share)
            if said.list:
                print(f"{share:.2f} of the peak  {case.told}: {times['libdl4'] * 1e6:.4g} us", flush=True)
        peers = {name: t for name, t in times.items() if name != "libdl4"}
        if not peers:
            continue
        best = min(peers, key=peers.get)
        ratio = peers[best] / times["libdl4"]
        kind = "training" if case.target is not None else "inference"
        for group in (family, f"all {kind}"):
            ratios[group].append(ratio)
        all_draws.append((ratio, f"{case.told}: {times['libdl4'] * 1e6:.4g} us, {best} {peers[best] * 1e6:.4g}"))
        if said.list:
            print(f"{ratio:.2f}  {all_draws[-1][1]}", flush=True)
    print(f"\n{said.threads} thread{'s'[: said.threads > 1]}, seed {said.seed}, {len(all_draws)} draws\n")
    print("| best peer / libdl4 | draws | at 0.97 or more | geometric mean | least | 3 % | 25 % | 50 % | 75 % | most |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for group, values in ratios.items():
        ahead = 100 * np.mean(np.array(values) >= 0.97)
        mean = math.exp(np.mean(np.log(values)))
        print(f"| {group} | {len(values)} | {ahead:.0f} % | {mean:.2f} | {quantiles(values)} |")
    for family, values in shares.items():
        print(f"\n{family} of more than 2^24 multiply-adds, share of the peak: {quantiles(values)}")
    if gains:
        long, short = [g for g in gains if g[1] > 1e-4], [g for g in gains if g[1] <= 1e-4]
        for told, group in (("of more than", long), ("of at most", short)):
            if group:
                print(f"\nGain over one thread, {len(group)} draws {told} 100 us: {quantiles([g[0] for g in group])}; "
                      f"at 1.7 or more: {np.mean([g[0] >= 1.7 for g in group]):.0%}\n")
                for gain, _, case in sorted(group)[: None if said.list else 20]:
                    print(f"- {gain:.2f} {case}")
    print("\nThe worst ten:\n")
    for ratio, told in sorted(all_draws)[:10]:
        print(f"- {ratio:.2f} {told}")
    for told in differ:
        print(f"left out: {told}")
    return 1 if any("differ" in d for d in differ) else 0


if __name__ == "__main__":
    sys.exit(main())
