#!/usr/bin/env python3
"""What products of rounded operands cost in training: an epoch in mixed_bfloat16 beside the same in float32.

    DL4_LIBRARY=build/release/libdl4.so.1 PYTHONPATH=capi/bindings/python \\
      python3 tests/models/mixed_bfloat16.py FASHION_MNIST [--epochs 1] [--seeds 3]

FASHION_MNIST is a folder with the four files of the data set. The article's four nets begin at the same weights and
see the same batches. The table has the loss of the last epoch and the accuracy on the test images in percent, and of the
loss the greatest difference of a seed in percent."""
import argparse
import pathlib

import numpy as np
from weights_accuracy import attention, classifier, convolution, dense, fashion_mnist, keras, lstm


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("fashion", type=pathlib.Path)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--seeds", type=int, default=3)
    o = p.parse_args()
    parts = fashion_mnist(o.fashion)
    keras.config.set_context(emulate_bfloat16=True)
    print("| net | loss in float32 | mixed_bfloat16 | difference, % | accuracy in float32 | mixed_bfloat16 |")
    print("|---|" + "--:|" * 5)
    for body in (dense, convolution, lstm, attention):
        found = []
        for seed in range(o.seeds):
            for policy in ("float32", "mixed_bfloat16"):
                keras.config.set_dtype_policy(policy)
                keras.utils.set_random_seed(seed)
                model = classifier(body)
                model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
                history = model.fit(*parts[0], batch_size=128, epochs=o.epochs, verbose=0).history
                found.append((history["loss"][-1], model.evaluate(*parts[1], batch_size=1000, verbose=0)[1]))
        found = np.array(found).reshape(o.seeds, 2, 2)
        off = 100 * (found[:, 1, 0] / found[:, 0, 0] - 1)
        (loss, accuracy), (mixed, with_mixed) = found.mean(0)
        print(
            f"| {body.__name__} | {loss:.4f} | {mixed:.4f} | {off[np.argmax(abs(off))]:+.2f} | {100 * accuracy:.2f} "
            f"| {100 * with_mixed:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
