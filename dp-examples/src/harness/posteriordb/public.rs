//! Models whose data do not fall into independent records: series, processes, differential equations. They take
//! their data as constants, so that `fit_public` fits them.

use ndarray::{Array1, Array2};
use ppl_core::{Constraint, Ctx, Distribution, Records, Result as CoreResult, Var};
use ppl_distributions::{
    Dirichlet, Exponential, Gamma, HalfCauchy, HalfNormal, ImproperUniform, InverseGamma, LogNormal,
    MultivariateNormal, Normal, Poisson, StudentT, Uniform,
};

use super::{AnyModel, Data, DataError, Problem};

pub(super) const NAMES: &[&str] = &[
    "arma11",
    "garch11",
    "gp_regr",
    "gp_pois_regr",
    "accel_gp",
    "hmm_example",
    "hmm_drive_0",
    "hmm_drive_1",
    "one_comp_mm_elim_abs",
    "lotka_volterra",
    "sir",
    "eight_schools_centered",
];

pub(super) fn problem(name: &str, data: &Data) -> Result<Problem, DataError> {
    let model = match name {
        "arma11" => arma(data)?,
        "garch11" => garch(data)?,
        "gp_regr" => gaussian_process(data)?,
        "gp_pois_regr" => poisson_process(data)?,
        "accel_gp" => acceleration(data)?,
        "one_comp_mm_elim_abs" => elimination(data)?,
        "lotka_volterra" => lotka_volterra(data)?,
        "sir" => epidemic(data)?,
        "eight_schools_centered" => eight_schools(data)?,
        _ => hidden_markov(name, data)?,
    };
    Ok(Problem { model, records: Records::none() })
}

/// A value that any number may be, all alike.
fn flat<'g>(ctx: &mut Ctx<'g>, name: &str, support: Constraint) -> CoreResult<Var<'g>> {
    ctx.sample(name, ImproperUniform::new(support, ppl_core::Shape::scalar()))
}

fn arma(data: &Data) -> Result<AnyModel, DataError> {
    let y = data.vector("y")?;
    Ok(Box::new(move |ctx| {
        let mu = ctx.sample("mu", Normal::new(0.0, 10.0))?;
        let phi = ctx.sample("phi", Normal::new(0.0, 2.0))?;
        let theta = ctx.sample("theta", Normal::new(0.0, 2.0))?;
        let sigma = ctx.sample("sigma", HalfCauchy::new(2.5))?;
        let mut expected = vec![mu + phi * mu];
        for before in &y[..y.len() - 1] {
            let last = expected[expected.len() - 1];
            expected.push(mu + phi * *before + theta * (*before - last));
        }
        let expected = ctx.graph().stack(&expected, 0);
        ctx.observe("y", Normal::new(expected, sigma), ctx.constant(y.clone()))
    }))
}

fn garch(data: &Data) -> Result<AnyModel, DataError> {
    let (y, first) = (data.vector("y")?, data.number("sigma1")?);
    Ok(Box::new(move |ctx| {
        let mu = flat(ctx, "mu", Constraint::Real)?;
        let alpha0 = flat(ctx, "alpha0", Constraint::Positive)?;
        let alpha1 = ctx.sample("alpha1", Uniform::new(0.0, 1.0))?;
        // All pairs are alike there, so what a uniform law of beta1 given alpha1 divides by is made up for.
        let beta1 = ctx.sample("beta1", Uniform::new(0.0, 1.0 - alpha1))?;
        ctx.factor("area", (-alpha1).log1p())?;
        let mut variances = vec![ctx.constant(first * first)];
        for before in &y[..y.len() - 1] {
            let last = variances[variances.len() - 1];
            variances.push(alpha0 + alpha1 * (*before - mu).square() + beta1 * last);
        }
        let variances = ctx.graph().stack(&variances, 0);
        ctx.observe("y", Normal::new(mu, variances.sqrt()), ctx.constant(y.clone()))
    }))
}

/// `a² exp(−(s − t)²/(2 ℓ²))`, and something on the diagonal.
fn covariance<'g>(ctx: &Ctx<'g>, x: &[f64], [a, l]: [Var<'g>; 2], diagonal: Var<'g>) -> Var<'g> {
    let squares = Array2::from_shape_fn((x.len(), x.len()), |(i, j)| (x[i] - x[j]).powi(2));
    let diagonal = diagonal * ctx.constant(Array2::<f64>::eye(x.len()));
    a.square() * (-0.5 * ctx.constant(squares) / l.square()).exp() + diagonal
}

fn gaussian_process(data: &Data) -> Result<AnyModel, DataError> {
    let (x, y) = (data.vector("x")?, data.vector("y")?);
    Ok(Box::new(move |ctx| {
        let rho = ctx.sample("rho", Gamma::new(25.0, 4.0))?;
        let alpha = ctx.sample("alpha", HalfNormal::new(2.0))?;
        let sigma = ctx.sample("sigma", HalfNormal::new(1.0))?;
        let law = MultivariateNormal::from_covariance(
            ctx.constant(Array1::zeros(x.len())),
            covariance(ctx, &x, [alpha, rho], sigma),
        );
        ctx.observe("y", law, ctx.constant(y.clone()))
    }))
}

fn poisson_process(data: &Data) -> Result<AnyModel, DataError> {
    let (x, counts) = (data.vector("x")?, data.vector("k")?);
    Ok(Box::new(move |ctx| {
        let rho = ctx.sample("rho", Gamma::new(25.0, 4.0))?;
        let alpha = ctx.sample("alpha", HalfNormal::new(2.0))?;
        let raw = ctx.sample("f_tilde", Normal::new(0.0, 1.0).iid(x.len()))?;
        let factor = covariance(ctx, &x, [alpha, rho], ctx.constant(1e-10)).cholesky();
        let f = ctx.deterministic("f", factor.matvec(raw))?;
        ctx.observe("k", Poisson::new(f.exp()), ctx.constant(counts.clone()))
    }))
}

/// A process of the mean and one of the logarithm of the scale, each by its first eigenfunctions.
fn acceleration(data: &Data) -> Result<AnyModel, DataError> {
    let y = data.vector("Y")?;
    let basis = |of: &str| -> Result<(Array2<f64>, Vec<f64>), DataError> {
        let (numbers, width) = data.rows(&format!("Xgp{of}"))?;
        let shape = (numbers.len() / width.max(1), width);
        let wrong = |_| DataError::Missing { name: format!("Xgp{of}"), what: "matrix" };
        Ok((Array2::from_shape_vec(shape, numbers).map_err(wrong)?, data.vector(&format!("slambda{of}"))?))
    };
    let bases = [("_1", basis("_1")?), ("_sigma_1", basis("_sigma_1")?)];
    Ok(Box::new(move |ctx| {
        let mut lines = Vec::new();
        for ((of, (x, frequencies)), (name, [at, wide])) in
            bases.iter().zip([("Intercept", [-13.0, 36.0]), ("Intercept_sigma", [0.0, 10.0])])
        {
            let level = ctx.sample(name, StudentT::new(3.0, at, wide))?;
            let sd = flat(ctx, &format!("sdgp{of}"), Constraint::Positive)?;
            ctx.factor(&format!("prior of sdgp{of}"), StudentT::new(3.0, 0.0, 36.0).log_prob(sd))?;
            let length = ctx.sample(&format!("lscale{of}"), InverseGamma::new(1.124_909, 0.0177))?;
            let z = ctx.sample(&format!("zgp{of}"), Normal::new(0.0, 1.0).iid(frequencies.len()))?;
            let frequencies = ctx.constant(frequencies.clone());
            let spectrum = -0.25 * (length * frequencies).square();
            let root = sd * (length * (2.0 * std::f64::consts::PI).sqrt()).sqrt() * spectrum.exp();
            lines.push(level + ctx.constant(x.clone()).matvec(root * z));
        }
        ctx.observe("Y", Normal::new(lines[0], lines[1].exp()), ctx.constant(y.clone()))
    }))
}

/// Two states, by the forward algorithm.
fn hidden_markov(name: &str, data: &Data) -> Result<AnyModel, DataError> {
    let of = |name: &str| data.vector(name);
    let (first, second) = match name {
        "hmm_example" => (of("y")?, None),
        _ => (of("u")?, Some(of("v")?)),
    };
    let prior = match name {
        "hmm_example" => vec![1.0; 4],
        _ => {
            let alpha = of("alpha")?;
            // The prior stands there beside the uniform one of simplexes.
            if alpha.len() == 4 {
                alpha
            } else {
                return Err(DataError::Missing { name: "alpha".to_owned(), what: "2 × 2 matrix" });
            }
        }
    };
    let scales = match name {
        "hmm_drive_1" => Some([data.number("tau")?, data.number("rho")?]),
        _ => None,
    };
    let waits = name == "hmm_drive_0";
    let of_one_series = second.is_none();
    Ok(Box::new(move |ctx| {
        let mut rows = Vec::new();
        for (name, prior) in [("theta1", &prior[..2]), ("theta2", &prior[2..])] {
            rows.push(ctx.sample(name, Dirichlet::new(ctx.constant(prior)))?);
        }
        let moves = ctx.graph().stack(&rows, 0).log();
        // Two numbers in ascending order, positive unless the densities are normal ones of logarithms.
        let mut ordered = |name: &str, centres: [f64; 2]| -> CoreResult<Var<'_>> {
            let prior = Normal::new(ctx.constant(centres.to_vec()), 1.0);
            if !waits {
                let set = if scales.is_some() { Constraint::Ordered } else { Constraint::PositiveOrdered };
                let value = ctx.sample(name, ImproperUniform::new(set, 2))?;
                ctx.factor(&format!("prior of {name}"), prior.log_prob(value).sum())?;
                return Ok(value);
            }
            // Rates by their logarithms: as numbers in order, a fit finds a mode where the second ones are the prior's.
            let logarithm =
                ctx.sample(&format!("log {name}"), ImproperUniform::new(Constraint::Ordered, 2))?;
            let value = ctx.deterministic(name, logarithm.exp())?;
            ctx.factor(&format!("prior of {name}"), (prior.log_prob(value) + logarithm).sum())?;
            Ok(value)
        };
        let (names, centres) = match of_one_series {
            true => (["mu", ""], [3.0, 10.0]),
            false => (["phi", "lambda"], [0.0, 3.0]),
        };
        let mut states = vec![ordered(names[0], centres)?];
        if !of_one_series {
            states.push(ordered(names[1], centres)?);
        }
        let series = std::iter::once(&first).chain(&second);
        let mut terms: Option<Var<'_>> = None; // [T, 2]
        for (k, (values, state)) in series.zip(&states).enumerate() {
            let values = ctx.constant(values.clone()).reshape([values.len(), 1]);
            let term = match (waits, scales) {
                (true, _) => Exponential::new(*state).log_prob(values),
                (false, scales) => {
                    Normal::new(*state, scales.map_or(1.0, |scales| scales[k])).log_prob(values)
                }
            };
            terms = Some(terms.map_or(term, |terms| terms + term));
        }
        let Some(terms) = terms else { return Ok(()) };
        let mut forward = terms.element(0, 0);
        for t in 1..first.len() {
            forward = (forward.reshape([2, 1]) + moves).log_sum_exp_axis(0) + terms.element(0, t);
        }
        ctx.factor("series", forward.log_sum_exp())
    }))
}

fn elimination(data: &Data) -> Result<AnyModel, DataError> {
    let (times, measured) = (data.vector("times")?, data.vector("C_hat")?);
    let (dose, volume) = (data.number("D")?, data.number("V")?);
    Ok(Box::new(move |ctx| {
        let mut half_cauchy = |name: &str| ctx.sample(name, HalfCauchy::new(1.0));
        let (k_a, k_m, v_m) = (half_cauchy("k_a")?, half_cauchy("K_m")?, half_cauchy("V_m")?);
        let sigma = half_cauchy("sigma")?;
        // Steps of an eighth of a day, of measurements that are half a day apart.
        let start = (0.0, ctx.constant(0.0));
        let concentration = ctx.graph().runge_kutta(start, &times, 4, |t, y| {
            // At time 0 itself the model takes no dose in, which a solver of small steps does not notice.
            let taken_in = (-k_a * t).exp() * k_a * (dose / volume);
            Ok(taken_in - v_m / volume * y / (k_m + y))
        })?;
        ctx.observe("C_hat", LogNormal::new(concentration.log(), sigma), ctx.constant(measured.clone()))
    }))
}

fn lotka_volterra(data: &Data) -> Result<AnyModel, DataError> {
    let (times, (y, _), first) = (data.vector("ts")?, data.rows("y")?, data.vector("y_init")?);
    Ok(Box::new(move |ctx| {
        let prior =
            Normal::new(ctx.constant(vec![1.0, 0.05, 1.0, 0.05]), ctx.constant(vec![0.5, 0.05, 0.5, 0.05]));
        let theta = ctx.sample("theta", ImproperUniform::new(Constraint::Positive, 4))?;
        ctx.factor("prior of theta", prior.log_prob(theta).sum())?;
        let start = ctx.sample("z_init", LogNormal::new(10.0_f64.ln(), 1.0).iid(2))?;
        let sigma = ctx.sample("sigma", LogNormal::new(-1.0, 1.0).iid(2))?;
        let [alpha, beta, gamma, delta] = [0, 1, 2, 3].map(|k| theta.element(0, k));
        let [prey, predator] = [0, 1].map(|k| start.element(0, k));
        let states = ctx.graph().runge_kutta((0.0, [prey, predator]), &times, 5, |_, [prey, predator]| {
            Ok([(alpha - beta * predator) * prey, (delta * prey - gamma) * predator])
        })?;
        for (k, first) in first.iter().enumerate().take(2) {
            let sigma = sigma.element(0, k);
            let measured: Vec<f64> = y.iter().skip(k).step_by(2).copied().collect();
            let (init, rest) = (format!("y_init[{k}]"), format!("y[{k}]"));
            ctx.observe(&init, LogNormal::new(start.element(0, k).log(), sigma), *first)?;
            let law = LogNormal::new(states[k].log(), sigma);
            ctx.observe(&rest, law, ctx.constant(measured))?;
        }
        Ok(())
    }))
}

fn epidemic(data: &Data) -> Result<AnyModel, DataError> {
    let (times, y0) = (data.vector("t")?, data.vector("y0")?);
    let (cases, bacteria) = (data.vector("stoi_hat")?, data.vector("B_hat")?);
    const HALF: f64 = 1e6;
    Ok(Box::new(move |ctx| {
        let beta = ctx.sample("beta", HalfCauchy::new(2.5))?;
        let gamma = ctx.sample("gamma", HalfCauchy::new(1.0))?;
        let xi = ctx.sample("xi", HalfCauchy::new(25.0))?;
        let delta = ctx.sample("delta", HalfCauchy::new(1.0))?;
        // The susceptible, the infected, the bacteria, and who was infected since the last measurement: as the
        // difference of two numbers of susceptible people, few infections would be lost to rounding.
        let mut state = [0, 1, 3].map(|k| ctx.constant(y0[k]));
        let (mut infected, mut measured, mut before) = (Vec::new(), Vec::new(), 0.0);
        for &end in &times {
            let [susceptible, ill, bacteria] = state;
            let start = [susceptible, ill, bacteria, ctx.constant(0.0)];
            let found = ctx.graph().runge_kutta((before, start), &[end], 14, |_, [s, i, b, _]| {
                let infections = beta * b / (b + HALF) * s;
                Ok([-infections, infections - gamma * i, xi * i - delta * b, infections])
            })?;
            let [susceptible, ill, bacteria, since] = found.map(|found| found.element(0, 0));
            state = [susceptible, ill, bacteria];
            infected.push(since);
            measured.push(bacteria);
            before = end;
        }
        let [infected, measured] = [infected, measured].map(|each| ctx.graph().stack(&each, 0));
        ctx.observe("stoi_hat", Poisson::new(infected), ctx.constant(cases.clone()))?;
        let law = LogNormal::new(measured.log(), 0.15);
        ctx.observe("B_hat", law, ctx.constant(bacteria.clone()))
    }))
}

fn eight_schools(data: &Data) -> Result<AnyModel, DataError> {
    let (y, sigma) = (data.vector("y")?, data.vector("sigma")?);
    Ok(Box::new(move |ctx| {
        let tau = ctx.sample("tau", HalfCauchy::new(5.0))?;
        let mu = ctx.sample("mu", Normal::new(0.0, 5.0))?;
        let theta = ctx.sample("theta", Normal::new(mu, tau).iid(y.len()))?;
        ctx.observe("y", Normal::new(theta, ctx.constant(sigma.clone())), ctx.constant(y.clone()))
    }))
}
