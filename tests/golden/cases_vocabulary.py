"""Goldens of SpectralNormalization, sounds, ConvLSTM3D, CTC, Muon."""
import numpy as np

from cases_optimizers import schedule
from cases_scan import ADAM
from cases_sequence import HOLES, finish, normal
from cases_wrappers import masked
from record import Family, Nested, Net, kind


def spectral():
    f = Family("spectral")

    def one(name, layer, shape, dtype="float32", mask=None, free=False, record=None, **attributes):
        net, rng = Net(), f.rng(name)
        x = net.input("x", (None, *shape[2:]) if free else shape[1:], dtype)
        value = normal(rng, *shape) if dtype == "float32" and "Embedding" not in layer["class_name"] else \
            rng.integers(0, 5, shape).astype(dtype)
        if mask is not None:
            x, value = net.add("Masking", x), masked(rng, mask, shape[-1])
        out = net.add("SpectralNormalization", x, layer=layer, **attributes)
        after = net.add("LSTM", out, units=2) if mask is not None else out
        finish(f, name, net, after, [value], **{"steps": 3, "optimizer": ADAM, **(record or {})})

    def dense(**config):
        return kind("Dense", **{"name": "dense", "units": 4, **config})

    one("dense", dense(), (3, 5))
    one("dense_sgd", dense(activation="tanh", use_bias=False), (3, 5), record={"optimizer": None})
    one("dense_iterations", dense(), (3, 5), power_iterations=4)
    one("dense_regularized", dense(kernel_regularizer=kind("L2", l2=0.1), bias_regularizer=kind("L1", l1=0.1),
                                   activity_regularizer=kind("L2", l2=0.1),
                                   kernel_constraint=kind("MaxNorm", max_value=0.4, axis=0)), (3, 5))
    one("dense_masked", dense(), (3, 5, 3), mask=HOLES)
    one("dense_accumulating", dense(), (3, 5),
        record={"optimizer": kind("SGD", learning_rate=0.1, gradient_accumulation_steps=2), "steps": 5})
    one("dense_average", dense(), (3, 5), record={"optimizer": kind("Adam", learning_rate=0.1, use_ema=True,
                                                                    ema_momentum=0.7, ema_overwrite_frequency=2)})
    one("einsum_dense", kind("EinsumDense", name="einsum", equation="abc,cde->abde", output_shape=[None, 2, 3],
                             bias_axes="e"), (2, 3, 4))
    one("conv1d", kind("Conv1D", name="conv", filters=3, kernel_size=2), (2, 5, 2), free=True)
    one("conv2d", kind("Conv2D", name="conv", filters=3, kernel_size=2, padding="same"), (2, 4, 4, 2))
    one("conv2d_groups", kind("Conv2D", name="conv", filters=4, kernel_size=2, groups=2), (2, 4, 4, 2))
    one("conv2d_transpose", kind("Conv2DTranspose", name="conv", filters=3, kernel_size=2, strides=2), (2, 3, 3, 2))
    one("depthwise", kind("DepthwiseConv2D", name="conv", kernel_size=2, depth_multiplier=2), (2, 3, 3, 2))
    one("embedding", kind("Embedding", name="embedding", input_dim=5, output_dim=3), (2, 4),
        record={"optimizer": None})
    one("embedding_of_integers", kind("Embedding", name="embedding", input_dim=5, output_dim=3), (2, 4), "int32",
        record={"loss": None})
    net, rng = Net(), f.rng("frozen_layer")
    h = net.add("SpectralNormalization", net.input("x", (5,)), layer=dense(trainable=False))
    finish(f, "frozen_layer", net, net.add("Dense", h, units=2), [normal(rng, 3, 5)], steps=2)
    net, rng = Net(), f.rng("shared")
    layer = net.layer("SpectralNormalization", layer=dense())
    finish(f, "shared", net, layer(layer(net.input("x", (4,)))), [normal(rng, 3, 4)], steps=3)
    one("steps", dense(), (2, 3, 4))
    net, rng = Net(), f.rng("at_every_step")
    inside = kind("SpectralNormalization", name="normalized",
                  layer=dense(activity_regularizer=kind("L2", l2=0.1)))
    out = net.add("TimeDistributed", net.input("x", (3, 2)), layer=inside)
    finish(f, "at_every_step", net, out, [normal(rng, 2, 3, 2)], steps=2)
    net = Net()
    nested = Nested(net, net.add("SpectralNormalization", net.input("x", (3,)), layer=dense()), "encoder")
    net, rng = Net(), f.rng("in_a_model")
    out = net.add("Dense", net.functional(nested)(net.input("x", (3,))), units=2)
    finish(f, "in_a_model", net, out, [normal(rng, 4, 3)], steps=2)
    net, rng = Net(), f.rng("zeros")
    out = net.add("SpectralNormalization", net.input("x", (3,)), layer=dense())
    finish(f, "zeros", net, out, [normal(rng, 4, 3)], steps=2,
           weights={"spectral_normalization/dense/kernel": np.zeros((3, 4), np.float32)})
    return f


def sounds():
    f = Family("sounds")
    bands = {"fft_length": 16, "sequence_stride": 5, "sampling_rate": 8000, "num_mel_bins": 4, "min_freq": 100.0}

    def mel(name, shape=(2, 40), free=False, atol=None, why=None, **options):
        net, rng = Net(), f.rng(name)
        out = net.add("MelSpectrogram", net.input("x", (None,) if free else shape[1:]), **{**bands, **options})
        finish(f, name, net, out, [normal(rng, *shape)], rtol=1e-5, atol=atol or 1e-6, why=why)

    # In decibels a difference of the last bit of a power of 1e-3 is one of 5e-7 * 40.
    db = {"atol": 4e-5, "why": "logarithms of float32 powers, whose last bit is 5e-7 dB of 40"}
    mel("plain", **db)
    mel("free", free=True, **db)
    mel("power", power_to_db=False)
    mel("energy", power_to_db=False, mag_exp=1.0)
    mel("short_window", power_to_db=False, sequence_length=9, window="hamming")
    mel("odd_transform", power_to_db=False, fft_length=15)
    mel("odd_transform_even_window", power_to_db=False, fft_length=15, sequence_length=10)
    mel("no_window", power_to_db=False, window=None, max_freq=2500.0)
    mel("decibels", top_db=20.0, min_power=1e-3, ref_power=0.2, mag_exp=1.5, **db)
    mel("one_frame", shape=(1, 9), power_to_db=False, sequence_stride=64)
    for tag, options in {"angle": {}, "angle_same": {"padding": "same", "frame_step": 3},
                         "angle_first": {"data_format": "channels_first", "expand_dims": True}}.items():
        net, rng = Net(), f.rng(tag)
        shape = (2, 19) if "first" in tag else (19, 2)
        out = net.add("STFTSpectrogram", net.input("x", shape), mode="angle", frame_length=8, scaling=None, window=None,
                      **options)
        finish(f, tag, net, out, [normal(rng, 2, *shape)], steps=2, rtol=1e-5, atol=2e-6, grad_rtol=1e-3,
               why="small spectra turn fast") if tag == "angle" else \
            finish(f, tag, net, out, [normal(rng, 2, *shape)], loss=None, atol=4e-6, why="small spectra turn fast")
    return f


def conv_lstm_3d():
    f = Family("conv_lstm_3d")

    def one(tag, mask=None, shape=(2, 3, 3, 4, 2), **attributes):
        net = Net()
        x, inputs = net.input("x", shape), [normal(f.rng(tag), 2, *shape)]
        arguments = {}
        if mask is not None:
            arguments["mask"] = net.input("m", shape[:1], "bool")
            inputs.append(mask)
        out = net.add("ConvLSTM3D", x, arguments=arguments, filters=2, **attributes)
        finish(f, tag, net, out, inputs, optimizer=ADAM, steps=2)

    one("plain", kernel_size=2)
    one("same_sequences", kernel_size=(1, 2, 3), padding="same", return_sequences=True)
    one("strides", kernel_size=2, strides=2, go_backwards=True, return_state=True)
    one("dilation", kernel_size=2, dilation_rate=2, use_bias=False, activation="relu", shape=(2, 3, 4, 3, 1))
    one("mask", mask=np.array([[1, 0], [0, 1]], bool), kernel_size=2, return_state=True, unit_forget_bias=False)
    return f


def ctc():
    f = Family("ctc")
    labels = np.array([[1, 2, 2, 0], [3, 0, 0, 0], [4, 4, 4, 1]], np.int32)

    def one(name, labels, steps=9, classes=5, dtype=np.int32, **record):
        net, rng = Net(), f.rng(name)
        batch = len(labels)
        out = net.add("Dense", net.input("x", (steps, 3)), units=classes)
        finish(f, name, net, out, [2 * normal(rng, batch, steps, 3)], target=[np.asarray(labels).astype(dtype)],
               **{"loss": kind("CTC"), "steps": 3, "optimizer": kind("SGD", learning_rate=0.1), **record})

    one("plain", labels)
    one("sum", labels, loss=kind("CTC", reduction="sum"))
    one("weighted", labels, sample_weight=[np.array([0.5, 2, 0], np.float32)])
    one("weighted_mean", labels, loss=kind("CTC", reduction="mean_with_sample_weight"),
        sample_weight=[np.array([0.5, 2, 1], np.float32)])
    one("floats", labels, dtype=np.float32)
    one("no_labels", np.zeros((2, 3)))
    one("one_step", [[2], [0]], steps=1)
    one("exactly_enough_steps", [[1, 1, 2, 3]], steps=5)
    # Without a path, the loss is what an end at another place costs.
    one("too_few_steps", labels, steps=3, grad_rtol=1e-3, why="float32 logarithms near -707, whose last bit is 6e-5")
    one("repeated_without_room", [[1, 1, 2, 3], [1, 2, 3, 4]], steps=4)
    one("blank_among_labels", [[2, 0, 3, 1], [0, 2, 1, 0]])
    one("two_classes", [[1, 1, 0], [1, 0, 0]], classes=2)
    one("long", f.rng("labels").integers(1, 6, (2, 12)), steps=40, classes=6)
    net, rng = Net(), f.rng("large_logits")
    out = net.add("Rescaling", net.input("x", (8, 4)), scale=30.0)
    finish(f, "large_logits", net, out, [normal(rng, 3, 8, 4)], loss=kind("CTC"),
           target=[np.array([[1, 2, 3], [3, 3, 0], [2, 0, 0]], np.int32)], atol=1e-4,
           why="float32 sums of logarithms to 500")
    return f


def muon():
    f = Family("muon")

    def one(name, outer=(), **config):
        net, rng = Net(), f.rng("small")
        h = net.add("Embedding", net.input("ids", (3,), "int32"), input_dim=9, output_dim=4, name="words")
        h = net.add("Conv1D", h, filters=5, kernel_size=2, activation="tanh", name="conv")
        h = net.add("Dense", net.add("Flatten", h), units=6, activation="tanh", name="hidden")
        out = net.add("Dense", h, units=3, activation="softmax", name="head")
        ids = np.array([[1, 7, 3], [4, 8, 0], [2, 5, 6]], np.int32)
        f.model(name, net, out, [ids], seed="small", loss=kind("SparseCategoricalCrossentropy"),
                target=np.array([0, 2, 1], np.int32), optimizer=kind("Muon", **config), steps=6, forward=False,
                input_grad=False, grads=False, grad_rtol=1e-3, grad_atol=2e-5,
                why="five products in float32 that raise small singular values some 480 fold", **dict(outer))

    one("plain", learning_rate=0.02)
    one("excluded", learning_rate=0.02, exclude_layers=["head"])
    one("anchors", learning_rate=0.02, exclude_layers=["^hid", "^words/embeddings$", "bel$"])
    one("embeddings_too", learning_rate=0.02, exclude_embeddings=False)
    one("options", learning_rate=0.05, nesterov=False, rms_rate=None, ns_steps=3, momentum=0.8, weight_decay=0.1,
        adam_weight_decay=0.2, adam_beta_1=0.7, adam_beta_2=0.9, epsilon=1e-3, adam_lr_ratio=0.3,
        muon_a=3.0, muon_b=-3.2, muon_c=1.2)
    one("no_decay", learning_rate=0.02, weight_decay=None, adam_weight_decay=None)
    one("excluded_from_decay", {"exclude_from_weight_decay": ["bias", "kernel"]}, learning_rate=0.02, weight_decay=0.3)
    one("shared_options", learning_rate=0.02, clipnorm=0.3, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3,
        gradient_accumulation_steps=2)
    one("schedule", learning_rate=schedule("ExponentialDecay", initial_learning_rate=0.1, decay_steps=3,
                                           decay_rate=0.7))
    return f


def corner_cases():
    """What is easily got wrong."""
    f = Family("corner_cases", seed="traps")
    norm = kind("BatchNormalization", name="norm", momentum=0.6)
    for tag, calls, mask in (("", 1, None), ("_shared", 2, None), ("_masked", 1, HOLES)):
        name = "statistics_by_step" + tag
        net, rng = Net(), f.rng(name)
        x = net.input("x", (5, 3))
        value = normal(rng, 3, 5, 3) if mask is None else masked(rng, mask, 3)
        h = x if mask is None else net.add("Masking", x)
        layer = net.layer("TimeDistributed", layer=norm)
        for _ in range(calls):
            h = layer(h)
        finish(f, name, net, h, [value], steps=3)
    for class_name in ("LSTM", "GRU", "SimpleRNN"):
        net, name = Net(), f"rate_1_drops_nothing_{class_name.lower()}"
        out = net.add(class_name, net.input("x", (4, 3)), units=2, dropout=1.0, recurrent_dropout=1.0)
        finish(f, name, net, out, [normal(f.rng(name), 3, 4, 3)], steps=2)
    for invert in (False, True):
        net, name = Net(), f"variance_0{'_inverted' if invert else ''}"
        out = net.add("Normalization", net.input("x", (3,)), mean=[0.5, 1.0, -2.0], variance=[4.0, 0.0, 1e-20],
                      invert=invert)
        finish(f, name, net, out, [1e-6 * normal(f.rng(name), 3, 3) + np.array([0.5, 1, -2], np.float32)], loss=None)
    return f


FAMILIES = {"spectral": spectral, "sounds": sounds, "conv_lstm_3d": conv_lstm_3d, "ctc": ctc, "muon": muon,
            "corner_cases": corner_cases}
