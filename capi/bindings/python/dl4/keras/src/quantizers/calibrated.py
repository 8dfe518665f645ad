"""GPTQ and AWQ: kernels as whole numbers that are fitted to what a model's blocks compute for given texts."""

import math
import re

from .... import core
from ..backend import call_context
from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from ..registry import create
from ..symbolic.function import Function
from ..symbolic.tensor import Call, Input, is_tensor
from ..tree import flatten
from . import numbers

_COLUMNS = 128  # GPTQ corrects what is behind so many columns at once


def token_windows(tokenizer, length, dataset, count):
    """(count, 1, length) of the tokens of all texts, one behind the other, at even distances; short texts repeat.
    Keras begins at a place that each process draws; here it is the first."""
    if not hasattr(dataset, "__iter__") or isinstance(dataset, (str, bytes)):
        raise TypeError(
            "The `dataset` argument must be an iterable (e.g., a list of strings, a generator, or a NumPy array). "
            f"Got type: {type(dataset).__name__}. Please pass the loaded dataset directly."
        )
    texts = list(dataset)
    if not texts:
        raise ValueError("Provided dataset is empty.")
    if isinstance(texts[0], str):
        texts = [tokenizer.tokenize(text) for text in texts]
    tokens = np.concatenate([np.asarray(text).reshape(-1) for text in texts]).astype("int32")
    if tokens.size < count * length:
        tokens = np.tile(tokens, math.ceil(count * length / max(1, tokens.size)))
    places = tokens.size - length + 1
    starts = np.arange(count) * max(1, places // count) % places
    return np.stack([tokens[start : start + length] for start in starts])[:, None]


def kernel_of(layer, prefix=""):
    """Rows by columns, as Keras looks at a kernel; the rows have to be what the layer sums over."""
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
    return kernel.reshape(math.prod(kernel.shape[: len(summed)]), -1)


class GPTQ:
    """The mean of products of the inputs, by which errors of one row are made good in others."""

    def __init__(self, kernel, config):
        self.kernel, self.config, self.seen = kernel, config, 0
        size = len(kernel)
        if size > _COLUMNS and _COLUMNS % (size if config.group_size == -1 else config.group_size):
            raise ValueError(
                f"GPTQ: expected a group_size that {_COLUMNS} is a multiple of, for a kernel of {size} rows, got "
                f"{config.group_size}"
            )
        self.hessian = np.zeros((size, size), "float32")

    def see(self, x):
        x = np.asarray(x, "float32").reshape(-1, len(self.kernel))
        products, total = x.T @ x, np.float32(self.seen + len(x))
        self.hessian = self.hessian * (np.float32(self.seen) / total) + np.float32(2) / total * products
        self.seen += len(x)

    def _parameters(self, weights):
        how = self.config
        found = numbers.bounded_parameters(
            weights, how.weight_bits, how.symmetric, how.per_channel, how.group_size
        )
        return [np.asarray(v) for v in found]

    def values(self):
        """The weights of the quantized layer."""
        how, weights, hessian = self.config, self.kernel.T.copy(), self.hessian.copy()
        diagonal = np.diagonal(hessian).copy()
        diagonal[diagonal == 0] = 1
        np.fill_diagonal(hessian, diagonal + np.float32(how.hessian_damping) * diagonal.mean(dtype="float32"))
        inverse, size = np.linalg.inv(hessian), len(self.kernel)
        order = np.arange(size)
        if how.activation_order:
            order = np.argsort(-np.diagonal(hessian), kind="stable")
            weights, inverse = weights[:, order], inverse[order][:, order]
        group = size if how.group_size == -1 else how.group_size
        whole, found = np.zeros(weights.shape, "uint8"), {}
        for begin in range(0, size, _COLUMNS):
            end = min(begin + _COLUMNS, size)
            block, errors = weights[:, begin:end].copy(), np.zeros((len(weights), end - begin), "float32")
            for i in range(end - begin):
                at = (begin + i) // group
                if at not in found:
                    found[at] = self._parameters(weights[:, at * group : (at + 1) * group])
                scale, zero, most = found[at]
                column = np.asarray(numbers.quantize_with_zero_point(block[:, i : i + 1], scale, zero, most))
                whole[:, begin + i] = column[:, 0]
                back = np.asarray(numbers.dequantize_with_zero_point(column, scale, zero))[:, 0]
                errors[:, i] = (block[:, i] - back) / inverse[begin + i, begin + i]
                block[:, i + 1 :] -= np.outer(errors[:, i], inverse[begin + i, begin + i + 1 : end])
            weights[:, end:] -= errors @ inverse[begin:end, end:]
        places = np.argsort(order)
        return {
            "quantized_kernel": _packed(whole[:, places]) if how.weight_bits == 4 else whole[:, places],
            "kernel_scale": np.concatenate([found[at][0] for at in sorted(found)], 1),
            "zero_point": np.concatenate([found[at][1] for at in sorted(found)], 1),
            "g_idx": (np.arange(size) / group)[places].astype("float32"),
        }


class AWQ:
    """The largest inputs, by which rows of the kernel are spread before they are rounded."""

    def __init__(self, kernel, config):
        self.kernel, self.config, self.largest = kernel, config, np.zeros(len(kernel), "float32")

    def see(self, x):
        x = np.asarray(x, "float32").reshape(-1, len(self.kernel))
        self.largest = np.maximum(self.largest, np.abs(x).max(0))

    def _rounded(self, weights):
        """Whole numbers with their scales and zero points, and what they stand for."""
        size, group = weights.shape[1], self.config.group_size
        scale, zero, most = numbers.bounded_parameters(
            weights, bits=4, symmetric=False, per_channel=True, group_size=group
        )
        groups = np.arange(size) // group if group != -1 else np.zeros(size, "int32")
        whole = numbers.quantize_with_sz_map(weights, scale, zero, groups, most)
        back = np.asarray(numbers.dequantize_with_sz_map(whole, scale, zero, groups))
        return np.asarray(whole), np.asarray(scale), np.asarray(zero), groups, back

    def values(self):
        """The weights of the quantized layer, with the spread of least error."""
        weights, largest = self.kernel.T, np.where(self.largest < 1e-8, np.float32(1), self.largest)
        best = None
        for i in range(self.config.num_grid_points + 1):
            spread = np.maximum(largest ** np.float32(i / self.config.num_grid_points), np.float32(1e-4))
            spread = spread / np.maximum(np.sqrt(spread.max() * spread.min()), np.float32(1e-8))
            error = (weights - self._rounded(weights * spread)[-1] / spread) ** 2 * largest**2
            error = error.mean(dtype="float32")
            if best is None or error < best[0]:
                best = error, spread
        whole, scale, zero, groups, _ = self._rounded(weights * best[1])
        return {"quantized_kernel": _packed(whole.astype("uint8")), "kernel_scale": scale, "zero_point": zero,
                "awq_scales": best[1], "g_idx": groups.astype("float32")}


def _packed(whole):
    return np.asarray(numbers.pack_int4(whole, 0, "uint8")[0])


METHODS = {"gptq": GPTQ, "awq": AWQ}
_HEADED = ("MultiHeadAttention", "GroupQueryAttention")


def _heads_alone(call):
    """What an attention layer gives its last projection: of a twin whose last projection changes nothing."""
    layer = call.layer
    size = layer.num_heads * (layer.value_dim or layer.key_dim)
    config = {k: v for k, v in layer._config.items() if k not in ("name", "output_shape", "quantization")}
    twin = create("layer", layer._class_name, **config, output_shape=[size])
    given = Call(twin, call.inputs, call.plain, call.tensors).infer_outputs()
    twin._first_native_call, twin.built = given[0].call, True
    for name, (shape, _) in twin._weight_facts().items():
        own = np.zeros(shape, "float32") if name.endswith("bias") else np.eye(size, dtype="float32").reshape(shape)
        twin._weight(name).set_array(own if name.startswith("attention_output/") else layer._weight(name).numpy())
    return given[0]


class _Block:
    """A block as a function of an array, that also gives what its layers are called on."""

    def __init__(self, block, shape, dtype, meant, heads_are_meant):
        with call_context.apart(), call_context.traced(None):
            x = Input(batch_shape=shape, dtype=dtype)
            y = [t for t in flatten(block(x)) if is_tensor(t)][0]
            self.inputs = []  # (layer, prefix of its weights, tensor)
            for call in Function(x, y, alone=True).calls:
                kind, layer = getattr(call.layer, "_class_name", None), call.layer
                if kind in ("Dense", "EinsumDense") and not layer._is_operation and meant(layer):
                    self.inputs.append((layer, "", call.inputs[0]))
                elif kind in _HEADED and heads_are_meant(layer):
                    if kind != "MultiHeadAttention":
                        raise NotImplementedError(f"layer {layer.name}: GPTQ and AWQ do not support a {kind}")
                    query, value, *key = call.inputs
                    parts = {"query": query, "key": (key or [value])[0], "value": value,
                             "attention_output": _heads_alone(call)}
                    self.inputs += [(layer, f"{name}/", t) for name, t in parts.items()]
            self.function = Function(x, [y, *(t for _, _, t in self.inputs)], alone=True)

    def __call__(self, x):
        """What it gives, and what each layer was called on."""
        got = self.function.core.session().run([core.Tensor.of(x)])
        return [np.array(t.numpy()) for t in got]


def quantize_blocks(config, structure, meant, heads_are_meant, become):
    """One block after the other, each with what those before it give once they are quantized."""
    name = type(config).__name__
    if config.dataset is None or config.tokenizer is None:
        article = "a " if config.mode == "gptq" else ""
        raise ValueError(
            f"{config.mode.upper()} quantization requires a dataset and {article}tokenizer. Please provide them in the "
            + (f"`{name}`." if article else f"{name}.")
        )
    blocks = structure.get("sequential_blocks", [])
    if not blocks:
        raise ValueError("No sequential blocks found in the provided structure to quantize.")
    inputs = []
    for batch in token_windows(config.tokenizer, config.sequence_length, config.dataset, config.num_samples):
        for layer in structure.get("pre_block_layers", []):
            batch = layer(eager_tensor(batch))
        if getattr(batch, "_keras_mask", None) is not None:
            raise NotImplementedError(f"{name}: masks from pre_block_layers are not supported")
        batch = np.asarray(batch)
        inputs.append(batch[None] if batch.ndim == 2 else batch)
    for block in blocks:
        traced = _Block(block, inputs[0].shape, str(inputs[0].dtype), meant, heads_are_meant)
        places = [(layer, prefix) for layer, prefix, _ in traced.inputs]
        fitted = {place: METHODS[config.mode](kernel_of(*place), config) for place in dict.fromkeys(places)}
        for x in inputs:
            for place, given in zip(places, traced(x)[1:]):
                fitted[place].see(given)
        values = {}
        for (layer, prefix), one in fitted.items():
            values.setdefault(layer, {}).update({f"{prefix}{k}": v for k, v in one.values().items()})
        for layer, given in values.items():
            become(layer, given)
        if block is not blocks[-1]:
            given = [traced(x)[0][0] for x in inputs]  # of each batch the first row, as Keras takes it
            inputs = [y[None] if y.ndim == 2 else y for y in given]
