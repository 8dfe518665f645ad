"""OpenVINO through its C API: a request with tensors set beforehand, float32."""
import glob
import os

import protocol

import importlib.metadata
import importlib.util

import c_calls
import onnx_rows

folder = importlib.util.find_spec("openvino").submodule_search_locations[0]
library = glob.glob(os.path.join(folder, "libs", "libopenvino_c.so*"))[0]


def make(row, threads):
    with protocol.aside():
        data, given, read, shapes = onnx_rows.model(row)
    return c_calls.Model("openvino", library, data, threads, given, shapes), read


protocol.serve(make, f"OpenVINO {importlib.metadata.version('openvino')}")
