"""The projections of attention: in Keras each is an EinsumDense, here their weights are the attention's own."""

import string

from .. import ops
from ..quantizers import quantize
from ..registry import find_class
from . import lora


class Projection:
    """Its weights, its LoRA, and a call."""

    def __init__(self, layer, name):
        self._layer, self.name = layer, name

    @property
    def built(self):
        return self._layer.built

    @property
    def path(self):
        return f"{self._layer.path}/{self.name}"

    def _lora(self):
        return (self._layer._config.get("lora") or {}).get(self.name)

    lora_enabled = property(lambda self: self._lora() is not None)
    lora_rank = property(lambda self: self._lora() and self._lora()["rank"])
    lora_alpha = property(lambda self: self._lora() and self._lora()["alpha"])

    def _weight(self, key):
        return self._layer._weight(f"{self.name}/{key}")

    @property
    def weights(self):
        return [w for w in self._layer.weights if w._name.rpartition("/")[0] == self.name]

    variables = weights
    trainable_weights = trainable_variables = property(lambda self: [w for w in self.weights if w.trainable])
    non_trainable_weights = non_trainable_variables = property(
        lambda self: [w for w in self.weights if not w.trainable]
    )

    @property
    def kernel(self):
        if not self.lora_enabled:
            return self._weight("kernel")
        product = self._weight("lora_kernel_a") @ self._weight("lora_kernel_b")
        return self._weight("kernel") + self.lora_alpha / self.lora_rank * product

    def __getattr__(self, key):
        known = "" if key.startswith("__") else f"{self.name}/{key}"
        if known in self._layer._weight_facts():
            return self._weight(key)
        if key == "bias":
            return None
        raise AttributeError(f"the projection {self.path} has no attribute '{key}' in this version")

    def _kernel_shape(self):
        """Also of one that is packed, as a matrix."""
        layer, shape = self._layer, tuple(self._weight("kernel").shape)
        if quantize.mode_of(layer._quantization()) != "int4":
            return shape
        rows, columns, heads = shape[0], self._weight("kernel_scale").shape[-1], layer.num_heads
        if self.name != "attention_output":
            return rows, heads, columns // heads
        wanted = layer.output_shape
        return heads, rows // heads, *([columns] if wanted is None else [wanted] if type(wanted) is int else wanted)

    def get_weights(self):
        return [w.numpy() for w in self.weights]

    def set_weights(self, weights):
        mine = self.weights
        if len(mine) != len(weights):
            raise ValueError(f"the projection {self.name!r} has {len(mine)} weights, got {len(weights)}")
        for w, value in zip(mine, weights):
            w.assign(value)

    def __call__(self, x):
        if self._layer._config.get("quantization") is not None:
            raise NotImplementedError(f"{self.path}: a projection that is quantized is not called alone")
        bound = 2 if self.name == "attention_output" else 1
        free, letters = len(x.shape) - bound, string.ascii_lowercase
        summed = letters[free : free + bound]
        given = letters[free + bound : free + len(self.kernel.shape)]
        y = ops.einsum(f"{letters[:free]}{summed},{summed}{given}->{letters[:free]}{given}", x, self.kernel)
        y = y if self.bias is None else y + self.bias
        return ops.sigmoid(y) if self.name == "gate" else y

    def enable_lora(self, rank, lora_alpha=None, a_initializer="he_uniform", b_initializer="zeros"):
        """As that of an EinsumDense."""
        layer, name = self._layer, self.name
        lora.need_may_be(self, layer, rank)
        now = {"rank": rank, "alpha": rank if lora_alpha is None else lora_alpha}
        names = [f"{name}/lora_kernel_{part}" for part in "ab"]
        config = {"lora": {**(layer._config.get("lora") or {}), name: now}}
        lora.enable(layer, config, names, self._kernel_shape(), rank, a_initializer, b_initializer)


class ProjectionAsLayer(Projection):
    """An EinsumDense for isinstance(), as it is one in Keras."""

    @property
    def __class__(self):
        return find_class("EinsumDense", "layers")
