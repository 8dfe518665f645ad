"""Sessions with weights in fewer bytes against the same with float32, beside peers in 8 bits.

    DL4_LIBRARY=build/release/libdl4.so PYTHONPATH=capi/bindings/python \
      taskset -c 1 python3 tests/bench/weights.py [--rounds 15] [--rows LSTM]

All sides of a row are called in turns, some 20 ms each; a ratio is the median of the rounds' ratios. One thread, in
processor time. Needs numpy; for the peers onnx and onnxruntime, openvino and nncf, torch.
"""

import argparse
import tempfile
import time

import numpy as np
import weights_peers

from dl4 import keras
from dl4.session import Session

L = keras.layers
TYPES = ("bfloat16", "int8", "int4")


def chain(shape, *layers):
    return lambda: keras.Sequential([keras.Input(shape), *(layer() for layer in layers)])


def dense(units, **more):
    return lambda: L.Dense(units, **more)


def dqn():
    relu = {"activation": "relu"}
    layers = [L.Conv2D(32, 8, 4, **relu), L.Conv2D(64, 4, 2, **relu), L.Conv2D(64, 3, **relu), L.Flatten()]
    return keras.Sequential([keras.Input((84, 84, 4)), *layers, L.Dense(512, **relu), L.Dense(18)])


def decoder(width=512, past=128, words=4096):
    """One token through two layers of a transformer, keys and values of the tokens before it given."""
    x = token = keras.Input((1, width))
    inputs = [token]
    for _ in range(2):
        keys, values = keras.Input((past, width)), keras.Input((past, width))
        inputs += [keys, values]
        q, k, v = (L.Dense(width)(x) for _ in range(3))
        k, v = L.Concatenate(axis=1)([keys, k]), L.Concatenate(axis=1)([values, v])
        x = L.LayerNormalization()(x + L.Dense(width)(L.Attention(use_scale=True)([q, v, k])))
        x = L.LayerNormalization()(x + L.Dense(width)(L.Dense(4 * width, activation="relu")(x)))
    return keras.Model(inputs, L.Dense(words)(x))


# Name, model, batch.
ROWS = [
    ("Dense 1x1024x1024", chain((1024,), dense(1024)), 1),
    ("Dense 1x1024x1024 relu", chain((1024,), dense(1024, activation="relu")), 1),
    ("Dense 16x1024x1024 relu", chain((1024,), dense(1024, activation="relu")), 16),
    ("Dense 64x1024x1024 gelu", chain((1024,), dense(1024, activation="gelu")), 64),
    ("Dense 512x1024x1024", chain((1024,), dense(1024)), 512),
    ("article dense B1", chain((784,), dense(128, activation="relu"), dense(10, activation="softmax")), 1),
    ("DQN Atari B1", dqn, 1),
    ("DQN Atari B32", dqn, 32),
    ("LSTM T100 B1 H128", chain((100, 128), lambda: L.LSTM(128)), 1),
    ("LSTM T100 B1 H512", chain((100, 512), lambda: L.LSTM(512)), 1),
    ("LSTM T28 B32 H128", chain((28, 28), lambda: L.LSTM(128)), 32),
    ("LSTM T1 B1 H32", chain((1, 32), lambda: L.LSTM(32)), 1),
    ("GRU T100 B1 H128", chain((100, 128), lambda: L.GRU(128)), 1),
    ("GRU T28 B32 H128", chain((28, 28), lambda: L.GRU(128)), 32),
    ("decoder of 2 layers, 512 wide, B1", decoder, 1),
]


def seconds_of(call, least=0.02):
    """Of the processor's time, which a neighbour takes nothing of."""
    start, runs = time.process_time(), 0
    while (took := time.process_time() - start) < least:
        call()
        runs += 1
    return took / runs


def measured(make, batch, rounds):
    model = make()
    random = np.random.default_rng(0)
    shapes = [[batch, *x.shape[1:]] for x in model.inputs]
    inputs = [random.standard_normal(shape).astype("float32") for shape in shapes]
    sessions = {t: Session(model.core, {"weights": t}) for t in ("float32", *TYPES)}
    sides = {t: s.bind(inputs) for t, s in sessions.items()}
    outputs = {t: side.arrays[0].copy() for t, side in sides.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/model.onnx"
        model.save(path)
        sides.update(weights_peers.calls(model, path, inputs))
    times = {name: [] for name in sides}
    for call in sides.values():
        call()
    for _ in range(rounds):
        for name, call in sides.items():
            times[name].append(seconds_of(call))
    largest = np.abs(outputs["float32"]).max()
    errors = {t: np.abs(outputs[t] - outputs["float32"]).max() / largest for t in TYPES}
    return {name: np.array(t) for name, t in times.items()}, errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", default="")
    asked = parser.parse_args()
    peers = ("ONNX Runtime", "ONNX Runtime int8", "ONNX Runtime QDQ", "OpenVINO int8", "PyTorch int8")
    head = ["row", "float32, us", *TYPES, *(f"{peer}, us" for peer in peers), "int8 over the fastest int8"]
    print("| " + " | ".join(head) + " |\n|---|" + "--:|" * (len(head) - 1))
    for name, make, batch in ROWS:
        if asked.rows not in name:
            continue
        times, errors = measured(make, batch, asked.rounds)
        ours = times["float32"]

        def ratio(side, of=ours):
            return f"{np.median(of / times[side]):.2f}"

        cells = [f"{np.median(ours) * 1e6:.1f}", *(f"{ratio(t)} ({errors[t]:.0e})" for t in TYPES)]
        cells += [f"{np.median(times[peer]) * 1e6:.1f}" if peer in times else "" for peer in peers]
        whole = [peer for peer in peers[1:] if peer in times]
        if whole:
            cells.append(ratio("int8", times[min(whole, key=lambda peer: np.median(times[peer]))]))
        print("| " + " | ".join([name, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
