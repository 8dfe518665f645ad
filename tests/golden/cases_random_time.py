"""Goldens of random configurations of layers that know time: recurrent ones, wrappers, attention, nets of several."""
import numpy as np

from cases_random import cases, record
from cases_scan import OfCells
from record import Family, Net, kind

BOUNDED = ("tanh", "sigmoid", "relu", "hard_sigmoid", "softsign", "linear", "elu", "silu", "gelu", "hard_tanh",
           "softmax", "selu", "softplus", "mish", "leaky_relu")
GATES = ("sigmoid", "sigmoid", "hard_sigmoid", "softmax", "tanh")


def holes(d, batch, time, first=False):
    """A mask of any pattern; `first`: every row has its first step."""
    mask = d.r.random((batch, time)) < 0.6
    if d.chance(0.3):
        mask = np.arange(time) < d.r.integers(0, time + 1, (batch, 1))
    if first:
        mask[:, 0] = True
    return mask


def of_class(d, class_name, **more):
    """Options of a recurrent layer or cell, the layer's own left out."""
    gates = {} if class_name.startswith("SimpleRNN") else {"recurrent_activation": GATES}
    names = ("kernel", "recurrent", "bias")
    options = {"units": d.number(1, 4), **d.options(activation=BOUNDED, use_bias=(True, False), **gates)}
    if class_name.startswith("LSTM"):
        options |= d.options(unit_forget_bias=(True, False))
    if class_name.startswith("GRU"):
        options |= d.options(reset_after=(True, False))
    return options | d.weights(*names, activity=False, p=0.08) | more


def of_layer(d, class_name, **more):
    options = of_class(d, class_name) | d.options(return_sequences=(True, False), go_backwards=(True, False))
    options |= d.options(0.2, unroll=(True, False), zero_output_for_mask=(True, False))
    if class_name in ("GRU", "LSTM"):
        options |= d.options(0.2, implementation=(1, 2))
    return options | more


def timed(d, net, features, free=0.2):
    """A sequence, perhaps with a mask that it carries or that the call is given: reference, inputs, arguments."""
    batch, time = d.number(1, 3), d.number(1, 5)
    x, way = d.x(batch, time, features), d.one("none", "none", "carried", "given")
    ref = net.input("x", (None if d.chance(free) else time, features))
    if way == "none":
        return ref, [x], {}
    mask = holes(d, batch, time)
    if way == "given":
        return ref, [x, mask], {"mask": net.input("m", mask.shape[1:], "bool")}
    x[~mask] = 0
    return net.add("Masking", ref), [x], {}


def flat(*outputs):
    outputs = [o for each in outputs for o in (each if isinstance(each, list) else [each])]
    return outputs if len(outputs) > 1 else outputs[0]


def recurrent(f, name, d):
    class_name, net = d.one("LSTM", "GRU", "SimpleRNN"), Net()
    options = of_layer(d, class_name, **d.options(0.3, return_state=(True, False)))
    if class_name != "SimpleRNN":  # whose own Keras loses
        options |= d.options(0.1, activity_regularizer=d.regularizer)
    x, inputs, arguments = timed(d, net, d.number(1, 3), 0 if options.get("unroll") else 0.2)
    if d.chance(0.3):
        states = 2 if class_name == "LSTM" else 1
        arguments["initial_state"] = [net.input(f"s{i}", (options["units"],)) for i in range(states)]
        inputs += [d.x(len(inputs[0]), options["units"]) for _ in range(states)]
    trained = not d.chance(0.1)
    if not trained:
        options |= {"dropout": d.real(0, 0.9), "recurrent_dropout": d.real(0, 0.9)}
    h = net.add(class_name, x, arguments=arguments, **options)
    if not options.get("return_state") and d.chance(0.2):
        h = net.add("Dense", h, units=2)
    record(f, name, d, net, flat(h), inputs, trained)


def of_cells(f, name, d):
    def cell(tag):
        class_name = d.one("LSTMCell", "GRUCell", "SimpleRNNCell")
        return kind(class_name, name=tag, **of_class(d, class_name))

    inner = cell("inner")
    if d.chance(0.4):
        inner = kind("StackedRNNCells", cells=[cell(f"c{i}") for i in range(d.number(1, 3))], name="all")
    net = Net()
    x, inputs, arguments = timed(d, net, d.number(1, 3))
    options = d.options(return_sequences=(True, False), return_state=(True, False), go_backwards=(True, False),
                        zero_output_for_mask=(True, False))
    record(f, name, d, net, flat(OfCells(net, "RNN", "rnn", {"cell": inner, **options})(x, **arguments)), inputs)


def conv_lstm(f, name, d):
    n, net = d.number(1, 2), Net()
    shape, first = (d.number(1, 3), *d.sizes(n, 3, 4), d.number(1, 2)), d.chance(0.2)
    if first:
        shape = (shape[0], shape[-1], *shape[1:-1])
    inputs, arguments = [d.x(2, *shape)], {}
    x = net.input("x", shape)
    if d.chance(0.4):
        arguments["mask"] = net.input("m", shape[:1], "bool")
        inputs.append(holes(d, 2, shape[0]))
    steps = {"strides": d.each(n, 1, 2)} if d.chance(0.3) else (
        {"dilation_rate": d.number(1, 2)} if d.chance(0.3) else {})
    options = d.options(padding=("valid", "same"), activation=BOUNDED, recurrent_activation=GATES[:3],
                        use_bias=(True, False), unit_forget_bias=(True, False), return_sequences=(True, False),
                        return_state=(True, False), go_backwards=(True, False))
    h = net.add(f"ConvLSTM{n}D", x, arguments=arguments, filters=d.number(1, 2), kernel_size=d.each(n, 1, 2), **steps,
                **options, **({"data_format": "channels_first"} if first else {}))
    record(f, name, d, net, flat(h), inputs)


def both_ways(f, name, d):
    class_name, net = d.one("LSTM", "GRU", "SimpleRNN"), Net()
    options = of_class(d, class_name) | d.options(return_sequences=(True, False), go_backwards=(True, False))
    inner = kind(class_name, name="inner", **options, **d.options(0.2, return_state=(True, False)))
    attributes = d.options(0.7, merge_mode=("concat", "sum", "mul", "ave", None))
    if d.chance(0.2):
        other = {**options, "name": "other", "go_backwards": not options.get("go_backwards", False)}
        attributes["backward_layer"] = kind(class_name, **other)
    x, inputs, arguments = timed(d, net, d.number(1, 3))
    if d.chance(0.2):
        count = 4 if class_name == "LSTM" else 2
        arguments["initial_state"] = [net.input(f"s{i}", (options["units"],)) for i in range(count)]
        inputs += [d.x(len(inputs[0]), options["units"]) for _ in range(count)]
    record(f, name, d, net, flat(net.add("Bidirectional", x, arguments=arguments, layer=inner, **attributes)), inputs)


def at_each_step(f, name, d):
    net, batch, time, width = Net(), d.number(1, 3), d.number(1, 4), d.number(2, 4)
    class_name = d.one("Dense", "Dense", "LayerNormalization", "BatchNormalization", "Conv1D", "LSTM", "GRU", "Flatten",
                       "Activation", "GlobalMaxPooling1D", "MaxPooling1D", "TimeDistributed", "Bidirectional", "ReLU")
    shape, config = (time, width), {}
    if class_name in ("Conv1D", "LSTM", "GRU", "Flatten", "GlobalMaxPooling1D", "MaxPooling1D", "TimeDistributed",
                      "Bidirectional"):
        shape = (time, d.number(2, 4), width)
    if class_name == "Dense":
        config = {"units": d.number(1, 4), **d.options(activation=d.activation), **d.weights("kernel", "bias")}
    elif class_name == "Conv1D":
        config = {"filters": 2, "kernel_size": 2, **d.options(padding=("same", "causal"), activation=d.activation)}
    elif class_name in ("LSTM", "GRU"):
        config = of_class(d, class_name) | d.options(return_sequences=(True, False), go_backwards=(True, False))
    elif class_name == "Activation":
        config = {"activation": d.activation()}
    elif class_name == "TimeDistributed":
        config = {"layer": kind("Dense", units=3, name="dense")}
    elif class_name == "Bidirectional":
        config = {"layer": kind("GRU", name="inner", **of_class(d, "GRU"))}
    x = net.input("x", (None if d.chance(0.2) and class_name != "BatchNormalization" else time, *shape[1:]))
    value = d.x(batch, *shape)
    if d.chance(0.3) and len(shape) == 2:
        value[~holes(d, batch, time)] = 0
        x = net.add("Masking", x)
    h = net.add("TimeDistributed", x, layer=kind(class_name, name="inner", **config))
    if class_name in ("BatchNormalization", "LayerNormalization"):  # a mean's gradient is 0
        h = net.add("Dense", h, units=2, activation="tanh")
    record(f, name, d, net, h, [value])


def pair_attention(f, name, d):
    class_name, net = d.one("Attention", "AdditiveAttention"), Net()
    batch, tq, tv = d.sizes(3, 1, 4)
    width, deep = d.number(2, 4), d.number(1, 4)
    key = d.chance()
    refs = [net.input("query", (tq, width)), net.input("value", (tv, deep if key else width))]
    inputs = [d.x(batch, tq, width), d.x(batch, tv, deep if key else width)]
    if key:
        refs.append(net.input("key", (tv, width)))
        inputs.append(d.x(batch, tv, width))
    options = d.options(use_scale=(True, False))
    if class_name == "Attention":
        options |= d.options(score_mode=("dot", "concat"))
    given = d.options(use_causal_mask=(True, False), return_attention_scores=(True, False))
    if d.chance(0.5):
        masks = [holes(d, batch, tq) if d.chance() else None, holes(d, batch, tv, True)]
        given["mask"] = [None if m is None else net.input(n, m.shape[1:], "bool") for m, n in zip(masks, ("qm", "vm"))]
        inputs += [m for m in masks if m is not None]
    refs = [net.add("Dense", r, units=i.shape[-1], use_bias=False) for r, i in zip(refs, inputs)]
    trained = not d.chance(0.1)
    if not trained:
        options["dropout"] = d.real(0, 0.9)
    record(f, name, d, net, flat(net.layer(class_name, **options)(*refs, **given)), inputs, trained)


def heads(f, name, d):
    grouped, net = d.chance(0.4), Net()
    batch, tq, tv = d.sizes(3, 1, 4)
    itself, widths = d.chance(0.4), d.sizes(3, 2, 4)
    names = ["query"] if itself else ["query", "value", "key"][:d.number(2, 3)]
    times = (tq, tv, tv)
    width = (lambda i: widths[0]) if grouped else (lambda i: widths[i])
    inputs = [d.x(batch, times[i], width(i)) for i in range(len(names))]
    refs = [net.input(n, i.shape[1:]) for n, i in zip(names, inputs)]
    if itself:
        refs, tv = refs * 2, tq
    if grouped:
        groups = d.number(1, 2)
        options = {"head_dim": d.number(1, 3), "num_key_value_heads": groups,
                   "num_query_heads": groups * d.number(1, 2)}
    else:
        options = {"num_heads": d.number(1, 3), "key_dim": d.number(1, 3), **d.options(
            0.3, value_dim=lambda: d.number(1, 3), output_shape=(3, [2, 2]))}
    options |= d.options(0.4, use_bias=(True, False), use_gate=(True, False), sliding_window=lambda: d.number(1, 3))
    options |= d.options(0.1, kernel_regularizer=d.regularizer, bias_regularizer=d.regularizer)
    given = d.options(0.4, use_causal_mask=(True, False), return_attention_scores=(True, False))
    if d.chance(0.4):
        mask = d.r.random((batch, tq, tv)) < 0.6
        mask |= np.eye(tq, tv, dtype=bool)
        mask[..., 0] |= ~mask.any(-1)
        given["attention_mask"] = net.input("pairs", mask.shape[1:], "bool")
        inputs.append(mask)
    class_name = "GroupQueryAttention" if grouped else "MultiHeadAttention"
    outputs = flat(net.layer(class_name, **options)(*refs, **given))
    if isinstance(outputs, list):  # Keras hangs the pairs' mask on the scores, by which a loss can't weigh
        outputs[1] = net.add("Permute", outputs[1], dims=[1, 2, 3])
    record(f, name, d, net, outputs, inputs)


def reader(f, name, d):
    """A classifier of sentences."""
    net, words, classes = Net(), 7, d.number(2, 4)
    batch, time = d.number(2, 4), d.number(3, 5)
    ids = d.r.integers(1, words, (batch, time)).astype(np.int32)
    ids[~holes(d, batch, time, True)] = 0
    h = net.add("Embedding", net.input("ids", (time,), "int32"), input_dim=words, output_dim=3,
                **d.options(mask_zero=(True,)))
    for _ in range(d.number(0, 2)):
        part = d.one("GRU", "LSTM", "Bidirectional", "Dense", "LayerNormalization", "Add", "attention")
        if part in ("GRU", "LSTM"):
            h = net.add(part, h, return_sequences=True, **of_class(d, part, units=3))
        elif part == "Bidirectional":
            h = net.add(part, h, layer=kind("GRU", units=3, return_sequences=True, name="inner"), merge_mode="ave")
        elif part == "attention":
            h = net.add("Add", h, net.add("MultiHeadAttention", h, h, num_heads=2, key_dim=2))
        elif part == "Add":
            h = net.add("Add", h, net.add("Dense", h, units=3, activation=d.activation()))
        else:
            h = net.add(part, h, **({"units": 3, "activation": d.activation()} if part == "Dense" else {}))
    last = d.one("GRU", "LSTM", "SimpleRNN", "GlobalAveragePooling1D", "GlobalMaxPooling1D")
    h = net.add(last, h, **({} if "Pooling" in last else of_class(d, last)))
    record(f, name, d, net, net.add("Dense", h, units=classes, activation="softmax"), [ids],
           loss=kind("SparseCategoricalCrossentropy"), target=d.r.integers(0, classes, batch).astype(np.int32))


def picture(f, name, d):
    """A classifier of images."""
    net, classes, batch = Net(), d.number(2, 4), d.number(2, 3)
    shape = (*d.sizes(2, 5, 6), d.number(1, 2))
    h = net.input("x", shape)
    for _ in range(d.number(1, 2)):
        class_name = d.one("Conv2D", "SeparableConv2D", "Conv2DTranspose")
        h = net.add(class_name, h, filters=3, kernel_size=d.number(1, 3), padding="same", **d.options(strides=(1, 2)))
        if d.chance():
            h = net.add(d.one("BatchNormalization", "LayerNormalization"), h)
        h = net.add("Activation", h, activation=d.one("relu", "gelu", "silu", "elu", "tanh"))
        if d.chance(0.3):
            h = net.add("Add", h, net.add("Conv2D", h, filters=3, kernel_size=3, padding="same"))
        if d.chance(0.3):
            h = net.add(d.one("MaxPooling2D", "AveragePooling2D"), h, pool_size=2, padding="same")
    h = net.add(d.one("Flatten", "GlobalAveragePooling2D", "GlobalMaxPooling2D"), h)
    logits = d.chance()
    record(f, name, d, net, net.add("Dense", h, units=classes, activation="linear" if logits else "softmax"),
           [d.x(batch, *shape)], loss=kind("SparseCategoricalCrossentropy", from_logits=logits),
           target=d.r.integers(0, classes, batch).astype(np.int32))


def random_recurrent():
    f = Family("random_recurrent")
    cases(f, 50, [recurrent])
    cases(f, 12, [of_cells, conv_lstm])
    return f


def random_wrappers():
    f = Family("random_wrappers")
    cases(f, 20, [both_ways, at_each_step])
    return f


def random_attention():
    f = Family("random_attention")
    cases(f, 35, [pair_attention, heads])
    return f


def random_nets():
    f = Family("random_nets")
    cases(f, 12, [reader, picture])
    return f


FAMILIES = {"random_recurrent": random_recurrent, "random_wrappers": random_wrappers,
            "random_attention": random_attention, "random_nets": random_nets}
