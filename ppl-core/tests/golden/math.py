"""Writes math.csv: elementary and special functions at 50 digits with mpmath.

Run: python3 math.py [points per range] > math.csv        (24 in the committed file; thousands to look for worse errors)

The value is printed in two doubles: the nearest one, and what is missing from it, so that errors of a fraction of a unit in the
last place can be told.
"""
import math
import random
import sys

import mpmath as mp

mp.mp.dps = 50
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 24
random.seed(20)


def uniform(low, high):
    return [random.uniform(low, high) for _ in range(COUNT)]


def logarithmic(low, high, signs=(1, -1)):
    """Magnitudes spread evenly in the logarithm."""
    return [random.choice(signs) * min(max(math.exp(random.uniform(math.log(low), math.log(high))), low), high) for _ in range(COUNT)]


def near(centre, width=1e-3):
    """Close to a point, at every distance."""
    return [centre + random.choice((1, -1)) * math.exp(random.uniform(math.log(1e-15), math.log(width))) for _ in range(COUNT)]


DENORMAL = [5e-324, -5e-324, 1.5e-310, -2.2e-308]


def row(name, x, y, value):
    nearest = float(value) if abs(value) < mp.mpf(2)**1024 * (1 - mp.mpf(2)**-54) else math.copysign(math.inf, value)
    rest = float(value - mp.mpf(nearest)) if math.isfinite(nearest) else 0.0
    print(f"{name},{x!r},{y!r},{nearest!r},{rest!r}")


def table(name, function, points):
    for x in points:
        row(name, x, 0.0, function(mp.mpf(x)))


def log_gamma(x):
    return mp.loggamma(x) if x > 0 else mp.log(abs(mp.gamma(x))) if x > -150 else \
        mp.log(mp.pi / abs(x * mp.sin(mp.pi * x))) - mp.loggamma(-x)


def erfinv(y):
    """Halley steps on erf, or on erfc where y is close to 1."""
    a = abs(y)
    z = mp.mpf(float(a)) * mp.sqrt(mp.pi) / 2 if a < 0.9 else mp.sqrt(-mp.log(1 - a))
    for _ in range(100):
        missing = a - mp.erf(z) if a < 0.5 else mp.erfc(z) - (1 - a)
        step = missing / (2 / mp.sqrt(mp.pi) * mp.exp(-z * z))
        z += step / (1 - z * step)
        if abs(step) < abs(z) * mp.mpf(10)**-45:
            break
    else:
        sys.exit(f"erfinv({y}) did not settle")
    return mp.sign(y) * z


print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 50 digits of working precision, seed 20")
print("# columns: function, x, y (0 for functions of one argument), nearest double of the value, value less that double")
tiny = logarithmic(1e-300, 1e-8) + DENORMAL
table("exp", mp.exp, uniform(-745, 709.7) + uniform(-1, 1) + uniform(-745, -708) + tiny + [709.782712893384, 709.782712893385, -745.13, -745.14])
table("expm1", mp.expm1, uniform(-40, 1) + uniform(-1, 2) + uniform(0, 709.7) + near(0.0, 0.5) + tiny + [709.782712893384, -37.0, -60.0])
table("ln", mp.log, logarithmic(1e-307, 1e308, (1,)) + uniform(0.4, 2.5) + near(1.0, 0.4) + logarithmic(5e-324, 2e-308, (1,)) + [5e-324])
table("ln1p", mp.log1p, logarithmic(1e-8, 1e308, (1,)) + uniform(-0.999, 3) + near(0.0, 0.7) + [-1 + x for x in logarithmic(1e-16, 0.1, (1,))] + tiny)
table("tanh", mp.tanh, uniform(-22, 22) + uniform(-1, 1) + near(0.0, 0.5) + tiny + [19.5, 300.0, -800.0])
sigmoid = lambda x: 1 / (1 + mp.exp(-x))
table("sigmoid", sigmoid, uniform(-745, -36) + uniform(-36, 37) + uniform(-2, 2) + tiny)
table("softplus", lambda x: mp.log1p(mp.exp(x)), uniform(-745, -36) + uniform(-36, 40) + uniform(-2, 2) + logarithmic(1, 1e300, (1,)) + tiny)
table("logit", lambda p: mp.log(p / (1 - p)) if p > 1e-10 else mp.log(p) - mp.log1p(-p),
      uniform(0, 1) + near(0.5, 0.3) + logarithmic(1e-300, 0.1, (1,)) + [1 - x for x in logarithmic(1e-15, 0.1, (1,))] + [5e-324, 1e-310])
table("erf", mp.erf, uniform(-6.5, 6.5) + uniform(-1, 1) + near(0.0, 0.5) + tiny + [30.0, -30.0])
table("erfc", mp.erfc, uniform(-6, 6) + uniform(0, 1) + uniform(0.5, 26.5) + uniform(26.5, 27.3) + tiny + [27.5, -30.0])
table("erfinv", erfinv, uniform(-1, 1) + near(0.0, 0.5) + [1 - x for x in logarithmic(2e-16, 0.1, (1,))] + [-1 + x for x in logarithmic(2e-16, 0.1, (1,))]
      + logarithmic(1e-300, 1e-8) + DENORMAL)
for name, function in [("sin", mp.sin), ("cos", mp.cos)]:
    table(name, function, uniform(-10, 10) + uniform(-1.6e6, 1.6e6) + near(0.0, 0.5) + tiny
          + [float(k * mp.pi / 2) for k in random.sample(range(-1048000, 1048000), COUNT)] + [float(k * mp.pi / 2) for k in range(-8, 9) if k])
table("lgamma", log_gamma, uniform(0, 12) + near(1.0, 0.5) + near(2.0, 0.5) + logarithmic(8, 1e305, (1,)) + logarithmic(1e-300, 0.5) + uniform(-12, 0)
      + uniform(-150, 0) + DENORMAL[:3])
table("digamma", mp.digamma, uniform(0, 12) + near(1.4616321449683623) + logarithmic(8, 1e300, (1,)) + logarithmic(1e-300, 0.5) + uniform(-12, 0) + uniform(-150, 0))
table("trigamma", lambda x: mp.psi(1, x), uniform(0, 12) + logarithmic(8, 1e300, (1,)) + logarithmic(1e-153, 0.5) + uniform(-12, 0) + uniform(-150, 0))
for a, b in list(zip(logarithmic(1e-300, 1e300, (1,)), uniform(-1, 1))) + list(zip(uniform(0.5, 2), uniform(-700, 700))) \
        + list(zip(near(1.0, 0.3), uniform(-2000, 2000))) + list(zip(uniform(0, 20), uniform(-20, 20))) \
        + [(x, math.copysign(random.uniform(700, 709) / abs(math.log(x)), y)) for x, y in zip(near(1.0, 0.5), uniform(-1, 1))] \
        + [(x, float(round(y))) for x, y in zip(uniform(-9, 0), uniform(-300, 300))] \
        + [(5e-324, 0.5), (1e-310, 0.99), (5e-324, -0.5), (2.0, -1074.0), (2.0, -1050.5), (1 + 2**-52, 1e18), (1 - 2**-53, -4e18)]:
    value = mp.power(mp.mpf(a), mp.mpf(b)) if a > 0 else mp.power(mp.mpf(a), int(b))
    row("powf", a, b, value)
