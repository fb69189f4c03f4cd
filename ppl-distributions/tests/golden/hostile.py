"""Writes hostile.csv: log densities and their derivatives where they are hard, of every distribution, at 60 digits with mpmath.

Run: python3 -P hostile.py > hostile.csv        (names of distributions as arguments: those only)

A distribution joins with one line of LAWS: its log density by the textbook formula, the parameters and the points, by band. A band
is one of "middle" (parameters and points of ordinary size), "tail" (points far out), "extreme" (parameters of extreme size) and
"edge" (ends of the support, and values that no outcome has). Every number is one that f32 holds too, where that has such a number.

Columns, between semicolons: distribution, band, parameters, point, value, condition, derivatives, their conditions. Derivatives are
with respect to the parameters and then the point; "-" stands for one that is not taken (integers, ends of intervals). A condition is
the sum of |argument times derivative| over parameters and point: how far the number moves if each is changed by one part in one. What
is a log probability of nothing is -inf and has no derivatives.
"""
import contextlib
import io
import itertools
import math
import struct
import sys

ONLY, sys.argv = sys.argv[1:], ["univariate.py", "none"]
import mpmath as mp
import pathlib

sys.path.append(str(pathlib.Path(__file__).parent))
with contextlib.redirect_stdout(io.StringIO()):
    import univariate as textbook  # with no distribution chosen: its formulas only

mp.mp.dps = 60
INF = math.inf


def single(x):
    """The nearest f32, as long as it is a normal one."""
    if x == 0 or not 1e-36 < abs(x) < 1e36:
        return float(x)
    return struct.unpack("f", struct.pack("f", x))[0]


def numbers(values):
    return " ".join(repr(float(v)) for v in values)


def slope(f, at, k):
    """A central difference in the argument k, with 60 digits to spare."""
    h = (abs(at[k]) if at[k] else mp.mpf(1)) * mp.mpf(10) ** -40
    moved = lambda t: f([t if j == k else x for j, x in enumerate(at)])
    return (moved(at[k] + h) - moved(at[k] - h)) / (2 * h)


def row(name, band, f, parameters, point, smooth):
    parameters, point = [single(p) for p in parameters], [single(x) for x in point]
    at = [mp.mpf(v) for v in parameters + point]
    free = [k for k in smooth if not mp.isinf(at[k])]
    with mp.workdps(170):
        value = f(at)
        value = mp.mpf(value)
        if mp.isnan(value) and band == "edge":
            value = -mp.inf  # the density at an infinite value, by a formula that does not know it
        slopes, condition, conditions = {}, mp.mpf(0), {}
        if mp.isfinite(value) and band != "edge":
            for k in free:
                slopes[k] = slope(f, at, k)
                condition += abs(at[k] * slopes[k])
            for k in free:
                conditions[k] = mp.fsum(abs(at[j] * slope(lambda v, k=k: slope(f, v, k), at, j)) for j in free)
    tell = lambda table: " ".join(repr(float(table[k])) if k in table else "-" for k in range(len(at)))
    print(";".join([name, band, numbers(parameters), numbers(point), repr(float(value)), mp.nstr(condition, 3), tell(slopes),
                    " ".join(mp.nstr(conditions[k], 3) if k in conditions else "-" for k in range(len(at)))]), flush=True)


def log_binomial(n, k):
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


def is_count(k):
    return k >= 0 and mp.floor(k) == k


def counted(f):
    """-inf for what is no count."""
    return lambda *v: f(*v) if is_count(v[-1]) else -INF


def between(low, high, f, closed=(True, True)):
    """-inf outside an interval whose ends are functions of the parameters."""
    def inside(*v):
        a, b = low(*v[:-1]), high(*v[:-1])
        x = v[-1]
        if x < a or x > b or (x == a and not closed[0]) or (x == b and not closed[1]):
            return -INF
        return f(*v)
    return inside


def power_edge(exponent, at_zero, f):
    """A density that is a power of x near 0: its value there."""
    def all_of(*v):
        x = v[-1]
        if x > 0:
            return f(*v)
        e = exponent(*v[:-1])
        return -INF if x < 0 or e > 0 else at_zero(*v[:-1]) if e == 0 else INF
    return all_of


zero, infinity = (lambda *p: mp.mpf(0)), (lambda *p: mp.inf)
of = {name: table[0] for name, table in textbook.TABLE.items()}
xlogy = lambda x, y: x * mp.log(y) if x else mp.mpf(0)
bernoulli_logits = lambda l, y: (-mp.log1p(mp.exp(-l)) if y else -mp.log1p(mp.exp(l))) if y in (0, 1) else -INF
logits_of = lambda l, k, rest: -k * mp.log1p(mp.exp(-l)) - rest * mp.log1p(mp.exp(l))
poisson = lambda r, k: (xlogy(k, r) - r - mp.loggamma(k + 1)) if is_count(k) else -INF
binomial_p = lambda n, p, k: log_binomial(n, k) + xlogy(k, p) + (n - k) * mp.log1p(-p) if is_count(k) and k <= n else -INF
binomial_l = lambda n, l, k: log_binomial(n, k) + logits_of(l, k, n - k) if is_count(k) and k <= n else -INF
negative_l = counted(lambda r, l, k: mp.loggamma(k + r) - mp.loggamma(k + 1) - mp.loggamma(r) + logits_of(l, k, r))
negative_m = counted(lambda m, c, k: mp.loggamma(k + c) - mp.loggamma(k + 1) - mp.loggamma(c) + xlogy(k, m / (m + c)) - c * mp.log1p(m / c))
rising = lambda a, k: mp.loggamma(a + k) - mp.loggamma(a)
beta_binomial = lambda a, b, n, k: log_binomial(n, k) + rising(a, k) + rising(b, n - k) - rising(a + b, n) if is_count(k) and k <= n else -INF


def ordered_logistic(*v):
    eta, cuts, k = v[0], v[1:-1], v[-1]
    if not is_count(k) or k > len(cuts):
        return -INF
    k = int(k)
    # In the left tail, where probabilities are small and not nearly 1.
    flip = 1 if k < len(cuts) and cuts[k] < eta else -1
    cdf = lambda c: 1 / (1 + mp.exp(-flip * (c - eta)))
    ends = [mp.mpf(0) if flip > 0 else mp.mpf(1)] + [cdf(c) for c in cuts] + [mp.mpf(1) if flip > 0 else mp.mpf(0)]
    return mp.log(abs(ends[k + 1] - ends[k]))


def truncated_normal(m, s, low, high, x):
    if x < low or x > high:
        return -INF
    a, b = (low - m) / s, (high - m) / s
    # Seen from the end nearer to the mean, without large terms.
    if a > 0 or b < 0:
        near, d = (a, (x - low) / s) if a > 0 else (-b, (high - x) / s)
        w = (high - low) / s
        mills = lambda t: mp.erfc(t / mp.sqrt(2)) * mp.exp(t * t / 2) * mp.sqrt(mp.pi / 2) if t < 1e3 else mp.hyperu(1, mp.mpf(3) / 2, t * t / 2) * t / 2 * 1
        mass = mills(near) - (0 if mp.isinf(w) else mp.exp(-near * w - w * w / 2) * mills(near + w))
        return -d * (near + d / 2) - mp.log(s) - mp.log(mass)
    return textbook.truncated_log_prob(m, s, low, high, x)


def truncated(base, cdf, sf, discrete=False):
    """Any law between two ends; the last two parameters."""
    def density(*v):
        p, low, high, x = v[:-3], v[-3], v[-2], v[-1]
        if x < low or x > high:
            return -INF
        value = base(*p, x)
        if isinstance(value, float):
            return value
        if discrete:
            mass = mp.fsum(mp.exp(base(*p, mp.mpf(k))) for k in range(int(mp.ceil(low)), int(mp.floor(high)) + 1))
        else:
            above = cdf(*p, low) > mp.mpf(1) / 2
            mass = sf(*p, low) - sf(*p, high) if above else cdf(*p, high) - cdf(*p, low)
        return value - mp.log(mass)
    return density


def multinomial(*v):
    """Log-weights and as many counts, after the total."""
    n, half = v[0], (len(v) - 1) // 2
    w, k = v[1:1 + half], v[1 + half:]
    if not all(map(is_count, k)) or sum(k) != n:
        return -INF
    total = mp.log(mp.fsum(mp.exp(x) for x in w))
    return mp.loggamma(n + 1) + mp.fsum(c * (x - total) - mp.loggamma(c + 1) for x, c in zip(w, k))


def dirichlet_multinomial(*v):
    n, half = v[0], (len(v) - 1) // 2
    a, k = v[1:1 + half], v[1 + half:]
    if not all(map(is_count, k)) or sum(k) != n:
        return -INF
    return mp.loggamma(n + 1) - rising(mp.fsum(a), n) + mp.fsum(rising(x, c) - mp.loggamma(c + 1) for x, c in zip(a, k))


def dirichlet(*v):
    half = len(v) // 2
    a, x = v[:half], v[half:]
    if any(t < 0 for t in x) or abs(sum(x) - 1) > 1e-6:
        return -INF
    return mp.loggamma(mp.fsum(a)) + mp.fsum((c - 1) * mp.log(t) - mp.loggamma(c) for c, t in zip(a, x))


def words(*v):
    weights, topics, counts = v[:2], (v[2:5], v[5:8]), v[8:]
    if not all(is_count(n) and n < INF for n in counts):
        return -INF
    mixed = [mp.fsum(w * topic[i] for w, topic in zip(weights, topics)) for i in range(3)]
    return mp.fsum(xlogy(n, q) for n, q in zip(counts, mixed))


def categorical(*v):
    w, k = v[:-1], v[-1]
    if not is_count(k) or k >= len(w):
        return -INF
    return w[int(k)] - mp.log(mp.fsum(mp.exp(x) for x in w))


def lkj(eta, a, b, c, d):
    """Of a factor of two rows, ((a, b), (c, d))."""
    if b != 0 or a <= 0 or d <= 0 or abs(a * a - 1) > 1e-6 or abs(c * c + d * d - 1) > 1e-6:
        return -INF
    # 1/∫ (1 − r²)^(η−1) dr for r from −1 to 1, and d(r) = d(c)
    return (2 * eta - 2) * mp.log(d) - mp.log(mp.beta(eta, eta)) - (2 * eta - 1) * mp.log(2)


def normals(*v):
    """Of a mean of two numbers and a factor ((a, 0), (b, c))."""
    m, n, a, b, c, x, y = v
    u = (x - m) / a
    w = (y - n - b * u) / c
    return -(u * u + w * w) / 2 - mp.log(a * c) - mp.log(2 * mp.pi)


def students(*v):
    """The same with degrees of freedom first."""
    n, m, k, a, b, c, x, y = v
    u = (x - m) / a
    w = (y - k - b * u) / c
    return mp.loggamma(n / 2 + 1) - mp.loggamma(n / 2) - mp.log(n * mp.pi) - mp.log(a * c) - (n / 2 + 1) * mp.log1p((u * u + w * w) / n)


def low_rank(*v):
    """Mean (m, n), factor (a, b) of one column, diagonal (c, d)."""
    m, n, a, b, c, d, x, y = v
    u, w = x - m, y - n
    det = c * d + a * a * d + b * b * c
    return -(u * u * (d + b * b) - 2 * u * w * a * b + w * w * (c + a * a)) / det / 2 - mp.log(det) / 2 - mp.log(2 * mp.pi)


def walk(s, x, y):
    return -(x * x + (y - x) ** 2) / s**2 / 2 - 2 * mp.log(s) - mp.log(2 * mp.pi)


M, T, X, E = "middle", "tail", "extreme", "edge"
real = {M: [-1.5, -0.25, 0.75, 2.5], T: [-40.0, 300.0, -1e6], E: [INF, -INF]}
loc_scale = {M: [(0.5, 1.5), (-2.0, 0.25)], X: [(3.0, 1e-12), (1e6, 1e-3), (0.0, 1e15), (1e-20, 1e-25)]}
positive = {M: [0.3, 1.0, 2.5], T: [1e-12, 1e-30, 60.0, 1e4], E: [0.0, -1.0, -INF, INF]}
shapes = [(1e-8,), (0.02,), (0.5,), (1.0,), (7.5,), (300.0,), (2e4,), (1e9,)]
unit = {M: [0.1, 0.5, 0.8], T: [1e-20, 1e-6, 0.9999], E: [0.0, 1.0, -0.25, 1.5]}
counts = {M: [0, 1, 3], T: [40, 1000], E: [-1, 2.5, -INF]}


def scaled(settings, places, by=lambda *p: (0.0, p[-1])):
    """Points at distances in units of the scale; those of an edge as they are."""
    for band, list_of_parameters in settings.items():
        for p in list_of_parameters:
            loc, scale = by(*p)
            for of_point, points in places.items():
                for x in points:
                    where = E if of_point == E else X if band == X else of_point
                    yield where, p, (x if of_point == E and (math.isinf(x) or x <= 0) else loc + scale * x,)


def each(settings, places):
    for band, list_of_parameters in settings.items():
        for p in list_of_parameters:
            for of_point, points in places.items():
                for x in points:
                    yield E if of_point == E else X if band == X else of_point, p, (x,)


def cross(*columns):
    return [tuple(x for part in row for x in part) for row in itertools.product(*columns)]


ls = lambda f: (f, scaled(loc_scale, real, lambda m, s: (m, s)), "smooth")
scales = {M: [(1.0,), (2.5,)], X: [(1e-12,), (1e12,)]}
gammas = {M: [(0.5, 2.0), (1.0, 1.5), (2.5, 0.5), (30.0, 4.0)], X: [(1e-8, 1.0), (0.02, 3.0), (3e4, 1e3), (1e9, 1.0), (2e15, 1.0), (5.0, 1e-20)]}
gamma_points = lambda a, r: {M: [a / r, 0.5 * a / r, (a + 2 * a**0.5) / r], T: [1e-9 * a / r, (a + 9 * a**0.5 + 40) / r], E: [0.0, -1.0, -INF, INF]}
inverse = lambda a, r: {M: [r / a, r / (a + 2 * a**0.5)], T: [1e9 * r / a, r / (a + 9 * a**0.5 + 40)], E: [0.0, -1.0, -INF]}
betas = {M: [(2.0, 3.0), (0.5, 0.5), (1.0, 1.0), (1.0, 4.0)], X: [(1e-6, 5.0), (300.0, 2e4), (2.0, 1e8), (2.0, 1e17), (1e10, 3.0), (5e9, 2e10), (1e-3, 1e12)]}


def beta_points(a, b):
    m = a / (a + b)
    return {M: [0.25, m if 1e-30 < m < 0.9999 else 0.5], T: [min(m * 3, 0.9), m * 0.2, 1e-7, 0.9999], E: [0.0, 1.0, -0.25, 1.5]}


def where(settings, points):
    for band, list_of_parameters in settings.items():
        for p in list_of_parameters:
            for of_point, values in points(*[single(v) for v in p]).items():
                for x in values:
                    yield E if of_point == E else X if band == X else of_point, p, x if isinstance(x, tuple) else (x,)


def interval_points(*p):
    low, high = p[-2], p[-1]
    inside = [low + (high - low) * u for u in (0.1, 0.5, 0.9)] if low > -INF and high < INF else \
        [low + d / max(1.0, abs(low - p[0]) / p[1]) * p[1] for d in (0.1, 1.0, 3.0)] if low > -INF else \
        [high - d / max(1.0, abs(high - p[0]) / p[1]) * p[1] for d in (0.1, 1.0, 3.0)]
    inside = [x for x in inside if low < single(x) < high]
    outside = ([low - 1.0 - abs(low) * 0.01] if low > -INF else []) + ([high + 1.0 + abs(high) * 0.01] if high < INF else [])
    return {M: inside, E: outside}


PI = mp.pi
# name: (log density of parameters and point, the grid, which arguments have derivatives)
LAWS = {
    "normal": ls(of["normal"]), "cauchy": ls(of["cauchy"]), "laplace": ls(of["laplace"]), "logistic": ls(of["logistic"]),
    "gumbel": (of["gumbel"], scaled(loc_scale, {M: real[M], T: [-6.0, 40.0, 600.0], E: [INF, -INF]}, lambda m, s: (m, s)), "smooth"),
    "student_t": (of["student_t"], scaled({M: [(3.0, 0.5, 1.5), (0.7, 0.0, 1.0)], X: [(1e-4, 0.0, 1.0), (1e8, 1.0, 2.0), (5.0, 0.0, 1e-12), (2.0, 0.0, 1e12)]},
                  {**real, T: [-40.0, 1e18, 1e23]}, lambda n, m, s: (m, s)), "smooth"),
    "log_normal": (between(zero, infinity, of["log_normal"], (False, True)), each({M: [(0.5, 1.5), (-1.0, 0.25)], X: [(20.0, 1e-4), (0.0, 50.0)]}, {M: [0.3, 1.0, 2.5], T: [1e-30, 1e20], E: [0.0, -1.0, -INF]}), "smooth"),
    "half_normal": (between(zero, infinity, of["half_normal"]), scaled(scales, positive), "smooth"),
    "half_cauchy": (between(zero, infinity, of["half_cauchy"]), scaled(scales, {**positive, T: [1e-12, 1e4, 1e23]}), "smooth"),
    "half_student_t": (between(zero, infinity, of["half_student_t"]), scaled({M: [(3.0, 1.5), (0.7, 1.0)], X: [(1e8, 2.0), (5.0, 1e-12)]}, {**positive, T: [1e-12, 1e4, 1e23]}), "smooth"),
    "exponential": (between(zero, infinity, of["exponential"]), each({M: [(1.5,), (0.25,)], X: [(1e-12,), (1e12,)]}, positive), "smooth"),
    "gamma": (power_edge(lambda a, r: a - 1, lambda a, r: mp.log(r), of["gamma"]), where(gammas, gamma_points), "smooth"),
    "chi2": (power_edge(lambda k: k / 2 - 1, lambda k: -mp.log(2), of["chi2"]), where({M: [(1.0,), (2.0,), (5.0,)], X: [(1e-6,), (1e9,)]}, lambda k: gamma_points(k / 2, 0.5)), "smooth"),
    "inverse_gamma": (between(zero, infinity, of["inverse_gamma"], (False, True)), where(gammas, inverse), "smooth"),
    "weibull": (power_edge(lambda s, k: k - 1, lambda s, k: mp.log(k / s), of["weibull"]), scaled({M: [(1.5, 2.5), (0.5, 0.7), (2.0, 1.0)], X: [(1e-6, 0.05), (5.0, 300.0)]},
                {M: [0.3, 0.9, 1.2], T: [1e-6, 3.0], E: [0.0, -1.0, -INF]}, lambda s, k: (0.0, s)), "smooth"),
    "pareto": (between(lambda s, a: s, infinity, of["pareto"]), where({M: [(1.5, 2.5), (0.5, 0.7)], X: [(1e-6, 0.05), (5.0, 300.0), (1e12, 1e-6)]},
               lambda s, a: {M: [1.5 * s, 4.0 * s], T: [1e9 * s], E: [s, 0.5 * s, -s, -INF]}), "smooth"),
    "beta": (None, where(betas, beta_points), "smooth"),
    "kumaraswamy": (between(zero, lambda *p: mp.mpf(1), of["kumaraswamy"], (False, False)), each({M: [(2.0, 3.0), (0.5, 0.5), (1.0, 4.0)], X: [(1e-6, 5.0), (300.0, 0.2), (40.0, 1e4)]}, unit), "smooth"),
    "von_mises": (between(lambda *p: -PI, lambda *p: PI, of["von_mises"]), each({M: [(0.5, 1.5), (-2.0, 6.0)], X: [(3.0, 1e-8), (0.25, 1e8), (2.0, 400.0)]}, {M: [-1.5, 0.25, 2.5], T: [3.125, -3.125], E: [3.5, -4.0]}), "smooth"),
    "uniform": (between(lambda a, b: a, lambda a, b: b, of["uniform"]), where({M: [(-1.5, 2.5)], X: [(1e6, 1e6 + 0.5), (-1e-20, 1e-20)]}, lambda a, b: {M: [a + 0.25 * (b - a)], E: [a, b, a - 1.0, b + 1.0]}), ()),
    "truncated_normal": (truncated_normal, where({M: [(0.5, 1.5, -1.0, 2.0), (0.0, 1.0, 0.5, INF), (0.0, 1.0, -INF, -0.5)],
                         T: [(0.0, 1.0, 9.0, INF), (0.0, 1.0, 37.0, 40.0), (0.0, 2.0, -INF, -50.0)],
                         X: [(0.0, 1.0, 1e4, INF), (0.0, 1.0, 1e8, INF), (0.0, 1.0, -1e8, -9.9999e7), (-1e8, 1.0, 0.0, INF), (-1e6, 1.0, 0.0, 1e-6), (0.0, 1.0, 1.0, 1.0 + 2**-20)]}, interval_points), (0, 1, 4)),
    "polya_gamma": (between(zero, infinity, of["polya_gamma"], (False, True)), each({M: [(0.5,), (-2.0,)], X: [(1e-6,), (60.0,)]}, {M: [0.1, 0.25, 0.7], T: [0.01, 8.0], E: [0.0, -1.0]}), "smooth"),
    "bernoulli_logits": (bernoulli_logits, each({M: [(0.5,), (-2.0,)], X: [(85.0,), (-85.0,), (700.0,), (1e-20,)]}, {M: [0, 1], E: [2, -1, 0.5]}), (0,)),
    "bernoulli_probs": (lambda p, y: mp.log(p) if y == 1 else mp.log1p(-p) if y == 0 else -INF, each({M: [(0.3,), (0.9,)], X: [(1e-30,), (1 - 2**-23,)]}, {M: [0, 1], E: [2, -1, 0.5]}), (0,)),
    "binomial_logits": (binomial_l, where({M: [(12.0, 0.5), (40.0, -1.0)], X: [(12.0, 85.0), (12.0, -85.0), (12.0, -300.0), (1e6, -12.0), (1e6, 0.0)]},
                        lambda n, l: {M: [0, n // 3, n], T: [1], E: [-1, n + 1, 2.5]}), (1,)),
    "binomial_probs": (binomial_p, where({M: [(12.0, 0.4), (40.0, 0.1)], X: [(12.0, 1e-20), (1e6, 1e-5), (1e6, 0.5)]}, lambda n, p: {M: [0, n // 3, n], T: [1], E: [-1, n + 1, 2.5]}), (1,)),
    "poisson": (poisson, each({M: [(0.5,), (3.5,)], X: [(1e-20,), (200.0,), (1e6,)]}, {**counts, T: [40, 1000, 10**6]}), (0,)),
    "poisson_log_rate": (counted(lambda l, k: k * l - mp.exp(l) - mp.loggamma(k + 1)), each({M: [(-0.5,), (1.25,)], X: [(-100.0,), (-60.0,), (13.0,)]}, counts), (0,)),
    "negative_binomial_logits": (negative_l, each({M: [(2.5, 0.5), (0.7, -1.0)], X: [(3.0, 85.0), (3.0, -85.0), (1e8, -15.0), (1e-6, 1.0)]}, counts), (0, 1)),
    "negative_binomial_mean": (negative_m, each({M: [(2.5, 1.5), (8.0, 0.7)], X: [(3.0, 1e9), (1e-12, 2.0), (1e5, 1e-4)]}, counts), (0, 1)),
    "geometric_logits": (counted(lambda l, k: logits_of(l, 1, k)), each({M: [(0.5,), (-2.0,)], X: [(85.0,), (-85.0,), (-300.0,)]}, counts), (0,)),
    "geometric_probs": (counted(lambda p, k: mp.log(p) + k * mp.log1p(-p)), each({M: [(0.3,), (0.9,)], X: [(1e-20,), (1 - 2**-23,)]}, counts), (0,)),
    "discrete_uniform": (lambda a, b, k: -mp.log(b - a + 1) if a <= k <= b and mp.floor(k) == k else -INF, each({M: [(-2.0, 5.0)], X: [(-1e6, 1e6)]}, {M: [0, 3], E: [1e7, -1e7, 2.5]}), ()),
    "beta_binomial": (beta_binomial, where({M: [(2.5, 0.7, 12.0), (1.0, 1.0, 40.0)], X: [(1e-6, 3.0, 12.0), (1e8, 2e8, 30.0), (0.5, 1e6, 1e5)]}, lambda a, b, n: {M: [0, n // 3, n], E: [-1, n + 1, 2.5]}), (0, 1)),
    "ordered_logistic": (ordered_logistic, each({M: [(0.4, -1.25, 0.25, 1.75)], X: [(60.0, -1.0, 0.0, 2.0), (0.0, -90.0, 0.0, 1e-5), (-300.0, -1.0, 0.0, 2.0)]}, {M: [0, 1, 2, 3], E: [-1, 4, 1.5]}), (0, 1, 2, 3)),
    "categorical_logits": (categorical, each({M: [(0.5, -0.25, 1.0)], X: [(300.0, -300.0, 0.0), (85.0, 85.0, -1e6)]}, {M: [0, 1, 2], E: [-1, 3, 0.5]}), (0, 1, 2)),
    "multinomial_logits": (multinomial, where({M: [(6.0, 0.5, -0.25, 1.0)], X: [(6.0, 0.0, -90.0, 85.0), (1e6, 0.0, -3.0, 1.0)]},
                           lambda n, *w: {M: [(n - 3, 1.0, 2.0), (0.0, 0.0, n)], E: [(n, 1.0, 0.0), (n + 1, -1.0, 0.0), (n - 0.5, 0.5, 0.0)]}), (1, 2, 3)),
    "dirichlet_multinomial": (dirichlet_multinomial, where({M: [(6.0, 0.5, 2.0, 1.25)], X: [(6.0, 1e-6, 1e6, 3.0), (1e5, 0.5, 2.0, 40.0)]},
                              lambda n, *a: {M: [(n - 3, 1.0, 2.0), (0.0, 0.0, n)], E: [(n, 1.0, 0.0), (n + 1, -1.0, 0.0), (n - 0.5, 0.5, 0.0)]}), (1, 2, 3)),
    "dirichlet": (dirichlet, where({M: [(0.5, 2.0, 1.25)], X: [(1e-6, 3e4, 0.01), (1e6, 2e6, 1e6)]},
                  lambda *a: {M: [(0.25, 0.5, 0.25), (2**-20, 0.5, 0.5 - 2**-20)], E: [(-0.25, 0.75, 0.5), (0.25, 0.25, 0.25)]}), (0, 1, 2)),
    "lkj_cholesky": (lkj, where({M: [(1.0,), (2.5,)], X: [(1e-4,), (1e6,)]}, lambda e: {M: [(1.0, 0.0, 0.6, 0.8), (1.0, 0.0, 0.0, 1.0)],
                     E: [(1.0, 0.0, 0.6, 0.6), (1.0, 0.25, 0.6, 0.8), (1.0, 0.0, 0.6, -0.8)]}), (0,)),
    "multivariate_normal": (normals, where({M: [(0.5, -1.0, 1.5, 0.25, 0.75)], X: [(0.0, 0.0, 1e-12, 0.0, 1e12), (1e6, 1e-6, 1.0, 1e3, 1.0)]}, lambda *p: {M: [(0.25, 1.0), (p[0] + p[2], p[1])], T: [(1e6, -1e6)]}), (0, 1, 2, 3, 4)),
    "multivariate_student_t": (students, where({M: [(3.0, 0.5, -1.0, 1.5, 0.25, 0.75)], X: [(1e8, 0.0, 0.0, 1e-12, 0.0, 1e12), (1e-3, 0.0, 1e-6, 1.0, 1e3, 1.0)]}, lambda *p: {M: [(0.25, 1.0)], T: [(1e6, -1e6)]}), (0, 1, 2, 3, 4, 5)),
    "low_rank_multivariate_normal": (low_rank, where({M: [(0.5, -1.0, 1.5, 0.25, 0.75, 2.0)], X: [(0.0, 0.0, 1e4, 1e4, 1e-4, 1e-4), (0.0, 0.0, 1e8, 2e8, 1.0, 1.0)]}, lambda *p: {M: [(0.25, 1.0)], T: [(1e3, -1e3)]}), (0, 1, 2, 3, 4, 5)),
    "gaussian_random_walk": (walk, where({M: [(1.5,)], X: [(1e-15,), (1e15,)]}, lambda s: {M: [(0.25, 1.0)], T: [(1e3 * s, -1e3 * s)]}), (0,)),
    "truncated_gamma": (truncated(of["gamma"], lambda a, r, x: textbook.lower_gamma(a, r * x) if x > 0 else mp.mpf(0), lambda a, r, x: textbook.upper_gamma(a, r * x) if x > 0 else mp.mpf(1)),
                        where({M: [(2.5, 1.5, 0.5, 3.0), (0.5, 1.0, 0.0, 2.0)], T: [(2.5, 1.0, 40.0, 60.0), (30.0, 1.0, 1.0, 2.0)]}, interval_points), (0, 1, 4)),
    "truncated_logistic": (truncated(of["logistic"], lambda m, s, x: 1 / (1 + mp.exp((m - x) / s)), lambda m, s, x: 1 / (1 + mp.exp((x - m) / s))),
                           where({M: [(0.5, 1.5, -1.0, 2.0)], T: [(0.0, 1.0, 40.0, 45.0), (0.0, 1.0, -60.0, -50.0)]}, interval_points), (0, 1, 4)),
    "truncated_poisson": (truncated(poisson, None, None, True), where({M: [(3.0, 2.0, 5.0), (3.0, -1.0, 4.0)], T: [(3.0, 30.0, 40.0), (200.0, 3.0, 9.0)]},
                          lambda r, a, b: {M: [max(a, 0.0), a + 3.0, b], E: [a - 1.0, b + 1.0, a + 1.5]}), (0,)),
}


def upper(z):
    """P(Z > z) of a standard normal variable."""
    return mp.erfc(z / mp.sqrt(2)) / 2


def asymmetric_laplace(loc, scale, k, x):
    left, right, d = scale * k, scale / k, x - loc
    return (d / left if d < 0 else -d / right) - mp.log(left + right)


def modified(loc, scale, rate, x):
    """A normal variable and an exponential one."""
    return mp.log(rate) + rate * (loc - x) + (rate * scale) ** 2 / 2 + mp.log(upper(rate * scale - (x - loc) / scale))


def skew_normal(loc, scale, a, x):
    z = (x - loc) / scale
    return mp.log(2 * upper(-a * z)) - z * z / 2 - mp.log(2 * PI) / 2 - mp.log(scale)


def relaxed_bernoulli(t, logit, x):
    y = mp.log(x) - mp.log1p(-x)
    w = logit - t * y
    return mp.log(t) + w - 2 * mp.log1p(mp.exp(w)) - mp.log(x) - mp.log1p(-x)


def ordered_probit(*v):
    eta, cuts, k = v[0], v[1:-1], v[-1]
    if not is_count(k) or k > len(cuts):
        return -INF
    k = int(k)
    ends = [-mp.inf, *(c - eta for c in cuts), mp.inf]
    a, b = ends[k], ends[k + 1]
    return mp.log(upper(a) - upper(b)) if a > 0 else mp.log(upper(-b) - upper(-a))


def skellam(a, b, k):
    if mp.floor(k) != k:
        return -INF
    return -a - b + k * (mp.log(a) - mp.log(b)) / 2 + mp.log(mp.besseli(abs(int(k)), 2 * mp.sqrt(a * b)))


def hurdle_poisson(g, r, k):
    if not is_count(k):
        return -INF
    return mp.log(g) if k == 0 else mp.log1p(-g) + poisson(r, k) - mp.log(-mp.expm1(-r))


def zero_inflated_poisson(g, r, k):
    if not is_count(k):
        return -INF
    return mp.log(g + (1 - g) * mp.exp(-r)) if k == 0 else mp.log1p(-g) + poisson(r, k)


def censored_normal(m, s, low, high, x):
    if x < low or x > high:
        return -INF
    return mp.log(upper(-(low - m) / s)) if x == low else mp.log(upper((high - m) / s)) if x == high else of["normal"](m, s, x)


def zero_sum_normal(s, *x):
    if abs(sum(x)) > 1e-6 * sum(map(abs, x)):
        return -INF
    return -sum(t * t for t in x) / s**2 / 2 - (len(x) - 1) * (mp.log(s) + mp.log(2 * PI) / 2)


def lkj_matrix(eta, a, b, c, d):
    """Of a correlation matrix of two rows."""
    if b != c or abs(a - 1) > 1e-6 or abs(d - 1) > 1e-6 or abs(b) >= 1:
        return -INF
    return (eta - 1) * mp.log1p(-b * b) - mp.log(mp.beta(eta, eta)) - (2 * eta - 1) * mp.log(2)


LAWS |= {
    "asymmetric_laplace": (asymmetric_laplace, scaled({M: [(0.5, 1.5, 0.75), (-2.0, 0.25, 4.0)], X: [(0.0, 1e-12, 0.01), (1e6, 1e3, 100.0)]}, real, lambda m, s, k: (m, s)), "smooth"),
    "exponentially_modified_gaussian": (modified, scaled({M: [(0.5, 1.5, 0.75), (0.0, 1.0, 4.0)], X: [(0.0, 1.0, 1e4), (0.0, 1e-3, 0.5)]}, {M: [-1.5, 0.25, 2.5], T: [-8.0, 30.0]}, lambda m, s, r: (m, s)), "smooth"),
    "skew_normal": (skew_normal, scaled({M: [(0.5, 1.5, 2.0), (0.0, 1.0, -0.5)], X: [(1.0, 0.125, 40.0), (0.0, 1e12, 1e-6)]}, {M: [-1.5, 0.25, 2.5], T: [-9.0, 9.0], E: [INF, -INF]}, lambda m, s, a: (m, s)), "smooth"),
    "gompertz": (between(zero, infinity, lambda c, b, x: mp.log(c * b) + b * x - c * mp.expm1(b * x)), each({M: [(0.5, 1.25), (2.0, 0.25)], X: [(1e-8, 0.5), (40.0, 1e-6)]}, {M: [0.25, 1.0, 2.5], T: [1e-12, 12.0], E: [-1.0, -INF]}), "smooth"),
    "inverse_gaussian": (between(zero, infinity, lambda m, c, x: mp.log(c / (2 * PI * x**3)) / 2 - c * (x - m) ** 2 / (2 * m * m * x), (False, True)), each({M: [(1.5, 2.5), (0.75, 0.25)], X: [(1e-6, 4.0), (1e6, 1e-3), (1.0, 1e9)]}, {M: [0.25, 1.0, 2.5], T: [1e-6, 1e6], E: [0.0, -1.0]}), "smooth"),
    "log_uniform": (between(lambda a, b: a, lambda a, b: b, lambda a, b, x: -mp.log(x) - mp.log(mp.log(b) - mp.log(a))), where({M: [(0.5, 4.0)], X: [(1e-20, 1e20), (1.0, 1.0 + 2**-20)]}, lambda a, b: {M: [a + 0.25 * (b - a), a + 0.75 * (b - a)], E: [0.5 * a, 2 * b, -1.0]}), "smooth"),
    "beta_proportion": (between(zero, lambda *p: mp.mpf(1), lambda m, c, x: of["beta"](m * c, (1 - m) * c, x), (False, False)), each({M: [(0.25, 8.0), (0.75, 3.0)], X: [(0.5, 1e6), (1e-3, 50.0)]}, {M: [0.25, 0.5, 0.75], T: [1e-6]}), "smooth"),
    "relaxed_bernoulli": (between(zero, lambda *p: mp.mpf(1), relaxed_bernoulli, (False, False)), each({M: [(0.5, 0.75), (2.0, -1.5)], X: [(0.01, -3.0), (30.0, 5.0), (0.5, 300.0)]}, {M: [0.25, 0.5, 0.75], T: [1e-20], E: [0.0, 1.0, -0.25, 1.5]}), "smooth"),
    "ordered_probit": (ordered_probit, each({M: [(0.5, -1.25, 0.25, 1.75)], X: [(12.0, -1.0, 0.0, 2.0), (0.0, -30.0, 0.0, 2**-16)]}, {M: [0, 1, 2, 3], E: [-1, 4, 1.5]}), (0, 1, 2, 3)),
    "discrete_laplace": (lambda m, s, k: mp.log(mp.tanh(1 / (2 * s))) - abs(k - m) / s if mp.floor(k) == k else -INF, each({M: [(0.0, 1.5), (3.0, 0.5)], X: [(0.0, 1e8), (0.0, 0.01)]}, {M: [0, 1, -3], T: [40, -1000], E: [0.5, -1.5]}), (1,)),
    "skellam": (skellam, each({M: [(2.5, 1.25), (0.5, 4.0)], X: [(1e-8, 2.0), (300.0, 200.0)]}, {M: [0, 1, -3], T: [30], E: [0.5, -1.5]}), (0, 1)),
    "hurdle_poisson": (hurdle_poisson, each({M: [(0.25, 2.5), (0.75, 0.5)], X: [(1e-20, 2**-10), (0.5, 200.0)]}, {M: [0, 1, 3], T: [40], E: [-1, 2.5]}), (0, 1)),
    "zero_inflated_poisson": (zero_inflated_poisson, each({M: [(0.25, 2.5), (0.75, 0.5)], X: [(1e-20, 1e-6), (0.5, 200.0)]}, {M: [0, 1, 3], T: [40], E: [-1, 2.5]}), (0, 1)),
    "censored_normal": (censored_normal, where({M: [(0.5, 1.5, -1.0, 2.0)], T: [(0.0, 1.0, -30.0, 35.0)], X: [(0.0, 1e-6, -1e-5, 1e-5)]}, lambda m, s, a, b: {M: [a, m, b], E: [a - 1.0, b + 1.0]}), (0, 1)),
    "zero_sum_normal": (zero_sum_normal, where({M: [(1.5,)], X: [(1e-15,), (1e15,)]}, lambda s: {M: [(0.5, -1.0, 0.5)], T: [(1e3 * s, -1e3 * s, 0.0)], E: [(1.0, 1.0, 1.0)]}), (0,)),
    "lkj": (lkj_matrix, where({M: [(1.0,), (2.5,)], X: [(1e-4,), (1e4,)]}, lambda e: {M: [(1.0, 0.5, 0.5, 1.0), (1.0, 0.0, 0.0, 1.0)], E: [(1.0, 0.5, 0.25, 1.0), (1.0, 1.5, 1.5, 1.0), (2.0, 0.5, 0.5, 1.0)]}), (0,)),
}


def two_by_two(v):
    """Determinant and inverse of a matrix of four numbers, row by row."""
    a, b, c, d = v
    det = a * d - b * c
    return det, (d / det, -b / det, -c / det, a / det)


def of_factor(a, b, c):
    """The product of ((a, 0), (b, c)) and its transpose."""
    return a * a, a * b, a * b, b * b + c * c


def trace_of(v, w):
    return v[0] * w[0] + v[1] * w[2] + v[2] * w[1] + v[3] * w[3]


def definite(f):
    """-inf for what is no symmetric positive definite matrix of two rows."""
    return lambda *v: f(*v) if v[-3] == v[-2] and v[-4] > 0 and v[-4] * v[-1] > v[-3] * v[-2] else -INF


def both_gammas(n):
    return mp.log(mp.pi) / 2 + mp.loggamma(n / 2) + mp.loggamma((n - 1) / 2)


def wishart(n, a, b, c, *x):
    scale_det, scale_inverse = two_by_two(of_factor(a, b, c))
    return (n - 3) / 2 * mp.log(two_by_two(x)[0]) - trace_of(scale_inverse, x) / 2 - n * mp.log(2) - n / 2 * mp.log(scale_det) - both_gammas(n)


def inverse_wishart(n, a, b, c, *x):
    scale, (det, inverse) = of_factor(a, b, c), two_by_two(x)
    return n / 2 * mp.log(two_by_two(scale)[0]) - (n + 3) / 2 * mp.log(det) - trace_of(scale, inverse) / 2 - n * mp.log(2) - both_gammas(n)


def matrix_normal(loc, a, b, c, d, e, f, *x):
    """Of one mean for all, a factor of rows ((a, 0), (b, c)), and one of columns ((d, 0), (e, f))."""
    y = [t - loc for t in x]
    # The rows solved with the factor of rows, the columns then with that of columns.
    top = [y[0] / a, y[1] / a]
    bottom = [(y[2] - b * top[0]) / c, (y[3] - b * top[1]) / c]
    whitened = [w for row in (top, bottom) for w in (row[0] / d, (row[1] - e * row[0] / d) / f)]
    return -mp.fsum(w * w for w in whitened) / 2 - 2 * mp.log(2 * PI) - 2 * mp.log(a * c * d * f)


def car(m, r, t, x, y):
    """Of two neighbours: the precision is t ((1, -r), (-r, 1))."""
    u, w = x - m, y - m
    return mp.log(t) + mp.log1p(-r * r) / 2 - mp.log(2 * PI) - t * (u * u - 2 * r * u * w + w * w) / 2


def normal_quantile(log_below, log_above):
    """By Newton's method on the logarithm of the smaller tail."""
    sign, log_p = (-1, log_below) if log_below < log_above else (1, log_above)
    # z with ln P(Z > z) = log_p
    z = mp.sqrt(-2 * log_p) if log_p < -2 else mp.mpf("0.5")
    for _ in range(60):
        tail = upper(z)
        step = (mp.log(tail) - log_p) * tail / (mp.exp(-z * z / 2) / mp.sqrt(2 * PI))
        z += step
        if abs(step) < mp.mpf(10) ** (8 - mp.mp.dps) * (1 + abs(z)):
            break
    return sign * z


def copula_of_exponentials(rate, r, x, y):
    """Of two exponential variables with a correlation r of the normal variables behind them."""
    if x < 0 or y < 0:
        return -INF
    u, w = [normal_quantile(mp.log(-mp.expm1(-rate * t)), -rate * t) for t in (x, y)]
    rest = 1 - r * r
    return -(r * r * (u * u + w * w) - 2 * r * u * w) / rest / 2 - mp.log(rest) / 2 + 2 * mp.log(rate) - rate * (x + y)


def log_sum(*terms):
    return mp.log(mp.fsum(mp.exp(t) for t in terms))


def mixture(other):
    """Of two by the difference of their log-weights; the other component has the law `other`."""
    return lambda l, a, b, c, d, x: log_sum(-mp.log1p(mp.exp(-l)) + of["normal"](a, b, x), -mp.log1p(mp.exp(l)) + other(c, d, x))


def zero_inflated_negative_binomial(g, m, c, k):
    if not is_count(k):
        return -INF
    return mp.log(g + (1 - g) * mp.exp(negative_m(m, c, k))) if k == 0 else mp.log1p(-g) + negative_m(m, c, k)


def hurdle_gamma(l, a, r, x):
    return -INF if x < 0 else -mp.log1p(mp.exp(-l)) if x == 0 else -mp.log1p(mp.exp(l)) + of["gamma"](a, r, x)


def polya_gamma(b, c, x):
    """The alternating series, whose terms cancel: in digits to spare."""
    log_front = (b - 1) * mp.log(2) - mp.loggamma(b) + b * mp.log(mp.cosh(c / 2)) - c * c * x / 2 - mp.log(2 * PI * x**3) / 2
    total, n = mp.mpf(0), 0
    while True:
        term = mp.exp(mp.loggamma(n + b) - mp.loggamma(n + 1) - (2 * n + b) ** 2 / (8 * x)) * (2 * n + b)
        total += term if n % 2 == 0 else -term
        if n > 5 and term < abs(total) * mp.mpf(10) ** -160:
            return log_front + mp.log(total)
        n += 1


def categorical_probs(*v):
    w, k = v[:-1], v[-1]
    return mp.log(w[int(k)]) - mp.log(mp.fsum(w)) if is_count(k) and k < len(w) else -INF


def censored_at(flag, m, s, x):
    """Of a normal variable: known, known to be at most (-1), known to be at least (1)."""
    return of["normal"](m, s, x) if flag == 0 else mp.log(upper(flag * (x - m) / s))


logit_normal = lambda m, s, x: of["normal"](m, s, mp.log(x) - mp.log1p(-x)) - mp.log(x) - mp.log1p(-x)
by_covariance = lambda a, b, c, x, y: -trace_of(two_by_two((a, b, b, c))[1], (x * x, x * y, x * y, y * y)) / 2 - mp.log(two_by_two((a, b, b, c))[0]) / 2 - mp.log(2 * PI)
by_precision = lambda a, b, c, x, y: -trace_of((a, b, b, c), (x * x, x * y, x * y, y * y)) / 2 + mp.log(two_by_two((a, b, b, c))[0]) / 2 - mp.log(2 * PI)
no_matrices = [(1.0, 2.0, 2.0, 1.0), (1.0, 0.5, 0.25, 1.0), (-1.0, 0.0, 0.0, 1.0)]

LAWS |= {
    "wishart": (definite(wishart), where({M: [(4.0, 1.5, 0.25, 0.75), (2.5, 1.0, -0.5, 2.0)], X: [(1e8, 1e-4, 0.0, 1e-4), (3.0, 1e-6, 0.0, 1e6), (1.0 + 2**-20, 1.0, 0.0, 1.0)]},
                lambda n, a, b, c: {M: [(5.0, 1.0, 1.0, 4.0), (0.5, 0.25, 0.25, 1.5)], T: [(1e-6, 0.0, 0.0, 1e4)], E: no_matrices}), (0, 1, 2, 3)),
    "inverse_wishart": (definite(inverse_wishart), where({M: [(4.0, 1.5, 0.25, 0.75), (2.5, 1.0, -0.5, 2.0)], X: [(1e8, 1e4, 0.0, 1e4), (3.0, 1e-6, 0.0, 1e6), (1.0 + 2**-20, 1.0, 0.0, 1.0)]},
                        lambda n, a, b, c: {M: [(5.0, 1.0, 1.0, 4.0), (0.5, 0.25, 0.25, 1.5)], T: [(1e-6, 0.0, 0.0, 1e4)], E: no_matrices}), (0, 1, 2, 3)),
    "matrix_normal": (matrix_normal, where({M: [(0.5, 1.5, 0.25, 0.75, 0.5, -1.0, 2.0)], X: [(0.0, 1e-9, 0.0, 1e9, 1.0, 0.5, 1.0), (1e6, 1.0, 1e3, 1.0, 1.0, -1e3, 1.0)]},
                      lambda *p: {M: [(1.0, -2.0, 0.5, 3.0)], T: [(1e6, 1e-6, -1e6, 1.0)]}), "smooth"),
    "car": (car, where({M: [(0.25, 0.75, 1.5), (0.0, -0.5, 4.0)], X: [(0.0, 1 - 2**-20, 1.0), (1e6, 0.5, 1e-12), (0.0, 0.0, 1e12)]}, lambda *p: {M: [(1.0, -0.5), (0.5, 0.75)], T: [(1e4, -1e4)]}), "smooth"),
    "gaussian_copula": (copula_of_exponentials, where({M: [(1.5, 0.5), (0.5, -0.75)], X: [(1e-6, 0.25), (1.0, 1 - 2**-20)]}, lambda r, c: {M: [(0.5 / r, 1.0 / r)], T: [(1e-6 / r, 30.0 / r), (60.0 / r, 50.0 / r)], E: [(-1.0, 1.0), (1.0, -2**-20)]}), "smooth"),
    "mixture_same_family": (mixture(of["normal"]), each({M: [(0.5, -1.0, 0.5, 2.0, 1.5)], X: [(-90.0, 0.0, 1.0, 5.0, 1.0), (0.0, 0.0, 1e-12, 0.0, 1e12), (300.0, 3.0, 1.0, -3.0, 0.25)]}, {M: [-1.5, 0.25, 2.5], T: [-40.0, 1e6]}), "smooth"),
    "mixture": (mixture(of["laplace"]), each({M: [(0.5, -1.0, 0.5, 2.0, 1.5)], X: [(-90.0, 0.0, 1.0, 5.0, 1.0), (0.0, 0.0, 1e-12, 0.0, 1e12), (300.0, 3.0, 1.0, -3.0, 0.25)]}, {M: [-1.5, 0.25, 2.5], T: [-40.0, 1e6]}), "smooth"),
    "zero_inflated_negative_binomial": (zero_inflated_negative_binomial, each({M: [(0.25, 2.5, 1.5), (0.75, 8.0, 0.7)], X: [(1e-20, 1e-6, 2.0), (0.5, 200.0, 1e6)]}, {M: [0, 1, 3], T: [40], E: [-1, 2.5]}), (0, 1, 2)),
    "hurdle_gamma_logits": (hurdle_gamma, each({M: [(-0.5, 2.5, 1.5), (1.25, 0.5, 2.0)], X: [(-90.0, 1e-3, 1.0), (60.0, 300.0, 200.0)]}, {M: [0.5, 2.5], T: [1e-9, 40.0], E: [0.0, -1.0]}), "smooth"),
    "polya_gamma_concentration": (between(zero, infinity, polya_gamma, (False, True)), each({M: [(2.5, 0.5), (0.3, -2.0)], X: [(12.0, 1e-6), (1.0, 60.0), (0.02, 1.0)]}, {M: [0.1, 0.25, 0.7], T: [0.01, 8.0], E: [0.0, -1.0]}), "smooth"),
    "categorical_probs": (categorical_probs, each({M: [(0.25, 0.5, 0.25)], X: [(1e-30, 0.5, 0.5)]}, {M: [0, 1, 2], E: [-1, 3, 0.5]}), ()),
    "censored_left": (lambda m, s, x: censored_at(-1, m, s, x), scaled(loc_scale, {M: real[M], T: [-40.0, 300.0]}, lambda m, s: (m, s)), "smooth"),
    "censored_right": (lambda m, s, x: censored_at(1, m, s, x), scaled(loc_scale, {M: real[M], T: [-40.0, 300.0]}, lambda m, s: (m, s)), "smooth"),
    "logit_normal": (between(zero, lambda *p: mp.mpf(1), logit_normal, (False, False)), each({M: [(0.5, 1.5)], X: [(-40.0, 2.0), (0.0, 1e4), (3.0, 1e-6)]}, {M: [0.25, 0.5, 0.75], T: [1e-20, 0.9999], E: [-0.25, 1.5]}), "smooth"),
    "multivariate_normal_covariance": (by_covariance, where({M: [(1.5, 0.25, 0.75)], X: [(1e-12, 0.0, 1e12), (1e6, 1e3, 2.0)]}, lambda *p: {M: [(0.25, 1.0)], T: [(1e6, -1e6)]}), "smooth"),
    "multivariate_normal_precision": (by_precision, where({M: [(1.5, 0.25, 0.75)], X: [(1e-12, 0.0, 1e12), (1e6, 1e3, 2.0)]}, lambda *p: {M: [(0.25, 1.0)], T: [(1e6, -1e6)]}), "smooth"),
    "words": (words, where({M: [(0.25, 0.75, 0.5, 0.25, 0.25, 0.125, 0.25, 0.625), (0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.5, 0.0)],
                            X: [(1e-30, 1.0, 0.5, 0.25, 0.25, 0.0, 2**-20, 1 - 2**-20), (0.5, 0.5, 1e-35, 0.5, 0.5, 1e-30, 1.0, 1e-20)]},
                           lambda *p: {M: [(2.0, 1.0, 3.0), (0.0, 0.0, 5.0)], T: [(0.0, 0.0, 0.0), (1e6, 2.0, 3e5)],
                                       E: [(-1.0, 1.0, 2.0), (0.5, 1.0, 0.0), (INF, 1.0, 2.0)]}), range(8)),
    "improper_uniform": (lambda x, y: mp.mpf(0) if min(x, y) > 0 else -INF,
                         where({M: [()]}, lambda: {M: [(1.5, 0.25)], T: [(1e-30, 1e30)], E: [(0.0, 1.0), (1.0, -2.0)]}), "smooth"),
    "delta": (lambda v, x: mp.mpf(0) if x == v else -INF, each({M: [(1.5,)], X: [(1e12,)]}, {E: [1.5, 1e12, -1.0]}), ()),
}


def beta(a, b, x):
    if x < 0 or x > 1:
        return -INF
    if x in (0, 1):
        own, other = (a, b) if x == 0 else (b, a)
        return mp.log(other) if own == 1 else -INF if own > 1 else INF
    return of["beta"](a, b, x)


LAWS["beta"] = (beta, *LAWS["beta"][1:])

if __name__ == "__main__":
    print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 60 digits of working precision and 110 more for what cancels")
    print("# distribution; band; parameters; point; value; condition; derivatives; conditions of the derivatives")
    for name, (density, grid, smooth) in LAWS.items():
        if ONLY and name not in ONLY:
            continue
        for band, parameters, point in grid:
            arguments = range(len(parameters) + len(point)) if smooth == "smooth" else smooth
            row(name, band, lambda v: density(*v), parameters, point, arguments)
