"""Looking at files and converting them."""

import json
import struct
import zipfile

from case import DATA, NET, Case, npy, read_npy


class Looking(Case):
    def test_summary(self):
        text = self.good("summary", DATA / "sequential.keras")
        for line in ("(Conv2D)", "(None, 4, 4, 3)", "Total params: 167", "Input input_layer: float32 [?, 6, 6, 2]"):
            self.assertIn(line, text)
        found = self.document("summary", DATA / "sequential.keras")
        self.assertEqual((found["parameters"], found["trainable"]), (167, 161))
        self.assertEqual(
            [layer["class_name"] for layer in found["layers"]],
            ["Input", "Conv2D", "BatchNormalization", "Flatten", "Dense"],
        )
        self.assertEqual(
            found["layers"][1]["weights"][0], {"name": "conv2d/kernel", "shape": [3, 3, 2, 3], "trainable": True}
        )
        self.assertEqual(found["inputs"], [{"name": "input_layer", "dtype": "float32", "shape": [None, 6, 6, 2]}])
        self.assertEqual(self.document("summary", "net.json")["parameters"], 41)

    def test_plot(self):
        dot = self.good("plot", "net.json")
        self.assertTrue(dot.startswith("digraph"))
        self.good("plot", "net.json", "-o", "net.dot")
        self.assertEqual((self.folder / "net.dot").read_text(), dot)
        self.assertEqual(self.document("plot", "net.json")["dot"], dot)
        self.bad(2, '"net.doc"', "plot", "net.json", "-o", "net.doc")

    def test_plot_with_and_without_graphviz(self):
        dot = self.good("plot", "net.json")
        programs = self.folder / "bin"
        programs.mkdir()
        fake = programs / "dot"
        fake.write_text('#!/bin/sh\necho "$1" >"$3"\ncat >>"$3"\n')
        fake.chmod(0o755)
        path = {"PATH": f"{programs}:/usr/bin:/bin"}
        self.good("plot", "net.json", "-o", "net.svg", env=path)
        self.assertEqual((self.folder / "net.svg").read_text(), "-Tsvg\n" + dot)
        fake.write_text("#!/bin/sh\nexit 1\n")
        done = self.run_tool("plot", "net.json", "-o", "net.svg", env=path)
        self.assertEqual(done.returncode, 3)
        done = self.run_tool("plot", "net.json", "-o", "other.svg", "--json", env={"PATH": str(self.folder / "none")})
        self.assertEqual((done.returncode, json.loads(done.stdout)["written"]), (0, "other.dot"))
        self.assertIn("Graphviz is not installed", done.stderr)
        self.assertEqual((self.folder / "other.dot").read_text(), dot)

    def test_check(self):
        found = self.document("check", DATA / "sequential.keras")
        self.assertTrue(found["loads"])
        self.assertEqual((found["kind"], found["layers"]["Conv2D"]), ("Keras, .keras", 1))
        self.assertIn("loads\n", self.good("check", DATA / "keras_2.h5"))
        damaged = (DATA / "sequential.keras").read_bytes()
        self.file("damaged.keras", damaged[: len(damaged) // 2])
        found = self.document("check", "damaged.keras", code=1)
        self.assertFalse(found["loads"])
        self.assertIn("directory", found["why"])
        text = self.good("check", self.table(), code=1)
        self.assertIn(": none of Keras, ONNX, dl4, safetensors, NumPy\n", text)
        self.good("convert", "net.json", "net.onnx")
        (self.folder / "net.onnx").rename(self.folder / "net")
        self.assertEqual(self.document("check", "net")["kind"], "ONNX")

    def test_check_of_unsupported_layer(self):
        with zipfile.ZipFile(DATA / "sequential.keras") as old:
            members = {name: old.read(name) for name in old.namelist()}
        members["config.json"] = members["config.json"].replace(b'"Flatten"', b'"Unheard"')
        with zipfile.ZipFile(self.folder / "unheard.keras", "w") as new:
            for name, content in members.items():
                new.writestr(name, content)
        text = self.good("check", "unheard.keras", code=1)
        self.assertIn("does not load", text)
        self.assertIn('"flatten"', text)
        self.assertIn("Unheard", text)

    def test_check_of_weights_that_are_not_finite(self):
        values = {"h/kernel": [float("nan")] * 24, "h/bias": [0] * 8, "y/kernel": [0] * 8, "y/bias": [0]}
        shapes = {"h/kernel": (3, 8), "h/bias": (8,), "y/kernel": (8, 1), "y/bias": (1,)}
        with zipfile.ZipFile(self.folder / "w.npz", "w") as file:
            for name, v in values.items():
                file.writestr(name + ".npy", npy(v, shapes[name]))
        self.good("convert", "net.json", "net.safetensors", "--weights", "w.npz")
        self.assertIn("weight h/kernel holds NaN", self.good("check", "net.safetensors", code=1))

    def test_refusals(self):
        self.bad(3, '"no.keras"', "summary", "no.keras")
        self.bad(3, '"no.keras"', "check", "no.keras")
        self.bad(4, "ONNX or this library, got a text", "summary", self.table())
        self.bad(4, "json", "summary", self.file("bad.json", "{"))
        self.bad(3, "directory", "summary", self.folder)
        self.bad(2, "FILE is required", "summary")
        self.bad(2, "--no", "summary", "net.json", "--no")
        self.bad(2, "--threads", "summary", "net.json", "--threads", "0")

    def test_names_of_layers_cannot_move_the_cursor(self):
        net = json.loads(json.dumps(NET).replace('"h"', '"\\u001b[2Jh"'))
        self.file("escape.json", json.dumps(net))
        self.assertNotIn("\x1b", self.good("summary", "escape.json"))


class Converting(Case):
    def test_formats(self):
        self.good("convert", DATA / "sequential.keras", "a.safetensors")
        self.good("convert", "a.safetensors", "b.keras")
        self.assertEqual(self.document("diff", "a.safetensors", "b.keras")["weights"], [])
        self.assertEqual(self.document("convert", "b.keras", "c.onnx")["written"], "c.onnx")
        self.file("x.npy", npy([i / 144 for i in range(144)], (2, 6, 6, 2)))
        outputs = []
        for model in (DATA / "sequential.keras", "a.safetensors", "b.keras", "c.onnx"):
            self.good("run", model, "--input", "x.npy", "--output", "y.npy")
            outputs.append(read_npy(self.folder / "y.npy"))
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0], outputs[2])
        for a, b in zip(outputs[0][1], outputs[3][1]):
            self.assertAlmostEqual(a, b, delta=1e-5)

    def test_weights_in_fewer_bytes(self):
        """By --quantize, or in the words of the options of `run`."""
        def policies(path):
            with zipfile.ZipFile(self.folder / path) as archive:
                layers = json.loads(archive.read("config.json"))["config"]["layers"]
            return [one["config"]["dtype"]["config"]["mode"] for one in layers if one["class_name"] == "Dense"]

        for words, mode in (
            (["--quantize", "int8"], "int8"), (["--weights", "int8"], "int8"), (["--weights", "int4"], "int4/128"),
            (["--quantize", "int4"], "int4/128"), (["--weights", "int4/-1"], "int4/-1"),
        ):
            self.good("convert", "net.json", "net.keras", *words)
            self.assertEqual(policies("net.keras"), [mode, mode])
        self.bad(2, "both say a mode", "convert", "net.json", "b.keras", "--weights", "int8", "--quantize", "int4")
        self.bad(2, "--names", "convert", "net.json", "b.keras", "--weights", "int8", "--names", "names.json")
        for mode in ("float8", "bfloat16", "gptq/4/8"):
            self.bad(4, mode, "convert", "net.json", "b.keras", "--weights", mode)

    def test_diff_of_outputs(self):
        for name in "a.onnx", "a.keras":
            self.good("convert", DATA / "sequential.keras", name)
        text = self.good("diff", "--run", DATA / "sequential.keras", "a.onnx")
        self.assertRegex(text, r"^output \w+: equal, largest difference [\d.e-]+, largest number [\d.e-]+\n$")
        found = self.document("diff", "a.keras", "a.onnx", "--run")
        self.assertTrue(found["equal"] and found["outputs"][0]["largest"] > 0)
        self.assertLess(found["outputs"][0]["distance"], 1e-5)
        self.file("x.npy", npy([i / 144 for i in range(144)], (2, 6, 6, 2)))
        given = self.document("diff", "a.keras", "a.onnx", "--run", "--input", "x.npy", "--scale", "2")
        self.assertNotEqual(given["outputs"][0]["largest"], found["outputs"][0]["largest"])
        self.good("convert", "net.json", "b.keras", "--seed", "1")
        self.good("convert", "net.json", "c.keras", "--seed", "2")
        self.good("diff", "--run", "b.keras", "b.keras")
        self.assertIn("output y: DIFFERENT", self.good("diff", "--run", "b.keras", "c.keras", code=1))
        distance = self.document("diff", "--run", "b.keras", "c.keras", code=1)["outputs"][0]["distance"]
        self.assertGreater(distance, 0.01)
        self.good("diff", "--run", "b.keras", "c.keras", "--tolerance", "100")
        self.file("y.npy", npy([float("nan"), 0, 0], (1, 3)))
        other = self.document("diff", "--run", "b.keras", "c.keras", "--input", "y.npy")  # NaN both
        self.assertTrue(other["equal"])

    def test_diff_of_outputs_of_integers(self):
        def net(rows):
            layers = [
                {"class_name": "Input", "name": "x", "config": {"shape": [None, None], "dtype": "int32"}},
                {"class_name": "Embedding", "name": "e", "config": {"input_dim": rows, "output_dim": 2},
                 "calls": [{"inputs": [["x", 0, 0]]}]},
            ]
            return json.dumps({"format": 1, "layers": layers, "inputs": [["x", 0, 0]], "outputs": [["e", 0, 0]]})

        for rows in 200, 12, 3:
            for seed in 1, 2:
                self.file("e.json", net(rows))
                self.good("convert", "e.json", f"e{seed}.keras", "--seed", seed)
            self.good("diff", "--run", "e1.keras", "e1.keras")
            self.good("diff", "--run", "e1.keras", "e2.keras", code=1)

    def test_refusals_of_diff(self):
        self.good("convert", "net.json", "b.keras")
        self.bad(4, "[?, 6, 6, 2]", "diff", "--run", DATA / "sequential.keras", "b.keras")
        two = json.loads(json.dumps(NET))
        two["outputs"] *= 2
        self.file("two.json", json.dumps(two))
        self.bad(4, "2 outputs", "diff", "--run", "net.json", "two.json")
        self.bad(2, "need --run", "diff", "net.json", "net.json", "--free", "2")
        self.bad(2, "need --run", "diff", "net.json", "net.json", "--input", "x.npy")
        self.bad(2, "--scale for those of --input", "diff", "net.json", "net.json", "--run", "--scale", "2")
        self.file("x.npy", npy([1, 2, 3], (1, 3)))
        self.bad(2, "random", "diff", "net.json", "net.json", "--run", "-i", "x.npy", "--batch-size", "2")

    def test_weights_apart(self):
        self.good("convert", DATA / "sequential.keras", "arch.json")
        for end in (".weights.h5", ".npz"):
            self.good("convert", DATA / "sequential.keras", "w" + end)
            self.good("convert", "arch.json", "again.safetensors", "--weights", "w" + end)
            self.good("diff", DATA / "sequential.keras", "again.safetensors")

    def test_names(self):
        with zipfile.ZipFile(self.folder / "torch.npz", "w") as file:
            for name, shape in {"a.w": (8, 3), "a.b": (8,), "b.w": (1, 8), "b.b": (1,)}.items():
                count = shape[0] * (shape[1] if len(shape) > 1 else 1)
                file.writestr(name + ".npy", npy(range(count), shape))
        a, b = ({"tensors": [name], "transpose": [1, 0]} for name in ("a.w", "b.w"))
        self.file(
            "names.json",
            json.dumps({"h/kernel": a, "h/bias": "a.b", "y/kernel": b, "y/bias": "b.b"}),
        )
        words = ["convert", "net.json", "net.npz", "--weights", "torch.npz"]
        self.good(*words, "--names", "names.json")
        with zipfile.ZipFile(self.folder / "net.npz") as file:
            self.assertEqual(struct.unpack("<3f", file.read("h/kernel.npy")[-96:][:12]), (0, 3, 6))
        self.bad(3, "h/kernel", *words)
        self.bad(2, "--names", "convert", "net.json", "b.keras", "--names", "names.json")

    def test_refusals(self):
        for name in "net.h5", "net.tflite", "net.pt", "net.onxx":
            self.bad(4, ".safetensors, .dl4, .keras, .weights.h5, .npz, .onnx,", "convert", "net.json", name)
            self.assertFalse((self.folder / name).exists())
        self.bad(4, "format", "convert", "net.json", "net.keras", "--format", "tar")
        self.bad(3, "none", "convert", "net.json", "none/net.keras")
        self.bad(3, "none", "convert", "net.json", "none/net.json")
