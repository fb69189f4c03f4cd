"""Writes bijections.csv: the bijections onto sets of vectors and matrices, with mpmath at 150 digits, and the logarithms of their Jacobians.

Run: python3 bijections.py > bijections.csv

Each row is computed from the definition, element by element. Where NumPyro and JAX are installed, each row is also compared with NumPyro's own
bijection in double precision (only there: the definitions are the same, so the unconstrained densities are). Its bijection onto
positive ordered vectors is another one, the exponential of that onto ordered ones; the one here is Stan's.
"""
import random
import sys

import mpmath as mp

mp.mp.dps = 150  # differences from 1 as small as e^-300 are taken
random.seed(7)


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def simplex(u):
    n, left, x, log_jacobian = len(u) + 1, mp.mpf(1), [], mp.mpf(0)
    for k in range(n - 1):
        z = sigmoid(u[k] - mp.log(n - 1 - k))
        x.append(left * z)
        log_jacobian += mp.log(left * z * (1 - z))
        left *= 1 - z
    return x + [left], log_jacobian


def ordered(u):
    x = [u[0]]
    for step in u[1:]:
        x.append(x[-1] + mp.exp(step))
    return x, mp.fsum(u[1:])


def positive_ordered(u):
    x = [mp.exp(u[0])]
    for step in u[1:]:
        x.append(x[-1] + mp.exp(step))
    return x, mp.fsum(u)


def lower_cholesky_matrix(u):
    n = int(round((mp.sqrt(8 * len(u) + 1) - 1) / 2))
    l, k = mp.zeros(n), 0
    for i in range(n):
        for j in range(i):
            l[i, j] = u[k]
            k += 1
    for i in range(n):
        l[i, i] = mp.exp(u[k + i])
    return l, u[k:]


def elements(matrix):
    return [matrix[i, j] for i in range(matrix.rows) for j in range(matrix.cols)]


def lower_cholesky(u):
    l, diagonal = lower_cholesky_matrix(u)
    return elements(l), mp.fsum(diagonal)


def positive_definite(u):
    l, diagonal = lower_cholesky_matrix(u)
    n = l.rows
    return elements(l * l.T), n * mp.log(2) + mp.fsum((n - i + 1) * d for i, d in enumerate(diagonal))


def correlation_cholesky(u):
    n = int(round((mp.sqrt(8 * len(u) + 1) + 1) / 2))
    l, k, log_jacobian = mp.zeros(n), 0, mp.mpf(0)
    for i in range(n):
        left = mp.mpf(1)
        for j in range(i):
            t = mp.tanh(u[k])
            l[i, j] = t * mp.sqrt(left)
            log_jacobian += mp.log((1 - t * t) * mp.sqrt(left))
            left *= 1 - t * t
            k += 1
        l[i, i] = mp.sqrt(left)
    return elements(l), log_jacobian


def zero_sum(u):
    n, s = len(u) + 1, mp.fsum(u)
    return [x - s / (n + mp.sqrt(n)) for x in u] + [-s / mp.sqrt(n)], mp.mpf(0)


def correlation(u):
    factor, log_jacobian = correlation_cholesky(u)
    n = int(mp.sqrt(len(factor)))
    l = mp.matrix(n, n)
    for place, x in enumerate(factor):
        l[place // n, place % n] = x
    # of the product with respect to the elements below the diagonal of the factor
    return elements(l * l.T), log_jacobian + mp.fsum((n - 1 - i) * mp.log(l[i, i]) for i in range(1, n))


SETS = {
    "simplex": (simplex, [0, 1, 2, 4, 9]),
    "ordered": (ordered, [1, 2, 5]),
    "lower_cholesky": (lower_cholesky, [1, 3, 6, 10]),
    "correlation_cholesky": (correlation_cholesky, [0, 1, 3, 6, 10]),
    "positive_definite": (positive_definite, [1, 3, 6, 10]),
    "zero_sum": (zero_sum, [1, 2, 5, 9]),
    "correlation": (correlation, [0, 1, 3, 6, 10]),
    "positive_ordered": (positive_ordered, [1, 2, 5]),
}


def compare(name, u, x, log_jacobian):
    import jax
    import numpy as np
    from numpyro.distributions import biject_to, constraints

    jax.config.update("jax_enable_x64", True)
    known = {"ordered": "ordered_vector", "correlation_cholesky": "corr_cholesky", "correlation": "corr_matrix"}.get(name, name)
    bijection = biject_to(constraints.zero_sum(1) if name == "zero_sum" else getattr(constraints, known))
    argument = jax.numpy.array([float(v) for v in u])
    value = bijection(argument)
    got = np.asarray(value).reshape(-1)
    expected = np.array([float(v) for v in x])
    assert np.allclose(got, expected, rtol=1e-9, atol=1e-12), (name, u, got, expected)
    if len(u) > 0:
        jacobian = float(bijection.log_abs_det_jacobian(argument, value))
        assert abs(jacobian - float(log_jacobian)) < 1e-9 * (1 + abs(float(log_jacobian))), (name, u, jacobian, log_jacobian)


try:
    import numpyro

    peer = numpyro.__version__
except ImportError:
    peer = None
print(f"numbers compared with NumPyro {peer}" if peer else "NumPyro is not installed: nothing compared", file=sys.stderr)
print(f"# mpmath {mp.__version__}, 150 digits of working precision" + (f"; agrees with NumPyro {peer} (double precision)" if peer else ""))
print("# columns: set, unconstrained numbers, elements of the value (row after row), log of the Jacobian")
for name, (function, lengths) in SETS.items():
    for length in lengths:
        for scale in [0.0, 0.5, 2.0] if length else [0.0]:
            u = [round(random.uniform(-1, 1) * scale, 6) for _ in range(length)]
            x, log_jacobian = function([mp.mpf(v) for v in u])
            if peer and length and name != "positive_ordered":
                compare(name, u, x, log_jacobian)
            numbers = lambda values: " ".join(mp.nstr(v, 17) for v in values)
            print(f"{name},{' '.join(map(repr, u))},{numbers(x)},{mp.nstr(log_jacobian, 17)}")
# Far out, where formulas that are not written in logarithms have lost all digits.
for name, u in [
    ("simplex", [40.0, -30.0, 50.0]),
    ("simplex", [-300.0, 200.0]),
    ("correlation_cholesky", [30.0, -25.0, 18.0]),
    ("correlation_cholesky", [1e-9, -1e-12, 3e-10]),
    ("lower_cholesky", [1e10, -50.0, 60.0]),
]:
    x, log_jacobian = SETS[name][0]([mp.mpf(v) for v in u])
    print(f"{name},{' '.join(map(repr, u))},{' '.join(mp.nstr(v, 17) for v in x)},{mp.nstr(log_jacobian, 17)}")
