#!/usr/bin/env python3
"""Builds a wheel with the library and all it needs inside:   wheel.py BUILD_FOLDER [OUTPUT_FOLDER]

It runs on any Linux whose C library is at least that of this machine; nothing else of it is needed there."""

import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
# Of the C and C++ run time, which every Python has beside it.
SYSTEM = re.compile(r"^(ld-linux|libc\.|libm\.|libdl\.|libpthread\.|librt\.|libresolv\.|linux-vdso)")


def needed(library):
    """What a library loads, each behind what it needs itself: {name: path}."""
    found = {}
    listed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    for name, path in re.findall(r"^\s*(\S+) => (\S+)", listed, re.M):
        if not SYSTEM.match(name):
            found[name] = path
    names = {
        name: set(
            re.findall(
                r"NEEDED\)\s+Shared library: \[(.+?)\]",
                subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout,
            )
        )
        for name, path in found.items()
    }
    order = []
    while len(order) < len(found):
        ready = [n for n in found if n not in order and not (names[n] & set(found)) - set(order)]
        if not ready:
            raise SystemExit(f"libraries that need each other: {set(found) - set(order)}")
        order += sorted(ready)
    return {name: found[name] for name in order}


def main(build, out="."):
    library = pathlib.Path(build) / "libdl4.so.1"
    project = (HERE / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.+)"', project, re.M)[1]
    glibc = platform.libc_ver()[1].replace(".", "_")
    tag = f"py3-none-manylinux_{glibc}_{platform.machine()}"
    libraries = needed(str(library))
    files = {
        f"dl4/{p.relative_to(HERE / 'dl4').as_posix()}": p.read_bytes() for p in sorted((HERE / "dl4").rglob("*.py"))
    }
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "libdl4.so.1"
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped, library], check=True)
        files["dl4/lib/libdl4.so.1"] = stripped.read_bytes()
    for name, path in libraries.items():
        files[f"dl4/lib/{name}"] = pathlib.Path(path).read_bytes()
    files["dl4/lib/order.txt"] = "\n".join(libraries).encode()
    about = f"dl4-{version}.dist-info"
    files[f"{about}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: dl4\nVersion: {version}\n"
        "Summary: neural networks with Keras's words, without a framework of gigabytes\n"
        "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy\n"
        "Description-Content-Type: text/markdown\n\n"
    ).encode() + (HERE / "README.md").read_bytes()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: dl4\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    records = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for name, data in files.items()
    ]
    files[f"{about}/RECORD"] = "\n".join(records + [f"{about}/RECORD,,"]).encode()
    path = pathlib.Path(out) / f"dl4-{version}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
