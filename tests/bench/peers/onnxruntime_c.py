"""ONNX Runtime through its C API: a session with inputs and outputs bound beforehand."""
import glob
import os

import protocol

import importlib.metadata
import importlib.util

import c_calls
import onnx_rows

folder = importlib.util.find_spec("onnxruntime").submodule_search_locations[0]
library = glob.glob(os.path.join(folder, "capi", "libonnxruntime.so*"))[0]


def make(row, threads):
    with protocol.aside():
        data, given, read, shapes = onnx_rows.model(row)
    return c_calls.Model("onnxruntime", library, data, threads, given, shapes), read


protocol.serve(make, f"ONNX Runtime {importlib.metadata.version('onnxruntime')}")
