#!/usr/bin/env python3
"""Says of each row whether libdl4 became faster or slower between two results, or whether it is noise.

    compare.py BEFORE.json AFTER.json [--least PERCENT]

Reads what dl4_bench --json and peers/run.py write: the raw rounds. The machine's own speed changes between two runs, so
each round of libdl4 is divided by what else was timed in that round and is the same in both files: the direct calls, or
the peers. A row has changed if
- a rank test over the rounds (Mann-Whitney, two-sided) leaves less than 1 % to chance, and
- the medians differ by more than --least (4 %), and by more than twice what they differ within a run, between its
  first and second half: that is drift, and the rank test, which takes rounds as independent, does not see it.
Exit status: 1 if a row became slower.
"""
import argparse
import json
import math
import statistics
import sys

ours = "libdl4"


def rounds(result):
    """By row, mode and threads: the rounds of each side, of libdl4 and of those to measure it by."""
    found = {}
    for line in result["lines"]:
        if "us" in line:
            sides = {name: us for name, us in line["us"].items() if not name.endswith(" alone")}
        else:
            sides = {ours: line["seconds"], "direct calls": line.get("floor_seconds") or []}
        if sides.get(ours):
            found[line["row"], line["mode"], line["threads"]] = {n: v for n, v in sides.items() if v}
    return found


def relative(sides, others, usual):
    """Rounds of libdl4, each divided by how slow the machine was in it: the others' times to their usual ones, and of
    those the median, since any one of them may have been disturbed."""
    return [t / statistics.median([sides[o][i] / usual[o] for o in others] or [1]) for i, t in enumerate(sides[ours])]


def chance(a, b):
    """Two-sided p of the Mann-Whitney test: normal approximation, with ties and continuity."""
    n, m = len(a), len(b)
    both = sorted([(x, 0) for x in a] + [(x, 1) for x in b])
    ranks, ties, i = 0.0, 0.0, 0
    while i < n + m:
        j = i
        while j < n + m and both[j][0] == both[i][0]:
            j += 1
        ranks += sum(which == 0 for _, which in both[i:j]) * (i + j + 1) / 2
        ties += (j - i) ** 3 - (j - i)
        i = j
    u, total = ranks - n * (n + 1) / 2, n + m
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


def wander(values):
    """By what part the medians of the two halves of a run differ."""
    half = len(values) // 2
    first, second = statistics.median(values[:half]), statistics.median(values[-half:])
    return abs(second / first - 1)


def judge(before, after, least=0.04):
    """(verdict, change of the median, p)."""
    change = statistics.median(after) / statistics.median(before) - 1
    if min(len(before), len(after)) < 5:
        return "noise (fewer than 5 rounds)", change, 1.0
    p = chance(before, after)
    # A speed-up by a factor is as large as a slow-down by the same factor.
    size = max(change, 1 / (1 + change) - 1)
    if p >= 0.01 or size <= max(least, 2 * wander(before), 2 * wander(after)):
        return "noise", change, p
    return ("slower" if change > 0 else "faster"), change, p


def compare(before, after, least=0.04):
    """Lines (row, mode, threads, verdict, change, p, measured by)."""
    a, b, lines = rounds(before), rounds(after), []
    for key in a:
        if key not in b:
            continue
        others = sorted(o for o in a[key].keys() & b[key].keys() - {ours}
                        if all(len(sides[o]) == len(sides[ours]) for sides in (a[key], b[key])))
        usual = {o: statistics.median(a[key][o]) for o in others}
        lines.append((*key, *judge(*(relative(sides[key], others, usual) for sides in (a, b)), least), others))
    return lines


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("before"), p.add_argument("after")
    p.add_argument("--least", type=float, default=4, help="percent; a smaller change is noise")
    o = p.parse_args()
    results = []
    for path in (o.before, o.after):
        with open(path) as f:
            results.append(json.load(f))
    lines = compare(*results, o.least / 100)
    if not lines:
        sys.exit("compare.py: the two files have no row in common")
    for row, mode, threads, verdict, change, chance_of_it, others in lines:
        by = "" if others else "  (nothing to measure it by: the machine's drift is in it)"
        print(f"{row:40} {mode:5} {threads}  {change * 100:+7.1f} %  p {chance_of_it:.4f}  {verdict}{by}")
    verdicts = [line[3].split()[0] for line in lines]
    print(", ".join(f"{verdicts.count(v)} {v}" for v in ("faster", "slower", "noise")))
    sys.exit(1 if "slower" in verdicts else 0)


if __name__ == "__main__":
    main()
