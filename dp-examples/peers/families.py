"""How good private regressions of counts and numbers are on real tables: fit with a formula against the non-private posterior.

    cargo build --release -p dp-examples --bin fit
    DP_DATA=... python dp-examples/peers/families.py --family poisson --epsilons 0.3,1,3 --runs 20

Abalone's rings and Pima's pregnancies (counts; ordinal: in five and four classes) or glucose (gaussian, student), at delta 1e-5 under add/remove, all
other columns as predictors; with --offset pregnancies, and age is the exposure, too. The non-private posterior is a normal around the mode with fit's priors; that of gaussian and negative-binomial has sigma or phi known, and that of student and zero-inflated-poisson sigma and nu, or the share of zeros, unknown; that of ordinal has the cutpoints among the coefficients. As in tables.py: coverage of draws by 90 % intervals, mean over
coefficients on the scale of the bounds and the worst; error of means in non-private standard deviations; z; median length; runs whose intervals include
the noise. With --test-fraction 0.25 also the root mean square error of held-back records, beside that of the best constant.

Needs numpy, scipy and pandas.
"""

import argparse
import json
import math
import os
import re
import subprocess
import tempfile

import numpy as np
import tables
from scipy.optimize import minimize, minimize_scalar
from scipy.special import digamma, expit, gammaln
from scipy.stats import nbinom

DELTA = 1e-5


def of_rdatasets(table, checkout):
    """Ordered answers of three tables that were not looked at when ordinal regressions were made, in a checkout of Rdatasets."""
    file, outcome, answers, bounds = {
        "wvs": ("carData/WVS.csv", "poverty", ["Too Little", "About Right", "Too Much"],
                {"religion": ["yes", "no"], "degree": ["yes", "no"], "country": ["Australia", "Norway", "Sweden", "USA"], "age": [18, 95],
                 "gender": ["female", "male"]}),
        "affairs": ("AER/Affairs.csv", "rating", [1, 2, 3, 4, 5],
                    {"gender": ["female", "male"], "age": [17, 60], "yearsmarried": [0, 20], "children": ["no", "yes"], "religiousness": [1, 5],
                     "education": [8, 20], "affairs": [0, 15]}),
        "nmes": ("AER/NMES1988.csv", "health", ["poor", "average", "excellent"],
                 {"visits": [0, 50], "chronic": [0, 8], "adl": ["limited", "normal"], "region": ["midwest", "northeast", "other", "west"], "age": [6.5, 10],
                  "afam": ["no", "yes"], "gender": ["female", "male"], "married": ["no", "yes"], "school": [0, 18], "income": [-2, 20],
                  "employed": ["no", "yes"]}),
    }[table]
    frame = tables.pd.read_csv(os.path.join(checkout, "csv", file))
    return frame[list(bounds)], bounds, frame[outcome].map(answers.index).to_numpy(float), [0, len(answers) - 1]


def load(table, family, data, checkout=None):
    """Columns, bounds, outcomes and the outcome's bounds."""
    if checkout:
        return of_rdatasets(table, checkout)
    read = lambda name: tables.pd.read_csv(os.path.join(data, "data", name))
    if table == "abalone":
        frame, bounds = read("abalone.csv"), tables.ABALONE
        if family == "ordinal":
            return frame[list(bounds)], bounds, np.digitize(frame["rings"], [8, 9, 10, 12]).astype(float), [0, 4]
        return frame[list(bounds)], bounds, frame["rings"].to_numpy(float), [0, 30]
    if table == "pima" and family == "ordinal":
        frame = read("pima_diabetes.csv")
        bounds = {name: bound for name, bound in tables.PIMA.items() if name != "pregnancies"}
        return frame[list(bounds)], bounds, np.digitize(frame["pregnancies"], [1, 3, 6]).astype(float), [0, 3]
    outcome, high = ("glucose", 200) if family in ("gaussian", "student") else ("pregnancies", 20)
    frame, bounds = read("pima_diabetes.csv"), {name: bound for name, bound in tables.PIMA.items() if name != outcome}
    return frame[list(bounds)], bounds, frame[outcome].to_numpy(float), [0, high]


def student(x, y):
    """Minus the log posterior of coefficients, ln sigma and ln nu, and its gradient, of a scaled outcome."""
    def minus(at):
        b, s, nu = at[:-2], math.exp(at[-2]), math.exp(at[-1])
        r = (y - x @ b) / s
        log = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * math.log(nu) - at[-2] - 0.5 * (nu + 1) * np.log1p(r * r / nu)
        weight = (nu + 1) / (nu + r * r)
        by_nu = 0.5 * (digamma((nu + 1) / 2) - digamma(nu / 2) - 1 / nu - np.log1p(r * r / nu) + weight * r * r / nu)
        slope = np.r_[x.T @ (weight * r) / s - b / 4, (weight * r * r - 1).sum() - s * s + 1, nu * by_nu.sum() + 2 - 0.1 * nu]
        return -(log.sum() - b @ b / 8 - s * s / 2 + at[-2] + 2 * at[-1] - 0.1 * nu), -slope
    return minus


def zero_inflated(x, y, location, precision):
    """The same of coefficients and the log odds of a zero beside Poisson's."""
    zero = y == 0
    def minus(at):
        b, share = at[:-1], expit(at[-1])
        mean = np.exp(np.clip(x @ b, -20, 20))
        all_zeros = share + (1 - share) * np.exp(-mean)
        log = np.where(zero, np.log(all_zeros), np.log1p(-share) + y * np.log(mean) - mean)
        by_mean = np.where(zero, -(1 - share) * mean * np.exp(-mean) / all_zeros, y - mean)
        by_share = np.where(zero, -np.expm1(-mean) / all_zeros, -1 / (1 - share)) * share * (1 - share)
        away = b - location
        slope = np.r_[x.T @ by_mean - precision * away, by_share.sum() + 1 - 2 * share]
        return -(log.sum() - precision @ away**2 / 2 + math.log(share * (1 - share))), -slope
    return minus


def ordinal(x, y, levels):
    """The same of coefficients, the first cutpoint, and the logarithms of what lies between cutpoints; cutpoints are between categories from 0."""
    y = y.astype(int)
    def minus(at):
        b, first, gaps = at[: x.shape[1]], at[x.shape[1]], np.exp(at[x.shape[1] + 1:])
        cuts = np.r_[-np.inf, first + np.r_[0, np.cumsum(gaps)], np.inf]
        eta = x @ b
        above, below = expit(cuts[y + 1] - eta), expit(cuts[y] - eta)
        log = np.log(np.maximum(above - below, 1e-300))
        by_above, by_below = above * (1 - above) / np.exp(log), below * (1 - below) / np.exp(log)
        by_cut = np.array([by_above[y == k].sum() - by_below[y == k + 1].sum() for k in range(levels - 1)])
        by_gap = np.array([by_cut[k + 1:].sum() for k in range(levels - 2)]) * gaps
        slope = np.r_[x.T @ (by_below - by_above) - b / 100, by_cut.sum() - (first + 1.5) / 9, by_gap + 1 - gaps**2 / 4]
        return -(log.sum() - b @ b / 200 - (first + 1.5) ** 2 / 18 - gaps @ gaps / 8 + np.log(gaps).sum()), -slope
    return minus


def laplace(minus, start, d):
    """Mode and covariance of the first d values, the others integrated out."""
    mode = minimize(minus, start, jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 5000}).x
    steps = np.diag(np.full(len(mode), 1e-5))
    hessian = np.array([(minus(mode + step)[1] - minus(mode - step)[1]) / 2e-5 for step in steps])
    return mode, np.linalg.inv((hessian + hessian.T) / 2)


def non_private(x, y, family, low, high, offset=0.0):
    """Mode and covariance of the coefficients on the scale of the bounds, in the units of the outcome; of ordinal outcomes cutpoints are at the end."""
    d = x.shape[1]
    if family == "ordinal":
        levels = int(high) + 1
        shares = np.cumsum([np.mean(y == k) for k in range(levels)])[:-1]
        cuts = np.log(shares / (1 - shares))
        mode, covariance = laplace(ordinal(x[:, 1:], y, levels), np.r_[np.zeros(d - 1), cuts[0], np.log(np.diff(cuts))], d - 2 + levels)
        cutpoints = np.eye(d - 2 + levels)
        for k in range(levels - 2):
            # A gap's logarithm moves all cutpoints after it.
            cutpoints[d + k:, d + k] = math.exp(mode[d + k])
            cutpoints[d + k, d - 1] = 1
        found = np.r_[mode[: d - 1], mode[d - 1] + np.r_[0, np.cumsum(np.exp(mode[d:]))]]
        return found, cutpoints @ covariance @ cutpoints.T
    centre, width = (low + high) / 2, (high - low) / 2
    scaled = (y - centre) / width
    if family == "student":
        start = np.linalg.lstsq(x, scaled, rcond=None)[0]
        mode, covariance = laplace(student(x, scaled), np.r_[start, math.log(np.std(scaled - x @ start)), math.log(8)], d)
        print(f"         sigma {math.exp(mode[-2]) * width:.4g}, nu {math.exp(mode[-1]):.3g}")
        return mode[:d] * width + np.eye(d)[0] * centre, covariance[:d, :d] * width**2
    if family == "gaussian":
        variance = np.var(scaled - x @ np.linalg.lstsq(x, scaled, rcond=None)[0])
        covariance = np.linalg.inv(x.T @ x / variance + np.eye(d) / 4)
        mode = covariance @ (x.T @ scaled / variance)
        return mode * width + np.eye(d)[0] * centre, covariance * width**2
    location, precision = np.zeros(d), np.ones(d)
    location[0] = 0.5 * math.log1p(high)
    precision[0] = 1 / (1 + location[0]) ** 2
    if family == "zero-inflated-poisson":
        mode, _ = non_private(x, y, "poisson", low, high)
        mode, covariance = laplace(zero_inflated(x, y, location, precision), np.r_[mode, -1.0], d)
        print(f"         zeros {expit(mode[-1]):.3g}")
        return mode[:d], covariance[:d, :d]
    # Of a Poisson distribution phi has no bound.
    mode, phi = location.copy(), math.inf
    for step in range(200):
        mean = np.exp(np.clip(x @ mode + offset, -20, 20))
        if family == "negative-binomial" and step % 20 == 10:
            unlikely = lambda log: -nbinom.logpmf(y, math.exp(log), 1 / (1 + mean / math.exp(log))).sum() + (log - 1) ** 2 / 2
            phi = math.exp(minimize_scalar(unlikely, bounds=(-3, 7), method="bounded").x)
        curvature = (x * (mean / (1 + mean / phi))[:, None]).T @ x + np.diag(precision)
        mode = mode + np.linalg.solve(curvature, x.T @ ((y - mean) / (1 + mean / phi)) - precision * (mode - location))
    curvature = (x * (mean * (1 + y / phi) / (1 + mean / phi) ** 2)[:, None]).T @ x + np.diag(precision)
    return mode, np.linalg.inv(curvature)


def scaled_draws(model, names, bounds):
    """Draws of a model file, from the units of the file to the scale of the bounds."""
    draws, columns = np.array(model["draws"]["coefficients"]), model["draws"]["names"]
    found = np.zeros((len(draws), len(names)))
    found[:, 0] = draws[:, columns.index("Intercept")] if "Intercept" in columns else 0
    for j, name in enumerate(names[1:], 1):
        if "=" in name:
            column, category = name.split("=", 1)
            found[:, j] = draws[:, columns.index(f"{column}[T.{category}]")]
        else:
            low, high = bounds[name]
            slope = draws[:, columns.index(name)]
            found[:, j] = slope * (high - low) / 2
            found[:, 0] += slope * (high + low) / 2
    cuts = [values for name, values in model["draws"]["more"] if name.startswith("cut[")]
    if cuts:
        # What centring takes off a predictor goes to the cutpoints.
        return np.c_[found[:, 1:], np.array(cuts).T - found[:, :1]]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=["poisson", "negative-binomial", "zero-inflated-poisson", "gaussian", "student", "ordinal"], default="poisson")
    parser.add_argument("--tables", default="abalone,pima")
    parser.add_argument("--epsilons", default="0.3,1,3")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--program", default="target/release/fit")
    parser.add_argument("--test-fraction", type=float, default=0.0)
    parser.add_argument("--checkout", help="a checkout of Rdatasets, for --family ordinal --tables wvs,affairs,nmes")
    parser.add_argument("--offset", action="store_true", help="pima's age as the exposure of a count")
    arguments = parser.parse_args()
    for table in arguments.tables.split(","):
        frame, bounds, y, (low, high) = load(table, arguments.family, os.environ["DP_DATA"], arguments.checkout)
        x, names = tables.design(frame, bounds)
        # Less the largest that the bounds allow, of which the intercept's prior is.
        largest = math.log(bounds["age"][1]) if arguments.offset else 0.0
        offset = np.log(np.clip(frame["age"].to_numpy(float), *bounds["age"])) - largest if arguments.offset else 0.0
        mode, covariance = non_private(x, y, arguments.family, low, high, offset)
        if arguments.family == "ordinal":
            names = names[1:] + [f"cut[{k}]" for k in range(1, int(high) + 1)]
        deviation = np.sqrt(np.diag(covariance))
        draws = mode + np.random.default_rng(1).standard_normal((300, len(mode))) @ np.linalg.cholesky(covariance).T
        with tempfile.TemporaryDirectory() as folder:
            at = lambda name: os.path.join(folder, name)
            frame.assign(outcome=y).to_csv(at("table.csv"), index=False)
            with open(at("schema.toml"), "w") as file:
                file.writelines(f"{name} = {json.dumps(bound)}\n" for name, bound in {**bounds, "outcome": [low, high]}.items())
            for epsilon in arguments.epsilons.split(","):
                covered, errors, lengths, zs, aware, scores, others = [], [], [], [], 0, [], []
                for run in range(arguments.runs):
                    command = [arguments.program, "outcome ~ ." + (" + offset(log(age))" if arguments.offset else ""), at("table.csv"), "--schema", at("schema.toml"), "--family", arguments.family, "--epsilon", epsilon,
                               "--delta", str(DELTA), "--test-seed-not-private", str(run), "--model", at("model.json"), "--test-fraction", str(arguments.test_fraction)]
                    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                    aware += "include the privacy noise" in text
                    scores += [[float(number) for number in found] for found in re.findall(r"square error (\S+) \((\S+)\)", text)]
                    with open(at("model.json")) as file:
                        model = json.load(file)
                    found = scaled_draws(model, ["Intercept"] + names[: -int(high)] if arguments.family == "ordinal" else names, bounds)
                    if arguments.offset:
                        found[:, 0] += largest
                    others.append([np.median(values) for _, values in model["draws"]["more"]])
                    ends = np.quantile(found, [0.05, 0.95], axis=0)
                    covered.append(((ends[0] <= draws) & (draws <= ends[1])).mean(axis=0))
                    errors.append(math.sqrt((((found.mean(axis=0) - mode) / deviation) ** 2).mean()))
                    zs.append((((found.mean(axis=0) - draws) / found.std(axis=0)) ** 2).mean())
                    lengths.append((ends[1] - ends[0]) / (2 * 1.645 * deviation))
                coverage = np.mean(covered, axis=0)
                held_back = "; root mean square error {:.3f} ({:.3f})".format(*np.mean(scores, axis=0)) if scores else ""
                print(f"{table:8} epsilon {epsilon:<4} coverage {coverage.mean():.2f}, worst {coverage.min():.2f} ({names[coverage.argmin()]}); error {np.mean(errors):.2f}, "
                      f"z {math.sqrt(np.mean(zs)):.2f}, length {np.median(np.mean(lengths, axis=0)):.2f}; with noise {aware}/{arguments.runs}{held_back}"
                      + "".join(f"; {name} {value:.3g}" for (name, _), value in zip(model["draws"]["more"], np.mean(others, axis=0))), flush=True)


if __name__ == "__main__":
    main()
