"""Goldens of recurrent layers that begin with states, given or kept, at steps that are masked."""
import numpy as np

from cases_scan import ADAM, OfCells
from cases_sequence import finish, normal
from record import Family, Net, kind

MASK = np.array([[0, 0, 0, 0, 0], [0, 0, 1, 1, 0], [1, 1, 0, 1, 0], [1, 1, 1, 1, 1]], bool)
CELLS = {"lstm": kind("LSTMCell", units=2, name="inner"), "gru": kind("GRUCell", units=2, name="inner"),
         "stack": kind("StackedRNNCells", name="all", cells=[kind("GRUCell", units=3, name="first"),
                                                             kind("SimpleRNNCell", units=2, name="second")])}
STATES = {"LSTM": [2, 2], "GRU": [2], "SimpleRNN": [2], "lstm": [2, 2], "gru": [2], "stack": [3, 2]}
WAYS = {"": {}, "_sequences": {"return_sequences": True}, "_back": {"go_backwards": True},
        "_zeros": {"zero_output_for_mask": True}, "_zeros_sequences_back":
            {"zero_output_for_mask": True, "return_sequences": True, "go_backwards": True},
        "_state": {"return_state": True}}


def masked_starts():
    f = Family("masked_starts")

    def record(name, call, shape, states, trained=True, **options):
        """call: of the net, x, the mask and the initial states."""
        net, rng = Net(), f.rng(name)
        x, m = net.input("x", shape, **options), net.input("m", MASK.shape[1:], "bool", **options)
        given = [net.input(f"s{i}", s, **options) for i, s in enumerate(states)]
        values = [normal(rng, len(MASK), *shape), MASK, *(normal(rng, len(MASK), *s) for s in states)]
        how = {"optimizer": ADAM, "steps": 3} if trained else {"loss": None}
        finish(f, name, net, call(net, x, m, given), values, input_grad="batch" not in options, **how)

    def arguments(m, given):
        return {"mask": m, "initial_state": given} if given else {"mask": m}

    for way, attributes in WAYS.items():
        for class_name in ("LSTM", "GRU", "SimpleRNN"):
            for given in (True, False):
                record(f"{class_name.lower()}{'_given' if given else ''}{way}", lambda net, x, m, s, c=class_name:
                       net.add(c, x, arguments=arguments(m, s), units=2, **attributes),
                       (5, 3), [(n,) for n in STATES[class_name]] if given else [])
        for cell in CELLS:
            record(f"rnn_{cell}_given{way}", lambda net, x, m, s, c=cell:
                   OfCells(net, "RNN", "rnn", {"cell": CELLS[c], **attributes})(x, mask=m, initial_state=s),
                   (5, 3), [(n,) for n in STATES[cell]])

    # Kept from call to call, in training: the second step begins with what the first one left. Of several outputs a
    # golden has metrics, which Keras begins with what a call before left.
    for way, attributes in WAYS.items():
        if way == "_state":
            continue
        for class_name in ("LSTM", "GRU", "SimpleRNN"):
            record(f"{class_name.lower()}_kept{way}", lambda net, x, m, s, c=class_name:
                   net.add(c, x, arguments={"mask": m}, units=2, stateful=True, **attributes), (5, 3), [], batch=4)

    for sequences in (False, True):
        way, attributes = "_sequences" if sequences else "", {"return_sequences": sequences}
        for class_name in ("LSTM", "GRU"):
            layer = kind(class_name, units=2, name="inner", **attributes)
            record(f"bidirectional_{class_name.lower()}_given{way}", lambda net, x, m, s, layer=layer:
                   net.add("Bidirectional", x, arguments=arguments(m, s), layer=layer, merge_mode="concat"),
                   (5, 3), [(n,) for n in STATES[class_name] * 2])
        for given in (True, False):
            record(f"conv_lstm{'_given' if given else ''}{way}", lambda net, x, m, s:
                   net.add("ConvLSTM1D", x, arguments=arguments(m, s), filters=2, kernel_size=2, padding="same",
                           **attributes), (5, 4, 2), [(4, 2), (4, 2)] if given else [], trained=not sequences)
    return f


FAMILIES = {"masked_starts": masked_starts}
