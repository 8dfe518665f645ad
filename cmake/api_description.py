#!/usr/bin/env python3
"""Writes capi/dl4-api.json from include/dl4/dl4.h. Run it after every change of the header; a test compares the two.

The header's comments are regular: a first paragraph (the doc), then "May be NULL:", "Keeps:", "Takes:", "Threads:",
"Errors:" and "Since". A section's "Threads:" holds for its functions unless they have one of their own.

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
import re

root = pathlib.Path(__file__).resolve().parent.parent
text = (root / "include/dl4/dl4.h").read_text()
LABELS = "May be NULL|Keeps|Takes|Threads|Blocks|Errors|Since"


def clean(comment):
    return "\n".join(re.sub(r"^\s*\*? ?", "", line) for line in comment.strip("/*").splitlines()).strip().rstrip("-* ")


def labels(comment):
    found = {}
    for m in re.finditer(rf"^({LABELS}):? (.*?)(?=^(?:{LABELS}):? |\Z)", comment, re.S | re.M):
        found[m[1]] = re.sub(r"\s+", " ", m[2]).strip().rstrip(".")
    return found


def first_sentence(comment):
    body = re.split(rf"^(?:{LABELS}):? ", comment, flags=re.M)[0].split("\nOptions:")[0]
    return re.split(r"(?<=\.)\s", re.sub(r"\s+", " ", body.strip()) + " ")[0].strip()


def names(listed):
    """'c, dims (when rank is 0), out' -> {'c': '', 'dims': 'when rank is 0', 'out': ''}"""
    listed = re.sub(r"\((?!when)[^)]*\)", "", listed)
    return {m[1]: m[2] or "" for m in re.finditer(r"(\w+)\s*(?:\((when[^)]*)\))?", listed)}


def parameter(declared):
    m = re.match(r"(.*?)(\w+)$", re.sub(r"\s+", " ", declared.strip()))
    return m[2], m[1].strip().replace(" *", " *")


def reasons(label, parameters):
    found = {}
    for m in re.finditer(r"(DL4_\w+) \(([^)]*)\)", label):
        words = re.split(r", ", m[2])
        found[m[1]] = {"parameters": words} if set(words) <= parameters else {"when": m[2]}
    return found


def content(name, type_, comment):
    """Of a parameter or a result that is text or bytes, which of them it is."""
    if type_ == "const char *":
        return "bytes" if "bytes of a blob" in comment else "json" if name == "json" else "text"
    if type_ == "dl4_blob **":
        if "to memory" in comment:
            return "bytes"
        assert "JSON" in comment, comment
        return "text" if "DOT" in comment else "json"  # dl4_describe(): by its format
    if re.fullmatch(r"(const )?void \*", type_) and name in ("data", "src", "dst"):
        return "bytes"


def describe(params, label, comment=""):
    declared = [parameter(p) for p in params.split(",")] if params.strip() != "void" else []
    nullable, keeps, takes = names(label.get("May be NULL", "")), names(label.get("Keeps", "")), names(label.get("Takes", ""))
    unknown = set(nullable) - {n for n, _ in declared}
    assert not unknown, (params, unknown)
    result = []
    for i, (name, type_) in enumerate(declared):
        p = {"name": name, "type": type_}
        pointer = type_.endswith("*") or type_.endswith("_fn")
        object_ = re.fullmatch(r"(const )?dl4_(?!node|layer)\w+ \*", type_) is not None
        out = pointer and not type_.startswith("const ") and "const" not in type_ and not type_.endswith("_fn") and (
            re.fullmatch(r"(dl4_\w+|void) \*\*|(int32_t|int64_t|double|dl4_node|dl4_layer) \*", type_) is not None or name == "dst")
        p["direction"] = "out" if out else "in"
        if re.fullmatch(r"dl4_tensor \*\*", type_) and i + 1 < len(declared) and declared[i + 1][0] in ("n_out", "nx", "ny", "nw"):
            p["direction"] = "inout"
        if pointer:
            p["ownership"] = ("taken" if name in takes else "kept" if name in keeps else
                              "owned" if out and type_.endswith("**") else "borrowed")
            p["nullable"] = name in nullable
            if nullable.get(name):
                p["null_when"] = nullable[name]
            if not object_ and not type_.endswith("_fn") and name != "user":
                after = declared[i + 1] if i + 1 < len(declared) else ("", "")
                if after[1] in ("int64_t", "int32_t") and after[0] in ("n", "n_" + name, "n" + name, "cap", "bytes") and type_ != "const char *":
                    p["count"] = after[0]
                elif name in ("dims", "strides") and ("rank", "int32_t") in declared:
                    p["count"] = "rank"
        if kind := content(name, type_, comment):
            p["content"] = kind
        result.append(p)
    return result


body = text[text.index("#ifndef DL4_DL4_H"):]
description = {"library": "dl4", "soname": "libdl4.so.1", "format": 1, "since": "1.0",
               "constants": [], "objects": [], "ids": [], "callbacks": [], "functions": []}

group = ""
for m in re.finditer(r"/\*(?:(?!\*/).)*\*/\s*enum \{(.*?)\};", body, re.S):
    group = first_sentence(clean(m[0].split("*/")[0]))
    for c in re.finditer(r"(DL4_\w+) = (\d+)", m[1]):
        description["constants"].append({"name": c[1], "value": int(c[2]), "group": group, "since": "1.0"})
for m in re.finditer(r"typedef struct (\w+) \1;\s*/\* (.*?) \*/", body):
    description["objects"].append({"name": m[1], "doc": m[2], "since": "1.0"})
for m in re.finditer(r"typedef int32_t (\w+);\s*/\* (.*?) \*/", body):
    description["ids"].append({"name": m[1], "type": "int32_t", "doc": m[2], "since": "1.0"})
for m in re.finditer(r"(?:/\*((?:(?!\*/).)*)\*/\s*)?typedef (\w+ \*?)\(\*(\w+)\)\((.*?)\);", body, re.S):
    description["callbacks"].append({"name": m[3], "returns": m[2].strip(), "doc": first_sentence(clean(m[1] or "")),
                                     "since": "1.0", "parameters": describe(m[4], {"May be NULL": "user"} if "user" in m[4] else {})})

in_progress = set(re.findall(r"dl4_\w+", re.search(r"Inside, only.*?\*/", body, re.S)[0]))
threads = ""
for m in re.finditer(r"/\*((?:(?!\*/).)*)\*/(\s*DL4_API ([^;]*?)(dl4_\w+)\(([^;]*)\);)?", body, re.S):
    comment = clean(m[1])
    label = labels(comment)
    if comment.startswith("----"):
        threads = label.get("Threads", "")
    if m[2] is None:
        continue
    returns = re.sub(r"\s+", " ", m[3].replace("DL4_CHECKED", "")).strip()
    function = {"name": m[4], "returns": returns, "doc": first_sentence(comment),
                "threads": label.get("Threads", threads),
                "errors": re.findall(r"DL4_\w+", re.sub(r"\([^)]*\)", "", label.get("Errors", ""))),
                "since": "1.0", "deprecated_since": None, "replaced_by": None, "parameters": describe(m[5], label, comment)}
    named = {p["name"] for p in function["parameters"]}
    if why := reasons(label.get("Errors", ""), named):
        function["reasons"] = why
    function["blocks"] = bool("Blocks" in label or "cancel" in named - {"c"} or
                              set(function["errors"]) & {"DL4_IO", "DL4_NUMERIC"})
    reads = m[5].startswith("const dl4_") and not function["blocks"]
    function["in_callback"] = "any" if function["threads"].startswith("any") or reads or m[4] in in_progress else "others"
    if returns.endswith("*"):
        function["returns_ownership"] = "owned" if returns == "dl4_error *" else "borrowed"
        if kind := content("", returns, comment):
            function["content"] = "json" if m[4] == "dl4_error_detail" else kind
    description["functions"].append(function)

# One line for each entry, so that a difference is read at a glance.
out = ["{"]
for key, value in description.items():
    comma = "" if key == "functions" else ","
    if isinstance(value, list):
        rows = ",\n".join("  " + json.dumps(v) for v in value)
        out.append(f' "{key}": [\n{rows}\n ]{comma}')
    else:
        out.append(f' "{key}": {json.dumps(value)}{comma}')
out.append("}")
(root / "capi/dl4-api.json").write_text("\n".join(out) + "\n")
