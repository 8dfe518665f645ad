"""Hashing and HashedCrossing."""

from ...backend.lazy import np
from ...data.structure import as_array, as_bytes
from ...export import keras_export
from ...tree import flatten
from ...utils import fingerprint
from ..layer import category
from .data_layer import DataLayer, encoded, need_choice, refuse_sparse

_KEY = 0xDECAFCAFFE  # where TensorFlow's crosses begin


@category.add
@keras_export("layers")
class Hashing(DataLayer):
    """Texts or integers as numbers of bins, by a hash: FarmHash, or with a `salt` SipHash."""

    def __init__(self, num_bins, mask_value=None, salt=None, output_mode="int", sparse=False, **kwargs):
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = "int64" if output_mode == "int" else "float32"
        super().__init__(**kwargs)
        if num_bins is None or num_bins <= 0:
            raise ValueError(
                f"The `num_bins` for `Hashing` cannot be `None` or non-positive values. Received: num_bins={num_bins}."
            )
        if output_mode == "int" and self.dtype not in ("int32", "int64"):
            raise ValueError(
                "When `output_mode=\"int\"`, `dtype` should be an integer type, 'int32' or 'in64'. Received: "
                f"dtype={kwargs['dtype']}"
            )
        modes = ("int", "one_hot", "multi_hot", "count")
        if output_mode not in modes:
            raise ValueError(
                f"Invalid value for argument `output_mode`. Expected one of {modes}. Received: "
                f"output_mode={output_mode}"
            )
        if sparse and output_mode == "int":
            raise ValueError(
                '`sparse` may only be true if `output_mode` is `"one_hot"`, `"multi_hot"`, or `"count"`. '
                f"Received: sparse={sparse} and output_mode={output_mode}"
            )
        refuse_sparse(self, sparse)
        if salt is not None and not isinstance(salt, int) and not (isinstance(salt, (tuple, list)) and len(salt) == 2):
            raise ValueError(
                "The `salt` argument for `Hashing` can only be a tuple of size 2 integers, or a single integer. "
                f"Received: salt={salt}."
            )
        self.num_bins, self.mask_value, self.output_mode, self.sparse = num_bins, mask_value, output_mode, False
        self.salt = None if salt is None else [salt, salt] if isinstance(salt, int) else list(salt)

    def _bin(self, value):
        bins = self.num_bins
        masked = self.mask_value is not None and bins > 1
        if masked:
            if value == as_bytes(self.mask_value):
                return 0
            bins -= 1
        text = value if isinstance(value, bytes) else str(int(value)).encode()
        hashed = fingerprint.fingerprint64(text) if self.salt is None else fingerprint.siphash(text, self.salt)
        return hashed % bins + masked

    def call(self, inputs):
        values = as_array(inputs)
        if self.output_mode == "one_hot" and values.ndim and values.shape[-1] == 1:
            values = values[..., 0]
        known = {v: self._bin(v) for v in set(values.ravel().tolist())}
        bins = np.array([known[v] for v in values.ravel().tolist()], "int64").reshape(values.shape)
        return encoded(bins, self.output_mode, self.num_bins, self.dtype)

    def compute_output_shape(self, input_shape):
        shape = tuple(input_shape)
        return shape if self.output_mode == "int" else (*shape[:-1], self.num_bins)

    def get_config(self):
        config = super().get_config()
        config.update(
            num_bins=self.num_bins,
            salt=self.salt,
            mask_value=self.mask_value,
            output_mode=self.output_mode,
            sparse=self.sparse,
        )
        return config


@category.add
@keras_export("layers")
class HashedCrossing(DataLayer):
    """Two or more categories as the number of a bin of their pair, by a hash."""

    def __init__(self, num_bins, output_mode="int", sparse=False, name=None, dtype=None, **kwargs):
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments passed to HashedCrossing: {kwargs}")
        super().__init__(name=name, dtype="int64" if output_mode == "int" and dtype is None else dtype)
        need_choice(self, "output_mode", output_mode, ("int", "one_hot"))
        refuse_sparse(self, sparse)
        self.num_bins, self.output_mode, self.sparse = num_bins, output_mode, False

    def _need(self, inputs):
        if not isinstance(inputs, (list, tuple)):
            raise ValueError(
                f"`HashedCrossing` should be called on a list or tuple of inputs. Received: inputs={inputs}"
            )
        if len(inputs) < 2:
            raise ValueError(f"`HashedCrossing` should be called on at least two inputs. Received: inputs={inputs}")
        first = tuple(inputs[0].shape)
        if len(first) > 2 or (len(first) == 2 and first[-1] != 1):
            raise ValueError(
                "All `HashedCrossing` inputs should have shape `()`, `(batch_size)` or `(batch_size, 1)`. "
                f"Received: inputs={inputs}"
            )
        if any(tuple(x.shape) != first for x in inputs[1:]):
            raise ValueError(f"All `HashedCrossing` inputs should have equal shape. Received: inputs={inputs}")

    def call(self, inputs):
        if isinstance(inputs, (list, tuple)):
            inputs = [as_array(x) for x in inputs]
        self._need(inputs)
        for x in inputs:
            if x.dtype.kind not in "iuO":
                raise ValueError(
                    f"All `HashedCrossing` inputs should have an integer or string dtype. Received: inputs={inputs}"
                )
        rows = zip(*(x.ravel().tolist() for x in inputs))
        bins = np.array([self._bin(row) for row in rows], "int64").reshape(inputs[0].shape)
        return encoded(bins, self.output_mode, self.num_bins, self.dtype)

    def _bin(self, values):
        hashed = _KEY
        for v in values:
            hashed = fingerprint.joined(
                hashed, fingerprint.fingerprint64(v) if isinstance(v, bytes) else int(v) % 2**64
            )
        return hashed % self.num_bins

    def compute_output_shape(self, input_shape):
        first = tuple(input_shape[0])
        if self.output_mode == "int":
            return first
        return (*(first[:-1] if first and first[-1] == 1 else first), self.num_bins)

    def _spec(self, inputs, *_, **__):
        self._need(inputs)
        return self.compute_output_shape([x.shape for x in flatten(inputs)]), self.dtype

    def get_config(self):
        return {
            "num_bins": self.num_bins,
            "output_mode": self.output_mode,
            "sparse": self.sparse,
            "name": self.name,
            "dtype": self.dtype,
        }
