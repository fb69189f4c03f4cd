"""The four workloads as NumPyro programs: data by formula, model, guide, batch size.

Every model is written so that `dp-examples/src/harness/bench` can state the same one: independent normals over unconstrained
values as guide, no local latent values except in the VAE. Arrays are single precision, JAX's default.
"""

from dataclasses import dataclass, field
from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.example_libraries import stax
from numpyro import param, plate, sample


@dataclass
class Workload:
    """What one measurement needs: columns of records, model and guide over a batch of them, and their constants."""

    columns: tuple
    batch: int
    model: Callable
    guide: Callable
    clip_norm: float
    constants: dict = field(default_factory=dict)


def mean_field(name, shape, event_dims, family=dist.Normal):
    """An independent normal (or log-normal) for each element of one site, starting at 0 with standard deviation 0.1."""
    loc = param(f"{name}_loc", jnp.zeros(shape))
    scale = jnp.exp(param(f"{name}_log_scale", jnp.full(shape, np.log(0.1))))
    return sample(name, family(loc, scale).to_event(event_dims))


def logistic():
    """w ~ N(0, 4²), y ~ Bernoulli(logit = x·w); 10,000 records of 5 features, batches of 100."""
    records, width = 10_000, 5
    random = np.random.default_rng(1)
    x = random.standard_normal((records, width)).astype(np.float32)
    weights = np.array([-0.8, -2.0, 0.6, 0.75, -0.3])
    y = (random.random(records) < 1 / (1 + np.exp(-x @ weights))).astype(np.float32)

    def model(x, y):
        w = sample("w", dist.Normal(jnp.zeros(width), 4.0).to_event(1))
        with plate("records", records, x.shape[0]):
            sample("y", dist.Bernoulli(logits=x @ w), obs=y)

    def guide(x, y):
        mean_field("w", (width,), 1)

    return Workload((x, y), 100, model, guide, clip_norm=1.0)


def hierarchical():
    """M ~ N(0, 4²), w_l ~ N(M g_l, I), y ~ Bernoulli(logit = x·w_l); 500 records, 5 features, 3 groups; batches of 50."""
    records, width, groups, traits = 500, 5, 3, 3
    random = np.random.default_rng(2)
    g = random.standard_normal((groups, traits)).astype(np.float32)
    weights = g @ random.standard_normal((width, traits)).T + random.standard_normal((groups, width))
    x = random.standard_normal((records, width)).astype(np.float32)
    group = random.integers(0, groups, records).astype(np.int32)
    y = (random.random(records) < 1 / (1 + np.exp(-(x * weights[group]).sum(1)))).astype(np.float32)

    def model(x, group, y, g):
        m = sample("M", dist.Normal(jnp.zeros((width, traits)), 4.0).to_event(2))
        ws = sample("ws", dist.Normal(g @ m.T, 1.0).to_event(2))
        with plate("records", records, x.shape[0]):
            sample("y", dist.Bernoulli(logits=jnp.einsum("nd,nd->n", x, ws[group])), obs=y)

    def guide(x, group, y, g):
        mean_field("M", (width, traits), 2)
        mean_field("ws", (groups, width), 2)

    return Workload((x, group, y), 50, model, guide, clip_norm=1.0, constants={"g": g})


def mixture():
    """π = softmax(a), a ~ N(0, 1), μ ~ N(0, 10²), s ~ HalfNormal(2), x ~ Σ π_j N(μ_j, s_j² I); k 5, d 2, 2,000 records."""
    from jax.scipy.special import logsumexp

    records, components, width = 2_000, 5, 2
    random = np.random.default_rng(3)
    centres = np.array([[0, 0], [2, 2], [2, -2], [-2, 2], [-2, -2]])
    x = centres[random.integers(0, components, records)] + np.sqrt(0.5) * random.standard_normal((records, width))
    x = x.astype(np.float32)

    def model(x):
        logits = sample("logits", dist.Normal(jnp.zeros(components), 1.0).to_event(1))
        locs = sample("locs", dist.Normal(jnp.zeros((components, width)), 10.0).to_event(2))
        scales = sample("scales", dist.HalfNormal(2.0 * jnp.ones(components)).to_event(1))
        with plate("records", records, x.shape[0]):
            squared = ((x[:, None, :] - locs) ** 2).sum(-1) / scales**2
            each = jax.nn.log_softmax(logits) - width * jnp.log(scales) - 0.5 * squared
            log_density = logsumexp(each, axis=-1) - 0.5 * width * np.log(2 * np.pi)
            # A unit distribution is an observation with this log-likelihood; `obs` gives d3p the records' scale.
            sample("x", dist.Unit(log_density), obs=jnp.empty((x.shape[0], 0)))

    def guide(x):
        mean_field("logits", (components,), 1)
        mean_field("locs", (components, width), 2)
        mean_field("scales", (components,), 1, family=dist.LogNormal)

    return Workload((x,), 200, model, guide, clip_norm=1.0)


def vae():
    """784-400-(50, 50) encoder, 50-400-784 decoder, softplus, Bernoulli pixels: 688,884 parameters; batches of 128."""
    records, pixels, hidden, latent = 10_000, 784, 400, 50
    record, pixel = np.arange(records)[:, None], np.arange(pixels)[None, :]
    # Wandering stripes, about a third of the pixels on.
    x = (np.sin(0.37 * pixel + 0.11 * (record % 97) + 0.05 * pixel * (record % 7)) > 0.5).astype(np.float32)

    dense = lambda width: stax.Dense(width, W_init=stax.randn(0.05))
    encoder = stax.serial(
        dense(hidden), stax.Softplus, stax.FanOut(2), stax.parallel(dense(latent), stax.serial(dense(latent), stax.Exp))
    )
    decoder = stax.serial(dense(hidden), stax.Softplus, dense(pixels))

    def model(x):
        decode = numpyro.module("decoder", decoder, (x.shape[0], latent))
        with plate("records", records, x.shape[0]):
            z = sample("z", dist.Normal(jnp.zeros(latent), 1.0).to_event(1))
            sample("x", dist.Bernoulli(logits=decode(z)).to_event(1), obs=x)

    def guide(x):
        encode = numpyro.module("encoder", encoder, (x.shape[0], pixels))
        with plate("records", records, x.shape[0]):
            loc, scale = encode(x)
            sample("z", dist.Normal(loc, scale).to_event(1))

    return Workload((x,), 128, model, guide, clip_norm=10.0)


WORKLOADS = {"logistic": logistic, "hierarchical": hierarchical, "mixture": mixture, "vae": vae}
