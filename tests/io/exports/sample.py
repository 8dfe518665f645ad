"""Writes the sample that the tests run, tests/io/data/onnx/exports: small models of a folder that make.py wrote, and in
expected.safetensors two sets of inputs of each ("<name>/<set>/<input>") and ONNX Runtime's outputs:

    sample.py FOLDER"""

import json
import pathlib
import struct
import sys

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent.parent / "data/onnx/exports"
MODELS = """torch_layers.Conv2d_reflect.script torch_layers.MaxPool2d_ceil.dynamo torch_layers.LSTM_bidirectional.script
torch_layers.GRU.dynamo torch_layers.MultiheadAttention_bias_kv.script torch_layers.TransformerEncoderLayer.dynamo
torch_functions.causal_mask.script torch_functions.sinusoidal.script torch_functions.rotary.script
torch_functions.half_of_length.script torch_functions.slice_step.script
torch_functions.expand_to_length.script torch_functions.tril.script torch_functions.size_as_number.script
huggingface.bert.script huggingface.gpt2.script huggingface.bart.script huggingface.llama.script
huggingface.vit.script sklearn_pipelines.RandomForestClassifier_2
sklearn_pipelines.GradientBoostingClassifier_2 sklearn_pipelines.OneHotEncoder sklearn_pipelines.imputed
sklearn_pipelines.LogisticRegression_3 optimized.optimized_bert optimized.transformers_bert optimized.dynamic_bert
optimized.static_QDQ_Conv2d tensorflow_models.tf2onnx_gru""".split()


def main():
    where = pathlib.Path(sys.argv[1])
    HERE.mkdir(exist_ok=True)
    for old in HERE.glob("*"):
        old.unlink()
    header, data, kinds = {}, b"", {"f": ("F32", "<f4"), "i": ("I64", "<i8"), "b": ("I64", "<i8")}
    for name in MODELS:
        folder = where / name
        if not (folder / "1.npz").exists():
            sys.exit(f"{folder} is not there: run make.py")
        model = onnx.load(folder / "m.onnx")
        del model.graph.value_info[:]
        model.doc_string = ""
        for part in [*model.graph.node, *model.graph.input, *model.graph.output, model.graph, model]:
            del part.metadata_props[:]  # where in the source it comes from
            if isinstance(part, onnx.NodeProto):
                part.doc_string = ""
        short = name.split(".", 1)[1].replace(".", "_")
        onnx.save(model, HERE / f"{short}.onnx")
        for i in (0, 1):
            with np.load(folder / f"{i}.npz") as f:
                ports = [n for n in f.files if n.startswith("in ")]
                if len(ports) != len(model.graph.input):
                    sys.exit(f"{name}: inputs that nothing reads")
                ordered = [f"in {p.name}" for p in model.graph.input] + [n for n in f.files if n.startswith("out ")]
                numbers = {"in": 0, "out": 0}
                for n in ordered:
                    side = n.split(" ")[0]
                    kind, little = kinds[f[n].dtype.kind]
                    values = f[n].astype(little).tobytes()
                    key = f"{short}/{i}/{side}put/{numbers[side]}"
                    numbers[side] += 1
                    header[key] = {"dtype": kind, "shape": list(f[n].shape),
                                   "data_offsets": [len(data), len(data) + len(values)]}  # fmt: skip
                    data += values
    text = json.dumps(header).encode()
    (HERE / "expected.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


main()
