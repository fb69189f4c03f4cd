"""Fits of this workspace's programs of posteriordb's models, against the reference draws there.

    git clone --depth 1 https://github.com/stan-dev/posteriordb
    cargo build --release -p dp-examples --bin posteriordb
    python dp-examples/peers/posteriordb.py --checkout posteriordb [--guide independent] [--only nes,kidscore]

For each posterior whose model is written here: the root mean square over elements of the error of the means in
reference standard deviations, the geometric mean of ratios of standard deviations, Pareto k, seconds, and whether the fit
says that it has converged. Posteriors without reference draws show - where there is nothing to compare with, unless
--draws names a number of draws for each of four chains of the No-U-Turn sampler (build with --features nuts): then those
are the reference there, and their own error against reference draws is printed where there are both.
--numpyro names a Python with numpyro: its stochastic variational inference with the same guide, untuned, is then beside
(posteriordb_numpyro.py). --epsilon fits with privacy, --runs times: then the columns are the error, the ratio of deviations,
the root mean square of (mean - draw of the truth) over the stated deviation, the share of draws that 90 % intervals hold, and
the share of reports that say without more ado that intervals include the privacy noise, and with --rehearse N z and coverage of
N rehearsals of the first run (dp_vi::rehearse);
the truth is the reference draws, or our fit without privacy. --own-units makes these fits in the model's own units and not
in coordinates (DpVi::rough_fit). Without --checkout nothing is run, and that is said. Needs numpy.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np


def unpacked(path):
    """The JSON value in a zip file with one member."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(archive.namelist()[0]))


def reference(folder, name):
    """Mean and standard deviation by scalar name, or None."""
    path = os.path.join(folder, "reference_posteriors", "draws", "draws", f"{name}.json.zip")
    if name is None or not os.path.exists(path):
        return None
    chains = unpacked(path)
    joined = {key: np.concatenate([chain[key] for chain in chains]) for key in chains[0]}
    return {key: (draws.mean(), draws.std()) for key, draws in joined.items()}


def compare(sites, truth):
    """Root mean square error of means, in standard deviations, and mean log ratio of deviations."""
    errors, ratios = [], []
    for scalar, (mean, sd) in scalars(sites).items():
        true = truth.get(scalar, truth.get(f"{scalar}[1]"))
        if true is None:
            continue
        errors.append((mean - true[0]) / true[1])
        ratios.append(math.log(max(sd, 1e-300) / true[1]))
    if not errors:
        return None
    return math.sqrt(np.mean(np.square(errors))), math.exp(np.mean(ratios)), len(errors)


def run(arguments, posterior, data, extra):
    """What the program prints, or its error."""
    command = [arguments.program, posterior["model_name"], "--data", data, *extra]
    done = subprocess.run(command, capture_output=True, text=True)
    return (None, done.stderr.strip()[:100]) if done.returncode else (json.loads(done.stdout), None)


def beside(arguments, posterior, data):
    """What NumPyro's inference finds, or None."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "posteriordb_numpyro.py")
    command = [arguments.numpyro, script, posterior["model_name"], "--data", data, "--guide", arguments.guide]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    return None if done.returncode else json.loads(done.stdout)


def normal(x):
    """The standard normal's distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def private(arguments, posterior, data, truth):
    """Errors, ratios, z and coverage of fits with privacy, over values and runs, how many reports say without a
    reservation that intervals include the privacy noise, and what rehearsals of the first run find, if there are any."""
    errors, ratios, z, held, plain, rehearsed = [], [], [], [], 0, []
    for seed in range(arguments.runs):
        extra = ["--guide", arguments.guide, "--epsilon", str(arguments.epsilon), "--seed", str(seed)]
        extra += ["--own-units"] if arguments.own_units else []
        extra += ["--rehearse", str(arguments.rehearse)] if arguments.rehearse and seed == 0 else []
        found, wrong = run(arguments, posterior, data, extra)
        if found is None:
            return wrong
        if found["rehearsed"]:
            share, error = found["rehearsed"]
            rehearsed = [math.nan if error is None else error, math.nan if share is None else share]
        plain += (found["intervals"] or "").startswith("include the privacy noise")
        for scalar, (mean, sd) in scalars(found["sites"]).items():
            true = truth.get(scalar, truth.get(f"{scalar}[1]"))
            if true is None or not true[1] > 0:
                continue
            if mean is None or not sd:
                return "a mean is not finite, or a deviation zero"
            errors.append((mean - true[0]) / true[1])
            ratios.append(math.log(sd / true[1]))
            z.append(math.hypot(mean - true[0], true[1]) / sd)
            low, high = mean - 1.645 * sd, mean + 1.645 * sd
            held.append(normal((high - true[0]) / true[1]) - normal((low - true[0]) / true[1]))
    rms = lambda values: math.sqrt(np.mean(np.square(values)))
    return [rms(errors), math.exp(np.mean(ratios)), rms(z), np.mean(held), plain / arguments.runs] + rehearsed


def scalars(sites):
    """Mean and standard deviation by scalar name."""
    every = {}
    for site, moments in sites.items():
        for k, pair in enumerate(zip(moments["mean"], moments["sd"])):
            every[site if len(moments["mean"]) == 1 else f"{site}[{k + 1}]"] = pair
    return every


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", help="a checkout of posteriordb")
    parser.add_argument("--program", default="target/release/posteriordb")
    parser.add_argument("--guide", default="correlated", choices=["correlated", "independent"])
    parser.add_argument("--steps", type=int, help="a number of steps of the optimiser, instead of until convergence")
    parser.add_argument("--draws", type=int, help="draws in each chain of the No-U-Turn sampler, beside")
    parser.add_argument("--numpyro", metavar="PYTHON", help="a Python that has numpyro, to run its inference beside")
    parser.add_argument("--epsilon", type=float, help="fit with privacy: epsilon, at delta 1e-5 under add/remove")
    parser.add_argument("--own-units", action="store_true", help="with --epsilon: not in coordinates from a fit to made-up records")
    parser.add_argument("--rehearse", type=int, help="with --epsilon: so many rehearsals of the first fit of each model")
    parser.add_argument("--runs", type=int, default=4, help="private fits of each model")
    parser.add_argument("--only", help="parts of names of posteriors, separated by commas")
    arguments = parser.parse_args()
    if not arguments.checkout:
        print("SKIPPED: no --checkout of posteriordb was named, so nothing was compared", file=sys.stderr)
        return
    folder = os.path.join(arguments.checkout, "posterior_database")
    written = set(subprocess.run([arguments.program, "list"], capture_output=True, text=True, check=True).stdout.split())
    wanted = arguments.only.split(",") if arguments.only else [""]
    if arguments.epsilon:
        more = (" rehearsed z | coverage |", "---|---|") if arguments.rehearse else ("", "")
        print(f"| posterior | error | sd ratio | z | coverage | says so |{more[0]}\n|---|---|---|---|---|---|{more[1]}")
    else:
        print("| posterior | elements | error | sd ratio | Pareto k | converged | seconds | sampler | NumPyro |\n|---|---|---|---|---|---|---|---|---|")
    peers = set()
    if arguments.numpyro:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "posteriordb_numpyro.py")
        peers = set(subprocess.run([arguments.numpyro, script, "list"], capture_output=True, text=True, check=True).stdout.split())
    for file in sorted(os.listdir(os.path.join(folder, "posteriors"))):
        with open(os.path.join(folder, "posteriors", file)) as described:
            posterior = json.load(described)
        name = posterior["name"]
        if posterior["model_name"] not in written or not any(part in name for part in wanted):
            continue
        data = os.path.join(folder, "data", "data", posterior["data_name"] + ".json.zip")
        if not os.path.exists(data):
            print(f"| {name} | | the data are not in this checkout | | | | | |")
            continue
        truth = reference(folder, posterior.get("reference_posterior_name"))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as plain:
            json.dump(unpacked(data), plain)
            plain.flush()
            extra = ["--guide", arguments.guide] + (["--steps", str(arguments.steps)] if arguments.steps else [])
            found, wrong = run(arguments, posterior, plain.name, extra)
            if arguments.epsilon and found:
                line = private(arguments, posterior, plain.name, truth or scalars(found["sites"]))
                words = [line] if isinstance(line, str) else [format(x, ".3g") for x in line]
                print(f"| {name} | {' | '.join(words)} |", flush=True)
                continue
            peer = beside(arguments, posterior, plain.name) if posterior["model_name"] in peers else None
            chains = run(arguments, posterior, plain.name, ["--draws", str(arguments.draws)])[0] if arguments.draws else None
        if found is None:
            print(f"| {name} | | {wrong} | | | | | | |", flush=True)
            continue
        sampler, theirs = "-", "-"
        if chains:
            own = compare(chains["sites"], truth) if truth else None
            sampler = f"{chains['seconds']:.1f} s, R-hat {chains['r_hat']:.3f}" + (f", error {own[0]:.3f}" if own else "")
            truth = truth or scalars(chains["sites"])
        compared = compare(found["sites"], truth) if truth else None
        if peer:
            error = compare(peer["sites"], truth) if truth else None
            theirs = (f"{error[0]:.3f}, {error[1]:.3f}, " if error else "") + f"{peer['seconds']:.1f} s"
        error, ratio, elements = compared or (math.nan, math.nan, len(scalars(found["sites"])))
        number = lambda x, form: "-" if x is None or x != x else format(x, form)
        print(f"| {name} | {elements} | {number(error, '.3f')} | {number(ratio, '.3f')} | {number(found['pareto_k'], '.2f')} "
              f"| {'yes' if found['converged'] else 'NO'} | {found['seconds']:.2f} | {sampler} | {theirs} |", flush=True)


if __name__ == "__main__":
    main()
