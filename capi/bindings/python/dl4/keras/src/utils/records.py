"""Files of records, and fields as protocol buffers write them."""

import struct


def number(value):
    """A whole number, seven bits a byte."""
    value, out = value % 2**64, b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(key, body):
    """Bytes, a text or a message."""
    return number(key << 3 | 2) + number(len(body)) + body


def whole(key, value):
    return number(key << 3) + number(value)


def real(key, value):
    return number(key << 3 | 1) + struct.pack("<d", value)


_table = []


def _crc(data):
    """The masked CRC-32C of a record."""
    if not _table:
        for i in range(256):
            c = i
            for _ in range(8):
                c = c >> 1 ^ 0x82F63B78 if c & 1 else c >> 1
            _table.append(c)
    c = 0xFFFFFFFF
    for byte in data:
        c = _table[(c ^ byte) & 0xFF] ^ c >> 8
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


class RecordWriter:
    """Writes records to a file, each with its length and checksums."""

    def __init__(self, path):
        self._file = open(path, "wb")

    def write(self, record):
        head = struct.pack("<Q", len(record))
        self._file.write(head + struct.pack("<I", _crc(head)) + record + struct.pack("<I", _crc(record)))

    def close(self):
        self._file.close()

    def flush(self):
        self._file.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
