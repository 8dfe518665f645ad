"""What a model is compiled with, as objects that Python calls: for steps of its user's own, and metrics in Python."""

import itertools

from . import _overrides, losses, metrics
from ._kinds import Kind
from ._tensors import flatten, map_nest, pack_like
from ._traced import aligned


def is_python(metric):
    """Does it take batches by methods of its user's?"""
    return isinstance(metric, metrics.Metric) and bool(_overrides.having(metric, "own"))


class _Function(losses.Loss):
    """A function of targets and predictions as a loss."""

    def __init__(self, function):
        super().__init__(name=getattr(function, "__name__", "loss"))
        self.function = function

    def call(self, y_true, y_pred):
        shaped = aligned(y_true.shape, y_pred.shape)[1]
        return shaped(self.function)(y_true, y_pred)


def _by_shapes(kind, y_true, y_pred):
    """Keras's choice for `accuracy` and `crossentropy`."""
    if y_pred.shape[-1] == 1:
        return "Binary" + kind
    sparse = len(y_true.shape) < len(y_pred.shape) or y_true.shape[-1] == 1
    return ("SparseCategorical" if sparse else "Categorical") + kind


def loss_object(loss, y_true, y_pred):
    if loss is None or isinstance(loss, losses.Loss):
        return loss
    if isinstance(loss, type) and issubclass(loss, losses.Loss):
        return loss()
    if str(loss).lower() in ("crossentropy", "ce"):
        loss = _by_shapes("Crossentropy", y_true, y_pred)
    found = losses.of(loss)
    return found if isinstance(found, losses.Loss) else _Function(found)


def metric_object(metric, y_true, y_pred):
    if isinstance(metric, type) and issubclass(metric, metrics.Metric):
        metric = metric()
    if isinstance(metric, metrics.Metric):
        return metric
    if isinstance(metric, str):
        kind = _by_shapes("Accuracy", y_true, y_pred) if metric.lower() in ("accuracy", "acc") else metric
        found = metrics.get(kind)
        if isinstance(found, metrics.Metric):
            found._config.setdefault("name", metric if metric.islower() else found.name)
            return found
        return metrics.MeanMetricWrapper(found, name=metric)
    found = metrics.get(metric)
    return found if isinstance(found, Kind) else metrics.MeanMetricWrapper(found)


class CompileMetrics:
    """The metrics of compile(), as one; with `python` those alone that take batches in Python."""

    name = "compile_metrics"

    def __init__(self, model, python=False):
        self.model, self.python, self.entries = model, python, None
        self.results = None  # of a run in the library

    @property
    def metrics(self):
        return [m for _, m, _, _ in self.entries or ()]

    @property
    def variables(self):
        return [v for m in self.metrics for v in m.variables]

    def _made(self, ys, ps):
        """(output, metric, its name in logs, whether it takes weights) of each."""
        model, entries = self.model, []
        names, n = model._output_keys(), len(ps)
        for key in ("metrics", "weighted_metrics"):
            given = model._compiled[key]
            for i, listed in enumerate([] if given is None else model._metric_lists(given, n, names, key, True)):
                for metric in listed:
                    if self.python and not is_python(metric):
                        continue
                    made = metric_object(metric, ys[i], ps[i])
                    name = made.name if n == 1 else f"{names[i]}_{made.name}"
                    entries.append((i, made, name, key == "weighted_metrics"))
        return entries

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.results, ps = None, flatten(y_pred)
        ys = self.model._targets_by_output(y_true)
        if self.entries is None:
            self.entries = self._made(ys, ps)
        ws = flatten(sample_weight)
        for i, metric, _, weighted in self.entries:
            w = ws[i if len(ws) == len(ps) else 0] if weighted else None
            metric.update_state(ys[i], ps[i], sample_weight=w)

    def reset_state(self):
        self.results = None
        compiled = self.model._compiled
        given = [m for key in ("metrics", "weighted_metrics") for m in flatten(compiled[key])]
        for metric in {id(m): m for m in [*self.metrics, *given] if isinstance(m, metrics.Metric)}.values():
            metric.reset_state()

    def result(self):
        if self.results is not None:
            return self.results
        return {name: metric.result() for _, metric, name, _ in self.entries or ()}


def as_floats(logs):
    """Numbers of a step's logs, metrics in it by their results."""
    found = {}
    for name, value in logs.items():
        if isinstance(value, dict):
            found.update(as_floats(value))
            continue
        value = value.result() if hasattr(value, "result") else value
        found[name] = float(value) if getattr(value, "ndim", 0) == 0 else value
    return found


def weights_of_classes(y, class_weight):
    """The weight of each sample, by its class."""
    import numpy

    y = numpy.asarray(y)
    if y.ndim > 1 and y.shape[-1] > 1:
        y = y.argmax(-1)
    return numpy.array([class_weight.get(int(c), 1.0) for c in y.reshape(len(y))], "float32")


def batches(x, y=None, sample_weight=None, size=32, steps=None, order=None):
    """(x, y, sample_weight) of each batch; of arrays in that order of their rows."""
    from ._data import as_array, is_whole

    if not is_whole(x):
        indexed = hasattr(x, "__getitem__") and hasattr(x, "__len__") and not hasattr(x, "__iter__")
        source = map(x.__getitem__, range(len(x))) if indexed else iter(x)
        for got in itertools.islice(source, steps):
            yield tuple(as_array(v) for v in (tuple(got) + (None, None))[:3]) if isinstance(got, tuple) else (
                as_array(got),
                None,
                None,
            )
        return
    whole = [map_nest(_array, as_array(v)) for v in (_listed(x), y, sample_weight)]
    rows = len(flatten(whole[0])[0])
    for begin in itertools.islice(range(0, rows, size), steps):
        part = slice(begin, begin + size) if order is None else order[begin : begin + size]
        yield tuple(map_nest(lambda v: v if v is None else v[part], v) for v in whole)


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
