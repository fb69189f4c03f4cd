"""Prints the numbers of tests/far_draws.rs at 60 digits with mpmath: logarithms of tails of Skellam variables, and quantiles of integers
between bounds where probabilities are too small for a number.

Run: python3 far_counts.py
"""
import mpmath as mp

mp.mp.dps = 60


def skellam(up, down):
    root = 2 * mp.sqrt(mp.mpf(up) * down)
    ratio = mp.mpf(up) / down
    return lambda k: mp.exp(-mp.mpf(up) - down) * ratio ** (mp.mpf(k) / 2) * mp.besseli(abs(k), root)


def poisson(rate):
    return lambda k: mp.exp(k * mp.log(mp.mpf(rate)) - rate - mp.loggamma(k + 1))


def mixed(a, b):
    return lambda k: mp.mpf("0.25") * poisson(a)(k) + mp.mpf("0.75") * poisson(b)(k)


def summed(mass, start, step):
    """All of a tail: until nothing is added any more."""
    total, k = mp.mpf(0), start
    while True:
        term = mass(k)
        total += term
        if term < total * mp.mpf(10) ** -40:
            return total
        k += step


def quantiles(name, mass, low, high):
    """Counts at 0.1, 0.5 and 0.9 of an interval; those far from its likelier end are left out."""
    upwards = mass(low) > mass(high)
    ks, k, whole = [], low if upwards else high, mp.mpf(0)
    while low <= k <= high:
        ks.append(k)
        whole += mass(k)
        if mass(k) < whole * mp.mpf(10) ** -40:
            break
        k += 1 if upwards else -1
    found = []
    for u in ["0.1", "0.5", "0.9"]:
        part = mp.mpf(0)
        for k in sorted(ks):
            part += mass(k)
            if part >= mp.mpf(u) * whole:
                found.append(k)
                break
    print(name, "from", low, "to", high, found, "ln P =", mp.nstr(mp.log(whole), 10))


for up, down, k in [(3, 1, 700), (3, 1, 2000), (400, 20, 1600), ("0.0001", 5, 40), (10000, 9000, 7000), ("0.5", "0.25", 300)]:
    up, down = mp.mpf(up), mp.mpf(down)
    print("skellam", up, down, "above", k, mp.nstr(mp.log(summed(skellam(up, down), k + 1, 1)), 18))
    print("skellam", up, down, "to", -k, mp.nstr(mp.log(summed(skellam(up, down), -k, -1)), 18))
quantiles("skellam 3 1", skellam(3, 1), 700, 900)
quantiles("skellam 3 1", skellam(3, 1), -900, -600)
quantiles("skellam 10000 9000", skellam(10000, 9000), 7000, 9000)
quantiles("skellam 10000 9000", skellam(10000, 9000), -9000, -5000)
quantiles("poisson mixture 3 50", mixed(3, 50), 900, 1000)
quantiles("poisson mixture 3000 5000", mixed(3000, 5000), 0, 500)
quantiles("poisson mixture 3000 5000", mixed(3000, 5000), 9000, 20000)
