//! A first fit to made-up records, which says where values lie and in which units.

use crate::error::{Error, Result};
use crate::guides::AutoNormal;
use crate::objective::coordinates::Coordinates;
use crate::objective::draws::DrawScheme;
use crate::objective::gradients::Gradients;
use crate::objective::programs::{Objective, Options};
use crate::objective::traced::Traced;
use crate::objective::weights::RecordWeights;
use crate::optimiser::SavedState;
use crate::outcome::convergence::converge;
use crate::outcome::correction::hessian::Hessian;
use crate::outcome::correction::linear_algebra::{Factor, eigen, square, symmetrised};
use crate::run::training::locations;
use crate::wall::octaves::{OCTAVES, edge, octave, stretches};
use crate::wall::sensitive::Sensitive;
use dp_sampler::rand_core::Rng;
use dp_sampler::{Purpose, Seed};
use nalgebra::{DMatrix, DVector};
use ndarray::{ArrayD, IxDyn};
use ppl_core::records::ColumnType;
use ppl_core::{Column, Graph, Model, Predictive, Records, Schema, SiteKind};
use std::collections::BTreeMap;

/// Records that are made up: enough for means and spreads to within a tenth, with numbers that are spread
/// evenly.
const MADE_UP: usize = 256;

/// Standard deviations of the noise that a count must have to be one, next to bins that are certain. Of a handful of
/// bins without a record one has as many in one of some thousand releases, and then numbers are taken to be a few
/// times as large as they are.
const COUNTS: f64 = 4.0;

/// The same for a count that is not near where records are for certain. Of a hundred bins without a record one has as
/// many in one of 30,000 releases, with four deviations in one of 300. A number may then be a million times as large
/// as it is said to be, and the run begins where no step leads back from: with 400 records of three numbers at ε = 1
/// a deviation of .8 was found as 1,100 in one run of forty.
const FAR: f64 = 5.0;

/// Logarithm of how much likelier all records in a stretch, as many in each of its bins, have to make the counts than
/// none, for records to be there for certain: e¹⁰ is forty times the number of stretches and bins, 538. It takes 4.5
/// deviations of the noise at least, and more where the records are more or fewer than that.
const ALL_HERE: f64 = 10.0;

/// Octaves from where records are for certain to those that are next to it, of either sign.
const NEXT: u8 = 2;

/// Eigenvalues of the curvature below this share of the largest, in units in which its diagonal is one, are
/// taken to be that: an octave does not tell numbers in it from a constant by more. Of a number that is anywhere
/// in an octave the square of the mean is .982 of the mean square.
const LEAST: f64 = 0.02;

/// Square of the longest unit, in the prior's deviations. Above the variance `1/P` itself, for a half normal prior of a
/// scale that is about as large says half as much again of its logarithm as a record does (`2σ²/s²` to 2).
const PRIOR_VARIANCES: f64 = 2.0;

/// The part of the octave from one in which a column's numbers are made up where all of them are in that octave, unless
/// the model observes it. They may be a constant, or an indicator whose zeros the noise hides. All made up as ones,
/// they could not be told from an intercept, and with a flat prior the fit went thirty thousand away; made up in all of
/// the octave, they give coefficients units that are two thirds of what they should be.
const CONSTANT: f64 = 0.25;

/// How much longer or shorter than values coordinates have to be to be of use.
const ORDER_ONE: f64 = 2.0;

/// How the numbers of a column are made up.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Anywhere in their octaves; where these are none but zero and the one from one, zeros and ones, and in a part
    /// of that one alone.
    Real,
    /// Integers in their octaves; of the last octave in this share, from the end that is nearer to zero.
    Whole(f64),
}

/// From the most to the least that a model may take: integers are what indices and counts are, and those above
/// the largest there is are in the upper part of an octave.
const KINDS: [Kind; 6] =
    [Kind::Real, Kind::Whole(1.0), Kind::Whole(0.5), Kind::Whole(0.25), Kind::Whole(0.125), Kind::Whole(0.0)];

/// A column of which is known in which octaves its numbers lie.
struct Known<'a> {
    name: &'a str,
    shape: Vec<usize>,
    column_type: ColumnType,
    /// For each number of a record, its quantiles, shuffled: the ends of octaves, and places in them from 0 to 1.
    places: Vec<Vec<(f64, f64)>>,
}

impl Known<'_> {
    fn column(&self, kind: Kind, is_observed: bool) -> Result<Column> {
        let last = self.places.iter().flatten().map(|(from, _)| from.abs()).fold(0.0, f64::max);
        // Numbers that are zero or in the octave from one are as a rule indicators, and constants of one.
        let kind_of = |places: &Vec<(f64, f64)>| {
            let is_one = |(from, _): &(f64, f64)| *from == 1.0;
            let is_zero_or_one = places.iter().all(|place| place.0 == 0.0 || is_one(place));
            match (is_zero_or_one, places.iter().all(is_one)) {
                (true, false) => 0.0,
                (true, true) if !is_observed => CONSTANT,
                _ => 1.0,
            }
        };
        let elements: Vec<_> = self.places.iter().map(|places| (places, kind_of(places))).collect();
        let number = |(from, place): (f64, f64), spread: f64| match kind {
            Kind::Real => from * (1.0 + spread * place),
            Kind::Whole(share) if from.abs() == last => (from * (1.0 + share * place)).trunc(),
            // An octave does not hold its end.
            Kind::Whole(_) => (from * (1.0 + place.min(1.0 - f64::EPSILON))).trunc(),
        };
        let shape: Vec<usize> = std::iter::once(MADE_UP).chain(self.shape.iter().copied()).collect();
        let of = |record: usize| elements.iter().map(move |(places, spread)| (places[record], *spread));
        let values: Vec<f64> =
            (0..MADE_UP).flat_map(of).map(|(place, spread)| number(place, spread)).collect();
        let told = |error: ndarray::ShapeError| ppl_core::Error::Records(error.to_string());
        let array = ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(told)?;
        Ok(match self.column_type.is_integer() {
            true => Column::from(array.mapv(|x| x as i64)),
            false => Column::from(array),
        })
    }
}

/// How many records have a number in each octave, as far as a histogram with noise shows: bins that stand out, and
/// where most records are in none of them the stretch of neighbouring ones that does, evenly. `None` where
/// none does.
///
/// A bin that is nothing but noise may say that numbers are a million times as large as they are, so none is
/// taken on a guess.
fn counts(histogram: &[f64; OCTAVES], noise: f64, records: f64) -> Option<Vec<f64>> {
    // Of bins: how high they are together, in deviations of the noise, and what they hold.
    let together = |bins: Vec<usize>| {
        let sum = bins.iter().map(|&bin| histogram[bin]).sum::<f64>();
        (sum / (noise * (bins.len().max(1) as f64).sqrt()), sum, bins)
    };
    // A noisy number of records may be negative.
    let records = records.max(0.0);
    // Counts with noise of variance v where each of k bins has N/k: the exponent N/k (Σ − N/2)/v.
    let all_here = |bins: &Vec<usize>| {
        let sum = bins.iter().map(|&bin| histogram[bin]).sum::<f64>();
        records / bins.len() as f64 * (sum - 0.5 * records) / (noise * noise)
    };
    let singles = (0..OCTAVES).map(|bin| vec![bin]);
    let likeliest = singles.chain(stretches()).max_by(|a, b| all_here(a).total_cmp(&all_here(b)));
    let likeliest = likeliest.filter(|bins| all_here(bins) >= ALL_HERE);
    let high = (0..OCTAVES).filter(|&bin| histogram[bin] >= FAR * noise);
    let certain: Vec<usize> = high.chain(likeliest.into_iter().flatten()).collect();
    let enough = |bin: usize| match certain.iter().any(|&other| is_next(bin, other)) {
        true => COUNTS,
        false => FAR,
    };
    let stands_out = |bin: usize| histogram[bin] >= enough(bin) * noise;
    let mut counts: Vec<f64> =
        (0..OCTAVES).map(|bin| if stands_out(bin) { histogram[bin] } else { 0.0 }).collect();
    if counts.iter().sum::<f64>() < 0.5 * records {
        let open =
            |stretch: Vec<usize>| together(stretch.into_iter().filter(|&bin| counts[bin] == 0.0).collect());
        let best = stretches().map(open).max_by(|a, b| a.0.total_cmp(&b.0));
        let is_enough = |(height, _, bins): &(f64, f64, Vec<usize>)| {
            *height >= bins.iter().map(|&bin| enough(bin)).fold(FAR, f64::min)
        };
        if let Some((_, sum, bins)) = best.filter(is_enough) {
            bins.iter().for_each(|&bin| counts[bin] = sum / bins.len() as f64);
        }
    }
    if counts.iter().all(|count| *count == 0.0) {
        return None;
    }
    if counts.iter().skip(1).all(|count| *count == 0.0) {
        // A number that is always zero would say nothing of what it is multiplied with. As many records as
        // the noise may
        // hide have another one, and where zeros are common that is often a one.
        counts[octave(1.0)] = COUNTS * noise;
    }
    Some(counts)
}

/// Whether a bin is at most [`NEXT`] octaves from one where records are, whatever their signs. Zero is next to all,
/// and next to it is what is next to one: where there are zeros, there are often ones.
fn is_next(bin: usize, certain: usize) -> bool {
    let octave = |bin: usize| if bin == 0 { 0.0 } else { edge(bin).abs().log2() };
    bin == 0 || (octave(bin) - octave(certain)).abs() <= f64::from(NEXT)
}

/// Evenly spread quantiles of a histogram, in a random order.
fn places(counts: &[f64], random: &mut impl Rng) -> Vec<(f64, f64)> {
    let total: f64 = counts.iter().sum();
    let mut places = Vec::with_capacity(MADE_UP);
    let (mut bin, mut below) = (0, 0.0);
    for number in 0..MADE_UP {
        let wanted = (number as f64 + 0.5) / MADE_UP as f64 * total;
        while bin + 1 < OCTAVES && below + counts[bin] < wanted {
            below += counts[bin];
            bin += 1;
        }
        let place = if counts[bin] > 0.0 { (wanted - below) / counts[bin] } else { 0.0 };
        places.push((edge(bin), place.clamp(0.0, 1.0)));
    }
    for last in (1..MADE_UP).rev() {
        places.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    places
}

/// What was released of the octaves that numbers of the columns lie in.
#[derive(Clone, Debug)]
pub(super) struct Octaves {
    /// Of each number of a record, column by column.
    pub(super) histograms: Vec<[f64; OCTAVES]>,
    /// Standard deviation of the noise of each count.
    pub(super) deviation: f64,
    /// How many records there are, as it was stated or released; 0 where neither was.
    pub(super) number: f64,
}

impl Octaves {
    /// How many records there are: what is known, or else what the histograms say together.
    pub(super) fn records(&self) -> f64 {
        let total = |histogram: &[f64; OCTAVES]| histogram.iter().sum::<f64>();
        match self.number > 0.0 {
            true => self.number,
            false => self.histograms.iter().map(total).sum::<f64>() / self.histograms.len().max(1) as f64,
        }
    }

    /// Appends what [`restored`](Self::restored) makes the same of.
    pub(super) fn save(&self, state: &mut Vec<f64>) {
        state.extend([self.histograms.len() as f64, self.deviation, self.number]);
        state.extend(self.histograms.iter().flatten());
    }

    /// Octaves of so many numbers from what was saved; `None` if none were.
    pub(super) fn restored(numbers: usize, state: &mut SavedState<'_>) -> Result<Option<Self>> {
        let saved = state.take(1)?[0];
        if saved == 0.0 {
            return Ok(None);
        }
        if saved != numbers as f64 {
            return Err(Error::Conflict("the octaves in a checkpoint are of other columns"));
        }
        let head = state.take(2)?;
        let (deviation, number) = (head[0], head[1]);
        let mut histograms = vec![[0.0; OCTAVES]; numbers];
        for histogram in &mut histograms {
            state.copy_to(histogram)?;
        }
        let is_sound = histograms.iter().flatten().chain([&deviation, &number]).all(|x| x.is_finite());
        match is_sound {
            true => Ok(Some(Self { histograms, deviation, number })),
            false => Err(Error::Conflict("the octaves in a checkpoint are finite numbers")),
        }
    }
}

/// Records whose numbers lie in the octaves that were released, column by column, and fit the model; `None` where
/// none do.
pub(super) fn made_up(
    model: &dyn Model,
    schema: &Schema,
    columns: &[String],
    released: &Octaves,
) -> Result<Option<Records>> {
    let (histograms, noise, number) = (&released.histograms, released.deviation, released.records());
    let mut random = Seed::for_tests(0).streams(Purpose::Custom("made-up records")).at(0);
    let mut histograms = histograms.iter();
    let mut known = Vec::new();
    for name in columns {
        let (_, shape) = schema.find(name)?;
        let own = histograms.by_ref().take(shape.elements());
        let counts: Option<Vec<_>> = own.map(|histogram| counts(histogram, noise, number)).collect();
        let Some(counts) = counts else { return Ok(None) };
        let places = counts.iter().map(|counts| places(counts, &mut random)).collect();
        let (shape, column_type) = (shape.dims().to_vec(), schema.column_type(name)?);
        known.push(Known { name, shape, column_type, places });
    }
    // The model may ask what other columns there are.
    for (name, shape) in schema.columns().filter(|(name, _)| !columns.iter().any(|read| read == name)) {
        let places = vec![vec![(0.0, 0.0); MADE_UP]; shape.elements()];
        known.push(Known {
            name,
            shape: shape.dims().to_vec(),
            column_type: schema.column_type(name)?,
            places,
        });
    }
    // As the records have them.
    let order = |known: &Known<'_>| schema.columns().position(|(name, _)| name == known.name);
    known.sort_by_key(order);
    let records = |kinds: &[Kind], observed: &[String]| -> Result<Records> {
        let mut columns = Vec::new();
        for (known, &kind) in known.iter().zip(kinds) {
            let is_observed = observed.iter().any(|name| name == known.name);
            columns.push((known.name, known.column(kind, is_observed)?));
        }
        Ok(Records::from_columns(columns)?)
    };
    let mut kinds = vec![Kind::Whole(0.0); known.len()];
    let first = records(&kinds, &[])?;
    // Where they cannot be told, none.
    let replicator = Predictive::prior(model, 1).replicator(&first);
    let observed: Vec<String> =
        replicator.iter().flat_map(|found| found.columns().map(str::to_owned)).collect();
    let records = |kinds: &[Kind]| records(kinds, &observed);
    let graph = Graph::new();
    let schema = first.schema().clone();
    let traced = Traced::new(model, &graph, &schema)?;
    let fits = |records: &Records| Sensitive::new(records.clone()).check_fit(&traced.trace, &graph).is_ok();
    if !fits(&first) {
        return Ok(None);
    }
    for column in 0..kinds.len() {
        for kind in KINDS {
            kinds[column] = kind;
            if !(known[column].column_type.is_integer() && matches!(kind, Kind::Real))
                && fits(&records(&kinds)?)
            {
                break;
            }
        }
    }
    Ok(Some(records(&kinds)?).filter(fits))
}

/// Coordinates in which the model's values are of order one, from where the numbers of the columns lie:
///
/// ```text
/// made-up records x'_1 … x'_K       numbers where the releases say that they are, columns independent of
/// each other
/// c    the mean of a normal fitted to them
/// W Wᵀ = max(H/K, P/2)⁻¹            H the likelihood's curvature at c, P the prior's: what one record leaves
///                                   open, or 1.4 deviations of the prior where that is less
/// ```
///
/// `None` where nothing follows: the fit does not end at a maximum.
pub(super) fn coordinates(
    model: &dyn Model,
    initial: &BTreeMap<String, ArrayD<f64>>,
    records: Records,
) -> Result<Option<Coordinates>> {
    let records = Sensitive::new(records);
    let options = Options {
        draws: DrawScheme::Antithetic,
        weights: &RecordWeights::None,
        gradients: Gradients::Aligned,
        stated_records: 1.0,
        clip_norm: 1.0,
        residual_bound: 1.0,
        per_site: false,
        curvature: None,
        by_scores: false,
        trace: false,
        initial: initial.clone(),
        coordinates: None,
    };
    let guide = AutoNormal::new();
    let Objective { estimator, .. } =
        Objective::new(model, &guide, records.schema(), &options, &|_, _| Ok(()))?;
    let shared = &estimator.shared;
    let seed = Seed::for_tests(0);
    // Where the density is not finite anywhere that is tried, or the posterior improper, nothing follows.
    let found = match converge(model, &guide, Some(&records), shared, &seed, None) {
        Ok(Some((found, convergence))) if convergence.converged => found,
        _ => return Ok(None),
    };
    let at = locations(shared, &guide, &found);
    let mut hessian = Hessian::new(model, records.schema())?;
    let touched: Vec<bool> = estimator.ranges().iter().map(Option::is_some).collect();
    let latent = shared.sites.iter().zip(&touched).filter(|(site, _)| site.kind != SiteKind::Param);
    let elements: Vec<bool> = latent.flat_map(|(site, touched)| vec![*touched; site.elements()]).collect();
    let prior = square(&hessian.at(&at, None)?, elements.len());
    let all = square(&hessian.at(&at, Some(&records))?, elements.len());
    let one_record = (all - &prior) / MADE_UP as f64;
    let kept: Vec<usize> = (0..elements.len()).filter(|&j| elements[j]).collect();
    let keep = |of: &DMatrix<f64>| DMatrix::from_fn(kept.len(), kept.len(), |j, k| of[(kept[j], kept[k])]);
    let scale = if is_bernoulli(model, records.schema())? { 0.5 } else { 1.0 };
    let factor = factor(&keep(&symmetrised(&one_record)), &keep(&symmetrised(&prior)), scale);
    let sites: Vec<(String, usize)> = shared
        .sites
        .iter()
        .zip(&touched)
        .filter(|(site, touched)| **touched && site.kind != SiteKind::Param)
        .map(|(site, _)| (site.name.clone(), site.elements()))
        .collect();
    let centre = shared.sites.iter().zip(&touched).zip(at).filter(|((_, touched), _)| **touched);
    let centre: Vec<f64> = centre.flat_map(|(_, at)| at).collect();
    let sound = centre.iter().all(|x| x.is_finite()) && centre.len() == kept.len();
    let factor = factor.filter(|factor| sound && !is_of_order_one(factor));
    Ok(factor.map(|factor| Coordinates::new(&sites, DVector::from_vec(centre), factor)))
}

/// Whether coordinates are in no direction more than [`ORDER_ONE`] times as long or as short as values: the
/// model's own
/// units do then, which the run's other constants were measured in. A first fit does not know how well features
/// will explain an outcome, and where they leave a hundredth of its variance its units are ten times too long.
fn is_of_order_one(factor: &DMatrix<f64>) -> bool {
    let squares = eigen(factor * factor.transpose()).map(|found| found.eigenvalues);
    squares.is_some_and(|squares| {
        let (least, most) = (squares.min().max(0.0).sqrt(), squares.max().sqrt());
        least >= ORDER_ONE.recip() && most <= ORDER_ONE
    })
}

/// Of a Bernoulli outcome the curvature is a quarter of what features say, and clip norms are for these.
fn is_bernoulli(model: &dyn Model, schema: &Schema) -> Result<bool> {
    let graph = Graph::new();
    let traced = Traced::new(model, &graph, schema)?;
    Ok(traced.linear()?.is_some_and(|term| term.softplus.is_some()) && traced.is_bernoulli())
}

/// The lower factor, times a scale, of the inverse of what one record or the prior says, the larger of the two
/// direction by direction. They need not be positive definite: in units in which the diagonal of their sum is one,
/// small and negative eigenvalues of the sum are raised, as if records said that.
///
/// Where records say half as much as the prior or more, the prior is left out: of many records it will say next to
/// nothing, and to count it would make a direction shorter, and its noise longer, than those that it says
/// nothing of.
fn factor(one_record: &DMatrix<f64>, prior: &DMatrix<f64>, scale: f64) -> Option<DMatrix<f64>> {
    let n = prior.nrows();
    let sum = one_record + prior;
    let unit = |&own: &f64| if own > 0.0 && own.is_finite() { own.sqrt().recip() } else { 1.0 };
    let units: Vec<f64> = sum.diagonal().iter().map(unit).collect();
    let in_units = |of: &DMatrix<f64>| DMatrix::from_fn(n, n, |j, k| of[(j, k)] * units[j] * units[k]);
    let both = eigen(in_units(&sum))?;
    let least = LEAST * both.eigenvalues.max().max(1.0);
    let root = both.eigenvalues.map(|value| value.max(least).sqrt().recip());
    let root = &both.eigenvectors * DMatrix::from_diagonal(&root) * both.eigenvectors.transpose();
    // The prior's share of the sum, and one less it that of the records and of what was raised.
    let shares = eigen(symmetrised(&(&root * in_units(prior) * &root)))?;
    let inverse = shares.eigenvalues.map(|share| (1.0 - share).max(share / PRIOR_VARIANCES).recip());
    let turned = root * &shares.eigenvectors;
    let covariance = &turned * DMatrix::from_diagonal(&inverse) * turned.transpose();
    Factor::new(symmetrised(&in_units(&covariance))).map(|factor| factor.matrix() * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::{GaussianNoise, NoiseSource};
    use ppl_core::Ctx;
    use ppl_distributions::{HalfNormal, Normal, Poisson};

    /// A histogram of numbers with noise of this deviation.
    fn histogram(numbers: impl Iterator<Item = f64>, noise: f64, seed: u64) -> [f64; OCTAVES] {
        let mut histogram = [0.0; OCTAVES];
        GaussianNoise::with_purpose(&Seed::for_tests(seed), Purpose::Custom("test")).fill(0, &mut histogram);
        histogram.iter_mut().for_each(|count| *count *= noise);
        numbers.for_each(|number| histogram[octave(number)] += 1.0);
        histogram
    }

    #[test]
    fn noise_is_not_taken_for_numbers() {
        for seed in 0..20 {
            assert!(counts(&histogram(std::iter::empty(), 10.0, seed), 10.0, 1_000.0).is_none());
            let found =
                counts(&histogram((0..1_000).map(|i| 64.0 + f64::from(i % 60)), 10.0, seed), 10.0, 1_000.0);
            let found = found.unwrap();
            let others: f64 =
                found.iter().enumerate().filter(|(bin, _)| *bin != octave(64.0)).map(|(_, x)| x).sum();
            assert!((found[octave(64.0)] - 1_000.0).abs() < 50.0 && others == 0.0);
        }
    }

    /// A bin of nothing but noise, 4.5 of its deviations high, far from all numbers and next to them. What it is by
    /// itself is left out, and what is next to numbers does no harm.
    #[test]
    fn a_high_count_far_from_all_numbers_is_noise() {
        let mut noisy = histogram((0..400).map(|i| 1.0 + 0.002 * f64::from(i)), 28.0, 1);
        for (number, is_taken) in
            [(4_096.0, false), (-4_096.0, false), (-1.5, true), (4.0, true), (8.0, false)]
        {
            let before = std::mem::replace(&mut noisy[octave(number)], 4.5 * 28.0);
            let found = counts(&noisy, 28.0, 400.0).unwrap();
            assert_eq!(found[octave(number)] > 0.0, is_taken, "{number}");
            noisy[octave(number)] = before;
        }
        // Zeros are near all numbers, and near zeros are ones.
        for (numbers, number, is_taken) in [(64.0, 0.0, true), (0.0, 1.0, true), (0.0, 64.0, false)] {
            let mut noisy = histogram(std::iter::repeat_n(numbers, 400), 28.0, 1);
            noisy[octave(number)] = 4.5 * 28.0;
            let found = counts(&noisy, 28.0, 400.0).unwrap();
            assert_eq!(found[octave(number)] > 0.0, is_taken, "{numbers} {number}");
        }
    }

    /// Normal numbers are in no octave often enough, but in several together they are.
    #[test]
    fn numbers_in_many_octaves_are_found_in_a_stretch_of_them() {
        let mut normals = vec![0.0; 400];
        GaussianNoise::with_purpose(&Seed::for_tests(1), Purpose::Custom("numbers")).fill(0, &mut normals);
        let (mut stretches, mut wrong) = (0, 0);
        for seed in 0..20 {
            let noisy = histogram(normals.iter().map(|z| 100.0 * z), 22.0, seed);
            let Some(found) = counts(&noisy, 22.0, 400.0) else { continue };
            stretches += 1;
            let far = |bin: usize| edge(bin).abs() > 1_024.0 || edge(bin).abs() < 4.0;
            wrong += usize::from((0..OCTAVES).any(|bin| found[bin] > 0.0 && far(bin)));
        }
        assert!(stretches >= 15 && wrong == 0, "{stretches} {wrong}");
    }

    #[test]
    fn zeros_alone_get_ones() {
        let found = counts(&histogram(std::iter::repeat_n(0.0, 1_000), 10.0, 1), 10.0, 1_000.0).unwrap();
        assert!(found[0] > 900.0 && found[octave(1.0)] == 40.0);
    }

    fn regression(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        let intercept = ctx.sample("intercept", Normal::new(0.0, 1_000.0))?;
        let slope = ctx.sample("slope", Normal::new(0.0, 1_000.0))?;
        let sigma = ctx.sample("sigma", HalfNormal::new(1_000.0))?;
        ctx.each_record(|ctx, record| {
            let mean = intercept + slope * record.get("x")?;
            ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
        })
    }

    fn found(model: &dyn Model, columns: &[(&str, Vec<f64>)]) -> Option<Coordinates> {
        let histograms: Vec<_> =
            columns.iter().map(|(_, numbers)| histogram(numbers.iter().copied(), 5.0, 1)).collect();
        let names: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let schema =
            Schema::new(names.iter().map(|name| (name.clone(), ndarray::arr0(0.0).shape().to_vec())))
                .unwrap();
        let released = Octaves { histograms, deviation: 5.0, number: columns[0].1.len() as f64 };
        let records = made_up(model, &schema, &names, &released).unwrap()?;
        coordinates(model, &BTreeMap::new(), records).unwrap()
    }

    /// A score of 64 to 128 against a feature of 1,024 to 2,048: the intercept's unit is that of the score, the
    /// slope's is smaller by what the feature varies, and the centre is where the mean is right.
    #[test]
    fn coordinates_follow_the_units_of_the_columns() {
        let columns = [
            ("x", (0..2_000).map(|i| 1_024.0 + f64::from(i % 1_000)).collect::<Vec<f64>>()),
            ("y", (0..2_000).map(|i| 64.0 + f64::from(i % 61)).collect()),
        ];
        let all = found(&regression, &columns).unwrap();
        let names: Vec<&str> = all.sites().map(|(name, _)| name).collect();
        assert_eq!(names, ["intercept", "slope", "sigma"]);
        let centre = all.centre();
        let mean = centre[0] + centre[1] * 1_536.0;
        assert!((mean - 96.0).abs() < 4.0, "{centre:?}");
        // A uniform octave from 64 has the deviation 18.5.
        assert!((centre[2].exp() / 18.5 - 1.0).abs() < 0.1, "{centre:?}");
        // Moving along a coordinate by one changes means by as much as a residual varies.
        for (j, row) in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].iter().enumerate() {
            let to = all.values(row);
            let moved = (0..1_000).map(|i| {
                let x = 1_024.0 + f64::from(i);
                (to[0] - centre[0] + (to[1] - centre[1]) * x).powi(2)
            });
            let moved = (moved.sum::<f64>() / 1_000.0).sqrt();
            assert!(moved > 0.3 * 18.5 && moved < 1.5 * 18.5, "{j}: {moved}");
        }
    }

    /// Counts are made up as whole numbers, for the model takes no others.
    #[test]
    fn counts_are_made_up_as_whole_numbers() {
        let counts = |ctx: &mut Ctx<'_>| -> ppl_core::Result<()> {
            let rate = ctx.sample("log rate", Normal::new(0.0, 10.0))?;
            let slope = ctx.sample("slope", Normal::new(0.0, 10.0))?;
            ctx.each_record(|ctx, record| {
                let log_rate = rate + slope * record.get("x")?;
                ctx.observe("y", Poisson::new(log_rate.exp()), record.get("y")?)
            })
        };
        let columns = [
            ("x", (0..1_000).map(|i| 0.01 * f64::from(i % 2)).collect::<Vec<f64>>()),
            ("y", (0..1_000).map(|i| f64::from(i % 7)).collect()),
        ];
        let all = found(&counts, &columns).unwrap();
        assert!((all.centre()[0] - 1.1).abs() < 0.3, "{:?}", all.centre());
        // One record says of a log rate what its mean is worth, and next to nothing of the slope: √2 of its
        // prior's 10 are left.
        let units = all.units();
        assert!(
            (units[0] * 3.2_f64.sqrt() - 1.0).abs() < 0.1 && (13.4..14.2).contains(&units[1]),
            "{units:?}"
        );
    }

    /// An intercept's unit beside an indicator is what one record leaves open of it, not two thirds of that as if it
    /// varied from one to two.
    #[test]
    fn indicators_are_made_up_as_zeros_and_ones() {
        let of = |all: [f64; 2]| (0..MADE_UP).map(|k| (all[k % 2], 0.5)).collect::<Vec<_>>();
        let places = vec![of([0.0, 1.0]), of([1.0, 1.0]), of([1.0, 2.0])];
        let known = Known { name: "x", shape: vec![3], column_type: ColumnType::F64, places };
        let column = known.column(Kind::Real, false).unwrap();
        let wanted = [0.0, 1.125, 1.5, 1.0, 1.125, 3.0];
        assert!(column.data().numbers().enumerate().all(|(k, x)| x == wanted[k % 6]));
    }

    /// An indicator of which the noise hides the zeros, beside an intercept, with priors that are next to flat.
    #[test]
    fn an_indicator_without_zeros_is_told_from_an_intercept() {
        let flat = |ctx: &mut Ctx<'_>| -> ppl_core::Result<()> {
            let intercept = ctx.sample("intercept", Normal::new(0.0, 1e6))?;
            let slope = ctx.sample("slope", Normal::new(0.0, 1e6))?;
            let sigma = ctx.sample("sigma", HalfNormal::new(1_000.0))?;
            ctx.each_record(|ctx, record| {
                let mean = intercept + slope * record.get("x")?;
                ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
            })
        };
        let columns =
            [("x", vec![1.0; 1_000]), ("y", (0..1_000).map(|i| 64.0 + f64::from(i % 61)).collect())];
        let centre = found(&flat, &columns).unwrap().centre().to_vec();
        // A slope against a column of deviation .072, with residuals of 18.5, is known to within 16 from 256 records.
        assert!(
            centre[1].abs() < 5.0 * 16.0 && (centre[0] + 1.125 * centre[1] - 96.0).abs() < 6.0,
            "{centre:?}"
        );
    }

    /// Where values are of order one, and where no column shows, the model's own units stay.
    #[test]
    fn units_that_do_are_kept() {
        let even = |scale: f64| (0..2_000).map(|i| scale * (f64::from(i % 40) - 19.5)).collect::<Vec<f64>>();
        assert!(found(&regression, &[("x", even(0.08)), ("y", even(0.09))]).is_none());
        assert!(found(&regression, &[("x", even(80.0)), ("y", even(0.09))]).is_some());
        assert!(found(&regression, &[("x", vec![]), ("y", vec![])]).is_none());
    }
}
