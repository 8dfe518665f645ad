"""What layers of one's own have of Keras's base class."""

import copy
import pickle
import unittest
import warnings

import dl4.keras as keras
import numpy as np
from dl4.keras import layers, ops

X = np.random.RandomState(0).rand(2, 3).astype("float32")
S = np.random.RandomState(1).rand(2, 4, 3).astype("float32")


class Own(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units, self.dense = units, layers.Dense(units)

    def build(self, shape):
        self.w = self.add_weight((shape[-1], self.units), name="w")

    def call(self, x):
        return self.dense(x) + ops.matmul(x, self.w)


class Around(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.own = Own(2)

    def call(self, x):
        return self.own(x)


class Shapes(unittest.TestCase):
    def test_by_the_names_of_arguments(self):
        class Turned(layers.Layer):
            def build(self, b_shape, a_shape):
                self.seen = a_shape, b_shape

            def call(self, a, b, b_mask=None):
                return a[:, 0] + b[:, 0, 0]

        for call in (lambda t: t(X, S), lambda t: t(b=S, a=X), lambda t: t(X, S, b_mask=X > 0)):
            turned = Turned()
            call(turned)
            self.assertEqual(turned.seen, (X.shape, S.shape))
        turned = Turned()
        turned(keras.Input((3,)), b=keras.Input((4, 3)))
        self.assertEqual(turned.seen, ((None, 3), (None, 4, 3)))

    def test_names_that_say_nothing(self):
        class Other(layers.Layer):
            def build(self, a_shape, c_shape):
                pass

            def call(self, a, b):
                return a

        class Plain(Other):
            def build(self, a_shape, b):
                pass

        with self.assertRaisesRegex(ValueError, r"`c_shape`, but `call\(\)` does not have argument `c`"):
            Other()(X, X)
        with self.assertRaisesRegex(ValueError, "argument `b`, which does not end in `_shape`"):
            Plain()(X, X)


class State(unittest.TestCase):
    def test_no_weights_in_call(self):
        class Late(layers.Layer):
            def call(self, x):
                return x + self.add_weight((1,))

        for x in (X, keras.Input((3,))):
            with self.assertRaisesRegex(ValueError, "cannot add new elements of state"):
                Late()(x)

    def test_before_init(self):
        class Early(layers.Layer):
            def __init__(self):
                self.w = keras.Variable([1.0, 2.0])
                super().__init__()

        self.assertEqual(len(Early().weights), 1)

    def test_a_variable_that_it_has_no_more(self):
        own = Own(2)
        own(X)
        own._untrack_variable(own.w)
        self.assertEqual([w.name for w in own.weights], ["kernel", "bias"])
        self.assertEqual([layer.name for layer in own._layers], [own.dense.name])

    def test_arguments_of_add_weight(self):
        layer = layers.Layer()
        with self.assertRaisesRegex(ValueError, "pass `name` as a keyword argument"):
            layer.add_weight("kernel", shape=(2,))
        with self.assertRaisesRegex(ValueError, "`shape` was passed both positionally and as a keyword"):
            layer.add_weight((2,), shape=(2,))
        with self.assertRaisesRegex(TypeError, "takes at most 3 positional arguments"):
            layer.add_weight((2,), "zeros", "float32", "name")
        self.assertEqual(layer.add_weight((2,), "ones", "float32", name="w").shape, (2,))

    def test_nothing_given(self):
        class Nothing(layers.Layer):
            def call(self, x):
                self.seen = x

        layer = Nothing()
        self.assertIsNone(layer(X))
        np.testing.assert_array_equal(layer.seen, X)

    def test_one_layer_in_two_models(self):
        """Its variables are those of the layer, in each of the models that it is in."""
        around = Around()
        around(X)
        for _ in range(2):
            i = keras.Input((3,))
            model = keras.Model(i, around(i))
            self.assertEqual([layer.name for layer in model.layers], [model.layers[0].name, around.name])
            self.assertEqual(len(model.weights), 3)
            again = keras.Model.from_config(model.get_config(), {"Around": Around})
            self.assertEqual(len(again.layers), 2)

    def test_configs(self):
        policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
        self.assertEqual(Own(2).get_config()["dtype"], policy)
        self.assertEqual(layers.Dense(2).get_config()["dtype"], policy)
        self.assertEqual(layers.ZeroPadding2D((1, 2)).get_config()["padding"], ((1, 1), (2, 2)))
        self.assertEqual(layers.ZeroPadding1D(2).padding, (2, 2))
        self.assertEqual(layers.Cropping3D(1).cropping, ((1, 1),) * 3)
        crop = layers.Cropping2D(((0, 1), (1, 0)))
        self.assertEqual(layers.Cropping2D.from_config(crop.get_config()).cropping, crop.cropping)

    def test_seeds_in_configs(self):
        config = keras.saving.serialize_keras_object(keras.random.SeedGenerator(42, name="seeds"))
        self.assertEqual(config["module"], "keras.random")
        again = keras.saving.deserialize_keras_object(config)
        self.assertEqual((again.get_config(), again.state.tolist()), ({"seed": 42, "name": "seeds"}, [42, 0]))

    def test_axes_that_an_equation_has_not(self):
        self.assertEqual(layers.EinsumDense("ab,b->a", 4)(X).shape, (2,))
        self.assertEqual(layers.EinsumDense("ab,bc->ac", 4)(X).shape, (2, 4))

    def test_masks_that_are_passed_on(self):
        for layer, passes in ((layers.Dense(2), True), (layers.Conv1D(2, 2), False), (layers.LSTM(2), True)):
            self.assertEqual(layer.supports_masking, passes)


class Types(unittest.TestCase):
    def test_inputs_of_other_types(self):
        """Whole numbers are exact; of floats there is float32."""
        x = np.array([[0, 100, 120]])
        for dtype in ("int8", "int16", "uint16", "uint32", "float16", "float64"):
            i = keras.Input((3,), dtype=dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = keras.Model(i, layers.Rescaling(0.5)(i))
            model.compile("sgd", "mse")
            for got in (model.predict(x.astype(dtype), verbose=0), model(x.astype(dtype))):
                np.testing.assert_array_equal(got, x / 2)
            self.assertEqual(model.evaluate(x.astype(dtype), x / 2, verbose=0), 0)
            self.assertEqual(keras.Model.from_config(model.get_config()).inputs[0].dtype, dtype)
        with self.assertRaisesRegex(NotImplementedError, "uint64"):
            layers.Rescaling(0.5)(keras.Input((3,), dtype="uint64"))


class Copies(unittest.TestCase):
    def test_layers(self):
        for layer, *given in (
            (layers.Dense(2), X),
            (layers.Add(), [X, X]),
            (layers.LSTM(2), S),
            (layers.MultiHeadAttention(2, 2), S, S),
            (layers.Bidirectional(layers.LSTM(2)), S),
            (layers.TimeDistributed(Own(2)), S),
            (Own(2), X),
            (Around(), X),
        ):
            with self.subTest(layer):
                self.assertEqual(copy.deepcopy(layer).name, layer.name)
                y = layer(*given)
                for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
                    self.assertIsNot(again, layer)
                    np.testing.assert_array_equal(again(*given), y)
                    again.set_weights([w + 1 for w in again.get_weights()])
                np.testing.assert_array_equal(layer(*given), y)


if __name__ == "__main__":
    unittest.main()
