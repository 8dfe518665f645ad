"""ONNX Runtime through its C API: a session with inputs and outputs bound beforehand."""
import protocol

import importlib.metadata

import c_calls
import onnx_rows

library = c_calls.library("onnxruntime", "capi", "libonnxruntime.so*")


def make(row, threads):
    with protocol.aside():
        data, given, read, shapes = onnx_rows.model(row)
    return c_calls.Model("onnxruntime", library, data, threads, given, shapes), read


protocol.serve(make, f"ONNX Runtime {importlib.metadata.version('onnxruntime')}")
