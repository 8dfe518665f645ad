#!/usr/bin/env python3
"""What a package contains of others: names, versions, licences (PEP 639) and a list of them as CycloneDX (PEP 770).

sbom.py FILE VERSION [BUILD_FOLDER:LIBRARY | NAME]... writes FILE.cdx.json: of a wheel the list that it has, of another
package what these libraries of builds and these of COMPILED_IN (by Debian's version) have inside.

Versions and texts of licences come from Debian's packages, where the files of the libraries are."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import zipfile

APACHE, BSD, MIT = "Apache-2.0", "BSD-3-Clause", "MIT"
GCC, LLVM = "GPL-3.0-or-later WITH GCC-exception-3.1", "Apache-2.0 WITH LLVM-exception"
LOADED = {  # by the name of a shared library's file
    "libdnnl": ("oneDNN", APACHE),
    "libopenblas": ("OpenBLAS", BSD),
    "libOpenCL": ("ocl-icd", "BSD-2-Clause"),
    "libstdc++": ("libstdc++", GCC),
    "libgfortran": ("libgfortran", GCC),
    "libgomp": ("libgomp", GCC),
    "libquadmath": ("libquadmath", "LGPL-2.1-or-later"),
}
COMPILED_IN = {  # what BUILD/compiled_in.json names, and Debian's package of it
    "Highway": (APACHE, "libhwy-dev"),
    "spdlog": (MIT, "libspdlog-dev"),
    "fmt": (MIT, "libfmt-dev"),
    "CLI11": (BSD, "libcli11-dev"),
    "nlohmann-json": (MIT, "nlohmann-json3-dev"),
    "emscripten": (MIT, "emscripten"),
}


def _dpkg(*words):
    try:
        return subprocess.run(["dpkg-query", *map(str, words)], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def _component(name, version, licence, package=None):
    text = pathlib.Path(f"/usr/share/doc/{package}/copyright") if package else None
    return {"name": name, "version": version, "licence": licence, "text": text if text and text.exists() else None}


def loaded(path):
    """A shared library that goes into the wheel as a file."""
    known = [word for word in LOADED if path.name.startswith(word)]
    if not known:
        raise SystemExit(f"the wheel would contain {path}, whose licence sbom.py does not know")
    owner = re.match(r"([^:,]+)(?::\w+)?: ", _dpkg("-S", path.resolve()))
    version = _dpkg("-W", "-f", "${Version}", owner[1]) if owner else re.sub(r"^[^\d]*", "", path.resolve().name)
    return _component(LOADED[known[0]][0], version, LOADED[known[0]][1], owner and owner[1])


def compiled_in(build, library, needs):
    """What the library of a build has inside of itself."""
    listed = json.loads((pathlib.Path(build) / "compiled_in.json").read_text())
    found = [_component(name, version, *COMPILED_IN[name]) for name, version in listed.items()]
    data = library.read_bytes()
    if not any(name.startswith(("libstdc++", "libc++")) for name in needs):
        if gcc := re.search(rb"GCC: \([^)]*\) (\d+)([-.\w]*)", data):
            package = f"libstdc++-{gcc[1].decode()}-dev"
            found.append(_component("libstdc++", (gcc[1] + gcc[2]).decode(), GCC, package))
        elif clang := re.search(rb"clang version ([\d.]+)", data):
            found.append(_component("libc++", clang[1].decode(), LLVM))
    if library.suffix == ".dll":
        version = _dpkg("-W", "-f", "${Version}", "mingw-w64-common")
        found.append(_component("mingw-w64", version, "MIT AND ZPL-2.1", "mingw-w64-common"))
    return found


def _cyclonedx(c):
    to = {"type": "library", "name": c["name"], "version": c["version"], "bom-ref": f"{c['name']}@{c['version']}"}
    to["licenses"] = [{"expression": c["licence"]}]
    if "file" in c:
        to["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(c["data"]).hexdigest()}]
        to["properties"] = [{"name": "dl4:file", "value": c["file"]}]
    return to


def described(about, name, version, components, licence):
    """The files for a wheel's `about` folder, licences and the list, and the lines of its METADATA."""
    files = {f"{about}/licenses/LICENSE": licence.read_bytes()}
    for c in components:
        if c["text"]:
            files[f"{about}/licenses/{c['name']}/copyright"] = c["text"].read_bytes()
    expressions = dict.fromkeys([APACHE, *(c["licence"] for c in components)])
    lines = f"License-Expression: {' AND '.join(expressions)}\n"
    lines += "".join(f"License-File: {path.split('/licenses/')[1]}\n" for path in files)
    files[f"{about}/sboms/{name}.cdx.json"] = _text(_listed(name, version, components))
    return files, lines


def _listed(name, version, components):
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "library", "name": name, "version": version, "bom-ref": name}},
        "components": [_cyclonedx(c) for c in components],
    }


def _text(bom):
    return (json.dumps(bom, indent=2) + "\n").encode()


def main(file, version, *contents):
    from wheel import needed

    file = pathlib.Path(file)
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            bom = json.loads(wheel.read(next(n for n in wheel.namelist() if n.endswith(".cdx.json"))))
    else:
        components = {}
        for content in contents:
            build, _, library = content.partition(":")
            found = compiled_in(build, pathlib.Path(library), needed(pathlib.Path(library))) if library else [
                _component(content, _dpkg("-W", "-f", "${Version}", COMPILED_IN[content][1]), *COMPILED_IN[content])
            ]
            components.update(((c["name"], c["version"]), c) for c in found)
        bom = _listed(file.name, version, components.values())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    bom["metadata"]["component"]["hashes"] = [{"alg": "SHA-256", "content": digest}]
    file.with_name(f"{file.name}.cdx.json").write_bytes(_text(bom))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
