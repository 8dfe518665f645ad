"""Type stubs: every kind is in them, and mypy and pyright, where they are installed, take a program by them."""

import ast
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import stubs

WRONG = """import dl4.keras as keras
keras.layers.Dense(units="three")
keras.layers.Dense(3, no_such=1, bias="x").fit
keras.utils.set_random_seed(1).bit
keras.no_such
"""


class Stubs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(HERE.parent / "dl4", self.root / "dl4", ignore=shutil.ignore_patterns("lib", "__pycache__"))
        stubs.main(self.root / "dl4" / "keras")
        shutil.copy(HERE / "typed_sample.py", self.root)
        (self.root / "wrong.py").write_text(WRONG)

    def test_every_kind_is_in_them(self):
        for module, category in stubs.CATEGORIES.items():
            tree = ast.parse((self.root / "dl4" / "keras" / f"{module}.pyi").read_text())
            classes = {c.name for c in tree.body if isinstance(c, ast.ClassDef)}
            names = {a.asname for i in tree.body if isinstance(i, ast.ImportFrom) for a in i.names}
            self.assertLessEqual(set(stubs.facts(category)), classes | names, module)

    def checked(self, *command):
        if shutil.which(command[0]) is None:
            self.skipTest(f"no {command[0]}")
        good = subprocess.run([*command, "typed_sample.py"], cwd=self.root, capture_output=True, text=True)
        self.assertEqual(good.returncode, 0, good.stdout + good.stderr)
        wrong = subprocess.run([*command, "wrong.py"], cwd=self.root, capture_output=True, text=True)
        for line in (2, 4, 5):
            self.assertRegex(wrong.stdout, rf"wrong\.py:{line}:", wrong.stdout)

    def test_mypy(self):
        self.checked("mypy", "--strict", "--follow-imports=silent")

    def test_pyright(self):
        self.checked("pyright")


if __name__ == "__main__":
    unittest.main()
