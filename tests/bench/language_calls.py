#!/usr/bin/env python3
"""What a call from Node, Rust, Go and Java costs over the same call from C:   language_calls.py [ROUNDS]

On a dense model, 784 in, 128, 10 out, one row. DL4_LIBRARY names the library, DL4_BUILD where products go. Each binding's
own program (`test.sh cost`) prints the least of many means; here the least of the rounds, the languages in turn. Needs
NumPy and a C compiler for C's; a language whose toolchain is missing is left out, with a word. The table is Markdown."""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import python_calls

BINDINGS = python_calls.BINDING.parent
LANGUAGES = {  # the folder, and what is asked of its program
    "rust": ("rust", "cost"),
    "go": ("go", "cost"),
    "java": ("java", "cost"),
    "java, foreign functions": ("java", "cost", "foreign"),
    "node": ("node", "cost"),
}
GO = re.compile(r"Benchmark(\w+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op")
CALLS = ("tensors used again", "arrays in and out", "asynchronous, tensors used again", "asynchronous, arrays in and out")


def from_c(loop):
    import numpy

    import dl4
    import dl4.keras as keras

    x = keras.Input((784,))
    hidden = keras.layers.Dense(128, activation="relu")(x)
    session = keras.Model(x, keras.layers.Dense(10, activation="softmax")(hidden)).core.session()
    tensor = dl4.Tensor.of(numpy.full((1, 784), 0.5, "float32"))
    bound = session.bind([tensor])
    ins, outs = (ctypes.c_void_p * 1)(tensor.handle), (ctypes.c_void_p * 1)(bound.outputs[0].handle)
    run = ctypes.cast(ctypes.CDLL(os.environ["DL4_LIBRARY"]).dl4_session_run, ctypes.c_void_p)
    return min(loop(run, session.handle, ins, outs, 500) / 500 for _ in range(200))


def words(name):
    return re.sub(r"(?<!^)([A-Z])", lambda m: " " + m[1].lower(), name).lower()


def printed(language):
    """Microseconds by call, or why there are none."""
    folder, *what = LANGUAGES[language]
    done = subprocess.run(["bash", BINDINGS / folder / "test.sh", *what], capture_output=True, text=True)
    if done.returncode == 77:
        return done.stdout.strip()
    if done.returncode:
        raise SystemExit(f"{language}: {done.stdout}{done.stderr}")
    taken = {}
    for line in done.stdout.splitlines():
        if m := GO.match(line):
            name, value = words(m[1]), float(m[2]) / 1e3
        elif line.count("\t") == 1:
            name, value = line.split("\t")
        else:
            continue
        taken[name] = min(float(value), taken.get(name, float("inf")))
    return taken


def main(rounds=3):
    sys.path.insert(0, str(python_calls.BINDING))
    best, missing = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        loop = python_calls.compiled(folder)
        c = float("inf")
        for _ in range(int(rounds)):
            c = min(c, from_c(loop))
            for language in LANGUAGES:
                taken = printed(language)
                if isinstance(taken, str):
                    missing[language] = taken
                    continue
                into = best.setdefault(language, {})
                for name, value in taken.items():
                    into[name] = min(value, into.get(name, value))
    print(f"C: {c:.2f} us. Over it, in us:\n\n| | " + " | ".join(CALLS) + " |\n|---" + "|--:" * len(CALLS) + "|")
    for language, taken in best.items():
        cells = [f"{taken[name] - c:.2f}" if name in taken else "" for name in CALLS]
        print(f"| {language} | " + " | ".join(cells) + " |")
    for language, why in missing.items():
        print(f"\n{language}: {why}")


if __name__ == "__main__":
    main(*sys.argv[1:])
