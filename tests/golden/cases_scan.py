"""Goldens of recurrent layers that run as a scan: each kind with each option, masks, states, training."""
from cases_sequence import EMPTY, LEFT, MASKS, finish, normal
from record import Family, Net, kind

ADAM = kind("Adam", learning_rate=0.05)


def recurrent():
    f = Family("recurrent")

    def states_of(class_name):
        return 2 if class_name == "LSTM" else 1

    def plain(class_name, tag, batch=2, time=4, features=3, units=3, free=False, training=False, **attributes):
        net, name = Net(), f"{class_name.lower()}_{tag}"
        out = net.add(class_name, net.input("x", (None if free else time, features)), units=units, **attributes)
        options = {"optimizer": ADAM, "steps": 3} if training else {}
        finish(f, name, net, out, [normal(f.rng(name), batch, time, features)], **options)

    def masked(class_name, tag, mask, given=False, **attributes):
        net, name = Net(), f"{class_name.lower()}_mask_{tag}"
        x, m = net.input("x", (5, 3)), net.input("m", (5,), "bool")
        rng = f.rng(name)
        inputs, arguments = [normal(rng, 3, 5, 3), mask], {"mask": m}
        if given:
            arguments["initial_state"] = [net.input(f"s{i}", (2,)) for i in range(states_of(class_name))]
            inputs += [normal(rng, 3, 2) for _ in range(states_of(class_name))]
        out = net.add(class_name, x, arguments=arguments, units=2, return_state=True, **attributes)
        finish(f, name, net, out, inputs)

    def every_option(class_name, base, short):
        def one(tag, **more):
            plain(class_name, f"{short}{tag}", **base, **more)

        one("plain", training=True)
        one("one_step", time=1)
        one("batch_1", batch=1, return_sequences=True)
        one("odd_17_units", features=5, units=17)
        one("sequences", return_sequences=True, training=True)
        one("backwards", go_backwards=True)
        one("backwards_sequences", go_backwards=True, return_sequences=True)
        one("no_bias", use_bias=False)
        one("relu", activation="relu")
        one("linear", activation="linear")
        one("softmax", activation="softmax")
        one("regularized", kernel_regularizer=kind("L2", l2=0.02), recurrent_regularizer=kind("L1", l1=0.02),
            bias_regularizer=kind("L2", l2=0.05), recurrent_constraint=kind("MaxNorm", max_value=0.8, axis=0),
            activity_regularizer=kind("L2", l2=0.1), bias_initializer=kind("RandomUniform"), training=True)
        one("free_time", free=True)
        for tag, mask in MASKS.items():
            for back in (False, True):
                masked(class_name, f"{short}{tag}{'_backwards' if back else ''}", mask, go_backwards=back,
                       return_sequences=back == (tag != "left"), **base)
        masked(class_name, f"{short}states", EMPTY, given=True, return_sequences=True, **base)
        masked(class_name, f"{short}states_last", LEFT, given=True, **base)
        for back in (False, True):
            for sequences in (False, True):
                masked(class_name, f"{short}zeros{'_backwards' if back else ''}{'_sequences' if sequences else ''}",
                       MASKS["holes"], given=sequences, go_backwards=back, return_sequences=sequences,
                       zero_output_for_mask=True, **base)

    every_option("GRU", {}, "")
    every_option("GRU", {"reset_after": False}, "reset_before_")
    every_option("SimpleRNN", {}, "")
    for class_name in ("GRU", "LSTM"):
        plain(class_name, "implementation_1", implementation=1, return_sequences=True)
        plain(class_name, "hard_sigmoid", recurrent_activation="hard_sigmoid")
        plain(class_name, "softmax_gates", recurrent_activation="softmax", return_sequences=True)
    for class_name in ("GRU", "LSTM", "SimpleRNN"):
        net, name = Net(), f"{class_name.lower()}_dropouts_inference"
        out = net.add(class_name, net.input("x", (4, 3)), units=3, dropout=0.3, recurrent_dropout=0.2)
        finish(f, name, net, out, [normal(f.rng(name), 2, 4, 3)], loss=None)
    net = Net()
    source, goal = net.input("source", (None, 4)), net.input("goal", (None, 2))
    _, h = net.add("GRU", source, units=3, return_state=True, name="encoder")
    decoded = net.add("GRU", goal, arguments={"initial_state": [h]}, units=3, return_sequences=True, name="decoder")
    out = net.add("Dense", decoded, units=2, name="head")
    rng = f.rng("seq2seq")
    finish(f, "gru_encoder_decoder", net, out, [normal(rng, 3, 5, 4), normal(rng, 3, 4, 2)], optimizer=ADAM, steps=3)
    net = Net()
    a, b = net.input("a", (5, 4)), net.input("b", (3, 4))
    shared = net.layer("GRU", units=3)
    out = net.add("Concatenate", shared(a), shared(b))
    rng = f.rng("shared")
    finish(f, "gru_shared", net, out, [normal(rng, 2, 5, 4), normal(rng, 2, 3, 4)])
    return f
