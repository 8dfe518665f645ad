"""OpenVINO through its C API: a request with tensors set beforehand, float32."""
import protocol

import importlib.metadata

import c_calls
import onnx_rows

library = c_calls.library("openvino", "libs", "libopenvino_c.so*")


def make(row, threads):
    with protocol.aside():
        data, given, read, shapes = onnx_rows.model(row)
    return c_calls.Model("openvino", library, data, threads, given, shapes), read


protocol.serve(make, f"OpenVINO {importlib.metadata.version('openvino')}")
