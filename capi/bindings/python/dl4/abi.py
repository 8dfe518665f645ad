"""The C interface: finds the library, declares its functions from its own description, turns errors into exceptions."""

import ctypes as C
import json
import os

from .remedies import worded


class _Library(C.CDLL):
    """The library; functions are declared at first use."""

    declared = {}

    def __getitem__(self, name):
        function = super().__getitem__(name)
        if name in self.declared:
            known = self.declared[name]
            function.restype = _type(known["returns"])
            function.argtypes = [callbacks.get(p["type"]) or _type(p["type"]) for p in known["parameters"]]
        return function


def _load():
    """Loads the library: the one that DL4_LIBRARY names, else that of the package dl4-full, else the one inside this
    package, else the system's."""
    name = "dl4.dll" if os.name == "nt" else "libdl4.so.1"
    if "DL4_LIBRARY" in os.environ:
        return _Library(os.environ["DL4_LIBRARY"])
    try:
        import dl4_full
    except ModuleNotFoundError:
        inside = os.path.join(os.path.dirname(__file__), "lib", name)
    else:
        inside = dl4_full.library
    return _Library(inside if os.path.exists(inside) else name)


library = _load()
_SCALARS = {
    "int32_t": C.c_int32,
    "int64_t": C.c_int64,
    "double": C.c_double,
    "const char *": C.c_char_p,
    "dl4_node": C.c_int32,
    "dl4_layer": C.c_int32,
    "void": None,
}


def _type(name):
    return _SCALARS.get(name, C.c_void_p)


def _described():
    """The library's description of itself, which declares the rest."""
    library.dl4_blob_data.restype, library.dl4_blob_data.argtypes = C.c_char_p, [C.c_void_p]
    library.dl4_release.argtypes = [C.c_void_p]
    blob = C.c_void_p()
    library.dl4_api_description(C.byref(blob))
    description = json.loads(library.dl4_blob_data(blob))
    library.dl4_release(blob)
    return description


description = _described()
callbacks = {
    c["name"]: C.CFUNCTYPE(_type(c["returns"]), *[_type(p["type"]) for p in c["parameters"]])
    for c in description["callbacks"]
}
constants = {c["name"]: c["value"] for c in description["constants"]}
library.declared.update((f["name"], f) for f in description["functions"])
_number = library.dl4_version()
version = f"{_number // 1000000}.{_number // 1000 % 1000}.{_number % 1000}"
if _number // 1000000 != 1:
    raise ImportError(f"dl4 for Python is made for version 1 of the library, found {version}")


class Error(Exception):
    """An error of the library, with `layer`, `attribute`, `expected`, `got`, `did_you_mean` if the message has them."""

    def __init__(self, message, code=0, detail=None):
        super().__init__(message)
        self.code = code
        for key in ("function", "layer", "attribute", "argument", "expected", "got", "did_you_mean"):
            setattr(self, key, (detail or {}).get(key))


def _error(name, *bases):
    return type(name, (Error, *bases), {"__doc__": f"{name}: see Error.", "__module__": "dl4"})


# By code, with the class of Python's (and Keras's) that users expect.
InvalidArgument = _error("InvalidArgument", ValueError)
OutOfMemory = _error("OutOfMemory", MemoryError)
UnknownKind = _error("UnknownKind", ValueError)
NotFound = _error("NotFound", ValueError, LookupError)
Cancelled = _error("Cancelled")
ShapeMismatch = _error("ShapeMismatch", ValueError)
Unsupported = _error("Unsupported", NotImplementedError, ValueError)
FileFailure = _error("FileFailure", OSError)
CorruptFile = _error("CorruptFile", ValueError)
WrongVersion = _error("WrongVersion", ValueError)
Busy = _error("Busy", RuntimeError)
CallbackFailed = _error("CallbackFailed", RuntimeError)
NumericError = _error("NumericError", ArithmeticError, RuntimeError)
InternalError = _error("InternalError", RuntimeError)
_BY_CODE = {
    "OUT_OF_MEMORY": OutOfMemory,
    "INVALID_ARGUMENT": InvalidArgument,
    "UNKNOWN_KIND": UnknownKind,
    "NOT_FOUND": NotFound,
    "CANCELLED": Cancelled,
    "SHAPE_MISMATCH": ShapeMismatch,
    "UNSUPPORTED": Unsupported,
    "IO": FileFailure,
    "CORRUPT_FILE": CorruptFile,
    "VERSION": WrongVersion,
    "BUSY": Busy,
    "CALLBACK_FAILED": CallbackFailed,
    "NUMERIC": NumericError,
}
_BY_CODE = {constants["DL4_" + name]: kind for name, kind in _BY_CODE.items()}


class InvalidType(InvalidArgument, TypeError):
    """An argument of another type, or one that is not known: Keras has ValueError here and TypeError there."""


def check(error):
    """Raises the error that a call returned."""
    if not error:
        return
    code = library.dl4_error_code(error)
    message = library.dl4_error_message(error).decode()
    detail = json.loads(library.dl4_error_detail(error))
    library.dl4_release(error)
    raise _BY_CODE.get(code, InternalError)(worded(message, detail.get("function")), code, detail)


def call(name, *args):
    check(getattr(library, name)(*args))


def made(name, *args, type=C.c_void_p):
    """Calls a function whose last parameter receives the new object."""
    out = type()
    check(getattr(library, name)(*args, C.byref(out)))
    return out.value


def text(blob):
    """The text of a blob, which is then released."""
    try:
        return library.dl4_blob_data(blob).decode()
    finally:
        library.dl4_release(blob)


def content(blob):
    """The bytes of a blob, which is then released."""
    try:
        return C.string_at(_data(blob), library.dl4_blob_size(blob))
    finally:
        library.dl4_release(blob)


_data = C.CFUNCTYPE(C.c_void_p, C.c_void_p)(("dl4_blob_data", library))  # as an address: bytes may hold a NUL


def encoded(s):
    return None if s is None else os.fsencode(s)


class Object:
    """A handle; the library's object is released with it."""

    __slots__ = ("handle", "__weakref__")

    def __init__(self, handle):
        self.handle = handle

    def __reduce_ex__(self, protocol):
        """Two objects with one handle would release it twice."""
        raise TypeError(f"cannot copy or pickle '{type(self).__name__}' object: it is a handle of the library's")

    def __del__(self, release=library.dl4_release):
        handle = getattr(self, "handle", None)
        if handle:
            self.handle = None
            release(handle)

    def describe(self, format=1):
        """Description as text (1), JSON (0) or a DOT drawing (2)."""
        return text(made("dl4_describe", self.handle, format))


# The slot itself: no code of Python's runs while ctypes converts an argument, in which a signal's exception would be
# lost.
Object._as_parameter_ = Object.handle


def options_text(values):
    """Options as JSON text."""
    return json.dumps(values, allow_nan=False, default=_plain).encode() if values else None


def node_ids(nodes):
    """An array of nodes; None is none."""
    return (C.c_int32 * len(nodes))(*[-1 if n is None else n for n in nodes])


def refs(models=None, nodes=None):
    """What JSON text can't hold: models of a config, lists of nodes of a call, by key; None if there are none."""
    if not models and not nodes:
        return None
    made_refs = Object(made("dl4_refs_create"))
    for key, model in (models or {}).items():
        call("dl4_refs_set_model", made_refs, key.encode(), model)
    for key, list_ in (nodes or {}).items():
        call("dl4_refs_set_nodes", made_refs, key.encode(), node_ids(list_), len(list_))
    return made_refs


def _plain(value):
    """Numbers and arrays of NumPy, and objects with get_config(), as JSON values."""
    for method in ("tolist", "_to_json"):
        if hasattr(value, method):
            return getattr(value, method)()
    raise TypeError(f"expected numbers, strings, lists or objects of this package, got {type(value).__name__}")


def check_kind(category, name, config=None):
    """Raises what the library refuses of a kind's config; makes nothing of it."""
    call("dl4_registry_check", encoded(category), encoded(name), options_text(config))


def registry(category=None, name=None):
    """Kinds, as described by the library."""
    return json.loads(text(made("dl4_registry_json", encoded(category), encoded(name))))
