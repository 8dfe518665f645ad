"""Data of fit(), evaluate() and predict(): arrays, or anything that gives batches of them."""

import itertools
import math
import types
import warnings
from concurrent.futures import ThreadPoolExecutor

from .... import core
from ..backend.config import in_graph
from ..backend.eager_tensor import is_array
from ..data.structure import string_array
from ..ops.core import cast
from ..symbolic.tensor import as_tensor, operation
from ..tree import flatten, map_nest, pack_like
from ..utils.data_utils import Sequence


def as_array(x):
    """What NumPy can see: tensors and frames of other libraries too."""
    if x is None or isinstance(x, (int, float)):
        return x
    if isinstance(x, dict):
        return {k: as_array(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(as_array(v) for v in x) if type(x) in (list, tuple) else x
    if hasattr(x, "to_frame"):  # a column of pandas
        return x.to_frame().to_numpy()
    if hasattr(x, "detach"):  # of PyTorch, with or without a gradient
        return x.detach().cpu().numpy()
    return x.numpy() if hasattr(x, "numpy") and not hasattr(x, "_as_tensor") else x


def is_whole(x):
    """Is it data itself, not something that gives batches of it?"""
    if x is None or hasattr(x, "__array__") or hasattr(x, "__array_interface__") or isinstance(x, dict):
        return True
    return isinstance(x, (list, tuple)) and not hasattr(x, "__next__")


def rows_of(x):
    """How many rows the arrays of a nest have, in which None may stand."""
    return len(next(leaf for leaf in flatten(x) if leaf is not None))


def need_one_count(**nests):
    """Raises where arrays have another number of samples than the others."""
    sizes = {name: [v.shape[0] for v in flatten(nest) if getattr(v, "shape", ())] for name, nest in nests.items()}
    if len({count for counts in sizes.values() for count in counts}) > 1:
        told = ", ".join(f"'{name}' sizes: {', '.join(map(str, counts))}" for name, counts in sizes.items() if counts)
        raise ValueError(
            "Data cardinality is ambiguous. Make sure all arrays contain the same number of samples. Received "
            f"{told}"
        )


def length_of(source):
    """How many batches it has; None where that is not known."""
    if isinstance(source, Sequence):
        return source.num_batches
    try:
        return len(source)
    except TypeError:
        return None


def need_alone(x, y, sample_weight):
    """Raises for what gives no batches, and for targets and weights beside what gives batches of them."""
    if isinstance(x, (str, bytes)) or not (hasattr(x, "__iter__") or hasattr(x, "__getitem__")):
        raise ValueError(f"Unrecognized data type: x={x} (of type {type(x)})")
    kind = type(x).__name__
    for name, value, what in (("y", y, "targets"), ("sample_weights", sample_weight, "sample weights")):
        if value is not None:
            raise ValueError(
                f"When providing `x` as a {kind}, `{name}` should not be passed. Instead, the {what} should be "
                f"included as part of the {kind}."
            )


class Generator:
    """A generator that may be gone over more than once: as Keras does, each time by its first two batches and what is
    left then."""

    def __init__(self, generator):
        self.first, self.rest = list(itertools.islice(generator, 2)), generator

    def __iter__(self):
        return itertools.chain(self.first, self.rest)


def repeatable(source):
    return Generator(source) if hasattr(source, "__next__") else source


class Batches:
    """What a data set of the library asks for batches: batch_at(index)."""

    feed = None  # what makes of the inputs of a batch those of the library's part
    steps = None

    def dataset(self):
        """A data set of the library that keeps this object, which does not keep it."""
        return core.Dataset(batches=self._batch, **({} if self.steps is None else {"steps": int(self.steps)}))

    def _batch(self, index):
        batch = self.batch_at(index)
        if batch is not None and self.feed is not None:
            batch = [self.feed(batch[0]), *batch[1:]]
        return batch


class Stream(Batches):
    """Batches of a generator, a data set or a loader, (x, y) or (x, y, sample_weight), as a dataset."""

    def __init__(self, model, source, steps, labels=True, goes_on=False, seed=None):
        """A seed: the batches of a Sequence come in another order each time."""
        self.goes_on = goes_on and steps is not None  # the next epoch begins where the last one ended
        self.indexed = isinstance(source, Sequence) or (
            hasattr(source, "__getitem__")
            and hasattr(source, "__len__")
            and not (hasattr(source, "__iter__") and type(source).__module__.startswith(("torch", "tensorflow")))
        )
        self.length = length_of(source)
        steps = self.length if steps is None else steps
        workers = getattr(source, "workers", 1) if self.indexed else 1
        ahead = self.length if self.goes_on else steps
        queue = getattr(source, "max_queue_size", 10)
        self.made = made_ahead(self._numbered, workers, queue, ahead) if workers > 1 else None
        self.orders = orders_of(self.length, seed) if isinstance(source, Sequence) else None
        self.order = None
        self.over, self.seen = True, 0
        self.model, self.steps, self.labels = model, steps, labels
        self.endless, self.iterator, self.ran_out = not self.indexed and hasattr(source, "__next__"), None, False
        self.source = source if self.indexed else repeatable(source)
        need_alone(source, None, None)
        first = None if self.length == 0 else self._got(0)
        if first is None:
            raise ValueError(no_batch(source))
        if isinstance(source, types.GeneratorType) and not (isinstance(first, tuple) and 0 < len(first) < 4):
            raise ValueError(
                "When passing a Python generator to a Keras model, the generator must return a tuple, either (input,) "
                f"or (inputs, targets) or (inputs, targets, sample_weights). Received: {first}"
            )
        # As in Keras, a size in which the first two batches differ is free.
        for one in (first, *itertools.islice(self._behind_first(), 1)):
            x = one[0] if isinstance(one, (tuple, list)) else one
            model._size_for(as_array(x), max(1, getattr(source, "_free", 1)))
        self.first = self._batch_tensors(first)
        if self.goes_on or self.endless:
            self.iterator, self.seen = None, 0

    def _behind_first(self):
        """The second batch, if there is one."""
        if self.steps == 1 or self.length == 1:
            return ()
        return map(self.source.__getitem__, (1,)) if self.indexed else self.iterator

    def _got(self, index):
        if self.goes_on:
            return self._next_of_all()
        if self.indexed:
            if index == 0:
                self._begin_numbers()
            return self._at(index)
        if self.iterator is None or (index == 0 and not self.endless):
            if self.ran_out:
                warn_ran_out()
            self.iterator = iter(self.source)
        got = next(self.iterator, None)
        if got is None and self.endless:
            self.iterator, self.ran_out = None, True
        return got

    def _begin_numbers(self):
        if self.orders is None:
            return
        if self.made is not None:
            self.made(None)  # what was made ahead is of the order before
        self.order = next(self.orders)

    def _numbered(self, index):
        return self.source[index if self.order is None else self.order[index]]

    def _at(self, index):
        return self._numbered(index) if self.made is None else self.made(index)

    def _next_of_all(self):
        """The batch behind the last one, whichever epoch that was in; None at the end of the data, which ends the
        epoch, and the next one begins anew."""
        if self.iterator is None:
            self._begin_numbers()
            self.iterator, self.seen = map(self._at, itertools.count()) if self.indexed else iter(self.source), 0
        got = None if self.seen == self.length else next(self.iterator, None)
        if got is None:
            warn_ran_out()
            self.iterator, self.length = None, self.seen if self.length is None else self.length
            return None
        self.seen += 1
        return got

    def _batch_tensors(self, got):
        x, y, w = (tuple(got) + (None, None))[:3] if isinstance(got, (tuple, list)) else (got, None, None)
        if not self.labels:
            y = w = None
        return self.model._batch_tensors(as_array(x), as_array(y), as_array(w))

    def batch_at(self, index):
        """Batch `index` of this time; None at its end."""
        if index == 0 and hasattr(self.source, "on_epoch_begin"):
            self.source.on_epoch_begin()
        over = self.steps is not None and index >= self.steps
        got = None if over else self._got(index)
        if got is None and not over and self.steps is not None and not self.goes_on:
            warn_ran_out()
        if got is not None:
            self.over, got = False, self._batch_tensors(got)
        if got is None or index + 1 == self.steps:  # the library may not ask behind the last one
            if self.goes_on and self.seen == self.length:
                self.iterator = None
            self._epoch_over()
        return got

    def _epoch_over(self):
        if self.over:
            return
        self.over = True
        if self.made is not None:
            self.made(None)
        if hasattr(self.source, "on_epoch_end"):
            self.source.on_epoch_end()


def orders_of(count, seed):
    """Permutations of so many numbers, one after the other; None without a seed, or where it is not known how many."""
    if seed is None or not count:
        return None
    import numpy

    rng = numpy.random.default_rng(seed)
    return iter(lambda: rng.permutation(count).tolist(), None)


def within_epoch(source, given):
    """Batches of one time over the data, which is told where that begins and ends."""
    if hasattr(source, "on_epoch_begin"):
        source.on_epoch_begin()
    try:
        yield from given
    finally:
        if hasattr(source, "on_epoch_end"):
            source.on_epoch_end()


def made_ahead(numbered, workers, size, steps):
    """A function that gives batches by number, of which threads make as many before they are asked for; None of None
    ends an epoch."""
    pool, waiting = ThreadPoolExecutor(workers), {}

    def batch(index):
        if index is None:
            return [future.cancel() for future in waiting.values()] and waiting.clear()
        for i in range(index, index + max(size, 1) if steps is None else min(index + max(size, 1), steps)):
            if i not in waiting:
                waiting[i] = pool.submit(numbered, i)
        return waiting.pop(index).result()

    return batch


def shuffled(rng, rows, within=None):
    """A permutation of rows; of each `within` of them apart, where that is said."""
    import numpy

    if within is None:
        return rng.permutation(rows)
    parts = numpy.split(numpy.arange(rows), range(within, rows, within))
    return numpy.concatenate([rng.permutation(part) for part in parts])


class Cut(Batches):
    """Batches of arrays, `steps` of them each time; with `goes_on` the next time continues where the last one ended."""

    def __init__(self, lists, batch_size, steps=None, seed=None, goes_on=False, in_batches=False):
        """A seed: rows come in another order each time; `in_batches`, within their batches alone."""
        self.lists, self.batch_size = lists, batch_size
        self.rows = next((t.shape[0] for part in lists for t in part if t is not None and t.shape), 1)
        self.whole = -(-self.rows // batch_size)
        self.count, self.seed, self.at, self.order = steps or self.whole, seed, self.whole, None
        self.goes_on, self.in_batches = goes_on, in_batches

    def batch_at(self, index):
        """Batch `index` of this time; None at its end."""
        import numpy

        if index == 0 and (self.at >= self.whole or not self.goes_on):
            self.at = 0
            if self.seed is not None:
                rng = numpy.random.default_rng(self.seed)
                self.order = shuffled(rng, self.rows, self.batch_size if self.in_batches else None)
                self.seed += 1
        if index >= self.count:
            return None
        if self.at >= self.whole:
            warn_ran_out()
            return None
        part = slice(self.at * self.batch_size, (self.at + 1) * self.batch_size)
        self.at += 1
        rows = part if self.order is None else self.order[part]
        return [[None if t is None else core.Tensor.of(t.numpy()[rows], t.dtype) for t in x] for x in self.lists]


def no_batch(source):
    """What is said of data that gives none."""
    if isinstance(source, types.GeneratorType):
        return (
            "When passing a Python generator to a Keras model, the generator must yield at least one batch. "
            f"Received: {source}"
        )
    return "The PyDataset has length 0" if isinstance(source, Sequence) else "the data gave no batch"


def warn_ran_out():
    warnings.warn(
        "Your input ran out of data; interrupting training. Make sure that your dataset or generator can generate at "
        "least `steps_per_epoch * epochs` batches. You may need to use the `.repeat()` function when building your "
        "dataset.",
        stacklevel=3,
    )


def split(arrays, fraction):
    """The first part of the rows of nests of arrays, and the last, which is `fraction` of them."""
    if not 0 < fraction < 1:
        raise ValueError(f"`validation_split` must be between 0 and 1, received: {fraction}.")
    leaves = [leaf for leaf in flatten(list(arrays)) if leaf is not None]
    if not all(hasattr(leaf, "shape") for leaf in leaves):
        raise ValueError(
            "Argument `validation_split` is only supported for tensors or NumPy arrays. Found incompatible type in the "
            f"input: {[type(leaf) for leaf in leaves if not hasattr(leaf, 'shape')]}"
        )
    rows = leaves[0].shape[0]
    at = int(math.floor(rows * (1.0 - fraction)))
    if at in (0, rows):
        raise ValueError(
            f"Training data contains {rows} samples, which is not sufficient to split it into a validation and "
            f"training set as specified by `validation_split={fraction}`. Either provide more data, "
            "or a different value for the `validation_split` argument."
        )
    return tuple(
        [map_nest(lambda leaf: None if leaf is None else leaf[part], nest) for nest in arrays]
        for part in (slice(None, at), slice(at, None))
    )


def ranked(tensor, wanted):
    """As Keras: a last axis of 1 is added or left out where that gives the rank of the input."""
    more = len(wanted.shape) - tensor.array.ndim
    if more == 1 and wanted.shape[-1] == 1:
        return core.Tensor.of(tensor.numpy()[..., None])
    if more == -1 and tensor.shape[-1] == 1:
        return core.Tensor.of(tensor.numpy()[..., 0])
    return tensor


def need_optional(wanted, name):
    """Raises where None is given for another input."""
    if not wanted.call.optional:
        raise ValueError(f"{name}: the input {wanted.name!r} is not optional: expected data for it, got None")


def as_input(t, wanted, from_axis, name):
    """ranked() of a symbolic tensor in the input's type, whose sizes have to be those of the input from an axis on.
    None stays None."""
    if t is None:
        return need_optional(wanted, name)
    t = as_tensor(t)
    more = len(wanted.shape) - len(t.shape)
    if more == 1 and wanted.shape[-1] == 1:
        t = operation("ExpandDims", axis=-1)(t)
    elif more == -1 and t.shape[-1] == 1:
        t = operation("Squeeze", axis=-1)(t)
    pairs = [*zip(t.shape, wanted.shape)][from_axis:]
    if len(t.shape) != len(wanted.shape) or any(a != b for a, b in pairs if a and b):
        raise ValueError(
            f'Input 0 of layer "{name}" is incompatible with the layer: expected shape={wanted.shape}, '
            f"found shape={t.shape}"
        )
    return t if "string" in (t.dtype, wanted.dtype) else cast(t, wanted.dtype)


def texts_for(x, wanted):
    """Texts for an input: a last axis of 1 is added or left out where that gives its rank."""
    x = string_array(x)
    more = len(wanted.shape) - x.ndim
    return x[..., None] if more == 1 and wanted.shape[-1] == 1 else x[..., 0] if more == -1 and x.shape[-1] == 1 else x


def for_input(value, wanted):
    """A tensor of an array for an input, in its type and rank."""
    return ranked(core.Tensor.of(value, in_graph(wanted.dtype)), wanted)


def given_arrays(functional, arrays):
    """Texts and arrays of the types and ranks of the inputs."""
    return [
        texts_for(a, t) if t.dtype == "string" else for_input(a, t).numpy()
        for a, t in zip(arrays, functional.inputs)
    ]


def fed_tensors(functional, arrays):
    """Tensors for the library's part of a model, of arrays for its inputs."""
    given = functional.fed_arrays(given_arrays(functional, arrays))
    return [core.Tensor.of(a, in_graph(t.dtype)) for a, t in zip(given, functional.fed)]


def leaves_of(x, functional):
    """The arrays of a nest: a list of numbers is one array where there is one input."""
    if len(functional.inputs) == 1 and not any(is_array(leaf) for leaf in flatten(x)):
        return [x]
    return flatten(x)


def batches(x, y=None, sample_weight=None, size=32, steps=None, order=None):
    """(x, y, sample_weight) of each batch; of arrays in that order of their rows, of a Sequence in that of batches."""
    if not is_whole(x):
        need_alone(x, y, sample_weight)
        indexed = hasattr(x, "__getitem__") and hasattr(x, "__len__") and not hasattr(x, "__iter__")
        source = map(x.__getitem__, range(len(x))) if indexed else x
        if isinstance(x, Sequence):
            source = _in_order(x, order, steps)
        for got in itertools.islice(source, steps):
            yield (
                tuple(as_array(v) for v in (tuple(got) + (None, None))[:3])
                if isinstance(got, tuple)
                else (
                    as_array(got),
                    None,
                    None,
                )
            )
        return
    whole = [map_nest(_array, as_array(v)) for v in (_listed(x), y, sample_weight)]
    need_one_count(**dict(zip(("x", "y", "sample_weight"), whole)))
    rows = rows_of(whole[0])
    for begin in itertools.islice(range(0, rows, size), steps):
        part = slice(begin, begin + size) if order is None else order[begin : begin + size]
        yield tuple(map_nest(lambda v: v if v is None else v[part], v) for v in whole)


def _in_order(x, order, steps):
    """The batches of a Sequence, which its threads make ahead."""
    count = x.num_batches
    at = x.__getitem__ if order is None else lambda i: x[order[i]]
    if x.workers > 1:
        at = made_ahead(at, x.workers, x.max_queue_size, steps if count is None else count)
    return map(at, itertools.count() if count is None else range(count))


def _listed(x):
    import numpy

    plain = isinstance(x, list) and not any(hasattr(leaf, "__array__") for leaf in flatten(x))
    return numpy.asarray(x) if plain else x


def _array(v):
    import numpy

    if v is None:
        return None
    v = numpy.asarray(v)
    return v.astype("float32") if v.dtype == "float64" else v


def joined(parts):
    """The batches' nests of outputs as one nest."""
    import numpy

    leaves = [[numpy.asarray(v) for v in flatten(part)] for part in parts]
    return pack_like(parts[0], [numpy.concatenate(v) for v in zip(*leaves)])


def weights_of_classes(y, class_weight):
    """The weight of each sample, by its class."""
    import numpy

    y = numpy.asarray(y)
    if y.ndim > 1 and y.shape[-1] > 1:
        y = y.argmax(-1)
    return numpy.array([class_weight.get(int(c), 1.0) for c in y.reshape(len(y))], "float32")
