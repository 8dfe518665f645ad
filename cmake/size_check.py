#!/usr/bin/env python3
"""Finds bare products where kernels and plans are made: sizes, scratch and offsets go through base/checked.hpp there.

    size_check.py ROOT        lists file:line of each and ends with 1 if there is one

A run is left out: what is given memory (a pointer to numbers, a Run) or is noexcept, and what Highway compiles by target, moves
within memory that exists. So are products of floating point, of literals alone, and a line marked
"// bounded: <why it can't overflow>". It reads text, laid out by .clang-format, and knows a double by its declaration
in the same file."""
import pathlib
import re
import sys

ROOMS = ["backend", "ops", "plan", "runtime"]
RUN = re.compile(r"\bRun\b|\bnoexcept\b|\b(?:float|double|void|T|std::byte|u?int\d+_t) \*|\bHWY_ATTR\b")
FACTOR_LEFT = re.compile(r"[\w.:<>\-]+$")


def stripped(text):
    """The code alone: comments, strings and preprocessor lines become blanks, lines stay."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group())
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)
    return re.sub(r"\bHWY_BEFORE_NAMESPACE\b.*?\bHWY_AFTER_NAMESPACE\b", blank, text, flags=re.S)


def runs(code):
    """By position: is it inside a function or lambda that belongs to a run?"""
    flags, stack, start = bytearray(len(code)), [False], 0
    for i, c in enumerate(code):
        if c == "{":
            header = code[start:i]
            function = header.rstrip().endswith((")", "const", "noexcept", "override", "try")) or "->" in header
            stack.append(stack[-1] or (function and bool(RUN.search(header))))
        flags[i] = stack[-1]
        if c == "}" and len(stack) > 1:
            stack.pop()
        if c in "{};":
            start = i + 1
    return flags


def factor_before(code, i):
    """The factor that ends before position i."""
    end = len(code[:i].rstrip())
    at = end
    while True:
        if at and code[at - 1] in ")]":
            depth = 0
            while at:
                at -= 1
                depth += {")": 1, "]": 1, "(": -1, "[": -1}.get(code[at], 0)
                if depth == 0:
                    break
        name = FACTOR_LEFT.search(code[max(0, at - 200):at])
        if not name or name.group() in ("return", "-", ">", ":"):
            return code[at:end], at
        at -= len(name.group())
        if not at or code[at - 1] not in ")]":
            return code[at:end], at


def factor_after(code, i):
    """The factor that begins after position i."""
    at = i + len(code[i:]) - len(code[i:].lstrip())
    begin = at
    while at < len(code):
        word = re.match(r"[\w.:]+|->|<[\w:]+>(?=\()", code[at:])
        if word:
            at += word.end()
        elif code[at] in "([":
            depth = 0
            while at < len(code):
                depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(code[at], 0)
                at += 1
                if depth == 0:
                    break
        elif at == begin and code[at] in "-*&!":
            at += 1
        else:
            break
    return code[begin:at]


def is_literal(factor):
    return re.fullmatch(r"-?(\d[\d'a-fx]*|sizeof\b.*|int64_t\{\d+\})", factor.strip()) is not None


def products(text):
    code = stripped(text)
    flags = runs(code)
    real = set(re.findall(r"\b(?:double|float) (\w+)", code))
    real |= set(re.findall(r"\bauto (\w+) = \[[^;]*?static_cast<double>", code))
    for names in re.findall(r"\bdouble (\w+ = [^;]*);", code):  # double m = ..., n = ...
        real |= set(re.findall(r"(?:^|, )(\w+) = ", names))

    def is_real(factor):
        f = factor.strip()
        if re.search(r"\bstatic_cast<(?:double|float)>|\d\.\d|\bus_per_", f):
            return True
        return any(word in real for word in (re.findall(r"\b\w+", f) if f[:1] == "(" else re.split(r"[(.\[]", f)[:1]))

    lines = text.split("\n")
    for m in re.finditer(r"(?<=[\w)\]])\s\*(=?)\s", code):
        if flags[m.start()] or re.match(r"\s*[{,)]", code[m.end():]):  # the latter: a type
            continue
        left, at = factor_before(code, m.start())
        right = code[m.end():code.index(";", m.end())] if m.group(1) else factor_after(code, m.end())
        chain = [left]
        while True:  # what is multiplied before it
            before = re.search(r"\s[*/]\s$", code[:at])
            if not before:
                break
            more, at = factor_before(code, before.start())
            chain.append(more)
        if is_real(right) or any(is_real(f) for f in chain):
            continue
        if is_literal(left) and is_literal(right):
            continue
        number = code.count("\n", 0, m.start() + 1) + 1
        if any("// bounded: " in lines[n - 1] for n in (number, number - 1) if n):
            continue
        yield number, lines[number - 1].strip()


SAMPLES = [  # tried first: code, and how many products are found in it
    ("int64_t f(int64_t a, int64_t b) { return a * b; }", 1),
    ("int64_t f(int64_t a) { return a * 4; }", 1),
    ("void f() { n *= dim; }", 1),
    ("K k(const Site &s) { return make(s, rows * width, [=](int64_t i, const Run &r) { g(i * row); }); }", 1),
    ("struct A : Kernel { A(int64_t n) : Kernel(n * size) {} };", 1),
    ("auto x = us * static_cast<double>(a.n *\n    (b.m + 1));", 1),
    ("int64_t f(int64_t a, int64_t b) { return checked_mul(a, b); }", 0),
    ("void f(const float *x, int64_t n) { g(x + n * n); }", 0),
    ("int64_t f(int64_t a) noexcept { return a * a; }", 0),
    ("double f(double a, int64_t n) { double b = 1, c = 2; return a * 2 * static_cast<double>(n) * b; }", 0),
    ("constexpr int64_t a = 1024 * 1024;  // a * b", 0),
    ("// bounded: both are below 8\nint64_t f(int64_t a) { return a * a; }", 0),
]


def main():
    for sample, expected in SAMPLES:
        if len(found := list(products(sample))) != expected:
            sys.exit(f"this script is wrong: expected {expected} products, found {found}: {sample}")
    root = pathlib.Path(sys.argv[1])
    count = 0
    for room in ROOMS:
        for file in sorted([*(root / "src" / room).glob("*.cpp"), *(root / "src" / room).glob("*.hpp")]):
            for number, line in products(file.read_text()):
                print(f"{file.relative_to(root)}:{number}: {line}")
                count += 1
    if count:
        print(f"{count} bare products where a kernel or a plan is made: use checked_mul (base/checked.hpp)")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
