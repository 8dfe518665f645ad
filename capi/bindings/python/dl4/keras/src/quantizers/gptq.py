"""GPTQ: a kernel is rounded row after row, and the error of each is made good in those behind it."""

from ..backend.lazy import np
from . import numbers
from .fitting import Fit, packed
from .quantization_config import GPTQConfig

_COLUMNS = 128  # what is behind so many columns is corrected at once


def _stable_permutation(metric):
    """Places by descending metric; equal ones stay in their order."""
    return np.argsort(-np.asarray(metric), kind="stable")


def gptq_quantize_matrix(
    weights_transpose,
    inv_hessian,
    *,
    blocksize=_COLUMNS,
    group_size=-1,
    activation_order=False,
    order_metric=None,
    compute_scale_zero=numbers.compute_quantization_parameters,
):
    """Of (outputs, inputs): whole numbers, scales and zero points by group of inputs, and the group of each input."""
    weights, inverse = np.array(weights_transpose, "float32"), np.asarray(inv_hessian)
    size = weights.shape[1]
    order = np.arange(size)
    if activation_order:
        metric = 1 / (np.diagonal(inverse) + 1e-12) if order_metric is None else np.asarray(order_metric, "float32")
        order = _stable_permutation(np.where(np.isfinite(metric), metric, 0))
        weights, inverse = weights[:, order], inverse[order][:, order]
    group = size if group_size == -1 else group_size
    whole, found = np.zeros(weights.shape, "int32"), {}
    for begin in range(0, size, blocksize):
        end = min(begin + blocksize, size)
        block, errors = weights[:, begin:end].copy(), np.zeros((len(weights), end - begin), "float32")
        for i in range(end - begin):
            at = (begin + i) // group
            if at not in found:
                found[at] = [np.asarray(v) for v in compute_scale_zero(weights[:, at * group : (at + 1) * group])]
            scale, zero, most = found[at]
            column = np.asarray(numbers.quantize_with_zero_point(block[:, i : i + 1], scale, zero, most))
            whole[:, begin + i] = column[:, 0]
            back = np.asarray(numbers.dequantize_with_zero_point(column, scale, zero))[:, 0]
            errors[:, i] = (block[:, i] - back) / inverse[begin + i, begin + i]
            block[:, i + 1 :] -= np.outer(errors[:, i], inverse[begin + i, begin + i + 1 : end])
        weights[:, end:] -= errors @ inverse[begin:end, end:]
    places = np.argsort(order)
    scale, zero = (np.concatenate([found[at][i] for at in sorted(found)], 1) for i in range(2))
    return whole[:, places], scale, zero, (np.arange(size) / group)[places].astype("float32")


class GPTQ(Fit):
    """The mean of products of the inputs, by which errors of one row are made good in others."""

    def __init__(self, layer, config=None, prefix=""):
        super().__init__(layer, GPTQConfig(None, None) if config is None else config, prefix)
        self.hessian = np.zeros((self.rows, self.rows), "float32")

    def update_hessian_with_batch(self, input_batch):
        """Adds a batch to the mean."""
        x = self._rows_of(input_batch)
        if x.shape[1] != self.rows:
            raise ValueError(f"Hessian dimensions ({self.rows}) do not match input features ({x.shape[1]}).")
        products, total = x.T @ x, np.float32(self.num_samples + len(x))
        self.hessian = self.hessian * (np.float32(self.num_samples) / total) + np.float32(2) / total * products
        self.num_samples += len(x)

    see = update_hessian_with_batch

    def values(self, blocksize=_COLUMNS):
        """The weights of the quantized layer."""
        how, hessian, size = self.config, np.array(self.hessian, "float32"), self.rows
        if size > blocksize and blocksize % (size if how.group_size == -1 else how.group_size):
            raise ValueError(
                f"GPTQ: expected a group_size that {blocksize} is a multiple of, for a kernel of {size} rows, got "
                f"{how.group_size}"
            )
        diagonal = np.diagonal(hessian).copy()
        diagonal[diagonal == 0] = 1
        np.fill_diagonal(hessian, diagonal + np.float32(how.hessian_damping) * diagonal.mean(dtype="float32"))
        whole, scale, zero, groups = gptq_quantize_matrix(
            self.kernel.T, np.linalg.inv(hessian), blocksize=blocksize, group_size=how.group_size,
            activation_order=how.activation_order, order_metric=np.diagonal(hessian),
            compute_scale_zero=lambda weights: numbers.bounded_parameters(
                weights, how.weight_bits, how.symmetric, how.per_channel, how.group_size
            ),
        )
        whole = whole.astype("uint8")
        return {"quantized_kernel": packed(whole) if how.weight_bits == 4 else whole, "kernel_scale": scale,
                "zero_point": zero, "g_idx": groups}

    def quantize_and_correct_layer(self, blocksize=_COLUMNS):
        """The layer is one of whole numbers."""
        self._settle(blocksize)

    def free(self):
        super().free()
        del self.hessian
