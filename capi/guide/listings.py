#!/usr/bin/env python3
"""Runs the listings of a page of the guide and compares what they print with what the page shows.

    listings.py PAGE.md      0: all passed, 1: one failed, 77: none could be run

DL4_BUILD names the build folder. Every fenced block of a page is one of these:

- a program in a language of LANGUAGES. The blocks of a language on a page are one program, read from top to bottom;
  a comment <!-- new program --> before a block begins the next one. C and C++ blocks without main() are the body of
  one, except for those that start with #include, static, struct or template.
- `text` after a program: what it prints. "..." stands for any text, and white space is not compared. After the comment
  <!-- plain --> it is just text.
- `json`: checked for being JSON.
- any block with title="NAME": a file of that name in the folder where the page's commands (`sh`) run.

<!-- source: PATH --> before a block: it is that file of the repository, to the letter.
<!-- needs: NAME --> before a block: it is run where NAME is found (toolchains.missing). What is not run is reported.

Every name dl4_... of a page must be in a header, and no line of a listing is wider than 84 characters."""
import doctest
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import toolchains

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
COMMENT = re.compile(r"<!-- (new program|plain|needs: [^>]*?|source: [^>]*?) -->")
FILE = re.compile(r"[\w/-]+\.[a-z]\w+\b")
TITLE = re.compile(r'title="([^"]+)"')
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MARK = "@@listing@@"
WIDEST = 84


class Block:
    def __init__(self, language, title, text, line, comments):
        self.language, self.title, self.text, self.line = language, title, text, line
        self.fresh = "new program" in comments
        self.plain = "plain" in comments
        self.needs = next((c[len("needs: "):].split() for c in comments if c.startswith("needs: ")), [])
        self.source = next((c[len("source: "):] for c in comments if c.startswith("source: ")), None)
        self.expected = None


def blocks_of(text):
    """The blocks of a page; a `text` block becomes what the block before it prints."""
    # A block in a list is indented.
    text = re.sub(r"^( +)(```\w+[^\n]*\n.*?\n)\1```$",
                  lambda m: re.sub(f"^{m[1]}", "", m[0], flags=re.M), text, flags=re.M | re.S)
    blocks, end = [], 0
    for m in FENCE.finditer(text):
        comments = COMMENT.findall(text[end:m.start()])
        title = TITLE.search(m[2])
        block = Block(m[1], title and title[1], m[3], text.count("\n", 0, m.start()) + 1, comments)
        if block.language == "text" and not block.plain and not block.title:
            before = next((b for b in reversed(blocks) if b.language in toolchains.LANGUAGES), None)
            if before is None:
                raise SystemExit(f"line {block.line}: no program before this output")
            before.expected = block.text
        else:
            blocks.append(block)
        end = m.end()
    return blocks


def programs_of(blocks):
    """Lists of blocks that are run together."""
    programs = {}
    for i, b in enumerate(b for b in blocks if b.language in toolchains.LANGUAGES):
        if b.title and b.language != "sh":
            continue
        key = (b.language, *b.needs)
        if b.fresh or key not in programs:
            programs.setdefault(key, []).append([])
        programs[key][-1].append(b)
    found = [p for group in programs.values() for p in group]
    return sorted(found, key=lambda p: p[0].line)


def compare(block, printed, page):
    if block.expected is None:
        return True
    if doctest.OutputChecker().check_output(block.expected.rstrip() + "\n", printed.strip() + "\n", SAME):
        return True
    print(f"{page}:{block.line}: printed\n{printed.strip()}\nbut the page shows\n{block.expected}")
    return False


def files_named(program):
    return {name for b in program for name in FILE.findall(b.text)}


def run(program, page, folder, unwritten):
    """None: not run, else whether it passed. The files that programs which were not run would have written are in
    `unwritten`: a program that reads one is not run either."""
    language = program[0].language
    missing = toolchains.missing(language, program[0].needs)
    if not missing:
        absent = sorted(f for f in files_named(program) & unwritten if not pathlib.Path(folder, f).exists())
        missing = f"no {absent[0]}, which a program before it writes" if absent else None
    if missing:
        print(f"skipped: {page}:{program[0].line}: {missing}")
        unwritten |= files_named(program)
        return None
    command, environment = toolchains.prepare(language, program, folder, MARK)
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace")
    printed = done.stdout.split(MARK + "\n")
    if done.returncode or len(printed) != len(program) + 1:
        at = program[min(len(printed) - 1, len(program) - 1)]
        print(f"{page}:{at.line}: a {language} listing ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return False
    return all([compare(b, text, page) for b, text in zip(program, printed)])


def unknown_names(text):
    """The names dl4_... that no header has."""
    headers = [*toolchains.SOURCE.glob("include/dl4/*.h*"), *toolchains.SOURCE.glob("capi/workers/include/dl4/*.h")]
    name = re.compile(r"\bdl4_[a-z0-9_]*[a-z0-9]\b(?!\.html)")
    known = {n for h in headers for n in name.findall(h.read_text(encoding="utf-8"))} | {"dl4_local", "dl4_mpi", "dl4_static"}
    return sorted(set(name.findall(text)) - known)


def copies_that_differ(blocks):
    """The files whose listing is not what they hold."""
    return [b.source for b in blocks
            if b.source and b.text != (toolchains.SOURCE / b.source).read_text(encoding="utf-8")]


def too_wide(text):
    """The lines of listings that a page in a window of 1400 pixels cuts off."""
    return [line for m in re.finditer(r"^( *)```.*?^\1```$", text, re.M | re.S)
            for line in m[0].replace("\n" + m[1], "\n").expandtabs(4).splitlines() if len(line) > WIDEST]


def main(path):
    page = pathlib.Path(path)
    if wide := too_wide(page.read_text(encoding="utf-8")):
        raise SystemExit(f"{page}: wider than {WIDEST} characters:\n" + "\n".join(wide))
    if unknown := unknown_names(page.read_text(encoding="utf-8")):
        raise SystemExit(f"{page}: no header has {', '.join(unknown)}")
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    if differ := copies_that_differ(blocks):
        raise SystemExit(f"{page}: does not show {', '.join(differ)} as it is")
    results = []
    with tempfile.TemporaryDirectory(prefix="guide-") as folder:
        for b in blocks:
            if b.title:
                file = pathlib.Path(folder, b.title)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(b.text, encoding="utf-8")
                if not any(b.title in other.text for other in blocks if other.language == "sh"):
                    print(f"not run: {page.name}:{b.line}: no command of the page reads {b.title}")
            elif b.language == "json":
                json.loads(b.text)
            elif b.language not in toolchains.LANGUAGES and not b.plain:
                raise SystemExit(f"{page}:{b.line}: a listing in {b.language} is not run: give it a title")
        unwritten = set()
        for program in programs_of(blocks):
            results.append(run(program, page.name, folder, unwritten))
    print(f"{page.name}: {results.count(True)} programs passed, {results.count(False)} failed, "
          f"{results.count(None)} not run")
    if False in results:
        return 1
    return 77 if results and True not in results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
