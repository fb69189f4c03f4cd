//! What inference returns: the approximate posterior of every site.

use crate::error::{Error, Result};
use crate::guide::{GuideSite, Marginal};
use ndarray::ArrayD;
use ppl_core::Constraint;

/// An approximate posterior, as normals on unconstrained values mapped into each site's support.
///
/// # Privacy
/// After a private fit this is released: it may be shown, stored and computed on without further cost.
///
/// # Accuracy
/// That of [`Fit::uncorrected`](crate::Fit::uncorrected) is the variational family at the released parameters: its intervals describe
/// uncertainty given the data and do **not** include the noise that was added for privacy. Where the posterior has been
/// [corrected](crate::NoiseAware) they do, for the sites that records touch.
#[derive(Clone, Debug)]
pub struct Posterior {
    sites: Vec<(GuideSite, Marginal)>,
}

impl Posterior {
    pub(crate) fn new(sites: &[GuideSite], marginals: Vec<Marginal>) -> Self {
        Self { sites: sites.iter().cloned().zip(marginals).collect() }
    }

    /// Names of the sites, in the order of the model.
    pub fn sites(&self) -> impl Iterator<Item = &str> {
        self.sites.iter().map(|(site, _)| site.name.as_str())
    }

    fn find(&self, name: &str) -> Result<&(GuideSite, Marginal)> {
        self.sites.iter().find(|(site, _)| site.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.sites().collect();
            Error::UnknownSite { name: name.to_owned(), known: known.join(", ") }
        })
    }

    fn map(&self, name: &str, f: impl Fn(Constraint, f64, f64) -> f64) -> Result<ArrayD<f64>> {
        let (site, marginal) = self.find(name)?;
        let mut values =
            marginal.loc.iter().zip(&marginal.scale).map(|(&loc, &scale)| f(site.support, loc, scale));
        Ok(ArrayD::from_shape_simple_fn(site.shape.dims(), || values.next().unwrap_or(f64::NAN)))
    }

    /// Posterior mean of a site's value, in the site's shape.
    ///
    /// # Errors
    /// If there is no such site.
    pub fn mean(&self, name: &str) -> Result<ArrayD<f64>> {
        self.map(name, |support, loc, scale| moments(support, loc, scale).0)
    }

    /// Posterior standard deviation of a site's value; zero for a parameter.
    ///
    /// # Errors
    /// If there is no such site.
    pub fn sd(&self, name: &str) -> Result<ArrayD<f64>> {
        self.map(name, |support, loc, scale| moments(support, loc, scale).1)
    }

    /// Central interval of this posterior probability, element by element.
    ///
    /// # Errors
    /// If there is no such site, or `probability` is not strictly between 0 and 1.
    pub fn interval(&self, name: &str, probability: f64) -> Result<(ArrayD<f64>, ArrayD<f64>)> {
        if !(probability > 0.0 && probability < 1.0) {
            let (what, requirement) = ("interval probability", "strictly between 0 and 1");
            return Err(Error::OutOfRange { what, requirement, value: probability });
        }
        let z = normal_quantile(0.5 + 0.5 * probability);
        // The bijections increase, so quantiles map to quantiles.
        let end = |side: f64| {
            self.map(name, |support, loc, scale| support.constrain_number(loc + side * z * scale))
        };
        Ok((end(-1.0)?, end(1.0)?))
    }
}

/// Mean and standard deviation of `f(loc + scale·z)`, `z` standard normal and `f` the bijection of the support.
///
/// The trapezoid rule over ±12 standard deviations converges exponentially for these analytic integrands.
fn moments(support: Constraint, loc: f64, scale: f64) -> (f64, f64) {
    if support == Constraint::Real || scale == 0.0 {
        return (support.constrain_number(loc), scale);
    }
    if support == Constraint::Positive {
        let mean = (loc + 0.5 * scale * scale).exp();
        return (mean, mean * (scale * scale).exp_m1().sqrt());
    }
    let integral = |f: &dyn Fn(f64) -> f64| {
        let (mut total, mut weight) = (0.0, 0.0);
        for k in -1200..=1200 {
            let z = f64::from(k) * 0.01;
            let w = (-0.5 * z * z).exp();
            weight += w;
            total += w * f(support.constrain_number(loc + scale * z));
        }
        total / weight
    };
    let mean = integral(&|x| x);
    (mean, integral(&|x| (x - mean).powi(2)).sqrt())
}

/// `Φ⁻¹(p)` for `p > ½`, by bisection on `Φ(z) = ½ erfc(−z/√2)`.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle: f64 = 0.5 * (low + high);
        if 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::arr1;
    use ppl_core::{Shape, SiteKind};

    fn posterior(support: Constraint, loc: f64, scale: f64) -> Posterior {
        let site = GuideSite {
            name: "s".to_owned(),
            shape: Shape::from([1]),
            support,
            kind: SiteKind::Latent,
            initial: None,
        };
        Posterior::new(&[site], vec![Marginal { loc: vec![loc], scale: vec![scale] }])
    }

    #[test]
    fn real_sites_keep_their_moments() {
        let posterior = posterior(Constraint::Real, 1.5, 0.2);
        assert_eq!(posterior.mean("s").unwrap(), arr1(&[1.5]).into_dyn());
        assert_eq!(posterior.sd("s").unwrap(), arr1(&[0.2]).into_dyn());
        let (low, high) = posterior.interval("s", 0.9).unwrap();
        // Φ⁻¹(0.95) = 1.6448536269514722
        assert!((low[0] - (1.5 - 0.2 * 1.644_853_626_951_472_2)).abs() < 1e-11);
        assert!((high[0] - (1.5 + 0.2 * 1.644_853_626_951_472_2)).abs() < 1e-11);
    }

    #[test]
    fn mapped_sites_have_the_moments_of_the_mapped_normal() {
        // E of a lognormal by quadrature of its own, and the logistic-normal's symmetry.
        let (mean, sd) = moments(Constraint::Positive, 0.3, 0.5);
        let n = 200_000;
        let (mut w, mut m1, mut m2) = (0.0, 0.0, 0.0);
        for k in 0..n {
            let z = -10.0 + 20.0 * (k as f64 + 0.5) / n as f64;
            let weight = (-0.5 * z * z).exp();
            let x = (0.3 + 0.5 * z).exp();
            w += weight;
            m1 += weight * x;
            m2 += weight * x * x;
        }
        assert!((mean - m1 / w).abs() < 1e-9 && (sd - (m2 / w - mean * mean).sqrt()).abs() < 1e-8);
        let (mean, sd) = moments(Constraint::UnitInterval, 0.0, 2.0);
        assert!((mean - 0.5).abs() < 1e-14 && sd > 0.2 && sd < 0.5);
        assert!((moments(Constraint::UnitInterval, 1.0, 1e-4).1 - 1e-4 * 0.196_611_933).abs() < 1e-11);
    }

    #[test]
    fn nonsense_is_refused() {
        let posterior = posterior(Constraint::Real, 0.0, 1.0);
        assert!(posterior.mean("t").unwrap_err().to_string().contains("no site 't'; it has s"));
        assert!(posterior.interval("s", 1.0).is_err() && posterior.interval("s", f64::NAN).is_err());
    }
}
