#!/usr/bin/env python3
"""Writes capi/guide/pages/kinds.md, a page of every kind with its attributes, from a registry.json as the build makes it.

    python3 cmake/kinds_page.py build/release/registry.json [--check]      --check: compares, a test does

The libdl4.so beside it is asked which layers stream."""
import json
import pathlib
import sys
import textwrap

import layers_that_stream

PAGE = pathlib.Path(__file__).resolve().parent.parent / "capi/guide/pages/kinds.md"
HEAD = """# Every kind and its attributes

<!-- Written by cmake/kinds_page.py from the registry; a test compares the two. -->

Where Keras 3.15.1 has the kind, its attributes have Keras's names, defaults and meanings. A kind as a value (layer,
activation, initializer, optimizer ...) is its name or {"class_name", "config"}. Values are written as in JSON: `null`,
`true` and `false` are `None`, `True` and `False` in Python. B is the batch, T time, C channels.

The same in the terminal: `dl4 kinds LSTM`.
"""
TYPES = {"bool": "true or false", "i64": "integer", "i64s": "integers", "f64": "number", "f64s": "numbers",
         "str": "string", "strs": "strings", "attrs": "object", "json": "any JSON"}


def code(value):
    text = json.dumps(value, ensure_ascii=False)
    return "`" + text.replace("|", "\\|") + "`"


def plain(text):
    """Words of the registry, as Markdown shows them as they are."""
    for sign in "\\|*<[":
        text = text.replace(sign, "\\" + sign)
    return text


def takes(a):
    if "enum" in a:
        return ", ".join(code(word) for word in a["enum"])
    words = TYPES.get(a["type"], a["type"])
    if "category" in a and a["type"] in ("attrs", "str"):
        words = a["category"]
    elif "category" in a and a["type"] == "f64":
        words += f" or {a['category']}"
    low, high = a.get("min"), a.get("max")
    if low is not None and high is not None:
        words += f", {low} to {high}"
    elif low is not None:
        words += f", at least {low}"
    elif high is not None:
        words += f", at most {high}"
    return words


def table(attributes):
    rows = ["| attribute | takes | default | |", "|---|---|---|---|"]
    for a in attributes:
        default = "required" if a.get("required") else code(a["default"])
        if a.get("required") and "example" in a and len(code(a["example"])) < 100:
            default += f", such as {code(a['example'])}"
        note = "; no other value is supported" if a.get("default_only") else ""
        rows.append(f"| {a['name']} | {takes(a)} | {default} | {plain(a['doc'] + note)} |")
    return "\n".join(rows)


def ports(title, listed):
    def one(p):
        text = f"{p['name']} {p['shape']}" if "shape" in p else f"{p['name']}: {p['doc']}"
        return plain(text + (f" if {p['if']}" if "if" in p else ""))
    return f"- {title}: " + "; ".join(one(p) for p in listed) if listed else ""


def shared(kinds):
    """The attributes that all kinds have and most have alike, by name."""
    if len(kinds) < 4:
        return {}
    alike = {}
    for kind in kinds.values():
        for a in kind["attributes"]:
            alike.setdefault(a["name"], []).append(json.dumps(a))
    most = {name: max(set(all_of), key=lambda one: (all_of.count(one), one)) for name, all_of in alike.items()
            if len(all_of) == len(kinds)}
    return {name: json.loads(one) for name, one in most.items() if 2 * alike[name].count(one) > len(kinds)}


def headings(registry):
    """(category, name): the heading of a kind, one of its own also where letters alone count."""
    taken, all_of = set(), {}
    for category, kinds in registry.items():
        for name in kinds if category != "every_layer" else ():
            all_of[category, name] = f"{name} ({category})" if name.lower() in taken else name
            taken.add(name.lower())
    return all_of


def anchor(heading):
    return "#" + heading.lower().replace(" ", "-").replace("(", "").replace(")", "")


def section(heading, kind, common):
    also = f" Also: {', '.join(kind['aliases'])}." if kind.get("aliases") else ""
    log = f" In logs: {plain(kind['log_name'])}." if kind.get("log_name") else ""
    doc = kind["doc"] if kind["doc"].endswith(".") else kind["doc"] + "."
    lines = [f"### {heading}", plain(doc) + also + log]
    if "inputs" in kind:
        lists = [ports(title, kind.get(title, [])) for title in ("inputs", "outputs", "weights", "arguments")]
        mask = kind.get("mask", "dropped")
        lists.append("" if mask == "dropped" else f"- mask: {plain(mask)}")
        names = kind.get("names", {})
        elsewhere = [f"{'ONNX ' if key == 'onnx' else ''}`{name}`" for key, name in names.items()
                     if not name.startswith("keras.layers.")]
        lists.append(f"- elsewhere: {', '.join(elsewhere)}" if elsewhere else "")
        lines.append("\n".join(line for line in lists if line))
    own = [a for a in kind["attributes"] if common.get(a["name"]) != a]
    return "\n\n".join(lines + ([table(own)] if own else []))


def streams(path, layers):
    by_reason = {}
    for name, why in layers_that_stream.rows(path, layers):
        by_reason.setdefault(why, []).append(name)
    fits, alone = by_reason.pop(""), by_reason.pop(None)
    lines = ["## Layers that stream\n",
             "Each layer was built alone over sequences of any length with the defaults of its attributes, or as said, "
             "and a session with `streamable` and a `cache` was asked for. A session of a model with a layer that "
             "does not stream is refused with that layer's name and the reason.\n",
             "| | layers |", "|---|---|", f"| they stream | {plain(', '.join(fits))} |"]
    lines += [f"| no: {plain(why)} | {plain(', '.join(names))} |" for why, names in sorted(by_reason.items())]
    lines.append(f"| not applicable: they do not take one sequence of free length | {plain(', '.join(alone))} |\n")
    return "\n".join(lines)


def page(registry, library):
    parts, heading_of = [HEAD], headings(registry)
    for category, kinds in registry.items():
        if category == "every_layer":
            continue
        common = shared(kinds)
        plural = category.capitalize() + ("es" if category.endswith("s") else "s")
        parts.append(f"## {plural} ({len(kinds)})\n")
        index = [f"[{name}]({anchor(heading_of[category, name])})" for name in kinds]
        parts.append("\n".join(textwrap.wrap(", ".join(index), 120, break_long_words=False,
                                             break_on_hyphens=False)) + "\n")
        if category == "layer":
            every = registry["every_layer"]
            parts.append("Every layer also takes these, and the call argument `training`: " +
                         plain(every["arguments"][0]["doc"]) + ". Masks are dropped where nothing else is said.\n")
            parts.append(table(every["attributes"]) + "\n")
        elif common:
            parts.append("All of them, unless their own table says otherwise:\n\n" + table(common.values()) + "\n")
        parts += [section(heading_of[category, name], kind, common) + "\n" for name, kind in kinds.items()]
    return "\n".join([*parts, streams(library, registry["layer"])])


made = pathlib.Path(sys.argv[1])
try:
    text = page(json.loads(made.read_text()), made.parent / "libdl4.so")
except OSError as error:  # a library with a sanitizer, or of another processor
    print(error)
    sys.exit(77 if sys.argv[2:] == ["--check"] else 1)
if sys.argv[2:] == ["--check"]:
    sys.exit("capi/guide/pages/kinds.md is not what cmake/kinds_page.py writes" if PAGE.read_text() != text else 0)
PAGE.write_text(text)
