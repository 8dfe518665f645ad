"""The state of a model by paths, as Keras's files have it: attributes in order, in lists the names of classes."""

import os
import tempfile

from ....abi import Unsupported
from .. import overrides
from ..layers.custom import _NOT_LAYERS
from ..optimizers import in_files
from ..utils.naming import snake_case
from . import hdf5

_SAVED = ("layer", "optimizer", "metric")


class Arrays(dict):
    """The arrays of one object, by key."""

    def __setitem__(self, key, value):
        import numpy

        super().__setitem__(str(key), numpy.asarray(value))


class Stored:
    """The arrays of one object in files."""

    def __init__(self, files, group):
        self._places = {name: file for file in files for name in file.within(group)}
        self._group = group

    def __getitem__(self, key):
        if key not in self._places:
            raise KeyError(key)
        return self._places[key].read(f"{self._group}/{key}")

    def keys(self):
        return self._places.keys()

    def __contains__(self, key):
        return key in self._places

    def __len__(self):
        return len(self._places)

    def __iter__(self):
        return iter(self._places)


def is_saved(x):
    return getattr(type(x), "_category", None) in _SAVED


def _is_assembled(x):
    """Is it a model whose layers are listed, functional or sequential?"""
    return getattr(x, "_base", None) is not None or hasattr(x, "_list")


def _children(thing):
    """Attributes with what is saved in them, private ones last."""
    is_model = hasattr(type(thing), "_interface") and type(thing)._interface == "model"
    if is_model and _is_assembled(thing):
        yield "layers", thing.layers
    if not is_model and thing._category != "layer":
        names = [n for n in vars(thing) if n[0] != "_"]
    else:
        known = {*dir(overrides.own_class(thing)), *_NOT_LAYERS, "_list"}
        names = {*vars(thing), *(n for c in type(thing).__mro__ if not overrides.is_ours(None, c) for n in vars(c))}
        names = {n for n in names - known if n[:2] != "__"}
        if is_model:
            names |= {"optimizer"} if _is_assembled(thing) else {"layers", "optimizer"}
    for name in sorted(names, key=lambda n: f"~{n}" if n[0] == "_" else n):
        try:
            value = getattr(thing, name)
        except Exception:  # a property of its user's may not be there yet
            continue
        if is_saved(value) or isinstance(value, (list, tuple, dict)):
            yield name, value


def _members(container):
    """Of a list or dict: names of classes, each with its number from the second on."""
    counts = {}
    for item in container.values() if isinstance(container, dict) else container:
        nested = isinstance(item, (list, tuple, dict))
        if not nested and not is_saved(item):
            continue
        cls = type(item).__name__
        name = "container" if nested else snake_case("GroupedQueryAttention" if cls == "GroupQueryAttention" else cls)
        counts[name] = counts.get(name, -1) + 1
        yield f"{name}_{counts[name]}" if counts[name] else name, item


def _below(path, name):
    return f"{path}/{name}" if path else name


class _Walk:
    """Over all objects, each once; those of `skipped` never."""

    def __init__(self, model, skipped):
        self.model, self.seen, self.containers = model, {id(x) for x in skipped or ()}, set()
        self._optimizer = getattr(model, "optimizer", None)

    def children(self, thing, path):
        for name, child in _children(thing):
            self.visit(child, _below(path, name))

    def _by_the_library(self, thing, path, method, whole):
        """Are the variables saved or loaded already, or none? A method of its user's is called in any case."""
        if thing._category == "layer" and _inner(thing):
            whole(thing, path)
            return not overrides.is_overridden(thing, method)
        return not hasattr(thing, method)

    def visit(self, x, path):
        if is_saved(x):
            self.object(x, path)
        elif isinstance(x, (list, tuple, dict)) and id(x) not in self.containers:
            self.containers.add(id(x))
            for name, item in _members(x):
                self.visit(item, _below(path, name))


class Saving(_Walk):
    """Arrays by path, and folders for assets."""

    def __init__(self, model, assets=None, skipped=None):
        super().__init__(model, skipped)
        self.arrays, self._assets = {}, assets
        self.object(model, "")

    def object(self, thing, path):
        if id(thing) in self.seen:
            return
        self.seen.add(id(thing))
        store = Arrays()
        if thing is self._optimizer and not overrides.is_overridden(thing, "save_own_variables"):
            for i, array in enumerate(in_files.arrays_of(self.model)):
                store[i] = array
        elif not self._by_the_library(thing, path, "save_own_variables", self._save_alone):
            thing.save_own_variables(store)
        self.arrays.update({_below(path, f"vars/{key}"): array for key, array in store.items()})
        if self._assets is not None and hasattr(thing, "save_assets"):
            folder = os.path.join(self._assets, path)
            os.makedirs(folder, exist_ok=True)
            thing.save_assets(folder)
        self.children(thing, path)

    def _save_alone(self, layer, path):
        self.arrays.update({_below(path, name): array for name, array in _state_alone(layer).items()})


class Loading(_Walk):
    """Gives all objects what files have of them. `errors`: by object, what could not be done. Of files of weights
    alone an optimizer that has not trained takes nothing, as in Keras: what it was made with stays."""

    def __init__(self, model, files, assets=None, skipped=None, weights_alone=False):
        super().__init__(model, skipped)
        self._weights_alone = weights_alone
        self._files, self._assets, self.errors, self._under_way = files, assets, {}, set()
        self.object(model, "")

    def object(self, thing, path):
        if id(thing) in self.seen or id(thing) in self._under_way:
            return
        failed, works = len(self.errors), True
        self._under_way.add(id(thing))
        try:
            self._load(thing, path)
        except Exception as e:  # at another path there may be what it needs
            works, self.errors[id(thing)] = False, (thing, e)
        self.children(thing, path)
        self._under_way.remove(id(thing))
        if works and len(self.errors) <= failed:
            self.seen.add(id(thing))
        if works:
            self.errors.pop(id(thing), None)

    def _load(self, thing, path):
        store = Stored(self._files, _below(path, "vars"))
        if thing is self._optimizer and not overrides.is_overridden(thing, "load_own_variables"):
            if len(store) and not self.model.built:
                raise ValueError(f"the model has not been built, and optimizer '{thing.name}' has no variables")
            if len(store) and self._weights_alone and not in_files.is_under_way(self.model):
                in_files.is_count(thing, len(in_files.numbers_of(thing)), len(store))
            elif len(store):
                in_files.put(self.model, [store[str(i)] for i in range(len(store))])
        elif not self._by_the_library(thing, path, "load_own_variables", self._load_alone):
            thing.load_own_variables(store)
        if self._assets is not None and hasattr(thing, "load_assets"):
            thing.load_assets(os.path.join(self._assets, path))

    def _load_alone(self, layer, path):
        found = {}
        for file in self._files:
            found.update({p[len(path) + 1 :]: file.read(p) for p in file.paths() if p.startswith(path + "/")})
        function = layer._alone()
        with tempfile.TemporaryDirectory() as folder:
            start = _file_alone(function, folder)[1]
            name = os.path.join(folder, "now.weights.h5")
            with open(name, "wb") as file:
                hdf5.write(file, {f"{start}/{key}": array for key, array in found.items()})
            function.core.load_weights(name)


def _inner(layer):
    """Is it a layer of the library's whose weights stand, in files, in layers within it?"""
    name = layer._class_name
    if name in (None, "Functional") or layer._first_native_call is None or not layer._native_weights():
        return False
    if name not in _HAVE_INNER:
        try:
            _HAVE_INNER[name] = any(not path.startswith("vars/") for path in _state_alone(layer))
        except Unsupported:  # Keras has no such layer: its weights are numbered
            _HAVE_INNER[name] = False
    layer._inner_in_files = _HAVE_INNER[name]
    return _HAVE_INNER[name]


_HAVE_INNER = {}  # by class, once one has been seen


# A layer of the library that has layers in it: its part of a file is what the library writes for a model of it alone.


def _file_alone(function, folder):
    """The file of that model, and the path of the layer in it."""
    name = os.path.join(folder, "alone.weights.h5")
    function.core.save(name)
    with open(name, "rb") as f:
        file = hdf5.Hdf5(f.read())
    return file, "/".join(file.paths()[0].split("/")[:2])


def _state_alone(layer):
    with tempfile.TemporaryDirectory() as folder:
        file, start = _file_alone(layer._alone(), folder)
        return {path[len(start) + 1 :]: file.read(path) for path in file.paths()}
