"""Writes special.csv: special functions of several arguments at 50 digits with mpmath.

Run: python3 -P special.py > special.csv        (-P: math.py beside it is not the module of that name)

Definitions are used as they stand (hypergeometric series, quadrature, numerical differentiation with 30 digits to spare), so that
nothing is shared with the algorithms that are tested. Inverses are tested through their functions: the row's argument is the nearest
double of a probability, and the value is found by Newton's method at full precision from the point that the probability came from.
"""
import random
import sys

import mpmath as mp

mp.mp.dps = 50
random.seed(23)


def row(name, arguments, value):
    value = mp.mpf(value)
    if abs(value) < mp.mpf(10) ** -300 or abs(value) > mp.mpf(10) ** 300:
        return
    filled = [float(x) for x in arguments] + [0.0] * (3 - len(arguments))
    print(name + "," + ",".join(repr(x) for x in filled) + f",{float(value)!r}", flush=True)


def log_uniform(low, high):
    return float(mp.exp(random.uniform(float(mp.log(low)), float(mp.log(high)))))


def lower_gamma(a, x):
    """P by its series, all terms positive."""
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * mp.hyp1f1(1, a + 1, x)


def upper_gamma(a, x):
    """Q, with as many digits as the subtraction needs."""
    if x > a + 3 * mp.sqrt(a) + 5:
        # Legendre's continued fraction by the method of Lentz (NIST DLMF 8.9.2).
        b = x + 1 - a
        d = 1 / b
        c, h = mp.inf, d
        for k in range(1, 100000):
            top = -k * (k - a)
            b += 2
            d = 1 / (top * d + b)
            c = b + top / c
            h *= d * c
            if abs(d * c - 1) < mp.mpf(10) ** (-mp.mp.dps):
                return mp.exp(a * mp.log(x) - x - mp.loggamma(a)) * h
        sys.exit("a continued fraction did not settle")
    with mp.workdps(mp.mp.dps + 30):
        spare = max(0, int(-mp.log10(abs(1 - lower_gamma(a, x)) + mp.mpf(10) ** -70)))
    with mp.workdps(mp.mp.dps + spare + 10):
        return 1 - lower_gamma(a, x)


def gamma_density(a, x):
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a))


def derivative(f, a, order=1):
    """Central differences of a smooth function with 90 digits and a step of 10^-20 a, which leave some 35 digits."""
    with mp.workdps(110):
        h = a * mp.mpf(10) ** -20
        if order == 1:
            return (f(a + h) - f(a - h)) / (2 * h)
        return (f(a + h) - 2 * f(a) + f(a - h)) / (h * h)


def gamma_slope(a, l):
    with mp.workdps(110):
        x = mp.exp(l)
        upper = x > a + 1
        f = (lambda t: -upper_gamma(t, x)) if upper else (lambda t: lower_gamma(t, x))
        return -derivative(f, a) / gamma_density(a, x)


def gamma_curvature(a, l):
    with mp.workdps(110):
        x = mp.exp(l)
        upper = x > a + 1
        f = (lambda t: -upper_gamma(t, x)) if upper else (lambda t: lower_gamma(t, x))
        # (−Pₐ/D)ₐ = −Pₐₐ/D + Pₐ Dₐ/D²
        density = gamma_density(a, x)
        return -derivative(f, a, 2) / density + derivative(f, a) / density * (l - mp.digamma(a))


def lower_beta(a, b, x):
    """I by a series of positive terms: x^a (1-x)^b / (a B) · 2F1(a + b, 1; a + 1; x)."""
    y = 1 - x
    return mp.exp(a * mp.log(x) + b * mp.log(y) - mp.log(a) - log_beta(a, b)) * mp.hyp2f1(a + b, 1, a + 1, x)


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def beta_density(a, b, x):
    """Of the log-odds."""
    return mp.exp(a * mp.log(x) + b * mp.log(1 - x) - log_beta(a, b))


def beta_i(a, b, x):
    return lower_beta(a, b, x) if x * (a + b) <= a else 1 - lower_beta(b, a, 1 - x)


def beta_but_for_a_constant(a, b, x):
    """I, or I − 1 where that is the smaller one: what is differentiated should not be a tiny change of 1."""
    return lower_beta(a, b, x) if x * (a + b) <= a else -lower_beta(b, a, 1 - x)


def invert(f, density, p, start):
    """The root of f = p by Newton's method in the given coordinate, from a start that is good to a few digits."""
    s = mp.mpf(start)
    for _ in range(120):
        step = (f(s) - p) / density(s)
        s -= step
        if abs(step) < mp.mpf(10) ** -40 * (1 + abs(s)):
            return s
    sys.exit("an inverse did not settle")


print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 50 digits of working precision, seed 23")
print("# columns: function, first, second and third argument (0 where there is none), nearest double of the value")

# Functions of one argument.
for x in [log_uniform(1e-300, 1e300) * random.choice((1, -1)) for _ in range(12)] + [random.uniform(-3, 3) for _ in range(24)] + [1.0, 0.41421356, 0.4142136]:
    row("atan", [x], mp.atan(mp.mpf(x)))
for x in [log_uniform(1e-200, 0.1) * random.choice((1, -1)) for _ in range(12)] + [random.uniform(-0.9, 12) for _ in range(30)]:
    row("lgamma1p", [x], mp.loggamma(1 + mp.mpf(x)))
for _ in range(40):
    a, near = log_uniform(1e-10, 1e15), random.choice((1, -1)) * log_uniform(1e-9, 0.5)
    for b in (a * (1 + near), log_uniform(1e-10, 1e15)):
        with mp.workdps(90):
            row("deviance", [a, b], mp.mpf(a) * mp.log(mp.mpf(a) / mp.mpf(b)) + mp.mpf(b) - mp.mpf(a))
for x in [log_uniform(1e-300, 1e-2) * random.choice((1, -1)) for _ in range(10)] + [random.uniform(-0.99, 5) for _ in range(20)] \
        + [log_uniform(5, 1e300) for _ in range(8)] + [-0.29, 0.41, -0.9999999]:
    row("log1p_minus_x", [x], mp.log1p(mp.mpf(x)) - mp.mpf(x) if abs(x) > 1e-5 else -mp.mpf(x) ** 2 / 2 + mp.mpf(x) ** 3 / 3
        - mp.mpf(x) ** 4 / 4 + mp.mpf(x) ** 5 / 5 - mp.mpf(x) ** 6 / 6 + mp.mpf(x) ** 7 / 7 - mp.mpf(x) ** 8 / 8 + mp.mpf(x) ** 9 / 9)
for x in [log_uniform(1e-300, 0.1) for _ in range(10)] + [random.uniform(0, 12) for _ in range(30)] + [log_uniform(12, 1e14) for _ in range(14)]:
    with mp.workdps(90):
        t = mp.mpf(x)
        row("stirling_error", [x], mp.loggamma(t) - ((t - 0.5) * mp.log(t) - t + mp.log(2 * mp.pi) / 2))
        row("digamma_minus_log", [x], mp.digamma(t) - mp.log(t))
normal = [random.uniform(-10, 8) for _ in range(30)] + [-log_uniform(10, 1e150) for _ in range(14)] + [-1.0, -0.99999, 0.0, 1e-10, 20.0, -39.5, -40.0]
for x in normal:
    t = mp.mpf(x)
    with mp.workdps(60):
        if x < -1e4:
            # Mills' ratio by its continued fraction, converging at once.
            tail = -t
            for k in range(60, 0, -1):
                tail = -t + k / tail
            log_probability = -t * t / 2 - mp.log(2 * mp.pi) / 2 - mp.log(tail)
            mills = 1 / tail
        elif x < 0:
            log_probability = mp.log(mp.erfc(-t / mp.sqrt(2)) / 2)
        else:
            log_probability = mp.log1p(-mp.erfc(t / mp.sqrt(2)) / 2)
        row("log_ndtr", [x], log_probability)
        row("inverse_mills", [x], 1 / mills if x < -1e4 else mp.exp(-t * t / 2 - log_probability) / mp.sqrt(2 * mp.pi))


def normal_cdf(z):
    return mp.erfc(-z / mp.sqrt(2)) / 2


def normal_density(z):
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


for z in [random.uniform(-37, 8) for _ in range(30)] + [random.uniform(-2.5, 2.5) for _ in range(12)] + [-2.05, -2.06, 1e-3, -1e-9]:
    p = float(normal_cdf(mp.mpf(z)))
    if 0 < p < 1:
        # Newton's method on the logarithm, for p may be far in the tail.
        row("ndtri", [p], invert(lambda s: mp.log(normal_cdf(s)), lambda s: normal_density(s) / normal_cdf(s), mp.log(mp.mpf(p)), z))
for z in [random.uniform(-80, 6) for _ in range(30)] + [-log_uniform(80, 900) for _ in range(6)] + [-1e-3, 1e-4, -2.6, -2.3]:
    l = float(mp.log(normal_cdf(mp.mpf(z))))
    if l < 0:
        row("ndtri_exp", [l], invert(lambda s: mp.log(normal_cdf(s)), lambda s: normal_density(s) / normal_cdf(s), mp.mpf(l), z))
for l in [-1e6, -1e10, -1e100]:
    s = -mp.sqrt(-2 * mp.mpf(l))
    for _ in range(200):
        s = -mp.sqrt(-2 * (mp.mpf(l) + mp.log(2 * mp.pi) / 2 + mp.log(-s) - mp.log1p(-1 / s**2 + 3 / s**4 - 15 / s**6 + 105 / s**8)))
    row("ndtri_exp", [l], s)
for x in [log_uniform(1e-10, 1) for _ in range(6)] + [random.uniform(0, 40) for _ in range(24)] + [log_uniform(40, 1e8) for _ in range(10)] + [20.0, 20.000001]:
    t = mp.mpf(x)
    with mp.workdps(70):
        zero, one = (mp.exp(-t) * mp.besseli(k, t) for k in (0, 1))
        row("i0e", [x], zero)
        row("i1e", [-x], -one)
        row("bessel_ratio", [x], one / zero)
        row("bessel_ratio_complement", [x], 1 - one / zero)

# Two arguments.
for _ in range(30):
    a = random.choice([random.uniform(-12, 8), random.uniform(-40, 1), 0.0])
    b = a + random.choice([log_uniform(1e-12, 1), random.uniform(0, 6), random.uniform(0, 40), log_uniform(1e-3, 3)])
    low, high = mp.mpf(a), mp.mpf(b)
    with mp.workdps(120):
        if low + high > 0:
            low, high = -high, -low
        if high > low:
            row("log_ndtr_difference", [a, b], mp.log(normal_cdf(high) - normal_cdf(low)))
            probability = normal_cdf(high) - normal_cdf(low)
            edges = normal_density(low), normal_density(high)
            mean = (edges[0] - edges[1]) / probability
            sign = -1 if mp.mpf(a) + mp.mpf(b) > 0 else 1
            row("normal_interval_mean", [a, b], sign * mean)
            row("normal_interval_variance", [a, b], 1 + (low * edges[0] - high * edges[1]) / probability - mean**2)
pairs = []
for _ in range(60):
    a = random.choice([log_uniform(1e-8, 1), random.uniform(0.1, 12), random.uniform(8, 300), log_uniform(300, 2e4)])
    width = 1 / max(a, 1e-3) ** 0.5
    for x in {float(a * mp.exp(random.gauss(0, 1) * min(width, 3))), a * random.choice([0.02, 0.3, 0.9, 1.2, 3.0]), a + 1.0}:
        if 0 < x < 1e5:
            pairs.append((a, x))
pairs += [(a, x) for a in (1e-8, 1e-3, 0.5) for x in (1e-200, 1e-30, 1e-3, 1.4, 1.6, 8.0, 50.0)] + [(9.99, 10.9), (10.0, 9.999), (10.0, 10.001), (9.99, 11.0)]
pairs += [(1e6, 999000.0), (1e6, 1000100.0), (1e6, 1003000.0)]
for a, x in pairs:
    s, t = mp.mpf(a), mp.mpf(x)
    lower = lower_gamma(s, t)
    row("gamma_p", [a, x], lower)
    row("gamma_q", [a, x], upper_gamma(s, t))
    l = float(mp.log(t))
    if a < 3e4:
        row("gamma_slope", [a, l], gamma_slope(s, mp.mpf(l)))
        row("gamma_curvature", [a, l], gamma_curvature(s, mp.mpf(l)))
    p = float(lower)
    if 1e-290 < p < 1 - 1e-3 and a < 3e4:
        exact = mp.log(mp.mpf(p))
        found = invert(lambda s_: mp.log(lower_gamma(s, mp.exp(s_))), lambda s_: gamma_density(s, mp.exp(s_)) / lower_gamma(s, mp.exp(s_)), exact, l)
        row("log_gamma_p_inverse", [a, p], found)
    elif 1 - 1e-3 <= p < 1 and a < 3e4:
        found = invert(lambda s_: -upper_gamma(s, mp.exp(s_)), lambda s_: gamma_density(s, mp.exp(s_)), mp.mpf(p) - 1, l)
        row("log_gamma_p_inverse", [a, p], found)
for _ in range(40):
    # Upper tails as such.
    a, q = log_uniform(1e-3, 3e3), log_uniform(1e-250, 0.5)
    s = mp.mpf(a)
    low, high = mp.mpf(-2000), mp.log(s + 1000 + 50 * mp.sqrt(s))
    for _ in range(40):
        middle = (low + high) / 2
        if mp.gammainc(s, mp.exp(middle)) / mp.gamma(s) > q:
            low = middle
        else:
            high = middle
    with mp.workdps(60):
        found = (low + high) / 2
        for _ in range(12):
            tail = mp.gammainc(s, mp.exp(found)) / mp.gamma(s)
            found += (mp.log(tail) - mp.log(mp.mpf(q))) * tail / gamma_density(s, mp.exp(found))
        row("log_gamma_q_inverse", [a, q], found)
for a, p in [(1e-3, 0.5), (1e-3, 1e-10), (1e-8, 0.3), (0.02, 1e-300)]:
    row("log_gamma_p_inverse", [a, p], (mp.log(mp.mpf(p)) + mp.loggamma(mp.mpf(a) + 1)) / mp.mpf(a))


def von_mises_unnormalised(k, low, high, weight=lambda t: 1):
    """∫ exp(−2k sin²(t/2)) w(t) dt, cut into pieces of a few standard deviations."""
    width = min(mp.mpf(1), 2 / mp.sqrt(k + 1))
    points, t = [high], high
    while t > low and high - t < 60 * width:
        t = max(low, t - width)
        points.append(t)
    return mp.quad(lambda t: mp.exp(-2 * k * (mp.sin(t / 2) ** 2 - mp.sin(high / 2) ** 2)) * weight(t), points[::-1]) \
        * mp.exp(-2 * k * mp.sin(high / 2) ** 2)


with mp.workdps(30):
    for _ in range(24):
        k = random.choice([log_uniform(1e-6, 1), random.uniform(0.5, 30), log_uniform(30, 1e6)])
        d = max(-3.1, -abs(random.gauss(0, 1.5)) / max(k, 0.5) ** 0.5 - random.choice([0, 1e-3, 0.2]) / max(k, 1) ** 0.5)
        kk, dd = mp.mpf(k), mp.mpf(d)
        total = 2 * mp.pi * mp.exp(-kk) * mp.besseli(0, kk)
        p = von_mises_unnormalised(kk, -mp.pi, dd) / total
        row("von_mises_cdf", [k, d], p)
        density = mp.exp(-2 * kk * mp.sin(dd / 2) ** 2)
        ratio = mp.besseli(1, kk) / mp.besseli(0, kk)
        with mp.workdps(40):
            score = lambda t: (1 - ratio) - 2 * mp.sin(t / 2) ** 2
            row("von_mises_slope", [k, d], -von_mises_unnormalised(kk, -mp.pi, dd, score) / density)
        f = float(p)
        found = dd
        for _ in range(6):
            found -= (von_mises_unnormalised(kk, -mp.pi, found) / total - mp.mpf(f)) * total / mp.exp(-2 * kk * mp.sin(found / 2) ** 2)
        row("von_mises_cdf_inverse", [k, f], found)

for _ in range(50):
    df = random.choice([log_uniform(0.05, 1), random.uniform(1, 30), log_uniform(30, 1e8)])
    z = -random.choice([abs(random.gauss(0, 1)), random.uniform(0, 8), log_uniform(1e-8, 1), log_uniform(8, 1e3) if df < 20 else 3.0])
    n, t = mp.mpf(df), mp.mpf(z)

    def tails(n_):
        # By the log-odds' integral where the series does not converge quickly.
        x = n_ / (n_ + t * t)
        return lower_beta(n_ / 2, mp.mpf(1) / 2, x) / 2 if x < 0.9 else (1 - lower_beta(mp.mpf(1) / 2, n_ / 2, t * t / (n_ + t * t))) / 2

    with mp.workdps(130):
        row("student_t_cdf", [df, z], tails(n))
        density = mp.exp(mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2) - mp.log(n * mp.pi) / 2 - (n + 1) / 2 * mp.log1p(t * t / n))
        if df < 1e4:
            row("student_t_slope", [df, z], -derivative(tails, n) / density)

# Three arguments.
for _ in range(60):
    a, b = (random.choice([log_uniform(1e-5, 1), random.uniform(0.1, 12), random.uniform(8, 300), log_uniform(300, 1e4)]) for _ in "ab")
    mean = a / (a + b)
    spread = (mean * (1 - mean) / (a + b + 1)) ** 0.5
    for x in {min(max(mean + random.gauss(0, 2) * spread, 1e-12), 1 - 1e-6), random.uniform(0.01, 0.99), mean * 0.1}:
        s, t, u = mp.mpf(a), mp.mpf(b), mp.mpf(x)
        p = beta_i(s, t, u)
        row("beta_i", [a, b, x], p)
        with mp.workdps(110):
            density = beta_density(s, t, u)
            if density > mp.mpf(10) ** -200:
                odds = float(mp.log(u / (1 - u)))
                w = 1 / (1 + mp.exp(-mp.mpf(odds)))
                row("log_beta_density", [a, b, odds], mp.log(beta_density(s, t, w)))
                row("beta_slope_a", [a, b, odds], -derivative(lambda v: beta_but_for_a_constant(v, t, w), s) / beta_density(s, t, w))
                row("beta_slope_b", [a, b, odds], -derivative(lambda v: beta_but_for_a_constant(s, v, w), t) / beta_density(s, t, w))
        f = float(p)
        if 1e-290 < f < 0.999:
            odds = lambda v: 1 / (1 + mp.exp(-v))
            found = invert(lambda v: mp.log(beta_i(s, t, odds(v))), lambda v: beta_density(s, t, odds(v)) / beta_i(s, t, odds(v)),
                           mp.log(mp.mpf(f)), mp.log(u / (1 - u)))
            row("logit_beta_i_inverse", [a, b, f], found)

# Log-odds far out, and parameters from 1e-300 to 1e300. Beyond 1000 in log-odds I = xᵃ/(a B) to e^(−1000 + 690) of itself on the left, and
# 1 − I = yᵇ/(b B) on the right, because neither x nor bx (neither y nor ay) counts beside 1.
extremes = [1e-300, 1e-200, 1e-30, 1e-4, 0.3, 5.0, 1e3, 1e30, 1e200, 1e300]


def log_power(a, b):
    """ln(a B(a, b)); digits for the smallest difference of gamma functions, of the order of a smallest parameter."""
    return mp.log(a) + log_beta(a, b)


for a in extremes:
    for b in extremes:
        with mp.workdps(950):
            s, t = mp.mpf(a), mp.mpf(b)
            left, right = log_power(s, t), log_power(t, s)
            for share in (1e-3, 0.1, 3.0):
                odds = -max(1000.0, share / a)
                row("beta_i_of_log_odds", [a, b, odds], mp.exp(s * odds - left))
                odds = max(1000.0, share / b)
                row("beta_i_of_log_odds", [a, b, odds], -mp.expm1(-t * odds - right))
            for p in (1e-300, 1e-10, 0.2, 0.5, 0.999, 1 - 2.0**-53):
                below = (mp.log(mp.mpf(p)) + left) / s
                above = -(mp.log1p(-mp.mpf(p)) + right) / t
                if below < -1000:
                    row("logit_beta_i_inverse_far", [a, b, p], below)
                elif above > 1000:
                    row("logit_beta_i_inverse_far", [a, b, p], above)

# Logarithms of probabilities, many of them of what is too small for a number: with numbers of their own, so that they can be made alone.
random.seed(29)


def log_tails(lower, upper):
    """Both logarithms, each by the smaller probability."""
    return (mp.log(lower), mp.log1p(-lower)) if lower < upper else (mp.log1p(-upper), mp.log(upper))


for _ in range(60):
    a = log_uniform(1e-3, 3e3)
    s = mp.mpf(a)
    x = max(1e-280, random.choice([a * log_uniform(1e-30, 1.0), a + log_uniform(1e-3, 1e5), a + 5 * random.gauss(0, 1) * a**0.5]))
    with mp.workdps(120):
        below, above = log_tails(lower_gamma(s, mp.mpf(x)), upper_gamma(s, mp.mpf(x)))
    row("log_gamma_p", [a, x], below)
    row("log_gamma_q", [a, x], above)
for _ in range(80):
    a, b, odds = log_uniform(1e-2, 3e3), log_uniform(1e-2, 3e3), random.choice([random.gauss(0, 3), random.gauss(0, 400)])
    with mp.workdps(120):
        s, t, w, rest = mp.mpf(a), mp.mpf(b), 1 / (1 + mp.exp(-mp.mpf(odds))), 1 / (1 + mp.exp(mp.mpf(odds)))
        below, _above = log_tails(mp.betainc(s, t, 0, w, regularized=True), mp.betainc(t, s, 0, rest, regularized=True))
    row("log_beta_i", [a, b, odds], below)


def skew_normal_tail(z, alpha):
    """Below z, by the integral of the density in pieces around where it changes."""
    density = lambda v: 2 * normal_density(z - v) * normal_cdf(alpha * (z - v))
    unit = 1 / (1 + abs(z) * (1 + alpha * alpha) + abs(alpha))
    steps = [unit * mp.mpf("1.5") ** k for k in range(80)]
    return mp.quad(density, [0, *[v for v in steps if v < 60], 60])


for _ in range(90):
    z, alpha = random.choice([random.gauss(0, 1), random.gauss(0, 12)]), random.choice([-1, 1]) * log_uniform(1e-3, 40.0)
    below, _above = log_tails(skew_normal_tail(mp.mpf(z), mp.mpf(alpha)), skew_normal_tail(-mp.mpf(z), -mp.mpf(alpha)))
    row("log_skew_normal_cdf", [z, alpha], below)
