"""A row as an ONNX model, for ONNX Runtime and OpenVINO: images as NCHW, an LSTM's steps first."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import c_calls
import protocol


def model(row):
    """The model's bytes, its inputs by name, read(outputs), and the shapes of the outputs by name."""
    if row.training:
        raise NotImplementedError("does not train")
    nodes, constants, shapes, given, flat, pads = [], [], {}, {}, {}, {}

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(kind, inputs, outputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, outputs, **attributes))

    steps_first = {la["inputs"][0] for la in row.layers if la["kind"] in ("LSTM", "GRU", "Bidirectional")}
    inputs = []
    for i in row.inputs:
        name, x = i["name"], row.data[i["name"]]
        shapes[name] = x.shape
        if row.images:
            x = x.transpose(0, 3, 1, 2)
        elif name in steps_first:
            x = x.transpose(1, 0, 2)
        given[name] = np.ascontiguousarray(x)
        kind = TensorProto.INT32 if i["ids"] else TensorProto.FLOAT
        inputs.append(helper.make_tensor_value_info(name, kind, x.shape))

    for layer in row.layers:
        kind, name, a, x = layer["kind"], layer["name"], layer["attributes"], layer["inputs"]
        w = {n.split("/", 1)[1]: v for n, v in row.weights.items() if n.startswith(name + "/")}
        s = shapes[x[0]]
        activation = a.get("activation", "linear")
        raw = name if activation == "linear" else name + ":raw"
        if kind == "Dense":
            kernel = w["kernel"]
            if x[0] in flat:  # rows of the kernel stand in the order of NHWC
                h, wd, c = flat[x[0]]
                kernel = kernel.reshape(h, wd, c, -1).transpose(2, 0, 1, 3).reshape(kernel.shape)
            k, b = constant(name + ":kernel", kernel), constant(name + ":bias", w["bias"])
            if len(s) == 2:
                node("Gemm", [x[0], k, b], [raw])
            else:
                node("MatMul", [x[0], k], [name + ":product"])
                node("Add", [name + ":product", b], [raw])
            shapes[name] = (*s[:-1], kernel.shape[1])
        elif kind in ("Conv2D", "DepthwiseConv2D"):
            k, stride = a["kernel_size"], a.get("strides", 1)
            same, deep = a.get("padding") == "same", kind == "DepthwiseConv2D"
            kernel = w["kernel"].transpose(*((2, 3) if deep else (3, 2)), 0, 1)
            bias = [constant(name + ":bias", w["bias"])] if "bias" in w else []
            node("Conv", [x[0], constant(name + ":kernel", kernel), *bias], [raw], kernel_shape=[k, k],
                 strides=[stride, stride], pads=[k // 2 if same else pads.get(x[0], 0)] * 4, group=s[3] if deep else 1)
            shapes[name] = (s[0], *(-(-d // stride) if same else (d - k) // stride + 1 for d in s[1:3]), len(kernel))
        elif kind == "ZeroPadding2D":  # is the padding of what follows
            pads[name] = a["padding"]
            node("Identity", [x[0]], [raw])
            shapes[name] = (s[0], *(d + 2 * a["padding"] for d in s[1:3]), s[3])
        elif kind == "BatchNormalization":
            node("BatchNormalization", [x[0], *(constant(f"{name}:{part}", w[part]) for part in
                                                ("gamma", "beta", "moving_mean", "moving_variance"))], [raw],
                 epsilon=1e-3)
            shapes[name] = s
        elif kind == "LayerNormalization":
            node("LayerNormalization", [x[0], constant(name + ":gamma", w["gamma"]), constant(name + ":beta", w["beta"])],
                 [raw], epsilon=1e-3)
            shapes[name] = s
        elif kind == "Activation":
            node("Identity", [x[0]], [raw])
            shapes[name] = s
        elif kind in ("GlobalAveragePooling1D", "GlobalAveragePooling2D"):
            axes = constant(name + ":axes", np.array([1] if kind.endswith("1D") else [2, 3], np.int64))
            node("ReduceMean", [x[0], axes], [raw], keepdims=0)
            shapes[name] = (s[0], s[-1])
        elif kind == "MultiHeadAttention":
            heads, dim = a["num_heads"], a["key_dim"]
            split = constant(name + ":split", np.array([0, 0, heads, dim], np.int64))
            for part, source, perm in (("query", x[0], [0, 2, 1, 3]), ("key", x[1], [0, 2, 3, 1]),
                                       ("value", x[1], [0, 2, 1, 3])):
                here = f"{name}:{part}"
                scale = dim ** -0.5 if part == "query" else 1
                node("MatMul", [source, constant(here + ":w", scale * w[part + "/kernel"].reshape(-1, heads * dim))],
                     [here + ":product"])
                node("Add", [here + ":product", constant(here + ":b", scale * w[part + "/bias"].reshape(-1))],
                     [here + ":sum"])
                node("Reshape", [here + ":sum", split], [here + ":heads"])
                node("Transpose", [here + ":heads"], [here], perm=perm)
            node("MatMul", [name + ":query", name + ":key"], [name + ":score"])
            node("Softmax", [name + ":score"], [name + ":weights"], axis=-1)
            node("MatMul", [name + ":weights", name + ":value"], [name + ":attended"])
            node("Transpose", [name + ":attended"], [name + ":turned"], perm=[0, 2, 1, 3])
            node("Reshape", [name + ":turned", constant(name + ":join", np.array([0, 0, heads * dim], np.int64))],
                 [name + ":joined"])
            node("MatMul", [name + ":joined", constant(name + ":w", w["attention_output/kernel"].reshape(heads * dim, -1))],
                 [name + ":product"])
            node("Add", [name + ":product", constant(name + ":b", w["attention_output/bias"])], [raw])
            shapes[name] = s
        elif kind == "GRU":
            u = a["units"]
            node("GRU", [x[0], constant(name + ":kernel", w["kernel"].T[None]),
                         constant(name + ":recurrent", w["recurrent_kernel"].T[None]),
                         constant(name + ":bias", w["bias"].reshape(1, -1))], ["", name + ":h1"], hidden_size=u,
                 linear_before_reset=1)
            node("Squeeze", [name + ":h1", constant(name + ":first", np.array([0], np.int64))], [raw])
            shapes[name] = (s[0], u)
        elif kind == "Bidirectional":
            u = a["layer"]["config"]["units"]

            def both(part):
                return [w[half + part].reshape(*w[half + part].shape[:-1], 4, u)[..., [0, 3, 1, 2], :]
                        .reshape(w[half + part].shape) for half in ("forward_lstm/", "backward_lstm/")]

            biases = [np.concatenate([b, np.zeros_like(b)]) for b in both("bias")]
            node("LSTM", [x[0], constant(name + ":kernel", np.stack([k.T for k in both("kernel")])),
                          constant(name + ":recurrent", np.stack([k.T for k in both("recurrent_kernel")])),
                          constant(name + ":bias", np.stack(biases))], ["", name + ":h2"], hidden_size=u,
                 direction="bidirectional")
            node("Transpose", [name + ":h2"], [name + ":turned"], perm=[1, 0, 2])
            node("Flatten", [name + ":turned"], [raw])
            shapes[name] = (s[0], 2 * u)
        elif kind == "MaxPooling2D":
            k, pad = a.get("pool_size", 2), pads.get(x[0], 0)
            node("MaxPool", [x[0]], [raw], kernel_shape=[k, k], strides=[a.get("strides", k)] * 2, pads=[pad] * 4)
            shapes[name] = (s[0], *((d - k) // a.get("strides", k) + 1 for d in s[1:3]), s[3])
        elif kind == "Flatten":
            node("Flatten", [x[0]], [raw])
            if row.images:
                flat[name] = s[1:]
            shapes[name] = (s[0], int(np.prod(s[1:])))
        elif kind == "LSTM":
            units = a["units"]
            order = [0, 3, 1, 2]  # Keras: i f c o; ONNX: i o f c

            def gates(m):
                return m.reshape(*m.shape[:-1], 4, units)[..., order, :].reshape(m.shape)

            ins = [x[0], constant(name + ":kernel", gates(w["kernel"]).T[None]),
                   constant(name + ":recurrent", gates(w["recurrent_kernel"]).T[None]),
                   constant(name + ":bias", np.concatenate([gates(w["bias"]), np.zeros_like(w["bias"])])[None])]
            if len(x) > 1:
                axis = constant(name + ":axis", np.array([0], np.int64))
                for state in x[1:]:
                    node("Unsqueeze", [state, axis], [f"{name}:{state}"])
                ins += ["", f"{name}:{x[1]}", f"{name}:{x[2]}"]
            node("LSTM", ins, ["", name + ":h1", name + ":c1"], hidden_size=units)
            squeeze = constant(name + ":first", np.array([0], np.int64))
            node("Squeeze", [name + ":h1", squeeze], [raw])
            if len(x) > 1:
                node("Identity", [raw], [name + "/h"])
                node("Squeeze", [name + ":c1", squeeze], [name + "/c"])
                shapes[name + "/h"] = shapes[name + "/c"] = (s[0], units)
            shapes[name] = (s[0], units)
        elif kind == "Add":
            node("Add", x, [raw])
            shapes[name] = s
        elif kind in ("MatMul", "Attention"):
            key, transposed = (x[1], a.get("transpose_b", False)) if kind == "MatMul" else (x[-1], True)
            if transposed:
                node("Transpose", [key], [name + ":key"], perm=[0, 2, 1])
                key = name + ":key"
            if kind == "MatMul":
                node("MatMul", [x[0], key], [raw])
                shapes[name] = (*s[:2], shapes[x[1]][1 if transposed else 2])
            else:
                node("MatMul", [x[0], key], [name + ":score"])
                node("Softmax", [name + ":score"], [name + ":weights"], axis=-1)
                node("MatMul", [name + ":weights", x[1]], [raw])
                shapes[name] = (*s[:2], shapes[x[1]][2])
        elif kind == "Softmax":
            node("Softmax", [x[0]], [raw], axis=-1)
            shapes[name] = s
        else:
            raise NotImplementedError(kind)
        if activation in ("relu", "gelu", "sigmoid"):
            node(activation.capitalize(), [raw], [name])
        elif activation == "softmax":
            node("Softmax", [raw], [name], axis=-1)
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in row.outputs]
    graph = helper.make_graph(nodes, "row", inputs, outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)

    def read(values):
        return [np.asarray(v).transpose(0, 2, 3, 1) if row.images and np.ndim(v) == 4 else np.asarray(v)
                for v in values]

    places = {n: tuple(shapes[n][i] for i in (0, 3, 1, 2)) if row.images and len(shapes[n]) == 4 else shapes[n]
              for n in row.outputs}
    return made.SerializeToString(), given, read, places


def through_c(runtime, library):
    """What makes a row in a runtime that reads ONNX models, called through its C API."""
    def make(row, threads):
        with protocol.aside():
            data, given, read, shapes = model(row)
        return c_calls.Model(runtime, library, data, threads, given, shapes), read
    return make
