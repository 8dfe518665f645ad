#!/usr/bin/env python3
"""Times every row with a build of our own kernels alone and with a full one, side by side.

    backends.py FULL/tests/bench/dl4_side OWN/tests/bench/dl4_side [--rows TEXT] [--threads 1,2] [--rounds 7] [--cpu]
"""
import argparse
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import sides


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("full"), p.add_argument("own")
    p.add_argument("--rows", default="", help="only rows with this text in their name")
    p.add_argument("--threads", default="1")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=0.05)
    p.add_argument("--cpu", action="store_true", help="processor time: for a machine that is not idle")
    p.add_argument("--most", type=float, help="fail if a row of FULL takes more than so many times the time of OWN")
    o = p.parse_args()
    print("| row | threads | full, us | own, us | full / own |\n|---|--:|--:|--:|--:|")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for threads in map(int, o.threads.split(",")):
            cores = sorted(os.sched_getaffinity(0))[:threads]
            programs = {"full": o.full, "own": o.own}
            group = [sides.Side(name, [path], threads, cores, folder) for name, path in programs.items()]
            try:
                for row in group[0].ask("rows")["rows"]:
                    for training in (False, True):
                        name = row["name"] + (" (training step)" if training else "")
                        if o.rows in name and row["training" if training else "runs"] and threads in row["threads"]:
                            ratios.append(time(group, row, name, training, threads, o))
            finally:
                for side in group:
                    side.end()
    print(f"\n{sum(r >= 0.95 for r in ratios)} of {len(ratios)} rows at 0.95 or more, the least {min(ratios):.2f}.")
    if o.most and max(ratios) > o.most:
        sys.exit(f"a row takes {max(ratios):.2f} times the time of our own kernels")


def time(group, row, name, training, threads, o):
    for side in group:
        side.ask("prepare", row=row, training=training, threads=threads)
    us = [[], []]
    for _ in range(o.rounds):
        for side, times in zip(group, us):
            times.append(statistics.median(side.ask("time", seconds=o.seconds, cpu=o.cpu)["us"]))
    ratio = statistics.median(full / own for full, own in zip(*us))
    medians = " | ".join(f"{statistics.median(times):.4g}" for times in us)
    print(f"| {name} | {threads} | {medians} | {ratio:.2f} |", flush=True)
    return ratio


main()
