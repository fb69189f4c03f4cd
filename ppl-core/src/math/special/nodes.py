"""Writes nodes.rs: nodes and weights of Gauss–Legendre quadrature on [0, 1], at 60 digits with mpmath.

Run: python3 nodes.py > nodes.rs
"""
import mpmath as mp

mp.mp.dps = 60
COUNT = 28


def polynomial(x):
    """The Legendre polynomial of degree COUNT and its derivative, by the recurrence."""
    before, here = mp.mpf(1), x
    for k in range(2, COUNT + 1):
        before, here = here, ((2 * k - 1) * x * here - (k - 1) * before) / k
    return here, COUNT * (x * here - before) / (x * x - 1)


print("//! Gauss–Legendre quadrature with 28 nodes on [0, 1]; written by `nodes.py` at 60 digits.\n")
pairs = []
for i in range(COUNT):
    x = mp.cos(mp.pi * (mp.mpf(COUNT - i) - mp.mpf(1) / 4) / (COUNT + mp.mpf(1) / 2))
    for _ in range(20):
        value, slope = polynomial(x)
        x -= value / slope
    slope = polynomial(x)[1]
    pairs.append(((1 + x) / 2, 1 / ((1 - x * x) * slope * slope)))
print("/// (node, weight)")
print(f"pub(super) const NODES: [(f64, f64); {COUNT}] = [")
for node, weight in pairs:
    print(f"    ({float(node)!r}, {float(weight)!r}),")
print("];")
