"""How good private regressions are on many real tables of the Rdatasets collection: fit against the non-private posterior.

    git clone https://github.com/vincentarelbundock/Rdatasets
    cargo build --release -p dp-examples --bin fit
    python dp-examples/peers/rdatasets.py --checkout Rdatasets --epsilons 0.3,1,3,10 --runs 10

Records without gaps, at delta 1e-5 under add/remove, all columns named as predictors. The bounds are round numbers that somebody who knows what the columns
mean would write down before seeing them. What is printed is as in families.py, whose posteriors without privacy stand beside fit's; with --predictions
how good predictions of held-back records are beside those of a constant, the held-back records' own mean.

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
import pandas as pd

import families
import tables

YES = ["no", "yes"]
BIT = [0, 1]
# Family, outcome (with the value that counts as positive, or its bounds) and the predictors' bounds or categories; the first is what others are compared to.
TABLES = {
    "AER/HMDA": ("bernoulli", "deny", "yes", {"pirat": [0, 2], "hirat": [0, 2], "lvrat": [0, 2], "chist": [1, 6], "mhist": [1, 4], "phist": YES, "unemp": [0, 20],
                 "selfemp": YES, "insurance": YES, "condomin": YES, "afam": YES, "single": YES, "hschool": YES}),
    "AER/SmokeBan": ("bernoulli", "smoker", "yes", {"ban": YES, "age": [18, 90], "education": ["hs", "hs drop out", "some college", "college", "master"], "afam": YES,
                     "hispanic": YES, "gender": ["female", "male"]}),
    "ISLR/Default": ("bernoulli", "default", "Yes", {"student": ["No", "Yes"], "balance": [0, 5000], "income": [0, 100000]}),
    "DAAG/spam7": ("bernoulli", "yesno", "y", {"crl.tot": [0, 10000], "dollar": [0, 5], "bang": [0, 10], "money": [0, 10], "n000": [0, 5], "make": [0, 5]}),
    "carData/Arrests": ("bernoulli", "released", "Yes", {"colour": ["White", "Black"], "year": [1997, 2002], "age": [10, 80], "sex": ["Male", "Female"],
                        "employed": ["No", "Yes"], "citizen": ["No", "Yes"], "checks": [0, 6]}),
    "carData/TitanicSurvival": ("bernoulli", "survived", "yes", {"sex": ["male", "female"], "age": [0, 80], "passengerClass": ["1st", "2nd", "3rd"]}),
    "survival/flchain": ("bernoulli", "death", 1, {"age": [50, 100], "sex": ["F", "M"], "kappa": [0, 10], "lambda": [0, 10], "flc.grp": [1, 10],
                         "creatinine": [0, 5], "mgus": BIT}),
    "modeldata/wa_churn": ("bernoulli", "churn", "Yes", {"female": BIT, "senior_citizen": BIT, "partner": BIT, "dependents": BIT, "tenure": [0, 72],
                           "multiple_lines": ["No", "Yes", "No phone service"], "internet_service": ["No", "DSL", "Fiber optic"],
                           "online_security": ["No", "Yes", "No internet service"], "tech_support": ["No", "Yes", "No internet service"],
                           "contract": ["Month-to-month", "One year", "Two year"], "paperless_billing": BIT,
                           "payment_method": ["Bank transfer (automatic)", "Credit card (automatic)", "Electronic check", "Mailed check"],
                           "monthly_charges": [0, 150], "total_charges": [0, 10000]}),
    "modeldata/credit_data": ("bernoulli", "Status", "bad", {"Seniority": [0, 50], "Home": ["owner", "rent", "parents", "other", "priv", "ignore"], "Time": [0, 80],
                              "Age": [18, 80], "Marital": ["married", "single", "separated", "widow", "divorced"], "Records": YES,
                              "Job": ["fixed", "freelance", "partime", "others"], "Expenses": [0, 200], "Income": [0, 1000], "Assets": [0, 100000],
                              "Debt": [0, 20000], "Amount": [0, 5000], "Price": [0, 10000]}),
    "modeldata/attrition": ("bernoulli", "Attrition", "Yes", {"Age": [18, 65], "BusinessTravel": ["Non-Travel", "Travel_Rarely", "Travel_Frequently"],
                            "Department": ["Sales", "Research_Development", "Human_Resources"], "DistanceFromHome": [0, 30], "Gender": ["Female", "Male"],
                            "JobLevel": [1, 5], "MaritalStatus": ["Married", "Single", "Divorced"], "MonthlyIncome": [0, 20000], "NumCompaniesWorked": [0, 10],
                            "OverTime": ["No", "Yes"], "StockOptionLevel": [0, 3], "TotalWorkingYears": [0, 40], "YearsAtCompany": [0, 40]}),
    "mlmRev/Contraception": ("bernoulli", "use", "Y", {"livch": ["0", "1", "2", "3+"], "age": [-15, 20], "urban": ["N", "Y"]}),
    "ISLR/Wage": ("gaussian", "wage", [0, 350], {"year": [2003, 2009], "age": [18, 80], "maritl": ["1. Never Married", "2. Married", "3. Widowed", "4. Divorced", "5. Separated"],
                  "race": ["1. White", "2. Black", "3. Asian", "4. Other"], "education": ["1. < HS Grad", "2. HS Grad", "3. Some College", "4. College Grad", "5. Advanced Degree"],
                  "jobclass": ["1. Industrial", "2. Information"], "health": ["1. <=Good", "2. >=Very Good"], "health_ins": ["1. Yes", "2. No"]}),
    "AER/CPS1988": ("gaussian", "wage", [0, 3000], {"education": [0, 18], "experience": [-5, 65], "ethnicity": ["cauc", "afam"], "smsa": YES,
                    "region": ["northeast", "midwest", "south", "west"], "parttime": YES}),
    "AER/CollegeDistance": ("gaussian", "score", [20, 80], {"gender": ["female", "male"], "ethnicity": ["other", "hispanic", "afam"], "fcollege": YES, "mcollege": YES,
                            "home": YES, "urban": YES, "unemp": [0, 30], "wage": [5, 15], "distance": [0, 20], "tuition": [0, 2], "income": ["low", "high"],
                            "region": ["other", "west"]}),
    "carData/SLID": ("gaussian", "wages", [0, 50], {"education": [0, 20], "age": [15, 100], "sex": ["Female", "Male"], "language": ["English", "French", "Other"]}),
    "mosaicData/TenMileRace": ("gaussian", "net", [2400, 12000], {"age": [10, 90], "sex": ["F", "M"]}),
    "openintro/births14": ("gaussian", "weight", [0, 12], {"fage": [14, 90], "mage": [14, 50], "weeks": [20, 46], "visits": [0, 30], "gained": [0, 100], "sex": ["male", "female"],
                           "habit": ["nonsmoker", "smoker"], "marital": ["married", "not married"], "whitemom": ["white", "not white"]}),
    "mlmRev/Hsb82": ("gaussian", "mAch", [-5, 25], {"minrty": ["No", "Yes"], "sx": ["Female", "Male"], "ses": [-4, 4], "sector": ["Public", "Catholic"]}),
    "wooldridge/k401ksubs": ("student", "nettfa", [-500, 1500], {"e401k": BIT, "inc": [0, 200], "marr": BIT, "male": BIT, "age": [25, 65], "fsize": [1, 13]}),
    "modeldata/Sacramento": ("gaussian", "price", [0, 1000000], {"beds": [0, 10], "baths": [0, 6], "sqft": [0, 5000], "type": ["Residential", "Condo", "Multi_Family"]}),
    "AER/DoctorVisits": ("poisson", "visits", [0, 10], {"gender": ["female", "male"], "age": [0, 1], "income": [0, 2], "illness": [0, 5], "reduced": [0, 14], "health": [0, 12],
                         "private": YES, "freepoor": YES, "freerepat": YES, "nchronic": YES, "lchronic": YES}),
    "wooldridge/fertil2": ("poisson", "children", [0, 15], {"age": [15, 49], "educ": [0, 20], "electric": BIT, "radio": BIT, "tv": BIT, "bicycle": BIT, "urban": BIT,
                           "evermarr": BIT, "catholic": BIT, "protest": BIT}),
    "wooldridge/crime1": ("poisson", "narr86", [0, 15], {"pcnv": [0, 1], "avgsen": [0, 60], "tottime": [0, 60], "ptime86": [0, 12], "qemp86": [0, 4], "inc86": [0, 600],
                          "black": BIT, "hispan": BIT, "born60": BIT}),
    "AER/NMES1988": ("negative-binomial", "visits", [0, 100], {"hospital": [0, 10], "health": ["average", "poor", "excellent"], "chronic": [0, 10], "adl": ["normal", "limited"],
                     "region": ["other", "midwest", "northeast", "west"], "age": [6, 11], "afam": YES, "gender": ["female", "male"], "married": YES, "school": [0, 18],
                     "income": [0, 20], "employed": YES, "insurance": YES, "medicaid": YES}),
    "COUNT/rwm5yr": ("negative-binomial", "docvis", [0, 150], {"year": [1984, 1988], "age": [25, 65], "outwork": BIT, "female": BIT, "married": BIT, "kids": BIT,
                     "hhninc": [0, 20], "educ": [7, 18], "self": BIT}),
}


def read(name, checkout):
    """Columns without gaps and outcomes, by the bounds of a table."""
    family, outcome, of, bounds = TABLES[name]
    frame = pd.read_csv(os.path.join(checkout, "csv", name + ".csv"))[[*bounds, outcome]]
    for column, bound in bounds.items():
        if isinstance(bound[0], str):
            frame[column] = frame[column].where(frame[column].isna(), frame[column].astype(str))
    frame = frame.dropna()
    low, high = BIT if family == "bernoulli" else of
    y = (frame.pop(outcome) == of).to_numpy(float) if family == "bernoulli" else frame.pop(outcome).to_numpy(float).clip(low, high)
    return frame, y, (low, high)


def written(frame, y, family, bounds, ends, folder):
    """The table and its schema, as files."""
    whole = family in ("bernoulli", "poisson", "negative-binomial")
    frame.assign(OUTCOME=y.astype(int) if whole else y).to_csv(os.path.join(folder, "t.csv"), index=False)
    with open(os.path.join(folder, "s.toml"), "w") as file:
        file.writelines(f"{json.dumps(column)} = {json.dumps(bound)}\n" for column, bound in {**bounds, "OUTCOME": ends}.items())


def fitted(program, folder, family, epsilon, run, more):
    """What fit prints of one run."""
    at = lambda file: os.path.join(folder, file)
    command = [program, "OUTCOME ~ .", at("t.csv"), "--schema", at("s.toml"), "--family", family, "--epsilon", epsilon, "--delta", str(tables.DELTA),
               "--test-seed-not-private", str(run), *more]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def predictions(name, epsilons, runs, program, checkout):
    """How good predictions of a fifth of the records are, held back anew in each run, beside the best constant's."""
    family, bounds = TABLES[name][0], TABLES[name][3]
    frame, y, ends = read(name, checkout)
    what = "log loss" if family == "bernoulli" else "root mean square error"
    with tempfile.TemporaryDirectory() as folder:
        written(frame, y, family, bounds, ends, folder)
        for epsilon in epsilons.split(","):
            found = [re.search(what + r" ([0-9.]+) \(([0-9.]+)\)", fitted(program, folder, family, epsilon, run, ["--test-fraction", "0.2"])) for run in range(runs)]
            ours, constants = np.array([[float(one[1]), float(one[2])] for one in found]).T
            print(f"{name:24} {len(y):6} epsilon {epsilon:<4} {what} {ours.mean():.4g}, of a constant {constants.mean():.4g}; ratio {(ours / constants).mean():.3f} "
                  f"± {(ours / constants).std() / math.sqrt(runs):.3f}", flush=True)


def measure(name, epsilons, runs, program, checkout):
    family, bounds = TABLES[name][0], TABLES[name][3]
    frame, y, (low, high) = read(name, checkout)
    x, names = tables.design(frame, bounds)
    mode, covariance = tables.non_private(x, y) if family == "bernoulli" else families.non_private(x, y, family, low, high)
    deviation = np.sqrt(np.diag(covariance))
    draws = mode + np.random.default_rng(1).standard_normal((300, len(mode))) @ np.linalg.cholesky(covariance).T
    with tempfile.TemporaryDirectory() as folder:
        at = lambda file: os.path.join(folder, file)
        written(frame, y, family, bounds, [low, high], folder)
        for epsilon in epsilons.split(","):
            covered, errors, lengths, zs, aware = [], [], [], [], 0
            for run in range(runs):
                done = fitted(program, folder, family, epsilon, run, ["--model", at("m.json")])
                aware += "include the privacy noise" in done
                with open(at("m.json")) as file:
                    model = json.load(file)
                found = families.scaled_draws(model, names, bounds)
                ends = np.quantile(found, [0.05, 0.95], axis=0)
                covered.append(((ends[0] <= draws) & (draws <= ends[1])).mean(axis=0))
                errors.append((found.mean(axis=0) - mode) / deviation)
                zs.append((((found.mean(axis=0) - draws) / found.std(axis=0)) ** 2).mean(axis=0))
                lengths.append((ends[1] - ends[0]) / (2 * 1.645 * deviation))
            coverage, errors, of_each = np.mean(covered, axis=0), np.array(errors), np.sqrt(np.mean(zs, axis=0))
            print(f"{name:24} {len(y):6} x {len(names):3} epsilon {epsilon:<4} coverage {coverage.mean():.2f}, worst {coverage.min():.2f} ({names[coverage.argmin()]}); "
                  f"error {math.sqrt((errors**2).mean()):.2f}, z {math.sqrt(np.mean(zs)):.2f}, worst {of_each.max():.2f} ({names[of_each.argmax()]}); "
                  f"length {np.median(np.mean(lengths, axis=0)):.2f}; with noise {aware}/{runs}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", required=True, help="a folder with csv/PACKAGE/TABLE.csv")
    parser.add_argument("--tables", default="", help="parts of their names, separated by commas")
    parser.add_argument("--epsilons", default="0.3,1,3,10")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--predictions", action="store_true", help="log loss or root mean square error of held-back records in place of intervals")
    parser.add_argument("--program", default="target/release/fit")
    arguments = parser.parse_args()
    for name in TABLES:
        if any(part in name for part in arguments.tables.split(",")):
            work = predictions if arguments.predictions else measure
            work(name, arguments.epsilons, arguments.runs, arguments.program, arguments.checkout)


if __name__ == "__main__":
    main()
