"""Writes multivariate.csv: densities and moments of distributions of vectors and matrices with mpmath at 60 digits.

Run: python3 multivariate.py > multivariate.csv

A row is: distribution, quantity, parameters (arrays, separated by semicolons), x, values, sensitivities. Arrays are numbers separated by spaces, row after row.
A sensitivity is the sum over all input numbers of |input · d value/d input|: what a relative change of every input by 1 (to first order) does to
the value. No algorithm can be expected to be closer than that times the unit of rounding.

Formulas are the definitions, by determinants and inverses of whole matrices and by gamma functions. Where NumPyro and SciPy are installed, rows
of moderate size are also compared with theirs in double precision.
"""
import random
import sys

import mpmath as mp

mp.mp.dps = 60
random.seed(11)
H = mp.mpf(10) ** -25
LOG_2PI = mp.log(2 * mp.pi)


def matrix(flat, n=None):
    n = n or int(round(len(flat) ** 0.5))
    return mp.matrix([flat[i * (len(flat) // n):(i + 1) * (len(flat) // n)] for i in range(n)])


def flat(m):
    return [m[i, j] for i in range(m.rows) for j in range(m.cols)]


def quadratic(m, v):
    v = mp.matrix(v)
    return (v.T * m * v)[0]


class Normal:
    """Of a covariance matrix."""

    def log_prob(self, loc, sigma, x):
        d = len(loc)
        e = [a - b for a, b in zip(x, loc)]
        return [-(quadratic(sigma ** -1, e) + mp.log(mp.det(sigma)) + d * LOG_2PI) / 2]

    def variance(self, loc, sigma):
        return [sigma[i, i] for i in range(len(loc))]

    def entropy(self, loc, sigma):
        return [(len(loc) * (1 + LOG_2PI) + mp.log(mp.det(sigma))) / 2]


def with_covariance(params):
    return params[0], matrix(params[1])


def with_precision(params):
    return params[0], matrix(params[1]) ** -1


def with_cholesky(params):
    l = matrix(params[1])
    return params[0], l * l.T


def low_rank(params):
    w = matrix(params[1], len(params[0]))
    return params[0], w * w.T + mp.diag(params[2])


def student(params):
    nu, loc, l = params[0][0], params[1], matrix(params[2])
    return nu, loc, l * l.T


def student_log_prob(params, x):
    nu, loc, sigma = student(params)
    d = len(loc)
    e = [a - b for a, b in zip(x, loc)]
    return [mp.loggamma((nu + d) / 2) - mp.loggamma(nu / 2) - d * mp.log(nu * mp.pi) / 2 - mp.log(mp.det(sigma)) / 2
            - (nu + d) / 2 * mp.log1p(quadratic(sigma ** -1, e) / nu)]


def student_variance(params):
    nu, loc, sigma = student(params)
    return [sigma[i, i] * nu / (nu - 2) for i in range(len(loc))]


def student_entropy(params):
    nu, loc, sigma = student(params)
    d = len(loc)
    return [-student_log_prob(params, loc)[0] + (nu + d) / 2 * (mp.digamma((nu + d) / 2) - mp.digamma(nu / 2))]


def dirichlet_log_prob(params, x):
    a = params[0]
    return [mp.loggamma(mp.fsum(a)) + mp.fsum((k - 1) * mp.log(v) - mp.loggamma(k) for k, v in zip(a, x))]


def dirichlet_entropy(params):
    a = params[0]
    total = mp.fsum(a)
    return [mp.fsum(mp.loggamma(k) for k in a) - mp.loggamma(total) + (total - len(a)) * mp.digamma(total)
            - mp.fsum((k - 1) * mp.digamma(k) for k in a)]


def dirichlet_variance(params):
    a, total = params[0], mp.fsum(params[0])
    return [k / total * (1 - k / total) / (total + 1) for k in a]


def lkj_log_constant(d, eta):
    """ln of the integral of prod L_ii^(d - i + 2 eta - 2) (i from 1), row by row: balls of dimension i - 1."""
    total = mp.mpf(0)
    for i in range(2, d + 1):
        b = eta + mp.mpf(d - i) / 2
        total += mp.mpf(i - 1) / 2 * mp.log(mp.pi) + mp.loggamma(b) - mp.loggamma(b + mp.mpf(i - 1) / 2)
    return total


def lkj_dimension(x):
    return int(round(len(x) ** 0.5))


def lkj_log_prob(params, x):
    d, eta = int(params[0][0]), params[1][0]
    return [mp.fsum((d - i + 2 * eta - 2) * mp.log(x[(i - 1) * (d + 1)]) for i in range(2, d + 1)) - lkj_log_constant(d, eta)]


def lkj_entropy(params):
    d, eta = int(params[0][0]), params[1][0]
    # d/d eta of the constant is 2 E sum ln L_ii; by rows: E ln L_ii = (digamma(b) - digamma(b + (i - 1)/2))/2.
    total = lkj_log_constant(d, eta)
    for i in range(2, d + 1):
        b = eta + mp.mpf(d - i) / 2
        total -= (d - i + 2 * eta - 2) * (mp.digamma(b) - mp.digamma(b + mp.mpf(i - 1) / 2)) / 2
    return [total]


def lkj_moments(params):
    """Mean and mean square of each element, by L_ii^2 ~ Beta(b, (i - 1)/2) and a uniform direction."""
    d, eta = int(params[0][0]), params[1][0]
    mean, square = mp.zeros(d), mp.zeros(d)
    mean[0, 0] = square[0, 0] = 1
    for i in range(2, d + 1):
        b, s = eta + mp.mpf(d - i) / 2, mp.mpf(i - 1) / 2
        mean[i - 1, i - 1] = mp.gammaprod([b + 0.5, b + s], [b, b + s + 0.5])
        square[i - 1, i - 1] = b / (b + s)
        for j in range(i - 1):
            square[i - 1, j] = (s / (b + s)) / (i - 1)
    return mean, square


def lkj_mean(params):
    return flat(lkj_moments(params)[0])


def lkj_variance(params):
    mean, square = lkj_moments(params)
    return [s - m * m for m, s in zip(flat(mean), flat(square))]


def kl(params):
    """Of two normal distributions, by means and Cholesky factors."""
    loc, l, other_loc, other_l = params[0], matrix(params[1]), params[2], matrix(params[3])
    sigma, other = l * l.T, other_l * other_l.T
    product = other ** -1 * sigma
    e = [a - b for a, b in zip(loc, other_loc)]
    trace = mp.fsum(product[i, i] for i in range(len(loc)))
    return [(trace - len(loc) + quadratic(other ** -1, e) - mp.log(mp.det(product))) / 2]


def normalised(weights):
    total = mp.fsum(weights)
    return [w / total for w in weights]


def categorical(params, logits):
    return normalised([mp.exp(v) for v in params[0]]) if logits else params[0]


def categorical_variance(p):
    mean = mp.fsum(k * v for k, v in enumerate(p))
    return [mp.fsum(v * (k - mean) ** 2 for k, v in enumerate(p))]


NORMAL = Normal()


def normal_rows(convert):
    return {
        "log_prob": lambda params, x: NORMAL.log_prob(*convert(params), x),
        "mean": lambda params: params[0],
        "variance": lambda params: NORMAL.variance(*convert(params)),
        "entropy": lambda params: NORMAL.entropy(*convert(params)),
    }


def walk_log_prob(params, x):
    n, s = int(mp.nint(params[0][0])), params[1][0]
    squares = mp.fsum(((x[t] - (x[t - 1] if t else 0)) / s) ** 2 for t in range(n))
    return [-squares / 2 - n * mp.log(s) - n * mp.log(2 * mp.pi) / 2]


WALK = {
    "log_prob": walk_log_prob,
    "mean": lambda params: [mp.mpf(0)] * int(mp.nint(params[0][0])),
    "variance": lambda params: [(t + 1) * params[1][0] ** 2 for t in range(int(mp.nint(params[0][0])))],
    "entropy": lambda params: [params[0][0] * (mp.log(params[1][0]) + mp.log(2 * mp.pi * mp.e) / 2)],
}


def categorical_rows(logits):
    return {
        "log_prob": lambda params, x: [mp.log(categorical(params, logits)[int(mp.nint(x[0]))])],
        "mean": lambda params: [mp.fsum(k * v for k, v in enumerate(categorical(params, logits)))],
        "variance": lambda params: categorical_variance(categorical(params, logits)),
        "entropy": lambda params: [-mp.fsum(v * mp.log(v) for v in categorical(params, logits) if v > 0)],
    }


FAMILIES = {
    "categorical_probs": categorical_rows(False),
    "categorical_logits": categorical_rows(True),
    "multivariate_normal_covariance": normal_rows(with_covariance),
    "multivariate_normal_precision": normal_rows(with_precision),
    "multivariate_normal_cholesky": normal_rows(with_cholesky),
    "low_rank_multivariate_normal": normal_rows(low_rank),
    "multivariate_student_t": {
        "log_prob": student_log_prob, "mean": lambda params: params[1], "variance": student_variance, "entropy": student_entropy,
    },
    "dirichlet": {
        "log_prob": dirichlet_log_prob, "mean": lambda params: normalised(params[0]),
        "variance": dirichlet_variance, "entropy": dirichlet_entropy,
    },
    "lkj_cholesky": {"log_prob": lkj_log_prob, "mean": lkj_mean, "variance": lkj_variance, "entropy": lkj_entropy},
    "gaussian_random_walk": WALK,
    "multivariate_normal_kl": {"kl": kl},
}


def peer(name, quantity, params, x):
    """The value NumPyro or SciPy has."""
    import jax
    import jax.numpy as jnp
    import numpyro.distributions as dist
    import scipy.stats

    jax.config.update("jax_enable_x64", True)
    vectors = [jnp.array([float(v) for v in p]) for p in params]
    square = lambda v: v.reshape(int(round(v.size ** 0.5)), -1)
    if name == "multivariate_normal_kl":
        pair = [dist.MultivariateNormal(vectors[i], scale_tril=square(vectors[i + 1])) for i in (0, 2)]
        return dist.kl_divergence(*pair)
    distribution = {
        "categorical_probs": lambda: dist.CategoricalProbs(vectors[0]),
        "categorical_logits": lambda: dist.CategoricalLogits(vectors[0]),
        "multivariate_normal_covariance": lambda: dist.MultivariateNormal(vectors[0], square(vectors[1])),
        "multivariate_normal_precision": lambda: dist.MultivariateNormal(vectors[0], precision_matrix=square(vectors[1])),
        "multivariate_normal_cholesky": lambda: dist.MultivariateNormal(vectors[0], scale_tril=square(vectors[1])),
        "low_rank_multivariate_normal": lambda: dist.LowRankMultivariateNormal(vectors[0], vectors[1].reshape(vectors[0].size, -1), vectors[2]),
        "multivariate_student_t": lambda: dist.MultivariateStudentT(vectors[0][0], vectors[1], square(vectors[2])),
        "dirichlet": lambda: dist.Dirichlet(vectors[0]),
        "lkj_cholesky": lambda: dist.LKJCholesky(int(vectors[0][0]), vectors[1][0]),
        "gaussian_random_walk": lambda: dist.GaussianRandomWalk(vectors[1][0], int(vectors[0][0])),
    }[name]()
    if quantity == "log_prob":
        value = jnp.array([float(v) for v in x])
        if name.startswith("categorical"):
            value = value.astype(int)[0]
        if name == "lkj_cholesky":
            value = square(value)
        return distribution.log_prob(value)
    if name == "multivariate_student_t" and quantity == "entropy":
        l = square(vectors[2])
        return scipy.stats.multivariate_t(loc=vectors[1], shape=l @ l.T, df=float(vectors[0][0])).entropy()
    try:
        if quantity == "entropy":
            return distribution.entropy()
        if name.startswith("categorical") or name == "lkj_cholesky":
            return None
        return getattr(distribution, quantity)
    except NotImplementedError:
        return None


try:
    import numpyro
    import scipy

    peers = f"; moderate rows agree with NumPyro {numpyro.__version__} and SciPy {scipy.__version__} (double precision)"
except ImportError:
    peers = ""
compared = 0


def row(name, quantity, params, x=None, moderate=True):
    global compared
    function = FAMILIES[name][quantity]
    inputs = [[mp.mpf(v) for v in p] for p in params]
    point = [mp.mpf(v) for v in x] if x is not None else None
    call = lambda inputs, point: function(inputs) if point is None else function(inputs, point)
    values = call(inputs, point)
    sensitivities = [mp.mpf(0)] * len(values)
    symmetric = name in ("multivariate_normal_covariance", "multivariate_normal_precision")
    for which, p in enumerate(inputs):
        if name in ("lkj_cholesky", "gaussian_random_walk") and which == 0:
            continue
        n = int(round(len(p) ** 0.5))
        for k in range(len(p)):
            moved = [list(q) for q in inputs]
            moved[which][k] *= 1 + H
            if symmetric and which == 1:
                i, j = divmod(k, n)
                if j > i:
                    continue
                moved[which][j * n + i] = moved[which][k]
            for v, (a, b) in enumerate(zip(values, call(moved, point))):
                sensitivities[v] += abs(a - b) / H
    if point is not None and not name.startswith("categorical"):
        for k in range(len(point)):
            moved = list(point)
            moved[k] *= 1 + H
            for v, (a, b) in enumerate(zip(values, call(inputs, moved))):
                sensitivities[v] += abs(a - b) / H
    if peers and moderate:
        import numpy as np

        got = peer(name, quantity, params, x)
        if got is not None:
            expected = np.array([float(v) for v in values])
            assert np.allclose(np.asarray(got).reshape(-1), expected, rtol=1e-8, atol=1e-10), (name, quantity, params, x, got, expected)
            compared += 1
    numbers = lambda values, digits: " ".join(mp.nstr(v, digits) for v in values)
    print(",".join([
        name, quantity, ";".join(" ".join(repr(float(v)) for v in p) for p in params),
        "" if x is None else " ".join(repr(float(v)) for v in x), numbers(values, 17), numbers(sensitivities, 3),
    ]))


def moments(name, params, moderate=True, quantities=("mean", "variance", "entropy")):
    for quantity in quantities:
        row(name, quantity, params, moderate=moderate)


def uniform(n, scale=1.0):
    return [round(random.uniform(-1, 1) * scale, 4) for _ in range(n)]


def factor(n, scale=1.0):
    """A lower triangular matrix with a positive diagonal, row after row."""
    return [0.0 if j > i else (round(random.uniform(0.3, 1.5), 4) * scale if i == j else round(random.uniform(-1, 1), 4) * scale)
            for i in range(n) for j in range(n)]


def gram(l, n):
    """The product of a factor with its transpose, rounded to doubles (symmetric)."""
    m = matrix([mp.mpf(v) for v in l])
    return [float(v) for v in flat(m * m.T)]


print(f"# mpmath {mp.__version__}, 60 digits of working precision{peers}")
print("# columns: distribution, quantity, parameters, x, values, sensitivities (see multivariate.py)")

for probs in [[1.0], [0.25, 0.75], [0.125, 0.0, 0.5, 0.375], [1e-300, 0.5, 0.5]]:
    for k, p in enumerate(probs):
        if p > 0:
            row("categorical_probs", "log_prob", [probs], [float(k)], moderate=p > 1e-10)
    moments("categorical_probs", [probs], moderate=False)
for logits in [[0.3], [0.0, 1.0, -2.5], [700.0, -700.0, 699.0], [1e-9, -1e-9]]:
    for k in range(len(logits)):
        row("categorical_logits", "log_prob", [logits], [float(k)], moderate=max(logits) < 100)
    moments("categorical_logits", [logits], moderate=False)

for n in [1, 2, 3, 5]:
    for scale in [1.0, 1e-6, 1e7]:
        l, loc = factor(n, scale), uniform(n, 3)
        x = [a + b for a, b in zip(loc, uniform(n, 2 * scale))]
        row("multivariate_normal_cholesky", "log_prob", [loc, l], x, moderate=scale == 1)
        moments("multivariate_normal_cholesky", [loc, l], moderate=scale == 1)
        sigma = gram(l, n)
        row("multivariate_normal_covariance", "log_prob", [loc, sigma], x, moderate=scale == 1)
        row("multivariate_normal_precision", "log_prob", [loc, sigma], x, moderate=scale == 1)
        moments("multivariate_normal_covariance", [loc, sigma], moderate=scale == 1)
        moments("multivariate_normal_precision", [loc, sigma], moderate=scale == 1)
for rho in [0.999, -0.9999999]:
    for x in [[0.3, 0.3], [1.0, -1.0]]:
        row("multivariate_normal_covariance", "log_prob", [[0.0, 0.0], [1.0, rho, rho, 1.0]], x, moderate=False)
        row("multivariate_normal_precision", "log_prob", [[0.0, 0.0], [1.0, rho, rho, 1.0]], x, moderate=False)
    moments("multivariate_normal_precision", [[0.0, 0.0], [1.0, rho, rho, 1.0]], moderate=False)
row("multivariate_normal_cholesky", "log_prob", [[0.0, 0.0], [1e-8, 0.0, 1.0, 1e-8]], [1e-8, 1.0], moderate=False)
row("multivariate_normal_cholesky", "log_prob", [[0.0, 0.0], [1.0, 0.0, 0.0, 1.0]], [40.0, -1e5], moderate=False)

for n, r in [(2, 1), (4, 2), (5, 1)]:
    for scale in [1.0, 1e-4, 1e4]:
        for small in [1.0, 1e-10]:
            w, loc = uniform(n * r, scale), uniform(n, 2)
            diagonal = [round(random.uniform(0.2, 2), 4) * small for _ in range(n)]
            # Near what the factor can explain, so that the quadratic form is of size 1 and not 1e10.
            z = uniform(r, 2)
            x = [loc[i] + sum(w[i * r + k] * z[k] for k in range(r)) + small ** 0.5 * uniform(1)[0] for i in range(n)]
            moderate = scale == 1 and small == 1
            row("low_rank_multivariate_normal", "log_prob", [loc, w, diagonal], x, moderate=moderate)
            moments("low_rank_multivariate_normal", [loc, w, diagonal], moderate=moderate)
            row("low_rank_multivariate_normal", "log_prob", [loc, w, diagonal], uniform(n, 3), moderate=moderate)

for nu in [0.01, 0.7, 1.0, 2.5, 30.0, 1e5, 1e12]:
    for n in [1, 3]:
        l, loc = factor(n), uniform(n, 3)
        for far in [1.0, 1e6]:
            row("multivariate_student_t", "log_prob", [[nu], loc, l], [a + b for a, b in zip(loc, uniform(n, far))], moderate=0.5 < nu < 100 and far == 1)
        if nu > 2:
            row("multivariate_student_t", "variance", [[nu], loc, l], moderate=nu < 100)
        if nu > 1:
            row("multivariate_student_t", "mean", [[nu], loc, l], moderate=nu < 100)
        row("multivariate_student_t", "entropy", [[nu], loc, l], moderate=0.5 < nu < 100)

for a in [[1.0, 1.0], [0.5, 2.0, 7.0], [3.0], [1e-8, 1e-3, 2.0], [1e8, 2e8, 5e8], [1e-5, 1.0, 1e5], [11.9, 12.1, 12.0, 0.1], [1e-300, 1e-300], [1e15, 1e15]]:
    centre = normalised([mp.mpf(v) for v in a])
    points = [[float(v) for v in centre]] if min(a) > 1e-200 else []
    for spread in [0.5, 3.0]:
        points.append([float(v) for v in normalised([mp.exp(mp.mpf(u)) for u in uniform(len(a), spread)])])
    if len(a) == 2:
        points.append([1e-200, 1.0])
    if max(a) > 1e6:
        # Some standard deviations off the mean.
        points.append([float(v) for v in normalised([c * (1 + mp.mpf(u) / mp.sqrt(max(a))) for c, u in zip(centre, uniform(len(a), 4))])])
    for x in points:
        row("dirichlet", "log_prob", [a], x, moderate=0.01 < min(a) and max(a) < 1e3 and min(x) > 1e-20)
    moments("dirichlet", [a], moderate=0.01 < min(a) and max(a) < 1e3)

for d in [1, 2, 3, 6]:
    for eta in [0.01, 0.5, 1.0, 3.0, 40.0, 1e6]:
        # A member: rows of length 1 by rounding a random factor.
        rows = matrix([mp.mpf(v) for v in factor(d)])
        x = []
        for i in range(d):
            length = mp.sqrt(mp.fsum(rows[i, j] ** 2 for j in range(d)))
            x += [float(rows[i, j] / length) for j in range(d)]
        row("lkj_cholesky", "log_prob", [[float(d)], [eta]], x, moderate=d > 1 and 0.1 < eta < 100)
        moments("lkj_cholesky", [[float(d)], [eta]], moderate=False)

for n in [1, 2, 4]:
    p, q = factor(n), factor(n)
    a, b = uniform(n, 2), uniform(n, 2)
    row("multivariate_normal_kl", "kl", [a, p, b, q])
    row("multivariate_normal_kl", "kl", [a, [v * 1e-5 for v in p], b, q], moderate=False)
    row("multivariate_normal_kl", "kl", [a, p, [v + 1e-7 for v in a], [v * (1 + 1e-7) for v in p]], moderate=False)
    row("multivariate_normal_kl", "kl", [a, p, a, p], moderate=False)

for n in [1, 2, 5]:
    for scale in [1.0, 0.3, 1e-6, 1e7]:
        steps, x = uniform(n, 2 * scale), []
        for step in steps:
            x.append((x[-1] if x else 0.0) + step)
        moderate = scale in (1.0, 0.3)
        row("gaussian_random_walk", "log_prob", [[float(n)], [scale]], x, moderate=moderate)
        row("gaussian_random_walk", "log_prob", [[float(n)], [scale]], uniform(n, 1e4), moderate=False)
        moments("gaussian_random_walk", [[float(n)], [scale]], moderate=moderate)
print(f"{compared} rows compared with peers", file=sys.stderr)
