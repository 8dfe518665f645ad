"""Goldens of masks that inputs carry against masks that are given, for every layer that takes several tensors."""
import numpy as np

from cases_sequence import EMPTY, HOLES, IDS, LEFT, MASKS, RIGHT, finish, normal
from record import Family, Nested, Net, kind

GOALS = np.array([[1, 2, 0, 0], [3, 0, 4, 5], [6, 7, 8, 9]], np.int32)


def sequence(rng, mask, features):
    x = normal(rng, *mask.shape, features)
    x[~mask] = 0
    return x


def recurrent(f):
    """With an initial state Keras passes the carried mask on and takes every step; a given mask is used."""
    sgd = kind("SGD", learning_rate=0.1)

    def carried(name, mask, given=None, head=False, steps=0, **attributes):
        net, rng = Net(), f.rng(name)
        x, h, c = net.input("x", (5, 4)), net.input("h", (3,)), net.input("c", (3,))
        values = [sequence(rng, mask, 4), normal(rng, 3, 3), normal(rng, 3, 3)]
        arguments = {"initial_state": [h, c]}
        if given is not None:
            arguments["mask"] = net.input("m", (5,), "bool")
            values.append(given)
        out = net.add("LSTM", net.add("Masking", x), arguments=arguments, units=3, return_state=True, **attributes)
        if head:
            out[0] = net.add("Dense", out[0], units=2)
        finish(f, name, net, out, values, steps=steps, optimizer=sgd if steps else None)

    for tag, mask in MASKS.items():
        for sequences in (False, True):
            for back in (False, True):
                carried(f"state_{tag}{'_sequences' if sequences else ''}{'_backwards' if back else ''}", mask,
                        return_sequences=sequences, go_backwards=back, steps=2 if sequences and not back else 0)
    carried("state_head", HOLES, head=True, return_sequences=True, steps=3)
    carried("state_zero_output", HOLES, return_sequences=True, zero_output_for_mask=True)
    carried("state_zero_output_given", LEFT, HOLES, return_sequences=True, zero_output_for_mask=True)
    carried("state_given_wins", RIGHT, HOLES, return_sequences=True, steps=2)
    carried("state_given_wins_head", LEFT, EMPTY, head=True, return_sequences=True)
    carried("state_given_wins_last", RIGHT, HOLES)

    def decoder(name, second=False, **attributes):
        net, rng = Net(), f.rng(name)
        texts = [net.add("Embedding", net.input(n, (None,), "int32"), input_dim=10, output_dim=4, mask_zero=True,
                         name=n + "s") for n in ("source", "goal")]
        _, h, c = net.add("LSTM", texts[0], units=3, return_state=True, name="encoder")
        out = net.add("LSTM", texts[1], arguments={"initial_state": [h, c]}, units=3, return_sequences=True,
                      name="decoder", **attributes)
        if second:
            out = net.add("LSTM", out, units=4, return_sequences=True, name="second")
        finish(f, name, net, net.add("Dense", out, units=2, name="head"), [IDS, GOALS], steps=3, optimizer=sgd)

    decoder("decoder")
    decoder("decoder_two_deep", second=True)
    decoder("decoder_backwards", go_backwards=True)
    net, rng = Net(), f.rng("shared")
    x, h, c = net.input("x", (5, 4)), net.input("h", (3,)), net.input("c", (3,))
    masked, shared = net.add("Masking", x), net.layer("LSTM", units=3, return_sequences=True)
    out = [shared(masked), shared(masked, initial_state=[h, c])]
    finish(f, "shared_with_and_without_state", net, out,
           [sequence(rng, HOLES, 4), normal(rng, 3, 3), normal(rng, 3, 3)], steps=2, optimizer=sgd)
    net, rng = Net(), f.rng("states")
    x, h, c = net.input("x", (5, 4)), net.input("h", (3,)), net.input("c", (3,))
    states = [net.add("Masking", h), net.add("Masking", c)]
    out = net.add("LSTM", x, arguments={"initial_state": states}, units=3, return_sequences=True)
    state = normal(rng, 3, 3)
    state[1] = 0
    finish(f, "states_carry_masks", net, out, [normal(rng, 3, 5, 4), state, normal(rng, 3, 3)])


def attentions(f):
    query = np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]], bool)

    def one(name, class_name, carry, given=None, then=None, steps=0, **options):
        """`carry`: which of query, value and key carry a mask; `given`: the masks of the call."""
        net, rng = Net(), f.rng(name)
        own = {"query": query, "value": HOLES, "key": RIGHT}
        parts = ["query", "value", "key"] if "key" in carry or options.pop("key", False) else ["query", "value"]
        values, refs = [], []
        for part in parts:
            x = net.input(part, (own[part].shape[1], 3))
            values.append(sequence(rng, own[part], 3))
            x = net.add("Masking", x) if part in carry else net.add("Activation", x, activation="linear")
            refs.append(net.add("Dense", x, units=3, use_bias=part != "key", name=part + "_in"))
        arguments = {k: options.pop(k) for k in ("use_causal_mask", "return_attention_scores") if k in options}
        if given:
            arguments["mask"] = []
            for tag, mask in zip(("query_mask", "value_mask", "key_mask"), given):
                arguments["mask"].append(None if mask is None else net.input(tag, mask.shape[1:], "bool"))
                values += [] if mask is None else [mask]
        out = net.layer(class_name, **options)(*refs, **arguments)
        if then:
            out = net.add(then, out, units=2, **({"return_sequences": True} if then == "LSTM" else {}))
        finish(f, name, net, out, values, steps=steps)

    for class_name in ("Attention", "AdditiveAttention"):
        tag = "dot" if class_name == "Attention" else "additive"
        for carry in (("query",), ("value",), ("key",), ("query", "value"), ("value", "key"), ("query", "key"),
                      ("query", "value", "key")):
            one(f"{tag}_{'_'.join(carry)}", class_name, carry, steps=2 if len(carry) == 3 else 0)
        every = ("query", "value", "key")
        one(f"{tag}_scores", class_name, every, return_attention_scores=True)
        one(f"{tag}_causal", class_name, ("query",), use_causal_mask=True, return_attention_scores=True)
        one(f"{tag}_dense", class_name, every, then="Dense", steps=2)
        one(f"{tag}_lstm", class_name, every[:2], then="LSTM")
        given = np.array([[1, 0, 1, 1], [1, 1, 1, 0], [0, 1, 1, 1]], bool)
        one(f"{tag}_given_both", class_name, every, (given, EMPTY | HOLES), then="Dense")
        one(f"{tag}_given_query", class_name, every, (given, None), then="Dense")
        one(f"{tag}_given_value", class_name, every, (None, LEFT), then="Dense")
        one(f"{tag}_given_three", class_name, every, (given, LEFT, HOLES), then="Dense", steps=2)
        one(f"{tag}_given_three_for_two", class_name, every[:2], (given, LEFT, HOLES), then="Dense")
        one(f"{tag}_given_two_for_three", class_name, ("query",), (None, LEFT), then="Dense", key=True)
    for class_name in ("Attention", "AdditiveAttention"):
        net = Net()
        source, goal = (net.add("Embedding", net.input(n, (None,), "int32"), input_dim=10, output_dim=4,
                                mask_zero=True, name=n + "s") for n in ("source", "goal"))
        seen, h, c = net.add("LSTM", source, units=3, return_sequences=True, return_state=True, name="encoder")
        out = net.add("LSTM", goal, arguments={"initial_state": [h, c]}, units=3, return_sequences=True, name="decoder")
        out = net.add("Concatenate", out, net.add(class_name, out, seen, name="look"))
        finish(f, f"decoder_{class_name.lower()}", net, net.add("Dense", out, units=2, name="head"), [IDS, GOALS],
               steps=3, optimizer=kind("SGD", learning_rate=0.1))


def merges(f):
    def one(name, class_name, masks, lower=None, **attributes):
        """Masks of the inputs, None: none; `lower`: the input of a lower rank."""
        net, rng = Net(), f.rng(name)
        refs, values = [], []
        for i, mask in enumerate(masks):
            if i == lower:
                x = normal(rng, 3, 2)
                if mask is not None:
                    x[1] = 0
            else:
                x = normal(rng, 3, 5, 2) if mask is None else sequence(rng, mask, 2)
            ref = net.input("abc"[i], x.shape[1:])
            ref = net.add("Activation", ref, activation="linear") if mask is None else net.add("Masking", ref)
            refs.append(net.add("Dense", ref, units=2, name=f"in_{i}"))
            values.append(x)
        out = net.add("Dense", net.add(class_name, *refs, **attributes), units=2, name="out")
        finish(f, name, net, out, values, steps=2, optimizer=kind("SGD", learning_rate=0.1))

    choices = {"both": (RIGHT, HOLES), "first": (RIGHT, None), "second": (None, HOLES),
               "three": (RIGHT, HOLES, EMPTY), "two_of_three": (RIGHT, None, EMPTY)}
    for class_name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"):
        for tag, masks in choices.items():
            if class_name != "Subtract" or len(masks) == 2:
                one(f"{class_name.lower()}_{tag}", class_name, masks)
        one(f"{class_name.lower()}_lower_rank", class_name, (HOLES, None), lower=1)
        one(f"{class_name.lower()}_lower_rank_carries", class_name, (None, HOLES), lower=1)
    for axis in (-1, 1):
        for tag, masks in choices.items():
            one(f"concatenate_{tag}{'_time' if axis == 1 else ''}", "Concatenate", masks, axis=axis)


def masks():
    f = Family("masks")
    recurrent(f)
    attentions(f)
    merges(f)
    return f


def dropped_masks():
    """Keras's MultiHeadAttention takes the masks off its inputs, as it runs; what the graph noted when it was built
    stays: the mask of the only tensor of a call without other arguments."""
    f = Family("dropped_masks")
    sgd = kind("SGD", learning_rate=0.1)

    def one(name, make):
        net = Net()
        x = net.add("Embedding", net.input("ids", (None,), "int32"), input_dim=10, output_dim=4, mask_zero=True)
        finish(f, name, net, make(net, x), [IDS], steps=2, optimizer=sgd)

    def heads(net, q, v, **arguments):
        return net.add("MultiHeadAttention", q, v, arguments=arguments, num_heads=2, key_dim=3)

    def sum_of(net, x, y):
        return net.add("LayerNormalization", net.add("Add", x, y))

    def pooled(net, *values):
        return [net.add("Dense", net.add("GlobalAveragePooling1D", v), units=2) for v in values]

    def steps(net, x):
        return net.add("LSTM", x, units=3, return_sequences=True)

    def two_blocks(net, x):
        h = sum_of(net, x, heads(net, x, x))
        return sum_of(net, h, heads(net, h, h, use_causal_mask=True))

    def memory(net, x):
        h = x
        for _ in range(3):
            h = sum_of(net, h, heads(net, h, x))
        return [*pooled(net, h), steps(net, x)]

    def twice(net, x):
        layer = net.layer("MultiHeadAttention", num_heads=2, key_dim=3)
        y = layer(x, x)
        return pooled(net, layer(y, x), y, x)

    def beside(net, x):
        return [net.add("Dense", h, units=2) for h in pooled(net, x, heads(net, x, x))]

    def through(net, x):
        """Layers that give their input on, itself."""
        a, b = net.add("Dropout", x, rate=0.0), net.add("Identity", x)
        y = [net.add("Add", x, heads(net, v, v)) for v in (a, b)]
        return pooled(net, *[steps(net, v) for v in y])

    def block(net, x):
        inner = Net()
        i = inner.input("x", (None, 4))
        nested = Nested(inner, sum_of(inner, i, heads(inner, i, i)), "block")
        y = net.functional(nested)(x)
        return [*pooled(net, y, net.add("Add", x, y)), steps(net, x)]

    def mixed(net, x):
        q = net.add("Dense", x, units=4)
        y = net.add("Attention", q, x)
        a, b = heads(net, q, y), net.add("MultiHeadAttention", y, q, x, num_heads=2, key_dim=3)
        return [*pooled(net, a, b), steps(net, y), steps(net, q)]

    one("one_block", lambda net, x: pooled(net, sum_of(net, x, heads(net, x, x))))
    one("one_block_steps", lambda net, x: net.add("Dense", sum_of(net, x, heads(net, x, x)), units=2))
    one("two_blocks", lambda net, x: pooled(net, two_blocks(net, x)))
    one("two_blocks_lstm", lambda net, x: net.add("Dense", steps(net, two_blocks(net, x)), units=2))
    one("memory", memory)
    one("twice", twice)
    one("beside", beside)
    one("through", through)
    one("block", block)
    one("mixed", mixed)
    one("query_of_steps", lambda net, x: pooled(net, heads(net, steps(net, x), x), x))
    one("grouped", lambda net, x: pooled(net, sum_of(net, x, net.add(
        "GroupQueryAttention", x, x, head_dim=3, num_query_heads=2, num_key_value_heads=1))))
    return f


FAMILIES = {"masks": masks, "dropped_masks": dropped_masks}
