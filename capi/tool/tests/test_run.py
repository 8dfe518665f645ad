"""Inputs and outputs in files."""

import json
import struct
import subprocess
import unittest
import zlib

try:
    import numpy
except ImportError:
    numpy = None

from case import Case, npy, png, read_npy, TOOL


class Running(Case):
    def setUp(self):
        super().setUp()
        self.good("convert", "net.json", "net.safetensors")

    def outputs(self, *words):
        return self.document("run", "net.safetensors", *words)["outputs"]["y"]["values"]

    def test_forms_of_input(self):
        x = [[0.5, -1, 2], [0.25, 0, 1]]
        flat = [v for row in x for v in row]
        self.file("x.npy", npy(flat, (2, 3)))
        self.file("double.npy", npy(flat, (2, 3), "<f8", "d"))
        self.file("x.csv", "\r\n".join(",".join(map(str, row)) for row in x))
        self.file("named.csv", "a,b,c\n" + "\n".join(", ".join(map(str, row)) for row in x) + "\n\n")
        self.file("marked.csv", b"\xef\xbb\xbf" + (self.folder / "x.csv").read_bytes())
        self.file("marked_named.csv", b"\xef\xbb\xbf" + (self.folder / "named.csv").read_bytes())
        self.file("one.npy", npy(x[0], (3,)))
        self.file("two.npy", npy(x[1], (3,)))
        expected = self.outputs("--input", "x.npy")
        self.assertEqual(len(expected), 2)
        for words in (
            ["double.npy"],
            ["x=x.npy"],
            ["x.csv"],
            ["named.csv"],
            ["marked.csv"],
            ["marked_named.csv"],
            ["one.npy", "--input", "two.npy"],
            ["x.npy", "--batch-size", "1"],
        ):
            for a, b in zip(self.outputs("--input", *words), expected):
                self.assertAlmostEqual(a[0], b[0], delta=1e-6)
        self.file("half.npy", npy([v / 2 for v in flat], (2, 3)))
        self.assertEqual(self.outputs("--input", "half.npy", "--scale", "2"), expected)

    def test_weights_in_fewer_bytes(self):
        config = {"units": 160, "kernel_initializer": {"class_name": "RandomUniform", "config": {"seed": 1}}}
        layers = [
            {"class_name": "Input", "name": "x", "config": {"shape": [None, 1024], "dtype": "float32"}},
            {
                "class_name": "Dense",
                "name": "y",
                "version": 1,
                "config": config,
                "calls": [{"inputs": [["x", 0, 0]], "arguments": {}}],
            },
        ]
        net = {"format": 1, "name": "net", "inputs": [["x", 0, 0]], "outputs": [["y", 0, 0]], "layers": layers}
        self.file("wide.json", json.dumps(net))
        self.file("wide.npy", npy([(i % 17 - 8) / 8 for i in range(1024)], (1, 1024)))

        def computed(*words):
            return self.document("run", "wide.json", "-i", "wide.npy", *words)["outputs"]["y"]["values"][0]

        exact = computed()
        largest = max(abs(v) for v in exact)
        self.assertEqual(computed("--weights", "float32"), exact)
        for weights, most in (("bfloat16", 0.01), ("int8", 0.03), ("int4", 0.4)):
            close = computed("--weights", weights)
            self.assertNotEqual(close, exact)
            self.assertLess(max(abs(a - b) for a, b in zip(exact, close)) / largest, most)
            self.assertIn(weights + "_gemm", self.good("bench", "wide.json", "--runs", "1", "--weights", weights))
        self.bad(4, "float8", "run", "wide.json", "-i", "wide.npy", "--weights", "float8")

    def test_forms_of_output(self):
        self.file("x.npy", npy([0.5, -1, 2, 0.25, 0, 1], (2, 3)))
        expected = self.outputs("--input", "x.npy")
        for end in ("npy", "csv", "json"):
            self.assertEqual(self.good("run", "net.safetensors", "-i", "x.npy", "-o", "y." + end), "")
        shape, values = read_npy(self.folder / "y.npy")
        self.assertEqual(shape, (2, 1))
        self.assertEqual(json.loads((self.folder / "y.json").read_text()), expected)
        rows = (self.folder / "y.csv").read_text().split()
        for (a,), b, c in zip(expected, values, rows):
            self.assertEqual(struct.pack("f", a), struct.pack("f", b))
            self.assertEqual(struct.pack("f", float(c)), struct.pack("f", b))
        self.assertIn("y: float32 [2, 1]", self.good("run", "net.safetensors", "-i", "x.npy"))

    def picture_net(self, shape):
        net = {
            "format": 1,
            "name": "net",
            "inputs": [["x", 0, 0]],
            "outputs": [["f", 0, 0]],
            "layers": [
                {"class_name": "Input", "name": "x", "config": {"shape": [None, *shape], "dtype": "float32"}},
                {
                    "class_name": "Flatten",
                    "name": "f",
                    "version": 1,
                    "config": {},
                    "calls": [{"inputs": [["x", 0, 0]], "arguments": {}}],
                },
            ],
        }
        return self.file("picture.json", json.dumps(net))

    def pixels(self, shape, rows, color, *words):
        self.picture_net(shape)
        self.file("p.png", png(rows, color))
        return self.document("run", "picture.json", "-i", "p.png", *words)["outputs"]["f"]["values"][0]

    def test_pictures(self):
        grey, colors = [[0, 100], [200, 255]], [[255, 0, 0, 0, 255, 0], [0, 0, 255, 10, 20, 30]]
        self.assertEqual(self.pixels([2, 2, 1], grey, 0), [0, 100, 200, 255])
        self.assertEqual(self.pixels([2, 2], grey, 0), [0, 100, 200, 255])
        self.assertEqual(self.pixels([2, 2, 3], colors, 2), [v for row in colors for v in row])
        self.assertEqual(self.pixels([2, 2, None], colors, 2), [v for row in colors for v in row])
        self.assertEqual(self.pixels([1, 2, 4], [[1, 2, 3, 0, 4, 5, 6, 255]], 6), [1, 2, 3, 0, 4, 5, 6, 255])
        self.assertEqual(self.pixels([1, 2, 2], [[9, 0, 8, 255]], 4), [9, 0, 8, 255])
        self.assertEqual(self.pixels([1, 1, 1], [[51]], 0, "--scale", "0.25"), [51 / 4])

    def test_bad_pictures(self):
        self.picture_net([2, 2, 1])
        good = png([[0, 100], [200, 255]], 0)
        self.file("cut.png", good[:-30])
        self.file("deep.png", png([[0, 0, 100, 0], [200, 0, 255, 0]], 0, 16))
        flipped = bytearray(good)
        flipped[45] ^= 0xFF
        self.file("flipped.png", bytes(flipped))
        huge = good.replace(struct.pack(">II", 2, 2), struct.pack(">II", 900000, 900000))
        at = huge.index(b"IHDR")
        huge = huge[: at + 17] + struct.pack(">I", zlib.crc32(huge[at : at + 17])) + huge[at + 21 :]
        self.file("huge.png", huge)
        self.file("none.png", "no picture")
        for name, says in {
            "cut": "sound PNG",
            "flipped": "sound PNG",
            "none": "sound PNG",
            "huge": "million",
            "deep": "16 bits",
        }.items():
            self.bad(4, says, "run", "picture.json", "-i", name + ".png")
        self.bad(3, '"no.png"', "run", "picture.json", "-i", "no.png")
        self.file("wide.png", png([[0, 100, 0]], 0))
        self.bad(4, "(1, 1, 3, 1)", "run", "picture.json", "-i", "wide.png")
        self.bad(4, "no picture", "run", "net.safetensors", "-i", "wide.png")

    def test_pictures_of_other_channels(self):
        color_of = {1: 0, 2: 4, 3: 2, 4: 6}
        for has, color in color_of.items():
            self.file("p.png", png([[7] * has], color))
            for takes in {1, 2, 3, 4, 5} - {has}:
                self.picture_net([1, 1, takes])
                self.bad(4, f"the model takes {takes}", "run", "picture.json", "-i", "p.png")
            self.picture_net([1, 1, has])
            self.good("run", "picture.json", "-i", "p.png")

    def net_of_steps(self, all_steps=True, channels=1):
        def layer(name, kind, source, **config):
            calls = [{"inputs": [[source, 0, 0]], "arguments": {}}]
            return {"class_name": kind, "name": name, "version": 1, "config": config, "calls": calls}

        layers = [
            {"class_name": "Input", "name": "x", "config": {"shape": [None, None, channels], "dtype": "float32"}},
            layer("g", "GRU", "x", units=4, return_sequences=all_steps),
            layer("y", "Dense", "g", units=channels),
        ]
        net = {"format": 1, "name": "net", "layers": layers, "inputs": [["x", 0, 0]], "outputs": [["y", 0, 0]]}
        self.file("steps.json", json.dumps(net))
        self.good("convert", "steps.json", "steps.safetensors")

    def streamed(self, data, *words):
        command = [TOOL, "run", "steps.safetensors", "--stream", *words]
        done = subprocess.run(command, input=data, cwd=self.folder, capture_output=True, timeout=120)
        return done.returncode, done.stdout, done.stderr.decode()

    def whole(self, x, channels=1):
        self.file("x.npy", npy(x, (1, len(x) // channels, channels)))
        self.good("run", "steps.safetensors", "--input", "x.npy", "--output", "y.npy")
        return read_npy(self.folder / "y.npy")[1]

    def test_streams_of_floats(self):
        x = [((i * 37) % 64 - 32) / 32 for i in range(5000)]
        for all_steps in True, False:
            self.net_of_steps(all_steps)
            code, y, _ = self.streamed(struct.pack("<5000f", *x))
            self.assertEqual(code, 0)
            got = struct.unpack(f"<{len(y) // 4}f", y)
            expected = self.whole(x)
            self.assertEqual(len(got), len(expected))
            self.assertTrue(all(abs(a - b) < 1e-5 for a, b in zip(got, expected)))
        self.assertEqual(self.streamed(struct.pack("<5000f", *[v / 2 for v in x]), "--scale", "2")[1], y)
        self.assertEqual(self.streamed(b"")[:2], (0, b""))

    def test_streams_of_wav(self):
        samples = [(i * 7919) % 65536 - 32768 for i in range(600)]
        for channels in 1, 2:
            self.net_of_steps(channels=channels)
            form = struct.pack("<HHIIHH", 1, channels, 8000, 8000 * 2 * channels, 2 * channels, 16)
            extra = b"LIST" + struct.pack("<I", 3) + b"abc\0"
            data = struct.pack("<600h", *samples)
            head = b"WAVEfmt " + struct.pack("<I", 16) + form + extra + b"data" + struct.pack("<I", len(data))
            wav = b"RIFF" + struct.pack("<I", len(head) + len(data)) + head + data
            code, y, _ = self.streamed(wav + b"more chunks")
            self.assertEqual(code, 0)
            self.assertEqual(y[:44], b"RIFF" + struct.pack("<I", 1236) + b"WAVEfmt " + struct.pack("<I", 16) + form
                             + b"data" + struct.pack("<I", 1200))
            expected = [round(v * 32768) for v in self.whole([v / 32768 for v in samples], channels)]
            got = struct.unpack("<600h", y[44:])
            self.assertTrue(all(abs(max(-32768, min(32767, a)) - b) <= 1 for a, b in zip(expected, got)))
        form = struct.pack("<HHIIHH", 3, 2, 8000, 64000, 8, 32)
        head = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", 0)
        self.assertIn("format 3 of 32 bits", self.streamed(b"RIFF" + struct.pack("<I", len(head)) + head)[2])
        self.net_of_steps(channels=1)
        self.assertIn("of 1 channels as the input has, got 2", self.streamed(wav)[2])
        self.assertIn("ends before its samples", self.streamed(wav[:20])[2])

    def test_refusals_of_streams(self):
        self.net_of_steps()
        code, _, said = self.streamed(b"123456")
        self.assertEqual((code, said), (4, "dl4: standard input: it ends with 2 bytes of a step of 4\n"))
        self.assertEqual(self.streamed(b"", "--json")[0], 2)
        self.assertEqual(self.streamed(b"", "--input", "x.npy")[0], 2)
        self.assertIn("--input is required", self.run_tool("run", "steps.safetensors").stderr)
        done = self.run_tool("run", "net.safetensors", "--stream")
        self.assertIn("no input is a sequence", done.stderr)

    def test_refusals(self):
        good = npy([0.5, -1, 2], (1, 3))
        self.file("x.npy", good)
        words = ["run", "net.safetensors"]
        self.bad(2, "--input", *words)
        self.bad(2, '"x.txt"', *words, "-i", "x.txt")
        self.bad(2, '"y.txt"', *words, "-i", "x.npy", "-o", "y.txt")
        self.bad(2, 'no output "z", it has "y"', *words, "-i", "x.npy", "-o", "z=y.npy")
        self.assertFalse((self.folder / "z=y.npy").exists())
        self.bad(2, 'no input "z", it has "x"', *words, "-i", "z=x.npy")
        self.file("z=x.npy", good)
        self.good(*words, "-i", "z=x.npy")
        self.bad(2, "outputs", *words, "-i", "x.npy", "-o", "y.npy", "-o", "z.npy")
        self.bad(3, "none", *words, "-i", "x.npy", "-o", "none/y.npy")
        # Before what comes in is looked at.
        self.bad(3, '"none/y.npy"', *words, "-i", "no.npy", "-o", "none/y.npy")
        self.bad(2, '"y.txt"', *words, "-i", "no.npy", "-o", "y.txt")
        self.bad(2, "outputs", *words, "-i", "no.npy", "-o", "y.npy", "-o", "z.npy")
        self.bad(3, "no.npy", *words, "-i", "no.npy")
        self.bad(4, "5", *words, "-i", self.file("five.npy", npy(range(5), (1, 5))))
        self.bad(4, "ends after", *words, "-i", self.file("cut.npy", good[:20]))
        self.bad(4, "12", *words, "-i", self.file("short.npy", good[:-4]))
        self.bad(4, "O8", *words, "-i", self.file("object.npy", good.replace(b"<f4", b"|O8")))
        vast = good.replace(b"(1, 3)", b"(999999999999, 999999)"[:22]).replace(b" " * 16, b"", 1)
        self.bad(4, "999999999999", *words, "-i", self.file("vast.npy", vast))
        self.bad(4, "line 2: expected a number in column 2", *words, "-i", self.file("word.csv", "1,2,3\n1,b,3\n"))
        for first in ("1,2,x", "1,2,", "1,2,1e999"):
            self.bad(4, "line 1: expected a number in column 3", *words, "-i", self.file("first.csv", first + "\n3,4,5\n"))
        self.bad(4, "columns", *words, "-i", self.file("short.csv", "1,2,3\n1,2\n"))
        self.bad(4, "no rows", *words, "-i", self.file("empty.csv", ""))
        self.bad(4, "rows of 4", *words, "-i", self.file("four.csv", "1,2,3,4\n"))

    def test_numbers_past_float32(self):
        words = ["run", "net.safetensors", "-i"]
        self.bad(4, "1e+300", *words, self.file("vast.csv", "1,2,1e300\n"))
        self.bad(4, "-1e+300", *words, self.file("vast.npy", npy([1, 2, -1e300], (1, 3), "<f8", "d")))
        self.bad(4, "1e+40", *words, self.file("large.npy", npy([1, 2, 1e30], (1, 3))), "--scale", "1e10")
        self.good(*words, self.file("none.csv", "1,inf,nan\n"))  # what is none stays none

    def test_integers(self):
        net = {
            "format": 1,
            "name": "net",
            "inputs": [["x", 0, 0]],
            "outputs": [["e", 0, 0]],
            "layers": [
                {"class_name": "Input", "name": "x", "config": {"shape": [None, None], "dtype": "int32"}},
                {
                    "class_name": "Embedding",
                    "name": "e",
                    "version": 1,
                    "config": {"input_dim": 5, "output_dim": 2},
                    "calls": [{"inputs": [["x", 0, 0]], "arguments": {}}],
                },
            ],
        }
        self.file("words.json", json.dumps(net))
        self.file("x.csv", "0,4,2\n")
        self.file("x.npy", npy([0, 4, 2], (1, 3), "<i8", "q"))
        found = [self.document("run", "words.json", "-i", name)["outputs"] for name in ("x.csv", "x.npy")]
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0]["e"]["shape"], [1, 3, 2])
        self.bad(4, "integers", "run", "words.json", "-i", self.file("half.csv", "0.5\n"))
        self.bad(4, "integers", "run", "words.json", "-i", self.file("vast.npy", npy([2**40], (1, 1), "<i8", "q")))
        self.bad(4, "5", "run", "words.json", "-i", self.file("out.csv", "7\n"))
        self.bad(4, "two axes", "run", "words.json", "-i", "x.csv", "-o", "y.csv")

    @unittest.skipUnless(numpy, "there is no NumPy")
    def test_numpy(self):
        x = numpy.random.default_rng(0).standard_normal((5, 3))
        for dtype in ("f2", "f4", "f8", ">f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "?"):
            numpy.save(self.folder / "x.npy", (4 * x).astype(dtype))
            numpy.save(self.folder / "float.npy", (4 * x).astype(dtype).astype("f4"))
            self.assertEqual(self.outputs("-i", "x.npy"), self.outputs("-i", "float.npy"), dtype)
        numpy.save(self.folder / "x.npy", numpy.asfortranarray(x.astype("f4")))
        numpy.save(self.folder / "float.npy", x.astype("f4"))
        self.assertEqual(self.outputs("-i", "x.npy"), self.outputs("-i", "float.npy"))
        self.good("run", "net.safetensors", "-i", "x.npy", "-o", "y.npy")
        y = numpy.load(self.folder / "y.npy")
        self.assertEqual((y.shape, y.dtype), ((5, 1), numpy.float32))
