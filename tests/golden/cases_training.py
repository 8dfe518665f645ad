"""Goldens of optimizers, of models with several inputs and outputs, and of whole epochs."""
import keras
import numpy as np

from record import Family, Net, kind, weight_name

MSE = kind("MeanSquaredError")


def normal(rng, *shape):
    return rng.normal(0, 1, shape).astype(np.float32)


def mlp(net, decorated=None):
    h = net.add("Dense", net.input("x", (6,)), units=8, activation="tanh", name="first", **(decorated or {}))
    return net.add("Dense", h, units=3, activation="softmax", name="second")


def lstm(net):
    h = net.add("LSTM", net.input("x", (5, 4)), units=4, name="first")
    return net.add("Dense", h, units=3, activation="softmax", name="second")


def conv(net):
    h = net.add("Conv2D", net.input("x", (8, 8, 1)), filters=3, kernel_size=3, activation="relu", name="first")
    h = net.add("Flatten", net.add("AveragePooling2D", h, pool_size=2))
    return net.add("Dense", h, units=3, activation="softmax", name="second")


def begin(f, name, model, x, y):
    """Weights to start with, and the data."""
    start = f.rng("start")
    for v in model.weights:
        v.assign(normal(start, *v.shape) * 0.4)
        f.put(name, "weight", weight_name(v), v.numpy())
    f.put(name, "input", "x", x)
    f.put(name, "target", 0, y)


def optimizers():
    f = Family("optimizers")
    data = {"mlp": (mlp, (6,)), "lstm": (lstm, (5, 4)), "conv": (conv, (8, 8, 1))}
    variants = {
        "sgd": kind("SGD"), "sgd_rate": kind("SGD", learning_rate=0.3),
        "sgd_momentum": kind("SGD", learning_rate=0.1, momentum=0.9),
        "sgd_nesterov": kind("SGD", learning_rate=0.1, momentum=0.9, nesterov=True),
        "sgd_nesterov_without_momentum": kind("SGD", learning_rate=0.1, nesterov=True),
        "sgd_weight_decay": kind("SGD", learning_rate=0.1, weight_decay=0.05),
        "sgd_momentum_weight_decay": kind("SGD", learning_rate=0.1, momentum=0.9, weight_decay=0.05),
        "sgd_clipnorm": kind("SGD", learning_rate=0.3, clipnorm=0.05),
        "sgd_clipnorm_not_reached": kind("SGD", learning_rate=0.3, clipnorm=100.0),
        "sgd_clipvalue": kind("SGD", learning_rate=0.3, clipvalue=0.02),
        "sgd_global_clipnorm": kind("SGD", learning_rate=0.3, global_clipnorm=0.05),
        "sgd_global_clipnorm_not_reached": kind("SGD", learning_rate=0.3, global_clipnorm=100.0),
        "sgd_all": kind("SGD", learning_rate=0.1, momentum=0.8, nesterov=True, weight_decay=0.01, clipnorm=0.1),
        "sgd_ema": kind("SGD", learning_rate=0.3, use_ema=True, ema_momentum=0.7, ema_overwrite_frequency=2),
        "sgd_accumulation": kind("SGD", learning_rate=0.3, gradient_accumulation_steps=2),
        "sgd_loss_scale": kind("SGD", learning_rate=0.3, loss_scale_factor=128.0),
        "adam": kind("Adam"), "adam_rate": kind("Adam", learning_rate=0.02),
        "adam_betas": kind("Adam", learning_rate=0.01, beta_1=0.7, beta_2=0.9),
        "adam_epsilon": kind("Adam", learning_rate=0.01, epsilon=0.01,),
        "adam_amsgrad": kind("Adam", learning_rate=0.02, beta_2=0.6, amsgrad=True),
        "adam_weight_decay": kind("Adam", learning_rate=0.02, weight_decay=0.1),
        "adam_clipnorm": kind("Adam", learning_rate=0.02, clipnorm=0.05),
        "adam_clipvalue": kind("Adam", learning_rate=0.02, clipvalue=0.02),
        "adam_global_clipnorm": kind("Adam", learning_rate=0.02, global_clipnorm=0.05),
        "adam_ema": kind("Adam", learning_rate=0.02, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3),
        "adam_accumulation": kind("Adam", learning_rate=0.02, gradient_accumulation_steps=2)}
    only_mlp = ("ema", "accumulation", "loss_scale", "not_reached", "epsilon", "sgd_rate", "without", "_all")
    for name, optimizer in variants.items():
        for where, (make, shape) in data.items():
            if where != "mlp" and any(part in name for part in only_mlp):
                continue
            net, rng = Net(), f.rng(where)
            out = make(net)
            f.model(f"{name}_{where}", net, out, [normal(rng, 8, *shape)], seed=where,
                    loss=kind("SparseCategoricalCrossentropy"), target=rng.integers(0, 3, 8).astype(np.int32),
                    optimizer=optimizer, steps=5, forward=False, input_grad=False, grads=name in ("sgd", "adam"),
                    note={"ema": "`after` is read before fit's final copy of the averages",
                          "accumulation": "steps counts calls: two calls make one update, the fifth adds only"}.get(name.split("_")[-1]))
    # Weights that begin at 0 are nothing but the steps, so an error of 1e-5 in 1 - beta shows.
    for name, optimizer in {"adam": kind("Adam", learning_rate=1.0), "adam_amsgrad": kind("Adam", amsgrad=True),
                            "adam_beta_2": kind("Adam", learning_rate=1.0, beta_2=0.9999),
                            "adam_beta_1": kind("Adam", learning_rate=1.0, beta_1=0.9999, beta_2=0.99),
                            "sgd_momentum": kind("SGD", learning_rate=0.1, momentum=0.9),
                            "sgd_nesterov": kind("SGD", learning_rate=0.1, momentum=0.9, nesterov=True)}.items():
        for steps in (1, 3):
            net, rng = Net(), f.rng("steps alone")
            out = net.add("Dense", net.input("x", (6,)), units=3, name="first")
            f.model(f"{name}_steps_alone_{steps}", net, out, [normal(rng, 8, 6)], loss=MSE, target=normal(rng, 8, 3),
                    weights={"first/kernel": np.zeros((6, 3), np.float32), "first/bias": np.zeros(3, np.float32)},
                    optimizer=optimizer, steps=steps, forward=False, input_grad=False, grads=False, grad_rtol=2e-6,
                    grad_atol=0.0, why="an error of 1e-5 in 1 - beta moves these weights by 5e-6")
    shared = {"weight_decay": None, "clipnorm": None, "global_clipnorm": None, "clipvalue": None, "use_ema": False,
              "ema_momentum": 0.99, "ema_overwrite_frequency": None, "loss_scale_factor": None,
              "gradient_accumulation_steps": None}
    for name, optimizer in {
            "sgd": kind("SGD", name="SGD", learning_rate=0.1, **shared, momentum=0.0, nesterov=False),
            "adam": kind("Adam", name="adam", learning_rate=0.0010000000474974513, **shared, beta_1=0.9, beta_2=0.999,
                         epsilon=1e-07, amsgrad=False)}.items():
        net, rng = Net(), f.rng("mlp")
        out = mlp(net)
        f.model(f"{name}_full_config", net, out, [normal(rng, 8, 6)], seed="mlp", forward=False, input_grad=False,
                loss=kind("SparseCategoricalCrossentropy"), target=rng.integers(0, 3, 8).astype(np.int32),
                optimizer=optimizer, steps=5, grads=False)
    for name, optimizer in {"sgd": kind("SGD", learning_rate=0.3, momentum=0.9, weight_decay=0.02),
                            "adam": kind("Adam", learning_rate=0.02, clipnorm=0.1)}.items():
        net, rng = Net(), f.rng("decorated")
        out = mlp(net, {"kernel_regularizer": kind("L2", l2=0.05), "bias_regularizer": kind("L1", l1=0.01),
                        "kernel_constraint": kind("MaxNorm", max_value=0.8, axis=0), "bias_constraint": kind("NonNeg")})
        f.model(f"{name}_penalties_and_constraints", net, out, [normal(rng, 8, 6)], seed="decorated",
                loss=kind("SparseCategoricalCrossentropy"), target=rng.integers(0, 3, 8).astype(np.int32),
                optimizer=optimizer, steps=5)
    return f


def training():
    f = Family("training")

    # Several inputs, outputs, losses.
    def two_heads(name, loss, target, **options):
        net, rng = Net(), f.rng("two heads")
        a, b = net.input("a", (4,)), net.input("b", (5,))
        joined = net.add("Concatenate", net.add("Dense", a, units=3, activation="tanh", name="left"),
                         net.add("Dense", b, units=3, activation="tanh", name="right"))
        one = net.add("Dense", joined, units=2, name="one")
        two = net.add("Dense", joined, units=3, activation="softmax", name="two")
        f.model(name, net, [one, two], [normal(rng, 6, 4), normal(rng, 6, 5)], loss=loss, target=target,
                seed="two heads", **options)

    rng = f.rng("heads")
    real, index = normal(rng, 6, 2), rng.integers(0, 3, 6).astype(np.int32)
    w1, w2 = rng.uniform(0, 2, (2, 6)).astype(np.float32)
    both = [MSE, kind("SparseCategoricalCrossentropy")]
    two_heads("two_outputs", both, [real, index])
    two_heads("two_outputs_loss_weights", both, [real, index], loss_weights=[0.3, 2.0], steps=3)
    two_heads("two_outputs_sample_weights", both, [real, index], sample_weight=[w1, w2])
    two_heads("two_outputs_metrics", both, [real, index], metrics=[["mean_absolute_error"], ["accuracy"]],
              loss_weights=[0.5, 1.5])

    net, rng = Net(), f.rng("three")
    inputs = [net.input(n, (3,)) for n in ("z", "a", "m")]
    h = [net.add("Dense", r, units=2, activation="tanh") for r in inputs]
    joined = net.add("Multiply", net.add("Add", h[0], h[1]), h[2])
    f.model("three_inputs_in_given_order", net, joined, [normal(rng, 4, 3) for _ in inputs], loss=MSE,
            target=normal(rng, 4, 2))
    net, rng = Net(), f.rng("mid")
    h = net.add("Dense", net.input("x", (3,)), units=4, activation="relu")
    out = net.add("Dense", h, units=2)
    f.model("inner_value_as_output", net, [out, h, net.inputs[0]], [normal(rng, 4, 3)])
    net, rng = Net(), f.rng("unused")
    a, b = net.input("a", (3,)), net.input("b", (2,))
    f.model("input_without_use", net, net.add("Dense", a, units=2), [normal(rng, 4, 3), normal(rng, 4, 2)])

    # Shared layers.
    net, rng = Net(), f.rng("shared")
    shared = net.layer("Dense", units=3, activation="tanh")
    a, b = net.input("a", (4,)), net.input("b", (4,))
    f.model("shared_dense", net, net.add("Add", shared(a), shared(b)), [normal(rng, 5, 4), normal(rng, 5, 4)],
            loss=MSE, target=normal(rng, 5, 3), steps=3)
    net, rng = Net(), f.rng("chain")
    shared = net.layer("Dense", units=4, activation="tanh", name="again", kernel_regularizer=kind("L2", l2=0.1))
    h = shared(net.input("x", (4,)))
    h = shared(net.add("Activation", h, activation="relu"))
    f.model("shared_in_a_row", net, shared(h), [normal(rng, 5, 4)], loss=MSE, target=normal(rng, 5, 4), steps=2,
            note="the second call reads a layer listed after the first; the penalty counts once")
    net, rng = Net(), f.rng("shared conv")
    shared = net.layer("Conv2D", filters=2, kernel_size=3, padding="same")
    a, b = net.input("a", (5, 5, 2)), net.input("b", (4, 7, 2))
    pool = [net.add("GlobalMaxPooling2D", shared(r)) for r in (a, b)]
    f.model("shared_conv_two_sizes", net, net.add("Concatenate", *pool), [normal(rng, 3, 5, 5, 2),
                                                                         normal(rng, 3, 4, 7, 2)],
            loss=MSE, target=normal(rng, 3, 4))
    net, rng = Net(), f.rng("shared embedding")
    shared = net.layer("Embedding", input_dim=7, output_dim=3)
    a, b = net.input("a", (3,), "int32"), net.input("b", (2,), "int32")
    f.model("shared_embedding", net, net.add("Concatenate", shared(a), shared(b), axis=1),
            [rng.integers(0, 7, (4, 3)).astype(np.int32), rng.integers(0, 7, (4, 2)).astype(np.int32)], loss=MSE,
            target=normal(rng, 4, 5, 3), steps=3)
    net, rng = Net(), f.rng("residual")
    h = net.add("Dense", net.input("x", (4,)), units=4, activation="relu")
    for _ in range(3):
        h = net.add("Add", h, net.add("Dense", h, units=4, activation="tanh"))
    f.model("residual", net, net.add("Dense", h, units=2), [normal(rng, 5, 4)], loss=MSE, target=normal(rng, 5, 2),
            steps=3)
    net, rng = Net(), f.rng("frozen")
    h = net.add("Dense", net.input("x", (4,)), units=4, activation="relu", trainable=False, name="still",
                kernel_regularizer=kind("L2", l2=0.3))
    f.model("frozen_layer_with_penalty", net, net.add("Dense", h, units=2), [normal(rng, 5, 4)], loss=MSE,
            target=normal(rng, 5, 2), steps=2, note="penalties of frozen weights do not count")

    # The article's four architectures, small.
    def classify(name, make, shape, **options):
        net, rng = Net(), f.rng(name)
        f.model(name, net, make(net, shape), [normal(rng, 6, *shape)], loss=kind("SparseCategoricalCrossentropy"),
                target=rng.integers(0, 3, 6).astype(np.int32), optimizer=kind("Adam", learning_rate=0.01), steps=5,
                metrics=["accuracy"], **options)

    def head(net, h):
        return net.add("Dense", h, units=3, activation="softmax", name="output")

    classify("net_dense", lambda n, s: head(n, n.add("Dense", n.add("Flatten", n.input("x", s)), units=8,
                                                     activation="relu", name="hidden")), (4, 4, 1))

    def convolution(n, s):
        h = n.add("Conv2D", n.input("x", s), filters=3, kernel_size=3, activation="relu", name="conv1")
        h = n.add("MaxPooling2D", h, pool_size=2)
        h = n.add("Conv2D", h, filters=4, kernel_size=3, activation="relu", name="conv2")
        return head(n, n.add("Flatten", n.add("MaxPooling2D", h, pool_size=2)))

    classify("net_conv", convolution, (12, 12, 1))
    classify("net_lstm", lambda n, s: head(n, n.add("LSTM", n.input("x", s), units=5, name="lstm")), (6, 4))

    def attend(n, s):
        x = n.input("x", s)
        q = n.add("Dense", x, units=4, name="query")
        k = n.add("Dense", x, units=4, name="key", use_bias=False)  # a bias here has no effect but Adam moves it
        v = n.add("Dense", x, units=4, activation="relu", name="value")
        return head(n, n.add("GlobalAveragePooling1D", n.add("Attention", q, v, k)))

    classify("net_attention", attend, (6, 4))

    # Whole epochs through fit, in order.
    def epochs(name, samples=10, **fit):
        net, rng = Net(), f.rng("fit")
        out = mlp(net)
        model = net.build(out)
        x, y = normal(rng, samples, 6), rng.integers(0, 3, samples).astype(np.int32)
        optimizer = kind("Adam", learning_rate=0.05)
        loss = kind("SparseCategoricalCrossentropy")
        weight = fit.pop("weight", None)
        f.note(name, model=net.json, loss=loss, optimizer=optimizer, metrics=["accuracy"], training=True,
               fit={**fit, "shuffle": False},
               note="loss and metric: one value per epoch; the epoch's loss is the running mean, a short batch "
                    "counting by its size")
        begin(f, name, model, x, y)
        if weight is not None:
            f.put(name, "sample_weight", 0, weight)
        model.compile(keras.optimizers.get(optimizer), keras.losses.get(loss), metrics=["accuracy"], run_eagerly=True)
        history = model.fit(x, y, sample_weight=weight, shuffle=False, verbose=0, **fit).history
        for key, values in history.items():
            f.put(name, "loss" if "loss" in key else "metric", key, np.array(values, np.float32))
        for v in model.weights:
            f.put(name, "after", weight_name(v), v.numpy())
        f.put(name, "output", 0, model(x).numpy())
        for key, value in model.evaluate(x, y, batch_size=fit["batch_size"], verbose=0, return_dict=True).items():
            f.put(name, "metric", f"evaluate_{key}", np.float32(value))

    epochs("fit_short_last_batch", batch_size=4, epochs=3)
    epochs("fit_whole_batches", batch_size=5, epochs=2)
    epochs("fit_validation_split", batch_size=4, epochs=3, validation_split=0.3)
    epochs("fit_validation_split_odd", samples=11, batch_size=3, epochs=2, validation_split=0.25)
    epochs("fit_sample_weight", batch_size=4, epochs=2, weight=f.rng("w").uniform(0, 2, 10).astype(np.float32))
    epochs("fit_batch_larger_than_set", batch_size=32, epochs=2)
    epochs("fit_initial_epoch", batch_size=5, epochs=3, initial_epoch=1)
    return f


FAMILIES = {"optimizers": optimizers, "training": training}
