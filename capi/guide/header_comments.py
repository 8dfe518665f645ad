"""A filter of Doxygen's: the header's plain comments become Doxygen's, its labels paragraphs, its options verbatim."""
import re
import sys

LABELS = "May be NULL|Keeps|Takes|Threads|Blocks|Errors|Since"


def documented(m):
    text = m[1]
    text = re.sub(r"^ \* ?", "", text, flags=re.M).replace("\\", "\\\\")
    text = re.sub(rf"^({LABELS}): ", r"\n@par \1\n", text, flags=re.M)
    # An indented list is laid out by hand.
    text = re.sub(r"^Options:\n((?:  .*\n?)+)", lambda o: f"\n@par Options\n@verbatim\n{o[1].rstrip()}\n@endverbatim\n",
                  text, flags=re.M)
    return "/** " + text.rstrip() + "\n*/"


def overview(m):
    text = re.sub(r"^ \* ?", "", m[1], flags=re.M)
    return f"/** @file\n@verbatim\n{text.rstrip()}\n@endverbatim\n*/"


def main(path):
    text = open(path, encoding="utf-8").read()
    text = re.sub(r"\A/\* ((?:.|\n)*?) ?\*/$", overview, text, count=1, flags=re.M)
    # Behind a member or constant, on its line.
    text = re.sub(r"^(.*[;,{\w)] *)/\* (.*?) \*/$", r"\1/**< \2 */", text, flags=re.M)
    # Before a declaration.
    text = re.sub(r"^/\* (?!----)((?:.|\n)*?) ?\*/$", documented, text, flags=re.M)
    sys.stdout.write(text)


main(sys.argv[1])
