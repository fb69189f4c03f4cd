"""How good private logistic regressions are on real tables: fit against the non-private posterior, full-batch noisy gradient descent and AdaSSP.

    cargo build --release -p dp-examples --bin fit
    DP_DATA=... python dp-examples/peers/tables.py --tables pima,stroke --epsilons 0.1,1 --runs 20

For each table and epsilon, at delta 1e-5 under add/remove:
  coverage   share of 90 % intervals of fit that hold draws of the non-private posterior (a normal around its mode); mean over weights, and the worst
  error, z   distance of fit's means from the mode in non-private standard deviations; root mean square of (mean - draw) over the stated deviation
  length     median over weights of the intervals' length over the non-private one
  AUC, loss  on a fifth of the records, held back anew in each run, with fit's seed: fit's point; gradient descent; AdaSSP (AUC alone: it predicts labels);
             the log loss of a constant is that of the share of positives among all records

With --known-curvature it prints what nobody can have instead: the posterior given a release of the gradient alone, from all of the budget but
15 %, with the curvature S known exactly, for priors N(0, s^2) with s of 4, 10 and 20. The non-private posterior beside it has the same prior.

Bounds are round numbers that contain the columns' public ranges; none was chosen for a figure. Needs numpy, scipy and pandas.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
from scipy.optimize import brentq, minimize
from scipy.stats import norm, rankdata

DELTA = 1e-5
PRIOR_PRECISION = 1 / 100  # weights ~ N(0, 10^2)

PIMA = {"pregnancies": [0, 15], "glucose": [0, 200], "blood_pressure": [0, 120], "skin_thickness": [0, 100], "insulin": [0, 800], "bmi": [0, 60],
        "pedigree": [0, 2.5], "age": [20, 85]}
ABALONE = {"sex": ["F", "I", "M"], "length": [0, 1], "diameter": [0, 0.8], "height": [0, 0.4], "whole_weight": [0, 3], "shucked_weight": [0, 1.5],
           "viscera_weight": [0, 0.8], "shell_weight": [0, 1.1]}
STROKE = {"age": [0, 100], "avg_glucose_level": [50, 300], "bmi": [10, 100], "hypertension": [0, 1], "heart_disease": [0, 1]}
ADULT = {"age": [17, 90], "fnlwgt": [0, 1500000], "education_num": [1, 16], "capital_gain": [0, 100000], "capital_loss": [0, 5000], "hours_per_week": [1, 99]}


def one_or_five(largest):
    """The next 1 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(largest))
    return next(step * power for step in (1, 5, 10) if step * power >= largest)


def load(table, folder):
    """Columns, bounds by column (a range or a list of categories) and labels."""
    read = lambda name: pd.read_csv(os.path.join(folder, "data", name))
    if table == "pima":
        frame = read("pima_diabetes.csv")
        return frame[list(PIMA)], PIMA, frame["outcome"]
    if table == "abalone":
        frame = read("abalone.csv")
        return frame[list(ABALONE)], ABALONE, frame["rings"] > 9
    if table == "wdbc":
        frame = read("breast_cancer_wdbc.csv")
        numbers = list(frame.columns)[:-1]
        return frame[numbers], {c: [0, float(one_or_five(frame[c].max()))] for c in numbers}, frame[frame.columns[-1]] == frame[frame.columns[-1]].max()
    frame, known, label = {"stroke": (lambda: (read("stroke_kaggle.csv").drop(columns="id"), STROKE, "stroke")),
                           "adult": (lambda: (read("adult.csv.gz").drop(columns="split"), ADULT, "income"))}[table]()
    labels = frame[label] == (1 if table == "stroke" else ">50K")
    frame = frame.drop(columns=label)
    bounds = {c: known.get(c) or sorted(frame[c].astype(str).unique()) for c in frame.columns}
    return frame, bounds, labels


def design(frame, bounds):
    columns, names = [np.ones(len(frame))], ["(intercept)"]
    for name, bound in bounds.items():
        if isinstance(bound[0], str):
            for category in bound[1:]:
                columns.append((frame[name].astype(str) == category).to_numpy(float))
                names.append(f"{name}={category}")
        else:
            columns.append(2 * (frame[name].to_numpy(float).clip(*bound) - bound[0]) / (bound[1] - bound[0]) - 1)
            names.append(name)
    return np.column_stack(columns), names


def sigmoid(z):
    return 1 / (1 + np.exp(-np.clip(z, -700, 700)))


def non_private(x, y, precision=PRIOR_PRECISION):
    """Mode and covariance of the posterior."""
    objective = lambda w: (np.logaddexp(0, x @ w).sum() - y @ (x @ w) + 0.5 * precision * w @ w, x.T @ (sigmoid(x @ w) - y) + precision * w)
    w = minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options=dict(maxiter=5000)).x
    for _ in range(6):
        p = sigmoid(x @ w)
        curvature = (x * (p * (1 - p))[:, None]).T @ x + precision * np.eye(len(w))
        w = w - np.linalg.solve(curvature, x.T @ (p - y) + precision * w)
    return w, np.linalg.inv(curvature)


def gdp(epsilon):
    """The mu of a Gaussian mechanism with this epsilon at DELTA."""
    return brentq(lambda m: norm.cdf(m / 2 - epsilon / m) - math.exp(epsilon) * norm.cdf(-m / 2 - epsilon / m) - DELTA, 1e-6, 100)


def gradient_descent(x, y, epsilon, rng, steps=200, clip=1.0):
    """Full batches, gradients clipped to 1, momentum .9, rate such that noise carries the weights about 3 far; mean of the second half."""
    n, d = x.shape
    mu, norms = gdp(epsilon), np.linalg.norm(x, axis=1)
    rate = min(3 * n * mu / math.sqrt(d) / steps, 10)
    w, momentum, kept = np.zeros(d), np.zeros(d), []
    for _ in range(steps):
        residual = y - sigmoid(x @ w)
        residual = residual * np.minimum(1, clip / np.maximum(1e-12, np.abs(residual) * norms))
        gradient = (x.T @ residual + clip * math.sqrt(steps) / mu * rng.standard_normal(d)) / n
        kept.append(w)
        momentum = 0.9 * momentum + 0.1 * gradient
        w = w + rate * momentum
    return np.mean(kept[steps // 2:], axis=0)


def ada_ssp(x, y, epsilon, rng):
    """Wang 2018, with three Gaussian releases of equal mu: linear regression of labels of -1 and 1 from noisy sufficient statistics."""
    d, largest = x.shape[1], np.linalg.norm(x, axis=1).max()
    mu = gdp(epsilon) / math.sqrt(3)
    noise = rng.standard_normal((d, d))
    moments = x.T @ x
    smallest = max(0, np.linalg.eigvalsh(moments)[0] + largest**2 / mu * rng.standard_normal() - 2 * largest**2 / mu)
    ridge = max(0, largest**2 / mu * math.sqrt(d * math.log(2 * d * d / 0.05)) - smallest)
    noisy = moments + largest**2 / mu * (np.triu(noise) + np.triu(noise, 1).T)
    return np.linalg.solve(noisy + ridge * np.eye(d), x.T @ (2 * y - 1) + largest / mu * rng.standard_normal(d))


def area(y, z):
    ranks, ones = rankdata(z), y.sum()
    return (ranks[y == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(y) - ones))


def fit(program, folder, epsilon, seed, held_back):
    out = os.path.join(folder, "out.json")
    if os.path.exists(out):
        os.remove(out)
    command = [program, "--data", os.path.join(folder, "table.csv"), "--bounds", os.path.join(folder, "bounds.toml"), "--positive-if", "LABEL=1", "--epsilon",
               str(epsilon), "--delta", str(DELTA), "--test-fraction", str(held_back), "--test-seed-not-private", str(seed), "--json", out]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr.strip())
    with open(out) as file:
        return json.load(file)


def complete(table, data):
    """Columns without gaps, bounds, features with names, and labels."""
    frame, bounds, labels = load(table, data)
    frame = frame.copy()
    for name, bound in bounds.items():
        if not isinstance(bound[0], str):
            # A missing number is put into the middle of its bounds.
            frame[name] = pd.to_numeric(frame[name], errors="coerce").fillna((bound[0] + bound[1]) / 2)
    return frame, bounds, *design(frame, bounds), labels.to_numpy(float)


def known_curvature(table, epsilons, runs, data):
    """The linear model b = S u + e with S known, e of the noise of a gradient whose records have norm half of the 95 % quantile of the rows'."""
    _, _, x, names, y = complete(table, data)
    d = x.shape[1]
    norm = 0.5 * np.quantile(np.linalg.norm(x, axis=1), 0.95)
    for prior in (4, 10, 20):
        precision = np.eye(d) / prior**2
        mode, covariance = non_private(x, y, 1 / prior**2)
        deviation = np.sqrt(np.diag(covariance))
        curvature = np.linalg.inv(covariance) - precision
        for epsilon in epsilons:
            rng = np.random.default_rng(0)
            draws = mode + rng.standard_normal((300, d)) @ np.linalg.cholesky(covariance).T
            noise = norm / (gdp(epsilon) * math.sqrt(0.85))
            share = np.linalg.solve(curvature + noise**2 * np.eye(d), curvature).T
            private = np.linalg.inv(share @ curvature + precision)
            sd = np.sqrt(np.diag(private))
            # At the mode the likelihood's gradient is minus the prior's.
            exact = precision @ mode + curvature @ mode
            means = [private @ (share @ (exact + noise * rng.standard_normal(d))) for _ in range(runs)]
            covered = np.mean([(np.abs(mean - draws) <= 1.645 * sd).mean(axis=0) for mean in means], axis=0)
            error = math.sqrt(np.mean([((mean - mode) / deviation) ** 2 for mean in means]))
            z = math.sqrt(np.mean([((mean - draws) / sd) ** 2 for mean in means]))
            print(f"{table:8} prior {prior:<3} epsilon {epsilon:<4} coverage {covered.mean():.2f}, worst {covered.min():.2f} ({names[covered.argmin()]}); error {error:.2f}, "
                  f"z {z:.2f}, length {np.median(sd / deviation):.2f}", flush=True)


def measure(table, epsilons, runs, program, data):
    frame, bounds, x, names, y = complete(table, data)
    mode, covariance = non_private(x, y)
    deviation = np.sqrt(np.diag(covariance))
    draws = mode + np.random.default_rng(1).standard_normal((300, len(mode))) @ np.linalg.cholesky(covariance).T
    with tempfile.TemporaryDirectory() as folder:
        frame.assign(LABEL=y.astype(int)).to_csv(os.path.join(folder, "table.csv"), index=False)
        with open(os.path.join(folder, "bounds.toml"), "w") as file:
            file.writelines(f"{json.dumps(name)} = {json.dumps(bound)}\n" for name, bound in bounds.items())
        for epsilon in epsilons:
            covered, errors, lengths, zs, scores, others = [], [], [], [], [], []
            for run in range(runs):
                weights = fit(program, folder, epsilon, run, 0)["weights"]
                assert [weight["name"] for weight in weights] == names
                mean, sd = (np.array([weight[key] for weight in weights]) for key in ("mean", "sd"))
                low, high = np.array([weight["interval_90"] for weight in weights]).T
                covered.append(((low <= draws) & (draws <= high)).mean(axis=0))
                errors.append(math.sqrt((((mean - mode) / deviation) ** 2).mean()))
                lengths.append((high - low) / (2 * 1.645 * deviation))
                zs.append((((mean - draws) / sd) ** 2).mean())
                held_back = fit(program, folder, epsilon, 1000 + run, 0.2)
                scores.append((held_back["test_area_under_curve"], held_back["test_log_loss"]))
                rng = np.random.default_rng(run)
                order = rng.permutation(len(y))
                test, train = order[: len(y) // 5], order[len(y) // 5:]
                descent = x[test] @ gradient_descent(x[train], y[train], epsilon, rng)
                linear = x[test] @ ada_ssp(x[train], y[train], epsilon, rng)
                others.append((area(y[test], descent), area(y[test], linear), np.mean(np.logaddexp(0, descent) - y[test] * descent)))
            share = y.mean()
            constant = -share * math.log(share) - (1 - share) * math.log(1 - share)
            mean_of = lambda values: (np.mean(values, axis=0), np.std(values, axis=0) / math.sqrt(runs))
            coverage, (score, spread), (other, _) = np.mean(covered, axis=0), mean_of(scores), mean_of(others)
            print(f"{table:8} epsilon {epsilon:<4} coverage {coverage.mean():.2f}, worst {coverage.min():.2f} ({names[coverage.argmin()]}); error {np.mean(errors):.2f}, "
                  f"z {math.sqrt(np.mean(zs)):.2f}, length {np.median(np.mean(lengths, axis=0)):.2f}; AUC {score[0]:.3f} ± {spread[0]:.3f}, descent {other[0]:.3f}, "
                  f"AdaSSP {other[1]:.3f}; log loss {score[1]:.3f} ± {spread[1]:.3f}, descent {other[2]:.3f}, constant {constant:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="pima,stroke,wdbc,abalone,adult")
    parser.add_argument("--epsilons", default="0.1,0.3,1,3,10")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--program", default="target/release/fit")
    parser.add_argument("--known-curvature", action="store_true")
    arguments = parser.parse_args()
    epsilons = [float(epsilon) for epsilon in arguments.epsilons.split(",")]
    for table in arguments.tables.split(","):
        if arguments.known_curvature:
            known_curvature(table, epsilons, arguments.runs, os.environ["DP_DATA"])
        else:
            measure(table, epsilons, arguments.runs, arguments.program, os.environ["DP_DATA"])


if __name__ == "__main__":
    main()
