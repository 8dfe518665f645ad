"""Tensors: of the library, seen by NumPy, and the other way round; DLPack."""

import ctypes as C

from .abi import InvalidType, Object, callbacks, check, constants, library, made

_NAMES = {"float32": "f4", "float64": "f8", "int32": "i4", "int64": "i8", "bool": "b1", "uint8": "u1"}
DTYPES = {name: constants["DL4_" + name.upper()] for name in (*_NAMES, "string")}
NAMES = {number: name for name, number in DTYPES.items()}


def numpy_module():
    import numpy

    return numpy


def dims(shape):
    return (C.c_int64 * len(shape))(*[-1 if d is None else d for d in shape])


def shape_of(function, *args):
    sizes, rank = (C.c_int64 * 8)(), C.c_int32()
    check(function(*args, sizes, 8, C.byref(rank)))
    return tuple(None if d < 0 else d for d in sizes[: rank.value])


_known = None


def _learn():
    """NumPy's array class, its types by name, and our numbers by its types: slow to ask for, so asked once."""
    global _known
    np = numpy_module()
    types = {name: np.dtype(name) for name in _NAMES}
    _known = {0: np.ndarray, **types, **{types[name]: DTYPES[name] for name in _NAMES}}
    return _known


# Its bytes, which a NUL does not end.
_string_at = C.CFUNCTYPE(C.c_void_p, C.c_void_p, C.c_int64, C.c_void_p)(("dl4_tensor_string", library))
_NO_RELEASE = callbacks["dl4_release_fn"]()
# Where an empty array lies: NumPy before 2.3 takes no null for an address.
_NOTHING = C.create_string_buffer(1)


def _wrapped(dtype, shape, address, nbytes):
    """A tensor over the memory of a NumPy array."""
    out = C.c_void_p()
    check(
        library.dl4_tensor_wrap(
            None,
            dtype,
            len(shape),
            dims(shape),
            None,
            address if nbytes else None,
            nbytes,
            _NO_RELEASE,
            None,
            C.byref(out),
        )
    )
    return out.value


def _python():
    """Python's own functions, with types of arguments apart from what others say of them."""
    return C.PyDLL(C.pythonapi._name, handle=C.pythonapi._handle)


_capsule = _python()
_capsule.PyCapsule_New.restype = C.py_object
_capsule.PyCapsule_New.argtypes = [C.c_void_p, C.c_char_p, C.c_void_p]
_capsule.PyCapsule_GetName.restype, _capsule.PyCapsule_GetName.argtypes = C.c_char_p, [C.py_object]
_capsule.PyCapsule_GetPointer.restype = C.c_void_p
_capsule.PyCapsule_GetPointer.argtypes = [C.py_object, C.c_char_p]
_capsule.PyCapsule_SetName.argtypes = [C.py_object, C.c_char_p]
_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


def _flags(managed):
    """Of a versioned managed tensor: behind its version, its context and its deleter; bit 0 says read-only."""
    return C.c_uint64.from_address(managed + 24)


_DELETERS = {b"dltensor": 48 + 8, b"dltensor_versioned": 16}  # where its deleter stands in a managed tensor


@C.CFUNCTYPE(None, C.c_void_p)
def _dropped(capsule):
    """Of a capsule that nobody took: the tensor in it goes by its own deleter."""
    for name, place in _DELETERS.items():
        if _capsule_raw.PyCapsule_IsValid(capsule, name):
            managed = _capsule_raw.PyCapsule_GetPointer(capsule, name)
            C.CFUNCTYPE(None, C.c_void_p)(C.c_void_p.from_address(managed + place).value)(managed)


_capsule_raw = _python()  # for a capsule that is being freed: no reference may be taken
_capsule_raw.PyCapsule_IsValid.argtypes = [C.c_void_p, C.c_char_p]
_capsule_raw.PyCapsule_GetPointer.restype = C.c_void_p
_capsule_raw.PyCapsule_GetPointer.argtypes = [C.c_void_p, C.c_char_p]
_drop = C.cast(_dropped, C.c_void_p)


class Tensor(Object):
    """An array of the library, which NumPy sees without a copy, or a NumPy array, which the library sees without a
    copy."""

    __slots__ = ("array", "_data", "_read_only")

    @classmethod
    def of(cls, value, dtype=None):
        """Makes a tensor of anything that NumPy accepts; float64 becomes float32. Copies only if the type differs or
        the array is not dense. Strings, as str or bytes in lists or arrays, become a tensor of strings."""
        array, known = value, _known or _learn()
        if type(value) is not known[0] or value.dtype != known.get(dtype or "float32") or not value.flags.c_contiguous:
            if dtype == "string" or _is_text(value):
                return cls._of_strings(value)
            array = cls._array_of(value, dtype)
        address = array.__array_interface__["data"][0]
        number = known.get(array.dtype) or DTYPES[array.dtype.name]  # NumPy has two int64
        tensor = cls(_wrapped(number, array.shape, address, array.nbytes))
        tensor.array, tensor._read_only = array, not array.flags.writeable
        return tensor

    @classmethod
    def _of_strings(cls, value):
        np = numpy_module()
        array = np.asarray(value)
        if array.dtype.kind not in "USOT":
            raise InvalidType(f"expected strings, got an array of {array.dtype}")
        parts = [_bytes_of(v, i) for i, v in enumerate(array.ravel().tolist())]
        offsets = np.zeros(len(parts) + 1, "int64")
        np.cumsum([len(p) for p in parts], out=offsets[1:])
        data = np.frombuffer(b"".join(parts) or b"\0", "uint8")
        out, nbytes = C.c_void_p(), int(offsets[-1])
        check(
            library.dl4_tensor_wrap_strings(
                None,
                array.ndim,
                dims(array.shape),
                DTYPES["int64"],
                offsets.ctypes.data,
                data.ctypes.data,
                nbytes,
                _NO_RELEASE,
                None,
                C.byref(out),
            )
        )
        tensor = cls(out.value)
        tensor.array, tensor._data, tensor._read_only = None, data, True
        return tensor

    @staticmethod
    def _array_of(value, dtype):
        np = numpy_module()
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            first = f"{array.ravel()[:1].tolist()[0]!r:.80}, " if array.size else ""
            raise InvalidType(f"expected numbers, got {first}an array of {array.dtype}")
        if dtype not in DTYPES:
            dtype = "float32" if array.dtype.kind == "f" else array.dtype.name
        if dtype not in DTYPES:
            dtype = "int64"
        return np.ascontiguousarray(array, dtype).reshape(array.shape)

    @classmethod
    def from_dlpack(cls, value):
        """Makes a tensor of a CPU array of any library, without a copy."""
        if not hasattr(value, "__dlpack__"):
            raise TypeError(f"expected an array with __dlpack__(), got {type(value).__name__}")
        try:
            capsule = value.__dlpack__(max_version=(1, 0))  # what is read-only can say so
        except TypeError:
            capsule = value.__dlpack__()
        if type(capsule).__name__ != "PyCapsule":
            raise TypeError(f"expected a capsule of __dlpack__(), got {type(capsule).__name__}")
        name = _capsule.PyCapsule_GetName(capsule)
        if name not in _USED:
            raise ValueError(
                "expected a capsule named dltensor or dltensor_versioned, which can be taken once, got "
                f"{(name or b'').decode(errors='replace')!r}"
            )
        managed, versioned = _capsule.PyCapsule_GetPointer(capsule, name), name == b"dltensor_versioned"
        tensor = cls(made("dl4_tensor_from_dlpack", None, int(versioned), managed))
        _capsule.PyCapsule_SetName(capsule, _USED[name])
        tensor._read_only = versioned and bool(_flags(managed).value & 1)
        return tensor

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        versioned = max_version is not None and max_version[0] >= 1
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"dl_device: expected {self.__dlpack_device__()}, the CPU, got {dl_device}")
        if stream is not None:
            raise BufferError(f"stream: expected None, as the CPU has none, got {stream}")
        if copy:
            return Tensor(made("dl4_tensor_clone", self)).__dlpack__(max_version=max_version)
        if self.read_only and not versioned:
            raise BufferError("a read-only tensor needs max_version=(1, 0): an older capsule can't say it")
        managed = made("dl4_tensor_to_dlpack", self, int(versioned))
        if self.read_only:
            _flags(managed).value |= 1
        return _capsule.PyCapsule_New(managed, b"dltensor_versioned" if versioned else b"dltensor", _drop)

    def __dlpack_device__(self):
        return 1, 0  # the CPU

    @property
    def read_only(self):
        """Whether the numbers may not be changed."""
        return getattr(self, "_read_only", False)

    @property
    def shape(self):
        """The shape, a tuple."""
        rank = library.dl4_tensor_rank(self)
        return tuple((C.c_int64 * rank).from_address(library.dl4_tensor_dims(self))) if rank else ()

    @property
    def dtype(self):
        """The type, by name: "float32"."""
        return NAMES[library.dl4_tensor_dtype(self)]

    @property
    def __array_interface__(self):
        if self.dtype == "string":
            raise AttributeError("a tensor of strings has no array interface: numpy() gives its strings")
        kind, shape = _NAMES[self.dtype], self.shape
        strides = (C.c_int64 * len(shape)).from_address(library.dl4_tensor_strides(self)) if shape else ()
        return {
            "shape": shape,
            "typestr": ("|" if kind in ("b1", "u1") else "<") + kind,
            "version": 3,
            "strides": tuple(s * int(kind[1]) for s in strides),
            "data": (library.dl4_tensor_data(self) or C.addressof(_NOTHING), self.read_only),
        }

    def numpy(self):
        """A NumPy array over the same memory; of strings an array of str, in which bytes of no UTF-8 are surrogates."""
        np = numpy_module()
        if getattr(self, "array", None) is not None:
            return self.array
        if self.dtype == "string":
            return self._strings()
        if not library.dl4_tensor_bytes(self):
            return np.empty(self.shape, self.dtype)
        return np.asarray(self)

    def _strings(self):
        np, size = numpy_module(), C.c_int64()
        shape = self.shape
        array = np.empty(shape, object)
        flat = array.reshape(-1)
        for i in range(flat.size):
            address = _string_at(self.handle, i, C.byref(size))
            flat[i] = C.string_at(address, size.value).decode("utf-8", "surrogateescape")
        return array


def _is_text(value):
    """Whether it is a string or holds strings alone."""
    if isinstance(value, (str, bytes)):
        return True
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_is_text(v) for v in value)
    dtype = getattr(value, "dtype", None)
    if getattr(dtype, "kind", "") in ("U", "S", "T"):
        return True
    return getattr(dtype, "kind", "") == "O" and value.size > 0 and all(isinstance(v, (str, bytes)) for v in value.flat)


def _bytes_of(value, place):
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        return value
    raise InvalidType(f"expected strings, got {value!r:.80} at {place}")


def handles(tensors):
    return (C.c_void_p * len(tensors))(*[None if t is None else t.handle for t in tensors]), len(tensors)
