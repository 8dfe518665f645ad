"""Small programs of quantized layers and models. Each runs on Keras and on dl4, unchanged, with equal results.

A program takes `tf` and `keras` and gives numbers and words."""

import contextlib
import os
import tempfile
import warnings

import numpy as np

from programs import Programs

PROGRAMS = program = Programs()
R = np.random.RandomState(3)
X, Y = R.normal(size=(4, 7)).astype("float32"), R.normal(size=(4, 3)).astype("float32")
IDS, STEPS = R.randint(0, 6, (2, 3)).astype("int32"), R.normal(size=(2, 3, 7)).astype("float32")


def filled(thing, seed=0):
    r = np.random.RandomState(seed)
    thing.set_weights([r.normal(size=w.shape).astype("float32") * 0.5 for w in thing.weights])
    return thing


def quietly(f, *args, **kwargs):
    """What it warns of layers, or the error that it raises."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            f(*args, **kwargs)
        except Exception as e:
            return f"{type(e).__name__}: {e}"
    own = {"InputLayer", "Softmax", "Dropout"}  # which this library does not have as layers of a model
    said = [str(w.message) for w in found if "`quantize` method" in str(w.message)]
    return [words for words in said if words.split()[1] not in own]


def shown(thing):
    """Names, types and values of its weights."""
    names = [f"{w.name} {tuple(w.shape)} {w.dtype} {w.trainable}" for w in thing.weights]
    return [names, thing.count_params(), *(np.array(w) for w in thing.weights)]


def words_of(layer):
    config = layer.get_config()
    return [layer.dtype_policy.name, layer.quantization_mode, layer.dtype, str(config["dtype"]),
            str(config["quantization_config"])]


def kinds(keras):
    layers = keras.layers
    return {
        "dense": (lambda **k: layers.Dense(5, "relu", **k), X),
        "bias": (lambda **k: layers.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d", **k), STEPS),
        "heads": (lambda **k: layers.EinsumDense("abc,cde->abde", (None, 5, 4), **k), STEPS),
        "table": (lambda **k: layers.Embedding(6, 5, **k), IDS),
        "reversible": (lambda **k: layers.ReversibleEmbedding(6, 5, tie_weights=False, **k), IDS),
    }


def alone(keras, name, config, **kwargs):
    make, x = kinds(keras)[name]
    layer = make(name="layer", **kwargs)
    layer.build((None, *x.shape[1:]))
    filled(layer)
    quietly(layer.quantize, **config)
    y = np.array(layer(x))
    again = type(layer).from_config(layer.get_config())
    again.build((None, *x.shape[1:]))
    again.set_weights(layer.get_weights())
    kernel = layer.embeddings if hasattr(layer, "embeddings") else layer.kernel
    return [shown(layer), words_of(layer), y, np.array(again(x)), words_of(again), np.array(kernel),
            quietly(layer.quantize, "int8")]


def configs(keras):
    q = keras.quantizers
    return {
        "int8": {"mode": "int8"},
        "int4": {"mode": "int4"},
        "columns": {"config": q.Int4QuantizationConfig(block_size=None)},
        "blocks": {"config": q.Int4QuantizationConfig(block_size=2)},
        "weights_only": {"config": q.Int8QuantizationConfig(activation_quantizer=None)},
        "inputs": {"config": q.Int8QuantizationConfig(activation_quantizer=q.AbsMaxQuantizer(axis=-1, epsilon=1e-3))},
        "int4_inputs": {"config": q.Int4QuantizationConfig(None, q.AbsMaxQuantizer(axis=-1), None)},
    }


def _layers(name):
    def run(tf, keras):
        return [alone(keras, kind, configs(keras)[name]) for kind in kinds(keras)]

    run.__name__ = f"layers_{name}"
    return program(run)


for _name in ("int8", "int4", "columns", "blocks", "weights_only", "inputs", "int4_inputs"):
    _layers(_name)


@program
def layers_of_a_policy(tf, keras):
    got = []
    for dtype in ("int8_from_float32", "int4_from_float32", "int4/2_from_float32", "int4/-1_from_float32"):
        for make, x in kinds(keras).values():
            layer = make(dtype=dtype, name="layer")
            before = [layer.dtype_policy.name, layer.built, layer.quantization_mode]
            layer.build((None, *x.shape[1:]))
            rest = [w for w in layer.weights if w.name not in ("bias", "embeddings_zero", "reverse_embeddings_zero")]
            got += [before, words_of(layer), [np.array(w) for w in rest]]
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    layer.dtype_policy = "int8_from_float32"
    return [*got, layer.quantization_mode, layer.kernel.dtype]


@program
def ranges_of_weights(tf, keras):
    q = keras.quantizers
    got = []
    for name, axis in (("dense", 0), ("bias", 0), ("heads", 0), ("table", -1)):
        config = q.Int8QuantizationConfig(q.AbsMaxQuantizer(axis, (-100, 100)), None)
        got.append(alone(keras, name, {"config": config}))
        config = q.Int4QuantizationConfig(q.AbsMaxQuantizer(axis, (-8, 7), 1e-3), None, None)
        got.append(alone(keras, name, {"config": config}))
    return got


@program
def what_is_refused(tf, keras):
    layers, q = keras.layers, keras.quantizers

    class Mine(layers.Dense):
        pass

    got = [quietly(layers.Dense(2, name="d").quantize, "int8")]
    built = [layers.Dense(2, name="d"), layers.Conv1D(2, 2, name="c"), Mine(2, name="m")]
    for layer, shape in zip(built, ((None, 3), (None, 3, 3), (None, 3))):
        layer.build(shape)
    got += [quietly(built[0].quantize, mode) for mode in ("int7", "gptq", "awq", None)]
    got += [quietly(layer.quantize, "int8") for layer in built[1:]]
    quietly(built[2].quantize, "int8", type_check=False)
    got.append(built[2].quantization_mode)
    m = keras.Sequential([keras.Input((7,)), layers.Dense(2)], name="model")
    for given in (
        {"mode": "int7"}, {}, {"mode": "int4", "config": q.Int8QuantizationConfig()}, {"mode": "int8", "other": 1},
        {"mode": "int8", "filters": 3}, {"mode": "awq"},
    ):
        got.append(quietly(m.quantize, **given))
    return [*got, quietly(keras.Sequential([layers.Dense(2)], name="model").quantize, "int8")]


@program
def a_compiled_model_goes_on(tf, keras):
    layers = keras.layers
    got = []
    for optimizer in (keras.optimizers.Adam(0.01), keras.optimizers.SGD(0.1, momentum=0.9), "rmsprop"):
        m = keras.Sequential([keras.Input((7,)), layers.Dense(6, activation="tanh"), layers.Dense(3)])
        filled(m)
        m.compile(optimizer, "mse", metrics=["mae"])
        fit = {"epochs": 3, "verbose": 0, "shuffle": False}
        got += [m.fit(X, Y, **fit).history["loss"], m.predict(X, verbose=0)]
        got += [quietly(m.quantize, "int8"), m.predict(X, verbose=0), m.evaluate(X, Y, verbose=0)]
        got += [m.fit(X, Y, **fit).history["loss"], m.predict(X, verbose=0), int(m.optimizer.iterations), shown(m)]
    return got


@program
def models_of_ones_own(tf, keras):
    layers = keras.layers

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.last = layers.Dense(6, name="first"), layers.Dense(3, name="last")
            self.inside = keras.Sequential([keras.Input((6,)), layers.Dense(6, name="inside")])

        def call(self, x):
            return self.last(keras.ops.relu(self.inside(self.first(x))))

    m = Own()
    m(X)
    filled(m)
    m.compile("sgd", "mse")
    m.fit(X, Y, verbose=0)
    got = [quietly(m.quantize, "int8", filters="^(first|inside)$"), m.predict(X, verbose=0), np.array(m(X)), shown(m)]
    m.fit(X, Y, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        m.save_weights(os.path.join(folder, "own.weights.h5"))
        again = Own()
        again(X)
        quietly(again.quantize, "int8", filters=["inside", "irs"])
        again.load_weights(os.path.join(folder, "own.weights.h5"))
    return [*got, m.predict(X, verbose=0), again.predict(X, verbose=0), m.inside.predict(X[:, :6], verbose=0)]


@program
def layers_within_layers(tf, keras):
    layers = keras.layers

    @keras.saving.register_keras_serializable()
    class Around(layers.Layer):
        def __init__(self, dtype=None, name="around", **kwargs):
            super().__init__(dtype=dtype, name=name, **kwargs)
            self.dense = layers.Dense(4, dtype=dtype, name="inner")

        def build(self, shape):
            self.dense.build(shape)

        def call(self, x):
            return self.dense(x) * 2

        def get_config(self):
            config, policies = super().get_config(), keras.dtype_policies.DTypePolicyMap()
            if self.dense.quantization_mode is not None:
                policies[self.dense.path] = self.dense.dtype_policy
                config["dtype"] = policies
            return config

    x = keras.Input((7,))
    m = filled(keras.Model(x, layers.Dense(2, name="out")(Around()(x))))
    got = [quietly(m.quantize, "int8"), m.predict(X, verbose=0), shown(m)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        m.save(path)
        again = keras.models.load_model(path)
    return [*got, again.predict(X, verbose=0), shown(again)]


@program
def layers_in_several_models(tf, keras):
    layers = keras.layers
    shared = layers.Dense(5, name="shared")
    a, b, c = (keras.Input((7,)) for _ in range(3))
    first, second = keras.Model(a, layers.Dense(2)(shared(a))), keras.Model(b, keras.ops.tanh(shared(b)))
    third = keras.Model(c, layers.Dense(3, name="out")(first(c)))
    filled(third), filled(first)
    got = [quietly(first.quantize, "int4", filters="^shared$")]
    for m in (first, second, third):
        got += [m.predict(X, verbose=0), np.array(m(X)), shown(m)]
    got.append(quietly(third.quantize, "int8", filters=lambda layer: layer.name == "out"))
    return [*got, third.predict(X, verbose=0), first.predict(X, verbose=0)]


@program
def attention(tf, keras):
    layers = keras.layers
    x = keras.Input((5, 8))
    heads = layers.MultiHeadAttention(2, 4, name="heads")
    t = layers.LayerNormalization()(x + heads(x, x))
    m = filled(keras.Model(x, layers.Conv1D(3, 2)(layers.Dense(8)(t))))
    data = np.random.RandomState(1).normal(size=(2, 5, 8)).astype("float32")
    got = [quietly(m.quantize, "int8"), m.predict(data, verbose=0), heads.quantization_mode, shown(m)]
    return [*got, quietly(m.quantize, "int8")]


@program
def what_a_summary_says(tf, keras):
    m = keras.Sequential([keras.Input((7,)), keras.layers.Dense(6), keras.layers.Dense(2)], name="model")
    quietly(m.quantize, "int8")
    lines = []
    m.summary(print_fn=lambda text, **_: lines.append(text))
    return [line.strip() for line in "\n".join(lines).splitlines() if "params:" in line]


@program
def policies(tf, keras):
    p = keras.dtype_policies
    got = []
    for policy in (
        p.QuantizedDTypePolicy("int8", "float32"), p.Int4DTypePolicy("int4/64", "mixed_bfloat16"),
        p.GPTQDTypePolicy("gptq/3/-1", "float32"), p.AWQDTypePolicy("awq/4/32", "bfloat16"),
        p.QuantizedFloat8DTypePolicy("float8", "mixed_float16", 7), p.DTypePolicy("mixed_float16"),
        p.DTypePolicyMap("float32", {"a/.*": p.DTypePolicy("float16"), "b": p.QuantizedDTypePolicy("int8", "float32")}),
    ):
        again = p.deserialize(p.serialize(policy))
        got += [str(p.serialize(again)), str(p.serialize(policy)), policy.name, policy.compute_dtype]
        got += [policy.variable_dtype, policy.quantization_mode]
    for name in ("int8_from_float32", "int4/8_from_float32", "int4_from_float32", "awq/4/8_from_float32"):
        got.append(repr(p.get(name)))
    for make in (
        lambda: p.Int4DTypePolicy("int4/0", "float32"), lambda: p.Int4DTypePolicy("int4/x", "float32"),
        lambda: p.Int4DTypePolicy("int4", "float32"), lambda: p.GPTQDTypePolicy("gptq/5/8", "float32"),
        lambda: p.GPTQDTypePolicy("gptq/4", "float32"), lambda: p.GPTQDTypePolicy("gptq/a/8", "float32"),
        lambda: p.GPTQDTypePolicy("gptq/4/-2", "float32"), lambda: p.AWQDTypePolicy("awq/3/8", "float32"),
        lambda: p.AWQDTypePolicy("awq/4/0", "float32"), lambda: p.QuantizedDTypePolicy("int7", "float32"),
        lambda: p.QuantizedDTypePolicy("int8", "float16"), lambda: p.get("int8"), lambda: p.get("float31"),
        lambda: p.DTypePolicyMap(p.DTypePolicyMap()), lambda: p.DTypePolicyMap(None, 3), lambda: p.get(3),
    ):
        got.append(quietly(make))
    return got


class Characters:
    """A tokenizer."""

    def tokenize(self, text):
        return np.array([ord(c) % 11 for c in text])


def blocks(keras, heads):
    layers = keras.layers

    class Block(layers.Layer):
        def __init__(self, heads, name):
            super().__init__(name=name)
            self.heads = layers.MultiHeadAttention(2, 4, name=f"{name}_heads") if heads else None
            self.up = layers.Dense(12, activation="gelu", name=f"{name}_up")
            self.down = layers.EinsumDense("abc,cd->abd", (None, 8), bias_axes="d", name=f"{name}_down")

        def build(self, shape):
            if self.heads is not None:
                self.heads.build(shape, shape)
            self.up.build(shape)
            self.down.build((*shape[:-1], 12))

        def call(self, x):
            if self.heads is not None:
                x = x + self.heads(x, x)
            return x + self.down(self.up(x))

    x, table = keras.Input((6,), dtype="int32"), layers.Embedding(11, 8)
    parts = [Block(heads, "first"), Block(False, "second")]
    last = layers.Dense(3)
    model = keras.Model(x, last(parts[1](parts[0](table(x)))))
    inner = [layer for part in parts for layer in (part.heads, part.up, part.down) if layer is not None]
    for i, layer in enumerate([table, *inner, last]):
        filled(layer, i)
    # Signs change from row to row: of groups of one sign Keras's zero points are what a processor makes of bytes below 0.
    for w in (w for layer in inner for w in layer.weights if "kernel" in w.path):
        rows, columns = np.indices(w.shape[:2])
        signs = np.where((rows + columns) % 2, 1, -1).reshape(*w.shape[:2], *[1] * (len(w.shape) - 2))
        w.assign(np.abs(np.array(w)) * signs.astype("float32"))
    return model, inner, {"pre_block_layers": [table], "sequential_blocks": parts}


@contextlib.contextmanager
def measuring(keras):
    """While it lasts Keras 3.15.1 sees what layers are called on: its hooks stand in call(), which it does not call of
    layers whose policy quantizes. Without it all is rounded as if there were no data."""
    kinds = (keras.layers.Dense, keras.layers.EinsumDense) if keras.__name__ == "keras" else ()
    names = ("_gptq_call", "_awq_call")
    before = [(kind, name, getattr(kind, name)) for kind in kinds for name in names]
    for kind, name, call in before:

        def measured(self, x, *args, name=name, call=call, **kwargs):
            done = getattr(self, f"is{name[:-5]}_calibrated", False)
            return call(self, x, *args, **kwargs) if done else self.call(x)

        setattr(kind, name, measured)
    try:
        yield
    finally:
        for kind, name, call in before:
            setattr(kind, name, call)


def fitted(keras, model, inner, structure, config, **kwargs):
    """Weights and outputs of a model that was fitted to one text. Keras's windows begin at a place that each process
    draws: they are as long as the text here, so that all have the same tokens."""
    given = {"dataset": ["hello world, what is this"], "tokenizer": Characters(), "num_samples": 1}
    given.update(sequence_length=25, quantization_layer_structure=structure)
    config = config(**{**given, **kwargs})
    said = quietly(model.quantize, config.mode, config)
    got = [said if isinstance(said, str) else [], np.array(model(np.arange(12, dtype="int32").reshape(2, 6) % 11))]
    for layer in inner:
        for w in layer.weights:
            got += [f"{w.name} {w.dtype}", np.array(w)]
        got.append(layer.dtype_policy.name)
    return got


def fitted_blocks(keras, heads, *args, **kwargs):
    with measuring(keras):
        return fitted(keras, *blocks(keras, heads), *args, **kwargs)


@program
def fitted_by_gptq(tf, keras):
    config = keras.quantizers.GPTQConfig
    return [
        fitted_blocks(keras, True, config, group_size=4),
        fitted_blocks(keras, False, config, group_size=-1, weight_bits=8, symmetric=True, num_samples=3),
        fitted_blocks(keras, False, config, group_size=-1, weight_bits=3, activation_order=True, hessian_damping=0.05),
        fitted_blocks(keras, False, config, group_size=-1, weight_bits=2, per_channel=False),
    ]


@program
def fitted_by_awq(tf, keras):
    config = keras.quantizers.AWQConfig
    return [
        fitted_blocks(keras, True, config, group_size=4),
        fitted_blocks(keras, False, config, group_size=-1, num_grid_points=5),
    ]


@program
def fitted_to_nothing(tf, keras):
    """Where all inputs are 0, data says nothing: Keras's model.quantize() as it is."""
    got = []
    for config in (keras.quantizers.GPTQConfig, keras.quantizers.AWQConfig):
        model, inner, structure = blocks(keras, False)
        table = structure["pre_block_layers"][0]
        table.set_weights([np.zeros((11, 8), "float32")])
        for layer in inner:
            layer.bias.assign(np.zeros(layer.bias.shape, "float32"))
        got.append(fitted(keras, model, inner, structure, config, group_size=4))
    return got


@program
def many_rows(tf, keras):
    """GPTQ goes by 128 rows; groups within them are as Keras has them."""
    layers, got = keras.layers, []
    for size, group in ((150, 32), (150, 128), (100, 128)):
        x, table, up = keras.Input((6,), dtype="int32"), layers.Embedding(11, size), layers.Dense(3, name="up")
        part = keras.Sequential([keras.Input((None, size)), up])
        model = keras.Model(x, part(table(x)))
        filled(table, 1), filled(up, 2)
        structure = {"pre_block_layers": [table], "sequential_blocks": [part]}
        with measuring(keras):
            got.append(fitted(keras, model, [up], structure, keras.quantizers.GPTQConfig, group_size=group))
    return got
