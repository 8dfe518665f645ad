"""What is measured beside the time of a call: memory, load times, sizes; latencies, calling threads, CPU quota."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import sides
from sides import Failed, log, ours, peers

loaded_rows = ("article lstm B1", "article attention B1", "LeNet-5 B1", "DQN Atari B1", "Dense 16x1024x1024")
latency_rows = ("article lstm B1", "article attention B1")
latency_calls = 100_000
caller_counts = (1, 2, 4, 8, 16, 32, 64)
loaded_peers = ("torch", "onnxruntime", "openvino")


def versions(library_side, interpreters, folder):
    """What takes part, and how libdl4 was built."""
    group = sides.start(interpreters, interpreters, library_side, 1, [sorted(os.sched_getaffinity(0))[0]], folder)
    said = {}
    for name, side in group.items():
        try:
            answer = side.ask("rows") if name == ours else side.ask("version")
            said[name] = answer["build"]["version"] if name == ours else answer["version"]
            if name == ours:
                build = answer["build"]
        except Failed as e:
            log(f"skipped: {sides.title(name)} ({e})")
            interpreters.pop(name, None)
        side.end()
    return {"versions": {n: v for i, (n, v) in enumerate(said.items()) if v not in list(said.values())[:i]},
            "build": build}


def one(name, o, interpreters, threads, cores):
    return sides.start([name] if name != ours else [], interpreters, o.side, threads, cores, o.out)[name]


def memory(o, interpreters):
    """Of the training rows: each in a process that has trained another, small row, so that code is loaded already."""
    cores, by_row = sorted(os.sched_getaffinity(0))[:1], {}
    names = [ours] + [n for n in ("torch",) if n in interpreters]
    library = one(ours, o, interpreters, 1, cores)
    rows = [r for r in library.ask("rows")["rows"] if r["training"] and o.rows in r["name"] + " train"]
    small = next(r for r in library.ask("rows")["rows"] if r["training"])
    for row in rows:
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as folder:
            library.ask("prepare", row=small, training=True, threads=1, folder=first)
            library.ask("prepare", row=row, training=True, threads=1, folder=folder)
            for name in names:
                side = one(name, o, interpreters, 1, cores)
                try:
                    for r, f in ((small, first), (row, folder)):
                        # Once, as it comes: libdl4 needs no folder, a peer must not leave behind what it tried.
                        more = {} if name == ours else {"folder": f, "trying": False}
                        side.ask("prepare", row=r, training=True, threads=1, **more)
                    side.ask("time", seconds=0.05)
                    by_row.setdefault(row["name"], {})[name] = side.ask("memory")
                except Failed as e:
                    log(f"memory: {row['name']}: {name}: {e}")
                side.end()
    library.end()
    return by_row


def tree_bytes(folder):
    return sum(os.lstat(os.path.join(at, f)).st_size for at, _, files in os.walk(folder) for f in files)


def start(o, interpreters):
    """Load times in fresh processes, and sizes."""
    found = []

    def median_ms(python, code):
        ms = [float(subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.split()[-1])
              for _ in range(5)]
        return statistics.median(ms)

    clock = "import time; t = time.perf_counter(); {}; print((time.perf_counter() - t) * 1e3)"
    if o.library:
        system = ("libc.", "libm.", "libstdc++", "libgcc_s", "libpthread", "libdl.", "ld-linux", "linux-vdso", "librt.")
        listed = subprocess.run(["ldd", o.library], capture_output=True, text=True).stdout.splitlines()
        others = [line.split("=>")[1].split()[0] for line in listed if "=>" in line and "not found" not in line]
        others = [path for path in others if not os.path.basename(path).startswith(system)]
        with tempfile.TemporaryDirectory() as folder:
            stripped = os.path.join(folder, "libdl4.so")
            shutil.copy(o.library, stripped)
            if shutil.which("strip"):
                subprocess.run(["strip", stripped], check=True)
            load = clock.format(f"ctypes.CDLL({os.path.abspath(o.library)!r})")
            found.append({"what": ours, "ms": median_ms(sys.executable, "import ctypes; " + load),
                          "bytes": os.path.getsize(stripped),
                          "others": sum(os.path.getsize(os.path.realpath(path)) for path in others)})
    seen = set()
    for name, python in interpreters.items():
        package = peers[name][1]
        if package in seen or name == "ctypes":
            continue
        seen.add(package)
        try:
            place = subprocess.run([python, "-c", "import importlib.util as u; "
                                    f"print(u.find_spec({package!r}).submodule_search_locations[0])"],
                                   capture_output=True, text=True).stdout.strip()
            found.append({"what": package, "ms": median_ms(python, clock.format(f"import {package}")),
                          "bytes": tree_bytes(place)})
        except (IndexError, ValueError, OSError) as e:
            log(f"load time of {package}: {e}")
    return found


def first(o, interpreters, rows):
    """Medians of nine fresh processes for each row and side, one thread, in milliseconds."""
    cores, lines = sorted(os.sched_getaffinity(0))[:1], []
    group = sides.start(interpreters, interpreters, o.side, 1, cores, o.out)
    library = one(ours, o, interpreters, 1, cores)
    for row, training in rows(library.ask("rows")["rows"]):
        line = {"row": row["name"], "mode": "train" if training else "run", "ms": {}, "notes": {}}
        with tempfile.TemporaryDirectory() as folder:
            library.ask("prepare", row=row, training=training, threads=1, folder=folder)
            library.end()
            for name, side in group.items():
                try:
                    answer = side.ask("first", row=row, training=training, threads=1, folder=folder, starts=9)
                    if answer["difference"] <= 1e-4:
                        line["ms"][name] = statistics.median(answer["ms"])
                    else:
                        line["notes"][name] = f"WRONG: differs by {answer['difference']:.1e}"
                except Failed as e:
                    line["notes"][name] = "-" if "does not train" in str(e) else f"failed: {e}"
                side.end()  # for the next row a fresh one: what this one freed would be copied page by page in its forks
        lines.append(line)
        log(f"{line['row']:38} {line['mode']:5} " +
            "  ".join(f"{sides.title(n)} {t:.2f}" for n, t in line["ms"].items()) +
            "".join(f"\n    {sides.title(n)} {note}" for n, note in line["notes"].items() if note != "-"))
    return lines


def under_load(o, interpreters):
    names = [ours] + [n for n in loaded_peers if n in interpreters]
    everywhere = sorted(os.sched_getaffinity(0))
    result = {"latency": [], "callers": [], "quota": []}
    library = one(ours, o, interpreters, 1, everywhere)
    rows = {r["name"]: r for r in library.ask("rows")["rows"] if o.rows in r["name"] + " run"}
    quota = Quota.find()
    if quota is None:
        result["quota"] = "Skipped: no cgroup here whose CPU quota can be written."
        log("skipped: CPU quota (no cgroup that can be written)")
    for row_name in loaded_rows:
        if row_name not in rows:
            continue
        row = rows[row_name]
        with tempfile.TemporaryDirectory() as folder:
            def ready(name, threads, cores):
                side = one(name, o, interpreters, threads, cores)
                answer = side.ask("prepare", row=row, training=False, threads=threads, folder=folder)
                if answer["difference"] > 1e-4:
                    raise Failed("WRONG")
                return side

            for name in names:
                at = {"row": row_name, "side": name}
                log(f"load: {row_name}: {name}")
                side = None
                try:
                    if row_name in latency_rows:
                        side = ready(name, 1, everywhere[:1])
                        result["latency"].append({**at, "calls": latency_calls,
                                                  **side.ask("latency", calls=latency_calls)})
                        side.end()
                    side = ready(name, len(everywhere), everywhere)
                    result["callers"].append({**at, "per_second": {}})
                    for n in caller_counts:
                        time.sleep(0.05)
                        rate = statistics.median(side.ask("callers", callers=n, seconds=o.seconds * 3)["per_second"]
                                                 for _ in range(3))
                        result["callers"][-1]["per_second"][str(n)] = rate
                    side.end()
                    if quota:
                        line = dict(at)
                        for threads in (1, 2):
                            side = ready(name, threads, everywhere[:2])
                            if threads == 1:
                                line["free"] = mean(side)
                            with quota.on(side.process.pid):
                                line[str(threads)] = mean(side)
                            side.end()
                        result["quota"].append(line)
                except Failed as e:
                    log(f"    {e}")
                if side:
                    side.end()
    library.end()
    return result


def mean(side):
    """Of chunks of 2 ms most are as fast as ever, and a few hold the whole wait: so the mean, not the median."""
    return statistics.mean(side.ask("time", seconds=2)["us"])


class Quota:
    """A cgroup that may use half a core: version 2 or 1, where it can be made."""

    def __init__(self, folder, settings):
        self.folder, self.settings = folder, settings

    @staticmethod
    def find():
        for root, settings in (("/sys/fs/cgroup", {"cpu.max": "50000 100000"}),
                               ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"})):
            q = Quota(os.path.join(root, f"dl4_bench_{os.getpid()}"), settings)
            try:
                with q.on(None):
                    return q
            except OSError:
                continue
        return None

    def on(self, pid):
        self.pid = pid
        return self

    def __enter__(self):
        os.mkdir(self.folder)
        try:
            for name, value in self.settings.items():
                self.write(self.folder, name, value)
            if self.pid:
                self.write(self.folder, "cgroup.procs", str(self.pid))
        except OSError:
            os.rmdir(self.folder)
            raise

    @staticmethod
    def write(folder, name, value):
        path = os.path.join(folder, name)
        with open(os.open(path, os.O_WRONLY), "w") as f:  # never make a file: a folder that is no cgroup is none
            f.write(value)

    def __exit__(self, *_):
        if self.pid:
            self.write(os.path.dirname(self.folder), "cgroup.procs", str(self.pid))
        for _ in range(20):
            try:
                return os.rmdir(self.folder)
            except OSError:
                time.sleep(0.05)
