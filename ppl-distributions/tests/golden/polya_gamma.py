"""Writes polya_gamma.csv: log densities of the Polya-gamma distribution PG(b, c) and their derivatives, with mpmath.

Run: python3 -P polya_gamma.py > polya_gamma.csv       (-P: a file called like a module of Python may lie beside it.)

By the alternating series of the density, which has nothing in common with the integral that is tested, with as many digits as it loses
(e^(pi^2 x/2) is about what its terms are larger than its sum by) and 60 more. Derivatives are differences at these digits.
"""
import sys

import mpmath as mp


def log_density(b, c, x):
    total, size, factor, n = mp.mpf(0), mp.mpf(0), mp.mpf(1), 0
    while True:
        m = 2 * n + b
        term = factor * m * mp.exp(-m * m / (8 * x))
        total += -term if n % 2 else term
        size = max(size, term)
        if n > 5 and term < size * mp.eps:
            break
        factor *= (n + b) / (n + 1)
        n += 1
    return b * mp.log(mp.cosh(c / 2)) - c * c * x / 2 + (b - 1) * mp.log(2) + mp.log(total / mp.sqrt(2 * mp.pi * x**3))


print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}")
print("# columns: b, c, x, log density, its derivatives with respect to b and x; nearest doubles")
for k, b in enumerate([1e-4, 0.01, 0.1, 0.3, 0.7, 1.0, 1.5, 3.0, 7.25, 20.0, 51.0, 200.0, 1000.0]):
    for ratio in [0.005, 0.009, 0.011, 0.03, 0.1, 0.2, 0.249, 0.25, 0.251, 0.3, 0.5, 1.0, 3.0, 10.0, 100.0, 1000.0]:
        x = ratio * b
        if not 1e-5 < x < 300.0 or b * b / (8 * x) > 5000:
            continue
        c = [0.0, -1.5, 4.0][(k + int(10 * ratio)) % 3]
        with mp.workdps(100 + int(2.2 * x + 0.5 * b)):
            s, t, u = mp.mpf(b), mp.mpf(c), mp.mpf(x)
            value = log_density(s, t, u)
            step = mp.mpf(10) ** -20
            by_b = (log_density(s * (1 + step), t, u) - log_density(s * (1 - step), t, u)) / (2 * s * step)
            by_x = (log_density(s, t, u * (1 + step)) - log_density(s, t, u * (1 - step))) / (2 * u * step)
        print(",".join(repr(float(number)) for number in (b, c, x, value, by_b, by_x)), flush=True)
