"""Goldens of the layers that move windows: pooling in one and three dimensions and adaptive, convolutions of all kinds."""
import numpy as np

from cases_layers import simple
from cases_sequence import RIGHT, finish, normal
from record import Family, Net, kind

SPACE = {1: (7,), 2: (5, 6), 3: (4, 5, 3)}


def pooling_1d_3d():
    f = Family("pooling_1d_3d", seed="pool2")
    dense = ("Dense", {"units": 3})
    for n, space in SPACE.items():
        for name in ("Max", "Average"):
            default = {} if name == "Max" else {"pool_size": 2}
            options = {"": default, "_same": {**default, "padding": "same"},
                       "_3_by_2": {"pool_size": 3, "strides": 2}, "_3_by_2_same": {"pool_size": 3, "strides": 2, "padding": "same"}}
            if n == 2:
                options = {}
            for tag, attributes in options.items():
                simple(f, f"{name.lower()}_pooling{n}d{tag}", (*space, 2), [dense, (f"{name}Pooling{n}D", attributes)])
            if n == 3:
                simple(f, f"{name.lower()}_pooling3d_uneven", (*space, 2),
                       [dense, (f"{name}Pooling3D", {"pool_size": [1, 3, 2], "strides": [2, 1, 3], "padding": "same"})])
            sizes = {1: [3, 7], 2: [[2, 4], [5, 6]], 3: [[3, 2, 2], [2, 5, 3]]}[n]
            for size in sizes if name == "Max" else [1, *sizes]:  # Keras's maximum of a single part ends the process
                tag = "x".join(map(str, size)) if isinstance(size, list) else str(size)
                simple(f, f"adaptive_{name.lower()}_pooling{n}d_{tag}", (*space, 2),
                       [dense, (f"Adaptive{name}Pooling{n}D", {"output_size": size})])
            simple(f, f"adaptive_{name.lower()}_pooling{n}d_first", (2, *space),
                   [(f"Adaptive{name}Pooling{n}D", {"output_size": 2, "data_format": "channels_first"})])
            for tag, options in {"": {}, "_keepdims": {"keepdims": True}}.items():
                if n == 3:
                    simple(f, f"global_{name.lower()}_pooling3d{tag}", (*space, 2), [dense, (f"Global{name}Pooling3D", options)])
                simple(f, f"global_{name.lower()}_pooling{n}d_first{tag}", (2, *space),
                       [(f"Global{name}Pooling{n}D", {"data_format": "channels_first", **options})])
    net = Net()
    x, mask = net.input("x", (2, 5)), net.input("m", (5,), "bool")
    h = net.add("GlobalAveragePooling1D", x, data_format="channels_first", keepdims=True, arguments={"mask": mask})
    finish(f, "global_average_pooling1d_first_masked", net, h, [normal(f.rng("masked"), 3, 2, 5), RIGHT])
    return f


def windows():
    f = Family("windows")
    full = {"use_bias": False, "activation": "tanh"}
    for n, space in SPACE.items():
        small = {1: {"filters": 3, "kernel_size": 3}, 2: {"filters": 3, "kernel_size": [3, 2]},
                 3: {"filters": 3, "kernel_size": [2, 3, 2]}}[n]
        if n == 3:
            for tag, options in {"": {}, "_same": {"padding": "same"}, "_strides": {"strides": 2},
                                 "_strides_same": {"strides": [2, 1, 3], "padding": "same"},
                                 "_dilation": {"dilation_rate": [2, 2, 1], "kernel_size": 2},
                                 "_no_bias": full}.items():
                simple(f, f"conv3d{tag}", (*space, 2), [("Conv3D", {**small, **options})])
            simple(f, "conv3d_groups", (*space, 4), [("Conv3D", {**small, "filters": 6, "groups": 2})], loss=None)
            simple(f, "conv3d_steps", (*space, 2), [("Conv3D", {**small, "kernel_regularizer": kind("L2", l2=0.1),
                                                              "activity_regularizer": kind("L1", l1=0.1)})], steps=3)
        transposed = {"": {}, "_same": {"padding": "same"}, "_strides": {"strides": 2},
                      "_strides_same": {"strides": 2, "padding": "same"}, "_strides_wide": {"strides": 4},
                      "_output_padding": {"strides": 2, "output_padding": 1},
                      "_output_padding_0": {"strides": 3, "output_padding": 0, "kernel_size": 2},
                      "_output_padding_same": {"strides": 2, "output_padding": 1, "padding": "same", "kernel_size": 3},
                      "_output_padding_0_same": {"strides": 2, "output_padding": 0, "padding": "same", "kernel_size": 3},
                      "_full": {**full, "strides": 2}}
        if n == 3:
            for tag in ("_strides_wide", "_output_padding", "_output_padding_0", "_output_padding_0_same", "_strides", "_full"):
                transposed.pop(tag)
        few = {1: (4,), 2: (3, 2), 3: (2, 3, 2)}[n]
        for tag, options in transposed.items():
            simple(f, f"conv{n}d_transpose{tag}", (*few, 2), [(f"Conv{n}DTranspose", {**small, **options})])
        simple(f, f"conv{n}d_transpose_steps", (*few, 2),
               [(f"Conv{n}DTranspose", {**small, "bias_regularizer": kind("L2", l2=0.1)})], steps=3)
        if n < 3:
            small.pop("filters")
            deep = {"": {}, "_same": {"padding": "same"}, "_strides": {"strides": 2, "kernel_size": 3},
                    "_strides_same": {"strides": 2, "padding": "same", "kernel_size": 3},
                    "_dilation": {"dilation_rate": 2, "kernel_size": 2}, "_multiplier": {"depth_multiplier": 3},
                    "_strides_and_dilation": {"strides": 2, "dilation_rate": 2, "kernel_size": 2},
                    "_strides_and_dilation_same": {"strides": 2, "dilation_rate": 2, "kernel_size": 3, "padding": "same"},
                    "_full": {**full, "depth_multiplier": 2, "padding": "same"}}
            for tag, options in deep.items():
                simple(f, f"depthwise_conv{n}d{tag}", (*space, 3), [(f"DepthwiseConv{n}D", {**small, **options})])
                if tag not in ("_strides", "_strides_same", "_multiplier", "_dilation", "_strides_and_dilation_same"):
                    simple(f, f"separable_conv{n}d{tag}", (*space, 3), [(f"SeparableConv{n}D", {"filters": 4, **small, **options})])
            penalties = {"depthwise_regularizer": kind("L2", l2=0.1), "depthwise_constraint": kind("MaxNorm", max_value=0.7),
                         "bias_regularizer": kind("L1", l1=0.1), "activity_regularizer": kind("L2", l2=0.1)}
            simple(f, f"depthwise_conv{n}d_steps", (*space, 3), [(f"DepthwiseConv{n}D", {**small, **penalties})], steps=3)
            simple(f, f"separable_conv{n}d_steps", (*space, 3),
                   [(f"SeparableConv{n}D", {"filters": 4, **small, **penalties, "pointwise_regularizer": kind("L1", l1=0.1),
                                            "pointwise_constraint": kind("NonNeg")})], steps=3)
            for channels in (1, 17) if n == 1 else ():
                simple(f, f"depthwise_conv1d_{channels}_channels", (*space, channels),
                       [("DepthwiseConv1D", {"kernel_size": 3, "padding": "same"})], batch=1)
            simple(f, f"depthwise_conv{n}d_first", (3, *space),
                   [(f"DepthwiseConv{n}D", {**small, "data_format": "channels_first", "depth_multiplier": 2})])
            simple(f, f"separable_conv{n}d_first", (3, *space),
                   [(f"SeparableConv{n}D", {"filters": 4, **small, "data_format": "channels_first", "activation": "softmax"})])
    simple(f, "depthwise_conv2d_5x5", (6, 7, 5), [("DepthwiseConv2D", {"kernel_size": 5, "padding": "same"})], batch=1)
    return f


def spectrograms():
    f = Family("spectrograms")
    small = {"frame_length": 8}
    for tag, options in {"log": {}, "magnitude": {}, "psd": {}, "real": {}, "imag": {}, "stft": {},
                         "magnitude_same": {"padding": "same", "frame_step": 3},
                         "magnitude_fft_16": {"fft_length": 16, "window": "hamming", "scaling": "spectrum"},
                         "magnitude_odd_frame": {"frame_length": 7, "window": None, "scaling": None},
                         "psd_periodic": {"periodic": True, "expand_dims": True},
                         "stft_first": {"data_format": "channels_first"},
                         "log_first_expanded": {"data_format": "channels_first", "expand_dims": True}}.items():
        shape = (2, 19) if "first" in tag else (19, 2)
        simple(f, tag, shape, [("STFTSpectrogram", {**small, "mode": tag.split("_")[0], **options})])
    simple(f, "trained", (19, 1), [("STFTSpectrogram", {**small, "mode": "magnitude"})], steps=3)
    return f


FAMILIES = {"windows": windows, "pooling_1d_3d": pooling_1d_3d, "spectrograms": spectrograms}
