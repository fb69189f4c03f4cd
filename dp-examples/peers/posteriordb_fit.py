"""Gaussian regressions of posteriordb by the program fit, with privacy, against the posterior without: public bounds in the place of flat priors.

    cargo build --release -p dp-examples --bin fit
    python dp-examples/peers/posteriordb_fit.py PATH_OF_POSTERIORDB --epsilons 1,10 --runs 8

PATH is a checkout, or a bare git directory. The reference is the normal of ordinary least squares (flat priors on coefficients), at delta 1e-5 under
add/remove: error of means in its standard deviations, geometric mean of ratios of standard deviations, root mean square of (mean - draw) over the stated
deviation, coverage of its draws by 90 % intervals, the mean of sigma over its own, and how many runs say that intervals include the noise.

Needs numpy.
"""

import argparse
import io
import json
import os
import subprocess
import tempfile
import zipfile

import numpy as np


def load(path, name):
    """A data set of the collection."""
    file = f"posterior_database/data/data/{name}.json.zip"
    if os.path.isdir(os.path.join(path, "posterior_database")):
        with open(os.path.join(path, file), "rb") as found:
            packed = found.read()
    else:
        packed = subprocess.run(["git", "--git-dir", path, "show", f"HEAD:{file}"], check=True, capture_output=True).stdout
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {key: np.array(value, float) for key, value in json.loads(archive.read(archive.namelist()[0])).items()}


def regressions(path):
    """Name, columns, outcome, bounds, formula, and the design matrix beside the intercept."""
    nes = load(path, "nes1972")
    columns = {name: nes[name] for name in ["real_ideo", "race_adj", "educ1", "gender", "income"]}
    columns |= {f"age{k}": (nes["age_discrete"] == k).astype(float) for k in [2, 3, 4]}
    bounds = {"real_ideo": (1, 7), "race_adj": (1, 2), "educ1": (1, 4), "gender": (1, 2), "income": (1, 5), "age2": (0, 1), "age3": (0, 1), "age4": (0, 1)}
    yield "nes1972", columns, nes["partyid7"], bounds | {"y": (1, 7)}, "y ~ .", dict(columns)
    earnings = load(path, "earnings")
    columns = {"height": earnings["height"], "male": earnings["male"]}
    bounds = {"height": (48, 84), "male": (0, 1), "y": (4, 14)}
    yield "logearn_height_male", columns, np.log(earnings["earn"]), bounds, "y ~ .", dict(columns)
    both = {"height:male": columns["height"] * columns["male"]}
    yield "logearn_interaction", columns, np.log(earnings["earn"]), bounds, "y ~ height*male", columns | both
    diamonds = load(path, "diamonds")
    columns = {f"v{k}": column for k, column in enumerate(diamonds["X"].T) if k > 0}
    bounds = {name: (np.floor(10 * column.min()) / 10, np.ceil(10 * column.max()) / 10) for name, column in columns.items()}
    yield "diamonds (bounds from the data)", columns, diamonds["Y"], bounds | {"y": (5, 10)}, "y ~ .", dict(columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--epsilons", default="1,10")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--program", default="target/release/fit")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        for regression, columns, y, bounds, formula, terms in regressions(arguments.path):
            table = np.c_[np.array(list(columns.values())).T, y]
            np.savetxt(at("t.csv"), table, delimiter=",", header=",".join([*columns, "y"]), comments="")
            with open(at("s.toml"), "w") as file:
                file.writelines(f"{name} = [{low}, {high}]\n" for name, (low, high) in bounds.items())
            x = np.c_[np.ones(len(y)), np.array(list(terms.values())).T]
            mode = np.linalg.lstsq(x, y, rcond=None)[0]
            variance = ((y - x @ mode) ** 2).sum() / (len(y) - len(mode))
            covariance = variance * np.linalg.inv(x.T @ x)
            deviation = np.sqrt(np.diag(covariance))
            reference = np.random.default_rng(1).multivariate_normal(mode, covariance, 300)
            for epsilon in arguments.epsilons.split(","):
                rows, aware = [], 0
                for run in range(arguments.runs):
                    text = subprocess.run([arguments.program, formula, at("t.csv"), "--schema", at("s.toml"), "--family", "gaussian", "--epsilon", epsilon, "--delta", "1e-5",
                                           "--test-seed-not-private", str(run), "--model", at("m.json")], check=True, capture_output=True, text=True).stdout
                    aware += "include the privacy noise" in text
                    with open(at("m.json")) as file:
                        draws = json.load(file)["draws"]
                    found = np.array(draws["coefficients"])[:, [draws["names"].index(name) for name in ["Intercept", *terms]]]
                    mean, sd = found.mean(axis=0), found.std(axis=0)
                    low, high = np.quantile(found, [0.05, 0.95], axis=0)
                    rows.append((np.sqrt((((mean - mode) / deviation) ** 2).mean()), np.log(sd / deviation).mean(), (((mean - reference) / sd) ** 2).mean(),
                                 ((low <= reference) & (reference <= high)).mean(), np.mean(dict(draws["more"])["sigma"]) / np.sqrt(variance)))
                error, ratio, z, covered, sigma = np.mean(rows, axis=0)
                print(f"{regression:32} {len(y)} x {len(mode)}, epsilon {epsilon:3} error {error:.2f}, ratio {np.exp(ratio):.2f}, z {np.sqrt(z):.2f}, coverage {covered:.2f}, "
                      f"sigma {sigma:.2f}; with noise {aware}/{arguments.runs}", flush=True)


if __name__ == "__main__":
    main()
