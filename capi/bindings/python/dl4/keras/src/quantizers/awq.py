"""AWQ: rows of a kernel are spread by the largest inputs before they are rounded."""

from ..backend.lazy import np
from . import numbers
from .fitting import Fit, packed
from .quantization_config import AWQConfig


def _rounded(weights, group):
    """Whole numbers with their scales and zero points, the groups of inputs, and what they stand for."""
    size = weights.shape[1]
    scale, zero, most = numbers.bounded_parameters(weights, bits=4, symmetric=False, per_channel=True, group_size=group)
    groups = np.arange(size) // group if group != -1 else np.zeros(size, "int32")
    whole = numbers.quantize_with_sz_map(weights, scale, zero, groups, most)
    back = np.asarray(numbers.dequantize_with_sz_map(whole, scale, zero, groups))
    return np.asarray(whole), np.asarray(scale), np.asarray(zero), groups, back


def awq_search_optimal_scales(weights, activation_magnitudes, *, num_grid_points=20, group_size=-1):
    """For weights (outputs, inputs) the spread of inputs with the least error, of powers of the magnitudes."""
    weights, largest = np.asarray(weights), np.asarray(activation_magnitudes, "float32")
    largest, best = np.where(largest < 1e-8, np.float32(1), largest), None
    for i in range(num_grid_points + 1):
        spread = np.maximum(largest ** np.float32(i / num_grid_points), np.float32(1e-4))
        spread = spread / np.maximum(np.sqrt(spread.max() * spread.min()), np.float32(1e-8))
        error = (weights - _rounded(weights * spread, group_size)[-1] / spread) ** 2 * largest**2
        error = error.mean(dtype="float32")
        if best is None or error < best[0]:
            best = error, spread
    return best[1]


def awq_quantize_matrix(weights_transpose, activation_magnitudes, *, num_grid_points=20, group_size=-1):
    """Of (outputs, inputs): whole numbers, scales, zero points, the spread, and the group of each input."""
    weights = np.asarray(weights_transpose)
    spread = awq_search_optimal_scales(
        weights, activation_magnitudes, num_grid_points=num_grid_points, group_size=group_size
    )
    whole, scale, zero, groups, _ = _rounded(weights * spread, group_size)
    return whole, scale, zero, spread, groups.astype("float32")


class AWQ(Fit):
    """The largest inputs, by which rows of the kernel are spread before they are rounded."""

    def __init__(self, layer, config=None, prefix=""):
        super().__init__(layer, AWQConfig(None, None) if config is None else config, prefix)
        self.activation_magnitudes = np.zeros(self.rows, "float32")

    def update_activation_magnitudes(self, input_batch):
        """Sees a batch."""
        x = self._rows_of(input_batch)
        self.activation_magnitudes = np.maximum(self.activation_magnitudes, np.abs(x).max(0))
        self.num_samples += len(x)

    see = update_activation_magnitudes

    def values(self):
        """The weights of the quantized layer."""
        whole, scale, zero, spread, groups = awq_quantize_matrix(
            self.kernel.T, self.activation_magnitudes, num_grid_points=self.config.num_grid_points,
            group_size=self.config.group_size,
        )
        return {"quantized_kernel": packed(whole.astype("uint8")), "kernel_scale": scale, "zero_point": zero,
                "awq_scales": spread, "g_idx": groups}

    def quantize_layer(self):
        """The layer is one of whole numbers."""
        self._settle()

    def free(self):
        super().free()
        del self.activation_magnitudes
