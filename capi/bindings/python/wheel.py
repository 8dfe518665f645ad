#!/usr/bin/env python3
"""Builds a wheel with the library and all it needs inside:   wheel.py [--full] BUILD_FOLDER [OUTPUT_FOLDER]

With --full it is `dl4-full`, the library with OpenBLAS and oneDNN alone, which `dl4` prefers where it is installed.

A wheel for Linux runs with any glibc from the one on that its name tells, the newest that its libraries ask for
(older_glibc.py makes that less than this machine's); nothing else of this machine is needed there. The libraries have
names of their own, so that those of other packages and of the system do not stand in for them. The unwinder, libgcc_s,
stays the system's, as in manylinux: glibc ends threads by that one, and a second one aborts the process. `sbom.py`
lists what the wheel contains.

The build may be another platform's, if its library needs the C library alone. STRIP then names that platform's strip,
and DL4_LIBRARY a library of this machine, which tells what the type stubs are made of."""

import base64
import hashlib
import os
import pathlib
import platform
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

import older_glibc
import sbom
from compiled import compiled

HERE = pathlib.Path(__file__).resolve().parent
# Of the C run time, which every Python has beside it.
SYSTEM = re.compile(r"^(ld-linux|libgcc_s\.|libc\.|libm\.|libdl\.|libpthread\.|librt\.|libresolv\.|linux-vdso)")
WINDOWS = re.compile(r"^(kernel32|msvcrt|api-ms-win-crt-[a-z0-9-]+|ucrtbase|advapi32|bcrypt)\.dll$", re.I)
MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}


def run(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout


def needed(library):
    """What a library names that it loads."""
    if library.suffix == ".wasm":
        return []
    if library.suffix == ".dll":
        return re.findall(r"DLL Name: (\S+)", run("objdump", "-p", library))
    return re.findall(r"NEEDED\)\s+Shared library: \[(.+?)\]", run("readelf", "-d", library))


def platform_of(library):
    """(machine, C library) of a library's file: glibc, musl or Windows's."""
    if library.suffix == ".dll":
        return "amd64", "win"
    machine = MACHINES.get(struct.unpack_from("<H", library.read_bytes(), 18)[0], "unknown")
    return machine, "glibc" if "libc.so.6" in needed(library) else "musl"


def alone(library):
    """The library of another platform: {name: bytes}, and no others."""
    known = WINDOWS if library.suffix == ".dll" else SYSTEM
    others = [name for name in needed(library) if not known.match(name)]
    if others:
        raise SystemExit(f"{library}, of another platform, needs {', '.join(others)}: it may need the C library alone")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / library.name
        run(os.environ.get("STRIP", "strip"), "--strip-unneeded", "-o", copy, library)
        data = copy.read_bytes()
        return {library.name: data if library.suffix == ".dll" else older_glibc.older(data, set())}, []


def libraries(library, folder):
    """Copies of a library and of what it loads, beside each other: {name: bytes}, and components of others' making."""
    lacking = folder / "libdl4glibc.so.1"
    given = older_glibc.lacking(str(lacking))
    paths = dict(re.findall(r"^\s*(\S+) => (\S+)", run("ldd", library), re.M))
    paths = {library.name: library, **{name: pathlib.Path(p) for name, p in paths.items() if not SYSTEM.match(name)}}
    if any(older_glibc.lacks(path.read_bytes(), given) for path in paths.values()):
        paths[lacking.name] = lacking
    own = {name: name if name.startswith("libdl4") else f"dl4-{name}" for name in paths}
    made, components = {}, []
    for name, path in paths.items():
        copy = folder / own[name]
        if path != lacking:
            run("strip", "--strip-unneeded", "-o", copy, path)
        data = older_glibc.older(copy.read_bytes(), given)
        copy.write_bytes(data)
        changes = [["--replace-needed", n, own[n]] for n in needed(copy) if own.get(n, n) != n]
        if len(paths) > 1:
            changes += [["--set-soname", own[name]], ["--set-rpath", "$ORIGIN"]]
        if lacking.name in paths and path != lacking:
            changes += [["--add-needed", lacking.name]]
        for change in changes:  # of several at once patchelf 0.14 spoils some
            run("patchelf", *change, copy)
        made[own[name]] = copy.read_bytes()
        if path not in (library, lacking):
            components.append({**sbom.loaded(path), "file": own[name], "data": made[own[name]]})
    return made, components


def typed(library):
    """The type stubs of what this library has."""
    os.environ.setdefault("DL4_LIBRARY", str(library.resolve()))
    sys.path.insert(0, str(HERE))
    from stubs import stubs

    return stubs()


def binding(library, folder, native):
    """The binding's files, and of them those that are compiled."""
    call = compiled(folder) if native else None
    if native and not call:
        print("without dl4/_bound.c: there is no C compiler, or Python has no headers", file=sys.stderr)
    parts = {f"dl4/{call.name}": call.read_bytes()} if call else {}
    sources = sorted(p for p in (HERE / "dl4").rglob("*") if p.suffix in (".py", ".typed"))
    files = {p.relative_to(HERE).as_posix(): p.read_bytes() for p in sources}
    files.update((f"dl4/keras/{name}", text.encode()) for name, text in typed(library).items())
    return {**files, **parts}, parts


FULL = '''"""libdl4 with OpenBLAS and oneDNN, which the package dl4 prefers to its own."""

import os

library = os.path.join(os.path.dirname(__file__), "lib", "libdl4.so.1")
'''


def main(build, out=".", full=False):
    names = [n for n in ("libdl4.so.1", "dl4.dll") if (pathlib.Path(build) / n).exists()]
    if not names:
        raise SystemExit(f"{build} has neither libdl4.so.1 nor dl4.dll")
    library = pathlib.Path(build) / names[0]
    machine, kind = platform_of(library)
    native = (machine, kind) == (platform.machine(), "glibc" if platform.libc_ver()[0] == "glibc" else "musl")
    project = (HERE / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.+)"', project, re.M)[1]
    author, email = re.search(r'^authors = .*name = "(.+?)", email = "(.+?)"', project, re.M).groups()
    home = re.search(r'^Homepage = "(.+)"', project, re.M)[1]
    package, name = ("dl4_full", "dl4-full") if full else ("dl4", "dl4")
    with tempfile.TemporaryDirectory() as folder:
        inside, others = libraries(library, pathlib.Path(folder)) if native and kind == "glibc" else alone(library)
        if full and not any("openblas" in n for n in inside):
            raise SystemExit(f"--full is of a build with OpenBLAS and oneDNN; {library} has neither")
        files, parts = ({"dl4_full/__init__.py": FULL.encode()}, {}) if full else binding(library, folder, native)
    files.update((f"{package}/lib/{n}", data) for n, data in inside.items())
    if kind == "glibc":
        major, minor = max(older_glibc.newest(data) for data in [*inside.values(), *parts.values()])
        system = f"manylinux_{major}_{minor}_{machine}"
    else:
        system = f"musllinux_1_2_{machine}" if kind == "musl" else "win_amd64"
    tag = f"py3-none-{system}"
    needs = f"dl4=={version}" if full else f'numpy\nProvides-Extra: full\nRequires-Dist: dl4-full=={version}; extra == "full"'
    readme = b"The library of [dl4](%s) with OpenBLAS and oneDNN.\n" % home.encode() if full else (HERE / "README.md").read_bytes()
    about = f"{package}-{version}.dist-info"
    components = sbom.compiled_in(build, library, needed(library)) + others
    listed, licences = sbom.described(about, name, version, components, HERE.parents[2] / "LICENSE")
    files[f"{about}/METADATA"] = (
        f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
        "Summary: neural networks with Keras's words, without a framework of gigabytes\n"
        f"Author-email: {author} <{email}>\nProject-URL: Homepage, {home}\n"
        f"{licences}Requires-Python: >=3.9\nRequires-Dist: {needs}\n"
        "Description-Content-Type: text/markdown\n\n"
    ).encode() + readme
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: dl4\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files.update(listed)
    records = [
        f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for n, data in files.items()
    ]
    files[f"{about}/RECORD"] = "\n".join(records + [f"{about}/RECORD,,"]).encode()
    path = pathlib.Path(out) / f"{package}-{version}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for n, data in files.items():
            wheel.writestr(n, data)
    print(path)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--full"]
    if not 1 <= len(words) <= 2:
        raise SystemExit(__doc__)
    main(*words, full="--full" in sys.argv)
