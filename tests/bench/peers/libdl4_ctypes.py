"""libdl4 as its peers are called: from Python, dl4_session_run through ctypes on tensors made beforehand."""
import ctypes
import json
import os

import protocol

import numpy as np

dl4 = ctypes.CDLL(os.environ["DL4_LIBRARY"])
P, I = ctypes.c_void_p, ctypes.c_int64
for name, arguments in (("context_create", [ctypes.c_char_p, P]),
                        ("model_load_bytes", [P, P, P, P]),
                        ("tensor_create", [P, ctypes.c_int32, ctypes.c_int32, P, P]),
                        ("tensor_copy_in", [P, ctypes.c_char_p, I]), ("session_create", [P, P, P]),
                        ("tensor_wrap", [P, ctypes.c_int32, ctypes.c_int32, P, P, P, I, P, P, P]),
                        ("session_run", [P, P, I, P, I, P]), ("error_message", [P]), ("tensor_data", [P]),
                        ("tensor_bytes", [P]), ("build_info", [P]), ("blob_data", [P]), ("release", [P])):
    function = getattr(dl4, "dl4_" + name)
    function.argtypes, function.restype = arguments, P
dl4.dl4_error_message.restype = dl4.dl4_blob_data.restype = ctypes.c_char_p
dl4.dl4_tensor_bytes.restype = I
float32, int32, uint8 = 1, 3, 5


def check(error):
    if error:
        raise RuntimeError(dl4.dl4_error_message(error).decode())


def new(function, *arguments):
    out = P()
    check(function(*arguments, ctypes.byref(out)))
    return out


def tensor(x):
    dims = (I * x.ndim)(*x.shape)
    kind = int32 if x.dtype == np.int32 else float32
    return new(dl4.dl4_tensor_wrap, None, kind, x.ndim, dims, None, x.ctypes.data, x.nbytes, None, None)


def read(out):
    return [np.frombuffer(ctypes.string_at(dl4.dl4_tensor_data(t), dl4.dl4_tensor_bytes(t)), np.float32) for t in out]


class Run:
    def __init__(self, row, threads, model):
        self.owned = [new(dl4.dl4_context_create, json.dumps({"threads": threads}).encode())]
        size = ctypes.c_int64(len(model))
        file = new(dl4.dl4_tensor_create, None, uint8, 1, ctypes.byref(size))
        check(dl4.dl4_tensor_copy_in(file, model, size))
        self.owned += [file, new(dl4.dl4_model_load_bytes, self.owned[0], file, None)]
        self.owned.append(new(dl4.dl4_session_create, self.owned[-1], None))
        tensors = [tensor(row.data[i["name"]]) for i in row.inputs]
        n_in, n_out = len(tensors), len(row.outputs)
        ins, self.out = (P * n_in)(*tensors), (P * n_out)()
        self.owned += tensors
        self.run = lambda f=dl4.dl4_session_run, s=self.owned[-1], i=ins, o=self.out: f(s, i, n_in, o, n_out, None)

    def __call__(self):
        check(self.run())
        return self.out

    def __del__(self):
        for object in [*self.owned, *self.out]:
            dl4.dl4_release(object)


def make(row, threads):
    if row.training:
        raise NotImplementedError("does not train here")
    with protocol.aside(), open(os.path.join(row.folder, "model.safetensors"), "rb") as f:
        model = f.read()
    return Run(row, threads, model), read


protocol.serve(make, json.loads(dl4.dl4_blob_data(new(dl4.dl4_build_info)))["version"])
