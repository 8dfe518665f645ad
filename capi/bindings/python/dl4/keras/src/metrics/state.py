"""What the library's metrics have added up, as variables that can be read: metric.variables."""

_BY_THRESHOLDS = ("true_positives", "false_positives", "true_negatives", "false_negatives")
_NAMES = {
    "Sum": ("total",),
    "Precision": ("true_positives", "false_positives"),
    "Recall": ("true_positives", "false_negatives"),
    **dict.fromkeys(("TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives"), ("accumulator",)),
    **dict.fromkeys(
        ("AUC", "SensitivityAtSpecificity", "SpecificityAtSensitivity", "PrecisionAtRecall", "RecallAtPrecision"),
        _BY_THRESHOLDS,
    ),
}
_OTHERS = ("MeanIoU", "IoU", "OneHotIoU", "OneHotMeanIoU", "BinaryIoU", "F1Score", "FBetaScore", "R2Score")
_OTHERS += ("PearsonCorrelation", "ConcordanceCorrelation", "Functional")


def names(kind):
    """Of the variables of a kind of metrics; of a mean its sum and how many there are."""
    return () if kind in _OTHERS else _NAMES.get(kind, ("total", "count"))


def result(kind, who, values):
    """What a kind of metrics gives, of the values of its variables."""
    import numpy

    known = names(kind)
    if known in (("total",), ("accumulator",)):
        value = values[0]
    elif known == ("total", "count") or kind in ("Precision", "Recall"):
        whole = values[1] if known[1] == "count" else values[0] + values[1]
        value = numpy.divide(values[0], whole, out=numpy.zeros_like(values[0], "float32"), where=whole != 0)
        value = numpy.sqrt(value) if kind == "RootMeanSquaredError" else value
    else:
        raise NotImplementedError(
            f"{who}.stateless_result() is not supported: it cannot be computed from the "
            "variables"
        )
    return numpy.asarray(value[0] if numpy.shape(value) == (1,) else value, "float32")


class MetricVariable:
    """A number or numbers that a metric has added up; they can't be set."""

    trainable = False

    def __init__(self, metric, name):
        self.name, self._metric = name, metric

    @property
    def path(self):
        return f"{self._metric.name}/{self.name}"

    def numpy(self):
        import numpy

        metric, batches = self._metric, self._metric._batches
        if self.name == "count":
            return numpy.float32(sum(_weight(b, metric._class_name) for b in batches))
        if self.name == "total":
            value = numpy.asarray(metric.result(), "float32")
            count = 1 if metric._class_name == "Sum" else sum(_weight(b, metric._class_name) for b in batches)
            return numpy.float32(_unrooted(value, metric._class_name) * count)
        if self.name == "accumulator":
            return numpy.asarray(metric.result()).reshape(-1)
        return self._counted()

    def _counted(self):
        """Weights of the predictions that are so, for each threshold; of many labels for each of these too."""
        import numpy

        metric = self._metric
        config = metric._plain()
        alone, top_k, many = config.get("class_id"), config.get("top_k"), config.get("multi_label")
        limits = config.get("thresholds") or (0.5 if top_k is None else -1e10)
        limits = metric.thresholds if metric._class_name not in ("Precision", "Recall") else limits
        limits = numpy.reshape(numpy.asarray(limits, "float32"), (-1, 1, 1))
        if not metric._batches:
            return numpy.zeros((limits.size, int(config.get("num_labels") or 1)) if many else limits.size, "float32")
        y, p, w = metric._joined_batches()
        y, p = (numpy.reshape(v, (len(v), -1)) for v in (y, p))
        w = numpy.ones(p.shape, "float32") if w is None else numpy.broadcast_to(numpy.reshape(w, (len(w), -1)), p.shape)
        if top_k is not None:
            least = -numpy.sort(-p, -1)[:, int(top_k) - 1 : int(top_k)]
            p = numpy.where(p >= least, p, numpy.float32(-1e10))
        if alone is not None:
            y, p, w = (v[:, int(alone)][:, None] for v in (y, p, w))
        found, right = p[None] > limits, numpy.asarray(y, bool)[None]
        found = found if self.name.endswith("positives") else ~found
        right = right if self.name in ("true_positives", "false_negatives") else ~right
        return numpy.sum(w[None] * (found & right), axis=1 if many else (1, 2), dtype="float32")

    value = property(numpy)

    @property
    def shape(self):
        return self.numpy().shape

    dtype = "float32"

    def __array__(self, dtype=None, copy=None):
        import numpy

        return numpy.asarray(self.numpy(), dtype)

    def assign(self, value):
        raise NotImplementedError(f"{self.path}: expected no assignment of {value!r}: the library adds it up")

    def __repr__(self):
        return f"<Variable path={self.path}, shape={self.shape}, dtype={self.dtype}>"


def _weight(batch, kind):
    """How much a batch counts."""
    import numpy

    y, p, w = batch
    shape = numpy.shape(p if p is not None else y)
    shape = shape if kind == "Mean" else shape[:-1]
    if w is None:
        return float(numpy.prod(shape, dtype="float64"))
    w = numpy.reshape(w, numpy.shape(w) + (1,) * (len(shape) - numpy.ndim(w)))
    return float(numpy.broadcast_to(w, numpy.broadcast_shapes(w.shape, shape)).sum())


def _unrooted(value, kind):
    return value * value if kind == "RootMeanSquaredError" else value
