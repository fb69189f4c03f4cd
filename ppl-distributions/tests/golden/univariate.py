"""Writes univariate.csv: densities, distribution functions, moments, entropies and divergences at 50 digits with mpmath.

Run: python3 -P univariate.py > univariate.csv        (names of distributions as arguments: those only)

Textbook formulas are used as they stand, with enough digits for what cancels in them; divergences are quadratures. The column
"condition" is the sum of |argument · derivative| over parameters and point: how far the value moves if each of them is changed by one
part in one, so that a test can tell rounding of its arguments from an error.
"""
import sys

import mpmath as mp

mp.mp.dps = 50
INF = float("inf")
ONLY = sys.argv[1:]

print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 50 digits of working precision")
print("# columns: distribution, quantity, number of parameters, parameters (five, 0 where there are fewer), x, condition, value")


def derivative(f, at):
    """Central differences with digits to spare."""
    with mp.workdps(mp.mp.dps + 40):
        h = (abs(at) if at else mp.mpf(1)) * mp.mpf(10) ** -30
        return (f(at + h) - f(at - h)) / (2 * h)


def row(name, quantity, parameters, x, f):
    arguments = [mp.mpf(p) for p in parameters] + ([] if x is None else [mp.mpf(x)])
    with mp.workdps(mp.mp.dps + 60):
        value = f(*arguments)
    if not (mp.isfinite(value) or mp.isinf(value)) or abs(value) < mp.mpf(10) ** -290 and value != 0:
        return
    condition = mp.mpf(0)
    if mp.isfinite(value):
        for i, argument in enumerate(arguments):
            if mp.isinf(argument):
                continue
            def moved(t, i=i):
                return f(*[t if j == i else other for j, other in enumerate(arguments)])
            try:
                condition += abs(argument * derivative(moved, argument))
            except (ValueError, ZeroDivisionError):
                pass
    filled = [float(p) for p in parameters] + [0.0] * (5 - len(parameters))
    cells = [name, quantity, str(len(parameters))] + [repr(v) for v in filled]
    cells += [repr(0.0 if x is None else float(x)), mp.nstr(condition, 3), repr(float(value))]
    print(",".join(cells), flush=True)


# Functions that several distributions share.
def lower_gamma(a, x):
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * mp.hyp1f1(1, a + 1, x)


def upper_gamma(a, x):
    if x > a + 3 * mp.sqrt(a) + 5:
        b, d = x + 1 - a, 1 / (x + 1 - a)
        c, h = mp.inf, d
        for k in range(1, 100000):
            top = -k * (k - a)
            b += 2
            d = 1 / (top * d + b)
            c = b + top / c
            h *= d * c
            if abs(d * c - 1) < mp.mpf(10) ** (-mp.mp.dps):
                return mp.exp(a * mp.log(x) - x - mp.loggamma(a)) * h
    with mp.workdps(mp.mp.dps + 30):
        return 1 - lower_gamma(a, x)


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def lower_beta(a, b, x):
    return mp.exp(a * mp.log(x) + b * mp.log(1 - x) - mp.log(a) - log_beta(a, b)) * mp.hyp2f1(a + b, 1, a + 1, x)


def beta_i(a, b, x):
    return lower_beta(a, b, x) if x * (a + b) <= a else 1 - lower_beta(b, a, 1 - x)


def ncdf(z):
    return mp.erfc(-z / mp.sqrt(2)) / 2 if not mp.isinf(z) else mp.mpf(z > 0)


def npdf(z):
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi) if not mp.isinf(z) else mp.mpf(0)


def student_constant(n):
    return mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2) - mp.log(n * mp.pi) / 2


def student_cdf(n, z):
    tail = lower_beta(n / 2, mp.mpf(1) / 2, n / (n + z * z)) / 2 if z * z > n / 9 else (1 - lower_beta(mp.mpf(1) / 2, n / 2, z * z / (n + z * z))) / 2
    return 1 - tail if z > 0 else tail


def circular(m, k, low, high):
    """The integral of exp(k cos(t - m) - k) from low to high, of one turn at most, in pieces about the modes."""
    width = 1 / mp.sqrt(k + 1)
    near = {m + 2 * mp.pi * turn + width * z for turn in (-1, 0, 1) for z in range(-24, 25)}
    points = [low] + sorted(p for p in near if low < p < high) + [high]
    return mp.quad(lambda t: mp.exp(-2 * k * mp.sin((t - m) / 2) ** 2), points)


def bessel(n, k):
    return mp.besseli(n, k) * mp.exp(-k)


def truncated(m, s, low, high):
    """(a, b, probability, density at a, density at b, mean), seen from the left."""
    a, b = (low - m) / s, (high - m) / s
    if a + b > 0:
        a, b, turned = -b, -a, -1
    else:
        turned = 1
    probability = ncdf(b) - ncdf(a)
    return a, b, probability, npdf(a) / probability, npdf(b) / probability, turned


def times(end, density):
    return mp.mpf(0) if mp.isinf(end) else end * density


def truncated_variance(m, s, low, high):
    a, b, _, at_a, at_b, _ = truncated(m, s, low, high)
    return s * s * (1 + times(a, at_a) - times(b, at_b) - (at_a - at_b) ** 2)


def truncated_entropy(m, s, low, high):
    a, b, probability, at_a, at_b, _ = truncated(m, s, low, high)
    return mp.log(mp.sqrt(2 * mp.pi * mp.e) * s * probability) + (times(a, at_a) - times(b, at_b)) / 2


def truncated_mean(m, s, low, high):
    _, _, _, at_a, at_b, turned = truncated(m, s, low, high)
    return m + s * turned * (at_a - at_b)


def truncated_log_prob(m, s, low, high, x):
    return -((x - m) / s) ** 2 / 2 - mp.log(s * mp.sqrt(2 * mp.pi)) - mp.log(truncated(m, s, low, high)[2])


def truncated_cdf(m, s, low, high, x):
    a, b, probability, _, _, turned = truncated(m, s, low, high)
    z = (x - m) / s
    return (ncdf(z) - ncdf(a)) / probability if turned > 0 else (ncdf(b) - ncdf(-z)) / probability


def polya_gamma(c, x):
    sign = lambda n: -1 if n % 2 else 1
    small = mp.fsum(sign(n) * (2 * n + 1) * mp.exp(-(2 * n + 1) ** 2 / (8 * x)) for n in range(60)) / mp.sqrt(2 * mp.pi * x**3)
    large = 2 * mp.pi * mp.fsum(sign(n) * (2 * n + 1) * mp.exp(-(2 * n + 1) ** 2 * mp.pi**2 * x / 2) for n in range(60))
    if mp.mpf("0.05") < x < mp.mpf("0.5"):
        assert abs(small / large - 1) < mp.mpf(10) ** -25, (x, small, large)
    return mp.log(small if x < 0.16 else large) + mp.log(mp.cosh(c / 2)) - c * c * x / 2


def polya_gamma_variance(c):
    if c == 0:
        return mp.mpf(1) / 24
    return (mp.sinh(c) - c) / mp.cosh(c / 2) ** 2 / (4 * c**3)


def if_above(bound, df, value):
    return value if df > bound else mp.inf


E, PI = mp.euler, mp.pi
# name: (log_prob, cdf, mean, variance, entropy), each a function of the parameters (and x); None where there is no formula.
TABLE = {
    "normal": (lambda m, s, x: -((x - m) / s) ** 2 / 2 - mp.log(s * mp.sqrt(2 * PI)), lambda m, s, x: ncdf((x - m) / s),
               lambda m, s: m, lambda m, s: s * s, lambda m, s: mp.log(s * mp.sqrt(2 * PI * mp.e))),
    "log_normal": (lambda m, s, x: -((mp.log(x) - m) / s) ** 2 / 2 - mp.log(x * s * mp.sqrt(2 * PI)), lambda m, s, x: ncdf((mp.log(x) - m) / s),
                   lambda m, s: mp.exp(m + s * s / 2), lambda m, s: mp.expm1(s * s) * mp.exp(2 * m + s * s),
                   lambda m, s: m + mp.log(s * mp.sqrt(2 * PI * mp.e))),
    "half_normal": (lambda s, x: mp.log(2 / PI) / 2 - mp.log(s) - (x / s) ** 2 / 2, lambda s, x: mp.erf(x / s / mp.sqrt(2)),
                    lambda s: s * mp.sqrt(2 / PI), lambda s: s * s * (1 - 2 / PI), lambda s: mp.log(PI * s * s / 2) / 2 + mp.mpf(1) / 2),
    "cauchy": (lambda m, s, x: -mp.log(PI * s) - mp.log1p(((x - m) / s) ** 2), lambda m, s, x: mp.mpf(1) / 2 + mp.atan((x - m) / s) / PI,
               None, None, lambda m, s: mp.log(4 * PI * s)),
    "half_cauchy": (lambda s, x: mp.log(2 / PI / s) - mp.log1p((x / s) ** 2), lambda s, x: 2 * mp.atan(x / s) / PI,
                    lambda s: mp.inf, lambda s: mp.inf, lambda s: mp.log(2 * PI * s)),
    "laplace": (lambda m, s, x: -abs(x - m) / s - mp.log(2 * s), lambda m, s, x: mp.exp((x - m) / s) / 2 if x < m else 1 - mp.exp((m - x) / s) / 2,
                lambda m, s: m, lambda m, s: 2 * s * s, lambda m, s: 1 + mp.log(2 * s)),
    "logistic": (lambda m, s, x: -(x - m) / s - 2 * mp.log1p(mp.exp(-(x - m) / s)) - mp.log(s), lambda m, s, x: 1 / (1 + mp.exp(-(x - m) / s)),
                 lambda m, s: m, lambda m, s: (s * PI) ** 2 / 3, lambda m, s: mp.log(s) + 2),
    "gumbel": (lambda m, s, x: -(x - m) / s - mp.exp(-(x - m) / s) - mp.log(s), lambda m, s, x: mp.exp(-mp.exp(-(x - m) / s)),
               lambda m, s: m + s * E, lambda m, s: (s * PI) ** 2 / 6, lambda m, s: mp.log(s) + E + 1),
    "uniform": (lambda a, b, x: -mp.log(b - a), lambda a, b, x: (x - a) / (b - a), lambda a, b: (a + b) / 2, lambda a, b: (b - a) ** 2 / 12,
                lambda a, b: mp.log(b - a)),
    "exponential": (lambda r, x: mp.log(r) - r * x, lambda r, x: -mp.expm1(-r * x), lambda r: 1 / r, lambda r: 1 / r**2, lambda r: 1 - mp.log(r)),
    "gamma": (lambda a, r, x: a * mp.log(r) + (a - 1) * mp.log(x) - r * x - mp.loggamma(a), lambda a, r, x: lower_gamma(a, r * x),
              lambda a, r: a / r, lambda a, r: a / r**2, lambda a, r: a - mp.log(r) + mp.loggamma(a) + (1 - a) * mp.digamma(a)),
    "inverse_gamma": (lambda a, r, x: a * mp.log(r) - (a + 1) * mp.log(x) - r / x - mp.loggamma(a), lambda a, r, x: upper_gamma(a, r / x),
                      lambda a, r: if_above(1, a, r / (a - 1) if a != 1 else 0), lambda a, r: if_above(2, a, r**2 / (a - 1) ** 2 / (a - 2) if a > 2 else 0),
                      lambda a, r: a + mp.log(r) + mp.loggamma(a) - (1 + a) * mp.digamma(a)),
    "chi2": (lambda k, x: (k / 2 - 1) * mp.log(x) - x / 2 - k / 2 * mp.log(2) - mp.loggamma(k / 2), lambda k, x: lower_gamma(k / 2, x / 2),
             lambda k: k, lambda k: 2 * k, lambda k: k / 2 + mp.log(2) + mp.loggamma(k / 2) + (1 - k / 2) * mp.digamma(k / 2)),
    "weibull": (lambda s, k, x: mp.log(k / s) + (k - 1) * mp.log(x / s) - (x / s) ** k, lambda s, k, x: -mp.expm1(-((x / s) ** k)),
                lambda s, k: s * mp.gamma(1 + 1 / k), lambda s, k: s * s * (mp.gamma(1 + 2 / k) - mp.gamma(1 + 1 / k) ** 2),
                lambda s, k: E * (1 - 1 / k) + mp.log(s / k) + 1),
    "pareto": (lambda s, a, x: mp.log(a) + a * mp.log(s) - (a + 1) * mp.log(x), lambda s, a, x: -mp.expm1(a * mp.log(s / x)),
               lambda s, a: if_above(1, a, a * s / (a - 1) if a != 1 else 0),
               lambda s, a: if_above(2, a, s * s * a / (a - 1) ** 2 / (a - 2) if a > 2 else 0), lambda s, a: mp.log(s / a) + 1 / a + 1),
    "student_t": (lambda n, m, s, x: student_constant(n) - mp.log(s) - (n + 1) / 2 * mp.log1p(((x - m) / s) ** 2 / n),
                  lambda n, m, s, x: student_cdf(n, (x - m) / s), lambda n, m, s: m if n > 1 else mp.nan,
                  lambda n, m, s: s * s * n / (n - 2) if n > 2 else mp.inf if n > 1 else mp.nan,
                  lambda n, m, s: (n + 1) / 2 * (mp.digamma((n + 1) / 2) - mp.digamma(n / 2)) - student_constant(n) + mp.log(s)),
    "half_student_t": (lambda n, s, x: student_constant(n) + mp.log(2) - mp.log(s) - (n + 1) / 2 * mp.log1p((x / s) ** 2 / n),
                       lambda n, s, x: 2 * student_cdf(n, x / s) - 1,
                       lambda n, s: 2 * s * mp.exp(student_constant(n)) * n / (n - 1) if n > 1 else mp.inf,
                       lambda n, s: s * s * (n / (n - 2) - (2 * mp.exp(student_constant(n)) * n / (n - 1)) ** 2) if n > 2 else mp.inf,
                       lambda n, s: (n + 1) / 2 * (mp.digamma((n + 1) / 2) - mp.digamma(n / 2)) - student_constant(n) + mp.log(s) - mp.log(2)),
    "beta": (lambda a, b, x: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - log_beta(a, b), beta_i, lambda a, b: a / (a + b),
             lambda a, b: a * b / (a + b) ** 2 / (a + b + 1),
             lambda a, b: log_beta(a, b) - (a - 1) * mp.digamma(a) - (b - 1) * mp.digamma(b) + (a + b - 2) * mp.digamma(a + b)),
    "kumaraswamy": (lambda a, b, x: mp.log(a * b) + (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-(x**a)), lambda a, b, x: 1 - (1 - x**a) ** b,
                    lambda a, b: b * mp.beta(1 + 1 / a, b), lambda a, b: b * mp.beta(1 + 2 / a, b) - (b * mp.beta(1 + 1 / a, b)) ** 2,
                    lambda a, b: 1 - 1 / b + (1 - 1 / a) * (mp.digamma(b + 1) + E) - mp.log(a * b)),
    "von_mises": (lambda m, k, x: k * mp.cos(x - m) - mp.log(2 * PI * mp.besseli(0, k)),
                  lambda m, k, x: circular(m, k, -PI, x) / (2 * PI * bessel(0, k)),
                  lambda m, k: m, lambda m, k: 1 - bessel(1, k) / bessel(0, k),
                  lambda m, k: mp.log(2 * PI * mp.besseli(0, k)) - k * bessel(1, k) / bessel(0, k)),
    "truncated_normal": (truncated_log_prob, truncated_cdf, truncated_mean, truncated_variance, truncated_entropy),
    "polya_gamma": (polya_gamma, None, lambda c: mp.tanh(c / 2) / (2 * c) if c else mp.mpf(1) / 4, polya_gamma_variance, None),
}

LOCATIONS = [(0.0, 1.0), (-3.25, 1e-5), (1e3, 0.3), (2.0, 1e8)]
REAL = [lambda m, s, z=z: m + s * z for z in (-300.0, -36.0, -8.0, -1.5, -1e-3, 0.4, 3.0, 35.0, 500.0)]
POSITIVE = [lambda *p, z=z: p[-1] * z for z in (1e-9, 1e-3, 0.5, 1.5, 7.0, 30.0)]


def gamma_points(a, r):
    spread = a**0.5
    points = {a * f for f in (1e-12, 1e-3, 0.3, 0.9, 1.0, 1.4, 6.0)} | {a + z * spread for z in (-6.0, -1.0, 0.5, 2.0, 8.0)}
    return sorted(x / r for x in points if 0 < x < 1e12)


def beta_points(a, b):
    mean, spread = a / (a + b), (a * b / (a + b) ** 2 / (a + b + 1)) ** 0.5
    points = {mean + z * spread for z in (-6.0, -1.5, 0.0, 1.0, 5.0)} | {mean * 1e-6, mean * 0.1, 1 - (1 - mean) * 0.2, 0.5, 0.999}
    return sorted(x for x in points if 1e-300 < x < 1 - 1e-12)


GAMMA = [(1e-6, 1.0), (0.02, 3.0), (0.5, 1e-8), (1.0, 1.0), (2.5, 1e6), (9.9, 2.0), (77.0, 0.3), (1000.0, 1.0), (1234.5, 5.0), (3e6, 1e3)]
BETA = [(1e-3, 1e-3), (0.02, 5.0), (0.5, 0.5), (1.0, 1.0), (2.0, 3.0), (7.5, 0.3), (40.0, 1e-2), (300.0, 20.0), (999.0, 1000.0), (5e3, 1.5), (3e4, 2e5)]
DEGREES = [(0.3, 0.0, 1.0), (1.0, 2.0, 3.0), (1.5, 0.0, 1e-4), (4.0, -1.0, 2.0), (30.0, 0.0, 1.0), (1e4, 1.0, 1.0), (3e7, 0.0, 2.0)]
POINTS = {
    "normal": (LOCATIONS, lambda *p: [f(*p) for f in REAL[1:-1]]),
    "log_normal": ([(0.0, 1.0), (-3.25, 1e-3), (20.0, 0.3), (2.0, 6.0)], lambda m, s: [float(mp.exp(m + s * z)) for z in (-30.0, -2.0, -1e-3, 0.4, 3.0, 30.0)]),
    "half_normal": ([(1.0,), (1e-5,), (1e8,)], lambda s: [s * z for z in (1e-9, 0.01, 0.5, 3.0, 30.0)]),
    "cauchy": (LOCATIONS, lambda *p: [f(*p) for f in REAL] + [p[0] - p[1] * 1e10]),
    "half_cauchy": ([(1.0,), (1e-5,), (1e8,)], lambda s: [s * z for z in (1e-9, 0.01, 0.5, 3.0, 1e6)]),
    "laplace": (LOCATIONS, lambda *p: [f(*p) for f in REAL]),
    "logistic": (LOCATIONS, lambda *p: [f(*p) for f in REAL]),
    "gumbel": (LOCATIONS, lambda m, s: [m + s * z for z in (-6.0, -1.5, -1e-3, 0.4, 3.0, 35.0)]),
    "uniform": ([(0.0, 1.0), (-3.0, 4.5), (1e5, 1e5 + 1.0), (-1e-9, 1e-9)], lambda a, b: [a + (b - a) * u for u in (0.01, 0.5, 0.9)]),
    "exponential": ([(1.0,), (1e-8,), (3e7,)], lambda r: [z / r for z in (1e-12, 0.01, 0.7, 3.0, 600.0)]),
    "gamma": (GAMMA, gamma_points),
    "inverse_gamma": (GAMMA, lambda a, r: [r / (y * r) * r for y in gamma_points(a, r)]),
    "chi2": ([(2 * a,) for a, _ in GAMMA], lambda k: [2 * y for y in gamma_points(k / 2, 1.0)]),
    "weibull": ([(1.0, 1.0), (2.0, 0.3), (1e-6, 3.5), (5.0, 80.0), (1e3, 2e3)],
                lambda s, k: [s * y ** (1 / k) for y in (1e-9, 1e-2, 0.5, 1.0, 4.0, 60.0)]),
    "pareto": ([(1.0, 1.0), (2.0, 0.3), (1e-6, 3.5), (5.0, 80.0), (1e3, 2e3)], lambda s, a: [s * float(mp.exp(y / a)) for y in (1e-3, 0.5, 4.0, 60.0)]),
    "student_t": (DEGREES, lambda n, m, s: [m + s * z for z in (-1e4, -36.0, -8.0, -1.5, -1e-3, 0.4, 3.0, 30.0)]),
    "half_student_t": ([(n, s) for n, _, s in DEGREES], lambda n, s: [s * z for z in (1e-9, 1e-3, 0.4, 1.5, 8.0, 36.0, 1e4)]),
    "beta": (BETA, beta_points),
    "kumaraswamy": ([(0.05, 0.3), (0.5, 0.5), (1.0, 1.0), (2.0, 3.0), (0.3, 40.0), (60.0, 0.4), (30.0, 500.0)],
                    lambda a, b: sorted({float((1 - (1 - u) ** (1 / b)) ** (1 / a)) for u in (0.001, 0.2, 0.6, 0.99)} | {0.5})),
    "von_mises": ([(0.0, 1e-4), (0.5, 1.0), (-1.0, 8.0), (0.0, 60.0), (2.0, 1e6)],
                  lambda m, k: sorted(x for x in {m + min(z / k**0.5, 3.0) for z in (-8.0, -1.0, 0.3, 3.0)} | {-3.0, 3.1} if -3.14 < x < 3.14)),
    "truncated_normal": ([(0.0, 1.0, -1.0, 2.0), (1.0, 2.0, 1.0, INF), (0.0, 1.0, -INF, -5.0), (0.0, 1.0, 37.0, INF), (0.0, 1.0, 8.0, 8.5),
                          (0.0, 1.0, 1.0, 1.0 + 1e-6), (-3.0, 0.1, -2.0, -1.0), (2.0, 1.0, -INF, INF), (5.0, 1e3, -1.0, 1.0), (0.0, 1.0, -30.0, 9.0)],
                         lambda m, s, a, b: [x for u in (0.05, 0.5, 0.8) for x in [
                             a + (b - a) * u if a > -INF and b < INF else a + s * u / max(1.0, (a - m) / s) if a > -INF
                             else b - s * u / max(1.0, (m - b) / s) if b < INF else m + s * (u - 0.3)]]),
    "polya_gamma": ([(0.0,), (0.01,), (-2.0,), (0.6,), (30.0,)], lambda c: [0.005, 0.03, 0.1, 0.159, 0.16, 0.3, 1.0, 5.0, 20.0]),
}

for name, (log_prob, cdf, mean, variance, entropy) in TABLE.items():
    if ONLY and name not in ONLY:
        continue
    settings, points = POINTS[name]
    for parameters in settings:
        for quantity, f in [("mean", mean), ("variance", variance), ("entropy", entropy)]:
            if f is not None:
                row(name, quantity, parameters, None, f)
        for x in points(*parameters):
            row(name, "log_prob", parameters, x, log_prob)
            slow = name in ("gamma", "inverse_gamma", "chi2", "beta") and max(parameters) > 1e5 or name == "beta" and sum(parameters) > 3e3
            if cdf is not None and not slow:
                row(name, "cdf", parameters, x, cdf)

# Divergences KL(p ‖ q) by quadrature, cut where p is small beyond all digits.
DIVERGENCES = [
    ("normal", (0.3, 1.2), (-0.5, 2.0), lambda m, s: [m + s * z for z in range(-16, 17)]),
    ("normal", (0.0, 1.0), (0.0, 1.001), lambda m, s: [m + s * z for z in range(-16, 17)]),
    ("log_normal", (0.3, 0.6), (-0.5, 0.9), lambda m, s: [mp.exp(m + s * z) for z in range(-15, 16)]),
    ("half_normal", (1.3,), (2.9,), lambda s: [s * z for z in range(0, 17)]),
    ("cauchy", (0.5, 2.0), (-1.0, 0.7), lambda m, s: [-mp.inf, -100, -10, m - s, m, m + s, 10, 100, mp.inf]),
    ("half_cauchy", (2.0,), (0.7,), lambda s: [0, s, 10, 100, mp.inf]),
    ("laplace", (0.5, 2.0), (-1.0, 0.7), lambda m, s: [m - 100 * s, m - 10 * s, -1, m, m + 10 * s, m + 100 * s]),
    ("gumbel", (0.5, 2.0), (-1.0, 1.7), lambda m, s: [m + s * z for z in [-6, -4, -3, -2, -1, 0, 1, 2, 4, 8, 16, 32, 64, 100]]),
    ("weibull", (0.5, 2.0), (1.0, 1.7), lambda s, k: [s * mp.mpf(y) ** (1 / k) for y in (0, 1e-9, 1e-3, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100)]),
    ("exponential", (2.0,), (0.7,), lambda r: [y / r for y in (0, 1, 3, 10, 30, 100)]),
    ("pareto", (3.0, 2.0), (1.0, 1.7), lambda s, a: [3, 4, 6, 10, 30, 100, 1000, mp.inf]),
    ("uniform", (0.0, 1.5), (-1.0, 2.0), lambda a, b: [a, b]),
    ("gamma", (0.7, 2.0), (2.5, 3.0), lambda a, r: [y / r for y in (0, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 1, 3, 8, 20, 50, 110)]),
    ("gamma", (900.0, 1.0), (1200.0, 1.5), lambda a, r: [(a + z * mp.sqrt(a)) / r for z in range(-15, 17)]),
    ("inverse_gamma", (2.7, 2.0), (3.5, 3.0), lambda a, r: [r / y for y in (100, 50, 20, 8, 4, 2, 1, 0.5, 0.1, 1e-2, 1e-4, 1e-8, 1e-14)]),
    ("chi2", (3.0,), (5.0,), lambda k: [2 * y for y in (0, 1e-6, 1e-3, 0.1, 0.5, 1, 3, 8, 20, 50, 110)]),
    ("beta", (2.3, 4.0), (1.5, 0.8), lambda a, b: [0, 0.05, 0.2, 0.5, 0.8, 0.95, 1]),
    ("beta", (400.0, 700.0), (300.0, 600.0), lambda a, b: [mp.mpf(4) / 11 + mp.mpf("0.0145") * z for z in range(-15, 16)]),
    ("von_mises", (0.5, 2.0), (-1.0, 3.5), lambda m, k: [-mp.pi, -2, -1, 0, 1, 2, mp.pi]),
]
for name, p, q, points in DIVERGENCES:
    if ONLY and name not in ONLY:
        continue
    log_prob = TABLE[name][0]
    mp.mp.dps = 30
    exact = [mp.mpf(v) for v in p], [mp.mpf(v) for v in q]

    def integrand(x):
        if x <= 0 and name in ("gamma", "weibull", "chi2", "beta", "half_normal", "half_cauchy", "exponential") or name == "beta" and x >= 1:
            return mp.mpf(0)
        own = log_prob(*exact[0], x)
        return mp.exp(own) * (own - log_prob(*exact[1], x))

    value = mp.quad(integrand, [mp.mpf(v) for v in points(*exact[0])])
    print(",".join([name + "|" + ":".join(repr(v) for v in q), "kl", str(len(p))] + [repr(float(v)) for v in p] + ["0.0"] * (5 - len(p))
                   + ["0.0", "1.0", repr(float(value))]), flush=True)
