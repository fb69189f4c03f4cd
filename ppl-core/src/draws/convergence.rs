//! Whether chains of a Markov chain Monte Carlo run agree, and what their draws are worth.
//!
//! The first axis of an array counts the chains, the second the draws of each; all functions work element by
//! element over the others. Chains are cut in halves first, so a single chain that drifts disagrees with
//! itself (the middle draw of an odd number is left out).
//!
//! # References
//! Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), *Rank-normalization, folding, and localization: an
//! improved R̂ for assessing convergence of MCMC*, Bayesian Analysis 16(2). Geyer (1992), *Practical Markov
//! chain Monte Carlo*, Statistical Science 7(4).

use crate::base::{Error, Result};
use crate::draws::summary::{of_sorted, sorted};
use crate::math::ndtri;
use ndarray::{ArrayD, ArrayRef, Axis, IxDyn, aview1};

/// Fewest draws of a chain whose halves have a variance each.
const FEWEST: usize = 4;

/// `R̂`, which is near 1 where chains agree in place and spread, and at most 1.01 where draws may be trusted.
///
/// ```text
/// R̂ = √(((n − 1)/n · W + B/n) / W)      W the mean variance within halves of chains
///                                        B/n the variance of their means
/// ```
///
/// of the ranks of all draws, mapped to normal quantiles; and the same of the ranks of their distances to the
/// median, which tell chains of different spread apart. The larger one. NaN where all draws are equal, or one
/// is not finite. ArviZ's `rhat` is this.
///
/// ```
/// use ndarray::Array2;
/// let here = Array2::from_shape_fn((2, 100), |(_, i)| f64::from((i as u32 * 37) % 100));
/// let apart = here.clone() + ndarray::array![[0.0], [200.0]];
/// let r_hat = |draws: Array2<f64>| ppl_core::draws::convergence::r_hat(&draws.into_dyn());
/// assert!(r_hat(here)?[[]] < 1.01 && r_hat(apart)?[[]] > 1.5);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// If there is no chain, or it has fewer than 4 draws.
pub fn r_hat(draws: &ArrayRef<f64, IxDyn>) -> Result<ArrayD<f64>> {
    each(draws, |chains| {
        let halves = Halves::of(chains);
        let middle = of_sorted(&sorted(aview1(&halves.numbers)), 0.5);
        let folded = halves.map(|x| (x - middle).abs());
        match (halves.ranked().scale_reduction(), folded.ranked().scale_reduction()) {
            (place, spread) if place.is_nan() || spread.is_nan() => f64::NAN,
            (place, spread) => place.max(spread),
        }
    })
}

/// The *bulk effective sample size*: how many independent draws would tell as much of the middle of the
/// distribution. Of the ranks of all draws, mapped to normal quantiles,
///
/// ```text
/// ESS = m n / τ      τ = −1 + 2 Σ_k P_k + ρ_{2K}      P_k = ρ_{2k} + ρ_{2k+1}
/// ```
///
/// with the autocorrelations `ρ` of all `m` halves of chains together, `n` draws each, and the pairs `P_k`
/// until the first negative one, made not to increase (Geyer's initial monotone sequence). `τ` is at least
/// `1/log₁₀(m n)`. 400 or more is what means, and `R̂` itself, need. NaN where a draw is not finite, and the
/// number of draws where all are equal. ArviZ's `ess` is this.
///
/// # Errors
/// As [`r_hat`].
pub fn ess_bulk(draws: &ArrayRef<f64, IxDyn>) -> Result<ArrayD<f64>> {
    each(draws, |chains| Halves::of(chains).ranked().effective_size())
}

/// The *tail effective sample size*: the smaller one of those of the events that a draw is at most the 5 %
/// quantile, and at most the 95 % quantile. What quantiles need. ArviZ's `ess(method="tail")`.
///
/// # Errors
/// As [`r_hat`].
pub fn ess_tail(draws: &ArrayRef<f64, IxDyn>) -> Result<ArrayD<f64>> {
    each(draws, |chains| {
        let (all, halves) = (sorted(aview1(&chains.concat())), Halves::of(chains));
        let of_event = |probability: f64| {
            let end = of_sorted(&all, probability);
            halves.map(|x| f64::from(u8::from(x <= end))).effective_size()
        };
        of_event(0.05).min(of_event(0.95))
    })
}

/// The Monte Carlo standard error of the mean of all draws: their standard deviation over `√ESS`, with the
/// effective sample size of the draws themselves. ArviZ's `mcse`.
///
/// # Errors
/// As [`r_hat`].
pub fn standard_error(draws: &ArrayRef<f64, IxDyn>) -> Result<ArrayD<f64>> {
    each(draws, |chains| (variance(&chains.concat()) / Halves::of(chains).effective_size()).sqrt())
}

/// A function of the chains of each element; NaN where a draw is not finite.
fn each(draws: &ArrayRef<f64, IxDyn>, function: impl Fn(&[Vec<f64>]) -> f64) -> Result<ArrayD<f64>> {
    let &[chains, count, ref rest @ ..] = draws.shape() else {
        let told = format!("draws need an axis of chains and one of draws, got shape {:?}", draws.shape());
        return Err(Error::Values(told));
    };
    if chains == 0 || count < FEWEST {
        return Err(Error::Values(format!(
            "at least 1 chain of {FEWEST} draws is needed, got {chains} of {count}"
        )));
    }
    let mut out = ArrayD::zeros(IxDyn(rest));
    for (index, out) in out.indexed_iter_mut() {
        let chain = |chain: usize| {
            let mut draws = draws.index_axis(Axis(0), chain);
            for place in ndarray::Dimension::slice(&index) {
                draws = draws.index_axis_move(Axis(1), *place);
            }
            draws.iter().copied().collect()
        };
        let chains: Vec<Vec<f64>> = (0..chains).map(chain).collect();
        let finite = chains.iter().flatten().all(|x| x.is_finite());
        *out = if finite { function(&chains) } else { f64::NAN };
    }
    Ok(out)
}

/// Halves of chains, one after the other.
struct Halves {
    length: usize,
    numbers: Vec<f64>,
}

impl Halves {
    fn of(chains: &[Vec<f64>]) -> Self {
        let length = chains.first().map_or(0, |chain| chain.len() / 2);
        let halves = chains.iter().flat_map(|chain| [&chain[..length], &chain[chain.len() - length..]]);
        Self { length, numbers: halves.flatten().copied().collect() }
    }

    fn map(&self, function: impl Fn(f64) -> f64) -> Self {
        Self { length: self.length, numbers: self.numbers.iter().map(|&x| function(x)).collect() }
    }

    fn each(&self) -> impl Iterator<Item = &[f64]> {
        self.numbers.chunks_exact(self.length)
    }

    fn means(&self) -> Vec<f64> {
        self.each().map(|half| half.iter().sum::<f64>() / half.len() as f64).collect()
    }

    /// `Φ⁻¹((rank − 3/8)/(S + 1/4))` (Blom 1958), equal numbers sharing the mean of their ranks.
    fn ranked(&self) -> Self {
        let mut order: Vec<usize> = (0..self.numbers.len()).collect();
        order.sort_unstable_by(|&a, &b| self.numbers[a].total_cmp(&self.numbers[b]));
        let mut numbers = vec![0.0; order.len()];
        let mut before = 0;
        for equal in order.chunk_by(|&a, &b| self.numbers[a] == self.numbers[b]) {
            let rank = before as f64 + 0.5 * (equal.len() + 1) as f64;
            let normal = ndtri((rank - 0.375) / (order.len() as f64 + 0.25));
            equal.iter().for_each(|&place| numbers[place] = normal);
            before += equal.len();
        }
        Self { length: self.length, numbers }
    }

    /// Mean variance within halves.
    fn within(&self) -> f64 {
        let variances: Vec<f64> = self.each().map(variance).collect();
        variances.iter().sum::<f64>() / variances.len() as f64
    }

    fn scale_reduction(&self) -> f64 {
        let n = self.length as f64;
        let (within, between) = (self.within(), variance(&self.means()));
        if within == 0.0 && between == 0.0 {
            return f64::NAN;
        }
        (((n - 1.0) / n * within + between) / within).sqrt()
    }

    fn effective_size(&self) -> f64 {
        let total = self.numbers.len() as f64;
        if self.numbers.iter().all(|x| *x == self.numbers[0]) {
            return total;
        }
        let (n, means) = (self.length as f64, self.means());
        // Autocovariances are sums over n, whatever the lag: those of high lags are shrunk, not noisy.
        let covariance = |lag: usize| {
            let of_half = |(half, mean): (&[f64], &f64)| {
                half.iter().zip(&half[lag..]).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>()
            };
            self.each().zip(&means).map(of_half).sum::<f64>() / total
        };
        let within = self.within();
        let marginal = (n - 1.0) / n * within + variance(&means);
        let correlation = |lag: usize| match lag {
            0 => 1.0,
            _ => 1.0 - (within - covariance(lag)) / marginal,
        };
        let (mut sum, mut least, mut lag) = (0.0, f64::INFINITY, 0);
        // The even lag after the last pair that counts.
        let rest = loop {
            let (even, odd) = (correlation(lag), correlation(lag + 1));
            // Where no negative pair comes before the lags end, the last pair counts as its even one.
            if even + odd < 0.0 || lag + 4 >= self.length {
                break even;
            }
            least = least.min(even + odd);
            sum += least;
            lag += 2;
        };
        let time = -1.0 + 2.0 * sum + rest.max(0.0);
        total / time.max(1.0 / total.log10())
    }
}

/// `Σ (x − x̄)²/(n − 1)`
fn variance(numbers: &[f64]) -> f64 {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)
}
