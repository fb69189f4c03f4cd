"""Compares laws of ppl-distributions at random parameters with SciPy, and with mpmath where the two differ.

Run: cargo run --release -p ppl-distributions --example random_cases 10000 > cases.csv; python3 differential.py cases.csv
Packages: requirements-differential.txt. Prints a line for each law: how many cases there were, in how many SciPy was farther off than the
tolerance, and in how many this crate was. Exit code 1 if there are any of the latter.

Tolerances: a log density may be off by 1e-11 (1 + |y| + c), where c is what a rounding of the outcome makes of it, from SciPy's
density by a central difference; distribution and survival functions, and what a quantile's are, by 1e-9 of themselves, or what a
rounding of the outcome moves.
"""
import csv
import sys

import mpmath as mp
import numpy as np
import scipy
import scipy.stats as st

mp.mp.dps = 40

SCIPY = {
    "beta": lambda a, b: st.beta(a, b),
    "cauchy": lambda l, s: st.cauchy(l, s),
    "chi2": lambda k: st.chi2(k),
    "exponential": lambda r: st.expon(scale=1 / r),
    "gamma": lambda a, r: st.gamma(a, scale=1 / r),
    "gumbel": lambda l, s: st.gumbel_r(l, s),
    "half_cauchy": lambda s: st.halfcauchy(scale=s),
    "half_normal": lambda s: st.halfnorm(scale=s),
    "inverse_gamma": lambda a, r: st.invgamma(a, scale=r),
    "laplace": lambda l, s: st.laplace(l, s),
    "log_normal": lambda l, s: st.lognorm(s, scale=np.exp(l)),
    "logistic": lambda l, s: st.logistic(l, s),
    "normal": lambda l, s: st.norm(l, s),
    "pareto": lambda s, a: st.pareto(a, scale=s),
    "student_t": lambda k, l, s: st.t(k, l, s),
    "truncated_normal": lambda l, s, low, high: st.truncnorm((low - l) / s, (high - l) / s, l, s),
    "uniform": lambda low, high: st.uniform(low, high - low),
    "weibull": lambda s, k: st.weibull_min(k, scale=s),
    "asymmetric_laplace": lambda l, s, k: st.laplace_asymmetric(k, l, s),
    "gompertz": lambda c, r: st.gompertz(c, scale=1 / r),
    "inverse_gaussian": lambda m, k: st.invgauss(m / k, scale=k),
    "log_uniform": lambda low, high: st.loguniform(low, high),
    "skew_normal": lambda l, s, a: st.skewnorm(a, l, s),
    "exponentially_modified_gaussian": lambda l, s, r: st.exponnorm(1 / (s * r), l, s),
    "bernoulli": lambda p: st.bernoulli(p),
    "binomial": lambda n, p: st.binom(int(n), p),
    "beta_binomial": lambda a, b, n: st.betabinom(int(n), a, b),
    "geometric": lambda p: st.geom(p, loc=-1),
    "negative_binomial": lambda r, p: st.nbinom(r, 1 - p),
    "poisson": lambda r: st.poisson(r),
    "discrete_laplace": lambda l, s: st.dlaplace(1 / s, loc=int(l)),
    "skellam": lambda a, b: st.skellam(a, b),
}
DISCRETE = {"bernoulli", "binomial", "beta_binomial", "geometric", "negative_binomial", "poisson", "discrete_laplace", "skellam"}


def phi(z):
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def upper(z):
    return mp.erfc(z / mp.sqrt(2)) / 2


def between(low, high):
    """The normal probability of an interval, by the tail that it lies in."""
    return upper(low) - upper(high) if low + high > 0 else upper(-high) - upper(-low)


def student(k, l, s, x):
    z = (x - l) / s
    return mp.gamma((k + 1) / 2) / mp.gamma(k / 2) / mp.sqrt(k * mp.pi) / s * (1 + z * z / k) ** (-(k + 1) / 2)


# Densities by the formulas of the crate's documentation, at 40 digits.
DENSITY = {
    "beta": lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b),
    "cauchy": lambda l, s, x: 1 / (mp.pi * s * (1 + ((x - l) / s) ** 2)),
    "chi2": lambda k, x: x ** (k / 2 - 1) * mp.exp(-x / 2) / (2 ** (k / 2) * mp.gamma(k / 2)),
    "exponential": lambda r, x: r * mp.exp(-r * x),
    "gamma": lambda a, r, x: r**a * x ** (a - 1) * mp.exp(-r * x) / mp.gamma(a),
    "gumbel": lambda l, s, x: mp.exp(-(x - l) / s - mp.exp(-(x - l) / s)) / s,
    "half_cauchy": lambda s, x: 2 / (mp.pi * s * (1 + (x / s) ** 2)),
    "half_normal": lambda s, x: 2 * phi(x / s) / s,
    "inverse_gamma": lambda a, r, x: r**a / mp.gamma(a) * x ** (-a - 1) * mp.exp(-r / x),
    "kumaraswamy": lambda a, b, x: a * b * x ** (a - 1) * (1 - x**a) ** (b - 1),
    "laplace": lambda l, s, x: mp.exp(-abs(x - l) / s) / (2 * s),
    "log_normal": lambda l, s, x: phi((mp.log(x) - l) / s) / (s * x),
    "logistic": lambda l, s, x: 1 / (4 * s * mp.cosh((x - l) / (2 * s)) ** 2),
    "normal": lambda l, s, x: phi((x - l) / s) / s,
    "pareto": lambda s, a, x: a * s**a / x ** (a + 1),
    "student_t": student,
    "truncated_normal": lambda l, s, low, high, x: phi((x - l) / s) / s / between((low - l) / s, (high - l) / s),
    "uniform": lambda low, high, x: 1 / (high - low),
    "von_mises": lambda l, k, x: mp.exp(k * mp.cos(x - l)) / (2 * mp.pi * mp.besseli(0, k)),
    "weibull": lambda s, k, x: k / s * (x / s) ** (k - 1) * mp.exp(-((x / s) ** k)),
    "asymmetric_laplace": lambda l, s, k, x: mp.exp(-abs(x - l) / (s * k if x < l else s / k)) / (s * k + s / k),
    "gompertz": lambda c, r, x: c * r * mp.exp(r * x - c * mp.expm1(r * x)),
    "inverse_gaussian": lambda m, k, x: mp.sqrt(k / (2 * mp.pi * x**3)) * mp.exp(-k * (x - m) ** 2 / (2 * m * m * x)),
    "log_uniform": lambda low, high, x: 1 / (x * mp.log(high / low)),
    "skew_normal": lambda l, s, a, x: 2 / s * phi((x - l) / s) * upper(-a * (x - l) / s),
    "exponentially_modified_gaussian": lambda l, s, r, x: r
    * mp.exp(r * (l - x) + (r * s) ** 2 / 2)
    * upper(-((x - l) / s - r * s)),
    "bernoulli": lambda p, x: p if x == 1 else 1 - p,
    "binomial": lambda n, p, x: mp.binomial(n, x) * p**x * (1 - p) ** (n - x),
    "beta_binomial": lambda a, b, n, x: mp.binomial(n, x) * mp.beta(x + a, n - x + b) / mp.beta(a, b),
    "geometric": lambda p, x: (1 - p) ** x * p,
    "negative_binomial": lambda r, p, x: mp.gamma(x + r) / (mp.factorial(x) * mp.gamma(r)) * (1 - p) ** r * p**x,
    "poisson": lambda r, x: mp.exp(x * mp.log(r) - r - mp.loggamma(x + 1)),
    "discrete_laplace": lambda l, s, x: mp.tanh(1 / (2 * s)) * mp.exp(-abs(x - l) / s),
    "skellam": lambda a, b, x: mp.exp(-a - b) * (a / b) ** (x / 2) * mp.besseli(abs(x), 2 * mp.sqrt(a * b)),
}


def support(name, p):
    """Where a law's outcomes lie, and a point among most of them."""
    inf = mp.inf
    if name in ("beta", "kumaraswamy"):
        return 0, 1, mp.mpf(1) / 2
    if name in ("cauchy", "gumbel", "laplace", "logistic", "normal", "skew_normal", "asymmetric_laplace"):
        return -inf, inf, p[0]
    if name == "student_t":
        return -inf, inf, p[1]
    if name == "exponentially_modified_gaussian":
        return -inf, inf, p[0] + 1 / p[2]
    if name == "truncated_normal":
        return p[2], p[3], (p[2] + p[3]) / 2
    if name in ("uniform", "log_uniform"):
        return p[0], p[1], (p[0] + p[1]) / 2
    if name == "pareto":
        return p[0], inf, p[0] * (1 + 1 / p[1])
    if name == "von_mises":
        return -mp.pi, mp.pi, mp.mpf(0)
    middle = {"gamma": lambda: p[0] / p[1], "inverse_gaussian": lambda: p[0], "exponential": lambda: 1 / p[0],
              "inverse_gamma": lambda: p[1] / (p[0] + 1), "chi2": lambda: p[0], "weibull": lambda: p[0],
              "log_normal": lambda: mp.exp(p[0]), "gompertz": lambda: mp.log1p(1 / p[0]) / p[1]}
    return 0, inf, middle.get(name, lambda: p[0])()


def exact_tails(name, p, x):
    """P(X <= x) and P(X > x), by sums or quadrature at 40 digits."""
    density = DENSITY[name]
    if name in DISCRETE:
        if name == "bernoulli":
            return (mp.mpf(0), mp.mpf(1)) if x < 0 else (1 - p[0], p[0]) if x < 1 else (mp.mpf(1), mp.mpf(0))
        low, high = {"binomial": (0, p[0]), "beta_binomial": (0, p[2] if len(p) > 2 else 0)}.get(name, (0, None))
        def down(k):
            total, step = mp.mpf(0), 0
            while (low is None or k >= low) and step < 200_000:
                term = density(*p, k)
                total += term
                if step > 50 and term < total * mp.mpf(10) ** -30:
                    break
                k, step = k - 1, step + 1
            return total
        def up(k):
            total, step = mp.mpf(0), 0
            while (high is None or k <= high) and step < 200_000:
                term = density(*p, k)
                total += term
                if step > 50 and term < total * mp.mpf(10) ** -30:
                    break
                k, step = k + 1, step + 1
            return total
        if name in ("discrete_laplace", "skellam"):
            low = None
        return down(x), up(x + 1)
    if name == "kumaraswamy":
        # By its formula: quadrature of a density that is infinite at both ends has too few digits.
        above = (1 - x ** p[0]) ** p[1]
        return 1 - above, above
    low, high, middle = support(name, p)
    def integral(a, b):
        if a >= b:
            return mp.mpf(0)
        # Pieces that shrink towards both ends and towards the bulk.
        inner = sorted({m for m in (middle, x) if a < m < b})
        points = [a, *inner, b]
        return mp.quad(lambda t: density(*p, t), points, maxdegree=12)
    return integral(low, x), integral(x, high)


def close(ours, theirs, tolerance):
    if ours == theirs or (np.isnan(ours) and np.isnan(theirs)):
        return True
    return abs(ours - theirs) <= tolerance


def main(path):
    print(f"SciPy {scipy.__version__}, mpmath {mp.__version__}")
    counts = {}
    wrong = 0
    for row in csv.reader(open(path)):
        name, p = row[0], [float(number) for number in row[1].split()]
        x, log_density, cdf, sf, probability, quantile = map(float, row[2:])
        tally = counts.setdefault(name, [0, 0, 0])
        tally[0] += 1
        law = SCIPY[name](*p) if name in SCIPY else None
        exact = [mp.mpf(number) for number in p]

        def inside(at):
            if name in DISCRETE:
                return True
            low, high, _ = support(name, exact)
            return low < at < high

        def slope_of(at):
            """What a rounding of an outcome makes of its log density, and of its tails relative to them."""
            if name in DISCRETE:
                return 0.0
            h = abs(at) * 1e-7 or 1e-30
            try:
                up, down = DENSITY[name](*exact, mp.mpf(at) + h), DENSITY[name](*exact, mp.mpf(at) - h)
                found = abs(at * float((mp.log(up) - mp.log(down)) / (2 * h)))
                return found if np.isfinite(found) else 0.0
            except (ValueError, ZeroDivisionError, TypeError, OverflowError):
                return 0.0

        theirs = float("nan")
        if law is not None:
            with np.errstate(all="ignore"):
                theirs = float(law.logpmf(x) if name in DISCRETE else law.logpdf(x))
        slack = 1e-11 * (1 + abs(log_density)) + 1e-14 * slope_of(x) if np.isfinite(log_density) else 0.0
        # At an end of the support a density has a limit, which is not asked for.
        if inside(x) and not close(log_density, theirs, slack):
            tally[1] += law is not None
            try:
                truth = float(mp.log(DENSITY[name](*exact, mp.mpf(x))))
            except (ValueError, ZeroDivisionError):
                truth = float("-inf") if log_density == float("-inf") else log_density
            if not close(log_density, truth, slack):
                tally[2] += 1
                print(f"{name} {p}: log density at {x}: {log_density}, not {truth} (SciPy {theirs})")

        def tails(at):
            if law is None:
                return float("nan"), float("nan")
            with np.errstate(all="ignore"):
                return float(law.cdf(at)), float(law.sf(at))

        def check(what, at, ours, theirs, which, absolute=0.0):
            relative = 1e-9 + absolute / max(ours, 1e-300)
            if name not in DISCRETE and np.isfinite(at):
                # A rounding of the outcome moves a tail by its density times the rounding.
                relative += 4e-16 * abs(at) * float(DENSITY[name](*exact, mp.mpf(at))) / max(ours, 1e-300) if inside(at) else 0.0
            if close(ours, theirs, relative * abs(ours)) or ours < 1e-290:
                return
            tally[1] += law is not None
            truth = float(exact_tails(name, exact, mp.mpf(at))[which])
            if not close(ours, truth, max(relative, 1e-9) * abs(truth)):
                tally[2] += 1
                print(f"{name} {p}: {what} at {at}: {ours}, not {truth} (SciPy {theirs})")

        below, above = tails(x)
        check("distribution function", x, cdf, below, 0)
        check("survival function", x, sf, above, 1)
        if np.isfinite(quantile):
            below, above = tails(quantile)
            if name in DISCRETE:
                before, at = tails(quantile - 1)[0], below
                if not (at >= probability * (1 - 1e-9) and before <= probability * (1 + 1e-9)):
                    tally[1] += 1
                    before = exact_tails(name, exact, mp.mpf(quantile) - 1)[0]
                    at = exact_tails(name, exact, mp.mpf(quantile))[0]
                if not (at >= probability * (1 - 1e-9) and before <= probability * (1 + 1e-9)):
                    tally[2] += 1
                    print(f"{name} {p}: quantile at {probability}: {quantile}, where {float(before)} to {float(at)} is")
            elif not inside(quantile):
                # What is nearer to an end than any number: an end has the right answer on its side of it.
                continue
            elif probability < 0.5:
                # That of the von Mises law is known to a rounding of 1.
                check("quantile", quantile, probability, below, 0, 2.3e-16 if name == "von_mises" else 0.0)
            else:
                # A probability near 1 is known to a rounding of itself.
                check("quantile", quantile, 1.0 - probability, above, 1, 2.3e-16)
    print("| law | cases | SciPy is farther off | this crate is |\n|---|---|---|---|")
    for name, (cases, scipys, ours) in sorted(counts.items()):
        print(f"| {name} | {cases} | {scipys} | {ours} |")
        wrong += ours
    print(f"{wrong} that do not meet")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
