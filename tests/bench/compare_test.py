"""compare.py on made-up rounds: what was planted is found, what is the machine's or a process's own is not."""
import random
import unittest

import compare

rows = 40


def results(seed, factor=1.0, drift=0.0, speed=1.0, count=7, floor=True, peers=False, layout=0.01, processes=3):
    """Of a machine that is `speed` slow, and slower by `drift` from the first row to the last; rounds have noise and
    outliers upward, and each process is as slow as its layout of memory makes it: dl4_bench's one file a process, or
    one file of peers/run.py."""
    r = random.Random(seed)
    files = []
    for process in range(processes):
        lines = []
        for row in range(rows):
            def series(base, how, luck):
                slow = base * speed * (1 + drift * row / rows) * how * (1 + abs(r.gauss(0, luck)))
                return [slow * (1 + abs(r.gauss(0, 0.015))) * (1.5 if r.random() < 0.02 else 1) for _ in range(count)]
            mine = series(1e-5 * (row + 1), factor, layout)
            other, third = (series(2e-5 * (row + 1), 1, 0 if peers else 5 * layout) for _ in range(2))
            line = {"row": f"row {row}", "mode": "run", "threads": 1}
            if peers:
                line.update(us={"libdl4": mine, "torch": other, "jax": third, "jax alone": third}, starts=[0])
            else:
                line.update(seconds=mine, floor_seconds=other if floor else [])
            lines.append(line)
        files.append({"lines": lines})
    if peers:
        for row, line in enumerate(files[0]["lines"]):
            line["us"] = {n: sum((f["lines"][row]["us"][n] for f in files), []) for n in line["us"]}
            line["starts"] = [i * count for i in range(processes)]
        files = files[:1]
    return files


def verdicts(a, b):
    found = [line[3] for line in compare.compare(a, b)]
    return {v: found.count(v) for v in set(found)}


class Compare(unittest.TestCase):
    def test_two_runs_of_one_build_are_noise(self):
        noise = sum(verdicts(results(seed, peers=peers), results(seed + 1, peers=peers))["noise"]
                    for seed in range(0, 20, 2) for peers in (False, True))
        self.assertGreaterEqual(noise, 20 * rows - 2)  # three processes a side: one row in 400 may look changed

    def test_planted_slowdown_is_found(self):
        for peers in (False, True):
            found = verdicts(results(1, peers=peers), results(2, 1.10, peers=peers))
            self.assertGreaterEqual(found.get("slower", 0), rows * 0.9)
            self.assertNotIn("faster", found)

    def test_planted_speedup_is_found(self):
        found = verdicts(results(1), results(2, 1 / 1.10))
        self.assertGreaterEqual(found.get("faster", 0), rows * 0.9)
        self.assertNotIn("slower", found)

    def test_a_slower_machine_is_no_slower_build(self):
        self.assertEqual(verdicts(results(1), results(2, speed=1.5)), {"noise": rows})
        self.assertEqual(verdicts(results(1), results(2, drift=0.5)), {"noise": rows})

    def test_slowdown_is_found_on_a_faster_machine(self):
        self.assertGreaterEqual(verdicts(results(1), results(2, 1.10, speed=0.7)).get("slower", 0), rows * 0.9)

    def test_layout_of_memory_is_noise(self):
        self.assertEqual(verdicts(results(1, layout=0.05), results(2, layout=0.05)), {"noise": rows})
        self.assertEqual(verdicts(results(1, layout=0.04, processes=1), results(2, layout=0.04, processes=1)),
                         {"noise": rows})

    def test_large_changes_are_found_with_one_process(self):
        a, b = results(1, count=15, processes=1), results(2, 1.3, count=15, processes=1)
        self.assertGreaterEqual(verdicts(a, b).get("slower", 0), rows * 0.9)

    def test_few_rounds_prove_nothing(self):
        a, b = results(1, count=4, processes=1), results(2, 1.5, count=4, processes=1)
        self.assertEqual(verdicts(a, b), {"noise (fewer than 5 rounds)": rows})

    def test_drift_within_a_process_is_noise(self):
        rising = [[1 + 0.02 * i for i in range(10)], [1 + 0.02 * i for i in range(10)]]
        self.assertEqual(compare.judge(rising, [[x * 1.1 for x in r] for r in rising])[0], "noise")

    def test_rank_test(self):
        # Complete separation, 7 and 7 values: 0.0006 exactly, 0.0022 by the approximation.
        self.assertAlmostEqual(compare.chance(list(range(7)), list(range(7, 14))), 0.0022, places=4)
        self.assertEqual(compare.chance([1] * 7, [1] * 7), 1.0)
        self.assertGreater(compare.chance([1, 3, 5, 7, 9], [2, 4, 6, 8, 10]), 0.5)

    def test_rows_in_one_result_only_are_left_out(self):
        a, b = results(1), results(2)
        for f in b:
            f["lines"] = f["lines"][3:]
        self.assertEqual(len(compare.compare(a, b)), rows - 3)


if __name__ == "__main__":
    unittest.main()
