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


class Wheel(unittest.TestCase):
    def test_it_runs_where_it_says_and_needs_nothing_else(self):
        asked = subprocess.run(["ldd", os.environ["DL4_LIBRARY"]], capture_output=True, text=True).stdout
        if re.search("lib[at]san|libgcov", asked):
            self.skipTest("a library with sanitizers goes into no wheel")
        for tool in "patchelf", "readelf", "gcc":
            if shutil.which(tool) is None:
                print(f"skipped: no {tool} to make a wheel with")
                self.skipTest(f"no {tool}")
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([sys.executable, WHEEL, BUILD, folder], capture_output=True, text=True)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            path = pathlib.Path(made.stdout.strip())
            major, minor = map(int, re.search(r"manylinux_(\d+)_(\d+)_", path.name).groups())
            self.assertLessEqual((major, minor), (2, 28))
            with zipfile.ZipFile(path) as file:
                file.extractall(folder)
                about = file.read("dl4-1.0.0.dist-info/METADATA").decode()
            self.assertRegex(about, r"\nAuthor-email: .+ <.+@.+>\nProject-URL: Homepage, https://")
            for library in pathlib.Path(folder, "dl4/lib").iterdir():
                words = subprocess.run(["readelf", "-V", library], capture_output=True, text=True, check=True).stdout
                needs = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", words[words.index("Version needs section") :])
                self.assertLessEqual(max((int(a), int(b)) for a, b in needs), (major, minor), library.name)
            env = {k: v for k, v in os.environ.items() if k != "DL4_LIBRARY"}
            env.update(PYTHONPATH=folder, LD_BIND_NOW="1", PYTHONDONTWRITEBYTECODE="1")
            done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, cwd=folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for name in "libdl4.so.1", "dl4-libdnnl", "dl4-libopenblas", "dl4-libstdc++", "libdl4glibc":
                self.assertIn(f"{folder}/dl4/lib/{name}", done.stdout)
            self.assertNotRegex(done.stdout, r"(?<!dl4-)lib(dnnl|openblas\.)")


if __name__ == "__main__":
    unittest.main()
