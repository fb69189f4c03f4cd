"""Logarithms of lower tails for `tests/far_draws.rs`, by mpmath with 60 digits. Parameters are the numbers of `f64`.

    python ppl-distributions/tests/golden/lower_tails.py
"""

import mpmath as mp

mp.mp.dps = 60


def number(x):
    return mp.mpf(x)


def below(z):
    return mp.erfc(-z / mp.sqrt(mp.mpf(2))) / 2


def exponentially_modified_gaussian(loc, scale, rate, x):
    z, c = (number(x) - number(loc)) / number(scale), number(rate) * number(scale)
    return mp.log(below(z) - mp.exp(c * c / 2 - c * z) * below(z - c))


def weibull(scale, shape, x):
    return mp.log(-mp.expm1(-((number(x) / number(scale)) ** number(shape))))


def kumaraswamy(a, b, x):
    return mp.log(-mp.expm1(number(b) * mp.log1p(-(number(x) ** number(a)))))


def discrete_laplace(loc, scale, k):
    distance, ratio = k - loc, mp.exp(-1 / number(scale))
    if distance < 0:
        return distance / number(scale) - mp.log1p(ratio)
    return mp.log1p(-(ratio ** (distance + 1)) / (1 + ratio))


ROWS = [
    (weibull, [(1, 50, 1e-10), (2, 50, 1.0), (3, 1000, 1.5), (1, 0.5, 1e-300), (1, 20, 0.158), (1, 4, 1.5)]),
    (
        kumaraswamy,
        [(100, 3, 1e-4), (300, 1e-5, 0.25), (2, 0.5, 0.3), (40, 1e8, 0.375), (1000, 1e-300, 0.5), (3, 5, 0.9)],
    ),
    (discrete_laplace, [(0, 1, -800), (3, 0.5, -700), (0, 1, 40), (0, 2, -1)]),
    (
        exponentially_modified_gaussian,
        [
            (0, 1, 1e-10, 1),
            (0, 1, 1e-10, 0),
            (0, 2, 1e-4, 1e-4),
            (0, 1, 0.25, 0.125),
            (1, 0.5, 1e-6, 21),
            (0, 1, 0.5, 3),
            (0, 1, 0.9375, 0.5),
            (0, 1, 1e-12, 1e-20),
        ],
    ),
]

for law, settings in ROWS:
    for setting in settings:
        print(law.__name__, *setting, mp.nstr(law(*setting), 18))
