"""External attention on patches, with images changed at random in front."""

import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(6)
x_train, y_train = r.rand(12, 16, 16, 3).astype("float32"), keras.utils.to_categorical(r.randint(0, 5, 12), 5)
data_augmentation = keras.Sequential(
    [
        layers.Normalization(),
        layers.RandomFlip("horizontal"),
        layers.RandomRotation(factor=0.1),
        layers.RandomContrast(factor=0.1),
        layers.RandomZoom(height_factor=0.2, width_factor=0.2),
    ],
    name="data_augmentation",
)
data_augmentation.layers[0].adapt(x_train)


class PatchExtract(layers.Layer):
    def __init__(self, patch_size, **kwargs):
        super().__init__(**kwargs)
        self.patch_size = patch_size

    def call(self, x):
        B, C = ops.shape(x)[0], ops.shape(x)[-1]
        x = ops.image.extract_patches(x, self.patch_size)
        x = ops.reshape(x, (B, -1, self.patch_size * self.patch_size * C))
        return x


class PatchEmbedding(layers.Layer):
    def __init__(self, num_patch, embed_dim, **kwargs):
        super().__init__(**kwargs)
        self.num_patch = num_patch
        self.proj = layers.Dense(embed_dim)
        self.pos_embed = layers.Embedding(input_dim=num_patch, output_dim=embed_dim)

    def call(self, patch):
        pos = ops.arange(start=0, stop=self.num_patch, step=1)
        return self.proj(patch) + self.pos_embed(pos)


def external_attention(x, dim, num_heads, dim_coefficient=4, attention_dropout=0, projection_dropout=0):
    _, num_patch, channel = x.shape
    assert dim % num_heads == 0
    num_heads = num_heads * dim_coefficient
    x = layers.Dense(dim * dim_coefficient)(x)
    x = ops.reshape(x, (-1, num_patch, num_heads, dim * dim_coefficient // num_heads))
    x = ops.transpose(x, axes=[0, 2, 1, 3])
    attn = layers.Dense(dim // dim_coefficient)(x)
    attn = layers.Softmax(axis=2)(attn)
    attn = layers.Lambda(
        lambda attn: ops.divide(attn, ops.convert_to_tensor(1e-9) + ops.sum(attn, axis=-1, keepdims=True))
    )(attn)
    attn = layers.Dropout(attention_dropout)(attn)
    x = layers.Dense(dim * dim_coefficient // num_heads)(attn)
    x = ops.transpose(x, axes=[0, 2, 1, 3])
    x = ops.reshape(x, [-1, num_patch, dim * dim_coefficient])
    x = layers.Dense(dim)(x)
    x = layers.Dropout(projection_dropout)(x)
    return x


def mlp(x, embedding_dim, mlp_dim, drop_rate=0.0):
    x = layers.Dense(mlp_dim, activation=ops.gelu)(x)
    x = layers.Dropout(drop_rate)(x)
    x = layers.Dense(embedding_dim)(x)
    return x


def transformer_encoder(x, embedding_dim, mlp_dim, num_heads, attention_type="external_attention"):
    residual_1 = x
    x = layers.LayerNormalization(epsilon=1e-5)(x)
    if attention_type == "external_attention":
        x = external_attention(x, embedding_dim, num_heads)
    else:
        x = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embedding_dim)(x, x)
    x = layers.add([x, residual_1])
    residual_2 = x
    x = layers.LayerNormalization(epsilon=1e-5)(x)
    x = mlp(x, embedding_dim, mlp_dim)
    return layers.add([x, residual_2])


def get_model(attention_type):
    inputs = layers.Input(shape=(16, 16, 3))
    x = data_augmentation(inputs)
    x = PatchExtract(4)(x)
    x = PatchEmbedding(16, 8)(x)
    for _ in range(2):
        x = transformer_encoder(x, 8, 8, 4 if attention_type == "external_attention" else 2, attention_type)
    x = layers.GlobalAveragePooling1D()(x)
    outputs = layers.Dense(5, activation="softmax")(x)
    return keras.Model(inputs=inputs, outputs=outputs)


results = []
for kind in ("external_attention", "self_attention"):
    model = get_model(kind)
    fill(model)
    model.compile(
        loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
        optimizer=keras.optimizers.AdamW(learning_rate=1e-3, weight_decay=1e-4),
        metrics=[
            keras.metrics.CategoricalAccuracy(name="accuracy"),
            keras.metrics.TopKCategoricalAccuracy(5, name="top-5-accuracy"),
        ],
    )
    results += [model.evaluate(x_train, y_train, verbose=0), model.predict(x_train, verbose=0)]
    h = model.fit(x_train, y_train, batch_size=6, epochs=1, validation_split=0.1, verbose=0)
    results.append(" ".join(sorted(h.history)))
