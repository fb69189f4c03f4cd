"""Writes summary.csv: moments, quantiles and highest-density intervals of draws with NumPy and ArviZ.

Run: python3 -P summary.py > summary.csv      (numpy 2.4.6, arviz 0.23.4; double precision)

Each line: the name of a set, a function, its argument, its value (an interval has two). Lines that begin with `draws` hold a set.
"""
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import arviz  # noqa: E402

generator = np.random.Generator(np.random.PCG64(20))
sets = {
    "normal": generator.standard_normal(101),
    "gamma": generator.gamma(0.7, 3.0, 64),
    "shifted": 1e8 + generator.standard_normal(40),
    "ties": np.repeat([3.0, 1.0, 2.0, 2.0], 5),
    "two": np.array([2.5, -1.5]),
}
print(f"# numpy {np.__version__}, arviz {arviz.__version__}")
for name, draws in sets.items():
    print(f"draws,{name}," + ",".join(repr(float(x)) for x in draws))
for name, draws in sets.items():
    print(f"{name},mean,0,{float(np.mean(draws))!r}")
    print(f"{name},sd,0,{float(np.std(draws, ddof=1))!r}")
    for p in [0.0, 0.025, 0.05, 0.25, 0.5, 0.9, 0.975, 1.0]:
        print(f"{name},quantile,{p!r},{float(np.quantile(draws, p))!r}")
    if len(draws) > 2:
        for share in [0.5, 0.8, 0.9, 0.95]:
            low, high = arviz.hdi(draws, hdi_prob=share)
            print(f"{name},interval,{share!r},{float(low)!r},{float(high)!r}")
