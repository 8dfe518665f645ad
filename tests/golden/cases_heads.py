"""Goldens of attention in heads, and of folds over segments."""
import numpy as np

from cases_sequence import EMPTY, HOLES, RIGHT, finish, normal
from record import Family, Net, kind

SGD = kind("SGD", learning_rate=0.1)
MHA, GQA = "MultiHeadAttention", "GroupQueryAttention"
SIZES = {MHA: {"num_heads": 2, "key_dim": 3}, GQA: {"num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 2}}


def pairs(rng, *shape):
    """A mask in which every query sees a key."""
    mask = rng.uniform(0, 1, shape) < 0.5
    mask[..., 0] |= ~mask.any(-1)
    return mask


def of_heads(f, class_name, name, shapes, masks=None, carried=(), causal=False, scores=False, steps=0, free=False,
             loss=kind("MeanSquaredError"), **attributes):
    """One layer on inputs of these shapes: one, which is query and value, or two or three. `carried`: masks that the
    inputs carry; `masks`: arguments."""
    net, rng, name = Net(), f.rng(name), f"{'mha' if class_name == MHA else 'gqa'}_{name}"
    names = ["x"] if len(shapes) == 1 else ["query", "value", "key"][:len(shapes)]
    values = [normal(rng, 3, *s) for s in shapes]
    refs = []
    for i, (n, s) in enumerate(zip(names, shapes)):
        ref = net.input(n, ((None,) + s[1:]) if free else s)
        if i < len(carried) and carried[i] is not None:
            values[i][~carried[i]] = 0
            ref = net.add("Masking", ref)
        refs.append(ref)
    arguments = {}
    for key, mask in (masks or {}).items():
        arguments[key] = net.input(key, mask.shape[1:], "bool")
        values.append(mask)
    if causal:
        arguments["use_causal_mask"] = True
    if scores:
        arguments["return_attention_scores"] = True
    out = net.add(class_name, *(refs * 2 if len(refs) == 1 else refs), arguments=arguments,
                  **{**SIZES[class_name], **attributes})
    if scores and len(shapes[0]) == 2:  # Keras hangs the pairs' mask on them, by which a loss can't weigh
        out[1] = net.add("Permute", out[1], dims=[1, 2, 3])
    finish(f, name, net, out, values, steps=steps, optimizer=SGD if steps else None, loss=loss)


def both(f, class_name):
    def one(name, shapes, **options):
        of_heads(f, class_name, name, shapes, **options)

    rng = f.rng("masks " + class_name)
    cross = [(4, 3), (5, 3)] if class_name == GQA else [(4, 3), (5, 4)]
    one("self", [(5, 4)], steps=3)
    one("cross", cross, steps=2, free=True)
    one("three", [(4, 3), (5, 3), (5, 2)], use_bias=False)
    one("one_step", [(1, 4)])
    one("causal", [(5, 4)], causal=True)
    one("causal_cross", cross, causal=True)
    one("causal_cross_scores", cross, causal=True, scores=True)
    one("scores", cross, scores=True, steps=2)
    one("dropout_inference", cross, dropout=0.5, seed=3, loss=None)
    one("gate", cross, use_gate=True, steps=2)
    one("gate_no_bias_scores", [(5, 4)], use_gate=True, use_bias=False, scores=True)
    one("window", [(6, 3)], sliding_window=2, steps=2)
    one("window_1", [(4, 3)], sliding_window=1)
    one("window_causal", [(6, 3)], sliding_window=3, causal=True)
    one("window_cross_scores", cross, sliding_window=3, scores=True)
    one("attention_mask", cross, masks={"attention_mask": pairs(rng, 3, 4, 5)}, steps=2)
    one("attention_mask_scores", cross, masks={"attention_mask": pairs(rng, 3, 4, 5)}, scores=True)
    heads = SIZES[class_name].get("num_heads", 4)
    one("attention_mask_by_head", cross, masks={"attention_mask": pairs(rng, 3, heads, 4, 5)})
    one("attention_mask_causal_window", [(5, 3)], masks={"attention_mask": pairs(rng, 3, 5, 5) | np.eye(5, dtype=bool)},
        causal=True, sliding_window=3)
    blind = pairs(rng, 3, 4, 5)
    blind[0, 1] = blind[2] = False
    one("attention_mask_blind", cross, masks={"attention_mask": blind})
    for tag, mask in {"right": RIGHT, "holes": HOLES, "row_all_masked": EMPTY}.items():
        one(f"carried_{tag}", [(5, 4)], carried=[mask])
        one(f"carried_by_value_{tag}", cross, carried=[None, mask])
    one("carried_causal", [(5, 4)], carried=[HOLES], causal=True)
    one("carried_window", [(5, 4)], carried=[HOLES], sliding_window=2)
    one("carried_by_all", [(5, 3)] * 3, carried=[RIGHT, HOLES, RIGHT])
    one("carried_and_pairs", cross, carried=[None, HOLES], masks={"attention_mask": pairs(rng, 3, 4, 5)})
    one("carried_by_value_scores", cross, carried=[None, HOLES], scores=True)
    one("carried_gate", [(5, 4)], carried=[RIGHT], use_gate=True)
    one("given", [(4, 3), (5, 3), (5, 2)], masks={"value_mask": HOLES, "key_mask": RIGHT | HOLES[:, ::-1]})
    one("given_wins", cross, carried=[None, RIGHT], masks={"value_mask": HOLES})
    one("penalised", cross, steps=3, kernel_regularizer=kind("L2", l2=0.03), bias_regularizer=kind("L1", l1=0.02),
        activity_regularizer=kind("L2", l2=0.05), kernel_constraint=kind("MaxNorm", max_value=1.0, axis=0),
        bias_constraint=kind("NonNeg"), use_gate=True)
    one("penalised_scores", cross, activity_regularizer=kind("L2", l2=0.05), scores=True)
    net = Net()
    x = net.input("x", (5, 4))
    shared = net.layer(class_name, **SIZES[class_name])
    once = shared(x, x)
    finish(f, f"{class_name.lower()}_shared", net, shared(once, x), [normal(f.rng("shared"), 2, 5, 4)], steps=2,
           optimizer=SGD)
    net = Net()
    e = net.add("Embedding", net.input("ids", (None,), "int32"), input_dim=10, output_dim=4, mask_zero=True)
    h = net.add(class_name, e, e, arguments={"use_causal_mask": True}, **SIZES[class_name])
    pooled = net.add("GlobalAveragePooling1D", h)
    finish(f, f"{class_name.lower()}_pooled", net, net.add("Dense", pooled, units=3, activation="softmax"),
           [np.array([[1, 2, 0, 0], [3, 4, 5, 0], [6, 7, 8, 9]], np.int32)], steps=3, optimizer=SGD,
           loss=kind("SparseCategoricalCrossentropy"), target=np.array([0, 2, 1], np.int32))


def axes(f):
    def one(name, shapes, **options):
        of_heads(f, MHA, "axes_" + name, shapes, **options)

    image, other = (2, 3, 4), (3, 2, 4)
    rng = f.rng("axes")
    one("all", [image])
    one("all_cross", [image, other], value_dim=2, output_shape=3)
    one("all_scores", [image, other], scores=True)
    one("all_pairs", [image, other], masks={"attention_mask": pairs(rng, 3, 2, 3, 6).reshape(3, 2, 3, 3, 2)})
    for tag, chosen in {"1": 1, "2": [2], "minus_2": (-2,)}.items():
        one(tag, [image], attention_axes=chosen, scores=True)
    one("swapped", [image, other], attention_axes=[2, 1], scores=True)
    one("causal", [(3, 2, 4)], attention_axes=[1], causal=True)
    one("window", [(4, 2, 3)], attention_axes=[1], sliding_window=2)
    one("pairs", [(2, 4, 3)], attention_axes=2, masks={"attention_mask": pairs(rng, 3, 2, 4, 4)})
    one("clip", [(2, 2, 2, 3)], attention_axes=[1, 3], scores=True)


def heads():
    f = Family("heads")
    both(f, MHA)
    both(f, GQA)
    axes(f)
    of_heads(f, MHA, "value_dim", [(4, 3), (5, 4)], value_dim=2, steps=2)
    of_heads(f, MHA, "value_dim_scores", [(4, 3), (5, 4)], value_dim=5, scores=True)
    of_heads(f, MHA, "output_shape", [(4, 3), (5, 4)], output_shape=5, steps=2)
    of_heads(f, MHA, "output_shapes", [(4, 3), (5, 4)], output_shape=[2, 3], steps=2)
    of_heads(f, MHA, "one_head", [(4, 3)], num_heads=1, key_dim=4)
    of_heads(f, MHA, "many", [(34, 3)], num_heads=3, key_dim=2)
    of_heads(f, GQA, "one_group", [(5, 4)], num_query_heads=3, num_key_value_heads=1)
    of_heads(f, GQA, "own_groups", [(5, 4)], num_query_heads=3, num_key_value_heads=3)
    of_heads(f, GQA, "query_mask", [(4, 3), (5, 3)], masks={"query_mask": HOLES[:, :4]})
    return f


def segments():
    f = Family("segments")
    for class_name in ("SegmentSum", "SegmentMax"):
        for tag, ids in {"sorted": [0, 0, 1, 1, 1, 2, 2], "any_order": [2, 0, 2, 1, 0, 2, 2],
                         "gaps": [3, 3, 0, 3, -1, 0, -1]}.items():
            net = Net()
            x, numbers = net.input("x", (3,)), net.input("ids", (), "int32")
            out = net.add(class_name, x, numbers, num_segments=4)
            f.model(f"{class_name.lower()}_{tag}", net, out, [normal(f.rng(tag), 7, 3), np.array(ids, np.int32)])
    return f


def blocks():
    """Transformer blocks of parts."""
    f = Family("blocks")

    def block(net, x, causal, first, width=4, **attributes):
        def attended(v):
            return net.add(MHA, v, v, arguments={"use_causal_mask": True} if causal else {}, num_heads=2, key_dim=3,
                           **attributes)

        def fed(v):
            return net.add("Dense", net.add("Dense", v, units=6, activation="gelu"), units=width)

        if first:  # normalised before each part
            x = net.add("Add", x, attended(net.add("LayerNormalization", x)))
            return net.add("Add", x, fed(net.add("LayerNormalization", x)))
        x = net.add("LayerNormalization", net.add("Add", x, attended(x)), epsilon=1e-6)
        return net.add("LayerNormalization", net.add("Add", x, fed(x)), epsilon=1e-6)

    for tag, first, causal, times in (("after", False, False, 1), ("before_causal", True, True, 2)):
        net, name = Net(), f"transformer_{tag}"
        x = net.input("x", (None, 4))
        h = x
        for _ in range(times):
            h = block(net, h, causal, first)
        out = net.add("Dense", net.add("GlobalAveragePooling1D", h), units=3, activation="softmax")
        finish(f, name, net, out, [normal(f.rng(name), 3, 5, 4)], steps=3, optimizer=SGD,
               loss=kind("SparseCategoricalCrossentropy"), target=np.array([0, 2, 1], np.int32))
    return f


FAMILIES = {"heads": heads, "segments": segments, "blocks": blocks}
