"""The tables as Markdown."""
import datetime
import os
import platform
import statistics
import textwrap

from sides import ours, peers, title

# How many times faster than the best peer a row is meant to be.
reach = {
    "Dense ": 1.1, "Dense 16x512x512": 1.3, "conv ": 1.2, "article dense": 5, "article conv": 4, "article lstm": 8,
    "article attention": 8, "LeNet-5 B1": 2.5, "LeNet-5 B32": 1.5, "DQN Atari": 1.3, "LSTM T100 B1 H128": 1.6,
    "LSTM T28 B32 H128": 1.6, "LSTM T100 B32 H512": 1.2, "LSTM one step": 12, "attention T128 D64": 1.5,
    "DQN Atari B32 train": 1.5, "MLP 784-256-128-10 B128 train": 1.4, "LSTM T28 B128 H128": 1.8,
    "LSTM T100 B32 H256": 1.8, "Embedding self-attention": 2,
    "GRU ": 1.0, "GRU T1 ": 8, "Bidirectional": 1.0, "MHSA": 1.1, "encoder block": 1.1,
    "encoder block B8 T64 D128 train": 1.3, "additive decoder": 1.3, "depthwise": 1.1, "ResNet-50": 1.1,
}


def reach_of(line):
    name = f"{line['row']} {line['mode']}"
    known = [k for k in reach if name.startswith(k)]
    return reach[max(known, key=len)] if known else None


def machine():
    cpu = "unknown"
    with open("/proc/cpuinfo") as f:
        for text in f:
            if text.startswith("model name"):
                cpu = text.split(":", 1)[1].strip()
                break
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "kernel": f"{platform.system()} {platform.release()}",
            "load": os.getloadavg()[0],
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}


def number(us):
    if us is None:
        return "-"
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 1000 else f"{us:.0f}"


def spread(values):
    """Half of the rounds lie within this part of the median, in percent."""
    q = statistics.quantiles(values, n=4) if len(values) > 2 else [min(values), 0, max(values)]
    return 100 * (q[2] - q[0]) / statistics.median(values)


def medians(line):
    return {name: statistics.median(us) for name, us in line["us"].items()}


def best(line):
    """(peer, microseconds) of the fastest peer."""
    times = {n: t for n, t in medians(line).items() if n in peers and n != "ctypes"}
    return min(times.items(), key=lambda item: item[1]) if times else (None, None)


def ratio(line, name):
    """Of a peer's time to ours, the median over the rounds: what is slow for a while is slow for both."""
    return statistics.median(a / b for a, b in zip(line["us"][name], line["us"][ours]))


def progress(line):
    name, time = best(line)
    mine = medians(line).get(ours)
    text = f"{line['row']:38} {line['mode']:5} {line['threads']}  libdl4 {number(mine):>8}"
    if name and mine:
        text += f"  best {title(name)} {number(time)}  ratio {ratio(line, name):.2f}"
        wanted = reach_of(line)
        text += f" of {wanted}" if wanted else ""
    for peer, note in line["notes"].items():
        if note != "-":
            text += f"\n    {title(peer)} {note}"
    return text


def rows_of(lines):
    seen = {}
    for line in lines:
        seen.setdefault((line["row"], line["mode"]), {})[line["threads"]] = line
    return seen


def against_best(lines):
    threads = sorted({line["threads"] for line in lines})
    head = ["row", "mode", "Mflop", "reach"]
    for t in threads:
        head += [f"libdl4, {t} thread{'s' * (t > 1)}", "Gflop/s", "best peer", "ratio"]
    out = ["| " + " | ".join(head) + " |", "|---|---|--:|--:|" + "--:|--:|---|--:|" * len(threads)]
    for (row, mode), by_threads in rows_of(lines).items():
        first = next(iter(by_threads.values()))
        wanted = reach_of(first)
        cells = [row, mode, number(first["flops"] / 1e6), f"{wanted}x" if wanted else "0.5 us"]
        for t in threads:
            line = by_threads.get(t)
            if not line or ours not in line["us"]:
                cells += [""] * 4
                continue
            name, time = best(line)
            r = ratio(line, name) if name else None
            low = wanted is not None and r is not None and r < wanted
            mine = medians(line)[ours]
            cells += [number(mine), f"{line['flops'] / mine / 1e3:.1f}",
                      f"{title(name)} {number(time)}" if name else "-",
                      "-" if r is None else f"{r:.2f}" + (" (below)" if low else "")]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def every_peer(lines, threads):
    lines = [line for line in lines if line["threads"] == threads]
    names = [ours] + [n for n in peers if any(n in line["us"] or n in line["notes"] for line in lines)]
    out = ["| row | mode | " + " | ".join(title(n) for n in names) + " |", "|---|---|" + "--:|" * len(names)]
    for line in lines:
        cells = []
        for n in names:
            us = line["us"].get(n)
            if us:
                cells.append(f"{number(statistics.median(us))} ±{spread(us):.0f}%")
            else:
                cells.append(line["notes"].get(n, "-").split(":")[0])
        out.append(f"| {line['row']} | {line['mode']} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def busy(lines):
    names = [ours] + [n for n in peers if any(n in line["us"] for line in lines)]
    out = ["| row | mode | " + " | ".join(title(n) for n in names) + " |", "|---|---|" + "--:|" * len(names)]
    for line in lines:
        cells = []
        for n in names:
            two, one = line["us"].get(n), line["us"].get(n + " alone")
            if not two or not one:
                cells.append("-")
                continue
            r = statistics.median(a / b for a, b in zip(two, one))
            cells.append(f"{number(statistics.median(two))} ({r:.2f}x)")
        out.append(f"| {line['row']} | {line['mode']} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def megabytes(n):
    return f"{n / 2 ** 20:.1f}"


def plain(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)] +
                     ["| " + " | ".join(str(c) for c in row) + " |" for row in rows])


def markdown(result):
    m = result["machine"]
    out = [f"{m['cpu']}, {m['cores']} cores, {m['kernel']}; {m['date']}; load average {m['load']:.2f} before the run. "
           + "; ".join(f"{name} {v}" if name == ours else v for name, v in result["versions"].items()) + "."]
    lines = result.get("lines", [])
    if result["busy"] and "lines" in result:
        out += ["### With a busy neighbour",
                "One other process spins on one of the cores. Microseconds of a call in two threads; in brackets: "
                "times the same side's one-thread time in the same rounds.", busy(lines)]
    elif "lines" in result:
        time = "Processor time" if result["cpu"] else "Time"
        out += ["### Against the best peer",
                f"{time} of a call in microseconds, medians of {result['rounds']} interleaved rounds; ratio: the best "
                "peer's time to libdl4's, the median over the rounds. Mflop: the products' arithmetic, and what libdl4 "
                "does of it in a second.", against_best(lines)]
        for t in sorted({line["threads"] for line in lines}):
            out += [f"### Every peer, {t} thread{'s' * (t > 1)}",
                    "±: half of the rounds lie within this part of the median.", every_peer(lines, t)]
    if result.get("memory"):
        sides = [ours, *next(iter(result["memory"].values())).keys() - {ours}]
        out += ["### Memory of training", "Peak resident memory above that of a process which has trained the smallest "
                "row already, code left out, and in brackets of the whole process, in MB; a fresh process for each; "
                "one thread.",
                plain(["row", *(title(n) for n in sides), "ratio"],
                      [(row, *(f"{megabytes(by[n]['growth'])} ({megabytes(by[n]['peak'])})" if n in by else "-"
                               for n in sides),
                        f"{by[ours]['growth'] / by['torch']['growth']:.2f}" if by.get("torch") and
                        by["torch"]["growth"] > 2 ** 20 else "-") for row, by in result["memory"].items()])]
    if result.get("start"):
        out += ["### Load and size", "Loading in a fresh process (dlopen; of a peer: import), median of five; bytes of "
                "the stripped library (of a peer: of its package), and of the libraries it loads beside the C and C++ "
                "ones.", plain(["what", "load, ms", "MB", "others, MB"],
                               [(s["what"], number(s["ms"]), megabytes(s["bytes"]),
                                 megabytes(s["others"]) if "others" in s else "-") for s in result["start"]])]
    if result.get("first"):
        out += first(result["first"])
    if result.get("load"):
        out += load(result["load"])
    return "\n\n".join(out) + "\n"


def first(lines):
    names = [ours] + [n for n in peers if any(n in line["ms"] or n in line["notes"] for line in lines)]
    rows = []
    for line in lines:
        cells = [number(line["ms"][n]) if n in line["ms"] else line["notes"].get(n, "-").split(":")[0] for n in names]
        best_peer = min((t for n, t in line["ms"].items() if n in peers and n != "ctypes"), default=None)
        mine = line["ms"].get(ours)
        rows.append((line["row"], line["mode"], *cells, f"{best_peer / mine:.2f}" if best_peer and mine else "-"))
    return ["### First result", "Milliseconds from weights in memory to the first result, one thread: medians of nine "
            "processes, each forked from one that has loaded the framework. libdl4 and the runtimes have the bytes of "
            "a model's file, the others arrays. Ratio: of the best peer's to libdl4's.",
            plain(["row", "mode", *(title(n) for n in names), "ratio"], rows)]


def load(result):
    out = ["### Latency", "Microseconds over so many calls in one thread.",
           plain(["row", "side", "calls", "p50", "p99", "p99.9", "max"],
                 [(x["row"], title(x["side"]), x["calls"], *(number(x[k]) for k in ("p50", "p99", "p99.9", "max")))
                  for x in result["latency"]])]
    counts = sorted({int(n) for x in result["callers"] for n in x["per_second"]})
    out += ["### Calling threads", "Calls per second of all threads on one session. Worst: the least from two callers "
            "up, to the best.", plain(["row", "side", *map(str, counts), "worst"],
                                      [(x["row"], title(x["side"]), *(f"{x['per_second'][str(n)]:.0f}" if str(n) in
                                        x["per_second"] else "-" for n in counts),
                                        f"{worst(x['per_second']):.2f}") for x in result["callers"]])]
    if isinstance(result["quota"], str):
        out += ["### Half a core", result["quota"]]
    else:
        out += ["### Half a core",
                "A CPU quota of 50 ms in 100 ms. Microseconds of a call, mean over two seconds; free: in one thread "
                "without the quota. With half a core 2.0 is what is due.",
                plain(["row", "side", "free", "1 thread", "times", "2 threads", "times"],
                      [(x["row"], title(x["side"]), number(x["free"]), number(x["1"]), f"{x['1'] / x['free']:.2f}",
                        number(x["2"]), f"{x['2'] / x['free']:.2f}") for x in result["quota"]])]
    return out


def worst(per_second):
    several = [v for n, v in per_second.items() if int(n) > 1]
    return min(several) / max(per_second.values()) if several else 1.0


def insert(path, name, text):
    """Puts the text between the marks <!-- name --> and <!-- end of name --> of a page."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    with open(path) as f:
        page = f.read()
    if begin not in page or end not in page:
        raise SystemExit(f"{path} has no mark {begin}")
    head, rest = page.split(begin, 1)
    lines = [x if x.startswith("|") else textwrap.fill(x, 120, break_on_hyphens=False) for x in text.splitlines()]
    text = "\n".join(lines) + "\n"
    with open(path, "w") as f:
        f.write(f"{head}{begin}\n{text}{end}{rest.split(end, 1)[1]}")
