"""LiteRT through its C API: a compiled model, XNNPACK, with tensors' memory bound beforehand."""
import protocol

import importlib.metadata

import c_calls
import litert_rows

library = c_calls.library("ai_edge_litert", "libLiteRt.so")


def make(row, threads):
    with protocol.aside():
        ways = [way for way in litert_rows.models(row) if not way.resets]
    if not ways:
        raise NotImplementedError("the API cannot reset the states of an LSTM")
    return c_calls.Model("litert", library, ways[0].bytes, threads, row.data, ways[0].shapes), lambda values: values


protocol.serve(make, f"LiteRT {importlib.metadata.version('ai-edge-litert')}")
