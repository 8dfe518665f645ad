"""Goldens of random configurations of losses, metrics, optimizers and schedules."""
import keras
import numpy as np

import cases_focal  # noqa: F401  tells keras.losses.get() of the one it does not know
from cases_losses import one_hot, predictor
from cases_optimizers import schedule
from cases_random import cases, record
from record import Family, kind, one_metric

REAL = ("MeanSquaredError", "MeanAbsoluteError", "Huber", "LogCosh", "CosineSimilarity")
POSITIVE = ("MeanAbsolutePercentageError", "MeanSquaredLogarithmicError", "Poisson")
SIGNS = ("Hinge", "SquaredHinge")
BITS = ("BinaryCrossentropy", "BinaryFocalCrossentropy", "Dice", "Tversky")
CLASSES = ("CategoricalCrossentropy", "CategoricalFocalCrossentropy", "KLDivergence", "CategoricalHinge",
           "CategoricalGeneralizedCrossEntropy", "SparseCategoricalCrossentropy")
CROSS = ("BinaryCrossentropy", "CategoricalCrossentropy")


def options_of(d, class_name, axes):
    """Options of a loss, or of the metric of its name."""
    how = {"Huber": {"delta": lambda: d.real(0.3, 2)}, "CosineSimilarity": {"axis": axes},
           "BinaryCrossentropy": {"label_smoothing": lambda: d.real(0, 0.5), "axis": axes},
           "BinaryFocalCrossentropy": {"label_smoothing": lambda: d.real(0, 0.5),
                                       "apply_class_balancing": (True, False), "alpha": lambda: d.real(0.1, 0.9),
                                       "gamma": (0.5, 1.0, 3.0)},
           "CategoricalCrossentropy": {"label_smoothing": lambda: d.real(0, 0.5)},
           "CategoricalFocalCrossentropy": {"label_smoothing": lambda: d.real(0, 0.5),
                                            "alpha": lambda: d.real(0.1, 0.9), "gamma": (0.5, 1.0, 3.0)},
           "CategoricalGeneralizedCrossEntropy": {"q": lambda: d.real(0.2, 0.9)},
           "SparseCategoricalCrossentropy": {"ignore_class": (0, -1)},
           "Tversky": {"alpha": lambda: d.real(0.1, 0.9), "beta": lambda: d.real(0.1, 0.9)}}
    return d.options(0.6, **how.get(class_name, {}))


def values_of(d, class_name, shape):
    """Random targets of that loss."""
    if class_name in POSITIVE:
        return d.r.uniform(0.1, 2, shape).astype(np.float32)
    if class_name in SIGNS:
        return np.where(d.r.random(shape) < 0.5, -1, 1).astype(np.float32)
    if class_name in BITS:
        return (d.r.random(shape) < 0.5).astype(np.float32)
    if class_name in CLASSES:
        labels = d.r.integers(0, shape[-1], shape[:-1]).astype(np.int32)
        if class_name in ("SparseCategoricalCrossentropy", "CategoricalGeneralizedCrossEntropy"):
            return labels
        hot = one_hot(labels, shape[-1])
        return hot * np.float32(0.9) + np.float32(0.1 / shape[-1]) if class_name == "KLDivergence" else hot
    return d.x(*shape)


def weights_for(d, shape):
    """Of samples or steps, some of them 0; or none."""
    if d.chance(0.4):
        return None
    shape = shape[:1] if d.chance() else shape[:-1]
    return (d.r.uniform(0, 2, shape) * (d.r.random(shape) < 0.8)).astype(np.float32)


def loss(f, name, d):
    group = d.one(REAL, POSITIVE, SIGNS, BITS, BITS, CLASSES, CLASSES)
    class_name, batch = d.one(*group), d.number(2, 5)
    shape = (batch, 4) if d.chance(0.6) else (batch, 3, 4)
    units = d.number(2, 4)
    config = options_of(d, class_name, (-1, 1) if len(shape) == 3 else (-1,))
    config |= d.options(0.4, reduction=("sum", "sum_over_batch_size", "mean", "mean_with_sample_weight"))
    activation = {POSITIVE: "softplus", SIGNS: "tanh", BITS: "sigmoid", CLASSES: "softmax"}.get(group, "linear")
    if "Crossentropy" in class_name and d.chance(0.4):
        config["from_logits"], activation = True, "linear"
    net, out = predictor(f, name, units, activation, shape[1:])
    result = (*shape[:-1], units)
    record(f, name, d, net, out, [d.x(*shape)], loss=kind(class_name, **config),
           target=values_of(d, class_name, result), sample_weight=weights_for(d, result))


def running(f, name, metric, y, p, w, batches):
    """All numbers of the metric after each batch."""
    made, values, at = one_metric(metric), [], 0
    for size in batches:
        part = slice(at, at + size)
        made.update_state(y[part], p[part], None if w is None else w[part])
        values.append(np.asarray(keras.ops.convert_to_numpy(made.result()), np.float32).reshape(-1))
        at += size
    f.note(name, metric=metric, batches=batches)
    f.put(name, "input", "prediction", p)
    f.put(name, "target", 0, y)
    if w is not None:
        f.put(name, "sample_weight", 0, w)
    f.put(name, "metric", "value", np.concatenate(values))


def batches(d):
    first = d.number(3, 5)
    return [first] * d.number(1, 2) + [d.number(1, first)] * d.number(0, 1)


def mean_metric(f, name, d):
    group = d.one(REAL, POSITIVE, SIGNS, BITS, CLASSES, ("RootMeanSquaredError", "R2Score", "PearsonCorrelation"))
    class_name, rows = d.one(*group), batches(d)
    shape = (sum(rows), d.number(2, 4)) if d.chance(0.7) or "R2" in class_name else (sum(rows), 2, d.number(2, 4))
    p = d.r.uniform(0.05, 0.95, shape).astype(np.float32)
    config = d.options(label_smoothing=lambda: d.real(0, 0.5)) if class_name in CROSS else {}
    if group == CLASSES:
        p /= p.sum(-1, keepdims=True)
    if class_name == "R2Score":
        config = d.options(class_aggregation=("uniform_average", "variance_weighted_average", None))
    class_name = {"LogCosh": "LogCoshError"}.get(class_name, class_name)
    if not hasattr(keras.metrics, class_name):
        raise ValueError(f"{class_name} is a loss alone")
    running(f, name, kind(class_name, **config), values_of(d, class_name, shape), p, weights_for(d, shape), rows)


def counted_metric(f, name, d):
    rows, labels = batches(d), d.number(1, 3)
    shape = (sum(rows), labels)
    p = d.r.uniform(0, 1, shape).astype(np.float32)
    if d.chance(0.3):
        p = (d.r.integers(0, 5, shape) / 4).astype(np.float32)
    y = (p + d.r.normal(0, 0.4, shape) > 0.5).astype(np.float32)
    thresholds = sorted(d.real(0, 1) for _ in range(d.number(1, 4)))
    class_name = d.one("TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives", "Precision", "Recall",
                       "AUC", "AUC", "SensitivityAtSpecificity", "SpecificityAtSensitivity", "PrecisionAtRecall",
                       "RecallAtPrecision", "F1Score", "FBetaScore", "BinaryAccuracy")
    if class_name == "AUC":
        config = d.options(curve=("ROC", "PR", "PRGAIN"), summation_method=("interpolation", "majoring", "minoring"),
                           num_thresholds=(5, 50))
        if labels > 1:
            config |= d.options(multi_label=(True,))
            if config.get("multi_label"):
                config |= d.options(num_labels=(labels,), label_weights=([d.real(0.2, 2) for _ in range(labels)],))
    elif class_name in ("F1Score", "FBetaScore"):
        config = d.options(average=("micro", "macro", "weighted", None), threshold=(0.4, None))
        config |= d.options(beta=(0.5, 2.0)) if class_name == "FBetaScore" else {}
    elif class_name == "BinaryAccuracy":
        config = d.options(threshold=(0.3, 0.7))
    elif "At" in class_name:
        key = {"SensitivityAtSpecificity": "specificity", "SpecificityAtSensitivity": "sensitivity",
               "PrecisionAtRecall": "recall", "RecallAtPrecision": "precision"}[class_name]
        config = {key: d.real(0.1, 0.9), **d.options(num_thresholds=(1, 7, 50), class_id=(labels - 1,))}
    else:
        config = d.options(thresholds=(thresholds, thresholds[0]))
        if class_name in ("Precision", "Recall"):
            config |= d.options(0.4, top_k=(1, labels), class_id=(labels - 1,))
    running(f, name, kind(class_name, **config), y, p, weights_for(d, shape), rows)


def class_metric(f, name, d):
    rows, classes = batches(d), d.number(2, 5)
    shape = (sum(rows),) if d.chance(0.6) else (sum(rows), 3)
    y = d.r.integers(0, classes, shape).astype(np.int32)
    p = (d.r.uniform(0, 1, (*shape, classes)) + 0.4 * one_hot(y, classes)).astype(np.float32)
    class_name = d.one("CategoricalAccuracy", "SparseCategoricalAccuracy", "TopKCategoricalAccuracy", "OneHotMeanIoU",
                       "SparseTopKCategoricalAccuracy", "MeanIoU", "IoU", "OneHotIoU")
    config = d.options(0.7, k=(1, 2, 9)) if "TopK" in class_name else {}
    if "IoU" in class_name:
        config = {"num_classes": classes, **d.options(ignore_class=(0, classes - 1), dtype=("int32", "float32"))}
        if class_name in ("IoU", "OneHotIoU"):
            config["target_class_ids"] = sorted({d.number(0, classes - 1) for _ in range(2)})
        if class_name in ("MeanIoU", "IoU"):
            config["sparse_y_pred"] = False
    if class_name.startswith(("Cat", "TopK", "OneHot")):
        y = one_hot(y, classes)
    w = None if d.chance() else d.r.integers(0, 3, len(p)).astype(np.float32)
    running(f, name, kind(class_name, **config), y, p, w, rows)


def a_schedule(d):
    rate, steps = d.real(0.05, 0.3), d.number(2, 6)
    decay = {"initial_learning_rate": rate, "decay_steps": steps}
    return d.one(
        lambda: schedule("ExponentialDecay", **decay, decay_rate=d.real(0.3, 0.9),
                         **d.options(staircase=(True, False))),
        lambda: schedule("InverseTimeDecay", **decay, decay_rate=d.real(0.3, 0.9),
                         **d.options(staircase=(True, False))),
        lambda: schedule("PolynomialDecay", **decay, **d.options(end_learning_rate=(0.01, 0.05), power=(0.5, 2.0),
                                                                 cycle=(True, False))),
        lambda: schedule("CosineDecay", **decay, **d.options(alpha=(0.1, 0.3)),
                         **d.one({}, {"warmup_target": 2 * rate, "warmup_steps": d.number(1, 3)})),
        lambda: schedule("CosineDecayRestarts", initial_learning_rate=rate, first_decay_steps=steps,
                         **d.options(t_mul=(1.0, 1.5, 2.0), m_mul=(0.7, 1.0), alpha=(0.1, 0.3))),
        lambda: schedule("PiecewiseConstantDecay", boundaries=[steps - 1, steps + 2],
                         values=[rate, rate / 2, d.real(0.01, 0.1)]))()


OPTIMIZERS = {
    "SGD": {"momentum": (0.5, 0.9), "nesterov": (True, False)},
    "Adam": {"beta_1": (0.5, 0.95), "beta_2": (0.8, 0.99), "epsilon": (1e-3, 1e-5), "amsgrad": (True, False)},
    "AdamW": {"beta_1": (0.5, 0.95), "weight_decay": (0.01, 0.2), "epsilon": (1e-3,), "amsgrad": (True, False)},
    "RMSprop": {"rho": (0.5, 0.95), "momentum": (0.4, 0.8), "epsilon": (1e-3,), "centered": (True, False)},
    "Adagrad": {"initial_accumulator_value": (0.0, 0.5), "epsilon": (1e-3,)},
    "Adadelta": {"rho": (0.5, 0.9), "epsilon": (1e-3,)},
    "Adamax": {"beta_1": (0.5, 0.95), "beta_2": (0.8, 0.99), "epsilon": (1e-3,)},
    "Nadam": {"beta_1": (0.5, 0.95), "beta_2": (0.8, 0.99), "epsilon": (1e-3,)},
    "Lion": {"beta_1": (0.5, 0.95), "beta_2": (0.8, 0.95)},
    "Ftrl": {"learning_rate_power": (-0.3, -0.8), "initial_accumulator_value": (0.05, 0.5), "beta": (0.0, 0.2),
             "l1_regularization_strength": (0.01, 0.1), "l2_regularization_strength": (0.01, 0.1),
             "l2_shrinkage_regularization_strength": (0.01, 0.1)},
    "Lamb": {"beta_1": (0.5, 0.95), "beta_2": (0.8, 0.99), "epsilon": (1e-3,)},
    "Adafactor": {"beta_2_decay": (-0.5, -0.9), "epsilon_1": (1e-6,), "epsilon_2": (0.05,),
                  "clip_threshold": (0.5, 2.0), "relative_step": (True, False)}}


def optimizer(f, name, d):
    class_name = d.one(*OPTIMIZERS)
    config = {"learning_rate": a_schedule(d) if d.chance(0.4) else d.real(0.01, 0.2),
              **d.options(**OPTIMIZERS[class_name])}
    clip = d.one({}, {"clipnorm": d.real(0.1, 0.5)}, {"clipvalue": d.real(0.02, 0.2)},
                 {"global_clipnorm": d.real(0.2, 1)})
    config |= clip | d.options(0.25, weight_decay=(0.01, 0.2), gradient_accumulation_steps=(2, 3), use_ema=(True,),
                               loss_scale_factor=(8.0,))
    if config.get("use_ema"):
        config |= d.options(ema_momentum=(0.5, 0.9), ema_overwrite_frequency=(1, 2, 3))
    net, out = predictor(f, name, 5, "tanh", (4,), layers=(("Dense", {"units": 3, "activation": "softmax"}),))
    f.model(name, net, out, [d.x(6, 4)], loss=kind("SparseCategoricalCrossentropy"),
            optimizer=kind(class_name, **config), target=d.r.integers(0, 3, 6).astype(np.int32), steps=d.number(5, 8),
            forward=False, input_grad=False, grads=False)


def random_losses():
    f = Family("random_losses")
    cases(f, 55, [loss])
    return f


def random_metrics():
    f = Family("random_metrics")
    cases(f, 30, [mean_metric, counted_metric])
    cases(f, 15, [class_metric])
    return f


def random_optimizers():
    f = Family("random_optimizers")
    cases(f, 45, [optimizer])
    return f


FAMILIES = {"random_losses": random_losses, "random_metrics": random_metrics, "random_optimizers": random_optimizers}
