"""dl4 kinds: help from the registry. Every example is compiled or run."""

import contextlib
import io
import itertools
import os
import re
import shutil
import subprocess
import sys
import unittest
import warnings
from pathlib import Path

try:
    import numpy
except ImportError:
    numpy = None

from case import Case

TOP = Path(__file__).resolve().parents[3]
CATEGORIES = ["layer", "activation", "initializer", "regularizer", "constraint", "loss", "metric", "optimizer",
              "schedule", "callback"]
# Of layers without an entry, inputs of one of these shapes.
SHAPES = [(4,), (8, 4), (8, 8, 4), (8, 8, 8, 4), (8, 8, 8, 8, 4), ()]
NEEDED = {
    "GridSample": [(8, 8, 4), (3, 2)],
    "NonMaxSuppression": [(6, 4), (3, 6)],
    "EinsumDense": [(None, 3)],
    "STFTSpectrogram": [(1024, 1)],
    "Functional": [(3, 4)],
    "LinearAttention": [(6, 8), (6, 4), (6, 4), (6, 2), (6, 2)],
    "Metric": [(3,), (3,), ()],
}
# Their inputs are more than shapes: numbers without axes, a mask, a weight, edges.
MADE_ONLY = {"Range", "GetMask", "GetWeight", "Assign", "ApplyGradients", "UpdateStep", "RoiAlign", "GraphAttention",
             "GraphNetwork", "EnsureSize", "Cond"}


class Kinds(Case):
    maxDiff = None

    def test_names(self):
        text = self.good("kinds")
        self.assertRegex(text, r"(?m)^layers \(\d{3}\)$")
        for name in ("MultiHeadAttention", "GlorotUniform", "EarlyStopping", "CosineDecay"):
            self.assertRegex(text, rf"\b{name}\b")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_category(self):
        text = self.good("kinds", "losses")
        self.assertRegex(text, r"(?m)^Huber: ")
        self.assertEqual(len(re.findall(r"(?m)^\w+: ", text)), len(self.document("kinds", "losses")["loss"]))

    def test_kind(self):
        text = self.good("kinds", "LSTM")
        for line in ("layer LSTM", "  keras.layers.LSTM", "  x: (B, T, I)", "  bias: (4 units), if use_bias",
                     '  activation: activation; default "tanh"', "  units: integer, 1 to 536870911; required",
                     "  initial_state: (B, units) each, h and c; zeros by default", "In C", "In Python",
                     "  y = keras.layers.LSTM(units=4)(x)"):
            self.assertIn(line + "\n", text)
        self.assertEqual(self.good("kinds", "lstm"), text)
        self.assertIn("metric AUC\n", self.good("kinds", "AUC"))

    def test_name_of_two_categories(self):
        text = self.good("kinds", "Huber")
        self.assertIn("loss Huber\n", text)
        self.assertIn("metric Huber\n", text)
        self.assertEqual(set(self.document("kinds", "Huber")), {"loss", "metric"})

    def test_refusals(self):
        self.bad(2, 'unknown kind "Densse"; did you mean "Dense"?', "kinds", "Densse")
        self.bad(2, 'unknown kind "lossses"; did you mean "losses"?', "kinds", "lossses")
        self.bad(2, 'unknown kind "xyzzyxyzzyxyzzy"', "kinds", "xyzzyxyzzyxyzzy")
        self.bad(2, 'unexpected argument "LSTM"', "kinds", "Dense", "LSTM")
        self.bad(2, 'unknown option "--threads"', "kinds", "--threads", "2")

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_examples_in_c(self):
        all_kinds = self.document("kinds")
        lines = [kind["examples"]["c"] for c in CATEGORIES for kind in all_kinds[c].values()]
        self.assertGreater(len(lines), 370)
        text = """#include <dl4/dl4.h>
#include <stddef.h>
void all(dl4_graph *, dl4_model *, dl4_dataset *, dl4_node, dl4_node *);
static void check(dl4_error *e) { dl4_release(e); }
void all(dl4_graph *graph, dl4_model *model, dl4_dataset *data, dl4_node x, dl4_node *xs) {
  dl4_node y, ys[9];
  dl4_trainer *trainer;
"""
        text += "".join(f"  check({line});\n" for line in lines)
        self.file("all.c", text + "}\n")
        done = subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{TOP / 'include'}",
                               self.folder / "all.c"], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")

    @unittest.skipUnless(numpy and "DL4_LIBRARY" in os.environ, "there is no NumPy")
    def test_examples_in_python(self):
        sys.path.insert(0, str(TOP / "capi/bindings/python"))
        self.addCleanup(sys.path.remove, str(TOP / "capi/bindings/python"))
        import dl4.keras as keras

        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)  # a callback writes files
        for category, kinds in self.document("kinds").items():
            for name, kind in kinds.items() if category in CATEGORIES else ():
                with self.subTest(category, name=name):
                    if category == "layer":
                        self.run_layer(keras, name, kind["examples"]["python"])
                    else:
                        self.run_other(keras, kind["examples"]["python"])

    def run_layer(self, keras, name, code):
        self.assertTrue(code.startswith("y = keras.layers."), code)
        made, names = re.fullmatch(r"y = (.*)\(\[?([\w, ]*)\]?\)", code).groups()
        eval(made, {"keras": keras})
        names = [n for n in names.split(", ") if n]
        if name in MADE_ONLY:
            return
        shapes = [NEEDED[name]] if name in NEEDED else itertools.product(SHAPES, repeat=min(len(names), 2))
        refused = []
        for shape, dtype in itertools.product(shapes, ("float32", "int32", "string")):
            try:
                values = {n: keras.Input(shape[min(i, len(shape) - 1)], dtype=dtype) for i, n in enumerate(names)}
                exec(code, {"keras": keras, **values})
                return
            except Exception as error:  # another shape
                refused.append(str(error))
        self.fail(f"{code}: {refused}")

    def run_other(self, keras, code):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        x, y = numpy.zeros((8, 4), "float32"), numpy.zeros((8, 3), "float32")
        model.compile(keras.optimizers.Adam(use_ema=True), "mse")
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, {"keras": keras, "model": model, "x": x, "y": y})
