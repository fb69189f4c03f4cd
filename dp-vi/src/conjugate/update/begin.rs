//! Where the factors begin.

use super::{Factors, Result};
use dp_sampler::rand_core::Rng;
use dp_sampler::{Purpose, Seed};

impl Factors {
    /// Lets the first step take the statistics at expectations of 0, where nothing is known: for a logistic regression
    /// with the curvature ¼, the largest there is. Those of a wide prior stand for log-odds far from 0, and curvatures
    /// next to none, which noise then drowns.
    ///
    /// From then on eigenvalues are at least about the largest that noise alone has: that of the mean of a matrix with
    /// independent elements and its transpose is `sd √(2n)`. On made-up tables areas under the curve were up to 0.007
    /// higher than with `sd √n`. A belief network on images, whose statistics stand well above the noise, gets worse by
    /// it.
    pub(in crate::conjugate) fn begin_as_logistic(&mut self) {
        self.least = std::f64::consts::SQRT_2;
        self.blocks
            .iter_mut()
            .filter(|block| block.place.is_some())
            .for_each(|block| block.expected.fill(0.0));
    }

    /// Moves the factors in random directions: counts by as much as a hundredth of a hundred of them would vary,
    /// locations by half of the prior's standard deviation.
    ///
    /// Where records have `boolean` vectors `z` of their own and meet all rows `w_j` of a matrix at once, what is known
    /// of a unit `z_k` at first is
    ///
    /// ```text
    /// Σ_j (y_j − ½) E[w_jk] − ⅛ Σ_j E[w_jk²] + …         for a curvature of ¼
    /// ```
    ///
    /// With J rows at the prior `N(0, s²)`, the second sum is `J s²/8`, and no first sum of a random direction comes
    /// near it: every unit of every record is off, and stays so. So rows begin at `N(0, s²/J)`, with variance `s²/J`:
    /// the first sum is then of the size of `s/2` whatever J is, and the second one's part is `s²/4`. Nothing else has
    /// to be told apart there, and other locations begin at the prior's.
    pub(super) fn spread(&mut self, seed: &Seed, boolean: bool) -> Result<()> {
        let streams = seed.streams(Purpose::Initialisation);
        let boolean = boolean && self.factors.iter().any(|factor| factor.family == "MultivariateNormal");
        for factor in 0..self.factors.len() {
            let mut rng = streams.at(factor as u64);
            let mut uniform = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let blocks = self.factors[factor].blocks.clone();
            let family = self.factors[factor].family;
            match (family, &blocks[..]) {
                ("Normal", &[first, second]) => {
                    // A tenth of the variance, around a draw of the prior.
                    for k in 0..self.blocks[first].natural.len() {
                        let precision = -2.0 * self.blocks[second].natural[k];
                        let mean = self.blocks[first].natural[k] / precision;
                        let (u, v): (f64, f64) = (uniform().max(1e-300), uniform());
                        let z = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
                        let at = if boolean { mean } else { mean + 0.5 * z / precision.sqrt() };
                        self.blocks[first].natural[k] = at * 10.0 * precision;
                        self.blocks[second].natural[k] = -5.0 * precision;
                    }
                }
                ("MultivariateNormal", &[first, second]) if boolean => {
                    let n = self.blocks[first].width;
                    let matrices = self.blocks[second].natural.len() / (n * n);
                    let rows = (self.blocks[first].natural.len() / n) as f64;
                    for k in 0..self.blocks[first].natural.len() {
                        let matrix = if matrices == 1 { 0 } else { k / n };
                        let precision =
                            -2.0 * self.blocks[second].natural[matrix * n * n + (k % n) * (n + 1)];
                        let z = 3.0_f64.sqrt() * (2.0 * uniform() - 1.0);
                        let natural = &mut self.blocks[first].natural[k];
                        *natural = rows * *natural + z * (rows * precision.max(0.0)).sqrt();
                    }
                    self.blocks[second].natural.iter_mut().for_each(|x| *x *= rows);
                }
                ("MultivariateNormal", &[first, second]) => {
                    let n = self.blocks[first].width;
                    let matrices = self.blocks[second].natural.len() / (n * n);
                    for k in 0..self.blocks[first].natural.len() {
                        let matrix = if matrices == 1 { 0 } else { k / n };
                        let precision =
                            -2.0 * self.blocks[second].natural[matrix * n * n + (k % n) * (n + 1)];
                        // A tenth of the prior's standard deviation: enough to tell parts from each other.
                        let z = 2.0 * uniform() - 1.0;
                        self.blocks[first].natural[k] += 0.3 * z * precision.max(0.0).sqrt();
                    }
                }
                ("Dirichlet", &[log]) => {
                    for x in &mut self.blocks[log].natural {
                        *x += 0.7 + 0.6 * uniform();
                    }
                }
                _ => {}
            }
            self.means(factor)?;
        }
        Ok(())
    }
}
