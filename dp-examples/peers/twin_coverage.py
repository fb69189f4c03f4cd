"""How often 90 % intervals of logistic coefficients that are combined from several twins hold the truth.

    python twin_coverage.py TWIN-PROGRAM [--runs 50] [--twins 20] [--epsilon 1] [--rows 20000] [--adult adult.csv.gz]
        [--twin-rows NUMBER]

Generated tables, whose coefficients are known, two of categories and two of numbers; and, where a file is named, six
columns of the Adult data, whose rows are taken for the population and drawn with replacement. The truth there is the fit
to all of them. Intervals are those of
`dp_examples::twin::combine`. With --twin-rows, twins have so many rows instead of the program's default. Needs numpy, scipy
and pandas.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import pandas as pd
from scipy.stats import t as student


class Number:
    """A column of numbers: its bounds, and what is taken off in a regression."""

    def __init__(self, low, high, centre):
        self.bounds, self.centre = [low, high], centre


def schema(values):
    return str(values.bounds if isinstance(values, Number) else values)


def fit(table, columns, ridge=1e-3):
    """Newton's method on combinations that are counted once; coefficients and their squared standard errors."""
    cells = table.groupby([*columns, "y"]).size().reset_index(name="count")
    return newton(design(cells, columns), cells["y"] == "yes", cells["count"].to_numpy(float), ridge)


def estimate(table, columns, ridge=1e-3):
    """The same for a table of numbers, whose combinations do not repeat each other."""
    if any(isinstance(values, Number) for values in columns.values()):
        # Where the noise looked like missing values, a twin has some.
        table = table.dropna()
        return newton(design(table, columns), table["y"] == "yes", np.ones(len(table)), ridge)
    return fit(table, columns, ridge)


def newton(x, y, n, ridge):
    y = y.to_numpy(float)
    w = np.zeros(x.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(-(x @ w)))
        hessian = (x * (n * p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(w))
        step = np.linalg.solve(hessian, x.T @ (n * (y - p)) - ridge * w)
        w += step
        if np.abs(step).max() < 1e-8:
            break
    return w, np.diag(np.linalg.inv(hessian))


def design(table, columns):
    """An intercept, an indicator for each category of each column but the first, and numbers from their centre on."""
    parts = [np.ones(len(table))]
    for name, values in columns.items():
        if isinstance(values, Number):
            parts += [table[name].to_numpy(float) - values.centre]
        else:
            parts += [(table[name] == value).to_numpy(float) for value in values[1:]]
    return np.stack(parts, axis=1)


def combine(estimates, variances, rows_per_record):
    """As `dp_examples::twin::combine`, the rule of Raghunathan, Reiter and Rubin (2003)."""
    m = len(estimates)
    mean, within = estimates.mean(0), variances.mean(0)
    spread = (1 + 1 / m) * estimates.var(0, ddof=1)
    good = spread > within
    variance = np.where(good, spread - within, (1 + 1 / m) * rows_per_record * within + within / m)
    degrees = np.where(good, (m - 1) * (1 - within / np.where(good, spread, 1)) ** 2, m - 1)
    return mean, np.sqrt(variance), degrees


def generated(rows, rng):
    columns = {"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1"], "d": ["0", "1", "2", "3"]}
    truth = np.array([-0.5, 1.0, 0.5, -0.7, -1.0, 0.4, -0.4, 0.8])

    def draw():
        a = rng.integers(0, 2, rows)
        table = {"a": a, "b": (rng.random(rows) < 0.4 + 0.3 * a).astype(int) + (rng.random(rows) < 0.3)}
        table["c"] = (rng.random(rows) < 0.3 + 0.2 * table["b"]).astype(int)
        table["d"] = rng.integers(0, 4, rows)
        table = pd.DataFrame(table).astype(str)
        p = 1 / (1 + np.exp(-(design(table, columns) @ truth)))
        table["y"] = np.where(rng.random(rows) < p, "yes", "no")
        return table

    return "generated", columns, ["no", "yes"], truth, draw


def chain(rows, rng):
    """Columns that follow from one another, with rare categories, and an outcome that is rare itself."""
    columns = {"a": ["0", "1", "2"], "b": ["0", "1", "2"], "c": ["0", "1"], "d": ["0", "1"], "e": ["0", "1", "2"]}
    truth = np.array([-1.6, 0.6, -0.5, 0.3, 0.9, -0.8, 0.5, -0.3, 0.7])

    def draw():
        a = rng.choice(3, rows, p=[0.6, 0.3, 0.1])
        b = np.where(rng.random(rows) < 0.5, a, rng.choice(3, rows, p=[0.5, 0.3, 0.2]))
        c = (rng.random(rows) < 0.2 + 0.25 * b).astype(int)
        d = (rng.random(rows) < 0.7 - 0.4 * c).astype(int)
        e = np.where(rng.random(rows) < 0.4, 2 * d, rng.integers(0, 3, rows))
        table = pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e}).astype(str)
        p = 1 / (1 + np.exp(-(design(table, columns) @ truth)))
        table["y"] = np.where(rng.random(rows) < p, "yes", "no")
        return table

    return "chain", columns, ["no", "yes"], truth, draw


def normal(rows, rng):
    """Two normal columns that depend on each other, and bounds five deviations away."""
    columns = {"x": Number(-5.0, 5.0, 0.0), "z": Number(-5.0, 5.0, 0.0)}
    truth = np.array([0.0, 1.5, -0.8])

    def draw():
        x = rng.normal(size=rows)
        table = pd.DataFrame({"x": x, "z": 0.8 * x + 0.6 * rng.normal(size=rows)}).clip(-4.99, 4.99)
        p = 1 / (1 + np.exp(-(design(table, columns) @ truth)))
        return table.assign(y=np.where(rng.random(rows) < p, "yes", "no"))

    return "normal", columns, ["no", "yes"], truth, draw


def people(rows, rng):
    """Whole numbers, one of them with a heap, and a category."""
    columns = {"age": Number(0, 100, 37), "education": Number(1, 16, 10), "hours": Number(0, 99, 40), "sex": ["f", "m"]}
    truth = np.array([-1.0, 0.04, 0.35, 0.03, 0.8])

    def draw():
        age = np.round(17 + 60 * rng.beta(1.5, 3, rows)).astype(int)
        education = np.clip(np.round(10 + 2 * rng.normal(size=rows) + (age - 35) / 30), 1, 16).astype(int)
        around = np.clip(np.round(40 + 12 * rng.normal(size=rows)), 1, 99).astype(int)
        hours = np.where(rng.random(rows) < 0.45, 40, around)
        sex = np.where(rng.random(rows) < 0.6, "m", "f")
        table = pd.DataFrame({"age": age, "education": education, "hours": hours, "sex": sex})
        p = 1 / (1 + np.exp(-(design(table, columns) @ truth)))
        return table.assign(y=np.where(rng.random(rows) < p, "yes", "no"))

    return "people", columns, ["no", "yes"], truth, draw


def adult(path, rows, rng):
    whole = pd.read_csv(path, keep_default_na=False)
    table = pd.DataFrame({
        "age": pd.cut(whole["age"], [0, 30, 45, 60, 200], labels=["a", "b", "c", "d"]).astype(str),
        "education": pd.cut(whole["education_num"], [0, 8, 9, 12, 99], labels=["a", "b", "c", "d"]).astype(str),
        "married": np.where(whole["marital_status"].str.startswith("Married-civ"), "yes", "no"),
        "sex": whole["sex"],
        "hours": pd.cut(whole["hours_per_week"], [0, 39, 40, 200], labels=["a", "b", "c"]).astype(str),
        "y": np.where(whole["income"] == ">50K", "yes", "no"),
    })
    columns = {name: sorted(table[name].unique()) for name in table if name != "y"}
    truth, _ = fit(table, columns)
    return "adult", columns, ["no", "yes"], truth, lambda: table.iloc[rng.integers(0, len(table), rows)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--twins", type=int, default=20)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--adult")
    parser.add_argument("--only", help="generated, chain, normal, people or adult")
    parser.add_argument("--twin-rows")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    problems = [problem(options.rows, rng) for problem in (generated, chain, normal, people)]
    if options.adult:
        problems.append(adult(options.adult, options.rows, rng))
    for name, columns, labels, truth, draw in problems:
        if options.only not in (None, name):
            continue
        covered, naive, widths, errors = [], [], [], []
        for run in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                draw().to_csv(folder / "t.csv", index=False)
                lines = [f"{column} = {schema(values)}" for column, values in (columns | {"y": labels}).items()]
                (folder / "s.toml").write_text("\n".join(lines))
                command = [options.program, "fit", "t.csv", "--schema", "s.toml", "--epsilon", options.epsilon,
                           "--target", "y", "--together", ",".join(columns), "--out", "out", "--twins", str(options.twins)]
                command += ["--rows", options.twin_rows] if options.twin_rows else []
                subprocess.run(command, cwd=folder, check=True, capture_output=True)
                estimates, variances = [], []
                for file in sorted((folder / "out").glob("twin-*.csv")):
                    words = {column: str for column in columns if not isinstance(columns[column], Number)}
                    w, u = estimate(pd.read_csv(file, dtype=words), columns)
                    estimates.append(w)
                    variances.append(u)
                per_record = json.loads((folder / "out" / "privacy.json").read_text())["rows_per_record"]
            estimates, variances = np.array(estimates), np.array(variances)
            mean, error, degrees = combine(estimates, variances, per_record)
            covered.append(np.abs(mean - truth) <= student.ppf(0.95, degrees) * error)
            widths.append(error / np.sqrt(per_record * variances.mean(0)))
            errors.append((mean - truth) / error)
            naive.append(np.abs(estimates[0] - truth) <= 1.645 * np.sqrt(per_record * variances[0]))
        share = np.mean(covered)
        se = np.std(np.mean(covered, axis=1), ddof=1) / np.sqrt(options.runs)
        print(f"{name}: coverage {share:.3f} (standard error {se:.3f}); of one twin as if it were the records "
              f"{np.mean(naive):.3f}; standard errors {np.mean(widths):.2f} times those of the records; {options.runs} runs")
        print("  for each coefficient: coverage " + " ".join(f"{x:.2f}" for x in np.mean(covered, axis=0))
              + "; mean error in standard errors " + " ".join(f"{x:.2f}" for x in np.mean(errors, axis=0)), flush=True)


if __name__ == "__main__":
    main()
