"""Goldens of layers that normalise, or draw: their statistics, weights and masks."""
import numpy as np

from cases_sequence import EMPTY, HOLES, RIGHT, finish, normal
from record import Family, Net, kind

SGD = kind("SGD", learning_rate=0.1)


def batch_normalization(f):
    def alone(name, shape, batch=4, mask=None, head=None, steps=3, **attributes):
        net, rng = Net(), f.rng(name)
        x = normal(rng, batch, *shape) * 1.5 + 0.7
        h = net.input("x", shape)
        if mask is not None:
            x[~mask] = 0
            h = net.add("Masking", h)
        h = net.add("BatchNormalization", h, name="norm", **attributes)
        finish(f, name, net, h if head is None else net.add("Dense", h, units=head), [x], steps=steps, optimizer=SGD,
               grad_atol=3e-6, why="sums that cancel: the batch's mean has no gradient")

    alone("bn_2d", (5,))
    alone("bn_3d", (3, 5), head=2)
    alone("bn_4d", (3, 2, 4))
    alone("bn_5d", (2, 3, 2, 3), batch=2)
    alone("bn_one_channel", (4, 1))
    alone("bn_axis_1", (3, 4, 2), axis=1)
    alone("bn_axis_2", (3, 4, 2), axis=2, steps=2)
    alone("bn_axis_minus_2", (4, 3), axis=-2, center=False)
    alone("bn_no_center", (5,), center=False)
    alone("bn_no_scale", (5,), scale=False)
    alone("bn_bare", (5,), center=False, scale=False, head=2)
    alone("bn_momentum", (3, 4), momentum=0.5, epsilon=0.1, steps=5)
    alone("bn_momentum_0", (4,), momentum=0.0)
    alone("bn_synchronized", (4,), synchronized=True)
    alone("bn_frozen", (4,), trainable=False, head=2)
    alone("bn_penalties", (4,), gamma_regularizer=kind("L2", l2=0.1), beta_regularizer=kind("L1", l1=0.1),
          gamma_constraint=kind("NonNeg"), beta_constraint=kind("MaxNorm", max_value=0.3, axis=0))
    alone("bn_initializers", (4,), gamma_initializer=kind("Constant", value=0.5), beta_initializer="ones",
          moving_mean_initializer=kind("Constant", value=0.2), moving_variance_initializer=kind("Constant", value=2.0))
    for tag, mask in {"right": RIGHT[:, :4], "holes": HOLES, "row_all_masked": EMPTY}.items():
        alone(f"bn_mask_{tag}", (mask.shape[1], 3), batch=3, mask=mask)
    alone("bn_mask_all", (2, 3), batch=2, mask=np.zeros((2, 2), bool))
    alone("bn_mask_renorm", (5, 3), batch=3, mask=HOLES, renorm=True)
    alone("bn_renorm", (3, 4), renorm=True, steps=5)
    alone("bn_renorm_axis_1", (4, 3), axis=1, renorm=True, renorm_momentum=0.6, momentum=0.8)
    alone("bn_renorm_clipped", (4,), renorm=True, renorm_clipping={"rmin": 0.8, "rmax": 1.1, "dmax": 0.2})
    alone("bn_renorm_clipped_r", (4,), renorm=True, renorm_clipping={"rmax": 1.05}, center=False)
    alone("bn_renorm_clipped_d", (4,), renorm=True, renorm_clipping={"dmax": 0.1}, scale=False)
    alone("bn_renorm_bare", (4,), renorm=True, center=False, scale=False, head=2)
    alone("bn_full_config", (4,), axis=-1, momentum=0.9, epsilon=0.01, center=True, scale=True,
          beta_initializer=kind("Zeros"), gamma_initializer=kind("Ones"), moving_mean_initializer=kind("Zeros"),
          moving_variance_initializer=kind("Ones"), beta_regularizer=None, gamma_regularizer=None,
          beta_constraint=None, gamma_constraint=None, synchronized=False, renorm=False, renorm_clipping=None,
          renorm_momentum=0.99, trainable=True)

    # The mask of a call; a layer of two calls moves its statistics twice, in order.
    net, rng = Net(), f.rng("bn_mask_given")
    x, m = net.input("x", (5, 3)), net.input("m", (5,), "bool")
    finish(f, "bn_mask_given", net, net.add("BatchNormalization", x, arguments={"mask": m}, name="norm"),
           [normal(rng, 3, 5, 3), HOLES], steps=2, optimizer=SGD)
    for tag, turn in {"": 1, "_turned": -1}.items():  # which call is first, is decided on the way back from the Add
        net, rng = Net(), f.rng("bn_shared")
        a, b = net.input("a", (3,)), net.input("b", (3,))
        norm = net.layer("BatchNormalization", "norm", momentum=0.7)
        h = [net.add("Dense", norm(a), units=2), net.add("Dense", norm(b), units=2)]
        finish(f, f"bn_shared{tag}", net, net.add("Add", *h[::turn]), [normal(rng, 4, 3), normal(rng, 4, 3) + 2],
               steps=3, optimizer=SGD)
    net, rng = Net(), f.rng("bn_shared_depths")
    a, b, c = (net.input(name, (3,)) for name in "abc")
    norm = net.layer("BatchNormalization", "norm", momentum=0.7)
    h = [norm(a), net.add("Dense", norm(b), units=3), norm(c)]
    finish(f, "bn_shared_depths", net, net.add("Add", *h), [normal(rng, 4, 3) + shift for shift in (0, 2, -1)],
           steps=3, optimizer=SGD)
    net, rng = Net(), f.rng("bn_twice")
    norm = net.layer("BatchNormalization", "norm", momentum=0.7)
    h = norm(net.add("Dense", norm(net.input("x", (3,))), units=3, activation="tanh"))
    finish(f, "bn_twice", net, h, [normal(rng, 5, 3)], steps=3, optimizer=kind("Adam", learning_rate=0.05))
    net, rng = Net(), f.rng("bn_between")
    h = net.add("Conv2D", net.input("x", (5, 5, 2)), filters=3, kernel_size=3)
    h = net.add("Activation", net.add("BatchNormalization", h), activation="relu")
    h = net.add("BatchNormalization", net.add("Dense", net.add("Flatten", h), units=4))
    finish(f, "bn_between", net, h, [normal(rng, 3, 5, 5, 2)], steps=3, optimizer=SGD)


def alone(f, kind_name, name, shape, batch=3, mask=None, head=None, steps=2, free=False, why=None, **attributes):
    """One layer, trained; with `free` the axes between batch and channels are free."""
    net, rng = Net(), f.rng(name)
    x = normal(rng, batch, *shape) * 1.5 + 0.7
    h = net.input("x", (*[None] * (len(shape) - 1), shape[-1]) if free else shape)
    if mask is not None:
        x[~mask] = 0
        h = net.add("Masking", h)
    h = net.add(kind_name, h, name="norm", **attributes)
    finish(f, name, net, h if head is None else net.add("Dense", h, units=head), [x], steps=steps, optimizer=SGD,
           grad_atol=3e-6, why=why or "sums that cancel: a mean has no gradient")


PARAMETERS = {"gamma_regularizer": kind("L2", l2=0.1), "beta_regularizer": kind("L1", l1=0.1),
              "gamma_constraint": kind("NonNeg"), "beta_constraint": kind("MaxNorm", max_value=0.3, axis=0),
              "gamma_initializer": kind("Constant", value=0.5), "beta_initializer": "ones"}


def by_item(f):
    def layer(name, shape, **options):
        alone(f, "LayerNormalization", f"layer_{name}", shape, **options)

    layer("2d", (5,))
    layer("3d", (3, 6), head=2)
    layer("4d", (3, 2, 4))
    layer("wide", (70,), batch=2)
    layer("wide_free", (3, 65), batch=2, free=True, steps=1)
    layer("one_feature", (4, 1))
    layer("axis_1", (3, 4, 2), axis=1)
    layer("axis_minus_2", (3, 4), axis=-2)
    layer("axes_1_2", (3, 4), axis=[1, 2])
    layer("axes_2_3", (2, 3, 4), axis=[2, 3])
    layer("axes_1_3", (2, 3, 4), axis=[1, 3])
    layer("axes_mixed", (2, 3, 4), axis=[1, -1])
    layer("axes_descending", (2, 3, 4), axis=[3, 2])
    layer("axes_mixed_last", (2, 3, 4), axis=[-1, 2])
    layer("no_center", (2, 5), center=False)
    layer("no_scale", (2, 5), scale=False)
    layer("bare", (2, 5), center=False, scale=False, head=2)
    layer("epsilon", (2, 5), epsilon=0.3)
    layer("rms_scaling", (2, 5), rms_scaling=True)
    layer("rms_scaling_axes", (2, 5), rms_scaling=True, scale=False, axis=[1, 2])
    layer("penalties", (5,), **PARAMETERS)
    layer("mask", (5, 3), mask=HOLES)
    layer("full_config", (4,), axis=[-1], epsilon=0.01, center=True, scale=True, rms_scaling=False,
          beta_initializer=kind("Zeros"), gamma_initializer=kind("Ones"), beta_regularizer=None,
          gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, trainable=True)
    net, rng = Net(), f.rng("layer_large_mean")
    x = normal(rng, 3, 8) + 300
    finish(f, "layer_large_mean", net, net.add("LayerNormalization", net.input("x", (8,))), [x], rtol=3e-4, atol=1e-4,
           grad_rtol=1e-2, grad_atol=1e-3, why="Keras subtracts mean * by from x * by, which cancels")

    def rms(name, shape, **options):
        alone(f, "RMSNormalization", f"rms_{name}", shape, **options)

    rms("2d", (5,))
    rms("3d", (3, 6), head=2)
    rms("wide", (67,), batch=2)
    rms("axis_1", (4, 4), axis=1)  # Keras multiplies by `scale` along the last axis all the same
    rms("axes_1_2", (3, 4), axis=[1, 2])
    rms("axes_1_3", (3, 3, 3), axis=[1, 3])
    rms("axes_mixed", (2, 3), axis=[2, -2])
    rms("epsilon", (2, 5), epsilon=0.3)
    rms("mask_dropped", (5, 3), mask=HOLES)

    def group(name, shape, **options):
        alone(f, "GroupNormalization", f"group_{name}", shape, **options)

    group("2d", (6,), groups=3)
    group("3d", (3, 6), groups=2, head=2)
    group("4d", (3, 2, 8), groups=4)
    group("5d", (2, 2, 3, 4), groups=2, batch=2)
    group("default_32", (2, 64), batch=2)
    group("one_group", (3, 4), groups=1)
    group("instance", (4, 3), groups=-1)
    group("axis_1", (4, 3, 2), groups=2, axis=1)
    group("axis_2", (3, 4, 2), groups=2, axis=2)
    group("axis_minus_2", (3, 4, 2), groups=4, axis=-2)
    group("free", (4, 3, 6), groups=3, free=True)
    group("no_center", (3, 4), groups=2, center=False)
    group("no_scale", (3, 4), groups=2, scale=False)
    group("bare", (3, 4), groups=2, center=False, scale=False, head=2)
    group("epsilon", (3, 4), groups=2, epsilon=0.5)
    group("penalties", (3, 4), groups=2, **PARAMETERS)
    group("mask", (5, 4), groups=2, mask=HOLES)
    group("full_config", (4,), groups=2, axis=-1, epsilon=0.01, center=True, scale=True,
          beta_initializer=kind("Zeros"), gamma_initializer=kind("Ones"), beta_regularizer=None,
          gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, trainable=True)


def known(f):
    def one(name, shape, **options):
        alone(f, "Normalization", f"known_{name}", shape, head=2, **options)

    one("adapted", (4,))
    one("adapted_3d", (3, 4))
    one("adapted_axis_1", (3, 4), axis=1)
    one("adapted_axes", (3, 4), axis=[1, 2])
    one("adapted_axes_apart", (3, 2, 4), axis=[3, 1])
    one("adapted_none", (3, 4), axis=None)
    one("adapted_empty", (3, 4), axis=[])
    one("adapted_invert", (3, 4), invert=True)
    one("given", (3,), mean=[0.5, 1.0, -2.0], variance=[4.0, 0.25, 1.0])
    one("given_number", (3,), mean=0.5, variance=4.0)
    one("given_none", (3,), axis=None, mean=0.5, variance=4.0)
    one("given_invert", (3,), mean=[0.5, 1.0, -2.0], variance=[4.0, 0.25, 1.0], invert=True)
    one("given_axes", (2, 3), axis=[1, 2], mean=[[0.5, 1.0, -2.0], [1, 2, 3]], variance=[[4.0, 0.25, 1.0], [1, 2, 3]])
    one("given_fewer_axes", (2, 3), axis=[1, 2], mean=[0.5, 1.0, -2.0], variance=[4.0, 0.25, 1.0])
    one("given_ones", (2, 3), axis=[1, 2], mean=[[0.5], [2.0]], variance=[[4.0], [9.0]])
    one("given_axis_1", (2, 3), axis=1, mean=[0.5, 2.0], variance=[4.0, 9.0])
    one("mask", (5, 3), mask=HOLES, mean=[0.5, 1.0, -2.0], variance=[4.0, 0.25, 1.0])
    net, rng = Net(), f.rng("known_variance_0")
    finish(f, "known_variance_0", net, net.add("Normalization", net.input("x", (2,)), mean=[0.5, 1.0],
                                               variance=[0.0, 1e-20]), [normal(rng, 2, 2) * 1e-6 + [0.5, 1.0]],
           loss=None)


def drawing(f):
    """Without training all of them pass their input on; at rate 0 also with."""
    kinds = {"GaussianNoise": {"stddev": 0.3}, "GaussianDropout": {"rate": 0.3}, "AlphaDropout": {"rate": 0.3},
             "SpatialDropout1D": {"rate": 0.3}}
    for class_name, how in kinds.items():
        key = next(iter(how))
        for tag, attributes in {"": how, "_seed": {**how, "seed": 3}, "_0": {key: 0.0}}.items():
            net, rng = Net(), f.rng(class_name + tag)
            h = net.add(class_name, net.add("Masking", net.input("x", (5, 4))), **attributes)
            x = normal(rng, 3, 5, 4)
            x[~HOLES] = 0
            trained = {"steps": 2, "optimizer": SGD} if tag == "_0" else {"loss": None}
            finish(f, f"{class_name.lower()}{tag}", net, net.add("Dense", h, units=2), [x], **trained)
    for class_name, shape in {"SpatialDropout2D": (3, 2, 4), "SpatialDropout3D": (2, 3, 2, 4)}.items():
        for order in ("channels_last", "channels_first"):
            net, name = Net(), f"{class_name.lower()}_{order}"
            h = net.add(class_name, net.input("x", shape), rate=0.4, data_format=order, seed=None)
            finish(f, name, net, h, [normal(f.rng(name), 2, *shape)], loss=None)
        net, name = Net(), f"{class_name.lower()}_0"
        h = net.add(class_name, net.add("Dense", net.input("x", shape), units=3), rate=0.0)
        finish(f, name, net, h, [normal(f.rng(name), 2, *shape)], steps=2, optimizer=SGD)
    net = Net()
    h = net.add("AlphaDropout", net.input("x", (3, 4)), rate=0.4, noise_shape=[None, 1, 4], seed=5)
    finish(f, "alphadropout_noise_shape", net, h, [normal(f.rng("alphadropout_noise_shape"), 2, 3, 4)], loss=None)
    for tag, how in {"l1": {"l1": 0.1}, "l2": {"l2": 0.2}, "l1_l2": {"l1": 0.1, "l2": 0.05}, "none": {}}.items():
        net, name = Net(), f"activityregularization_{tag}"
        h = net.add("ActivityRegularization", net.add("Dense", net.add("Masking", net.input("x", (5, 4))), units=3),
                    **how)
        x = normal(f.rng(name), 3, 5, 4)
        x[~RIGHT] = 0
        finish(f, name, net, net.add("Dense", h, units=2), [x], steps=3, optimizer=SGD)


def state():
    f = Family("state")
    batch_normalization(f)
    by_item(f)
    known(f)
    drawing(f)
    return f


FAMILIES = {"state": state}
