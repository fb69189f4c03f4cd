"""Prints the numbers that tests/effects/keys.rs pins: ChaCha20 (RFC 8439, with a counter and a stream number of 64 bits each) in plain Python.

Run: python3 -P keys.py
"""
import math
import struct


def block(key, stream, counter):
    state = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key)]
    state += struct.unpack("<4I", struct.pack("<QQ", counter, stream))
    x = list(state)

    def quarter(a, b, c, d):
        for p, q, r, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & 0xFFFFFFFF
            x[r] ^= x[p]
            x[r] = ((x[r] << turn) | (x[r] >> (32 - turn))) & 0xFFFFFFFF

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(x, state)))


def child(key, label):
    return block(key, label, 0)[:32]


def named(key, name):
    name = name.encode()
    key = child(key, len(name))
    for at in range(0, len(name), 8):
        key = child(key, int.from_bytes(name[at : at + 8].ljust(8, b"\0"), "little"))
    return key


def noise(key, site, kind, which, draw=0):
    """The number of place `which` of the site's first input."""
    key = child(named(key, site), 0)
    words = block(key, draw, which // 4)[16 * (which % 4) :][:16]
    u, v = ((word >> 12) + 0.5 for word in struct.unpack("<2Q", words))
    u, v = u / 2**52, v / 2**52
    return u if kind == "uniform" else math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


key = (42).to_bytes(32, "little")
numbers = [noise(key, "uniform", "uniform", k) for k in (0, 1)]
numbers += [noise(key, "normal", "normal", k) for k in (0, 1)]
numbers += [noise(key, "a long name of a site", "normal", k) for k in (0, 1, 4999)]
numbers += [noise(key, "normal", "normal", k, draw=1) for k in (0, 1)]
for number in numbers:
    print(repr(number), struct.unpack("<Q", struct.pack("<d", number))[0])
