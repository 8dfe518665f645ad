"""Goldens of keras.ops that Keras's files have as operations, where a layer of the same name means something else."""
import record
from cases_sequence import finish, normal
from keras import ops
from record import Family, Net

NAMES = ("Add", "Subtract", "Multiply", "Maximum", "Minimum")
for _name in NAMES:
    record.OPS[f"Broadcast{_name}"] = record.pairwise(getattr(ops, _name.lower()))
record.LISTS += tuple(f"Broadcast{name}" for name in NAMES)


def keras_ops():
    f = Family("keras_ops")
    for name in NAMES:
        for tag, options in {"": {}, "_x1": {"x1": 0.5}, "_x2": {"x2": -0.5}}.items():
            net = Net()
            shapes = ((3, 4), (1, 4))[:1 if options else 2]
            inputs = [net.input(c, s) for c, s in zip("ab", shapes)]
            finish(f, name.lower() + tag, net, net.add(f"Broadcast{name}", *inputs, **options),
                   [normal(f.rng(name + c), 2, *s) for c, s in zip("ab", shapes)])
    # As in Keras no mask comes through: the LSTM runs over all steps.
    net = Net()
    h = net.add("Masking", net.input("a", (3, 2)))
    h = net.add("LSTM", net.add("BroadcastAdd", h, x2=1.0), units=2)
    x = normal(f.rng("masked"), 2, 3, 2)
    x[:, 2] = 0
    finish(f, "add_drops_the_mask", net, h, [x])
    return f


FAMILIES = {"keras_ops": keras_ops}
