"""Writes listings.csv: log densities and gradients, by NumPyro, of the models for which the paper of d3p has listings
(Prediger, Loppi, Kaski, Honkela 2022: logistic regression, hierarchical logistic regression, a Gaussian mixture as a distribution of
one's own) and of its variational autoencoder, at given values of everything. tests/listings.rs has the same models.

Run: python3 -m venv venv; venv/bin/pip install "jax[cpu]" numpyro; venv/bin/python -P numpyro_listings.py > listings.csv
(-P: a file called like a module of Python may lie beside it.)

A line is a model, a kind (data, value, prior, likelihood of each record, gradient of their sum), a name, a shape and numbers; arrays row by row.
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import logsumexp
from numpyro import handlers, param, plate, sample
from numpyro.infer.util import log_density

jax.config.update("jax_enable_x64", True)
generator = np.random.default_rng(11)


def numbers(*shape, scale=1.0):
    """Three decimals, so that a reader can copy them."""
    return np.round(scale * generator.standard_normal(shape), 3)


def logistic(xs, ys):
    w = sample("w", dist.Normal(0.0, 4.0).expand([xs.shape[1]]).to_event(1))
    with plate("records", len(xs)):
        sample("ys", dist.Bernoulli(logits=xs @ w), obs=ys)


def hierarchical(xs, ys, ls, gs):
    m = sample("M", dist.Normal(0.0, 4.0).expand([xs.shape[1], gs.shape[1]]).to_event(2))
    with plate("groups", len(gs)):
        ws = sample("ws", dist.Normal(gs @ m.T, 1.0).to_event(1))
    with plate("records", len(xs)):
        sample("ys", dist.Bernoulli(logits=(xs * ws[ls.astype(int)]).sum(-1)), obs=ys)


class GaussianMixture(dist.Distribution):
    """Components summed out: ln Σ_j π_j N(x; μ_j, σ_j² I)."""

    support = dist.constraints.real_vector

    def __init__(self, pis, locs, scales):
        self.pis, self.locs, self.scales = pis, locs, scales
        super().__init__((), locs.shape[1:])

    def log_prob(self, value):
        each = dist.Normal(self.locs, self.scales[:, None]).log_prob(value[..., None, :]).sum(-1)
        return logsumexp(each + jnp.log(self.pis), axis=-1)


def mixture(xs, k=3):
    d = xs.shape[1]
    pis = sample("pis", dist.Dirichlet(jnp.ones(k)))
    with plate("components", k):
        locs = sample("locs", dist.MultivariateNormal(jnp.zeros(d), jnp.eye(d)))
        sigmas = sample("sigmas", dist.InverseGamma(1.0, 1.0))
    with plate("records", len(xs)):
        sample("xs", GaussianMixture(pis, locs, sigmas), obs=xs)


HIDDEN, LATENT = 4, 2


def decoder(xs):
    """A code of each record, and its picture: pixels are on with probabilities that a network of one layer makes of the code."""
    pixels = xs.shape[1]
    v, vb = param("V", jnp.zeros((HIDDEN, LATENT))), param("v", jnp.zeros(HIDDEN))
    p, pb = param("P", jnp.zeros((pixels, HIDDEN))), param("p", jnp.zeros(pixels))
    with plate("records", len(xs)):
        z = sample("z", dist.Normal(0.0, 1.0).expand([LATENT]).to_event(1))
        logits = jax.nn.softplus(z @ v.T + vb) @ p.T + pb
        sample("xs", dist.Bernoulli(logits=logits).to_event(1), obs=xs)


def encoder(xs):
    """The law of the codes given the pictures, which the network of another layer makes: its guide."""
    pixels = xs.shape[1]
    w, b = param("W", jnp.zeros((HIDDEN, pixels))), param("b", jnp.zeros(HIDDEN))
    m, s = param("m", jnp.zeros((LATENT, HIDDEN))), param("s", jnp.zeros((LATENT, HIDDEN)))
    with plate("records", len(xs)):
        hidden = jax.nn.softplus(xs @ w.T + b)
        sample("z", dist.Normal(hidden @ m.T, jnp.exp(hidden @ s.T)).to_event(1))


def line(model, kind, name, array):
    array = np.asarray(array, dtype=float)
    shape = " ".join(str(length) for length in array.shape)
    print(",".join([model, kind, name, shape, " ".join(repr(float(x)) for x in array.ravel())]))


def write(name, model, data, values, of_records):
    """`of_records` are the sites whose values belong to single records."""
    for kind, arrays in (("data", data), ("value", values)):
        for key, array in arrays.items():
            line(name, kind, key, array)
    arrays = {key: jnp.asarray(array) for key, array in data.items()}
    values = {key: jnp.asarray(array) for key, array in values.items()}
    trace = handlers.trace(handlers.substitute(handlers.seed(model, 0), data=values)).get_trace(**arrays)
    terms = {key: site["fn"].log_prob(site["value"]) for key, site in trace.items() if site["type"] == "sample"}
    # A plate is a site too, without a density.
    terms = {key: term for key, term in terms.items() if key in values or trace[key]["is_observed"]}
    prior = sum((term.sum() for key, term in terms.items() if key not in of_records), start=jnp.float64(0.0))
    likelihood = sum(term for key, term in terms.items() if key in of_records)
    whole = lambda values: log_density(model, (), arrays, values)[0]
    assert abs(whole(values) - prior - likelihood.sum()) < 1e-10
    line(name, "prior", "", prior)
    line(name, "likelihood", "", likelihood)
    for key, gradient in jax.grad(whole)(values).items():
        if key not in of_records:
            line(name, "gradient", key, gradient)


print(f"# numpyro {numpyro.__version__}, jax {jax.__version__}, numpy {np.__version__}, Python {sys.version.split()[0]}, double precision")
bits = lambda *shape: (generator.random(shape) < 0.5).astype(float)
write("logistic", logistic, {"xs": numbers(7, 3), "ys": bits(7)}, {"w": numbers(3, scale=2.0)}, {"ys"})
write(
    "hierarchical",
    hierarchical,
    {"xs": numbers(8, 3), "ys": bits(8), "ls": np.array([0, 1, 2, 3, 0, 2, 2, 1]), "gs": numbers(4, 2)},
    {"M": numbers(3, 2, scale=2.0), "ws": numbers(4, 3, scale=2.0)},
    {"ys"},
)
write(
    "mixture",
    mixture,
    {"xs": numbers(9, 2, scale=2.0)},
    {"pis": np.array([0.25, 0.6, 0.15]), "locs": numbers(3, 2), "sigmas": np.array([0.5, 1.25, 2.0])},
    {"xs"},
)
pixels, codes = bits(5, 6), numbers(5, LATENT)
write(
    "decoder",
    decoder,
    {"xs": pixels},
    {"V": numbers(HIDDEN, LATENT), "v": numbers(HIDDEN), "P": numbers(6, HIDDEN), "p": numbers(6), "z": codes},
    {"xs", "z"},
)
write(
    "encoder",
    encoder,
    {"xs": pixels},
    {"W": numbers(HIDDEN, 6), "b": numbers(HIDDEN), "m": numbers(LATENT, HIDDEN, scale=0.5), "s": numbers(LATENT, HIDDEN, scale=0.3), "z": codes},
    {"z"},
)
