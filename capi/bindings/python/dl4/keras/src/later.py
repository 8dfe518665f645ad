"""Names of a public module that are imported when they are first asked for: `import dl4.keras` stays short."""

import importlib

from .absent import absent


def names_later(package, namespace, modules):
    """__getattr__ and __dir__ of a public module, of the names in each of the modules of a package."""
    where = {name: module for module, names in modules.items() for name in names.split()}

    def __getattr__(name):
        if name not in where:
            raise absent(f"module '{namespace['__name__']}'", name, () if name.startswith("__") else __dir__())
        module = importlib.import_module(where[name], package)
        namespace[name] = getattr(module, name) if not where[name].endswith("." + name) else module
        return namespace[name]

    def __dir__():
        return sorted({*(n for n in namespace if n[0] != "_"), *where})

    return __getattr__, __dir__
