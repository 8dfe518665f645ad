"""Makes augmentations.json and augmentations.keras: what Keras's image layers make of images in training, and a file.

augmentations.py writes both beside itself, with the Keras that is named below, on NumPy. An interval of one number leaves
nothing to chance; where a sign or a side is drawn all answers are given. tests/capi/objects/augmentations_test.cpp
compares.
"""
import json
import os
import pathlib

os.environ["KERAS_BACKEND"] = "numpy"

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402

KERAS = "3.15.1"
HERE = pathlib.Path(__file__).resolve().parent
CASES = []


def plain(x):
    return [float(np.format_float_scientific(v)) for v in np.asarray(x, np.float32).ravel()]


def case(kind, images, tries=1, exact=False, **config):
    """tries: how often a layer is asked for all its answers, by image."""
    answers = [[] for _ in images]
    for seed in range(tries):
        y = np.asarray(getattr(layers, kind)(**config, **({} if kind in ("AutoContrast", "Equalization") else {"seed": seed}))(
            images, training=True))
        for i, one in enumerate(y):
            if not any(np.array_equal(one, a) for a in answers[i]):
                answers[i].append(one)
    CASES.append({"kind": kind, "config": config, "shape": list(images.shape), "input": plain(images), "exact": exact,
                  "output_shape": list(y.shape), "answers": [[plain(a) for a in list_] for list_ in answers]})


def shapes(images):
    for how in ("bilinear", "nearest"):
        for fill in ("reflect", "wrap", "constant", "nearest"):
            more = {"interpolation": how, "fill_mode": fill, "fill_value": 7.0}
            case("RandomRotation", images, factor=(0.07, 0.07), **more)
            case("RandomZoom", images, height_factor=(0.37, 0.37), width_factor=(-0.23, -0.23), **more)
            case("RandomTranslation", images, height_factor=(0.33, 0.33), width_factor=(-0.71, -0.71), **more)
            case("RandomShear", images, tries=12, x_factor=(0.31, 0.31), y_factor=(0.13, 0.13), **more)
    case("RandomZoom", images, height_factor=(0.4, 0.4))
    case("RandomRotation", images, factor=(0.25, 0.25))
    for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
        case("RandomFlip", images, tries=12, exact=True, mode=mode)
    case("RandomPerspective", images, factor=(1, 1), scale=0.0)
    case("RandomCrop", images, height=3, width=8)
    case("RandomCrop", images, height=9, width=5)
    case("RandomCrop", images, tries=120, exact=True, height=5, width=6)


def colours(images):
    unit = images / np.float32(255)
    case("RandomBrightness", images, factor=(0.3, 0.3))
    case("RandomBrightness", unit, factor=(-0.2, -0.2), value_range=(0, 1))
    case("RandomContrast", images, factor=(0.0, 0.0), value_range=(10, 240))
    case("RandomContrast", images, factor=(-0.4, 0.4))
    for factor in (0.0, 0.3, 1.0):
        case("RandomHue", images, tries=12, factor=(factor, factor))
        case("RandomSaturation", unit, factor=(factor * 0.9, factor * 0.9), value_range=(0, 1))
        case("RandomColorDegeneration", images, factor=(factor, factor))
        case("RandomSharpness", images, factor=(factor, factor))
    case("RandomHue", unit, tries=12, factor=(0.7, 0.7), value_range=(0, 1))
    case("RandomColorJitter", images, brightness_factor=(0.1, 0.1), contrast_factor=(-0.2, 0.2),
         saturation_factor=(0.4, 0.4), value_range=(0, 255))
    case("RandomGrayscale", images, factor=1.0)
    case("RandomInvert", images, exact=True, factor=(1, 1))
    case("RandomInvert", unit, exact=True, factor=(1, 1), value_range=(0, 1))
    for bits in (1, 3, 8):
        case("RandomPosterization", images, exact=True, factor=(bits, bits))
    case("RandomPosterization", unit, factor=(2, 2), value_range=(0, 1))
    case("Solarization", images, exact=True)
    case("Solarization", unit, value_range=(0, 1))
    for size, sigma in ((3, 1.0), ([5, 3], 0.6), (1, 0.5)):
        case("RandomGaussianBlur", images, factor=(1, 1), kernel_size=size, sigma=(sigma, sigma))
    case("RandomErasing", images, factor=(1, 1), scale=(1, 1), fill_value=[1, 2, 3])
    case("AutoContrast", images)
    case("AutoContrast", unit * np.float32(0.5), value_range=(0, 1))
    case("AutoContrast", np.zeros((1, 3, 4, 2), np.float32))
    for bins in (256, 16):
        case("Equalization", images, bins=bins)
    case("Equalization", np.floor(images), exact=True)
    case("Equalization", unit, value_range=(0, 1))
    case("Equalization", np.full((1, 3, 4, 2), 5, np.float32))


def file(images):
    keras.utils.set_random_seed(1)
    x = keras.Input((6, 7, 3))
    steps = [layers.AutoContrast(), layers.RandomRotation(0.2, seed=3), layers.Rescaling(1 / 255), layers.Dense(4),
             layers.Dense(2)]
    y = layers.Pipeline(steps, name="steps")(layers.RandomZoom((-0.2, 0.3), fill_mode="constant", fill_value=3.0)(x))
    model = keras.Model(x, y)
    model.save(HERE / "augmentations.keras")
    y = model(images, training=False)
    return {"input": plain(images), "output_shape": list(y.shape), "output": plain(y)}


def main():
    assert keras.__version__ == KERAS, keras.__version__
    images = np.random.default_rng(1).uniform(0, 255, (2, 6, 7, 3)).astype(np.float32)
    shapes(images)
    colours(images)
    (HERE / "augmentations.json").write_text(json.dumps({"cases": CASES, "file": file(images)}, separators=(",", ":")) + "\n")
    print(len(CASES), "cases")


if __name__ == "__main__":
    main()
