"""Writes hockey_sticks.csv: hockey-stick divergences of Beta and normal distributions.

Run: python3 -P hockey_sticks.py      (mpmath 1.3.0 or later, 30 digits; a minute)

The places where p = t q are found by bisection of the log ratio on each side of its turning point, and distribution
functions are mpmath's incomplete beta and error functions: none of it is shared with the crate.
"""
import sys

import mpmath as mp

mp.mp.dps = 30


def crossings(g, turn, low, high):
    places = []
    for a, b in [(low, high)] if turn is None else [(low, turn), (turn, high)]:
        fa, fb = g(a) > 0, g(b) > 0
        if fa == fb:
            continue
        for _ in range(400):
            m = (a + b) / 2
            a, b = (m, b) if (g(m) > 0) == fa else (a, m)
        places.append(a)
    return places


def excess(g, turn, low, high, p, q, t):
    edges = [low] + crossings(g, turn, low, high) + [high]
    total = mp.mpf(0)
    for a, b in zip(edges, edges[1:]):
        if g((a + b) / 2) > 0:
            total += (p(b) - p(a)) - t * (q(b) - q(a))
    return total


def beta(a, b, c, d, t):
    a, b, c, d, t = map(mp.mpf, (a, b, c, d, t))

    def g(u):  # at log odds
        return -(a - c) * mp.log1p(mp.exp(-u)) - (b - d) * mp.log1p(mp.exp(u)) + mp.log(mp.beta(c, d) / mp.beta(a, b) / t)

    def cdf(a, b):
        def at(u):
            x, y = 1 / (1 + mp.exp(-u)), 1 / (1 + mp.exp(u))
            return mp.betainc(a, b, 0, x, regularized=True) if u < 0 else 1 - mp.betainc(b, a, 0, y, regularized=True)
        return at

    turn = mp.log((a - c) / (b - d)) if (a - c) * (b - d) > 0 else None
    return excess(g, turn, mp.mpf(-900), mp.mpf(900), cdf(a, b), cdf(c, d), t)


def normal(m, s, n, r, t):
    m, s, n, r, t = map(mp.mpf, (m, s, n, r, t))

    def g(x):
        return ((x - n) / r) ** 2 / 2 - ((x - m) / s) ** 2 / 2 + mp.log(r / s / t)

    bend = 1 / s**2 - 1 / r**2
    turn = (m / s**2 - n / r**2) / bend if bend != 0 else None
    cdf = lambda m, s: lambda x: mp.ncdf(x, m, s)
    return excess(g, turn, mp.mpf(-60), mp.mpf(60), cdf(m, s), cdf(n, r), t)


print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 30 digits")
print("family,a,b,c,d,ratio,excess")
BETAS = [(2, 1, 1, 2), (1.5, 0.5, 0.5, 1.5), (0.125, 1.125, 1.125, 0.125), (15, 8, 14, 9), (1, 1, 2, 2), (3, 2, 2, 2),
         (40.5, 1020.25, 41.5, 1019.25), (0.125, 0.25, 0.5, 2), (600, 400, 590, 380), (5, 0.125, 5, 1.125)]
NORMALS = [(0, 1, 0.5, 1), (1, 0.5, 0, 0.5), (0, 1, 0, 2), (0, 2, 0, 1), (0.75, 0.5, 0.5, 1), (3, 0.25, -1, 2)]
for family, cases, of in [("beta", BETAS, beta), ("normal", NORMALS, normal)]:
    for case in cases:
        for ratio in (0.5, 1, 1.25, 2, 8):
            print(family, *case, ratio, mp.nstr(of(*case, ratio), 20), sep=",")
