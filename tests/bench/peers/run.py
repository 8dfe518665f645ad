#!/usr/bin/env python3
"""Times every row with libdl4 and with every peer there is, side by side; ../run.sh --peers calls it, see ../README.md.

For each row and number of threads all sides prepare the same model with the same weights, their numbers are compared,
and then they take turns, round by round, while the others are idle.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import extras
import sides
import table
import work
from sides import Failed, log, ours


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--side", required=True, help="the program dl4_side")
    p.add_argument("--library", help="libdl4.so, for its size and load time")
    p.add_argument("--calls", help="libdl4_peer_calls.so: calls peers through their C APIs")
    p.add_argument("--out", required=True, help="folder for table.md and table.json")
    p.add_argument("--python", action="append", default=[], help="an interpreter to look for peers in, repeated; "
                   "default: DL4_PEER_PYTHONS (separated by colons), then this one")
    p.add_argument("--only", help="peers, a list with commas; default: all that are found")
    p.add_argument("--rows", default="", help="only rows with this text in \"name run\" or \"name train\"")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--seconds", type=float, default=0.1, help="a side's share of a round")
    p.add_argument("--cpu", action="store_true", help="one thread by processor time: for a machine that is not idle")
    p.add_argument("--busy", action="store_true", help="a process spins on the last core; each side also in one thread")
    p.add_argument("--load", action="store_true", help="latencies, calling threads and CPU quota instead of the table")
    p.add_argument("--first", action="store_true", help="time to the first result in fresh processes instead")
    p.add_argument("--page", help="a Markdown file with marks like <!-- peers -->, to write the tables into")
    p.add_argument("--no-extras", action="store_true", help="leave memory, load times and sizes out")
    o = p.parse_args()
    o.python = o.python or [x for x in os.environ.get("DL4_PEER_PYTHONS", "").split(":") if x] or [sys.executable]
    o.threads = [1] if o.cpu else [int(t) for t in o.threads.split(",")]
    o.names = [n for n in (o.only.split(",") if o.only is not None else sides.peers) if n]
    for n in o.names:
        if n not in sides.peers:
            p.error(f"no peer {n}: there are {', '.join(sides.peers)}")
    return o


def wanted(rows, text, threads):
    for training in (False, True):
        for row in rows:
            name = row["name"] + (" train" if training else " run")
            if text in name and (row["training"] if training else row["runs"]) and threads in row["threads"]:
                yield row, training


def prepare(group, row, training, threads):
    """The sides whose numbers are right, and a note for each that isn't there."""
    ready, notes, facts = [], {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, side in group.items():
            try:
                answer = side.ask("prepare", row=row, training=training, threads=threads, folder=folder)
            except Failed as e:
                notes[name] = "-" if "does not train" in str(e) else f"failed: {e}"
                if name == ours:
                    raise
                continue
            facts[name] = answer
            if answer["difference"] <= 1e-4:
                ready.append(name)
            else:
                notes[name] = f"WRONG: differs by {answer['difference']:.1e}"
    return ready, notes, facts


def rounds(turns, starts, anew, o):
    """turns: (key, side). Microseconds of a call by key, one for each round; the order moves on by one each round.
    anew() is called at the rounds in starts: a process has its own layout of memory, and there should be several."""
    us = {key: [] for key, _ in turns}
    for r in range(o.rounds):
        if r in starts[1:]:
            anew()
        for key, side in turns[r % len(turns):] + turns[:r % len(turns)]:
            time.sleep(0.05)  # pools of threads spin for a while after their work
            try:
                us[key].append(statistics.median(side.ask("time", seconds=o.seconds, cpu=o.cpu)["us"]))
            except Failed as e:
                log(f"    {key}: {e}")
    return {key: values for key, values in us.items() if len(values) == o.rounds}


def compare(o, threads, interpreters):
    cores = sorted(os.sched_getaffinity(0))[:max(threads, 1)]
    if threads > len(cores):
        log(f"skipped: {threads} threads (there are {len(cores)} cores)")
        return []
    group = sides.start(interpreters, interpreters, o.side, threads, cores, o.out)
    alone = sides.start(interpreters, interpreters, o.side, 1, cores[:1], o.out) if o.busy else {}
    lines = []
    try:
        for row, training in wanted(group[ours].ask("rows")["rows"], o.rows, threads):
            line = {"row": row["name"], "mode": "train" if training else "run", "threads": threads,
                    "flops": work.flops(row, training)}
            try:
                ready, line["notes"], facts = prepare(group, row, training, threads)
                turns = [(name, group[name]) for name in ready]
                if o.busy:
                    single, _, _ = prepare(alone, row, training, 1)
                    turns += [(name + " alone", alone[name]) for name in single if name in ready]
            except Failed as e:
                log(f"{row['name']}: libdl4: {e}")
                continue
            line["starts"] = sorted({o.rounds * i // 3 for i in range(3)})

            def anew():
                for among, count in ((group, threads), (alone, 1)):
                    if among:
                        among[ours].end()
                        among[ours].ask("prepare", row=row, training=training, threads=count)

            line["us"] = rounds(turns, line["starts"], anew, o)
            for fact in ("ready_ms", "creation_ms", "difference"):
                line[fact] = {name: f[fact] for name, f in facts.items() if fact in f}
            lines.append(line)
            log(table.progress(line))
    finally:
        for side in [*group.values(), *alone.values()]:
            side.end()
    return lines


def main():
    o = parse()
    os.makedirs(o.out, exist_ok=True)
    for variable, path in (("DL4_PEER_CALLS", o.calls), ("DL4_LIBRARY", o.library)):
        if path:
            os.environ[variable] = os.path.abspath(path)
    interpreters = sides.find(o.names, o.python)
    neighbour = sides.Neighbour(sorted(os.sched_getaffinity(0))[-1]) if o.busy else None
    result = {"machine": table.machine(), "busy": o.busy, "cpu": o.cpu, "rounds": o.rounds, "seconds": o.seconds}
    result.update(extras.versions(o.side, interpreters, o.out))
    try:
        if o.first:
            result["first"] = extras.first(o, interpreters, lambda rows: wanted(rows, o.rows, 1))
            result["start"] = extras.start(o, interpreters)
        elif o.load:
            result["load"] = extras.under_load(o, interpreters)
        else:
            result["lines"] = []
            for threads in [max(o.threads)] if o.busy else o.threads:
                result["lines"] += compare(o, threads, interpreters)
            if not o.busy and not o.no_extras:
                result["memory"] = extras.memory(o, interpreters)
                result["start"] = extras.start(o, interpreters)
    finally:
        if neighbour:
            neighbour.end()
    name = "peers_load" if o.load else "peers_first" if o.first else "peers_busy" if o.busy else "peers"
    text = table.markdown(result)
    with open(os.path.join(o.out, name + ".json"), "w") as f:
        json.dump(result, f, indent=1)
    with open(os.path.join(o.out, name + ".md"), "w") as f:
        f.write(text)
    if o.page:
        table.insert(o.page, name, text)
    print(text)


main()
