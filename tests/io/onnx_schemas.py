"""The schemas of the rows of src/io/onnx against those of the package `onnx`: for each operator and opset the inputs and
outputs with what may be left out, the attributes with types and defaults. Those of com.microsoft against what ONNX
Runtime refuses, where it is installed. And for each attribute whether the function of the row reads it. Prints what
differs; ends with 1 where something does, with 77 without `onnx`."""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "cmake"))

try:
    import numpy as np
    import onnx
    from onnx import defs, helper
except ImportError:
    print("no onnx package: skipped")
    sys.exit(77)

try:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None

import onnx_page

NEWEST = 10**6
# By operator, or operator and attribute: what a row has otherwise, and why.
OTHERWISE = {
    "BatchNormalization consumed_inputs": "required in opset 1, of no meaning",
    "GRU direction": "the default of opsets 1 and 2 is misspelt",
    "GRU outputs": "required in opset 1 by mistake, as the others are optional",
    "RNN activations": "its default is in the function, as those of LSTM and GRU",
    "MeanVarianceNormalization axes": "its default is in the function",
    "LabelEncoder default_tensor": "its default is in the function",
    "Resize inputs": "roi and scales may be left out from opset 11 on: exporters did so before 13",
    "Softsign consumed_inputs": "that of all functions by name",
    "Softplus consumed_inputs": "that of all functions by name",
    "Loop inputs": "the states may be none in all opsets",
    "FlexAttention": "of the domain ai.onnx.preview",
    "SimplifiedLayerNormalization": "of com.microsoft, read in ONNX's own domain",
}
# Attributes that say nothing which would have to be read.
UNREAD = {
    "consumed_inputs": "of how memory was shared",
    "output_sequence": "whether an output is there is seen",
    "round_mode": "of a type that is not read",
    "multi_class": "ONNX Runtime reads none of it",
    "QuantizeLinear precision": "all floats are float32",
    "QLinearSoftmax opset": "of the axis of QLinearSoftmax: only the last is read, which is the same in all",
    "mask_index_type": "of the shape of an output",
    "chunk_size": "of how the steps are cut, not of what they give",
    "Attention rotary_embedding_dim": "without do_rotary",
    "Optional type": "of the Optional that is empty",
    "TopK sorted": "of TopK: sorted ones are in one of any orders",
    "SequenceEmpty dtype": "of the elements that SequenceEmpty has not",
    "sparse_value": "refused by name",
    "nodes_hitrates": "of how often a branch was taken",
    "nodes_hitrates_as_tensor": "of how often a branch was taken",
    "ZipMap classlabels_int64s": "the names of the columns",
    "ZipMap classlabels_strings": "the names of the columns",
}


def ranged(name, opset):
    """The name without "@7-9"; None: it is not there in the opset."""
    name, _, span = name.partition("@")
    since, dash, until = span.partition("-")
    inside = opset >= int(since or 0) and opset <= (int(until or NEWEST) if dash or not span else NEWEST)
    return name if inside else None


def slots(text, opset):
    """Counts and what may be left out: "" one, "?", "*", "+"."""
    found = []
    for word in text.split():
        name = ranged(word.partition("=")[0], opset)
        if name:
            found.append(name[-1] if name[-1] in "?*+" else "")
    return found


def literal(word):
    if re.fullmatch(r"-?\d+", word):
        return "int", int(word)
    if re.fullmatch(r"[-+.e\d]+", word):
        return "float", np.float32(word)
    return "string", word


def attributes(text, opset):
    """name -> type, required, default or None."""
    found = {}
    for word in text.split():
        head, sign, rest = re.fullmatch(r"([\w@-]+)([:=!])(.*)", word).groups()
        name = ranged(head, opset)
        if not name:
            continue
        if sign == ":":
            found[name] = rest.rstrip("!"), rest.endswith("!"), None
        else:
            kind, first = literal(rest.split("|")[0].partition("@")[0])
            found[name] = kind, sign == "!", None if sign == "!" else first
    return found


def counts(parameters, least):
    option = defs.OpSchema.FormalParameterOption
    marks = {option.Single: "", option.Optional: "?"}
    return [marks.get(p.option, "+" if least > i else "*") for i, p in enumerate(parameters)]


def of_onnx(schema):
    known = {}
    for name, a in schema.attributes.items():
        kind = a.type.name.lower()
        value = helper.get_attribute_value(a.default_value) if a.default_value.type else None
        value = value.decode() if isinstance(value, bytes) else np.float32(value) if isinstance(value, float) else value
        known[name] = kind, a.required, None if value == "" else value
    return known


def compared(rows):
    for (domain, op), (text, _) in rows.items():
        versions = [s for s in defs.get_all_schemas_with_history() if (s.domain, s.name) == (domain, op)]
        if domain == "com.microsoft" or (domain == "" and not versions) or not text or op in OTHERWISE:
            continue
        values, _, said = text.partition("; ")
        inputs, outputs = values.split(">")
        for s in versions:
            at = s.since_version
            if s.deprecated:
                continue
            for what, mine, theirs in (
                ("inputs", slots(inputs, at), counts(s.inputs, s.min_input)),
                ("outputs", slots(outputs, at), counts(s.outputs, s.min_output)),
            ):
                if mine != theirs and f"{op} {what}" not in OTHERWISE:
                    yield f"{op} {at}: {what} {mine}, ONNX's are {theirs}"
            mine, theirs = attributes(said, at), of_onnx(s)
            for name in mine.keys() | theirs.keys():
                if mine.get(name) != theirs.get(name) and f"{op} {name}" not in OTHERWISE:
                    if name == "consumed_inputs" and name not in theirs:
                        continue  # rows of functions by name have it for all
                    yield f"{op} {at}: {name} {mine.get(name)}, ONNX's is {theirs.get(name)}"


def refusal(op, inputs, outputs, **attributes):
    """What ONNX Runtime says of a node of com.microsoft."""
    names, given = [f"x{i}" for i in range(inputs)], [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, given, domain="com.microsoft", **attributes)
    ports = [helper.make_tensor_value_info(n, 1, [2, 2]) for n in [*names, "x"]]
    graph = helper.make_graph([node], "g", ports, [helper.make_tensor_value_info("y0", 1, None)])
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=domains, ir_version=8)
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as e:  # noqa: BLE001
        return str(e)
    return ""


def compared_to_runtime(rows):
    of = {op: text for (domain, op), (text, _) in rows.items() if domain == "com.microsoft"}
    names = {n for text in of.values() for n in attributes(text.partition("; ")[2], NEWEST)}
    for op, text in of.items():
        values, _, said = text.partition("; ")
        inputs, outputs = (slots(v, NEWEST) for v in values.split(">"))
        least = max((i + 1 for i, s in enumerate(inputs) if s in ("", "+")), default=0)
        most = 2**31 - 1 if inputs[-1] in ("*", "+") else len(inputs)
        message = refusal(op, 0, 1)
        if "is not a registered" in message:  # it has the op in ONNX's own domain
            continue
        if f"input size 0 not in range [min={least}, max={most}]" not in message:
            yield f"{op}: {least} to {most} inputs, ONNX Runtime says {message[-200:]}"
        message = refusal(op, least, 50)
        if f", max={len(outputs)}]" not in message:
            yield f"{op}: {len(outputs)} outputs, ONNX Runtime says {message[-200:]}"
        for name in names:
            known = "Unrecognized attribute" not in refusal(op, least, 1, **{name: 1})
            if known != (name in attributes(said, NEWEST)):
                yield f"{op}: ONNX Runtime {'knows' if known else 'does not know'} the attribute {name}"


def unread(rows):
    """Attributes whose names do not stand in the functions that a row calls."""
    functions = {}
    shared = set(re.findall(r"\b(\w+)\(", "".join(p.read_text() for p in (TOP / "src/io/onnx/read").glob("*.hpp"))))
    for path in sorted((TOP / "src/io/onnx/read").glob("*.cpp")):
        for name, body in onnx_page.blocks(onnx_page.source(f"read/{path.name}")).items():
            functions.setdefault(name, {})[path.name] = body
    for (domain, op), (text, handler) in rows.items():
        seen, queue, words = set(), [handler], set()
        while queue:
            file, now = queue.pop()
            words |= set(re.findall(r'"(\w+)"', now))
            for name in set(re.findall(r"\b\w+\b", now)) & functions.keys():
                of = functions[name]
                for other in [file] if file in of else of if name in shared else ():
                    if (name, other) not in seen:
                        seen.add((name, other))
                        queue.append((other, of[other]))
        if any(re.search(r"op\.node\.attributes|\bown\(", functions.get(n, {}).get(f, "")) for n, f in seen) or re.search(
            r"op\.node\.attributes", handler[1]
        ):
            continue  # they are passed on to a node of ONNX's own
        for name in attributes(text.partition("; ")[2], NEWEST) if text else ():
            alone = re.search(rf"\b{name}(?:@[\d-]+)?=\w+\|(?: |$)", text)
            parts = name.split("_")
            made = any("_".join(parts[:n]) + "_" in words or "_" + "_".join(parts[n:]) in words for n in range(1, len(parts)))
            if name not in words and not {name, f"{op} {name}"} & UNREAD.keys() and not alone and not made:
                yield f"{op}: its function does not read {name}"


def main():
    domains = {**onnx_page.DOMAINS, "experimental": ""}
    rows = {}
    for path in sorted((TOP / "src/io/onnx/read").glob("*.cpp")):
        text = onnx_page.source(f"read/{path.name}")
        for table, (op, handler, said) in onnx_page.table_rows(text):
            domain = domains.get(table, "")
            rows[domain, op] = said, (path.name, handler)
    wrong = [*compared(rows), *unread(rows), *(compared_to_runtime(rows) if onnxruntime else ())]
    for line in wrong:
        print(line)
    print(f"{len(rows)} rows, {len(wrong)} differences from onnx {onnx.__version__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
