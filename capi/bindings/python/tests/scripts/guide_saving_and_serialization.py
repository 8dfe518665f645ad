"""Saving: whole models, custom objects by scope and by registration, configs, own compile configs, weights between
models, stateful files of layers."""

import os
import tempfile

import numpy as np
import keras
from keras import ops
from filled import fill

folder = tempfile.mkdtemp()
r = np.random.RandomState(71)
test_input, test_target = r.random_sample((32, 8)), r.random_sample((32, 1))


@keras.saving.register_keras_serializable(package="MyLayers")
class CustomLayer(keras.layers.Layer):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def call(self, x):
        return x * self.factor

    def get_config(self):
        return {"factor": self.factor}


@keras.saving.register_keras_serializable(package="my_package", name="custom_fn")
def custom_fn(x):
    return x**2


def get_model():
    inputs = keras.Input(shape=(4,))
    mid = CustomLayer(0.5)(inputs)
    outputs = keras.layers.Dense(1, activation=custom_fn)(mid)
    model = fill(keras.Model(inputs, outputs))
    model.compile(optimizer="rmsprop", loss="mean_squared_error")
    return model


model = get_model()
first = model.fit(test_input[:, :4], test_target, epochs=1, shuffle=False, verbose=0).history["loss"]
model.save(os.path.join(folder, "custom_model.keras"))
reconstructed = keras.models.load_model(os.path.join(folder, "custom_model.keras"))
np.testing.assert_allclose(model.predict(test_input[:, :4]), reconstructed.predict(test_input[:, :4]), 1e-6)
both = (model, reconstructed)
second = [m.fit(test_input[:, :4], test_target, shuffle=False, verbose=0).history["loss"] for m in both]

config = get_model().get_config()
again = keras.Model.from_config(config)
with keras.saving.custom_object_scope({"CustomLayer": CustomLayer, "custom_fn": custom_fn}):
    scoped = keras.models.clone_model(model)
sequential = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
fill(sequential)
json_config = sequential.to_json()
from_json = keras.models.model_from_json(json_config)
from_json.set_weights(sequential.get_weights())

path = os.path.join(folder, "ckpt.weights.h5")
sequential.save_weights(path)
twin = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
twin.load_weights(path)
assert len(sequential.weights) == len(twin.weights)
for a, b in zip(sequential.weights, twin.weights):
    np.testing.assert_allclose(a.numpy(), b.numpy())

pretrained = fill(keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, activation="relu", name="extractor")]))
with_head = keras.Sequential(pretrained.layers[:] + [keras.layers.Dense(2, name="head")])
with_head.build((None, 8))
with_head.get_layer("extractor").set_weights(pretrained.get_layer("extractor").get_weights())
layer = keras.layers.Dense(3, activation="relu")
layer_config = layer.get_config()
new_layer = keras.layers.Dense.from_config(layer_config)
serialized = keras.saving.serialize_keras_object(keras.optimizers.Adam(0.01))
optimizer = keras.saving.deserialize_keras_object(serialized)


class StackOfLayers(keras.Model):
    def __init__(self, units, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.units = units
        self.blocks = [keras.layers.Dense(u, activation="tanh") for u in units]

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return ops.mean(x, axis=-1)

    def get_config(self):
        return {"units": self.units, "name": self.name}


stack = StackOfLayers([5, 3], name="stack")
stack(test_input)
fill(stack)
stack.save(os.path.join(folder, "stack.keras"))
loaded = keras.models.load_model(os.path.join(folder, "stack.keras"), custom_objects={"StackOfLayers": StackOfLayers})
results = [
    first,
    second,
    again.count_params(),
    [layer.__class__.__name__ for layer in scoped.layers],
    from_json.predict(test_input, verbose=0),
    twin.predict(test_input[:3], verbose=0),
    [w.path.split("/")[-1] for w in with_head.weights],
    new_layer.units,
    type(optimizer).__name__,
    float(optimizer.learning_rate),
    loaded.predict(test_input[:4], verbose=0),
]
