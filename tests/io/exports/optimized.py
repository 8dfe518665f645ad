"""Nets that tools of ONNX Runtime wrote: its optimizer's, which has ops of com.microsoft, and those quantized by it."""

import os
import pathlib
import tempfile


def files(where):
    import numpy as np
    import onnx
    import onnxruntime
    from onnxruntime import quantization

    def feeds_of(folder):
        feeds = []
        for path in sorted(folder.glob("*.npz")):
            with np.load(path) as f:
                feeds.append({n[3:]: f[n] for n in f.files if n.startswith("in ")})
        return feeds

    def optimized(folder):
        with tempfile.TemporaryDirectory() as there:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
            options.optimized_model_filepath = os.path.join(there, "m.onnx")
            onnxruntime.InferenceSession(folder / "m.onnx", options, providers=["CPUExecutionProvider"])
            return onnx.load(options.optimized_model_filepath), feeds_of(folder)

    def by_transformers(folder, kind, heads, hidden):
        from onnxruntime.transformers import optimizer

        model = optimizer.optimize_model(str(folder / "m.onnx"), kind, num_heads=heads, hidden_size=hidden, opt_level=0)
        return model.model, feeds_of(folder)

    def quantized_by(folder, how):
        with tempfile.TemporaryDirectory() as there:
            out = os.path.join(there, "m.onnx")
            how(str(folder / "m.onnx"), out)
            return onnx.load(out), feeds_of(folder)

    def dynamic(folder, type_of=quantization.QuantType.QInt8):
        return quantized_by(folder, lambda a, b: quantization.quantize_dynamic(a, b, weight_type=type_of))

    def static(folder, form, **options):
        class Reader(quantization.CalibrationDataReader):
            def __init__(self):
                self.left = feeds_of(folder)

            def get_next(self):
                return self.left.pop() if self.left else None

        return quantized_by(folder, lambda a, b: quantization.quantize_static(a, b, Reader(), quant_format=form, **options))

    texts = ("bert", "roberta", "distilbert", "gpt2", "t5_encoder", "llama", "vit", "bart", "electra", "clip", "swin")
    images = ("vision_models.mobilenet_v2", "vision_models.resnet18", "vision_models.squeezenet1_1",
              "vision_models.mobilenet_v3_small", "vision_models.shufflenet_v2_x0_5")  # fmt: skip
    layers = ("torch_layers.Conv2d", "torch_layers.Linear_3d", "torch_layers.LSTM", "torch_layers.ConvTranspose2d")
    names = [f"huggingface.{n}" for n in texts] + list(images) + list(layers)
    form = quantization.QuantFormat
    for name in names:
        folder = pathlib.Path(where) / f"{name}.script"
        if not (folder / "1.npz").exists():
            continue
        short = name.split(".")[1]
        yield f"optimized {short}", lambda f=folder: optimized(f)
        yield f"dynamic {short}", lambda f=folder: dynamic(f)
        yield f"dynamic uint8 {short}", lambda f=folder: dynamic(f, quantization.QuantType.QUInt8)
        if name.startswith("vision") or "Linear" in name or "Conv" in name:
            yield f"static QDQ {short}", lambda f=folder: static(f, form.QDQ)
            yield f"static QDQ by channel {short}", lambda f=folder: static(
                f, form.QDQ, per_channel=True, activation_type=quantization.QuantType.QInt8)  # fmt: skip
            yield f"static operators {short}", lambda f=folder: static(f, form.QOperator)
    for name, kind in [("bert", "bert"), ("distilbert", "bert"), ("roberta", "bert"), ("gpt2", "gpt2"), ("vit", "vit"),
                       ("bart", "bart"), ("clip", "clip"), ("t5_encoder", "t5")]:  # fmt: skip
        folder = pathlib.Path(where) / f"huggingface.{name}.script"
        if (folder / "1.npz").exists():
            yield f"transformers {name}", lambda f=folder, k=kind: by_transformers(f, k, 2, 16)
