"""Scores twins of a table against real rows: areas under the ROC curve of a logistic regression and of gradient
boosting that are trained on the twin and tested on real rows; total variation of one and two columns, with numbers in
16 bins between public bounds; the difference of correlations.

    python twin_scores.py SCHEMA TARGET POSITIVE REAL-TRAINING-ROWS TEST-ROWS TWIN [TWIN ...]

Training rows are what marginals and correlations are compared with, test rows what predictions are. Needs
scikit-learn and pandas. The figures are exact figures of real rows, which no guarantee covers.
"""

import itertools
import sys
import tomllib

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

BINS = 16


def read(path, schema):
    table = pd.read_csv(path, keep_default_na=False, dtype=str)[list(schema)]
    found = {}
    for column, bound in schema.items():
        if isinstance(bound[0], str):
            places = {name: place for place, name in enumerate(bound)}
            found[column] = table[column].map(places).fillna(len(bound)).astype(int)
        else:
            found[column] = pd.to_numeric(table[column], errors="coerce").clip(bound[0], bound[1])
    return pd.DataFrame(found)


def bins(table, schema):
    found = {}
    for column, bound in schema.items():
        if isinstance(bound[0], str):
            found[column] = table[column].to_numpy()
        else:
            share = (table[column] - bound[0]) / (bound[1] - bound[0]) * BINS
            found[column] = share.fillna(BINS).clip(0, BINS - 1).astype(int).where(table[column].notna(), BINS).to_numpy()
    return found


def distance(a, b):
    size = max(a.max(), b.max()) + 1
    return 0.5 * np.abs(np.bincount(a, minlength=size) / len(a) - np.bincount(b, minlength=size) / len(b)).sum()


def features(table, schema, target, scales):
    parts = []
    for column, bound in schema.items():
        if column == target:
            continue
        if isinstance(bound[0], str):
            parts.append(np.eye(len(bound) + 1)[table[column]])
        else:
            mean, scale = scales[column]
            parts.append(((table[column].fillna(mean) - mean) / scale).to_numpy()[:, None])
    return np.hstack(parts)


def scores(schema, target, positive, real, test, twin):
    first, second = bins(real, schema), bins(twin, schema)
    one = np.mean([distance(first[c], second[c]) for c in schema])
    pairs = itertools.combinations(schema, 2)
    two = np.mean([distance(first[a] * 1000 + first[b], second[a] * 1000 + second[b]) for a, b in pairs])
    matrix = lambda table: table.fillna(table.mean()).corr().fillna(0).to_numpy()
    upper = np.triu_indices(len(schema), 1)
    correlation = np.abs(matrix(real) - matrix(twin))[upper].mean()
    place = schema[target].index(positive)
    label = lambda table: (table[target] == place).astype(int)
    scales = {c: (twin[c].mean(), twin[c].std() or 1.0) for c, b in schema.items() if not isinstance(b[0], str)}
    logistic = LogisticRegression(max_iter=2000).fit(features(twin, schema, target, scales), label(twin))
    lr = roc_auc_score(label(test), logistic.decision_function(features(test, schema, target, scales)))
    others = [c for c in schema if c != target]
    categorical = [isinstance(schema[c][0], str) for c in others]
    boosting = HistGradientBoostingClassifier(categorical_features=categorical, random_state=0)
    boosting.fit(twin[others], label(twin))
    gb = roc_auc_score(label(test), boosting.predict_proba(test[others])[:, 1])
    return lr, gb, one, two, correlation


def main():
    schema_file, target, positive, real, test, *twins = sys.argv[1:]
    with open(schema_file, "rb") as file:
        schema = tomllib.load(file)
    real, test = read(real, schema), read(test, schema)
    found = [scores(schema, target, positive, real, test, read(twin, schema)) for twin in twins]
    print("           LR      GB     TV1     TV2    corr")
    for twin, one in zip(twins, found):
        print("        " + " ".join(f"{value:.4f}" for value in one), twin)
    if len(found) > 1:
        print("mean    " + " ".join(f"{value:.4f}" for value in np.mean(found, axis=0)))


if __name__ == "__main__":
    main()
