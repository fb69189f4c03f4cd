//! Which parameters are whose, and rates by name.

use super::{SavedState, StepIndex, Transformation, Update, check_positive};
use crate::error::{Error, Result};
use ppl_core::Scalar;
use std::ops::Range;

/// Names of parameters and where each one's numbers lie in the flat list of all.
///
/// ```
/// use dp_vi::optimiser::ParameterLayout;
/// let layout = ParameterLayout::new([("loc", 3), ("log_scale", 3)]);
/// assert_eq!(layout.elements(), 6);
/// assert_eq!(layout.iter().nth(1), Some(("log_scale", 3..6)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterLayout {
    /// Name, and where its numbers end.
    ends: Vec<(String, usize)>,
}

impl ParameterLayout {
    /// Parameters with these names and numbers of elements, one after the other.
    pub fn new<N: Into<String>>(parameters: impl IntoIterator<Item = (N, usize)>) -> Self {
        let mut end = 0;
        let place = |(name, elements): (N, usize)| {
            end += elements;
            (name.into(), end)
        };
        Self { ends: parameters.into_iter().map(place).collect() }
    }

    /// One parameter of this many elements, without a name.
    #[must_use]
    pub fn flat(elements: usize) -> Self {
        Self::new([(String::new(), elements)])
    }

    /// The number of elements of all.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.ends.last().map_or(0, |(_, end)| *end)
    }

    /// Names and ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        self.ends.iter().zip(starts).map(|((name, end), start)| (name.as_str(), start..*end))
    }
}

/// Multiplies the updates of single parameters: rates of their own.
///
/// A parameter gets the factor of the longest name in the list that it begins with, and 1 without one. The
/// guide's parameters for a site `w` are called `guide/w/loc`, `guide/w/log_scale` and so on.
///
/// ```
/// use dp_vi::optimiser::{ParameterLayout, ScaleByName, StepIndex, Transformation};
/// let mut rates = ScaleByName::new([("guide/", 0.5), ("guide/w/log_scale", 0.125)])?;
/// let layout = ParameterLayout::new([("guide/w/loc", 2), ("guide/w/log_scale", 1)]);
/// Transformation::<f64>::init(&mut rates, &layout)?;
/// let mut x = [0.0; 3];
/// rates.ascend(&mut x, &mut [8.0; 3], StepIndex { step: 0, steps: 1 });
/// assert_eq!(x, [4.0, 4.0, 1.0]);
/// # Ok::<(), dp_vi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScaleByName {
    factors: Vec<(String, f64)>,
    ranges: Vec<(Range<usize>, f64)>,
}

impl ScaleByName {
    /// Factors for all parameters whose name begins like this.
    ///
    /// # Errors
    /// If a factor is not positive and finite.
    pub fn new<N: Into<String>>(factors: impl IntoIterator<Item = (N, f64)>) -> Result<Self> {
        let factors = factors.into_iter().map(|(name, factor)| (name.into(), factor)).collect::<Vec<_>>();
        for (_, factor) in &factors {
            check_positive("factor of a parameter's rate", *factor)?;
        }
        Ok(Self { factors, ranges: Vec::new() })
    }
}

impl<T: Scalar> Transformation<T> for ScaleByName {
    fn init(&mut self, layout: &ParameterLayout) -> Result<()> {
        for (name, _) in &self.factors {
            if !layout.iter().any(|(parameter, _)| parameter.starts_with(name.as_str())) {
                let known: Vec<&str> = layout.iter().map(|(parameter, _)| parameter).collect();
                return Err(Error::UnknownParameter { name: name.clone(), known: known.join(", ") });
            }
        }
        let factor = |parameter: &str| {
            let fitting = self.factors.iter().filter(|(name, _)| parameter.starts_with(name.as_str()));
            fitting.max_by_key(|(name, _)| name.len()).map(|(_, factor)| *factor)
        };
        self.ranges =
            layout.iter().filter_map(|(parameter, range)| Some((range, factor(parameter)?))).collect();
        Ok(())
    }

    fn transform(&mut self, update: &mut Update<'_, T>, _: &[T], _: StepIndex) {
        let values = update.values();
        for (range, factor) in &self.ranges {
            let factor = T::of(*factor);
            values[range.clone()].iter_mut().for_each(|u| *u *= factor);
        }
    }

    fn save(&self, _: &mut Vec<f64>) {}

    fn restore(&mut self, _: &mut SavedState<'_>) -> Result<()> {
        Ok(())
    }

    fn describe(&self) -> String {
        let factors: Vec<String> =
            self.factors.iter().map(|(name, factor)| format!("{name} x {factor}")).collect();
        format!("rates of {}", factors.join(" and "))
    }
}
