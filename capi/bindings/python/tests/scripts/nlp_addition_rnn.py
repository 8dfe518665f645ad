"""Numbers added by characters: RepeatVector, return_sequences, teacher of one-hot digits."""

import numpy as np
import keras
from keras import layers
from filled import curves, fill

TRAINING_SIZE, DIGITS, REVERSE = 60, 2, True
MAXLEN = DIGITS + 1 + DIGITS


class CharacterTable:
    def __init__(self, chars):
        self.chars = sorted(set(chars))
        self.char_indices = dict((c, i) for i, c in enumerate(self.chars))
        self.indices_char = dict((i, c) for i, c in enumerate(self.chars))

    def encode(self, C, num_rows):
        x = np.zeros((num_rows, len(self.chars)))
        for i, c in enumerate(C):
            x[i, self.char_indices[c]] = 1
        return x

    def decode(self, x, calc_argmax=True):
        if calc_argmax:
            x = x.argmax(axis=-1)
        return "".join(self.indices_char[x] for x in x)


chars = "0123456789+ "
ctable = CharacterTable(chars)
r = np.random.RandomState(16)
questions, expected = [], []
while len(questions) < TRAINING_SIZE:
    a, b = int(r.randint(0, 100)), int(r.randint(0, 100))
    q = "{}+{}".format(a, b)
    query = q + " " * (MAXLEN - len(q))
    ans = str(a + b)
    ans += " " * (DIGITS + 1 - len(ans))
    questions.append(query[::-1] if REVERSE else query)
    expected.append(ans)
x = np.zeros((len(questions), MAXLEN, len(chars)), dtype=bool)
y = np.zeros((len(questions), DIGITS + 1, len(chars)), dtype=bool)
for i, sentence in enumerate(questions):
    x[i] = ctable.encode(sentence, MAXLEN)
for i, sentence in enumerate(expected):
    y[i] = ctable.encode(sentence, DIGITS + 1)
split_at = len(x) - len(x) // 10
(x_train, x_val), (y_train, y_val) = (x[:split_at], x[split_at:]), (y[:split_at], y[split_at:])
print(x_train.shape, y_train.shape)

model = keras.Sequential()
model.add(layers.Input((MAXLEN, len(chars))))
model.add(layers.LSTM(16))
model.add(layers.RepeatVector(DIGITS + 1))
for _ in range(1):
    model.add(layers.LSTM(16, return_sequences=True))
model.add(layers.Dense(len(chars), activation="softmax"))
fill(model)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.summary()
lines, histories = [], []
for epoch in range(1, 3):
    history = model.fit(x_train, y_train, batch_size=18, epochs=1, validation_data=(x_val, y_val), shuffle=False)
    histories.append(curves(history))
    for ind in range(3):
        rowx, rowy = x_val[np.array([ind])], y_val[np.array([ind])]
        preds = np.argmax(model.predict(rowx, verbose=0), axis=-1)
        lines.append(ctable.decode(rowx[0]) + "|" + ctable.decode(rowy[0]) + "|" + ctable.decode(preds[0], False))
results = [histories, lines]
