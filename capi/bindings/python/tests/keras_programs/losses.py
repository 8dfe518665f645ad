"""Losses and metrics: by name, as functions and objects; masks and reductions."""

import numpy as np

from . import DATA, ONE_HOT, mlp, numbers, program, raised

Y, P = np.abs(numbers(6, 3)) % 1, np.abs(numbers(6, 3, seed=1)) % 1 + 0.01


@program
def every_loss_as_a_function(keras):
    f = keras.losses
    y, p = Y, P / P.sum(-1, keepdims=True)
    return [
        np.asarray(g(y, p))
        for g in (
            f.mean_squared_error,
            f.mean_absolute_error,
            f.mean_absolute_percentage_error,
            f.mean_squared_logarithmic_error,
            f.categorical_crossentropy,
            f.binary_crossentropy,
            f.kl_divergence,
            f.poisson,
            f.log_cosh,
            f.huber,
            f.hinge,
            f.squared_hinge,
            f.categorical_hinge,
            f.cosine_similarity,
        )
    ]


@program
def every_loss_by_name(keras):
    told = []
    for name in (
        "mse",
        "mae",
        "mape",
        "msle",
        "categorical_crossentropy",
        "binary_crossentropy",
        "kl_divergence",
        "poisson",
        "log_cosh",
        "huber",
        "hinge",
        "categorical_hinge",
        "cosine_similarity",
        "categorical_focal_crossentropy",
    ):
        m = mlp(keras)
        m.compile("sgd", name)
        told.append(m.evaluate(DATA, ONE_HOT, verbose=0))
    return told


@program
def losses_with_settings(keras):
    f = keras.losses
    return [
        np.asarray(g(Y, P))
        for g in (
            f.BinaryCrossentropy(from_logits=True, label_smoothing=0.2),
            f.Huber(delta=0.3, reduction="sum"),
            f.CosineSimilarity(axis=0),
            f.BinaryFocalCrossentropy(gamma=1.5),
            f.Tversky(alpha=0.3),
            f.Dice(),
            f.CategoricalFocalCrossentropy(),
            f.LogCosh(),
            f.Poisson(reduction=None),
        )
    ]


@program
def weights_and_reductions(keras):
    w = np.linspace(0, 2, 6).astype("float32")
    return [
        np.asarray(keras.losses.MeanSquaredError(reduction=r)(Y, P, sample_weight=w))
        for r in ("sum_over_batch_size", "sum", "none", "mean_with_sample_weight")
    ]


@program
def sparse_losses(keras):
    labels, logits = np.array([0, 2, 1]), numbers(3, 3)
    return [
        np.asarray(keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits)),
        np.asarray(keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=1)(labels, logits)),
        np.asarray(keras.losses.sparse_categorical_crossentropy(labels, np.abs(logits), from_logits=False)),
    ]


@program
def metrics_in_compile(keras):
    m = mlp(keras)
    k = keras.metrics
    m.compile(
        "sgd",
        "categorical_crossentropy",
        metrics=[
            k.CategoricalAccuracy(name="acc"),
            k.TopKCategoricalAccuracy(2),
            k.AUC(),
            k.Precision(),
            k.Recall(name="rec"),
            k.MeanSquaredError(),
            k.KLDivergence(),
            k.CosineSimilarity(axis=1),
            k.F1Score("macro"),
        ],
    )
    told = m.evaluate(DATA, ONE_HOT, verbose=0, return_dict=True)
    return sorted(told), [told[key] for key in sorted(told)]


@program
def metrics_over_batches(keras):
    k = keras.metrics
    told = []
    for m in (
        k.MeanAbsoluteError(),
        k.RootMeanSquaredError(),
        k.BinaryAccuracy(threshold=0.3),
        k.AUC(curve="PR"),
        k.Precision(thresholds=0.4),
        k.R2Score(),
        k.LogCoshError(),
        k.CategoricalAccuracy(),
        k.Hinge(),
    ):
        y = (Y > 0.5).astype("float32")
        m.update_state(y[:4], P[:4])
        m.update_state(y[4:], P[4:])
        told.append(float(np.asarray(m.result())))
    return told


@program
def mean_and_sum(keras):
    a, b = keras.metrics.Mean(), keras.metrics.Sum(name="all")
    for m in (a, b):
        m.update_state([1, 3, 5])
        m.update_state(2.0)
    c = keras.metrics.Mean()
    c.update_state([1, 3, 5], sample_weight=[1, 0, 1])
    return float(a.result()), float(b.result()), float(c.result()), a.name, b.name


@program
def metric_reset(keras):
    m = keras.metrics.MeanSquaredError()
    m.update_state(Y, P)
    m.reset_state()
    m.update_state(Y[:2], P[:2])
    return float(m.result()), float(keras.metrics.MeanSquaredError()(Y, P))


@program
def iou_metrics(keras):
    k = keras.metrics
    a, b = k.MeanIoU(3), k.BinaryIoU([0, 1], threshold=0.3)
    a.update_state([0, 1, 2, 2], [0, 2, 2, 1])
    b.update_state([0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7])
    return float(a.result()), float(b.result())


@program
def masked_losses(keras):
    x = keras.Input((None,), dtype="int32")
    h = keras.layers.Embedding(8, 3, mask_zero=True)(x)
    m = keras.Model(x, keras.layers.Dense(2)(keras.layers.LSTM(3, return_sequences=True)(h)))
    m.set_weights([numbers(*w.shape, scale=0.5) for w in m.get_weights()])
    m.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mse"])
    ids = np.array([[1, 2, 0, 0], [3, 4, 5, 0], [6, 7, 1, 2]])
    h = m.fit(ids, numbers(3, 4, 2), epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], h.history["mae"]


@program
def added_losses_of_regularizers(keras):
    x = keras.Input((4,))
    y = keras.layers.Dense(
        3,
        kernel_regularizer="l2",
        bias_regularizer=keras.regularizers.L1(0.1),
        activity_regularizer=keras.regularizers.L2(0.01),
    )(x)
    m = keras.Model(x, y)
    m.set_weights([numbers(4, 3), numbers(3)])
    m.compile("sgd", "mse")
    return m.fit(DATA, ONE_HOT, epochs=2, verbose=0, shuffle=False).history["loss"], m.get_weights()


@program
def wrong_losses(keras):
    f = keras.losses
    return [
        raised(lambda: f.MeanSquaredError(reduction="abc")),
        raised(lambda: f.get("no such")),
        raised(lambda: keras.metrics.get("no such")),
    ]


@program
def configs_of_losses_and_metrics(keras):
    a = keras.losses.MeanSquaredError(reduction="sum", name="h")
    b = keras.losses.MeanSquaredError.from_config(a.get_config())
    c = keras.metrics.Precision(thresholds=0.4, name="p")
    d = keras.metrics.Precision.from_config(c.get_config())
    return np.asarray(b(Y, P)), b.name, d.name, d.thresholds
