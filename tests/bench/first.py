"""From weights in memory to the first result: medians over fresh processes, as a table and as JSON; see README.md."""

import argparse
import json
import statistics
import subprocess


def numbers(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(word) for word in out.split()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, help="folder of dl4_first and dl4_load")
    parser.add_argument("--library", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rows", default="", help="only rows with this in their names")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()

    first = f"{options.programs}/dl4_first"
    listed = subprocess.run([first, "--list"], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split("\t") for line in listed]
    rows = [r for r in rows if options.rows in r[0] and options.threads in (0, int(r[2]))]
    # Each round takes every row once: what is slow for a while is slow for all.
    loading, measured = [], {tuple(r): [] for r in rows}
    for _ in range(options.rounds):
        loading += numbers([f"{options.programs}/dl4_load", options.library])
        for row in rows:
            measured[tuple(row)].append(numbers([first, *row]))

    load = statistics.median(loading)
    lines = [f"Loading the library: {load:.2f} ms.", "",
             "| row | mode | threads | creation ms | first call ms | together ms |",
             "|---|---|---|---|---|---|"]
    result = {"rounds": options.rounds, "loading_ms": load, "rows": []}
    for (name, mode, threads), times in measured.items():
        creation, call, both = (statistics.median(column) for column in
                                ([t[0] for t in times], [t[1] for t in times], [sum(t) for t in times]))
        lines.append(f"| {name} | {mode} | {threads} | {creation:.2f} | {call:.2f} | {both:.2f} |")
        result["rows"].append({"row": name, "mode": mode, "threads": int(threads), "creation_ms": creation,
                               "first_call_ms": call, "first_result_ms": both})
    print("\n".join(lines))
    with open(f"{options.out}/first.md", "w") as file:
        file.write("\n".join(lines) + "\n")
    with open(f"{options.out}/first.json", "w") as file:
        json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
