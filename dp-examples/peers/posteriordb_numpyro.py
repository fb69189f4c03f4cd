"""One of posteriordb's models by NumPyro's stochastic variational inference: means and standard deviations as JSON.

    python dp-examples/peers/posteriordb_numpyro.py nes --data nes1972.json [--guide independent] [--steps 3000] [--rate 0.01]

The models are those of dp-examples/src/harness/posteriordb, the settings those of NumPyro's examples: Adam with a constant rate,
a fixed number of steps, starts drawn from [-2, 2]. Double precision, which NumPyro has to be asked for. `list` prints the
names. Needs numpyro (requirements.txt); posteriordb.py runs it beside ours with --numpyro PYTHON.
"""
import argparse
import json
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoMultivariateNormal, AutoNormal

REAL = dist.constraints.real
POSITIVE = dist.constraints.positive


def flat(constraint, shape=()):
    return dist.ImproperUniform(constraint, shape, ())


def centred(x):
    return x - x.mean()


def regression(columns, y, prior=None, scale=None):
    """y ~ N(x beta, sigma)."""
    x = jnp.stack(columns, axis=1)

    def model():
        beta = numpyro.sample("beta", flat(REAL, (x.shape[1],)) if prior is None else dist.Normal(0, prior).expand([x.shape[1]]))
        sigma = numpyro.sample("sigma", scale or flat(POSITIVE))
        numpyro.sample("y", dist.Normal(x @ beta, sigma), obs=y)

    return model


def logits(columns, y, apart=True):
    """y ~ Bernoulli(logit = alpha + x beta)."""
    x = jnp.stack(columns, axis=1)

    def model():
        alpha = numpyro.sample("alpha", flat(REAL)) if apart else 0.0
        beta = numpyro.sample("beta", flat(REAL, (x.shape[1],)))
        numpyro.sample("y", dist.Bernoulli(logits=alpha + x @ beta), obs=y)

    return model


def earnings(name, d):
    earn, height = d["earn"], d["height"]
    one = jnp.ones_like(earn)
    y = {"earn_height": earn, "log10earn_height": jnp.log10(earn)}.get(name, jnp.log(earn))
    male = d.get("male")
    if name == "logearn_height_male":
        return regression([one, height, male], y)
    if name == "logearn_logheight_male":
        return regression([one, jnp.log(height), male], y)
    if name == "logearn_interaction":
        return regression([one, height, male, height * male], y)
    if name == "logearn_interaction_z":
        z = centred(height) / height.std(ddof=1)
        return regression([one, z, male, z * male], y)
    return regression([one, height], y)


def kidscore(name, d):
    y = d["kid_score"]
    one, cauchy = jnp.ones_like(y), dist.HalfCauchy(2.5)
    hs, iq = d.get("mom_hs"), d.get("mom_iq")
    both = lambda hs, iq: [one, hs, iq, hs * iq]
    halved = lambda x: centred(x) / (2 * x.std(ddof=1))
    if name == "kidscore_momhs":
        return regression([one, hs], y, scale=cauchy)
    if name == "kidscore_momiq":
        return regression([one, iq], y, scale=cauchy)
    if name == "kidscore_momhsiq":
        return regression([one, hs, iq], y, scale=cauchy)
    if name == "kidscore_interaction":
        return regression(both(hs, iq), y, scale=cauchy)
    if name == "kidscore_interaction_c":
        return regression(both(centred(hs), centred(iq)), y)
    if name == "kidscore_interaction_c2":
        return regression(both(hs - 0.5, iq - 100), y)
    if name == "kidscore_interaction_z":
        return regression(both(halved(hs), halved(iq)), y)
    work = d["mom_work"]
    return regression([one] + [(work == k).astype(float) for k in (2, 3, 4)], y)


def mesquite(name, d):
    one, group = jnp.ones_like(d["weight"]), d["group"]
    if name == "mesquite":
        return regression([one, d["diam1"], d["diam2"], d["canopy_height"], d["total_height"], d["density"], group], d["weight"])
    log = {key: jnp.log(d[key]) for key in ("weight", "diam1", "diam2", "canopy_height", "total_height", "density")}
    area, shape = log["diam1"] + log["diam2"], log["diam1"] - log["diam2"]
    volume = area + log["canopy_height"]
    columns = {
        "logmesquite": [log["diam1"], log["diam2"], log["canopy_height"], log["total_height"], log["density"], group],
        "logmesquite_logvolume": [volume],
        "logmesquite_logva": [volume, area, group],
        "logmesquite_logvas": [volume, area, shape, log["total_height"], log["density"], group],
        "logmesquite_logvash": [volume, area, shape, log["total_height"], group],
    }
    return regression([one, *columns[name]], log["weight"])


def wells(name, d):
    y, dist_ = d["switched"], d["dist"]
    if name == "wells_dist":
        return logits([jnp.ones_like(dist_), dist_], y, apart=False)
    far = dist_ / 100
    arsenic, educ = d.get("arsenic"), d.get("educ")
    c = centred(far)
    if name == "wells_dist100_model":
        return logits([far], y)
    if name == "wells_dist100ars_model":
        return logits([far, arsenic], y)
    if name == "wells_interaction_model":
        return logits([far, arsenic, far * arsenic], y)
    if name == "wells_interaction_c_model":
        return logits([c, centred(arsenic), c * centred(arsenic)], y)
    if name == "wells_dae_model":
        return logits([far, arsenic, educ / 4], y)
    a, e = centred(arsenic), centred(educ) / 4
    if name == "wells_dae_c_model":
        return logits([c, a, c * a, educ / 4], y)
    if name == "wells_daae_c_model":
        return logits([c, a, c * a, d["assoc"], educ / 4], y)
    return logits([c, a, e, c * a, c * e, a * e], y)


def nes(name, d):
    if name == "nes_logit_model":
        return logits([d["income"]], d["vote"])
    age = d["age_discrete"]
    groups = [(age == k).astype(float) for k in (2, 3, 4)]
    y = d["partyid7"]
    return regression([jnp.ones_like(y), d["real_ideo"], d["race_adj"], *groups, d["educ1"], d["gender"], d["income"]], y)


def diamonds(name, d):
    x = d["X"][:, 1:]
    x = x - x.mean(axis=0)

    def model():
        b = numpyro.sample("b", dist.Normal(0, 1).expand([x.shape[1]]))
        intercept = numpyro.sample("Intercept", dist.StudentT(3, 8, 10))
        sigma = numpyro.sample("sigma", flat(POSITIVE))
        numpyro.factor("half Student-t", -2 * jnp.log1p(sigma * sigma / 300))
        numpyro.sample("y", dist.Normal(intercept + x @ b, sigma), obs=d["Y"])

    return model


def blr(name, d):
    return regression(list(d["X"].T), d["y"], prior=10, scale=dist.HalfNormal(10))


def kilpisjarvi(name, d):
    def model():
        alpha = numpyro.sample("alpha", dist.Normal(d["pmualpha"], d["psalpha"]))
        beta = numpyro.sample("beta", dist.Normal(d["pmubeta"], d["psbeta"]))
        sigma = numpyro.sample("sigma", flat(POSITIVE))
        numpyro.sample("y", dist.Normal(alpha + beta * d["x"], sigma), obs=d["y"])

    return model


def ar(name, d):
    order, y = int(d["K"]), d["y"]
    lags = jnp.stack([y[order - k : len(y) - k] for k in range(1, order + 1)], axis=1)

    def model():
        alpha = numpyro.sample("alpha", dist.Normal(0, 10))
        beta = numpyro.sample("beta", dist.Normal(0, 10).expand([order]))
        sigma = numpyro.sample("sigma", dist.HalfCauchy(2.5))
        numpyro.sample("y", dist.Normal(alpha + lags @ beta, sigma), obs=y[order:])

    return model


def sesame(name, d):
    return regression([jnp.ones_like(d["watched"]), d["encouraged"]], d["watched"])


def eight_schools(name, d):
    def model():
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        z = numpyro.sample("theta_trans", dist.Normal(0, 1).expand([len(d["y"])]))
        theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("y", dist.Normal(theta, d["sigma"]), obs=d["y"])

    return model


def rats(name, d):
    rat = d["rat"].astype(int) - 1

    def model():
        mu_alpha = numpyro.sample("mu_alpha", dist.Normal(0, 100))
        mu_beta = numpyro.sample("mu_beta", dist.Normal(0, 100))
        sigma_alpha = numpyro.sample("sigma_alpha", flat(POSITIVE))
        sigma_beta = numpyro.sample("sigma_beta", flat(POSITIVE))
        sigma = numpyro.sample("sigma_y", flat(POSITIVE))
        alpha = numpyro.sample("alpha", dist.Normal(mu_alpha, sigma_alpha).expand([int(d["N"])]))
        beta = numpyro.sample("beta", dist.Normal(mu_beta, sigma_beta).expand([int(d["N"])]))
        numpyro.sample("y", dist.Normal(alpha[rat] + beta[rat] * (d["x"] - d["xbar"]), sigma), obs=d["y"])

    return model


def irt(name, d):
    y = d["y"]

    def model():
        sigma_theta = numpyro.sample("sigma_theta", dist.HalfCauchy(2))
        theta = numpyro.sample("theta", dist.Normal(0, sigma_theta).expand([int(d["J"])]))
        sigma_a = numpyro.sample("sigma_a", dist.HalfCauchy(2))
        a = numpyro.sample("a", dist.LogNormal(0, sigma_a).expand([int(d["I"])]))
        mu_b = numpyro.sample("mu_b", dist.Normal(0, 5))
        sigma_b = numpyro.sample("sigma_b", dist.HalfCauchy(2))
        b = numpyro.sample("b", dist.Normal(mu_b, sigma_b).expand([int(d["I"])]))
        numpyro.sample("y", dist.Bernoulli(logits=a[:, None] * (theta[None, :] - b[:, None])), obs=y)

    return model


def glmm(name, d):
    year = d["year"]

    def model():
        alpha = numpyro.sample("alpha", dist.Uniform(-20, 20))
        b1 = numpyro.sample("beta1", dist.Uniform(-10, 10))
        b2 = numpyro.sample("beta2", dist.Uniform(-10, 20 if name == "GLMM_Poisson_model" else 10))
        b3 = numpyro.sample("beta3", dist.Uniform(-10, 10))
        log_rate = alpha + b1 * year + b2 * year**2 + b3 * year**3
        if name == "GLMM_Poisson_model":
            sigma = numpyro.sample("sigma", dist.Uniform(0, 5))
            log_rate = log_rate + numpyro.sample("eps", dist.Normal(0, sigma).expand([len(year)]))
        numpyro.sample("C", dist.Poisson(jnp.exp(log_rate)), obs=d["C"])

    return model


def binomial(name, d):
    def model():
        alpha, b1, b2 = (numpyro.sample(key, dist.Normal(0, 100)) for key in ("alpha", "beta1", "beta2"))
        logit = alpha + b1 * d["year"] + b2 * d["year"] ** 2
        numpyro.sample("C", dist.Binomial(d["N"].astype(int), logits=logit), obs=d["C"])

    return model


def mixture(name, d):
    def model():
        sigma = numpyro.sample("sigma", dist.HalfNormal(2).expand([2]))
        mu = numpyro.sample("mu", dist.ImproperUniform(dist.constraints.ordered_vector, (), (2,)))
        numpyro.factor("prior of mu", -jnp.sum(mu**2) / 8)
        theta = numpyro.sample("theta", dist.Beta(5, 5))
        weights = dist.Categorical(jnp.stack([theta, 1 - theta]))
        numpyro.sample("y", dist.MixtureSameFamily(weights, dist.Normal(mu, sigma)), obs=d["y"])

    return model


def dogs(name, d):
    y = np.asarray(d["y"])
    avoided, shocks = (np.cumsum(x, axis=1) - x for x in (1 - y, y))
    x = jnp.stack([np.ones(y.size), avoided.ravel(), shocks.ravel()], axis=1)

    def model():
        beta = numpyro.sample("beta", dist.Normal(0, 100).expand([3]))
        numpyro.sample("y", dist.Bernoulli(logits=x @ beta), obs=y.ravel())

    return model


MODELS = {
    **dict.fromkeys(
        ["earn_height", "logearn_height", "log10earn_height", "logearn_height_male", "logearn_logheight_male", "logearn_interaction", "logearn_interaction_z"],
        earnings,
    ),
    **dict.fromkeys(
        [
            f"kidscore_{end}"
            for end in ("momhs", "momiq", "momhsiq", "interaction", "interaction_c", "interaction_c2", "interaction_z", "mom_work")
        ],
        kidscore,
    ),
    **dict.fromkeys(["mesquite", "logmesquite", "logmesquite_logvolume", "logmesquite_logva", "logmesquite_logvas", "logmesquite_logvash"], mesquite),
    **dict.fromkeys(
        [f"wells_{end}" for end in ("dist", "dist100_model", "dist100ars_model", "interaction_model", "interaction_c_model", "dae_model", "dae_c_model", "daae_c_model", "dae_inter_model")],
        wells,
    ),
    **dict.fromkeys(["nes", "nes_logit_model"], nes),
    **dict.fromkeys(["GLMM_Poisson_model", "GLM_Poisson_model"], glmm),
    "diamonds": diamonds,
    "blr": blr,
    "kilpisjarvi": kilpisjarvi,
    "arK": ar,
    "sesame_one_pred_a": sesame,
    "eight_schools_noncentered": eight_schools,
    "rats_model": rats,
    "irt_2pl": irt,
    "GLM_Binomial_model": binomial,
    "low_dim_gauss_mix": mixture,
    "dogs": dogs,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model's name; list prints those that are written here")
    parser.add_argument("--data", help="its data: a JSON file, unpacked")
    parser.add_argument("--guide", default="correlated", choices=["correlated", "independent"])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.model == "list":
        print("\n".join(MODELS))
        return
    numpyro.enable_x64()
    with open(arguments.data) as file:
        raw = json.load(file)
    data = {key: jnp.asarray(value, dtype=float) if isinstance(value, list) else value for key, value in raw.items()}
    started = time.perf_counter()
    model = MODELS[arguments.model](arguments.model, data)
    guide = (AutoMultivariateNormal if arguments.guide == "correlated" else AutoNormal)(model)
    svi = SVI(model, guide, numpyro.optim.Adam(arguments.rate), Trace_ELBO())
    first, second = jax.random.split(jax.random.PRNGKey(arguments.seed))
    found = svi.run(first, arguments.steps, progress_bar=False)
    seconds = time.perf_counter() - started
    draws = guide.sample_posterior(second, found.params, sample_shape=(4000,))
    sites = {}
    for name, values in draws.items():
        flat_ = np.asarray(values).reshape(len(values), -1)
        sites[name] = {"mean": flat_.mean(axis=0).tolist(), "sd": flat_.std(axis=0).tolist()}
    print(json.dumps({"sites": sites, "seconds": seconds, "elbo": -float(found.losses[-1])}))


if __name__ == "__main__":
    main()
