"""How often intervals of regressions hold planted coefficients and what the family has beside them, on made-up designs of many kinds.

    cargo build --release -p dp-examples --bin fit
    python dp-examples/peers/designs.py --family gaussian --epsilons 0.3,1,3,10 --runs 20

Each run draws a table, an intercept and slopes anew, and fits them by the program `fit` at delta 1e-6 under add/remove. Printed are the share held by
90 % intervals, over all coefficients and of the worst; the root mean square of (mean - truth) over the stated standard deviation; the median standard
deviation; and for sigma (nu, or the share of zeros) the share held, mean and standard deviation over the truth (the root mean square of residuals of
gaussian). Of bernoulli and poisson it is how large slopes are relative to those without privacy, by least squares over all runs.

Needs numpy.
"""

import argparse
import json
import os
import subprocess
import tempfile

import numpy as np


def columns(rng, records, number, shared):
    """Columns that share a part of their variance, in [-1, 1]."""
    common = rng.standard_normal((records, 1))
    own = rng.standard_normal((records, number))
    return np.clip(0.35 * (np.sqrt(shared) * common + np.sqrt(1 - shared) * own), -1, 1)


def designs(rng):
    """Name, columns, scale of the residuals, and their kind."""
    normal = "normal"
    yield "2,000 x 5, independent", lambda: columns(rng, 2000, 5, 0), 0.1, normal
    yield "2,000 x 6, correlation .95", lambda: columns(rng, 2000, 6, 0.95), 0.2, normal
    yield "20,000 x 30, correlation .3", lambda: columns(rng, 20000, 30, 0.3), 0.2, normal
    yield "500 x 4", lambda: columns(rng, 500, 4, 0.2), 0.2, normal
    yield "3,000 x 4, bounds 10 times too wide", lambda: columns(rng, 3000, 4, 0.2) * 0.1 + 0.5, 0.2, normal
    yield "5,000 x 4, little left over", lambda: columns(rng, 5000, 4, 0.2), 0.01, normal
    rare = lambda: np.where(rng.random(3000) < 0.003, 1.0, -1.0)
    yield "3,000 x 4, one of nine records", lambda: np.c_[columns(rng, 3000, 3, 0.2), rare()], 0.1, normal
    yield "3,000 x 4, residuals of t(3)", lambda: columns(rng, 3000, 4, 0.2), 0.1, "heavy"
    yield "3,000 x 4, spread grows with a column", lambda: columns(rng, 3000, 4, 0.2), 0.1, "uneven"
    yield "3,000 x 4, residuals exponential", lambda: columns(rng, 3000, 4, 0.2), 0.1, "exponential"
    yield "5,000 x 4, residuals log-normal", lambda: columns(rng, 5000, 4, 0.2), 0.05, "log-normal"
    yield "20,000 x 4, residuals log-normal", lambda: columns(rng, 20000, 4, 0.2), 0.05, "log-normal"


def student_designs(rng):
    """Likewise for Student's t: the kind is nu, or its prior."""
    yield "3,000 x 4, nu 3", lambda: columns(rng, 3000, 4, 0.2), 0.1, 3.0
    yield "3,000 x 4, nu 1.5", lambda: columns(rng, 3000, 4, 0.2), 0.03, 1.5
    yield "3,000 x 4, nu 30", lambda: columns(rng, 3000, 4, 0.2), 0.1, 30.0
    yield "20,000 x 20, nu 4", lambda: columns(rng, 20000, 20, 0.3), 0.15, 4.0
    yield "3,000 x 4, nu as of its prior", lambda: columns(rng, 3000, 4, 0.2), 0.04, "prior"
    yield "600 x 3, nu 5", lambda: columns(rng, 600, 3, 0.2), 0.15, 5.0
    yield "3,000 x 6, correlation .95, nu 4", lambda: columns(rng, 3000, 6, 0.95), 0.1, 4.0
    yield "3,000 x 4, bounds 10 times too wide, nu 4", lambda: columns(rng, 3000, 4, 0.2) * 0.1 + 0.5, 0.02, 4.0
    yield "3,000 x 4, far from the middle, nu 4", lambda: columns(rng, 3000, 4, 0.2), 0.01, 4.0
    yield "3,000 x 4, far, a fifth of that, nu 4", lambda: columns(rng, 3000, 4, 0.2), 0.002, 4.0
    yield "100,000 x 4, nu 4", lambda: columns(rng, 100000, 4, 0.2), 0.04, 4.0
    rare = lambda: np.where(rng.random(3000) < 0.003, 1.0, -1.0)
    yield "3,000 x 4, one of nine records, nu 4", lambda: np.c_[columns(rng, 3000, 3, 0.2), rare()], 0.1, 4.0


def zero_designs(rng):
    """Likewise for counts with more zeros: logarithm of the mean, and share of zeros."""
    few = lambda: columns(rng, 3000, 4, 0.2)
    yield "3,000 x 4, mean 3, zeros .3", few, np.log(3), 0.3
    yield "3,000 x 4, mean 3, zeros .05", few, np.log(3), 0.05
    yield "3,000 x 4, mean 10, zeros .7", few, np.log(10), 0.7
    yield "3,000 x 4, mean .7, zeros .3", few, np.log(0.7), 0.3
    yield "20,000 x 20, mean 2, zeros .4", lambda: columns(rng, 20000, 20, 0.3), np.log(2), 0.4
    yield "3,000 x 6, correlation .95, mean 3, zeros .3", lambda: columns(rng, 3000, 6, 0.95), np.log(3), 0.3
    yield "3,000 x 4, mean .4, zeros .3", few, np.log(0.4), 0.3
    yield "20,000 x 4, mean .05, zeros .3", lambda: columns(rng, 20000, 4, 0.2), np.log(0.05), 0.3
    yield "3,000 x 4, mean 2, steep, zeros .2", few, np.log(2), 0.2
    yield "100,000 x 4, mean 3, zeros .3", lambda: columns(rng, 100000, 4, 0.2), np.log(3), 0.3
    yield "600 x 3, mean 3, zeros .3", lambda: columns(rng, 600, 3, 0.2), np.log(3), 0.3


def logistic_designs(rng):
    """Likewise for outcomes of two kinds: standard deviation of the log odds that the slopes make, and their middle."""
    for records, number, shared in [(1500, 4, 0.2), (3000, 4, 0.2), (5000, 10, 0.2), (10000, 5, 0), (20000, 30, 0.3), (50000, 8, 0.3)]:
        for spread in (0.7, 2.0, 4.0):
            make = lambda records=records, number=number, shared=shared: columns(rng, records, number, shared)
            yield f"{records:,} x {number}, log odds {spread}", make, spread, 0.0
    yield "3,000 x 6, correlation .95, log odds 2", lambda: columns(rng, 3000, 6, 0.95), 2.0, 0.0
    yield "10,000 x 5, few positive, log odds 1.5", lambda: columns(rng, 10000, 5, 0.2), 1.5, -3.0
    yield "10,000 x 5, bounds 10 times too wide, log odds 2", lambda: columns(rng, 10000, 5, 0.2) * 0.1 + 0.5, 2.0, 0.0


def count_designs(rng):
    """Likewise for counts: standard deviation of the logarithms of means that the slopes make, and their middle."""
    for records, number, shared in [(1500, 4, 0.2), (5000, 10, 0.2), (20000, 30, 0.3), (50000, 8, 0.3)]:
        for spread, middle in [(0.3, 1.0), (0.7, 0.0), (1.0, 2.0)]:
            make = lambda records=records, number=number, shared=shared: columns(rng, records, number, shared)
            yield f"{records:,} x {number}, logarithms {spread} around {middle}", make, spread, middle
    yield "3,000 x 6, correlation .95, logarithms .7 around 1", lambda: columns(rng, 3000, 6, 0.95), 0.7, 1.0
    yield "10,000 x 5, few, logarithms .7 around -3", lambda: columns(rng, 10000, 5, 0.2), 0.7, -3.0


def mode(x, y, of_counts):
    """Most likely intercept and slopes, by Newton's method."""
    x = np.c_[np.ones(len(x)), x]
    at = np.zeros(x.shape[1])
    for _ in range(40):
        p = np.exp(np.minimum(x @ at, 20)) if of_counts else 1 / (1 + np.exp(-x @ at))
        step = np.linalg.solve((x.T * (p if of_counts else p * (1 - p))) @ x, x.T @ (y - p))
        at = at + step / max(1, np.abs(x @ step).max())
    return at


def residuals(rng, x, scale, kind):
    """Residuals, and the root of their mean square, or nu."""
    records = len(x)
    if kind == "prior":
        kind = max(rng.gamma(2, 10), 0.6)
    if isinstance(kind, float):
        return scale * rng.standard_t(kind, records), kind
    if kind == "heavy":
        return scale * rng.standard_t(3, records) / np.sqrt(3), scale
    if kind == "exponential":
        return scale * (rng.exponential(size=records) - 1), scale
    if kind == "log-normal":
        return scale * (rng.lognormal(size=records) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e), scale
    spread = scale * np.sqrt(0.2 + 8 * x[:, 0] ** 2) if kind == "uneven" else np.full(records, scale)
    return spread * rng.standard_normal(records), np.sqrt(np.mean(spread**2))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilons", default="0.3,1,3,10")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--family", choices=["bernoulli", "poisson", "gaussian", "student", "zero-inflated-poisson"], default="gaussian")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--designs", default="", help="a part of their names")
    parser.add_argument("--program", default="target/release/fit")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        made = {"bernoulli": logistic_designs, "poisson": count_designs, "gaussian": designs, "student": student_designs, "zero-inflated-poisson": zero_designs}[arguments.family]
        other = {"bernoulli": "", "poisson": "", "gaussian": "sigma", "student": "nu", "zero-inflated-poisson": "zeros"}[arguments.family]
        counts, most = arguments.family in ("poisson", "zero-inflated-poisson"), 1000 if arguments.family == "poisson" else 100
        for design, make, scale, kind in made(rng):
            if arguments.designs not in design:
                continue
            for epsilon in arguments.epsilons.split(","):
                modes, means = [], []
                held, zs, deviations, sigmas = [], [], [], []
                for run in range(arguments.runs):
                    x = make()
                    names = [f"x{j}" for j in range(x.shape[1])]
                    truth = np.r_[rng.normal(0, 0.2), rng.normal(0, 0.25 / np.sqrt(len(names)), len(names))]
                    if "far" in design:
                        truth = np.r_[-0.8, 0.1 * truth[1:]]
                    if "steep" in design:
                        truth[1:] *= 4
                    if not other:
                        slopes = rng.standard_normal(len(names))
                        slopes *= scale / np.std(x @ slopes)
                        truth = np.r_[kind + truth[0] - x.mean(axis=0) @ slopes, slopes]
                        linear = truth[0] + x @ slopes
                        y = np.minimum(rng.poisson(np.exp(linear)), most) if counts else (rng.random(len(x)) < 1 / (1 + np.exp(-linear))).astype(int)
                    elif counts:
                        truth = np.r_[scale + truth[0], 4 * truth[1:]]
                        y, sigma = rng.poisson(np.exp(truth[0] + x @ truth[1:])) * (rng.random(len(x)) >= kind), kind
                        y = np.minimum(y, most)
                    else:
                        left, sigma = residuals(rng, x, scale, kind)
                        y = np.clip(truth[0] + x @ truth[1:] + left, -1, 1)
                    np.savetxt(at("t.csv"), np.c_[x, y], delimiter=",", header=",".join(names + ["y"]), comments="")
                    with open(at("s.toml"), "w") as file:
                        file.writelines(f"{name} = [-1, 1]\n" for name in names)
                        file.write(f"y = [0, {most}]\n" if counts else "y = [-1, 1]\n" if other else "y = [0, 1]\n")
                    subprocess.run([arguments.program, "y ~ .", at("t.csv"), "--schema", at("s.toml"), "--family", arguments.family, "--epsilon", epsilon, "--delta", "1e-6",
                                    "--test-seed-not-private", str(run), "--model", at("m.json")], check=True, capture_output=True)
                    with open(at("m.json")) as file:
                        draws = json.load(file)["draws"]
                    found = np.array(draws["coefficients"])[:, [draws["names"].index(name) for name in ["Intercept"] + names]]
                    low, high = np.quantile(found, [0.05, 0.95], axis=0)
                    held.append((low <= truth) & (truth <= high))
                    zs.append(((found.mean(axis=0) - truth) / found.std(axis=0)) ** 2)
                    deviations.append(found.std(axis=0))
                    if not other:
                        modes.append(mode(x, y, counts)[1:])
                        means.append(found.mean(axis=0)[1:])
                        continue
                    of = np.array(dict(draws["more"])[other])
                    low, high = np.quantile(of, [0.05, 0.95])
                    sigmas.append((low <= sigma <= high, of.mean() / sigma, of.std() / sigma))
                share = np.mean(held, axis=0)
                if not other:
                    # As many times as large as those without privacy, by least squares over all runs; and relative to their deviations.
                    modes, means = np.array(modes), np.array(means)
                    ratio = (means * modes).sum() / (modes**2).sum()
                    print(f"{design:48} epsilon {epsilon:4} held {share.mean():.2f}, worst {share.min():.2f}; z {np.sqrt(np.mean(zs)):.2f}; sd {np.median(deviations):.4f}; "
                          f"slopes {ratio:.3f} of those without privacy", flush=True)
                    continue
                sigma = np.mean(sigmas, axis=0)
                print(f"{design:38} epsilon {epsilon:4} held {share.mean():.2f}, worst {share.min():.2f}; z {np.sqrt(np.mean(zs)):.2f}; sd {np.median(deviations):.4f}; "
                      f"{other} held {sigma[0]:.2f}, mean {sigma[1]:.2f}, sd {sigma[2]:.2f}", flush=True)


if __name__ == "__main__":
    main()
