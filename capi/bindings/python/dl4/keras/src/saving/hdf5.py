"""HDF5 as h5py writes it for Keras: groups, dense arrays of numbers, texts as attributes. Arrays by their paths."""

import itertools
import struct

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_NOWHERE = 2**64 - 1
_DATASPACE, _LINK_INFO, _DATATYPE, _FILL, _LINK, _EXTERNAL, _LAYOUT = 1, 2, 3, 5, 6, 7, 8
_ATTRIBUTE, _MORE, _TABLE = 12, 16, 17
_DEPTH = 64


_MOST = 64512  # bytes of an attribute; a longer list of texts is split

# ---- written: old superblock and headers, groups that list their members, contiguous data


def _message(kind, data):
    data += bytes(-len(data) % 8)
    return struct.pack("<HHI", kind, len(data), 0) + data


def _header(messages):
    if len(messages) > 0xFFFF:
        raise ValueError(f"HDF5: a group of {len(messages)} members: expected at most 65535")
    body = b"".join(messages)
    return struct.pack("<BBHII", 1, 0, len(messages), 1, len(body)) + bytes(4) + body


def _datatype(dtype):
    if dtype.kind in "iub":
        signed = 0x08 if dtype.kind == "i" else 0
        return struct.pack("<BBHIHH", 0x10, signed, 0, dtype.itemsize, 0, 8 * dtype.itemsize)
    fraction, exponent = {2: (10, 5), 4: (23, 8), 8: (52, 11)}[dtype.itemsize]
    bits = 8 * dtype.itemsize
    more = struct.pack("<HHBBBBI", 0, bits, fraction, exponent, 0, fraction, 2 ** (exponent - 1) - 1)
    return struct.pack("<BBBBI", 0x11, 0x20, bits - 1, 0, dtype.itemsize) + more


def _dataset(array, at):
    dims = struct.pack("<BBB5x", 1, array.ndim, 0) + struct.pack(f"<{array.ndim}Q", *array.shape)
    layout = struct.pack("<BBQQ", 3, 1, at if array.nbytes else _NOWHERE, array.nbytes)
    parts = ((_DATASPACE, dims), (_DATATYPE, _datatype(array.dtype)), (_FILL, bytes((2, 2, 0, 0))), (_LAYOUT, layout))
    return _header([_message(kind, data) for kind, data in parts])


def _group(members, places, said):
    info = _message(_LINK_INFO, struct.pack("<HQQ", 0, _NOWHERE, _NOWHERE))
    names = [(name.encode(), places[id(node)]) for name, node in members.items()]
    links = [_message(_LINK, struct.pack("<BBH", 1, 1, len(n)) + n + struct.pack("<Q", at)) for n, at in names]
    return _header([info, *links, *said])


def _attribute(name, kind, space, data):
    parts = [name.encode() + b"\0", kind, space]
    head = struct.pack("<BBHHH", 1, 0, *map(len, parts))
    return _message(_ATTRIBUTE, head + b"".join(part + bytes(-len(part) % 8) for part in parts) + data)


def _list_of_texts(name, texts):
    """Texts of one length, in as many attributes as they need."""
    size = max(map(len, texts), default=1)
    if size > _MOST:
        raise ValueError(f"HDF5: {name}: a text of {size} bytes: expected at most {_MOST}")
    count = max(_MOST // size, 1)
    chunks = [texts[i : i + count] for i in range(0, len(texts), count)] or [[]]
    for i, chunk in enumerate(chunks):
        space = struct.pack("<BBB5xQ", 1, 1, 0, len(chunk))
        kind, data = struct.pack("<BBBBI", 0x13, 1, 0, 0, size), b"".join(text.ljust(size, b"\0") for text in chunk)
        yield _attribute(f"{name}{i}" if len(chunks) > 1 else name, kind, space, data)


class _Heap:
    """Texts of any length, which attributes point to."""

    def __init__(self):
        self.texts = []

    def attribute(self, name, text, at):
        """One that says a text; `at`: where the heap will be."""
        self.texts.append(text)
        kind = struct.pack("<BBBBI", 0x19, 1, 1, 0, 16) + struct.pack("<BBBBI", 0x13, 0x10, 0, 0, 1)
        data = struct.pack("<IQI", len(text), at, len(self.texts))
        return _attribute(name, kind, struct.pack("<BBB5x", 1, 0, 0), data)

    def bytes(self):
        objects = [
            struct.pack("<HHIQ", i + 1, 1, 0, len(text)) + text + bytes(-len(text) % 8)
            for i, text in enumerate(self.texts)
        ]
        used = 16 + sum(map(len, objects))
        size = max(4096, used + 16)
        rest = struct.pack("<HHIQ", 0, 0, 0, size - used)
        return b"GCOL" + struct.pack("<BBBBQ", 1, 0, 0, 0, size) + b"".join(objects) + rest.ljust(size - used, b"\0")


def write(file, arrays, attributes=None):
    """Writes arrays by path to a binary file; attributes of groups by their paths, bytes or lists of them."""
    import numpy

    root, said = {}, {}
    for path, array in arrays.items():
        array = numpy.ascontiguousarray(array).reshape(numpy.shape(array))
        if array.dtype.kind not in "iubf" or array.dtype.itemsize > 8:
            raise ValueError(f"{path}: expected numbers, got an array of {array.dtype}")
        array, group = array.astype(array.dtype.newbyteorder("<"), copy=False), root
        *groups, name = [part for part in path.split("/") if part]
        for part in groups:
            group = group.setdefault(part, {})
        if not isinstance(group, dict) or name in group:
            raise ValueError(f"{path}: there are two objects of that path")
        group[name] = array
    for path, texts in (attributes or {}).items():
        group = root
        for part in path.split("/") if path else ():
            group = group.setdefault(part, {})
        said[id(group)] = texts
    nodes, places, at = [root], {id(root): 96}, 96
    for node in nodes:  # grows meanwhile
        if isinstance(node, dict):
            nodes += node.values()

    def header(node, where, heap, heap_at):
        if not isinstance(node, dict):
            return _dataset(node, where.get(id(node), 0))
        texts = []
        for name, value in said.get(id(node), {}).items():
            texts += [heap.attribute(name, value, heap_at)] if isinstance(value, bytes) else _list_of_texts(name, value)
        return _group(node, places, texts)

    for node in nodes:
        places.setdefault(id(node), 0)
    for node in nodes:
        places[id(node)] = at
        at += len(header(node, {}, _Heap(), 0))
    data = [node for node in nodes if not isinstance(node, dict) and node.nbytes]
    starts = list(itertools.accumulate((-(-array.nbytes // 8) * 8 for array in data), initial=at))
    where = dict(zip(map(id, data), starts))
    head = _SIGNATURE + struct.pack("<BBBBBBBBHHI", 0, 0, 0, 0, 0, 8, 8, 0, 4, 16, 0)
    heap = _Heap()
    headers = [header(node, where, heap, starts[-1]) for node in nodes]
    texts = heap.bytes() if heap.texts else b""
    head += struct.pack("<QQQQ", 0, _NOWHERE, starts[-1] + len(texts), _NOWHERE)
    head += struct.pack("<QQII16x", 0, places[id(root)], 0, 0)
    file.write(head)
    file.writelines(headers)
    for array in data:
        file.write(array.tobytes())
        file.write(bytes(-array.nbytes % 8))
    file.write(texts)


# ---- read


def is_hdf5(path):
    try:
        with open(path, "rb") as file:
            return file.read(8) == _SIGNATURE
    except OSError:
        return False


def of_path(path):
    with open(path, "rb") as file:
        return Hdf5(file.read())


class Hdf5:
    """The tree of a file. Refuses links out of it, and what is not where the file says."""

    def __init__(self, data):
        self._data, self.groups, self._datasets, self._seen = data, {""}, {}, set()
        self._said = {}  # attributes of groups, as they stand there
        if data[:8] != _SIGNATURE:
            raise ValueError("not an HDF5 file")
        if data[8] > 1 or data[13] != 8 or data[14] != 8:
            raise NotImplementedError(f"HDF5: superblock {data[8]}: expected what h5py writes by default")
        (at,) = self._unpack("<Q", 64 + 4 * (data[8] == 1))
        self._object(at, "", 0)

    def __contains__(self, path):
        return path in self.groups or path in self._datasets

    def paths(self):
        """Of the datasets, in order."""
        return sorted(self._datasets)

    def within(self, group):
        """Names of datasets that stand in a group."""
        start = f"{group}/" if group else ""
        names = (path[len(start) :] for path in self._datasets if path.startswith(start))
        return sorted(name for name in names if "/" not in name)

    def texts(self, group, name):
        """What an attribute of a group says: bytes, or a list of them; None where there is none. A long list stands in
        several."""
        found = dict(filter(None, map(self._attribute, self._said[group])))
        if name in found:
            return found[name]
        parts = list(itertools.takewhile(lambda key: key in found, (f"{name}{i}" for i in itertools.count())))
        return [text for part in parts for text in found[part]] if parts else None

    def _attribute(self, data):
        """Name and texts; None of one that holds no texts."""
        version, *sizes = struct.unpack("<BxHHH", data[:8])
        at, parts, align = 8 + (version == 3), [], 8 if version == 1 else 1
        for size in sizes:
            parts.append(data[at : at + size])
            at += -(-size // align) * align
        name, (kind, space), rest = parts[0].rstrip(b"\0").decode(), parts[1:], data[at:]
        size, rank = struct.unpack("<I", kind[4:8])[0], space[1]
        count = 1
        for d in struct.unpack(f"<{rank}Q", space[8 if space[0] == 1 else 4 :][: 8 * rank]):
            count *= d
        items = [rest[i * size : (i + 1) * size] for i in range(count)]
        if kind[0] & 15 == 9 and kind[1] & 15 == 1:
            items = [self._in_heap(*struct.unpack("<IQI", item)) for item in items]
        elif kind[0] & 15 != 3:
            return None
        items = [bytes(item).rstrip(b"\0") for item in items]
        return name, items if rank else items[0]

    def _in_heap(self, length, at, index):
        if not length:
            return b""
        mark, size = self._unpack("<4s4xQ", at)
        end, at = at + size, at + 16
        while mark == b"GCOL" and at + 16 <= end:
            number, _, size = self._unpack("<HHxxxxQ", at)
            if number == index:
                return self._bytes(at + 16, length)
            if not number:
                break
            at += 16 + -(-size // 8) * 8
        raise ValueError(f"HDF5: an attribute refers to text {index} of a heap, which does not exist")

    def shape_of(self, path):
        return self._datasets[path][1]

    def read(self, path):
        """An array; bfloat16 as float32."""
        import numpy

        dtype, shape, at, size, brain = self._datasets[path]
        array = numpy.frombuffer(self._bytes(at, size), dtype).reshape(shape)
        if brain:
            array = (array.astype("uint32") << 16).view("float32")
        return array.copy()

    def _bytes(self, at, size):
        if at + size > len(self._data):
            raise ValueError(f"HDF5: the file ends before {at + size} bytes")
        return self._data[at : at + size]

    def _unpack(self, form, at):
        return struct.unpack(form, self._bytes(at, struct.calcsize(form)))

    def _messages(self, at):
        version, _, count, _, size = self._unpack("<BBHII", at)
        if version != 1:
            raise NotImplementedError(
                f"HDF5: an object header of version {version}: expected what h5py writes by default"
            )
        blocks, found = [(at + 16, size)], 0
        for begin, size in blocks:  # grows meanwhile
            end = begin + size
            while begin + 8 <= end and found < count:
                kind, length, _ = self._unpack("<HHB", begin)
                data = self._bytes(begin + 8, length)
                if kind == _MORE:
                    blocks.append(struct.unpack("<QQ", data[:16]))
                yield kind, data
                begin, found = begin + 8 + length, found + 1

    def _object(self, at, path, depth):
        if at in self._seen or depth > _DEPTH:
            raise NotImplementedError(f'HDF5: "{path}" is an object with two names, or nested too deep')
        self._seen.add(at)
        parts = {}
        for kind, data in self._messages(at):
            parts.setdefault(kind, []).append(data)
        if _EXTERNAL in parts:
            raise ValueError(f'Not allowed: H5 file with external Dataset: "{path}"')
        if _LAYOUT in parts:
            said = any(b"dtype\0" in data[8:16] for data in parts.get(_ATTRIBUTE, ()))
            self._datasets[path] = self._facts(path, said, *(parts[k][0] for k in (_DATASPACE, _DATATYPE, _LAYOUT)))
            return
        self.groups.add(path)
        self._said[path] = parts.get(_ATTRIBUTE, ())
        links = [self._link(data) for data in parts.get(_LINK, ())]
        for data in parts.get(_TABLE, ()):
            links += self._table(*struct.unpack("<QQ", data[:16]))
        for name, place in links:
            self._object(place, f"{path}/{name}" if path else name, depth + 1)

    def _link(self, data):
        flags, at, kind = data[1], 2, 0
        if flags & 8:
            kind, at = data[at], at + 1
        at += 8 * bool(flags & 4) + bool(flags & 16)
        width = 1 << (flags & 3)
        size = int.from_bytes(data[at : at + width], "little")
        name = data[at + width : at + width + size].decode()
        _need_hard(kind, name)
        return name, struct.unpack("<Q", data[at + width + size : at + width + size + 8])[0]

    def _table(self, tree, heap):
        if self._bytes(heap, 4) != b"HEAP":
            raise ValueError("HDF5: a group without names")
        (names,) = self._unpack("<Q", heap + 24)
        for node in self._leaves(tree, 0):
            (count,) = self._unpack("<H", node + 6)
            for i in range(count):
                name, place, cached = self._unpack("<QQI", node + 8 + 40 * i)
                end = self._data.index(b"\0", names + name)
                name = bytes(self._bytes(names + name, end - names - name)).decode()
                _need_hard(cached == 2, name)
                yield name, place

    def _leaves(self, tree, depth):
        if self._bytes(tree, 4) == b"SNOD":
            yield tree
            return
        if self._bytes(tree, 4) != b"TREE" or depth > _DEPTH:
            raise ValueError("HDF5: a group without members")
        (count,) = self._unpack("<H", tree + 6)
        for i in range(count):
            yield from self._leaves(self._unpack("<Q", tree + 32 + 16 * i)[0], depth + 1)

    def _facts(self, path, said, space, kind, layout):
        import numpy

        rank, at = space[1], 8 if space[0] == 1 else 4
        shape = struct.unpack(f"<{rank}Q", space[at : at + 8 * rank])
        cls, bits, size = kind[0] & 15, kind[1], struct.unpack("<I", kind[4:8])[0]
        order, brain = ">" if bits & 1 else "<", False
        if cls == 8:  # an enumeration, h5py's bool
            order, letter = "|", "b"
        elif cls == 0:
            letter = "i" if bits & 8 else "u"
        elif cls == 1:
            brain = size == 2 and kind[13] == 8
            letter = "u" if brain else "f"
        elif cls == 5 and size == 2 and said:  # bfloat16, the one type of which Keras says it in an attribute
            order, letter, brain = "<", "u", True
        else:
            raise NotImplementedError(f'HDF5: "{path}": expected numbers, got data of class {cls}')
        dtype = numpy.dtype("bool") if letter == "b" else numpy.dtype(f"{order}{letter}{size}")
        wanted = dtype.itemsize
        for d in shape:
            wanted *= d
        if layout[0] == 4 and layout[1] == 3:
            raise ValueError(f'Not allowed: H5 file with virtual Dataset: "{path}"')
        if layout[0] != 3 or layout[1] > 1:
            raise NotImplementedError(f'HDF5: "{path}" is chunked, compressed or virtual: expected dense data')
        place, held = struct.unpack("<QQ", layout[2:18]) if layout[1] == 1 else (None, 0)
        if place is None:
            raise NotImplementedError(f'HDF5: "{path}" stands in its header: expected dense data')
        if held < wanted or place == _NOWHERE and wanted:
            raise ValueError(f'Not allowed: H5 dataset "{path}" declares {wanted} bytes but only {held} are stored')
        return dtype, shape, 0 if not wanted else place, wanted, brain


def _need_hard(kind, name):
    if kind:
        word = {1: "SoftLink", 64: "ExternalLink"}.get(int(kind), "link of another kind")
        raise ValueError(f'Not allowed: H5 file with {word}: "{name}"')
