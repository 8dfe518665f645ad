"""JAX: one jitted function a row; a training step donates its state."""
import functools
import os

import protocol

if protocol.options.threads == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402


def lstm(a, w, x, h, c, unroll):
    units = a["units"]
    gates = jnp.swapaxes(x @ w["kernel"] + w["bias"], 0, 1)  # time first, as scan wants it

    def step(state, g):
        h, c = state
        g = g + h @ w["recurrent_kernel"]
        i, f, n, o = (g[:, k * units:(k + 1) * units] for k in range(4))
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(n)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), None

    if gates.shape[0] == 1:
        return step((h, c), gates[0])[0]
    return lax.scan(step, (h, c), gates, unroll=unroll)[0]


def gru(w, x, h):
    z, r, n = jnp.split(x @ w["kernel"] + w["bias"][0], 3, -1)
    uz, ur, un = jnp.split(h @ w["recurrent_kernel"] + w["bias"][1], 3, -1)
    z, r = jax.nn.sigmoid(z + uz), jax.nn.sigmoid(r + ur)
    return z * h + (1 - z) * jnp.tanh(n + r * un)


def recurrent(cell, x, units, unroll, backwards=False):
    """All outputs of a cell over time, time first."""
    def step(h, x):
        h = cell(x, h)
        return h, h

    zero = jnp.zeros((x.shape[0], units), jnp.float32)
    return lax.scan(step, zero, jnp.swapaxes(x, 0, 1), unroll=unroll, reverse=backwards)[1]


def decoder(w, x, seen, keys, unroll):
    """The row's additive decoder: a GRU cell that looks at the source before each step."""
    w = w["graph_cell"]

    def cell(x, h):
        scores = jnp.tanh((h @ w["query"]["kernel"])[:, None] + keys) @ w["attention"]["scale"]
        context = jnp.einsum("bs,bsd->bd", jax.nn.softmax(scores), seen)
        return gru(w["gru"], jnp.concatenate([x, context], -1), h)

    return jnp.swapaxes(recurrent(cell, x, w["query"]["kernel"].shape[0], unroll), 0, 1)


def self_attention(w, x):
    def projected(name):
        return jnp.einsum("btd,dhk->bhtk", x, w[name]["kernel"]) + w[name]["bias"][:, None]

    q, k, v = (projected(name) for name in ("query", "key", "value"))
    scores = jax.nn.softmax(q @ jnp.swapaxes(k, 2, 3) / q.shape[-1] ** 0.5)
    return jnp.einsum("bhtk,hkd->btd", scores @ v, w["attention_output"]["kernel"]) + w["attention_output"]["bias"]


def convolved(x, w, stride, padding, groups=1):
    y = lax.conv_general_dilated(x, w["kernel"], (stride, stride), padding.upper(), feature_group_count=groups,
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y + w["bias"] if "bias" in w else y


def pooled(x, size, stride):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), "VALID")


def forward(row, unroll, weights, inputs):
    """The outputs; of a sparse loss the logits."""
    v = dict(inputs)
    for layer in row.layers:
        kind, name, a = layer["kind"], layer["name"], layer["attributes"]
        w, x = weights.get(name), [v[i] for i in layer["inputs"]]
        if kind == "Dense":
            y = x[0] @ w["kernel"] + w["bias"]
        elif kind == "Conv2D":
            y = convolved(x[0], w, a.get("strides", 1), a.get("padding", "valid"))
        elif kind == "DepthwiseConv2D":
            k = w["kernel"]
            y = convolved(x[0], {**w, "kernel": jnp.swapaxes(k, 2, 3)}, 1, a["padding"], k.shape[2])
        elif kind == "BatchNormalization":
            y = (x[0] - w["moving_mean"]) * (w["gamma"] * lax.rsqrt(w["moving_variance"] + 1e-3)) + w["beta"]
        elif kind == "LayerNormalization":
            d = x[0] - x[0].mean(-1, keepdims=True)
            y = d * lax.rsqrt(jnp.square(d).mean(-1, keepdims=True) + 1e-3) * w["gamma"] + w["beta"]
        elif kind == "GRU":
            y = recurrent(functools.partial(gru, w), x[0], a["units"], unroll)[-1]
        elif kind == "Bidirectional":
            u = a["layer"]["config"]["units"]
            zero = jnp.zeros((x[0].shape[0], u), jnp.float32)
            ways = ((w["forward_lstm"], x[0]), (w["backward_lstm"], x[0][:, ::-1]))
            y = jnp.concatenate([lstm({"units": u}, part, t, zero, zero, unroll)[0] for part, t in ways], -1)
        elif kind == "RNN":
            y = decoder(w, *x, unroll)
        elif kind == "MultiHeadAttention":
            y = self_attention(w, x[0])
        elif kind == "LSTM":
            zero = jnp.zeros((x[0].shape[0], a["units"]), jnp.float32)
            h, c = lstm(a, w, x[0], *(x[1:] or (zero, zero)), unroll)
            v[name + "/h"], v[name + "/c"], y = h, c, h
        elif kind == "Embedding" and a.get("mask_zero"):
            raise NotImplementedError("a mask with holes")
        elif kind == "Embedding":
            y = w["embeddings"][x[0]]
        elif kind == "Flatten":
            y = x[0].reshape(x[0].shape[0], -1)
        elif kind == "MaxPooling2D":
            size = a.get("pool_size", 2)
            y = pooled(x[0], size, a.get("strides", size))
        elif kind == "ZeroPadding2D":
            y = jnp.pad(x[0], ((0, 0), *[(a["padding"],) * 2] * 2, (0, 0)))
        elif kind == "Activation":
            y = x[0]
        elif kind == "GlobalAveragePooling2D":
            y = x[0].mean((1, 2))
        elif kind == "Add":
            y = x[0] + x[1]
        elif kind == "MatMul":
            y = x[0] @ (jnp.swapaxes(x[1], 1, 2) if a.get("transpose_b") else x[1])
        elif kind == "Softmax":
            y = jax.nn.softmax(x[0])
        elif kind == "Attention":
            key = x[2] if len(x) > 2 else x[1]
            y = jax.nn.softmax(x[0] @ jnp.swapaxes(key, 1, 2)) @ x[1]
        elif kind == "GlobalAveragePooling1D":
            y = x[0].mean(1)
        else:
            raise NotImplementedError(kind)
        activation = a.get("activation")  # of an LSTM: never given
        if activation in ("relu", "sigmoid"):
            y = getattr(jax.nn, activation)(y)
        elif activation == "gelu":
            y = jax.nn.gelu(y, approximate=False)
        elif activation == "softmax" and not (row.sparse and name == row.outputs[0]):
            y = jax.nn.softmax(y)
        v[name] = y
    return [v[n] for n in row.outputs]


def inference(row, weights, inputs, unroll):
    run = jax.jit(functools.partial(forward, row, unroll))

    def call():
        return jax.block_until_ready(run(weights, inputs))

    return call, lambda y: list(y)


def training(row, weights, inputs, unroll):
    target = jnp.asarray(row.target)
    weights = jax.tree.map(jnp.array, weights)  # donated: a copy of its own

    def loss_of(weights):
        y = forward(row, unroll, weights, inputs)[0]
        if row.sparse:
            return -jnp.take_along_axis(jax.nn.log_softmax(y), target[:, None], 1).mean()
        return jnp.square(y - target).mean()

    if row.training["optimizer"] == "Adam":
        zeros = lambda: jax.tree.map(jnp.zeros_like, weights)
        state = (weights, zeros(), zeros(), jnp.zeros((), jnp.float32))

        def step(state):
            w, m, v, t = state
            loss, g = jax.value_and_grad(loss_of)(w)
            t = t + 1
            m = jax.tree.map(lambda m, g: m + (g - m) * 0.1, m, g)
            v = jax.tree.map(lambda v, g: v + (g * g - v) * 0.001, v, g)
            alpha = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
            w = jax.tree.map(lambda w, m, v: w - alpha * m / (jnp.sqrt(v) + 1e-7), w, m, v)
            return (w, m, v, t), loss
    else:
        state = weights

        def step(w):
            loss, g = jax.value_and_grad(loss_of)(w)
            return jax.tree.map(lambda w, g: w - 0.01 * g, w, g), loss

    run = jax.jit(step, donate_argnums=0)

    def call():
        nonlocal state
        state, loss = run(state)
        jax.block_until_ready((state, loss))
        return loss

    return call, lambda loss: [loss]


def make(row, threads):
    weights = {}
    for name, w in row.weights.items():
        inside = weights
        *layers, kind = name.split("/")
        for layer in layers:
            inside = inside.setdefault(layer, {})
        inside[kind] = jnp.asarray(w)
    inputs = {name: jnp.asarray(x) for name, x in row.data.items()}
    side = training if row.training else inference
    recurrent = any(layer["kind"] in ("LSTM", "GRU", "Bidirectional", "RNN") for layer in row.layers)
    return protocol.faster([functools.partial(side, row, weights, inputs, unroll)
                            for unroll in ((1, 4) if recurrent else (1,))])


protocol.serve(make, f"JAX {jax.__version__}")
