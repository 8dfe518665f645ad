"""The arithmetic of a row: what bounds its time from below."""
from math import prod


def flops(row, training):
    """Multiplications and additions of the products of a call; of a step three times as many, but for the products
    that would give gradients of the inputs, which nobody asks for."""
    shapes = {i["name"]: i["shape"] for i in row["inputs"]}
    ids = {i["name"] for i in row["inputs"] if i["ids"]}
    total = 0
    for layer in row["layers"]:
        kind, name, a = layer["kind"], layer["name"], layer["attributes"]
        x = [shapes[n] for n in layer["inputs"]]
        s, count = x[0], 0
        if kind == "Dense":
            shapes[name] = [*s[:-1], a["units"]]
            count = 2 * prod(s) * a["units"]
        elif kind == "Conv2D":
            k, stride = a["kernel_size"], a.get("strides", 1)
            same = a.get("padding") == "same"
            size = [-(-d // stride) if same else (d - k) // stride + 1 for d in s[1:3]]
            shapes[name] = [s[0], *size, a["filters"]]
            count = 2 * prod(shapes[name]) * k * k * s[3]
        elif kind == "LSTM":
            u = a["units"]
            shapes[name] = shapes[name + "/h"] = shapes[name + "/c"] = [s[0], u]
            count = 2 * s[0] * s[1] * (s[2] + u) * 4 * u
        elif kind in ("GRU", "Bidirectional"):
            both = kind == "Bidirectional"  # of an LSTM
            u = a["layer"]["config"]["units"] if both else a["units"]
            shapes[name] = [s[0], u * (1 + both)]
            count = 2 * s[0] * s[1] * (s[2] + u) * u * (8 if both else 3)
        elif kind == "RNN":  # the additive decoder: its cell looks at the source, then steps
            u = s[2]
            shapes[name] = s
            count = 2 * prod(s[:2]) * (u * u + 2 * x[1][1] * u + 9 * u * u)
        elif kind == "MultiHeadAttention":
            u = a["num_heads"] * a["key_dim"]
            shapes[name] = s
            count = 2 * prod(s[:2]) * (4 * s[2] * u + 2 * x[1][1] * u)
        elif kind == "DepthwiseConv2D":
            shapes[name] = s
            count = 2 * prod(s) * a["kernel_size"] ** 2
        elif kind == "ZeroPadding2D":
            shapes[name] = [s[0], *(d + 2 * a["padding"] for d in s[1:3]), s[3]]
        elif kind == "GlobalAveragePooling2D":
            shapes[name] = [s[0], s[3]]
        elif kind == "MatMul":
            n = x[1][1 if a.get("transpose_b") else 2]
            shapes[name] = [*s[:2], n]
            count = 2 * prod(s) * n
        elif kind == "Attention":
            shapes[name] = [*s[:2], x[1][2]]
            count = 2 * prod(s[:2]) * x[1][1] * (s[2] + x[1][2])
        elif kind == "MaxPooling2D":
            size, stride = a.get("pool_size", 2), a.get("strides", a.get("pool_size", 2))
            shapes[name] = [s[0], *((d - size) // stride + 1 for d in s[1:3]), s[3]]
        elif kind == "Flatten":
            shapes[name] = [s[0], prod(s[1:])]
        elif kind == "Embedding":
            shapes[name] = [*s, a["output_dim"]]
        elif kind == "GlobalAveragePooling1D":
            shapes[name] = [s[0], s[2]]
        else:
            shapes[name] = s
        first = layer["inputs"][0] in {i["name"] for i in row["inputs"]} - ids
        if kind == "LSTM" and first and training:
            total += 3 * count - 2 * s[0] * s[1] * s[2] * 4 * a["units"]
        else:
            total += count * (1 if not training else 2 if first else 3)
    return total
