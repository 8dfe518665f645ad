"""Goldens of recurrent layers that run as a scan: each kind with each option, masks, states, training."""
import keras
import numpy as np

from cases_sequence import EMPTY, LEFT, MASKS, finish, normal
from record import Family, Layer, Net, inner, kind

ADAM = kind("Adam", learning_rate=0.05)


def recurrent():
    f = Family("recurrent")

    def states_of(class_name):
        return 2 if class_name == "LSTM" else 1

    def plain(class_name, tag, batch=2, time=4, features=3, units=3, free=False, training=False, **attributes):
        net, name = Net(), f"{class_name.lower()}_{tag}"
        out = net.add(class_name, net.input("x", (None if free else time, features)), units=units, **attributes)
        options = {"optimizer": ADAM, "steps": 3} if training else {}
        finish(f, name, net, out, [normal(f.rng(name), batch, time, features)], **options)

    def masked(class_name, tag, mask, given=False, **attributes):
        net, name = Net(), f"{class_name.lower()}_mask_{tag}"
        x, m = net.input("x", (5, 3)), net.input("m", (5,), "bool")
        rng = f.rng(name)
        inputs, arguments = [normal(rng, 3, 5, 3), mask], {"mask": m}
        if given:
            arguments["initial_state"] = [net.input(f"s{i}", (2,)) for i in range(states_of(class_name))]
            inputs += [normal(rng, 3, 2) for _ in range(states_of(class_name))]
        out = net.add(class_name, x, arguments=arguments, units=2, return_state=True, **attributes)
        finish(f, name, net, out, inputs)

    def every_option(class_name, base, short):
        def one(tag, **more):
            plain(class_name, f"{short}{tag}", **base, **more)

        one("plain", training=True)
        one("one_step", time=1)
        one("batch_1", batch=1, return_sequences=True)
        one("odd_17_units", features=5, units=17)
        one("sequences", return_sequences=True, training=True)
        one("backwards", go_backwards=True)
        one("backwards_sequences", go_backwards=True, return_sequences=True)
        one("no_bias", use_bias=False)
        one("relu", activation="relu")
        one("linear", activation="linear")
        one("softmax", activation="softmax")
        one("regularized", kernel_regularizer=kind("L2", l2=0.02), recurrent_regularizer=kind("L1", l1=0.02),
            bias_regularizer=kind("L2", l2=0.05), recurrent_constraint=kind("MaxNorm", max_value=0.8, axis=0),
            activity_regularizer=kind("L2", l2=0.1), bias_initializer=kind("RandomUniform"), training=True)
        one("free_time", free=True)
        for tag, mask in MASKS.items():
            for back in (False, True):
                masked(class_name, f"{short}{tag}{'_backwards' if back else ''}", mask, go_backwards=back,
                       return_sequences=back == (tag != "left"), **base)
        masked(class_name, f"{short}states", EMPTY, given=True, return_sequences=True, **base)
        masked(class_name, f"{short}states_last", LEFT, given=True, **base)
        for back in (False, True):
            for sequences in (False, True):
                masked(class_name, f"{short}zeros{'_backwards' if back else ''}{'_sequences' if sequences else ''}",
                       MASKS["holes"], given=sequences, go_backwards=back, return_sequences=sequences,
                       zero_output_for_mask=True, **base)

    every_option("GRU", {}, "")
    every_option("GRU", {"reset_after": False}, "reset_before_")
    every_option("SimpleRNN", {}, "")
    for class_name in ("GRU", "LSTM"):
        plain(class_name, "implementation_1", implementation=1, return_sequences=True)
        plain(class_name, "hard_sigmoid", recurrent_activation="hard_sigmoid")
        plain(class_name, "softmax_gates", recurrent_activation="softmax", return_sequences=True)
    for class_name in ("GRU", "LSTM", "SimpleRNN"):
        net, name = Net(), f"{class_name.lower()}_dropouts_inference"
        out = net.add(class_name, net.input("x", (4, 3)), units=3, dropout=0.3, recurrent_dropout=0.2)
        finish(f, name, net, out, [normal(f.rng(name), 2, 4, 3)], loss=None)
    net = Net()
    source, goal = net.input("source", (None, 4)), net.input("goal", (None, 2))
    _, h = net.add("GRU", source, units=3, return_state=True, name="encoder")
    decoded = net.add("GRU", goal, arguments={"initial_state": [h]}, units=3, return_sequences=True, name="decoder")
    out = net.add("Dense", decoded, units=2, name="head")
    rng = f.rng("seq2seq")
    finish(f, "gru_encoder_decoder", net, out, [normal(rng, 3, 5, 4), normal(rng, 3, 4, 2)], optimizer=ADAM, steps=3)
    net = Net()
    a, b = net.input("a", (5, 4)), net.input("b", (3, 4))
    shared = net.layer("GRU", units=3)
    out = net.add("Concatenate", shared(a), shared(b))
    rng = f.rng("shared")
    finish(f, "gru_shared", net, out, [normal(rng, 2, 5, 4), normal(rng, 2, 3, 4)])
    return f


class OfCells(Layer):
    """A layer with cells as attributes, or a cell; its nested results one after the other."""

    def __init__(self, net, class_name, name, attributes):
        self.net, self.kind, self.name, self.attributes = net, class_name, name, attributes
        self.entry = {"class_name": class_name, "name": name, "version": 1, "config": attributes, "calls": []}
        net.layers.append(self.entry)
        layer = getattr(keras.layers, class_name)(name=name, **{key: inner(v) for key, v in attributes.items()})
        self.keras = lambda x, **given: keras.tree.flatten(layer(x, **given))


def cells():
    f = Family("cells")
    stack = [kind("GRUCell", units=3, name="first"), kind("LSTMCell", units=2, name="second")]
    kinds = {"simple": kind("SimpleRNNCell", units=3, name="inner"), "gru": kind("GRUCell", units=3, name="inner"),
             "gru_before": kind("GRUCell", units=2, reset_after=False, recurrent_activation="hard_sigmoid", name="inner"),
             "lstm": kind("LSTMCell", units=3, activation="relu", name="inner"),
             "stack": kind("StackedRNNCells", cells=stack, name="all"),
             "stack_of_one": kind("StackedRNNCells", cells=stack[1:], name="all")}
    for tag, cell in kinds.items():
        net, name = Net(), f"rnn_{tag}"
        out = OfCells(net, "RNN", "rnn", {"cell": cell, "return_sequences": tag != "gru"})(net.input("x", (4, 3)))
        finish(f, name, net, out, [normal(f.rng(name), 2, 4, 3)], optimizer=ADAM, steps=2)
    for tag in ("gru", "lstm", "stack"):
        net, name = Net(), f"rnn_{tag}_mask"
        x, m = net.input("x", (5, 3)), net.input("m", (5,), "bool")
        attributes = {"cell": kinds[tag], "return_state": True, "return_sequences": True, "go_backwards": tag == "lstm"}
        out = OfCells(net, "RNN", "rnn", attributes)(x, mask=m)
        finish(f, name, net, out, [normal(f.rng(name), 3, 5, 3), MASKS["holes"]])
    net = Net()
    x, h = net.input("x", (4, 3)), net.input("h", (3,))
    out = OfCells(net, "RNN", "rnn", {"cell": kinds["gru"]})(x, initial_state=[h])
    rng = f.rng("given")
    finish(f, "rnn_initial_state", net, out, [normal(rng, 2, 4, 3), normal(rng, 2, 3)])
    for class_name, count in {"SimpleRNNCell": 1, "GRUCell": 1, "LSTMCell": 2}.items():
        net, name = Net(), class_name.lower()
        x, states = net.input("x", (3,)), [net.input(f"s{i}", (2,)) for i in range(count)]
        out = OfCells(net, class_name, "inner", {"units": 2})(x, states=states)
        rng = f.rng(name)
        finish(f, name, net, out, [normal(rng, 3, 3), *(normal(rng, 3, 2) for _ in states)])
    return f


def conv_lstm():
    f = Family("conv_lstm")

    def one(class_name, tag, shape, mask=None, **attributes):
        net, name = Net(), f"{class_name.lower()}_{tag}"
        x, inputs = net.input("x", shape), [normal(f.rng(name), 2, *shape)]
        arguments = {}
        if mask is not None:
            arguments["mask"] = net.input("m", shape[:1], "bool")
            inputs.append(mask)
        out = net.add(class_name, x, arguments=arguments, filters=2, **attributes)
        # Of gradients near 0 Adam, which divides by their size, would show the rounding.
        finish(f, name, net, out, inputs, optimizer=kind("SGD", learning_rate=0.5), steps=2)

    holes = np.array([[1, 0, 1], [0, 1, 1]], bool)
    shapes = {"ConvLSTM1D": (3, 5, 2), "ConvLSTM2D": (3, 4, 5, 2), "ConvLSTM3D": (3, 3, 4, 3, 2)}
    for class_name, shape in shapes.items():
        one(class_name, "plain", shape, kernel_size=2)
        one(class_name, "same_sequences", shape, kernel_size=3, padding="same", return_sequences=True)
        one(class_name, "strides", shape, kernel_size=2, strides=2, go_backwards=True, return_state=True)
        one(class_name, "dilation", shape, kernel_size=2, dilation_rate=2, use_bias=False, activation="relu")
        one(class_name, "mask", shape, mask=holes, kernel_size=2, return_state=True, unit_forget_bias=False,
            recurrent_activation="hard_sigmoid")
        one(class_name, "regularized", shape, kernel_size=1, return_sequences=True,
            kernel_regularizer=kind("L2", l2=0.02), recurrent_constraint=kind("MaxNorm", max_value=0.8, axis=0))
        first = {"shape": (3, 2, *shape[1:-1]), "data_format": "channels_first"}
        one(class_name, "channels_first", **first, kernel_size=2, strides=2, return_state=True, mask=holes)
        one(class_name, "channels_first_sequences", **first, kernel_size=3, padding="same", return_sequences=True,
            activation="softmax", go_backwards=True)
    return f


FAMILIES = {"recurrent": recurrent, "cells": cells, "conv_lstm": conv_lstm}
