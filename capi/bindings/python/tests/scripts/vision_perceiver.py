"""Perceiver: a latent array of one row meets each batch, models made in build(), AdamW."""

import numpy as np
import keras
from keras import layers, activations
from filled import curves, fill, sums

r = np.random.RandomState(3)
x_train, y_train = r.rand(12, 16, 16, 3).astype("float32"), r.randint(0, 10, (12, 1))
patch_size, latent_dim, projection_dim, num_heads = 4, 6, 8, 2
num_patches = 16


def create_ffn(hidden_units, dropout_rate):
    ffn_layers = []
    for units in hidden_units[:-1]:
        ffn_layers.append(layers.Dense(units, activation=activations.gelu))
    ffn_layers.append(layers.Dense(units=hidden_units[-1]))
    ffn_layers.append(layers.Dropout(dropout_rate))
    return keras.Sequential(ffn_layers)


class Patches(layers.Layer):
    def __init__(self, patch_size):
        super().__init__()
        self.patch_size = patch_size

    def call(self, images):
        batch_size = keras.ops.shape(images)[0]
        patches = keras.ops.image.extract_patches(
            images=images,
            size=(self.patch_size, self.patch_size),
            strides=(self.patch_size, self.patch_size),
            dilation_rate=1,
            padding="valid",
        )
        patch_dims = patches.shape[-1]
        patches = keras.ops.reshape(patches, [batch_size, -1, patch_dims])
        return patches


class PatchEncoder(layers.Layer):
    def __init__(self, num_patches, projection_dim):
        super().__init__()
        self.num_patches = num_patches
        self.projection = layers.Dense(units=projection_dim)
        self.position_embedding = layers.Embedding(input_dim=num_patches, output_dim=projection_dim)

    def call(self, patches):
        positions = keras.ops.arange(start=0, stop=self.num_patches, step=1)
        encoded = self.projection(patches) + self.position_embedding(positions)
        return encoded


def create_cross_attention_module(latent_dim, data_dim, projection_dim, ffn_units, dropout_rate):
    inputs = {
        "latent_array": layers.Input(shape=(latent_dim, projection_dim), name="latent_array"),
        "data_array": layers.Input(shape=(data_dim, projection_dim), name="data_array"),
    }
    latent_array = layers.LayerNormalization(epsilon=1e-6)(inputs["latent_array"])
    data_array = layers.LayerNormalization(epsilon=1e-6)(inputs["data_array"])
    query = layers.Dense(units=projection_dim)(latent_array)
    key = layers.Dense(units=projection_dim)(data_array)
    value = layers.Dense(units=projection_dim)(data_array)
    attention_output = layers.Attention(use_scale=True, dropout=dropout_rate)(
        [query, key, value], return_attention_scores=False
    )
    attention_output = layers.Add()([attention_output, latent_array])
    attention_output = layers.LayerNormalization(epsilon=1e-6)(attention_output)
    ffn = create_ffn(hidden_units=ffn_units, dropout_rate=dropout_rate)
    outputs = ffn(attention_output)
    outputs = layers.Add()([outputs, attention_output])
    return keras.Model(inputs=inputs, outputs=outputs)


def create_transformer_module(latent_dim, projection_dim, num_heads, num_transformer_blocks, ffn_units, dropout_rate):
    inputs = layers.Input(shape=(latent_dim, projection_dim))
    x0 = inputs
    for _ in range(num_transformer_blocks):
        x1 = layers.LayerNormalization(epsilon=1e-6)(x0)
        attention_output = layers.MultiHeadAttention(num_heads=num_heads, key_dim=projection_dim, dropout=0.0)(x1, x1)
        x2 = layers.Add()([attention_output, x0])
        x3 = layers.LayerNormalization(epsilon=1e-6)(x2)
        ffn = create_ffn(hidden_units=ffn_units, dropout_rate=dropout_rate)
        x3 = ffn(x3)
        x0 = layers.Add()([x3, x2])
    return keras.Model(inputs=inputs, outputs=x0)


class Perceiver(keras.Model):
    def __init__(self, patch_size, data_dim, latent_dim, projection_dim, num_heads, num_iterations, classifier_units):
        super().__init__()
        self.latent_dim = latent_dim
        self.data_dim = data_dim
        self.patch_size = patch_size
        self.projection_dim = projection_dim
        self.num_heads = num_heads
        self.num_iterations = num_iterations
        self.classifier_units = classifier_units

    def build(self, input_shape):
        self.latent_array = self.add_weight(
            shape=(self.latent_dim, self.projection_dim),
            initializer="random_normal",
            trainable=True,
        )
        self.patch_encoder = PatchEncoder(self.data_dim, self.projection_dim)
        self.patcher = Patches(self.patch_size)
        self.cross_attention = create_cross_attention_module(
            self.latent_dim, self.data_dim, self.projection_dim, [8, self.projection_dim], 0.0
        )
        self.transformer = create_transformer_module(
            self.latent_dim, self.projection_dim, self.num_heads, 1, [8, self.projection_dim], 0.0
        )
        self.global_average_pooling = layers.GlobalAveragePooling1D()
        self.classification_head = create_ffn(hidden_units=self.classifier_units, dropout_rate=0.0)
        super().build(input_shape)

    def call(self, inputs):
        patches = self.patcher(inputs)
        encoded_patches = self.patch_encoder(patches)
        cross_attention_inputs = {
            "latent_array": keras.ops.expand_dims(self.latent_array, 0),
            "data_array": encoded_patches,
        }
        for _ in range(self.num_iterations):
            latent_array = self.cross_attention(cross_attention_inputs)
            latent_array = self.transformer(latent_array)
            cross_attention_inputs["latent_array"] = latent_array
        representation = self.global_average_pooling(latent_array)
        logits = self.classification_head(representation)
        return logits


model = Perceiver(patch_size, num_patches, latent_dim, projection_dim, num_heads, 2, [8, 10])
model(keras.Input((16, 16, 3)))
fill(model)
model.compile(
    optimizer=keras.optimizers.AdamW(learning_rate=0.001, weight_decay=0.0001),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[
        keras.metrics.SparseCategoricalAccuracy(name="acc"),
        keras.metrics.SparseTopKCategoricalAccuracy(5, name="top5-acc"),
    ],
)
reduce_lr = keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.2, patience=3)
history = model.fit(
    x=x_train, y=y_train, batch_size=4, epochs=2, validation_split=0.34, callbacks=[reduce_lr], shuffle=False, verbose=0
)
results = [curves(history), sums(model), model.predict(x_train[:3], verbose=0)]
