"""Writes convergence.csv: split R-hat, effective sample sizes and standard errors with ArviZ.

Run: python3 -P convergence.py > convergence.csv      (numpy 2.4.6, arviz 0.23.4; double precision)

Lines that begin with `draws` hold a chain of a set: `draws,<set>,<chain>,<numbers>`. The others: set, function, value.
"""
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import arviz  # noqa: E402

generator = np.random.Generator(np.random.PCG64(21))


def autoregressive(chains, draws, phi, shift=0.0, spread=0.0):
    """x_t = phi x_{t-1} + e_t; means and scales of chains apart by `shift` and `spread`."""
    noise = generator.standard_normal((chains, draws))
    x = np.zeros_like(noise)
    x[:, 0] = noise[:, 0] / np.sqrt(1 - phi**2)
    for t in range(1, draws):
        x[:, t] = phi * x[:, t - 1] + noise[:, t]
    number = np.arange(chains)[:, None]
    return x * (1 + spread * number) + shift * number


sets = {
    "independent": autoregressive(4, 100, 0.0),
    "sticky": autoregressive(4, 150, 0.9),
    "antithetic": autoregressive(2, 100, -0.6),
    "apart": autoregressive(3, 80, 0.3, shift=2.0),
    "spread": autoregressive(3, 80, 0.3, spread=3.0),
    "odd": autoregressive(2, 51, 0.5),
    "short": autoregressive(2, 8, 0.2),
    "ties": np.round(autoregressive(4, 60, 0.5)),
    "drift": autoregressive(2, 40, 0.1) + np.linspace(0.0, 5.0, 40),
    "heavy": generator.standard_cauchy((4, 100)),
}
functions = {
    "r_hat": lambda x: arviz.rhat(x, method="rank"),
    "ess_bulk": lambda x: arviz.ess(x, method="bulk"),
    "ess_tail": lambda x: arviz.ess(x, method="tail"),
    "standard_error": lambda x: arviz.mcse(x, method="mean"),
}
print(f"# numpy {np.__version__}, arviz {arviz.__version__}")
for name, x in sets.items():
    for chain, numbers in enumerate(x):
        print(f"draws,{name},{chain}," + ",".join(repr(float(value)) for value in numbers))
    for function, compute in functions.items():
        print(f"{name},{function},{float(compute(x))!r}")
