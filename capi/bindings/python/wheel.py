#!/usr/bin/env python3
"""Builds a wheel with the library and all it needs inside:   wheel.py BUILD_FOLDER [OUTPUT_FOLDER]

It runs on any Linux whose glibc is at least the one that its name tells, the newest that its libraries ask for
(older_glibc.py makes that less than this machine's); nothing else of this machine is needed there. The libraries have
names of their own, so that those of other packages and of the system do not stand in for them."""

import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

import older_glibc
from compiled import compiled

HERE = pathlib.Path(__file__).resolve().parent
# Of the C and C++ run time, which every Python has beside it.
SYSTEM = re.compile(r"^(ld-linux|libc\.|libm\.|libdl\.|libpthread\.|librt\.|libresolv\.|linux-vdso)")


def run(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout


def libraries(library, folder):
    """Copies of a library and of what it loads, beside each other: {name: bytes}."""
    lacking = folder / "libdl4glibc.so.1"
    given = older_glibc.lacking(str(lacking))
    paths = {library.name: library, lacking.name: lacking}
    paths.update((name, path) for name, path in re.findall(r"^\s*(\S+) => (\S+)", run("ldd", library), re.M))
    paths = {name: path for name, path in paths.items() if not SYSTEM.match(name)}
    own = {name: name if name.startswith("libdl4") else f"dl4-{name}" for name in paths}
    made = {}
    for name, path in paths.items():
        copy = folder / own[name]
        if path != lacking:
            run("strip", "--strip-unneeded", "-o", copy, path)
        data = older_glibc.older(copy.read_bytes(), given)
        copy.write_bytes(data)
        loads = re.findall(r"NEEDED\)\s+Shared library: \[(.+?)\]", run("readelf", "-d", copy))
        changes = [["--replace-needed", n, own[n]] for n in loads if own.get(n, n) != n]
        changes += [["--set-soname", own[name]], ["--set-rpath", "$ORIGIN"]]
        changes += [["--add-needed", lacking.name]] if path != lacking else []
        for change in changes:  # of several at once patchelf 0.14 spoils some
            run("patchelf", *change, copy)
        made[own[name]] = copy.read_bytes()
    return made


def typed(library):
    """The type stubs of what this library has."""
    os.environ["DL4_LIBRARY"] = str(library.resolve())
    sys.path.insert(0, str(HERE))
    from stubs import stubs

    return stubs()


def main(build, out="."):
    library = pathlib.Path(build) / "libdl4.so.1"
    project = (HERE / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.+)"', project, re.M)[1]
    author, email = re.search(r'^authors = .*name = "(.+?)", email = "(.+?)"', project, re.M).groups()
    home = re.search(r'^Homepage = "(.+)"', project, re.M)[1]
    with tempfile.TemporaryDirectory() as folder:
        inside = libraries(library, pathlib.Path(folder))
        call = compiled(folder)
        parts = {call.name: call.read_bytes()} if call else {}
    if not call:
        print("without dl4/_bound.c: there is no C compiler, or Python has no headers", file=sys.stderr)
    major, minor = max(older_glibc.newest(data) for data in [*inside.values(), *parts.values()])
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    sources = sorted(p for p in (HERE / "dl4").rglob("*") if p.suffix in (".py", ".typed"))
    files = {p.relative_to(HERE).as_posix(): p.read_bytes() for p in sources}
    files.update((f"dl4/keras/{name}", text.encode()) for name, text in typed(library).items())
    files.update((f"dl4/{name}", data) for name, data in parts.items())
    files.update((f"dl4/lib/{name}", data) for name, data in inside.items())
    about = f"dl4-{version}.dist-info"
    files[f"{about}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: dl4\nVersion: {version}\n"
        "Summary: neural networks with Keras's words, without a framework of gigabytes\n"
        f"Author-email: {author} <{email}>\nProject-URL: Homepage, {home}\n"
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
