"""LoRA of layers: a product of two small matrices that is added to a kernel, which is not trained any more."""

from .... import core
from .. import registry
from ..quantizers import quantize

_PARTS = ("lora_kernel_a", "lora_kernel_b", "lora_embeddings_a", "lora_embeddings_b")


def takes_lora(kind):
    """Has that kind of layers a kernel or a table that LoRA is for?"""
    return kind is not None and any(a["name"] == "lora_rank" for a in registry.facts("layer")[kind]["attributes"])


def is_part(name):
    """Is a weight of that name one of the two matrices?"""
    return name.rsplit("/", 1)[-1] in _PARTS


def kernel_of(name):
    """The weight that one of the two matrices stands beside; any other is itself."""
    inside, slash, last = name.rpartition("/")
    return f"{inside}{slash}{last[len('lora_'):-len('_a')]}" if is_part(name) else name


def need_may_be(who, layer, rank):
    """Refuses what Keras does."""
    table = layer._class_name.endswith("Embedding")
    word, constraint = ("embedding", "embeddings_constraint") if table else ("kernel", "kernel_constraint")
    if layer._config.get(constraint) is not None or constraint in layer._python:
        raise ValueError(
            f"Lora is incompatible with {word} constraints. In order to enable lora on this layer, remove the "
            f"`{constraint}` argument."
        )
    if not layer.built:
        raise ValueError("Cannot enable lora on a layer that isn't yet built.")
    if who.lora_enabled:
        raise ValueError("lora is already enabled. This can only be done once per layer.")
    mode = quantize.mode_of(layer._how())
    if mode in ("gptq", "awq"):
        raise NotImplementedError(f"lora is not currently supported with {mode.upper()} quantization.")
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise ValueError(f"{type(layer).__name__}.enable_lora(): expected a `rank` of at least 1. Received: {rank=}")


def enable(layer, config, names, shape, rank, a_initializer, b_initializer):
    """The layer becomes one whose kernel of this shape has two matrices of these names beside it."""
    values = {name: layer._weight(name)._bits() for name in layer._weight_facts()}
    shapes = (*shape[:-1], rank), (rank, shape[-1])
    for name, size, initializer in zip(names, shapes, (a_initializer, b_initializer)):
        values[name] = registry.get("initializer", initializer)(size, dtype="float32")
    layer._become(config, values, keep=True)


class LoraLayer:
    """The part of a layer that LoRA changes."""

    def _has_lora(self):
        config = self.__dict__.get("_config", {})
        return config.get("lora_rank", config.get("lora")) is not None

    def _lora_names(self):
        """Of the kernel and of the two matrices."""
        name = "embeddings" if self._class_name.endswith("Embedding") else "kernel"
        return name, f"lora_{name}_a", f"lora_{name}_b"

    def _with_lora(self, key):
        """The kernel or table with the product; None of another attribute."""
        if key != self._lora_names()[0] or not self.__dict__.get("built") or self._config.get("lora_rank") is None:
            return None
        kernel = self._unpacked(key)
        a, b = (self._weight(name) for name in self._lora_names()[1:])
        return (self._weight(key) if kernel is None else kernel) + self.lora_alpha / self.lora_rank * (a @ b)

    def _merged(self):
        """The values of its weights without LoRA, by name, as Keras keeps them in files."""
        alone = self._alone()
        name = self._names_in_graphs[alone.graph]
        made = core.Model.from_bytes(alone.core.to_bytes(), alone.core.context, merge_lora=True)
        return {whole[len(name) + 1 :]: made.get_weight(whole) for whole in made.names(2)}

    def _lora_in_config(self, config):
        """As Keras's configs say it."""
        config.pop("lora", None)
        if takes_lora(self._class_name):
            del config["lora_rank"], config["lora_alpha"]
            if self.lora_rank:
                config.update(lora_rank=self.lora_rank, lora_alpha=self.lora_alpha)
        return config


def _is_enabled(layer):
    """Whether the layer has LoRA."""
    return bool(layer.__dict__.get("built")) and layer._has_lora()


def _rank_of(layer):
    """The rank of LoRA; None without LoRA."""
    return layer._config.get("lora_rank")


def _alpha_of(layer):
    """The scale of LoRA, times the rank; None without LoRA."""
    alpha = layer._config.get("lora_alpha")
    if alpha is None:
        return layer.lora_rank
    return int(alpha) if alpha == int(alpha) else alpha  # of a file it is a float


def enable_lora(self, rank, lora_alpha=None, a_initializer="he_uniform", b_initializer="zeros"):
    """The kernel is not trained any more; the product of two matrices is added to it, which are."""
    need_may_be(self, self, rank)
    name, *names = self._lora_names()
    config = {"lora_rank": rank, "lora_alpha": rank if lora_alpha is None else lora_alpha}
    kernel = self._unpacked(name)  # which may be packed
    shape = tuple((self._weight(name) if kernel is None else kernel).shape)
    enable(self, config, names, shape, rank, a_initializer, b_initializer)


def complete(cls):
    """Adds what Keras's layers with LoRA have."""
    cls.enable_lora, cls.lora_enabled = enable_lora, property(_is_enabled)
    cls.lora_rank, cls.lora_alpha = property(_rank_of), property(_alpha_of)
