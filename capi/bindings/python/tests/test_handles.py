"""No handle is had twice, what is read-only stays so, and sessions run arrays as they run tensors."""

import copy
import ctypes
import gc
import pickle
import unittest

import numpy as np

import dl4
import dl4.keras as keras

X = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


class Given:
    """An array library whose __dlpack__() gives one capsule."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule


def handles():
    x = keras.Input((4,))
    model = keras.Model(x, keras.layers.Dense(2)(x)).core
    steps = keras.Input((None, 4))
    session = keras.Model(steps, keras.layers.GRU(2, return_sequences=True)(steps)).core.session(states=True)
    tensor = dl4.Tensor.of(X)
    return [
        tensor,
        dl4.Context(),
        dl4.Graph(),
        model,
        model.session(),
        model.session().bind([tensor]),
        model.trainer(optimizer="sgd", loss="mse"),
        session,
        dl4.Stream(session),
        dl4.Dataset([tensor]),
        dl4.Cancel(),
        dl4.abi.refs(nodes={"a": [1]}),
    ]


class Copies(unittest.TestCase):
    def test_a_handle_is_not_copied(self):
        for handle in handles():
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaises(TypeError, msg=f"{way.__name__} of {type(handle).__name__}"):
                    way(handle)
        gc.collect()

    def test_what_holds_a_handle_is_copied_by_its_config(self):
        layer = keras.layers.Dense(2)
        y = layer(X)
        again = copy.deepcopy(layer)
        again.set_weights([w + 1 for w in again.get_weights()])
        np.testing.assert_array_equal(layer(X), y)


class Capsules(unittest.TestCase):
    def test_a_capsule_is_taken_once(self):
        given = Given(X.__dlpack__())
        tensor = dl4.Tensor.from_dlpack(given)
        with self.assertRaises(ValueError):
            dl4.Tensor.from_dlpack(given)
        np.testing.assert_array_equal(tensor.numpy(), X)

    def test_a_capsule_of_another_name(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        memory = ctypes.create_string_buffer(256)
        for name in (b"tensor", None, b"used_dltensor"):
            with self.assertRaises(ValueError):
                dl4.Tensor.from_dlpack(Given(new(ctypes.addressof(memory), name, None)))
        with self.assertRaises(TypeError):
            dl4.Tensor.from_dlpack(Given(3))

    def test_read_only_stays_so(self):
        fixed = X.copy()
        fixed.setflags(write=False)
        tensors = [dl4.Tensor.of(fixed)]
        try:
            fixed.__dlpack__(max_version=(1, 0))
        except (TypeError, BufferError):
            pass  # of a NumPy that can't say it
        else:
            tensors.append(dl4.Tensor.from_dlpack(fixed))
        for tensor in tensors:
            self.assertTrue(tensor.read_only)
            self.assertFalse(tensor.numpy().flags.writeable)
            self.assertFalse(np.asarray(tensor).flags.writeable)
            with self.assertRaises(BufferError):
                tensor.__dlpack__()
            again = dl4.Tensor.from_dlpack(Given(tensor.__dlpack__(max_version=(1, 0))))
            self.assertTrue(again.read_only)
            self.assertFalse(again.numpy().flags.writeable)
            own = dl4.Tensor.from_dlpack(Given(tensor.__dlpack__(copy=True)))
            self.assertTrue(own.numpy().flags.writeable)
        self.assertTrue(dl4.Tensor.from_dlpack(X).numpy().flags.writeable)

    def test_strides_are_followed(self):
        wide = np.arange(12, dtype="float32").reshape(3, 4)
        np.testing.assert_array_equal(dl4.Tensor.from_dlpack(wide[:, ::2]).numpy(), wide[:, ::2])

    def test_what_is_asked_for_is_refused(self):
        for asked in ({"dl_device": (2, 0)}, {"stream": 1}):
            with self.assertRaises(BufferError):
                dl4.Tensor.of(X).__dlpack__(**asked)


class Arrays(unittest.TestCase):
    def test_a_session_runs_arrays(self):
        a, b = keras.Input((4,)), keras.Input((4,), dtype="int32")
        one = keras.Model(a, keras.layers.Dense(2)(a)).core.session()
        expected = one.run([dl4.Tensor.of(X)])[0].numpy()
        for given in (X, [X], X.astype("float64"), [X.tolist()], np.asfortranarray(X)):
            np.testing.assert_array_equal(one.run(given)[0].numpy(), expected)
        np.testing.assert_array_equal(one.bind(X)()[0].numpy(), expected)
        two = keras.Model([a, b], keras.ops.cast(b, "float32") + a).core.session()
        np.testing.assert_array_equal(two.run([X, np.ones((3, 4))])[0].numpy(), X + 1)
        with self.assertRaises(dl4.InvalidArgument):
            two.run(X)


if __name__ == "__main__":
    unittest.main()
