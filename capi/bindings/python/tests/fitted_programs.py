"""Small programs of layers that GPTQ and AWQ fit by themselves, and of functions and configs of keras.quantizers. Each
runs on Keras and on dl4, unchanged, with equal results.

A program takes `tf` and `keras` and gives numbers and words."""

import importlib

import numpy as np

from programs import Programs, raised
from quantized_programs import filled, fitted, kinds, measuring, quietly, shown, words_of, X

PROGRAMS = program = Programs()


def signed(kernel_of):
    """Signs change from row to row: of groups of one sign Keras's zero points are what a processor makes of bytes below
    0."""
    kernel = np.abs(np.array(kernel_of))
    signs = np.where(np.indices(kernel.shape[:2]).sum(0) % 2, 1, -1).reshape(*kernel.shape[:2], *[1] * (kernel.ndim - 2))
    kernel_of.assign((kernel * signs).astype("float32"))


def configs(keras):
    gptq, awq = keras.quantizers.GPTQConfig, keras.quantizers.AWQConfig
    return [
        gptq(None, None, group_size=4),
        gptq(None, None, group_size=-1, weight_bits=8, symmetric=True),
        gptq(None, None, group_size=-1, weight_bits=3, activation_order=True, hessian_damping=0.05),
        awq(None, None, group_size=4),
        awq(None, None, group_size=-1, num_grid_points=5),
    ]


def told(keras, kind, config):
    """A layer that quantize() was told of a config, and what it is called on."""
    make, x = kinds(keras)[kind]
    layer = make(name="layer")
    layer.build((None, *x.shape[1:]))
    filled(layer)
    signed(layer.kernel)
    quietly(layer.quantize, config=config)
    return layer, x


def state(layer, mode, x):
    return [shown(layer), words_of(layer), getattr(layer, f"is_{mode}_calibrated"), np.array(layer.kernel),
            np.array(layer.quantized_kernel), np.array(layer.kernel_zero), np.array(layer.g_idx), np.array(layer(x)),
            str(layer.get_config().get("gptq_unpacked_column_size"))]


def fit_of(keras, layer, config):
    """GPTQ or AWQ with the words of Keras's inner classes: (object, what it is shown inputs by, what fits)."""
    module = importlib.import_module(f"{keras.__name__}.src.quantizers.{config.mode}")
    fit = getattr(module, config.mode.upper())(layer, config)
    if config.mode == "gptq":
        return fit, fit.update_hessian_with_batch, fit.quantize_and_correct_layer
    return fit, fit.update_activation_magnitudes, fit.quantize_layer


def _layers(kind):
    def run(tf, keras):
        got = []
        for config in configs(keras):
            layer, x = told(keras, kind, config)
            got += [state(layer, config.mode, x), quietly(layer.quantize, "int8")]
            fit, see, end = fit_of(keras, layer, config)
            see(x[:1])
            see(x[1:])
            got += [fit.rows, fit.columns, fit.num_samples]
            end()
            got += [state(layer, config.mode, x), quietly(layer.quantize, "int8")]
            fit.free()
        return got

    run.__name__ = f"fitted_{kind}"
    return program(run)


for _kind in ("dense", "bias", "heads"):
    _layers(_kind)


@program
def said_to_be_calibrated(tf, keras):
    """Variables of the user's own."""
    got = []
    for config in configs(keras):
        layer, x = told(keras, "dense", config)
        r = np.random.RandomState(1)
        for key, dtype in (("quantized_kernel", "uint8"), ("kernel_zero", "uint8"), ("kernel_scale", "float32")):
            w = getattr(layer, key)
            w.assign((r.uniform(size=w.shape) * (7 if dtype == "uint8" else 1)).astype(dtype))
        setattr(layer, f"is_{config.mode}_calibrated", True)
        got += [np.array(layer(x)), getattr(layer, f"is_{config.mode}_calibrated"), np.array(layer.kernel)]
        again = type(layer).from_config(layer.get_config())
        got += [again.quantization_mode, again.dtype_policy.name]
    return got


@program
def what_is_refused_of_layers(tf, keras):
    gptq, awq = keras.quantizers.GPTQConfig(None, None), keras.quantizers.AWQConfig(None, None)
    got = []
    for config in (gptq, awq):
        table = keras.layers.Embedding(3, 2, name="table")
        table.build()
        got += [quietly(table.quantize, config=config), table.quantization_mode]
        layer, _ = told(keras, "dense", config)
        got.append(quietly(layer.quantize, config=config))
        fit, see, _ = fit_of(keras, layer, config)
        got += [raised(lambda: see(None)), raised(lambda: see(np.zeros((0, 7), "float32")))]
    layer, _ = told(keras, "dense", gptq)
    got += [raised(lambda: layer.enable_lora(2)), raised(lambda: fit_of(keras, layer, gptq)[1](X[:, :3]))]
    return [*got, quietly(keras.layers.Dense(2, name="layer").quantize, config=gptq)]


@program
def a_model_goes_on(tf, keras):
    """With layers that are told of GPTQ it computes and trains as before."""
    layers = keras.layers
    model = keras.Sequential([keras.Input((7,)), layers.Dense(5, "tanh", name="a"), layers.Dense(2, name="b")])
    filled(model)
    got = [model.predict(X, verbose=0)]
    config = keras.quantizers.GPTQConfig(None, None, group_size=4)
    model.layers[-2].quantize(config=config)
    model.compile("sgd", "mse")
    got += [model.predict(X, verbose=0), model.fit(X, X[:, :2], epochs=2, verbose=0, shuffle=False).history["loss"]]
    return [*got, np.array(model(X)), shown(model), model.count_params(), quietly(model.quantize, "int8")]


@program
def gates_are_quantized_too(tf, keras):
    got = []
    x = np.random.RandomState(1).normal(size=(2, 5, 8)).astype("float32")
    for make in (
        lambda: keras.layers.MultiHeadAttention(2, 4, use_gate=True, name="heads"),
        lambda: keras.layers.GroupQueryAttention(3, 4, 2, use_gate=True, use_bias=False, name="heads"),
    ):
        i = keras.Input((5, 8))
        heads = make()
        model = filled(keras.Model(i, heads(i, i)))
        quietly(model.quantize, "int4", filters=lambda layer: isinstance(layer, keras.layers.EinsumDense))
        got += [model.predict(x, verbose=0), sorted(str(w.dtype) for w in model.weights)]
    return got


@program
def gates_are_fitted(tf, keras):
    got = []
    for config in (keras.quantizers.GPTQConfig, keras.quantizers.AWQConfig):
        x, table = keras.Input((6,), dtype="int32"), keras.layers.Embedding(11, 8)
        heads = keras.layers.MultiHeadAttention(2, 4, use_gate=True, name="heads")

        class Block(keras.layers.Layer):
            def __init__(self, heads):
                super().__init__(name="block")
                self.heads = heads

            def build(self, shape):
                self.heads.build(shape, shape)

            def call(self, x):
                return x + self.heads(x, x)

        block = Block(heads)
        model = keras.Model(x, block(table(x)))
        filled(table, 1), filled(heads, 2)
        for w in heads.weights:
            if "kernel" in w.path:
                signed(w)
        structure = {"pre_block_layers": [table], "sequential_blocks": [block]}
        with measuring(keras):
            got.append(fitted(keras, model, [heads], structure, config, group_size=4)[:2])
    return got


@program
def arrays_of_other_types(tf, keras):
    q, got = keras.quantizers, []
    for given in (np.arange(6).reshape(2, 3), X):
        got += [q.abs_max_quantize(given, 0, to_numpy=True), q.abs_max_quantize(given, -1)]
    for bits in (2, 16):
        got.append(q.fake_quant_with_min_max_vars(X, -1.0, 2.0, num_bits=bits))
    return got


@program
def configs_of_calibration(tf, keras):
    return [str(config.get_config()) for config in configs(keras)]
