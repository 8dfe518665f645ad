"""Training, and what is measured."""

import json
import os
import signal
import subprocess
import zipfile

from case import DATA, NET, TOOL, Case, npy


class Training(Case):
    words = ["train", "net.json", "--loss", "mse", "--batch-size", "8"]

    def test_from_a_table(self):
        self.table()
        text = self.good(*self.words, "--data", "data.csv", "--epochs", "3", "--save", "a.keras")
        self.assertEqual([line[:9] for line in text.splitlines()], ["epoch 1/3", "epoch 2/3", "epoch 3/3"])
        found = self.document(
            *self.words,
            "--data",
            "data.csv",
            "--epochs",
            "30",
            "--save",
            "b.keras",
            "--metric",
            "mae",
            "--validation-split",
            "0.25",
            "--learning-rate",
            "0.01",
        )
        history = found["history"]
        self.assertEqual(sorted(history), ["epoch", "loss", "mae", "val_loss", "val_mae"])
        self.assertEqual(len(history["loss"]), 30)
        self.assertLess(history["loss"][-1], history["loss"][0] / 3)
        before = self.document("eval", "a.keras", "--data", "data.csv")["metrics"]["loss"]
        after = self.document("eval", "b.keras", "--data", "data.csv", "--loss", "mse")["metrics"]["loss"]
        self.assertLess(after, before)
        self.assertIn("loss", self.good("eval", "b.keras", "--data", "data.csv"))

    def test_from_arrays(self):
        rows = [[float(v) for v in line.split(",")] for line in self.table().read_text().split()[1:]]
        x, y = [v for row in rows for v in row[:3]], [row[3] for row in rows]
        for names in (("x", "y"), ("x", "y", "w")):
            with zipfile.ZipFile(self.folder / "data.npz", "w") as file:
                for name, values, shape in zip(names, (x, y, [1] * 32 + [0] * 32), ((64, 3), (64, 1), (64,))):
                    file.writestr(name + ".npy", npy(values, shape, "<f8", "d"))
            self.good(*self.words, "--data", "data.npz", "--save", "".join(names) + ".safetensors")
        self.good(*self.words, "--data", "data.csv", "--save", "csv.safetensors")
        self.good("diff", "csv.safetensors", "xy.safetensors")
        self.good("diff", "csv.safetensors", "xyw.safetensors", code=1)
        for missing in ("x", "y"):
            with zipfile.ZipFile(self.folder / "less.npz", "w") as file:
                file.writestr(("y" if missing == "x" else "x") + ".npy", npy([0.0] * 3, (1, 3)))
            self.bad(3, f'"{missing}"', *self.words, "--data", "less.npz", "--save", "no.keras")

    def net_of(self, x, outputs):
        """Of input x, layer h and Dense layers on it."""
        net = json.loads(json.dumps(NET).replace('"x"', f'"{x}"'))
        head = net["layers"][-1]
        net["layers"] = [*net["layers"][:-1], *({**head, "name": name} for name in outputs)]
        net["outputs"] = [[name, 0, 0] for name in outputs]
        self.file("other.json", json.dumps(net))

    def arrays(self, **arrays):
        with zipfile.ZipFile(self.folder / "data.npz", "w") as file:
            for name, width in arrays.items():
                values = [(i * 7 % 11) / 11 for i in range(8 * width)]
                file.writestr(name + ".npy", npy(values, (8, width) if width > 1 or name != "w" else (8,)))

    def test_weights_of_samples_are_for_one_target(self):
        words = ["train", "other.json", "--data", "data.npz", "--save", "net.safetensors"]
        self.net_of("x", ["a", "b"])
        self.arrays(x=3, a=1, b=1, w=1)
        self.bad(4, '"w" weighs the samples of one target, the model has 2', *words, *["--loss", "mse"] * 2)
        self.good(*words, "--loss", "mse", "--loss", "null")
        self.net_of("x", ["a", "w"])  # then it is a target
        self.arrays(x=3, a=1, w=1)
        self.good(*words, *["--loss", "mse"] * 2)
        self.net_of("w", ["y"])  # or an input
        self.arrays(w=3, y=1)
        self.good(*words, "--loss", "mse")
        self.net_of("x", ["y"])
        self.arrays(x=3, w=1)
        self.bad(4, "the model has 0", *words, "--loss", "output")

    def test_kinds_with_settings(self):
        self.table()
        words = ["train", "net.json", "--data", "data.csv", "--save", "net.safetensors"]
        huber = '{"class_name": "Huber", "config": {"delta": 0.5}}'
        self.good(*words, "--loss", huber, "--optimizer", "SGD", "--seed", "4")
        self.bad(4, '"delt"', *words, "--loss", huber.replace("delta", "delt"))
        self.bad(2, "JSON", *words, "--loss", "{")
        self.bad(4, "Hubber", *words, "--loss", "Hubber")
        self.bad(2, "--loss", *words)  # it was never compiled
        self.bad(2, "--loss", *words, "--metric", "mae")
        self.bad(2, "data", *words[:3], "data.txt", "--save", "a.keras", "--loss", "mse")

    def test_numbers_are_handed_on_as_they_are_told(self):
        self.table()
        words = [*self.words, "--data", "data.csv", "--save", "net.safetensors"]
        for rate in ("-0.1", "nan", "inf"):
            self.bad(4, '"learning_rate"', *words, "--learning-rate", rate)
        for split in ("-1", "1.5", "1"):
            self.bad(4, '"validation_split"', *words, "--validation-split", split)
        self.bad(4, "a finite number", *words, "--validation-split", "nan")
        self.bad(2, "--learning-rate", *words, "--learning-rate", "fast")
        self.assertFalse((self.folder / "net.safetensors").exists())
        self.good(*words, "--learning-rate", "0")
        self.good("convert", "net.json", "new.safetensors")
        self.good("diff", "net.safetensors", "new.safetensors")

    def test_a_file_that_will_not_be_written_is_refused_first(self):
        self.table()
        (self.folder / "folder.keras").mkdir()
        before = sorted(self.folder.iterdir())
        for code, file in ((4, "m.h5"), (3, "none/m.keras"), (3, "folder.keras")):
            words = [*self.words, "--data", "data.csv", "--save", file]
            self.bad(code, f'{file}"', *words)
            self.assertEqual(self.run_tool(*words).stdout, "")  # no epoch is told
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def interrupted(self, words):
        process = subprocess.Popen(
            [TOOL, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3):
            process.stdout.readline()  # an epoch is over
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        return process.returncode, errors

    def test_goes_on_after_an_interruption(self):
        self.table(rows=600)
        words = [*self.words, "--data", "data.csv", "--epochs", "400", "--strict"]
        self.good(*words, "--save", "whole.safetensors")
        words += ["--save", "cut.safetensors"]
        interruptions = 0
        for _ in range(3):
            code, errors = self.interrupted(words)
            if code == 0:
                break
            self.assertEqual(code, 130, errors)
            self.assertIn('"cut.safetensors.checkpoint"', errors)
            self.assertTrue((self.folder / "cut.safetensors.checkpoint").exists())
            interruptions += 1
        self.assertGreater(interruptions, 0)
        done = self.run_tool(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.good("diff", "whole.safetensors", "cut.safetensors")
        self.assertFalse((self.folder / "cut.safetensors.checkpoint").exists())

    def test_a_bar_on_a_terminal_alone(self):
        self.table()
        try:
            ours, its = os.openpty()
        except OSError as error:
            self.skipTest(f"no terminal can be opened here: {error}")
        words = [*self.words, "--data", "data.csv", "--save", "a.safetensors"]
        done = subprocess.run([TOOL, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=its, text=True)
        os.close(its)
        shown = os.read(ours, 65536).decode()
        os.close(ours)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(shown, r"^\repoch 1/1  \[=* *\] 1/8  loss [\d.]+")
        self.assertTrue(done.stdout.startswith("epoch 1/1  loss"))

    def test_a_checkpoint_of_another_net(self):
        self.table()
        self.file("a.keras.checkpoint", (DATA / "expected.safetensors").read_bytes())
        self.bad(4, "remove", *self.words, "--data", "data.csv", "--save", "a.keras")

    def test_numbers_that_are_none(self):
        self.file("nan.csv", "1,2,3,nan\n" * 8)
        self.bad(5, "NaN", *self.words, "--data", "nan.csv", "--save", "a.keras")
        self.assertFalse((self.folder / "a.keras").exists())


class Measuring(Case):
    def test_bench(self):
        found = self.document("bench", DATA / "sequential.keras", "--runs", "7", "--threads", "1", "--batch-size", "2")
        self.assertEqual((found["runs"], found["threads"], found["inputs"]), (7, 1, [[2, 6, 6, 2]]))
        self.assertLessEqual(found["seconds"]["least"], found["seconds"]["median"])
        self.assertEqual(found["memory"]["weights"], 4 * 167)
        self.assertGreater(found["memory"]["peak_of_process"], found["memory"]["working"])
        layers = {layer["layer"]: layer for layer in found["layers"]}
        self.assertGreater(layers["dense"]["seconds"], 0)
        self.assertTrue(layers["conv2d"]["kernels"])
        text = self.good("bench", DATA / "sequential.keras", "--runs", "5")
        self.assertIn("median", text)
        self.assertIn("conv2d", text)

    def test_bench_explains(self):
        words = "bench", DATA / "sequential.keras", "--runs", "5", "--threads", "1", "--explain"
        steps = {step["layer"]: step for step in self.document(*words)["steps"]}
        first = steps["conv2d"]["candidates"][0]
        self.assertTrue(steps["conv2d"]["kernel"].startswith(first["kernel"]))
        self.assertGreater(first["microseconds"], 0)
        self.assertGreater(steps["conv2d"]["microseconds"], 0)
        lines = self.good(*words).splitlines()
        heading = next(line for line in lines if "runner-up" in line)
        self.assertEqual(heading.split(), ["step", "kernel", "slices", "us", "estimate", "runner-up", "estimate"])
        self.assertTrue(any(first["kernel"] in line for line in lines))

    def test_tune(self):
        found = self.document("tune", "tuned.json")
        self.assertEqual(found, json.loads((self.folder / "tuned.json").read_text()))
        self.assertEqual(len(found["cycles"]), 4)
        self.assertGreater(found["kernels"]["packed_gemm"], 0)
        words = "bench", DATA / "sequential.keras", "--runs", "5", "--threads", "1", "--explain"
        steps = self.document(*words, "--tuning", "tuned.json")["steps"]
        conv = next(step for step in steps if step["layer"] == "conv2d")
        self.file("slow.json", json.dumps({**found, "kernels": {conv["candidates"][0]["kernel"]: 100}}))
        steps = self.document(*words, "--tuning", "slow.json")["steps"]
        self.assertNotEqual(next(s for s in steps if s["layer"] == "conv2d")["kernel"], conv["kernel"])
        self.file("other.json", json.dumps({**found, "processor": "another"}))
        self.bad(4, '"processor": expected "', *words, "--tuning", "other.json")
        self.bad(3, "none.json", *words, "--tuning", "none.json")
        self.bad(3, "folder", "tune", "no/folder/tuned.json")

    def test_diff(self):
        self.good("convert", "net.json", "a.safetensors")
        self.good("convert", "net.json", "b.safetensors", "--seed", "1")
        self.assertEqual(self.good("diff", "a.safetensors", "a.safetensors"), "")
        found = self.document("diff", "a.safetensors", "b.safetensors", code=1)
        self.assertEqual([w["weight"] for w in found["weights"]], ["h/kernel", "y/kernel"])
        self.assertFalse(found["equal"])
        self.assertEqual(
            [[layer["layer"], *(k["key"] for k in layer["keys"])] for layer in found["layers"]], [["d", "random_seed"]]
        )
        self.good("train", "net.json", "--data", self.table(), "--loss", "mse", "--save", "c.safetensors")
        self.good("diff", "a.safetensors", "c.safetensors", code=1)
        self.good("diff", "a.safetensors", "c.safetensors", "--tolerance", "0.1")
        other = json.loads(json.dumps(NET).replace("tanh", "relu").replace('"d"', '"drop"'))
        self.file("other.json", json.dumps(other))
        text = self.good("diff", "net.json", "other.json", code=1)
        self.assertIn('layer h, config.activation: "tanh" and "relu"', text)
        self.assertIn("layer d: only in a", text)
        self.assertIn("layer drop: only in b", text)
        self.file("wide.json", json.dumps(NET).replace('"units": 8', '"units": 9'))
        self.assertIn("weight h/kernel: [3,8] and [3,9]", self.good("diff", "net.json", "wide.json", code=1))

    def test_verify(self):
        """Every net has the published sums, whatever the number of threads."""
        self.assertEqual(len(self.good("verify").splitlines()), 12)
        found = self.document("verify", "--threads", "3")
        self.assertTrue(found["same"], found)
        self.assertEqual(len({net["weights"] for net in found["nets"]}), 12)
        self.bad(2, "expected no --seed", "verify", "--seed", "5")
        first = self.good("verify", "--sums").splitlines()[0].split()
        self.assertEqual(first, [found["nets"][0][key] for key in ("net", "output", "weights")])

    def test_gradcheck(self):
        found = self.document("gradcheck", "net.json")
        self.assertTrue(found["good"])
        self.assertEqual([g["name"] for g in found["gradients"]], ["x", "h/kernel", "h/bias", "y/kernel", "y/bias"])
        self.assertIn("yes", self.good("gradcheck", "net.json", "--training", "--samples", "3"))
        self.assertIn("NO", self.good("gradcheck", "net.json", "--tolerance", "0", code=1))
