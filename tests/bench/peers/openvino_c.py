"""OpenVINO through its C API: a request with tensors set beforehand, float32."""
import protocol

import importlib.metadata

import c_calls
import onnx_rows

library = c_calls.library("openvino", "libs", "libopenvino_c.so*")

protocol.serve(onnx_rows.through_c("openvino", library), f"OpenVINO {importlib.metadata.version('openvino')}")
