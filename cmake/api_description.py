#!/usr/bin/env python3
"""Writes capi/dl4-api.json from include/dl4/dl4.h, which libclang reads (pip install libclang).

    cmake/api_description.py           writes it; run it after every change of the header
    cmake/api_description.py --check   fails if it is not what the header says; 77 without libclang

Declarations and the comment of each are libclang's. A comment is a first paragraph (the doc), then paragraphs that
begin with a label: "May be NULL:", "Keeps:", "Takes:", "Threads:", "Blocks:", "Errors:". A section's "Threads:" holds for
its functions unless they have one of their own; without either it is "any, at once". What may be NULL everywhere is in
the header's rules, and here in null_everywhere().

What is data beside them, so that no binding reads prose:
  reasons      of an error, what stands behind its code: "parameters" when those are names of parameters, else "when"
  blocks       works for as long as the data asks for: takes a cancel flag, reads or writes a file, computes a step, or
               says "Blocks:"
  in_callback  "any": the call may be made in a callback, whatever is at work; "others": on objects that are not
  content      of text and bytes: "text" (UTF-8 up to a NUL), "json" or "bytes"
The options of each call are added by the library, from the lists that parse them: dl4_api_description().
"""
import json
import pathlib
import sys

try:
    from clang.cindex import CursorKind, Index, TokenKind
except ImportError:
    print("skipped: no libclang for Python (pip install libclang)")
    sys.exit(77)

root = pathlib.Path(__file__).resolve().parent.parent
LABELS = ("May be NULL", "Keeps", "Takes", "Threads", "Blocks", "Errors", "Since")
NUMBERS = ("int32_t", "int64_t", "double", "dl4_node", "dl4_layer")
IDS = ("dl4_node", "dl4_layer")
ARCHITECTURE = ["format", "name", "layers", "inputs", "outputs"]
# By object, the members of the JSON that dl4_describe() gives.
DESCRIBED = {
    "dl4_error": ["code", "message", "detail"],
    "dl4_blob": ["bytes"],
    "dl4_context": ["threads", "seed", "seed_scheme", "reproducible", "math", "emulate_bfloat16", "memory_limit",
                    "step_limit", "passes_off", "kernels_off", "tuning", "arena_fill_nan", "log_level", "log_to"],
    "dl4_refs": ["models", "nodes"],
    "dl4_tensor": ["dtype", "shape", "strides", "bytes"],
    "dl4_graph": ARCHITECTURE,
    "dl4_model": ARCHITECTURE,
    "dl4_session": ["inputs", "outputs", "steps", "cached_bytes", "packed_bytes", "plans", "stream"],
    "dl4_dataset": ["batches"],
    "dl4_trainer": ["options", "no_gradient", "learning_rate", "iterations", "epoch", "batch"],
    "dl4_cancel": ["triggered"],
}


def clean(comment):
    """The text of a comment, without its stars."""
    lines = comment.strip().removeprefix("/*").removesuffix("*/").splitlines()
    lines = [line.strip().removeprefix("*").removeprefix(" ") for line in lines]
    return "\n".join(lines).strip().rstrip("-* ")


def paragraphs(text):
    """Paragraphs by label; "" is the first."""
    found, label = {"": []}, ""
    for line in text.splitlines():
        for candidate in LABELS:
            if line.startswith(candidate + ": "):
                label, line = candidate, line.removeprefix(candidate + ": ")
        if line.strip() == "Options:":
            label = "Options"
        found.setdefault(label, []).append(line)
    return {label: " ".join(" ".join(lines).split()) for label, lines in found.items()}


def first_sentence(text):
    return (paragraphs(text)[""] + " ").split(". ")[0].rstrip(". ") + "."


def items(text):
    """'c, dims (when rank is 0), out' -> [('c', ''), ('dims', 'when rank is 0'), ('out', '')]"""
    parts, depth = [""], 0
    for letter in text.rstrip("."):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    words = [part.strip().partition(" ") for part in parts if part.strip()]
    return [(word, note.strip().removeprefix("(").removesuffix(")")) for word, _, note in words]


def content(name, type_, text):
    """Of a parameter or a result that is text or bytes, which of them it is."""
    if type_ == "const char *":
        if "bytes of a blob" in text or "number of its bytes" in text:
            return "bytes"
        return "json" if text and name in ("json", "options", "config", "call") else "text"
    if type_ == "dl4_blob **":
        if "to memory" in text:
            return "bytes"
        assert "JSON" in text, text
        return "text" if "DOT" in text else "json"  # dl4_describe(): by its format
    if type_ in ("void *", "const void *") and name in ("data", "src", "dst"):
        return "bytes"
    return None


def is_object(type_):
    base = type_.removeprefix("const ").removesuffix(" *")
    return type_.endswith(" *") and "*" not in base and base.startswith("dl4_") and base not in IDS


def is_out(name, type_):
    return "const" not in type_ and not type_.endswith("_fn") and (
        type_.endswith("**") or type_.removesuffix(" *") in NUMBERS and type_.endswith(" *") or name == "dst")


def count_of(name, type_, after, declared):
    """The parameter that says how long an array is."""
    if after[1] in ("int64_t", "int32_t") and type_ != "const char *" and (
            after[0] in ("n", "n_" + name, "n" + name, "cap", "bytes")):
        return after[0]
    return "rank" if name in ("dims", "strides") and ("rank", "int32_t") in declared else None


def null_everywhere(function, name, type_):
    """The rule NULL of the header, without its last part, arrays whose count is 0."""
    return (name in ("context", "options", "config", "call", "user", "release", "count", "error") or
            name == "refs" and type_.startswith("const ") or
            name == "cancel" and not function.startswith("dl4_cancel_") or
            name == "object" and function in ("dl4_retain", "dl4_release") or
            name == "name" and function.startswith("dl4_graph_"))


def describe(function, declared, said, text):
    """The parameters of a function, "" of a callback: [(name, type)], its paragraphs, its comment."""
    nullable = dict(items(said.get("May be NULL", "")))
    keeps, takes = dict(items(said.get("Keeps", ""))), dict(items(said.get("Takes", "")))
    assert not set(nullable) - {n for n, _ in declared}, (declared, nullable)
    result = []
    for (name, type_), after in zip(declared, declared[1:] + [("", "")]):
        p = {"name": name, "type": type_}
        pointer = type_.endswith("*") or type_.endswith("_fn")
        out = pointer and is_out(name, type_)
        p["direction"] = "out" if out else "in"
        if type_ == "dl4_tensor **" and after[0] in ("n_out", "nx", "ny", "nw"):
            p["direction"] = "inout"
        if pointer:
            p["ownership"] = ("taken" if name in takes else "kept" if name in keeps else
                              "owned" if out and type_.endswith("**") else "borrowed")
            count = None
            if not is_object(type_) and not type_.endswith("_fn") and name != "user":
                count = count_of(name, type_, after, declared)
            always = function and null_everywhere(function, name, type_)
            if function and count and count != "bytes" and not always:
                nullable.setdefault(name, f"when {count} is 0")
            p["nullable"] = bool(always) or name in nullable
            if nullable.get(name, "").startswith("when"):
                p["null_when"] = nullable[name]
            if count:
                p["count"] = count
        if kind := content(name, type_, text):
            p["content"] = kind
        result.append(p)
    return result


def reasons(errors, parameters):
    found = {}
    for code, note in errors:
        if note:
            words = note.split(", ")
            found[code] = {"parameters": words} if set(words) <= parameters else {"when": note}
    return found


def in_progress(callbacks):
    """The calls that dl4_progress_fn allows."""
    text = next(c for c in callbacks if c.spelling == "dl4_progress_fn").raw_comment
    return {word.split("(")[0] for word in text.partition("Inside, only")[2].replace("/", " ").split()
            if word.startswith("dl4_")}


def describe_function(cursor, threads, allowed):
    text = clean(cursor.raw_comment)
    said = paragraphs(text)
    declared = [(a.spelling, a.type.spelling) for a in cursor.get_arguments()]
    errors = items(said.get("Errors", ""))
    returns, named = cursor.result_type.spelling, {name for name, _ in declared}
    f = {"name": cursor.spelling, "returns": returns, "doc": first_sentence(text),
         "threads": said.get("Threads", threads).rstrip("."), "errors": [code for code, _ in errors], "since": "1.0",
         "deprecated_since": None, "replaced_by": None, "parameters": describe(cursor.spelling, declared, said, text)}
    if why := reasons(errors, named):
        f["reasons"] = why
    f["blocks"] = "Blocks" in said or ("cancel" in named and not cursor.spelling.startswith("dl4_cancel_")) or bool(set(f["errors"]) & {"DL4_IO", "DL4_NUMERIC"})
    reads = bool(declared) and declared[0][1].startswith("const dl4_") and not f["blocks"]
    free = f["threads"].startswith("any") or reads or cursor.spelling in allowed
    f["in_callback"] = "any" if free else "others"
    if returns.endswith("*"):
        f["returns_ownership"] = "owned" if returns == "dl4_error *" else "borrowed"
        if kind := content("", returns, text):
            f["content"] = "json" if cursor.spelling == "dl4_error_detail" else kind
    return f


def read_header():
    header = str(root / "include/dl4/dl4.h")
    unit = Index.create().parse(header, args=["-x", "c", "-std=c99", "-fparse-all-comments"])
    assert not list(unit.diagnostics), [d.spelling for d in unit.diagnostics]
    ours = [c for c in unit.cursor.get_children() if c.location.file and c.location.file.name == header]
    comments = [t for t in unit.get_tokens(extent=unit.cursor.extent) if t.kind == TokenKind.COMMENT]
    behind = {t.location.line: clean(t.spelling) for t in comments}  # on the line of a declaration
    sections = [(t.location.line, paragraphs(clean(t.spelling)).get("Threads", "any, at once")) for t in comments
                if t.spelling.startswith("/* ----")]
    callbacks = [c for c in ours if c.kind == CursorKind.TYPEDEF_DECL and c.spelling.endswith("_fn")]
    allowed = in_progress(callbacks)
    described = {"library": "dl4", "soname": "libdl4.so.1", "format": 1, "since": "1.0",
                 "constants": [], "objects": [], "ids": [], "callbacks": [], "functions": []}
    for c in ours:
        if c.kind == CursorKind.ENUM_DECL:
            group = first_sentence(clean(c.raw_comment))
            described["constants"] += [{"name": e.spelling, "value": e.enum_value, "group": group, "since": "1.0"}
                                       for e in c.get_children()]
        elif c in callbacks:
            declared = [(a.spelling, a.type.spelling) for a in c.get_children() if a.kind == CursorKind.PARM_DECL]
            said = {"May be NULL": "user"} if "user" in dict(declared) else {}
            returns = c.underlying_typedef_type.get_pointee().get_result().spelling
            described["callbacks"].append({"name": c.spelling, "returns": returns,
                                           "doc": first_sentence(clean(c.raw_comment)), "since": "1.0",
                                           "parameters": describe("", declared, said, "")})
        elif c.kind == CursorKind.TYPEDEF_DECL:
            doc = {"name": c.spelling, "doc": behind[c.location.line], "since": "1.0"}
            if c.spelling in IDS:
                doc = {"name": c.spelling, "type": c.underlying_typedef_type.spelling, **doc}
            else:
                doc["describe"] = DESCRIBED.get(c.spelling, [])
            described["ids" if c.spelling in IDS else "objects"].append(doc)
        elif c.kind == CursorKind.FUNCTION_DECL:
            threads = [said for line, said in sections if line < c.location.line][-1]
            described["functions"].append(describe_function(c, threads, allowed))
    return described


def written(described):
    """One line for each entry, so that a difference is read at a glance."""
    out = ["{"]
    for key, value in described.items():
        comma = "" if key == "functions" else ","
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(v) for v in value)
            out.append(f' "{key}": [\n{rows}\n ]{comma}')
        else:
            out.append(f' "{key}": {json.dumps(value)}{comma}')
    return "\n".join(out) + "\n}\n"


def main():
    path, text = root / "capi/dl4-api.json", written(read_header())
    if sys.argv[1:] != ["--check"]:
        path.write_text(text)
        return 0
    pairs = zip(path.read_text().splitlines(), text.splitlines())
    different = [f"committed: {a}\nheader:    {b}" for a, b in pairs if a != b]
    print("\n".join(different[:5]) or "the same")
    return path.read_text() != text


sys.exit(main())
