"""Makes features.keras and features.json: a FeatureSpace of Keras with every kind of feature, what it makes of a table,
and the file of it as a model.

features.py writes both beside itself. tests/capi/files/texts_test.cpp reads the file,
capi/bindings/python/tests/test_feature_space.py makes the same of the library's layers.
"""
import json
import zipfile

from texts import HERE, KERAS, TENSORFLOW, as_json, keras, np, tensor, tf

Space = keras.utils.FeatureSpace
TABLE = {"a": [1.0, 2.0, 3.0, 4.0, 7.0], "n": [1.0, 2.0, 3.0, 4.0, 7.0], "r": [1.0, 2.0, 3.0, 4.0, 5.0],
         "d": [1.0, 2.0, 3.0, 4.0, 7.0], "i": [1, 2, 3, 3, 5], "s": ["x", "y", "x", "z", "é"],
         "sh": ["x", "y", "x", "z", "é"], "ih": [1, 2, 3, 3, 5]}


def main():
    assert keras.__version__ == KERAS and tf.__version__ == TENSORFLOW, (keras.__version__, tf.__version__)
    space = Space({"a": "float", "n": "float_normalized", "r": Space.float_rescaled(0.5, 1.0),
                   "d": Space.float_discretized(3), "i": "integer_categorical",
                   "s": Space.string_categorical(max_tokens=4), "sh": Space.string_hashed(5),
                   "ih": Space.integer_hashed(6)},
                  crosses=[("s", "i"), Space.cross(("sh", "ih"), 7)], crossing_dim=8)
    space.adapt(TABLE)
    model = keras.Model(space.get_inputs(), space.get_encoded_features())
    path = HERE / "features.keras"
    model.save(path)
    with zipfile.ZipFile(path) as kept:  # as Keras wrote it, but smaller
        members = {name: kept.read(name) for name in kept.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    table = {x.name: tensor([[v] for v in TABLE[x.name]], x.dtype) for x in model.inputs}
    y = model(table)
    assert np.array_equal(y, keras.models.load_model(path)(table)) and np.array_equal(y, space(TABLE))
    want = {"keras": KERAS, "tensorflow": TENSORFLOW, "table": TABLE,
            "inputs": [as_json(x) for x in table.values()], "outputs": [as_json(y)]}
    (HERE / "features.json").write_text(json.dumps(want) + "\n")


main()
