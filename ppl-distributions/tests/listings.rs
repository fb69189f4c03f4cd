//! The models for which the paper of d3p has listings (Prediger, Loppi, Kaski, Honkela 2022), and its
//! variational autoencoder, about as long here as there: log densities and gradients at given values are
//! NumPyro's (`golden/numpyro_listings.py`).

use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn};
use ppl_core::handlers::{Constrained, seed};
use ppl_core::{
    Column, Constraint, Ctx, Distribution, ExecutionPlan, Graph, Model, Noise, Parameter, Program,
    RecordGradient, Records, Result, Shape, Values, Var, gradient, log_density, simulate, trace,
};
use ppl_distributions::{
    Bernoulli, Categorical, Combine, Dirichlet, InverseGamma, MultivariateNormal, Normal,
};

// Listing 1, simple logistic regression.

fn logistic(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("xs")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("xs")?.dot(w);
        ctx.observe("ys", Bernoulli::from_logits(logit), record.get("ys")?)
    })
}

// Listing 4, hierarchical logistic regression: weights of groups around what the groups' public traits `gs`
// say.

fn hierarchical(gs: ArrayD<f64>) -> impl Fn(&mut Ctx<'_>) -> Result<()> {
    move |ctx| {
        let (d, traits) = (ctx.records().dim("xs")?, gs.shape()[1]);
        let m = ctx.sample("M", Normal::new(0.0, 4.0).iid([d, traits]))?;
        let etas = ctx.graph().array(&gs).matmul(m.transpose());
        let ws = ctx.sample("ws", Normal::new(etas, 1.0))?;
        ctx.each_record(|ctx, record| {
            let logit = record.get("xs")?.dot(ws.gather(record.index("ls")?));
            ctx.observe("ys", Bernoulli::from_logits(logit), record.get("ys")?)
        })
    }
}

// Listings 5 and 6, a Gaussian mixture as a distribution of the user's own.

/// `ln p(x) = ln Σ_j weights_j N(x; locs_j, scales_j² I)`; weights `[k]`, locs `[k, d]`, scales `[k]`.
struct GaussianMixture<'g> {
    weights: Var<'g>,
    locs: Var<'g>,
    scales: Var<'g>,
}

impl<'g> Distribution<'g> for GaussianMixture<'g> {
    fn name(&self) -> &'static str {
        "GaussianMixture"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let parameter = |name, value: Var<'g>, domain| Parameter { name, value: value.into(), domain };
        vec![
            parameter("weights", self.weights, Constraint::Simplex),
            parameter("locs", self.locs, Constraint::Real),
            parameter("scales", self.scales, Constraint::Positive),
        ]
    }

    fn batch_shape(&self) -> Result<Shape> {
        Ok(Shape::scalar())
    }

    fn event_shape(&self) -> Shape {
        self.locs.shape().dims()[1..].into()
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        // Points may have axes before their own; the components' comes between.
        let (shape, scales) = (x.shape(), self.scales.reshape([self.scales.shape().elements(), 1]));
        let axis = shape.rank() - 1;
        let (before, width) = shape.dims().split_at(axis);
        let x = x.reshape(Shape::from(before).concat(&1.into()).concat(&width.into()));
        let each = Normal::new(self.locs, scales).log_prob(x).sum_axis(axis + 1);
        (each + self.weights.log()).log_sum_exp_axis(axis)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let component = Categorical::from_probs(self.weights).draw(prefix, noise)?;
        let scales = self.scales.gather(component).reshape(prefix.concat(&1.into()));
        Normal::new(self.locs.gather(component), scales).draw(&Shape::scalar(), noise)
    }
}

fn mixture(ctx: &mut Ctx) -> Result<()> {
    let (k, d) = (3, ctx.records().dim("xs")?);
    let identity = ctx.graph().array(&Array2::eye(d).into_dyn());
    let weights = ctx.sample("pis", Dirichlet::symmetric(1.0, k))?;
    let locs = ctx.sample("locs", MultivariateNormal::from_covariance(0.0, identity).iid(k))?;
    let scales = ctx.sample("sigmas", InverseGamma::new(1.0, 1.0).iid(k))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("xs", GaussianMixture { weights, locs, scales }, record.get("xs")?)
    })
}

// The variational autoencoder: codes of single records, and their guide.

const HIDDEN: usize = 4;
const LATENT: usize = 2;

/// Weights of a network, all 0 at first.
fn weights<'g>(ctx: &mut Ctx<'g>, name: &str, shape: &[usize]) -> Result<Var<'g>> {
    ctx.param(name, ArrayD::zeros(shape), Constraint::Real)
}

fn decoder(ctx: &mut Ctx) -> Result<()> {
    let pixels = ctx.records().dim("xs")?;
    let (v, vb) = (weights(ctx, "V", &[HIDDEN, LATENT])?, weights(ctx, "v", &[HIDDEN])?);
    let (p, pb) = (weights(ctx, "P", &[pixels, HIDDEN])?, weights(ctx, "p", &[pixels])?);
    ctx.each_record(|ctx, record| {
        let z = ctx.sample("z", Normal::new(0.0, 1.0).iid(LATENT))?;
        let logits = p.dot((v.dot(z) + vb).softplus()) + pb;
        ctx.observe("xs", Bernoulli::from_logits(logits).independent(1), record.get("xs")?)
    })
}

fn encoder(ctx: &mut Ctx) -> Result<()> {
    let pixels = ctx.records().dim("xs")?;
    let (w, b) = (weights(ctx, "W", &[HIDDEN, pixels])?, weights(ctx, "b", &[HIDDEN])?);
    let (m, s) = (weights(ctx, "m", &[LATENT, HIDDEN])?, weights(ctx, "s", &[LATENT, HIDDEN])?);
    ctx.each_record(|ctx, record| {
        let hidden = (w.dot(record.get("xs")?) + b).softplus();
        ctx.sample("z", Normal::new(m.dot(hidden), s.dot(hidden).exp()).independent(1)).map(|_| ())
    })
}

/// What NumPyro says of one model.
#[derive(Default)]
struct Golden {
    data: Values,
    values: Values,
    prior: f64,
    likelihood: Vec<f64>,
    gradients: Values,
}

fn golden(model: &str) -> Golden {
    let mut found = Golden::default();
    for line in include_str!("golden/listings.csv").lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split(',').collect();
        if cells[0] != model {
            continue;
        }
        let shape: Vec<usize> = cells[3].split_whitespace().map(|n| n.parse().unwrap()).collect();
        let numbers: Vec<f64> = cells[4].split_whitespace().map(|n| n.parse().unwrap()).collect();
        let array = ArrayD::from_shape_vec(IxDyn(&shape), numbers).unwrap();
        let name = cells[2].to_owned();
        match cells[1] {
            "data" => drop(found.data.insert(name, array)),
            "value" => drop(found.values.insert(name, array)),
            "gradient" => drop(found.gradients.insert(name, array)),
            "prior" => found.prior = array[IxDyn(&[])],
            "likelihood" => found.likelihood = array.into_raw_vec_and_offset().0,
            other => panic!("unknown kind {other}"),
        }
    }
    found
}

fn records(data: &Values) -> Records {
    let column = |(name, values): (&String, &ArrayD<f64>)| {
        let column = match (name.as_str(), values.ndim()) {
            ("ls", _) => Column::from(values.iter().map(|&group| group as u8).collect::<Vec<_>>()),
            (_, 1) => Column::from(values.iter().copied().collect::<Vec<_>>()),
            _ => Column::from(values.clone().into_dimensionality::<ndarray::Ix2>().unwrap()),
        };
        (name.clone(), column)
    };
    // The traits of groups are not the records'.
    Records::from_columns(data.iter().filter(|(name, _)| *name != "gs").map(column)).unwrap()
}

/// Both sides add up at most a hundred products of numbers, each with a few roundings of the largest of them.
fn close(got: &[f64], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1.0_f64, |size, x| size.max(x.abs()));
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() <= 200.0 * f64::EPSILON * size, "{what}: {got:?}, not {expected:?}");
    }
}

/// Log densities of the model outside and inside `each_record`, and the gradient of their sum.
fn agrees_with_numpyro(name: &str, model: &impl Model) {
    let golden = golden(name);
    let records = records(&golden.data);
    let density = log_density(model, &records, &golden.values).unwrap();
    close(&[density.prior], &[golden.prior], name);
    close(&density.likelihood.to_vec(), &golden.likelihood, name);

    let graph = Graph::new();
    let trace = trace(model, &graph, records.schema(), Constrained).unwrap();
    let sites: Vec<(&str, Var<'_>)> = trace.latents().map(|site| (site.name.as_str(), site.value)).collect();
    let vars: Vec<Var<'_>> = sites.iter().map(|(_, var)| *var).collect();
    let of_prior = gradient(trace.log_prior(), &vars).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &of_prior).unwrap());
    let mut of_records = RecordGradient::<f64>::new(trace.record_log_density().unwrap(), &vars).unwrap();
    for (site, value) in &golden.values {
        let (input, numbers) = (Constrained::input_name(site), value.iter().copied().collect::<Vec<_>>());
        if plan.input(&input).is_ok() {
            plan.set(&input, &numbers).unwrap();
        }
        match of_records.record_input_mut(&input, records.len()) {
            Some(to) => to.copy_from_slice(&numbers),
            None => of_records.set(&input, &numbers).unwrap(),
        }
    }
    plan.run();
    let mut sum = vec![0.0; of_records.dimension()];
    let batch: Vec<u64> = (0..records.len() as u64).collect();
    of_records.sum(&records, &batch, &mut sum).unwrap();
    let mut from = 0;
    for (which, (site, var)) in sites.iter().enumerate() {
        let count = var.shape().elements();
        let got: Vec<f64> = plan
            .output(which)
            .iter()
            .zip(&sum[from..from + count])
            .map(|(prior, rest)| prior + rest)
            .collect();
        let expected: Vec<f64> = golden.gradients[*site].iter().copied().collect();
        close(&got, &expected, &format!("{name}, gradient of {site}"));
        from += count;
    }
    assert_eq!((sites.len(), from), (golden.gradients.len(), sum.len()));
}

#[test]
fn logistic_regression_agrees_with_numpyro() {
    agrees_with_numpyro("logistic", &logistic);
}

#[test]
fn hierarchical_logistic_regression_agrees_with_numpyro() {
    agrees_with_numpyro("hierarchical", &hierarchical(golden("hierarchical").data["gs"].clone()));
}

#[test]
fn a_mixture_of_ones_own_agrees_with_numpyro() {
    agrees_with_numpyro("mixture", &mixture);
}

#[test]
fn an_autoencoder_and_its_guide_agree_with_numpyro() {
    agrees_with_numpyro("decoder", &decoder);
    agrees_with_numpyro("encoder", &encoder);
}

/// Draws of the distribution of one's own: as many of each component as its weight says, each around its
/// centre.
#[test]
fn a_mixture_of_ones_own_can_be_drawn_from() {
    let count = 20_000;
    let (weights, locs) = ([0.25, 0.6, 0.15], [[10.0, 0.0], [-10.0, 5.0], [0.0, -30.0]]);
    let model = |ctx: &mut Ctx<'_>| {
        let array = |numbers: &[f64]| ctx.graph().array(&Array1::from(numbers.to_vec()).into_dyn());
        let (weights, scales) = (array(&weights), array(&[0.5, 1.25, 2.0]));
        let locs = array(locs.as_flattened()).reshape([3, 2]);
        ctx.sample("x", GaussianMixture { weights, locs, scales }.iid(count)).map(|_| ())
    };
    let nobody = Records::from_columns([("y", vec![0.0])]).unwrap();
    let x = &simulate(&seed(model, 3), &nobody).unwrap()["x"];
    let mut counts = [0.0; 3];
    let mut sums = [[0.0; 2]; 3];
    for row in x.axis_iter(Axis(0)) {
        // The components do not overlap: their centres are 10 standard deviations apart and more.
        let distance = |loc: &[f64; 2]| (row[0] - loc[0]).powi(2) + (row[1] - loc[1]).powi(2);
        let nearest = (0..3).min_by(|&i, &j| distance(&locs[i]).total_cmp(&distance(&locs[j]))).unwrap();
        counts[nearest] += 1.0;
        (0..2).for_each(|j| sums[nearest][j] += row[j] - locs[nearest][j]);
    }
    // Nine normal comparisons at six standard errors: a false alarm of 2e-8.
    let n = count as f64;
    for (j, scale) in [0.5, 1.25, 2.0].into_iter().enumerate() {
        assert!((counts[j] - n * weights[j]).abs() < 6.0 * (n * weights[j] * (1.0 - weights[j])).sqrt());
        assert!(sums[j].iter().all(|sum: &f64| sum.abs() < 6.0 * scale * counts[j].sqrt()), "{sums:?}");
    }
}
