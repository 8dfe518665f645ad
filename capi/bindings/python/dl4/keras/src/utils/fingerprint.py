"""Hashes of texts as TensorFlow's: FarmHash's fingerprint, SipHash-2-4, and what joins two fingerprints."""

_ALL = 0xFFFFFFFFFFFFFFFF
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _rotated(x, n):
    return ((x >> n) | (x << (64 - n))) & _ALL


def _word(s, i):
    return int.from_bytes(s[i : i + 8], "little")


def _mixed(x):
    return x ^ (x >> 47)


def _of_two(u, v, mul):
    a = _mixed(((u ^ v) * mul) & _ALL)
    return (_mixed(((v ^ a) * mul) & _ALL) * mul) & _ALL


def _short(s):
    n = len(s)
    if n >= 8:
        mul = _K2 + n * 2
        a, b = (_word(s, 0) + _K2) & _ALL, _word(s, n - 8)
        return _of_two((_rotated(b, 37) * mul + a) & _ALL, ((_rotated(a, 25) + b) * mul) & _ALL, mul)
    if n >= 4:
        return _of_two(
            (n + (int.from_bytes(s[:4], "little") << 3)) & _ALL, int.from_bytes(s[-4:], "little"), _K2 + n * 2
        )
    if n:
        y, z = s[0] + (s[n >> 1] << 8), n + (s[-1] << 2)
        return (_mixed((y * _K2 ^ z * _K0) & _ALL) * _K2) & _ALL
    return _K2


def _to_32(s):
    n = len(s)
    mul = _K2 + n * 2
    a, b = (_word(s, 0) * _K1) & _ALL, _word(s, 8)
    c, d = (_word(s, n - 8) * mul) & _ALL, (_word(s, n - 16) * _K2) & _ALL
    return _of_two(
        (_rotated((a + b) & _ALL, 43) + _rotated(c, 30) + d) & _ALL,
        (a + _rotated((b + _K2) & _ALL, 18) + c) & _ALL,
        mul,
    )


def _to_64(s):
    n = len(s)
    mul = _K2 + n * 2
    a, b = (_word(s, 0) * _K2) & _ALL, _word(s, 8)
    c, d = (_word(s, n - 8) * mul) & _ALL, (_word(s, n - 16) * _K2) & _ALL
    y = (_rotated((a + b) & _ALL, 43) + _rotated(c, 30) + d) & _ALL
    z = _of_two(y, (a + _rotated((b + _K2) & _ALL, 18) + c) & _ALL, mul)
    e, f = (_word(s, 16) * mul) & _ALL, _word(s, 24)
    g, h = ((y + _word(s, n - 32)) * mul) & _ALL, ((z + _word(s, n - 24)) * mul) & _ALL
    return _of_two(
        (_rotated((e + f) & _ALL, 43) + _rotated(g, 30) + h) & _ALL, (e + _rotated((f + a) & _ALL, 18) + g) & _ALL, mul
    )


def _weak(s, i, a, b):
    """A hash of 32 bytes with two seeds, in two words."""
    w, x, y, z = (_word(s, i + j) for j in (0, 8, 16, 24))
    a = (a + w) & _ALL
    b = _rotated((b + a + z) & _ALL, 21)
    c = a
    a = (a + x + y) & _ALL
    b = (b + _rotated(a, 44)) & _ALL
    return (a + z) & _ALL, (b + c) & _ALL


def fingerprint64(s):
    """FarmHash's fingerprint of bytes: tf.strings.to_hash_bucket_fast."""
    n = len(s)
    if n <= 16:
        return _short(s)
    if n <= 32:
        return _to_32(s)
    if n <= 64:
        return _to_64(s)
    seed = 81
    x, y = seed, (seed * _K1 + 113) & _ALL
    z = (_mixed((y * _K2 + 113) & _ALL) * _K2) & _ALL
    v, w = (0, 0), (0, 0)
    x = (x * _K2 + _word(s, 0)) & _ALL
    last = ((n - 1) // 64) * 64
    tail = last + ((n - 1) & 63) - 63
    for i in range(0, last, 64):
        x = (_rotated((x + y + v[0] + _word(s, i + 8)) & _ALL, 37) * _K1) & _ALL
        y = (_rotated((y + v[1] + _word(s, i + 48)) & _ALL, 42) * _K1) & _ALL
        x ^= w[1]
        y = (y + v[0] + _word(s, i + 40)) & _ALL
        z = (_rotated((z + w[0]) & _ALL, 33) * _K1) & _ALL
        v = _weak(s, i, (v[1] * _K1) & _ALL, (x + w[0]) & _ALL)
        w = _weak(s, i + 32, (z + w[1]) & _ALL, (y + _word(s, i + 16)) & _ALL)
        z, x = x, z
    mul = (_K1 + ((z & 0xFF) << 1)) & _ALL
    w = ((w[0] + ((n - 1) & 63)) & _ALL, w[1])
    v = ((v[0] + w[0]) & _ALL, v[1])
    w = ((w[0] + v[0]) & _ALL, w[1])
    x = (_rotated((x + y + v[0] + _word(s, tail + 8)) & _ALL, 37) * mul) & _ALL
    y = (_rotated((y + v[1] + _word(s, tail + 48)) & _ALL, 42) * mul) & _ALL
    x ^= (w[1] * 9) & _ALL
    y = (y + v[0] * 9 + _word(s, tail + 40)) & _ALL
    z = (_rotated((z + w[0]) & _ALL, 33) * mul) & _ALL
    v = _weak(s, tail, (v[1] * mul) & _ALL, (x + w[0]) & _ALL)
    w = _weak(s, tail + 32, (z + w[1]) & _ALL, (y + _word(s, tail + 16)) & _ALL)
    z, x = x, z
    return _of_two((_of_two(v[0], w[0], mul) + _mixed(y) * _K0 + z) & _ALL, (_of_two(v[1], w[1], mul) + x) & _ALL, mul)


def _turned(x, n):
    return ((x << n) | (x >> (64 - n))) & _ALL


def siphash(s, key):
    """SipHash-2-4 of bytes with a key of two words: tf.strings.to_hash_bucket_strong."""
    k0, k1 = (int(k) & _ALL for k in key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(count):
        a, b, c, d = v
        for _ in range(count):
            a, c = (a + b) & _ALL, (c + d) & _ALL
            b, d = _turned(b, 13) ^ a, _turned(d, 16) ^ c
            a = _turned(a, 32)
            c, a = (c + b) & _ALL, (a + d) & _ALL
            b, d = _turned(b, 17) ^ c, _turned(d, 21) ^ a
            c = _turned(c, 32)
        v[:] = a, b, c, d

    whole = len(s) // 8 * 8
    words = [_word(s, i) for i in range(0, whole, 8)]
    words.append(int.from_bytes(s[whole:], "little") | (len(s) & 0xFF) << 56)
    for m in words:
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


_CAT = 0xC6A4A7935BD1E995


def joined(a, b):
    """One fingerprint of two: tf.sparse.cross_hashed."""
    result = a ^ _CAT
    result ^= (_mixed((b * _CAT) & _ALL) * _CAT) & _ALL
    result = (result * _CAT) & _ALL
    result = (_mixed(result) * _CAT) & _ALL
    return _mixed(result)
