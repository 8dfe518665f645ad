"""Collaborative filtering by dot products of embeddings, as a subclassed model with saved weights and top picks."""

import os
import tempfile

import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill

num_users, num_movies, EMBEDDING_SIZE = 8, 12, 5
r = np.random.RandomState(32)
x = np.stack([r.randint(0, num_users, 60), r.randint(0, num_movies, 60)], 1)
ratings = r.uniform(0.5, 5, 60)
min_rating, max_rating = min(ratings), max(ratings)
y = (ratings - min_rating) / (max_rating - min_rating)
x_train, x_val, y_train, y_val = x[:48], x[48:], y[:48], y[48:]


class RecommenderNet(keras.Model):
    def __init__(self, num_users, num_movies, embedding_size, **kwargs):
        super().__init__(**kwargs)
        self.num_users = num_users
        self.num_movies = num_movies
        self.embedding_size = embedding_size
        self.user_embedding = layers.Embedding(
            num_users,
            embedding_size,
            embeddings_initializer="he_normal",
            embeddings_regularizer=keras.regularizers.l2(1e-6),
        )
        self.user_bias = layers.Embedding(num_users, 1)
        self.movie_embedding = layers.Embedding(
            num_movies,
            embedding_size,
            embeddings_initializer="he_normal",
            embeddings_regularizer=keras.regularizers.l2(1e-6),
        )
        self.movie_bias = layers.Embedding(num_movies, 1)

    def call(self, inputs):
        user_vector = self.user_embedding(inputs[:, 0])
        user_bias = self.user_bias(inputs[:, 0])
        movie_vector = self.movie_embedding(inputs[:, 1])
        movie_bias = self.movie_bias(inputs[:, 1])
        dot_user_movie = ops.tensordot(user_vector, movie_vector, 2)
        x = dot_user_movie + user_bias + movie_bias
        return ops.nn.sigmoid(x)


model = RecommenderNet(num_users, num_movies, EMBEDDING_SIZE)
model(x_train[:2])
fill(model)
model.compile(
    loss=keras.losses.BinaryCrossentropy(),
    optimizer=keras.optimizers.SGD(learning_rate=0.01),
    metrics=[keras.metrics.RootMeanSquaredError()],
)
history = model.fit(
    x=x_train, y=y_train, batch_size=16, epochs=3, verbose=1, validation_data=(x_val, y_val), shuffle=False
)
user_id = 3
movies_not_watched = np.array([[m] for m in range(num_movies)])
user_movie_array = np.hstack(([[user_id]] * len(movies_not_watched), movies_not_watched))
predicted = model.predict(user_movie_array).flatten()
top_ratings_indices = predicted.argsort()[-5:][::-1]
path = os.path.join(tempfile.mkdtemp(), "rec.weights.h5")
model.save_weights(path)
results = [curves(history), predicted, top_ratings_indices, os.path.isfile(path)]
results.append([w.path.split("/")[-1] for w in model.weights])
