"""Goldens of recurrent layers that begin with the states the call before left."""
from cases_sequence import LEFT, MASKS, finish, normal
from record import Family, Net, kind

ADAM = kind("Adam", learning_rate=0.05)


def stateful():
    f = Family("stateful")

    def trained(name, net, out, inputs):
        finish(f, name, net, out, inputs, optimizer=ADAM, steps=4, input_grad=False)

    def plain(case, class_name, shape=(4, 3), batch=2, mask=None, **attributes):
        net = Net()
        inputs, arguments = [normal(f.rng(case), batch, *shape)], {}
        x = net.input("x", shape, batch=batch)
        if mask is not None:
            arguments["mask"] = net.input("m", mask.shape[1:], "bool", batch=batch)
            inputs.append(mask)
        out = net.add(class_name, x, arguments=arguments, stateful=True, **attributes)
        trained(case, net, out, inputs)

    for class_name in ("LSTM", "GRU", "SimpleRNN"):
        short = class_name.lower()
        plain(short, class_name, units=3)
        plain(f"{short}_sequences_back", class_name, units=2, return_sequences=True, go_backwards=True)
        for tag in ("left", "right"):
            plain(f"{short}_mask_{tag}", class_name, (5, 3), 3, MASKS[tag], units=2, return_sequences=True)
        plain(f"{short}_mask_zeros", class_name, (5, 3), 3, LEFT, units=2, return_sequences=True,
              zero_output_for_mask=True)
    plain("conv_lstm", "ConvLSTM1D", (3, 5, 2), filters=2, kernel_size=2)
    plain("rnn_stacked", "RNN", name="rnn",
          cell=kind("StackedRNNCells", name="both",
                    cells=[kind("LSTMCell", units=2, name="a"), kind("GRUCell", units=3, name="b")]))

    net = Net()
    x = net.input("x", (4, 3), batch=2)
    out = net.add("Bidirectional", x, layer=kind("GRU", units=2, stateful=True, return_sequences=True, name="gru"))
    trained("bidirectional", net, out, [normal(f.rng("bidirectional"), 2, 4, 3)])

    # A given state goes before the kept one; what the call leaves is kept all the same.
    net = Net()
    x, s = net.input("x", (4, 3), batch=2), net.input("s", (2,), batch=2)
    shared = net.layer("GRU", units=2, stateful=True)
    out = net.add("Concatenate", shared(x, initial_state=[s]), shared(x))
    trained("given_then_kept", net, out, [normal(f.rng("given x"), 2, 4, 3), normal(f.rng("given s"), 2, 2)])
    return f


FAMILIES = {"stateful": stateful}
