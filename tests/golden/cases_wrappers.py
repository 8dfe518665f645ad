"""Goldens of layers inside layers: Bidirectional, TimeDistributed, models."""
import numpy as np

from cases_sequence import EMPTY, HOLES, LEFT, RIGHT, finish, normal
from record import Family, Nested, Net, kind

MASKS = {"right": RIGHT, "left": LEFT, "holes": HOLES, "row_all_masked": EMPTY}


def lstm(units=2, **config):
    return kind("LSTM", **{"name": "lstm", "units": units, **config})


def masked(rng, mask, features):
    x = normal(rng, *mask.shape, features)
    x[~mask] = 0
    return x


def bidirectional():
    f = Family("bidirectional")

    def plain(name, layer, time=5, batch=3, features=3, mask=None, free=False, arguments=None, extra=(), record=None,
              **attributes):
        net, rng = Net(), f.rng(name)
        x = net.input("x", (None if free else time, features))
        value = normal(rng, batch, time, features)
        if mask is not None:
            x, value = net.add("Masking", x), masked(rng, mask, features)
        out = net.add("Bidirectional", x, layer=layer, **attributes)
        finish(f, name, net, list(out) if isinstance(out, list) else out, [value, *extra], **(record or {}))

    for mode in ("concat", "sum", "mul", "ave", None):
        for sequences in (False, True):
            plain(f"{mode}{'_sequences' if sequences else ''}", lstm(return_sequences=sequences), merge_mode=mode)
        plain(f"{mode}_states", lstm(return_sequences=True, return_state=True), merge_mode=mode)
    plain("states", lstm(return_state=True))
    plain("free_time", lstm(return_sequences=True), free=True)
    plain("one_step", lstm(return_sequences=True), time=1, batch=1)
    plain("steps", lstm(), record={"optimizer": kind("Adam"), "steps": 3})
    plain("regularized", lstm(return_sequences=True, kernel_regularizer=kind("L2", l2=0.02),
                              recurrent_constraint=kind("MaxNorm", max_value=0.8, axis=0),
                              activity_regularizer=kind("L2", l2=0.1)), record={"steps": 2})
    plain("regularized_states", lstm(return_sequences=True, return_state=True,
                                     activity_regularizer=kind("L2", l2=0.1)))
    plain("dropout_inference", lstm(dropout=0.4), record={"loss": None})
    plain("frozen_inside", lstm(trainable=False), record={"loss": None})
    plain("frozen_half", lstm(), backward_layer=lstm(name="other", go_backwards=True, trainable=False),
          record={"steps": 2})
    plain("given_backward", lstm(return_sequences=True),
          backward_layer=lstm(units=3, name="other", go_backwards=True, return_sequences=True, use_bias=False))
    plain("reversed_roles", lstm(return_sequences=True, go_backwards=True),
          backward_layer=lstm(name="other", return_sequences=True))
    plain("reversed_roles_last", lstm(go_backwards=True), backward_layer=lstm(name="other"), merge_mode="sum")
    for tag, mask in MASKS.items():
        plain(f"mask_{tag}", lstm(), mask=mask)
        plain(f"mask_{tag}_sequences", lstm(return_sequences=True), mask=mask)
    plain("mask_apart_sequences", lstm(return_sequences=True, return_state=True), mask=HOLES, merge_mode=None)
    plain("mask_zero_output_is_forced", lstm(zero_output_for_mask=True), mask=RIGHT)
    plain("mask_reversed_roles", lstm(return_sequences=True, go_backwards=True), mask=HOLES,
          backward_layer=lstm(name="other", return_sequences=True))

    for sequences in (False, True):
        for mask in ("none", "carried", "given"):
            name = f"initial_state_{mask}_mask{'_sequences' if sequences else ''}"
            net, rng = Net(), f.rng(name)
            x = net.input("x", (5, 3))
            states = [net.input(n, (2,)) for n in ("fh", "fc", "bh", "bc")]
            arguments = {"initial_state": states}
            values = [masked(rng, HOLES, 3), *(normal(rng, 3, 2) for _ in range(4))]
            if mask == "given":
                arguments["mask"] = net.input("m", (5,), dtype="bool")
                values.append(HOLES)
            out = net.add("Bidirectional", net.add("Masking", x) if mask == "carried" else x, arguments=arguments,
                          layer=lstm(return_sequences=sequences, return_state=True), merge_mode="sum")
            finish(f, name, net, list(out), values)
    net, rng = Net(), f.rng("stacked")
    x = net.add("Bidirectional", net.add("Masking", net.input("x", (5, 3))), layer=lstm(return_sequences=True))
    out = net.add("Bidirectional", x, layer=lstm(units=3), merge_mode="ave")
    finish(f, "stacked", net, net.add("Dense", out, units=2), [masked(rng, RIGHT, 3)], steps=3)

    # Keras's attention over the steps of both directions, and the last steps without it.
    for attention in (False, True):
        name = "classifier_with_attention" if attention else "classifier"
        net, rng = Net(), f.rng("classifier")
        words = net.add("Embedding", net.input("words", (6,), dtype="int32"), input_dim=7, output_dim=3, mask_zero=True)
        both = net.add("Bidirectional", words, layer=lstm(return_sequences=attention))
        if attention:
            seen = net.add("AdditiveAttention", net.add("Dense", both, units=4, name="keys"), both)
            both = net.add("GlobalAveragePooling1D", seen)
        ids = rng.integers(1, 7, (4, 6)).astype(np.int32)
        ids[1, 4:] = ids[2, 2:] = 0
        finish(f, name, net, net.add("Dense", both, units=3, activation="softmax"), [ids],
               loss=kind("SparseCategoricalCrossentropy"), target=[np.array([0, 2, 1, 2], np.int32)], steps=3)

    for sequences in (False, True):
        for tag, mask in MASKS.items():
            net, name = Net(), f"backwards_zero_output_{tag}{'_sequences' if sequences else ''}"
            out = net.add("LSTM", net.add("Masking", net.input("x", (5, 3))), units=2, go_backwards=True,
                          zero_output_for_mask=True, return_sequences=sequences)
            finish(f, name, net, out, [masked(f.rng(name), mask, 3)])
    return f


def time_distributed():
    f = Family("time_distributed")

    def plain(name, layer, shape, mask=None, free=False, record=None):
        net, rng = Net(), f.rng(name)
        x = net.input("x", (None, *shape[2:]) if free else shape[1:])
        value = normal(rng, *shape)
        if mask is not None:
            x, value = net.add("Masking", x), masked(rng, mask, shape[-1])
        finish(f, name, net, net.add("TimeDistributed", x, layer=layer), [value], **(record or {}))

    def dense(units=2, **config):
        return kind("Dense", **{"name": "dense", "units": units, **config})

    plain("dense", dense(), (3, 4, 3), record={"steps": 2})
    plain("dense_free_time", dense(activation="tanh"), (3, 4, 3), free=True)
    plain("dense_masked", dense(), (3, 5, 3), mask=HOLES)
    plain("dense_masked_free_time", dense(), (3, 5, 3), mask=HOLES, free=True)
    plain("dense_of_images", dense(), (2, 3, 2, 2, 3))
    plain("dense_regularized", dense(kernel_regularizer=kind("L2", l2=0.1), activity_regularizer=kind("L2", l2=0.1)),
          (3, 4, 3), record={"steps": 2})
    plain("dense_frozen", dense(trainable=False), (3, 4, 3), record={"loss": None})
    plain("flatten", kind("Flatten", name="flatten"), (2, 3, 2, 2))
    plain("conv", kind("Conv2D", name="conv", filters=2, kernel_size=2, padding="same"), (2, 3, 4, 4, 2))
    plain("conv_free_time", kind("Conv2D", name="conv", filters=2, kernel_size=2), (2, 3, 4, 4, 2), free=True)
    plain("pooling", kind("GlobalMaxPooling2D", name="pooling"), (2, 3, 3, 3, 2))
    plain("lstm", lstm(), (2, 3, 4, 3))
    plain("lstm_sequences", lstm(return_sequences=True), (2, 3, 4, 3))
    mask = np.array([[[1, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1]], [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]], bool)
    plain("lstm_masked", lstm(return_sequences=True), (2, 3, 4, 3), mask=mask)
    plain("dropout_inference", kind("Dropout", name="dropout", rate=0.5), (2, 3, 4), record={"loss": None})
    plain("one_step", dense(), (2, 1, 3))
    # Over the samples of each step: one call on all steps would be something else.
    plain("unit_normalization_of_samples", kind("UnitNormalization", name="norm", axis=0), (3, 4, 2))
    plain("softmax_of_samples", kind("Softmax", name="softmax", axis=0), (3, 4, 2))
    plain("nested", kind("TimeDistributed", name="inside", layer=dense()), (2, 3, 4, 3))
    plain("nested_by_step", kind("TimeDistributed", name="inside",
                                 layer=kind("UnitNormalization", name="norm", axis=0)), (3, 2, 2, 2))
    plain("bidirectional", kind("Bidirectional", name="both", layer=lstm()), (2, 3, 4, 3))
    # Here the penalties of the layers inside the inner one count, one for each step.
    plain("bidirectional_penalties", kind("Bidirectional", name="both",
                                          layer=lstm(activity_regularizer=kind("L2", l2=0.3))), (2, 3, 4, 3))
    net, rng = Net(), f.rng("given_mask")
    out = net.add("TimeDistributed", net.input("x", (3, 4, 2)), layer=lstm(return_sequences=True),
                  arguments={"mask": net.input("m", (3, 4), dtype="bool")})
    finish(f, "given_mask", net, out, [normal(rng, 2, 3, 4, 2), mask])
    net, rng = Net(), f.rng("shared")
    layer = net.layer("TimeDistributed", layer=dense(units=3))
    finish(f, "shared", net, layer(layer(net.input("x", (2, 3)))), [normal(rng, 2, 2, 3)], steps=2)
    # A hidden state and heads by task: one for each step, one for the whole.
    net, rng = Net(), f.rng("heads")
    steps = net.add("Bidirectional", net.input("x", (4, 3)), layer=lstm(return_sequences=True))
    tags = net.add("TimeDistributed", steps, layer=dense(units=3, activation="softmax"), name="tags")
    topic = net.add("Dense", net.add("GlobalMaxPooling1D", steps), units=2, name="topic")
    finish(f, "heads", net, [tags, topic], [normal(rng, 2, 4, 3)],
           loss=[kind("SparseCategoricalCrossentropy"), kind("MeanSquaredError")],
           target=[np.array([[0, 1, 2, 0], [2, 2, 1, 0]], np.int32), normal(rng, 2, 2)], steps=2)
    return f


def nested_models():
    f = Family("nested_models")

    def encoder(name="encoder", **first):
        net = Net()
        h = net.add("Dense", net.input("x", (3,)), units=4, activation="tanh", **first)
        return Nested(net, net.add("Dense", h, units=2), name)

    def around(name, nested, calls=1, **record):
        net, rng = Net(), f.rng(name)
        inputs = [net.input(f"x{i}", (3,)) for i in range(calls)]
        layer = net.functional(nested)
        hidden = [layer(x) for x in inputs]
        hidden = net.add("Subtract", *hidden) if calls > 1 else hidden[0]
        finish(f, name, net, net.add("Dense", hidden, units=2), [normal(rng, 4, 3) for _ in inputs], **record)

    around("once", encoder(), steps=3)
    around("twice", encoder(), calls=2, steps=3)
    around("penalties", encoder(kernel_regularizer=kind("L2", l2=0.1), activity_regularizer=kind("L2", l2=0.2)),
           calls=2, steps=2)
    around("frozen_layer", encoder(trainable=False), steps=2)
    net = Net()
    h = net.functional(encoder("inside"))(net.input("z", (3,)))
    around("in_a_model_in_a_model", Nested(net, net.add("Dense", h, units=3), "outside"), steps=2)

    # Two inputs and two outputs.
    net = Net()
    a, b = net.input("a", (3,)), net.input("b", (2,))
    joined = net.add("Concatenate", a, b)
    both = [net.add("Dense", joined, units=2, name="first"), net.add("Dense", b, units=3, name="second")]
    pair = Nested(net, both, "pair")
    net, rng = Net(), f.rng("pair")
    out = net.functional(pair)(net.input("u", (3,)), net.input("v", (2,)))
    finish(f, "pair", net, net.add("Concatenate", *out), [normal(rng, 4, 3), normal(rng, 4, 2)], steps=2)

    # A mask that the model makes, one that it is given, one that it uses.
    net = Net()
    words = Nested(net, net.add("Embedding", net.input("ids", (5,), dtype="int32"), input_dim=6, output_dim=3,
                                mask_zero=True), "words")
    ids = np.array([[1, 2, 0, 4, 0], [5, 0, 0, 0, 0], [3, 3, 3, 1, 2]], np.int32)
    net = Net()
    out = net.add("LSTM", net.functional(words)(net.input("ids", (5,), dtype="int32")), units=2)
    finish(f, "makes_a_mask", net, out, [ids])
    for given in (False, True):
        net = Net()
        pooled = Nested(net, net.add("LSTM", net.add("Dense", net.input("x", (5, 3)), units=3), units=2), "reader")
        name = "is_given_a_mask" if given else "uses_a_carried_mask"
        net, rng = Net(), f.rng(name)
        x = net.input("x", (5, 3))
        values, arguments = [masked(rng, HOLES, 3)], {}
        if given:
            arguments["mask"] = net.input("m", (5,), dtype="bool")
            values.append(RIGHT)
        out = net.functional(pooled)(x if given else net.add("Masking", x), **arguments)
        finish(f, name, net, out, values)
    net = Net()
    steps = Nested(net, net.add("Dense", net.input("x", (5, 3)), units=3), "steps")
    net = Net()
    out = net.add("LSTM", net.functional(steps)(net.add("Masking", net.input("x", (5, 3)))), units=2)
    finish(f, "passes_a_mask_on", net, out, [masked(f.rng("passes_a_mask_on"), HOLES, 3)])

    # At every step: the penalties of the model's layers count there.
    for tag, first in (("", {}), ("_penalties", {"activity_regularizer": kind("L2", l2=0.3)})):
        step = encoder(**first)
        net, rng = Net(), f.rng("steps" + tag)
        out = net.add("TimeDistributed", net.input("x", (4, 3)), layer=step)
        finish(f, "at_every_step" + tag, net, out, [normal(rng, 2, 4, 3)], steps=2)

    # A controller fed with another model's hidden state.
    net = Net()
    _, h, c = net.add("LSTM", net.input("seen", (5, 3)), units=3, return_state=True)
    memory = Nested(net, [h, c], "memory")
    net, rng = Net(), f.rng("controller")
    x = net.input("x", (2,))
    state = net.functional(memory)(net.input("seen", (5, 3)))
    hidden = net.add("Dense", net.add("Concatenate", x, state[0]), units=4, activation="tanh", name="controller")
    action = net.add("Dense", hidden, units=3, activation="softmax", name="action")
    value = net.add("Dense", hidden, units=1, name="value")
    finish(f, "controller", net, [action, value], [normal(rng, 4, 2), normal(rng, 4, 5, 3)],
           loss=[kind("SparseCategoricalCrossentropy"), kind("MeanSquaredError")],
           target=[np.array([0, 2, 1, 1], np.int32), normal(rng, 4, 1)], steps=3)
    return f


FAMILIES = {"bidirectional": bidirectional, "time_distributed": time_distributed, "nested_models": nested_models}
