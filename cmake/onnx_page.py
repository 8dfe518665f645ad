#!/usr/bin/env python3
"""Writes capi/ONNX.md, a page of the operators of ONNX that are read and written and of what is refused, from the tables
and the refusals in src/io/onnx and from a registry.json as the build makes it.

    python3 cmake/onnx_page.py build/release/registry.json [--check]      --check: compares, a test does"""
import json
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
PAGE = TOP / "capi/ONNX.md"
HEAD = """# Operators of ONNX

Written by `cmake/onnx_page.py` from the tables and the refusals in `src/io/onnx`; a test compares the two. Opsets {0} to
{1} are read, {2} is written. `dl4 convert a.onnx b.onnx` reads and writes.

- Inputs and outputs: `~` of floats alone, `?` may be left out, `*` any number, `+` one or more.
- Attributes: `=` the default, `:` the type, `!` must be there, `a|b` all values that are read, the default first
  (`0|` that one alone). All others are refused, as are other types.
- `@13` from that opset on, `@-8` up to it, `@7-9` both.
- The last column has what else is refused, in the words of the message; "..." is a number or a name.
- Texts: StringNormalizer changes the letters that StringCase does (guide), with the locale C those of ASCII alone;
  StringSplit takes spaces, tabs and line ends of ASCII for white space; Cast gives floats 8 digits, as ONNX Runtime does.
- Resize computes sizes and places in float32, as ONNX Runtime does: 6 places by a scale of 10/3 are 20. From
  opset 11 on an image whose size stays the same, or an axis whose scale is 1, is resized as ONNX says; ONNX Runtime copies
  it, whatever the scale or "roi" is.
"""
STRING = r'"(?:[^"\\]|\\.)*"'
DOMAINS = {"experimental": "ai.onnx (experiments)", "ml": "ai.onnx.ml", "microsoft": "com.microsoft"}


def source(name):
    """Without comments."""
    text = (TOP / "src/io/onnx" / name).read_text()
    return re.sub(rf"({STRING})|//[^\n]*", lambda m: m[1] or "", text)


def closing(text, at):
    """Behind what closes the bracket at that place."""
    depth = 0
    for m in re.compile(rf"{STRING}|'(?:[^'\\]|\\.)'|[()\[\]{{}}]").finditer(text, at):
        depth += m[0] in "([{"
        depth -= m[0] in ")]}"
        if depth == 0:
            return m.end()
    raise ValueError(text[at : at + 80])


def calls(text, name):
    """The arguments of each call."""
    for m in re.finditer(rf"\b{name}\(", text):
        yield text[m.end() : closing(text, m.end() - 1) - 1]


def split(arguments):
    parts, depth = [""], 0
    for m in re.finditer(rf"{STRING}|'(?:[^'\\]|\\.)'|.", arguments, re.S):
        depth += m[0] in "([{"
        depth -= m[0] in ")]}"
        if m[0] == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += m[0]
    return [p.strip() for p in parts if p.strip()]


def said(arguments):
    """A message: its strings, and "..." for the rest."""
    words = ""
    for part in arguments:
        literal = re.fullmatch(rf"(?:{STRING}\s*)+", part) or re.fullmatch(r"'(?:[^'\\]|\\.)'", part)
        words += re.sub(r"\\(.)", r"\1", "".join(s[1:-1] for s in re.findall(STRING, part)) or part[1:-1]) if literal else "..."
    return words


def refusals(text):
    found = [said(split(a)) for a in calls(text, r"(?:op|w)\.refuse")]
    found += [f"of {said(a[2:])} that is free" for a in map(split, calls(text, "known")) if len(a) == 3]
    found += ["of other types than floats" for _ in re.finditer(r"\bfloats?_only\(op", text)]
    return [f for f in found if f.strip('". ')]


def blocks(text):
    """Functions and structs of a file, by name."""
    found = {}
    for m in re.finditer(r"^(?!namespace|using|#)[A-Za-z][^\n;]*?\b(\w+)(?:\([^;{}]*\)[^;{}]*| (?:final )?)\{", text, re.M):
        found[m[1]] = found.get(m[1], "") + text[m.start() : closing(text, m.end() - 1)]
    return found


def limits(handler, functions):
    """What a handler refuses, in its own file."""
    seen, queue, found = set(), [handler], []
    while queue:
        now = queue.pop(0)
        found += [r for r in refusals(now) if r not in found]
        for name in re.findall(r"(?<![.\w>])\w+\b", now):
            if name in functions and name not in seen:
                seen.add(name)
                queue.append(functions[name])
    return found


def schema(text):
    """Of literals in C++."""
    return "".join(s[1:-1] for s in re.findall(STRING, text))


def named_schemas():
    """Of the ops that kinds name: of one input, of two."""
    two, one = re.search(rf"operands\(\) == 2 \? ({STRING}) : ({STRING})", source("read/activations.cpp")).groups()
    return schema(one), schema(two)


def table_rows(text):
    """The rows of each table of a file: its name, then op, function, schema."""
    for table in re.finditer(r"constexpr Row (\w+)_table\[\] = \{", text):
        end = closing(text, table.end() - 1)
        for row in split(text[table.end() : end - 1]):
            op, handler, *more = split(row[1:-1])
            yield table[1], (op[1:-1], handler, schema("".join(more)))


def rows():
    """domain -> op -> its schema and what it refuses; and the ops of old forms, with the opsets before which they had
    them."""
    found, old = {"": {}, **{d: {} for d in DOMAINS.values()}}, {}
    for path in sorted((TOP / "src/io/onnx/read").glob("*.cpp")):
        text = source(f"read/{path.name}")
        functions = blocks(text)
        for table, (op, handler, said) in table_rows(text):
            found[DOMAINS.get(table, "")][op] = said, limits(handler, functions)
        if path.name == "old.cpp":
            for before, ops in re.findall(r'\{\s*(\d+),\s*"([\w ]+)",', text):
                for op in ops.split():
                    old[op] = sorted({*old.get(op, []), int(before)})
    return found, old


def table(ops):
    lines = ["| operator | inputs > outputs | attributes | refused |", "|---|---|---|---|"]
    for op in sorted(ops, key=str.lower):
        said, refused = ops[op]
        values, _, attributes = said.partition("; ")
        cells = [f"`{c}`".replace("|", "\\|") if c else "" for c in (re.sub(r"=\w+", "", values), attributes)]
        words = "; ".join(dict.fromkeys(refused)).replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")
        lines.append(f"| {op} | {cells[0]} | {cells[1]} | {words} |")
    return "\n".join(lines) + "\n"


def constant(name, file):
    return re.search(rf"\b{name} = (\d+)", source(file))[1]


def page(registry):
    read, old = rows()
    kinds = [k for c in ("layer", "activation") for k in registry[c].values() if k.get("names", {}).get("onnx")]
    named, schemas = [k["names"]["onnx"] for k in kinds], named_schemas()
    for kind, op in zip(kinds, named):
        read[""].setdefault(op, (schemas[len(kind.get("inputs", [])) == 2], []))
    written, refused = set(named), []
    for path in sorted((TOP / "src/io/onnx/write").glob("*.cpp")):
        text = source(f"write/{path.name}")
        written |= {s[1:-1] for s in re.findall(STRING, text)} & set(read[""])
        refused += [r for r in refusals(text) if r not in refused]
    parts = [HEAD.format(constant("oldest_opset", "file.hpp"), constant("newest_opset", "file.hpp"), constant("written_opset", "write/model.cpp"))]
    parts.append("## Read\n\n" + table(read[""]))
    forms = ", ".join(f"{op} ({', '.join(map(str, at))})" for op, at in sorted(old.items()))
    parts.append(f"Forms that an operator had before an opset are read too: {forms}.\n")
    for domain in dict.fromkeys(DOMAINS.values()):
        parts.append(f"## Read of `{domain}`\n\n" + table(read[domain]))
    parts.append("## Written\n\n" + ", ".join(sorted(written, key=str.lower)) + ".\n")
    parts.append("Refused, by the layer that a model has:\n\n" + "\n".join(f"- {r}" for r in sorted(refused)) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    text = page(json.loads(pathlib.Path(sys.argv[1]).read_text()))
    if sys.argv[2:] == ["--check"]:
        sys.exit("capi/ONNX.md is not what cmake/onnx_page.py writes" if PAGE.read_text() != text else 0)
    PAGE.write_text(text)
