"""TensorFlow's module names: `tensorflow.keras.layers`, `tensorflow.data` and others can be imported under `dl4` or
`dl4.tf`, so that import lines work after `tensorflow` is replaced.
"""

import importlib
import importlib.machinery
import sys


class _Elsewhere:
    """Finds modules that are in another place of the package, or among the names of `dl4.tf`."""

    def __init__(self, root):
        self.root, self.tf, self.found = root + ".", root + ".tf.", {}

    def find_spec(self, name, path=None, target=None):
        if not name.startswith(self.root):
            return None
        place = name[len(self.tf) :] if name.startswith(self.tf) else name[len(self.root) :]
        over, _, last = name.rpartition(".")
        if name.startswith(self.tf) and place.split(".")[0] == "keras":
            self.found[name] = importlib.import_module(self.root + place)
        elif over in self.found and not place.startswith("keras."):
            self.found[name] = importlib.import_module(f"{self.found[over].__name__}.{last}")
        elif "." in place or place in ("tf", "abi", "keras") or importlib.machinery.PathFinder.find_spec(name, path):
            return None
        else:
            module = getattr(importlib.import_module(self.tf[:-1]), place, None)
            if module is None or isinstance(module, type) or callable(module):
                return None
            self.found[name] = module
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        self.own = getattr(self.found[spec.name], "__spec__", None)
        return self.found[spec.name]

    def exec_module(self, module):
        """It is there already: what the import changed of it is as before."""
        module.__spec__ = self.own


sys.meta_path.insert(0, _Elsewhere(__package__))
