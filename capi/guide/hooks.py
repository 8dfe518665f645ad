"""Hooks of MkDocs: nothing is loaded from elsewhere."""
from mkdocs.utils import get_relative_url

WORKER = "https://unpkg.com/iframe-worker/shim"


def on_post_page(output, page, config):
    return output.replace(WORKER, get_relative_url("assets/iframe-worker.js", page.url))


def on_post_template(output_content, template_name, config):
    return output_content.replace(WORKER, "assets/iframe-worker.js")
