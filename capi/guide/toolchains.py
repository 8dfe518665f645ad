"""How the listings of each language are built and run, with the library of the folder that DL4_BUILD names."""
import fcntl
import functools
import os
import pathlib
import re
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DL4_BUILD", SOURCE / "build/release")).resolve()
PYTHON = os.environ.get("DL4_PYTHON", "python3")
KERAS = os.environ.get("DL4_KERAS_PYTHON", PYTHON)
PEERS = [p for p in os.environ.get("DL4_PEER_PYTHONS", "").split(":") if p]
BINDINGS = SOURCE / "capi/bindings"
LANGUAGES = {"c", "cpp", "python", "sh", "js", "go", "rust", "java", "r"}
# What a language needs beside the library; the first that is missing is named.
TOOLS = {"c": ["cc"], "cpp": ["c++"], "sh": ["bash"], "js": ["node", "npm"], "go": ["go", "gcc", "pkg-config"],
         "rust": ["cargo"], "java": ["javac"], "r": ["Rscript"]}
TOP = re.compile(r"\s*(#include|static |struct |template)")
NEED = """static void need(dl4_error *e) {
  if (!e) return;
  fprintf(stderr, "%s\\n", dl4_error_message(e));
  exit(1);
}
"""


def older(stamp, *sources):
    """Whether the stamp is not there, or was made before one of the sources."""
    return not stamp.exists() or stamp.stat().st_mtime < max(s.stat().st_mtime for s in sources)


@functools.lru_cache(None)
def prefix():
    """The library, installed once for all pages."""
    where = BUILD / "guide/prefix"
    where.mkdir(parents=True, exist_ok=True)
    stamp = where / "installed"
    with open(BUILD / "guide/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if older(stamp, BUILD / "libdl4.so", *SOURCE.glob("include/dl4/*")):
            done = subprocess.run(["cmake", "--install", BUILD, "--prefix", where], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                raise SystemExit(f"cmake --install failed:\n{done.stdout}")
            stamp.touch()
    return where


def environment():
    where = prefix()
    library = next(where.rglob("libdl4.so.1")).parent
    return {**os.environ, "PREFIX": str(where), "SOURCE": str(SOURCE), "DL4_LIBRARY": str(library / "libdl4.so.1"),
            "LD_LIBRARY_PATH": str(library), "PKG_CONFIG_PATH": str(library / "pkgconfig"),
            "CMAKE_PREFIX_PATH": str(where), "PATH": f"{where}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(BINDINGS / "python"), "PYTHONDONTWRITEBYTECODE": "1", "PYTHON": PYTHON,
            "CMAKE_BUILD_PARALLEL_LEVEL": "2"}


def has_module(python, module):
    return shutil.which(python) and not subprocess.run([python, "-c", f"import importlib.util as u, sys\n"
                                                       f"sys.exit(u.find_spec('{module}') is None)"]).returncode


def interpreter(needs):
    """The first Python that has a module."""
    for python in (PYTHON, KERAS, *PEERS):
        if all(has_module(python, m) for m in needs):
            return python
    return None


def missing(language, needs):
    """Why a listing can't be run, or None."""
    if language == "python":
        modules = [*needs, "numpy"]
        return None if interpreter(modules) else f"no Python with {' and '.join(modules)}"
    for tool in (*TOOLS[language], *needs):
        if tool.startswith("lib"):
            if subprocess.run(["pkg-config", "--exists", tool[3:]], env=environment()).returncode:
                return f"no library {tool[3:]}"
        elif tool.startswith("$"):
            if tool[1:] not in os.environ:
                return f"no {tool}"
        elif tool.startswith("python:"):
            if not interpreter([tool[7:]]):
                return f"no Python with {tool[7:]}"
        elif not shutil.which(tool, path=environment()["PATH"]):
            return f"no {tool}"
    return {"js": node_modules, "java": jar, "r": r_package}.get(language, lambda: None)()


@functools.lru_cache(None)
def node_modules():
    """Installs the package as a user would; the reason where that can't be done."""
    where, stamp = BUILD / "guide/node", BUILD / "guide/node/installed"
    with open(BUILD / "guide/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not older(stamp, BINDINGS / "node/package.json", *BINDINGS.glob("node/lib/*")):
            return None
        shutil.rmtree(where, ignore_errors=True)  # npm keeps a package of the same version
        where.mkdir(parents=True)
        (where / "package.json").write_text('{"private": true, "type": "module"}\n')
        package = where / "dl4"
        shutil.copytree(BINDINGS / "node", package, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("node_modules", "tests"))
        done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--install-links",
                               "--omit=dev", "./dl4"], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=120)
        if done.returncode:
            return "no koffi from npm"
        stamp.touch()
        return None


@functools.lru_cache(None)
def jar():
    with open(BUILD / "guide/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(["bash", BINDINGS / "java/build.sh", BUILD / "guide/java"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    return None if not done.returncode else done.stdout.strip().splitlines()[-1]


def r_package():
    return None if (BUILD / "bindings/r/lib/dl4").exists() else "no R package (the test bindings/r installs it)"


def prepare(language, program, folder, mark):
    """The command that runs a program, and its environment. It prints the mark after each block."""
    return globals()[f"run_{language}"]([b.text for b in program], pathlib.Path(folder), mark, program[0])


def run_python(texts, folder, mark, block):
    text = "".join(t + f"\nprint({mark!r}, flush=True)\n" for t in texts)
    (folder / "listing.py").write_text(text)
    env = environment()
    needs = [*block.needs, "numpy"]
    return [interpreter(needs), "listing.py"], env


def run_sh(texts, folder, mark, block):
    text = "set -euo pipefail\n" + "".join(t + f"\necho {mark}\n" for t in texts)
    (folder / "listing.sh").write_text(text)
    modules = [n[len("python:"):] for n in block.needs if n.startswith("python:")]
    return ["bash", "listing.sh"], {**environment(), "PYTHON": (interpreter(modules) or PYTHON) if modules else PYTHON}


def c_text(texts, mark, headers, after):
    if any(re.search(r"\bmain\(", t) for t in texts):
        if len(texts) != 1:
            raise SystemExit("a whole program stands alone: begin the next by <!-- new program -->")
        return re.sub(r"\n}\s*$", "\n}\n", texts[0]), True
    top = "".join(f"#include <{h}>\n" for h in headers) + after
    body = ""
    for t in texts:
        if TOP.match(t):
            top += t + "\n"
        else:
            body += t + "\n"
        body += f'puts("{mark}");\n'
    return f"{top}int main(void) {{\n{body}return 0;\n}}\n", False


def compiled(compiler, name, text, whole, folder, mark, flags):
    (folder / name).write_text(text)
    output = pathlib.Path(name).stem
    end = f" && echo {mark}" if whole else ""
    script = f"{compiler} {flags} {name} $(pkg-config --cflags --libs dl4) -lm -o {output} && ./{output}{end}"
    return ["bash", "-c", script], environment()


def run_c(texts, folder, mark, block):
    text, whole = c_text(texts, mark, ["dl4/dl4.h", "math.h", "stdio.h", "stdlib.h", "string.h"], NEED)
    return compiled("cc", "listing.c", text, whole, folder, mark, "-std=gnu99 -Wall -Wextra -Werror")


def run_cpp(texts, folder, mark, block):
    text, whole = c_text(texts, mark, ["dl4/dl4.hpp", "cmath", "cstdio", "iostream", "string", "vector"], "")
    return compiled("c++", "listing.cpp", text, whole, folder, mark, "-std=c++20 -Wall -Wextra -Werror")


def run_js(texts, folder, mark, block):
    (folder / "listing.mjs").write_text("".join(t + f"\nconsole.log({mark!r});\n" for t in texts))
    link = folder / "node_modules"
    if not link.exists():
        link.symlink_to(BUILD / "guide/node/node_modules")
    return ["node", "--preserve-symlinks", "listing.mjs"], environment()


def run_go(texts, folder, mark, block):
    where = folder / "go-listing"
    where.mkdir(exist_ok=True)
    (where / "main.go").write_text(texts[0])
    needs = f"require dl4.invalid/dl4 v1.0.0\n\nreplace dl4.invalid/dl4 => {BINDINGS}/go\n"
    (where / "go.mod").write_text(f"module listing\n\ngo 1.19\n\n{needs}")
    env = {**environment(), "GOCACHE": str(BUILD / "guide/go"), "GOPROXY": "off", "GOTOOLCHAIN": "local",
           "GOFLAGS": "-mod=mod"}
    return ["bash", "-c", f"cd go-listing && go run . && echo {mark}"], env


def run_rust(texts, folder, mark, block):
    where = folder / "rust-listing"
    (where / "src").mkdir(parents=True, exist_ok=True)
    (where / "src/main.rs").write_text(texts[0])
    (where / "Cargo.toml").write_text('[package]\nname = "listing"\nversion = "0.1.0"\nedition = "2021"\n\n'
                                      f'[dependencies]\ndl4 = {{ path = "{BINDINGS}/rust/dl4" }}\n\n[workspace]\n')
    env = {**environment(), "CARGO_TARGET_DIR": str(BUILD / "guide/rust")}
    return ["bash", "-c", f"cd rust-listing && cargo run --offline --quiet && echo {mark}"], env


def run_java(texts, folder, mark, block):
    name = re.search(r"public class (\w+)", texts[0])[1] + ".java"
    (folder / name).write_text(texts[0])
    java = BUILD / "guide/java"
    script = f"java --class-path {java}/dl4.jar:{java}/jna.jar {name} && echo {mark}"
    return ["bash", "-c", script], environment()


def run_r(texts, folder, mark, block):
    (folder / "listing.R").write_text("".join(t + f'\ncat("{mark}\\n")\n' for t in texts))
    return ["Rscript", "listing.R"], {**environment(), "R_LIBS": str(BUILD / "bindings/r/lib")}
