"""Writes matrices.csv: log densities of laws of matrices and of vectors made of them at 40 digits, with mpmath.

Run: python3 matrices.py > matrices.csv

Determinants, inverses and traces are those of the densities' definitions, without Cholesky factors.
"""
import sys

import mpmath as mp

mp.mp.dps = 40
print(f"# mpmath {mp.__version__}, Python {sys.version.split()[0]}, 40 digits of working precision")
print("# columns: law, parameters, outcome (row by row, separated by blanks), log density")


def numbers(*values):
    flat = []
    for value in values:
        flat += [float(x) for x in value] if isinstance(value, (list, mp.matrix)) else [float(value)]
    return " ".join(repr(x) for x in flat)


def line(law, parameters, outcome, value):
    print(f"{law},{parameters},{numbers(outcome)},{mp.nstr(value, 17)}")


def log_gamma_of(d, x):
    return d * (d - 1) / mp.mpf(4) * mp.log(mp.pi) + sum(mp.loggamma(x - mp.mpf(i) / 2) for i in range(d))


def trace(m):
    return sum(m[i, i] for i in range(m.rows))


def wishart(df, scale, x):
    d = x.rows
    return ((df - d - 1) / 2 * mp.log(mp.det(x)) - trace(scale ** -1 * x) / 2 - df * d / 2 * mp.log(2)
            - df / 2 * mp.log(mp.det(scale)) - log_gamma_of(d, df / 2))


def inverse_wishart(df, scale, x):
    d = x.rows
    return (df / 2 * mp.log(mp.det(scale)) - (df + d + 1) / 2 * mp.log(mp.det(x)) - trace(scale * x ** -1) / 2
            - df * d / 2 * mp.log(2) - log_gamma_of(d, df / 2))


def matrix_normal(loc, rows, columns, x):
    n, m = x.rows, x.cols
    u, v, e = rows * rows.T, columns * columns.T, x - loc
    return (-trace(v ** -1 * e.T * u ** -1 * e) / 2 - mp.mpf(n * m) / 2 * mp.log(2 * mp.pi)
            - mp.mpf(m) / 2 * mp.log(mp.det(u)) - mp.mpf(n) / 2 * mp.log(mp.det(v)))


def car(loc, correlation, precision, w, x):
    n = w.rows
    d = mp.diag([sum(w[i, j] for j in range(n)) for i in range(n)])
    q = precision * (d - correlation * w)
    e = mp.matrix([a - loc for a in x])
    return mp.log(mp.det(q)) / 2 - (e.T * q * e)[0] / 2 - mp.mpf(n) / 2 * mp.log(2 * mp.pi)


def phi(z):
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


scale = mp.matrix([[2, 0.5, -0.25], [0.5, 1, 0.125], [-0.25, 0.125, 3]])
x = mp.matrix([[5, 1, 0.5], [1, 4, -0.75], [0.5, -0.75, 9]])
for df in [2.5, 4.0, 37.0]:
    line("wishart", numbers(df, scale), x, wishart(mp.mpf(df), scale, x))
    line("inverse_wishart", numbers(df, scale), x, inverse_wishart(mp.mpf(df), scale, x))
rows = mp.matrix([[1.5, 0, 0], [0.25, 2, 0], [-1, 0.5, 0.75]])
columns = mp.matrix([[0.5, 0], [2, 1.25]])
line("matrix_normal", numbers(rows, columns), [1.0, -2.0, 0.5, 3.0, 0.25, -1.5], matrix_normal(mp.matrix(3, 2), rows, columns, mp.matrix([[1, -2], [0.5, 3], [0.25, -1.5]])))
w = mp.matrix([[0, 1, 0.5, 0], [1, 0, 1, 0], [0.5, 1, 0, 2], [0, 0, 2, 0]])
for correlation in [0.0, 0.75, 0.999, -0.5]:
    at = [1.0, -0.5, 0.25, 2.0]
    line("car", numbers(0.25, correlation, 1.5, w), at, car(mp.mpf(0.25), mp.mpf(correlation), mp.mpf(1.5), w, [mp.mpf(a) for a in at]))
# A copula of gamma variables of rate 1: the normal quantile by a root of the distribution function.
for at in [[0.5, 3.0], [1e-6, 30.0], [4.0, 0.1]]:
    shapes, r = [mp.mpf(2), mp.mpf(5)], mp.mpf("0.6")
    below = [mp.gammainc(a, 0, mp.mpf(v), regularized=True) for a, v in zip(shapes, at)]
    z = [-mp.sqrt(2) * mp.erfinv(1 - 2 * p) for p in below]
    normal = -(z[0] ** 2 - 2 * r * z[0] * z[1] + z[1] ** 2) / (2 * (1 - r * r)) - mp.log(2 * mp.pi * mp.sqrt(1 - r * r))
    density = sum((a - 1) * mp.log(mp.mpf(v)) - mp.mpf(v) - mp.loggamma(a) for a, v in zip(shapes, at))
    line("gaussian_copula", numbers(shapes, r), at, normal - sum(mp.log(phi(a)) for a in z) + density)
for predictor in [0.25, -7.0, 30.0]:
    cuts = [-1.25, 0.5, 2.0]
    ends = [-mp.inf] + [mp.mpf(c) - mp.mpf(predictor) for c in cuts] + [mp.inf]
    for k in range(4):
        upper = lambda t: mp.erfc(t / mp.sqrt(2)) / 2
        a, b = ends[k], ends[k + 1]
        p = upper(-b) - upper(-a) if b <= 0 else upper(a) - upper(b)
        line("ordered_probit", numbers(predictor, cuts), [k], mp.log(p))
