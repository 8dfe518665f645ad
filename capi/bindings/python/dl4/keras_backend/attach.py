"""Puts the backend where Keras looks for one.

Keras 3.13 to 3.15 chooses its backend by name, in `keras.src.backend` and some ten other modules, and knows no other
names than its own. So while Keras is imported its name is that of a backend without a framework, in whose place
Python finds this package; afterwards it is "dl4". No file of Keras is changed."""

import importlib
import importlib.abc
import importlib.metadata
import importlib.util
import os
import sys
import warnings

NAME = "dl4"
OLDEST, NEWEST = (3, 13), (3, 15)  # versions that are tested
_STANDS_FOR = "numpy"
_PLACE = f"keras.src.backend.{_STANDS_FOR}"
_PACKAGE = __name__.rpartition(".")[0]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds this package's modules under the names that Keras imports."""

    def find_spec(self, name, path=None, target=None):
        if name == _PLACE or name.startswith(_PLACE + "."):
            return importlib.util.spec_from_loader(name, self, is_package=name == _PLACE)
        return None

    def create_module(self, spec):
        module = importlib.import_module(_PACKAGE + (spec.name[len(_PLACE) :] or ".contract"))
        self._own = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._own


def version_of(text):
    """The first two numbers of a version."""
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in text.split(".")[:2])


def check_version(text):
    """Refuses a Keras that is too old, and warns of one that has not been tested."""
    found, wanted = version_of(text), f"expected Keras {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
    if found < OLDEST:
        raise ImportError(f"{_PACKAGE}: {wanted}, found {text}")
    if found > NEWEST:
        warnings.warn(f"{_PACKAGE}: {wanted}, found {text}, with which it has not been tested", stacklevel=2)


def _installed():
    try:
        return importlib.metadata.version("keras")
    except importlib.metadata.PackageNotFoundError:
        raise ImportError(f"{_PACKAGE} needs Keras: pip install keras") from None


def attach():
    """Imports Keras with this backend. Does nothing if it is imported so already."""
    if "keras" in sys.modules:
        config = sys.modules.get("keras.src.backend.config")
        name = config.backend() if config is not None else "another version's"
        if name != NAME:
            raise ImportError(
                f"{_PACKAGE}: keras was imported before, with the backend {name!r}: import {_PACKAGE} first"
            )
        return
    check_version(_installed())
    finder, before = _Finder(), os.environ.get("KERAS_BACKEND")
    sys.meta_path.insert(0, finder)
    os.environ["KERAS_BACKEND"] = _STANDS_FOR
    try:
        importlib.import_module("keras")
    except BaseException:
        for name in [n for n in sys.modules if n == "keras" or n.startswith("keras.")]:
            del sys.modules[name]
        raise
    finally:
        sys.meta_path.remove(finder)
        os.environ["KERAS_BACKEND"] = before or NAME
    _take_name()


def _take_name():
    config = importlib.import_module("keras.src.backend.config")
    config._BACKEND = NAME
    backend = importlib.import_module("keras.src.backend")
    dynamic = importlib.import_module("keras.src.utils.backend_utils").DynamicBackend
    find = dynamic.__getattr__

    def found(self, name):
        """A function of the backend by name, where preprocessing layers ask for one."""
        return getattr(backend, name) if self._backend == NAME else find(self, name)

    dynamic.__getattr__ = found
    own = importlib.import_module(_PACKAGE + ".optimizer")
    importlib.import_module("keras.src.optimizers.optimizer").BackendOptimizer._backend_update_step = own.update_step
    own = importlib.import_module(_PACKAGE + ".export")
    importlib.import_module("keras.src.export").export_onnx = own.export_onnx
