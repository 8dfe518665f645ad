"""What Keras's layers of images make of bounding boxes, masks and images:   box_programs.py   records it."""

import json
import pathlib
import sys

import numpy as np

RECORDED = pathlib.Path(__file__).with_name("box_expected.json")
SHAPE = (2, 20, 30, 3)
CORNERS = np.array([[[2, 3, 10, 12], [15, 5, 28, 18]], [[0, 0, 6, 6], [20, 10, 29, 19]]], "float32")
BOXES = {
    "xyxy": CORNERS,
    "xywh": np.concatenate([CORNERS[..., :2], CORNERS[..., 2:] - CORNERS[..., :2]], -1),
    "rel_xyxy": CORNERS / np.float32([30, 20, 30, 20]),
}
LABELS = np.array([[1, 2], [3, 4]])
_POINTS = np.array([[[0, 0], [29, 0], [0, 19], [29, 19]]] * 2, "float32")
# Of each layer: its arguments, and what was drawn.
DRAWN = {
    "RandomFlip": (
        {"mode": "horizontal_and_vertical"},
        {"flips": np.array([True, False]).reshape(2, 1, 1, 1), "input_shape": SHAPE},
    ),
    "RandomRotation": (
        {"factor": 0.2},
        {"angle": np.array([20.0, -35.0], "float32"), "image_height": 20, "image_width": 30, "batch_size": 2},
    ),
    "RandomZoom": (
        {"height_factor": 0.2},
        {
            "height_zoom": np.array([[0.7], [1.3]], "float32"),
            "width_zoom": np.array([[0.8], [1.2]], "float32"),
            "input_shape": SHAPE,
        },
    ),
    "RandomTranslation": (
        {"height_factor": 0.2, "width_factor": 0.2},
        {"translations": np.array([[3.0, -4.0], [-5.0, 2.0]], "float32"), "input_shape": SHAPE},
    ),
    "RandomShear": (
        {"x_factor": 0.2, "y_factor": 0.2},
        {"shear_factor": np.array([[0.1, 0.05], [-0.1, -0.2]], "float32"), "input_shape": SHAPE},
    ),
    "RandomPerspective": (
        {"factor": 1.0},
        {
            "apply_perspective": np.array([True, False]),
            "start_points": _POINTS,
            "end_points": np.array([[[1, 1], [27, 0], [0, 18], [29, 17]]] * 2, "float32"),
            "input_shape": SHAPE,
        },
    ),
}
# Keras's read or give the corners whatever the format is.
_CORNERS_ALONE = "RandomRotation", "RandomPerspective"
SIZES = {
    "Resizing": ((15, 12), ({}, {"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True})),
    "CenterCrop": ((10, 10), ({}, {"height": 25, "width": 40})),
}


def programs(keras):
    """Lists of numbers by name."""
    images = np.random.default_rng(0).integers(0, 255, SHAPE).astype("float32")
    found = {}
    for kind, (arguments, drawn) in DRAWN.items():
        for name, boxes in BOXES.items():
            if name != "xyxy" and kind in _CORNERS_ALONE:
                continue
            layer = getattr(keras.layers, kind)(bounding_box_format=name, **arguments)
            given = {"boxes": keras.ops.convert_to_tensor(boxes), "labels": keras.ops.convert_to_tensor(LABELS)}
            found[f"{kind} {name}"] = _of(layer.transform_bounding_boxes(given, drawn, True))
    for kind, ((height, width), cases) in SIZES.items():
        for i, more in enumerate(cases):
            for name, boxes in BOXES.items():
                how = {"height": height, "width": width, "bounding_box_format": name, **more}
                layer = getattr(keras.layers, kind)(**how)
                masks = images[..., :1].copy()
                boxes = {"boxes": boxes.copy(), "labels": LABELS.copy()}
                out = layer({"images": images.copy(), "bounding_boxes": boxes, "segmentation_masks": masks})
                found[f"{kind} {i} {name}"] = _of(out["bounding_boxes"])
                found[f"{kind} {i} {name} images"] = np.asarray(out["images"])[0, :4, :4, 0]
                found[f"{kind} {i} {name} masks"] = np.asarray(out["segmentation_masks"])[1, :4, :4, 0]
    clahe = keras.layers.ContrastLimitedAdaptiveHistogramEqualization
    for grid in ((8, 8), (3, 4)):
        found[f"CLAHE {grid}"] = np.asarray(clahe(tile_grid_size=grid)(images))[0, :5, :5, 1]
    shares = clahe(value_range=(0, 1), clip_limit=2.0)(images / np.float32(255))
    found["CLAHE of shares"] = np.asarray(shares)[1, ::5, 5]
    most = keras.layers.MaxNumBoundingBoxes(3, bounding_box_format="xyxy")
    boxes = {"boxes": CORNERS.copy(), "labels": LABELS.copy()}
    found["MaxNumBoundingBoxes"] = _of(most({"images": images, "bounding_boxes": boxes})["bounding_boxes"])
    return {name: np.asarray(value, "float64").tolist() for name, value in found.items()}


def _of(bounding_boxes):
    """Boxes with their labels."""
    boxes, labels = (np.asarray(bounding_boxes[k]) for k in ("boxes", "labels"))
    return np.concatenate([boxes, labels[..., None]], -1)


if __name__ == "__main__":
    import keras as reference

    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in programs(reference).items()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.exit(0)
