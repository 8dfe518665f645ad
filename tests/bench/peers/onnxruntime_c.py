"""ONNX Runtime through its C API: a session with inputs and outputs bound beforehand."""
import protocol

import importlib.metadata

import c_calls
import onnx_rows

library = c_calls.library("onnxruntime", "capi", "libonnxruntime.so*")

protocol.serve(onnx_rows.through_c("onnxruntime", library), f"ONNX Runtime {importlib.metadata.version('onnxruntime')}")
