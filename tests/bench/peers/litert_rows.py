"""A row as a LiteRT model, made from the schema in its package: images as NHWC, kernels with the outputs first."""
import typing

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

largest = 1 << 24  # weights of an LSTM written out: each step packs its own


class Graph:
    """Tensors and operators in the order they are added; a tensor is its index."""

    def __init__(self):
        self.tensors, self.operators, self.codes, self.buffers = [], [], [], [schema.BufferT()]

    def tensor(self, name, shape, kind="FLOAT32", value=None, variable=False):
        t = schema.TensorT()
        t.name, t.shape, t.type = name, list(shape), getattr(schema.TensorType, kind)
        t.buffer, t.isVariable = 0, variable
        if value is not None:
            t.buffer = len(self.buffers)
            self.buffers.append(schema.BufferT())
            self.buffers[-1].data = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)
        self.tensors.append(t)
        return len(self.tensors) - 1

    def constant(self, value):
        kind = "INT32" if value.dtype == np.int32 else "FLOAT32"
        return self.tensor(f"constant {len(self.buffers)}", value.shape, kind, value)

    def ints(self, *values):
        return self.constant(np.array(values, np.int32))

    def shape(self, t):
        return self.tensors[t].shape

    def operator(self, kind, inputs, shapes, options=None, **fields):
        """Adds an operator with outputs of these shapes: their tensors. options: of the schema, with its fields."""
        code = getattr(schema.BuiltinOperator, kind)
        if code not in self.codes:
            self.codes.append(code)
        op = schema.OperatorT()
        op.opcodeIndex, op.inputs = self.codes.index(code), inputs
        op.outputs = [self.tensor(f"{kind} {len(self.tensors)}", shape) for shape in shapes]
        if options:
            op.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            op.builtinOptions = getattr(schema, options + "T")()
            for field, value in fields.items():
                assert hasattr(op.builtinOptions, field), (options, field)
                setattr(op.builtinOptions, field, value)
        self.operators.append(op)
        return op.outputs

    def model(self, inputs, outputs):
        graph, model = schema.SubGraphT(), schema.ModelT()
        graph.name, graph.tensors, graph.operators = "main", self.tensors, self.operators
        graph.inputs, graph.outputs = inputs, outputs
        model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph], self.buffers, []
        for code in self.codes:
            c = schema.OperatorCodeT()
            c.builtinCode, c.deprecatedBuiltinCode, c.version = code, min(code, 127), 1
            model.operatorCodes.append(c)
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())


class Rows(Graph):
    """The layers of a row. fused: an LSTM is one operator, whose states stay from call to call unless reset."""

    def __init__(self, row, fused):
        super().__init__()
        self.row, self.fused, self.v, self.active = row, fused, {}, set()
        for i in row.inputs:
            shape = row.data[i["name"]].shape
            self.v[i["name"]] = self.tensor(i["name"], shape, "INT32" if i["ids"] else "FLOAT32")
        inputs = list(self.v.values())
        for layer in row.layers:
            self.layer(layer["kind"], layer["name"], layer["attributes"], [self.v[n] for n in layer["inputs"]])
        self.bytes = self.model(inputs, [self.v[n] for n in row.outputs])

    def weights(self, name):
        return {n.split("/", 1)[1]: w for n, w in self.row.weights.items() if n.startswith(name + "/")}

    def after(self, name, kind):
        """The only layer that takes a value, if it is of that kind."""
        takers = [layer for layer in self.row.layers if name in layer["inputs"]]
        return takers[0]["name"] if len(takers) == 1 and takers[0]["kind"] == kind else None

    def normed(self, name, kernel, bias):
        """Of a convolution: with the normalization behind it folded in, as the converter does; and its relu."""
        if norm := self.after(name, "BatchNormalization"):
            w = self.weights(norm)
            factor = w["gamma"] / np.sqrt(w["moving_variance"] + 1e-3)
            kernel, bias = kernel * factor, (bias - w["moving_mean"]) * factor + w["beta"]
            name = norm
        return kernel.astype(np.float32), bias.astype(np.float32), self.relu_after(name)

    def relu_after(self, name):
        active = self.after(name, "Activation")
        self.active.add(active)
        return schema.ActivationFunctionType.RELU if active else 0

    def connected(self, x, kernel, bias, activation=0):
        inputs = [x, self.constant(kernel.T), -1 if bias is None else self.constant(bias)]
        return self.operator("FULLY_CONNECTED", inputs, [[*self.shape(x)[:-1], kernel.shape[1]]],
                             "FullyConnectedOptions", keepNumDims=True, fusedActivationFunction=activation)[0]

    def one(self, kind, *x, options=None, **fields):
        """Of an operator whose output has the shape of its first input."""
        return self.operator(kind, list(x), [self.shape(x[0])], options, **fields)[0]

    def reshape(self, x, shape):
        return self.operator("RESHAPE", [x, self.ints(*shape)], [shape], "ReshapeOptions", newShape=list(shape))[0]

    def softmax(self, x):
        return self.one("SOFTMAX", x, options="SoftmaxOptions", beta=1.0)

    def matmul(self, a, b, transposed):
        shape = [*self.shape(a)[:-1], self.shape(b)[-2 if transposed else -1]]
        return self.operator("BATCH_MATMUL", [a, b], [shape], "BatchMatMulOptions", adjX=False, adjY=transposed)[0]

    def layer(self, kind, name, a, x):
        s, activation = self.shape(x[0]), a.get("activation", "linear")
        relu = schema.ActivationFunctionType.RELU if activation == "relu" else 0
        w = self.weights(name)
        if kind == "Dense":
            y = self.connected(x[0], w["kernel"], w["bias"], relu)
        elif kind == "Conv2D":
            k, stride, same = a["kernel_size"], a.get("strides", 1), a.get("padding") == "same"
            size = [-(-d // stride) if same else (d - k) // stride + 1 for d in s[1:3]]
            kernel, bias, active = self.normed(name, w["kernel"], w.get("bias", np.zeros(a["filters"], np.float32)))
            y = self.operator("CONV_2D", [x[0], self.constant(kernel.transpose(3, 0, 1, 2)), self.constant(bias)],
                              [[s[0], *size, a["filters"]]], "Conv2DOptions", padding=0 if same else 1, strideW=stride,
                              strideH=stride, fusedActivationFunction=relu or active)[0]
        elif kind == "DepthwiseConv2D":
            kernel = self.constant(w["kernel"].transpose(3, 0, 1, 2))
            y = self.one("DEPTHWISE_CONV_2D", x[0], kernel, self.constant(w["bias"]), options="DepthwiseConv2DOptions",
                         padding=0, strideW=1, strideH=1, depthMultiplier=1)
        elif kind == "BatchNormalization":
            y = x[0]
        elif kind == "Activation":
            y = x[0] if name in self.active else self.one("RELU", x[0])
        elif kind == "ZeroPadding2D":
            n = a["padding"]
            y = self.operator("PAD", [x[0], self.constant(np.array([[0, 0], [n, n], [n, n], [0, 0]], np.int32))],
                              [[s[0], s[1] + 2 * n, s[2] + 2 * n, s[3]]], "PadOptions")[0]
        elif kind == "GlobalAveragePooling2D":
            y = self.mean(x[0], [1, 2], [s[0], s[3]])
        elif kind == "GlobalAveragePooling1D":
            y = self.mean(x[0], [1], [s[0], s[2]])
        elif kind == "LayerNormalization":
            y = self.layer_norm(w, x[0])
        elif kind == "MultiHeadAttention":
            y = self.self_attention(w, x[0])
        elif kind == "GRU":
            y = self.gru(w, x[0])
        elif kind == "MaxPooling2D":
            k, stride = a.get("pool_size", 2), a.get("strides", a.get("pool_size", 2))
            size = [(d - k) // stride + 1 for d in s[1:3]]
            y = self.operator("MAX_POOL_2D", x, [[s[0], *size, s[3]]], "Pool2DOptions", padding=1, strideW=stride,
                              strideH=stride, filterWidth=k, filterHeight=k)[0]
        elif kind == "Flatten":
            y = self.reshape(x[0], [s[0], int(np.prod(s[1:]))])
        elif kind == "LSTM":
            y = self.lstm(name, w, x)
        elif kind == "Add":
            y = self.one("ADD", *x, options="AddOptions", fusedActivationFunction=self.relu_after(name))
        elif kind == "MatMul":
            y = self.matmul(*x, a.get("transpose_b", False))
        elif kind == "Attention":
            y = self.matmul(self.softmax(self.matmul(x[0], x[-1], True)), x[1], False)
        elif kind == "Softmax":
            y = self.softmax(x[0])
        else:
            raise NotImplementedError(kind)
        if activation == "softmax":
            y = self.softmax(y)
        elif activation == "gelu":
            y = self.one("GELU", y, options="GeluOptions", approximate=False)
        elif activation == "sigmoid":
            y = self.one("LOGISTIC", y)
        self.v[name] = y

    def mean(self, x, axes, shape, keep=False):
        return self.operator("MEAN", [x, self.ints(*axes)], [shape], "ReducerOptions", keepDims=keep)[0]

    def layer_norm(self, w, x):
        s = self.shape(x)
        one, last = [*s[:-1], 1], [len(s) - 1]
        mean = self.mean(x, last, one, True)
        squares = self.one("SQUARED_DIFFERENCE", x, mean, options="SquaredDifferenceOptions")
        variance = self.mean(squares, last, one, True)
        scale = self.one("RSQRT", self.one("ADD", variance, self.constant(np.float32([1e-3])), options="AddOptions"))
        y = self.one("MUL", self.one("SUB", x, mean, options="SubOptions"), scale, options="MulOptions")
        y = self.one("MUL", y, self.constant(w["gamma"]), options="MulOptions")
        return self.one("ADD", y, self.constant(w["beta"]), options="AddOptions")

    def transpose(self, x, *order):
        return self.operator("TRANSPOSE", [x, self.ints(*order)], [[self.shape(x)[i] for i in order]],
                             "TransposeOptions")[0]

    def self_attention(self, w, x):
        batch, steps, size = self.shape(x)
        _, heads, dim = w["query/kernel"].shape

        def projected(name, factor=1.0):
            kernel, bias = (np.float32(factor) * w[f"{name}/{k}"] for k in ("kernel", "bias"))
            y = self.connected(x, kernel.reshape(size, -1), bias.reshape(-1))
            return self.transpose(self.reshape(y, [batch, steps, heads, dim]), 0, 2, 1, 3)

        scores = self.softmax(self.matmul(projected("query", dim ** -0.5), projected("key"), True))
        y = self.transpose(self.matmul(scores, projected("value"), False), 0, 2, 1, 3)
        return self.connected(self.reshape(y, [batch, steps, heads * dim]),
                              w["attention_output/kernel"].reshape(heads * dim, -1), w["attention_output/bias"])

    def gru(self, w, x):
        """Every step written out."""
        batch, steps, _ = self.shape(x)
        units = w["recurrent_kernel"].shape[0]
        gates, h = self.connected(x, w["kernel"], w["bias"][0]), None

        def split(g):
            return self.operator("SPLIT", [self.ints(1), g], [[batch, units]] * 3, "SplitOptions", numSplits=3)

        def combined(kind, a, b):
            return self.one(kind, a, b, options=kind.title() + "Options")

        for step in range(steps):
            z, r, n = split(self.reshape(self.slice(gates, [0, step, 0], [batch, 1, 3 * units]), [batch, 3 * units]))
            if h is None:
                uz, ur, un = (self.constant(b) for b in np.split(w["bias"][1], 3))
            else:
                uz, ur, un = split(self.connected(h, w["recurrent_kernel"], w["bias"][1]))
            z, r = (self.one("LOGISTIC", combined("ADD", a, b)) for a, b in ((z, uz), (r, ur)))
            n = self.one("TANH", combined("ADD", n, combined("MUL", r, un)))
            h = combined("ADD", n, combined("MUL", z, combined("SUB", h, n))) if h is not None else \
                combined("SUB", n, combined("MUL", z, n))
        return h

    def slice(self, x, begin, size):
        return self.operator("SLICE", [x, self.ints(*begin), self.ints(*size)], [size], "SliceOptions")[0]

    def lstm(self, name, w, x):
        batch, steps, _ = self.shape(x[0])
        units = w["recurrent_kernel"].shape[0]
        if self.fused:
            y = self.fused_lstm(w, x[0], batch, steps, units)
            return self.reshape(self.slice(y, [0, steps - 1, 0], [batch, 1, units]), [batch, units])
        # Every step written out; what the inputs add to the gates is one product beforehand.
        gates = self.connected(x[0], w["kernel"], w["bias"])
        h, c = x[1:] if len(x) > 1 else (None, None)
        for step in range(steps):
            g = gates if steps == 1 else self.slice(gates, [0, step, 0], [batch, 1, 4 * units])
            g = self.reshape(g, [batch, 4 * units])
            if h is not None:
                g = self.one("ADD", g, self.connected(h, w["recurrent_kernel"], None), options="AddOptions")
            i, f, n, o = self.operator("SPLIT", [self.ints(1), g], [[batch, units]] * 4, "SplitOptions", numSplits=4)
            i, f, o, n = (self.one(k, t) for k, t in zip(("LOGISTIC", "LOGISTIC", "LOGISTIC", "TANH"), (i, f, o, n)))
            new = self.one("MUL", i, n, options="MulOptions")
            if c is not None:
                new = self.one("ADD", new, self.one("MUL", f, c, options="MulOptions"), options="AddOptions")
            c = new
            h = self.one("MUL", o, self.one("TANH", c), options="MulOptions")
        self.v[name + "/h"], self.v[name + "/c"] = h, c
        return h

    def fused_lstm(self, w, x, batch, steps, units):
        def gates(m):  # Keras and this operator: i f c o
            return [self.constant(part.T) for part in np.split(m, 4, axis=-1)]

        states = [self.tensor(f"state {k}", [batch, units], variable=True) for k in "hc"]
        none = [-1] * 3
        inputs = [x, *gates(w["kernel"]), *gates(w["recurrent_kernel"]), *none, *gates(w["bias"]),
                  -1, -1, *states, -1, -1, -1, -1]
        return self.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [[batch, steps, units]],
                             "UnidirectionalSequenceLSTMOptions",
                             fusedActivationFunction=schema.ActivationFunctionType.TANH)[0]


class Way(typing.NamedTuple):
    bytes: bytes
    resets: bool  # states must be reset before each call
    shapes: dict  # of the outputs


def models(row):
    """Each way there is."""
    if row.training:
        raise NotImplementedError("does not train")
    lstms = [layer for layer in row.layers if layer["kind"] == "LSTM"]
    fused = []
    if lstms and all(len(layer["inputs"]) == 1 for layer in lstms):
        fused.append(True)
    if all(row.data[la["inputs"][0]].shape[1] * 4 * la["attributes"]["units"] ** 2 <= largest for la in lstms):
        fused.append(False)
    made = [(Rows(row, f), f) for f in fused]
    return [Way(m.bytes, f, {n: m.shape(m.v[n]) for n in row.outputs}) for m, f in made]
