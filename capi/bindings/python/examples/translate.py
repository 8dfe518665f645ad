"""German sentences into English by an encoder and a decoder:   translate.py FOLDER [SEED] [--plain] [--keras]

FOLDER has short-train.tsv and short-test.tsv: lines of a short sentence in English, a tab and the same in German, as
https://www.manythings.org/anki offers them (from Tatoeba, CC BY 2.0), none in both files. --plain: without attention,
the decoder has the encoder's last state alone. Printed: perplexity of the test's words, some translations by the
likeliest next word and by a beam, an alignment."""
import re
import sys
import time

import numpy as np

plain = "--plain" in sys.argv
sys.argv = [a for a in sys.argv if a != "--plain"]
from words import chosen  # noqa: E402

keras, (folder, *seed) = chosen()
seed = int(*seed or [0])
keras.utils.set_random_seed(seed)
LAST, BEGIN, END, OTHER = 12, 1, 2, 3


def read(name):
    pairs = [line.rstrip("\n").split("\t")[:2] for line in open(f"{folder}/{name}", encoding="utf-8")]
    return [[re.findall(r"\w+|[^\w\s]", side.lower()) for side in pair] for pair in pairs]


def vocabulary(sentences):
    counts = {}
    for s in sentences:
        for word in s:
            counts[word] = counts.get(word, 0) + 1
    return ["", "<begin>", "<end>", "<other>"] + sorted(w for w, n in counts.items() if n > 1)


def numbered(sentences, ids, ends=True):
    out = np.zeros((len(sentences), LAST), "int32")
    for row, s in zip(out, sentences):
        s = [ids.get(w, OTHER) for w in s][:LAST - 2]
        s = [BEGIN, *s, END] if ends else s
        row[:len(s)] = s
    return out


train, test = read("short-train.tsv"), read("short-test.tsv")
words = [vocabulary([p[i] for p in train]) for i in (0, 1)]
index = [{w: i for i, w in enumerate(v)} for v in words]


def arrays(pairs):
    english, german = numbered([p[0] for p in pairs], index[0]), numbered([p[1] for p in pairs], index[1], False)
    return [german, english[:, :-1]], english[:, 1:]


units = 192
german, english = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
embedded = keras.layers.Embedding(len(words[1]), 96, mask_zero=True)(german)
encoded = keras.layers.Bidirectional(keras.layers.GRU(units // 2, return_sequences=True))(embedded)
state = keras.layers.GRU(units, name="last")(encoded)
h = keras.layers.GRU(units, return_sequences=True)(
    keras.layers.Embedding(len(words[0]), 96, mask_zero=True)(english), initial_state=[state])
score = None
if not plain:
    context, score = keras.layers.AdditiveAttention()([keras.layers.Dense(units)(h), encoded],
                                                      return_attention_scores=True)
    h = keras.layers.Concatenate()([h, context])
h = keras.layers.Dropout(0.3)(keras.layers.Dense(units, activation="tanh")(h))
model = keras.Model([german, english], keras.layers.Dense(len(words[0]))(h))
model.compile(keras.optimizers.Adam(2e-3, clipnorm=1.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
begin = time.perf_counter()
x, y = arrays(train)
weights = (y != 0).astype("float32")
model.fit(x, y, sample_weight=weights, epochs=6, batch_size=64, verbose=2)


def perplexity(pairs):
    """Of the words and the end, padding left out."""
    x, y = arrays(pairs)
    scores = model.predict(x, batch_size=128, verbose=0).astype("float64")
    scores -= scores.max(-1, keepdims=True)
    chosen = np.take_along_axis(scores - np.log(np.exp(scores).sum(-1, keepdims=True)), y[..., None], -1)[..., 0]
    return np.exp(-chosen[y != 0].mean())


print(f"perplexity {perplexity(test):.2f} after {time.perf_counter() - begin:.0f} s")


def translated(sentence, width=4):
    """By a beam of the best starts; of width 1, the likeliest next word each time."""
    source = numbered([re.findall(r"\w+|[^\w\s]", sentence.lower())], index[1], False)
    beams = [([BEGIN], 0.0)]
    for _ in range(LAST - 2):
        longer = []
        for ids, total in beams:
            if ids[-1] == END:
                longer.append((ids, total))
                continue
            s = model.predict([source, np.array([ids], "int32")], verbose=0)[0, -1].astype("float64")
            s -= s.max()
            s -= np.log(np.exp(s).sum())
            longer += [(ids + [int(i)], total + s[i]) for i in np.argsort(-s)[:width]]
        beams = sorted(longer, key=lambda b: -b[1] / len(b[0]))[:width]
    return beams[0][0]


for sentence in ("Ich habe ein bisschen Deutsch gelernt.", "Wo ist mein Hund?", "Er liest ein Buch."):
    for how, width in (("greedy", 1), ("beam", 4)):
        print(f"{sentence} -> {' '.join(words[0][i] for i in translated(sentence, width)[1:-1])} ({how})")
if score is not None:
    sentence = "Ich habe ein bisschen Deutsch gelernt."
    source, told = numbered([re.findall(r"\w+|[^\w\s]", sentence.lower())], index[1], False), translated(sentence)
    seen = keras.Model([german, english], score).predict([source, np.array([told[:-1]], "int32")], verbose=0)[0]
    german_words = re.findall(r"\w+|[^\w\s]", sentence)
    print(" " * 12 + "".join(f"{w:>10}" for w in german_words))
    for row, i in zip(seen, told[1:]):
        print(f"{words[0][i]:>12}" + "".join(f"{v:10.2f}" for v in row[:len(german_words)]))
