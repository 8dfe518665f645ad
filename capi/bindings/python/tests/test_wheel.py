"""The wheel: which glibc it asks for, and that it runs on its own libraries alone."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

BUILD = pathlib.Path(os.environ["DL4_LIBRARY"]).resolve().parent
WHEEL = pathlib.Path(__file__).resolve().parents[1] / "wheel.py"
PROGRAM = """
import numpy as np
import dl4.keras as keras

m = keras.Sequential([keras.Input((6, 6, 1)), keras.layers.Conv2D(2, 3), keras.layers.Flatten(), keras.layers.Dense(1)])
m.compile("adam", "mse")
m.fit(np.ones((4, 6, 6, 1)), np.ones((4, 1)), verbose=0)
try:
    keras.layers.Dense(-1)
except ValueError:  # an exception went through the library
    print(open("/proc/self/maps").read())
"""
ENDS_IN_FIT = """
import threading
import time

import numpy as np
import dl4.keras as keras

m = keras.Sequential([keras.Input((30,)), keras.layers.Dense(300), keras.layers.Dense(1)])
m.compile("adam", "mse")
begun = threading.Event()


class Begun(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        begun.set()


x = np.ones((3200, 30), "float32")
fit = lambda: m.fit(x, x[:, :1], epochs=10**6, verbose=0, callbacks=[Begun()])
threading.Thread(target=fit, daemon=True).start()
begun.wait()
time.sleep(0.05)
"""


def made(folder, *words):
    return subprocess.run([sys.executable, WHEEL, *words, folder], capture_output=True, text=True)


def run(folder, program):
    """Status, errors and output of a program that runs on what is in a folder."""
    env = {k: v for k, v in os.environ.items() if k != "DL4_LIBRARY"}
    env.update(PYTHONPATH=folder, LD_BIND_NOW="1", PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, cwd=folder)
    return done.returncode, done.stderr, done.stdout


class Wheel(unittest.TestCase):
    def setUp(self):
        self.asked = subprocess.run(["ldd", os.environ["DL4_LIBRARY"]], capture_output=True, text=True).stdout
        if re.search("lib[at]san|libgcov", self.asked):
            self.skipTest("a library with sanitizers goes into no wheel")
        for tool in "patchelf", "readelf", "gcc":
            if shutil.which(tool) is None:
                print(f"skipped: no {tool} to make a wheel with")
                self.skipTest(f"no {tool}")

    def wheel(self, folder, *words):
        """Unpacks a new wheel into a folder; its description."""
        done = made(folder, *words, BUILD)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        path = pathlib.Path(done.stdout.strip())
        major, minor = map(int, re.search(r"manylinux_(\d+)_(\d+)_", path.name).groups())
        dynamic = subprocess.run(["readelf", "-d", os.environ["DL4_LIBRARY"]], capture_output=True, text=True).stdout
        # Packed relocations, which a build of our own kernels has unless it is told otherwise, are glibc's since 2.36.
        self.assertLessEqual((major, minor), (2, 36) if "(RELR)" in dynamic else (2, 28))
        package = path.name.split("-")[0]
        with zipfile.ZipFile(path) as file:
            file.extractall(folder)
            about = file.read(f"{package}-1.0.0.dist-info/METADATA").decode()
        for library in pathlib.Path(folder, package, "lib").iterdir():
            words = subprocess.run(["readelf", "-V", library], capture_output=True, text=True, check=True).stdout
            needs = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", words[words.index("Version needs section") :])
            self.assertLessEqual(max((int(a), int(b)) for a, b in needs), (major, minor), library.name)
        self.assertRegex(about, r"\nAuthor-email: .+ <.+@.+>\nProject-URL: Homepage, https://")
        return about

    def test_it_runs_where_it_says_and_needs_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            about = self.wheel(folder)
            self.assertIn('\nProvides-Extra: full\nRequires-Dist: dl4-full==1.0.0; extra == "full"\n', about)
            code, errors, maps = run(folder, PROGRAM)
            self.assertEqual((code, errors), (0, ""))
            self.assertIn(f"{folder}/dl4/lib/libdl4.so.1", maps)
            self.assertNotRegex(maps, r"(?<!dl4-)lib(dnnl|openblas\.)")
            for name in set(re.findall(r"lib(?:dnnl|openblas|stdc\+\+)", self.asked)):
                self.assertIn(f"{folder}/dl4/lib/dl4-{name}", maps)
            self.assertNotIn("dl4-libgcc_s", maps)
            for _ in range(3):  # glibc ends the thread by the system's unwinder
                self.assertEqual(run(folder, ENDS_IN_FIT)[:2], (0, ""))
            self.lists_its_libraries(folder, about)

    def lists_its_libraries(self, folder, about):
        """Each file of another's, and what is compiled in, has a version and a licence, and all licences are there."""
        info = pathlib.Path(folder, "dl4-1.0.0.dist-info")
        listed = json.loads((info / "sboms" / "dl4.cdx.json").read_text())
        self.assertEqual((listed["bomFormat"], listed["specVersion"]), ("CycloneDX", "1.6"))
        files = {p["value"]: c for c in listed["components"] for p in c.get("properties", [])}
        others = {p for p in pathlib.Path(folder, "dl4", "lib").iterdir() if not p.name.startswith("libdl4")}
        self.assertEqual(set(files), {p.name for p in others})
        for path in others:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            self.assertEqual(files[path.name]["hashes"], [{"alg": "SHA-256", "content": digest}])
        names = [c["name"] for c in listed["components"]]
        for name in "Highway", "spdlog", "fmt", "libstdc++":
            self.assertEqual(names.count(name), 1, name)
        expression = re.search(r"\nLicense-Expression: (.+)\n", about)[1].split(" AND ")
        for component in listed["components"]:
            self.assertRegex(component["version"], r"^\d+[:.]\d")
            self.assertIn(component["licenses"][0]["expression"], expression)
        texts = re.findall(r"\nLicense-File: (.+)", about)
        self.assertIn("LICENSE", texts)
        self.assertEqual({str(p.relative_to(info / "licenses")) for p in (info / "licenses").rglob("*") if p.is_file()}, set(texts))
        if shutil.which("dpkg-query"):
            self.assertEqual({f"{name}/copyright" for name in names} | {"LICENSE"}, set(texts))

    def test_the_full_library_is_preferred_where_it_is_installed(self):
        if "openblas" not in self.asked:
            with tempfile.TemporaryDirectory() as folder:
                done = made(folder, "--full", BUILD)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, "--full is of a build with OpenBLAS and oneDNN; .+ has neither")
            return
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("\nName: dl4-full\nVersion: 1.0.0\n", self.wheel(folder, "--full"))
            shutil.copytree(WHEEL.parent / "dl4", f"{folder}/dl4")
            os.mkdir(f"{folder}/dl4/lib")
            shutil.copy(os.environ["DL4_LIBRARY"], f"{folder}/dl4/lib/libdl4.so.1")
            code, errors, maps = run(folder, PROGRAM)
            self.assertEqual((code, errors), (0, ""))
            self.assertIn(f"{folder}/dl4_full/lib/libdl4.so.1", maps)
            self.assertNotIn(f"{folder}/dl4/lib/libdl4.so.1", maps)

    def test_the_build_of_another_platform_is_taken_if_its_library_needs_the_c_library_alone(self):
        with tempfile.TemporaryDirectory() as folder:

            def library(name, soname, *needs):
                words = ["-shared", "-nostdlib", "-x", "c", "/dev/null", f"-Wl,--no-as-needed,-soname,{soname}"]
                subprocess.run(["gcc", *words, "-x", "none", *needs, "-o", f"{folder}/{name}"], check=True)
                return f"{folder}/{name}"

            c, other = library("c.so", "libc.so"), library("other.so", "libother.so.1")
            library("libdl4.so.1", "libdl4.so.1", c)  # as musl's is
            shutil.copy(BUILD / "compiled_in.json", folder)
            done = made(folder, folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            path = pathlib.Path(done.stdout.strip())
            self.assertRegex(path.name, r"^dl4-1\.0\.0-py3-none-musllinux_1_2_[a-z0-9_]+\.whl$")
            with zipfile.ZipFile(path) as file:
                self.assertIn("dl4/lib/libdl4.so.1", file.namelist())
                self.assertIn("dl4/keras/layers.pyi", file.namelist())
                self.assertFalse([name for name in file.namelist() if "_bound.abi3" in name])
            library("libdl4.so.1", "libdl4.so.1", c, other)
            done = made(folder, folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("of another platform, needs libother.so.1: it may need the C library alone", done.stderr)

    def test_what_cannot_be_made_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            done = made(folder, folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{folder} has neither libdl4.so.1 nor dl4.dll", done.stderr)
            other = pathlib.Path(folder, "libdl4.so.1")
            subprocess.run(["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", other], check=True)
            done = made(folder, "--full", folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"--full is of a build with OpenBLAS and oneDNN; {other} has neither", done.stderr)


if __name__ == "__main__":
    unittest.main()
