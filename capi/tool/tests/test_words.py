"""Help, the man page and the completion; what goes to the standard streams."""

import os
import re
import shutil
import subprocess

from case import PAGE, TOOL, Case


class Wording(Case):
    """Help, the man page and the completion say the same."""

    def options(self):
        """By command its options, out of --help."""
        commands = re.findall(r"^  (\w+) ", re.split("subcommands:", self.good("--help"), flags=re.I)[1], re.M)
        self.assertGreaterEqual(len(commands), 11)
        return {c: set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", self.good(c, "--help"))) for c in commands}

    def test_man_page(self):
        page = (PAGE).read_text().replace("\\-", "-")
        shared = set(re.findall(r"--[a-z][a-z-]*", page.split(".SH OPTIONS OF ALL COMMANDS")[1].split(".SH EXIT")[0]))
        parts = re.split(r"^\.SS \"", page.split(".SH OPTIONS OF")[0], flags=re.M)[1:]
        sections = {part.split()[1].strip('"'): part for part in parts}
        commands = self.options()
        self.assertEqual(set(sections), set(commands))
        for command, options in commands.items():
            told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", sections[command]))
            self.assertEqual(options - shared - told, set(), command)
            self.assertEqual(told - options - shared, set(), command)
        del commands["completion"], commands["kinds"]  # they run nothing
        self.assertEqual(shared - {"--version"}, set.intersection(*commands.values()))

    def test_man_page_is_sound(self):
        if not shutil.which("man"):
            self.skipTest("there is no man")
        done = subprocess.run(
            ["man", "--warnings", "-l", PAGE],
            capture_output=True,
            text=True,
            env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_completion(self):
        script = self.good("completion")
        commands = self.options()

        def offered(*words):
            line = " ".join(f"'{w}'" for w in words)
            said = subprocess.run(
                [
                    "bash",
                    "-c",
                    f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}\n"
                    '_dl4; printf "%s\\n" "${COMPREPLY[@]}"',
                ],
                cwd=self.folder,
                text=True,
                capture_output=True,
                check=True,
            )
            return set(said.stdout.split())

        self.assertEqual(offered("dl4", ""), {*commands, "--help", "--version"})
        for command, options in commands.items():
            self.assertEqual({w for w in offered("dl4", command, "--") if w.startswith("--")}, options, command)
        self.assertEqual(offered("dl4", "summary", "ne"), {"net.json"})
        self.assertEqual(offered("dl4", "train", "net.json", "--epochs", ""), set())
        self.assertEqual(offered("dl4", "run", "net.json", "--input", "ne"), {"net.json"})

    def test_version(self):
        self.assertRegex(self.good("--version"), r"^dl4 \d+\.\d+\.\d+\n$")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [TOOL, "summary", "net.json"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True
            )
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard output", done.stderr)

    def test_a_broken_pipe_is_quiet(self):
        for restore in (True, False):  # with and without SIGPIPE
            process = subprocess.Popen(
                [TOOL, "plot", "net.json"],
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                restore_signals=restore,
            )
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()
            self.assertNotEqual(process.wait(), 0)


class Misspelt(Case):
    def test_alone(self):
        self.assertEqual(self.good(), self.good("--help"))

    def test_commands(self):
        self.bad(2, 'unknown command "sumary"; did you mean "summary"?', "sumary", "net.json")
        self.bad(2, 'unknown command "Train"; did you mean "train"?', "Train", "net.json")
        self.bad(2, 'unknown command "net.json"', "net.json")
        self.assertNotIn("did you mean", self.run_tool("net.json").stderr)

    def test_options(self):
        for said, meant, *words in [
            ("--epoch", "--epochs", "train", "net.json", "--epoch", "1"),
            ("--dta", "--data", "train", "net.json", "--dta", "x.npz"),  # before: --data is required
            ("--outptu", "--output", "run", "net.json", "--outptu=y.npy"),
            ("--vresion", "--version", "--vresion"),
        ]:
            self.bad(2, f'unknown option "{said}"; did you mean "{meant}"?', *words)
        self.bad(2, 'unknown option "--xyzzyxyzzy"', "summary", "net.json", "--xyzzyxyzzy")
        self.bad(2, 'option "--json" must follow the command summary', "--json", "summary", "net.json")
        self.bad(2, 'unexpected argument "b.json"', "summary", "net.json", "b.json")


class Log(Case):
    def test_what_happens_goes_to_standard_error(self):
        words = ["convert", "net.json", "net.keras"]
        for level, expected in [("info", ["saved"]), ("warning", [])]:
            done = self.run_tool(*words, "--log", level)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(re.findall(r"\[info\] (saved) \"net.keras\": ", done.stderr), expected, done.stderr)
        done = self.run_tool("bench", "net.keras", "--log", "debug")
        self.assertRegex(done.stderr, r"\[info\] loaded \"net.keras\": Keras, \d+ bytes, ")
        self.assertRegex(done.stderr, r"\[debug\]   h: .* by \w+_gemm \(\w+_gemm [\d.e-]+ us, then ")

    def test_a_level_that_is_none_is_refused(self):
        self.bad(4, '"log_level": expected one of "trace"', "check", "net.json", "--log", "verbose")
