"""Calls on arrays, the quick way and the other: same numbers, nothing misread, for any thread."""

import tempfile
import threading
import unittest

import numpy as np

import dl4
import dl4.keras as keras


def small():
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "tanh")])


X = np.linspace(-1, 1, 20, dtype="float32").reshape(5, 4)


class Calls(unittest.TestCase):
    def test_a_bound_session_reads_and_writes_the_same_memory(self):
        m, x = small(), X.copy()
        session = m.core.session()
        run = session.bind([dl4.Tensor.of(x)])
        (out,) = run()
        np.testing.assert_array_equal(out.numpy(), m.predict(X))
        x *= 2
        self.assertIs(run()[0], out)
        np.testing.assert_array_equal(out.numpy(), m.predict(2 * X))

    def test_a_bound_session_refuses_what_a_run_refuses_and_goes_on(self):
        m = keras.Sequential([keras.Input((2,), dtype="int32"), keras.layers.Embedding(3, 4)])
        ids = np.array([[0, 2]], "int32")
        run = m.core.session().bind([dl4.Tensor.of(ids)])
        expected = run()[0].numpy().copy()
        ids[0, 1] = 3
        with self.assertRaisesRegex(dl4.Error, "index 3 is out of range"):
            run()
        ids[0, 1] = 2
        np.testing.assert_array_equal(run()[0].numpy(), expected)
        with self.assertRaises(dl4.Error):
            m.core.session().bind([dl4.Tensor.of(ids), dl4.Tensor.of(ids)])

    def test_results_are_the_callers(self):
        m = small()
        first = m(X)
        kept = first.copy()
        for call in (m, m.predict, m.predict_on_batch):
            self.assertIsNot(call(2 * X), first)
        np.testing.assert_array_equal(first, kept)
        first[:] = 7  # and may be written
        np.testing.assert_array_equal(m(X), kept)

    def test_other_types_and_layouts_are_converted_or_refused(self):
        m = small()
        whole = np.arange(20).reshape(5, 4)
        expected = m(whole.astype("float32"))
        for x in (whole, whole.astype("float64"), np.asfortranarray(whole, "float32"), whole.astype("uint8")):
            for _ in range(2):  # made, then kept
                np.testing.assert_array_equal(m(x), expected)
                np.testing.assert_array_equal(m.predict(x), expected)
        for x in (whole.astype("float32") + 1j, whole.astype(str), whole.astype(object)):
            with self.assertRaises((TypeError, ValueError)):
                m(x)
        np.testing.assert_array_equal(m(whole), expected)

    def test_other_shapes_are_refused_with_the_layers_words(self):
        m = small()
        m(X)
        for x in (X[:, :3], X[:, :3]):
            with self.assertRaises(dl4.ShapeMismatch):
                m(x)
        self.assertEqual(m(X[:0]).shape, (0, 3))
        for n in range(1, 40):  # more shapes than are kept
            self.assertEqual(m(np.zeros((n, 4), "float32")).shape, (n, 3))

    def test_large_arrays(self):
        x = np.linspace(-1, 1, 4 * 9000, dtype="float32").reshape(-1, 4)
        m = small()
        np.testing.assert_array_equal(m(x), m.predict(x, batch_size=9000))
        np.testing.assert_array_equal(m(x)[:5], m(x[:5]))

    def test_threads_have_tensors_of_their_own(self):
        m, wrong = small(), []
        data = [X * i for i in range(4)]
        expected = [np.array(m(x)) for x in data]

        def work(i):
            for _ in range(400):
                if not (m(data[i]) == expected[i]).all():
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual(wrong, [])

    def test_new_weights_count_at_once(self):
        m = small()
        m(X)
        m.set_weights([np.zeros((4, 3)), np.ones(3)])
        np.testing.assert_allclose(m(X), np.tanh(1.0), rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
