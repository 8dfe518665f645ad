"""Attention whose parts a class of one's own overrides or calls."""

import tempfile
import unittest

import dl4.keras as keras
import numpy as np
from dl4.keras import layers, ops

rng = np.random.RandomState(0)
X, V = rng.rand(2, 5, 6).astype("float32"), rng.rand(2, 4, 6).astype("float32")
QUERIES, VALUES = np.array([[1] * 5, [1, 1, 1, 0, 0]], bool), np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
SEEN = rng.rand(2, 5, 4) > 0.3
CALLS = (
    {},
    {"use_causal_mask": True},
    {"attention_mask": SEEN},
    {"value_mask": VALUES},
    {"query_mask": QUERIES, "value_mask": VALUES, "attention_mask": SEEN, "use_causal_mask": True},
    {"return_attention_scores": True},
)
HEADED = (
    (layers.MultiHeadAttention, {"num_heads": 2, "key_dim": 3}),
    (layers.MultiHeadAttention, {"num_heads": 2, "key_dim": 3, "use_gate": True, "output_shape": 7}),
    (layers.MultiHeadAttention, {"num_heads": 2, "key_dim": 3, "use_bias": False, "sliding_window": 2}),
    (layers.GroupQueryAttention, {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2, "use_gate": True}),
)


def through(base, name):
    """A class whose method of that name calls the base's."""

    def method(self, *args, **kwargs):
        self.hits += 1
        return getattr(super(cls, self), name)(*args, **kwargs)

    cls = type("Own", (base,), {name: method, "hits": 0})
    return cls


class Parts(unittest.TestCase):
    def same(self, a, b):
        for x, y in zip(a if isinstance(a, tuple) else [a], b if isinstance(b, tuple) else [b]):
            np.testing.assert_allclose(x, y, 1e-4, 1e-5)

    def test_heads(self):
        """In parts it gives what the library's layer gives."""
        for base, how in HEADED:
            own, plain = through(base, "_compute_attention")(**how), base(**how)
            own(X, V), plain(X, V)
            own.set_weights([w + 0.1 for w in plain.get_weights()])
            plain.set_weights(own.get_weights())
            for call in CALLS:
                with self.subTest(base=base, **how, **call):
                    self.same(own(X, V, **call), plain(X, V, **call))
            self.assertGreater(own.hits, len(CALLS))

    def test_axes(self):
        x = rng.rand(2, 3, 4, 8).astype("float32")
        for axes in ((1, 2), 2, -2, None):
            own, plain = (
                cls(2, 2, attention_axes=axes)
                for cls in (through(layers.MultiHeadAttention, "_masked_softmax"), layers.MultiHeadAttention)
            )
            own(x, x), plain(x, x)
            plain.set_weights(own.get_weights())
            self.same(own(x, x), plain(x, x))

    def test_models(self):
        for n, m in ((5, 4), (None, None)):
            own, plain = through(layers.MultiHeadAttention, "_compute_attention")(2, 3), layers.MultiHeadAttention(2, 3)
            inputs = [keras.Input((n, 6)), keras.Input((m, 6))]
            model = keras.Model(inputs, own(*inputs, use_causal_mask=True))
            model.compile("sgd", "mse")
            before = model.get_weights()[0]
            model.fit([X, V], np.zeros((2, 5, 6)), verbose=0)
            self.assertGreater(np.abs(model.get_weights()[0] - before).max(), 0)
            plain(X, V)
            plain.set_weights(own.get_weights())
            self.same(model.predict([X, V], verbose=0), plain(X, V, use_causal_mask=True))

    def test_files(self):
        i = keras.Input((5, 6))
        cls = through(layers.MultiHeadAttention, "_compute_attention")
        model = keras.Model(i, cls(2, 3)(i, i))
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/m.keras")
            again = keras.saving.load_model(f"{folder}/m.keras", custom_objects={"Own": cls})
        self.same(again(X), model(X))

    def test_a_call_of_ones_own(self):
        class Copied(layers.MultiHeadAttention):
            def call(self, query, value, key=None, attention_mask=None, training=None):
                parts = self._query_dense(query), self._key_dense(value), self._value_dense(value)
                return self._output_dense(self._compute_attention(*parts, attention_mask, training)[0])

        own, plain = Copied(2, 3), layers.MultiHeadAttention(2, 3)
        own(X, V, attention_mask=SEEN), plain(X, V)
        plain.set_weights(own.get_weights())
        self.same(own(X, V, attention_mask=SEEN), plain(X, V, attention_mask=SEEN))
        self.assertEqual((own._num_heads, own._key_dim, own._value_dim), (2, 3, 3))
        self.assertIs(own.query_dense.kernel, own.weights[0])
        self.assertEqual([w.name for w in own._output_dense.weights], ["kernel", "bias"])
        self.assertFalse(hasattr(layers.MultiHeadAttention(2, 3), "query_dense"))

    def test_scores(self):
        for base, how in (
            (layers.Attention, {}),
            (layers.Attention, {"use_scale": True}),
            (layers.Attention, {"use_scale": True, "score_mode": "concat"}),
            (layers.AdditiveAttention, {}),
            (layers.AdditiveAttention, {"use_scale": False}),
        ):
            for name in ("_calculate_scores", "_calculate_score_mask", "_apply_scores"):
                own, plain = through(base, name)(**how), base(**how)
                own([X, V]), plain([X, V])
                own.set_weights([w + 0.3 for w in plain.get_weights()])
                plain.set_weights(own.get_weights())
                for call in ({}, {"use_causal_mask": True}, {"mask": [None, VALUES]}, {"mask": [QUERIES, VALUES]}):
                    with self.subTest(base=base, name=name, **how, **call):
                        self.same(own([X, V], **call), plain([X, V], **call))

    def test_other_scores(self):
        class Negative(layers.Attention):
            def _calculate_scores(self, query, key):
                return -super()._calculate_scores(query, key)

        self.same(Negative()([X, V]), layers.Attention()([-X, V, V]))


class Masks(unittest.TestCase):
    """Which masks a call() of one's own is given, as Keras 3."""

    def test_by_the_names_of_the_inputs(self):
        class Own(layers.Layer):
            def call(self, a, b, a_mask=None, b_mask=None, mask=None):
                assert mask is None
                return ops.cast(a_mask, "float32") + 2 * ops.cast(b_mask, "float32")

        a, b = np.array([[1, 2, 0], [3, 0, 0]]), np.array([[0, 1, 0], [3, 1, 1]])
        embedding, own = layers.Embedding(4, 2, mask_zero=True), Own()
        inputs = [keras.Input((3,), dtype="int32") for _ in range(2)]
        model = keras.Model(inputs, own(embedding(inputs[0]), b=embedding(inputs[1])))
        expected = (a != 0) + 2.0 * (b != 0)
        np.testing.assert_array_equal(model.predict([a, b], verbose=0), expected)
        np.testing.assert_array_equal(own(b=embedding(b), a=embedding(a)), expected)

    def test_one_for_all_samples(self):
        headed = layers.MultiHeadAttention(2, 3), layers.GroupQueryAttention(3, 4, 2)
        calls = {
            "LSTM": lambda x, v, m, n: layers.LSTM(2, return_sequences=True)(x, mask=m),
            "LSTM of gelu": lambda x, v, m, n: layers.LSTM(2, activation="gelu")(x, mask=m),
            "GRU": lambda x, v, m, n: layers.GRU(2, go_backwards=True)(x, mask=m),
            "Bidirectional": lambda x, v, m, n: layers.Bidirectional(layers.LSTM(2))(x, mask=m),
            "Attention": lambda x, v, m, n: layers.Attention()([x, v], mask=[m, n]),
            "AdditiveAttention": lambda x, v, m, n: layers.AdditiveAttention()([x, v], mask=[m, n]),
            **{h.name: lambda x, v, m, n, h=h: h(x, v, query_mask=m, value_mask=n) for h in headed},
        }
        m, n = np.array([[1, 1, 0, 1, 0]], bool), np.array([[1, 0, 1, 1]], bool)
        for name, call in calls.items():
            inputs = [keras.Input(a.shape[1:], dtype=str(a.dtype)) for a in (X, V, m, n)]
            model = keras.Model(inputs, call(*inputs))
            found = np.asarray(model([X, V, m, n]))
            wanted = np.asarray(model([X, V, np.repeat(m, 2, 0), np.repeat(n, 2, 0)]))
            np.testing.assert_array_equal(found, wanted, name)


if __name__ == "__main__":
    unittest.main()
