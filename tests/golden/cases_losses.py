"""Goldens of losses and metrics."""
import functools

import keras
import numpy as np

from record import Family, Net, kind, one_metric


def predictor(f, name, units, activation="linear", shape=(4,), kernel=None, layers=()):
    """A model of one Dense layer; `layers` follow it."""
    net = Net()
    h = net.add("Dense", net.input("x", shape), units=units, activation=activation)
    for class_name, attributes in layers:
        h = net.add(class_name, h, **attributes)
    return net, h


def one_hot(labels, classes):
    return np.eye(classes, dtype=np.float32)[labels]


def unreduced(f, name, loss, y, p, w):
    """A loss of each item, without and with weights."""
    f.note(name, loss=loss, note="target, input/prediction and sample_weight straight into the loss")
    f.put(name, "input", "prediction", p)
    f.put(name, "target", 0, y)
    f.put(name, "sample_weight", 0, w)
    made = keras.losses.get(loss)
    f.put(name, "loss", "values", made(y, p).numpy())
    f.put(name, "loss", "weighted_values", made(y, p, w).numpy())


def losses():
    f = Family("losses")

    def regression(name, loss, target=None, x=None, shape=(4,), batch=5, units=3, weight=None, activation="linear",
                   **options):
        net, out = predictor(f, name, units, activation, shape)
        rng = f.rng(name)
        x = rng.normal(0, 1, (batch, *shape)).astype(np.float32) if x is None else x
        if target is None:
            target = rng.normal(0, 1.5, (batch, *shape[:-1], units)).astype(np.float32)
        elif callable(target):
            target = target(rng)
        f.model(name, net, out, [x], loss=loss, target=target, sample_weight=weight, **options)

    weights = f.rng("weights").uniform(0, 2, 5).astype(np.float32)
    some_zero = np.array([1, 0, 2, 0, 0.5], np.float32)
    for tag, loss in {"mse": "MeanSquaredError", "mae": "MeanAbsoluteError", "huber": "Huber"}.items():
        regression(tag, kind(loss))
        regression(f"{tag}_one_output", kind(loss), units=1)
        regression(f"{tag}_target_without_last_axis", kind(loss), units=1,
                   target=lambda r: r.normal(0, 1, 5).astype(np.float32))
        regression(f"{tag}_sequence", kind(loss), shape=(3, 4))
        regression(f"{tag}_weights", kind(loss), weight=weights)
        regression(f"{tag}_weights_with_zeros", kind(loss), weight=some_zero)
        regression(f"{tag}_weights_column", kind(loss), weight=weights.reshape(5, 1))
        regression(f"{tag}_weights_all_zero", kind(loss), weight=np.zeros(5, np.float32))
        regression(f"{tag}_sequence_weights_column", kind(loss), shape=(3, 4), weight=weights.reshape(5, 1))
        regression(f"{tag}_sequence_weights_steps", kind(loss), shape=(3, 4),
                   weight=f.rng(tag).uniform(0, 2, (5, 3)).astype(np.float32))
        for reduction in ("sum", "mean", "mean_with_sample_weight", "sum_over_batch_size"):
            regression(f"{tag}_{reduction}", kind(loss, reduction=reduction))
            regression(f"{tag}_{reduction}_weights", kind(loss, reduction=reduction), weight=some_zero)
    regression("mse_mean_with_sample_weight_all_zero", kind("MeanSquaredError", reduction="mean_with_sample_weight"),
               weight=np.zeros(5, np.float32))
    regression("huber_delta_half", kind("Huber", delta=0.5))
    regression("huber_delta_3", kind("Huber", delta=3.0))
    regression("mae_exact_hit", kind("MeanAbsoluteError"), x=np.zeros((2, 4), np.float32), batch=2,
               weights={"dense/bias": np.array([1, 2, 3], np.float32)},
               target=np.array([[1, 2, 3], [0, 2, 4]], np.float32), note="the slope of |0| is 0")
    regression("mse_by_name", "mse")
    regression("mse_by_long_name", "mean_squared_error")

    regression("huber_full_config", kind("Huber", name="huber_loss", reduction="sum_over_batch_size", delta=1.0))

    def labels(rng, classes, shape=(5,)):
        return rng.integers(0, classes, shape).astype(np.int32)

    def with_sigmoid(name, config, units=1, shape=(4,), batch=5, how="sigmoid", **options):
        regression(name, kind("BinaryCrossentropy", **config), units=units, shape=shape, batch=batch, activation=how,
                   target=lambda r: r.integers(0, 2, (batch, *shape[:-1], units)).astype(np.float32), **options)

    with_sigmoid("binary_sigmoid", {})
    with_sigmoid("binary_sigmoid_3", {}, units=3)
    with_sigmoid("binary_logits", {"from_logits": True}, units=3, how="linear")
    with_sigmoid("binary_smoothing", {"label_smoothing": 0.2}, units=3)
    with_sigmoid("binary_logits_smoothing", {"from_logits": True, "label_smoothing": 0.2}, units=3, how="linear")
    with_sigmoid("binary_sequence", {}, shape=(3, 4))
    with_sigmoid("binary_weights", {}, units=2, weight=weights)
    with_sigmoid("binary_sum", {"reduction": "sum"}, units=2, weight=weights)
    with_sigmoid("binary_full_config", {"name": "binary_crossentropy", "reduction": "sum_over_batch_size",
                                        "from_logits": False, "label_smoothing": 0.0, "axis": -1})
    with_sigmoid("binary_hard_sigmoid", {}, units=3, how="hard_sigmoid",
                 note="no logits behind it: clipped probabilities")
    regression("binary_int_labels", kind("BinaryCrossentropy"), units=1, activation="sigmoid",
               target=lambda r: labels(r, 2, (5, 1)))
    regression("binary_labels_without_last_axis", kind("BinaryCrossentropy"), units=1, activation="sigmoid",
               target=lambda r: labels(r, 2, (5,)).astype(np.float32))
    regression("binary_soft_labels", kind("BinaryCrossentropy"), units=2, activation="sigmoid",
               target=lambda r: r.uniform(0, 1, (5, 2)).astype(np.float32))
    saturated = np.array([[40.0], [-40.0], [100.0], [-100.0], [5.0]], np.float32)
    line = {"dense/kernel": np.ones((1, 1), np.float32), "dense/bias": np.zeros(1, np.float32)}
    right, wrong = np.array([[1], [0], [1], [0], [1]], np.float32), np.array([[0], [1], [0], [1], [0]], np.float32)
    for tag, target in (("right", right), ("wrong", wrong)):
        regression(f"binary_saturated_{tag}", kind("BinaryCrossentropy"), units=1, shape=(1,), x=saturated,
                   weights=line, target=target, activation="sigmoid",
                   note="the stable form on the logits behind the sigmoid")
        regression(f"binary_saturated_logits_{tag}", kind("BinaryCrossentropy", from_logits=True), units=1, shape=(1,),
                   x=saturated, weights=line, target=target)
    probabilities = np.array([[0.0], [1.0], [1e-9], [0.25], [0.999]], np.float32)
    for tag, target in (("0", np.zeros((5, 1), np.float32)), ("1", np.ones((5, 1), np.float32))):
        regression(f"binary_probabilities_{tag}", kind("BinaryCrossentropy"), units=1, shape=(1,), x=probabilities,
                   weights=line, target=target,
                   note="clipped to [1e-7, 1-1e-7] in float32: the two ends are not symmetric")

    regression("crossentropy_binary", "crossentropy", units=1, activation="sigmoid", target=lambda r: labels(r, 2, (5, 1)))
    regression("crossentropy_sparse", "crossentropy", activation="softmax", target=lambda r: labels(r, 3))
    regression("crossentropy_sparse_column", "CE", activation="softmax", target=lambda r: labels(r, 3, (5, 1)))
    regression("crossentropy_categorical", "ce", activation="softmax", target=lambda r: one_hot(labels(r, 3), 3))

    def classes(name, config, units=4, shape=(4,), sparse=False, smooth=None, batch=5, how="softmax", **options):
        def target(rng):
            index = labels(rng, units, (batch, *shape[:-1]))
            return index if sparse else one_hot(index, units)
        regression(name, kind(("Sparse" if sparse else "") + "CategoricalCrossentropy", **config), units=units,
                   shape=shape, batch=batch, activation=how, **({"target": target} | options))

    for sparse in (False, True):
        tag = "sparse" if sparse else "categorical"
        classes(f"{tag}_softmax", {}, sparse=sparse)
        classes(f"{tag}_logits", {"from_logits": True}, sparse=sparse, how="linear")
        classes(f"{tag}_sequence", {}, sparse=sparse, shape=(3, 4))
        classes(f"{tag}_sequence_logits", {"from_logits": True}, sparse=sparse, shape=(3, 4), how="linear")
        classes(f"{tag}_weights", {}, sparse=sparse, weight=weights)
        classes(f"{tag}_sum", {"reduction": "sum"}, sparse=sparse, weight=some_zero)
        classes(f"{tag}_mean_with_sample_weight", {"reduction": "mean_with_sample_weight"}, sparse=sparse,
                weight=some_zero)
        classes(f"{tag}_sigmoid", {}, sparse=sparse, how="sigmoid", note=(
            "unlike the softmax, a sigmoid's logits are used: Keras takes whatever logits it finds"))
        classes(f"{tag}_hard_sigmoid", {}, sparse=sparse, how="hard_sigmoid", note="probabilities that do not sum to 1")
        net = Net()
        h = net.add("Activation", net.add("Dense", net.input("x", (4,)), units=4), activation="softmax")
        rng = f.rng(tag)
        index = labels(rng, 4)
        f.model(f"{tag}_softmax_activation_layer", net, h, [rng.normal(0, 1, (5, 4)).astype(np.float32)],
                loss=kind("SparseCategoricalCrossentropy" if sparse else "CategoricalCrossentropy"),
                target=index if sparse else one_hot(index, 4))
        net = Net()
        h = net.add("Softmax", net.add("Dense", net.input("x", (4,)), units=4))
        f.model(f"{tag}_softmax_layer", net, h, [rng.normal(0, 1, (5, 4)).astype(np.float32)],
                loss=kind("SparseCategoricalCrossentropy" if sparse else "CategoricalCrossentropy"),
                target=index if sparse else one_hot(index, 4))
        net = Net()
        h = net.add("Dense", net.input("x", (4,)), units=6, activation="softmax")
        h = net.add("Reshape", h, target_shape=[2, 3])
        index = labels(rng, 3, (5, 2))
        f.model(f"{tag}_softmax_then_reshape", net, h, [rng.normal(0, 1, (5, 4)).astype(np.float32)],
                loss=kind("SparseCategoricalCrossentropy" if sparse else "CategoricalCrossentropy"),
                target=index if sparse else one_hot(index, 3),
                note="no logits found behind a Reshape: probabilities, normalised by the loss")
        far = np.array([[60, 0, 0, -60], [-200, 0, 200, 0], [0, 100, 0, 0]], np.float32)
        eye = {"dense/kernel": np.eye(4, dtype=np.float32), "dense/bias": np.zeros(4, np.float32)}
        hit = np.array([3, 0, 1], np.int32)
        classes(f"{tag}_saturated", {}, sparse=sparse, x=far, weights=eye, target=hit if sparse else one_hot(hit, 4))
        given = np.array([[0.7, 0.2, 0.1, 0], [0, 0, 1, 0], [0.5, 0.5, 0.5, 0.5]], np.float32)
        classes(f"{tag}_probabilities", {}, sparse=sparse, x=given, weights=eye, how="linear",
                target=hit if sparse else one_hot(hit, 4))
    classes("categorical_full_config", {"name": "categorical_crossentropy", "reduction": "sum_over_batch_size",
                                        "from_logits": False, "label_smoothing": 0.0, "axis": -1})
    classes("sparse_full_config", {"name": "sparse_categorical_crossentropy", "reduction": "sum_over_batch_size",
                                   "from_logits": False, "ignore_class": None}, sparse=True)
    classes("categorical_smoothing", {"label_smoothing": 0.1})
    classes("categorical_logits_smoothing", {"label_smoothing": 0.1, "from_logits": True}, how="linear")
    classes("categorical_soft_labels", {}, target=lambda r: r.dirichlet(np.ones(4), 5).astype(np.float32))
    classes("sparse_column_labels", {}, sparse=True, target=lambda r: labels(r, 4, (5, 1)))
    classes("sparse_int64_labels", {}, sparse=True, target=lambda r: labels(r, 4).astype(np.int64))
    classes("sparse_float_labels", {}, sparse=True, target=lambda r: labels(r, 4).astype(np.float32))
    classes("sparse_uint8_labels", {}, sparse=True, target=lambda r: labels(r, 4).astype(np.uint8))
    holes = np.array([1, -1, 3, 0, -1], np.int32)
    for reduction in ("sum_over_batch_size", "sum", "mean_with_sample_weight"):
        for logits in (False, True):
            for weight in (None, weights):
                name = f"sparse_ignore_class_{reduction}{'_logits' if logits else ''}{'' if weight is None else '_weights'}"
                classes(name, {"ignore_class": -1, "from_logits": logits, "reduction": reduction}, sparse=True,
                        how="linear" if logits else "softmax", target=holes, weight=weight)
    classes("sparse_ignore_class_0", {"ignore_class": 0}, sparse=True, target=np.array([0, 1, 2, 0, 3], np.int32))
    classes("sparse_ignore_everything", {"ignore_class": -1}, sparse=True, target=np.full(5, -1, np.int32))
    classes("sparse_ignore_sequence", {"ignore_class": 2}, sparse=True, shape=(3, 4))

    # Values per sample: reduction "none" has no training path, so these come from the loss object itself.
    for name, loss, rank in (("mse", kind("MeanSquaredError", reduction="none"), "real"),
                             ("mae", kind("MeanAbsoluteError", reduction=None), "real"),
                             ("huber", kind("Huber", delta=0.7, reduction="none"), "real"),
                             ("binary", kind("BinaryCrossentropy", reduction="none", label_smoothing=0.1), "binary"),
                             ("categorical", kind("CategoricalCrossentropy", reduction="none"), "classes"),
                             ("sparse", kind("SparseCategoricalCrossentropy", reduction="none"), "sparse"),
                             ("sparse_ignore", kind("SparseCategoricalCrossentropy", reduction="none",
                                                    ignore_class=1), "sparse")):
        rng = f.rng("none" + name)
        if rank == "real":
            y, p = rng.normal(0, 1, (2, 4, 3, 5)).astype(np.float32)
        elif rank == "binary":
            y, p = rng.integers(0, 2, (4, 3, 5)).astype(np.float32), rng.uniform(0, 1, (4, 3, 5)).astype(np.float32)
        else:
            p = rng.dirichlet(np.ones(5), (4, 3)).astype(np.float32)
            y = labels(rng, 5, (4, 3))
            y = one_hot(y, 5) if rank == "classes" else y
        w = rng.uniform(0, 2, (4, 3)).astype(np.float32)
        unreduced(f, f"none_{name}", loss, y, p, w)
    return f


def running_metric(f, name, metric, y, p, w=None, batches=None):
    """Running value after each batch of `batches` rows."""
    f.note(name, metric=metric, batches=batches)
    f.put(name, "input", "prediction", p)
    f.put(name, "target", 0, y)
    if w is not None:
        f.put(name, "sample_weight", 0, w)
    made, values, at = one_metric(metric), [], 0
    for size in batches or [len(p)]:
        part = slice(at, at + size)
        made.update_state(y[part], p[part], None if w is None else w[part])
        values.append(float(made.result()))
        at += size
    f.put(name, "metric", "value", np.array(values, np.float32))


def metrics():
    f = Family("metrics")
    one = functools.partial(running_metric, f)
    rng = f.rng("data")
    p = rng.dirichlet(np.ones(4), 12).astype(np.float32)
    index = rng.integers(0, 4, 12).astype(np.int32)
    index[:5] = p[:5].argmax(1)
    q = rng.uniform(0, 1, (12, 1)).astype(np.float32)
    binary = (q + rng.normal(0, 0.3, q.shape) > 0.5).astype(np.float32)
    real, guess = rng.normal(0, 1, (2, 12, 3)).astype(np.float32)
    w = rng.uniform(0, 2, 12).astype(np.float32)
    rows = [5, 5, 2]
    for tag, weight in (("", None), ("_weights", w)):
        one(f"accuracy{tag}", kind("Accuracy"), rng.integers(0, 3, (12, 1)).astype(np.float32),
            rng.integers(0, 3, (12, 1)).astype(np.float32), weight, rows)
        one(f"binary_accuracy{tag}", kind("BinaryAccuracy"), binary, q, weight, rows)
        one(f"binary_accuracy_threshold{tag}", kind("BinaryAccuracy", threshold=0.7), binary, q, weight, rows)
        one(f"categorical_accuracy{tag}", kind("CategoricalAccuracy"), one_hot(index, 4), p, weight, rows)
        one(f"sparse_categorical_accuracy{tag}", kind("SparseCategoricalAccuracy"), index, p, weight, rows)
        one(f"top_k_categorical_accuracy{tag}", kind("TopKCategoricalAccuracy", k=2), one_hot(index, 4), p, weight, rows)
        one(f"sparse_top_k_categorical_accuracy{tag}", kind("SparseTopKCategoricalAccuracy", k=2), index, p, weight, rows)
        one(f"mean_squared_error{tag}", kind("MeanSquaredError"), real, guess, weight, rows)
        one(f"mean_absolute_error{tag}", kind("MeanAbsoluteError"), real, guess, weight, rows)
        one(f"binary_crossentropy{tag}", kind("BinaryCrossentropy"), binary, q, weight, rows)
        one(f"categorical_crossentropy{tag}", kind("CategoricalCrossentropy"), one_hot(index, 4), p, weight, rows)
        one(f"sparse_categorical_crossentropy{tag}", kind("SparseCategoricalCrossentropy"), index, p, weight, rows)
    one("huber", kind("Huber", delta=0.5), real, guess, w, rows)
    one("binary_accuracy_at_half", kind("BinaryAccuracy"), np.array([[1], [0], [1]], np.float32),
        np.array([[0.5], [0.5], [0.50001]], np.float32))
    one("binary_accuracy_multi_label", kind("BinaryAccuracy"), (real > 0).astype(np.float32),
        1 / (1 + np.exp(-guess)), None, rows)
    one("binary_crossentropy_smoothing", kind("BinaryCrossentropy", label_smoothing=0.2), binary, q)
    one("categorical_crossentropy_logits", kind("CategoricalCrossentropy", from_logits=True, label_smoothing=0.1),
        one_hot(rng.integers(0, 3, 12), 3), guess)
    one("sparse_categorical_crossentropy_logits", kind("SparseCategoricalCrossentropy", from_logits=True),
        rng.integers(0, 3, 12).astype(np.int32), guess)
    one("categorical_accuracy_ties", kind("CategoricalAccuracy"), one_hot(np.array([0, 1, 2]), 3),
        np.full((3, 3), 1 / 3, np.float32))
    one("sparse_categorical_accuracy_column", kind("SparseCategoricalAccuracy"), index.reshape(12, 1), p)
    sequence = rng.dirichlet(np.ones(4), (6, 3)).astype(np.float32)
    steps = rng.integers(0, 4, (6, 3)).astype(np.int32)
    steps[:3] = sequence[:3].argmax(-1)
    one("sparse_categorical_accuracy_sequence", kind("SparseCategoricalAccuracy"), steps, sequence, None, [4, 2])
    one("categorical_accuracy_sequence", kind("CategoricalAccuracy"), one_hot(steps, 4), sequence, None, [4, 2])
    one("sparse_categorical_accuracy_step_weights", kind("SparseCategoricalAccuracy"), steps, sequence,
        rng.uniform(0, 2, (6, 3)).astype(np.float32), [4, 2])
    one("mean_squared_error_sequence_step_weights", kind("MeanSquaredError"),
        *rng.normal(0, 1, (2, 6, 3, 2)).astype(np.float32), rng.uniform(0, 2, (6, 3)).astype(np.float32), [4, 2])

    def chosen(name, units, activation, y, loss, shape=(4,)):
        """Which accuracy the word "accuracy" chooses, through compile."""
        net, out = predictor(f, name, units, activation, shape)
        x = f.rng(name).normal(0, 1, (12 if len(shape) == 1 else 6, *shape)).astype(np.float32)
        f.model(name, net, out, [x], loss=loss, target=y, metrics=["accuracy"], grads=False)

    chosen("choice_binary", 1, "sigmoid", binary, kind("BinaryCrossentropy"))
    chosen("choice_binary_rank_1_labels", 1, "sigmoid", binary[:, 0], kind("BinaryCrossentropy"))
    chosen("choice_categorical", 4, "softmax", one_hot(index, 4), kind("CategoricalCrossentropy"))
    chosen("choice_sparse", 4, "softmax", index, kind("SparseCategoricalCrossentropy"))
    chosen("choice_sparse_column", 4, "softmax", index.reshape(12, 1), kind("SparseCategoricalCrossentropy"))
    chosen("choice_sparse_sequence", 4, "softmax", steps, kind("SparseCategoricalCrossentropy"), (3, 4))
    chosen("choice_multi_label", 3, "sigmoid", (real > 0).astype(np.float32), kind("BinaryCrossentropy"))
    net, out = predictor(f, "many", 3, "linear")
    f.model("many_metrics", net, out, [f.rng("many").normal(0, 1, (12, 4)).astype(np.float32)],
            loss=kind("MeanSquaredError"), target=real, sample_weight=w,
            metrics=["mse", "mean_absolute_error", kind("MeanAbsoluteError", name="named"), kind("Huber")], grads=False,
            note="`metrics` see no sample weights; the loss does")
    return f


FAMILIES = {"losses": losses, "metrics": metrics}
