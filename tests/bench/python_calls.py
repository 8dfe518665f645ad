#!/usr/bin/env python3
"""What a call from Python costs over the same call from C, on the article's dense model:   python_calls.py [ROUNDS]

Of the library that DL4_LIBRARY names. Processor time, so that neighbours count little; minimum and median of the rounds.
Needs NumPy and a C compiler. The table is Markdown."""

import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BINDING = HERE.parents[1] / "capi" / "bindings" / "python"
C_LOOP = """
#include <time.h>
typedef void *(*run)(void *, void **, long long, void **, long long, void *);
double loop(run f, void *session, void **in, void **out, int n) {
  struct timespec a, b;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  for (int i = 0; i < n; ++i) f(session, in, 1, out, 1, 0);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  return (b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) * 1e-3;
}
"""
IMPORT = """
import sys, time, numpy
begun = time.process_time()
import dl4.keras
print(1e3 * (time.process_time() - begun))
"""


def compiled(folder):
    source, library = pathlib.Path(folder) / "loop.c", pathlib.Path(folder) / "loop.so"
    source.write_text(C_LOOP)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    loop = ctypes.CDLL(str(library)).loop
    loop.restype = ctypes.c_double
    loop.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int]
    return loop


def calls(loop, batch):
    """By name, a function that makes n calls and gives their time in microseconds."""
    import numpy

    import dl4
    import dl4.keras as keras

    x = keras.Input((32, 32, 3))
    hidden = keras.layers.Dense(8, activation="relu")(x)
    model = keras.Model(x, keras.layers.Dense(2)(keras.layers.Flatten()(hidden)))
    data = numpy.random.RandomState(0).rand(batch, 32, 32, 3).astype("float32")
    session, tensor = model.core.session(), dl4.Tensor.of(data)
    bound = session.bind([tensor])
    ins, outs = (ctypes.c_void_p * 1)(tensor.handle), (ctypes.c_void_p * 1)(bound.outputs[0].handle)
    run = ctypes.cast(ctypes.CDLL(os.environ["DL4_LIBRARY"]).dl4_session_run, ctypes.c_void_p)

    def repeated(f, *arguments, **named):
        def times(n):
            begun = time.process_time()
            for _ in range(n):
                f(*arguments, **named)
            return 1e6 * (time.process_time() - begun)

        return times

    return {
        "C: `dl4_session_run`": lambda n: loop(run, session.handle, ins, outs, n),
        "tensors used again: `session.bind([x])()`": repeated(bound),
        "`session.run([x])`": repeated(session.run, [tensor]),
        "`model(x)`": repeated(model, data),
        "`model.predict(x, verbose=0)`": repeated(model.predict, data, verbose=0),
    }


def fits():
    """An epoch of LeNet-5 on 4,096 images: the one call from C, and Keras's. Milliseconds."""
    import numpy

    import dl4
    import dl4.keras as keras

    layers = keras.layers
    random = numpy.random.RandomState(0)
    x, y = random.rand(4096, 28, 28, 1).astype("float32"), random.randint(0, 10, 4096).astype("int32")

    def lenet():
        model = keras.Sequential([keras.Input((28, 28, 1))])
        for filters in (6, 16):
            model.add(layers.Conv2D(filters, 5, activation="relu"))
            model.add(layers.MaxPooling2D())
        model.add(layers.Flatten())
        for units in (120, 84):
            model.add(layers.Dense(units, activation="relu"))
        model.add(layers.Dense(10, activation="softmax"))
        return model

    model, alone = lenet(), lenet()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    how = {"optimizer": "adam", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}
    trainer = alone.core.trainer(**how)
    data = dl4.Dataset([dl4.Tensor.of(x)], [dl4.Tensor.of(y)], context=alone.core.context, batch_size=32, shuffle=True)

    def spent(f, *arguments, **named):
        begun = time.process_time()
        f(*arguments, **named)
        return 1e3 * (time.process_time() - begun)

    return lambda: (spent(trainer.fit, data, epochs=1), spent(model.fit, x, y, batch_size=32, verbose=0))


def imports(rounds, folder):
    command = [sys.executable, "-c", IMPORT]
    compiled_once = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}

    def spent():
        return float(subprocess.run(command, check=True, capture_output=True, text=True, env=compiled_once).stdout)

    spent()
    return [spent() for _ in range(rounds)]


def main(rounds=60):
    sys.path.insert(0, str(BINDING))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(BINDING), os.environ.get("PYTHONPATH", "")])
    print("| call | batch | minimum, us | median, us | over C, minimum | over C, median |\n|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        loop = compiled(folder)
        for batch in (1, 4):
            rows = calls(loop, batch)
            taken = {name: [] for name in rows}
            for _ in range(int(rounds)):
                for name, times in rows.items():
                    taken[name].append(times(200) / 200)
            base = next(iter(taken.values()))
            for name, values in taken.items():
                low, middle = min(values), statistics.median(values)
                over = f"{low - min(base):.1f} | {middle - statistics.median(base):.1f}" if values is not base else " | "
                print(f"| {name} | {batch} | {low:.2f} | {middle:.2f} | {over} |")
    epoch = fits()
    epoch()
    ratios = [kerass / c for c, kerass in (epoch() for _ in range(9))]
    print(f"\n`fit` of an epoch of LeNet-5 over the call from C: {statistics.median(ratios):.3f} (median of nine).")
    with tempfile.TemporaryDirectory() as folder:
        values = imports(9, folder)
    print(f"\n`import dl4.keras` without NumPy's: {min(values):.0f} ms, median {statistics.median(values):.0f} ms.")


if __name__ == "__main__":
    main(*sys.argv[1:])
