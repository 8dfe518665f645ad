"""Changes of images."""

import numpy as np

from programs import raised

from .noted import IMAGES, program


def transformed(keras, layer, transformation):
    return np.asarray(layer.transform_images(IMAGES, transformation, training=True))


@program
def geometric_layers(tf, keras):
    k, out = keras.layers, []
    for fill in ("reflect", "wrap", "constant", "nearest"):
        for interpolation in ("bilinear", "nearest"):
            more = {"fill_mode": fill, "interpolation": interpolation, "fill_value": 7.0}
            translation = {"translations": np.array([[2.5, -1.25], [0, 3], [-4, 0.5], [12, 0]], "float32")}
            zoom = {
                "height_zoom": np.array([[0.7], [1.3], [1], [2]], "float32"),
                "width_zoom": np.array([[1.2], [0.6], [1], [0.4]], "float32"),
            }
            shear = {"shear_factor": np.array([[0.3, 0.1], [-0.2, 0], [0, 0.5], [0.9, 0.9]], "float32")}
            out.append(
                transformed(keras, k.RandomTranslation(0.5, 0.5, **more), {**translation, "input_shape": IMAGES.shape})
            )
            out.append(transformed(keras, k.RandomZoom(0.5, 0.5, **more), {**zoom, "input_shape": IMAGES.shape}))
            out.append(transformed(keras, k.RandomShear(0.5, 0.5, **more), {**shear, "input_shape": IMAGES.shape}))
    return out


@program
def flips_and_perspectives(tf, keras):
    k, out = keras.layers, []
    flips = np.array([True, False, True, False]).reshape(4, 1, 1, 1)
    for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
        out.append(transformed(keras, k.RandomFlip(mode), {"flips": flips, "input_shape": IMAGES.shape}))
    start = np.repeat(np.array([[[0, 0], [7, 0], [0, 5], [7, 5]]], "float32"), 4, 0)
    end = start + start * np.random.RandomState(2).uniform(-0.3, 0.3, (4, 4, 2)).astype("float32")
    t = {"apply_perspective": np.array([True, True, False, True]), "start_points": start, "end_points": end}
    out.append(transformed(keras, k.RandomPerspective(1.0, 0.5), {**t, "input_shape": IMAGES.shape}))
    return out


@program
def color_layers(tf, keras):
    k, four = keras.layers, lambda *v: np.array(v, "float32")  # noqa: E731
    each = lambda *v: four(*v).reshape(4, 1, 1, 1)  # noqa: E731
    return [
        transformed(keras, layer, t)
        for layer, t in (
            (k.RandomBrightness(0.5), {"rgb_delta": each(30, -20, 100, 0)}),
            (k.RandomContrast(0.5), {"contrast_factor": each(0.5, 1.5, 1, 0)}),
            (k.RandomColorDegeneration(0.5), {"factor": each(0.2, 0.9, 0, 1)}),
            (k.RandomHue(0.5), {"factor": four(0.2, -0.3, 0, 0.5)}),
            (k.RandomSaturation((0.0, 1.0), value_range=(0, 1)), {"factor": four(0.2, 0.5, 1, 0.9)}),
            (k.RandomGrayscale(0.5), np.array([True, False, True, False]).reshape(4, 1, 1, 1)),
            (k.RandomInvert(0.5), {"apply_inversion": np.array([True, False, False, True])}),
            (k.RandomPosterization(4), {"shift_factor": np.array([1, 2, 3, 7], "uint8")}),
            (k.RandomSharpness(0.5), {"factor": four(0.1, 0.5, 1, 0)}),
            (
                k.RandomGaussianBlur(1.0, (3, 5), 0.9),
                {"should_apply_blur": np.array([True, False, True, True]), "blur_factor": four(0.5, 0.9)},
            ),
            (k.Solarization(0.5, 0.5), {"additions": each(0, 20, 50, 9), "thresholds": each(10, 100, 128, 200)}),
            (k.AutoContrast(), None),
            (k.Equalization(), None),
        )
    ]


@program
def mixing_layers(tf, keras):
    t = {"mix_weight": np.array([0.1, 0.5, 0.9, 0.3], "float32"), "permutation_order": np.array([2, 0, 3, 1])}
    labels = np.eye(4, dtype="float32")
    layer = keras.layers.MixUp()
    masks = np.zeros((4, 6, 8, 3), bool)
    masks[:, 2:5, 1:6] = True
    cut = {"permutation_order": t["permutation_order"], "batch_masks": masks, "mix_weight": t["mix_weight"]}
    erased = {"apply_erasing": np.array([True, False, True, True]), "batch_masks": masks, "fill_value": IMAGES * 0 + 9}
    return (
        transformed(keras, layer, t),
        np.asarray(layer.transform_labels(labels, t)),
        transformed(keras, keras.layers.CutMix(), cut),
        np.asarray(keras.layers.CutMix().transform_labels(labels, cut)),
        transformed(keras, keras.layers.RandomErasing(), erased),
    )


@program
def image_layers_in_inference(tf, keras):
    k = keras.layers
    layers = (k.RandomFlip(), k.RandomRotation(0.3), k.RandomZoom(0.3), k.RandomContrast(0.3), k.RandomBrightness(0.3))
    return [np.asarray(layer(IMAGES, training=False)) for layer in layers], np.asarray(k.RandomFlip()(IMAGES[0])).shape


@program
def image_layer_refusals(tf, keras):
    k = keras.layers
    return [
        raised(f).split(":")[0]
        for f in (
            lambda: k.RandomRotation(0.2, fill_mode="x"),
            lambda: k.RandomRotation(2.0),
            lambda: k.RandomZoom(1.5),
            lambda: k.RandomZoom((0.1, 0.2, 0.3)),
            lambda: k.RandomTranslation(3, 0.1),
            lambda: k.RandomContrast(-1),
            lambda: k.RandomBrightness(0.1, value_range=3),
            lambda: k.RandomGrayscale(3),
            lambda: k.RandomGaussianBlur(kernel_size=2),
        )
    ]


@program
def resizing_of_one(tf, keras):
    return (
        np.asarray(keras.layers.Resizing(4, 5)(IMAGES[0])),
        np.asarray(keras.layers.CenterCrop(4, 5)(IMAGES[0])),
        np.asarray(keras.layers.Rescaling(1 / 255)(IMAGES[0])),
        list(tf.data.Dataset.from_tensor_slices(IMAGES).map(keras.layers.Resizing(3, 3)).batch(2)),
    )
