"""A hook of MkDocs: the page of all kinds is capi/KINDS.md."""
import pathlib

from mkdocs.structure.files import File


def on_files(files, config):
    page = pathlib.Path(__file__).resolve().parents[1] / "KINDS.md"
    files.append(File.generated(config, "kinds.md", content=page.read_text(encoding="utf-8")))
    return files
