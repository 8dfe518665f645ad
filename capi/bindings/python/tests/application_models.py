#!/usr/bin/env python3
"""What the architectures of keras.applications are: parameters, names, what they compute.

application_models.py keras application_expected.json   records Keras's."""

import hashlib
import json
import re
import sys

import numpy as np

NAMES = (
    "ConvNeXtBase ConvNeXtLarge ConvNeXtSmall ConvNeXtTiny ConvNeXtXLarge DenseNet121 DenseNet169 DenseNet201 "
    "EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3 EfficientNetB4 EfficientNetB5 EfficientNetB6 "
    "EfficientNetB7 EfficientNetV2B0 EfficientNetV2B1 EfficientNetV2B2 EfficientNetV2B3 EfficientNetV2L "
    "EfficientNetV2M EfficientNetV2S InceptionResNetV2 InceptionV3 MobileNet MobileNetV2 MobileNetV3Large "
    "MobileNetV3Small NASNetLarge NASNetMobile ResNet101 ResNet101V2 ResNet152 ResNet152V2 ResNet50 ResNet50V2 VGG16 "
    "VGG19 Xception"
).split()
# What is computed with, by what it is called: one of each family, and what its arguments change.
COMPUTED = {
    "ConvNeXtTiny": {},
    "DenseNet121": {},
    "EfficientNetB0": {},
    "EfficientNetB1 of another size": {"input_shape": (71, 65, 3)},
    "EfficientNetV2B0": {},
    "EfficientNetV2S": {},
    "InceptionResNetV2": {"input_shape": (75, 75, 3)},
    "InceptionV3": {"input_shape": (75, 75, 3)},
    "MobileNet": {"alpha": 0.5, "include_top": True, "classes": 7},
    "MobileNetV2": {"alpha": 0.35},
    "MobileNetV3Large": {"alpha": 0.75, "pooling": "max"},
    "MobileNetV3Small": {"include_top": True, "classes": 5, "classifier_activation": None, "pooling": None},
    "MobileNetV3Small minimalistic": {"minimalistic": True, "include_preprocessing": False},
    "NASNetMobile": {},
    "ResNet50": {"include_top": True, "classes": 9, "classifier_activation": None},
    "ResNet50V2": {"pooling": "max"},
    "VGG16": {},
    "VGG16 with its top": {"include_top": True, "input_shape": (32, 32, 1), "classes": 3, "classifier_activation": "tanh"},
    "Xception": {"input_shape": (71, 71, 3)},
}


def name_of(weight):
    """LayerScale's weight has no name in Keras."""
    return "gamma" if weight.name.startswith("variable") else weight.name


def digest(model):
    """Layers by name and class, weights by shape."""
    lines = [f"{layer.name} {type(layer).__name__}" for layer in model.layers]
    lines += [f"{name_of(w)} {tuple(w.shape)}" for w in model.weights]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def fill(model):
    """Weights that follow from their place, of a size that neither dies out nor grows."""
    values = []
    for i, w in enumerate(model.weights):
        rng, shape = np.random.default_rng(i), tuple(w.shape)
        if w.name in ("mean", "variance", "count"):  # of Normalization, which reads them when a file is loaded
            values.append(np.asarray(w))
        elif re.search("variance|gamma", name_of(w)):
            values.append(rng.uniform(0.5, 1.5, shape))
        elif len(shape) < 2:
            values.append(0.1 * rng.standard_normal(shape))
        else:
            read = np.prod(shape[:2]) if "depthwise" in w.name or shape[-1] == 1 else np.prod(shape[:-1])
            values.append(rng.standard_normal(shape) / np.sqrt(read))
    model.set_weights([v.astype(str(w.dtype)) for v, w in zip(values, model.weights)])


def described(keras, name):
    keras.backend.clear_session()
    model = getattr(keras.applications, name)(weights=None)
    return {"parameters": model.count_params(), "digest": digest(model), "name": model.name}


def computed(keras, title):
    """Numbers of a small model on one image: first, last and norm."""
    keras.backend.clear_session()
    given = {"include_top": False, "pooling": "avg", "input_shape": (64, 64, 3), **COMPUTED[title]}
    model = getattr(keras.applications, title.split()[0])(weights=None, **given)
    fill(model)
    x = np.random.default_rng(0).uniform(0, 255, (1, *given["input_shape"])).astype("float32")
    y = np.asarray(model(x, training=False)).reshape(-1).astype("float64")
    return [*y[:4], *y[-4:], float(np.linalg.norm(y))]


def main(module, out):
    keras = __import__(module)
    found = {"described": {n: described(keras, n) for n in NAMES}}
    found["computed"] = {t: [float(v) for v in computed(keras, t)] for t in COMPUTED}
    with open(out, "w") as f:
        json.dump(found, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
