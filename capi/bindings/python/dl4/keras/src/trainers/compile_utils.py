"""Losses and metrics of compile() as objects that Python calls."""

import numbers

from .. import overrides, registry
from ..kind import Kind
from ..losses.loss import Loss
from ..metrics.metric import Metric
from ..metrics.reduction_metrics import MeanMetricWrapper
from ..tree import flatten
from .graphs import aligned


def is_python(metric):
    """Does it take batches by methods of its user's?"""
    return isinstance(metric, Metric) and bool(overrides.having(metric, "custom"))


class _Function(Loss):
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
    if loss is None or isinstance(loss, Loss):
        return loss
    if isinstance(loss, type) and issubclass(loss, Loss):
        return loss()
    if str(loss).lower() in ("crossentropy", "ce"):
        loss = _by_shapes("Crossentropy", y_true, y_pred)
    found = registry.get("loss", loss)
    return found if isinstance(found, Loss) else _Function(found)


def metric_object(metric, y_true, y_pred):
    if isinstance(metric, type) and issubclass(metric, Metric):
        metric = metric()
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        kind = _by_shapes("Accuracy", y_true, y_pred) if metric.lower() in ("accuracy", "acc") else metric
        found = registry.get("metric", kind)
        if isinstance(found, Metric):
            found._config.setdefault("name", metric if metric.islower() else found.name)
            return found
        return MeanMetricWrapper(found, name=metric)
    found = registry.get("metric", metric)
    return found if isinstance(found, Kind) else MeanMetricWrapper(found)


def loss_name(loss):
    """What logs call a loss."""
    return loss if isinstance(loss, str) else getattr(loss, "name", None) or getattr(loss, "__name__", "loss")


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

    def _build_entries(self, ys, y_pred):
        """(output, metric, what stands before its name in logs, whether it takes weights) of each."""
        model, entries = self.model, []
        names, ps = model._output_keys(y_pred), flatten(y_pred)
        n = len(ps)
        for key in ("metrics", "weighted_metrics"):
            given = model._compiled[key]
            for i, listed in enumerate([] if given is None else model._metric_lists(given, n, names, key, True)):
                for metric in listed:
                    if self.python and not is_python(metric):
                        continue
                    made = metric_object(metric, ys[i], ps[i])
                    before = f"{names[i]}_" if n > 1 and model._names_outputs(y_pred) else ""
                    entries.append((i, made, before, key == "weighted_metrics"))
        return entries

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.results, ps = None, flatten(y_pred)
        ys = self.model._targets_by_output(y_true, y_pred)
        if self.entries is None:
            self.entries = self._build_entries(ys, y_pred)
        ws = flatten(sample_weight)
        for i, metric, _, weighted in self.entries:
            w = ws[i if len(ws) == len(ps) else 0] if weighted else None
            metric.update_state(ys[i], ps[i], sample_weight=w)

    def reset_state(self):
        self.results = None
        compiled = self.model._compiled
        given = [m for key in ("metrics", "weighted_metrics") for m in flatten(compiled[key])]
        for metric in {id(m): m for m in [*self.metrics, *given] if isinstance(m, Metric)}.values():
            metric.reset_state()

    def result(self):
        if self.results is not None:
            return self.results
        found, counts = {}, {}
        for _, metric, before, weighted in self.entries or ():  # as Keras tells those of one name apart
            name = before + metric.name
            if weighted and name in counts:
                name = f"{before}weighted_{metric.name}"
            number = counts[name] = counts.get(name, -1) + 1
            found[f"{name}_{number}" if number else name] = metric.result()
        return found


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


def by_class(class_weight):
    """The library's list, of Keras's dict."""
    if not isinstance(class_weight, dict):
        raise ValueError(f"`class_weight`: expected a dict of class numbers, got {class_weight!r}")
    wrong = [c for c in class_weight if not isinstance(c, numbers.Integral)]
    if wrong:
        raise ValueError(f"`class_weight`: expected classes by number, got {wrong[0]!r}")
    return [float(class_weight.get(i, 1.0)) for i in range(max(class_weight, default=-1) + 1)]
