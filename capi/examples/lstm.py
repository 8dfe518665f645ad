"""The article's LSTM listing through ctypes: built, trained a step, run and saved.   lstm.py [LIBDL4.so [FILE]]"""
import ctypes as C, json, random, sys
L, P, out_of = C.CDLL((sys.argv[1:] or ["libdl4.so.1"])[0]), C.c_void_p, C.byref
L.dl4_blob_data.restype, L.dl4_blob_data.argtypes, api = C.c_char_p, [P], P()
L.dl4_api_description(out_of(api))           # the library describes its own functions
types = {"int32_t": C.c_int32, "dl4_node": C.c_int32, "dl4_layer": C.c_int32, "int64_t": C.c_int64,
         "double": C.c_double, "const char *": C.c_char_p}
for f in json.loads(L.dl4_blob_data(api))["functions"]:
    getattr(L, f["name"]).restype = types.get(f["returns"], P)
    getattr(L, f["name"]).argtypes = [types.get(p["type"], P) for p in f["parameters"]]
def call(name, *args):                       # what can fail returns an error, or NULL
    if error := getattr(L, "dl4_" + name)(*args):
        raise RuntimeError(L.dl4_error_message(error).decode())
def make(name, *args, type=P):               # ... and puts its result into the last argument
    result = type()
    call(name, *args, out_of(result))
    return result
def layer(g, kind, x, **config):
    text, y = json.dumps(config).encode(), C.c_int32()
    call("graph_add", g, kind, None, text, None, None, out_of(x), 1, out_of(y), 1)
    return y
def tensor(*dims):
    t = make("tensor_create", None, 1, len(dims), (C.c_int64 * len(dims))(*dims))
    return t, (C.c_float * (L.dl4_tensor_bytes(t) // 4)).from_address(L.dl4_tensor_data(t))
(x, numbers), (y, _), (out, answers), loss = tensor(4, 3, 32), tensor(4, 2), tensor(4, 2), C.c_double()
numbers[:] = [random.random() for _ in numbers]
g = make("graph_create", None)
inp = make("graph_add_input", g, b"x", 1, 3, (C.c_int64 * 3)(-1, 3, 32), type=C.c_int32)
dense = layer(g, b"Dense", layer(g, b"LSTM", inp, units=8), units=2)
mdl = make("graph_build", g, out_of(inp), 1, out_of(dense), 1)
trainer = make("trainer_create", mdl, json.dumps({"optimizer": "Adam", "loss": "MeanSquaredError"}).encode())
call("trainer_step", trainer, out_of(x), 1, out_of(y), 1, None, 0, out_of(loss), 1, None)
call("session_run", make("session_create", mdl, None), out_of(x), 1, out_of(out), 1, None)
print("loss", loss.value, "outputs", list(answers))
call("model_save", mdl, (sys.argv[2:] or ["lstm.safetensors"])[0].encode(), None)
