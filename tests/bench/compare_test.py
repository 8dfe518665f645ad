"""compare.py on made-up rounds: what was planted is found, what is the machine's is not."""
import random
import unittest

import compare

rows = 40


def result(seed, factor=1.0, drift=0.0, speed=1.0, count=15, noise=0.015, floor=True, peers=False):
    """Rounds of a machine that is `speed` slow and gets slower by `drift` over a run, with outliers upward."""
    r = random.Random(seed)
    lines = []
    for row in range(rows):
        def series(base, how):
            return [base * speed * (1 + drift * i / count) * how * (1 + abs(r.gauss(0, noise))) *
                    (1.5 if r.random() < 0.03 else 1) for i in range(count)]
        mine, other, third = series(1e-5 * (row + 1), factor), series(2e-5 * (row + 1), 1), series(3e-5 * (row + 1), 1)
        line = {"row": f"row {row}", "mode": "run", "threads": 1}
        if peers:
            line["us"] = {"libdl4": mine, "torch": other, "jax": third, "libdl4 alone": mine}
        else:
            line.update(seconds=mine, floor_seconds=other if floor else [])
        lines.append(line)
    return {"lines": lines}


def verdicts(a, b):
    found = [line[3] for line in compare.compare(a, b)]
    return {v: found.count(v) for v in set(found)}


class Compare(unittest.TestCase):
    def test_two_runs_of_one_build_are_noise(self):
        for peers in (False, True):
            self.assertEqual(verdicts(result(1, peers=peers), result(2, peers=peers)), {"noise": rows})

    def test_planted_slowdown_is_found(self):
        for peers in (False, True):
            found = verdicts(result(1, peers=peers), result(2, 1.10, peers=peers))
            self.assertGreaterEqual(found.get("slower", 0), rows * 0.9)
            self.assertNotIn("faster", found)

    def test_planted_speedup_is_found(self):
        found = verdicts(result(1), result(2, 1 / 1.10))
        self.assertGreaterEqual(found.get("faster", 0), rows * 0.9)
        self.assertNotIn("slower", found)

    def test_a_slower_machine_is_no_slower_build(self):
        self.assertEqual(verdicts(result(1), result(2, speed=1.5)), {"noise": rows})

    def test_slowdown_is_found_on_a_faster_machine(self):
        self.assertGreaterEqual(verdicts(result(1), result(2, 1.10, speed=0.7)).get("slower", 0), rows * 0.9)

    def test_drift_within_a_run_is_noise_even_with_nothing_to_measure_by(self):
        a, b = result(1, floor=False), result(2, floor=False, drift=0.12)
        self.assertEqual(verdicts(a, b), {"noise": rows})

    def test_few_rounds_prove_nothing(self):
        self.assertEqual(verdicts(result(1, count=4), result(2, 1.5, count=4)), {"noise (fewer than 5 rounds)": rows})

    def test_small_changes_are_noise(self):
        self.assertEqual(verdicts(result(1, noise=0.001), result(2, 1.02, noise=0.001)), {"noise": rows})

    def test_rank_test(self):
        # Complete separation, 7 and 7 values: 0.0006 exactly, 0.0022 by the approximation.
        self.assertAlmostEqual(compare.chance(range(7), range(7, 14)), 0.0022, places=4)
        self.assertEqual(compare.chance([1] * 7, [1] * 7), 1.0)
        self.assertGreater(compare.chance([1, 3, 5, 7, 9], [2, 4, 6, 8, 10]), 0.5)

    def test_rows_in_one_file_only_are_left_out(self):
        a, b = result(1), result(2)
        b["lines"] = b["lines"][3:]
        self.assertEqual(len(compare.compare(a, b)), rows - 3)


if __name__ == "__main__":
    unittest.main()
