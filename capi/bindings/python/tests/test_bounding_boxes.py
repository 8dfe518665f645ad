"""keras.utils.bounding_boxes."""

import unittest

import dl4.keras as keras
import numpy as np

boxes = keras.utils.bounding_boxes
XYXY = np.array([[[10.0, 20, 30, 60], [0, 0, 40, 40]]], "float32")


class Boxes(unittest.TestCase):
    def test_formats_there_and_back(self):
        known = {
            "xyxy": [10, 20, 30, 60],
            "yxyx": [20, 10, 60, 30],
            "xywh": [10, 20, 20, 40],
            "center_xywh": [20, 40, 20, 40],
            "center_yxhw": [40, 20, 40, 20],
            "rel_xyxy": [0.1, 0.1, 0.3, 0.3],
            "rel_yxyx": [0.1, 0.1, 0.3, 0.3],
            "rel_xywh": [0.1, 0.1, 0.2, 0.2],
            "rel_center_xywh": [0.2, 0.2, 0.2, 0.2],
        }
        for target, expected in known.items():
            got = boxes.convert_format(XYXY, "xyxy", target, height=200, width=100)
            np.testing.assert_allclose(got[0, 0], expected, 1e-6, err_msg=target)
            for other, again in known.items():
                back = boxes.convert_format(got, target, other, height=200, width=100)
                np.testing.assert_allclose(back[0, 0], again, 1e-5, err_msg=f"{target} {other}")
        with self.assertRaisesRegex(ValueError, "must receive `height` and `width`"):
            boxes.convert_format(XYXY, "xyxy", "rel_xyxy")
        with self.assertRaisesRegex(ValueError, "Invalid source or target format"):
            boxes.convert_format(XYXY, "xyxy", "xxyy")

    def test_parts_and_margins(self):
        np.testing.assert_array_equal(boxes.crop(XYXY, 30, 5, 20, 10)[0, 0], [5, 0, 10, 20])
        np.testing.assert_array_equal(boxes.pad(XYXY, 1, 2)[0, 0], [12, 21, 32, 61])
        clipped = boxes.clip_to_image_size({"boxes": XYXY + 25, "labels": np.array([[1, 2]])}, 100, 30)
        np.testing.assert_array_equal(clipped["boxes"][0, 0], [30, 45, 30, 85])
        np.testing.assert_array_equal(clipped["labels"], [[-1, 2]])
        with self.assertRaisesRegex(NotImplementedError, "expected 'xyxy'"):
            boxes.crop(XYXY, 0, 0, 1, 1, "xywh")

    def test_a_quarter_turn(self):
        zero, one = np.zeros(1, "float32"), np.ones(1, "float32")
        got = boxes.affine_transform(XYXY, one * 90, zero, zero, one, zero, zero, 101, 101)
        np.testing.assert_allclose(got[0, 0], [20, 70, 60, 90], 1e-4)
        got = boxes.affine_transform(XYXY, zero, one * 0.1, zero, one, zero, zero, 101, 101)
        np.testing.assert_allclose(got[0, 0], [20, 20, 40, 60], 1e-4)

    def test_deltas_there_and_back(self):
        anchors = np.array([[0.0, 0, 20, 20], [5, 5, 30, 40]], "float32")
        how = {"anchor_format": "xyxy", "box_format": "xyxy", "variance": [0.1, 0.1, 0.2, 0.2]}
        deltas = boxes.encode_box_to_deltas(anchors, XYXY, **how)
        np.testing.assert_allclose(boxes.decode_deltas_to_boxes(anchors, deltas, **how), XYXY, 1e-5, 1e-4)
        with self.assertRaisesRegex(ValueError, "must be length 4"):
            boxes.encode_box_to_deltas(anchors, XYXY, "xyxy", "xyxy", variance=[1, 2])

    def test_what_boxes_share(self):
        a, b = XYXY[0], np.array([[10.0, 20, 30, 40], [-1, -1, -1, -1]], "float32")
        np.testing.assert_allclose(boxes.compute_iou(a, b, "xyxy"), [[0.5, 0], [400 / 1600, 0]], 1e-5)
        masked = boxes.compute_iou(a, b, "xyxy", use_masking=True)
        np.testing.assert_array_equal(masked[:, 1], [-1, -1])
        np.testing.assert_allclose(boxes.compute_ciou(a, a, "xyxy"), [1, 1], 1e-5)
        self.assertLess(float(boxes.compute_ciou(a[:1], b[:1], "xyxy")[0]), 0.5)


if __name__ == "__main__":
    unittest.main()
