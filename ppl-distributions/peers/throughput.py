"""Times NumPyro on the laws of benches/throughput.rs and prints a table with what criterion measured: throughput.py CRITERION_FOLDER.

Nanoseconds an outcome, of arrays of 10,000, in double precision on both sides; compiled, compilation not counted; the best of seven blocks of
NumPyro and criterion's medians of ours and rand_distr's. Both sides of a draw make their own noise (ours and rand_distr's from
ChaCha8, JAX's from Threefry).
"""
import json
import pathlib
import sys
import time

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

jax.config.update("jax_enable_x64", True)
COUNT = 10_000
FACTOR = jnp.array([[0.0 if i < j else 1.0 if i == j else 0.1 * (i + j) for j in range(5)] for i in range(5)])

LAWS = {
    "Normal": (dist.Normal, [0.5, 1.5]),
    "LogNormal": (dist.LogNormal, [0.5, 0.5]),
    "Cauchy": (dist.Cauchy, [0.5, 1.5]),
    "Gumbel": (dist.Gumbel, [0.5, 1.5]),
    "Exponential": (dist.Exponential, [1.5]),
    "Gamma, shape 0.3": (dist.Gamma, [0.3, 1.5]),
    "Gamma, shape 2.5": (dist.Gamma, [2.5, 1.5]),
    "Gamma, shape 50": (dist.Gamma, [50.0, 1.5]),
    "Beta": (dist.Beta, [2.5, 1.5]),
    "StudentT": (dist.StudentT, [5.0, 0.5, 1.5]),
    "Weibull": (dist.Weibull, [1.5, 2.5]),
    "VonMises": (dist.VonMises, [0.5, 2.5]),
    "TruncatedNormal": (lambda m, s, a, b: dist.TruncatedNormal(m, s, low=a, high=b), [0.5, 1.5, -1.0, 2.0]),
    "Bernoulli": (lambda a: dist.Bernoulli(logits=a), [0.4]),
    "Poisson, rate 3.5": (dist.Poisson, [3.5]),
    "Poisson, rate 200": (dist.Poisson, [200.0]),
    "Binomial, n 20": (lambda a: dist.Binomial(20, logits=a), [-0.4]),
    "Binomial, n 1000": (lambda a: dist.Binomial(1000, logits=a), [-0.4]),
    "Geometric": (lambda a: dist.Geometric(logits=a), [-0.4]),
    "Categorical, 5": (lambda *a: dist.Categorical(logits=jnp.stack(a)), [0.4, 0.3, -1.0, 0.5, 1.2]),
    "Dirichlet, 3": (lambda *a: dist.Dirichlet(jnp.stack(a)), [0.7, 2.5, 1.2]),
    "MultivariateNormal, 5": (lambda m, s: dist.MultivariateNormal(jnp.full(5, m), scale_tril=s * FACTOR), [0.5, 1.5]),
}


def nanoseconds(function, *arguments):
    """An outcome; the best of seven blocks of about a twentieth of a second each, or of seven calls."""
    compiled = jax.jit(function).lower(*arguments).compile()
    call = lambda: jax.block_until_ready(compiled(*arguments))

    def block(count):
        begun = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begun) / count

    count = max(1, int(0.05 / max(block(3), 1e-6)))
    return 1e9 * min(block(count) for _ in range(7)) / COUNT


def theirs(name):
    law, parameters = LAWS[name]
    parameters = [jnp.float64(p) for p in parameters]
    draw = lambda key, p: law(*p).sample(key, (COUNT,))
    x = jax.jit(draw)(jax.random.PRNGKey(1), parameters)
    density = lambda x, p: law(*p).log_prob(x)
    total = lambda p, x: density(x, p).sum()
    return {
        "draw": nanoseconds(draw, jax.random.PRNGKey(0), parameters),
        "value": nanoseconds(density, x, parameters),
        "gradient": nanoseconds(jax.grad(total), parameters, x),
    }


def ours(folder, group, name, function):
    # Criterion makes a folder of a name by putting _ for what a file may not be called.
    for path in folder.glob("*/*/new/benchmark.json"):
        told = json.loads(path.read_text())
        if (told["group_id"], told["function_id"]) == (f"{group}/{name}", function):
            estimates = json.loads((path.parent / "estimates.json").read_text())
            return estimates["median"]["point_estimate"] / COUNT
    return None


def main():
    folder = pathlib.Path(sys.argv[1])
    print(f"NumPyro {numpyro.__version__}, JAX {jax.__version__}; nanoseconds an outcome, double precision\n")
    print("| law | draw: program alone | with its noise | rand_distr | NumPyro | log density | NumPyro | gradient | NumPyro |")
    print("|---|---|---|---|---|---|---|---|---|")
    text = lambda number: "" if number is None else f"{number:.3g}"
    for name in LAWS:
        mine = [ours(folder, "draw", name, f) for f in ("program", "program, with its noise", "rand_distr, with its noise")]
        if mine[0] is None:
            continue
        value, gradient = (ours(folder, "log density", name, f) for f in ("value", "gradient"))
        other = theirs(name)
        cells = [*mine, other["draw"], value, other["value"], gradient, other["gradient"]]
        print(f"| {name} | " + " | ".join(text(cell) for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
