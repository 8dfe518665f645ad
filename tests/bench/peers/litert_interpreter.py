"""LiteRT: an interpreter, XNNPACK by default, with inputs set beforehand."""
import functools

import protocol

import importlib.metadata

from ai_edge_litert.interpreter import Interpreter

import litert_rows


def inference(row, threads, way):
    net = Interpreter(model_content=way.bytes, num_threads=threads)
    net.allocate_tensors()
    for detail, i in zip(net.get_input_details(), row.inputs):
        net.set_tensor(detail["index"], row.data[i["name"]])
    places = [detail["index"] for detail in net.get_output_details()]

    def call(invoke=net.invoke, reset=net.reset_all_variables):
        if way.resets:
            reset()
        invoke()
        return net

    return call, lambda net: [net.get_tensor(place) for place in places]


def make(row, threads):
    with protocol.aside():
        ways = litert_rows.models(row)
    return protocol.faster([functools.partial(inference, row, threads, way) for way in ways])


protocol.serve(make, f"LiteRT {importlib.metadata.version('ai-edge-litert')}")
