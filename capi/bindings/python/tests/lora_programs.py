"""Small programs of layers with LoRA. Each runs on Keras and on dl4, unchanged, with equal results.

A program takes `tf` and `keras` and gives numbers and words."""

import os
import tempfile

import numpy as np

from programs import Programs
from quantized_programs import filled, kinds, quietly, shown

PROGRAMS = program = Programs()
R = np.random.RandomState(5)
X, Y = R.normal(size=(6, 7)).astype("float32"), R.normal(size=(6, 3)).astype("float32")
PICTURES = R.normal(size=(2, 5, 5, 4)).astype("float32")
IDS = R.randint(0, 6, (4, 3)).astype("int32")


def made(keras):
    layers = keras.layers
    convolutions = {
        "conv1d": (lambda **k: layers.Conv1D(4, 2, groups=2, **k), PICTURES[0]),
        "conv2d": (lambda **k: layers.Conv2D(3, 2, strides=2, padding="same", kernel_regularizer="l2", **k), PICTURES),
        "conv3d": (lambda **k: layers.Conv3D(3, 2, data_format="channels_last", **k), PICTURES[None]),
    }
    return {**kinds(keras), **convolutions}


def ranks(layer):
    config = layer.get_config()
    return [layer.lora_enabled, layer.lora_rank, layer.lora_alpha, config.get("lora_rank"), config.get("lora_alpha"),
            "lora_rank" in config]


def kernel_of(layer):
    return np.array(layer.embeddings if hasattr(layer, "embeddings") else layer.kernel)


def trained(keras, layer, x, seed):
    """Losses of some steps, and what it is then."""
    inputs = keras.Input(x.shape[1:], dtype=str(x.dtype))
    model = keras.Model(inputs, layer(inputs))
    target = np.random.RandomState(seed).normal(size=model.predict(x, verbose=0).shape).astype("float32")
    model.compile(keras.optimizers.SGD(0.05, momentum=0.5), "mse")
    history = model.fit(x, target, epochs=3, verbose=0, shuffle=False).history["loss"]
    return model, [history, model.predict(x, verbose=0), shown(layer)]


def _kinds(how):
    def run(tf, keras):
        got = []
        for name, (make, x) in made(keras).items():
            if how and "conv" in name:
                continue
            layer = make(name="layer")
            layer.build((None, *x.shape[1:]))
            before = [layer.lora_enabled, layer.lora_rank, layer.lora_alpha, "lora_rank" in layer.get_config()]
            filled(layer)
            if how:
                quietly(layer.quantize, **how(keras))
            layer.enable_lora(2, lora_alpha=3)
            parts = [w for w in layer.weights if "lora" in w.name]
            starts = [np.abs(np.array(w)).max() > 0 for w in parts]
            for w in parts:
                w.assign(np.random.RandomState(7).normal(size=w.shape) * 0.5)
            got += [name, before, starts, ranks(layer), shown(layer), kernel_of(layer), np.array(layer(x))]
            got += trained(keras, layer, x, 1)[1]
            if not how:
                got.append(quietly(layer.enable_lora, 2))
        return got

    return run


def _int4(keras, size):
    return {"config": keras.quantizers.Int4QuantizationConfig(block_size=size)}


for _name, _how in (
    ("floats", None),
    ("int8", lambda keras: {"mode": "int8"}),
    ("int4", lambda keras: {"mode": "int4"}),
    ("columns", lambda keras: _int4(keras, None)),
    ("blocks", lambda keras: _int4(keras, 2)),
):
    _run = _kinds(_how)
    _run.__name__ = f"layers_{_name}"
    program(_run)


@program
def files(tf, keras):
    """What LoRA learned is in the kernels; its own matrices are zeros."""
    got = []
    for how in (None, "int8", "int4", _int4(keras, None), _int4(keras, 2)):
        for name, (make, x) in made(keras).items():
            if how and "conv" in name or name == "reversible":  # which Keras does not read
                continue
            layer = make(name="layer")
            layer.build((None, *x.shape[1:]))
            filled(layer)
            if how:
                quietly(layer.quantize, **({"mode": how} if isinstance(how, str) else how))
            layer.enable_lora(2)
            for w in layer.weights:
                if "lora" in w.name:
                    w.assign(np.random.RandomState(7).normal(size=w.shape) * 0.5)
            inputs = keras.Input(x.shape[1:], dtype=str(x.dtype))
            model = keras.Model(inputs, layer(inputs))
            with tempfile.TemporaryDirectory() as folder:
                model.save(os.path.join(folder, "model.keras"))
                again = keras.models.load_model(os.path.join(folder, "model.keras"))
                model.save_weights(os.path.join(folder, "model.weights.h5"))
                before = model.predict(x, verbose=0)
                model.load_weights(os.path.join(folder, "model.weights.h5"))
            same = again.get_layer("layer")
            got += [name, ranks(same), shown(same), again.predict(x, verbose=0), before]
            got += [shown(layer), model.predict(x, verbose=0)]
    return got


@program
def of_a_plain_file(tf, keras):
    """Weights of a layer without LoRA are taken by one with it, and the other way."""
    got = []
    for lora in (True, False):
        layers = [keras.layers.Dense(3, name="layer") for _ in range(2)]
        models = [keras.Sequential([keras.Input((7,)), layer]) for layer in layers]
        for i, model in enumerate(models):
            filled(model, i)
        layers[int(lora)].enable_lora(2, b_initializer="ones", a_initializer="ones")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.weights.h5")
            models[0].save_weights(path)
            models[1].load_weights(path)
        got += [models[0].predict(X, verbose=0), models[1].predict(X, verbose=0), shown(layers[1])]
    return got


@program
def by_argument(tf, keras):
    layers = keras.layers
    got = []
    for layer, x in (
        (layers.Dense(3, lora_rank=2), X), (layers.EinsumDense("ab,bc->ac", 3, lora_rank=2, lora_alpha=8), X),
        (layers.Embedding(6, 4, lora_rank=3), IDS), (layers.Conv2D(3, 2, lora_rank=2, lora_alpha=1), PICTURES),
    ):
        layer.build((None, *x.shape[1:]))
        parts = [w for w in layer.weights if "lora" in w.name]
        got += [ranks(layer), [f"{w.name} {tuple(w.shape)} {w.trainable}" for w in layer.weights]]
        filled(layer)
        for w in parts:
            w.assign(np.random.RandomState(7).normal(size=w.shape) * 0.5)
        got += [np.array(layer(x)), kernel_of(layer)]
        again = type(layer).from_config(layer.get_config())
        again.build((None, *x.shape[1:]))
        got.append(ranks(again))
    return got


@program
def penalties(tf, keras):
    """They are on the matrices that are trained, in place of the kernel."""
    got = []
    for regularizer in ("l2", lambda w: 0.01 * keras.ops.sum(keras.ops.abs(w))):
        for layer in (
            keras.layers.Dense(3, name="layer", kernel_regularizer=regularizer, bias_regularizer="l1"),
            keras.layers.EinsumDense("ab,bc->ac", 3, bias_axes="c", name="layer", kernel_regularizer=regularizer),
        ):
            layer.build((None, 7))
            filled(layer)
            layer.enable_lora(2, b_initializer="ones", a_initializer="ones")
            got += [len(layer.losses), sum(float(loss) for loss in layer.losses)]
            got += [layer.lora_kernel_a.regularizer is not None, *trained(keras, layer, X, 4)[1]]
    return got


@program
def what_is_refused(tf, keras):
    layers = keras.layers
    dense = layers.Dense(2, name="d")
    got = [quietly(dense.enable_lora, 2)]
    for layer in (
        layers.Dense(2, kernel_constraint="max_norm"), layers.Embedding(4, 2, embeddings_constraint="max_norm"),
        layers.EinsumDense("ab,bc->ac", 3, kernel_constraint="max_norm"), layers.Conv2D(2, 2, kernel_constraint="max_norm"),
    ):
        layer.build((None, 4, 4, 4)[: 4 if "Conv" in type(layer).__name__ else 2])
        got.append(quietly(layer.enable_lora, 2))
    got += [hasattr(layers.LSTM(2), "enable_lora"), hasattr(layers.DepthwiseConv2D(2), "enable_lora")]
    return got


@program
def models(tf, keras):
    """Of several layers some are tuned, in a model inside too, after a training of all, quantized and not."""
    layers = keras.layers
    got = []
    for mode in (None, "int8"):
        table, first = layers.Embedding(6, 5, name="table"), layers.Dense(4, "tanh", name="first", kernel_regularizer="l2")
        inner = keras.Sequential([keras.Input((4,)), layers.Dense(4, "tanh", name="inside")], name="inner")
        x = keras.Input((3,), dtype="int32")
        y = keras.layers.GlobalAveragePooling1D()(first(table(x)))
        model = keras.Model(x, layers.Dense(3, name="last")(inner(y)))
        filled(model)
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
        fit = {"epochs": 2, "verbose": 0, "shuffle": False}
        got.append(model.fit(IDS, Y[:4], **fit).history["loss"])
        if mode:
            quietly(model.quantize, mode)
        for layer in (table, first, inner.layers[-1]):
            layer.enable_lora(2, a_initializer="ones", b_initializer=keras.initializers.Constant(0.1))
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
        got += [model.fit(IDS, Y[:4], **fit).history["loss"], model.predict(IDS, verbose=0), shown(model)]
        got.append([w.name for w in model.trainable_weights])
        with tempfile.TemporaryDirectory() as folder:
            model.save(os.path.join(folder, "m.keras"))
            again = keras.models.load_model(os.path.join(folder, "m.keras"))
        got += [shown(again), again.predict(IDS, verbose=0)]
        got += [again.fit(IDS, Y[:4], **fit).history["loss"], shown(again)]
    return got


@program
def quantized_afterwards(tf, keras):
    got = []
    for mode in ("int8", "int4"):
        model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(5, "relu", name="layer")])
        filled(model)
        layer = model.layers[-1]
        layer.enable_lora(2, b_initializer="ones", a_initializer="ones")
        quietly(model.quantize, mode)
        got += [shown(layer), model.predict(X, verbose=0), ranks(layer), *trained(keras, layer, X, 2)[1]]
    return got


@program
def attention(tf, keras):
    layers = keras.layers
    q = np.sin(np.arange(24).reshape(2, 3, 4)).astype("float32")
    v = np.cos(np.arange(60).reshape(2, 5, 6)).astype("float32")
    got = []
    for mode in (None, "int8", "int4"):
        layer = layers.MultiHeadAttention(2, 3, value_dim=2, use_bias=mode != "int4", name="heads")
        a, b = keras.Input((3, 4)), keras.Input((5, 6))
        model = keras.Model([a, b], layer(a, b))
        filled(model)
        if mode:
            quietly(model.quantize, mode)
        for part in (layer.query_dense, layer.value_dense, layer.output_dense):
            part.enable_lora(2, lora_alpha=3)
            for w, seed in ((part.lora_kernel_a, 1), (part.lora_kernel_b, 2)):
                w.assign(np.random.RandomState(seed).normal(size=w.shape) * 0.5)
        got += [[part.lora_enabled for part in (layer.query_dense, layer.key_dense)], layer.query_dense.lora_alpha]
        got += [len(layer.trainable_weights), len(layer.non_trainable_weights)]
        got += [model.predict([q, v], verbose=0)]
        model.compile(keras.optimizers.SGD(0.1), "mse")
        target = np.ones_like(got[-1])
        got += [model.fit([q, v], target, epochs=3, verbose=0, shuffle=False).history["loss"]]
        got += [np.array(layer.value_dense.lora_kernel_a), np.array(layer.output_dense.lora_kernel_b)]
        if mode:  # whose files Keras does not read
            continue
        with tempfile.TemporaryDirectory() as folder:
            model.save(os.path.join(folder, "m.keras"))
            again = keras.models.load_model(os.path.join(folder, "m.keras"))
        got += [again.predict([q, v], verbose=0), [w.shape for w in again.weights]]
    return got


@program
def models_of_ones_own(tf, keras):
    layers = keras.layers

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.last = layers.Dense(6, name="first"), layers.Dense(3, name="last")

        def call(self, x):
            return self.last(keras.ops.tanh(self.first(x)))

    class Mine(layers.Dense):
        def call(self, x):
            return keras.ops.matmul(x, self.kernel) * 2.0

    m = Own()
    m(X)
    filled(m)
    m.first.enable_lora(2, b_initializer="ones", a_initializer="ones")
    m.compile("sgd", "mse")
    got = [m.fit(X, Y, epochs=2, verbose=0, shuffle=False).history["loss"], m.predict(X, verbose=0), shown(m)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "own.weights.h5")
        m.save_weights(path)
        again = Own()
        again(X)
        again.load_weights(path)
        got += [again.predict(X, verbose=0), shown(again)]
        m.load_weights(path)
        got += [m.predict(X, verbose=0), shown(m)]
    mine = Mine(3, name="mine")
    mine.build((None, 7))
    filled(mine)
    mine.enable_lora(2, b_initializer="ones", a_initializer="ones")
    store = {}
    mine.save_own_variables(store)
    return [*got, np.array(mine(X)), trained(keras, mine, X, 3)[1], sorted(store), np.array(store["0"])]
