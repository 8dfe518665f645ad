"""Goldens of padding, cropping, upsampling, Dot, EinsumDense, ReversibleEmbedding and of keras.ops as layers."""
import numpy as np

from cases_layers import simple
from cases_sequence import finish, normal
from record import Family, Net, kind

SPACE = {1: (5,), 2: (4, 5), 3: (3, 4, 2)}


def padding_products():
    f = Family("padding_products", seed="shapes2")
    dense = ("Dense", {"units": 3})
    paddings = {1: {"": {}, "_one": {"padding": 2}, "_pair": {"padding": [0, 3]}},
                2: {"": {}, "_one": {"padding": 2}, "_each": {"padding": [1, 2]}, "_pairs": {"padding": [[0, 1], [2, 0]]}},
                3: {"_pairs": {"padding": [[0, 1], [2, 0], [1, 1]]}}}
    croppings = {1: {"": {}, "_one": {"cropping": 2}, "_pair": {"cropping": [0, 3]}, "_none": {"cropping": 0}},
                 2: {"": {}, "_one": {"cropping": 1}, "_each": {"cropping": [1, 2]},
                     "_pairs": {"cropping": [[0, 1], [2, 0]]}},
                 3: {"_pairs": {"cropping": [[0, 1], [2, 0], [1, 0]]}}}
    for n, space in SPACE.items():
        for tag, options in paddings[n].items():
            simple(f, f"zero_padding{n}d{tag}", (*space, 2), [dense, (f"ZeroPadding{n}D", options)])
        simple(f, f"zero_padding{n}d_first", (2, *space), [(f"ZeroPadding{n}D", {"data_format": "channels_first"}), dense])
        for tag, options in croppings[n].items():
            simple(f, f"cropping{n}d{tag}", (*space, 2), [dense, (f"Cropping{n}D", options)])
        if n > 1:
            simple(f, f"cropping{n}d_first", (2, *space),
                   [(f"Cropping{n}D", {"data_format": "channels_first", "cropping": [[1, 0]] * n}), dense])
    simple(f, "cropping3d", (3, 4, 5, 2), [dense, ("Cropping3D", {})])
    simple(f, "up_sampling1d", (3, 2), [dense, ("UpSampling1D", {})])
    simple(f, "up_sampling1d_3", (3, 2), [dense, ("UpSampling1D", {"size": 3})])
    for tag, options in {"": {}, "_3x2": {"size": [3, 2]}, "_bilinear": {"interpolation": "bilinear"},
                         "_bilinear_3x1": {"interpolation": "bilinear", "size": [3, 1]}}.items():
        simple(f, f"up_sampling2d{tag}", (3, 2, 2), [dense, ("UpSampling2D", options)])
        if "bilinear_3" in tag:
            simple(f, f"up_sampling2d{tag}_first", (2, 3, 2), [("UpSampling2D", {"data_format": "channels_first", **options})])
    simple(f, "up_sampling2d_bilinear_ramp", (3, 1, 1), [("UpSampling2D", {"interpolation": "bilinear", "size": [2, 1]})],
           batch=1, x=np.arange(3, dtype=np.float32).reshape(1, 3, 1, 1))
    simple(f, "up_sampling2d_bilinear_one_pixel", (1, 1, 2), [("UpSampling2D", {"interpolation": "bilinear", "size": 3})])
    simple(f, "up_sampling3d", (2, 3, 2, 2), [dense, ("UpSampling3D", {"size": [1, 2, 3]})])
    simple(f, "up_sampling3d_first", (2, 2, 3, 2), [("UpSampling3D", {"data_format": "channels_first"}), dense])
    simple(f, "repeat_vector", (4,), [dense, ("RepeatVector", {"n": 5})])
    simple(f, "identity", (2, 3), [dense, ("Identity", {})])
    simple(f, "rescaling", (2, 3), [("Rescaling", {"scale": 0.5, "offset": -1.5}), dense])
    simple(f, "rescaling_default_offset", (2, 3), [("Rescaling", {"scale": 1 / 255}), dense])
    simple(f, "rescaling_each", (2, 3), [dense, ("Rescaling", {"scale": [0.5, 2.0, -1.0], "offset": [0.0, 1.0, 2.0]})])
    net = Net()
    finish(f, "rescaling_bytes", net, net.add("Rescaling", net.input("x", (2, 3), "uint8"), scale=1 / 255), loss=None,
           inputs=[f.rng("bytes").integers(0, 256, (2, 2, 3)).astype(np.uint8)])
    simple(f, "flatten_first", (2, 3, 4), [("Flatten", {"data_format": "channels_first"}), dense])
    simple(f, "flatten_first_1d", (3, 4), [("Flatten", {"data_format": "channels_first"}), dense])

    for name, a, b, options in (
            ("plain", (4,), (4,), {"axes": 1}), ("cosine", (4,), (4,), {"axes": 1, "normalize": True}),
            ("negative", (3, 4), (5, 4), {"axes": -1}), ("pair", (3, 4), (4, 5), {"axes": [2, 1]}),
            ("first", (4, 3), (4, 5), {"axes": 1}), ("cosine_pair", (3, 4), (4, 5), {"axes": [2, 1], "normalize": True}),
            ("vector_matrix", (4,), (4, 3), {"axes": [1, 1]}), ("vector_matrix_last", (4,), (3, 4), {"axes": [1, 2]}),
            ("matrix_vector", (3, 4), (4,), {"axes": [2, 1]}), ("rank_4", (2, 3, 4), (4, 2, 3), {"axes": [3, 1]}),
            ("rank_4_middle", (2, 4, 3), (2, 4), {"axes": [2, 2]}), ("rank_3_4", (4, 3), (2, 4, 3), {"axes": [-2, -2]})):
        net = Net()
        x, y = net.add("Dense", net.input("a", a), units=a[-1]), net.input("b", b)
        finish(f, f"dot_{name}", net, net.add("Dot", x, y, **options),
               [normal(f.rng(name + "a"), 2, *a), normal(f.rng(name + "b"), 2, *b)])

    def einsum(name, shape, equation, output_shape, **options):
        simple(f, f"einsum_{name}", shape, [("EinsumDense", {"equation": equation, "output_shape": output_shape, **options})])

    einsum("dense", (3,), "ab,bc->ac", 4)
    einsum("bias", (3,), "ab,bc->ac", 4, bias_axes="c", activation="tanh")
    einsum("sequence", (5, 3), "abc,cd->abd", [None, 4], bias_axes="d", activation="relu")
    einsum("bias_over_time", (5, 3), "abc,cd->abd", [5, 4], bias_axes="bd")
    einsum("bias_first_only", (5, 3), "abc,cd->abd", [5, 4], bias_axes="b")
    einsum("ellipsis_left", (5, 3), "...x,xy->...y", 4, bias_axes="y")
    einsum("ellipsis_left_rank_4", (2, 5, 3), "...x,xy->...y", 4, bias_axes="y")
    einsum("ellipsis_right", (3, 2), "ab...,bc->ac...", 4)
    einsum("ellipsis_right_bias", (3, 2, 5), "ab...,bc->ac...", 4, bias_axes="c")
    einsum("heads", (5, 4), "abc,cde->abde", [None, 2, 3], bias_axes="de")
    einsum("heads_joined", (5, 2, 3), "abcd,cde->abe", [None, 4], bias_axes="e")
    einsum("each_head", (2, 3), "abc,bcd->abd", [2, 4], bias_axes="bd")
    einsum("each_head_many_rows", (5, 2, 3), "axbc,bcd->axbd", [5, 2, 4])
    einsum("each_head_many_axes", (2, 5, 2, 3), "axybc,bcd->axybd", [2, 5, 2, 4], bias_axes="d")
    einsum("transposed", (5, 3), "abc,dc->adb", [4, 5])
    einsum("summed", (5, 3), "abc,cd->ad", 4)
    einsum("no_sums", (3,), "ab,cd->abcd", [3, 2, 4])
    einsum("scaling", (5, 3), "abc,c->abc", [5, 3])
    einsum("regularized", (3,), "ab,bc->ac", 4, bias_axes="c", kernel_regularizer=kind("L2", l2=0.1),
           bias_regularizer=kind("L1", l1=0.1), activity_regularizer=kind("L2", l2=0.1),
           kernel_constraint=kind("MaxNorm", max_value=0.7))
    net = Net()
    h = net.add("EinsumDense", net.input("x", (None, 3)), equation="abc,cd->abd", output_shape=[None, 4], bias_axes="d")
    finish(f, "einsum_free_time", net, h, [normal(f.rng("free"), 2, 5, 3)], steps=2)

    for tag, options in {"": {}, "_untied": {"tie_weights": False}, "_soft_cap": {"logit_soft_cap": 1.5},
                         "_untied_soft_cap": {"tie_weights": False, "logit_soft_cap": 0.5, "reverse_dtype": None},
                         "_masked": {"mask_zero": True}}.items():
        net = Net()
        layer = net.layer("ReversibleEmbedding", input_dim=7, output_dim=3, **options)
        h = layer(net.input("ids", (4,), "int32"))
        h = net.add("Dense", h, units=3, activation="tanh")
        ids = np.array([[1, 0, 6, 3], [5, 2, 4, 0]], np.int32)
        finish(f, f"reversible_embedding{tag}", net, layer(h, reverse=True), [ids])
    return f


def positive(rng, *shape):
    return rng.uniform(0.3, 2, shape).astype(np.float32)


def ops():
    f = Family("ops")
    for name in ("Absolute", "Negative", "Sign", "Square", "Exp", "Tanh"):
        simple(f, name.lower(), (3, 4), [(name, {})])
    for name in ("Sqrt", "Rsqrt", "Reciprocal", "Log", "Log1p", "Log2", "Log10"):
        simple(f, name.lower(), (3, 4), [(name, {})], x=positive(f.rng(name), 2, 3, 4))
    for name in ("Expm1", "Sin", "Cos", "Tan", "Erf"):
        simple(f, name.lower(), (3, 4), [(name, {})])
    halves = np.array([[-2.5, -1.5, -0.5, -0.2], [0.5, 1.5, 2.5, 7]], np.float32)
    for name in ("Floor", "Ceil", "Round"):
        simple(f, name.lower(), (4,), [(name, {})], loss=None, x=halves)
    for axis in (1, -1):
        simple(f, f"arange_{axis}", (3, 4), [("Arange", {"axis": axis})], loss=None)
    ends = np.array([[np.inf, -np.inf, np.nan, 0, 3e38]], np.float32)
    for name in ("Isinf", "Isfinite"):
        simple(f, name.lower(), (5,), [(name, {})], loss=None, x=ends)
    simple(f, "clip", (3, 4), [("Clip", {"x_min": -0.5, "x_max": 0.7})])
    x = normal(f.rng("special"), 2, 5)
    x[0, 1:3] = [np.nan, 0]
    simple(f, "isnan", (5,), [("Isnan", {})], loss=None, x=x)
    simple(f, "logical_not", (5,), [("LogicalNot", {})], loss=None, x=x)
    for name in ("Divide", "Power"):
        for tag, options in {"": {}, "_x1": {"x1": 1.5}, "_x2": {"x2": 2.5}}.items():
            net = Net()
            inputs = [net.input(c, s) for c, s in zip("ab" if not options else "a", ((3, 4), (1, 4)))]
            x = [positive(f.rng(name + c), 2, *s) for c, s in zip("ab", ((3, 4), (1, 4)))][:len(inputs)]
            finish(f, name.lower() + tag, net, net.add(name, *inputs, **options), x)
    whole = np.array([[1, 2, 3, 0], [0, 2, 2, 1]], np.float32)
    for name in ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr"):
        net = Net()
        h = net.add(name, net.input("a", (4,)), net.input("b", (4,)))
        finish(f, name.lower(), net, h, [whole, whole[::-1].copy()], loss=None)
    net = Net()
    finish(f, "greater_x2", net, net.add("Greater", net.input("a", (4,)), x2=1.0), [whole], loss=None)
    for tag, options in {"": {}, "_x1": {"x1": 0.5}, "_x2": {"x2": -1.0}}.items():
        net = Net()
        a, b = net.input("a", (3, 4)), net.input("b", (3, 1))
        condition = net.add("Greater", a, x2=0.0)
        rest = {"": [a, b], "_x1": [b], "_x2": [b]}[tag]
        finish(f, f"where{tag}", net, net.add("Where", condition, *rest, **options),
               [normal(f.rng("where a"), 2, 3, 4), normal(f.rng("where b"), 2, 3, 1)])
    axes = {"": {"axis": 1}, "_last": {"axis": -1, "keepdims": True}, "_two": {"axis": [1, 3]}, "_all": {"keepdims": True},
            "_batch": {"axis": [0, 2], "keepdims": True}}
    for name in ("Sum", "Mean", "Max", "Min", "Prod", "Var", "Std"):
        for tag, options in axes.items():
            simple(f, name.lower() + tag, (3, 2, 4), [(name, options)], **({"loss": None} if tag in ("_all", "_batch") else {}))
    for name in ("Any", "All"):
        for tag, options in axes.items():
            x = (f.rng(name).uniform(0, 1, (2, 3, 2, 4)) > 0.5).astype(np.float32)
            simple(f, name.lower() + tag, (3, 2, 4), [(name, options)], loss=None, x=x)
    simple(f, "argmax", (3, 4), [("Argmax", {"axis": 1})], loss=None)
    simple(f, "argmax_keepdims", (3, 4), [("Argmax", {"axis": -1, "keepdims": True})], loss=None)

    for name, options in {"list": {"indices": [2, 0, 2, -1], "axis": 1}, "last": {"indices": [3, 1], "axis": -1},
                          "number": {"indices": 2, "axis": 1}, "number_last": {"indices": -1, "axis": 2},
                          "batch": {"indices": [1, 0, 1], "axis": 0}, "all": {"indices": [5, 1, 0]}}.items():
        simple(f, f"take_{name}", (3, 4), [("Take", options)], **({"loss": None} if name in ("batch", "all") else {}))
    for name, ids, axis in (("input", [2, 0, 2], 1), ("input_negative", [-1, 0, -3], 1), ("input_last", [3, -4], -1),
                            ("input_rank_2", [[2, 0], [1, 1]], 2)):
        net = Net()
        x, i = net.input("x", (3, 4)), net.input("ids", np.shape(ids)[1:], "int32")
        finish(f, f"take_{name}", net, net.add("Take", x, i, axis=axis),
               [normal(f.rng(name), np.shape(ids)[0], 3, 4), np.array(ids, np.int32)])
    simple(f, "slice", (3, 4), [("Slice", {"start_indices": [0, 1, 2], "shape": [2, 2, 2]})])
    simple(f, "slice_one_axis", (3, 4), [("Slice", {"start_indices": [0, 0, 1], "shape": [2, 3, 2]})])
    simple(f, "flip", (3, 4), [("Flip", {"axis": 1})])
    simple(f, "flip_last", (3, 4), [("Flip", {"axis": -1})])
    simple(f, "flip_all", (3, 4), [("Flip", {})])
    simple(f, "flip_two", (3, 4), [("Flip", {"axis": [0, 2]})])
    for axis in (0, 1, -1):
        net = Net()
        inputs = [net.input(c, (3, 4)) for c in "abc"]
        finish(f, f"stack_{axis}", net, net.add("Stack", *inputs, axis=axis), [normal(f.rng(c), 2, 3, 4) for c in "abc"],
               **({} if axis else {"loss": None}))
    simple(f, "repeat", (3, 4), [("Repeat", {"repeats": 3, "axis": 1})])
    simple(f, "repeat_last", (3, 4), [("Repeat", {"repeats": 2, "axis": -1})])
    simple(f, "expand_dims", (3, 4), [("ExpandDims", {"axis": 1})])
    simple(f, "expand_dims_several", (3, 4), [("ExpandDims", {"axis": [1, -1]})])
    simple(f, "squeeze", (1, 4), [("Squeeze", {"axis": 1})])
    simple(f, "squeeze_several", (1, 4, 1), [("Squeeze", {"axis": [1, -1]})])
    simple(f, "squeeze_all", (1, 4, 1), [("Squeeze", {})])
    return f


FAMILIES = {"padding_products": padding_products, "ops": ops}
