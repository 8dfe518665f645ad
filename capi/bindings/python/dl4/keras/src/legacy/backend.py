"""Functions of keras.backend that Keras 3 has as tensorflow.keras.backend alone, by keras.ops."""

from .. import ops, random
from ..backend.config import epsilon, floatx
from ..backend.lazy import np
from ..layers.variable import Variable


def _of_one(name):
    def f(x):
        return getattr(ops, name)(x)

    return f


def _of_two(name):
    def f(x, y):
        return getattr(ops, name)(x, y)

    return f


def _along_axes(name, of_bools=False):
    def f(x, axis=None, keepdims=False):
        x = ops.cast(x, floatx()) if of_bools and dtype(x) == "bool" else x
        return getattr(ops, name)(x, axis=axis, keepdims=keepdims)

    return f


_KINDS = {
    _of_one: "abs exp log sigmoid sign sin cos sqrt square tanh transpose softplus softsign stop_gradient round",
    _of_two: "equal not_equal greater greater_equal less less_equal maximum minimum",
    _along_axes: "max min prod sum any all",
}
globals().update({name: kind(name) for kind, names in _KINDS.items() for name in names.split()})
mean, std, var = (_along_axes(name, of_bools=True) for name in ("mean", "std", "var"))


def argmax(x, axis=-1):
    return ops.argmax(x, axis)


def argmin(x, axis=-1):
    return ops.argmin(x, axis)


def arange(start, stop=None, step=1, dtype="int32"):
    return ops.arange(*((0, start) if stop is None else (start, stop)), step, dtype=dtype)


def batch_flatten(x):
    return ops.reshape(x, (-1, int(np.prod(x.shape[1:]))))


def binary_crossentropy(target, output, from_logits=False):
    """Of each number."""
    if from_logits:
        return ops.binary_crossentropy(target, output, from_logits=True)
    output = ops.clip(output, epsilon(), 1 - epsilon())
    return -(target * ops.log(output + epsilon()) + (1 - target) * ops.log(1 - output + epsilon()))


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    return ops.categorical_crossentropy(target, output, from_logits=from_logits, axis=axis)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    return ops.sparse_categorical_crossentropy(target, output, from_logits=from_logits, axis=axis)


def cast(x, dtype):
    return ops.cast(x, dtype)


def cast_to_floatx(x):
    return ops.cast(x, floatx())


def clip(x, min_value, max_value):
    return ops.clip(x, -np.inf if min_value is None else min_value, np.inf if max_value is None else max_value)


def concatenate(tensors, axis=-1):
    return ops.concatenate(tensors, axis)


def constant(value, dtype=None, shape=None, name=None):
    made = ops.convert_to_tensor(value, dtype or floatx())
    return made if shape is None else ops.broadcast_to(made, shape) if made.size == 1 else ops.reshape(made, shape)


def count_params(x):
    return int(np.prod(x.shape))


def cumsum(x, axis=0):
    return ops.cumsum(x, axis)


def cumprod(x, axis=0):
    return ops.cumprod(x, axis)


def dot(x, y):
    return ops.dot(x, y)


def dropout(x, level, noise_shape=None, seed=None):
    return random.dropout(x, level, noise_shape, seed)


def dtype(x):
    return getattr(x.dtype, "name", None) or str(x.dtype)


def elu(x, alpha=1.0):
    return ops.elu(x, alpha)


def expand_dims(x, axis=-1):
    return ops.expand_dims(x, axis)


def flatten(x):
    return ops.reshape(x, (-1,))


def gather(reference, indices):
    return ops.take(reference, indices, axis=0)


def get_value(x):
    return x.numpy() if hasattr(x, "numpy") else x


def batch_get_value(tensors):
    return [get_value(x) for x in tensors]


def eval(x):  # noqa: A001
    return get_value(x)


def set_value(x, value):
    x.assign(np.asarray(value, dtype(x)))


def batch_set_value(tuples):
    for x, value in tuples:
        set_value(x, value)


def hard_sigmoid(x):
    """With the slope of Keras 2, a fifth."""
    return ops.clip(0.2 * x + 0.5, 0.0, 1.0)


def int_shape(x):
    return tuple(x.shape)


def l2_normalize(x, axis=None):
    return x * ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis=axis, keepdims=True), 1e-12))


def ndim(x):
    return len(x.shape)


def one_hot(indices, num_classes):
    return ops.one_hot(indices, num_classes)


def ones(shape, dtype=None, name=None):
    return Variable(np.ones(shape), dtype=dtype or floatx(), name=name)


def ones_like(x, dtype=None, name=None):
    return ops.ones_like(x, dtype)


def zeros(shape, dtype=None, name=None):
    return Variable(np.zeros(shape), dtype=dtype or floatx(), name=name)


def zeros_like(x, dtype=None, name=None):
    return ops.zeros_like(x, dtype)


def permute_dimensions(x, pattern):
    return ops.transpose(x, pattern)


def pow(x, a):  # noqa: A001
    return ops.power(x, a)


def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return random.normal(shape, mean, stddev, dtype or floatx(), seed)


def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    return random.uniform(shape, minval, maxval, dtype or floatx(), seed)


def relu(x, alpha=0.0, max_value=None, threshold=0.0):
    y = ops.where(x >= threshold, x, alpha * (x - threshold)) if alpha or threshold else ops.relu(x)
    return y if max_value is None else ops.minimum(y, max_value)


def repeat(x, n):
    return ops.repeat(ops.expand_dims(x, 1), n, axis=1)


def repeat_elements(x, rep, axis):
    return ops.repeat(x, rep, axis=axis)


def reshape(x, shape):
    return ops.reshape(x, shape)


def reverse(x, axes):
    return ops.flip(x, axes)


def shape(x):
    return ops.shape(x)


def softmax(x, axis=-1):
    return ops.softmax(x, axis)


def squeeze(x, axis):
    return ops.squeeze(x, axis)


def stack(x, axis=0):
    return ops.stack(x, axis)


def switch(condition, then_expression, else_expression):
    """One of two by a number, or number by number."""
    if len(getattr(condition, "shape", ())) == 0:
        made = [e if callable(e) else lambda e=e: e for e in (then_expression, else_expression)]
        return ops.cond(condition, *made)
    return ops.where(condition, *(e() if callable(e) else e for e in (then_expression, else_expression)))


def tile(x, n):
    return ops.tile(x, n)


def temporal_padding(x, padding=(1, 1)):
    return ops.pad(x, ((0, 0), tuple(padding), (0, 0)))


def spatial_2d_padding(x, padding=((1, 1), (1, 1)), data_format=None):
    if data_format == "channels_first":
        return ops.pad(x, ((0, 0), (0, 0), *map(tuple, padding)))
    return ops.pad(x, ((0, 0), *map(tuple, padding), (0, 0)))


def update(x, new_x):
    return x.assign(new_x)


def update_add(x, increment):
    return x.assign_add(increment)


def update_sub(x, decrement):
    return x.assign_sub(decrement)


def variable(value, dtype=None, name=None, constraint=None):
    return Variable(np.asarray(value), dtype=dtype or floatx(), name=name, constraint=constraint)


def ctc_batch_cost(y_true, y_pred, input_length, label_length):
    """The CTC loss of probabilities whose last class is the blank, as a column. Labels that are no class end a text."""
    blank = y_pred.shape[-1] - 1
    labels, places = ops.cast(y_true, "int32"), ops.arange(ops.shape(y_true)[-1])
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
