"""Times the index samplers of d3p and JAX and prints a table with ours: peers.py OURS.json [SECONDS].

A sampler's whole loop is one compiled `fori_loop` that adds up the indices it draws, so that nothing is optimised away and
nothing but drawing is timed. Compilation is not counted. The best of seven blocks counts, for ours as well.
"""

import json
import sys
import time

import d3p.random
import jax
import jax.numpy as jnp
from d3p.minibatch import subsample_batchify_data

SIZES = ((100, 10_000), (128, 60_000), (10_000, 10_000_000))


def d3p_feistel(batch, records):
    """Fixed size by d3p's keyed permutation; the ChaCha20 key is folded with the step, as in its training loop."""
    _, get_batch = subsample_batchify_data((jnp.arange(records),), batch)
    return lambda i, key: get_batch(i, key)[0], d3p.random.PRNGKey(0)


def jax_choice(batch, records):
    draw = lambda i, key: jax.random.choice(jax.random.fold_in(key, i), records, (batch,), replace=False)
    return draw, jax.random.PRNGKey(0)


def jax_permutation(batch, records):
    """A whole order, of which an epoch's steps are slices; its time is divided by their number."""
    return lambda i, key: jax.random.permutation(jax.random.fold_in(key, i), records), jax.random.PRNGKey(0)


def d3p_with_replacement(batch, records):
    _, get_batch = subsample_batchify_data((jnp.arange(records),), batch, with_replacement=True)
    return lambda i, key: get_batch(i, key)[0], d3p.random.PRNGKey(0)


def jax_bernoulli(batch, records):
    """Poisson sampling without its indices: one uniform number per record, compared with the rate."""
    draw = lambda i, key: jax.random.bernoulli(jax.random.fold_in(key, i), batch / records, (records,))
    return draw, jax.random.PRNGKey(0)


def measure(make, batch, records, seconds):
    """Microseconds a draw."""
    draw, key = make(batch, records)

    def loop(first, count, key):
        add = lambda i, total: total + draw(i, key).sum(dtype=jnp.uint32)
        return jax.lax.fori_loop(first, first + count, add, jnp.uint32(0))

    compiled = jax.jit(loop).lower(0, 1, key).compile()

    def block(count):
        begun = time.perf_counter()
        compiled(0, count, key).block_until_ready()
        return time.perf_counter() - begun

    # A draw that takes longer than a measurement is timed once.
    count, taken = 1, block(1)
    if taken > seconds:
        return 1e6 * taken
    while block(count) < seconds / 14:
        count *= 2
    return 1e6 * min(block(count) for _ in range(7)) / count


def text(us):
    return f"{us:.2f} µs" if us < 100 else f"{us:,.0f} µs" if us < 1e4 else f"{us / 1000:,.1f} ms"


def main():
    with open(sys.argv[1]) as file:
        ours = json.load(file)
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    rows = (
        ("without replacement, by a keyed permutation", "permutation", (d3p_feistel,)),
        ("without replacement, exact", "fixed", (jax_choice,)),
        ("shuffled epochs, a step", "shuffle", (jax_permutation,)),
        ("with replacement", "with replacement", (d3p_with_replacement,)),
        ("Poisson", "poisson", (jax_bernoulli,)),
        ("balls in bins", "balls in bins", ()),
    )
    print("| draw | size | ours | peer | peer / ours |\n|---|---|---|---|---|")
    for title, name, peers in rows:
        for batch, records in SIZES:
            our = ours["draws_us"][f"{name}, {batch} of {records}"]
            theirs, ratio = "-", "-"
            for peer in peers:
                us = measure(peer, batch, records, seconds)
                if peer is jax_permutation:
                    us /= -(-records // batch)
                theirs, ratio = f"{peer.__name__} {text(us)}", f"{us / our:,.0f}×"
            print(f"| {title} | {batch} of {records:,} | {text(our)} | {theirs} | {ratio} |", flush=True)
    size = ours["order_of"]
    print(
        f"\nA whole order of {size:,}: keyed permutation {ours['permutation_s']:.2f} s, peak {ours['permutation_peak_mb']:.0f} MB; "
        f"shuffle of the crate rand {ours['rand_shuffle_s']:.2f} s, {ours['rand_shuffle_peak_mb']:.0f} MB."
    )


if __name__ == "__main__":
    main()
