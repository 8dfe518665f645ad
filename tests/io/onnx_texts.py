"""ONNX's operators on strings, and scikit-learn's text pipelines as skl2onnx exports them, against ONNX Runtime. Prints
what differs; ends with 1 where something does, with 77 without `onnx` and `onnxruntime`. Without `skl2onnx` the pipelines
are left out."""

import pathlib
import string
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))
warnings.simplefilter("ignore")

try:
    import numpy as np
    import onnxruntime
    from onnx import helper, TensorProto

    onnxruntime.set_default_logger_severity(4)
except ImportError:
    print("no onnx or onnxruntime: skipped")
    sys.exit(77)

from onnx_runtime import compared

try:
    import skl2onnx
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
except ImportError:
    skl2onnx = None

random = np.random.default_rng(7)
TEXT, INT64, INT32, FLOAT = TensorProto.STRING, TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT
LETTERS = [*string.ascii_letters[:8], *"ABCD", *"  _,;.-9"]


def drawn(*shape, letters=LETTERS, longest=20):
    all_of = ["".join(random.choice(letters, random.integers(0, longest))) for _ in range(int(np.prod(shape)))]
    return np.array(all_of, dtype=object).reshape(shape)


def model(op, inputs, outputs, domain="", **attributes):
    kinds = {np.dtype(object): TEXT, np.dtype("int64"): INT64, np.dtype("int32"): INT32, np.dtype("float32"): FLOAT}
    kinds[np.dtype(bool)] = TensorProto.BOOL
    node = helper.make_node(op, list(inputs), [f"y{i}" for i in range(len(outputs))], domain=domain, **attributes)
    free = op != "StringNormalizer"  # which asks for an axis of 1
    ports = [helper.make_tensor_value_info(n, kinds[x.dtype], [None] * x.ndim if free else x.shape) for n, x in inputs.items()]
    given = [helper.make_tensor_value_info(f"y{i}", t, None) for i, t in enumerate(outputs)]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("ai.onnx.ml", 4)]
    return helper.make_model(helper.make_graph([node], "g", ports, given), opset_imports=opsets, ir_version=9)


def normalizers():
    for change in ("NONE", "LOWER", "UPPER"):
        for sensitive in (0, 1):
            for stops in ([], ["ab", "CD", ""], ["ab", "AB", "Ab", "aB"]):
                for shape in ((9,), (1, 9)):
                    x = {"x": random.choice(np.array(["ab", "AB", "cd", "CD", "", "été", "x y"], dtype=object), shape)}
                    how = dict(case_change_action=change, is_case_sensitive=sensitive, locale="C")
                    if stops:
                        how["stopwords"] = stops
                    yield f"StringNormalizer {how} {shape}", model("StringNormalizer", x, [TEXT], **how), x
    x = {"x": np.array(["ab", "ab"], dtype=object)}
    yield "StringNormalizer of stopwords", model("StringNormalizer", x, [TEXT], stopwords=["ab"], locale="C"), x


def joins_and_splits():
    for a, b in (((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2, 2)), ((0, 3), (3,)), ((2, 1, 3), (5, 1))):
        x = {"a": drawn(*a), "b": drawn(*b)}
        yield f"StringConcat {a} {b}", model("StringConcat", x, [TEXT]), x
        x = {"a": random.choice(np.array(["a", "b"], dtype=object), a), "b": random.choice(np.array(["a", "b"], dtype=object), b)}
        yield f"Equal {a} {b}", model("Equal", x, [TensorProto.BOOL]), x
    for delimiter in (None, ",", ",;", " "):
        for most in (None, 0, 1, 3):
            for shape in ((6,), (2, 3), ()):
                x = {"x": drawn(*shape, letters=[*"ab,;"] if delimiter else [*"ab "])}
                x["x"] = np.array([s.strip() or "a" for s in x["x"].ravel()], dtype=object).reshape(shape)
                how = {k: v for k, v in (("delimiter", delimiter), ("maxsplit", most)) if v is not None}
                yield f"StringSplit {how} {shape}", model("StringSplit", x, [TEXT, INT64], **how), x
    for shape in ((5,), (2, 3)):
        for least in (1, 2):
            for how in (
                {"tokenexp": "[a-zA-Z0-9_]+"}, {"tokenexp": "[^,; ]+"}, {"tokenexp": r"\w"}, {"tokenexp": r"\w\w+"},
                {"tokenexp": r"\b\w\w+\b"}, {"tokenexp": "."}, {"tokenexp": r"[^\n]"}, {"tokenexp": "[a-d]"},
                {"separators": [" ", "[.]", r"\?", ",", ";", ":", r"\!"]}, {"separators": [""]}, {"separators": [r"\s", "[-_]"]},
            ):  # fmt: skip
                x = {"x": drawn(*shape, letters=[*LETTERS, "é", "日"])}
                if least == 2 and list(how.values())[0] in (".", [""]):
                    continue  # ONNX Runtime refuses it
                all_of = dict(mark=0, mincharnum=least, pad_value="#", **how)
                yield f"Tokenizer {all_of} {shape}", model("Tokenizer", x, [TEXT], "com.microsoft", **all_of), x


def n_grams():
    words = np.array([*"abcde"], dtype=object)
    for kind in ("int32", "int64", "strings"):
        for mode in ("TF", "IDF", "TFIDF"):
            for least, most in ((1, 1), (1, 2), (2, 2), (1, 3), (2, 3)):
                for skipped in (0, 1, 4):
                    pool, counts = [], []
                    for n in (1, 2, 3)[:most]:
                        counts.append(len(pool))
                        for code in random.choice(5**n, min(4, 5**n), replace=False):
                            pool += [int(code) // 5**i % 5 for i in range(n)]
                    grams = sum(4 for _ in counts)
                    how = dict(mode=mode, min_gram_length=least, max_gram_length=most, max_skip_count=skipped, ngram_counts=counts)
                    how["ngram_indexes"] = (random.permutation(grams + 2)[:grams]).tolist()
                    if mode != "TF" and skipped != 1:
                        how["weights"] = random.random(grams).astype("float32").tolist()
                    how["pool_strings" if kind == "strings" else "pool_int64s"] = (
                        words[pool].tolist() if kind == "strings" else pool
                    )
                    for shape in ((12,), (3, 9), (2, 0)):
                        ids = random.integers(0, 6, shape)
                        x = {"x": np.array([*"abcdef"], dtype=object)[ids] if kind == "strings" else ids.astype(kind)}
                        yield f"TfIdfVectorizer {kind} {how} {shape}", model("TfIdfVectorizer", x, [FLOAT], **how), x


def casts():
    x = {"x": np.concatenate([random.standard_normal(30), [0, 1e-5, 1e8, 123456789, 1e20, np.inf, -np.inf, np.nan, 0.1, -0.0, 3.14159265]]).astype("float32")}  # fmt: skip
    yield "Cast float32 to string", model("Cast", x, [TEXT], to=TEXT), x
    for kind in ("int32", "int64", "bool"):
        x = {"x": random.integers(-(2**31), 2**31, 9).astype(kind)}
        yield f"Cast {kind} to string", model("Cast", x, [TEXT], to=TEXT), x
    x = {"x": np.array(["1.5", "+1.5", " -2e-3 ", "INF", "-inf", "+Inf", "nan", "7", "1e8", "3.4e38", ".5"], dtype=object)}
    yield "Cast string to float32", model("Cast", x, [FLOAT], to=FLOAT), x
    for to in (INT32, INT64):
        x = {"x": np.array(["1", "-17", "100.5", "+9", "2147483647", "-2147483648"], dtype=object)}
        yield f"Cast string to {to}", model("Cast", x, [to], to=to), x


def moved():
    x = {"x": drawn(3, 4, 2)}
    for op, how in (
        ("Transpose", {"perm": [2, 0, 1]}), ("Flatten", {"axis": 2}), ("Identity", {}), ("Transpose", {"perm": [0, 2, 1]}),
    ):  # fmt: skip
        yield f"{op} {how}", model(op, x, [TEXT], **how), x
    both = {"x": drawn(3, 4), "y": drawn(3, 2)}
    yield "Concat", model("Concat", both, [TEXT], axis=1), both
    x = {"x": drawn(5), "i": random.integers(0, 5, (2, 2))}
    yield "Gather", model("Gather", x, [TEXT]), x
    x = {"c": random.random((3, 4)) < 0.5, "x": drawn(3, 1), "y": drawn(4)}
    yield "Where", model("Where", x, [TEXT]), x
    x = {"x": random.integers(0, 4, (2, 5))}
    how = dict(keys_int64s=[1, 2, 3], values_strings=["one", "two", "two"], default_string="?")
    yield "LabelEncoder", model("LabelEncoder", x, [TEXT], "ai.onnx.ml", **how), x
    x = {"x": random.choice(np.array(["a", "b", "c"], dtype=object), (2, 5))}
    how = dict(keys_strings=["a", "b"], values_strings=["x", "y"])
    yield "LabelEncoder of strings", model("LabelEncoder", x, [TEXT], "ai.onnx.ml", **how), x
    x = {"x": random.integers(0, 4, (6,))}
    how = dict(cats_int64s=[1, 2], cats_strings=["one", "two"])
    yield "CategoryMapper", model("CategoryMapper", x, [TEXT], "ai.onnx.ml", **how), x


def pipelines():
    if not skl2onnx:
        return
    words = ["good", "bad", "great", "awful", "film", "plot", "the", "a", "very", "not", "Ending", "x1", "of"]
    lines = [" ".join(random.choice(words, random.integers(3, 12))) for _ in range(60)]
    lines = [s + random.choice(["", ".", "!", ", it is!"]) for s in lines]
    label = np.array(["pos" if s.count("good") + s.count("great") > 1 else "neg" for s in lines])
    for vectorizer in (
        CountVectorizer(), TfidfVectorizer(), TfidfVectorizer(ngram_range=(1, 2)), CountVectorizer(binary=True),
        TfidfVectorizer(sublinear_tf=True, norm="l1"), TfidfVectorizer(lowercase=False, use_idf=False),
        TfidfVectorizer(stop_words=["the", "a"]), CountVectorizer(token_pattern="[a-z]+"),
    ):  # fmt: skip
        for classifier in (LogisticRegression(), MLPClassifier((5,), max_iter=20)):
            fitted = make_pipeline(vectorizer, classifier).fit(lines, label)
            name = list(fitted.named_steps)[0]
            options = {type(vectorizer): {"locale": "C"}, type(classifier): {"zipmap": False}}
            ports = [("x", skl2onnx.common.data_types.StringTensorType([None]))]
            proto = skl2onnx.convert_sklearn(fitted, initial_types=ports, options=options, target_opset=21)
            yield f"{name} {vectorizer} {classifier}", proto, {"x": np.array(lines[:20], dtype=object)}
    table = random.choice(np.array(["red", "green", "blue"], dtype=object), (50, 2))
    answers = np.array(["yes" if row[0] == "red" else "no" for row in table])
    fitted = make_pipeline(OneHotEncoder(handle_unknown="ignore"), MLPClassifier((4,), max_iter=20)).fit(table, answers)
    ports = [("x", skl2onnx.common.data_types.StringTensorType([None, 2]))]
    proto = skl2onnx.convert_sklearn(fitted, initial_types=ports, options={MLPClassifier: {"zipmap": False}}, target_opset=21)
    yield "OneHotEncoder", proto, {"x": np.array([["red", "blue"], ["grey", "green"]], dtype=object)}


def main():
    count = wrong = 0
    for cases in (normalizers, joins_and_splits, n_grams, casts, moved, pipelines):
        for name, proto, inputs in cases():
            count += 1
            try:
                said = compared(proto, inputs, 1e-5)
            except Exception as e:  # noqa: BLE001
                said = f"{type(e).__name__}: {e}"
            if said:
                wrong += 1
                print(f"{name}: {said}")
    print(f"{count} models, {wrong} differ from onnxruntime {onnxruntime.__version__}")
    return 1 if wrong or count < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
