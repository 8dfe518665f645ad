"""What the tests of the command share: files made here, and the command line of the program that DL4_TOOL names."""

import ast
import json
import os
import struct
import subprocess
import tempfile
import unittest
import zlib
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "dl4.1"
DATA = Path(__file__).resolve().parents[3] / "tests" / "io" / "data"
TOOL = os.environ["DL4_TOOL"]
NET = {
    "format": 1,
    "name": "net",
    "layers": [
        {"class_name": "Input", "name": "x", "config": {"shape": [None, 3], "dtype": "float32"}},
        {
            "class_name": "Dense",
            "name": "h",
            "version": 1,
            "config": {"units": 8, "activation": "tanh"},
            "calls": [{"inputs": [["x", 0, 0]], "arguments": {}}],
        },
        {
            "class_name": "Dropout",
            "name": "d",
            "version": 1,
            "config": {"rate": 0.2},
            "calls": [{"inputs": [["h", 0, 0]], "arguments": {}}],
        },
        {
            "class_name": "Dense",
            "name": "y",
            "version": 1,
            "config": {"units": 1},
            "calls": [{"inputs": [["d", 0, 0]], "arguments": {}}],
        },
    ],
    "inputs": [["x", 0, 0]],
    "outputs": [["y", 0, 0]],
}


def npy(values, shape, descr="<f4", code="f"):
    """The bytes of a .npy file."""
    head = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}{code}", *values)


def read_npy(path):
    """Shape and values of a .npy file of float32."""
    data = Path(path).read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10 : 10 + size].decode())
    assert head["descr"] == "<f4" and not head["fortran_order"]
    return head["shape"], list(struct.unpack(f"<{(len(data) - 10 - size) // 4}f", data[10 + size :]))


def png(rows, color, depth=8):
    """The bytes of a .png file of rows of samples."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    channels = {0: 1, 2: 3, 4: 2, 6: 4}[color]
    size = struct.pack(">II5B", len(rows[0]) * 8 // channels // depth, len(rows), depth, color, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file("net.json", json.dumps(NET))

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run_tool(self, *words, env=None, **how):
        return subprocess.run(
            [TOOL, *map(str, words)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
            **how,
        )

    def good(self, *words, code=0, **how):
        """What goes to standard output."""
        done = self.run_tool(*words, **how)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        return done.stdout

    def document(self, *words, **how):
        return json.loads(self.good(*words, "--json", **how))

    def bad(self, code, says, *words):
        done = self.run_tool(*words)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertTrue(done.stderr.startswith("dl4: ") and done.stderr.count("\n") == 1, done.stderr)
        self.assertIn(says, done.stderr)

    def table(self, name="data.csv", rows=64):
        """y = x0 - x1 + x2 / 2, as rows of numbers."""
        lines = ["a,b,c,y"]
        for i in range(rows):
            x = [(i * k % 17) / 17 - 0.5 for k in (3, 5, 7)]
            lines.append(",".join(map(str, [*x, x[0] - x[1] + x[2] / 2])))
        return self.file(name, "\n".join(lines) + "\n")
