"""Goldens of the metrics whose state is more than a total and a count, and of further means."""
import keras
import numpy as np

from cases_losses import one_hot
from record import Family, kind

ROWS = [5, 5, 2]


def metric_states():
    f = Family("metric_states", seed="metrics2")

    def one(name, metric, y, p, w=None, batches=ROWS, made=None, **fields):
        """Running value after each batch; of a metric with several numbers all of them, batch by batch."""
        batches = batches or [len(p)]
        f.note(name, metric=metric, batches=batches, **fields)
        f.put(name, "input", "prediction", p)
        f.put(name, "target", 0, y)
        if w is not None:
            f.put(name, "sample_weight", 0, w)
        made, values, at = made or keras.metrics.get(metric), [], 0
        for size in batches:
            part = slice(at, at + size)
            # As compile calls it: sample weights only where there are some.
            if metric["class_name"] in ("Mean", "Sum"):
                made.update_state(p[part], None if w is None else w[part])
            else:
                made.update_state(y[part], p[part], None if w is None else w[part])
            values.append(np.asarray(keras.ops.convert_to_numpy(made.result()), np.float32).reshape(-1))
            at += size
        f.put(name, "metric", "value", np.concatenate(values))

    rng = f.rng("data")
    q = rng.uniform(0, 1, (12, 1)).astype(np.float32)
    yes = (q + rng.normal(0, 0.35, q.shape) > 0.5).astype(np.float32)
    grid = rng.integers(0, 5, (12, 1)).astype(np.float32) / 4
    labels_q = rng.uniform(0, 1, (12, 3)).astype(np.float32)
    labels_y = (labels_q + rng.normal(0, 0.4, labels_q.shape) > 0.6).astype(np.float32)
    steps_q = rng.uniform(0, 1, (12, 2, 1)).astype(np.float32)
    steps_y = rng.integers(0, 2, (12, 2, 1)).astype(np.float32)
    steps_w = rng.uniform(0, 2, (12, 2)).astype(np.float32)
    w = rng.uniform(0, 2, 12).astype(np.float32)

    for name in ("TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives", "Precision", "Recall"):
        for tag, weight in (("", None), ("_weights", w)):
            one(f"{name}{tag}", kind(name), yes, q, weight)
            one(f"{name}_thresholds{tag}", kind(name, thresholds=[0.7, 0.2, 0.5]), yes, q, weight)
            one(f"{name}_even{tag}", kind(name, thresholds=[0.0, 0.25, 0.5, 0.75, 1.0]), yes, grid, weight)
        one(f"{name}_threshold", kind(name, thresholds=0.3), yes, q)
        one(f"{name}_labels", kind(name), labels_y, labels_q, w)
        one(f"{name}_steps", kind(name), steps_y, steps_q, steps_w)
        one(f"{name}_rank_1_labels", kind(name), yes[:, 0], q, w)
    for name in ("Precision", "Recall"):
        one(f"{name}_top_1", kind(name, top_k=1), labels_y, labels_q)
        one(f"{name}_top_2", kind(name, top_k=2), labels_y, labels_q, w)
        one(f"{name}_top_2_threshold", kind(name, top_k=2, thresholds=0.6), labels_y, labels_q)
        one(f"{name}_top_2_even", kind(name, top_k=2, thresholds=[0.0, 0.5, 1.0]), labels_y, labels_q)
        one(f"{name}_ties", kind(name, top_k=2), labels_y, np.round(labels_q * 2) / 2)
        one(f"{name}_class", kind(name, class_id=1), labels_y, labels_q, w)
        one(f"{name}_top_class", kind(name, class_id=2, top_k=2), labels_y, labels_q)
    one("Precision_nothing_said", kind("Precision"), yes, q * 0)
    one("Recall_nothing_there", kind("Recall"), yes * 0, q)
    one("Precision_full_config", kind("Precision", name="precision", thresholds=None, top_k=None, class_id=None),
        yes, q)

    for name, key in (("SensitivityAtSpecificity", "specificity"), ("SpecificityAtSensitivity", "sensitivity"),
                      ("PrecisionAtRecall", "recall"), ("RecallAtPrecision", "precision")):
        for value in (0.5, 0.8):
            one(f"{name}_{value}", kind(name, **{key: value}), yes, q)
        one(f"{name}_weights", kind(name, **{key: 0.6}), yes, q, w)
        one(f"{name}_few", kind(name, num_thresholds=5, **{key: 0.4}), yes, grid)
        one(f"{name}_1_threshold", kind(name, num_thresholds=1, **{key: 0.4}), yes, q)
        one(f"{name}_class", kind(name, class_id=0, **{key: 0.7}), labels_y, labels_q, w)
        one(f"{name}_impossible", kind(name, **{key: 1.0}), 1 - yes, q)

    for curve in ("ROC", "PR", "PRGAIN"):
        for method in ("interpolation", "majoring", "minoring"):
            config = {"curve": curve, "summation_method": method}
            for tag, weight in (("", None), ("_weights", w)):
                one(f"AUC_{curve}_{method}{tag}", kind("AUC", **config), yes, q, weight)
            one(f"AUC_{curve}_{method}_few", kind("AUC", num_thresholds=5, **config), yes, grid, w)
        one(f"AUC_{curve}_thresholds", kind("AUC", thresholds=[0.8, 0.1, 0.4], curve=curve), yes, q, w)
        one(f"AUC_{curve}_even_thresholds", kind("AUC", thresholds=[0.25, 0.5, 0.75], curve=curve), yes, grid)
        for tag, weight in (("", None), ("_weights", w)):
            one(f"AUC_{curve}_labels{tag}", kind("AUC", curve=curve, multi_label=True), labels_y, labels_q, weight)
        one(f"AUC_{curve}_weighted_labels", kind("AUC", curve=curve, multi_label=True, num_labels=3,
                                                label_weights=[0.5, 2.0, 1.0]), labels_y, labels_q, w)
    one("AUC_labels_thresholds", kind("AUC", multi_label=True, thresholds=[0.3, 0.4]), labels_y, labels_q)
    one("AUC_label_weights", kind("AUC", label_weights=[0.5, 2.0, 1.0]), labels_y, labels_q, w)
    one("AUC_flat_labels", kind("AUC"), labels_y, labels_q)
    one("AUC_steps", kind("AUC"), steps_y, steps_q, steps_w)
    one("AUC_logits", kind("AUC", from_logits=True), yes, (q - 0.5) * 6, w)
    one("AUC_2_thresholds", kind("AUC", num_thresholds=2), yes, q)
    one("AUC_beyond", kind("AUC"), yes, q * 3 - 1, note="predictions below 0 and above 1")
    one("AUC_one_class", kind("AUC"), yes * 0, q)
    one("AUC_full_config", kind("AUC", name="auc", dtype="float32", num_thresholds=200, curve="ROC",
                                summation_method="interpolation", multi_label=False, num_labels=None,
                                label_weights=None, from_logits=False), yes, q)

    maps = rng.integers(0, 4, (12, 2, 3)).astype(np.int32)
    scores = rng.uniform(0, 1, (12, 2, 3, 4)).astype(np.float32) + 0.5 * one_hot(maps, 4)
    numbers, guesses = maps[:, 0, :1], rng.integers(0, 4, (12, 1)).astype(np.float32)
    guesses[::2] = numbers[::2]
    hot, hot_scores = one_hot(maps[:, 0, 0], 4), scores[:, 0, 0]
    whole = rng.integers(0, 3, 12).astype(np.float32)
    for tag, weight in (("", None), ("_weights", whole)):
        one(f"MeanIoU{tag}", kind("MeanIoU", num_classes=4), numbers, guesses, weight)
        one(f"IoU{tag}", kind("IoU", num_classes=4, target_class_ids=[0, 3]), numbers, guesses, weight)
        one(f"OneHotIoU{tag}", kind("OneHotIoU", num_classes=4, target_class_ids=[1, 2]), hot, hot_scores, weight)
        one(f"OneHotMeanIoU{tag}", kind("OneHotMeanIoU", num_classes=4), hot, hot_scores, weight)
        one(f"BinaryIoU{tag}", kind("BinaryIoU"), yes, q, weight)
    one("MeanIoU_cut_weights", kind("MeanIoU", num_classes=4), numbers, guesses, w)
    one("MeanIoU_float_weights", kind("MeanIoU", num_classes=4, dtype="float32"), numbers, guesses, w)
    one("MeanIoU_outside", kind("MeanIoU", num_classes=3), numbers - 1, guesses)
    one("MeanIoU_absent_class", kind("MeanIoU", num_classes=7), numbers, guesses)
    one("MeanIoU_fractions", kind("MeanIoU", num_classes=4), numbers, guesses + 0.6)
    for dtype in ("int32", "int64", "float32"):
        one(f"MeanIoU_ignored_{dtype}", kind("MeanIoU", num_classes=4, ignore_class=2, dtype=dtype), numbers, guesses)
    one("MeanIoU_maps", kind("MeanIoU", num_classes=4, sparse_y_pred=False), maps, scores)
    one("IoU_maps_ignored", kind("IoU", num_classes=4, target_class_ids=[1, 2], ignore_class=0, sparse_y_pred=False,
                                 sparse_y_true=False), one_hot(maps, 4), scores)
    one("OneHotMeanIoU_sparse_guess", kind("OneHotMeanIoU", num_classes=1, sparse_y_pred=True), yes[:, :1] * 0,
        yes[:, :1])
    one("BinaryIoU_threshold", kind("BinaryIoU", target_class_ids=[1], threshold=0.3), yes, q)
    one("BinaryIoU_at_threshold", kind("BinaryIoU"), yes, grid, note="a prediction of the threshold itself is class 1")
    one("BinaryIoU_full_config", kind("BinaryIoU", target_class_ids=[0, 1], threshold=0.5, name="binary_io_u",
                                      dtype="int64"), yes, q)

    for average in (None, "micro", "macro", "weighted"):
        for tag, weight in (("", None), ("_weights", w)):
            one(f"F1Score_{average}{tag}", kind("F1Score", average=average), hot, hot_scores, weight)
            one(f"FBetaScore_{average}{tag}", kind("FBetaScore", average=average, beta=2.0, threshold=0.4), labels_y,
                labels_q, weight)
    one("FBetaScore_half", kind("FBetaScore", beta=0.5, average="macro"), hot, hot_scores)
    one("F1Score_nothing_said", kind("F1Score", threshold=1.0), labels_y, labels_q)
    one("F1Score_ties", kind("F1Score"), hot, np.round(hot_scores))
    one("F1Score_one_output", kind("F1Score", threshold=0.5), yes, q)

    real = rng.normal(0, 1, (12, 3)).astype(np.float32)
    guess = (real + rng.normal(0, 0.6, real.shape)).astype(np.float32)
    for tag, weight in (("", None), ("_weights", w)):
        one(f"RootMeanSquaredError{tag}", kind("RootMeanSquaredError"), real, guess, weight)
        for aggregation in ("uniform_average", "variance_weighted_average", None):
            one(f"R2Score_{aggregation}{tag}", kind("R2Score", class_aggregation=aggregation), real, guess, weight)
        one(f"R2Score_regressors{tag}", kind("R2Score", num_regressors=3), real, guess, weight)
        for name in ("PearsonCorrelation", "ConcordanceCorrelation", "LogCoshError", "Mean", "Sum"):
            one(f"{name}{tag}", kind(name), real, guess, weight)
    one("RootMeanSquaredError_steps", kind("RootMeanSquaredError"), steps_y, steps_q, steps_w)
    one("RootMeanSquaredError_rank_1", kind("RootMeanSquaredError"), yes[:, 0], q)
    one("R2Score_one_output", kind("R2Score"), real[:, :1], guess[:, :1], w)
    one("R2Score_rank_1", kind("R2Score"), real[:, 0], guess[:, :1])
    one("R2Score_too_many_regressors", kind("R2Score", num_regressors=40, class_aggregation=None), real, guess)
    for name in ("PearsonCorrelation", "ConcordanceCorrelation"):
        one(f"{name}_axis_0", kind(name, axis=0), real, guess, None, [4, 4, 4])
        one(f"{name}_full_config", kind(name, name="c", dtype="float32", axis=-1), real, guess)
    one("Mean_steps", kind("Mean"), steps_y, steps_q, steps_w)
    one("Sum_steps", kind("Sum"), steps_y, steps_q)
    ids = np.argsort(-hot_scores, 1).astype(np.float32)
    for k in (1, 2, 9):
        one(f"sorted_ids_{k}", kind("SparseTopKCategoricalAccuracy", k=k, from_sorted_ids=True), maps[:, 0, 0], ids)
    return f


FAMILIES = {"metric_states": metric_states}
