"""LiteRT through its C API: a compiled model, XNNPACK, with tensors' memory bound beforehand."""
import os

import protocol

import importlib.metadata
import importlib.util

import c_calls
import litert_rows

library = os.path.join(importlib.util.find_spec("ai_edge_litert").submodule_search_locations[0], "libLiteRt.so")


def make(row, threads):
    with protocol.aside():
        ways = [way for way in litert_rows.models(row) if not way.resets]
    if not ways:
        raise NotImplementedError("the API cannot reset the states of an LSTM")
    return c_calls.Model("litert", library, ways[0].bytes, threads, row.data, ways[0].shapes), lambda values: values


protocol.serve(make, f"LiteRT {importlib.metadata.version('ai-edge-litert')}")
