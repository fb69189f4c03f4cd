"""Times one step of d3p (private, ChaCha20) and of NumPyro's SVI (not private) on the four workloads.

Prints one JSON object. Each library and workload runs in a process of its own, so that its peak memory is its own; the
whole loop is one compiled `fori_loop`, compiled ahead of time; the best and the median of seven blocks are given. See
README.md.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

LIBRARIES = ("numpyro", "d3p")
NAMES = ("logistic", "hierarchical", "mixture", "vae")
BLOCKS = 7


def numpyro_steps(workload):
    """A function of (columns, key) that gives a first state and one step: shuffled epochs, as NumPyro's own examples do."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.optim import Adam

    svi = SVI(workload.model, workload.guide, Adam(1e-3), Trace_ELBO(), **workload.constants)
    records, batch = len(workload.columns[0]), workload.batch
    init = lambda key: svi.init(key, *(column[:batch] for column in workload.columns))

    def step(columns, order, i, state):
        chosen = jax.lax.dynamic_slice_in_dim(order, (i * batch) % (records - batch + 1), batch)
        state, _ = svi.update(state, *(jnp.take(column, chosen, axis=0) for column in columns))
        return state

    prepare = lambda key: jax.random.permutation(key, records)
    return init, prepare, step, jax.random.PRNGKey


def d3p_steps(workload):
    """The same for d3p: batches of fixed size by its keyed permutation, noise from its ChaCha20."""
    import d3p.random
    import jax
    from d3p.minibatch import subsample_batchify_data
    from d3p.svi import DPSVI
    from numpyro.infer import Trace_ELBO
    from numpyro.optim import Adam

    svi = DPSVI(
        workload.model,
        workload.guide,
        Adam(1e-3),
        Trace_ELBO(),
        clipping_threshold=workload.clip_norm,
        dp_scale=1.0,
        **workload.constants,
    )
    init = lambda key: svi.init(key, *(column[: workload.batch] for column in workload.columns))

    def step(columns, key, i, state):
        # Made here, so that the records are an argument of the program and not a constant in it.
        _, get_batch = subsample_batchify_data(columns, workload.batch)
        state, _ = svi.update(state, *get_batch(i, key))
        return state

    return init, lambda key: key, step, d3p.random.PRNGKey


def measure(library, name, seconds):
    """Times one library on one workload, in this process."""
    import jax
    import numpy as np
    from workloads import WORKLOADS

    import numpyro  # imports count neither as compilation nor as a step

    workload = WORKLOADS[name]()
    columns = tuple(jax.device_put(column) for column in workload.columns)
    for column in columns:
        column.block_until_ready()

    started = time.perf_counter()
    init, prepare, step, key = {"numpyro": numpyro_steps, "d3p": d3p_steps}[library](workload)
    state = init(key(0))
    order = prepare(key(1))

    def loop(columns, order, first, count, state):
        return jax.lax.fori_loop(first, first + count, lambda i, state: step(columns, order, i, state), state)

    compiled = jax.jit(loop).lower(columns, order, 0, 1, state).compile()

    def run(first, count, state):
        begun = time.perf_counter()
        state = jax.block_until_ready(compiled(columns, order, first, count, state))
        return state, time.perf_counter() - begun

    state, _ = run(0, 1, state)
    first_step = time.perf_counter() - started

    # Enough steps for a block, found by doubling, which also warms up. The fastest counts: on a busy machine one stalled
    # thread would otherwise decide.
    done, count, fastest = 1, 1, float("inf")
    while True:
        for _ in range(2):
            state, taken = run(done, count, state)
            done += count
            fastest = min(fastest, taken / count)
        if count * fastest >= seconds / BLOCKS / 2:
            break
        count *= 2
    count = max(3, int(seconds / BLOCKS / fastest))
    times = []
    for _ in range(BLOCKS):
        state, taken = run(done, count, state)
        done += count
        times.append(taken / count)
    finite = all(np.isfinite(leaf).all() for leaf in jax.tree_util.tree_leaves(state.optim_state) if hasattr(leaf, "dtype"))
    return {
        "us": 1e6 * min(times),
        "median_us": 1e6 * statistics.median(times),
        "steps": count,
        "first_step_s": first_step,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "finite": bool(finite),
    }


def versions():
    """What was measured, so that a figure can be repeated."""
    from importlib.metadata import version

    return {name: version(name) for name in ("d3p", "jax", "jaxlib", "jax-chacha-prng", "numpyro", "numpy")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", choices=NAMES, action="append", help="only this one (may be repeated)")
    parser.add_argument("--seconds", type=float, default=4.0, help="time of each measurement [default: 4]")
    parser.add_argument("--one", nargs=2, metavar=("LIBRARY", "WORKLOAD"), help="measure in this process and print")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one, arguments.seconds)))
        return
    result = {"omp_num_threads": os.environ.get("OMP_NUM_THREADS"), "versions": versions(), "workloads": {}}
    for name in arguments.workload or NAMES:
        entry = result["workloads"][name] = {}
        for library in LIBRARIES:
            command = [sys.executable, __file__, "--seconds", str(arguments.seconds), "--one", library, name]
            output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            for key, value in json.loads(output).items():
                entry[f"{library}_{key}"] = value
    print(json.dumps(result))


if __name__ == "__main__":
    main()
