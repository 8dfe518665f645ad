"""KerasFileEditor: the weights of a file, looked at and changed."""

import json
import os
import zipfile

from ..export import keras_export
from . import hdf5
from .saving_lib import _CONFIG, _METADATA, _WEIGHTS, _replacing, _state


@keras_export("saving")
class KerasFileEditor:
    """What a `.keras` or `.weights.h5` file holds, as nested dicts of arrays in `weights_dict`. Objects are told by
    name or by path; save() writes a `.weights.h5` file."""

    def __init__(self, filepath):
        self.filepath, path = filepath, os.fspath(filepath)
        self.metadata = self.config = self.model = None
        if path.endswith(".keras"):
            with zipfile.ZipFile(path) as archive:
                self.config = json.loads(archive.read(_CONFIG))
                self.metadata = json.loads(archive.read(_METADATA))
                data = archive.read(_WEIGHTS)
        elif path.endswith(".weights.h5"):
            with open(path, "rb") as file:
                data = file.read()
        else:
            raise ValueError(
                f"Invalid filename: expected a `.keras` `.weights.h5` extension. Received: filepath={filepath}"
            )
        file = hdf5.Hdf5(data)
        self.weights_dict = nested({name: file.read(name) for name in file.paths()})

    def summary(self):
        """Prints objects and the shapes of their weights."""
        print("Weights structure")
        self._show(self.weights_dict, 1)

    def _show(self, group, depth):
        for name, value in group.items():
            shape = "" if isinstance(value, dict) else f" shape={value.shape}, dtype={value.dtype}"
            print(f"{'    ' * depth}{name}{':' if shape else ''}{shape}")
            if not shape:
                self._show(value, depth + 1)

    def compare(self, reference_model):
        """Prints in what the file differs from a model; gives a status and the number of differences."""
        wrong, same = [], []
        self._compare(self.weights_dict, nested(_state(reference_model)), "", wrong, same)
        for line in wrong:
            print(f"...{line}")
        if wrong:
            print(f"Found {len(wrong)} error(s).")
            return {"status": "error", "error_count": len(wrong), "match_count": len(same)}
        print("Comparison successful: saved file is compatible with the reference model.")
        return {"status": "success", "error_count": 0, "match_count": len(same)}

    def _compare(self, mine, theirs, path, wrong, same):
        for name in dict.fromkeys([*theirs, *mine]):
            place, a, b = f"{path}/{name}", mine.get(name), theirs.get(name)
            if a is None or b is None:
                wrong.append(f"{place} is in the {'reference model' if a is None else 'saved file'} alone")
            elif isinstance(a, dict) and isinstance(b, dict):
                self._compare(a, b, place, wrong, same)
            elif isinstance(a, dict) or isinstance(b, dict) or a.shape != b.shape:
                shapes = (getattr(x, "shape", "an object") for x in (a, b))
                wrong.append("{}: the file has {}, the reference model {}".format(place, *shapes))
            else:
                same.append(place)

    def rename_object(self, object_name, new_name):
        """Gives an object another name, at the same place."""
        group, name = self._found(object_name)
        if "/" in new_name or new_name in group:
            raise ValueError(f"Argument `new_name`: expected a free name without '/', got {new_name!r}")
        items = [(new_name if key == name else key, value) for key, value in group.items()]
        group.clear()
        group.update(items)

    def delete_object(self, object_name):
        """Takes a layer with its weights out of the file."""
        group, name = self._found(object_name)
        del group[name]

    def add_object(self, object_path, weights):
        """Adds an object at a path, with a dict of its weights."""
        group = self.weights_dict
        *parts, name = object_path.split("/")
        for part in parts:
            if not isinstance(group.get(part), dict):
                raise ValueError(f"There is no object {part!r} in {object_path!r}")
            group = group[part]
        if name in group:
            raise ValueError(f"There is an object of the path {object_path!r} already")
        group[name] = dict(_checked(weights))

    def delete_weight(self, object_name, weight_name):
        """Takes a weight out of the file."""
        group, name = self._found(object_name)
        if isinstance(group[name].get(weight_name), (dict, type(None))):
            raise ValueError(f"Weight {weight_name!r} not found in object {object_name!r}")
        del group[name][weight_name]

    def add_weights(self, object_name, weights):
        """Adds weights, or replaces those of the same names."""
        group, name = self._found(object_name)
        group[name].update(_checked(weights))

    def save(self, filepath):
        """Writes the weights to a `.weights.h5` file."""
        path = os.fspath(filepath)
        if not path.endswith(".weights.h5"):
            raise ValueError(f"Invalid `filepath` argument: expected a `.weights.h5` extension. Received: {filepath}")
        arrays = {}
        self._gather(self.weights_dict, "", arrays)
        with _replacing(path) as file:
            hdf5.write(file, arrays)

    resave_weights = save

    def _gather(self, group, path, arrays):
        for name, value in group.items():
            if isinstance(value, dict):
                self._gather(value, f"{path}{name}/", arrays)
            else:
                arrays[f"{path}vars/{name}"] = value

    def _found(self, wanted):
        """The dict that an object stands in and its name there; there has to be one."""
        found = list(_named(wanted.strip("/"), self.weights_dict, ""))
        if not found:
            raise ValueError(f"Object {wanted!r} not found in the file")
        if len(found) > 1:
            raise ValueError(f"Name {wanted!r} occurs more than once: expected the whole path of the object")
        return found[0]


def _named(path, group, at):
    """The dicts below a group that have a dict of this name or path, and its name there."""
    for name, value in group.items():
        if isinstance(value, dict):
            if path in (name, at + name):
                yield group, name
            yield from _named(path, value, f"{at}{name}/")


def nested(arrays):
    """Arrays by path as dicts in dicts, without the groups `vars`."""
    root = {}
    for path, array in arrays.items():
        group, (*parts, name) = root, path.split("/")
        for part in parts if parts[-1:] != ["vars"] else parts[:-1]:
            group = group.setdefault(part, {})
        group[name] = array
    return root


def _checked(weights):
    import numpy

    if not isinstance(weights, dict):
        raise ValueError(f"Argument `weights` should be a dict of arrays by name. Received: weights={weights}")
    return {str(name): numpy.asarray(array) for name, array in weights.items()}
