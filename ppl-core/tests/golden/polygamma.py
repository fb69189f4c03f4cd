"""Writes polygamma.csv: derivatives of digamma at 50 digits with mpmath.

Run: python3 polygamma.py > polygamma.csv

The Hurwitz zeta function serves above 0, and there mpmath's own polygamma must agree with it.
"""
import random
import sys

import mpmath as mp

mp.mp.dps = 50
random.seed(21)


def polygamma(n, x):
    x = mp.mpf(x)
    if x > 0:
        # The zeta function is accurate absolutely, so digits are added for its size.
        with mp.workdps(50 + int((n + 1) * max(0, mp.log10(x)))):
            value = (-1) ** (n + 1) * mp.factorial(n) * mp.zeta(n + 1, x)
        if n < 20 and x > mp.mpf(10) ** -3:
            assert abs(value / mp.psi(n, x) - 1) < mp.mpf(10) ** -30, (n, x)
        return value
    # The recurrence, up to a positive argument.
    value, shifted = mp.mpf(0), x
    while shifted < 0:
        value += (-1) ** (n + 1) * mp.factorial(n) / shifted ** (n + 1)
        shifted += 1
    return value + polygamma(n, shifted)


print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 50 digits of working precision, seed 21")
print("# columns: order, x, nearest double of the value")
for n in [1, 2, 3, 4, 7, 20, 60, 169]:
    points = [random.uniform(0, 15) for _ in range(6)] + [random.uniform(15, 300) for _ in range(3)]
    points += [10 ** random.uniform(-20, -1) for _ in range(3)] + [10 ** random.uniform(3, 15) for _ in range(3)]
    points += [1.0, 0.5, 2.0, n + 10.0]
    points += [random.uniform(-6, 0) for _ in range(6)] + [random.uniform(-60, -6) for _ in range(2)]
    points += [-0.5, -1.5, -3.0 + 2**-20, -3.0 - 2**-20, -1e-8]
    for x in points:
        value = polygamma(n, x)
        if mp.mpf(10) ** -300 < abs(value) < mp.mpf(10) ** 300:
            print(f"{n},{x!r},{float(value)!r}")
