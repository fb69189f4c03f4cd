"""Writes counting.csv: what log probabilities of counts are made of, at 60 digits with mpmath.

Run: python3 counting.py [points per range] > counting.csv        (24 in the committed file; thousands to look for worse errors)

The value is printed in two doubles, as in math.py.
"""
import math
import random
import sys

import mpmath as mp

mp.mp.dps = 60
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 24
random.seed(21)


def uniform(low, high):
    return [random.uniform(low, high) for _ in range(COUNT)]


def logarithmic(low, high):
    return [math.exp(random.uniform(math.log(low), math.log(high))) for _ in range(COUNT)]


def row(name, x, y, value):
    nearest = float(value) if abs(value) < mp.mpf(2)**1024 * (1 - mp.mpf(2)**-54) else math.inf
    rest = float(value - mp.mpf(nearest)) if math.isfinite(nearest) else 0.0
    print(f"{name},{x!r},{y!r},{nearest!r},{rest!r}")


def digits(x):
    """Enough of them that the leading terms may cancel, and 1 + x be told from 1."""
    return 80 + 2 * abs(int(math.log10(x)))


def log_factorial_remainder(x):
    with mp.workdps(digits(x)):
        x = mp.mpf(x)
        return mp.loggamma(x + 1) - x * mp.log(x) + x


def digamma_remainder(x):
    with mp.workdps(digits(x)):
        x = mp.mpf(x)
        return mp.digamma(x + 1) - mp.log(x)


def deviance(x, m):
    with mp.workdps(120):
        x, m = mp.mpf(x), mp.mpf(m)
        return (x * mp.log(x / m) if x > 0 else 0) + m - x


print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 60 digits of working precision and more, seed 21")
print("# columns: function, x, m (0 for functions of one argument), nearest double of the value, value less that double")
points = uniform(0, 0.5) + uniform(0.5, 1.5) + uniform(1.5, 8) + uniform(7.5, 20) + logarithmic(1e-300, 0.1) + logarithmic(8, 1e15) \
    + [0.5, 1.0, 1.5, 2.0, 7.999999999, 8.0, 100.0, 1e15, 2.0**53]
for x in points:
    row("log_factorial_remainder", x, 0.0, log_factorial_remainder(x))
for x in points:
    row("digamma_remainder", x, 0.0, digamma_remainder(x))
pairs = list(zip(logarithmic(1e-300, 1e300), logarithmic(1e-300, 1e300))) + list(zip(logarithmic(1e-3, 1e6), logarithmic(1e-3, 1e6)))
for x, ratio in zip(logarithmic(1e-2, 1e16), [random.choice((1, -1)) * e for e in logarithmic(1e-8, 0.9)]):
    pairs.append((x, x * (1 + ratio)))
for x, ratio in zip(logarithmic(1e-2, 1e16), uniform(0.6, 1.6)):
    pairs.append((x, x * ratio))
pairs += [(0.0, m) for m in logarithmic(1e-300, 1e300)] + [(1e15, 1e-300), (5.0, 5e-324), (1e-300, 1e200), (3.0, 3.0)]
for x, m in pairs:
    row("deviance", x, m, deviance(x, m))
