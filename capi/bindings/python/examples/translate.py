"""German sentences into English by an encoder and a decoder:
    translate.py FOLDER [SEED] [--plain | --transformer] [--keras]

FOLDER has short-train.tsv and short-test.tsv: lines of a short sentence in English, a tab and the same in German, as
https://www.manythings.org/anki offers them (from Tatoeba, CC BY 2.0), none in both files. --plain: without attention,
the decoder has the encoder's last state alone; --transformer: attention alone, two blocks a side. Printed: perplexity
of the test's words, some translations by the likeliest next word and by a beam, an alignment."""
import re
import sys
import time

import numpy as np

plain, transformer = "--plain" in sys.argv, "--transformer" in sys.argv
sys.argv = [a for a in sys.argv if a not in ("--plain", "--transformer")]
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
L = keras.layers
german, english = keras.Input((LAST,), dtype="int32"), keras.Input((LAST - 1,), dtype="int32")


def recurrent():
    """The decoder's outputs and, with attention, its scores."""
    encoded = L.Bidirectional(L.GRU(units // 2, return_sequences=True))(
        L.Embedding(len(words[1]), 96, mask_zero=True)(german))
    h = L.GRU(units, return_sequences=True)(L.Embedding(len(words[0]), 96, mask_zero=True)(english),
                                            initial_state=[L.GRU(units, name="last")(encoded)])
    if plain:
        return h, None
    context, score = L.AdditiveAttention()([h, encoded], return_attention_scores=True)
    return L.Concatenate()([h, context]), score


def placed(ids, count):
    """Words and their places from 1; a place without a word is masked."""
    places = keras.ops.cumsum(ids * 0 + 1, axis=1) * keras.ops.cast(keras.ops.not_equal(ids, 0), "int32")
    return L.Add()([L.Embedding(count, units, mask_zero=True)(ids),
                    L.Embedding(LAST + 1, units, mask_zero=True)(places)])


def attended(h, source, **arguments):
    seen, score = L.MultiHeadAttention(4, units // 4, dropout=0.1)(h, source, return_attention_scores=True, **arguments)
    return L.LayerNormalization()(L.Add()([h, seen])), score


def widened(h):
    wide = L.Dense(units)(L.Dropout(0.1)(L.Dense(2 * units, activation="relu")(h)))
    return L.LayerNormalization()(L.Add()([h, wide]))


def attention_alone():
    encoded, h, score = placed(german, len(words[1])), placed(english, len(words[0])), None
    for _ in range(2):
        encoded = widened(attended(encoded, encoded)[0])
    for _ in range(2):
        h, score = attended(attended(h, h, use_causal_mask=True)[0], encoded)
        h = widened(h)
    return h, keras.ops.mean(score, axis=1)


h, score = attention_alone() if transformer else recurrent()
h = L.Dropout(0.3)(L.Dense(units, activation="tanh")(h))
model = keras.Model([german, english], L.Dense(len(words[0]))(h))
model.compile(keras.optimizers.Adam(1e-3, clipnorm=1.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
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


def padded(ids):
    return np.array([ids + [0] * (LAST - 1 - len(ids))], "int32")


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
            s = model.predict([source, padded(ids)], verbose=0)[0, len(ids) - 1].astype("float64")
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
    seen = keras.Model([german, english], score).predict([source, padded(told[:-1])], verbose=0)[0]
    german_words = re.findall(r"\w+|[^\w\s]", sentence)
    print(" " * 12 + "".join(f"{w:>10}" for w in german_words))
    for row, i in zip(seen, told[1:]):
        print(f"{words[0][i]:>12}" + "".join(f"{v:10.2f}" for v in row[:len(german_words)]))
