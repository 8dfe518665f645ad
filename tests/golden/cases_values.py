"""Goldens of activations and initializers."""
import keras
import numpy as np

from cases_layers import MSE, simple
from record import Family, Net, kind

ELEMENTWISE = ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "swish", "mish", "softplus",
               "softsign", "sigmoid", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "hard_shrink",
               "soft_shrink", "tanh", "tanh_shrink", "squareplus", "sparse_plus", "sparse_sigmoid", "exponential",
               "linear", "log_sigmoid")
ROWS = ("softmax", "log_softmax", "sparsemax")
KINKS = np.array([-3, -1, -0.5, 0, 0.5, 1, 3, 6], np.float32)


def smooth_values(rng, shape):
    """Values that keep a distance from every point where some activation has no derivative."""
    x = rng.uniform(-7, 7, 4 * int(np.prod(shape))).astype(np.float32)
    x = x[np.abs(x[:, None] - KINKS).min(1) > 0.05]
    return x[:int(np.prod(shape))].reshape(shape)


def activations():
    f = Family("activations")
    extreme = np.array([[0.0, -0.0, 1e-8, -1e-8, 1e-4, -1e-4, 1e-20, -1e-20], [10, -10, 20, -20, 50, -50, 87, -87],
                        [100, -100, 1e4, -1e4, 1e10, -1e10, 3e38, -3e38], [-3, -1, -0.5, 0.5, 1, 3, 6, 2]], np.float32)
    inside = np.array([[0.0, -0.0, 1e-8, -1e-8, 1e-4, -1e-4, 1e-20, -1e-20], [10, -10, 20, -20, 50, -50, 87, -87],
                       [-3, -1, -0.5, 0.5, 1, 3, 6, 2]], np.float32)
    nonfinite = np.array([[np.nan, np.inf, -np.inf, 1, -1, 0]], np.float32)
    for name in ELEMENTWISE + ROWS:
        layer = [("Activation", {"activation": name})]
        x = smooth_values(f.rng(name), (4, 6)) * (0.2 if name == "sparsemax" else 1)
        simple(f, name, (6,), layer, x=x)
        bounded = inside if name in ("exponential", "squareplus") else extreme[[0, 1, 3]] if name in ROWS else extreme
        simple(f, f"{name}_extreme", (8,), layer, x=bounded, loss=None)
        if name in ("softmax", "log_softmax"):
            rows = np.full((3, 6), 0.5, np.float32)  # TensorFlow's softmax loses some NaN, so none here
            rows[0, 3], rows[1, :5] = -np.inf, -np.inf
            simple(f, f"{name}_nonfinite", (6,), layer, x=rows, loss=None)
        elif name != "sparsemax":
            result = getattr(keras.activations, name)(keras.ops.convert_to_tensor(nonfinite)).numpy()
            sound = np.isnan(nonfinite) == np.isnan(result)
            simple(f, f"{name}_nonfinite", (int(sound.sum()),), layer, x=nonfinite[sound][None], loss=None,
                   note=None if sound.all() else "without the values where Keras loses a NaN or makes one of infinity")
        simple(f, f"{name}_in_dense", (5,), [("Dense", {"units": 4, "activation": name}), ("Dense", {"units": 2})],
               batch=3)
    simple(f, "softmax_rank_3", (3, 5), [("Dense", {"units": 5}), ("Activation", {"activation": "softmax"})])
    simple(f, "softmax_one_element", (1,), [("Activation", {"activation": "softmax"})], loss=None)
    simple(f, "softmax_large", (4,), [("Activation", {"activation": "softmax"})], loss=None,
           x=np.array([[1e4, 1e4, -1e4, 0], [3e38, 0, 0, 0], [-3e38, -3e38, -3e38, -3e38]], np.float32))
    simple(f, "glu", (8,), [("Activation", {"activation": "glu"})], x=smooth_values(f.rng("glu"), (3, 8)), loss=None,
           why="Keras declares the output as wide as the input; the values have half the width")
    for axis in (-1, 1, 2, [1], [1, 2], [-1, -2]):
        tag = str(axis).strip("[]").replace(", ", "_").replace("-", "m")
        simple(f, f"softmax_layer_axis_{'list_' if isinstance(axis, list) else ''}{tag}", (3, 4),
               [("Dense", {"units": 4}), ("Softmax", {"axis": axis})])
    for name, mask in {
            "softmax_layer_mask": np.array([[[1, 1, 0, 1], [0, 1, 1, 1]], [[1, 0, 0, 0], [1, 1, 1, 1]]], bool),
            "softmax_layer_mask_row_all_masked": np.array([[[1, 1, 0, 1], [0, 0, 0, 0]],
                                                           [[1, 0, 0, 0], [1, 1, 1, 1]]], bool),
            "softmax_layer_mask_broadcast": np.array([[[1, 1, 0, 1]], [[0, 0, 1, 1]]], bool)}.items():
        net, rng = Net(), f.rng(name)
        x, m = net.input("x", (2, 4)), net.input("m", mask.shape[1:], "bool")
        out = net.add("Flatten", net.add("Softmax", net.add("Dense", x, units=4), arguments={"mask": m}))
        f.model(name, net, out, [rng.normal(0, 1, (2, 2, 4)).astype(np.float32), mask], loss=MSE,
                target=rng.normal(0, 1, (2, 8)).astype(np.float32),
                note="a masked position is exactly 0, also in a row that is masked as a whole; Flatten drops the mask")
    net, rng = Net(), f.rng("axes")
    x, m = net.input("x", (2, 4)), net.input("m", (2, 4), "bool")
    out = net.add("Flatten", net.add("Softmax", net.add("Dense", x, units=4), arguments={"mask": m}, axis=[1, 2]))
    f.model("softmax_layer_mask_axes", net, out, [rng.normal(0, 1, (2, 2, 4)).astype(np.float32),
                                                  rng.uniform(0, 1, (2, 2, 4)) < 0.6], loss=MSE,
            target=rng.normal(0, 1, (2, 8)).astype(np.float32))
    # Functions with arguments, as numbers for the kernels' own tests: no layer of ours carries these arguments.
    x = smooth_values(f.rng("arguments"), (3, 6))
    for name, function, arguments in (
            ("gelu_tanh", "gelu", {"approximate": True}), ("leaky_relu_03", "leaky_relu", {"negative_slope": 0.3}),
            ("relu_arguments", "relu", {"negative_slope": 0.1, "max_value": 4.0, "threshold": 0.5}),
            ("elu_alpha", "elu", {"alpha": 0.5}), ("celu_alpha", "celu", {"alpha": 0.7}),
            ("squareplus_b", "squareplus", {"b": 2}), ("hard_shrink_1", "hard_shrink", {"threshold": 1.0}),
            ("soft_shrink_1", "soft_shrink", {"threshold": 1.0}), ("softmax_axis_0", "softmax", {"axis": 0}),
            ("log_softmax_axis_0", "log_softmax", {"axis": 0}), ("sparsemax_axis_0", "sparsemax", {"axis": 0}),
            ("glu_axis_1", "glu", {"axis": 1}), ("threshold", "threshold", {"threshold": 0.3, "default_value": -2.0})):
        f.note(name, function=function, arguments=arguments)
        f.put(name, "input", "x", x)
        f.put(name, "output", "0", keras.ops.convert_to_numpy(
            getattr(keras.activations, function)(keras.ops.convert_to_tensor(x), **arguments)))
    return f


def initializers():
    f = Family("initializers")
    exact = {
        "zeros": (kind("Zeros"), (2, 3)), "ones": (kind("Ones"), (2, 3)), "constant": (kind("Constant", value=0.5), (4,)),
        "constant_zero": (kind("Constant", value=0.0), (2,)), "identity": (kind("Identity"), (3, 3)),
        "identity_gain": (kind("Identity", gain=2.5), (4, 4)), "identity_wide": (kind("Identity"), (2, 4)),
        "identity_tall": (kind("Identity", gain=-1.0), (4, 3))}
    for side in ("real", "imag"):
        for tag, more in {"": {}, "_none": {"window": None}, "_hamming": {"window": "hamming"},
                          "_density": {"scaling": "density"}, "_spectrum": {"scaling": "spectrum"},
                          "_periodic": {"periodic": True}}.items():
            exact[f"stft_{side}{tag}"] = (kind("STFT", **{"side": side, "window": "hann", **more}), (8, 1, 5))
    for name, (initializer, shape) in exact.items():
        value = keras.initializers.get(initializer)(shape)
        f.note(name, initializer=initializer, shape=list(shape), **(
            {"atol": 1e-5, "why": "sines of float32 angles"} if name.startswith("stft") else {}))
        f.put(name, "weight", "value", value.numpy())

    def fans(shape):
        field = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
        return (shape[0], shape[0]) if len(shape) == 1 else (shape[-2] * field, shape[-1] * field)

    shapes = {"matrix": (30, 50), "conv": (3, 3, 20, 12), "vector": (900,)}
    scaled = {"GlorotUniform": (1, "fan_avg", "uniform"), "GlorotNormal": (1, "fan_avg", "truncated_normal"),
              "HeUniform": (2, "fan_in", "uniform"), "HeNormal": (2, "fan_in", "truncated_normal"),
              "LecunUniform": (1, "fan_in", "uniform"), "LecunNormal": (1, "fan_in", "truncated_normal")}
    given = [(k, kind(k), v) for k, v in scaled.items()]
    for mode in ("fan_in", "fan_out", "fan_avg"):
        for distribution in ("uniform", "truncated_normal", "untruncated_normal"):
            given.append((f"VarianceScaling_{mode}_{distribution}",
                          kind("VarianceScaling", scale=1.7, mode=mode, distribution=distribution),
                          (1.7, mode, distribution)))
    for tag, initializer, (scale, mode, distribution) in given:
        for what, shape in shapes.items():
            fan_in, fan_out = fans(shape)
            fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
            variance = scale / max(1.0, fan)
            promise(f, f"{keras.src.utils.naming.to_snake_case(tag)}_{what}", initializer, shape, distribution,
                    float(np.sqrt(variance)))
    promise(f, "random_normal", kind("RandomNormal", mean=1.0, stddev=0.2), (40, 50), "untruncated_normal", 0.2, 1.0)
    promise(f, "random_normal_default", kind("RandomNormal"), (40, 50), "untruncated_normal", 0.05)
    promise(f, "random_uniform", kind("RandomUniform", minval=-1.0, maxval=3.0), (40, 50), "uniform",
            4 / np.sqrt(12), 1.0)
    promise(f, "random_uniform_default", kind("RandomUniform"), (40, 50), "uniform", 0.1 / np.sqrt(12))
    promise(f, "truncated_normal", kind("TruncatedNormal", mean=1.0, stddev=0.2), (40, 50), "cut_normal", 0.2, 1.0)
    promise(f, "truncated_normal_default", kind("TruncatedNormal"), (40, 50), "cut_normal", 0.05)
    for name, gain, shape in (("square", 1.0, (8, 8)), ("wide", 1.0, (6, 24)), ("tall", 2.0, (24, 6)),
                              ("conv", 1.0, (3, 3, 4, 8))):
        value = keras.initializers.Orthogonal(gain=gain, seed=1)(shape).numpy().reshape(-1, shape[-1])
        product = value.T @ value if value.shape[0] >= value.shape[1] else value @ value.T
        assert np.allclose(product, gain * gain * np.eye(len(product)), atol=1e-5)
        f.note(f"orthogonal_{name}", initializer=kind("Orthogonal", gain=gain), shape=list(shape),
               property="the [prod(shape[:-1]), shape[-1]] matrix has orthogonal rows or columns of length gain")
    return f


def promise(f, name, initializer, shape, distribution, deviation, mean=0.0):
    """Records what must hold whatever the random numbers, after seeing Keras keep it."""
    sample = keras.initializers.get({**initializer, "config": {**initializer["config"], "seed": 1}})(shape).numpy()
    if distribution == "uniform":
        limits = [mean - deviation * np.sqrt(3), mean + deviation * np.sqrt(3)]
    elif distribution == "truncated_normal":
        limits = [mean - 2 * deviation / 0.87962566103423978, mean + 2 * deviation / 0.87962566103423978]
    elif distribution == "cut_normal":
        limits, deviation = [mean - 2 * deviation, mean + 2 * deviation], deviation * 0.87962566103423978
    else:
        limits = None
    assert abs(sample.mean() - mean) < 5 * deviation / np.sqrt(sample.size), name
    assert abs(sample.std() / deviation - 1) < 0.08, (name, sample.std(), deviation)
    if limits:
        edge = 1e-6 * max(abs(limits[0]), abs(limits[1]))
        assert limits[0] - edge <= sample.min() and sample.max() <= limits[1] + edge, name
    f.note(name, initializer=initializer, shape=list(shape), mean=float(mean), stddev=float(deviation),
           limits=limits and [float(v) for v in limits])


FAMILIES = {"activations": activations, "initializers": initializers}
