"""Training that goes on, both ways: a model that Keras has trained and saved is trained further here, and one that was
trained and saved here is trained further by Keras; the losses of the next steps are the same.
keras_training.py [OPTIMIZER ...]

77 where the Keras of tests/golden/requirements.txt is not installed. DL4_LIBRARY names the library."""
import os
import pathlib
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests/golden"), str(SOURCE / "capi/bindings/python")]

try:
    import keras
    import numpy as np
except ImportError:
    print("Keras is not installed here")
    sys.exit(77)
import make

if keras.__version__ != make.KERAS:
    print(f"needs keras {make.KERAS}, not {keras.__version__}")
    sys.exit(77)
import dl4
from keras import layers, optimizers

STEPS, LIMIT = 20, 1e-5
FOLDER = pathlib.Path(tempfile.mkdtemp())
OPTIMIZERS = {
    "sgd": lambda: optimizers.SGD(0.05),
    "momentum": lambda: optimizers.SGD(0.01, momentum=0.9, nesterov=True),
    "schedule": lambda: optimizers.SGD(optimizers.schedules.ExponentialDecay(0.05, 4, 0.8)),
    "rmsprop": lambda: optimizers.RMSprop(0.005, momentum=0.3, centered=True),
    "adagrad": lambda: optimizers.Adagrad(0.05),
    "adadelta": lambda: optimizers.Adadelta(0.5),
    "adam": lambda: optimizers.Adam(0.01),
    "amsgrad": lambda: optimizers.Adam(0.01, amsgrad=True, clipnorm=0.5),
    "average": lambda: optimizers.Adam(0.01, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=6),
    "adamw": lambda: optimizers.AdamW(0.01, weight_decay=0.01),
    "adamax": lambda: optimizers.Adamax(0.01),
    "nadam": lambda: optimizers.Nadam(0.01),
    "ftrl": lambda: optimizers.Ftrl(0.05),
    "lion": lambda: optimizers.Lion(0.001),
    "lamb": lambda: optimizers.Lamb(0.01),
    "adafactor": lambda: optimizers.Adafactor(0.02),
    "muon": lambda: optimizers.Muon(0.01),
}
failures = []


def net():
    """Two branches made in another order than Keras lists them, a nested model, weights that calls write, two outputs."""
    x = keras.Input((5, 4), name="x")
    late = layers.Dense(6, activation="tanh", name="late")
    early = layers.Dense(6, activation="tanh", name="early")
    h = layers.LSTM(6, name="lstm")(x)
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(6, name="first"), layers.BatchNormalization(name="norm")])
    h = layers.Add(name="sum")([early(h), late(inner(h))])
    return keras.Model(x, [layers.Dense(3, activation="softmax", name="kind")(h), layers.Dense(1, name="size")(h)])


def batches(n):
    rng = np.random.default_rng(n)
    for _ in range(n):
        x = rng.normal(size=(8, 5, 4)).astype("f4")
        yield x, rng.integers(0, 3, (8, 1)).astype("i4"), x.sum((1, 2), keepdims=True)[:, 0].astype("f4")


def ours(trainer, data):
    out = []
    for x, a, b in data:
        x, a, b = dl4.Tensor.of(x), dl4.Tensor.of(a), dl4.Tensor.of(b)
        out.append(trainer.step([x], [a, b])[0])
    return out


def compare(what, got, wanted):
    distance = np.max(np.abs(np.asarray(got) - np.asarray(wanted)) / np.maximum(1, np.abs(wanted)))
    if not distance < LIMIT:
        failures.append(f"{what}: {distance}\n    {got}\n    {wanted}")
    return distance


def trained(model, data):
    losses = []
    for x, a, b in data:
        model.reset_metrics()  # else it gives means
        losses.append(float(np.ravel(model.train_on_batch(x, [a, b]))[0]))
    return losses


def opened(path):
    model = dl4.Model.load(str(path))
    trainer = dl4.Trainer(model, None)
    trainer.load(str(path))
    return model, trainer


def both_ways(name, optimizer):
    keras.utils.set_random_seed(1)
    model = net()
    model.compile(optimizer, ["sparse_categorical_crossentropy", keras.losses.MeanSquaredError()],
                  loss_weights=[1.0, 0.5], metrics=[["accuracy"], ["mae"]])
    data = list(batches(2 * STEPS + 5))
    trained(model, data[:5])
    worst = []
    for suffix in (".keras", ".h5"):
        if suffix == ".h5" and name == "adafactor":
            continue  # Keras gives two of its variables one name there, and fails
        path = FOLDER / f"theirs{suffix}"
        model.save(path)
        core, trainer = opened(path)
        if suffix == ".keras":  # Keras itself does not train on from its .h5
            wanted = trained(keras.saving.load_model(path), data[5 : 5 + STEPS])
        worst.append(compare(f"{name}{suffix}, gone on here", ours(trainer, data[5 : 5 + STEPS]), wanted))
    path = FOLDER / "ours.keras"
    trainer.save(str(path))
    again = keras.saving.load_model(path)
    rest = data[5 + STEPS :]
    worst.append(compare(f"{name}, gone on in Keras", trained(again, rest), ours(trainer, rest)))
    print(name, *(f"{d:.1e}" for d in worst), flush=True)


def main(names):
    for name, optimizer in OPTIMIZERS.items():
        if names and name not in names:
            continue
        try:
            both_ways(name, optimizer())
        except Exception as e:
            failures.append(f"{name}: {type(e).__name__}: {str(e)[:500]}")
            print(failures[-1], flush=True)
        keras.backend.clear_session()
    print(f"{len(failures)} failures", *failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
