"""CategoryEncoding and Discretization: in models they are made of the library's operations."""

from ... import ops
from ...backend.lazy import np
from ...export import keras_export
from ...symbolic.tensor import is_tensor
from ..layer import category, Layer
from .data_layer import batches_of, DataLayer, encoded, need_choice, refuse_sparse


class TracedDataLayer(DataLayer):
    """A layer of data whose call() can be traced as well."""

    def __call__(self, *args, **kwargs):
        if any(is_tensor(x) for x in (*args, *kwargs.values())):
            return Layer.__call__(self, *args, **kwargs)
        return super().__call__(*args, **kwargs)


def encoded_symbols(indices, mode, depth, dtype, count_weights=None):
    """As encoded(), of symbolic indices."""
    if mode == "int":
        return ops.cast(indices, dtype)
    rank = len(indices.shape)
    if mode == "one_hot":
        squeezed = ops.squeeze(indices, -1) if rank > 1 and indices.shape[-1] == 1 else indices
        return ops.cast(ops.one_hot(squeezed, depth), dtype)
    hot = ops.one_hot(indices, depth)
    axis = 1 if rank > 1 else 0
    if mode == "multi_hot":
        return ops.cast(ops.max(hot, axis=axis), dtype)
    if count_weights is not None:
        hot = hot * ops.expand_dims(ops.cast(count_weights, "float32"), -1)
    return ops.cast(ops.sum(hot, axis=axis), dtype)


@category.add
@keras_export("layers")
class CategoryEncoding(TracedDataLayer):
    """Integers as vectors of `num_tokens` numbers: one_hot, multi_hot or count."""

    def __init__(self, num_tokens=None, output_mode="multi_hot", sparse=False, **kwargs):
        super().__init__(**kwargs)
        output_mode = "multi_hot" if output_mode == "binary" else output_mode
        if output_mode not in ("count", "one_hot", "multi_hot"):
            raise ValueError(f"Unknown arg for output_mode: {output_mode}")
        if num_tokens is None:
            raise ValueError(
                "num_tokens must be set to use this layer. If the number of tokens is not known beforehand, use the "
                "IntegerLookup layer instead."
            )
        if num_tokens < 1:
            raise ValueError(f"`num_tokens` must be >= 1. Received: num_tokens={num_tokens}.")
        refuse_sparse(self, sparse)
        self.num_tokens, self.output_mode, self.sparse = num_tokens, output_mode, False

    def call(self, inputs, count_weights=None):
        if count_weights is not None and self.output_mode != "count":
            raise ValueError(
                "`count_weights` is not used when `output_mode` is not `'count'`. "
                f"Received `count_weights={count_weights}`."
            )
        if is_tensor(inputs):
            return encoded_symbols(inputs, self.output_mode, self.num_tokens, self.dtype, count_weights)
        indices = np.asarray(inputs)
        if indices.dtype.kind == "f":
            indices = indices.astype("int64")
        return encoded(indices, self.output_mode, self.num_tokens, self.dtype, count_weights)

    def compute_output_shape(self, input_shape):
        shape = tuple(input_shape)
        if not shape:
            return (self.num_tokens,)
        if self.output_mode == "one_hot":
            whole = shape[-1] != 1 or len(shape) == 1
            return (*(shape if whole else shape[:-1]), self.num_tokens)
        return (*shape[:-1], self.num_tokens) if len(shape) < 3 else (shape[0], *shape[2:], self.num_tokens)

    def get_config(self):
        return {**super().get_config(), "num_tokens": self.num_tokens, "output_mode": self.output_mode}


@category.add
@keras_export("layers")
class Discretization(TracedDataLayer):
    """Numbers as the numbers of the bins they are in; the bins' boundaries are given, or learned by adapt()."""

    def __init__(
        self,
        bin_boundaries=None,
        num_bins=None,
        epsilon=0.01,
        output_mode="int",
        sparse=False,
        dtype=None,
        name=None,
    ):
        super().__init__(name=name, dtype=dtype)
        if sparse and output_mode == "int":
            raise ValueError(
                "`sparse=True` may only be used if `output_mode` is `'one_hot'`, `'multi_hot'`, or `'count'`. "
                f"Received: sparse={sparse} and output_mode={output_mode}"
            )
        refuse_sparse(self, sparse)
        need_choice(self, "output_mode", output_mode, ("int", "one_hot", "multi_hot", "count"))
        if num_bins is not None and num_bins < 0:
            raise ValueError(f"`num_bins` must be greater than or equal to 0. Received: `num_bins={num_bins}`")
        if num_bins is not None and bin_boundaries is not None:
            raise ValueError(
                f"Both `num_bins` and `bin_boundaries` should not be set. Received: `num_bins={num_bins}` and "
                f"`bin_boundaries={bin_boundaries}`"
            )
        if num_bins is None and bin_boundaries is None:
            raise ValueError("You need to set either `num_bins` or `bin_boundaries`.")
        self.bin_boundaries = None if bin_boundaries is None else np.asarray(bin_boundaries).tolist()
        self.num_bins, self.epsilon, self.output_mode, self.sparse = num_bins, epsilon, output_mode, False
        self.reset_state()

    def adapt(self, data, steps=None):
        """Learns boundaries between which are as many numbers each."""
        if self.num_bins is None:
            raise ValueError(
                "Cannot adapt a Discretization layer that has been initialized with `bin_boundaries`, use `num_bins` "
                "instead."
            )
        self.reset_state()
        for batch, _ in batches_of(data, steps, lists=False):
            self.update_state(batch)
        self.finalize_state()

    def update_state(self, data):
        """Takes numbers into account for the limits of the bins."""
        values = np.sort(np.asarray(data).astype("float32").reshape(-1))
        step = max(values.size * self.epsilon, 1)
        edges = values[int(step - 1) :: int(step)]
        mine = np.stack([edges, np.full_like(edges, step)])
        joined = np.concatenate((mine, self.summary), axis=1)
        self.summary = _compressed(joined[:, np.argsort(joined[0])], self.epsilon)

    def finalize_state(self):
        """Computes the limits of the bins."""
        if self.num_bins is not None:
            self.bin_boundaries = _compressed(self.summary, 1.0 / self.num_bins)[0, :-1].tolist()

    def reset_state(self):
        """Forgets what adapt() saw."""
        self.summary = np.array([[], []], dtype="float32")

    def _output_dtype(self):
        return self.dtype if self.output_mode != "int" else "int32"

    def call(self, inputs):
        if self.bin_boundaries is None:
            raise ValueError(
                "You need to either pass the `bin_boundaries` argument at construction time or call `adapt(dataset)` "
                "before you can start using the `Discretization` layer."
            )
        depth = len(self.bin_boundaries) + 1
        if not is_tensor(inputs):
            edges = np.asarray(self.bin_boundaries, "float32")
            indices = np.digitize(np.asarray(inputs).astype("float32"), edges)
            return encoded(indices, self.output_mode, depth, self._output_dtype())
        edges = np.asarray(self.bin_boundaries, "float32")
        above = ops.cast(ops.greater_equal(ops.expand_dims(ops.cast(inputs, "float32"), -1), edges), "float32")
        indices = ops.cast(ops.sum(above, axis=-1), "int32")
        return encoded_symbols(indices, self.output_mode, depth, self._output_dtype())

    def compute_output_shape(self, input_shape):
        shape = tuple(input_shape)
        if self.output_mode == "int":
            return shape
        depth = self.num_bins if self.bin_boundaries is None else len(self.bin_boundaries) + 1
        if self.output_mode == "one_hot":
            return (*(shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape), depth)
        return (shape[0], *shape[2:], depth) if len(shape) >= 2 else (depth,)

    def get_config(self):
        return {
            "bin_boundaries": self.bin_boundaries,
            "num_bins": self.num_bins,
            "epsilon": self.epsilon,
            "output_mode": self.output_mode,
            "sparse": self.sparse,
            "name": self.name,
            "dtype": self.dtype,
        }

    @classmethod
    def from_config(cls, config, **_):
        if config.get("bin_boundaries") is None or config.get("num_bins") is None:
            return cls(**config)
        layer = cls(**{k: v for k, v in config.items() if k != "bin_boundaries"})
        layer.bin_boundaries = config["bin_boundaries"]
        return layer


def _compressed(summary, epsilon):
    """Edges with the numbers below each, made fewer."""
    if summary.shape[1] * epsilon < 1:
        return summary
    percents = epsilon + np.arange(0.0, 1.0, epsilon)
    sums = summary[1].cumsum()
    shares = sums / sums[-1]
    edges = np.interp(percents, shares, summary[0])
    sums = np.interp(percents, shares, sums)
    return np.stack((edges, sums - np.concatenate(([0], sums[:-1])))).astype("float32")
