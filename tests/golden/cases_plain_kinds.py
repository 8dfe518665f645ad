"""Goldens of the kinds beside the main vocabulary: one case each, two where a shape or a sign matters."""
import numpy as np

from cases_losses import one_hot, predictor, running_metric
from cases_sequence import finish, normal
from record import Family, Net, kind


def plain_kinds():
    f = Family("plain_kinds", seed="more")
    for class_name in ("Average", "Maximum", "Minimum", "Subtract"):
        for count in (2, 3) if class_name != "Subtract" else (2,):
            net, rng = Net(), f.rng(f"{class_name}{count}")
            inputs = [net.input(c, (3, 4)) for c in "abc"[:count]]
            hidden = [net.add("Dense", r, units=2) for r in inputs]
            finish(f, f"{class_name.lower()}_{count}", net, net.add(class_name, *hidden),
                   [normal(rng, 2, 3, 4) for _ in inputs])
    net = Net()
    h = net.add("PReLU", net.add("Dense", net.input("x", (3, 4)), units=5), alpha_initializer=kind("Constant", value=0.3))
    finish(f, "prelu", net, h, [normal(f.rng("prelu"), 2, 3, 4)])
    net = Net()
    h = net.add("PReLU", net.add("Dense", net.input("x", (3, 4)), units=5), shared_axes=[1],
                alpha_initializer=kind("RandomUniform"))
    finish(f, "prelu_shared", net, h, [normal(f.rng("prelu_shared"), 2, 3, 4)])
    for tag, axis in {"": -1, "_axis_1": 1, "_axes": [1, 3], "_batch": [0, -2]}.items():
        net, name = Net(), f"unit_normalization{tag}"
        h = net.add("UnitNormalization", net.add("Dense", net.input("x", (3, 2, 4)), units=5), axis=axis)
        finish(f, name, net, h, [normal(f.rng(name), 2, 3, 2, 4)])
    net = Net()
    h = net.add("Dense", net.add("Masking", net.input("x", (3, 4))), units=5)
    x = normal(f.rng("unit_normalization_masked"), 2, 3, 4)
    x[0, 1:] = 0
    finish(f, "unit_normalization_masked", net, net.add("UnitNormalization", h), [x])
    tiny = np.array([[0, 0, 0], [2e-13, -1e-13, 0], [3e-12, 0, -4e-12], [1e-30, 0, 0]], np.float32)
    net = Net()
    finish(f, "unit_normalization_tiny", net, net.add("UnitNormalization", net.input("x", (3,))), [tiny])
    huge = np.array([[1e20, 1, 0], [np.nan, 1, 2]], np.float32)
    net = Net()
    finish(f, "unit_normalization_huge", net, net.add("UnitNormalization", net.input("x", (3,))), [huge], loss=None)

    def loss(class_name, activation, target, tag="", weight=None, **config):
        name = class_name.lower() + tag
        net, out = predictor(f, name, 3, activation)
        rng = f.rng(name)
        f.model(name, net, out, [normal(rng, 5, 4)], loss=kind(class_name, **config), target=target(rng),
                sample_weight=weight)

    def real(r):
        return r.normal(0, 1.5, (5, 3)).astype(np.float32)

    def positive(r):
        return r.uniform(0.1, 2, (5, 3)).astype(np.float32)

    def signs(r):
        return np.sign(r.normal(0, 1, (5, 3))).astype(np.float32)

    def bits(r):
        return (r.normal(0, 1, (5, 3)) > 0).astype(np.float32)

    def classes(r):
        return one_hot(r.integers(0, 3, 5), 3)

    def shares(r):
        return r.dirichlet(np.ones(3), 5).astype(np.float32)

    weights = f.rng("weights").uniform(0, 2, 5).astype(np.float32)
    for tag, weight in (("", None), ("_weights", weights)):
        loss("CategoricalHinge", "tanh", classes, tag, weight)
        loss("CosineSimilarity", "linear", real, tag, weight)
        loss("Hinge", "tanh", signs, tag, weight)
        loss("KLDivergence", "softmax", shares, tag, weight)
        loss("LogCosh", "linear", real, tag, weight)
        loss("MeanAbsolutePercentageError", "linear", positive, tag, weight)
        loss("MeanSquaredLogarithmicError", "softplus", positive, tag, weight)
        loss("Poisson", "softplus", positive, tag, weight)
        loss("SquaredHinge", "tanh", signs, tag, weight)
    loss("Hinge", "tanh", bits, "_of_bits")
    loss("SquaredHinge", "tanh", bits, "_of_bits")

    def metric(class_name, y, p, w):
        name = "metric_" + class_name.lower() + ("" if w is None else "_weights")
        running_metric(f, name, kind(class_name), y, p, w, [5, 5, 2])

    rng = f.rng("metrics")
    y, p = rng.normal(0, 1, (2, 12, 3)).astype(np.float32)
    up, uq = rng.uniform(0.1, 2, (2, 12, 3)).astype(np.float32)
    dy, dp = rng.dirichlet(np.ones(3), (2, 12)).astype(np.float32)
    w = rng.uniform(0, 2, 12).astype(np.float32)
    for weight in (None, w):
        metric("CategoricalHinge", one_hot(rng.integers(0, 3, 12), 3), p, weight)
        metric("CosineSimilarity", y, p, weight)
        metric("Hinge", np.sign(y), p, weight)
        metric("KLDivergence", dy, dp, weight)
        metric("LogCosh", y, p, weight)
        metric("MeanAbsolutePercentageError", y, p, weight)
        metric("MeanSquaredLogarithmicError", up, uq, weight)
        metric("Poisson", up, uq, weight)
        metric("SquaredHinge", np.sign(y), p, weight)
    return f


FAMILIES = {"plain_kinds": plain_kinds}
