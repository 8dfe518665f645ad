"""What programs of tf.keras take from keras.backend."""

from .. import ops
from ..backend.config import epsilon


def ctc_batch_cost(y_true, y_pred, input_length, label_length):
    """The CTC loss of probabilities whose last class is the blank, as a column. Labels that are no class end a text."""
    blank = y_pred.shape[-1] - 1
    labels, places = ops.cast(y_true, "int32"), ops.arange(y_true.shape[-1])
    known = ops.logical_and(ops.expand_dims(places, 0) < ops.cast(label_length, "int32"), labels < blank)
    loss = ops.ctc_loss(
        ops.where(known, labels, 0),
        ops.log(y_pred + epsilon()),
        ops.sum(ops.cast(known, "int32"), axis=-1),
        ops.squeeze(ops.cast(input_length, "int32"), -1),
        mask_index=blank,
    )
    return ops.expand_dims(loss, 1)


def ctc_decode(y_pred, input_length, greedy=True, beam_width=100, top_paths=1):
    """The texts of probabilities whose last class is the blank, with -1 behind their ends, and their scores."""
    steps, strategy = y_pred.shape[1], "greedy" if greedy else "beam_search"
    found, scores = ops.ctc_decode(
        ops.log(y_pred + epsilon()),
        input_length,
        strategy=strategy,
        beam_width=beam_width,
        top_paths=top_paths,
        mask_index=y_pred.shape[-1] - 1,
    )
    found = ops.pad(found, [(0, 0), (0, 0), (0, steps - found.shape[-1])], constant_values=-1)
    return [found[i] for i in range(found.shape[0])], scores
