"""Random settings of every kind, answered by dp-accountant, dp_accounting and prv_accountant: their intervals have to meet.

    differential.py COMMAND [SETTINGS [SEED]]

COMMAND is the program dp-accountant. Truth lies between the ends of ours, below dp_accounting's pessimistic answer and above its
optimistic one (loss distributions on a grid), and, for Poisson samples, within prv_accountant's bounds. Two intervals of the same
truth that do not meet prove that one of them is wrong: the setting is printed, and the exit code is 1. Where a peer refuses a
setting or fails, that is counted; where it takes long, nothing is done about it.
"""
import json, math, subprocess, sys, time, warnings

import numpy as np

warnings.filterwarnings("ignore")
import dp_accounting
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from prv_accountant import PRVAccountant
from prv_accountant.privacy_random_variables import PoissonSubsampledGaussianMechanism

GRID = 1e-4


def setting(rng):
    """A mechanism, a sampling and a number of steps in the words of the command, and what peers need."""
    steps = int(round(math.exp(rng.uniform(0, math.log(2000)))))
    noise = math.exp(rng.uniform(math.log(0.4), math.log(20)))
    rate = math.exp(rng.uniform(math.log(1e-3), math.log(0.9)))
    delta = 10 ** rng.uniform(-8, -2)
    kind = rng.choice(["poisson", "poisson", "poisson", "none", "none", "fixed", "laplace", "laplace_poisson", "response", "discrete"])
    relation = "add-remove"
    if kind == "none":
        noise *= math.sqrt(steps)
        event, relation = f"gaussian:noise_multiplier={noise!r}@none@{steps}", str(rng.choice(["add-remove", "replace-one"]))
    elif kind == "poisson":
        event = f"gaussian:noise_multiplier={noise!r}@poisson:{rate!r}@{steps}"
    elif kind == "fixed":
        records = int(rng.integers(50, 5000))
        batch = max(1, int(records * rate))
        rate = batch / records
        event, relation = f"gaussian:noise_multiplier={noise!r}@fixed:{batch}/{records}@{steps}", "replace-one"
    elif kind == "laplace":
        steps = min(steps, 50)
        noise *= math.sqrt(steps)
        event = f"laplace:scale={noise!r}@none@{steps}"
    elif kind == "laplace_poisson":
        steps = min(steps, 200)
        event = f"laplace:scale={noise!r}@poisson:{rate!r}@{steps}"
    elif kind == "response":
        steps, categories = min(steps, 30), int(rng.integers(2, 20))
        truth = (1 + rng.uniform(0.05, 0.9) * (categories - 1)) / categories
        event, relation = f"randomized-response:categories={categories},truth_probability={truth!r}@none@{steps}", "replace-one"
        noise = (categories, truth)
    else:
        steps = min(steps, 50)
        noise = max(noise, 1.0)
        event = f"discrete-gaussian:sigma={noise!r},sensitivity=1@none@{steps}"
    return kind, event, relation, steps, noise, rate, delta


def peer_pld(kind, relation, steps, noise, rate, pessimistic):
    kwargs = {"value_discretization_interval": GRID, "pessimistic_estimate": pessimistic}
    if kind in ("none", "poisson"):
        shift = 2 if relation == "replace-one" else 1
        sampling = rate if kind == "poisson" else 1.0
        one = pld.from_gaussian_mechanism(noise / shift, sampling_prob=sampling, **kwargs)
    elif kind in ("laplace", "laplace_poisson"):
        one = pld.from_laplace_mechanism(noise, sampling_prob=rate if kind == "laplace_poisson" else 1.0, **kwargs)
    elif kind == "response":
        categories, truth = noise
        # Its noise parameter is the probability of an answer that is drawn from all categories.
        one = pld.from_randomized_response(1 - (truth * categories - 1) / (categories - 1), categories, **kwargs)
    elif kind == "discrete":
        one = pld.from_discrete_gaussian_mechanism(noise, **kwargs)
    else:
        return None
    return one.self_compose(steps)


def main():
    command, count, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000, int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng = np.random.default_rng(seed)
    compared, declined, widths, wrong = {}, {}, [], []
    began = time.time()
    for _ in range(count):
        kind, event, relation, steps, noise, rate, delta = setting(rng)
        told = subprocess.run([command, "compose", "--event", event, "--relation", relation, "--delta", repr(delta), "--json"],
                              capture_output=True, text=True)
        if told.returncode:
            wrong.append((event, relation, delta, told.stderr.strip()))
            continue
        epsilon = json.loads(told.stdout)["epsilon"]
        lower, upper = epsilon["lower"], epsilon["upper"]
        if upper > 0:
            widths.append((upper - lower) / max(upper, 1e-3))
        peers = []
        try:
            if kind == "fixed":
                rdp = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
                # A replaced record moves a sum of contributions of norm C by up to 2C, and its multiplier is over that.
                gaussian = dp_accounting.GaussianDpEvent(noise / 2)
                sampled = dp_accounting.SampledWithoutReplacementDpEvent(1000, max(1, round(1000 * rate)), gaussian)
                # Its rate has to be ours, or more.
                if round(1000 * rate) / 1000 >= rate:
                    peers.append(("dp_accounting, Rényi", 0.0, rdp.compose(sampled, steps).get_epsilon(delta)))
            else:
                most = peer_pld(kind, relation, steps, noise, rate, True).get_epsilon_for_delta(delta)
                try:
                    least = peer_pld(kind, relation, steps, noise, rate, False).get_epsilon_for_delta(delta)
                except Exception:
                    least = 0.0
                peers.append(("dp_accounting", least, most))
        except Exception as error:
            declined[kind, type(error).__name__] = declined.get((kind, type(error).__name__), 0) + 1
        if kind == "poisson" and upper < 30 and rng.random() < 0.3:
            try:
                prv = PRVAccountant(prvs=[PoissonSubsampledGaussianMechanism(sampling_probability=rate, noise_multiplier=noise)],
                                    max_self_compositions=[steps], eps_error=0.05, delta_error=delta * 1e-3)
                least, _, most = prv.compute_epsilon(delta, [steps])
                peers.append(("prv_accountant", least, most))
            except Exception as error:
                declined["prv", type(error).__name__] = declined.get(("prv", type(error).__name__), 0) + 1
        for name, least, most in peers:
            compared[kind, name] = compared.get((kind, name), 0) + 1
            # A peer's own floating-point errors are in no bound of its: a millionth is allowed for them.
            slack = 1e-6 * (1 + most)
            if upper < least - slack or lower > most + slack:
                wrong.append((event, relation, delta, f"ours [{lower}, {upper}], {name} [{least}, {most}]"))
    print(f"{count} settings (seed {seed}), {time.time() - began:.0f} s; width of ours over epsilon: median {np.median(widths):.1e}, largest {np.max(widths):.1e}")
    print("| kind | peer | compared |\n|---|---|---|")
    for (kind, name), number in sorted(compared.items()):
        print(f"| {kind} | {name} | {number} |")
    for (kind, error), number in sorted(declined.items()):
        print(f"{kind}: {error} of a peer in {number} settings")
    print(f"{len(wrong)} that do not meet")
    for line in wrong:
        print(*line)
    sys.exit(1 if wrong else 0)


main()
