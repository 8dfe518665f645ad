"""Writes the Python reference with pdoc:   python_reference.py FOLDER

Classes of dl4.keras are made from the library's registry when they are asked for; all are asked for here."""
import pathlib
import sys

import dl4
import dl4.keras
import pdoc

PUBLIC = ["layers", "losses", "metrics", "optimizers", "callbacks", "initializers", "regularizers", "constraints",
          "activations", "ops", "models", "saving", "utils"]
INSIDE = ["abi", "cancel", "core", "nn", "session", "tensor", "keras.src", "keras.backend", "keras.config",
          "keras.schedules"]


def publish(module, submodules=()):
    """Says which names of a module are documented, and asks for all of them."""
    names = [n for n in dir(module) if not n.startswith("_") and not isinstance(getattr(module, n), type(sys))]
    names.sort(key=lambda n: isinstance(getattr(module, n), type) and issubclass(getattr(module, n), Exception))
    for n in names:
        module.__dict__.setdefault(n, getattr(module, n))
    module.__all__ = [*names, *submodules]


def main(folder):
    for name in PUBLIC:
        publish(getattr(dl4.keras, name))
    publish(dl4.keras, PUBLIC)
    publish(dl4, ["keras", "plot", "random"])
    pdoc.render.configure(docformat="google", search=True, show_source=False, footer_text="libdl4")
    pdoc.pdoc("dl4", *(f"!dl4.{name}" for name in INSIDE), output_directory=pathlib.Path(folder))


main(sys.argv[1])
