"""Reads the tables that the example `draws` writes, with ArviZ and pandas, and prints a summary: draws.py FOLDER.

pip install "arviz<1" pandas        (ArviZ 1 has no `from_cmdstan`; there, pandas' table is the way in.)
"""
import pathlib
import sys

import arviz
import pandas

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
print(f"ArviZ {arviz.__version__}, pandas {pandas.__version__}, Python {sys.version.split()[0]}")

# Columns `w.1`, `w.2` become one array again.
draws = arviz.from_cmdstan(str(folder / "draws.csv"))
print(draws.posterior.sizes)
print(arviz.summary(draws, hdi_prob=0.9, kind="stats"))

# pandas reads the columns as they stand; both see the same numbers.
table = pandas.read_csv(folder / "draws.csv")
print(table.describe().loc[["mean", "std"]])
assert (table["w.2"].to_numpy() == draws.posterior["w"].values[0, :, 1]).all()
assert (table["intercept"].to_numpy() == draws.posterior["intercept"].values[0]).all()

# Predictive draws are an array like any other: draws by people.
both = arviz.from_cmdstan(str(folder / "draws.csv"), posterior_predictive=str(folder / "predictions.csv"))
print("predicted probability of y for each of the new people:", both.posterior_predictive["y"].mean(("chain", "draw")).values)
