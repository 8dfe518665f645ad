"""Goldens of the optimizers beside SGD and Adam, of what all of them share, of schedules and of callbacks."""
import keras
import numpy as np

from cases_training import MSE, begin, mlp, normal
from record import Family, Net, kind, optimizer_of, weight_name

CLASSES = kind("SparseCategoricalCrossentropy")


def schedule(class_name, **config):
    return {"module": "keras.optimizers.schedules", "class_name": class_name, "config": config,
            "registered_name": None}


def small(net):
    h = net.add("Dense", net.input("x", (4,)), units=5, activation="tanh", name="first")
    return net.add("Dense", h, units=3, activation="softmax", name="second")


def trained(f, name, optimizer, steps=10, **more):
    net, rng = Net(), f.rng("small")
    out = small(net)
    f.model(name, net, out, [normal(rng, 6, 4)], seed="small", loss=CLASSES,
            target=rng.integers(0, 3, 6).astype(np.int32), optimizer=optimizer, steps=steps, forward=False,
            input_grad=False, grads=False, **more)


VARIANTS = {
    "AdamW": [{}, {"learning_rate": 0.02, "weight_decay": 0.1, "amsgrad": True}],
    "RMSprop": [{"learning_rate": 0.01}, {"rho": 0.7, "momentum": 0.5}, {"learning_rate": 0.01, "centered": True},
                {"learning_rate": 0.01, "rho": 0.8, "momentum": 0.6, "centered": True, "epsilon": 1e-3}],
    "Adagrad": [{"learning_rate": 0.1}, {"learning_rate": 0.1, "initial_accumulator_value": 0.0, "epsilon": 1e-4}],
    "Adadelta": [{"learning_rate": 1.0}, {"learning_rate": 2.0, "rho": 0.8, "epsilon": 1e-4}],
    "Adamax": [{"learning_rate": 0.02}, {"learning_rate": 0.02, "beta_1": 0.7, "beta_2": 0.9, "epsilon": 1e-3}],
    "Nadam": [{"learning_rate": 0.02}, {"learning_rate": 0.02, "beta_1": 0.7, "beta_2": 0.9, "epsilon": 1e-3}],
    "Lion": [{"learning_rate": 0.01}, {"learning_rate": 0.01, "beta_1": 0.6, "beta_2": 0.8}],
    "Ftrl": [{"learning_rate": 0.1}, {"learning_rate": 0.1, "learning_rate_power": -0.7,
                                      "l1_regularization_strength": 0.02, "l2_regularization_strength": 0.1,
                                      "l2_shrinkage_regularization_strength": 0.05, "beta": 0.1,
                                      "initial_accumulator_value": 0.3},
             {"learning_rate": 0.1, "learning_rate_power": 0.0, "l1_regularization_strength": 0.5}],
    "Lamb": [{"learning_rate": 0.05}, {"learning_rate": 0.05, "beta_1": 0.7, "beta_2": 0.9, "epsilon": 1e-3}],
    "Adafactor": [{"learning_rate": 0.3}, {"learning_rate": 0.8, "relative_step": False, "beta_2_decay": -0.6,
                                           "epsilon_1": 1e-6, "epsilon_2": 0.1, "clip_threshold": 0.5}],
}
# What every optimizer takes, together; the rate comes from the variant.
SHARED = {"all": {"weight_decay": 0.05, "clipnorm": 0.3, "use_ema": True, "ema_momentum": 0.8,
                  "ema_overwrite_frequency": 3},
          "accumulating": {"weight_decay": 0.05, "global_clipnorm": 0.3, "gradient_accumulation_steps": 3,
                           "use_ema": True, "ema_momentum": 0.7, "ema_overwrite_frequency": 2}}
SCHEDULES = {
    "exponential": schedule("ExponentialDecay", initial_learning_rate=0.5, decay_steps=3, decay_rate=0.7),
    "exponential_staircase": schedule("ExponentialDecay", initial_learning_rate=0.5, decay_steps=3, decay_rate=0.7,
                                      staircase=True, name="falling"),
    "piecewise": schedule("PiecewiseConstantDecay", boundaries=[2, 5], values=[0.5, 0.2, 0.05],
                          name="PiecewiseConstant"),
    "piecewise_fraction": schedule("PiecewiseConstantDecay", boundaries=[2.7, 5.2, 8.0], values=[0.5, 0.2, 0.05, 0.3]),
    "polynomial": schedule("PolynomialDecay", initial_learning_rate=0.5, decay_steps=6),
    "polynomial_cycle": schedule("PolynomialDecay", initial_learning_rate=0.5, decay_steps=4, end_learning_rate=0.1,
                                 power=2.0, cycle=True),
    "inverse_time": schedule("InverseTimeDecay", initial_learning_rate=0.5, decay_steps=2, decay_rate=0.6),
    "inverse_time_staircase": schedule("InverseTimeDecay", initial_learning_rate=0.5, decay_steps=2, decay_rate=0.6,
                                       staircase=True),
    "cosine": schedule("CosineDecay", initial_learning_rate=0.5, decay_steps=8, alpha=0.1),
    "cosine_warmup": schedule("CosineDecay", initial_learning_rate=0.05, decay_steps=6, alpha=0.05,
                              warmup_target=0.5, warmup_steps=4),
    "restarts": schedule("CosineDecayRestarts", initial_learning_rate=0.5, first_decay_steps=2),
    "restarts_falling": schedule("CosineDecayRestarts", initial_learning_rate=0.5, first_decay_steps=2, t_mul=1.5,
                                 m_mul=0.8, alpha=0.1),
    "restarts_equal": schedule("CosineDecayRestarts", initial_learning_rate=0.5, first_decay_steps=4, t_mul=1.0,
                               m_mul=0.7),
}


def optimizer_schedules():
    f = Family("optimizer_schedules", seed="optimizers2")
    for class_name, variants in VARIANTS.items():
        for i, config in enumerate(variants):
            trained(f, f"{class_name.lower()}_{i}", kind(class_name, **config))
        for tag, shared in SHARED.items():
            rate = {"learning_rate": variants[0].get("learning_rate", 0.001)}
            trained(f, f"{class_name.lower()}_{tag}", kind(class_name, **rate, **shared))
    trained(f, "adamw_all_keys", {"module": "keras.optimizers", "registered_name": None,
                                  **kind("AdamW", **keras.optimizers.AdamW(learning_rate=0.02).get_config())})
    trained(f, "adamw_without_bias", kind("AdamW", learning_rate=0.05, weight_decay=0.5),
            exclude_from_weight_decay=["bias"])
    trained(f, "lamb_without_bias", kind("Lamb", learning_rate=0.05, weight_decay=0.5),
            exclude_from_weight_decay=["bias"])
    trained(f, "sgd_ema_and_accumulation", kind("SGD", learning_rate=0.3, momentum=0.8, use_ema=True, ema_momentum=0.6,
                                                gradient_accumulation_steps=2))
    trained(f, "adam_loss_scale", kind("Adam", learning_rate=0.02, loss_scale_factor=1000.0, clipvalue=0.05))
    for name, how in SCHEDULES.items():
        trained(f, f"schedule_{name}", kind("SGD", learning_rate=how), steps=16)
    trained(f, "schedule_counts_steps", kind("Adam", learning_rate=SCHEDULES["exponential"], weight_decay=0.1,
                                             gradient_accumulation_steps=2), steps=9)
    # A constraint is applied in every step, also in those that only accumulate.
    net, rng = Net(), f.rng("constrained")
    out = mlp(net, {"kernel_constraint": kind("MinMaxNorm", min_value=0.2, max_value=0.6, rate=0.5)})
    f.model("accumulation_constrained", net, out, [normal(rng, 8, 6)], loss=CLASSES,
            target=rng.integers(0, 3, 8).astype(np.int32), steps=5, forward=False, input_grad=False, grads=False,
            optimizer=kind("SGD", learning_rate=0.3, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.5,
                           ema_overwrite_frequency=2))
    # Ids that differ, for Keras on TensorFlow squares the gradient of each row apart.
    for class_name in ("Adagrad", "RMSprop", "Nadam", "Lamb", "Adafactor", "Ftrl"):
        net, rng = Net(), f.rng("rows")
        h = net.add("Embedding", net.input("ids", (3,), "int32"), input_dim=20, output_dim=3, name="first")
        out = net.add("Dense", net.add("Flatten", h), units=2, name="second")
        f.model(f"embedding_{class_name.lower()}", net, out, [np.array([[1, 7, 3], [4, 19, 0]], np.int32)], loss=MSE,
                target=normal(rng, 2, 2), optimizer=kind(class_name, learning_rate=0.05, weight_decay=0.1), steps=4,
                forward=False, input_grad=False, grads=False)
    fits(f)
    return f


def fits(f):
    def fit(name, optimizer, samples=12, stop=None, **how):
        net, rng = Net(), f.rng("fit")
        model = net.build(small(net))
        x, y = normal(rng, samples, 4), rng.integers(0, 3, samples).astype(np.int32)
        f.note(name, model=net.json, loss=CLASSES, optimizer=optimizer, metrics=["accuracy"], training=True,
               fit={**how, "shuffle": False}, stop=stop)
        begin(f, name, model, x, y)
        model.compile(optimizer_of(optimizer), keras.losses.get(CLASSES), metrics=["accuracy"],
                      run_eagerly=True)
        callbacks = [made(c) for c in how.pop("callbacks", [])]

        class Stop(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                self.epoch = epoch

            def on_train_batch_end(self, batch, logs=None):
                self.model.stop_training |= [self.epoch, batch + 1] == stop

        history = model.fit(x, y, shuffle=False, verbose=0, callbacks=callbacks + [Stop()], **how).history
        for key, values in history.items():
            f.put(name, "loss" if "loss" in key else "metric", key, np.array(values, np.float32))
        for v in model.weights:
            f.put(name, "after", weight_name(v), v.numpy())

    ema = kind("SGD", learning_rate=0.3, use_ema=True, ema_momentum=0.7)
    sgd = kind("SGD", learning_rate=2.0)
    split = {"batch_size": 4, "validation_split": 0.3}
    fit("fit_ema", ema, epochs=2, **split)
    fit("fit_accumulation", kind("Adam", learning_rate=0.05, gradient_accumulation_steps=2), batch_size=4, epochs=3)
    fit("fit_schedule", kind("SGD", learning_rate=SCHEDULES["cosine"]), batch_size=4, epochs=3)
    fit("fit_stopped_in_an_epoch", sgd, stop=[1, 1], epochs=4, **split)
    for name, (optimizer, callbacks, more) in CALLBACKS.items():
        fit(f"callback_{name}", optimizer, callbacks=callbacks, **{**split, **more})


def made(callback):
    config = dict(callback["config"])
    if callback["class_name"] == "LearningRateScheduler":
        by_epoch = keras.optimizers.schedules.deserialize(config["schedule"])
        config["schedule"] = lambda epoch: float(by_epoch(epoch))
    return getattr(keras.callbacks, callback["class_name"])(**config)


FAST, SLOW, EMA = (kind("SGD", learning_rate=3.0), kind("SGD", learning_rate=0.3),
                   kind("SGD", learning_rate=0.5, use_ema=True, ema_momentum=0.7))
CALLBACKS = {
    "early_stopping": (FAST, [kind("EarlyStopping")], {"epochs": 8}),
    "early_stopping_patient": (FAST, [kind("EarlyStopping", monitor="loss", patience=2, min_delta=-0.05, mode="auto")],
                               {"epochs": 10}),
    "early_stopping_restoring": (FAST, [kind("EarlyStopping", monitor="val_accuracy", patience=3,
                                             restore_best_weights=True, start_from_epoch=1)], {"epochs": 8}),
    "early_stopping_restoring_at_the_end": (FAST, [kind("EarlyStopping", patience=9, restore_best_weights=True)],
                                            {"epochs": 4}),
    "early_stopping_baseline": (SLOW, [kind("EarlyStopping", patience=2, baseline=0.1)], {"epochs": 8}),
    "early_stopping_max": (SLOW, [kind("EarlyStopping", monitor="loss", patience=1, mode="max")], {"epochs": 8}),
    "early_stopping_not_each_epoch": (EMA, [kind("EarlyStopping")], {"epochs": 9, "validation_freq": 2}),
    "early_stopping_restoring_averages": (EMA, [kind("EarlyStopping", patience=9, restore_best_weights=True)],
                                          {"epochs": 4}),
    "plateau": (FAST, [kind("ReduceLROnPlateau", factor=0.5, patience=1)], {"epochs": 7}),
    "plateau_cooling": (FAST, [kind("ReduceLROnPlateau", monitor="loss", factor=0.3, patience=2, cooldown=2,
                                    min_lr=0.5, min_delta=0.1, mode="min")], {"epochs": 10}),
    "plateau_and_stopping": (FAST, [kind("ReduceLROnPlateau", factor=0.2, patience=1),
                                    kind("EarlyStopping", patience=3)], {"epochs": 9}),
    "rate_by_epoch": (SLOW, [kind("LearningRateScheduler", schedule=SCHEDULES["exponential_staircase"])],
                      {"epochs": 5}),
    "swap": (EMA, [kind("SwapEMAWeights")], {"epochs": 3}),
    "swap_on_epoch": (EMA, [kind("SwapEMAWeights", swap_on_epoch=True)], {"epochs": 3}),
    "swap_on_epoch_stopped": (EMA, [kind("SwapEMAWeights", swap_on_epoch=True),
                                    kind("EarlyStopping", monitor="loss", mode="max")], {"epochs": 5}),
}


FAMILIES = {"optimizer_schedules": optimizer_schedules}
