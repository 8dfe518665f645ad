"""What GPTQ and AWQ have in common: a layer's kernel as a matrix, and what becomes of the layer."""

import math
import re

from ..backend.lazy import np
from . import numbers

KINDS = ("Dense", "EinsumDense")


def kernel_of(layer, prefix="", mode=""):
    """Rows by columns, as Keras looks at a kernel: of three axes the first is rows, or two where another is largest."""
    kernel = layer._weight(f"{prefix}kernel").numpy()
    if kernel.ndim not in (2, 3):
        raise ValueError(f"{mode.upper()} quantization only supports 2D or 3D kernels.")
    two = kernel.ndim == 3 and (prefix == "attention_output/" or kernel.shape[0] != max(kernel.shape))
    return kernel.reshape(math.prod(kernel.shape[: 1 + two]), -1)


def need_rows(layer, prefix=""):
    """Refuses a kernel whose rows are not what the layer sums over: by what it is called on they can't be fitted."""
    kernel, summed = layer._weight(f"{prefix}kernel").numpy(), (0,)
    if layer._class_name == "EinsumDense":
        letters, outputs = re.fullmatch(r".*,(.*)->(.*)", layer.equation).groups()
        summed = tuple(i for i, letter in enumerate(letters) if letter not in outputs)
    elif prefix == "attention_output/":
        summed = (0, 1)
    first = kernel.ndim == 2 or kernel.shape[0] == max(kernel.shape)
    if kernel.ndim not in (2, 3) or summed != ((0,) if first else (0, 1)):
        raise NotImplementedError(
            f"layer {layer.name}: expected a kernel of two axes or three whose first is summed over, or the first two "
            f"of three where another is the largest, got {kernel.shape} with the axes {summed} summed over"
        )


def packed(whole):
    return np.asarray(numbers.pack_int4(whole, 0, "uint8")[0])


class Fit:
    """A layer, the matrix of its kernel, and what was seen of its inputs."""

    def __init__(self, layer, config, prefix=""):
        if not prefix and getattr(layer, "_class_name", None) not in KINDS:
            raise TypeError(f"Unsupported layer type for {type(self).__name__}: {type(layer)}")
        self.original_layer = self.layer = layer
        self.config, self.num_samples, self.kernel = config, 0, kernel_of(layer, prefix, config.mode)
        self.rows, self.columns = self.kernel.shape

    def _rows_of(self, input_batch):
        """Inputs as rows of float32."""
        if input_batch is None:
            raise ValueError("Input tensor cannot be None.")
        x = np.asarray(input_batch, "float32")
        if x.ndim < 2:
            raise ValueError(f"Input tensor must have rank >= 2 (got rank {x.ndim}).")
        if not x.size:
            raise ValueError("Input tensor cannot be empty.")
        return x.reshape(-1, x.shape[-1])

    def _settle(self, *how):
        """The layer has what was found for it, and no kernel of floats any more."""
        if self.original_layer._waiting is None:
            raise ValueError(
                f"layer {self.original_layer.name}: expected quantize({self.config.mode!r}, config) before it is fitted"
            )
        settle(self.original_layer, self.values(*how))

    def free(self):
        """Forgets the layer and what was seen."""
        del self.layer, self.kernel


# ---- a layer that is told of its quantization and not fitted yet


class Waiting:
    """The variables that stand beside a kernel of floats until the layer is fitted."""

    def __init__(self, layer, config):
        self.how = {"mode": config.dtype_policy_string(), "inputs": None}
        (rows, columns), size = kernel_of(layer, mode=config.mode).shape, config.group_size
        stored = (columns + 1) // 2 if config.weight_bits == 4 else columns
        scales = (columns, 1 if size == -1 else math.ceil(rows / size))
        zero = "kernel_zero" if layer._class_name == "Dense" else "zero_point"
        facts = {
            "quantized_kernel": ("kernel", (stored, rows), "uint8", "zeros"),
            "kernel_scale": ("kernel_scale", scales, "float32", "ones"),
            "kernel_zero": (zero, scales, "uint8", "zeros"),
            "awq_scales": ("awq_scales", (rows,), "float32", "ones"),
            "g_idx": ("g_idx", (rows,), "float32", "zeros"),
        }
        if config.mode != "awq":
            del facts["awq_scales"]
        self.variables = {
            key: layer.add_weight(shape=shape, dtype=dtype, initializer=first, trainable=False, name=name)
            for key, (name, shape, dtype, first) in facts.items()
        }


def need_no_lora(layer, mode):
    if layer._has_lora():
        raise NotImplementedError(f"lora is not currently supported with {mode.upper()} quantization.")


def begin(layer, config):
    """Of a layer alone quantize() makes the variables; its kernel computes until it is fitted."""
    if layer._class_name not in KINDS:
        raise NotImplementedError(
            f"Invalid quantization mode. Expected one of ('int8', 'int4'). Received: quantization_mode={config.mode}"
        )
    need_no_lora(layer, config.mode)
    layer._waiting = Waiting(layer, config)


def settle(layer, values=None):
    """A layer that waits becomes one of whole numbers: those that were found, or those of its variables."""
    waiting = layer._waiting
    if values is None:
        values = {key: v.numpy() for key, v in waiting.variables.items()}
        values["zero_point"] = values.pop("kernel_zero")
    layer._waiting = None
    for variable in waiting.variables.values():
        layer._untrack_variable(variable)
    become(layer, waiting.how, values)


def become(layer, how, values):
    """The layer with these whole numbers for its kernels, and its biases as they are."""
    biases = {name: layer._weight(name).numpy() for name in layer._weight_facts() if name.endswith("bias")}
    layer._become({"quantization": how}, {**biases, **values})
    layer._fitted = True


def need_fitted(layer, who):
    """Refuses a layer that waits: a file would have no numbers of it."""
    if layer.__dict__.get("_waiting") is not None:
        mode = layer.quantization_mode
        raise NotImplementedError(
            f"{who}: layer {layer.name} was told of {mode.upper()} by quantize() and is not calibrated: "
            f"is_{mode}_calibrated is False"
        )
