"""Workers that add up through the first of them, as the recipe for Spark has it; threads stand for its tasks."""

import pathlib
import sys
import threading
import time
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "workers"))
import hub
import recipe


def on_each(size, body):
    """body(rank, gather) in threads, with a gather() as an engine's; what each gave or raised."""
    said, meet = [None] * size, threading.Barrier(size)
    given = [None] * size

    def run(rank):
        def gather(text):
            said[rank] = text
            meet.wait(20)
            return list(said)

        try:
            given[rank] = body(rank, gather)
        except Exception as e:  # looked at by the test
            given[rank] = e

    all = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for t in all:
        t.start()
    for t in all:
        t.join(60)
    return given


class Hub(unittest.TestCase):
    def test_training_is_that_of_one_process_and_takes_no_time(self):
        begin = time.monotonic()
        runs = on_each(3, lambda rank, gather: recipe.train(rank, 3, hub.joined(rank, 3, "localhost", gather)))
        self.assertLess(time.monotonic() - begin, 20)  # 40 steps
        alone, _ = recipe.train(0, 1, lambda array: None)
        for history, weights in runs:
            np.testing.assert_allclose(history["loss"], alone["loss"], rtol=1e-4)
            np.testing.assert_array_equal(np.asarray(weights), np.asarray(runs[0][1]))

    def test_who_leaves_ends_it_for_all(self):
        def body(rank, gather):
            reduce = hub.joined(rank, 3, "localhost", gather, seconds=5)
            array = np.full(4, rank + 1, np.float32)
            reduce(array)
            self.assertEqual(array.tolist(), [6] * 4)
            if rank == 1:
                return None  # its socket is closed with it
            reduce(array)
            return array

        first, gone, last = on_each(3, body)
        self.assertIsNone(gone)
        self.assertIsInstance(first, OSError)
        self.assertIsInstance(last, OSError)


if __name__ == "__main__":
    unittest.main()
