"""Makes texts.json and texts.keras: what Keras's layers for texts and tables give, and a file of them.

texts.py writes both beside itself, with the Keras and TensorFlow that are named below. Strings are written byte by byte:
the character U+00E9 stands for the byte 0xE9. tests/capi/objects/texts_test.cpp and tests/capi/files/texts_test.cpp
compare.
"""
import json
import os
import pathlib

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

KERAS, TENSORFLOW = "3.15.1", "2.19.1"
HERE = pathlib.Path(__file__).resolve().parent
CASES = []

WORDS = [["the", "cat", ""], ["dog", "the", "zebra"], ["a\x00b", "é".encode(), "[UNK]"]]
TEXTS = [
    "The quick, brown fox. It's 3.5 -- jumps!",
    "",
    "  \t the\n\x0b cat\x0csat \r",
    "ÄÖ straße naïve",
    b"caf\xc3\xa9 \xff\xfe bad \xe2\x82 end\xf0\x9f",
    "no\u00a0break\u2028line \x00nul",
    "the the cat THE",
    "🙂 smile",
]
VOCABULARY = ["the", "cat", "fox", "it's", "its", "it", "quick", "é", "t", "h", "e", " ", "the cat", "cat sat", "straße"]
NUMBERS = [[3, 7, -5], [7, 7, 0], [12345678901, -1, 3]]


def as_json(x):
    """A tensor as its type, shape and elements."""
    x = x.numpy() if hasattr(x, "numpy") else np.asarray(x)
    if x.dtype.kind in "OSU":
        flat = [(v if isinstance(v, bytes) else v.encode()).decode("latin-1") for v in x.astype(object).ravel()]
        return {"dtype": "string", "shape": list(x.shape), "values": flat}
    return {"dtype": str(x.dtype), "shape": list(x.shape), "values": x.ravel().tolist()}


def tensor(x, dtype=None):
    def flat(v):
        return [flat(i) for i in v] if isinstance(v, list) else v
    return tf.constant(flat(x), dtype)


def plain(config):
    return {k: list(v) if isinstance(v, tuple) else v for k, v in config.items()}


def case(kind, inputs, config, call=None, **more):
    layer = getattr(layers, kind)(**config)
    xs = inputs if isinstance(inputs, tuple) else (inputs,)
    weights = {k: tensor(v, "float32") for k, v in (call or {}).items()}
    y = layer(list(xs) if len(xs) > 1 else xs[0], **weights)
    CASES.append({"name": f"{kind}_{len(CASES)}", "kind": kind, "config": plain(config),
                  "inputs": [as_json(x) for x in xs], "call": {k: as_json(v) for k, v in weights.items()},
                  "output": as_json(y), **more})


def learned(kind, batches, config):
    """What adapt() makes of batches, and what the layer then gives."""
    layer = getattr(layers, kind)(**config)
    data = batches
    if kind == "Normalization":
        layer.adapt([np.asarray(b) for b in batches])
        state = {"mean": np.asarray(layer.mean).ravel().tolist(), "variance": np.asarray(layer.variance).ravel().tolist()}
    elif kind == "Discretization":
        layer.reset_state()
        for b in batches:
            layer.update_state(b)
        layer.finalize_state()
        state = {"bin_boundaries": layer.bin_boundaries}
    else:
        layer.reset_state()
        for b in batches:
            layer.update_state(b)
        layer.finalize_state()
        tokens = layer.get_vocabulary(include_special_tokens=False)
        state = {"vocabulary": [t if isinstance(t, str) else int(t) for t in tokens]}
        inner = getattr(layer, "_lookup_layer", layer)
        if config.get("output_mode") == "tf_idf":
            weights = np.asarray(inner.idf_weights)
            state["idf_weights"] = weights[len(inner.get_vocabulary()) - len(tokens):][:len(tokens)].tolist()
    y = layer(data[0])
    CASES.append({"name": f"adapt_{kind}_{len(CASES)}", "kind": kind, "config": plain(config),
                  "batches": [as_json(b) for b in batches], "learned": state, "inputs": [as_json(data[0])],
                  "call": {}, "output": as_json(y)})


def lookups():
    words, column = tensor(WORDS), tensor([[w] for row in WORDS for w in row])
    v = ["the", "cat", "dog"]
    for config in (
        {}, {"num_oov_indices": 3}, {"num_oov_indices": 3, "mask_token": ""}, {"mask_token": "cat_"},
        {"num_oov_indices": 4, "salt": 7}, {"num_oov_indices": 4, "salt": [1, -2]},
        {"output_mode": "multi_hot"}, {"output_mode": "count", "mask_token": "", "num_oov_indices": 2},
        {"output_mode": "one_hot"}, {"output_mode": "multi_hot", "max_tokens": 9, "pad_to_max_tokens": True},
    ):
        for x in (words, column, words[0], tf.reshape(words, (3, 1, 3))):
            case("StringLookup", x, {"vocabulary": v, **config})
    case("StringLookup", tensor([["the", "dog"]]), {"vocabulary": v, "num_oov_indices": 0})
    case("StringLookup", words, {"vocabulary": ["", "[UNK]", "the", "cat"], "mask_token": ""})
    case("StringLookup", words, {"vocabulary": ["[UNK]", "the"], "output_mode": "binary"})
    for weights in ([0.5, 1.5, 2.5], ):
        for more in ({}, {"max_tokens": 7, "pad_to_max_tokens": True}, {"num_oov_indices": 2, "mask_token": ""}):
            case("StringLookup", words, {"vocabulary": v, "output_mode": "tf_idf", "idf_weights": weights, **more})
    ids = tensor([[0, 1, 2, 9], [-1, 3, 4, 5]], "int64")
    for more in ({}, {"mask_token": "m"}, {"num_oov_indices": 2, "oov_token": "?"}):
        case("StringLookup", ids, {"vocabulary": v, "invert": True, **more})
    numbers = tensor(NUMBERS, "int64")
    n = [3, 7, 12]
    for config in (
        {}, {"num_oov_indices": 3}, {"num_oov_indices": 3, "oov_method": "farmhash"}, {"mask_token": 0},
        {"num_oov_indices": 3, "oov_method": "farmhash", "salt": [5, 6]}, {"output_mode": "multi_hot"},
        {"output_mode": "count", "mask_token": 0}, {"output_mode": "one_hot"},
        {"output_mode": "tf_idf", "idf_weights": [0.5, 1.5, 2.5]},
    ):
        case("IntegerLookup", numbers, {"vocabulary": n, **config})
    for more in ({}, {"mask_token": 99}, {"oov_token": -7}):
        case("IntegerLookup", ids, {"vocabulary": n, "invert": True, **more})


def texts():
    x = tensor(TEXTS)
    for standardize in ("lower_and_strip_punctuation", "lower", "strip_punctuation", None):
        for split in ("whitespace", "character", None):
            more = {"standardize": standardize, "split": split, "vocabulary": VOCABULARY}
            case("TextVectorization", x, more)
            case("TextVectorization", x[:, None], {**more, "output_sequence_length": 5})
            if split:
                case("TextVectorization", x, {**more, "ngrams": 2})
    for ngrams in (3, (2,), (3, 1)):
        case("TextVectorization", x, {"vocabulary": VOCABULARY, "ngrams": ngrams, "output_sequence_length": 9})
    for more in ({"output_mode": "multi_hot"}, {"output_mode": "count"}, {"output_mode": "count", "ngrams": 2},
                 {"output_mode": "tf_idf", "idf_weights": [i / 8 for i in range(len(VOCABULARY))]},
                 {"output_mode": "multi_hot", "max_tokens": 20, "pad_to_max_tokens": True}):
        case("TextVectorization", x, {"vocabulary": VOCABULARY, **more})
    case("TextVectorization", x, {"vocabulary": ["", "[UNK]", *VOCABULARY]})
    case("TextVectorization", tensor([["the", "A!"], ["é", "CAT"]]), {"vocabulary": VOCABULARY, "split": None})


def categories():
    ids = tensor([[0, 3, 3], [2, 1, 5]], "int64")
    for mode in ("multi_hot", "one_hot", "count"):
        for x in (ids, ids[0], ids[..., None], tf.cast(ids, "int32")):
            case("CategoryEncoding", x, {"num_tokens": 4, "output_mode": mode})
    case("CategoryEncoding", ids, {"num_tokens": 6, "output_mode": "count"},
         call={"count_weights": [[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]]})
    values = tensor([[-1.0, 0.0, 0.5], [1.0, 2.5, float("inf")]])
    for mode in ("int", "one_hot", "multi_hot", "count"):
        case("Discretization", values, {"bin_boundaries": [0.0, 1.0, 2.0], "output_mode": mode})
    words, numbers = tensor(WORDS), tensor(NUMBERS, "int64")
    for config in ({"num_bins": 3}, {"num_bins": 5, "salt": 133}, {"num_bins": 5, "salt": [133, 137]},
                   {"num_bins": 7, "output_mode": "multi_hot"}, {"num_bins": 7, "output_mode": "one_hot"},
                   {"num_bins": 7, "output_mode": "count"}, {"num_bins": 7, "dtype": "int32"}):
        case("Hashing", words, config)
        case("Hashing", numbers, config)
        case("Hashing", words[:, :1], config)
    case("Hashing", words, {"num_bins": 4, "mask_value": ""})
    case("Hashing", numbers, {"num_bins": 4, "mask_value": 7})
    for mode in ("int", "one_hot"):
        for x in ((words[:, 0], numbers[:, 0]), (words[:, :1], numbers[:, :1], words[:, 1:2])):
            case("HashedCrossing", x, {"num_bins": 5, "output_mode": mode})


def adapted():
    batches = [tensor([["b", "a"], ["b", "c"]]), tensor([["a", "[UNK]"], ["d", "é"]])]
    for config in ({}, {"max_tokens": 4}, {"mask_token": "b"}, {"output_mode": "tf_idf"},
                   {"output_mode": "multi_hot", "num_oov_indices": 2}):
        learned("StringLookup", batches, config)
    learned("IntegerLookup", [tensor(NUMBERS, "int64"), tensor([[3, -1, 8]], "int64")], {"mask_token": 0})
    lines = [tensor(TEXTS[:4])[:, None], tensor([t.replace("\x00", "") for t in TEXTS[5:]])[:, None]]  # NumPy drops a NUL
    for config in ({}, {"max_tokens": 6}, {"ngrams": 2}, {"split": "character"}, {"output_mode": "tf_idf"},
                   {"standardize": None, "output_mode": "count"}):
        learned("TextVectorization", lines, config)
    random = np.random.default_rng(1)
    for bins, epsilon in ((3, 0.01), (10, 0.1), (4, 0.5)):
        numbers = [random.normal(size=(97,)).astype("float32"), random.normal(2, 1, size=(13, 5)).astype("float32")]
        learned("Discretization", numbers, {"num_bins": bins, "epsilon": epsilon})
    x = [random.normal(3, 2, size=(6, 4, 2)).astype("float32"), random.normal(1, 2, size=(3, 4, 2)).astype("float32")]
    for axis in (-1, None, (1, 2)):
        learned("Normalization", x, {"axis": axis})


def lines(count):
    """Strings that a test makes again: bytes of a linear congruential generator."""
    state, made = 1, []
    for i in range(count):
        s = bytearray()
        for _ in range(i % 97):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            s.append(state >> 56)
        made.append(bytes(s))
    return made


def hashes():
    x, most = tf.constant(lines(100_000)), 2**40
    found = {"bins": most}
    for name, h in (("farm", tf.strings.to_hash_bucket_fast(x, most)),
                    ("sip", tf.strings.to_hash_bucket_strong(x, most, [3, -4]))):
        total = 0
        for v in h.numpy().tolist():
            total = (total * 31 + v) % 2**64
        found[name] = str(total)
    return found


def file():
    keras.utils.set_random_seed(1)
    text, word = keras.Input((1,), dtype="string", name="text"), keras.Input((1,), dtype="string", name="word")
    number, value = keras.Input((1,), dtype="int64", name="number"), keras.Input((1,), name="value")
    vectors = layers.TextVectorization(max_tokens=20, output_sequence_length=4)
    vectors.adapt(np.array(["the dog sleeps", "the cat é"]))
    weighs = layers.StringLookup(num_oov_indices=2, mask_token="m", output_mode="tf_idf")
    weighs.adapt(np.array([["a", "b"], ["a", "c"]]))
    whole = layers.IntegerLookup(output_mode="multi_hot")
    whole.adapt(np.array([[3, 4], [4, 5]]))
    bins = layers.Discretization(num_bins=3)
    bins.adapt(np.arange(10.0))
    outputs = [
        layers.Embedding(20, 3)(vectors(text)), layers.StringLookup(vocabulary=["a", "b"], name="given")(word),
        weighs(word), whole(number), layers.Hashing(5, salt=[1, 2])(word), bins(value),
        layers.CategoryEncoding(4)(number), layers.HashedCrossing(7, output_mode="one_hot")([word, number]),
        layers.HashedCrossing(9, dtype="float32")([word, number]),
    ]
    model = keras.Model([text, word, number, value], outputs)
    model.save(HERE / "texts.keras")
    given = [tensor([["The dog!"], ["a cat"]]), tensor([["a"], ["zz"]]), tensor([[3], [2]], "int64"),
             tensor([[2.0], [7.5]])]
    return {"inputs": [as_json(x) for x in given], "outputs": [as_json(y) for y in model(given)]}


def main():
    assert keras.__version__ == KERAS and tf.__version__ == TENSORFLOW, (keras.__version__, tf.__version__)
    for make in (lookups, texts, categories, adapted):
        make()
    made = {"keras": KERAS, "tensorflow": TENSORFLOW, "hashes": hashes(), "file": file(), "cases": CASES}
    (HERE / "texts.json").write_text(json.dumps(made, ensure_ascii=True, indent=None, separators=(",", ":")) + "\n")
    print(len(CASES), "cases")


if __name__ == "__main__":
    main()
