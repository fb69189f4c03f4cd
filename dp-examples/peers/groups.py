"""How often 90 % intervals of `fit` hold what made-up tables with many groups were made with.

    python groups.py --fit target/release/fit [--groups 8,20,44] [--records 3000] [--runs 10] [--epsilon 0.1,0.3,1,3]

Outcomes are Bernoulli with log odds `x + u_g`: x uniform on [-1, 1], as many groups as are named, of about equal size,
and effects N(0, s^2) with s of 0.3, 1 and 2. The regression is `y ~ x + (1 | g)` with its default priors, of which that
of s is half-normal of scale 2. A row has the spreads held and their mean, the slopes (of 1) held and their mean. Needs
numpy.
"""
import argparse, pathlib, re, subprocess, tempfile

import numpy as np

NUMBER = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"
SPREAD = re.compile(rf"^sd\(g, Intercept\)\s+{NUMBER}\s+{NUMBER}\s+\[{NUMBER}, {NUMBER}\]", re.M)
SLOPE = re.compile(rf"^x\s+{NUMBER}\s+{NUMBER}\s+\[{NUMBER}, {NUMBER}\]", re.M)


def table(random, groups, records, spread, folder):
    effects = random.normal(0, spread, groups)
    group, x = random.integers(0, groups, records), random.uniform(-1, 1, records)
    y = random.random(records) < 1 / (1 + np.exp(-(x + effects[group])))
    lines = [f"{a:.4f},{int(b)},g{c}\n" for a, b, c in zip(x, y, group)]
    (folder / "t.csv").write_text("x,y,g\n" + "".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", default="target/release/fit")
    parser.add_argument("--groups", default="8,20,44")
    parser.add_argument("--records", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", default="0.1,0.3,1,3")
    given = parser.parse_args()
    fit = str(pathlib.Path(given.fit).resolve())
    print("| groups | s | ε | spreads held | their mean | slopes held | their mean |\n|---|---|---|---|---|---|---|")
    for groups in map(int, given.groups.split(",")):
        for spread in (0.3, 1.0, 2.0):
            random, rows = np.random.default_rng(groups), {}
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                names = ", ".join(f"'g{k}'" for k in range(groups))
                (folder / "t.toml").write_text(f"x = [-1, 1]\ny = [0, 1]\ng = [{names}]\n")
                for run in range(given.runs):
                    table(random, groups, given.records, spread, folder)
                    for epsilon in given.epsilon.split(","):
                        options = f"--family bernoulli --epsilon {epsilon} --delta 1e-6 --test-seed-not-private {run}"
                        command = [fit, "y ~ x + (1 | g)", "t.csv", "--schema", "t.toml", *options.split()]
                        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
                        found = [list(map(float, pattern.search(said).groups())) for pattern in (SPREAD, SLOPE)]
                        rows.setdefault(epsilon, []).append(found)
            for epsilon, found in rows.items():
                found = np.array(found)
                row = f"| {groups} | {spread} | {epsilon} |"
                for k, truth in ((0, spread), (1, 1.0)):
                    held = np.mean((found[:, k, 2] <= truth) & (truth <= found[:, k, 3]))
                    row += f" {held:.2f} | {found[:, k, 0].mean():.2f} |"
                print(row, flush=True)


main()
