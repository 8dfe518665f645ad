"""Strings as tensors of the library, and its layers that take them."""

import unittest

import numpy as np

import dl4


def model_of(kind, config, shape=(-1, 1), dtype="string"):
    graph = dl4.Graph()
    node = graph.input("x", dtype, shape)
    out = graph.call(graph.layer(kind, kind.lower(), config), [node])[0]
    return graph.build([node], [out])


class Strings(unittest.TestCase):
    def test_every_kind_of_array_becomes_a_tensor_of_strings(self):
        expected = [["a", "bé"], ["", "[x]"]]
        kinds = [
            expected,
            np.array(expected),
            np.array(expected, object),
            np.char.encode(np.array(expected), "utf-8"),
            [[s.encode() for s in row] for row in expected],
        ]
        if hasattr(getattr(np, "dtypes", None), "StringDType"):
            kinds.append(np.array(expected, np.dtypes.StringDType()))
        for given in kinds:
            with self.subTest(type=type(given), dtype=getattr(given, "dtype", None)):
                tensor = dl4.Tensor.of(given)
                self.assertEqual((tensor.dtype, tensor.shape), ("string", (2, 2)))
                self.assertEqual(tensor.numpy().tolist(), expected)

    def test_bytes_that_are_no_characters_and_nul_stay(self):
        tensor = dl4.Tensor.of(np.array([b"\xff\x00a", "b"], object))
        self.assertEqual(tensor.numpy()[0].encode("utf-8", "surrogateescape"), b"\xff\x00a")
        self.assertEqual(dl4.Tensor.of(tensor.numpy()).numpy().tolist(), tensor.numpy().tolist())

    def test_what_is_no_string_is_refused(self):
        for given, says in ((["a", None], "got None at 1"), ([1, 2], "expected strings, got an array of int64")):
            with self.assertRaisesRegex(ValueError, says):
                dl4.Tensor.of(np.array(given) if isinstance(given[0], int) else given, "string")
        with self.assertRaisesRegex(ValueError, 'input "x": expected string, got float32'):
            model_of("StringLookup", {"vocabulary": ["a"]}).session().run([dl4.Tensor.of([[1.0]])])

    def test_a_model_takes_and_gives_strings(self):
        session = model_of("StringLookup", {"vocabulary": ["a", "b"]}).session()
        for _ in range(3):
            self.assertEqual(session.through(np.array([["b"], ["z"]]))[0].tolist(), [[2], [0]])
        back = model_of("StringLookup", {"vocabulary": ["a", "b"], "invert": True}, dtype="int64").session()
        for _ in range(3):
            self.assertEqual(back.through(np.array([[2], [0]]))[0].tolist(), [["b"], ["[UNK]"]])

    def test_adapt_learns_from_tensors_and_batches(self):
        texts = np.array(["the dog", "the cat", "a dog, the"])
        config = {"output_sequence_length": 3}
        whole = dl4.adapt("TextVectorization", dl4.Dataset([dl4.Tensor.of(texts)]), config)
        self.assertEqual(whole["vocabulary"], ["the", "dog", "cat", "a"])
        parts = [([dl4.Tensor.of(texts[i : i + 1])], [], []) for i in range(3)]
        batches = dl4.Dataset(batches=lambda i: parts[i] if i < 3 else None)
        self.assertEqual(dl4.adapt("TextVectorization", batches, config), whole)
        ids = model_of("TextVectorization", whole).session().run([dl4.Tensor.of(texts[:, None])])[0]
        self.assertEqual(ids.numpy().tolist(), [[2, 3, 0], [2, 4, 0], [5, 3, 2]])
        with self.assertRaisesRegex(dl4.Unsupported, "a layer Dense learns nothing from data"):
            dl4.adapt("Dense", dl4.Dataset([dl4.Tensor.of(texts)]), {"units": 1})

        def broken(_):
            raise OSError("gone")

        with self.assertRaisesRegex(OSError, "gone"):
            dl4.adapt("StringLookup", dl4.Dataset(batches=broken))


if __name__ == "__main__":
    unittest.main()
