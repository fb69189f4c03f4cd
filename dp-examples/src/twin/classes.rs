//! Latent classes: records are of classes that are not seen, and given its class a record's columns are independent.
//!
//! ```text
//! p(x) = Σ_k π_k Π_c φ_kc(x_c),   π ~ Dirichlet(1, …, 1),   φ_kc ~ Dirichlet(L_c · shares of column c)
//! ```
//!
//! with `L_c` levels of column c: a mixture of products, as twinify fits (Jälkö et al. 2021, *Privacy-preserving data
//! sharing via probabilistic modelling*). Single columns are released first, as for a tree, and give levels and priors.
//! Then variational Bayes from noisy expected counts ([`ConjugateVi`]) finds π and φ: a record adds its probabilities
//! of being in each class to the classes' counts and to one row of levels of each column, a vector whose norm is at
//! most `√(1 + columns)` whatever its values are, so that nothing is clipped. In the end the classes' columns are
//! adjusted until together they have the shares of the single columns, which are known better.

use dp_accountant::calibrate_noise_multiplier;
use dp_accountant::{Accountant, Budget, Composition, Event, Mechanism, Purse, Sampling};
use dp_sampler::Seed;
use dp_vi::summaries::{Categories, Marginals};
use dp_vi::{ConjugateVi, Sensitive};
use ppl_core::{Ctx, Records};
use ppl_distributions::prelude::*;

use super::encode::{Data, Encoded};
use super::fitting::Counted;
use super::model::{Clique, Column, FORMAT, Model, NEWEST};
use super::release::{Fitted, Settings, check_cells};
use super::schema::Schema;
use super::singles::{Singles, in_words, maps};
use super::{Error, Provenance, Result};

/// Share of the precision for single columns.
const SINGLE: f64 = 0.25;
/// Steps of the fit: the default of [`ConjugateVi`] where values are summed out, named because the plan before data
/// depends on it.
const STEPS: u64 = 120;
/// What is calibrated is this much below the budget, for grids change noise multipliers by a hundred-thousandth, and
/// the fit is calibrated once more for its own part.
const MARGIN: f64 = 1e-4;
/// Passes of the adjustment to single columns.
const PASSES: usize = 50;

/// The noise of both parts: fixed before anything is seen.
struct Plan {
    singles: usize,
    single_noise: f64,
    /// What the fit of the classes may cost by itself.
    of_classes: Budget,
}

impl Plan {
    fn new(budget: &Budget, singles: usize) -> Result<Self> {
        let gaussian =
            |noise_multiplier: f64| Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None);
        let single = |noise: f64| (noise / SINGLE.sqrt()).clamp(1e-3, 1e6);
        let step = |noise: f64| (noise * (STEPS as f64 / (1.0 - SINGLE)).sqrt()).clamp(1e-3, 1e6);
        let all = |noise: f64| {
            let mut all = Composition::single(gaussian(single(noise) * (1.0 - MARGIN))?, 1);
            all.push(gaussian(step(noise) * (1.0 - MARGIN))?, STEPS);
            Ok(all)
        };
        let noise = calibrate_noise_multiplier(budget, all)?.noise_multiplier;
        let of_steps = Composition::single(gaussian(step(noise))?, STEPS);
        let epsilon = Accountant::new(budget.relation).with(&of_steps).epsilon(budget.delta)?.upper;
        Ok(Self { singles, single_noise: single(noise), of_classes: Budget { epsilon, ..*budget } })
    }

    /// The inference of the classes.
    fn inference<M: ppl_core::Model>(&self, model: M, columns: usize) -> ConjugateVi<M> {
        let norm = ((columns + 1) as f64).sqrt();
        ConjugateVi::new(model).budget(self.of_classes).steps(STEPS).clip_norm(norm)
    }
}

/// The model of one record: its class is summed out.
fn mixture(classes: usize, shares: Vec<Vec<f64>>) -> impl Fn(&mut Ctx<'_>) -> ppl_core::Result<()> {
    move |ctx| {
        let weights = ctx.sample("classes", Dirichlet::symmetric(1.0, classes))?;
        let mut tables = Vec::with_capacity(shares.len());
        for (column, shares) in shares.iter().enumerate() {
            // A level that noise has hidden may have records all the same.
            let levels = shares.len() as f64;
            let concentration: Vec<f64> = shares.iter().map(|share| (share * levels).max(0.1)).collect();
            tables.push(ctx.sample(
                &site(column),
                Dirichlet::new(ctx.constant(ndarray::Array1::from(concentration))).iid(classes),
            )?);
        }
        ctx.each_record(|ctx, record| {
            ctx.enumerate("class", Categorical::from_probs(weights), |ctx, class| {
                tables.iter().enumerate().try_for_each(|(column, table)| {
                    let law = Categorical::from_probs(table.gather(class));
                    ctx.observe(&observed(column), law, record.index(&observed(column))?)
                })
            })
        })
    }
}

fn site(column: usize) -> String {
    format!("levels of column {column}")
}

fn observed(column: usize) -> String {
    format!("column {column}")
}

/// Releases single columns of a table, and fits latent classes to the records.
///
/// The records are read here, and nothing of them is seen again but through [`Marginals`] and [`ConjugateVi`].
/// The seeds have to be secret, different, and used for nothing else.
///
/// # Errors
/// As [`fit`](super::fit); settings with a target or columns together, which these models do not have; fewer than 2 or
/// more than 100 classes.
pub fn fit_classes(
    data: Data,
    settings: &Settings,
    classes: usize,
    purse: &mut (impl Purse + ?Sized),
    [of_singles, of_classes]: [Seed; 2],
) -> Result<Fitted> {
    if settings.target.is_some() || !settings.together.is_empty() {
        return Err(Error::input(
            "latent classes treat all columns alike: --target and --together are for the model of marginals",
        ));
    }
    if !(2..=100).contains(&classes) {
        return Err(Error::input(format!("--classes: {classes}, expected 2 to 100")));
    }
    let (Encoded { columns, left_out, sizes, codes }, schema) = data.encoded()?;
    let relation = purse.ledger().budget().relation;
    let budget = Budget { relation, ..settings.budget };
    let plan = Plan::new(&budget, sizes.len())?;
    check_cells(&sizes)?;
    let noise = affordable(&plan, columns.len(), classes, purse)?;

    let debits = purse.ledger().debits().len();
    let secret = of_singles.is_secret() && of_classes.is_secret();
    let records = Sensitive::new(Categories::new(sizes.clone(), codes.clone())?);
    let mut marginals = Marginals::new(&records, of_singles)?;
    let event = Marginals::counts_event(relation, plan.singles, plan.single_noise)?;
    marginals.pay(&Composition::single(event, 1), purse)?;
    let every: Vec<Vec<usize>> = (0..plan.singles).map(|column| vec![column]).collect();
    let released = marginals.counts(&every, plan.single_noise)?;
    drop(marginals);
    // As many levels as leave a level of a class as many records as three standard deviations of its noise.
    let most = |_: usize, total: f64| total / (classes as f64 * 3.0 * noise);
    let singles = Singles::new(&columns, &released, most, 3.0 * noise, &[]);
    let maps = maps(&columns, &singles.found, &singles.levels, &sizes);
    let records = merged(&codes[..columns.len()], &maps)?;
    drop(codes);

    let inference = plan.inference(mixture(classes, singles.shares.clone()), columns.len());
    let fit = inference.seed(of_classes).fit_from(&records, &mut &mut *purse)?;
    let mut weights: Vec<f64> = fit.posterior().mean("classes")?.iter().copied().collect();
    normalise(&mut weights);
    let mut tables = Vec::with_capacity(columns.len());
    for (column, shares) in singles.shares.iter().enumerate() {
        let mut table: Vec<f64> = fit.posterior().mean(&site(column))?.iter().copied().collect();
        table.chunks_mut(shares.len()).for_each(normalise);
        adjust(&mut table, &weights, shares);
        tables.push(table);
    }

    let mut events = Composition::new();
    for debit in &purse.ledger().debits()[debits..] {
        debit.iter().for_each(|(event, count)| events.push(event, count));
    }
    let accountant = Accountant::new(relation).with(&events);
    let (epsilon, success) = (accountant.epsilon(budget.delta)?.upper, Some(accountant.success(0.5)?.upper));
    // The fit's part of δ, (1 + e^ε) τ, at the ε of everything.
    let of_fit = fit.privacy();
    let own = of_fit.epsilon.map_or(0.0, |own| own.lower);
    let delta_of_deviations =
        of_fit.delta_of_deviations.map_or(0.0, |part| part * (1.0 + epsilon.exp()) / (1.0 + own.exp()));
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let provenance = Provenance {
        epsilon,
        delta: budget.delta,
        delta_of_deviations,
        success,
        relation: in_words(relation).to_owned(),
        secret,
        left_out,
        treated_as_public: schema.schema().statements(&names),
        noise: (released[0].noise, noise),
    };
    let parts = columns.into_iter().zip(&singles.found).zip(singles.levels);
    let columns = parts.map(|((column, pieces), levels)| Column::new(column, pieces, levels)).collect();
    let model = assembled(columns, singles.records, &schema, provenance, &weights, tables)?;
    Ok(Fitted { model, events })
}

/// The model: a junction tree in which the class, a column that is hidden, is the only parent of every other.
fn assembled(
    mut columns: Vec<Column>,
    records: f64,
    schema: &Schema,
    provenance: Provenance,
    weights: &[f64],
    given_class: Vec<Vec<f64>>,
) -> Result<Model> {
    let class = columns.len();
    columns.push(Column::of_classes(weights, records));
    let variances = vec![(provenance.noise.1 * provenance.noise.1).max(f64::MIN_POSITIVE)];
    let counted = |columns, counts| Counted { columns, counts, variances: variances.clone(), brings: true };
    let logs = |shares: &[f64]| shares.iter().map(|share| share.max(1e-12).ln()).collect::<Vec<f64>>();
    let mut cliques = vec![Clique { column: class, parents: Vec::new(), host: 0 }];
    let mut tables = vec![counted(vec![class], weights.iter().map(|weight| weight * records).collect())];
    let mut potentials = vec![logs(weights)];
    for (column, table) in given_class.into_iter().enumerate() {
        cliques.push(Clique { column, parents: vec![class], host: 0 });
        let width = table.len() / weights.len();
        let of_class = |(cell, share): (usize, &f64)| records * weights[cell / width] * share;
        tables.push(counted(vec![class, column], table.iter().enumerate().map(of_class).collect()));
        potentials.push(logs(&table));
    }
    let mut model = Model {
        format: FORMAT.to_owned(),
        version: NEWEST,
        records,
        target: None,
        provenance,
        columns,
        constraints: schema.constraints().to_vec(),
        cliques,
        tables,
        potentials,
        conditionals: Vec::new(),
        asked: None,
    };
    model.complete()?;
    Ok(model)
}

/// That a purse can pay for all of it, before anything is paid for; the standard deviation of the noise in a count of
/// the fit.
fn affordable(plan: &Plan, columns: usize, classes: usize, purse: &(impl Purse + ?Sized)) -> Result<f64> {
    // What it costs and how noisy it is does not depend on the levels, which are not known yet.
    let none = Records::from_columns((0..columns).map(|column| (observed(column), vec![0_u32])))
        .map_err(dp_vi::Error::from)?;
    let model = mixture(classes, vec![vec![0.5, 0.5]; columns]);
    let planned = plan.inference(model, columns).plan(none.schema())?;
    let relation = plan.of_classes.relation;
    let mut all = Composition::single(Marginals::counts_event(relation, plan.singles, plan.single_noise)?, 1);
    if let Some(calibrated) = &planned.calibrated {
        let noise_multiplier = calibrated.noise_multiplier;
        all.push(Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None)?, planned.steps);
    }
    purse.ledger().clone().debit_all(&all)?;
    Ok(planned.averaged_noise())
}

/// Records of levels.
fn merged(codes: &[Vec<u32>], maps: &[Vec<u32>]) -> Result<Sensitive<Records>> {
    let columns = codes.iter().zip(maps).enumerate().map(|(column, (codes, map))| {
        (observed(column), codes.iter().map(|&code| map[code as usize]).collect::<Vec<u32>>())
    });
    Ok(Sensitive::new(Records::from_columns(columns).map_err(dp_vi::Error::from)?))
}

fn normalise(weights: &mut [f64]) {
    let sum: f64 = weights.iter().sum();
    let even = 1.0 / weights.len() as f64;
    weights.iter_mut().for_each(|weight| *weight = if sum > 0.0 { *weight / sum } else { even });
}

/// Iterative proportional fitting: a column's levels given each class, until all classes together have these shares.
fn adjust(table: &mut [f64], weights: &[f64], shares: &[f64]) {
    for _ in 0..PASSES {
        let mut found = vec![0.0; shares.len()];
        for (row, weight) in table.chunks(shares.len()).zip(weights) {
            found.iter_mut().zip(row).for_each(|(found, share)| *found += weight * share);
        }
        for row in table.chunks_mut(shares.len()) {
            for ((own, found), share) in row.iter_mut().zip(&found).zip(shares) {
                *own *= if *found > 0.0 { share / found } else { 0.0 };
            }
            normalise(row);
        }
    }
}
