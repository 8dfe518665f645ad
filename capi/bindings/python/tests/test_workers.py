"""Trainers that add up by a function of Python's train as one does with the whole batch."""

import threading
import unittest

import numpy as np

from dl4.core import Context, Dataset, Graph
from dl4.tensor import Tensor

RANDOM = np.random.default_rng(1)
X, Y = RANDOM.standard_normal((96, 4), dtype="float32"), RANDOM.standard_normal((96, 2), dtype="float32")


class Ring:
    def __init__(self, size):
        self.parts, self.barrier = [None] * size, threading.Barrier(size)

    def reduce(self, rank):
        def add(array):
            self.parts[rank] = array.copy()
            self.barrier.wait(30)
            total = self.parts[0].copy()
            for part in self.parts[1:]:
                total += part
            self.barrier.wait(30)
            array[:] = total

        return add


def trained(rank=0, size=1, reduce=None):
    graph = Graph(Context(threads=1))
    x = graph.input("x", "float32", (-1, 4))
    h = graph.call(graph.layer("Dropout", None, {"rate": 0.2}), [x])[0]
    model = graph.build([x], [graph.call(graph.layer("Dense", None, {"units": 2}), [h])[0]])
    trainer = model.trainer(optimizer="Adam", loss="mse", metrics=["mae"])
    if reduce:
        trainer.set_workers(rank, size, reduce)
    history = trainer.fit(Dataset([Tensor.of(X, "float32")], [Tensor.of(Y, "float32")], batch_size=20), epochs=3)
    return history, model.get_weight("*")


class Workers(unittest.TestCase):
    def test_three_train_as_one(self):
        ring, ends = Ring(3), [None] * 3

        def work(rank):
            ends[rank] = trained(rank, 3, ring.reduce(rank))

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        history, weights = trained()
        for other, w in ends:
            np.testing.assert_allclose(w, weights, atol=1e-5)
            np.testing.assert_array_equal(w, ends[0][1])
            for name in history:
                np.testing.assert_allclose(other[name], history[name], rtol=1e-5)

    def test_what_the_function_raises_comes_out_of_the_call(self):
        graph = Graph()
        x = graph.input("x", "float32", (-1, 4))
        model = graph.build([x], [graph.call(graph.layer("Dense", None, {"units": 2}), [x])[0]])
        trainer = model.trainer(optimizer="Adam", loss="mse")

        def fails(_):
            raise ValueError("no network")

        with self.assertRaisesRegex(ValueError, "no network"):
            trainer.set_workers(0, 2, fails)
        batch = [Tensor.of(X, "float32")], [Tensor.of(Y, "float32")]
        trainer.step(*batch)

        def work(rank):
            graph = Graph()
            x = graph.input("x", "float32", (-1, 4))
            model = graph.build([x], [graph.call(graph.layer("Dense", None, {"units": 2}), [x])[0]])
            trainer = model.trainer(optimizer="Adam", loss="mse")
            add = ring.reduce(rank)

            def reduce(array):
                if lost[rank]:
                    fails(array)
                add(array)

            trainer.set_workers(rank, 2, reduce)
            lost[rank] = True
            data = Dataset(*batch)
            for call in (lambda: trainer.fit(data), lambda: trainer.evaluate(data), lambda: trainer.step(*batch)):
                ended[rank].append(self.ends(call))
                trainer.set_workers(0, 1, None)
                trainer.step(*batch)
                lost[rank] = False
                trainer.set_workers(rank, 2, reduce)
                lost[rank] = True

        ring, lost, ended = Ring(2), [False] * 2, [[], []]
        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(ended, [["no network"] * 3] * 2)

    @staticmethod
    def ends(call):
        try:
            call()
        except ValueError as e:
            return str(e)
        return "well"


if __name__ == "__main__":
    unittest.main()
