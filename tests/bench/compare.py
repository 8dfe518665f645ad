#!/usr/bin/env python3
"""Says of each row whether libdl4 became faster or slower between two results, or whether it is noise.

    compare.py BEFORE.json[,BEFORE2.json...] AFTER.json[,AFTER2.json...] [--least PERCENT]

Reads what dl4_bench --json and peers/run.py write: the raw rounds. Two things move times although the build is one:
- The machine's speed drifts. What else was timed beside libdl4, direct calls or peers, in a row and in those next to
  it, tells how slow the machine was, and is taken out.
- A process lays its memory out as it happens, and a tiny model can be 10 % slower for it as long as that process lives.
  So a result should come from several processes: several files of dl4_bench; peers/run.py starts libdl4 anew by itself.
A row has changed if
- a rank test over the rounds (Mann-Whitney, two-sided) leaves less than 1 % to chance;
- all processes of one result are faster than all of the other, the nearest two by half of --least, and the difference
  is more than those of either result differ among themselves;
- it is more than --least (4 %; 15 % where either result has one process), and more than twice what the
  halves of a process's rounds differ.
Exit status: 1 if a row became slower.
"""
import argparse
import json
import math
import sys
from statistics import median

ours = "libdl4"


def processes(result):
    """A list, one for each process of libdl4: by row, mode and threads the rounds of each side."""
    found = []
    for line in result["lines"]:
        sides = line.get("us") or {ours: line["seconds"], "direct calls": line.get("floor_seconds") or []}
        count = len(sides.get(ours, []))
        if not count:
            continue
        starts = line.get("starts", [0])  # the rounds at which libdl4 was started anew
        for i, (begin, end) in enumerate(zip(starts, [*starts[1:], count])):
            if i == len(found):
                found.append({})
            found[i][line["row"], line["mode"], line["threads"]] = {
                n: v[begin:end] for n, v in sides.items() if len(v) == count and not n.endswith(" alone")}
    return found


def slowness(groups):
    """For each process, by row: how slow the machine was, judged by the other sides in this row and its neighbours."""
    times = {}
    for group in groups:
        for key, sides in group.items():
            for side, rounds in sides.items():
                if side != ours:
                    times.setdefault((key, side), []).append(median(rounds))
    usual = {at: median(t) for at, t in times.items() if len(t) == len(groups)}
    found = []
    for group in groups:
        keys = list(group)
        near = [[median(r) / usual[k, side] for side, r in group[k].items() if (k, side) in usual] for k in keys]
        found.append({k: median(sum(near[max(0, i - 6):i + 7], []) or [1.0]) for i, k in enumerate(keys)})
    return found


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
    return math.erfc(max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance) / math.sqrt(2))


def wander(rounds):
    """By what part the medians of the two halves of some rounds differ; of very few rounds it says nothing."""
    half = len(rounds) // 2
    return abs(median(rounds[-half:]) / median(rounds[:half]) - 1) if half > 1 else 0.0


def judge(before, after, least=0.04):
    """(verdict, change of the median, p) of two lists of processes, each a list of rounds."""
    a, b = [median(rounds) for rounds in before], [median(rounds) for rounds in after]
    change = median(b) / median(a) - 1
    flat = [sum(before, []), sum(after, [])]
    if min(map(len, flat)) < 5:
        return "noise (fewer than 5 rounds)", change, 1.0
    p = chance(*flat)
    if min(len(a), len(b)) == 1:  # nothing is known of other layouts
        least = max(least, 0.15)
    apart = min(b) / max(a) - 1 if change > 0 else min(a) / max(b) - 1
    among = max(max(a) / min(a), max(b) / min(b)) - 1
    # A speed-up by a factor counts as much as a slow-down by the same factor.
    size = max(change, 1 / (1 + change) - 1)
    drift = 2 * median([wander(rounds) for rounds in before + after])
    if p >= 0.01 or apart <= least / 2 or size <= max(least, among, drift):
        return "noise", change, p
    return ("slower" if change > 0 else "faster"), change, p


def compare(before, after, least=0.04):
    """Of two lists of results: (row, mode, threads, verdict, change, p) for each row that both have."""
    a, b = (sum(map(processes, results), []) for results in (before, after))
    slow = slowness(a + b)

    def rounds(groups, slow, key):
        return [[t / s[key] for t in group[key][ours]] for group, s in zip(groups, slow) if key in group]

    return [(*key, *judge(rounds(a, slow[:len(a)], key), rounds(b, slow[len(a):], key), least))
            for key in a[0] if any(key in group for group in b)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("before"), p.add_argument("after")
    p.add_argument("--least", type=float, default=4, help="percent; a smaller change is noise")
    o = p.parse_args()
    sides = []
    for paths in (o.before, o.after):
        sides.append([])
        for path in paths.split(","):
            with open(path) as f:
                sides[-1].append(json.load(f))
    lines = compare(*sides, o.least / 100)
    if not lines:
        sys.exit("compare.py: the results have no row in common")
    for row, mode, threads, verdict, change, p in lines:
        print(f"{row:40} {mode:5} {threads}  {change * 100:+7.1f} %  p {p:.4f}  {verdict}")
    verdicts = [line[3].split()[0] for line in lines]
    print(", ".join(f"{verdicts.count(v)} {v}" for v in ("faster", "slower", "noise")))
    if any(len(sum(map(processes, s), [])) == 1 for s in sides):
        print("A result of one process: less than 15 % may be its layout of memory and is called noise.")
    sys.exit(1 if "slower" in verdicts else 0)


if __name__ == "__main__":
    main()
