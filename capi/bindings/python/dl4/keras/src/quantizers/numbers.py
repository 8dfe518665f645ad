"""Arrays as whole numbers of fewer bits, and back."""

import math

from .. import ops
from ..backend.lazy import np
from ..on_arrays.arguments import array, cast
from ..ops.dispatch import is_symbolic


def _need_arrays(name, *given):
    if is_symbolic(given):
        raise NotImplementedError(f"{name}: of arrays alone in this version, got symbolic tensors")
    return [array(x) for x in given]


def abs_max_quantize(inputs, axis, value_range=(-127, 127), dtype="int8", epsilon=1e-7, to_numpy=False):
    """Whole numbers by the largest magnitude along an axis, and their scale: `inputs` times the scale, rounded."""
    (x,) = _need_arrays("abs_max_quantize", inputs)
    axis = tuple(axis) if isinstance(axis, list) else axis
    largest = np.max(np.abs(x), axis=axis, keepdims=True)
    epsilon = x.dtype.type(epsilon) if x.dtype.kind == "f" else epsilon
    scale = np.divide(value_range[1], np.add(largest, epsilon))
    scale = scale if to_numpy else scale.astype(x.dtype)  # of integers NumPy's are floats until they are given
    limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    if limits is not None and not limits.min <= value_range[0] <= value_range[1] <= limits.max:
        raise ValueError(f"abs_max_quantize: expected a value_range of numbers of {dtype}, got {value_range}")
    whole = np.clip(np.round(np.multiply(x, scale)), *value_range).astype(dtype)
    return ops.convert_to_tensor(whole), ops.convert_to_tensor(scale.astype(x.dtype))


def abs_max_quantize_grouped_with_zero_point(
    inputs, block_size, value_range=(-8, 7), dtype="int8", epsilon=1e-7, to_numpy=False
):
    """By blocks of rows of a matrix: whole numbers, scales and zero points, (blocks, columns) each. Keras's two ways
    differ where a block has one number alone."""
    (x,) = _need_arrays("abs_max_quantize_grouped_with_zero_point", inputs)
    rows, columns = x.shape
    groups, (low, high) = math.ceil(rows / block_size), value_range
    blocks = np.zeros((groups * block_size, columns), x.dtype)
    blocks[:rows] = x
    blocks = blocks.reshape(groups, block_size, columns)
    if to_numpy:
        least, most = blocks.min(axis=1, keepdims=True), blocks.max(axis=1, keepdims=True)
        scale = np.divide(np.subtract(most, least) + x.dtype.type(epsilon), x.dtype.type(high - low))
        zero = np.clip(np.round(np.divide(-least, scale)) + low, low, high)
    else:
        bits = int(math.log2(high - low + 1))
        scale, zero, _ = compute_quantization_parameters(
            x.T, bits=bits, per_channel=True, group_size=block_size, compute_dtype=str(x.dtype), epsilon=epsilon,
            signed=True,
        )
        scale, zero = (np.asarray(v).T[:, None] for v in (scale, zero))
    whole = np.clip(np.round(np.divide(blocks, scale)) + zero, low, high).astype(dtype)
    found = whole.reshape(-1, columns)[:rows], scale[:, 0], zero[:, 0].astype("int8")
    return tuple(ops.convert_to_tensor(v) for v in found)


def _need_bytes(dtype):
    if dtype not in ("int8", "uint8"):
        raise ValueError(f"Expected dtype to be 'int8' or 'uint8', but got '{dtype}'.")


def pack_int4(arr, axis=0, dtype="int8"):
    """Two numbers of 4 bits in a byte, the first in its lower half: (packed, its shape, the length of the axis)."""
    _need_bytes(dtype)
    (x,) = _need_arrays("pack_int4", arr)
    if x.dtype != dtype:
        raise TypeError(f"Expected {dtype} tensor for packing, got {x.dtype}.")
    x = np.moveaxis(x, axis, 0)
    length = x.shape[0]
    if length % 2:
        x = np.concatenate([x, np.zeros_like(x[:1])])
    bits = x.view("uint8") & 15
    packed = np.moveaxis((bits[::2] | bits[1::2] << 4).view(dtype), 0, axis)
    return ops.convert_to_tensor(packed), packed.shape, length


def unpack_int4(packed, orig_len, axis=0, dtype="int8"):
    """The numbers of 4 bits that pack_int4() put together."""
    _need_bytes(dtype)
    (x,) = _need_arrays("unpack_int4", packed)
    if x.dtype not in ("int8", "uint8"):
        raise TypeError(f"Expected int8 or uint8 tensor for unpacking, got {x.dtype}")
    bits = np.moveaxis(np.ascontiguousarray(x), axis, 0).view("uint8") if x.ndim else x
    both = np.stack([bits & 15, bits >> 4], axis=1).reshape((-1,) + bits.shape[1:])[:orig_len]
    if dtype == "int8":
        both = ((both ^ 8).astype("int8") - 8).astype("int8")
    return ops.convert_to_tensor(np.moveaxis(both, 0, axis))


def _parameters(x, bits, symmetric, per_channel, group_size, compute_dtype="float32", epsilon=0.0, signed=False):
    """compute_quantization_parameters() with zero points as floats, unsigned ones in no bounds."""
    if x is None:
        raise ValueError(f"Input tensor {x} cannot be None.")
    (x,) = _need_arrays("compute_quantization_parameters", x)
    if x.ndim < 2:
        raise ValueError(f"Input weight tensor {x} must have a rank of at least 2, but got rank {x.ndim}.")
    if not x.size:
        raise ValueError("Input tensor 'x' cannot be empty.")
    outputs, inputs = x.shape[:2]
    groups = -(-inputs // group_size) if per_channel and group_size > 0 else 1
    if groups > 1:
        rows = np.pad(x, [(0, 0), (0, groups * group_size - inputs)]).reshape(outputs, groups, group_size)
    else:
        rows = x.reshape(outputs if per_channel else 1, 1, -1)
    least, most = rows.min(axis=2), rows.max(axis=2)
    if symmetric:
        largest = np.maximum(np.abs(least), most)
        least, most = np.where(least < 0, -largest, least), largest
    flat = least == most
    least, most = np.where(flat, least - 1, least), np.where(flat, most + 1, most)
    top = cast(2**bits - 1, compute_dtype)
    span = most - least
    scale = (span + x.dtype.type(epsilon) if epsilon > 0 else span) / top
    scale = np.where(scale <= 0, x.dtype.type(1e-8), scale)
    low = -(2 ** (bits - 1)) if signed else 0
    zero = np.full_like(scale, 2 ** (bits - 1) + low) if symmetric else np.round(-least / scale) + low
    zero = np.clip(zero, low, low + 2**bits - 1) if signed else zero
    scale, zero = (np.broadcast_to(v, (outputs, groups)) for v in (scale, zero))
    return ops.convert_to_tensor(scale.copy()), zero, ops.convert_to_tensor(top)


def compute_quantization_parameters(
    x,
    *,
    bits,
    symmetric=False,
    per_channel=False,
    group_size=-1,
    compute_dtype="float32",
    epsilon=0.0,
    signed=False,
):
    """Of weights (outputs, inputs): scales and zero points by output and group of inputs, and the largest number."""
    scale, zero, top = _parameters(x, bits, symmetric, per_channel, group_size, compute_dtype, epsilon, signed)
    return scale, ops.convert_to_tensor(zero.astype("int64").astype("int8" if signed else "uint8")), top


def bounded_parameters(x, bits, symmetric, per_channel, group_size):
    """The same, unsigned, with zero points of at least 0: below, Keras's are what a processor makes of such bytes."""
    scale, zero, top = _parameters(x, bits, symmetric, per_channel, group_size)
    return scale, ops.convert_to_tensor(np.clip(zero, 0, 255).astype("uint8")), top


def quantize_with_zero_point(input_tensor, scale, zero, maxq):
    """The nearest of the numbers 0 ... maxq, as floats."""
    x, scale, zero, maxq = _need_arrays("quantize_with_zero_point", input_tensor, scale, zero, maxq)
    scale = np.where(scale == 0, scale.dtype.type(1e-8), scale)
    return ops.convert_to_tensor(np.clip(np.round(x / scale + zero.astype(scale.dtype)), 0, maxq))


def dequantize_with_zero_point(input_tensor, scale, zero):
    """What those numbers stand for."""
    x, scale, zero = _need_arrays("dequantize_with_zero_point", input_tensor, scale, zero)
    return ops.convert_to_tensor(scale * (x.astype(scale.dtype) - zero.astype(scale.dtype)))


def _of_groups(name, g_idx, axis, *values):
    groups, *values = _need_arrays(name, g_idx, *values)
    return [np.take(v, groups.astype("int32"), axis=axis) for v in values]


def quantize_with_sz_map(weights_matrix, scale, zero, g_idx, maxq, group_axis=-1):
    """By the scales and zero points of the groups that g_idx gives."""
    scale, zero = _of_groups("quantize_with_sz_map", g_idx, group_axis, scale, zero)
    return quantize_with_zero_point(weights_matrix, scale, zero, maxq)


def dequantize_with_sz_map(weights_matrix, scale, zero, g_idx, group_axis=-1):
    """What quantize_with_sz_map() gave, as weights."""
    scale, zero = _of_groups("dequantize_with_sz_map", g_idx, group_axis, scale, zero)
    return dequantize_with_zero_point(weights_matrix, scale, zero)


def compute_float8_scale(amax, scale, dtype_max, margin=0):
    """The scale with which the largest magnitude becomes the largest of its type; the one before where it is 0 or not
    finite."""
    amax, scale = (ops.convert_to_tensor(v, "float32") for v in (amax, scale))
    before = ops.reciprocal(scale)
    found = ops.divide(ops.divide(dtype_max, amax), 2**margin)
    found = ops.where(amax > 0.0, found, before)
    return ops.reciprocal(ops.where(ops.isfinite(amax), found, before))


def compute_float8_amax_history(x, amax_history):
    """Shifted by one, with the largest magnitude of x first."""
    history = ops.convert_to_tensor(amax_history)
    now = ops.cast(ops.max(ops.abs(x)), history.dtype)
    return ops.concatenate([ops.reshape(now, (1,)), ops.roll(history, -1)[1:]])


_LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def quantize_and_dequantize(inputs, scale, quantized_dtype, compute_dtype):
    """Rounded to a float of 8 bits and back; needs ml_dtypes, which knows those types."""
    if str(quantized_dtype) not in _LARGEST:
        raise ValueError(f"quantize_and_dequantize: expected one of {list(_LARGEST)}, got {quantized_dtype!r}")
    x, scale = _need_arrays("quantize_and_dequantize", inputs, scale)
    scale = cast(scale, compute_dtype)
    most = cast(_LARGEST[str(quantized_dtype)], compute_dtype)
    x = cast(np.clip(cast(x, compute_dtype) / scale, -most, most), quantized_dtype)
    return ops.convert_to_tensor(cast(x, compute_dtype) * scale)


def _nothing(least, most):
    return ops.logical_and(ops.equal(least, 0.0), ops.equal(most, 0.0))


def _nudged(least, most, bits, narrow):
    """The range moved so that 0 is one of its numbers: its ends, their distance, and its inverse."""
    low, high = (1 if narrow else 0), (1 << bits) - 1
    span = ops.subtract(most, least)
    span = ops.where(_nothing(least, most), 1.0, span)
    scale, inverse = ops.divide(span, high - low), ops.divide(high - low, span)
    zero = ops.floor(ops.clip(low - ops.divide(least, scale), low, high) + 0.5)
    return ops.multiply(low - zero, scale), ops.multiply(high - zero, scale), scale, inverse


def fake_quant_with_min_max_vars(inputs, min_vals, max_vals, num_bits=8, narrow_range=False, axis=None):
    """Rounded to the numbers that so many bits have between two ends. Within the nudged ends the gradient passes to the
    inputs, beyond them to the end: each is what TensorFlow's kernel gives."""
    if not 2 <= int(num_bits) <= 16:
        raise ValueError(f"num_bits must be between 2 and 16, inclusive. Received: num_bits={num_bits}")
    x = inputs if is_symbolic(inputs) else ops.convert_to_tensor(inputs)
    dtype, shape = str(x.dtype), [1] * len(x.shape)
    if axis is not None:
        shape[axis] = -1
    x = ops.cast(x, "float32")
    least, most = (
        ops.cast(ops.reshape(v if is_symbolic(v) else ops.convert_to_tensor(v), shape if axis is not None else ()),
                 "float32")
        for v in (min_vals, max_vals)
    )
    low, high, scale, inverse = (ops.stop_gradient(v) for v in _nudged(least, most, int(num_bits), narrow_range))
    zero = ops.floor(-low * inverse + 0.5)
    steps = ops.floor((ops.minimum(ops.maximum(ops.stop_gradient(x), low), high) - low) * inverse - zero + 0.5)
    nothing = _nothing(least, most)
    passed = ops.where(ops.less(x, low), least, ops.where(ops.greater(x, high), most, x))
    passed = ops.where(nothing, x, passed)
    rounded = ops.where(nothing, 0.0, steps * scale)
    return ops.cast(ops.stop_gradient(rounded) + (passed - ops.stop_gradient(passed)), dtype)
