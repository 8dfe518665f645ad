"""Rows in PyTorch: eager, or through torch.compile (inductor, with constants frozen for inference)."""
import functools
import itertools
import math

import protocol  # first: it pins the process

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def tensor(a):
    return torch.from_numpy(a)


def gates(m, order):
    """Keras's gates, side by side in the last axis, in another order."""
    return m.reshape(*m.shape[:-1], len(order), -1)[..., order, :].reshape(m.shape)


class Decoder(nn.Module):
    """The row's additive decoder: a GRU cell that looks at the source before each step."""

    def __init__(self, w):
        super().__init__()
        w = {name.split("/", 1)[1]: x for name, x in w.items()}
        rows, units = w["gru/kernel"].shape
        self.query, self.cell = nn.Linear(*w["query/kernel"].shape, bias=False), nn.GRUCell(rows, units // 3)
        Net.fill(self.query, weight=w["query/kernel"].T)
        Net.fill(self, scale=w["attention/scale"])
        order = [1, 0, 2]  # Keras: z r h; PyTorch: r z n
        Net.fill(self.cell, weight_ih=gates(w["gru/kernel"], order).T,
                 weight_hh=gates(w["gru/recurrent_kernel"], order).T,
                 bias_ih=gates(w["gru/bias"][0], order), bias_hh=gates(w["gru/bias"][1], order))

    def forward(self, x, seen, keys):
        h, out = x.new_zeros(x.shape[0], self.cell.hidden_size), []
        for step in x.unbind(1):
            scores = torch.tanh(self.query(h).unsqueeze(1) + keys) @ self.scale
            context = (torch.softmax(scores, -1).unsqueeze(1) @ seen).squeeze(1)
            h = self.cell(torch.cat((step, context), -1), h)
            out.append(h)
        return torch.stack(out, 1)


class Net(nn.Module):
    """The layers of a row as PyTorch's users write them: images as NCHW, sequences with time first."""

    def __init__(self, row):
        super().__init__()
        self.row, self.mods, self.flat, self.acts, self.pads = row, nn.ModuleDict(), {}, {}, {}
        self.logits = row.sparse  # the loss takes the softmax
        shapes = {name: a.shape for name, a in row.data.items()}
        for layer in row.layers:
            kind, name, a = layer["kind"], layer["name"], layer["attributes"]
            w = {n.split("/", 1)[1]: x for n, x in row.weights.items() if n.startswith(name + "/")}
            self.acts[name] = a.get("activation", "linear")
            pad = self.pads.get(layer["inputs"][0], 0)
            if kind == "Dense":
                kernel = w["kernel"]
                size = self.flat.get(layer["inputs"][0])
                if size:  # rows of the kernel stand in the order of NHWC
                    h, wd, c = size
                    kernel = kernel.reshape(h, wd, c, -1).transpose(2, 0, 1, 3).reshape(kernel.shape)
                m = nn.Linear(*kernel.shape)
                self.fill(m, weight=kernel.T, bias=w["bias"])
            elif kind == "Conv2D":
                k = w["kernel"]
                padding = k.shape[0] // 2 if a.get("padding") == "same" else pad
                m = nn.Conv2d(k.shape[2], k.shape[3], k.shape[0], a.get("strides", 1), padding, bias="bias" in w)
                self.fill(m, weight=k.transpose(3, 2, 0, 1), **({"bias": w["bias"]} if "bias" in w else {}))
            elif kind == "DepthwiseConv2D":
                k = w["kernel"]
                m = nn.Conv2d(k.shape[2], k.shape[2], k.shape[0], 1, k.shape[0] // 2, groups=k.shape[2])
                self.fill(m, weight=k.transpose(2, 3, 0, 1), bias=w["bias"])
            elif kind == "BatchNormalization":
                m = nn.BatchNorm2d(len(w["gamma"]), eps=1e-3)
                self.fill(m, weight=w["gamma"], bias=w["beta"])
                m.running_mean, m.running_var = tensor(w["moving_mean"].copy()), tensor(w["moving_variance"].copy())
            elif kind == "LayerNormalization":
                m = nn.LayerNorm(len(w["gamma"]), eps=1e-3)
                self.fill(m, weight=w["gamma"], bias=w["beta"])
            elif kind == "GRU":
                m = nn.GRU(w["kernel"].shape[0], a["units"])
                order = [1, 0, 2]  # Keras: z r h; PyTorch: r z n
                self.fill(m, weight_ih_l0=gates(w["kernel"], order).T, weight_hh_l0=gates(w["recurrent_kernel"], order).T,
                          bias_ih_l0=gates(w["bias"][0], order), bias_hh_l0=gates(w["bias"][1], order))
            elif kind == "Bidirectional":
                inner = a["layer"]["config"]["units"]
                m = nn.LSTM(w["forward_lstm/kernel"].shape[0], inner, bidirectional=True)
                for prefix, suffix in (("forward_lstm/", ""), ("backward_lstm/", "_reverse")):
                    self.fill(m, **{"weight_ih_l0" + suffix: w[prefix + "kernel"].T,
                                    "weight_hh_l0" + suffix: w[prefix + "recurrent_kernel"].T,
                                    "bias_ih_l0" + suffix: w[prefix + "bias"],
                                    "bias_hh_l0" + suffix: 0 * w[prefix + "bias"]})
            elif kind == "MultiHeadAttention":
                size = w["query/kernel"].shape[0]
                m = nn.MultiheadAttention(size, a["num_heads"], batch_first=True)
                parts = ("query", "key", "value")
                self.fill(m, in_proj_weight=np.concatenate([w[p + "/kernel"].reshape(size, -1).T for p in parts]),
                          in_proj_bias=np.concatenate([w[p + "/bias"].reshape(-1) for p in parts]))
                self.fill(m.out_proj, weight=w["attention_output/kernel"].reshape(-1, size).T,
                          bias=w["attention_output/bias"])
            elif kind == "LSTM":
                m = nn.LSTM(w["kernel"].shape[0], a["units"])
                self.fill(m, weight_ih_l0=w["kernel"].T, weight_hh_l0=w["recurrent_kernel"].T, bias_ih_l0=w["bias"],
                          bias_hh_l0=0 * w["bias"])
                m.bias_hh_l0.requires_grad_(False)  # Keras has one bias
            elif kind == "RNN":
                m = Decoder(w)
            elif kind == "Embedding":
                if a.get("mask_zero"):
                    raise NotImplementedError("a mask with holes")
                m = nn.Embedding(*w["embeddings"].shape)
                self.fill(m, weight=w["embeddings"])
            else:
                m = None
            if m is not None:
                self.mods[name] = m
            if kind == "ZeroPadding2D":  # is the padding of what follows
                self.pads[name] = a["padding"]
            elif kind == "MaxPooling2D":
                self.pads[name + ":pool"] = pad
            if kind == "Flatten" and row.images:
                self.flat[name] = shapes[layer["inputs"][0]][1:]
            shapes[name] = self.shape_after(layer, shapes, w)

    @staticmethod
    def fill(module, **values):
        with protocol.aside():
            values = {name: value.copy() for name, value in values.items()}
        for name, value in values.items():
            setattr(module, name, nn.Parameter(tensor(value)))

    @staticmethod
    def shape_after(layer, shapes, w):
        """Of images only, in NHWC: what a Flatten needs to know."""
        s, a = shapes[layer["inputs"][0]], layer["attributes"]
        if layer["kind"] == "Conv2D":
            k, stride = a["kernel_size"], a.get("strides", 1)
            same = a.get("padding") == "same"
            return (s[0], *(-(-d // stride) if same else (d - k) // stride + 1 for d in s[1:3]), a["filters"])
        if layer["kind"] == "MaxPooling2D":
            return (s[0], s[1] // 2, s[2] // 2, s[3])
        return s

    def forward(self, *inputs):
        v = dict(zip((i["name"] for i in self.row.inputs), inputs))
        for layer in self.row.layers:
            kind, name = layer["kind"], layer["name"]
            x = [v[i] for i in layer["inputs"]]
            if kind == "LSTM":
                if layer["inputs"][0] not in self.row.data:
                    x[0] = x[0].transpose(0, 1)
                states = tuple(s.unsqueeze(0) for s in x[1:]) or None
                _, (h, c) = self.mods[name](x[0], states)
                v[name] = v[name + "/h"] = h[0]
                v[name + "/c"] = c[0]
                continue
            if kind == "GRU":
                y = self.mods[name](x[0])[1][0]
            elif kind == "Bidirectional":
                y = torch.cat(tuple(self.mods[name](x[0])[1][0]), -1)
            elif kind == "RNN":
                y = self.mods[name](*x)
            elif kind == "MultiHeadAttention":
                y = self.mods[name](x[0], x[1], x[1], need_weights=False)[0]
            elif name in self.mods:
                y = self.mods[name](x[0])
            elif kind in ("Activation", "ZeroPadding2D"):
                y = x[0]
            elif kind == "GlobalAveragePooling2D":
                y = x[0].mean((2, 3))
            elif kind == "Flatten":
                y = torch.flatten(x[0], 1)
            elif kind == "MaxPooling2D":
                size = layer["attributes"].get("pool_size", 2)
                y = F.max_pool2d(x[0], size, layer["attributes"].get("strides", size), self.pads[name + ":pool"])
            elif kind == "Add":
                y = x[0] + x[1]
            elif kind == "MatMul":
                y = torch.matmul(x[0], x[1].transpose(1, 2) if layer["attributes"].get("transpose_b") else x[1])
            elif kind == "Softmax":
                y = torch.softmax(x[0], -1)
            elif kind == "Attention":
                y = F.scaled_dot_product_attention(x[0], x[2] if len(x) > 2 else x[1], x[1], scale=1.0)
            elif kind == "GlobalAveragePooling1D":
                y = x[0].mean(1)
            else:
                raise NotImplementedError(kind)
            if self.acts[name] in ("relu", "gelu", "sigmoid"):
                y = getattr(F, self.acts[name])(y)
            elif self.acts[name] == "softmax" and not (self.logits and name == self.row.outputs[0]):
                y = torch.softmax(y, -1)
            v[name] = y
        out = tuple(v[n] for n in self.row.outputs)
        return out if len(out) > 1 else out[0]


def made(row):
    """Without drawing weights that are not kept."""
    with torch.device("meta"):
        return Net(row)


def inputs_of(row, channels_last):
    given = []
    for i in row.inputs:
        x = tensor(row.data[i["name"]])
        if row.images:
            x = x.permute(0, 3, 1, 2)
            x = x.contiguous(memory_format=torch.channels_last) if channels_last else x.contiguous()
        elif any(la["kind"] in ("LSTM", "GRU", "Bidirectional") and la["inputs"][0] == i["name"] for la in row.layers):
            x = x.transpose(0, 1).contiguous()
        given.append(x.long() if i["ids"] else x)
    return given


def reader(images):
    """Outputs as the row has them: images as NHWC."""
    def read(y):
        ys = y if isinstance(y, tuple) else (y,)
        return [(t.permute(0, 2, 3, 1) if images and t.dim() == 4 else t).contiguous().numpy() for t in ys]
    return read


def inference(row, channels_last, compiled):
    net, given = made(row).eval(), inputs_of(row, channels_last)
    if channels_last:
        net = net.to(memory_format=torch.channels_last)
    run = torch.compile(net, options={"freezing": True}, dynamic=False) if compiled else net
    mode = torch.no_grad if compiled else torch.inference_mode  # constants are frozen under no_grad

    def call():
        with mode():
            return run(*given)

    return call, reader(row.images)


def training(row, channels_last, compiled):
    net, given = made(row).train(), inputs_of(row, channels_last)
    if channels_last:
        net = net.to(memory_format=torch.channels_last)
    target = tensor(row.target)
    target = target.long() if row.sparse else target
    loss_of = F.cross_entropy if row.sparse else F.mse_loss
    weights = [p for p in net.parameters() if p.requires_grad]
    if row.training["optimizer"] == "Adam":
        optimizer = torch.optim.Adam(weights, lr=1e-3, eps=1e-7, fused=True)
    else:
        optimizer = torch.optim.SGD(weights, lr=1e-2, fused=True)
    run = torch.compile(net, dynamic=False) if compiled else net
    group, steps = optimizer.param_groups[0], itertools.count(1)

    def call():
        # Keras adds epsilon before the second moment is corrected, PyTorch after.
        group["eps"] = 1e-7 / math.sqrt(1 - 0.999 ** next(steps))
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(run(*given), target)
        loss.backward()
        optimizer.step()
        return loss

    return call, lambda loss: [loss.detach().numpy()]


def serve(compiled):
    def make(row, threads):
        torch.set_num_threads(threads)
        if compiled:
            torch._dynamo.reset()
        side = training if row.training else inference
        layouts = (False, True) if row.images else (False,)
        return protocol.faster([functools.partial(side, row, last, compiled) for last in layouts])

    torch.set_num_interop_threads(1)
    protocol.serve(make, f"PyTorch {torch.__version__}")
