"""Writes renyi_poisson.csv (log A by numerical integration) and centred_moments.csv (log B by its alternating sum), with mpmath.

    python3 tests/golden/classical.py        # in the crate's folder; mpmath 1.3.0 wrote the files that are here
"""

import os

import mpmath
from mpmath import mp, mpf

HERE = os.path.dirname(os.path.abspath(__file__))


def log_a(sigma, rate, order):
    """log E over x ~ N(0, s^2) of (1 - q + q e^t)^a, t = (2x - 1)/(2 s^2), in 40 digits, integrated piecewise."""
    mp.dps = 40
    s, q, a = mpf(sigma), mpf(rate), mpf(order)

    def integrand(x):
        ratio = 1 - q + q * mp.e ** ((2 * x - 1) / (2 * s * s))
        return mp.e ** (-x * x / (2 * s * s)) * ratio**a / (s * mp.sqrt(2 * mp.pi))

    low, high = -16 * s, a + 16 * s
    pieces = int(mp.ceil((high - low) / s)) + 1
    points = [low + (high - low) * i / pieces for i in range(pieces + 1)]
    return mp.log(mp.quad(integrand, points))


def log_b(sigma, power):
    """log of the alternating sum of C(l, i) e^(i(i-1)/(2 s^2)), in 1200 digits."""
    mp.dps = 1200
    s = mpf(sigma)
    return mp.log(sum((-1) ** i * mp.binomial(power, i) * mp.e ** (i * (i - 1) / (2 * s * s)) for i in range(power + 1)))


def main():
    with open(os.path.join(HERE, "renyi_poisson.csv"), "w") as file:
        file.write(f"# log A(order) by numerical integration in 40 digits, mpmath {mpmath.__version__}\n")
        file.write("sigma,rate,order,log_a\n")
        for sigma, rate in [(0.3, 1e-4), (0.5, 0.01), (1.0, 0.01), (1.0, 1e-6), (1.5, 0.3), (4.0, 0.02), (30.0, 1e-5)]:
            for order in [1.1, 1.5, 2, 2.5, 3, 7.25, 20, 33.5]:
                value = log_a(sigma, rate, order)
                file.write(f"{sigma},{rate},{order},{mp.nstr(value, 17)}\n")
    with open(os.path.join(HERE, "centred_moments.csv"), "w") as file:
        file.write(f"# log B(l) by its alternating sum in 1200 digits, mpmath {mpmath.__version__}\n")
        file.write("sigma,power,log_b\n")
        for sigma in [0.8, 2.0, 6.0, 12.0, 100.0, 1e4]:
            for power in [2, 4, 10, 30, 100, 300]:
                file.write(f"{sigma},{power},{mp.nstr(log_b(sigma, power), 17)}\n")


main()
