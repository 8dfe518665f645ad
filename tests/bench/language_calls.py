#!/usr/bin/env python3
"""What a call from Node, Rust, Go and Java costs over the same call from C:   language_calls.py [ROUNDS]

On a dense model, 784 in, 128, 10 out, one row. DL4_LIBRARY names the library, DL4_BUILD where products go. Each binding's
own program (`test.sh cost`) prints the least of many means; here the least of the rounds, the languages in turn, less
C's: a program's own where it measures C too. Needs a C compiler; a language whose toolchain is missing is left out, with
a word. The table is Markdown."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BINDINGS = pathlib.Path(__file__).resolve().parents[2] / "capi" / "bindings"
LANGUAGES = {  # the folder, and what is asked of its program
    "rust": ("rust", "cost"),
    "go": ("go", "cost"),
    "java": ("java", "cost"),
    "java, foreign functions": ("java", "cost", "foreign"),
    "node": ("node", "cost"),
}
GO = re.compile(r"Benchmark(\w+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op")
C = r"""
#include <dl4/dl4.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static void need(dl4_error *e) {
  if (e) exit(puts(dl4_error_message(e)));
}
static dl4_node dense(dl4_graph *g, const char *json, dl4_node x) {
  dl4_node y;
  need(dl4_graph_add(g, "Dense", NULL, json, NULL, NULL, &x, 1, &y, 1));
  return y;
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec;
}
int main(void) {
  const int64_t any[2] = {-1, 784}, in[2] = {1, 784}, out[2] = {1, 10};
  double best = 1e9;
  dl4_graph *g;
  dl4_node image, answer;
  dl4_model *model;
  dl4_session *session;
  dl4_tensor *x, *y;
  need(dl4_graph_create(NULL, &g));
  need(dl4_graph_add_input(g, "image", DL4_FLOAT32, 2, any, &image));
  answer = dense(g, "{\"units\": 10, \"activation\": \"softmax\"}",
                 dense(g, "{\"units\": 128, \"activation\": \"relu\"}", image));
  need(dl4_graph_build(g, &image, 1, &answer, 1, &model));
  need(dl4_session_create(model, NULL, &session));
  need(dl4_tensor_create(NULL, DL4_FLOAT32, 2, in, &x));
  need(dl4_tensor_create(NULL, DL4_FLOAT32, 2, out, &y));
  for (int round = 0; round < 200; ++round) {
    const double begun = now();
    for (int i = 0; i < 500; ++i) need(dl4_session_run(session, &x, 1, &y, 1, NULL));
    const double each = (now() - begun) / 500;
    if (each < best) best = each;
  }
  printf("%f\n", best);
  return 0;
}
"""
CALLS = ("tensors used again", "arrays in and out", "asynchronous, tensors used again", "asynchronous, arrays in and out")


def from_c(program):
    return float(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


def compiled(folder):
    source, program, library = pathlib.Path(folder) / "calls.c", pathlib.Path(folder) / "calls", os.environ["DL4_LIBRARY"]
    source.write_text(C)
    run = f"-Wl,-rpath,{pathlib.Path(library).resolve().parent}"
    subprocess.run(["cc", "-O2", "-I", BINDINGS.parents[1] / "include", "-o", program, source, library, run], check=True)
    return program


def words(name):
    return re.sub(r"(?<!^)([A-Z])", lambda m: " " + m[1].lower(), name).lower()


def printed(language):
    """Microseconds by call, or why there are none."""
    folder, *what = LANGUAGES[language]
    done = subprocess.run(["bash", BINDINGS / folder / "test.sh", *what], capture_output=True, text=True)
    if done.returncode == 77:
        return done.stdout.strip()
    if done.returncode:
        raise SystemExit(f"{language}: {done.stdout}{done.stderr}")
    taken = {}
    for line in done.stdout.splitlines():
        if m := GO.match(line):
            name, value = words(m[1]), float(m[2]) / 1e3
        elif line.count("\t") == 1:
            name, value = line.split("\t")
        else:
            continue
        taken[name] = min(float(value), taken.get(name, float("inf")))
    return taken


def main(rounds=3):
    best, missing = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)
        c = float("inf")
        for _ in range(int(rounds)):
            c = min(c, from_c(program))
            for language in LANGUAGES:
                taken = printed(language)
                if isinstance(taken, str):
                    missing[language] = taken
                    continue
                into = best.setdefault(language, {})
                for name, value in taken.items():
                    into[name] = min(value, into.get(name, value))
    print(f"C: {c:.2f} us. Over it, in us:\n\n| | " + " | ".join(CALLS) + " |\n|---" + "|--:" * len(CALLS) + "|")
    for language, taken in best.items():
        cells = [f"{taken[name] - taken.get('C', c):.2f}" if name in taken else "" for name in CALLS]
        print(f"| {language} | " + " | ".join(cells) + " |")
    for language, why in missing.items():
        print(f"\n{language}: {why}")


if __name__ == "__main__":
    main(*sys.argv[1:])
