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


def forward(row, unroll, weights, inputs):
    """The outputs; of a sparse loss the logits."""
    v = dict(inputs)
    for layer in row.layers:
        kind, name, a = layer["kind"], layer["name"], layer["attributes"]
        w, x = weights.get(name), [v[i] for i in layer["inputs"]]
        if kind == "Dense":
            y = x[0] @ w["kernel"] + w["bias"]
        elif kind == "Conv2D":
            s = a.get("strides", 1)
            y = lax.conv_general_dilated(x[0], w["kernel"], (s, s), a.get("padding", "valid").upper(),
                                         dimension_numbers=("NHWC", "HWIO", "NHWC")) + w["bias"]
        elif kind == "LSTM":
            zero = jnp.zeros((x[0].shape[0], a["units"]), jnp.float32)
            h, c = lstm(a, w, x[0], *(x[1:] or (zero, zero)), unroll)
            v[name + "/h"], v[name + "/c"], y = h, c, h
        elif kind == "Embedding":
            y = w["embeddings"][x[0]]
        elif kind == "Flatten":
            y = x[0].reshape(x[0].shape[0], -1)
        elif kind == "MaxPooling2D":
            y = lax.reduce_window(x[0], -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
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
        layer, kind = name.split("/")
        weights.setdefault(layer, {})[kind] = jnp.asarray(w)
    inputs = {name: jnp.asarray(x) for name, x in row.data.items()}
    side = training if row.training else inference
    recurrent = any(layer["kind"] == "LSTM" for layer in row.layers)
    return protocol.faster([functools.partial(side, row, weights, inputs, unroll)
                            for unroll in ((1, 4) if recurrent else (1,))])


protocol.serve(make, f"JAX {jax.__version__}")
