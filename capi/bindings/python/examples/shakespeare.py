"""The next character of Shakespeare:   shakespeare.py input.txt [SEED] [--keras]

input.txt stands in data/tinyshakespeare of https://github.com/karpathy/char-rnn. Two LSTM on windows
of 128 characters; the last tenth of the text is for the test, in nats a character."""
import time

import numpy as np

from words import chosen

keras, (path, *seed) = chosen()
seed = int(*seed or [0])
keras.utils.set_random_seed(seed)
text = open(path).read()
letters = sorted(set(text))
ids = np.array([letters.index(c) for c in text])
split, steps, batch = len(ids) * 9 // 10, 128, 64

def net(**arguments):
    """Scores of the next character at each step; what the LSTM carry is kept between calls where stateful is true."""
    x = keras.Input(dtype="int32", **({"batch_shape": (1, None)} if arguments else {"shape": (None,)}))
    h = keras.layers.Embedding(len(letters), 64)(x)
    for units in (256, 256):
        h = keras.layers.LSTM(units, return_sequences=True, **arguments)(h)
        h = keras.layers.Dropout(0.1)(h)
    return keras.Model(x, keras.layers.Dense(len(letters))(h))


model = net()
model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(4e-3, 2400, alpha=0.02), clipnorm=1.0),
              keras.losses.SparseCategoricalCrossentropy(from_logits=True))
r = np.random.RandomState(seed)


def windows():
    while True:
        starts = r.randint(0, split - steps - 1, batch)
        part = ids[starts[:, None] + np.arange(steps + 1)]
        yield part[:, :-1], part[:, 1:]


begin = time.perf_counter()
model.fit(windows(), steps_per_epoch=200, epochs=12, verbose=2)
rest = ids[split:]
n = (len(rest) - 1) // 512
loss = model.evaluate(rest[:n * 512].reshape(n, 512), rest[1:n * 512 + 1].reshape(n, 512), batch_size=16, verbose=0)
print(f"{loss:.3f} nats a character after {time.perf_counter() - begin:.0f} s")
stream = net(stateful=True)
stream.set_weights(model.get_weights())
told, scores = [], stream.predict(ids[None, :200], verbose=0)
for _ in range(400):
    p = np.exp((scores[0, -1] - scores[0, -1].max()).astype("float64") / 0.8)
    told.append(r.choice(len(letters), p=p / p.sum()))
    scores = stream.predict(np.array([[told[-1]]]), verbose=0)
print("".join(letters[i] for i in told))
