"""Goldens of Dense, shape layers, convolution and pooling."""
import numpy as np

from record import Family, Net, kind

MSE = kind("MeanSquaredError")


def simple(family, name, shape, layers, loss=MSE, batch=2, **options):
    """One input through a chain of (kind, attributes), trained against a random target."""
    net = Net()
    h = net.input("x", shape)
    for class_name, attributes in layers:
        h = net.add(class_name, h, **attributes)
    model = net.build(h)
    rng = family.rng(options.get("seed") or name)
    x = options.pop("x", None)
    if x is None:
        x = rng.normal(0, 1, (batch, *shape)).astype(np.float32)
    if loss and "target" not in options:
        result = model(x)
        options["target"] = rng.normal(0, 1, result.shape).astype(np.float32)
    return family.model(name, net, model, x, loss=loss, **options)


def dense():
    f = Family("dense")
    simple(f, "plain", (3,), [("Dense", {"units": 4})])
    simple(f, "batch_1", (3,), [("Dense", {"units": 4})], batch=1)
    simple(f, "batch_0", (3,), [("Dense", {"units": 4})], batch=0, loss=None)
    simple(f, "one_by_one", (1,), [("Dense", {"units": 1})], batch=1)
    simple(f, "odd_17_33_5", (33,), [("Dense", {"units": 5})], batch=17)
    simple(f, "no_bias", (3,), [("Dense", {"units": 4, "use_bias": False})])
    simple(f, "rank_3", (5, 3), [("Dense", {"units": 4, "activation": "relu"})])
    simple(f, "rank_4", (2, 3, 3), [("Dense", {"units": 4, "activation": "tanh"})])
    for name in ("relu", "tanh", "sigmoid", "softmax", "gelu", "selu", "elu", "silu", "softplus"):
        simple(f, f"activation_{name}", (6,), [("Dense", {"units": 5, "activation": name})], batch=3)
    simple(f, "two_layers", (6,), [("Dense", {"units": 8, "activation": "relu"}), ("Dense", {"units": 2})], batch=4)
    simple(f, "three_layers", (6,), [("Dense", {"units": 8, "activation": "tanh"}),
                                     ("Dense", {"units": 7, "activation": "sigmoid"}), ("Dense", {"units": 3})],
           batch=4)
    simple(f, "wide_1024", (64,), [("Dense", {"units": 96})], batch=4)
    simple(f, "frozen_first", (6,), [("Dense", {"units": 5, "activation": "tanh", "trainable": False}),
                                     ("Dense", {"units": 2})], batch=4, steps=2)
    simple(f, "full_config", (3,), [("Dense", {
        "trainable": True, "units": 4, "activation": "linear", "use_bias": True,
        "kernel_initializer": {"module": "keras.initializers", "class_name": "GlorotUniform",
                               "config": {"seed": None}, "registered_name": None},
        "bias_initializer": {"module": "keras.initializers", "class_name": "Zeros", "config": {},
                             "registered_name": None},
        "kernel_regularizer": None, "bias_regularizer": None, "activity_regularizer": None,
        "kernel_constraint": None, "bias_constraint": None})])

    for name, regularizer in {
            "l1": kind("L1", l1=0.1), "l2": kind("L2", l2=0.1), "l1_l2": kind("L1L2", l1=0.05, l2=0.1),
            "orthogonal_rows": kind("OrthogonalRegularizer", factor=0.1, mode="rows"),
            "orthogonal_columns": kind("OrthogonalRegularizer", factor=0.1, mode="columns")}.items():
        simple(f, f"kernel_regularizer_{name}", (5,), [("Dense", {"units": 4, "kernel_regularizer": regularizer})],
               steps=2)
    simple(f, "regularizer_by_name", (5,), [("Dense", {"units": 4, "kernel_regularizer": "l2"})])
    simple(f, "bias_regularizer", (5,), [("Dense", {"units": 4, "bias_regularizer": kind("L2", l2=0.3)})])
    simple(f, "activity_regularizer", (5,),
           [("Dense", {"units": 4, "activation": "tanh", "activity_regularizer": kind("L1L2", l1=0.1, l2=0.2)})],
           batch=3, note="the activity penalty is divided by the batch size")
    simple(f, "three_penalties", (5,),
           [("Dense", {"units": 4, "kernel_regularizer": kind("L2", l2=0.1), "bias_regularizer": kind("L1", l1=0.1)}),
            ("Dense", {"units": 2, "kernel_regularizer": kind("L1", l1=0.02)})])

    for name, constraint in {
            "max_norm": kind("MaxNorm", max_value=0.7, axis=0), "max_norm_axis_1": kind("MaxNorm", max_value=0.7, axis=1),
            "non_neg": kind("NonNeg"), "unit_norm": kind("UnitNorm", axis=0),
            "unit_norm_axes": kind("UnitNorm", axis=[0, 1]),
            "min_max_norm": kind("MinMaxNorm", min_value=0.5, max_value=0.9, rate=0.6, axis=0)}.items():
        simple(f, f"kernel_constraint_{name}", (5,), [("Dense", {"units": 4, "kernel_constraint": constraint})],
               optimizer=kind("SGD", learning_rate=0.1), steps=3)
    simple(f, "bias_constraint", (5,), [("Dense", {"units": 4, "bias_constraint": kind("NonNeg")})],
           optimizer=kind("SGD", learning_rate=0.1), steps=2)
    return f


def shapes():
    f = Family("shapes")
    dense = ("Dense", {"units": 3})
    simple(f, "flatten", (2, 3, 4), [("Flatten", {}), dense])
    simple(f, "flatten_rank_2", (5,), [("Flatten", {}), dense])
    simple(f, "flatten_rank_1", (), [("Flatten", {})], loss=None, batch=4)
    simple(f, "reshape", (2, 6), [("Dense", {"units": 4}), ("Reshape", {"target_shape": [4, 2]}), dense])
    simple(f, "reshape_free", (2, 6), [("Dense", {"units": 4}), ("Reshape", {"target_shape": [-1, 2]}), dense])
    simple(f, "reshape_to_4d", (12,), [("Reshape", {"target_shape": [2, -1, 3]}), dense])
    simple(f, "permute_21", (2, 3), [("Permute", {"dims": [2, 1]}), dense])
    simple(f, "permute_312", (2, 3, 4), [("Permute", {"dims": [3, 1, 2]}), dense])
    simple(f, "permute_231", (2, 3, 4), [("Dense", {"units": 3}), ("Permute", {"dims": [2, 3, 1]})])
    simple(f, "transpose", (2, 3), [("Dense", {"units": 4}), ("Transpose", {"perm": [0, 2, 1]})])
    simple(f, "transpose_4d", (2, 3, 2), [("Dense", {"units": 4}), ("Transpose", {"perm": [0, 3, 1, 2]}), dense])
    simple(f, "dropout_inference", (6,), [dense, ("Dropout", {"rate": 0.5})], loss=None)
    simple(f, "dropout_rate_0", (6,), [dense, ("Dropout", {"rate": 0.0})])
    simple(f, "dropout_full_config", (6,), [("Dropout", {"rate": 0.3, "seed": 7, "noise_shape": None})], loss=None)
    net, rng = Net(), f.rng("call training")
    h = net.add("Dropout", net.add("Dense", net.input("x", (6,)), units=4), rate=0.5, arguments={"training": False})
    f.model("dropout_called_with_training_false", net, net.add("Dense", h, units=2),
            [rng.normal(0, 1, (3, 6)).astype(np.float32)], loss=MSE, target=rng.normal(0, 1, (3, 2)).astype(np.float32))
    for name, options in {"plain": {}, "transpose_b": {"transpose_b": True}, "transpose_a": {"transpose_a": True},
                          "transpose_both": {"transpose_a": True, "transpose_b": True}}.items():
        net, rng = Net(), f.rng(name)
        a = net.input("a", (4, 3) if "transpose_a" in options else (3, 4))
        b = net.input("b", (5, 4) if "transpose_b" in options else (4, 5))
        a, b = net.add("Dense", a, units=a_last(net, a)), net.add("Dense", b, units=a_last(net, b))
        out = net.add("MatMul", a, b, **options)
        f.model(f"matmul_{name}", net, out,
                [rng.normal(0, 1, (2, *net.tensors[r].shape[1:])).astype(np.float32) for r in net.inputs],
                loss=MSE, target=rng.normal(0, 1, (2, 3, 5)).astype(np.float32))
    return f


def a_last(net, ref):
    return net.tensors[ref].shape[-1]


def conv():
    f = Family("conv")

    def conv2d(name, shape, batch=2, **attributes):
        simple(f, name, shape, [("Conv2D", attributes)], batch=batch)

    def conv1d(name, shape, batch=2, **attributes):
        simple(f, name, shape, [("Conv1D", attributes)], batch=batch)

    for padding in ("valid", "same"):
        for strides in (1, 2, [2, 3]):
            tag = f"{padding}_s{strides if isinstance(strides, int) else '2x3'}"
            conv2d(f"2d_{tag}_k3", (7, 8, 2), filters=3, kernel_size=3, padding=padding, strides=strides)
            conv2d(f"2d_{tag}_k2x3_odd", (5, 9, 1), filters=2, kernel_size=[2, 3], padding=padding, strides=strides)
        conv2d(f"2d_{padding}_s3_k5x4", (11, 10, 2), filters=2, kernel_size=[5, 4], padding=padding, strides=3)
        conv2d(f"2d_{padding}_s2_k1", (7, 6, 3), filters=4, kernel_size=1, padding=padding, strides=2)
        conv2d(f"2d_{padding}_k1", (3, 5, 3), filters=4, kernel_size=[1, 1], padding=padding)
        conv2d(f"2d_{padding}_dilated", (9, 8, 2), filters=3, kernel_size=3, padding=padding, dilation_rate=2)
        conv2d(f"2d_{padding}_dilated_2x3", (9, 10, 2), filters=2, kernel_size=[2, 3], padding=padding,
               dilation_rate=[2, 3])
        conv2d(f"2d_{padding}_groups_2", (6, 5, 4), filters=6, kernel_size=3, padding=padding, groups=2)
        conv2d(f"2d_{padding}_groups_in", (6, 5, 3), filters=6, kernel_size=3, padding=padding, groups=3, strides=2)
    conv2d("2d_dilated_grouped", (8, 7, 4), filters=4, kernel_size=3, padding="same", groups=4, dilation_rate=2)
    conv2d("2d_no_bias", (5, 5, 2), filters=3, kernel_size=3, use_bias=False)
    conv2d("2d_relu", (6, 6, 2), filters=3, kernel_size=3, activation="relu")
    conv2d("2d_tanh_same", (6, 6, 2), filters=3, kernel_size=3, activation="tanh", padding="same")
    conv2d("2d_softmax", (4, 4, 2), filters=3, kernel_size=3, activation="softmax", padding="same")
    conv2d("2d_kernel_is_image", (4, 3, 2), filters=2, kernel_size=[4, 3])
    conv2d("2d_kernel_over_image_same", (2, 3, 2), filters=2, kernel_size=5, padding="same")
    conv2d("2d_batch_1_16_channels", (6, 6, 16), batch=1, filters=16, kernel_size=3, padding="same")
    conv2d("2d_odd_channels", (5, 5, 7), batch=3, filters=5, kernel_size=3, padding="same")
    conv2d("2d_l2_max_norm", (5, 5, 2), filters=3, kernel_size=3, kernel_regularizer=kind("L2", l2=0.05),
           kernel_constraint=kind("MaxNorm", max_value=1.0, axis=[0, 1, 2]))
    simple(f, "2d_free_size", (None, None, 2), [("Conv2D", {"filters": 3, "kernel_size": 3, "strides": 2,
                                                           "padding": "same"})],
           x=f.rng("2d_free_size").normal(0, 1, (2, 5, 8, 2)).astype(np.float32))
    simple(f, "2d_deep", (9, 9, 1), [
        ("Conv2D", {"filters": 3, "kernel_size": 3, "activation": "relu", "padding": "same"}),
        ("MaxPooling2D", {"pool_size": 2}),
        ("Conv2D", {"filters": 4, "kernel_size": 2, "activation": "tanh"}), ("Flatten", {}), ("Dense", {"units": 3})])
    simple(f, "2d_full_config", (6, 6, 2), [("Conv2D", {
        "trainable": True, "filters": 3, "kernel_size": [3, 3], "strides": [1, 1], "padding": "valid",
        "data_format": "channels_last", "dilation_rate": [1, 1], "groups": 1, "activation": "linear", "use_bias": True,
        "kernel_initializer": {"module": "keras.initializers", "class_name": "GlorotUniform",
                               "config": {"seed": None}, "registered_name": None},
        "bias_initializer": {"module": "keras.initializers", "class_name": "Zeros", "config": {},
                             "registered_name": None},
        "kernel_regularizer": None, "bias_regularizer": None, "activity_regularizer": None,
        "kernel_constraint": None, "bias_constraint": None})])

    for padding in ("valid", "same", "causal"):
        for strides in (1, 2, 3):
            conv1d(f"1d_{padding}_s{strides}_k3", (10, 2), filters=3, kernel_size=3, padding=padding, strides=strides)
        conv1d(f"1d_{padding}_k4", (9, 2), filters=3, kernel_size=4, padding=padding)
        conv1d(f"1d_{padding}_dilated", (11, 2), filters=3, kernel_size=3, padding=padding, dilation_rate=2)
        conv1d(f"1d_{padding}_groups", (8, 4), filters=6, kernel_size=3, padding=padding, groups=2)
    conv1d("1d_causal_dilated_4", (12, 2), filters=2, kernel_size=2, padding="causal", dilation_rate=4)
    conv1d("1d_k1", (6, 3), filters=4, kernel_size=1)
    conv1d("1d_relu_no_bias", (6, 3), filters=4, kernel_size=[2], activation="relu", use_bias=False)
    simple(f, "1d_free_length", (None, 3), [("Conv1D", {"filters": 2, "kernel_size": 3, "padding": "causal"})],
           x=f.rng("1d_free_length").normal(0, 1, (2, 7, 3)).astype(np.float32))
    return f


def pool():
    f = Family("pool")
    point = ("Conv2D", {"filters": 2, "kernel_size": 1, "name": "point"})
    for what in ("MaxPooling2D", "AveragePooling2D"):
        tag = "max" if what[0] == "M" else "average"
        for padding in ("valid", "same"):
            for size, strides in ((2, None), (3, None), (3, 1), (2, 3), ([3, 2], None), ([2, 3], [1, 2]), (1, 2)):
                name = f"{tag}_{padding}_{size}_{strides}".replace("[", "").replace("]", "").replace(", ", "x").lower()
                options = {"pool_size": size, "padding": padding} | ({"strides": strides} if strides else {})
                simple(f, name, (7, 8, 2), [point, (what, options)])
        simple(f, f"{tag}_same_odd", (5, 5, 2), [point, (what, {"pool_size": 4, "strides": 2, "padding": "same"})])
        simple(f, f"{tag}_all_negative_same", (5, 5, 2), [(what, {"pool_size": 3, "padding": "same"})],
               x=-1 - f.rng(tag).uniform(0, 9, (2, 5, 5, 2)).astype(np.float32), loss=None)
        simple(f, f"{tag}_whole", (4, 3, 2), [point, (what, {"pool_size": [4, 3]})])
        simple(f, f"{tag}_relu_before", (6, 6, 2), [
            ("Conv2D", {"filters": 3, "kernel_size": 3, "activation": "relu"}), (what, {"pool_size": 2})])
        simple(f, f"{tag}_free_size", (None, None, 2), [(what, {"pool_size": 2, "padding": "same"})], loss=None,
               x=f.rng(f"{tag}_free").normal(0, 1, (2, 5, 6, 2)).astype(np.float32))
        simple(f, f"{tag}_full_config", (4, 4, 2), [point, (what, {
            "trainable": True, "pool_size": [2, 2], "padding": "valid", "strides": [2, 2],
            "data_format": "channels_last"})])
    ties = np.array([[1, 1, 2, 0], [1, 0, 2, 2], [3, 3, -1, -1], [3, 3, -1, -1]], np.float32).reshape(1, 4, 4, 1)
    simple(f, "max_ties", (4, 4, 1), [("MaxPooling2D", {"pool_size": 2})], x=ties, loss=MSE,
           target=np.zeros((1, 2, 2, 1), np.float32),
           why="equal maxima: TensorFlow gives the whole gradient to the first in row order")
    for what, shape in (("1D", (5, 3)), ("2D", (4, 5, 3))):
        for how in ("Average", "Max"):
            for keep in (False, True):
                simple(f, f"global_{how.lower()}_{what.lower()}{'_keepdims' if keep else ''}", shape,
                       [("Dense", {"units": 2}), (f"Global{how}Pooling{what}", {"keepdims": keep})])
    for keep in (False, True):
        net, rng = Net(), f.rng(f"masked{keep}")
        x, m = net.input("x", (4, 3)), net.input("m", (4,), "bool")
        out = net.add("GlobalAveragePooling1D", net.add("Dense", x, units=2), arguments={"mask": m}, keepdims=keep)
        f.model(f"global_average_1d_mask_argument{'_keepdims' if keep else ''}", net, out,
                [rng.normal(0, 1, (3, 4, 3)).astype(np.float32),
                 np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 1]], bool)], loss=MSE,
                target=rng.normal(0, 1, (3, 1, 2) if keep else (3, 2)).astype(np.float32))
    net, rng = Net(), f.rng("after masking")
    x = net.input("x", (4, 3))
    out = net.add("GlobalAveragePooling1D", net.add("Dense", net.add("Masking", x), units=2))
    value = rng.normal(0, 1, (3, 4, 3)).astype(np.float32)
    value[0, 1:3] = 0
    value[2, 0] = 0
    f.model("global_average_1d_after_masking", net, out, value, loss=MSE,
            target=rng.normal(0, 1, (3, 2)).astype(np.float32))
    return f


def starts():
    """How the weights of layers with default initializers begin: what counts as inputs and outputs of a kernel."""
    f = Family("starts")

    def one(name, class_name, *shapes, dtype="float32", **attributes):
        net = Net()
        inputs = [net.input(f"x{i}", shape, dtype) for i, shape in enumerate(shapes)]
        f.start(name, net, net.add(class_name, *inputs, **attributes))

    one("dense", "Dense", (100,), units=64)
    one("conv1d_groups", "Conv1D", (20, 32), filters=64, kernel_size=5, groups=2)
    one("conv2d", "Conv2D", (9, 9, 32), filters=64, kernel_size=[3, 5])
    one("conv3d", "Conv3D", (5, 5, 5, 16), filters=32, kernel_size=3)
    one("depthwise1d", "DepthwiseConv1D", (20, 64), kernel_size=9, depth_multiplier=4)
    one("depthwise2d", "DepthwiseConv2D", (9, 9, 32), kernel_size=5, depth_multiplier=4)
    one("separable", "SeparableConv2D", (9, 9, 32), filters=64, kernel_size=5, depth_multiplier=4)
    one("transposed1d", "Conv1DTranspose", (9, 32), filters=64, kernel_size=5)
    one("transposed2d", "Conv2DTranspose", (5, 5, 32), filters=64, kernel_size=3)
    one("transposed3d", "Conv3DTranspose", (4, 4, 4, 16), filters=32, kernel_size=3)
    one("lstm", "LSTM", (5, 32), units=64)
    one("gru", "GRU", (5, 32), units=64)
    one("simple_rnn", "SimpleRNN", (5, 50), units=64)
    one("conv_lstm", "ConvLSTM2D", (3, 6, 6, 8), filters=16, kernel_size=3)
    one("embedding", "Embedding", (4,), dtype="int32", input_dim=200, output_dim=32)
    one("heads", "MultiHeadAttention", (5, 64), (6, 48), num_heads=4, key_dim=24, value_dim=40, use_gate=True)
    one("heads_two_axes", "MultiHeadAttention", (3, 4, 64), (3, 4, 64), num_heads=4, key_dim=24, output_shape=[6, 9])
    one("heads_he", "MultiHeadAttention", (5, 64), (6, 48), num_heads=4, key_dim=24,
        kernel_initializer=kind("HeNormal"))
    one("grouped", "GroupQueryAttention", (5, 64), (6, 64), head_dim=24, num_query_heads=8, num_key_value_heads=2)
    one("einsum", "EinsumDense", (10, 64), equation="abc,cde->abde", output_shape=[None, 4, 32], bias_axes="de")
    one("bidirectional", "Bidirectional", (5, 32), layer=kind("GRU", name="gru", units=32))
    return f


FAMILIES = {"dense": dense, "shapes": shapes, "conv": conv, "pool": pool, "starts": starts}
