"""Times NumPyro and the laws of benches/throughput.rs in turn, and prints a table: throughput.py BENCH_PROGRAM [PART OF A NAME]...

Nanoseconds an outcome, of arrays of 10,000, in double precision on both sides; compiled, compilation not counted; the best of all short runs of
several rounds, in each of which ours, rand_distr and NumPyro have their turn: so the machine may be busy. Both sides of a draw make their own
noise (ours and rand_distr's from ChaCha8, JAX's from Threefry).
"""
import math
import os
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

jax.config.update("jax_enable_x64", True)
COUNT = 10_000
ROUNDS = 5
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
    """An outcome; the best of as many calls as fit into a tenth of a second, or of 30 at least."""
    compiled = jax.jit(function).lower(*arguments).compile()
    call = lambda: jax.block_until_ready(compiled(*arguments))
    call()

    def best():
        begun, least, calls = time.perf_counter(), math.inf, 0
        while calls < 30 or (time.perf_counter() - begun < 0.1 and calls < 2000):
            start = time.perf_counter()
            call()
            least, calls = min(least, time.perf_counter() - start), calls + 1
        return 1e9 * least / COUNT

    return best


def theirs(name):
    law, parameters = LAWS[name]
    parameters = [jnp.float64(p) for p in parameters]
    draw = lambda key, p: law(*p).sample(key, (COUNT,))
    x = jax.jit(draw)(jax.random.PRNGKey(1), parameters)
    density = lambda x, p: law(*p).log_prob(x)
    total = lambda p, x: density(x, p).sum()
    return [
        nanoseconds(draw, jax.random.PRNGKey(0), parameters),
        nanoseconds(density, x, parameters),
        nanoseconds(jax.grad(total), parameters, x),
    ]


def main():
    bench, chosen = sys.argv[1], sys.argv[2:]
    print(f"NumPyro {numpyro.__version__}, JAX {jax.__version__}; nanoseconds an outcome, double precision\n")
    print("| law | draw: program alone | with its noise | and its gradient | rand_distr | NumPyro | log density | NumPyro | gradient | NumPyro |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    ours = subprocess.Popen([bench, "--bench"], env={**os.environ, "ANSWER": "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for name in LAWS:
        if chosen and not any(part in name for part in chosen):
            continue
        timed, mine, other = theirs(name), [], []
        for _ in range(ROUNDS):
            ours.stdin.write(name + "\n")
            ours.stdin.flush()
            mine.append([math.inf if word == "-" else float(word) for word in ours.stdout.readline().split()])
            other.append([best() for best in timed])
        value, gradient, alone, noise, slope, rand = map(min, zip(*mine))
        drawn, their_value, their_gradient = map(min, zip(*other))
        text = lambda number: "" if math.isinf(number) else f"{number:.3g}"
        cells = [alone, noise, slope, rand, drawn, value, their_value, gradient, their_gradient]
        print(f"| {name} | " + " | ".join(text(cell) for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
