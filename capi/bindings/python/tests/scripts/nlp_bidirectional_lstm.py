"""Sentiment by two bidirectional LSTMs on sequences of any length."""

import numpy as np
from tensorflow import keras
from tensorflow.keras.layers import LSTM, Bidirectional, Dense, Embedding
from tensorflow.keras.preprocessing.sequence import pad_sequences
from filled import curves, fill

max_features = 40
maxlen = 10
r = np.random.RandomState(15)
x_train = [r.randint(1, max_features, r.randint(2, 14)).tolist() for _ in range(24)]
y_train = r.randint(0, 2, 24)
print(len(x_train), "Training sequences")
x_train = pad_sequences(x_train, maxlen=maxlen, padding="post", truncating="post")

inputs = keras.Input(shape=(None,), dtype="int32")
x = Embedding(max_features, 8)(inputs)
x = Bidirectional(LSTM(6, return_sequences=True))(x)
x = Bidirectional(LSTM(6))(x)
outputs = Dense(1, activation="sigmoid")(x)
model = keras.Model(inputs, outputs)
model.summary()
fill(model)
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=8, epochs=2, validation_split=0.25, shuffle=False)
results = [x_train[:3], curves(history), model.predict(x_train[:4]).ravel(), model.get_layer("bidirectional").name]
