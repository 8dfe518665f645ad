"""keras.utils.bounding_boxes."""

import json
import unittest

import dl4.keras as keras
import numpy as np

import box_programs

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


class Layers(unittest.TestCase):
    def test_as_keras(self):
        expected = json.loads(box_programs.RECORDED.read_text())
        got = box_programs.programs(keras)
        self.assertEqual(list(got), list(expected))
        for name, value in expected.items():
            np.testing.assert_allclose(got[name], value, 1e-4, 2e-3 if "CLAHE" in name else 1e-5, err_msg=name)

    def test_boxes_of_other_formats(self):
        """Of layers whose boxes Keras takes for corners whatever their format is."""
        size = {"height": 20, "width": 30}
        for kind in box_programs._CORNERS_ALONE:
            arguments, drawn = box_programs.DRAWN[kind]
            found = {}
            for name, given in box_programs.BOXES.items():
                layer = getattr(keras.layers, kind)(bounding_box_format=name, **arguments)
                out = layer.transform_bounding_boxes({"boxes": given, "labels": box_programs.LABELS}, drawn)
                found[name] = boxes.convert_format(out["boxes"], name, "xyxy", **size)
            for name in ("xywh", "rel_xyxy"):
                np.testing.assert_allclose(found[name], found["xyxy"], 1e-4, 1e-4, err_msg=f"{kind} {name}")

    def test_boxes_of_a_part(self):
        crop = keras.layers.RandomCrop(10, 12, seed=1, bounding_box_format="xyxy")
        images = np.zeros(box_programs.SHAPE, "float32")
        images[0, 8:12, 10:20] = 1
        given = {"boxes": np.array([[[10, 8, 20, 12]]] * 2, "float32"), "labels": np.array([[7], [8]])}
        out = crop({"images": images, "bounding_boxes": given})
        x1, y1, x2, y2 = np.asarray(out["bounding_boxes"]["boxes"])[0, 0].astype(int)
        seen = np.asarray(out["images"])[0, ..., 0]
        self.assertEqual(seen[y1:y2, x1:x2].sum(), seen.sum())
        self.assertEqual((y2 - y1) * (x2 - x1), seen.sum())
        np.testing.assert_array_equal(out["bounding_boxes"]["labels"], given["labels"])

    def test_both_images_have_boxes(self):
        drawn = {"mix_weight": np.float32([0.5, 0.5]), "permutation_order": np.array([1, 0])}
        given = {"boxes": box_programs.CORNERS, "labels": box_programs.LABELS}
        out = keras.layers.MixUp(bounding_box_format="xyxy").transform_bounding_boxes(given, drawn)
        np.testing.assert_array_equal(out["boxes"][0], box_programs.CORNERS.reshape(4, 4))
        np.testing.assert_array_equal(out["labels"], [[1, 2, 3, 4], [3, 4, 1, 2]])

    def test_one_image_lists_and_configs(self):
        layer = keras.layers.Resizing(10, 15, bounding_box_format="xyxy")
        image = np.ones((20, 30, 3), "float32")
        given = {"boxes": box_programs.CORNERS[0], "labels": box_programs.LABELS[0]}
        out = layer({"images": image, "bounding_boxes": given, "labels": np.float32([1, 0])})
        self.assertEqual(out["images"].shape, (10, 15, 3))
        np.testing.assert_allclose(out["bounding_boxes"]["boxes"], box_programs.CORNERS[0] / 2)
        np.testing.assert_array_equal(out["labels"], [1, 0])
        again = keras.layers.Resizing.from_config(layer.get_config())
        self.assertEqual(again.bounding_box_format, "xyxy")
        lists = {"boxes": [[[2, 4, 6, 8]], [[0, 0, 2, 2], [2, 2, 8, 8]]], "labels": [[5], [6, 7]]}
        out = layer({"images": np.ones((2, 20, 30, 3), "float32"), "bounding_boxes": lists})["bounding_boxes"]
        np.testing.assert_array_equal(out["boxes"], [[[1, 2, 3, 4], [0] * 4], [[0, 0, 1, 1], [1, 1, 4, 4]]])
        np.testing.assert_array_equal(out["labels"], [[5, -1], [6, 7]])
        with self.assertRaisesRegex(ValueError, "didn't specify a bounding box format"):
            keras.layers.Resizing(10, 15)({"images": image, "bounding_boxes": given})
        with self.assertRaisesRegex(ValueError, "'boxes' and 'labels'"):
            layer({"images": image, "bounding_boxes": {"boxes": given["boxes"]}})
        with self.assertRaisesRegex(NotImplementedError, "CutMix"):
            keras.layers.CutMix(bounding_box_format="xyxy").transform_bounding_boxes(given, None)


if __name__ == "__main__":
    unittest.main()
