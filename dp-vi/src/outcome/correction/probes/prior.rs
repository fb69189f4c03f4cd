//! A normal in the place of a prior.

use crate::objective::coordinates::Coordinates;
use crate::outcome::correction::linear_algebra::{compose, eigen, square, symmetrised};
use crate::outcome::correction::noise_aware::Evidence;
use nalgebra::{DMatrix, DVector, DVectorView};

/// Precision of the prior where values are, over that of its draws, below which it is taken to be that of its
/// draws.
const FLAT: f64 = 0.5;

/// How many times as much as the prior the data have to say of a direction for the prior to matter only where values
/// are: over a fifth of its deviation.
const SAY_MORE: f64 = 25.0;

/// How wide flat priors are taken to be, in units of what one record leaves open.
const FLAT_UNITS: f64 = 100.0;

/// What is known of the prior of one element of the frontier.
#[derive(Clone, Debug)]
pub(crate) struct ElementPrior {
    draws: Option<Vec<f64>>,
    is_real: bool,
    /// That of the normal of which as many are as near to the median.
    pub(super) deviation: f64,
}

impl ElementPrior {
    /// From draws of it, unconstrained. Without draws it is flat: values are taken to be known to within a
    /// thousand, or to within a factor of some e³ where they are not real numbers.
    pub(crate) fn new(draws: Option<Vec<f64>>, is_real: bool) -> Self {
        let found = draws.as_ref().map(|draws| spread(draws).1).filter(|x| *x > 0.0 && x.is_finite());
        let deviation = found.unwrap_or(if is_real { 1e3 } else { 3.0 });
        Self { draws: draws.filter(|_| found.is_some()), is_real, deviation }
    }

    /// That of the normal of which as many are as near to the median.
    pub(crate) fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The median; `None` of a flat prior.
    pub(crate) fn middle(&self) -> Option<f64> {
        self.draws.as_ref().map(|draws| spread(draws).0)
    }

    /// The priors of coordinates, from those of the values. Values whose prior cannot be drawn from are taken to be
    /// independent of the others.
    pub(crate) fn of_coordinates(priors: &[Self], coordinates: &Coordinates) -> Vec<Self> {
        // A flat prior has no units of its own.
        let wide = |(prior, unit): (&Self, f64)| match prior.draws {
            None if prior.is_real => FLAT_UNITS * unit,
            _ => prior.deviation,
        };
        let deviations: Vec<f64> = priors.iter().zip(coordinates.units()).map(wide).collect();
        let spreads = coordinates.spread_inward(&deviations);
        let number = priors.iter().filter_map(|prior| prior.draws.as_ref().map(Vec::len)).min().unwrap_or(0);
        let inside: Vec<Vec<f64>> = (0..number)
            .map(|draw| {
                let value = |(prior, centre): (&Self, &f64)| {
                    prior.draws.as_ref().map_or(*centre, |draws| draws[draw])
                };
                coordinates.inward(&priors.iter().zip(coordinates.centre()).map(value).collect::<Vec<_>>())
            })
            .collect();
        let element = |(j, (deviation, parts)): (usize, &(f64, Vec<bool>))| {
            let known = parts.iter().zip(priors).all(|(is_part, prior)| !is_part || prior.draws.is_some());
            let draws = known.then(|| inside.iter().map(|values| values[j]).collect::<Vec<f64>>());
            let draws = draws.filter(|draws| {
                let spread = spread(draws).1;
                spread > 0.0 && spread.is_finite()
            });
            let deviation = draws.as_ref().map_or(*deviation, |draws| spread(draws).1);
            Self { draws, is_real: true, deviation }
        };
        spreads.iter().enumerate().map(element).collect()
    }
}

/// Median, and the deviation of the normal of which half is as near to it.
fn spread(draws: &[f64]) -> (f64, f64) {
    const OF_A_NORMAL: f64 = 1.482_602_218_505_602;
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let middle = median(draws.to_vec());
    (middle, OF_A_NORMAL * median(draws.iter().map(|x| (x - middle).abs()).collect()))
}

/// A normal in the prior's place: minus its second derivatives, and its gradient at the values where
/// gradients were taken.
///
/// It is the prior's own there, but in directions in which the prior is nearly flat or bends the other way,
/// as a half-Cauchy far from its median: there a normal from there would reach far beyond what the prior
/// allows, and median and spread of the prior's draws are taken instead. Not in directions of which the data say
/// [`SAY_MORE`] times as much as the prior, which then matters where values are alone: `information` is what they say
/// at least.
pub(crate) fn normal_prior(
    prior: &[ElementPrior],
    evidence: &Evidence<'_>,
    information: Option<&DMatrix<f64>>,
) -> Option<(DMatrix<f64>, DVector<f64>)> {
    let n = prior.len();
    let scale = DVector::from_iterator(n, prior.iter().map(|prior| prior.deviation));
    let local = symmetrised(&square(evidence.prior_curvature, n));
    let in_units = |of: &DMatrix<f64>| DMatrix::from_fn(n, n, |j, k| of[(j, k)] * scale[j] * scale[k]);
    let mut axes = eigen(in_units(&local))?;
    let information = information.map(in_units);
    if let Some(information) = &information {
        // Among flat directions those of which the data say most and least, each by itself.
        let flat: Vec<usize> = (0..n).filter(|&k| axes.eigenvalues[k] < FLAT).collect();
        let among = axes.eigenvectors.select_columns(&flat);
        let turned = &among * eigen(symmetrised(&(among.transpose() * information * &among)))?.eigenvectors;
        for (column, &k) in turned.column_iter().zip(&flat) {
            axes.eigenvectors.set_column(k, &column);
            axes.eigenvalues[k] = column.dot(&(in_units(&local) * column));
        }
    }
    let mut precisions = axes.eigenvalues;
    let mut pull =
        axes.eigenvectors.tr_mul(&DVectorView::from_slice(evidence.prior_gradient, n).component_mul(&scale));
    for k in 0..n {
        if precisions[k] >= FLAT {
            continue;
        }
        let axis = axes.eigenvectors.column(k);
        if information.as_ref().is_some_and(|information| axis.dot(&(information * axis)) >= SAY_MORE) {
            continue;
        }
        let (mut along, mut variance) = (Vec::new(), 0.0);
        for ((x, prior), at) in axis.iter().zip(prior).zip(evidence.values) {
            match &prior.draws {
                None => variance += x * x,
                Some(draws) => {
                    along.resize(draws.len(), 0.0);
                    let away = draws.iter().map(|draw| x * (draw - at) / prior.deviation);
                    along.iter_mut().zip(away).for_each(|(sum, away): (&mut f64, f64)| *sum += away);
                }
            }
        }
        let (middle, deviation) = if along.is_empty() { (0.0, 0.0) } else { spread(&along) };
        let precision = (variance + deviation * deviation).recip();
        // NaN keeps what there is.
        if precision > precisions[k] {
            (precisions[k], pull[k]) = (precision, precision * middle);
        }
    }
    let precision = compose(&DMatrix::from_diagonal(&precisions), &axes.eigenvectors);
    let pull = (axes.eigenvectors * pull).component_div(&scale);
    Some((DMatrix::from_fn(n, n, |j, k| precision[(j, k)] / (scale[j] * scale[k])), pull))
}
