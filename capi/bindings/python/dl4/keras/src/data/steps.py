"""What the steps of a pipeline do: iterators of elements made of iterators of elements."""

import collections
import itertools
import os
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from .structure import as_element, leaves, map_structure

AUTOTUNE = -1


def count_of(parallel, name):
    """How many threads an argument asks for; 0 for none."""
    if parallel is None:
        return 0
    if int(parallel) == AUTOTUNE:
        return os.cpu_count() or 1
    if int(parallel) < 1:
        raise ValueError(f"`{name}`: expected a number above 0, AUTOTUNE or None, got {parallel}")
    return int(parallel)


def call(function, element):
    """A tuple is as many arguments."""
    return function(*element) if isinstance(element, tuple) and not hasattr(element, "_fields") else function(element)


def name_of(function):
    return getattr(function, "__qualname__", None) or getattr(function, "name", None) or type(function).__name__


def named_call(step, function, index, element):
    """The function's result; an exception names the step, the function and the element."""
    try:
        return call(function, element)
    except Exception as e:
        shapes = [getattr(x, "shape", x) for x in leaves(element)]
        raise RuntimeError(
            f"Dataset.{step}: {name_of(function)} failed at element {index}, of shapes {shapes}: "
            f"{type(e).__name__}: {e}"
        ) from e


def mapped(elements, function, workers):
    """The function's results, in order; by as many threads."""

    def one(numbered):
        made = named_call("map", function, *numbered)
        return as_element(tuple(made) if isinstance(made, list) else made)  # as TensorFlow takes a list

    if not workers:
        yield from map(one, enumerate(elements))
        return
    with ThreadPoolExecutor(workers) as pool:
        pending = collections.deque()
        try:
            for numbered in enumerate(elements):
                pending.append(pool.submit(one, numbered))
                if len(pending) > workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def ahead(elements, size):
    """The same elements, of which a thread makes as many before they are asked for."""
    waiting, stop, end = queue.Queue(max(size, 1)), threading.Event(), object()

    def put(item):
        while not stop.is_set():
            try:
                return waiting.put(item, timeout=0.05)
            except queue.Full:
                pass

    def work():
        try:
            for item in elements:
                put((item, None))
                if stop.is_set():
                    return
            put((end, None))
        except BaseException as e:  # noqa: BLE001 raised where the element is asked for
            put((end, e))

    thread = threading.Thread(target=work, daemon=True, name="dl4-prefetch")
    thread.start()
    try:
        while True:
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is end:
                return
            yield item
    finally:
        stop.set()
        thread.join()


def stacked(elements, who="batch"):
    """Elements as one, along a new first axis."""

    def stack(*parts):
        if parts[0] is None:
            return None
        for i, p in enumerate(parts):
            if p.shape != parts[0].shape:
                raise ValueError(
                    f"Dataset.{who}: Cannot batch tensors with different shapes in component. First element had shape "
                    f"{list(parts[0].shape)} and element {i} had shape {list(p.shape)}."
                )
        return eager_tensor(np.stack([np.asarray(p) for p in parts]))

    return map_structure(stack, *elements)


def groups(elements, size, drop_remainder):
    elements = iter(elements)
    while True:
        group = list(itertools.islice(elements, size))
        if not group or (drop_remainder and len(group) < size):
            return
        yield group


def padded(elements, shapes, values):
    """Elements as one, each filled up to one shape."""

    def pad(shape, value, *parts):
        rank = parts[0].ndim
        shape = (None,) * rank if shape is None else tuple(shape)
        if len(shape) != rank:
            raise ValueError(f"Dataset.padded_batch: expected a shape of {rank} axes in `padded_shapes`, got {shape}")
        sizes = [max(p.shape[a] for p in parts) if d in (None, -1) else int(d) for a, d in enumerate(shape)]
        if value is None:
            value = b"" if parts[0].dtype == object else 0
        out = np.full((len(parts), *sizes), value, parts[0].dtype)
        for i, p in enumerate(parts):
            if any(d > s for d, s in zip(p.shape, sizes)):
                raise ValueError(
                    f"Dataset.padded_batch: expected elements of at most {sizes}, got one of shape {list(p.shape)}"
                )
            out[(i, *map(slice, p.shape))] = p
        return eager_tensor(out)

    return map_structure(pad, shapes, values, *elements)


def rows_of(element):
    """The elements that a batch is made of."""
    count = len(leaves(element)[0])
    return (map_structure(lambda x, i=i: x[i], element) for i in range(count))


def shuffled(elements, size, rng):
    """Each time one of as many waiting elements."""
    elements, waiting = iter(elements), []
    for element in elements:
        if len(waiting) < size:
            waiting.append(element)
            continue
        i = int(rng.integers(size))
        yield waiting[i]
        waiting[i] = element
    for i in rng.permutation(len(waiting)):
        yield waiting[i]


def interleaved(datasets, cycle, block):
    """Blocks of elements of as many datasets in turn."""
    datasets, slots, done = iter(datasets), [None] * cycle, False
    while True:
        for i in range(cycle):
            if slots[i] is None and not done:
                found = next(datasets, None)
                done, slots[i] = found is None, None if found is None else iter(found)
            if slots[i] is None:
                continue
            for _ in range(block):
                try:
                    element = next(slots[i])
                except StopIteration:
                    slots[i] = None
                    break
                yield element
        if done and all(s is None for s in slots):
            return


def windows(elements, size, shift, stride, drop_remainder):
    """Lists of elements, each of which begins `shift` elements behind the last one."""
    reach = (size - 1) * stride + 1
    held, at, begin, elements = collections.deque(), 0, 0, iter(elements)
    while True:
        while at < begin + reach:
            element = next(elements, None)
            if element is None:
                break
            held.append(element)
            at += 1
        base = at - len(held)
        if begin >= at:
            return
        window = list(itertools.islice(held, begin - base, None, stride))[:size]
        if len(window) < size and drop_remainder:
            return
        yield window
        begin += shift
        while held and at - len(held) < begin:
            held.popleft()


def bucketed(elements, length_of, boundaries, sizes, drop_remainder):
    """Lists of elements of like length."""
    buckets = [[] for _ in sizes]
    for element in elements:
        length = int(call(length_of, element))
        at = int(np.searchsorted(boundaries, length, side="right"))
        buckets[at].append(element)
        if len(buckets[at]) == sizes[at]:
            yield at, buckets[at]
            buckets[at] = []
    for at, bucket in enumerate(buckets):
        if bucket and not drop_remainder:
            yield at, bucket
