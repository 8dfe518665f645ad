"""Makes copies of libraries run with glibc 2.28, though they were linked with a later one.

Such a library asks for later versions of functions that were there before with the same meaning (all that moved from
libpthread to libc with 2.34), and for a few that 2.28 lacks. Versions of both are renamed to glibc's first; the lacking
functions come from older_glibc.c. A version with any other function in it stays as it is, and newest() tells it.
"""

import re
import struct
import subprocess

FIRST = {62: "GLIBC_2.2.5", 183: "GLIBC_2.17"}  # by the machine's number in ELF: x86-64, arm64
TARGET = (2, 28)
SAME = set(
    """dladdr dlclose dlerror dlopen dlsym exp log log2 pow __pthread_key_create pthread_attr_getstacksize
    pthread_attr_setstacksize pthread_create pthread_detach pthread_getspecific pthread_join pthread_key_create
    pthread_key_delete pthread_mutex_trylock pthread_mutexattr_destroy pthread_mutexattr_init pthread_mutexattr_settype
    pthread_once pthread_rwlock_destroy pthread_rwlock_init pthread_rwlock_rdlock pthread_rwlock_unlock
    pthread_rwlock_wrlock pthread_setspecific pthread_sigmask""".split()
)
AFFINITY = {"pthread_getaffinity_np", "pthread_setaffinity_np", "pthread_attr_setaffinity_np"}  # the same on arm64
DYNSYM, NEEDED_VERSIONS, VERSIONS = 11, 0x6FFFFFFE, 0x6FFFFFFF


def lacking(path):
    """Compiles what glibc 2.28 lacks into a library; the names of its functions."""
    source = __file__.replace(".py", ".c")
    needs = ["-Wl,--no-as-needed", "-l:libpthread.so.0", "-l:libdl.so.2", "-l:libm.so.6"]
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-fno-builtin", source, "-o", path, *needs], check=True)
    listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def _sections(data):
    at, size, count = (*struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 58))
    found = {}
    for i in range(count):
        _, kind, _, _, offset, length, link, info = struct.unpack_from("<IIQQQQII", data, at + i * size)
        found[kind] = (offset, length, info, struct.unpack_from("<Q", data, at + link * size + 24)[0])
    return found


def _text(data, at):
    return data[at : data.index(b"\0", at)].decode()


def _versions(data, sections):
    """Where each version of glibc stands that is asked for: (number, place, name)."""
    if NEEDED_VERSIONS not in sections:
        return
    file, _, files, names = sections[NEEDED_VERSIONS]
    for _ in range(files):
        _, count, _, first, following = struct.unpack_from("<HHIII", data, file)
        at = file + first
        for _ in range(count):
            _, _, number, name, step = struct.unpack_from("<IHHII", data, at)
            if re.fullmatch(r"GLIBC_[\d.]+", _text(data, names + name)):
                yield number & 0x7FFF, at, _text(data, names + name)
            at += step
        file += following


def _number(version):
    return tuple(map(int, version.removeprefix("GLIBC_").split(".")))


def newest(data):
    """The newest version of glibc that a library asks for, (2, 28) say."""
    packed = [(2, 36)] if b"\0GLIBC_ABI_DT_RELR\0" in data else []  # relocations, as the build `own` has them
    return max([*packed, *(_number(name)[:2] for _, _, name in _versions(data, _sections(data)))], default=(2, 0))


def _later(data, sections):
    """The versions later than the target, and the functions by number of their version."""
    later = [v for v in _versions(data, sections) if _number(v[2])[:2] > TARGET]
    users = {}
    at, length = sections[DYNSYM][:2]
    for i in range(length // 24 if later else 0):
        number = struct.unpack_from("<H", data, sections[VERSIONS][0] + 2 * i)[0] & 0x7FFF
        name = _text(data, sections[DYNSYM][3] + struct.unpack_from("<I", data, at + 24 * i)[0])
        users.setdefault(number, set()).add(name)
    return later, users


def lacks(data, given):
    """Whether a library asks for a later version of a function that is `given`."""
    later, users = _later(data, _sections(data))
    return any(users.get(number, set()) & given for number, _, _ in later)


def older(data, given):
    """The library with later versions renamed to the first, of functions that are the same there or `given`."""
    machine = struct.unpack_from("<H", data, 18)[0]
    sections, name = _sections(data), FIRST.get(machine)
    same = SAME | given | (AFFINITY if machine == 183 else set())
    later, users = _later(data, sections)
    strings = sections[DYNSYM][3]
    first = data.find(f"\0{name}\0".encode(), strings) + 1
    if not later or first == 0:
        return data
    out = bytearray(data)
    for number, place, _ in later:
        if users.get(number, set()) <= same:
            struct.pack_into("<I", out, place, _hash(name))
            struct.pack_into("<I", out, place + 8, first - strings)
    return bytes(out)


def _hash(name):
    """ELF's."""
    h = 0
    for c in name.encode():
        h = (h << 4) + c
        h = (h ^ (h & 0xF0000000) >> 24) & 0x0FFFFFFF
    return h
