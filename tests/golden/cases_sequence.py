"""Goldens of LSTM, Embedding, masks, merge layers and attention."""
import numpy as np

from record import Family, Net, kind

MSE = kind("MeanSquaredError")
RIGHT = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], bool)
LEFT = RIGHT[:, ::-1].copy()
HOLES = np.array([[1, 0, 1, 0, 1], [0, 1, 0, 1, 1], [0, 1, 1, 1, 0]], bool)
EMPTY = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)
MASKS = {"right": RIGHT, "left": LEFT, "holes": HOLES, "row_all_masked": EMPTY}


def normal(rng, *shape):
    return rng.normal(0, 1, shape).astype(np.float32)


def finish(f, name, net, outputs, inputs, loss=MSE, **options):
    """Records a model against random targets of the outputs' shapes."""
    model = net.build(outputs)
    rng = f.rng("target " + name)
    result = model(inputs if len(inputs) > 1 else inputs[0])
    several = isinstance(outputs, list) and len(outputs) > 1
    if "target" not in options and loss:
        result = result if isinstance(result, (list, tuple)) else [result]
        options["target"] = [normal(rng, *r.shape) for r in result]
    if several and loss and not isinstance(loss, list):
        loss = [loss] * len(outputs)
    return f.model(name, net, model, inputs, loss=loss, **options)


def lstm():
    f = Family("lstm")

    def plain(name, batch=3, time=5, features=4, units=3, free=False, seed=None, **attributes):
        net = Net()
        out = net.add("LSTM", net.input("x", (None if free else time, features)), units=units, **attributes)
        finish(f, name, net, out, [normal(f.rng(name), batch, time, features)], seed=seed)

    plain("plain")
    plain("one_step", time=1)
    plain("batch_1", batch=1)
    plain("units_1_features_1", features=1, units=1)
    plain("odd_17_units", features=5, units=17)
    plain("units_64", batch=2, time=4, features=16, units=64)
    plain("long_40", time=40, batch=2)
    plain("return_sequences", return_sequences=True)
    plain("go_backwards", go_backwards=True)
    plain("go_backwards_sequences", go_backwards=True, return_sequences=True)
    plain("no_bias", use_bias=False)
    plain("relu_activation", activation="relu")
    plain("hard_sigmoid", recurrent_activation="hard_sigmoid")
    plain("linear_both", activation="linear", recurrent_activation="sigmoid")
    plain("no_unit_forget_bias", unit_forget_bias=False)
    plain("regularized", kernel_regularizer=kind("L2", l2=0.02), recurrent_regularizer=kind("L1", l1=0.02),
          bias_regularizer=kind("L2", l2=0.05), recurrent_constraint=kind("MaxNorm", max_value=0.8, axis=0))
    plain("activity_regularizer", return_sequences=True, activity_regularizer=kind("L2", l2=0.1))
    plain("unroll", unroll=True, return_sequences=True)
    plain("free_time_7", time=7, free=True, seed="free_time")
    plain("free_time_3", time=3, free=True, seed="free_time")
    plain("full_config", trainable=True, return_sequences=True, return_state=False, go_backwards=False, stateful=False,
          unroll=False, zero_output_for_mask=False, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
          kernel_initializer=kind("GlorotUniform", seed=None), recurrent_initializer=kind("Orthogonal", seed=None, gain=1.0),
          bias_initializer=kind("Zeros"), unit_forget_bias=True, kernel_regularizer=None, recurrent_regularizer=None,
          bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, recurrent_constraint=None,
          bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, seed=None)

    net = Net()
    out = net.add("LSTM", net.input("x", (5, 4)), units=3, dropout=0.3, recurrent_dropout=0.2)
    f.model("dropouts_inference", net, out, [normal(f.rng("dropouts"), 3, 5, 4)])
    for sequences in (False, True):
        for back in (False, True):
            name = f"return_state{'_sequences' if sequences else ''}{'_backwards' if back else ''}"
            net = Net()
            out, h, c = net.add("LSTM", net.input("x", (5, 4)), units=3, return_state=True, return_sequences=sequences,
                                go_backwards=back)
            finish(f, name, net, [out, h, c], [normal(f.rng(name), 3, 5, 4)])
    for sequences in (False, True):
        name = f"initial_state{'_sequences' if sequences else ''}"
        net = Net()
        x, h, c = net.input("x", (5, 4)), net.input("h", (3,)), net.input("c", (3,))
        out = net.add("LSTM", x, arguments={"initial_state": [h, c]}, units=3, return_sequences=sequences,
                      return_state=True)
        rng = f.rng(name)
        finish(f, name, net, out, [normal(rng, 3, 5, 4), normal(rng, 3, 3), normal(rng, 3, 3)])

    for tag, mask in MASKS.items():
        for sequences in (False, True):
            for back in (False, True):
                name = f"mask_{tag}{'_sequences' if sequences else ''}{'_backwards' if back else ''}"
                net = Net()
                x, m = net.input("x", (5, 4)), net.input("m", (5,), "bool")
                out = net.add("LSTM", x, arguments={"mask": m}, units=3, return_sequences=sequences, go_backwards=back,
                              return_state=True)
                finish(f, name, net, out, [normal(f.rng(name), 3, 5, 4), mask])
    net = Net()
    x, m, h, c = net.input("x", (5, 4)), net.input("m", (5,), "bool"), net.input("h", (3,)), net.input("c", (3,))
    out = net.add("LSTM", x, arguments={"mask": m, "initial_state": [h, c]}, units=3, return_sequences=True,
                  return_state=True)
    rng = f.rng("mask_and_state")
    finish(f, "mask_initial_state_row_all_masked", net, out,
           [normal(rng, 3, 5, 4), EMPTY, normal(rng, 3, 3), normal(rng, 3, 3)],
           note="a row masked as a whole keeps its states, its outputs are 0")
    net = Net()
    x, m = net.input("x", (5, 4)), net.input("m", (5,), "bool")
    x = net.add("LSTM", x, arguments={"mask": m}, units=3, return_sequences=True)
    x = net.add("LSTM", x, units=4, return_sequences=True, go_backwards=True)
    out = net.add("Dense", x, units=2)
    finish(f, "mask_through_two_layers", net, out, [normal(f.rng("two"), 3, 5, 4), LEFT])
    net = Net()
    x = net.input("x", (5, 4))
    x = net.add("LSTM", x, units=3, return_sequences=True)
    x = net.add("LSTM", x, units=4, return_sequences=True)
    finish(f, "three_deep", net, net.add("LSTM", x, units=2), [normal(f.rng("deep"), 3, 5, 4)])
    net = Net()
    source, goal = net.input("source", (None, 4)), net.input("goal", (None, 2))
    _, h, c = net.add("LSTM", source, units=3, return_state=True, name="encoder")
    decoded = net.add("LSTM", goal, arguments={"initial_state": [h, c]}, units=3, return_sequences=True, name="decoder")
    out = net.add("Dense", decoded, units=2, name="head")
    rng = f.rng("seq2seq")
    finish(f, "encoder_decoder", net, out, [normal(rng, 3, 5, 4), normal(rng, 3, 4, 2)])
    net = Net()
    a, b = net.input("a", (5, 4)), net.input("b", (3, 4))
    shared = net.layer("LSTM", units=3)
    out = net.add("Concatenate", shared(a), shared(b))
    rng = f.rng("shared")
    finish(f, "shared", net, out, [normal(rng, 3, 5, 4), normal(rng, 3, 3, 4)])
    net = Net()
    x, m = net.input("x", (5, 4)), net.input("m", (5,), "bool")
    out = net.add("LSTM", x, arguments={"mask": m}, units=3)
    value = normal(f.rng("nan"), 3, 5, 4)
    value[~RIGHT] = np.nan
    f.model("nan_behind_mask", net, out, [value, RIGHT],
            note="what a masked step holds must not reach output or states")
    return f


IDS = np.array([[3, 1, 4, 0, 0], [5, 9, 2, 6, 0], [7, 8, 0, 0, 0]], np.int32)
HOLED = np.array([[3, 0, 4, 0, 2], [0, 9, 0, 6, 5], [0, 0, 0, 0, 0]], np.int32)


def embedding_mask():
    f = Family("embedding_mask")
    adam = kind("Adam", learning_rate=0.01)

    def chain(name, layers, ids=IDS, dtype="int32", loss=MSE, vocabulary=10, embedding=None, **options):
        net = Net()
        h = net.input("ids", ids.shape[1:], dtype)
        h = net.add("Embedding", h, input_dim=vocabulary, output_dim=4, **(embedding or {}))
        for class_name, attributes in layers:
            h = net.add(class_name, h, **attributes)
        finish(f, name, net, h, [ids.astype(dtype)], loss=loss, **options)

    masked = {"mask_zero": True}
    unique = np.array([[3, 1, 4], [5, 9, 2]], np.int32)
    chain("embedding", [])
    chain("embedding_full_config", [], embedding={
        "trainable": True, "embeddings_initializer": kind("RandomUniform", seed=None, maxval=0.05, minval=-0.05),
        "embeddings_regularizer": None, "activity_regularizer": None, "embeddings_constraint": None,
        "mask_zero": False})
    chain("embedding_rank_1", [], ids=np.array([2, 0, 9], np.int32).reshape(3))
    chain("embedding_rank_3", [], ids=np.array([[[1, 2], [3, 3]], [[0, 9], [5, 5]]], np.int32))
    chain("embedding_int64", [], dtype="int64")
    chain("embedding_float_ids", [], dtype="float32", input_grad=False)
    chain("embedding_float_ids_truncated", [], ids=np.array([[1.9, 2.2, 0.99]], np.float32), dtype="float32", loss=None)
    chain("embedding_duplicates_sgd", [], ids=np.array([[3, 3, 3], [3, 1, 1]], np.int32), steps=3,
          optimizer=kind("SGD", learning_rate=0.1, momentum=0.9))
    chain("embedding_adam_unique_ids", [("Dense", {"units": 2})], ids=unique, steps=4, optimizer=adam,
          note="no id twice: Keras on TensorFlow squares duplicate rows apart")
    chain("embedding_global_clipnorm", [("Dense", {"units": 2})], ids=unique, steps=2,
          optimizer=kind("SGD", learning_rate=0.1, global_clipnorm=0.05))
    chain("embedding_l2", [], ids=unique, embedding={"embeddings_regularizer": kind("L2", l2=0.1)}, steps=2)
    chain("embedding_max_norm", [], ids=unique, embedding={"embeddings_constraint": kind("MaxNorm", max_value=0.5,
                                                                                          axis=1)}, steps=2)
    for tag, ids in (("right", IDS), ("left", IDS[:, ::-1].copy()), ("holes_row_all_masked", HOLED)):
        chain(f"lstm_{tag}", [("LSTM", {"units": 3})], ids=ids, embedding=masked)
        chain(f"lstm_sequences_{tag}", [("LSTM", {"units": 3, "return_sequences": True})], ids=ids, embedding=masked,
              note="the loss sees the mask that the LSTM passes on")
        chain(f"lstm_dense_masked_loss_{tag}", [("LSTM", {"units": 3, "return_sequences": True}),
                                                ("Dense", {"units": 2, "activation": "tanh"})],
              ids=ids, embedding=masked, steps=3, optimizer=kind("SGD", learning_rate=0.1))
    chain("lstm_dense_adam", [("LSTM", {"units": 3, "return_sequences": True}), ("Dense", {"units": 2})], ids=unique,
          embedding=masked, steps=4, optimizer=adam)
    chain("embedding_masked_loss", [], embedding=masked)
    chain("dense_masked_loss", [("Dense", {"units": 3})], embedding=masked)
    chain("all_masked_loss", [("Dense", {"units": 3})], ids=np.zeros((2, 3), np.int32), embedding=masked,
          note="the loss of nothing is 0, and so are its gradients")
    chain("two_lstms", [("LSTM", {"units": 3, "return_sequences": True}), ("LSTM", {"units": 2})], embedding=masked)
    chain("dropout_passes", [("Dropout", {"rate": 0.0}), ("LSTM", {"units": 3})], embedding=masked)
    chain("activation_passes", [("Activation", {"activation": "tanh"}), ("LSTM", {"units": 3})], embedding=masked)
    chain("softmax_activation_passes", [("Activation", {"activation": "softmax"}), ("LSTM", {"units": 3})],
          embedding=masked)
    chain("flatten_drops", [("Flatten", {}), ("Dense", {"units": 2})], embedding=masked)
    chain("conv_drops", [("Conv1D", {"filters": 3, "kernel_size": 3, "padding": "same"}), ("LSTM", {"units": 3})],
          embedding=masked)
    chain("reshape_drops", [("Reshape", {"target_shape": [5, 4]}), ("LSTM", {"units": 3})], embedding=masked)
    chain("permute_drops", [("Permute", {"dims": [1, 2]}), ("LSTM", {"units": 3})], embedding=masked)
    chain("pool_uses_up", [("GlobalAveragePooling1D", {}), ("Dense", {"units": 2})], embedding=masked)
    chain("max_pool_drops", [("GlobalMaxPooling1D", {}), ("Dense", {"units": 2})], embedding=masked)
    chain("lstm_without_sequences_drops", [("LSTM", {"units": 3}), ("Dense", {"units": 2})], embedding=masked)
    for tag, weight in (("column", (3, 1)), ("steps", (3, 5))):
        chain(f"masked_loss_weights_{tag}", [("LSTM", {"units": 3, "return_sequences": True}), ("Dense", {"units": 2})],
              embedding=masked, sample_weight=f.rng(tag).uniform(0.2, 2, weight).astype(np.float32))
    for reduction in ("sum", "mean", "mean_with_sample_weight"):
        chain(f"masked_loss_{reduction}", [("Dense", {"units": 3})], embedding=masked,
              loss=kind("MeanSquaredError", reduction=reduction))
        chain(f"masked_loss_{reduction}_weights", [("Dense", {"units": 3})], embedding=masked,
              loss=kind("MeanSquaredError", reduction=reduction),
              sample_weight=f.rng(reduction).uniform(0.2, 2, (3, 5)).astype(np.float32))
    rng = f.rng("labels")
    chain("masked_sparse_categorical", [("LSTM", {"units": 3, "return_sequences": True}),
                                        ("Dense", {"units": 4, "activation": "softmax"})], embedding=masked,
          loss=kind("SparseCategoricalCrossentropy"), target=rng.integers(0, 4, (3, 5)).astype(np.int32),
          metrics=["accuracy", kind("SparseCategoricalCrossentropy")])
    chain("masked_binary", [("LSTM", {"units": 3, "return_sequences": True}),
                            ("Dense", {"units": 1, "activation": "sigmoid"})], embedding=masked,
          loss=kind("BinaryCrossentropy"), target=rng.integers(0, 2, (3, 5, 1)).astype(np.float32),
          metrics=["accuracy"])
    chain("masked_metrics", [("Dense", {"units": 2})], embedding=masked, metrics=["mean_squared_error",
                                                                               "mean_absolute_error"])

    def masking(name, value, layers, **attributes):
        net = Net()
        h = net.add("Masking", net.input("x", value.shape[1:]), **attributes)
        for class_name, more in layers:
            h = net.add(class_name, h, **more)
        finish(f, name, net, h, [value])

    x = normal(f.rng("masking"), 3, 5, 4)
    x[~LEFT] = 0
    x[0, 2, :3] = 0
    masking("masking", x, [])
    masking("masking_lstm", x, [("LSTM", {"units": 3})])
    masking("masking_lstm_sequences", x, [("LSTM", {"units": 3, "return_sequences": True}), ("Dense", {"units": 2})])
    y = x.copy()
    y[~LEFT] = -1.5
    masking("masking_value", y, [("LSTM", {"units": 3, "return_sequences": True})], mask_value=-1.5)
    masking("masking_twice", x, [("Masking", {"mask_value": 5.0}), ("LSTM", {"units": 3})])
    z = x.copy()
    z[EMPTY] = 1
    z[~EMPTY] = 0
    masking("masking_row_all_masked", z, [("LSTM", {"units": 3, "return_sequences": True})])
    masking("masking_rank_2", x[:, 0], [("Dense", {"units": 2})])
    nan = x.copy()
    nan[1, 4, 0] = np.nan
    net = Net()
    f.model("masking_nan_is_not_masked", net, net.add("Masking", net.input("x", (5, 4))), [nan])
    net = Net()
    out = net.add("LSTM", net.add("Masking", net.input("x", (5, 4))), units=3,
                  arguments={"mask": net.input("m", (5,), "bool")})
    finish(f, "explicit_mask_wins", net, out, [x, HOLES])
    return f


def merge():
    f = Family("merge")
    for class_name in ("Add", "Multiply", "Concatenate"):
        tag = class_name.lower()
        for count in (2, 3):
            net, rng = Net(), f.rng(f"{tag}{count}")
            inputs = [net.input(c, (3, 4)) for c in "abc"[:count]]
            hidden = [net.add("Dense", r, units=2) for r in inputs]
            finish(f, f"{tag}_{count}", net, net.add(class_name, *hidden), [normal(rng, 2, 3, 4) for _ in inputs])
        net, rng = Net(), f.rng(f"{tag} twice")
        x = net.add("Dense", net.input("x", (4,)), units=3)
        finish(f, f"{tag}_same_tensor_twice", net, net.add(class_name, x, x), [normal(rng, 2, 4)])
    for axis in (1, 2, -2, 3):
        net, rng = Net(), f.rng(f"axis{axis}")
        shapes = [[2, 3, 4], [2, 3, 4]]
        shapes[1][axis - 1 if axis > 0 else axis] += 2
        inputs = [net.input(c, s) for c, s in zip("ab", shapes)]
        out = net.add("Concatenate", *(net.add("Dense", r, units=s[-1]) for r, s in zip(inputs, shapes)), axis=axis)
        finish(f, f"concatenate_axis_{str(axis).replace('-', 'm')}", net, net.add("Activation", out, activation="tanh"),
               [normal(rng, 2, *s) for s in shapes])
    for class_name in ("Add", "Multiply"):
        net, rng = Net(), f.rng("broadcast" + class_name)
        a, b = net.input("a", (3, 4)), net.input("b", (1, 4))
        out = net.add(class_name, net.add("Dense", a, units=4), net.add("Dense", b, units=4))
        finish(f, f"{class_name.lower()}_broadcast", net, out, [normal(rng, 2, 3, 4), normal(rng, 2, 1, 4)])
        net = Net()
        a, b = net.input("a", (3, 4)), net.input("b", (4,))
        finish(f, f"{class_name.lower()}_lower_rank", net, net.add(class_name, net.add("Dense", a, units=4),
                                                                   net.add("Dense", b, units=4)),
               [normal(rng, 2, 3, 4), normal(rng, 2, 4)],
               note="the lower rank gets its new axis right after the batch")
    x, y = normal(f.rng("x"), 3, 5, 2), normal(f.rng("y"), 3, 5, 2)
    x[~RIGHT] = 0
    y[~HOLES] = 0
    for class_name, attributes in (("Add", {}), ("Multiply", {}), ("Concatenate", {}), ("Concatenate", {"axis": 1})):
        tag = class_name.lower() + ("_time" if attributes else "")
        for which in ("both", "first", "second"):
            net = Net()
            a, b = net.input("a", (5, 2)), net.input("b", (5, 2))
            ma = net.add("Masking", a) if which != "second" else net.add("Activation", a, activation="linear")
            mb = net.add("Masking", b) if which != "first" else net.add("Activation", b, activation="linear")
            merged = net.add(class_name, net.add("Dense", ma, units=2, name="left"),
                             net.add("Dense", mb, units=2, name="right"), **attributes)
            finish(f, f"mask_{tag}_{which}", net, merged, [x, y], note=(
                "a masked value counts as 1 in the product; where every input is masked the product is 0"
                if class_name == "Multiply" else None))
            net = Net()
            a, b = net.input("a", (5, 2)), net.input("b", (5, 2))
            ma = net.add("Masking", a) if which != "second" else net.add("Activation", a, activation="linear")
            mb = net.add("Masking", b) if which != "first" else net.add("Activation", b, activation="linear")
            merged = net.add(class_name, ma, mb, **attributes)
            finish(f, f"mask_{tag}_{which}_lstm", net, net.add("LSTM", merged, units=3), [x, y])
    return f


def attention():
    f = Family("attention")

    def one(name, class_name="Attention", key=False, q_mask=None, v_mask=None, causal=False, scores=False,
            lengths=(4, 5), dims=(3, 3, 3), loss=MSE, steps=0, blind=False, **attributes):
        """One attention layer behind projections; `blind`: some row sees no key, so only the values' gradients are
        kept (Keras lets others flow through the scores that it has drowned in 1e9)."""
        net, rng = Net(), f.rng(name)
        tq, tv = lengths
        batch = 3
        refs = [net.input("query", (tq, dims[0])), net.input("value", (tv, dims[1]))]
        values = [normal(rng, batch, tq, dims[0]), normal(rng, batch, tv, dims[1])]
        if key:
            refs.append(net.input("key", (tv, dims[2])))
            values.append(normal(rng, batch, tv, dims[2]))
        given = {}
        if q_mask is not None or v_mask is not None:
            masks = []
            for tag, mask in (("query_mask", q_mask), ("value_mask", v_mask)):
                masks.append(None if mask is None else net.input(tag, mask.shape[1:], "bool"))
                values += [] if mask is None else [mask]
            given["mask"] = masks
        if causal:
            given["use_causal_mask"] = True
        if scores:
            given["return_attention_scores"] = True
        widths = (dims[0], dims[1], dims[2])
        refs = [net.add("Dense", r, units=u, use_bias=n != "key_in", name=n)
                for r, u, n in zip(refs, widths, ("query_in", "value_in", "key_in"))]
        layer = net.layer(class_name, **attributes)
        finish(f, name, net, layer(*refs, **given), values, loss=loss, steps=steps, only="value" if blind else "",
               note="a row that sees no key weighs all keys alike, whatever other masks say" if blind else None)

    some = np.array([[1, 0, 1, 0, 1], [1, 1, 0, 1, 1], [1, 0, 1, 1, 0]], bool)
    masks = MASKS | {"query": np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]], bool)}
    for class_name, variants in (("Attention", {"": {}, "_scale": {"use_scale": True}, "_concat": {"score_mode": "concat"},
                                                "_concat_scale": {"score_mode": "concat", "use_scale": True}}),
                                 ("AdditiveAttention", {"": {}, "_no_scale": {"use_scale": False}})):
        base = "dot" if class_name == "Attention" else "additive"
        for tag, attributes in variants.items():
            options = {"class_name": class_name, **attributes}
            name = base + tag
            one(name, **options, steps=2 if tag in ("_scale", "_concat_scale") or base == "additive" and not tag else 0)
            one(f"{name}_key", key=True, **options)
            one(f"{name}_scores", scores=True, key=True, **options)
            one(f"{name}_causal", causal=True, scores=True, **options)
            one(f"{name}_causal_longer_query", causal=True, lengths=(5, 3), **options)
            one(f"{name}_value_mask", v_mask=RIGHT, scores=True, **options)
            one(f"{name}_query_mask", q_mask=masks["query"], **options)
            one(f"{name}_both_masks", q_mask=masks["query"], v_mask=HOLES, scores=True, **options)
            one(f"{name}_causal_masks", q_mask=masks["query"], v_mask=some, causal=True, scores=True, **options)
            one(f"{name}_row_all_masked", v_mask=EMPTY, scores=True, key=True, blind=True, **options)
    one("dot_causal_left_padded", v_mask=LEFT, causal=True, scores=True, key=True, blind=True)
    one("dot_value_wider", dims=(3, 6, 3), key=True)
    one("additive_value_wider", class_name="AdditiveAttention", dims=(3, 6, 3), key=True)
    one("dot_one_key", lengths=(4, 1), key=True)
    one("dot_one_query", lengths=(1, 5))
    one("dot_dropout_inference", dropout=0.5, loss=None)
    one("dot_full_config", trainable=True, use_scale=False, score_mode="dot", dropout=0.0, seed=None)

    def head(name, tq, tv, seed):
        net, rng = Net(), f.rng(name)
        q, k, v = net.input("query", (None, 6)), net.input("key", (tv, 6)), net.input("value", (tv, 6))
        q, k, v = (net.add("Dense", r, units=4, name=n) for r, n in ((q, "q"), (k, "k"), (v, "v")))
        score = net.add("MatMul", q, k, transpose_b=True)
        weights = net.add("Activation", score, activation="softmax")
        finish(f, name, net, [net.add("MatMul", weights, v), score, weights],
               [normal(rng, 2, tq, 6), normal(rng, 2, tv, 6), normal(rng, 2, tv, 6)], seed=seed)

    head("article_head_16", 16, 1, "article_head")
    head("article_head_8", 8, 1, "article_head")
    head("head_16_to_5", 16, 5, "head")
    head("head_8_to_5", 8, 5, "head")
    for class_name in ("Attention", "AdditiveAttention"):
        for sequences in (False, True):
            net = Net()
            q = net.add("Embedding", net.input("question", (4,), "int32"), input_dim=10, output_dim=3, mask_zero=True,
                        name="questions")
            v = net.add("Embedding", net.input("text", (5,), "int32"), input_dim=10, output_dim=3, mask_zero=True,
                        name="texts")
            out = net.add(class_name, q, v)
            if sequences:
                out = net.add("LSTM", out, units=3, return_sequences=True)
            else:
                out = net.add("GlobalAveragePooling1D", net.add("Concatenate", q, out))
            finish(f, f"embeddings_to_{class_name.lower()}{'_lstm' if sequences else '_pooled'}", net, out,
                   [np.array([[1, 2, 0, 0], [3, 0, 4, 5], [6, 7, 8, 9]], np.int32), IDS])
    net, rng = Net(), f.rng("self")
    x = net.input("x", (None, 4))
    # A key's bias has no effect on a softmax, so Adam would make its rounding errors grow: none.
    q, k, v = (net.add("Dense", x, units=5, name=n, use_bias=n != "key") for n in ("query", "key", "value"))
    pooled = net.add("GlobalAveragePooling1D", net.add("Attention", q, v, k))
    finish(f, "self_attention_pooled", net, net.add("Dense", pooled, units=3, activation="softmax"),
           [normal(rng, 4, 6, 4)], loss=kind("SparseCategoricalCrossentropy"), target=np.array([0, 1, 2, 1], np.int32),
           steps=3, optimizer=kind("Adam", learning_rate=0.01))
    net = Net()
    x = net.input("x", (5, 3))
    shared = net.layer("Attention", use_scale=True)
    once = shared(x, x)
    finish(f, "shared_attention", net, shared(once, x), [normal(rng, 2, 5, 3)])
    return f


FAMILIES = {"lstm": lstm, "embedding_mask": embedding_mask, "merge": merge, "attention": attention}
