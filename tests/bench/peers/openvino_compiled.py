"""OpenVINO: a compiled model, a request with tensors set beforehand, float32."""
import protocol

import openvino as ov

import onnx_rows


def make(row, threads):
    with protocol.aside():
        data, given, read, _ = onnx_rows.model(row)
    core = ov.Core()
    compiled = core.compile_model(core.read_model(data), "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32"})

    def request():
        one = compiled.create_infer_request()
        for name, x in given.items():
            one.set_tensor(name, ov.Tensor(x))

        def call(infer=one.infer):
            infer()
            return one

        return call

    call = request()
    call.another = request
    return call, lambda one: read([one.get_output_tensor(i).data for i in range(len(row.outputs))])


protocol.serve(make, f"OpenVINO {ov.__version__.split('-')[0]}")
