"""Writes optimisers.csv: parameters after every step of optimisers on a fixed, made-up sequence of gradients.

    gradient of element j at step t = (j + 1) sin(1.3 t + 0.7 j) - x_j / 4,    x = (1, -2, 0.5) at first, uphill

Stages are optax's, in double precision, added with a plus sign. Yogi's first moment starts at zero, as in the paper; optax starts
it at the second moment's first value. ADADP is not in optax: it is written out here from algorithm 2 of arXiv 1809.03832.

Run: python3 optimisers.py > optimisers.csv   (Python 3, optax 0.2.8, jax 0.10.2)
"""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import numpy as np
import optax

STEPS, RATE = 24, 0.05


def gradient(t, x):
    j = np.arange(3)
    return (j + 1) * np.sin(1.3 * t + 0.7 * j) - np.asarray(x) / 4


def constant(stage):
    return optax.chain(stage, optax.scale(RATE))


def double(schedule):
    """optax counts in 32 bits, and would compute the rate in single precision."""
    return optax.scale_by_schedule(lambda t: schedule(jnp.asarray(t, jnp.float64)))


def half_cosine(t):
    return RATE * 0.5 * (1 + jnp.cos(jnp.pi * jnp.clip(2 * t / STEPS - 1, 0, 1)))


OPTAX = {
    "sgd": constant(optax.identity()),
    "momentum": constant(optax.trace(0.9)),
    "nesterov": constant(optax.trace(0.9, nesterov=True)),
    "adam": constant(optax.scale_by_adam()),
    "adagrad": constant(optax.scale_by_rss()),
    "rmsprop": constant(optax.scale_by_rms()),
    "yogi": constant(optax.scale_by_yogi()),
    "adam_hold_then_cosine": optax.chain(optax.scale_by_adam(), double(half_cosine)),
    "adam_warm_up_then_cosine": optax.chain(
        optax.scale_by_adam(),
        double(
            optax.join_schedules(
                [optax.linear_schedule(RATE / 5, RATE, 4), optax.cosine_decay_schedule(RATE, STEPS - 5)], [5]
            )
        ),
    ),
    "adam_step": optax.chain(
        optax.scale_by_adam(), double(optax.exponential_decay(RATE, 7, 0.5, staircase=True))
    ),
}


def run_optax(name):
    optimiser, x = OPTAX[name], jnp.array([1.0, -2.0, 0.5])
    state = optimiser.init(x)
    if name == "yogi":
        state = (state[0]._replace(mu=jnp.zeros(3)), *state[1:])
    for t in range(STEPS):
        update, state = optimiser.update(jnp.array(gradient(t, x)), state, x)
        x = x + update
        yield np.asarray(x)


def run_adadp(rate, tolerance):
    x = np.array([1.0, -2.0, 0.5])
    for t in range(0, STEPS, 2):
        whole = x + rate * gradient(t, x)
        half = x + 0.5 * rate * gradient(t, x)
        yield half
        both = half + 0.5 * rate * gradient(t + 1, half)
        error = np.sqrt(np.sum(((whole - both) / np.maximum(1, np.abs(whole))) ** 2))
        rate *= min(max(np.sqrt(tolerance / error), 0.9), 1.1)
        x = both if error <= tolerance else x
        yield x


print("optimiser,step,x0,x1,x2")
runs = {name: run_optax(name) for name in OPTAX}
runs["adadp_rejecting"] = run_adadp(0.5, 0.3)
runs["adadp_growing"] = run_adadp(0.01, 0.3)
for name, run in runs.items():
    for t, x in enumerate(run):
        print(f"{name},{t}," + ",".join(repr(float(v)) for v in x))
