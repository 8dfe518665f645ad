"""Goldens of what Keras's files have beside the usual layers: operations, images of another size, keras.applications."""
import keras
import numpy as np
from keras import ops
from keras.src.applications import convnext, inception_resnet_v2

import record
from cases_sequence import finish, normal
from record import Family, Net

for _layer in (convnext.LayerScale, convnext.StochasticDepth, inception_resnet_v2.CustomScaleLayer):
    setattr(keras.layers, _layer.__name__, _layer)
record.LISTS += ("CustomScaleLayer", "Einsum", "Arctan2")
for _name in ("Arcsin", "Arccos", "Arctan", "Sinh", "Cosh", "Exp2", "Trunc", "Logsumexp", "Sort", "Argsort", "Tile",
              "Cumsum", "Cumprod"):
    record.OPS[_name] = getattr(ops, _name.lower())
record.OPS.update(Arctan2=record.pairwise(ops.arctan2), OneHot=ops.one_hot, TopK=ops.top_k,
                  ReshapeBatch=lambda x, shape: ops.reshape(x, shape),
                  Pad=lambda x, pad_width, **how: ops.pad(x, pad_width, **how),
                  Einsum=lambda x, subscripts: ops.einsum(subscripts, *x))

IMAGES = {"RandomBrightness": dict(factor=0.2), "RandomColorDegeneration": dict(factor=0.2), "RandomColorJitter": {},
          "RandomContrast": dict(factor=0.2), "RandomCrop": dict(height=5, width=4), "RandomElasticTransform": {},
          "RandomErasing": {}, "RandomFlip": {}, "RandomGaussianBlur": {}, "RandomGrayscale": {},
          "RandomHue": dict(factor=0.2), "RandomInvert": {}, "RandomPerspective": {},
          "RandomPosterization": dict(factor=4), "RandomRotation": dict(factor=0.2),
          "RandomSaturation": dict(factor=0.2), "RandomSharpness": dict(factor=0.2), "RandomShear": dict(x_factor=0.2),
          "RandomTranslation": dict(height_factor=0.2, width_factor=0.1), "RandomZoom": dict(height_factor=0.2),
          "AugMix": {}, "CutMix": {}, "MixUp": {}, "RandAugment": {}, "Solarization": {}}


def arrays():
    f = Family("arrays")

    def one(name, class_name, *shapes, scale=1.0, loss=True, value=None, dtype="float32", **options):
        net, rng = Net(), f.rng(name)
        inputs = [net.input(c, s, dtype) for c, s in zip("abc", shapes)]
        values = [normal(rng, 2, *s) * np.float32(scale) for s in shapes] if value is None else [value]
        out = net.add(class_name, *inputs, **options)
        finish(f, name, net, list(out) if isinstance(out, list) else out, values, **({} if loss else {"loss": None}))

    for class_name, scale in {"Arcsin": 0.3, "Arccos": 0.3, "Arctan": 2, "Sinh": 2, "Cosh": 2, "Exp2": 2}.items():
        one(class_name.lower(), class_name, (3, 4), scale=scale)
    one("trunc", "Trunc", (3, 4), scale=3, loss=False)
    one("arctan2", "Arctan2", (3, 4), (1, 4))
    one("logsumexp", "Logsumexp", (3, 4), axis=1)
    one("logsumexp_kept", "Logsumexp", (3, 4), axis=[1, 2], keepdims=True)
    one("logsumexp_large", "Logsumexp", (3, 4), scale=100, axis=-1)
    one("pad", "Pad", (3, 4), pad_width=[[0, 0], [1, 2], [0, 3]])
    one("pad_number", "Pad", (3, 4), pad_width=[[0, 0], [1, 2], [2, 0]], constant_values=1.5)
    for mode in ("reflect", "symmetric"):
        one(f"pad_{mode}", "Pad", (3, 4), pad_width=[[0, 0], [2, 1], [0, 3]], mode=mode)
    one("tile", "Tile", (3, 4), repeats=[1, 2, 3])
    one("tile_few", "Tile", (3, 4), repeats=[2])
    one("tile_free", "Tile", (None, 4), repeats=[1, 2, 1], value=normal(f.rng("tile_free"), 2, 3, 4))
    ids = np.array([[0, 2, 4], [3, -1, 5]], np.int32)
    one("one_hot", "OneHot", (3,), value=ids, dtype="int32", loss=False, num_classes=5)
    one("one_hot_axis", "OneHot", (3,), value=ids, dtype="int32", loss=False, num_classes=5, axis=1)
    for name in ("Cumsum", "Cumprod"):
        one(name.lower(), name, (3, 4), axis=1)
        one(name.lower() + "_last", name, (3, 4), axis=-1)
    one("sort", "Sort", (3, 5))
    one("sort_axis", "Sort", (4, 3), axis=1)
    one("argsort", "Argsort", (3, 5), loss=False)
    one("argsort_axis", "Argsort", (3, 5), loss=False, axis=1)
    one("top_k", "TopK", (3, 5), loss=False, k=2)
    net = Net()
    values, _ = net.add("TopK", net.input("a", (3, 5)), k=2)
    finish(f, "top_k_values", net, values, [normal(f.rng("top_k_values"), 2, 3, 5)])
    one("reshape_batch_all", "ReshapeBatch", (3, 4), loss=False, shape=[-1])
    net = Net()
    rows = net.add("ReshapeBatch", net.input("a", (3, 4)), shape=[-1, 4])
    finish(f, "reshape_batch", net, net.add("ReshapeBatch", rows, shape=[-1, 3, 4]),
           [normal(f.rng("reshape_batch"), 2, 3, 4)])
    for i, (subscripts, *shapes) in enumerate([
            ("abc,acd->abd", (3, 4), (4, 5)), ("abcd,aecd->acbe", (3, 2, 4), (5, 2, 4)), ("ab,ab->a", (3,), (3,)),
            ("abc->acb", (3, 4)), ("abc->a", (3, 4)), ("...a,...a->...", (3, 4), (3, 4)), ("ab,ac", (3,), (4,)),
            ("abc,acd,ad->ab", (3, 4), (4, 5), (5,)), ("abc,abd->acd", (3, 4), (3, 5))]):
        one(f"einsum_{i}", "Einsum", *shapes, loss=subscripts != "ab,ac", subscripts=subscripts)
    return f


def images():
    f = Family("images")
    picture = f.rng("picture").uniform(0, 255, (2, 5, 4, 3)).astype(np.float32)
    for class_name, options in IMAGES.items():
        for dtype in ("float32", "uint8"):
            net = Net()
            h = net.add(class_name, net.input("x", (5, 4, 3), dtype), **options)
            f.model(f"{class_name}_{dtype}", net, h, [picture.astype(dtype)])

    def sized(name, class_name, shape=(5, 4, 3), record=None, **options):
        net = Net()
        value = normal(f.rng(name), 2, *shape)
        finish(f, name, net, net.add(class_name, net.input("x", shape), **options), [value], **(record or {}))

    for how in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
        for height, width in ((3, 7), (11, 2), (5, 4)):
            sized(f"resizing_{how}_{height}_{width}", "Resizing", height=height, width=width, interpolation=how)
        sized(f"up_sampling_{how}", "UpSampling2D", size=[2, 3], interpolation=how)
    for how in ("bilinear", "bicubic", "lanczos3"):
        sized(f"resizing_{how}_antialias", "Resizing", (9, 8, 2), height=3, width=5, interpolation=how, antialias=True,
              record={"input_grad": how == "bilinear"})
    sized("resizing_cropped", "Resizing", (9, 4, 2), height=6, width=6, crop_to_aspect_ratio=True)
    sized("center_crop", "CenterCrop", (7, 6, 2), height=4, width=3)
    sized("center_crop_larger", "CenterCrop", (4, 6, 2), height=5, width=8)
    net = Net()
    h = net.add("Resizing", net.input("x", (5, 4, 3), "uint8"), height=7, width=6)
    f.model("resizing_of_bytes", net, h, [picture.astype(np.uint8)])

    net = Net()
    scale = net.layer("LayerScale", init_values=0.5, projection_dim=3)
    out = scale(net.input("x", (4, 3)))
    scale.keras.weights[0]._path = "layer_scale/gamma"
    finish(f, "layer_scale", net, out, [normal(f.rng("layer_scale"), 2, 4, 3)], steps=2)
    net = Net()
    out = net.add("CustomScaleLayer", net.input("a", (3,)), net.input("b", (3,)), scale=0.3)
    finish(f, "custom_scale", net, out, [normal(f.rng(c), 2, 3) for c in "ab"])
    net = Net()
    out = net.add("StochasticDepth", net.input("x", (3,)), drop_path_rate=0.4)
    f.model("stochastic_depth", net, out, [normal(f.rng("x"), 2, 3)])
    return f


FAMILIES = {"arrays": arrays, "images": images}
