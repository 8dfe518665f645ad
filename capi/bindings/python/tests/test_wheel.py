"""The wheel: which glibc it asks for, and that it runs on its own libraries alone."""

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




def made(folder, *words):
    return subprocess.run([sys.executable, WHEEL, *words, folder], capture_output=True, text=True)


def loaded(folder):
    """The mapped files of a program that runs on what is in a folder."""
    env = {k: v for k, v in os.environ.items() if k != "DL4_LIBRARY"}
    env.update(PYTHONPATH=folder, LD_BIND_NOW="1", PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, cwd=folder)
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
            code, errors, maps = loaded(folder)
            self.assertEqual((code, errors), (0, ""))
            self.assertIn(f"{folder}/dl4/lib/libdl4.so.1", maps)
            self.assertNotRegex(maps, r"(?<!dl4-)lib(dnnl|openblas\.)")
            for name in set(re.findall(r"lib(?:dnnl|openblas|stdc\+\+)", self.asked)):
                self.assertIn(f"{folder}/dl4/lib/dl4-{name}", maps)

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
            code, errors, maps = loaded(folder)
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
