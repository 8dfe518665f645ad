"""Losses and metrics of a model's outputs, as options of the library's trainer."""

from .... import core
from .. import ops
from ..backend import attributes
from ..kind import as_json
from ..registry import create
from ..tree import flatten
from ..utils.naming import unique_name
from . import nested_losses
from .compile_utils import is_python, loss_name
from .graphs import loss_config, metric_config
from .nested_losses import NoSuchOutput, StructureError


class NativeTrainer(core.Trainer):
    """The library's, with the names that Keras shows of its numbers: what was added beside the outputs has none.

    `parts`: names of losses of parts of the outputs; `hidden`: how many losses of layers stand behind them; `losses`:
    how many others there are, where one is not told beside the whole; `unnamed`: names of the losses of outputs that
    have none themselves."""

    __slots__ = ("added", "shown", "frozen", "reads", "_kept")

    def __init__(self, model, options, parts=(), hidden=0, losses=1, frozen=False, unnamed=()):
        super().__init__(model, options)
        self.frozen, self.reads = frozen, attributes.Reads()  # what losses read of attributes
        outputs = options["output_names"]
        n = len(outputs) - len(parts) - hidden
        self.added, drop, named = len(parts) + hidden, {f"{name}_loss" for name in outputs[n + len(parts) :]}, {}
        for name, loss in zip(outputs, unnamed):
            named.update({f"{name}_": "", f"{name}_loss": f"{loss}_loss"})
        for name, shown in zip(outputs[n:], parts):
            named[f"{name}_"] = f"{shown}_" if n > 1 or len(parts) > 1 else ""
        if losses == 1:
            drop = {f"{name}_loss" for name in outputs}
        if n == 1 and hidden and not parts:
            named[f"{outputs[0]}_"] = ""
        self._kept = [i for i, name in enumerate(self.names) if name not in drop]
        self.shown = [_renamed(self.names[i], named) for i in self._kept]

    def kept(self, values):
        return [values[i] for i in self._kept]


def _apart(names):
    """Of a second output of one layer, which Keras calls like the first, a name of its own."""
    return [name if name not in names[:i] else f"{name}_{i}" for i, name in enumerate(names)]


def _renamed(name, named):
    prefix = max((p for p in named if name.startswith(p)), key=len, default="")
    return named.get(prefix, "") + name[len(prefix) :]


def is_frozen(functional):
    """Is none of its weights trained?"""
    return not any(trained for _, _, trained in functional.core.weights())


def _nothing():
    """A loss that is 0, of a weight that is trained: the library trains no model without one."""
    return (
        ops.sum(create("layer", "Weight", shape=[1], initializer="Zeros", name=unique_name("nothing"))._call_symbolic())
        * 0.0
    )


class Objective:
    """What a model is compiled with, one entry for each output; for losses of parts of a nest, one for each part."""

    def _trainer_of(self, functional, targets, optimizer):
        extra, entries = list(functional.losses), self._entries()
        frozen = is_frozen(functional)
        if frozen:
            functional.nothing = _nothing() if functional.nothing is None else functional.nothing
            extra.append(functional.nothing)
        parts = [nested_losses.output_of(nested_losses.at(e.path, functional.nest_out)) for e in entries or ()]
        model = functional.with_outputs(parts + extra) if parts or extra else functional.core
        if entries is None:
            options = self._objective(functional, targets, len(extra))
        else:
            options = self._objective_of(entries, functional, parts, targets, len(extra))
        options = {"optimizer": optimizer, "nan_guard": "off", **options}
        names = [e.name for e in entries or ()]
        keys = _apart(self._flat_names()) if len(functional.outputs) > 1 else []
        options["output_names"] = keys + model.names(1)[len(keys) :]
        losses = sum(v is not None for v in options["loss"]) - len(extra)
        unnamed = [loss_name(v) for v in self._plain_losses()] if entries is None and not self._names_outputs() else ()
        return NativeTrainer(model, as_json(options), names, len(extra), losses, frozen, unnamed)

    def _names_outputs(self, y_pred=None):
        """As in Keras: the outputs of a call() of its user's have no names, but keys of a dict."""
        outputs = self._nest_out(y_pred)
        return not self._has_custom_call() or isinstance(outputs, dict) or len(flatten(outputs)) == 1

    def _nest_out(self, y_pred=None):
        """The nest of its outputs; of a model that only its own step has called, what it gave there, and of one whose
        compute_loss() makes others of them, those."""
        if y_pred is None:
            return self._require_built().nest_out
        known = None if self._functional is None else self._functional.nest_out
        return y_pred if known is None or len(flatten(known)) != len(flatten(y_pred)) else known

    def _entries(self, y_pred=None):
        """Losses with their places in the nest of the outputs; None where there is one for each output."""
        loss, outputs = self._compiled["loss"], self._nest_out(y_pred)
        if nested_losses.plain(loss, outputs):
            return None
        return nested_losses.entries(loss, self._compiled["loss_weights"], outputs, self._flat_names(y_pred))

    def _flat_names(self, y_pred=None):
        nest = self._nest_out(y_pred)
        count = len(flatten(nest))
        if isinstance(nest, dict) and len(nest) == count:
            return sorted(nest, key=str)
        if self._functional is not None and len(self._functional.outputs) == count:
            return self.output_names
        losses = flatten(self._compiled["loss"])
        return [loss_name(v) for v in losses] if len(losses) == count else [f"output_{i}" for i in range(count)]

    def _objective_of(self, entries, functional, parts, targets, extra):
        """Losses of parts of the nest, and metrics beside the losses of one output."""
        n, outputs = len(functional.outputs), functional.nest_out
        at = [nested_losses.at(e.path, outputs) for e in entries]
        losses = [nested_losses.loss_of(e.loss, part) for e, part in zip(entries, at)]
        shapes = [None if targets is None else (None, *t.shape[1:]) for t in targets or [None] * len(entries)]
        none = [None] * n
        options = {"loss": none + [_graph("loss", v, s, t) for v, s, t in zip(losses, shapes, parts)]}
        options["loss"] += ["output"] * extra
        if any(e.weight is not None for e in entries):
            options["loss_weights"] = none + [e.weight for e in entries] + [None] * extra
        for key in ("metrics", "weighted_metrics"):
            if self._compiled[key] is None:
                continue
            lists, found = self._metric_lists(self._compiled[key], n, self._flat_names(), key), [[] for _ in entries]
            for output, metrics in zip(functional.outputs, lists):
                places = [i for i, t in enumerate(at) if t is output]
                if metrics and not places:
                    raise NotImplementedError(f"`{key}`: metrics are not supported on an output without a loss")
                if metrics:
                    i = places[0]
                    found[i] = [_graph("metric", m, shapes[i], parts[i]) for m in metrics]
            options[key] = none + found + [None] * extra
        return options

    def _objective(self, functional, targets, extra):
        """Losses and metrics for the library, one entry for each output."""
        n, names = len(functional.outputs), self._output_keys()
        losses = self._plain_losses()
        if all(v is None for v in losses) and not extra:
            raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`.")
        shapes, at = [], 0
        for i in range(n):
            t = None if targets is None or losses[i] is None else targets[at]
            at += losses[i] is not None
            shapes.append(None if t is None else (None, *t.shape[1:]))
        outputs = functional.outputs
        options = {"loss": [_graph("loss", v, shapes[i], outputs[i]) for i, v in enumerate(losses)]}
        weights = self._compiled["loss_weights"]
        if weights is not None:
            weights = self._per_output(weights, n, names, "loss_weights")
            options["loss_weights"] = weights + [None] * extra
        for key in ("metrics", "weighted_metrics"):
            value = self._compiled[key]
            if value is None:
                continue
            lists = self._metric_lists(value, n, names, key)
            options[key] = [[_graph("metric", m, shapes[i], outputs[i]) for m in one] for i, one in enumerate(lists)]
            options[key] += [None] * extra
        options["loss"] += ["output"] * extra
        return options

    def _plain_losses(self, y_pred=None):
        count = len(flatten(self._nest_out(y_pred)))
        losses = self._per_output(self._compiled["loss"], count, self._output_keys(y_pred), "loss", y_pred)
        return [v[0] if isinstance(v, (list, tuple)) and len(v) == 1 else v for v in losses]

    def _targets(self, y):
        """One array for each loss."""
        if self._compiled and self._compiled["loss"] is None and not self._compiled_metrics():
            return []  # as Keras, which asks nobody for them
        entries, outputs = self._entries() if self._compiled else None, self._require_built().nest_out
        if entries is not None:
            targets = nested_losses.targets_of(entries, y, outputs, self._flat_names())
            parts = [nested_losses.at(e.path, outputs) for e in entries]
            return [nested_losses.target_of(y, part) for y, part in zip(targets, parts)]
        if isinstance(y, dict):
            y = [y.get(name) for name in self._output_keys()]
        elif isinstance(y, (list, tuple)) and len(self.outputs) > 1:
            y = list(flatten(y)) if any(isinstance(v, (dict, tuple)) for v in y) else list(y)
        else:
            return [y]
        if len(y) == len(self.outputs) and self._compiled:
            y = [v for v, loss in zip(y, self._plain_losses()) if loss is not None]
        return y

    def _sample_weights(self, w):
        """One for each loss, or one for all."""
        entries = self._entries() if self._compiled else None
        if entries is None or not nested_losses.nested(w):
            return [w] * len(entries) if entries else self._targets(w)
        w = nested_losses.like_outputs(w, self._require_built().nest_out, self._flat_names())
        found = [nested_losses.at(e.path, w) for e in entries]
        if any(nested_losses.nested(v) for v in found):
            raise ValueError("`sample_weight`: expected one array for a loss of several outputs")
        return found

    def _output_keys(self, y_pred=None):
        nest = self._nest_out(y_pred)
        if isinstance(nest, dict):
            return sorted(nest, key=str)
        count = len(flatten(nest))
        known = self._functional is not None and len(self._functional.outputs) == count
        return self.output_names if known else [f"output_{i}" for i in range(count)]

    def _loss_names(self, y_pred=None):
        """What logs call the losses of outputs, None where there is none: by the output's name, or else the loss's."""
        entries = self._entries(y_pred)
        if entries is not None:
            return [f"{e.name}_loss" for e in entries]
        nest, losses = self._nest_out(y_pred), self._plain_losses(y_pred)
        named = isinstance(nest, dict) or self._functional is not None and len(self._functional.outputs) == len(losses)
        named = named and self._names_outputs(y_pred)
        keys = self._output_keys(y_pred) if named else map(loss_name, losses)
        return [None if loss is None else f"{key}_loss" for key, loss in zip(keys, losses)]

    def _per_output(self, value, n, names, key, y_pred=None):
        if isinstance(value, dict) and "class_name" not in value:
            if key == "loss" and not isinstance(self._nest_out(y_pred), dict) and set(value) != set(names):
                raise StructureError(f"Expected keys {names} in loss dict, but found loss.keys()={list(value)}")
            for name in value:
                if name not in names:
                    if key == "loss" and set(names) & set(value):
                        raise NoSuchOutput(
                            f"The path: ('{name}',) in the `loss` argument, can't be found in either the "
                            f"model's output (`y_pred`) or in the labels (`y_true`): expected keys {names}"
                        )
                    raise StructureError(
                        f"Invalid `{key}`. In the dict argument `{key}`, key '{name}' does not correspond to any "
                        f"model output. Received: {key}={value}. Expected keys {names}"
                    )
            return [value.get(name) for name in names]
        if isinstance(value, (list, tuple)):
            if len(value) != n:
                raise ValueError(
                    f"When there are multiple outputs, `{key}` must have one entry for each: expected {n}, "
                    f"got {len(value)}"
                )
            return list(value)
        if n > 1 and value is not None:
            if key == "loss":
                return [value] * n
            raise ValueError(f"`{key}`: expected a list of {n}, one for each output")
        return [value] * n

    def _metric_lists(self, value, n, names, key, all_of_them=False):
        """Of each output; without those that Python calls, if not all are asked for."""

        def listed(v):
            found = list(v) if isinstance(v, (list, tuple)) else [] if v is None else [v]
            return [metric for metric in found if all_of_them or not is_python(metric)]

        if isinstance(value, dict) and "class_name" not in value:
            return [listed(v) for v in self._per_output(value, n, names, key)]
        if n == 1:
            value = list(value) if isinstance(value, (list, tuple)) else listed(value)
            return [listed(value[0]) if len(value) == 1 and isinstance(value[0], (list, tuple)) else listed(value)]
        if not isinstance(value, (list, tuple)) or len(value) != n:
            raise ValueError(
                f"For a model with multiple outputs, `{key}` must have one entry for each of the {n} outputs. "
                f"Received: {value}"
            )
        return [listed(v) for v in value]


def _graph(category, thing, target_shape, output):
    if callable(thing) and target_shape is None and not hasattr(thing, "_to_json"):
        raise ValueError(f"{thing!r}: a Python function needs targets")
    return (loss_config if category == "loss" else metric_config)(thing, target_shape, output.shape)
