"""Runs ../../conformance.json on every function that the library declares."""

import ctypes as C
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

from dl4 import abi
from dl4.abi import Object, call, callbacks, constants, library, made, options_text, refs, text
from dl4.tensor import Tensor

FORMATS = {"json": 0, "text": 1, "dot": 2}
LETTERS = {"float32": "f", "float64": "d", "int32": "i", "int64": "q", "uint8": "B", "bool": "?"}
BINDINGS = pathlib.Path(__file__).resolve().parents[2]


def ids(nodes):
    return (C.c_int32 * len(nodes))(*nodes), len(nodes)


def dims(shape):
    return (C.c_int64 * len(shape))(*shape)


class Case:
    """Runs the steps of one case: each is a method of its name, given the step."""

    def __init__(self, case, folder):
        self.slots, self.folder, self.name = {}, pathlib.Path(folder), case["name"]
        for i, step in enumerate(case["steps"]):
            self.place = f"{self.name}: step {i}, {step['do']}"
            self.check(step)

    def check(self, step):
        error = step.get("error")
        try:
            getattr(self, "do_" + step["do"])(step)
        except abi.Error as e:
            assert error, f"{self.place}: {e}"
            code = next(k for k, v in constants.items() if v == e.code)
            got = {"code": code, **{k: getattr(e, k) for k in error if k != "code"}}
            assert got == error, f"{self.place}: expected {error}, got {got}: {e}"
        else:
            assert not error, f"{self.place}: expected {error}, it succeeded"

    def of(self, step, key):
        return self.slots[step[key]] if key in step else None

    def handles(self, names):
        return (C.c_void_p * len(names))(*[n and self.slots[n].handle for n in names]), len(names)

    def put(self, step, handle):
        self.slots[step["to"]] = Object(handle)

    def options(self, step, key="options"):
        return options_text(step.get(key))

    # -- tensors
    def do_tensor(self, s):
        dtype, shape = constants["DL4_" + s["dtype"].upper()], s["shape"]
        if s["dtype"] == "string":
            parts = [v.encode() for v in s["values"]]
            given = (C.c_char_p * len(parts))(*parts), dims([len(p) for p in parts])
            self.put(s, made("dl4_tensor_from_strings", None, len(shape), dims(shape), *given))
            return
        tensor = Object(made("dl4_tensor_create", None, dtype, len(shape), dims(shape)))
        data = struct.pack(f"={len(s['values'])}{LETTERS[s['dtype']]}", *s["values"])
        call("dl4_tensor_copy_in", tensor, C.create_string_buffer(data, len(data)), len(data))
        self.slots[s["to"]] = tensor

    def read(self, tensor):
        """dtype, shape, values"""
        names = {constants["DL4_" + name.upper()]: name for name in (*LETTERS, "string")}
        dtype, rank = names[library.dl4_tensor_dtype(tensor)], library.dl4_tensor_rank(tensor)
        shape = list((C.c_int64 * rank).from_address(library.dl4_tensor_dims(tensor))) if rank else []
        if dtype == "string":
            library.dl4_retain(tensor)
            return dtype, shape, Tensor(tensor.handle).numpy().ravel().tolist()
        data = C.create_string_buffer(library.dl4_tensor_bytes(tensor))
        call("dl4_tensor_copy_out", tensor, data, len(data))
        return dtype, shape, list(struct.unpack(f"={math.prod(shape)}{LETTERS[dtype]}", data.raw))

    def close(self, got, expected, tolerance):
        if any(isinstance(v, str) for v in [*got, *expected]):
            assert got == expected, f"{self.place}: {got}"
            return
        far = [(g, e) for g, e in zip(got, expected) if not abs(g - e) <= tolerance * max(1, abs(e))]
        assert len(got) == len(expected) and not far, f"{self.place}: (got, expected) {far[:5]}"

    def do_expect(self, s):
        dtype, shape, values = self.read(self.of(s, "tensor"))
        assert (dtype, shape) == (s["dtype"], s["shape"]), f"{self.place}: {dtype} {shape}"
        self.close(values, s["values"], s.get("tolerance", 1e-5))

    def do_same(self, s):
        a, b = [self.read(self.slots[n]) for n in s["tensors"]]
        assert a == b, f"{self.place}: {a} {b}"

    # -- graphs
    def do_context(self, s):
        self.put(s, made("dl4_context_create", self.options(s)))

    def do_graph(self, s):
        self.put(s, made("dl4_graph_create", self.of(s, "context")))

    def do_input(self, s):
        self.slots[s["to"]] = made(
            "dl4_graph_add_input",
            self.of(s, "graph"),
            abi.encoded(s.get("name")),
            constants["DL4_" + s["dtype"].upper()],
            len(s["shape"]),
            dims(s["shape"]),
            type=C.c_int32,
        )

    def do_constant(self, s):
        self.slots[s["to"]] = made(
            "dl4_graph_add_constant", self.of(s, "graph"), s["name"].encode(), self.of(s, "tensor"), type=C.c_int32
        )

    def layer(self, s):
        attrs = options_text(self.of(s, "config")) if "config" in s else self.options(s, "attrs")
        return s["kind"].encode(), abi.encoded(s.get("name")), attrs

    def refs(self, s):
        models = {key: self.slots[model] for key, model in s.get("models", {}).items()}
        nodes = {k: [n and self.slots[n] for n in names] for k, names in s.get("nodes", {}).items()}
        return refs(models, nodes)

    def do_layer(self, s):
        self.slots[s["to"]] = made(
            "dl4_graph_add_layer", self.of(s, "graph"), *self.layer(s), self.refs(s), type=C.c_int32
        )

    def outputs(self, s, function, *args):
        out = (C.c_int32 * len(s["to"]))()
        call(function, self.of(s, "graph"), *args, *ids([self.slots[n] for n in s["in"]]), out, len(out))
        self.slots.update(zip(s["to"], out))

    def do_call(self, s):
        self.outputs(s, "dl4_graph_call", self.of(s, "layer"), self.options(s, "call"), self.refs(s))

    def do_add(self, s):
        self.outputs(s, "dl4_graph_add", *self.layer(s), self.options(s, "call"), self.refs(s))

    def do_weight(self, s):
        self.slots[s["to"]] = made("dl4_graph_add_weight", self.of(s, "graph"), s["name"].encode(), type=C.c_int32)

    def do_gradients(self, s):
        targets, by = [ids([self.slots[n] for n in s[key]]) for key in ("of", "by")]
        out = (C.c_int32 * len(s["to"]))()
        given = s.get("output_gradients")
        given = given and ids([self.slots[n] for n in given])[0]
        config = self.options(s, "attrs")
        call("dl4_graph_add_gradients", self.of(s, "graph"), config, *targets, given, *by, out, len(out))
        self.slots.update(zip(s["to"], out))

    def do_assign(self, s):
        nodes = self.of(s, "node"), self.of(s, "from")
        config = self.options(s, "attrs")
        self.slots[s["to"]] = made("dl4_graph_add_assign", self.of(s, "graph"), config, *nodes, type=C.c_int32)

    def do_update(self, s):
        weights, gradients = [ids([self.slots[n] for n in s[key]]) for key in ("of", "by")]
        self.slots[s["to"]] = made(
            "dl4_graph_add_update",
            self.of(s, "graph"),
            abi.encoded(s.get("name")),
            self.options(s, "attrs"),
            self.slots[s["learning_rate"]] if "learning_rate" in s else -1,
            *weights,
            *gradients,
            type=C.c_int32,
        )

    def do_after(self, s):
        others = ids([self.slots[n] for n in s["in"]])
        self.slots[s["to"]] = made(
            "dl4_graph_add_after", self.of(s, "graph"), self.of(s, "node"), *others, type=C.c_int32
        )

    def do_merge_json(self, s):
        call("dl4_graph_add_json", self.of(s, "graph"), self.of(s, "text").encode())

    def do_shape(self, s):
        got, rank = (C.c_int64 * 8)(), C.c_int32()
        call("dl4_node_shape", self.of(s, "graph"), self.of(s, "node"), got, 8, C.byref(rank))
        assert got[: rank.value] == s["shape"], f"{self.place}: {got[: rank.value]}"

    def do_mask(self, s):
        self.slots[s["to"]] = made("dl4_graph_add_mask", self.of(s, "graph"), self.of(s, "node"), type=C.c_int32)

    def do_build(self, s):
        self.put(
            s,
            made(
                "dl4_graph_build",
                self.of(s, "graph"),
                *ids([self.slots[n] for n in s["in"]]),
                *ids([self.slots[n] for n in s["out"]]),
            ),
        )

    # -- models
    def do_weights(self, s):
        model = self.of(s, "model")
        which = constants["DL4_WEIGHTS"]
        names = [library.dl4_port_name(model, which, i).decode() for i in range(library.dl4_port_count(model, which))]
        assert names == s["names"], f"{self.place}: {names}"

    def do_get_weight(self, s):
        self.put(s, made("dl4_model_get_weight", self.of(s, "model"), s["name"].encode()))

    def do_set_weight(self, s):
        call("dl4_model_set_weight", self.of(s, "model"), s["name"].encode(), self.of(s, "tensor"))

    def do_set_trainable(self, s):
        call("dl4_model_set_trainable", self.of(s, "model"), s["name"].encode(), s["value"])

    def do_clone(self, s):
        self.put(s, made("dl4_model_clone", self.of(s, "model")))

    def path(self, s):
        return str(self.folder / s["path"]).encode()

    def do_save(self, s):
        kind, arguments = ("trainer", ()) if "trainer" in s else ("model", (None,))
        if "path" in s:
            call(f"dl4_{kind}_save", self.of(s, kind), self.path(s), *arguments)
        else:
            self.slots[s["to"]] = abi.content(made(f"dl4_{kind}_save_bytes", self.of(s, kind), *arguments))

    def do_load(self, s):
        if "path" in s:
            suffix, source = "", (self.path(s),)
        else:
            data = self.of(s, "bytes")
            suffix, source = "_bytes", (data, len(data))
        if "trainer" in s:
            call("dl4_trainer_load" + suffix, self.of(s, "trainer"), *source)
        elif "path" in s:
            self.put(s, made("dl4_model_load", None, *source, self.options(s)))
        else:
            file = Object(made("dl4_tensor_create", None, constants["DL4_UINT8"], 1, dims([len(data)])))
            call("dl4_tensor_copy_in", file, *source)
            self.put(s, made("dl4_model_load_bytes", None, file, self.options(s)))

    def do_text(self, s):
        self.slots[s["to"]] = s["text"]

    def do_write(self, s):
        (self.folder / s["path"]).write_bytes(self.of(s, "text").encode())

    def do_cut(self, s):
        self.slots[s["to"]] = self.of(s, "bytes")[: s["size"]]

    def do_describe(self, s):
        told = text(made("dl4_describe", self.of(s, "object"), FORMATS[s["format"]]))
        missing = [part for part in s.get("contains", []) if part not in told]
        assert not missing, f"{self.place}: {missing} not in {told}"
        self.slots[s.get("to")] = told

    # -- sessions
    def do_session(self, s):
        self.put(s, made("dl4_session_create", self.of(s, "model"), self.options(s)))

    def results(self, s, out):
        if "to" in s:
            self.slots.update((name, Object(handle)) for name, handle in zip(s["to"], out))

    def do_run(self, s):
        out, n = self.handles(s["into"]) if "into" in s else ((C.c_void_p * len(s["to"]))(), len(s["to"]))
        call("dl4_session_run", self.of(s, "session"), *self.handles(s["in"]), out, n, self.of(s, "cancel"))
        self.results(s, out)

    def do_predict(self, s):
        out = (C.c_void_p * len(s["to"]))()
        call("dl4_session_predict", self.of(s, "session"), self.of(s, "dataset"), self.of(s, "cancel"), out, len(out))
        self.results(s, out)

    # -- streams
    def do_stream(self, s):
        self.put(s, made("dl4_stream_create", self.of(s, "session"), self.options(s)))

    def do_stream_run(self, s):
        out = (C.c_void_p * len(s["to"]))()
        call("dl4_stream_run", self.of(s, "stream"), *self.handles(s["in"]), out, len(out), None)
        self.results(s, out)

    def do_stream_run_many(self, s):
        out = (C.c_void_p * len(s["to"]))()
        counts = dims(s["counts"]) if "counts" in s else None
        given = *self.handles(s["streams"]), counts, *self.handles(s["in"])
        call("dl4_stream_run_many", *given, out, len(out), None)
        self.results(s, out)

    def do_stream_fork(self, s):
        self.put(s, made("dl4_stream_fork", self.of(s, "stream"), self.options(s)))

    def do_stream_reset(self, s):
        if "row" in s:
            call("dl4_stream_reset_row", self.of(s, "stream"), s["row"])
        else:
            call("dl4_stream_reset", self.of(s, "stream"))

    def do_stream_next(self, s):
        ids, none = dims([0] * len(s["ids"])), callbacks["dl4_logits_fn"]()
        stream, sources = self.of(s, "stream"), self.handles(s["in"])
        call("dl4_stream_next", stream, *sources, self.options(s), none, None, ids, len(ids), None)
        assert ids[:] == s["ids"], f"{self.place}: {ids[:]}"

    def do_measure(self, s):
        self.put(
            s,
            made(
                "dl4_measure",
                None,
                s["category"].encode(),
                s["kind"].encode(),
                self.options(s, "attrs"),
                self.of(s, "true"),
                self.of(s, "pred"),
                self.of(s, "weights"),
            ),
        )

    # -- training
    def do_adapt(self, s):
        given = s["kind"].encode(), self.options(s, "attrs"), self.of(s, "dataset"), self.of(s, "cancel")
        self.slots[s["to"]] = json.loads(text(made("dl4_adapt", None, *given)))

    def do_dataset(self, s):
        self.put(
            s,
            made(
                "dl4_dataset_from_tensors",
                None,
                *self.handles(s.get("x", [])),
                *self.handles(s.get("y", [])),
                *self.handles(s.get("w", [])),
                self.options(s),
            ),
        )

    def do_batches(self, s):
        @callbacks["dl4_batch_fn"]
        def give(_, index, x, nx, y, ny, w, nw):
            if index >= len(s["batches"]):
                return 1
            for key, slots, n in ("x", x, nx), ("y", y, ny), ("w", w, nw):
                for i, name in enumerate(s["batches"][index].get(key, [])):
                    library.dl4_retain(self.slots[name])
                    (C.c_void_p * n).from_address(slots)[i] = self.slots[name].handle
            return 0

        self.give = give
        kept = give, None, callbacks["dl4_release_fn"]()
        self.put(s, made("dl4_dataset_from_callback", None, *kept, self.options(s)))

    def do_trainer(self, s):
        self.put(s, made("dl4_trainer_create", self.of(s, "model"), self.options(s)))

    def names(self, s):
        trainer, which = self.of(s, "trainer"), constants["DL4_METRICS"]
        return [library.dl4_port_name(trainer, which, i).decode() for i in range(library.dl4_port_count(trainer, which))]

    def metrics(self, s, values, n):
        got = dict(zip(self.names(s), values[: n.value]))
        expected = s.get("metrics", {})
        assert set(expected) <= set(got), f"{self.place}: {got}"
        self.close([got[k] for k in expected], list(expected.values()), s.get("tolerance", 1e-5))

    def batch(self, s, function):
        values, n = (C.c_double * 64)(), C.c_int64()
        call(
            function,
            self.of(s, "trainer"),
            *self.handles(s["x"]),
            *self.handles(s["y"]),
            *self.handles(s.get("w", [])),
            values,
            64,
            C.byref(n),
        )
        self.metrics(s, values, n)

    def do_step(self, s):
        self.batch(s, "dl4_trainer_step")

    def do_accumulate(self, s):
        self.batch(s, "dl4_trainer_accumulate")

    def do_apply(self, s):
        call("dl4_trainer_apply", self.of(s, "trainer"))

    def do_gradient(self, s):
        self.put(s, made("dl4_trainer_get_gradient", self.of(s, "trainer"), s["weight"].encode()))

    def do_fit(self, s):
        at = s.get("at", {})

        @callbacks["dl4_progress_fn"]
        def tell(_, event, step, total, metrics, n):
            if (event, step) != (at.get("event"), at.get("step")):
                return 0
            if "trigger" in at:
                library.dl4_cancel_trigger(self.slots[at["trigger"]])
            return int(at.get("stop", False))

        given = self.of(s, "trainer"), self.of(s, "train"), self.of(s, "valid"), self.options(s)
        history = json.loads(text(made("dl4_trainer_fit", *given, tell, None, self.of(s, "cancel"))))
        for name, expected in s.get("history", {}).items():
            self.close(history[name], expected, s.get("tolerance", 1e-5))

    def do_evaluate(self, s):
        values, n = (C.c_double * 64)(), C.c_int64()
        call(
            "dl4_trainer_evaluate",
            self.of(s, "trainer"),
            self.of(s, "dataset"),
            self.of(s, "cancel"),
            values,
            64,
            C.byref(n),
        )
        self.metrics(s, values, n)

    def do_get(self, s):
        got = made("dl4_trainer_get_number", self.of(s, "trainer"), s["key"].encode(), type=C.c_double)
        self.close([got], [s["value"]], 1e-7)

    def do_set(self, s):
        call("dl4_trainer_set_number", self.of(s, "trainer"), s["key"].encode(), s["value"])

    def do_cancel(self, s):
        self.put(s, made("dl4_cancel_create"))

    def do_trigger(self, s):
        library.dl4_cancel_trigger(self.of(s, "cancel"))
        assert library.dl4_cancel_triggered(self.of(s, "cancel")) == 1

    def do_release(self, s):
        del self.slots[s["slot"]]

    # -- registry
    def do_registry(self, s):
        kind = abi.registry(s["category"], s["name"])[s["category"]][s["name"]]
        names = [a["name"] for a in kind["attributes"]]
        assert set(s.get("attributes", [])) <= set(names), f"{self.place}: {names}"

    def do_null_attributes(self, s):
        registry = abi.registry()
        everywhere = [a["name"] for a in registry["every_layer"]["attributes"]]
        for kind, facts in registry["layer"].items():
            given = s["attrs"].get(kind, {})
            missing = {a["name"] for a in facts["attributes"] if a["required"]} - set(given)
            for name in [a["name"] for a in facts["attributes"]] + everywhere:
                graph = Object(made("dl4_graph_create", None))
                try:
                    made(
                        "dl4_graph_add_layer", graph, kind.encode(), None, options_text({**given, name: None}), None, type=C.c_int32
                    )
                except abi.Error as e:
                    assert e.attribute in {name} | missing, f"{kind}.{name}: {e}"


def minimal():
    """Runs the program of the page about bindings."""
    page = (BINDINGS / "README.md").read_text("utf-8")
    program = page[page.index("```python\n") + 10 :]
    out = subprocess.run(
        [sys.executable, "-c", program[: program.index("```")]], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    assert out == "[[0.0], [1.0], [1.0], [0.0]]\n", out


def main():
    cases = json.loads((BINDINGS / "conformance.json").read_text("utf-8"))["cases"]
    minimal()
    failed = 0
    for case in cases:
        if len(sys.argv) > 1 and sys.argv[1] not in case["name"]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                Case(case, folder)
            except AssertionError as e:
                failed += 1
                print("failed:", str(e)[:400])
    print(f"conformance: {len(cases) - failed} of {len(cases)} cases pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
