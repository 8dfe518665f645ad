"""A switch transformer: experts chosen by top_k(), capacities by running sums, a balance added by add_loss()."""

import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(32)
vocab_size, T, embed_dim, num_heads, ff_dim, num_experts, batch_size = 20, 6, 8, 2, 8, 3, 4
num_tokens_per_batch = batch_size * T


def load_balanced_loss(router_probs, expert_mask):
    num_experts = ops.shape(expert_mask)[-1]
    density = ops.mean(expert_mask, axis=0)
    density_proxy = ops.mean(router_probs, axis=0)
    return ops.mean(density_proxy * density) * ops.cast((num_experts**2), "float32")


class Router(layers.Layer):
    def __init__(self, num_experts, expert_capacity):
        self.num_experts = num_experts
        self.route = layers.Dense(units=num_experts)
        self.expert_capacity = expert_capacity
        super().__init__()

    def call(self, inputs, training=False):
        router_logits = self.route(inputs)
        router_probs = keras.activations.softmax(router_logits, axis=-1)
        expert_gate, expert_index = ops.top_k(router_probs, k=1)
        expert_mask = ops.one_hot(expert_index, self.num_experts)
        expert_mask = ops.squeeze(expert_mask, axis=1) if len(expert_mask.shape) == 3 else expert_mask
        self.add_loss(load_balanced_loss(router_probs, expert_mask))
        position_in_expert = ops.cast(ops.cumsum(expert_mask, axis=0) * expert_mask, "int32")
        expert_mask *= ops.cast(ops.less(ops.cast(position_in_expert, "int32"), self.expert_capacity), "float32")
        expert_mask_flat = ops.sum(expert_mask, axis=-1)
        expert_gate *= ops.expand_dims(expert_mask_flat, -1)
        chosen = ops.reshape(ops.one_hot(expert_index, self.num_experts), (-1, self.num_experts))
        combined_tensor = ops.expand_dims(expert_gate * chosen, -1) * ops.one_hot(
            position_in_expert, self.expert_capacity
        )
        dispatch_tensor = ops.cast(combined_tensor, "float32")
        return dispatch_tensor, combined_tensor


class Switch(layers.Layer):
    def __init__(self, num_experts, embed_dim, ff_dim, num_tokens_per_batch, capacity_factor=1):
        self.num_experts = num_experts
        self.embed_dim = embed_dim
        self.experts = [
            keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
            for _ in range(num_experts)
        ]
        self.expert_capacity = num_tokens_per_batch // self.num_experts
        self.router = Router(self.num_experts, self.expert_capacity)
        super().__init__()

    def call(self, inputs):
        batch_size = ops.shape(inputs)[0]
        num_tokens_per_example = ops.shape(inputs)[1]
        inputs = ops.reshape(inputs, [num_tokens_per_batch, self.embed_dim])
        dispatch_tensor, combine_tensor = self.router(inputs)
        expert_inputs = ops.einsum("ab,acd->cdb", inputs, dispatch_tensor)
        expert_inputs = ops.reshape(expert_inputs, [self.num_experts, self.expert_capacity, self.embed_dim])
        expert_input_list = ops.unstack(expert_inputs, axis=0)
        expert_output_list = [self.experts[idx](expert_input) for idx, expert_input in enumerate(expert_input_list)]
        expert_outputs = ops.stack(expert_output_list, axis=1)
        expert_outputs_combined = ops.einsum("abc,xba->xc", expert_outputs, combine_tensor)
        return ops.reshape(expert_outputs_combined, [batch_size, num_tokens_per_example, self.embed_dim])


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, x):
        maxlen = ops.shape(x)[-1]
        positions = ops.arange(start=0, stop=maxlen, step=1)
        return self.token_emb(x) + self.pos_emb(positions)


inputs = layers.Input(shape=(T,))
x = TokenAndPositionEmbedding(T, vocab_size, embed_dim)(inputs)
a = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)(x, x)
x = layers.LayerNormalization(epsilon=1e-6)(x + a)
f = Switch(num_experts, embed_dim, ff_dim, num_tokens_per_batch)(x)
x = layers.LayerNormalization(epsilon=1e-6)(x + f)
x = layers.GlobalAveragePooling1D()(x)
outputs = layers.Dense(2, activation="softmax")(x)
m = keras.Model(inputs, outputs)
fill(m)
m.compile(optimizer=keras.optimizers.SGD(0.05), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h = m.fit(r.randint(0, 20, (8, T)), r.randint(0, 2, 8), batch_size=4, epochs=2, shuffle=False, verbose=0)
results = [curves(h), sums(m)]
