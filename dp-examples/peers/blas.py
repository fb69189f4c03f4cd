"""What a BLAS needs for the products of a clipped sum of logistic regression: batch 10,000, d 100, double precision.

A clipped sum cannot do without three products of the size of a matrix by a vector: the logits X w, the squared norms of the
records (X o X) 1, and the weighted sum X' r. Here each is one call of OpenBLAS (the one NumPy brings) on rows that lie one after
the other, the squares made beforehand; drawing, gathering, the likelihood and the weights are left out. Prints the best times in
microseconds of each, and their sum, as JSON. OPENBLAS_NUM_THREADS says how many threads; compare with

    RAYON_NUM_THREADS=1 cargo bench -p ppl-core --bench record_gradient -- 'd 100'
"""

import json
import os
import platform
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402 (after the number of threads has been set)

RECORDS, WIDTH, CALLS = 10_000, 100, 1_000


def main():
    random = np.random.default_rng(1)
    rows = random.normal(size=(RECORDS, WIDTH))
    squares = rows * rows
    weights, residuals, ones = random.normal(size=WIDTH), random.normal(size=RECORDS), np.ones(WIDTH)
    products = {
        "logits": lambda: rows @ weights,
        "squared_norms": lambda: squares @ ones,
        "weighted_sum": lambda: rows.T @ residuals,
    }
    best = dict.fromkeys(products, float("inf"))
    # In turn, so that each finds the caches as a step would.
    for _ in range(CALLS):
        for name, product in products.items():
            start = time.perf_counter()
            product()
            best[name] = min(best[name], 1e6 * (time.perf_counter() - start))
    told = {name: round(time, 1) for name, time in best.items()}
    told["sum"] = round(sum(best.values()), 1)
    told["threads"] = int(os.environ["OPENBLAS_NUM_THREADS"])
    told["numpy"], told["python"] = np.__version__, platform.python_version()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
