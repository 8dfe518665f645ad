"""Connectionist temporal classification of arrays."""

from ..backend.dtypes import result_type
from ..backend.lazy import np
from .arguments import array, on_arrays, wide


def _log_softmax(x):
    y = x - x.max(-1, keepdims=True)
    return y - np.log(np.exp(y).sum(-1, keepdims=True))


def _lengths(given, count, name):
    n = np.asarray(array(given), "int64")
    if n.shape != (count,):
        raise ValueError(f"Arguments must have the same first dimension: `{name}` has {n.shape} for {count} sequences")
    return n


def _checked(target, output, target_length, output_length, mask_index=0):
    labels, x = np.asarray(array(target), "int64"), array(output)
    if labels.ndim != 2:
        raise ValueError(
            "The `target` argument must be a 2D tensor of shape (batch_size, max_length). "
            f"Received: target.shape={labels.shape}"
        )
    if x.ndim != 3:
        raise ValueError(
            "The `output` argument must be a 3D tensor of shape (batch_size, max_length, num_classes). "
            f"Received: output.shape={x.shape}"
        )
    if len(labels) != len(x):
        raise ValueError(
            "Arguments `target` and `output` must have the same first dimension. "
            f"Received shapes: target.shape={labels.shape}, output.shape={x.shape}"
        )
    logs = _log_softmax(wide(x).astype("float64"))
    many = _lengths(target_length, len(x), "target_length")
    steps = _lengths(output_length, len(x), "output_length")
    inside = np.arange(labels.shape[1]) < many[:, None]
    labels = np.where(inside | (labels >= 0) & (labels < x.shape[-1]), labels, mask_index)  # what fills up may be any
    return [(logs[i, : steps[i]], labels[i], many[i], mask_index) for i in range(len(x))]


@on_arrays
def ctc_loss(target, output, target_length, output_length, mask_index=0):
    each = _checked(target, output, target_length, output_length, mask_index)
    return np.asarray([_loss(*one) for one in each]).astype(str(result_type(array(output).dtype, "float32")))


def ctc_gradient(target, output, target_length, output_length, mask_index=0):
    """Of each sequence's loss, with respect to the output."""
    total = np.zeros(np.shape(output))
    for to, one in zip(total, _checked(target, output, target_length, output_length, mask_index)):
        to[: len(one[0])] = _loss_gradient(*one)
    return total


# As the library's loss and Keras on TensorFlow have it: a path that ends before the last label counts 1e-307, so that
# labels for which there are too few steps cost some 707.
_UNLIKELY = -706.893555  # log(1e-307), as a float


def _follows(labels):
    """May a label come right behind the one before it?"""
    return np.concatenate([[True], labels[1:] != labels[:-1]])[: len(labels)]


def _forward(logs, labels, blank):
    """Before each step and behind the last: of the start and the labels, and of the blanks before and behind them, the
    logarithm of the probability to be there."""
    at, between = np.full(len(labels) + 1, _UNLIKELY), np.full(len(labels) + 1, _UNLIKELY)
    at[0] = 0
    rows, follows = [(at, between)], _follows(labels)
    for row in logs:
        on = np.logaddexp(np.logaddexp(at[1:], between[:-1]), np.where(follows, at[:-1], -np.inf)) + row[labels]
        at, between = np.concatenate([[-np.inf], on]), np.logaddexp(between, at) + row[blank]
        rows.append((at, between))
    return rows


def _backward(logs, labels, length, blank):
    """The same of what follows."""
    at, between = np.full(len(labels) + 1, _UNLIKELY), np.full(len(labels) + 1, _UNLIKELY)
    at[length] = between[length] = 0
    rows, follows = [(at, between)], _follows(labels)
    for row in logs[::-1]:
        stay, blanks = at[1:] + row[labels], between + row[blank]
        ahead = np.concatenate([np.where(follows, stay, -np.inf), [-np.inf]])
        at = np.logaddexp(np.logaddexp(np.concatenate([[-np.inf], stay]), blanks), ahead)
        between = np.logaddexp(blanks, np.concatenate([stay, [-np.inf]]))
        rows.append((at, between))
    return rows[::-1]


def _loss(logs, labels, length, blank):
    return -_backward(logs, labels, length, blank)[0][0][0]


def _loss_gradient(logs, labels, length, blank):
    """With respect to what stands before the softmax: probabilities less the shares of the paths."""
    taken = np.zeros(logs.shape)
    rows = zip(taken, _forward(logs, labels, blank)[1:], _backward(logs, labels, length, blank)[1:])
    for to, before, after in rows:
        at, between = before[0] + after[0], before[1] + after[1]
        whole = np.logaddexp.reduce([*at, *between])
        to[blank] = np.exp(between - whole).sum()
        real = labels != blank
        np.add.at(to, labels[real], np.exp(at[1:] - whole)[real])
    return np.exp(logs) - taken


@on_arrays
def ctc_decode(
    inputs, sequence_lengths, strategy="greedy", beam_width=100, top_paths=1, merge_repeated=True, mask_index=0
):
    x = array(inputs)
    if x.ndim != 3:
        raise ValueError(f"ctc_decode: expected inputs of 3 axes, got {x.shape}")
    steps, to = _lengths(sequence_lengths, len(x), "sequence_lengths"), str(result_type(x.dtype, "float32"))
    if strategy == "greedy":
        found = [_greedy(wide(x[i, : steps[i]]), merge_repeated, mask_index) for i in range(len(x))]
        paths, scores = [[labels] for labels, _ in found], [[score] for _, score in found]
    elif strategy == "beam_search":
        if not merge_repeated:
            raise NotImplementedError("ctc_decode: `merge_repeated`: expected True with beam_search, got False")
        logs = _log_softmax(wide(x).astype("float64"))
        found = [_beams(logs[i, : steps[i]], beam_width, mask_index)[:top_paths] for i in range(len(x))]
        found = [f + [((), -np.inf)] * (top_paths - len(f)) for f in found]
        paths, scores = [[p for p, _ in f] for f in found], [[s for _, s in f] for f in found]
    else:
        raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")
    decoded = np.full((len(paths[0]) if paths else 1, *x.shape[:2]), -1, "int32")
    for i, several in enumerate(paths):
        for j, labels in enumerate(several):
            decoded[j, i, : len(labels)] = labels
    return decoded, np.asarray(scores).astype(to)


def _greedy(logits, merge, blank):
    best = logits.argmax(-1)
    kept = best != blank
    if merge:
        kept[1:] &= best[1:] != best[:-1]
    return best[kept], -logits.max(-1).sum()


def _beams(logs, width, blank):
    """(labels, logarithm of the probability), the likeliest first."""
    beams = {(): (0.0, -np.inf)}  # by labels: of paths that end in a blank, and that do not
    for row in logs:
        following = {}

        def add(labels, ends, value, into=following):
            old = into.get(labels, (-np.inf, -np.inf))
            into[labels] = tuple(np.logaddexp(o, value) if i == ends else o for i, o in enumerate(old))

        for labels, (in_blank, in_label) in beams.items():
            whole = np.logaddexp(in_blank, in_label)
            add(labels, 0, whole + row[blank])
            for c, log in enumerate(row):
                if c == blank:
                    continue
                if labels and labels[-1] == c:
                    add(labels, 1, in_label + log)
                    add((*labels, c), 1, in_blank + log)
                else:
                    add((*labels, c), 1, whole + log)
        order = sorted(following.items(), key=lambda item: -np.logaddexp(*item[1]))
        beams = dict(order[:width])
    return [(labels, np.logaddexp(*ends)) for labels, ends in beams.items()]
