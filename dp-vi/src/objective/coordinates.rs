//! Linear coordinates of the values that records touch.

use crate::error::{Error, Result};
use crate::optimiser::SavedState;
use nalgebra::{DMatrix, DVector, DVectorView};
use ndarray::{Array1, Array2, ArrayD};
use ppl_core::handlers::Handler;
use ppl_core::{Graph, Message, SiteKind, Var};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// Coordinates in which the unconstrained values of the sites that records touch are looked for:
///
/// ```text
/// u = c + W v        W lower triangular with a positive diagonal, sites in the order of the model
/// ```
///
/// A site's value is a function of its own coordinates and those of the sites before it, so that a model
/// run from its first line to its last can compute it.
#[derive(Clone, Debug)]
pub(crate) struct Coordinates {
    /// The sites, each with its elements of `u` and of `v`.
    sites: Vec<(String, Range<usize>)>,
    centre: DVector<f64>,
    factor: DMatrix<f64>,
}

impl Coordinates {
    /// Sites with their numbers of elements, `c`, and `W`.
    pub(crate) fn new(sites: &[(String, usize)], centre: DVector<f64>, factor: DMatrix<f64>) -> Self {
        let mut at = 0;
        let place = |(name, elements): &(String, usize)| {
            at += elements;
            (name.clone(), at - elements..at)
        };
        Self { sites: sites.iter().map(place).collect(), centre, factor }
    }

    /// The sites, each with its elements.
    pub(crate) fn sites(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.sites.iter().map(|(name, range)| (name.as_str(), range.clone()))
    }

    /// The number of a site, if it has coordinates.
    pub(crate) fn find(&self, site: &str) -> Option<usize> {
        self.sites.iter().position(|(name, _)| name == site)
    }

    /// The elements of a site.
    pub(crate) fn range(&self, site: usize) -> Option<Range<usize>> {
        self.sites.get(site).map(|(_, range)| range.clone())
    }

    /// `c + W v`
    pub(crate) fn values(&self, coordinates: &[f64]) -> Vec<f64> {
        let moved = &self.factor * DVectorView::from_slice(coordinates, coordinates.len());
        (moved + &self.centre).as_slice().to_vec()
    }

    /// `c`
    pub(crate) fn centre(&self) -> &[f64] {
        self.centre.as_slice()
    }

    /// `√(W Wᵀ)_jj`, how far a value goes for coordinates of order one.
    pub(crate) fn units(&self) -> Vec<f64> {
        self.factor.row_iter().map(|row| row.norm()).collect()
    }

    /// `W⁻¹ (u − c)`
    pub(crate) fn inward(&self, values: &[f64]) -> Vec<f64> {
        let away = DVectorView::from_slice(values, values.len()) - &self.centre;
        // The diagonal is positive.
        self.factor.solve_lower_triangular(&away).map_or_else(Vec::new, |v| v.as_slice().to_vec())
    }

    /// Standard deviations of `W⁻¹ u` for independent `u` of these standard deviations, and, row by row, which of
    /// them it is made of.
    pub(crate) fn spread_inward(&self, deviations: &[f64]) -> Vec<(f64, Vec<bool>)> {
        let n = deviations.len();
        let inverse = self.factor.solve_lower_triangular(&DMatrix::identity(n, n));
        let inverse = inverse.unwrap_or_else(|| DMatrix::identity(n, n));
        let row = |j: usize| {
            let parts = (0..n).map(|k| inverse[(j, k)] * deviations[k]);
            let square: f64 = parts.map(|part| part * part).sum();
            (square.sqrt(), (0..n).map(|k| inverse[(j, k)] != 0.0).collect())
        };
        (0..n).map(row).collect()
    }

    /// The value of a site by the coordinates of the sites up to it, all as expressions.
    pub(crate) fn value<'g>(&self, site: usize, coordinates: &[Var<'g>]) -> Option<Var<'g>> {
        let rows = &self.sites.get(site)?.1;
        let own = coordinates.get(site)?;
        let graph = own.graph();
        let centre: Array1<f64> = rows.clone().map(|j| self.centre[j]).collect();
        let mut value = graph.array(&centre.into_dyn());
        for ((_, columns), coordinate) in self.sites.iter().zip(&coordinates[..=site]) {
            let block = self.factor.view((rows.start, columns.start), (rows.len(), columns.len()));
            if block.iter().all(|x| *x == 0.0) {
                continue;
            }
            let matrix: ArrayD<f64> =
                Array2::from_shape_fn((rows.len(), columns.len()), |(j, k)| block[(j, k)]).into_dyn();
            value = value + graph.array(&matrix).matvec(coordinate.reshape(columns.len()));
        }
        Some(value.reshape(own.shape()))
    }

    /// `W`
    pub(crate) fn factor(&self) -> &DMatrix<f64> {
        &self.factor
    }

    /// Appends what [`restored`](Self::restored) makes the same of.
    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        state.extend(&self.centre);
        state.extend(&self.factor);
    }

    /// Coordinates of these sites from what was saved.
    pub(crate) fn restored(sites: &[(String, usize)], state: &mut SavedState<'_>) -> Result<Self> {
        let n = sites.iter().map(|(_, elements)| elements).sum();
        let centre = DVector::from_column_slice(state.take(n)?);
        let factor = DMatrix::from_column_slice(n, n, state.take(n * n)?);
        let is_sound =
            centre.iter().chain(&factor).all(|x| x.is_finite()) && factor.diagonal().iter().all(|x| *x > 0.0);
        match is_sound {
            true => Ok(Self::new(sites, centre, factor)),
            false => Err(Error::Conflict("coordinates are finite, and their factor has a positive diagonal")),
        }
    }
}

/// Makes the coordinates of sites inputs, and unconstrained values of the others.
pub(crate) struct Located<'g> {
    coordinates: Arc<Coordinates>,
    /// The name of the input of a site.
    name: fn(&str) -> String,
    /// The coordinates of the sites so far.
    seen: RefCell<Vec<Var<'g>>>,
}

impl Located<'_> {
    pub(crate) fn new(coordinates: Arc<Coordinates>, name: fn(&str) -> String) -> Self {
        Self { coordinates, name, seen: RefCell::default() }
    }
}

impl<'g> Handler<'g> for Located<'g> {
    fn process(&self, message: &mut Message<'g>) -> ppl_core::Result<()> {
        // What comes back without having been given a value is a function of another site, which passes by itself.
        if !message.wants_value() || message.enumerable || message.fix_bounds()? {
            return Ok(());
        }
        let support = message.support();
        let shape = support.unconstrained_shape(&message.shape()?)?;
        let graph: &'g Graph = message.graph();
        let input = graph.input((self.name)(&message.name), shape)?;
        let value = match self.coordinates.find(&message.name) {
            Some(site) => {
                self.seen.borrow_mut().push(input);
                self.coordinates.value(site, &self.seen.borrow())
            }
            None => Some(input),
        };
        let Some(value) = value else {
            let told = "the model declares its sites in another order when it is run again".to_owned();
            return Err(ppl_core::Error::Values(told).at_site(&message.name));
        };
        message.give(support.constrain(value))?;
        message.unconstrained = Some(input);
        // A parameter has no density that the mapping would change.
        if message.kind == SiteKind::Latent {
            message.log_jacobian = support.log_jacobian(value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl_core::{ExecutionPlan, Program};

    fn coordinates() -> Coordinates {
        let sites = [("a".to_owned(), 1), ("b".to_owned(), 2)];
        let centre = DVector::from_vec(vec![1.0, -2.0, 30.0]);
        let factor = DMatrix::from_row_slice(3, 3, &[2.0, 0.0, 0.0, -1.0, 0.5, 0.0, 7.0, 0.0, 10.0]);
        Coordinates::new(&sites, centre, factor)
    }

    #[test]
    fn values_and_coordinates_are_each_others_inverse() {
        let all = coordinates();
        let v = [0.3, -1.5, 0.25];
        // 1 + 2 · 0.3; -2 − 0.3 − 0.75; 30 + 2.1 + 2.5
        let values = all.values(&v);
        let expected = [1.6, -3.05, 34.6];
        assert!(values.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-12), "{values:?}");
        assert!(all.inward(&values).iter().zip(v).all(|(x, y)| (x - y).abs() < 1e-12));
        assert_eq!(all.units(), [2.0, 1.25_f64.sqrt(), 149.0_f64.sqrt()]);
        // v_a = u_a/2; v_b0 = 2 u_b0 + u_a; v_b1 = (u_b1 − 3.5 u_a)/10
        let spread = all.spread_inward(&[4.0, 1.0, 10.0]);
        let deviations = [2.0, 20.0_f64.sqrt(), (1.0 + 1.96_f64).sqrt()];
        assert!(spread.iter().zip(deviations).all(|((x, _), y)| (x - y).abs() < 1e-12), "{spread:?}");
        assert_eq!(spread[2].1, [true, false, true]);
    }

    #[test]
    fn expressions_are_the_values() {
        let all = coordinates();
        let graph = Graph::new();
        let (a, b) = (graph.input("a", 1).unwrap(), graph.input("b", 2).unwrap());
        let values = [all.value(0, &[a]).unwrap(), all.value(1, &[a, b]).unwrap()];
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &values).unwrap());
        plan.set("a", &[0.3]).unwrap();
        plan.set("b", &[-1.5, 0.25]).unwrap();
        plan.run();
        let found: Vec<f64> = (0..2).flat_map(|output| plan.output(output).to_vec()).collect();
        let expected = all.values(&[0.3, -1.5, 0.25]);
        assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-12), "{found:?}");
        // A site cannot be computed before its coordinates are there.
        assert!(all.value(1, &[a]).is_none());
    }

    #[test]
    fn what_was_saved_is_restored() {
        let (all, mut state) = (coordinates(), vec![]);
        all.save(&mut state);
        let sites: Vec<_> = all.sites().map(|(name, range)| (name.to_owned(), range.len())).collect();
        let mut saved = SavedState::new(&state);
        let again = Coordinates::restored(&sites, &mut saved).unwrap();
        assert!(saved.finish().is_ok() && again.centre == all.centre && again.factor == all.factor);
        assert!(Coordinates::restored(&sites, &mut SavedState::new(&state[1..])).is_err());
    }
}
