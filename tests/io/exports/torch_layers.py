"""Layers of torch.nn, one in a model, with the numbers of a trained one where they start as none."""

from case import Case, floats


def randomized(module):
    import torch

    for m in module.modules():
        for name, buffer in m.named_buffers(recurse=False):
            if name == "running_mean":
                buffer.normal_()
            elif name == "running_var":
                buffer.uniform_(0.5, 1.5)
        if getattr(m, "affine", False) or getattr(m, "elementwise_affine", False):
            with torch.no_grad():
                for p in m.parameters(recurse=False):
                    p.normal_(1, 0.3)
    return module


def cases():
    import torch
    from torch import nn

    def ids(batch, length):
        return (torch.randint(0, 9, (batch, length)),)

    def pair(*shape):
        def make(batch, length):
            return floats(*shape)(batch, length) + floats(*shape)(batch, length)

        return make

    class Outputs(nn.Module):
        """The output alone, without states."""

        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, *x):
            return self.inner(*x)[0]

    class Attended(nn.Module):
        def __init__(self, **options):
            super().__init__()
            self.inner = nn.MultiheadAttention(8, 2, batch_first=True, **options)

        def forward(self, x):
            return self.inner(x, x, x, need_weights=False)[0]

    class Crossed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x, y):
            return self.inner(x, y, y)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 2)

        def forward(self, x, memory):
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.inner(x, memory, tgt_mask=mask)

    class Unpooled(nn.Module):
        def __init__(self):
            super().__init__()
            self.pool, self.back = nn.MaxPool2d(2, 2, return_indices=True), nn.MaxUnpool2d(2, 2)

        def forward(self, x):
            return self.back(*self.pool(x))

    sequence, line, image, volume, matrix = (
        ("b", "t", 8), ("b", 4, 24), ("b", 4, 17, 19), ("b", 4, 7, 9, 8), ("b", 8),
    )  # fmt: skip
    free_image = ("b", 4, "t", 12)
    made = [
        # ---- linear
        ("Linear", lambda: nn.Linear(8, 5), matrix),
        ("Linear 3d", lambda: nn.Linear(8, 5), sequence),
        ("Linear without bias", lambda: nn.Linear(8, 5, bias=False), sequence),
        # ---- convolutions
        ("Conv1d", lambda: nn.Conv1d(4, 6, 3, 2, 1), line),
        ("Conv1d free", lambda: nn.Conv1d(4, 6, 3, padding=1), ("b", 4, "t")),
        ("Conv1d circular", lambda: nn.Conv1d(4, 6, 3, padding=1, padding_mode="circular"), line),
        ("Conv2d", lambda: nn.Conv2d(4, 6, 3, 2, 1), image),
        ("Conv2d free", lambda: nn.Conv2d(4, 6, 3, padding=1), free_image),
        ("Conv2d same", lambda: nn.Conv2d(4, 6, 4, padding="same", dilation=2), image),
        ("Conv2d reflect", lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), image),
        ("Conv2d groups", lambda: nn.Conv2d(4, 6, 3, groups=2, bias=False), image),
        ("Conv2d depthwise", lambda: nn.Conv2d(4, 8, (3, 5), groups=4), image),
        ("Conv3d", lambda: nn.Conv3d(4, 3, 3, 2, 1), volume),
        ("ConvTranspose1d", lambda: nn.ConvTranspose1d(4, 3, 4, 2, 1), line),
        ("ConvTranspose2d", lambda: nn.ConvTranspose2d(4, 3, 3, 2, 1, 1), image),
        ("ConvTranspose2d groups", lambda: nn.ConvTranspose2d(4, 4, 3, 2, groups=2), image),
        ("ConvTranspose2d dilated", lambda: nn.ConvTranspose2d(4, 3, 3, dilation=2), image),
        ("ConvTranspose3d", lambda: nn.ConvTranspose3d(4, 3, 3, 2), volume),
        # ---- pooling
        ("MaxPool1d", lambda: nn.MaxPool1d(3, 2, 1), line),
        ("MaxPool2d", lambda: nn.MaxPool2d(3, 2, 1), image),
        ("MaxPool2d ceil", lambda: nn.MaxPool2d(3, 2, ceil_mode=True), image),
        ("MaxPool2d dilated", lambda: nn.MaxPool2d(3, 2, dilation=2), image),
        ("MaxPool3d", lambda: nn.MaxPool3d(2), volume),
        ("MaxUnpool2d", Unpooled, image),
        ("AvgPool1d", lambda: nn.AvgPool1d(3, 2, 1), line),
        ("AvgPool2d", lambda: nn.AvgPool2d(3, 2, 1), image),
        ("AvgPool2d ceil", lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), image),
        ("AvgPool2d without padding", lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), image),
        ("AvgPool3d", lambda: nn.AvgPool3d(2), volume),
        ("LPPool2d", lambda: nn.LPPool2d(2, 3, 2), image),
        ("AdaptiveAvgPool1d", lambda: nn.AdaptiveAvgPool1d(6), line),
        ("AdaptiveAvgPool2d 1", lambda: nn.AdaptiveAvgPool2d(1), image),
        ("AdaptiveAvgPool2d", lambda: nn.AdaptiveAvgPool2d((4, 3)), ("b", 4, 16, 12)),
        ("AdaptiveAvgPool3d", lambda: nn.AdaptiveAvgPool3d(1), volume),
        ("AdaptiveMaxPool1d", lambda: nn.AdaptiveMaxPool1d(6), line),
        ("AdaptiveMaxPool2d", lambda: nn.AdaptiveMaxPool2d((4, 3)), ("b", 4, 16, 12)),
        ("AdaptiveMaxPool2d 1", lambda: nn.AdaptiveMaxPool2d(1), image),
        # ---- padding
        ("ReflectionPad1d", lambda: nn.ReflectionPad1d(3), line),
        ("ReflectionPad2d", lambda: nn.ReflectionPad2d((1, 2, 3, 4)), image),
        ("ReplicationPad1d", lambda: nn.ReplicationPad1d(2), line),
        ("ReplicationPad2d", lambda: nn.ReplicationPad2d(2), image),
        ("ReplicationPad3d", lambda: nn.ReplicationPad3d(1), volume),
        ("ZeroPad2d", lambda: nn.ZeroPad2d((1, 2, 0, 3)), image),
        ("ZeroPad2d negative", lambda: nn.ZeroPad2d((-1, 2, 0, -3)), image),
        ("ConstantPad1d", lambda: nn.ConstantPad1d(2, 3.5), line),
        ("ConstantPad3d", lambda: nn.ConstantPad3d(1, -1.0), volume),
        ("CircularPad1d", lambda: nn.CircularPad1d(2), line),
        ("CircularPad2d", lambda: nn.CircularPad2d(2), image),
        # ---- normalisations
        ("BatchNorm1d", lambda: nn.BatchNorm1d(8), matrix),
        ("BatchNorm1d 3d", lambda: nn.BatchNorm1d(4), line),
        ("BatchNorm2d", lambda: nn.BatchNorm2d(4), image),
        ("BatchNorm2d plain", lambda: nn.BatchNorm2d(4, affine=False), image),
        ("BatchNorm3d", lambda: nn.BatchNorm3d(4), volume),
        ("GroupNorm", lambda: nn.GroupNorm(2, 4), image),
        ("GroupNorm plain", lambda: nn.GroupNorm(2, 4, affine=False), line),
        ("InstanceNorm1d", lambda: nn.InstanceNorm1d(4), line),
        ("InstanceNorm2d", lambda: nn.InstanceNorm2d(4, affine=True), image),
        ("InstanceNorm3d", lambda: nn.InstanceNorm3d(4), volume),
        ("LayerNorm", lambda: nn.LayerNorm(8), sequence),
        ("LayerNorm plain", lambda: nn.LayerNorm(8, elementwise_affine=False), sequence),
        ("LayerNorm 2 axes", lambda: nn.LayerNorm((17, 19)), image),
        ("LayerNorm without bias", lambda: nn.LayerNorm(8, bias=False), sequence),
        ("RMSNorm", lambda: nn.RMSNorm(8), sequence),
        ("LocalResponseNorm", lambda: nn.LocalResponseNorm(3), image),
        # ---- recurrent
        ("RNN", lambda: Outputs(nn.RNN(8, 5, batch_first=True)), sequence),
        ("RNN relu", lambda: Outputs(nn.RNN(8, 5, 2, "relu", batch_first=True)), sequence),
        ("LSTM", lambda: Outputs(nn.LSTM(8, 5, batch_first=True)), sequence),
        ("LSTM states", lambda: nn.LSTM(8, 5, batch_first=True), sequence),
        ("LSTM 2 layers", lambda: Outputs(nn.LSTM(8, 5, 2, batch_first=True)), sequence),
        ("LSTM bidirectional", lambda: Outputs(nn.LSTM(8, 5, batch_first=True, bidirectional=True)), sequence),
        ("LSTM time first", lambda: Outputs(nn.LSTM(8, 5)), ("t", "b", 8)),
        ("LSTM without bias", lambda: Outputs(nn.LSTM(8, 5, bias=False, batch_first=True)), sequence),
        ("GRU", lambda: Outputs(nn.GRU(8, 5, batch_first=True)), sequence),
        ("GRU states", lambda: nn.GRU(8, 5, batch_first=True), sequence),
        ("GRU bidirectional", lambda: Outputs(nn.GRU(8, 5, 2, batch_first=True, bidirectional=True)), sequence),
        # ---- transformers
        ("MultiheadAttention", Attended, sequence),
        ("MultiheadAttention bias_kv", lambda: Attended(add_bias_kv=True), sequence),
        ("MultiheadAttention zero_attn", lambda: Attended(add_zero_attn=True), sequence),
        ("TransformerEncoderLayer", lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), sequence),
        ("TransformerEncoderLayer norm_first", lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True,
                                                                                   norm_first=True, activation="gelu"), sequence),
        ("TransformerEncoder", lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2,
                                                              enable_nested_tensor=False), sequence),
        # ---- others
        ("Flatten", lambda: nn.Flatten(), image),
        ("Flatten 2", lambda: nn.Flatten(2), image),
        ("Unflatten", lambda: nn.Unflatten(1, (2, 2)), image),
        ("PixelShuffle", lambda: nn.PixelShuffle(2), image),
        ("PixelUnshuffle", lambda: nn.PixelUnshuffle(2), ("b", 4, 16, 12)),
        ("ChannelShuffle", lambda: nn.ChannelShuffle(2), image),
        ("Upsample nearest", lambda: nn.Upsample(scale_factor=2), image),
        ("Upsample bilinear", lambda: nn.Upsample(scale_factor=2, mode="bilinear"), image),
        ("Upsample bilinear corners", lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), image),
        ("Upsample bicubic", lambda: nn.Upsample(scale_factor=2, mode="bicubic"), image),
        ("Upsample size", lambda: nn.Upsample(size=(24, 20), mode="bilinear"), image),
        ("Upsample linear", lambda: nn.Upsample(scale_factor=2, mode="linear"), line),
        ("Upsample trilinear", lambda: nn.Upsample(scale_factor=2, mode="trilinear"), volume),
        ("UpsamplingNearest2d", lambda: nn.UpsamplingNearest2d(scale_factor=3), image),
        ("UpsamplingBilinear2d", lambda: nn.UpsamplingBilinear2d(scale_factor=2), image),
        ("Unfold", lambda: nn.Unfold(3, padding=1, stride=2), image),
        ("Fold", lambda: nn.Fold((8, 8), 2, stride=2), ("b", 12, 16)),
        ("ZeroPad1d", lambda: nn.ZeroPad1d(2), line),
        ("Dropout", lambda: nn.Dropout(), sequence),
        ("Dropout2d", lambda: nn.Dropout2d(), image),
        ("AlphaDropout", lambda: nn.AlphaDropout(), sequence),
        ("Identity", lambda: nn.Identity(), sequence),
    ]  # fmt: skip
    for name, options in {
        "ELU": {}, "CELU": {"alpha": 1.5}, "SELU": {}, "GELU": {}, "Hardshrink": {}, "Hardsigmoid": {}, "Hardtanh": {},
        "Hardswish": {}, "LeakyReLU": {}, "LogSigmoid": {}, "PReLU": {"num_parameters": 1}, "ReLU": {}, "ReLU6": {},
        "RReLU": {}, "SiLU": {}, "Mish": {}, "Sigmoid": {}, "Softplus": {"beta": 2}, "Softshrink": {}, "Softsign": {},
        "Tanh": {}, "Tanhshrink": {}, "Threshold": {"threshold": 0.1, "value": 20}, "GLU": {}, "Softmin": {"dim": 1},
        "Softmax": {"dim": -1}, "LogSoftmax": {"dim": 1},
    }.items():  # fmt: skip
        made.append((name, lambda name=name, options=options: getattr(nn, name)(**options), ("b", "t", 6)))
    made += [
        ("GELU tanh", lambda: nn.GELU("tanh"), sequence),
        ("Softmax2d", lambda: nn.Softmax2d(), image),
        ("PReLU channels", lambda: nn.PReLU(4), image),
    ]
    yield from (
        Case(name, lambda make=make: randomized(make()), floats(*shape) if isinstance(shape, tuple) else shape)
        for name, make, shape in made
    )
    for name, make, inputs in [
        ("Embedding", lambda: nn.Embedding(9, 4), ids),
        ("Embedding padding_idx", lambda: nn.Embedding(9, 4, padding_idx=0), ids),
        ("EmbeddingBag", lambda: nn.EmbeddingBag(9, 4, mode="mean"), ids),
        ("Bilinear", lambda: nn.Bilinear(8, 8, 3), pair("b", 8)),
        ("CosineSimilarity", lambda: nn.CosineSimilarity(dim=2), pair("b", "t", 8)),
        ("PairwiseDistance", lambda: nn.PairwiseDistance(), pair("b", 8)),
        ("MSELoss", lambda: nn.MSELoss(), pair("b", 8)),
        ("L1Loss", lambda: nn.L1Loss(reduction="sum"), pair("b", 8)),
        ("SmoothL1Loss", lambda: nn.SmoothL1Loss(), pair("b", 8)),
        ("MultiheadAttention crossed", Crossed, pair("b", "t", 8)),
        ("TransformerDecoder", Decoder, pair("b", "t", 8)),
        ("Transformer", lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True), pair("b", "t", 8)),
        ("LSTMCell", lambda: nn.LSTMCell(8, 5), floats("b", 8)),
        ("GRUCell", lambda: nn.GRUCell(8, 5), floats("b", 8)),
        ("RNNCell", lambda: nn.RNNCell(8, 5), floats("b", 8)),
    ]:
        yield Case(name, lambda make=make: randomized(make()), inputs)
