"""Hooks of MkDocs: the page of all kinds is capi/KINDS.md, and nothing is loaded from elsewhere."""
import pathlib

from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

WORKER = "https://unpkg.com/iframe-worker/shim"


def on_files(files, config):
    page = pathlib.Path(__file__).resolve().parents[1] / "KINDS.md"
    files.append(File.generated(config, "kinds.md", content=page.read_text(encoding="utf-8")))
    return files


def on_post_page(output, page, config):
    return output.replace(WORKER, get_relative_url("assets/iframe-worker.js", page.url))


def on_post_template(output_content, template_name, config):
    return output_content.replace(WORKER, "assets/iframe-worker.js")
