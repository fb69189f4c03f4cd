"""Posterior moments of the eight schools (Rubin 1981), integrated over tau; what tests/effects/nuts.rs quotes.

Run: python3 -P eight_schools.py      (mpmath 1.4.1, 20 digits)

y_j ~ Normal(theta_j, s_j), theta_j ~ Normal(mu, tau), mu ~ Normal(0, 5), tau ~ HalfCauchy(5). Given tau the rest is normal.
"""
import mpmath as mp

mp.mp.dps = 20
Y = [28, 8, -3, 7, -1, 1, 18, 12]
S = [15, 10, 16, 11, 9, 11, 10, 18]


def given(tau):
    """Density of tau up to a constant, mean and variance of mu."""
    v = [mp.mpf(s) ** 2 + tau**2 for s in S]
    precision = sum(1 / x for x in v) + mp.mpf(1) / 25
    mean = sum(y / x for y, x in zip(Y, v)) / precision
    log = -sum(mp.log(x) for x in v) / 2 - mp.log(precision) / 2
    log += mean**2 * precision / 2 - sum(y * y / x for y, x in zip(Y, v)) / 2
    return mp.exp(log) / (1 + (tau / 5) ** 2), mean, 1 / precision


def first_school(tau):
    share = tau**2 / (tau**2 + S[0] ** 2)
    return share * Y[0] + (1 - share) * given(tau)[1]


def expectation(f):
    places = [0, 1, 2, 5, 10, 20, 50, 100, 1000, mp.inf]
    return mp.quad(lambda t: given(t)[0] * f(t), places) / mp.quad(lambda t: given(t)[0], places)


mu, tau = expectation(lambda t: given(t)[1]), expectation(lambda t: t)
square = expectation(lambda t: given(t)[1] ** 2 + given(t)[2])
print("mu", mu, mp.sqrt(square - mu**2))
print("tau", tau, mp.sqrt(expectation(lambda t: t * t) - tau**2))
print("theta[0]", expectation(first_school))
