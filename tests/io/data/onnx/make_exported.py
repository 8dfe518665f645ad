"""Writes exported.onnx, with exported.onnx.data beside it, as torch.onnx.export() does by default, and
exported.safetensors with an input and what PyTorch gives for it. Needs torch and onnxscript."""

import json
import pathlib
import struct

import onnx
import torch

HERE = pathlib.Path(__file__).resolve().parent


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.dense = torch.nn.Linear(8 * 2 * 2, 10)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return torch.softmax(self.dense(x.flatten(1)), -1)


torch.manual_seed(3)
net, x = Net().eval(), torch.randn(2, 2, 4, 4)
torch.onnx.export(net, (x,), str(HERE / "exported.onnx"))
model = onnx.load(HERE / "exported.onnx", load_external_data=False)
for part in [*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.value_info, model.graph, model]:
    del part.metadata_props[:]  # where in the source it comes from
onnx.save(model, HERE / "exported.onnx")
header, data = {}, b""
for name, t in (("exported/input/0", x), ("exported/output/0", net(x).detach())):
    values = t.numpy().astype("<f4").tobytes()
    header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(header).encode()
(HERE / "exported.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
