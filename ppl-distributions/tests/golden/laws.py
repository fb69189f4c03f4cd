"""Writes laws.csv: densities, distribution functions and moments of laws at 30 digits, with mpmath.

Run: python3 laws.py > laws.csv

Densities are the formulas of the references that the laws' documentation names, distribution functions and moments mostly
quadrature or sums of those densities, so a formula of the crate is not compared with itself. Each line has the condition of its value:
the sum over parameters and x of |p df/dp|, by differences, which is what a rounding of the arguments may move; of integrals and
sums, the value itself.
"""
import sys

import mpmath as mp

mp.mp.dps = 30
M = mp.mpf
INF = mp.inf
print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 30 digits of working precision")
print("# columns: law, quantity, parameters (separated by blanks), x, value, condition")


def line(name, quantity, parameters, x, function, fixed=(), integral=False):
    exact = [M(p) for p in parameters]
    value = function(exact, M(x))
    condition = abs(value) if integral else M(0)
    arguments = exact + [M(x)]
    for i, argument in enumerate(arguments):
        if integral or argument == 0 or i in fixed or mp.isinf(argument):
            continue
        h = abs(argument) * M(10) ** -15
        up, down = list(arguments), list(arguments)
        up[i] += h
        down[i] -= h
        difference = function(up[:-1], up[-1]) - function(down[:-1], down[-1])
        if mp.isfinite(difference):
            condition += abs(difference / (2 * h) * argument)
    numbers = " ".join(repr(float(p)) for p in parameters)
    print(f"{name},{quantity},{numbers},{float(x)!r},{mp.nstr(value, 17)},{mp.nstr(condition, 3)}")


def phi(z):
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def upper(z):
    return mp.erfc(z / mp.sqrt(2)) / 2


def quad(f, points):
    return mp.quad(f, [M(p) if not isinstance(p, M) else p for p in points])


class Law:
    """A density with the points between which it is to be integrated."""

    def __init__(self, name, log_density, points, cdf=None, sf=None):
        self.name, self.log_density, self.points, self.closed, self.upper = name, log_density, points, cdf, sf

    def cdf(self, p, x):
        if self.closed:
            return self.closed(p, x)
        inner = [q for q in self.points(p) if q < x]
        return quad(lambda t: mp.exp(self.log_density(p, t)), inner + [x])

    def sf(self, p, x):
        if self.upper:
            return self.upper(p, x)
        inner = [q for q in self.points(p) if q > x]
        return quad(lambda t: mp.exp(self.log_density(p, t)), [x] + inner)

    def moment(self, p, f):
        return quad(lambda t: f(t) * mp.exp(self.log_density(p, t)), self.points(p))

    def mean(self, p, _):
        return self.moment(p, lambda t: t)

    def variance(self, p, x):
        mean = self.mean(p, x)
        return self.moment(p, lambda t: (t - mean) ** 2)

    def skewness(self, p, x):
        mean, variance = self.mean(p, x), self.variance(p, x)
        return self.moment(p, lambda t: (t - mean) ** 3) / variance ** M("1.5")

    def entropy(self, p, _):
        return -self.moment(p, lambda t: self.log_density(p, t))


def asymmetric_laplace(p, x):
    loc, scale, k = p
    left, right = scale * k, scale / k
    d = x - loc
    return (d / left if d < 0 else -d / right) - mp.log(left + right)


def asymmetric_laplace_quantile(p, x):
    loc, scale, q = p
    d = x - loc
    return mp.log(q * (1 - q) / scale) - (q * d if d >= 0 else (q - 1) * d) / scale


def emg(p, x):
    loc, scale, rate = p
    # the convolution in closed form, with enough digits for its cancellation
    with mp.workdps(160):
        return +(mp.log(rate) + rate * (loc - x) + (rate * scale) ** 2 / 2 + mp.log(upper(rate * scale - (x - loc) / scale)))


def emg_sf(p, x):
    loc, scale, rate = p
    with mp.workdps(160):
        z = (x - loc) / scale
        return +(upper(z) + mp.exp(rate * (loc - x) + (rate * scale) ** 2 / 2) * upper(rate * scale - z))


def emg_cdf(p, x):
    loc, scale, rate = p
    with mp.workdps(160):
        z = (x - loc) / scale
        return +(upper(-z) - mp.exp(rate * (loc - x) + (rate * scale) ** 2 / 2) * upper(rate * scale - z))


def gompertz(p, x):
    c, b = p
    return mp.log(c * b) + b * x - c * mp.expm1(b * x)


def inverse_gaussian(p, x):
    m, c = p
    return mp.log(c / (2 * mp.pi * x ** 3)) / 2 - c * (x - m) ** 2 / (2 * m * m * x)


def inverse_gaussian_cdf(p, x):
    m, c = p
    with mp.workdps(160):
        r = mp.sqrt(c / x)
        return +(upper(-r * (x / m - 1)) + mp.exp(2 * c / m) * upper(r * (x / m + 1)))


def inverse_gaussian_sf(p, x):
    m, c = p
    with mp.workdps(160):
        r = mp.sqrt(c / x)
        return +(upper(r * (x / m - 1)) - mp.exp(2 * c / m) * upper(r * (x / m + 1)))


def log_uniform(p, x):
    return -mp.log(x) - mp.log(mp.log(p[1] / p[0]))


def skew_normal(p, x):
    loc, scale, a = p
    z = (x - loc) / scale
    return mp.log(2 * phi(z) * upper(-a * z) / scale)


def relaxed_bernoulli(p, x):
    t, logit = p
    y = mp.log(x / (1 - x))
    e = mp.exp(logit - t * y)
    return mp.log(t * e / (1 + e) ** 2 / (x * (1 - x)))


def beta_proportion(p, x):
    a, b = p[0] * p[1], (1 - p[0]) * p[1]
    return (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - mp.log(mp.beta(a, b))


LAWS = {
    "asymmetric_laplace": (Law("", asymmetric_laplace, lambda p: [p[0] - 60 * p[1] * p[2], p[0], p[0] + 60 * p[1] / p[2]],
                               lambda p, x: (lambda l, r, d: l / (l + r) * mp.exp(d / l) if d < 0 else 1 - r / (l + r) * mp.exp(-d / r))(p[1] * p[2], p[1] / p[2], x - p[0]),
                               lambda p, x: (lambda l, r, d: 1 - l / (l + r) * mp.exp(d / l) if d < 0 else r / (l + r) * mp.exp(-d / r))(p[1] * p[2], p[1] / p[2], x - p[0])),
                           [[0.5, 1.3, 0.7], [-2.0, 1e-3, 4.0], [0.0, 50.0, 0.05]], [-700.0, -30.0, -1.5, -0.1, 0.0, 0.3, 2.0, 40.0, 700.0], "loc", ["mean", "variance", "skewness", "entropy"]),
    "asymmetric_laplace_quantile": (Law("", asymmetric_laplace_quantile, lambda p: [p[0] - 200 * p[1], p[0], p[0] + 200 * p[1]],
                               lambda p, x: p[2] * mp.exp((1 - p[2]) * (x - p[0]) / p[1]) if x < p[0] else 1 - (1 - p[2]) * mp.exp(-p[2] * (x - p[0]) / p[1]),
                               lambda p, x: 1 - p[2] * mp.exp((1 - p[2]) * (x - p[0]) / p[1]) if x < p[0] else (1 - p[2]) * mp.exp(-p[2] * (x - p[0]) / p[1])),
                           [[0.5, 1.3, 0.7], [-2.0, 1e-3, 0.99], [0.0, 50.0, 0.5]], [-300.0, -1.5, -0.1, 0.3, 2.0, 300.0], "loc", []),
    "exponentially_modified_gaussian": (Law("", emg, lambda p: [p[0] - 15 * p[1], p[0], p[0] + p[1] * 5, p[0] + 15 * p[1] + 5 / p[2], p[0] + 15 * p[1] + 120 / p[2]], emg_cdf, emg_sf),
                           [[0.5, 1.3, 0.7], [0.0, 1.0, 30.0], [10.0, 0.01, 2.0], [0.0, 1.0, 1e4]], [-20.0, -5.0, -1.0, 0.0, 0.5, 3.0, 20.0, 30.0], "loc", ["mean", "variance", "skewness"]),
    "gompertz": (Law("", gompertz, lambda p: [0, mp.log1p(1 / p[0]) / p[1] / 2, mp.log1p(1 / p[0]) / p[1], mp.log1p(150 / p[0]) / p[1]],
                     lambda p, x: -mp.expm1(-p[0] * mp.expm1(p[1] * x)), lambda p, x: mp.exp(-p[0] * mp.expm1(p[1] * x))),
                 [[0.4, 1.3], [1e-6, 0.2], [30.0, 0.01]], [0.0, 1e-9, 0.1, 1.0, 4.0, 60.0], "as is", []),
    "inverse_gaussian": (Law("", inverse_gaussian, lambda p: [p[0] * M(10) ** -3 / (1 + p[0] / p[1]), p[0] / (1 + p[0] / p[1]) / 3, p[0], 5 * p[0], 40 * p[0] + 300 * p[0] ** 2 / p[1]], inverse_gaussian_cdf, inverse_gaussian_sf),
                         [[1.7, 2.3], [1.0, 400.0], [20.0, 0.7]], [0.01, 0.2, 0.9, 1.1, 3.0, 40.0, 200.0], "as is", ["variance"]),
    "log_uniform": (Law("", log_uniform, lambda p: [p[0], mp.sqrt(p[0] * p[1]), p[1]],
                        lambda p, x: mp.log(x / p[0]) / mp.log(p[1] / p[0]), lambda p, x: mp.log(p[1] / x) / mp.log(p[1] / p[0])),
                    [[0.5, 4.0], [1e-8, 10.0]], [0.5, 0.6, 2.0, 3.9], "as is", ["mean", "variance", "entropy"]),
    "skew_normal": (Law("", skew_normal, lambda p: [p[0] - 20 * p[1], p[0] - 4 * p[1], p[0] - p[1], p[0], p[0] + p[1], p[0] + 4 * p[1], p[0] + 20 * p[1]]),
                    [[0.5, 1.3, 2.0], [0.0, 1.0, -0.4], [1.0, 0.1, 30.0]], [-9.0, -2.5, -0.6, 0.0, 0.7, 2.0, 9.0], "loc", ["mean", "variance", "skewness"]),
    "relaxed_bernoulli": (Law("", relaxed_bernoulli, lambda p: [0, 1],
                              lambda p, x: 1 / (1 + mp.exp(p[1] - p[0] * mp.log(x / (1 - x)))), lambda p, x: 1 / (1 + mp.exp(p[0] * mp.log(x / (1 - x)) - p[1]))),
                          [[0.5, 0.7], [0.01, -3.0], [20.0, 5.0]], [1e-12, 0.01, 0.3, 0.5, 0.9, 0.999999], "as is", []),
    "beta_proportion": (Law("", beta_proportion, lambda p: [0, M(1) / 2, 1],
                            lambda p, x: mp.betainc(p[0] * p[1], (1 - p[0]) * p[1], 0, x, regularized=True), lambda p, x: mp.betainc(p[0] * p[1], (1 - p[0]) * p[1], x, 1, regularized=True)),
                        [[0.3, 7.0], [0.9, 40.0]], [0.01, 0.3, 0.5, 0.9], "as is", ["mean", "variance"]),
}
for name, (law, settings, points, kind, moments) in LAWS.items():
    for p in settings:
        for x in points:
            # Around the location, in units of the scale.
            at = float(M(p[0]) + M(x) * M(p[1])) if kind == "loc" else x
            line(name, "log_prob", p, at, law.log_density)
            below, above = law.cdf([M(q) for q in p], M(at)), law.sf([M(q) for q in p], M(at))
            if below > M(10) ** -300:
                line(name, "cdf", p, at, law.cdf, integral=law.closed is None)
            if above > M(10) ** -300:
                line(name, "sf", p, at, law.sf, integral=law.upper is None)
        for moment in moments:
            line(name, moment, p, 0.0, getattr(law, moment), integral=True)


# Laws of integers: sums.
def discrete_laplace(p, k):
    return mp.tanh(1 / (2 * p[1])) * mp.exp(-abs(k - p[0]) / p[1])


def skellam(p, k):
    a, b = p
    return mp.exp(-a - b) * (a / b) ** (M(k) / 2) * mp.besseli(abs(int(k)), 2 * mp.sqrt(a * b))


def total(mass, p, ks, f=lambda k: 1):
    return mp.fsum(f(k) * mass(p, k) for k in ks)


for p, width in [([0.0, 2.0], 400), ([3.0, 0.2], 60), ([-7.0, 40.0], 6000)]:
    centre = int(p[0])
    ks = range(centre - width, centre + width + 1)
    for k in [-60, -3, -1, 0, 1, 2, 25]:
        x = centre + k
        if discrete_laplace([M(q) for q in p], x) < M(10) ** -300:
            continue
        line("discrete_laplace", "log_prob", p, x, lambda q, y: mp.log(discrete_laplace(q, y)), fixed=(0, 2))
        line("discrete_laplace", "cdf", p, x, lambda q, y: total(discrete_laplace, q, [j for j in ks if j <= x]), integral=True)
        line("discrete_laplace", "sf", p, x, lambda q, y: total(discrete_laplace, q, [j for j in ks if j > x]), integral=True)
    line("discrete_laplace", "variance", p, 0.0, lambda q, y: total(discrete_laplace, q, ks, lambda k: (k - q[0]) ** 2), integral=True)
    line("discrete_laplace", "entropy", p, 0.0, lambda q, y: -total(discrete_laplace, q, ks, lambda k: mp.log(discrete_laplace(q, k))), integral=True)
for p, ks, points in [([3.5, 1.2], range(-60, 90), [-20, -3, 0, 1, 4, 20, 40]), ([0.01, 0.02], range(-20, 20), [-3, -1, 0, 1, 5]),
                      ([250.0, 180.0], range(-300, 500), [-120, 0, 60, 70, 71, 100, 300])]:
    for x in points:
        line("skellam", "log_prob", p, x, lambda q, y: mp.log(skellam(q, x)), fixed=(2,))
        line("skellam", "cdf", p, x, lambda q, y: total(skellam, q, [j for j in ks if j <= x]), integral=True)
        line("skellam", "sf", p, x, lambda q, y: total(skellam, q, [j for j in ks if j > x]), integral=True)


# A hurdle and zero inflation on Poisson counts, and censored normal and Poisson variables.
def poisson(rate, k):
    return mp.exp(-rate + k * mp.log(rate) - mp.loggamma(k + 1))


def hurdle(p, k):
    return p[0] if k == 0 else (1 - p[0]) * poisson(p[1], k) / -mp.expm1(-p[1])


def inflated(p, k):
    return (p[0] if k == 0 else 0) + (1 - p[0]) * poisson(p[1], k)


def inflated_negative_binomial(p, k):
    gate, mean, r = p
    mass = mp.exp(mp.loggamma(k + r) - mp.loggamma(k + 1) - mp.loggamma(r)) * (r / (r + mean)) ** r * (mean / (r + mean)) ** k
    return (gate if k == 0 else 0) + (1 - gate) * mass


for name, mass, settings in [("hurdle_poisson", hurdle, [[0.4, 2.0], [0.01, 1e-6], [0.9, 30.0]]),
                             ("zero_inflated_poisson", inflated, [[0.4, 2.0], [0.01, 1e-6], [0.9, 30.0]]),
                             ("zero_inflated_negative_binomial", inflated_negative_binomial, [[0.3, 2.0, 1.5]])]:
    for p in settings:
        for k in [0, 1, 2, 7, 30]:
            line(name, "log_prob", p, k, lambda q, y: mp.log(mass(q, k)), fixed=(len(p),))
            line(name, "cdf", p, k, lambda q, y: total(mass, q, range(k + 1)), fixed=(len(p),))
            line(name, "sf", p, k, lambda q, y: total(mass, q, range(k + 1, 400)), fixed=(len(p),))
        line(name, "mean", p, 0.0, lambda q, y: total(mass, q, range(400), lambda k: k), integral=True)
        line(name, "variance", p, 0.0, lambda q, y: total(mass, q, range(400), lambda k: k * k) - total(mass, q, range(400), lambda k: k) ** 2, integral=True)
for p in [[0.5, 1.3, -1.0, 2.0], [0.0, 1.0, -30.0, 35.0]]:
    loc, scale, low, high = p
    z = lambda q, x: (x - q[0]) / q[1]
    line("censored_normal", "log_prob", p, low, lambda q, y: mp.log(upper(-z(q, q[2]))), fixed=(4,))
    line("censored_normal", "log_prob", p, high, lambda q, y: mp.log(upper(z(q, q[3]))), fixed=(4,))
    line("censored_normal", "log_prob", p, 0.7, lambda q, y: mp.log(phi(z(q, y)) / q[1]))
for low, high in [(0.2, 0.3), (-40.0, -39.0), (39.0, 40.0), (8.0, 8.0001)]:
    line("interval_normal", "log_prob", [0.0, 1.0, high], low, lambda q, y: mp.log(upper(y) - upper(q[2])) if y > 0 else mp.log(upper(-q[2]) - upper(-y)))
for k in [0, 1, 3, 6]:
    line("censored_poisson", "log_prob", [2.5, 1.0, 6.0], k, lambda q, y:
         mp.log(total(lambda r, j: poisson(r[0], j), q, range(0, 2))) if k == 1
         else mp.log(total(lambda r, j: poisson(r[0], j), q, range(6, 200))) if k == 6
         else mp.log(poisson(q[0], k)) if k == 3 else -INF, fixed=(1, 2, 3))
