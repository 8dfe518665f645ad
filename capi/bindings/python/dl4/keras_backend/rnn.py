"""Keras's contract of recurrent layers: LSTM and GRU by the library's, other cells step by step."""

import importlib

from keras.src import tree

from .core import cast
from .elementwise import where_of
from .creation import zeros_like
from .dtypes import FLOATS
from .functions import op
from .loops import folded
from .shapes import concatenate, reshape, swapaxes
from .trace import emit_all, tensor


def cudnn_ok(activation, recurrent_activation, unroll, use_bias=True):
    return False


def _name(activation):
    """The registry's name of one of Keras's activations."""
    known = importlib.import_module("keras.src.activations")
    name = "linear" if activation is None else getattr(activation, "__name__", None)
    if name is None or known.get(name) is not (known.linear if activation is None else activation):
        raise NotImplementedError
    return name


_FUSED = {"linear", "relu", "sigmoid", "tanh", "hard_sigmoid", "softsign", "softplus", "elu", "selu", "silu", "gelu"}


@op("x states* mask weights*")
def _run(x, states, mask, weights, kind, options):
    options = dict(options, units=weights[1].shape[0], return_sequences=True, return_state=True)
    options["use_bias"] = len(weights) == 3
    # the last output of masked sequences is that of the last step: one run gives it and all others
    given = [cast(v, "float32") for v in (x, *weights)]
    named = {"initial_state": [cast(s, "float32") for s in states]}
    if mask is not None:
        named["mask"] = [cast(mask, "bool")]
    layer = {"class_name": kind, "config": options}
    y, *after = emit_all("StatelessCall", *given, nodes=named, layer=layer, inputs=1)
    t = x.type_name if x.type_name in FLOATS else "float32"
    return cast(y[:, -1], t), cast(y, t), [cast(s, t) for s in after]


def _fused(
    kind, x, states, mask, weights, activation, recurrent_activation, return_sequences, go_backwards, unroll, **options
):
    names = _name(activation), _name(recurrent_activation)
    x = tensor(x)
    if unroll or not set(names) <= _FUSED or x.shape[1] == 0 or mask is not None and return_sequences:
        raise NotImplementedError  # of masked steps Keras alone knows whether they give zeros
    options.update(activation=names[0], recurrent_activation=names[1], go_backwards=bool(go_backwards))
    weights = [w for w in weights if w is not None]
    last, outputs, after = _run(x, list(states), mask, weights, kind, tuple(sorted(options.items())))
    return last, outputs, list(after)


def lstm(
    inputs,
    initial_state_h,
    initial_state_c,
    mask,
    kernel,
    recurrent_kernel,
    bias,
    activation,
    recurrent_activation,
    return_sequences=False,
    go_backwards=False,
    unroll=False,
):
    return _fused(
        "LSTM",
        inputs,
        [initial_state_h, initial_state_c],
        mask,
        [kernel, recurrent_kernel, bias],
        activation,
        recurrent_activation,
        return_sequences,
        go_backwards,
        unroll,
    )


def gru(
    inputs,
    initial_state,
    mask,
    kernel,
    recurrent_kernel,
    bias,
    activation,
    recurrent_activation,
    return_sequences=False,
    go_backwards=False,
    unroll=False,
    reset_after=True,
):
    states = list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
    return _fused(
        "GRU",
        inputs,
        states,
        mask,
        [kernel, recurrent_kernel, bias],
        activation,
        recurrent_activation,
        return_sequences,
        go_backwards,
        unroll,
        reset_after=bool(reset_after),
    )


def bidirectional_lstm(*args, **kwargs):
    raise NotImplementedError


bidirectional_gru = bidirectional_lstm


def rnn(
    step_function,
    inputs,
    initial_states,
    go_backwards=False,
    mask=None,
    constants=None,
    unroll=False,
    input_length=None,
    time_major=False,
    zero_output_for_mask=False,
    return_all_outputs=True,
):
    def turned(x):
        return tensor(x) if time_major else swapaxes(tensor(x), 0, 1)

    items = [tree.map_structure(turned, inputs)]
    count = tree.flatten(items)[0].shape[0]
    if input_length not in (None, count):
        raise NotImplementedError(f"rnn: input_length is {input_length}, and the inputs have {count} steps")
    if unroll and not count:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    if mask is not None:
        items.append(cast(turned(mask), "bool"))
    if go_backwards:
        items = tree.map_structure(lambda x: x[::-1], items)

    def step(states, item, before):
        y, after = step_function(item[0], (*states, *(constants or ())))
        after = tuple(after)
        if mask is None:
            return y, after
        if before is None or zero_output_for_mask:
            before = tree.map_structure(zeros_like, y)
        return _kept_where(item[1], y, before), _kept_where(item[1], after, states)

    def next_step(carry, item):
        y, after = step(*carry[:1], item, carry[1])
        return (after, y), (y if return_all_outputs else None)

    # the first step says what the states and outputs are
    y, states = step(tuple(initial_states), tree.map_structure(lambda x: x[0], items), None)
    whole = tree.map_structure(lambda v: reshape(v, [1, *v.shape]), y)
    if count > 1:
        rest = tree.map_structure(lambda x: x[1:], items)
        (states, y), others = folded(next_step, (states, y), rest)
        if return_all_outputs:
            whole = tree.map_structure(lambda a, b: concatenate([a, b], axis=0), whole, others)
        else:
            whole = tree.map_structure(lambda v: reshape(v, [1, *v.shape]), y)
    return y, tree.map_structure(lambda v: v if time_major else swapaxes(v, 0, 1), whole), list(states)


def _kept_where(flag, new, old):
    """Each row of nests that alike: the new one where the flag holds."""
    olds = iter(tree.flatten(old))

    def one(v):
        wide = reshape(flag, [*flag.shape, *[1] * (len(v.shape) - len(flag.shape))])
        return where_of(wide, v, next(olds))

    return tree.map_structure(one, new)
