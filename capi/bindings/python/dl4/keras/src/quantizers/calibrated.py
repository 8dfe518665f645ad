"""GPTQ and AWQ of a model: kernels that are fitted to what its blocks compute for given texts."""

import math

from .... import core
from ..backend import call_context
from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from ..registry import create
from ..symbolic.function import Function
from ..symbolic.tensor import Call, Input, is_tensor
from ..tree import flatten
from .awq import AWQ
from .fitting import need_rows
from .gptq import GPTQ


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
                    parts = {"query": query, "key": (key or [value])[0], "value": value}
                    parts.update({"gate": query} if layer.use_gate else {}, attention_output=_heads_alone(call))
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
        for place in places:
            need_rows(*place)
        fitted = {place: METHODS[config.mode](place[0], config, place[1]) for place in dict.fromkeys(places)}
        for x in inputs:
            for place, given in zip(places, traced(x)[1:]):
                fitted[place].see(given.reshape(-1, fitted[place].rows))
        values = {}
        for (layer, prefix), one in fitted.items():
            values.setdefault(layer, {}).update({f"{prefix}{k}": v for k, v in one.values().items()})
        for layer, given in values.items():
            become(layer, given)
        if block is not blocks[-1]:
            given = [traced(x)[0][0] for x in inputs]  # of each batch the first row, as Keras takes it
            inputs = [y[None] if y.ndim == 2 else y for y in given]
