"""Functions of torch and torch.nn.functional that nets use between their layers."""

from case import Case, floats


def cases():
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Function(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, *x):
            return self.function(*x)

    sequence, image = ("b", "t", 8), ("b", 4, 12, 10)
    one = [
        # ---- shapes
        ("view heads", lambda x: x.view(x.shape[0], x.shape[1], 2, 4).permute(0, 2, 1, 3)),
        ("reshape -1", lambda x: x.reshape(-1, 8)),
        ("reshape joined", lambda x: x.reshape(x.shape[0] * x.shape[1], 4, 2)),
        ("flatten", lambda x: torch.flatten(x, 0, 1)),
        ("transpose", lambda x: x.transpose(1, 2).contiguous()),
        ("permute", lambda x: x.permute(2, 0, 1)),
        ("unsqueeze", lambda x: x.unsqueeze(1).unsqueeze(-1)),
        ("squeeze", lambda x: x[:, :1].squeeze(1)),
        ("cat", lambda x: torch.cat([x, x * 2], 1)),
        ("cat last", lambda x: torch.cat([x, x * 2], -1)),
        ("stack", lambda x: torch.stack([x, -x], 1)),
        ("chunk", lambda x: torch.chunk(x, 2, -1)[1]),
        ("split", lambda x: torch.split(x, [3, 5], 2)[0]),
        ("unbind", lambda x: x.unbind(2)[3]),
        ("expand", lambda x: x[:, :1].expand(-1, 5, -1)),
        ("expand to length", lambda x: x[:, :1].expand(-1, x.shape[1], -1)),
        ("expand_as", lambda x: x[:, :1].expand_as(x) + x),
        ("repeat", lambda x: x.repeat(1, 2, 1)),
        ("repeat_interleave", lambda x: x.repeat_interleave(2, dim=1)),
        ("tile", lambda x: torch.tile(x, (1, 1, 3))),
        ("flip", lambda x: x.flip(1)),
        ("roll", lambda x: torch.roll(x, 2, 1)),
        ("narrow", lambda x: x.narrow(2, 1, 4)),
        ("slice", lambda x: x[:, 1:-1]),
        ("slice step", lambda x: x[:, ::2]),
        ("last", lambda x: x[:, -1]),
        ("index list", lambda x: x[:, :, [0, 3, 5]]),
        ("half of length", lambda x: x[:, : x.shape[1] // 2]),
        ("pad constant", lambda x: F.pad(x, (1, 2, 3, 0), value=1.5)),
        ("pad to multiple", lambda x: F.pad(x, (0, 0, 0, (4 - x.shape[1] % 4) % 4))),
        ("unfold windows", lambda x: x.unfold(2, 4, 2)),
        ("movedim", lambda x: torch.movedim(x, 1, 2)),
        ("swapaxes", lambda x: torch.swapaxes(x, 0, 1)),
        ("ravel", lambda x: x.ravel()),
        ("diagonal", lambda x: torch.diagonal(x[:, :5, :5], dim1=1, dim2=2)),
        # ---- made of sizes
        ("zeros_like", lambda x: torch.zeros_like(x) + x),
        ("ones", lambda x: x + torch.ones(x.shape[1], 8)),
        ("full_like", lambda x: torch.full_like(x, 2.5) * x),
        ("new_zeros", lambda x: torch.cat([x, x.new_zeros(x.shape[0], 1, 8)], 1)),
        ("arange of length", lambda x: x + torch.arange(x.shape[1])[:, None]),
        ("arange positions", lambda x: x * torch.arange(x.shape[1]).unsqueeze(0).expand(x.shape[0], -1).unsqueeze(-1)),
        ("linspace", lambda x: x + torch.linspace(0, 1, 8)),
        ("eye", lambda x: x @ torch.eye(8)),
        ("size as number", lambda x: x / x.shape[1]),
        ("causal mask", lambda x: (x @ x.transpose(1, 2)).masked_fill(
            torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1), -1e4)),
        ("tril", lambda x: torch.tril(x @ x.transpose(1, 2))),
        ("triu of ones", lambda x: torch.triu(torch.full((x.shape[1], x.shape[1]), -1e4), 1) + x @ x.transpose(1, 2)),
        ("comparison mask", lambda x: torch.where(
            torch.arange(x.shape[1])[:, None] >= torch.arange(x.shape[1])[None], x @ x.transpose(1, 2), 0.0)),
        ("sinusoidal", lambda x: x + torch.cat([torch.sin(torch.arange(x.shape[1]).float()[:, None] * torch.arange(4) * 0.1),
                                                 torch.cos(torch.arange(x.shape[1]).float()[:, None] * torch.arange(4) * 0.1)], -1)),
        ("rotary", lambda x: x * torch.outer(torch.arange(x.shape[1]).float(), torch.arange(8) * 0.1).cos()
            + torch.cat([-x[..., 4:], x[..., :4]], -1) * torch.outer(torch.arange(x.shape[1]).float(), torch.arange(8) * 0.1).sin()),
        ("meshgrid", lambda x: x + torch.stack(torch.meshgrid(torch.arange(x.shape[1]), torch.arange(8), indexing="ij")).sum(0)),
        # ---- elementwise
        ("abs", torch.abs), ("neg", torch.neg), ("sign", torch.sign), ("ceil", torch.ceil), ("floor", torch.floor),
        ("round", torch.round), ("trunc", torch.trunc), ("frac", torch.frac), ("exp", torch.exp), ("expm1", torch.expm1),
        ("log", lambda x: torch.log(x.abs() + 0.1)), ("log2", lambda x: torch.log2(x.abs() + 0.1)),
        ("log10", lambda x: torch.log10(x.abs() + 0.1)), ("log1p", lambda x: torch.log1p(x.abs())),
        ("sqrt", lambda x: torch.sqrt(x.abs())), ("rsqrt", lambda x: torch.rsqrt(x.abs() + 0.1)),
        ("reciprocal", lambda x: torch.reciprocal(x.abs() + 0.1)), ("square", torch.square), ("pow 3", lambda x: x**3),
        ("pow of tensors", lambda x: x.abs() ** x), ("sin", torch.sin), ("cos", torch.cos), ("tan", torch.tan),
        ("asin", lambda x: torch.asin(torch.tanh(x))), ("acos", lambda x: torch.acos(torch.tanh(x))), ("atan", torch.atan),
        ("atan2", lambda x: torch.atan2(x, x.flip(-1))), ("sinh", torch.sinh), ("cosh", torch.cosh),
        ("asinh", torch.asinh), ("acosh", lambda x: torch.acosh(x.abs() + 1)), ("atanh", lambda x: torch.atanh(torch.tanh(x))),
        ("erf", torch.erf), ("sigmoid", torch.sigmoid), ("tanh", torch.tanh), ("clamp", lambda x: x.clamp(-0.5, 0.5)),
        ("clamp min", lambda x: x.clamp(min=0.1)), ("fmod", lambda x: torch.fmod(x, 0.7)),
        ("remainder", lambda x: torch.remainder(x, 0.7)), ("floor_divide", lambda x: torch.floor_divide(x, 0.7)),
        ("maximum", lambda x: torch.maximum(x, x.flip(-1))), ("minimum", lambda x: torch.minimum(x, x.flip(-1))),
        ("lerp", lambda x: torch.lerp(x, x.flip(-1), 0.3)), ("addcmul", lambda x: torch.addcmul(x, x, x, value=0.5)),
        ("where", lambda x: torch.where(x > 0, x, x * 0.1)), ("masked_fill", lambda x: x.masked_fill(x > 0.5, -1.0)),
        ("logical", lambda x: ((x > 0) & (x < 1) | ~(x > -1)).float()), ("isnan", lambda x: torch.isnan(x).float()),
        ("nan_to_num", lambda x: torch.nan_to_num(x)), ("to int", lambda x: (x * 3).int().float()),
        ("int arithmetic", lambda x: ((x * 9).long() % 5 + (x * 9).long() // 2).float()), ("bool to float", lambda x: (x > 0).to(x.dtype)),
        ("softmax", lambda x: torch.softmax(x, 1)), ("log_softmax", lambda x: F.log_softmax(x, -1)),
        ("gumbel free softmax", lambda x: F.softmax(x / 0.5, dim=-1)), ("normalize", lambda x: F.normalize(x, dim=-1)),
        ("layer_norm", lambda x: F.layer_norm(x, (8,))), ("glu", lambda x: F.glu(x, -1)),
        ("softplus", F.softplus), ("gelu", F.gelu), ("silu", F.silu), ("hardswish", F.hardswish), ("mish", F.mish),
        ("one_hot", lambda x: F.one_hot((x[:, :, 0] > 0).long(), 3).float()),
        # ---- reductions
        ("mean", lambda x: x.mean(1)), ("mean of all", lambda x: x.mean()), ("sum", lambda x: x.sum((1, 2))),
        ("prod", lambda x: x.prod(-1)), ("max", lambda x: x.max(1)[0]), ("max indices", lambda x: x.max(-1)[1]),
        ("min", lambda x: x.min(-1)[0]), ("amax", lambda x: x.amax((1, 2))), ("argmax", lambda x: x.argmax(-1)),
        ("argmin", lambda x: x.argmin(1)), ("var", lambda x: x.var(-1)), ("std", lambda x: x.std(1, unbiased=False)),
        ("var_mean", lambda x: torch.var_mean(x, -1)), ("norm", lambda x: x.norm(dim=-1)), ("norm 1", lambda x: x.norm(p=1, dim=1)),
        ("logsumexp", lambda x: torch.logsumexp(x, -1)), ("cumsum", lambda x: torch.cumsum(x, 1)),
        ("any", lambda x: (x > 1).any(-1)), ("all", lambda x: (x > -1).all(1)), ("median free topk", lambda x: x.topk(3, -1)[0]),
        ("topk indices", lambda x: x.topk(2, -1)[1]), ("sort", lambda x: x.sort(-1)[0]), ("argsort", lambda x: x.argsort(1)),
        ("count", lambda x: (x > 0).sum(1)),
        # ---- products
        ("matmul", lambda x: x @ x.transpose(1, 2)), ("bmm", lambda x: torch.bmm(x, x.transpose(1, 2))),
        ("einsum", lambda x: torch.einsum("bik,bjk->bij", x, x)), ("einsum heads", lambda x: torch.einsum(
            "bqhd,bkhd->bhqk", x.view(x.shape[0], -1, 2, 4), x.view(x.shape[0], -1, 2, 4))),
        ("outer", lambda x: torch.outer(x[0, 0], x[0, 1])), ("baddbmm", lambda x: torch.baddbmm(x, x, torch.ones(1, 8, 8).expand(x.shape[0], 8, 8))),
        ("attention", lambda x: F.scaled_dot_product_attention(*[x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2)] * 3)),
        ("attention causal", lambda x: F.scaled_dot_product_attention(
            *[x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2)] * 3, is_causal=True)),
        ("attention masked", lambda x: F.scaled_dot_product_attention(
            *[x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2)] * 3, attn_mask=(x[:, None, None, :, 0] > -2))),
        ("cdist", lambda x: torch.cdist(x, x + 1)), ("cosine_similarity", lambda x: F.cosine_similarity(x, x.flip(-1), -1)),
        ("linear", lambda x: F.linear(x, torch.ones(3, 8))), ("cross", lambda x: torch.cross(x[..., :3], x[..., 3:6], dim=-1)),
        # ---- indices
        ("gather", lambda x: torch.gather(x, 1, (x[:, :2] > 0).long())),
        ("index_select", lambda x: torch.index_select(x, 2, torch.tensor([1, 0, 5]))),
        ("scatter", lambda x: torch.zeros_like(x).scatter(2, (x > 0).long(), x * 0 + 1)),
        ("scatter_add", lambda x: torch.zeros(x.shape[0], x.shape[1], 3).scatter_add(2, (x > 0).long(), x)),
        ("assigned slice", lambda x: torch.cat([x[:, :1] * 0, x[:, 1:]], 1)),
        ("index_put", lambda x: torch.index_put(x, (torch.arange(x.shape[0]), torch.zeros(x.shape[0], dtype=torch.long)), torch.ones(8))),
        ("take last token", lambda x: x[torch.arange(x.shape[0]), (x[..., 0] > 0).long().sum(-1) - 1]),
        ("masked mean", lambda x: (x * (x[..., :1] > 0)).sum(1) / (x[..., :1] > 0).sum(1).clamp(min=1)),
        ("take_along_dim", lambda x: torch.take_along_dim(x, x.argsort(1), 1)),
        ("bucketize free", lambda x: (x[..., None] > torch.tensor([-1.0, 0.0, 1.0])).sum(-1)),
    ]  # fmt: skip
    images = [
        ("interpolate", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
        ("interpolate size", lambda x: F.interpolate(x, size=(6, 5), mode="nearest")),
        ("interpolate bicubic", lambda x: F.interpolate(x, size=(24, 21), mode="bicubic", align_corners=True)),
        ("interpolate down", lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear", align_corners=False)),
        ("interpolate like", lambda x: F.interpolate(F.max_pool2d(x, 2), size=x.shape[2:], mode="bilinear")),
        ("interpolate antialias", lambda x: F.interpolate(x, size=(6, 5), mode="bilinear", antialias=True)),
        ("grid_sample", lambda x: F.grid_sample(x, torch.tanh(x[:, :2].permute(0, 2, 3, 1)), align_corners=False)),
        ("affine_grid", lambda x: F.grid_sample(x, F.affine_grid(
            torch.tensor([[[0.9, 0.1, 0.0], [-0.1, 0.9, 0.0]]]).expand(x.shape[0], -1, -1), x.shape, align_corners=False), align_corners=False)),
        ("unfold", lambda x: F.unfold(x, 2, stride=2)), ("fold", lambda x: F.fold(F.unfold(x, 2, stride=2), (12, 10), 2, stride=2)),
        ("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 2)), ("max_pool2d", lambda x: F.max_pool2d(x, 2, return_indices=True)[0]),
        ("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2)), ("pad reflect", lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect")),
        ("pad replicate", lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate")), ("instance_norm", lambda x: F.instance_norm(x)),
        ("conv2d of computed weights", lambda x: F.conv2d(x[:1], x[:, :, :3, :3])), ("spatial softmax", lambda x: F.softmax(x.flatten(2), -1).view_as(x)),
        ("patches", lambda x: x.reshape(x.shape[0], 4, 6, 2, 5, 2).permute(0, 2, 4, 3, 5, 1).reshape(x.shape[0], 30, 16)),
        ("window partition", lambda x: x.permute(0, 2, 3, 1).view(x.shape[0], 6, 2, 5, 2, 4).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 4)),
        ("shuffle channels", lambda x: x.view(x.shape[0], 2, 2, 12, 10).transpose(1, 2).reshape(x.shape)),
        ("global pools", lambda x: torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)),
    ]  # fmt: skip
    for name, function in one:
        yield Case(name, lambda f=function: Function(f), floats(*sequence))
    for name, function in images:
        yield Case(name, lambda f=function: Function(f), floats(*image))

    def two(batch, length):
        return torch.randn(batch, length, 8), (torch.arange(length)[None] < torch.arange(1, batch + 1)[:, None] * 2).long()

    for name, function in [
        ("mask of ids", lambda x, m: x * m.unsqueeze(-1).float()),
        ("extended mask", lambda x, m: torch.softmax(x @ x.transpose(1, 2) + (1.0 - m[:, None, :].float()) * -1e4, -1)),
        ("mean of masked", lambda x, m: (x * m[..., None]).sum(1) / m.sum(1, keepdim=True)),
        ("mask and causal", lambda x, m: (x @ x.transpose(1, 2)).masked_fill(
            ~(m[:, None, :].bool() & torch.tril(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool))), -1e4)),
        ("positions of mask", lambda x, m: x + (torch.cumsum(m, 1) * m)[..., None]),
        ("last of mask", lambda x, m: x[torch.arange(x.shape[0]), m.sum(1) - 1]),
    ]:  # fmt: skip
        yield Case(name, lambda f=function: Function(f), two)
