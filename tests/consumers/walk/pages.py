"""The guide as it lies in the repository: pages.py SOURCE. Links lead to files, listings are in place and no wider than a
page, every kind of the library has a heading, and what streams comes last."""

import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
pages = sorted((SOURCE / "capi/guide/pages").rglob("*.md"))
faults = []
for page in [SOURCE / "README.md", *pages]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(SOURCE)
    for listing in re.findall(r"^```\w.*?\n(.*?)^```", text, re.M | re.S):
        if "--8<--" in listing:
            faults.append(f"{name}: a listing that is elsewhere")
        if page.name != "README.md":
            faults += [f"{name}: {len(line)} characters: {line}" for line in listing.splitlines() if len(line) > 84]
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s#]+)[^)]*\)", prose):
        if not link.startswith(("http", "mailto:")) and not (page.parent / link).exists():
            if not link.startswith("../api/") and "/reference/" not in link:
                faults.append(f"{name}: nothing at {link}")
kinds = (SOURCE / "capi/guide/pages/kinds.md").read_text(encoding="utf-8")
headings = re.findall(r"^(##+) (.+)$", kinds, re.M)
faults += [f"kinds.md: no heading {kind}" for kind in ("Dense", "LSTM", "Adam") if ("###", kind) not in headings]
sections = [title for level, title in headings if level == "##"]
if "stream" not in sections[-1].lower():
    faults.append(f"kinds.md: the last section is {sections[-1]}")
for fault in faults:
    print(fault)
sys.exit(bool(faults))
