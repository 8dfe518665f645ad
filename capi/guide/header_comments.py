"""A filter of Doxygen's: the header's plain comments become Doxygen's, its sections groups, its head the first page."""
import pathlib
import re
import sys

LABELS = "May be NULL|Keeps|Takes|Threads|Blocks|Errors|Since"
SECTION = re.compile(r"^/\* ---- (.*?) -{4,}((?:.|\n)*?) ?\*/$", re.M)
HEADING = re.compile(r"^ *---- (.*?) -{4,}$", re.M)


def slug(title):
    return "of_" + re.sub(r"\W+", "_", title.lower())


def documented(m):
    return "/** " + prose(m[1]) + "\n*/"


def prose(text):
    text = re.sub(r"^ \* ?", "", text, flags=re.M).replace("\\", "\\\\")
    text = re.sub(rf"^({LABELS}): ", r"\n@par \1\n", text, flags=re.M)
    # An indented list is laid out by hand.
    text = re.sub(r"^Options:\n((?:  .*\n?)+)", lambda o: f"\n@par Options\n@verbatim\n{o[1].rstrip()}\n@endverbatim\n",
                  text, flags=re.M)
    return text.rstrip()


def overview(text, sections):
    """The first paragraph, then the sections, then the rules."""
    parts = HEADING.split(re.sub(r"^ \* ?", "", text, flags=re.M))
    index = "".join(f"- @ref {slug(title)}\n" for title in sections)
    page = "/** @mainpage dl4.h\n\n" + parts[0].split("\n\n", 2)[-1] + "\n\n"
    page += f"@section sections Sections\n\n{index}\n"
    for title, body in zip(parts[1::2], parts[2::2]):
        page += f"@section head_{slug(title)} {title}\n@verbatim\n" + body.strip("\n") + "\n@endverbatim\n\n"
    return page + "*/"


def main(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    head = re.match(r"/\* ((?:.|\n)*?) ?\*/$", text, re.M)
    rest = text[head.end():]
    if sections := [title for title, _ in SECTION.findall(rest)]:
        front = overview(head[1], [*sections, "Workers"])
    else:  # a header beside dl4.h
        front = "/** @file\n@verbatim\n" + re.sub(r"^ \* ?", "", head[1], flags=re.M) + "\n@endverbatim\n*/"
    # Behind a member or constant, on its line.
    rest = re.sub(r"^(.*[;,{\w)] *)/\* (.*?) \*/$", r"\1/**< \2 */", rest, flags=re.M)
    # Before a declaration.
    rest = re.sub(r"^/\* (?!----)((?:.|\n)*?) ?\*/$", documented, rest, flags=re.M)
    opened = False

    def section(m):
        nonlocal opened
        close, opened = "/** @} */\n" if opened else "", True
        return f"{close}/** @defgroup {slug(m[1])} {m[1]}\n{prose(m[2].lstrip(chr(10)))}\n*/\n/** @{{ */"

    rest = SECTION.sub(section, rest)
    if not opened:
        rest = f"\n/** @addtogroup {slug('Workers')} Workers\n@{{ */\n" + rest
    sys.stdout.write(front + rest + "\n/** @} */\n")


main(sys.argv[1])
