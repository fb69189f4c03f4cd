//! A posterior as a table to be read, and numbers to compare it with.

use crate::error::Error;
use crate::outcome::posterior::Posterior;
use ndarray::{ArrayD, Dimension};
use ppl_core::Values;
use std::fmt;

/// Numbers of one site that are shown; of larger ones the rest is counted.
const MOST_SHOWN: usize = 20;

/// A posterior as a table, with further columns beside it; made by [`Posterior::beside`].
#[derive(Clone, Debug)]
pub struct PosteriorTable<'p> {
    posterior: &'p Posterior,
    columns: Vec<(String, &'p Values)>,
}

impl Posterior {
    /// The table that `Display` prints with a column more: values of the sites to compare with, such as those
    /// that made-up records were made from, or the means of another posterior. Further columns go
    /// [beside](PosteriorTable::beside) it.
    ///
    /// A site without a value, or with a value of another shape, shows `-`.
    ///
    /// ```
    /// # use dp_vi::DpVi;
    /// # use dp_vi::guides::AutoNormal;
    /// # use ppl_core::{Ctx, Distribution};
    /// # use ppl_distributions::Normal;
    /// # use std::collections::BTreeMap;
    /// # fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    /// #     let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(2))?;
    /// #     ctx.observe("y", Normal::new(w, 0.5), ctx.constant(vec![0.7; 2]))
    /// # }
    /// let fit = DpVi::new(model, AutoNormal::new()).fit_public()?;
    /// let truth = BTreeMap::from([("w".to_owned(), ndarray::arr1(&[0.5, 0.75]).into_dyn())]);
    /// let table = fit.posterior().beside("truth", &truth).to_string();
    /// let lines: Vec<&str> = table.lines().collect();
    /// assert!(lines[0].ends_with("truth") && lines[1].ends_with("0.5000") && lines[2].ends_with("0.7500"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn beside<'p>(&'p self, heading: &str, values: &'p Values) -> PosteriorTable<'p> {
        PosteriorTable { posterior: self, columns: Vec::new() }.beside(heading, values)
    }
}

impl<'p> PosteriorTable<'p> {
    /// One more column; as [`Posterior::beside`].
    #[must_use]
    pub fn beside(mut self, heading: &str, values: &'p Values) -> Self {
        self.columns.push((heading.to_owned(), values));
        self
    }
}

/// A line for each number: its name with its place (counted from 0), mean, standard deviation and central 90 %
/// interval. Parameters have a standard deviation of zero. Of a site with more than 20 numbers the first 20 are
/// shown.
///
/// ```
/// # use dp_vi::DpVi;
/// # use dp_vi::guides::AutoNormal;
/// # use ppl_core::{Ctx, Distribution};
/// # use ppl_distributions::Normal;
/// # fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
/// #     let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(2))?;
/// #     ctx.observe("y", Normal::new(w, 0.5), ctx.constant(vec![0.7; 2]))
/// # }
/// let fit = DpVi::new(model, AutoNormal::new()).fit_public()?;
/// let table = fit.posterior().to_string();
/// let lines: Vec<&str> = table.lines().collect();
/// assert!(lines[0].trim_start().starts_with("mean") && lines[1].starts_with("w[0]") && lines.len() == 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl fmt::Display for Posterior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PosteriorTable { posterior: self, columns: Vec::new() }.fmt(f)
    }
}

impl fmt::Display for PosteriorTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name and its numbers; none for the line that counts what is not shown.
        let mut lines: Vec<(String, Vec<Option<f64>>)> = Vec::new();
        for site in self.posterior.sites() {
            let of = self.posterior;
            let numbers = (|| Ok((of.mean(site)?, of.sd(site)?, of.interval(site, 0.9)?)))();
            // Its own sites are known to it.
            let (mean, sd, (low, high)) = numbers.map_err(|_: Error| fmt::Error)?;
            let beside: Vec<Option<&ArrayD<f64>>> = self
                .columns
                .iter()
                .map(|(_, values)| values.get(site).filter(|value| value.shape() == mean.shape()))
                .collect();
            for (shown, (place, &mean)) in mean.indexed_iter().enumerate() {
                if shown == MOST_SHOWN {
                    lines.push((format!("{site} … {} more", sd.len() - shown), Vec::new()));
                    break;
                }
                let places: Vec<String> = place.slice().iter().map(usize::to_string).collect();
                let name = match places.is_empty() {
                    true => site.to_owned(),
                    false => format!("{site}[{}]", places.join(",")),
                };
                let numbers = [mean, sd[&place], low[&place], high[&place]].map(Some);
                let beside = beside.iter().map(|value| value.map(|value| value[&place]));
                lines.push((name, numbers.into_iter().chain(beside).collect()));
            }
        }
        let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let headings = ["mean", "sd", "5 %", "95 %"];
        let headings: Vec<&str> =
            headings.into_iter().chain(self.columns.iter().map(|(heading, _)| heading.as_str())).collect();
        write!(f, "{:width$}", "")?;
        for heading in &headings {
            write!(f, "  {heading:>10}")?;
        }
        for (name, numbers) in lines {
            write!(f, "\n{name:width$}")?;
            for (number, heading) in numbers.into_iter().zip(&headings) {
                let width = heading.chars().count().max(10);
                match number {
                    None => write!(f, "  {:>width$}", "-")?,
                    Some(number) => match number.abs() {
                        size if size == 0.0 || (1e-3..1e6).contains(&size) => {
                            write!(f, "  {number:>width$.4}")?
                        }
                        _ => write!(f, "  {number:>width$.3e}")?,
                    },
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DpVi;
    use crate::guides::AutoNormal;
    use ndarray::{arr0, arr1};
    use ppl_core::{Ctx, Distribution};
    use ppl_distributions::Normal;

    fn model(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(2))?;
        ctx.observe("y", Normal::new(w, 0.5), ctx.constant(vec![0.7; 2]))
    }

    /// Values go to their own rows, and what cannot be compared shows a dash.
    #[test]
    fn columns_stand_beside_their_sites() {
        let fit = DpVi::new(model, AutoNormal::new()).fit_public().unwrap();
        let at = |value: ArrayD<f64>| Values::from([("w".to_owned(), value)]);
        let (truth, other, none) =
            (at(arr1(&[0.25, -3e-7]).into_dyn()), at(arr0(1.0).into_dyn()), Values::new());
        let table =
            fit.posterior().beside("truth", &truth).beside("of another shape", &other).beside("x", &none);
        let table = table.to_string();
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1][5..], ["0.2500", "-", "-"]);
        assert_eq!(lines[2][5..], ["-3.000e-7", "-", "-"]);
        let ends: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
        assert!(ends.iter().all(|end| *end == ends[0]), "{table}");
    }
}
