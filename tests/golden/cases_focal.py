"""Goldens of the focal, overlap, generalized and Circle losses."""
import keras
import numpy as np

from cases_losses import one_hot, predictor, unreduced
from record import Family, Net, kind

STEPS = 2
RATE = kind("SGD", learning_rate=0.05)


def focal_overlap_losses():
    f = Family("focal_overlap_losses", seed="losses2")

    def case(name, loss, target, units=3, shape=(4,), batch=5, how="linear", weight=None, layers=(), **options):
        net, out = predictor(f, name, units, how, shape, layers=layers)
        rng = f.rng(name)
        x = options.pop("x", None)
        x = rng.normal(0, 1, (batch, *shape)).astype(np.float32) if x is None else x
        f.model(name, net, out, [x], loss=loss, target=target(rng) if callable(target) else target,
                sample_weight=weight, **({"optimizer": RATE, "steps": STEPS} | options))

    w = f.rng("weights").uniform(0, 2, 5).astype(np.float32)
    some_zero = np.array([1, 0, 2, 0, 0.5], np.float32)
    steps = f.rng("steps").uniform(0, 2, (5, 3)).astype(np.float32)

    def flags(*shape):
        return lambda r: r.integers(0, 2, shape).astype(np.float32)

    def binary(name, config, units=3, shape=(4,), how="sigmoid", **options):
        case(f"binary_focal_{name}", kind("BinaryFocalCrossentropy", **config),
             options.pop("target", flags(5, *shape[:-1], units)), units, shape, how=how, **options)

    binary("sigmoid", {})
    binary("one_output", {}, units=1)
    binary("logits", {"from_logits": True}, how="linear")
    binary("logits_of_a_sigmoid", {"from_logits": True}, note="the sigmoid's values are taken for logits")
    binary("balanced", {"apply_class_balancing": True, "alpha": 0.1})
    binary("balanced_logits", {"apply_class_balancing": True, "from_logits": True}, how="linear", weight=w)
    binary("gamma_half", {"gamma": 0.5})
    binary("gamma_1", {"gamma": 1.0})
    binary("gamma_3", {"gamma": 3.0}, weight=w)
    binary("smoothing", {"label_smoothing": 0.2})
    binary("hard_sigmoid", {}, how="hard_sigmoid", note="no logits behind it: clipped probabilities")
    binary("soft_labels", {}, target=lambda r: r.uniform(0, 1, (5, 3)).astype(np.float32))
    binary("labels_without_last_axis", {}, units=1, target=flags(5))
    binary("logits_labels_without_last_axis", {"from_logits": True}, units=1, how="linear", target=flags(5))
    binary("sequence", {}, shape=(3, 4), weight=steps)
    binary("axis_1", {"axis": 1}, shape=(3, 4))
    binary("sum", {"reduction": "sum"}, weight=some_zero)
    binary("mean_with_sample_weight", {"reduction": "mean_with_sample_weight"}, weight=some_zero)
    binary("full_config", {"name": "binary_focal_crossentropy", "reduction": "sum_over_batch_size",
                           "from_logits": False, "label_smoothing": 0.0, "axis": -1, "apply_class_balancing": False,
                           "alpha": 0.25, "gamma": 2.0})
    far = np.array([[9.0], [-9.0], [30.0], [-30.0], [2.0]], np.float32)
    line = {"dense/kernel": np.ones((1, 1), np.float32), "dense/bias": np.zeros(1, np.float32)}
    for tag, target in (("right", [[1], [0], [1], [0], [1]]), ("wrong", [[0], [1], [0], [1], [0]])):
        binary(f"saturated_{tag}", {}, units=1, shape=(1,), x=far, weights=line, target=np.array(target, np.float32))

    def classes(units, *shape):
        return lambda r: one_hot(r.integers(0, units, shape), units)

    def categorical(name, config, units=4, shape=(4,), how="softmax", **options):
        case(f"categorical_focal_{name}", kind("CategoricalFocalCrossentropy", **config),
             options.pop("target", classes(units, 5, *shape[:-1])), units, shape, how=how, **options)

    categorical("softmax", {})
    categorical("logits", {"from_logits": True}, how="linear")
    categorical("sigmoid", {}, how="sigmoid", note="probabilities that do not sum to 1")
    categorical("alpha", {"alpha": 0.7, "gamma": 1.5}, weight=w)
    categorical("alphas", {"alpha": [0.1, 0.2, 0.3, 0.4]})
    categorical("gamma_half", {"gamma": 0.5})
    categorical("smoothing", {"label_smoothing": 0.1})
    categorical("logits_smoothing", {"label_smoothing": 0.1, "from_logits": True}, how="linear", weight=some_zero)
    categorical("soft_labels", {}, target=lambda r: r.dirichlet(np.ones(4), 5).astype(np.float32))
    categorical("sequence", {}, shape=(3, 4), weight=steps)
    categorical("axis_1", {"axis": 1, "from_logits": True}, shape=(3, 4), how="linear")
    categorical("sum", {"reduction": "sum"})
    categorical("full_config", {"name": "categorical_focal_crossentropy", "reduction": "sum_over_batch_size",
                                "from_logits": False, "label_smoothing": 0.0, "axis": -1, "alpha": 0.25, "gamma": 2.0})

    def labels(units, *shape):
        return lambda r: r.integers(0, units, shape).astype(np.int32)

    generalized = "CategoricalGeneralizedCrossEntropy"
    keras.src.losses.ALL_OBJECTS_DICT[generalized] = getattr(keras.losses, generalized)  # get() does not know it
    for name, config, weight in (("default", {}, None), ("q_03", {"q": 0.3}, w), ("q_09", {"q": 0.9}, some_zero),
                                 ("sum", {"reduction": "sum"}, w)):
        case(f"generalized_{name}", kind(generalized, **config), labels(4, 5), 4, how="softmax", weight=weight)
    case("generalized_sequence", kind(generalized), labels(4, 5, 3), 4, (3, 4), how="softmax", weight=steps)

    for name, loss in (("dice", kind("Dice")), ("tversky", kind("Tversky", alpha=0.3, beta=0.8))):
        def overlap(tag, config=None, shape=(3, 4), units=2, loss=loss, **options):
            spec = kind(loss["class_name"], **loss["config"], **(config or {}))
            case(f"{name}_{tag}", spec, options.pop("target", flags(5, *shape[:-1], units)), units, shape,
                 how="sigmoid", **options)
        overlap("all")
        overlap("all_weights", weight=w, note="one number for the batch counts for each weight")
        overlap("all_sum", {"reduction": "sum"}, weight=some_zero)
        overlap("all_mean_with_sample_weight", {"reduction": "mean_with_sample_weight"}, weight=some_zero)
        overlap("all_step_weights", weight=steps)
        overlap("axis_last", {"axis": -1})
        overlap("axes", {"axis": [1, 2]})
        overlap("axes_weights", {"axis": [1, 2]}, weight=w)
        overlap("axis_list", {"axis": [1]}, weight=steps[:, :2])
        overlap("matrix", shape=(4,), units=3)
        overlap("empty", shape=(4,), units=3, target=np.zeros((5, 3), np.float32))
        overlap("soft", shape=(4,), target=lambda r: r.uniform(0, 1, (5, 2)).astype(np.float32))
    case("tversky_default", kind("Tversky"), flags(5, 3), how="sigmoid")
    case("dice_full_config", kind("Dice", name="dice", reduction="sum_over_batch_size", axis=None), flags(5, 3),
         how="sigmoid")

    unit = (("UnitNormalization", {}),)
    kinds_of = np.array([0, 1, 0, 2, 1], np.int32)
    for name, config, target, weight in (
            ("default", {}, kinds_of, None), ("gentle", {"gamma": 4.0, "margin": 0.25}, kinds_of, None),
            ("with_itself", {"gamma": 4.0, "remove_diagonal": False}, kinds_of, None),
            ("weights", {"gamma": 4.0}, kinds_of, w), ("sum", {"gamma": 4.0, "reduction": "sum"}, kinds_of, None),
            ("mean_with_sample_weight", {"gamma": 4.0, "reduction": "mean_with_sample_weight"}, kinds_of, w),
            ("column", {"gamma": 4.0}, kinds_of.reshape(5, 1), None),
            ("all_alike", {"gamma": 4.0}, np.zeros(5, np.int32), None),
            ("all_apart", {"gamma": 4.0}, np.arange(5, dtype=np.int32), None)):
        case(f"circle_{name}", kind("Circle", **config), target, layers=unit, weight=weight,
             grads=not name.startswith("all"), input_grad=not name.startswith("all"),
             steps=0 if name.startswith("all") else STEPS)

    # Masks of predictions.
    for name, loss, target in (
            ("binary_focal", kind("BinaryFocalCrossentropy"), flags(5, 3, 2)),
            ("categorical_focal", kind("CategoricalFocalCrossentropy", from_logits=True), classes(2, 5, 3)),
            ("dice", kind("Dice"), flags(5, 3, 2)), ("dice_axis", kind("Dice", axis=-1), flags(5, 3, 2))):
        for tag, weight in (("", None), ("_step_weights", steps)):
            net = Net()
            h = net.add("Masking", net.input("x", (3, 4)), mask_value=0.0)
            h = net.add("Dense", h, units=2, activation="sigmoid")
            rng = f.rng(name)
            x = rng.normal(0, 1, (5, 3, 4)).astype(np.float32)
            x[0, 2:] = x[3, 1:] = x[4] = 0
            f.model(f"mask_{name}{tag}", net, h, [x], loss=loss, target=target(rng), sample_weight=weight,
                    input_grad=False)

    for name, loss, sort in (("binary_focal", kind("BinaryFocalCrossentropy", reduction="none"), "flags"),
                             ("categorical_focal", kind("CategoricalFocalCrossentropy", reduction=None), "classes"),
                             ("dice", kind("Dice", reduction="none", axis=-1), "flags"),
                             ("tversky", kind("Tversky", reduction="none", axis=[2]), "flags")):
        rng = f.rng("none" + name)
        p = rng.dirichlet(np.ones(4), (3, 2)).astype(np.float32)
        y = flags(3, 2, 4)(rng) if sort == "flags" else classes(4, 3, 2)(rng)
        weight = rng.uniform(0, 2, (3, 2)).astype(np.float32)
        unreduced(f, f"none_{name}", loss, y, p, weight)
    return f


FAMILIES = {"focal_overlap_losses": focal_overlap_losses}
