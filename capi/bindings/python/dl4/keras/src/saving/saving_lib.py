"""Models and weights in files."""

import contextlib
import io
import json
import os
import tempfile
import time
import warnings
import zipfile

from .... import abi, core
from .. import overrides
from ..backend import global_state
from ..backend.config import version
from ..kind import is_native
from ..models.operations import of_keras
from ..optimizers import in_files
from ..quantizers import fitting, quantize
from ..symbolic.numpy_call import NumPyLayer
from ..tree import flatten
from ..utils.io_utils import log_warning
from . import hdf5, legacy_h5_format
from .serialization_lib import deserialize_keras_object, serialize_keras_object
from .walk import Loading, Saving

_CONFIG, _METADATA, _WEIGHTS, _ASSETS = "config.json", "metadata.json", "model.weights.h5", "assets"


def _need_files(model, who):
    """Raises for what would have to be called for a file, where the library writes and reads it."""
    for layer in model._flatten_layers():
        overrides.refuse(layer, who, "save")
        fitting.need_fitted(layer, who)


def _path(filepath, overwrite):
    path = os.fspath(filepath)
    if not overwrite and os.path.exists(path):
        raise FileExistsError(path)
    return path


def _is_listed(nest):
    """Is it one tensor, or a list of several? The library's files know no other nests."""
    return not isinstance(nest, (dict, list, tuple)) or (
        len(nest) > 1 and not isinstance(nest, dict) and not any(isinstance(v, (dict, list, tuple)) for v in nest)
    )


def is_plain(model):
    """Is it made of the library's layers alone, none of them in a model within? Its files the library writes."""
    layers = model._flatten_layers()
    functional = model._functional
    if functional is None or functional.ahead is not None or model._has_custom_call():
        return False
    in_python = any(isinstance(c.layer, NumPyLayer) for c in functional.calls)
    if in_python or any(t.call.optional for t in functional.inputs):
        return False
    if not _is_listed(functional.nest_in) or not _is_listed(functional.nest_out):
        return False
    ours = all(overrides.own_class(x) is type(x) and (x is model or x._class_name is not None) for x in layers)
    return (
        ours
        and not any(x is not model and getattr(x, "_interface", None) == "model" for x in layers)
        and not any(x._is_custom() or x._variables for x in layers if x is not model)
        and not any(overrides.having(x, "save") for x in layers)
    )


def _is_plainly_compiled(model):
    """Is all that it was compiled with the library's, so that the library writes that too? A lambda has no name by
    which a file could call it."""
    given = [v for key in model._compiled for v in flatten(model._compiled[key])]
    named = [v for v in given if callable(v) and not is_native(v) and getattr(v, "__name__", "") != "<lambda>"]
    return not model._trains_by_steps() and not named


def save_model(model, filepath, overwrite=True, zipped=None, **kwargs):
    """A whole model: .safetensors; .keras for Keras, with what it was compiled with and its optimizer's state. With
    zipped=False a folder of what a .keras file holds."""
    save_format = kwargs.pop("save_format", None)
    include_optimizer = kwargs.pop("include_optimizer", True)
    if kwargs:
        raise ValueError(f"The following argument(s) are not supported: {list(kwargs)}")
    if isinstance(filepath, io.IOBase):
        return _write_archive(model, filepath)
    path = _path(filepath, overwrite)
    if save_format and not path.endswith((".h5", ".hdf5", ".keras")):
        raise ValueError(
            "The `save_format` argument is deprecated in Keras 3. Please remove this argument and pass a file path "
            f"with either `.keras` or `.h5` extension.Received: save_format={save_format}"
        )
    if zipped is False and path.endswith(".keras"):
        raise ValueError(
            f"When using `zipped=False`, the `filepath` argument should not end in `.keras`. Received: filepath={path}"
        )
    if zipped is False:
        return _write_folder(model, path)
    legacy = path.endswith((".h5", ".hdf5"))
    if legacy:
        log_warning(
            "You are saving your model as an HDF5 file via `model.save()` or `keras.saving.save_model(model)`. "
            "This file format is considered legacy. We recommend using instead the native Keras format, e.g. "
            "`model.save('my_model.keras')` or `keras.saving.save_model(model, 'my_model.keras')`. "
        )
    if not include_optimizer and not legacy:
        raise ValueError(f"The following argument(s) are not supported: ['include_optimizer'], for {path}")
    plain = is_plain(model) and (not model.compiled or _is_plainly_compiled(model))
    if path.endswith(".keras") and not (plain and (not hasattr(model, "_list") or not in_files.has_place(model))):
        _warn_unbuilt(model)
        with _replacing(path) as file:
            return _write_archive(model, file)
    _need_files(model, "save()")
    need_no_texts(model)
    constrained = [w.path for w in model._constrained()]
    if constrained:
        warnings.warn(f"{path}: saved without the constraints in Python of {', '.join(constrained)}", stacklevel=3)
    if legacy:
        with _replacing(path) as file:
            return legacy_h5_format.write(file, model, include_optimizer)
    for layer in model._flatten_layers() if path.endswith(".keras") else ():
        if layer._class_name in quantize.HEADED and layer._quantization() is not None:
            quantize.map_of(layer, layer._quantization())
    if path.endswith(".keras") and model.compiled:
        try:
            return model._save_training(path)
        except (ValueError, abi.Error) as e:  # the model is saved in any case, as Keras does
            warnings.warn(f"{path}: saved without what the model was compiled with: {e}", stacklevel=3)
    model.core.save(path)


def _warn_unbuilt(model):
    if not model.built:
        warnings.warn(
            "You are saving a model that has not yet been built. It might not contain any weights yet. Consider "
            "building the model first by calling it on some data.",
            stacklevel=3,
        )


def need_no_texts(model):
    """Raises where layers that are Python stand in a model: a file of the library has no place for them."""
    ahead = None if model._functional is None else model._functional.ahead
    if ahead is not None:
        names = ", ".join(layer.name for layer in ahead.layers())
        raise NotImplementedError(
            f"{model.name}: a model with layers that run in Python ({names}) can only be saved as .keras"
        )


# ---- Keras's files of any model


@contextlib.contextmanager
def _replacing(path):
    """A file that takes its place when it is whole."""
    handle, name = tempfile.mkstemp(dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask():
    now = os.umask(0)
    os.umask(now)
    return now


def _texts(model):
    said = {"keras_version": version(), "date_saved": time.strftime("%Y-%m-%d@%H:%M:%S")}
    return {_METADATA: json.dumps(said), _CONFIG: json.dumps(serialize_keras_object(model), default=list)}


def _state(model, assets=None, skipped=None):
    """Arrays of all objects; without the optimizer's where it has no place."""
    try:
        return Saving(model, assets, skipped).arrays
    except NotImplementedError as e:
        optimizer = getattr(model, "optimizer", None)
        if optimizer is None:
            raise
        arrays = Saving(model, assets, [*(skipped or ()), optimizer]).arrays
        warnings.warn(f"{model.name}: saved without the optimizer's state: {e}", stacklevel=4)
        return arrays


def _write_archive(model, file):
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(file, "w") as archive:
        for name, text in _texts(model).items():
            archive.writestr(name, text)
        assets = os.path.join(folder, _ASSETS)
        with open(os.path.join(folder, _WEIGHTS), "wb") as weights:
            hdf5.write(weights, _state(model, assets))
        archive.write(os.path.join(folder, _WEIGHTS), _WEIGHTS)
        for inside, _, names in os.walk(assets):
            for name in names:
                place = os.path.join(inside, name)
                archive.write(place, os.path.relpath(place, folder).replace(os.sep, "/"))


def write_object(thing, filepath):
    """A layer that stands alone, as .keras."""
    with _replacing(_path(filepath, True)) as file:
        _write_archive(thing, file)


def _write_folder(model, path):
    _warn_unbuilt(model)
    os.makedirs(path, exist_ok=True)
    for name, text in _texts(model).items():
        with open(os.path.join(path, name), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(path, _WEIGHTS), "wb") as file:
        hdf5.write(file, _state(model, os.path.join(path, _ASSETS)))


# A member of an archive that says to be far more than is stored of it would fill memory, or the disk: Keras's limits.
_ZIP_MEMBER_BOMB_FLOOR_BYTES, _ZIP_EXTRACT_BOMB_FLOOR_BYTES, _ZIP_MEMBER_MAX_EXPANSION = 1 << 32, 1 << 28, 100


def _need_real(member, floor):
    if member.file_size > max(floor, _ZIP_MEMBER_MAX_EXPANSION * member.compress_size):
        raise ValueError(
            f"Not allowed: ZIP member '{member.filename}' declares {member.file_size} bytes but only "
            f"{member.compress_size} are stored on disk; refusing to load a potential decompression bomb."
        )


def _safe_zip_read(archive, name):
    _need_real(archive.getinfo(name), _ZIP_MEMBER_BOMB_FLOOR_BYTES)
    return archive.read(name)


def _has_models(config):
    """Are there models or classes of the user's own among the layers, which the library would read as one layer?"""
    known = "keras.layers", "keras.src.ops"
    layers = config.get("config", {}).get("layers", ()) if isinstance(config.get("config"), dict) else ()
    return any(isinstance(item, dict) and not str(item.get("module")).startswith(known) for item in layers)


def is_readable(config, operators=None):
    """Can a model be made of a config here, or has it what the library alone knows: Keras 2's words, or operations?
    operators: those that are operators count as known; by default where there are models within."""
    operators = _has_models(config) if operators is None else operators
    if isinstance(config, dict):
        config = (of_keras(config) if operators else None) or config
        if "class_name" in config and "config" in config and "module" not in config:
            return config["class_name"][:2] == "__"
        if str(config.get("module")).startswith("keras.src.ops"):
            return False
        return all(is_readable(value, operators) for value in config.values())
    return not isinstance(config, (list, tuple)) or all(is_readable(value, operators) for value in config)


def _is_of_keras_2(archive, config):
    """Did Keras 2 write it, of its own classes alone? Its words only the library knows."""
    if _METADATA not in archive.namelist():
        return False
    old = str(json.loads(_safe_zip_read(archive, _METADATA)).get("keras_version")).startswith("2.")
    return old and all(module.startswith(("keras", "tf_keras")) for module in _modules(config))


def _modules(config):
    if isinstance(config, dict):
        yield from [config["module"]] if isinstance(config.get("module"), str) else []
    for value in config.values() if isinstance(config, dict) else config if isinstance(config, list) else ():
        yield from _modules(value)


def model_of_archive(filepath, custom_objects, compile, safe_mode):
    """The model of a .keras file or of such a folder; None where the library has to read it."""
    if not isinstance(filepath, io.IOBase) and os.path.isdir(filepath):
        with open(os.path.join(filepath, _CONFIG), encoding="utf-8") as file:
            config = json.load(file)
        with open(os.path.join(filepath, _WEIGHTS), "rb") as file:
            weights = file.read()
        return _model_of(config, weights, os.path.join(filepath, _ASSETS), custom_objects, compile, safe_mode)
    with zipfile.ZipFile(filepath) as archive:
        config = json.loads(_safe_zip_read(archive, _CONFIG))
        for member in archive.infolist():
            _need_real(member, _ZIP_EXTRACT_BOMB_FLOOR_BYTES)
        plain = {k: v for k, v in config.items() if k != "compile_config"}
        if _is_of_keras_2(archive, config) or not is_readable(plain):
            return None
        with tempfile.TemporaryDirectory() as folder:
            names = [n for n in archive.namelist() if n.startswith(f"{_ASSETS}/")]
            archive.extractall(folder, names)
            if _WEIGHTS not in archive.namelist():
                raise ValueError(f"Expected a {_WEIGHTS} file.")
            assets = os.path.join(folder, _ASSETS) if names else None
            return _model_of(config, _safe_zip_read(archive, _WEIGHTS), assets, custom_objects, compile, safe_mode)


def _model_of(config, weights, assets, custom_objects, compile, safe_mode):
    if not compile:
        config.pop("compile_config", None)
    model = deserialize_keras_object(config, custom_objects, safe_mode)
    errors = Loading(model, [hdf5.Hdf5(weights)], assets).errors
    global_state.changed()
    if errors:
        raise ValueError(_failures(errors))
    return model


def _failures(errors):
    thing, error = next(iter(errors.values()))
    return (
        f"A total of {len(errors)} objects could not be loaded. Example error message for object {thing}:\n\n{error}"
        f"\n\nList of objects that could not be loaded:\n{[thing for thing, _ in errors.values()]}"
    )


# ---- weights alone


def save_weights(model, filepath, overwrite=True, max_shard_size=None, objects_to_skip=None):
    """As .weights.h5, .npz or, with the architecture, .safetensors; as .weights.json, with files of at most
    `max_shard_size` GB beside it."""
    path = _path(filepath, overwrite)
    if max_shard_size is not None and not path.endswith(("weights.h5", "weights.json")):
        raise ValueError(
            f"The filename must end in `.weights.json` when `max_shard_size` is specified. Received: filepath={path}"
        )
    if not model.built:
        raise ValueError(
            "You are saving a model that has not yet been built. Try building the model first by calling it on some "
            "data or by using `build()`."
        )
    if max_shard_size is not None:
        return _write_shards(path, _state(model, skipped=objects_to_skip), max_shard_size)
    if path.endswith(".weights.h5") and (objects_to_skip is not None or model.compiled or not is_plain(model)):
        arrays = _state(model, skipped=objects_to_skip)
        with _replacing(path) as file:
            return hdf5.write(file, arrays)
    _need_files(model, "save_weights()")
    if not path.endswith((".weights.h5", ".npz", ".safetensors")):
        raise ValueError(
            "The filename must end in `.weights.h5`, or in one of the library's, .npz or .safetensors. "
            f"Received: filepath={path}"
        )
    model.core.save(path)


def _write_shards(path, arrays, max_shard_size):
    base = path[: path.rindex("weights.")].rstrip(".")
    limit, shards, where, size = max_shard_size * 2**30, [{}], {}, 0
    if not path.endswith(".json"):
        warnings.warn(
            f"Saving sharded weights requires `*.json` as the extension. The original path: {path} will be renamed to "
            f"{base}.weights.json.",
            stacklevel=4,
        )
    for key, array in arrays.items():
        if array.nbytes > limit:
            raise ValueError(
                f"The size of {key} is {array.nbytes} bytes which exceeds the maximum shard size {int(limit)} bytes. "
                "You can increase the `max_shard_size` parameter to accommodate the size."
            )
        if size + array.nbytes > limit:
            shards.append({})
            size = 0
        shards[-1][key], size = array, size + array.nbytes
        group, name = "/" + key.rsplit("/", 1)[0], f"{os.path.basename(base)}_{len(shards) - 1:05}.weights.h5"
        if name not in where.setdefault(group, []):
            where[group].append(name)
    for i, shard in enumerate(shards):
        with _replacing(f"{base}_{i:05}.weights.h5") as file:
            hdf5.write(file, shard)
    total = sum(array.nbytes for array in arrays.values())
    places = {group: names[0] if len(names) == 1 else names for group, names in where.items()}
    with open(f"{base}.weights.json", "w", encoding="utf-8") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": places}, file, indent=4)


def _shards(path):
    path = path[: -len(".h5")] + ".json" if path.endswith(".h5") else path
    with open(path, encoding="utf-8") as file:
        places = json.load(file)["weight_map"].values()
    names = {n for place in places for n in ([place] if isinstance(place, str) else place)}
    if any(os.path.basename(n) != n for n in names):
        raise ValueError(f"{path}: expected names of files beside it, got {sorted(names)}")
    return [hdf5.of_path(os.path.join(os.path.dirname(path), name)) for name in sorted(names)]


def load_weights(model, filepath, skip_mismatch=False, objects_to_skip=None, by_name=None, **kwargs):
    """Of Keras's files by the paths of layers, of .npz by name; of this library's by position, as the weights stand in
    both."""
    if kwargs:
        raise ValueError(f"Invalid keyword arguments: {kwargs}")
    path = os.fspath(filepath)
    walked = path.endswith((".weights.h5", ".weights.json", ".keras"))
    if by_name is not None and walked:
        raise ValueError(f"`by_name` only supports loading legacy '.h5' or '.hdf5' files. Received: {path}")
    if objects_to_skip is not None and not path.endswith((".weights.h5", ".weights.json")):
        raise ValueError(f"`objects_to_skip` only supports loading '.weights.h5' files.Received: {path}")
    if not walked and not path.endswith((".h5", ".hdf5", ".npz", ".safetensors", ".dl4")) and not os.path.exists(path):
        raise ValueError(f"File format not supported: filepath={path}.")
    if not model.built:
        raise ValueError(
            "You are loading weights into a model that has not yet been built. Try building the model first by calling "
            "it on some data or by using `build()`."
        )
    by_hand = path.endswith(".json") or skip_mismatch or objects_to_skip is not None
    if walked and (by_hand or model.compiled or not is_plain(model)):
        return _load_walked(model, path, skip_mismatch, objects_to_skip)
    if path.endswith((".h5", ".hdf5")) and not walked and os.path.exists(path):
        file = hdf5.of_path(path)
        if legacy_h5_format.is_known(file):
            legacy_h5_format.load(file, model, by_name, skip_mismatch)
            return global_state.changed()
    if by_name:
        raise NotImplementedError(f"{path}: load_weights(by_name=True) supports only .h5 files in Keras's format")
    _need_files(model, "load_weights()")
    if path.endswith((".h5", ".hdf5", ".keras", ".npz")):
        if skip_mismatch:
            raise NotImplementedError(
                f"{path}: skip_mismatch is supported for .weights.h5 and for files of this library "
                "only"
            )
        model.core.load_weights(path)
        return global_state.changed()
    other = core.Model.load(path, global_state.context())
    mine = [(name, shape) for name, shape, _ in model.core.weights()]
    theirs = [(name, shape) for name, shape, _ in other.weights()]
    if len(mine) != len(theirs):
        raise ValueError(f"the file has {len(theirs)} weights, the model {len(mine)}")
    for (name, shape), (their, its) in zip(mine, theirs):
        if shape != its and skip_mismatch:
            continue
        model.core.set_weight(name, other.get_weight(their))
    global_state.changed()


def _load_walked(model, path, skip_mismatch, skipped):
    if path.endswith(".json"):
        files = _shards(path)
    elif path.endswith(".keras"):
        with zipfile.ZipFile(path) as archive:
            files = [hdf5.Hdf5(_safe_zip_read(archive, _WEIGHTS))]
    else:
        files = [hdf5.of_path(path)]
    errors = Loading(model, files, None, skipped, weights_alone=True).errors
    global_state.changed()
    if errors and not skip_mismatch:
        raise ValueError(_failures(errors))
    if errors:
        warnings.warn(_failures(errors), stacklevel=3)
