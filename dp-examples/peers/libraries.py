"""Test areas under the ROC curve of private logistic regressions by diffprivlib and by Opacus, on the tables, designs and splits of tables.py.

    python3.11 -m venv target/diffprivlib-venv
    target/diffprivlib-venv/bin/pip install diffprivlib==0.6.6 scikit-learn==1.5.2 pandas
    DP_DATA=... target/diffprivlib-venv/bin/python dp-examples/peers/libraries.py diffprivlib --runs 20
    python3.11 -m venv target/opacus-venv
    target/opacus-venv/bin/pip install torch==2.2.2 opacus==1.4.1 'numpy<2' scipy pandas
    DP_DATA=... target/opacus-venv/bin/python dp-examples/peers/libraries.py opacus --runs 20

diffprivlib perturbs the objective (Chaudhuri, Monteleoni and Sarwate 2011) and is private with delta 0, for the values of one record; its settings are
its defaults, and the norm of a record is bounded by the largest that the public bounds allow. Opacus clips and adds noise to gradients of batches drawn at
random, at the delta of tables.py, for the presence of one record; it has no defaults for a regression, and batches of 64, 10 epochs, rate .1 and clip norm
1 are those of its MNIST example, with the noise that its engine finds for epsilon.
"""

import argparse
import math
import os
import time
import warnings

import numpy as np

from tables import DELTA, area, complete


def largest_norm(bounds):
    """Of a record's features with the intercept: every number at an end, and one indicator of each column of texts."""
    return math.sqrt(1 + len(bounds))


def diffprivlib(x, y, epsilon, seed, bounds):
    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")
    model = LogisticRegression(epsilon=epsilon, data_norm=largest_norm(bounds), fit_intercept=False, random_state=seed)
    return model.fit(x, y).coef_[0]


def opacus(x, y, epsilon, seed, _bounds):
    import torch
    from opacus import PrivacyEngine

    warnings.simplefilter("ignore")
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    data = torch.utils.data.TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    model = torch.nn.Linear(x.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimiser, loader = PrivacyEngine().make_private_with_epsilon(
        module=model, optimizer=optimiser, data_loader=loader, target_epsilon=epsilon, target_delta=DELTA, epochs=10, max_grad_norm=1.0)
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(10):
        for features, labels in loader:
            if len(labels):
                optimiser.zero_grad()
                loss(model(features)[:, 0], labels).backward()
                optimiser.step()
    return model._module.weight.detach().numpy()[0].astype(float)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=["diffprivlib", "opacus"])
    parser.add_argument("--tables", default="pima,stroke,wdbc,abalone,adult")
    parser.add_argument("--epsilons", default="0.1,0.3,1,3,10")
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    method = {"diffprivlib": diffprivlib, "opacus": opacus}[arguments.library]
    for table in arguments.tables.split(","):
        _, bounds, x, _, y = complete(table, os.environ["DP_DATA"])
        for epsilon in map(float, arguments.epsilons.split(",")):
            areas, began = [], time.process_time()
            for run in range(arguments.runs):
                order = np.random.default_rng(run).permutation(len(y))
                test, train = order[: len(y) // 5], order[len(y) // 5:]
                areas.append(area(y[test], x[test] @ method(x[train], y[train], epsilon, run, bounds)))
            error = np.std(areas) / math.sqrt(arguments.runs)
            print(f"{table:8} epsilon {epsilon:<4} {arguments.library} AUC {np.mean(areas):.3f} ± {error:.3f}; "
                  f"{(time.process_time() - began) / arguments.runs:.1f} s of processor time a fit", flush=True)


if __name__ == "__main__":
    main()
