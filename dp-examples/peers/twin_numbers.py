"""How near the numbers of a twin are to those of the rows that it was made of, on generated tables.

    python twin_numbers.py TWIN-PROGRAM columns|pairs [--rows 4000] [--runs 8] [--epsilon 1] [--seed 1]

`columns`: single columns, beside one of two categories, with bounds much wider than their values: the twin's mean and
deviation over those of the rows, and the mean error of 19 quantiles in deviations. `pairs`: columns that depend on each
other: correlations, and coefficients of regressions, of rows and twins. Needs numpy and pandas.
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np
import pandas as pd

COLUMNS = {
    # Name: law, bounds, whether they are whole numbers.
    "lognormal, median 27,000": (lambda r, n: 27_000 * np.exp(0.9 * r.normal(size=n)), (0, 500_000), True),
    "exponential, mean 2.6": (lambda r, n: r.exponential(2.6, n), (0, 60), False),
    "gamma, mean 20": (lambda r, n: r.gamma(2, 10, n), (0, 400), False),
    "normal, 50 ± 8": (lambda r, n: r.normal(50, 8, n), (0, 100), False),
    "exponential with a heap of 40 %": (
        lambda r, n: np.where(r.uniform(size=n) < 0.4, 1_000, r.exponential(800, n)),
        (0, 20_000),
        True,
    ),
    "ages, 17 to 57": (lambda r, n: 17 + 40 * r.beta(1.5, 3, n), (0, 120), True),
    "counts of a Poisson law, mean 3": (lambda r, n: r.poisson(3, n), (0, 100), True),
    "scores, 100 ± 15": (lambda r, n: r.normal(100, 15, n), (0, 200), True),
    "uniform, 18 to 65": (lambda r, n: r.integers(18, 66, n), (0, 120), True),
}


def normal(r, n):
    x = r.normal(size=n)
    return pd.DataFrame({"x": x, "y": 0.95 * x + np.sqrt(1 - 0.95**2) * r.normal(size=n)}), (-10, 10)


def skewed(r, n):
    x = np.exp(1 + 0.7 * r.normal(size=n))
    return pd.DataFrame({"x": x, "y": 2 * x + 1.5 * r.normal(size=n)}), (-10, 100)


def bent(r, n):
    x = r.normal(size=n)
    return pd.DataFrame({"x": x, "y": x**2 + 0.3 * r.normal(size=n)}), (-5, 20)


def factor(r, n):
    loads = np.array([0.95, 0.9, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5])
    values = r.normal(size=(n, 1)) * loads + r.normal(size=(n, 8)) * np.sqrt(1 - loads**2)
    return pd.DataFrame(values, columns=[f"c{k}" for k in range(8)]), (-8, 8)


def outcome(r, n):
    x = r.normal(size=n)
    z = 0.8 * x + 0.6 * r.normal(size=n)
    yes = r.uniform(size=n) < 1 / (1 + np.exp(-(1.5 * x - 0.8 * z)))
    return pd.DataFrame({"x": x, "z": z, "o": np.where(yes, "yes", "no")}), (-5, 5)


def slopes(table):
    """Coefficients of a logistic regression of `o`, by Newton's method, or of a linear one of `y`."""
    if "o" in table:
        x, y, w = np.column_stack([np.ones(len(table)), table["x"], table["z"]]), table["o"] == "yes", np.zeros(3)
        for _ in range(30):
            p = 1 / (1 + np.exp(-(x @ w)))
            w = w + np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (y - p))
        return w[1:]
    if "y" in table:
        return np.polyfit(table["x"], table["y"], 1)[:1]
    return np.array([])


def twin(program, table, bounds, epsilon, number):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        table.to_csv(folder / "t.csv", index=False)
        lines = []
        for column in table:
            if table[column].dtype == object or str(table[column].dtype).startswith("str"):
                lines.append(f"{column} = [" + ", ".join(f'"{name}"' for name in sorted(table[column].unique())) + "]")
            else:
                whole = np.issubdtype(table[column].dtype, np.integer)
                ends = [str(int(end)) if whole else f"{float(end)}" for end in bounds]
                lines.append(f"{column} = [{', '.join(ends)}]")
        (folder / "s.toml").write_text("\n".join(lines))
        command = [program, "fit", folder / "t.csv", "--schema", folder / "s.toml", "--epsilon", str(epsilon)]
        command += ["--out", folder / "out", "--test-seed-not-private", str(number)]
        subprocess.run(command, check=True, capture_output=True)
        return pd.read_csv(folder / "out" / "twin.csv")


def columns(options):
    for name, (law, bounds, whole) in COLUMNS.items():
        found = []
        for run in range(options.runs):
            r = np.random.default_rng([options.seed, run])
            x = np.clip(law(r, options.rows), *bounds)
            x = np.round(x).astype(int) if whole else x
            group = np.where(r.uniform(size=options.rows) < 0.3, "a", "b")
            made = twin(options.program, pd.DataFrame({"x": x, "g": group}), bounds, options.epsilon, run)["x"]
            at = np.linspace(0.05, 0.95, 19)
            error = np.abs(np.quantile(made, at) - np.quantile(x, at)).mean() / x.std()
            found.append((made.mean() / x.mean(), made.std() / x.std(), error))
        mean, deviation, error = np.mean(found, axis=0)
        print(f"{name}, {bounds[0]} to {bounds[1]}: mean {mean:.3f}, deviation {deviation:.2f}, quantiles {error:.4f}")


def pairs(options):
    for law in (normal, skewed, bent, factor, outcome):
        found = []
        for run in range(options.runs):
            table, bounds = law(np.random.default_rng([options.seed, run]), options.rows)
            made = twin(options.program, table, bounds, options.epsilon, run)
            numbers = [column for column in table if column != "o"]
            above = np.triu_indices(len(numbers), 1)
            real, ours = (t[numbers].corr().to_numpy()[above] for t in (table, made))
            if law is bent:
                real, ours = (np.array([np.corrcoef(t["x"] ** 2, t["y"])[0, 1]]) for t in (table, made))
            found.append(np.concatenate([[real.mean(), ours.mean()], slopes(table), slopes(made)]))
        real, ours, *coefficients = np.mean(found, axis=0)
        half = len(coefficients) // 2
        text = lambda values: ", ".join(f"{value:.3f}" for value in values) or "-"
        print(
            f"{law.__name__}: correlation {real:.3f}, of the twin {ours:.3f}; coefficients "
            f"{text(coefficients[:half])}, of the twin {text(coefficients[half:])}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("what", choices=["columns", "pairs"])
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    {"columns": columns, "pairs": pairs}[options.what](options)
