"""tf.data.Dataset: elements one after the other, by steps that run while it is iterated over."""

import glob
import itertools
import os

from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from . import steps
from .arguments import holds_shapes, INFINITE, positive, seeds, signature, spread, times, tuples, UNKNOWN, window_count
from .rows import Rows
from .steps import call, count_of
from .structure import as_array, as_element, as_numpy, as_tensor, leaves, map_structure, spec_of, TensorSpec


class Iterator:
    """The elements of a dataset, one after the other."""

    def __init__(self, elements, element_spec=None):
        self._elements, self._spec = elements, element_spec

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._elements)

    def get_next(self):
        return next(self._elements)


class Dataset:
    """Elements: tensors, or tuples and dicts of them."""

    def __init__(self, iterate, cardinality=UNKNOWN, free=0):
        """`iterate()` begins anew; `free`: the first axes of the elements whose size is free."""
        self._iterate, self._count, self._free = iterate, cardinality, free

    # ---- what it has

    def __iter__(self):
        return Iterator(iter(self._iterate()))

    def __len__(self):
        if self._count == INFINITE:
            raise TypeError("The dataset is infinite.")
        if self._count == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return self._count

    def __bool__(self):
        return True

    def cardinality(self, name=None):
        return eager_tensor(np.asarray(self._count, "int64"))

    @property
    def element_spec(self):
        """Shapes and types, as the first element says."""
        for element in self:
            return map_structure(lambda x: spec_of(x, self._free), element)
        raise ValueError("Dataset.element_spec: the dataset has no elements")

    def __repr__(self):
        count = {INFINITE: "infinite", UNKNOWN: "unknown"}.get(self._count, self._count)
        return f"<Dataset, elements: {count}>"

    def as_numpy_iterator(self, name=None):
        return Iterator(map_structure(as_numpy, element) for element in self._iterate())

    def get_single_element(self, name=None):
        found = list(itertools.islice(self._iterate(), 2))
        if len(found) != 1:
            raise ValueError(f"Dataset.get_single_element: expected one element, got {'more' if found else 'none'}")
        return found[0]

    # ---- sources

    @staticmethod
    def from_tensor_slices(tensors, name=None):
        if isinstance(tensors, (dict, tuple)) or hasattr(tensors, "shape"):
            nest = map_structure(as_tensor, tensors)
        else:
            nest = map_structure(as_tensor, tensors if not hasattr(tensors, "to_numpy") else tensors.to_numpy())
        sizes = [x.shape[0] if x.ndim else None for x in leaves(nest)]
        if None in sizes:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        if len(set(sizes)) != 1:
            raise ValueError(
                f"Dimensions {sorted(set(sizes))} are not compatible: all tensors must have the same number of "
                "rows"
            )
        return _RowsDataset(Rows(nest, sizes[0]))

    @staticmethod
    def from_tensors(tensors, name=None):
        element = as_element(tensors)
        return Dataset(lambda: iter([element]), 1)

    @staticmethod
    def from_generator(generator, output_types=None, output_shapes=None, args=None, output_signature=None, name=None):
        """Of what a function's iterator gives, in the types that are said."""
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        if output_signature is None:
            if output_types is None:
                raise TypeError("Either `output_signature` or `output_types` must be specified.")
            if output_shapes is None:
                output_signature = map_structure(lambda t: TensorSpec(None, t), tuples(output_types))
            else:
                output_signature = signature(tuples(output_types), output_shapes)
        elif output_types is not None or output_shapes is not None:
            raise TypeError("The `output_types` and `output_shapes` arguments can't be set with `output_signature`.")
        given = [as_array(a) for a in args or ()]

        def iterate():
            for got in generator(*given):
                if isinstance(output_signature, tuple) and isinstance(got, list):
                    got = tuple(got)
                if isinstance(output_signature, tuple) != isinstance(got, tuple) or (
                    isinstance(got, tuple) and len(got) != len(output_signature)
                ):
                    raise TypeError(f"`generator` yielded an element that did not match {output_signature}: {got!r}")
                yield map_structure(lambda spec, x: spec.checked(x, "from_generator"), output_signature, got)

        return Dataset(iterate)

    @staticmethod
    def range(*args, output_type="int64", name=None):
        numbers = range(*(int(a) for a in args))
        return _RowsDataset(
            Rows(as_tensor(np.asarray(numbers, str(getattr(output_type, "name", output_type)))), len(numbers))
        )

    @staticmethod
    def zip(*args, datasets=None, name=None):
        """Elements of several datasets side by side: of as many arguments, a tuple or a dict."""
        nest = datasets if datasets is not None else args[0] if len(args) == 1 else args
        every = leaves(nest)
        for d in every:
            if not isinstance(d, Dataset):
                raise TypeError(f"Dataset.zip: expected datasets, got {d!r}")

        def iterate():
            for elements in zip(*(d._iterate() for d in every)):
                rest = iter(elements)
                yield map_structure(lambda _: next(rest), nest)

        counts = [d._count for d in every if d._count != INFINITE]
        count = INFINITE if not counts else UNKNOWN if UNKNOWN in counts else min(counts)
        return Dataset(iterate, count, min(d._free for d in every))

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None, name=None):
        """Names of files, in a random order unless that is refused."""
        patterns = [os.fsdecode(p) for p in np.asarray(file_pattern, object).ravel()]
        found = sorted({name for p in patterns for name in glob.glob(p)})
        if not found:
            raise ValueError(f"No files matched pattern: {', '.join(patterns)}")
        dataset = Dataset.from_tensor_slices(found)
        return dataset if shuffle is False else dataset.shuffle(len(found), seed=seed)

    @staticmethod
    def sample_from_datasets(
        datasets, weights=None, seed=None, stop_on_empty_dataset=False, rerandomize_each_iteration=None
    ):
        """Elements of one of the datasets by chance."""
        chances = np.full(len(datasets), 1 / len(datasets)) if weights is None else np.asarray(weights, "float64")
        if len(chances) != len(datasets):
            raise ValueError(f"`weights`: expected {len(datasets)} numbers, got {len(chances)}")
        begin = seeds(seed, rerandomize_each_iteration is not False)

        def iterate():
            rng, live, left = begin(), [iter(d) for d in datasets], chances / chances.sum()
            while left.sum() > 0:
                i = int(rng.choice(len(live), p=left / left.sum()))
                try:
                    element = next(live[i])
                except StopIteration:
                    if stop_on_empty_dataset:
                        return
                    left[i] = 0
                    continue
                yield element

        return Dataset(iterate, INFINITE if any(d._count == INFINITE for d in datasets) else UNKNOWN)

    @staticmethod
    def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=True):
        def iterate():
            live = [iter(d) for d in datasets]
            for i in choice_dataset:
                element = next(live[int(i)], None)
                if element is None and stop_on_empty_dataset:
                    return
                if element is not None:
                    yield element

        return Dataset(iterate)

    # ---- steps

    def map(
        self,
        map_func,
        num_parallel_calls=None,
        deterministic=None,
        synchronous=None,
        use_unbounded_threadpool=False,
        name=None,
    ):
        """What a function makes of each element; in threads if asked for, in the same order."""
        workers = count_of(num_parallel_calls, "num_parallel_calls")
        return Dataset(lambda: steps.mapped(self._iterate(), map_func, workers), self._count, self._free)

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None):
        size = positive(batch_size, "batch", "batch_size")

        def iterate():
            return map(steps.stacked, steps.groups(self._iterate(), size, drop_remainder))

        return Dataset(iterate, self._batches(size, drop_remainder), 0 if drop_remainder else 1)

    def _batches(self, size, drop_remainder):
        return self._count if self._count < 0 else self._count // size if drop_remainder else -(-self._count // size)

    def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name=None):
        """Batches of elements that are filled up to one shape: the given one, or the largest of the batch."""
        size = positive(batch_size, "padded_batch", "batch_size")

        def one(group):
            shapes = spread(padded_shapes, group[0], lambda s: s is None or not holds_shapes(s))
            return steps.padded(
                group, shapes, spread(padding_values, group[0], lambda v: not isinstance(v, (tuple, dict)))
            )

        def iterate():
            return map(one, steps.groups(self._iterate(), size, drop_remainder))

        return Dataset(iterate, self._batches(size, drop_remainder), 2)

    def unbatch(self, name=None):
        return Dataset(lambda: itertools.chain.from_iterable(map(steps.rows_of, self._iterate())))

    def rebatch(self, batch_size, drop_remainder=False, name=None):
        return self.unbatch().batch(batch_size, drop_remainder)

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=True, name=None):
        """Each time one of `buffer_size` waiting elements."""
        size, begin = (
            positive(buffer_size, "shuffle", "buffer_size"),
            seeds(seed, reshuffle_each_iteration is not False),
        )
        return Dataset(lambda: steps.shuffled(self._iterate(), size, begin()), self._count, self._free)

    def repeat(self, count=None, name=None):
        """Again and again, or `count` times."""
        count = None if count is None or int(count) < 0 else int(count)

        def iterate():
            for _ in itertools.count() if count is None else range(count):
                empty = True
                for element in self._iterate():
                    empty = False
                    yield element
                if empty:
                    return

        return Dataset(iterate, times(INFINITE if count is None else count, self._count), self._free)

    def prefetch(self, buffer_size, name=None):
        """The same elements; a thread makes as many before they are asked for."""
        size = 2 if int(buffer_size) == steps.AUTOTUNE else int(buffer_size)
        return Dataset(lambda: steps.ahead(self._iterate(), size), self._count, self._free) if size else self

    def take(self, count, name=None):
        count = int(count)
        if count < 0:
            return self
        left = self._count if self._count == UNKNOWN else count if self._count == INFINITE else min(count, self._count)
        return Dataset(lambda: itertools.islice(self._iterate(), count), left, self._free)

    def skip(self, count, name=None):
        count = int(count)
        left = 0 if count < 0 else self._count if self._count < 0 else max(self._count - count, 0)
        if count < 0:
            return Dataset(lambda: iter(()), 0)
        return Dataset(lambda: itertools.islice(self._iterate(), count, None), left, self._free)

    def shard(self, num_shards, index, name=None):
        if not 0 <= index < num_shards:
            raise ValueError(f"Dataset.shard: expected an index from 0 to {num_shards - 1}, got {index}")
        left = self._count if self._count < 0 else max(-(-(self._count - index) // num_shards), 0)
        return Dataset(lambda: itertools.islice(self._iterate(), index, None, num_shards), left, self._free)

    def cache(self, filename="", name=None):
        """Keeps the elements of the first whole iteration in memory."""
        if filename:
            raise NotImplementedError(
                f"Dataset.cache: expected no `filename`, as elements stay in memory, got {filename!r}"
            )
        kept = []

        def iterate():
            if kept:
                yield from kept[0]
                return
            seen = []
            for element in self._iterate():
                seen.append(element)
                yield element
            kept[:] = [seen]

        return Dataset(iterate, self._count, self._free)

    def filter(self, predicate, name=None):
        def iterate():
            for i, element in enumerate(self._iterate()):
                if steps.named_call("filter", predicate, i, element):
                    yield element

        return Dataset(iterate, UNKNOWN, self._free)

    def take_while(self, predicate, name=None):
        return Dataset(lambda: itertools.takewhile(lambda e: call(predicate, e), self._iterate()), UNKNOWN, self._free)

    def concatenate(self, dataset, name=None):
        counts = (self._count, dataset._count)
        total = INFINITE if INFINITE in counts else UNKNOWN if UNKNOWN in counts else sum(counts)
        return Dataset(
            lambda: itertools.chain(self._iterate(), dataset._iterate()), total, max(self._free, dataset._free)
        )

    def enumerate(self, start=0, name=None):
        def iterate():
            for i, element in enumerate(self._iterate(), int(start)):
                yield eager_tensor(np.asarray(i, "int64")), element

        return Dataset(iterate, self._count)

    def window(self, size, shift=None, stride=1, drop_remainder=False, name=None):
        """Datasets of `size` elements each; a dataset for each component of the elements."""
        size, stride = positive(size, "window", "size"), positive(stride, "window", "stride")
        shift = size if shift is None else positive(shift, "window", "shift")

        def iterate():
            for group in steps.windows(self._iterate(), size, shift, stride, drop_remainder):
                yield map_structure(lambda *parts: Dataset(lambda: iter(parts), len(parts)), *group)

        return Dataset(
            iterate, self._count if self._count < 0 else window_count(self._count, size, shift, stride, drop_remainder)
        )

    def flat_map(self, map_func, name=None):
        def iterate():
            for i, element in enumerate(self._iterate()):
                yield from _dataset(steps.named_call("flat_map", map_func, i, element), "flat_map")._iterate()

        return Dataset(iterate)

    def interleave(
        self, map_func, cycle_length=None, block_length=None, num_parallel_calls=None, deterministic=None, name=None
    ):
        """Blocks of elements of the datasets that a function makes of the elements, in turn."""
        cycle = (
            count_of(cycle_length, "cycle_length")
            or count_of(num_parallel_calls, "num_parallel_calls")
            or os.cpu_count()
            or 1
        )
        block = positive(1 if block_length is None else block_length, "interleave", "block_length")

        def iterate():
            made = (
                _dataset(steps.named_call("interleave", map_func, i, e), "interleave")
                for i, e in enumerate(self._iterate())
            )
            return steps.interleaved(made, cycle, block)

        return Dataset(iterate)

    def scan(self, initial_state, scan_func, name=None):
        """(state, what is given) by a function of the state and an element."""

        def iterate():
            state = as_element(initial_state)
            for element in self._iterate():
                state, given = scan_func(state, element)
                state = as_element(state)
                yield as_element(given)

        return Dataset(iterate, self._count)

    def reduce(self, initial_state, reduce_func, name=None):
        state = as_element(initial_state)
        for element in self._iterate():
            state = as_element(reduce_func(state, element))
        return state

    def unique(self, name=None):
        def iterate():
            seen = set()
            for element in self._iterate():
                key = np.asarray(element).item()
                if key not in seen:
                    seen.add(key)
                    yield element

        return Dataset(iterate)

    def bucket_by_sequence_length(
        self,
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes=None,
        padding_values=None,
        pad_to_bucket_boundary=False,
        no_padding=False,
        drop_remainder=False,
        name=None,
    ):
        """Batches of elements of like length, filled up."""
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError("`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1`")
        if pad_to_bucket_boundary:
            raise NotImplementedError("Dataset.bucket_by_sequence_length: expected no `pad_to_bucket_boundary`")

        def iterate():
            for _, group in steps.bucketed(
                self._iterate(), element_length_func, bucket_boundaries, bucket_batch_sizes, drop_remainder
            ):
                if no_padding:
                    yield steps.stacked(group, "bucket_by_sequence_length")
                else:
                    yield next(
                        iter(Dataset(lambda g=group: iter(g)).padded_batch(len(group), padded_shapes, padding_values))
                    )

        return Dataset(iterate, UNKNOWN, 1)

    def ignore_errors(self, log_warning=False, name=None):
        raise NotImplementedError("Dataset.ignore_errors is not in this version of the library")

    def apply(self, transformation_func):
        return transformation_func(self)

    def with_options(self, options, name=None):
        """The same: options say how, and change no element."""
        return self


class _RowsDataset(Dataset):
    """Rows of tensors: their order is what shuffle(), take() and skip() change, and a batch is cut at once."""

    def __init__(self, rows):
        super().__init__(rows, rows.count)
        self._rows = rows

    def _ordered(self, count, order):
        return _RowsDataset(Rows(self._rows.tensors, count, order))

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None):
        size, rows = positive(batch_size, "batch", "batch_size"), self._rows
        return Dataset(
            lambda: rows.batches(size, drop_remainder), self._batches(size, drop_remainder), 0 if drop_remainder else 1
        )

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=True, name=None):
        size, rows = positive(buffer_size, "shuffle", "buffer_size"), self._rows
        begin = seeds(seed, reshuffle_each_iteration is not False)

        def order():
            rng, indices = begin(), rows.indices()
            if size >= len(indices):
                return rng.permutation(indices)
            return np.fromiter(steps.shuffled(indices, size, rng), "int64", len(indices))

        return self._ordered(rows.count, order)

    def take(self, count, name=None):
        return self._part(slice(None, None if int(count) < 0 else int(count)))

    def skip(self, count, name=None):
        return self._part(slice(self._rows.count if int(count) < 0 else int(count), None))

    def shard(self, num_shards, index, name=None):
        if not 0 <= index < num_shards:
            raise ValueError(f"Dataset.shard: expected an index from 0 to {num_shards - 1}, got {index}")
        return self._part(slice(index, None, num_shards))

    def _part(self, part):
        rows = self._rows
        return self._ordered(len(range(rows.count)[part]), lambda: rows.indices()[part])


def _dataset(found, who):
    if not isinstance(found, Dataset):
        raise TypeError(f"Dataset.{who}: `map_func` must return a `Dataset` object. Got {type(found).__name__}")
    return found
