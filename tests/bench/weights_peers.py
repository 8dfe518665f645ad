"""Peers of weights.py: a model in 8 bits by ONNX Runtime, OpenVINO and PyTorch, each if it is installed.

A function takes the model, its ONNX file and the inputs, and gives calls by name. Weights of PyTorch are others, for
only its time is asked.
"""

import logging
import warnings

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")


def onnxruntime(_model, path, inputs):
    """Float32; int8 by quantize_dynamic; QDQ by quantize_static with these inputs."""
    import onnxruntime as ort
    from onnxruntime import quantization as by

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3

    def call(file):
        session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        bound = session.io_binding()
        for slot, x in zip(session.get_inputs(), inputs):
            bound.bind_cpu_input(slot.name, x)
        for slot in session.get_outputs():
            bound.bind_output(slot.name)
        return lambda: session.run_with_iobinding(bound)

    names = [slot.name for slot in ort.InferenceSession(path, options).get_inputs()]

    class Reader(by.CalibrationDataReader):
        rows = iter([dict(zip(names, inputs))])

        def get_next(self):
            return next(self.rows, None)

    by.quantize_dynamic(path, path + ".int8", weight_type=by.QuantType.QInt8)
    kinds = {"activation_type": by.QuantType.QUInt8, "weight_type": by.QuantType.QInt8}
    by.quantize_static(path, path + ".qdq", Reader(), quant_format=by.QuantFormat.QDQ, per_channel=True, **kinds)
    return {"ONNX Runtime": call(path), "ONNX Runtime int8": call(path + ".int8"),
            "ONNX Runtime QDQ": call(path + ".qdq")}


def openvino(_model, path, inputs):
    """By NNCF's quantize(), and its compress_weights() where that fails, as it does of an LSTM."""
    import nncf
    import openvino as ov

    core = ov.Core()
    model = core.read_model(path)
    model.reshape({slot: list(x.shape) for slot, x in zip(model.inputs, inputs)})

    def call(made):
        how = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        request = core.compile_model(made, "CPU", how).create_infer_request()
        for i, x in enumerate(inputs):
            request.set_input_tensor(i, ov.Tensor(x, shared_memory=True))
        return request.infer

    try:
        return {"OpenVINO int8": call(nncf.quantize(model, nncf.Dataset([inputs], list), subset_size=1))}
    except RuntimeError:
        return {"OpenVINO int8": call(nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM))}


def torch(model, _path, inputs):
    """By quantize_dynamic (FBGEMM), of chains of Dense, LSTM and GRU: it quantizes no convolution."""
    import torch as t

    t.set_num_threads(1)
    activations = {"relu": t.nn.ReLU, "gelu": t.nn.GELU, "softmax": lambda: t.nn.Softmax(-1)}

    class Last(t.nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x)[0][:, -1]

    modules, size = [], inputs[0].shape[-1]
    for layer in model.layers:
        kind = type(layer).__name__
        if kind in ("LSTM", "GRU"):
            modules.append(Last(getattr(t.nn, kind)(size, layer.units, batch_first=True)))
        elif kind == "Dense":
            modules.append(t.nn.Linear(size, layer.units))
            activation = getattr(layer.activation, "__name__", "linear")
            modules += [activations[activation]()] if activation in activations else []
        elif kind != "InputLayer":
            return {}
        size = getattr(layer, "units", size)
    kinds = {t.nn.Linear, t.nn.LSTM, t.nn.GRU}
    net = t.ao.quantization.quantize_dynamic(t.nn.Sequential(*modules).eval(), kinds, dtype=t.qint8)
    x = t.from_numpy(inputs[0])

    def call():
        with t.inference_mode():
            net(x)

    return {"PyTorch int8": call}


def calls(model, path, inputs):
    found = {}
    for peer in (onnxruntime, openvino, torch):
        try:
            found.update(peer(model, path, inputs))
        except ImportError:
            pass
    return found
