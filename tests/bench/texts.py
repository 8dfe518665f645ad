#!/usr/bin/env python3
"""Layers for texts beside Keras on TensorFlow, one thread, processor time: texts.py [REVIEWS [ROUNDS]]

Of the library that DL4_LIBRARY names. Both take tensors of strings that are made before, and their answers are compared.
The rounds alternate, and the least time of each counts. The table is Markdown. Needs TensorFlow and Keras 3."""

import os
import pathlib
import sys
import time

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi" / "bindings" / "python"))

import dl4  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
import keras  # noqa: E402


def words(count, rng):
    """Distinct words of 2 to 11 letters."""
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    made = {}
    while len(made) < count:
        made["".join(rng.choice(letters, rng.integers(2, 12)))] = None
    return list(made)


def reviews(known, count, rng):
    """Of 200 words each, the frequent ones first, with capitals and punctuation."""
    places = np.minimum(rng.zipf(1.2, count * 200) - 1, len(known) - 1).reshape(count, 200)
    marks = ["", "", "", "", "", "", "", ",", ".", "!"]
    table = np.array([[w + m for m in marks] + [w.capitalize()] for w in known], dtype=object)
    which = rng.integers(0, 11, places.shape)
    return [" ".join(row) for row in table[places, which]]


def cases(count):
    rng = np.random.default_rng(1)
    known = words(20_000, rng)
    texts = reviews(known, count, rng)
    many = words(100_000, rng)
    flat = [many[i] for i in rng.integers(0, len(many), 10 * count)]
    config = {"vocabulary": known[:10_000], "max_tokens": 10_002, "output_sequence_length": 200}
    yield f"TextVectorization of {count} reviews of 200 words", "TextVectorization", config, texts
    yield f"StringLookup of {10 * count} strings", "StringLookup", {"vocabulary": many[:50_000]}, flat


def dl4_layer(kind, config, strings):
    graph = dl4.Graph(dl4.Context(threads=1))
    node = graph.input("x", "string", (-1, 1))
    session = graph.build([node], graph.call(graph.layer(kind, "layer", config), [node])).session()
    given = dl4.Tensor.of(np.array(strings, dtype=object).reshape(-1, 1))
    return lambda: session.run([given])[0].numpy()


def keras_layer(kind, config, strings):
    layer = getattr(keras.layers, kind)(**config)
    given = tf.constant(strings, shape=(len(strings), 1))
    call = tf.function(lambda: layer(given))
    return lambda: call().numpy()


def main():
    count, rounds = [int(v) for v in sys.argv[1:] + ["100000", "3"][len(sys.argv) - 1:]]
    print("| | dl4, s | Keras on TensorFlow, s | ratio |\n|---|--:|--:|--:|")
    for name, kind, config, strings in cases(count):
        calls = [make(kind, config, strings) for make in (dl4_layer, keras_layer)]
        answers = [np.asarray(call()) for call in calls]
        assert np.array_equal(*answers), name
        least = [float("inf")] * 2
        for _ in range(rounds):
            for i, call in enumerate(calls):
                begun = time.process_time()
                call()
                least[i] = min(least[i], time.process_time() - begun)
        print(f"| {name} | {least[0]:.3f} | {least[1]:.3f} | {least[1] / least[0]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
