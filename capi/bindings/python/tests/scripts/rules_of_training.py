"""Whether layers train within fit(): a model whose call() takes no `training` is not told, as in Keras; layers and
inner models find it in the outer call. _compute_loss() of one's own."""

import numpy as np
import keras
from keras import layers
from filled import curves, fill

r = np.random.RandomState(62)
x, y = r.rand(32, 4).astype("float32"), r.rand(32, 2)


class Plain(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(8, activation="relu")
        self.norm = layers.BatchNormalization()
        self.drop = layers.Dropout(0.5)
        self.out = layers.Dense(2)

    def call(self, x):
        return self.out(self.drop(self.norm(self.dense(x))))


class Told(Plain):
    def call(self, x, training=None):
        return self.out(self.norm(self.dense(x)))


class Passing(Plain):
    def call(self, x, training=False):
        return self.out(self.norm(self.dense(x), training=training))


class Keywords(Plain):
    def call(self, x, **kwargs):
        return self.out(self.norm(self.dense(x)))


class Inner(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = layers.BatchNormalization()
        self.out = layers.Dense(2)

    def call(self, x):
        return self.out(self.norm(x))


class Outer(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def call(self, x):
        return self.inner(x)


class OuterTold(Outer):
    def call(self, x, training=None):
        return self.inner(x)


class InnerModel(Plain):
    def call(self, x):
        return self.out(self.norm(self.dense(x)))


class Stepping(InnerModel):
    def train_step(self, data):
        return super().train_step(data)


class Doubled(Told):
    def _compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return 2.0 * super()._compute_loss(x, y, y_pred, sample_weight, training)


def functional(layer):
    inputs = keras.Input((4,))
    return keras.Model(inputs, layer(inputs))


results = []
for make in (
    Plain,
    Told,
    Passing,
    Keywords,
    Outer,
    OuterTold,
    lambda: functional(Inner()),
    lambda: functional(InnerModel()),
    lambda: keras.Sequential([keras.Input((4,)), InnerModel()]),
    Stepping,
    Doubled,
):
    model = make()
    model(x[:1])
    fill(model)
    model.compile("sgd", "mse")
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0, validation_data=(x, y))
    kept = [np.abs(np.array(w)).sum() for w in model.non_trainable_weights if "seed" not in w.path]
    results += [curves(history), kept, model.evaluate(x, y, verbose=0), model.train_on_batch(x, y)]
