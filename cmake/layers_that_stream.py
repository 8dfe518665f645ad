"""What the library says of each layer's streams: each is built alone over sequences of any length, and a session with
"streamable" and a cache is asked for. By `kinds_page.py`."""
import ctypes
import itertools
import json

# Behind [B, T]: features, then images, volumes, and steps of one number.
TAILS = ([4], [32], [8, 8, 4], [4, 4, 4, 4], [4, 4], [])
INPUTS = (1, 2, 0, 3, 5)
FLOAT32, INT32 = 1, 3
# Attributes beside the examples of those that are required, where all lengths take them; and others that change what
# streams.
NEEDED = {"PReLU": {"shared_axes": [1]}, "LinearAttention": {"update_rule": "linear", "num_query_heads": 2}}
MORE = {
    "Conv1D": [{"padding": "causal"}, {"padding": "same"}],
    "SimpleRNN": [{"go_backwards": True}, {"return_sequences": True}],
    "GRU": [{"go_backwards": True}, {"return_sequences": True}],
    "LSTM": [{"go_backwards": True}, {"return_sequences": True}],
    "Softmax": [{"axis": 1}],
    "MultiHeadAttention": [{"sliding_window": 3}, {"call": {"use_causal_mask": True}},
                           {"call": {"use_causal_mask": True, "return_attention_scores": True}}],
    "GroupQueryAttention": [{"call": {"use_causal_mask": True}}],
    "Attention": [{"call": {"use_causal_mask": True}}],
    "GlobalAttention": [{"call": {"use_causal_mask": True}}],
    "AdditiveAttention": [{"call": {"use_causal_mask": True}}],
}


class Refused(Exception):
    pass


class Library:
    def __init__(self, path):
        self.dl = ctypes.CDLL(str(path))
        self.dl.dl4_error_message.restype = ctypes.c_char_p
        self.context = self.make("dl4_context_create", b'{"threads": 1}')

    def __call__(self, name, *args):
        function = getattr(self.dl, name)
        function.restype = ctypes.c_void_p
        error = ctypes.c_void_p(function(*args))
        if error:
            message = self.dl.dl4_error_message(error).decode()
            self.dl.dl4_release(error)
            raise Refused(message)

    def make(self, name, *args):
        made = ctypes.c_void_p()
        self(name, *args, ctypes.byref(made))
        return made

    def model(self, kind, config, call, tail, inputs, dtype):
        """Raises Refused where the layer takes no such inputs."""
        graph = self.make("dl4_graph_create", self.context)
        dims = [-1, -1] + tail
        x, y = (ctypes.c_int32 * 8)(), (ctypes.c_int32 * 8)()
        for i in range(inputs):
            node = ctypes.c_int32()
            self("dl4_graph_add_input", graph, f"x{i}".encode(), dtype, len(dims), (ctypes.c_int64 * len(dims))(*dims),
                 ctypes.byref(node))
            x[i] = node.value
        try:
            count = ctypes.c_int64
            self("dl4_graph_add", graph, kind.encode(), None, json.dumps(config).encode(),
                 json.dumps(call).encode(), None, x, count(inputs), y, count(1))
            return self.make("dl4_graph_build", graph, x, count(inputs), y, count(1))
        finally:
            self.dl.dl4_release(graph)

    def why_not(self, model):
        """Empty where it streams."""
        try:
            self.dl.dl4_release(self.make("dl4_session_create", model, b'{"streamable": true, "cache": 64}'))
            return ""
        except Refused as refused:
            return str(refused).split('"streamable": ')[1].split("): ", 1)[-1]
        finally:
            self.dl.dl4_release(model)


def first_that_fits(library, kind, config, call=None):
    """Why it does not stream; None where it takes no sequences of any length."""
    for inputs, dtype, tail in itertools.product(INPUTS, (FLOAT32, INT32), TAILS):
        try:
            model = library.model(kind, config, call or {}, tail, inputs, dtype)
        except Refused:
            continue
        return library.why_not(model) if inputs else None
    return None


def rows(path, layers):
    """(layer as it was asked for, why it does not stream); None: it takes no sequences."""
    library = Library(path)
    for kind, described in layers.items():
        config = {a["name"]: a["example"] for a in described["attributes"] if a.get("required") and "example" in a}
        config |= NEEDED.get(kind, {})
        why = first_that_fits(library, kind, config)
        inner = {"class_name": kind, "config": config}
        if why is None and (around := first_that_fits(library, "TimeDistributed", {"layer": inner})) is not None:
            yield f"TimeDistributed of {kind}", around
        elif why is None and (around := first_that_fits(library, "RNN", {"cell": inner})) is not None:
            yield f"RNN of {kind}", around
        else:
            yield kind, why
        for more in MORE.get(kind, []):
            call = more.get("call")
            added = call or more
            said = ", ".join(f"{name} {json.dumps(value)}" for name, value in added.items())
            yield f"{kind} with {said}", first_that_fits(library, kind, config | ({} if call else more), call)
