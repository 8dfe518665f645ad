"""FeatureSpace against Keras's, by tests/golden/features.py, and what it refuses."""

import json
import os
import pathlib
import tempfile
import unittest

import numpy as np

import dl4.keras as keras
from dl4.keras import layers
from dl4.keras.utils import FeatureSpace

GOLDEN = json.loads((pathlib.Path(__file__).resolve().parents[4] / "tests/golden/features.json").read_text())
TABLE = GOLDEN["table"]
WANTED = np.array(GOLDEN["outputs"][0]["values"], "float32").reshape(GOLDEN["outputs"][0]["shape"])


def space(output_mode="concat"):
    return FeatureSpace(
        {
            "a": "float",
            "n": "float_normalized",
            "r": FeatureSpace.float_rescaled(0.5, 1.0),
            "d": FeatureSpace.float_discretized(3),
            "i": "integer_categorical",
            "s": FeatureSpace.string_categorical(max_tokens=4),
            "sh": FeatureSpace.string_hashed(5),
            "ih": FeatureSpace.integer_hashed(6),
        },
        output_mode,
        crosses=[("s", "i"), FeatureSpace.cross(("sh", "ih"), 7)],
        crossing_dim=8,
    )


class Features(unittest.TestCase):
    def test_vectors_are_those_of_keras(self):
        batches = [{name: values[i : i + 2] for name, values in TABLE.items()} for i in range(0, 5, 2)]
        for learned_from in (TABLE, {name: np.array(v) for name, v in TABLE.items()}, batches):
            made = space()
            made.adapt(learned_from)
            if learned_from is not batches:  # quantiles of parts are others
                np.testing.assert_array_equal(made(TABLE), WANTED)
            row = made({name: values[1] for name, values in TABLE.items()})
            self.assertEqual(row.shape, WANTED[1].shape)
            np.testing.assert_array_equal(row, made(TABLE)[1])
        self.assertEqual(list(made.get_inputs()), list(TABLE))
        self.assertEqual(made.crossers["s_X_i"].num_bins, 8)
        self.assertEqual(made.preprocessors["s"].get_vocabulary()[0], "[UNK]")

    def test_a_dict_has_each_by_its_name(self):
        made = space("dict")
        made.adapt(TABLE)
        found = made(TABLE)
        self.assertEqual(list(found), [*sorted(TABLE), "s_X_i", "sh_X_ih"])
        np.testing.assert_array_equal(np.concatenate(list(found.values()), -1), WANTED)
        ids = FeatureSpace({"s": FeatureSpace.string_categorical(output_mode="int")}, "dict")
        ids.adapt({"s": ["x", "y", "x"]})
        self.assertEqual(ids({"s": ["x", "?"]})["s"].tolist(), [[1], [0]])
        self.assertEqual(ids({"s": "y"})["s"].tolist(), [2])

    def test_a_model_of_raw_columns_and_one_of_encoded_ones_share_their_weights(self):
        made = space()
        made.adapt(TABLE)
        encoded = made.get_encoded_features()
        out = layers.Dense(1, activation="sigmoid")(encoded)
        trained, whole = keras.Model(encoded, out), keras.Model(made.get_inputs(), out)
        trained.compile("adam", "binary_crossentropy")
        trained.fit(made(TABLE), np.array([0, 1, 0, 1, 1]), epochs=3, verbose=0)
        wanted = trained.predict(WANTED, verbose=0)
        np.testing.assert_array_equal(whole.predict(TABLE, verbose=0), wanted)
        with tempfile.TemporaryDirectory() as folder:
            for model, wants in ((whole, wanted), (made, WANTED)):
                path = os.path.join(folder, "m.keras")
                model.save(path)
                np.testing.assert_array_equal(keras.models.load_model(path).predict(TABLE, verbose=0), wants)

    def test_layers_that_were_told_do_not_learn(self):
        table = {"d": [0.5, 1.5, 2.5], "w": ["b", "a", "?"], "t": ["a b", "b", ""]}
        known = layers.StringLookup(vocabulary=["a", "b"])
        words = layers.TextVectorization(output_mode="multi_hot")
        made = FeatureSpace(
            {
                "d": FeatureSpace.float_discretized(None, bin_boundaries=[1.0, 2.0]),
                "w": FeatureSpace.feature("string", known, "one_hot"),
                "t": FeatureSpace.feature("string", words, "int"),
            },
            "dict",
        )
        with self.assertRaisesRegex(ValueError, r"expected adapt\(\) first: t learn from data"):
            made.get_inputs()
        made.adapt(table)
        found = made(table)
        self.assertEqual(found["d"].tolist(), np.eye(3).tolist())
        self.assertEqual(found["w"].tolist(), [[0, 0, 1], [0, 1, 0], [1, 0, 0]])
        self.assertEqual(found["t"].tolist(), [[0, 1, 1], [0, 1, 0], [0, 0, 0]])

    def test_what_is_wrong_is_said(self):
        made = FeatureSpace({"a": "float"})
        texts = layers.TextVectorization(vocabulary=["a"], output_sequence_length=2)
        flat = FeatureSpace({"t": FeatureSpace.feature("string", texts, "int")})
        wide = FeatureSpace({"t": FeatureSpace.feature("float32", layers.Rescaling(2.0), "one_hot")})
        for says, wrong in (
            ("expected features, got none", lambda: FeatureSpace({})),
            ("as feature 'a', got 'floats'", lambda: FeatureSpace({"a": "floats"})),
            ("expected one of concat, dict", lambda: FeatureSpace({"a": "float"}, "list")),
            ("expected one of int, one_hot", lambda: FeatureSpace.cross(("a", "b"), 3, "float")),
            ("expected crosses of a, got 'b'", lambda: FeatureSpace({"a": "float"}, crosses=[("a", "b")])),
            ("expected a dict of columns, got list", lambda: made([1.0])),
            ("expected a, got 'b'", lambda: made({"a": [1.0], "b": [1.0]})),
            ("expected the inputs \\['a'\\], got none named 'a'", lambda: made({})),
            ("expected a dict of columns, or a list of such dicts, got generator", lambda: made.adapt(x for x in [])),
            ("feature 't': expected float32 for \"concat\", got int64", flat.get_inputs),
            ("feature 't': expected integers of a known range, got float32", wide.get_inputs),
        ):
            with self.subTest(says), self.assertRaisesRegex(ValueError, says):
                wrong()


if __name__ == "__main__":
    unittest.main()
