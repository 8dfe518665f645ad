"""Tables of strings and numbers in .csv files."""

import json
import unittest

from case import Case, npy


def entry(name, kind, config, inputs):
    return {
        "class_name": kind,
        "name": name,
        "version": 1,
        "config": config,
        "calls": [{"inputs": [[i, 0, 0] for i in inputs], "arguments": {}}],
    }


def column(name, dtype):
    return {"class_name": "Input", "name": name, "config": {"shape": [None, 1], "dtype": dtype}}


def net(layers, inputs, output):
    return json.dumps(
        {"format": 1, "layers": layers, "inputs": [[i, 0, 0] for i in inputs], "outputs": [[output, 0, 0]]}
    )


JOBS = net(
    [
        column("age", "float32"),
        column("job", "string"),
        entry("jobs", "StringLookup", {"vocabulary": ["baker", "smith"], "output_mode": "one_hot"}, ["job"]),
        entry("numbers", "Cast", {"to": "float32"}, ["jobs"]),
        entry("small", "Rescaling", {"scale": 0.01}, ["age"]),
        entry("all", "Concatenate", {}, ["small", "numbers"]),
        entry("rich", "Dense", {"units": 1, "activation": "sigmoid"}, ["all"]),
    ],
    ["age", "job"],
    "rich",
)
WORDS = net(
    [column("id", "int64"), entry("word", "StringLookup", {"vocabulary": ["a", "b,c"], "invert": True}, ["id"])],
    ["id"],
    "word",
)
TABLE = '\ufeffjob, age,rich\r\nbaker,30,0\r\n"smith",50,1\r\n\r\n"odd, ""job""",20,0\r\nsmith,61,1\r\n'


class Tables(Case):
    def setUp(self):
        super().setUp()
        self.file("jobs.json", JOBS)
        self.file("words.json", WORDS)
        self.file("t.csv", TABLE)

    def test_a_model_of_columns_is_trained_and_answers(self):
        how = ("--data", "t.csv", "--loss", "BinaryCrossentropy", "--metric", "accuracy")
        self.run_tool(
            "train", "jobs.json", *how, "--target", "rich", "--save", "jobs.keras", "--epochs", 200, "--learning-rate", 0.1
        )
        answers = self.good("run", "jobs.keras", "--csv", "t.csv").splitlines()
        self.assertEqual((answers[0], len(answers)), ("rich", 5))
        self.assertEqual([float(v) > 0.5 for v in answers[1:]], [False, True, False, True])
        self.assertEqual(self.document("eval", "jobs.keras", *how)["metrics"]["accuracy"], 1)

    def test_strings_are_given(self):
        self.good("convert", "words.json", "words.keras")
        self.file("i.csv", "id\n" + "1\n2\n9\n" * 20)
        self.assertEqual(self.good("run", "words.keras", "--csv", "i.csv"), "word\n" + 'a\n"b,c"\n[UNK]\n' * 20)
        found = self.document("run", "words.keras", "--csv", "i.csv")["outputs"]["word"]
        self.assertEqual((found["dtype"], found["values"][:3]), ("string", [["a"], ["b,c"], ["[UNK]"]]))

    def test_arrays_of_strings(self):
        self.good("convert", "words.json", "words.keras")
        self.file("i.npy", npy([1, 2, 9], (3, 1), "<i8", "q"))
        self.good("run", "words.keras", "-i", "i.npy", "-o", "w.npy")
        self.good("run", "words.keras", "-i", "i.npy", "-o", "w.csv")
        self.assertEqual((self.folder / "w.csv").read_text(), 'a\n"b,c"\n[UNK]\n')
        back = entry("index", "StringLookup", {"vocabulary": ["a", "b,c"]}, ["word"])
        self.file("back.json", net([column("word", "string"), back], ["word"], "index"))
        found = self.document("run", "back.json", "-i", "w.npy", "-i", "w.npy")["outputs"]["index"]
        self.assertEqual(found["values"], [[1], [2], [0]] * 2)
        self.bad(4, "the model takes strings, the file has numbers", "run", "back.json", "-i", "i.npy")
        self.bad(4, "the model takes numbers, the file has strings", "run", "words.keras", "-i", "w.npy")
        self.bad(4, "strings have no scale", "run", "back.json", "-i", "w.npy", "--scale", "2")

    def test_a_table_without_names_is_given_them(self):
        self.file("bare.csv", "baker,30,x,0\n\nsmith,50,x,1\n")
        names = ("--columns", "job, age,note,rich")
        self.run_tool("train", "jobs.json", "--data", "bare.csv", *names, "--loss", "mse", "--save", "jobs.keras")
        self.assertEqual(len(self.good("run", "jobs.keras", "--csv", "bare.csv", *names).splitlines()), 3)
        self.file("bad.csv", "baker,30,x,0\n\nsmith,old,x,1\n")
        self.bad(4, 'row 3: expected a number in column "age", got "old"', "run", "jobs.keras", "--csv", "bad.csv", *names)
        few = ("--columns", "job,age")
        self.bad(4, "row 1: expected 2 columns, got 4", "run", "jobs.keras", "--csv", "bare.csv", *few)
        self.bad(2, "--csv is required", "run", "jobs.keras", "-i", "job=bare.csv", *few)
        self.bad(2, "--columns names the columns of a .csv file", "eval", "jobs.keras", "--data", "a.npz", *names)
        self.file("empty.csv", "")
        self.bad(4, '"empty.csv" has no rows', "run", "jobs.keras", "--csv", "empty.csv", *names)

    def test_what_is_wrong_is_said(self):
        self.good("convert", "jobs.json", "jobs.keras")
        self.file("none.csv", "job\nbaker\n")
        self.file("word.csv", "job,age\nbaker,old\n")
        self.file("open.csv", 'job,age\n"baker,1\n')
        self.file("short.csv", "job,age\nbaker\n")
        self.file("empty.csv", "job,age\n")
        self.file("twice.csv", "job,age,age\nbaker,1,2\n")
        for name, says in (
            ("none.csv", 'has no column "age"; it has job'),
            ("word.csv", 'row 2: expected a number in column "age", got "old"'),
            ("open.csv", "a cell in quotes has no end"),
            ("short.csv", "row 2: expected 2 columns, got 1"),
            ("twice.csv", 'has several columns "age"'),
            ("empty.csv", "has no rows below a line of names"),
        ):
            with self.subTest(name):
                self.bad(4, says, "run", "jobs.keras", "--csv", name)
        self.bad(4, 'input "job" takes strings', "run", "jobs.keras", "-i", "job=t.csv", "-i", "age=t.csv")
        self.bad(2, "--csv has all inputs", "run", "jobs.keras", "--csv", "t.csv", "-i", "t.csv")


if __name__ == "__main__":
    unittest.main()
