"""Attention in parts, which a class of one's own calls or overrides: projections, scores and masks in operators. The
weights are those of the library's layer."""

import math
import string

from .. import ops, overrides, random
from ..registry import create, facts
from ..tree import flatten
from .layer import category, Layer
from .projections import Projection, ProjectionAsLayer


def _causal(query, key):
    """(1, Tq, Tk): which keys a step may see, itself and those before it."""
    return ops.expand_dims(ops.expand_dims(_steps(query), 1) >= ops.expand_dims(_steps(key), 0), 0)


def _steps(x):
    return ops.arange(ops.shape(x)[1])


class _Scores(Layer):
    __doc__ = None  # that of its kind

    def call(self, inputs, mask=None, training=None, return_attention_scores=False, use_causal_mask=False):
        said = {"return_attention_scores": return_attention_scores, "use_causal_mask": use_causal_mask}
        if not overrides.is_overridden(self, "_calculate_scores", "_calculate_score_mask", "_apply_scores"):
            return super().call(inputs, mask=mask, training=training, **said)
        query, value, key = (*inputs, inputs[1])[:3]
        query_mask, value_mask = (None, None) if mask is None else mask[:2]
        scores = self._calculate_scores(query=query, key=key)
        seen = self._calculate_score_mask(scores, value_mask, use_causal_mask)
        y, weights = self._apply_scores(scores=scores, value=value, scores_mask=seen, training=training)
        if query_mask is not None:
            y = ops.where(ops.expand_dims(query_mask, -1), y, 0.0)
        return (y, weights) if return_attention_scores else y

    def _calculate_scores(self, query, key):
        """(B, Tq, Tv), of query (B, Tq, dim) and key (B, Tv, dim)."""
        scale = 1.0 if self.scale is None else self.scale
        wide = ops.expand_dims(query, -2), ops.expand_dims(key, -3)
        if self._class_name == "AdditiveAttention":
            return ops.sum(scale * ops.tanh(wide[0] + wide[1]), -1)
        if self.score_mode == "concat":
            return self.concat_score_weight * ops.sum(ops.tanh(scale * (wide[0] + wide[1])), -1)
        return ops.matmul(query, ops.swapaxes(key, -2, -1)) * scale

    def _calculate_score_mask(self, scores, v_mask, use_causal_mask):
        if not use_causal_mask:
            return v_mask
        seen = _causal(scores, ops.swapaxes(scores, -2, -1))
        return seen if v_mask is None else ops.logical_and(ops.expand_dims(v_mask, -2), seen)

    def _apply_scores(self, scores, value, scores_mask=None, training=False):
        """The outputs and the weights, of scores (B, Tq, Tv)."""
        if scores_mask is not None:
            hidden = ops.logical_not(scores_mask)
            hidden = ops.expand_dims(hidden, -2) if len(hidden.shape) == 2 else hidden
            scores = ops.where(hidden, scores - 1.0e9, scores)
        weights = ops.softmax(scores, -1)
        if self.dropout and training:
            weights = random.dropout(weights, self.dropout, seed=self._seeds())
        return ops.matmul(weights, value), weights

    def _seeds(self):
        if "_generator" not in self.__dict__:
            self._generator = random.SeedGenerator(self.seed)
        return self._generator


_HEADED = """_build_attention _compute_attention _compute_attention_mask _compute_causal_mask
_compute_sliding_window_mask _masked_softmax""".split()


class _Heads(Layer):
    __doc__ = None

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        masks = {"query_mask": query_mask, "value_mask": value_mask, "key_mask": key_mask}
        masks.update(attention_mask=attention_mask, use_causal_mask=use_causal_mask)
        if not overrides.is_overridden(self, *_HEADED):
            said = {"return_attention_scores": return_attention_scores, "training": training}
            return super().call(query, value, key, **masks, **said)
        key = value if key is None else key
        self._build_native(query.shape, value.shape, key.shape)
        masks = {k: flatten(m)[0] if isinstance(m, list) else m for k, m in masks.items()}
        seen = self._compute_attention_mask(query, value, **masks)
        parts = [self._query_dense(query), self._key_dense(key), self._value_dense(value)]
        y, scores = self._attend(*parts, seen, training, return_attention_scores)
        if self.use_gate:
            y = y * self._gate_dense(query)
        y = self._output_dense(y)
        return (y, scores) if return_attention_scores else y

    def _need_parts(self, rank):
        if "_softmax" not in self.__dict__:
            self._build_attention(rank)

    def _build_attention(self, rank):
        """What _compute_attention() uses, of projections of this rank."""
        axes = getattr(self, "attention_axes", None)
        axes = range(1, rank - 2) if axes is None else axes if isinstance(axes, (list, tuple)) else [axes]
        self._attention_axes = tuple(a % (rank - 1) for a in axes)
        target = string.ascii_lowercase[:rank]
        source = [string.ascii_lowercase[rank + i] if i in self._attention_axes else c for i, c in enumerate(target)]
        kept = [c for i, c in enumerate(target[:-1]) if i not in self._attention_axes]
        scores = "".join(kept + [side[a] for side in (target, source) for a in self._attention_axes])
        self._dot_product_equation = f"{''.join(source)},{target}->{scores}"
        self._combine_equation = f"{scores},{''.join(source)}->{target}"
        self._softmax = create("layer", "Softmax", axis=[*range(-len(self._attention_axes), 0)])
        self._dropout_layer = create("layer", "Dropout", rate=self.dropout, seed=self.seed)

    def _computed(self, query, key, value, attention_mask, training, use_causal_mask, with_scores):
        self._need_parts(len(query.shape))
        if use_causal_mask:
            seen = self._compute_causal_mask(query, value)
            attention_mask = seen if attention_mask is None else ops.logical_and(attention_mask, seen)
        query = query * (1 / math.sqrt(query.shape[-1]))
        scores = ops.einsum(self._dot_product_equation, key, query)
        if with_scores or self.dropout or len(query.shape) != 4 or overrides.is_overridden(self, "_masked_softmax"):
            scores = self._masked_softmax(scores, attention_mask)
        else:  # as Keras's fused attention, in which a query that may see no key sees all alike
            hidden = attention_mask is not None
            scores = self._softmax(ops.where(self._wide(attention_mask, scores), scores, -1e30) if hidden else scores)
        kept = self._dropout_layer(scores, training=training) if self.dropout else scores
        return ops.einsum(self._combine_equation, kept, value), scores

    def _masked_softmax(self, attention_scores, attention_mask=None):
        if attention_mask is None:
            return self._softmax(attention_scores)
        return self._softmax(attention_scores, mask=self._wide(attention_mask, attention_scores))

    def _wide(self, mask, scores):
        """A mask with axes of size 1 for the heads."""
        for _ in range(len(scores.shape) - len(mask.shape)):
            mask = ops.expand_dims(mask, -2 * len(self._attention_axes) - 1)
        return mask

    def _compute_attention_mask(
        self,
        query,
        value,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        use_causal_mask=False,
    ):
        """Which keys a query may see, by all that is said of it."""
        masks = [] if query_mask is None else [ops.expand_dims(ops.cast(query_mask, "bool"), -1)]
        masks += [ops.expand_dims(ops.cast(m, "bool"), -2) for m in (value_mask, key_mask) if m is not None]
        if use_causal_mask:
            masks.append(self._compute_causal_mask(query, value))
        if self.sliding_window is not None:
            masks.append(self._compute_sliding_window_mask(query, value))
        if attention_mask is not None:
            masks.append(ops.cast(attention_mask, "bool"))
        seen = masks[0] if masks else None
        for mask in masks[1:]:
            seen = ops.logical_and(seen, mask)
        return seen

    def _compute_causal_mask(self, query, value=None):
        return _causal(query, query if value is None else value)

    def _compute_sliding_window_mask(self, query, value=None):
        apart = ops.expand_dims(_steps(query), 1) - ops.expand_dims(_steps(query if value is None else value), 0)
        return ops.expand_dims(ops.abs(apart) < self.sliding_window, 0)

    def _projection(self, name):
        if not self.built:
            raise AttributeError(name)
        projections = self.__dict__.setdefault("_projections", {})
        return projections.setdefault(name, Projection(self, name))

    def _filtered(self, name):
        """A projection as `filters` of quantize() see it."""
        return ProjectionAsLayer(self, name)

    def __getattr__(self, key):
        public = key[1:]
        if key[:1] == "_" and any(a["name"] == public for a in facts("layer")[self._class_name]["attributes"]):
            return getattr(self, public)
        return super().__getattr__(key)


for _key, _name in [(n, n) for n in ("query", "key", "value", "gate")] + [("output", "attention_output")]:
    for _shown in (f"_{_key}_dense", f"{_key}_dense"):
        projection = property(lambda self, name=_name: self._projection(name), doc="The inner layer of a projection.")
        setattr(_Heads, _shown, projection)


class _MultiHeadAttention(_Heads):
    __doc__ = None

    @property
    def value_dim(self):
        """The size of each head of the values."""
        return self._config.get("value_dim") or self.key_dim

    def _attend(self, query, key, value, mask, training, with_scores):
        return self._compute_attention(query, key, value, mask, training, with_scores)

    def _compute_attention(
        self,
        query,
        key,
        value,
        attention_mask=None,
        training=None,
        return_attention_scores=False,
        use_causal_mask=False,
    ):
        """The heads' outputs and scores, of projections (B, T, heads, dim)."""
        return self._computed(query, key, value, attention_mask, training, use_causal_mask, return_attention_scores)


class _GroupQueryAttention(_Heads):
    __doc__ = None
    _return_attention_scores = False  # in the call that is under way

    def _attend(self, query, key, value, mask, training, with_scores):
        self._return_attention_scores = with_scores
        times = self.num_query_heads // self.num_key_value_heads
        key, value = ops.repeat(key, times, axis=2), ops.repeat(value, times, axis=2)
        return self._compute_attention(query, key, value, attention_mask=mask, training=training)

    def _compute_attention(self, query, key, value, attention_mask=None, training=None, use_causal_mask=False):
        """The heads' outputs and scores, of projections (B, T, heads, dim)."""
        return self._computed(
            query, key, value, attention_mask, training, use_causal_mask, self._return_attention_scores
        )


for _kind, _base in (
    ("Attention", _Scores),
    ("AdditiveAttention", _Scores),
    ("MultiHeadAttention", _MultiHeadAttention),
    ("GroupQueryAttention", _GroupQueryAttention),
):
    category.base_of(_kind)(_base)
