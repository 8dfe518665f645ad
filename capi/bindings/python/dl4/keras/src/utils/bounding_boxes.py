"""keras.utils.bounding_boxes: boxes in other formats, moved, and compared."""

import math

from .. import ops
from ..backend.config import epsilon

FORMATS = (
    *("xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw"),
    *("rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh"),
)


def _parts(boxes):
    return [boxes[..., i] for i in range(4)]


def _corners(boxes, name):
    """Left, top, right and bottom of boxes of a format."""
    a, b, c, d = _parts(boxes)
    if name == "xyxy":
        return a, b, c, d
    if name == "yxyx":
        return b, a, d, c
    if name == "xywh":
        return a, b, a + c, b + d
    if name == "center_yxhw":
        a, b, c, d = b, a, d, c
    return a - c / 2, b - d / 2, a + c / 2, b + d / 2


def _of_corners(left, top, right, bottom, name):
    if name == "xyxy":
        found = left, top, right, bottom
    elif name == "yxyx":
        found = top, left, bottom, right
    elif name == "xywh":
        found = left, top, right - left, bottom - top
    elif name == "center_xywh":
        found = (left + right) / 2, (top + bottom) / 2, right - left, bottom - top
    else:
        found = (top + bottom) / 2, (left + right) / 2, bottom - top, right - left
    return ops.stack(found, -1)


def convert_format(boxes, source, target, height=None, width=None, dtype="float32"):
    """Boxes of one format in another; "rel_" ones are shares of an image's size."""
    if isinstance(boxes, dict):
        boxes["boxes"] = convert_format(boxes["boxes"], source, target, height, width, dtype)
        return boxes
    boxes = ops.convert_to_tensor(boxes)
    if boxes.shape[-1] != 4:
        raise ValueError(
            f"`boxes` must be a tensor with the last dimension of 4. Received: boxes.shape={tuple(boxes.shape)}"
        )
    source, target = source.lower(), target.lower()
    if source not in FORMATS or target not in FORMATS:
        raise ValueError(f"Invalid source or target format. Supported formats: {FORMATS}")
    relative = source.startswith("rel_"), target.startswith("rel_")
    if any(relative) and (width is None or height is None):
        raise ValueError(
            "convert_format() must receive `height` and `width` transforming between relative and absolute formats."
            f"convert_format() received source=`{source}`, target=`{target}, but height={height} and width={width}."
        )
    boxes = ops.cast(boxes, dtype)
    if source == target:
        return boxes
    corners = _corners(boxes, source.removeprefix("rel_"))
    if relative[0] != relative[1]:
        sizes = [ops.cast(n, dtype) for n in (width, height, width, height)]
        corners = [c * n if relative[0] else c / n for c, n in zip(corners, sizes)]
    return _of_corners(*corners, target.removeprefix("rel_"))


def _need_corners(name):
    if name != "xyxy":
        raise NotImplementedError(f"`bounding_box_format`: expected 'xyxy', got {name!r}")


def clip_to_image_size(bounding_boxes, height=None, width=None, bounding_box_format="xyxy"):
    """Boxes within the image; the labels of those that are outside become -1."""
    if bounding_box_format not in ("xyxy", "rel_xyxy"):
        raise NotImplementedError(f"`bounding_box_format`: expected 'xyxy' or 'rel_xyxy', got {bounding_box_format!r}")
    if bounding_box_format == "xyxy" and (height is None or width is None):
        raise ValueError("`height` and `width` must be set if `format='xyxy'`.")
    right, bottom = (width, height) if bounding_box_format == "xyxy" else (1.0, 1.0)
    boxes = ops.convert_to_tensor(bounding_boxes["boxes"])
    x1, y1, x2, y2 = (ops.clip(v, 0, end) for v, end in zip(_parts(boxes), (right, bottom, right, bottom)))
    found = {**bounding_boxes, "boxes": ops.stack([x1, y1, x2, y2], -1)}
    if bounding_boxes.get("labels") is not None:
        found["labels"] = ops.where((x2 - x1) * (y2 - y1) > 0, bounding_boxes["labels"], -1)
    return found


def crop(boxes, top, left, height, width, bounding_box_format="xyxy"):
    """Boxes in a part of the image."""
    _need_corners(bounding_box_format)
    x1, y1, x2, y2 = _parts(ops.convert_to_tensor(boxes))
    found = [ops.clip(v - left, 0, width) for v in (x1, x2)], [ops.clip(v - top, 0, height) for v in (y1, y2)]
    return ops.stack([found[0][0], found[1][0], found[0][1], found[1][1]], -1)


def pad(boxes, top, left, height=None, width=None, bounding_box_format="xyxy"):
    """Boxes in an image with margins; the sizes of the image do not matter to them."""
    del height, width
    _need_corners(bounding_box_format)
    x1, y1, x2, y2 = _parts(ops.convert_to_tensor(boxes))
    return ops.stack([x1 + left, y1 + top, x2 + left, y2 + top], -1)


def affine_transform(
    boxes,
    angle,
    translate_x,
    translate_y,
    scale,
    shear_x,
    shear_y,
    height,
    width,
    center_x=None,
    center_y=None,
    bounding_box_format="xyxy",
):
    """The boxes around boxes (batch, count, 4) that were turned, moved, scaled and sheared."""
    _need_corners(bounding_box_format)
    angle, sx, sy = (-ops.convert_to_tensor(v) * (math.pi / 180) for v in (angle, shear_x, shear_y))
    cx, cy = ((0.5 if c is None else c) * (n - 1) for c, n in ((center_x, width), (center_y, height)))
    dx, dy = -ops.convert_to_tensor(translate_x) * (width - 1), -ops.convert_to_tensor(translate_y) * (height - 1)
    a, c = ops.cos(angle - sy) / ops.cos(sy), -ops.sin(angle - sy) / ops.cos(sy)
    b, d = a * ops.tan(sx) + ops.sin(angle), ops.cos(angle) - c * ops.tan(sx)
    scale = ops.convert_to_tensor(scale)
    across, down = (d * scale, -b * scale), (-c * scale, a * scale)
    columns = [ops.expand_dims(v, -1) for v in (*across, *down, cx + dx, cy + dy)]
    x1, y1, x2, y2 = _parts(ops.cast(boxes, str(a.dtype)))
    x, y = ops.stack([x1, x2, x2, x1], -1), ops.stack([y1, y1, y2, y2], -1)
    p, q, r, s, mx, my = (ops.expand_dims(v, -1) for v in columns)
    moved = p * (x - mx) + q * (y - my) + cx, r * (x - mx) + s * (y - my) + cy
    least, most = [ops.min(v, -1) for v in moved], [ops.max(v, -1) for v in moved]
    return ops.stack([*least, *most], -1)


def _size(image_shape):
    return (None, None) if image_shape is None else tuple(image_shape)[:2]


def _coded(variance, name, word):
    if variance is not None:
        variance = ops.convert_to_tensor(variance, "float32")
        if variance.shape[-1] != 4:
            raise ValueError(f"`variance` must be length 4, got {variance}")
    if name not in ("center_xywh", "center_yxhw"):
        raise ValueError(f"`{word}` should be one of 'center_xywh' or 'center_yxhw', got {name}")
    return variance


def encode_box_to_deltas(
    anchors, boxes, anchor_format, box_format, encoding_format="center_yxhw", variance=None, image_shape=None
):
    """How far boxes are from anchors: moves in units of the anchor's size, and logarithms of sizes."""
    variance, (height, width) = _coded(variance, encoding_format, "encoding_format"), _size(image_shape)
    anchors = convert_format(anchors, anchor_format, encoding_format, height, width)
    boxes = convert_format(boxes, box_format, encoding_format, height, width)
    own, others = (ops.maximum(b[..., 2:], epsilon()) for b in (anchors, boxes))
    deltas = ops.concatenate([(boxes[..., :2] - anchors[..., :2]) / own, ops.log(others / own)], -1)
    return deltas if variance is None else deltas / variance


def decode_deltas_to_boxes(
    anchors, boxes_delta, anchor_format, box_format, encoded_format="center_yxhw", variance=None, image_shape=None
):
    """Boxes of how far they are from anchors; of dicts, for each name."""
    variance, (height, width) = _coded(variance, encoded_format, "encoded_format"), _size(image_shape)

    def decoded(anchor, deltas):
        anchor = convert_format(anchor, anchor_format, encoded_format, height, width)
        deltas = ops.convert_to_tensor(deltas)
        deltas = deltas if variance is None else deltas * variance
        size = anchor[..., 2:]
        boxes = ops.concatenate([deltas[..., :2] * size + anchor[..., :2], ops.exp(deltas[..., 2:]) * size], -1)
        return convert_format(boxes, encoded_format, box_format, height, width)

    if isinstance(anchors, dict) and isinstance(boxes_delta, dict):
        return {level: decoded(anchor, boxes_delta[level]) for level, anchor in anchors.items()}
    return decoded(anchors, boxes_delta)


def _need_size(name, image_shape):
    if "rel" in name and image_shape is None:
        raise ValueError(
            "When using relative bounding box formats (e.g. `rel_yxyx`) the `image_shape` argument must be provided."
            f"Received `image_shape`: {image_shape}"
        )


def _overlap(a, b):
    """The areas that boxes of corners share."""
    wide, high = ops.minimum(a[2], b[2]) - ops.maximum(a[0], b[0]), ops.minimum(a[3], b[3]) - ops.maximum(a[1], b[1])
    return ops.maximum(wide, 0.0) * ops.maximum(high, 0.0)


def _area(corners):
    return (corners[2] - corners[0]) * (corners[3] - corners[1])


def compute_iou(boxes1, boxes2, bounding_box_format, use_masking=False, mask_val=-1, image_shape=None):
    """The shares that each two boxes have in common of what they cover together."""
    boxes1, boxes2 = ops.convert_to_tensor(boxes1), ops.convert_to_tensor(boxes2)
    for name, boxes in (("boxes1", boxes1), ("boxes2", boxes2)):
        if len(boxes.shape) not in (2, 3):
            raise ValueError(
                f"compute_iou() expects {name} to be batched, or to be unbatched. "
                f"Received len(boxes1.shape)={len(boxes1.shape)}, len(boxes2.shape)={len(boxes2.shape)}. Expected "
                f"either len({name}.shape)=2 AND or len({name}.shape)=3."
            )
    _need_size(bounding_box_format, image_shape)
    height, width = _size(image_shape)
    first, second = (convert_format(b, bounding_box_format, "xyxy", height, width) for b in (boxes1, boxes2))
    a = [ops.expand_dims(v, -1) for v in _parts(first)]
    b = [ops.expand_dims(v, -2) for v in _parts(second)]
    shared = _overlap(a, b)
    found = shared / (_area(a) + _area(b) - shared + epsilon())
    if not use_masking:
        return found
    none = [ops.max(v, -1) < 0 for v in (first, second)]
    masked = ops.logical_or(ops.expand_dims(none[0], -1), ops.expand_dims(none[1], -2))
    return ops.where(masked, float(mask_val), found)


def compute_ciou(boxes1, boxes2, bounding_box_format, image_shape=None):
    """As compute_iou() of each box and its counterpart, less how far their middles and forms are from each other."""
    _need_size(bounding_box_format, image_shape)
    height, width = _size(image_shape)
    a, b = (_parts(convert_format(x, bounding_box_format, "xyxy", height, width)) for x in (boxes1, boxes2))
    shared, small = _overlap(a, b), epsilon()
    sizes = [(c[2] - c[0], c[3] - c[1] + small) for c in (a, b)]
    iou = shared / (sizes[0][0] * sizes[0][1] + sizes[1][0] * sizes[1][1] - shared + 2 * small)
    around = ops.maximum(a[2], b[2]) - ops.minimum(a[0], b[0]), ops.maximum(a[3], b[3]) - ops.minimum(a[1], b[1])
    apart = [(a[i] + a[i + 2] - b[i] - b[i + 2]) / 2 for i in (0, 1)]
    distance = (apart[0] ** 2 + apart[1] ** 2) / (around[0] ** 2 + around[1] ** 2 + small)
    forms = ops.arctan(sizes[1][0] / sizes[1][1]) - ops.arctan(sizes[0][0] / sizes[0][1])
    v = 4 / math.pi**2 * forms**2
    return iou - (distance + v * v / (v - iou + 1 + small))
