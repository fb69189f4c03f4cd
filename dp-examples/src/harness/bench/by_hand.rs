//! The logistic workload's private step as plain loops: what a programmer would write who needs only this
//! model.

use dp_sampler::{
    GaussianNoise, NoiseSource, Poisson, PoissonSampler, Purpose, Seed, Subsampler, Subsampling,
};

use super::Failure;
use super::inference::LEARNING_RATE;
use super::logistic::{CLIP_NORM, RATE, RECORDS, WIDTH, data};
use crate::logistic::PRIOR_SCALE;

/// Private mean-field inference of a logistic regression, step for step what `DpVi` does with the same seed.
pub struct ByHand {
    records: Vec<([f64; WIDTH], f64)>,
    sampler: PoissonSampler,
    draws: GaussianNoise,
    noise: GaussianNoise,
    noise_scale: f64,
    batch: Vec<u64>,
    mean: [f64; WIDTH],
    log_scale: [f64; WIDTH],
    moments: [[f64; 2 * WIDTH]; 2],
    average: [f64; 2 * WIDTH],
    step: u64,
}

impl ByHand {
    /// A run with this noise multiplier.
    ///
    /// # Errors
    ///
    /// None with the workload's sampling rate.
    pub fn new(noise_multiplier: f64, seed: &Seed) -> Result<Self, Failure> {
        let (x, y) = data();
        let row = |x: &[f64]| std::array::from_fn(|j| x[j]);
        let sampler = Poisson::rate(RATE)?.bind(RECORDS as u64, seed)?;
        Ok(Self {
            records: x.chunks(WIDTH).map(row).zip(y).collect(),
            batch: Vec::with_capacity(sampler.max_batch_hint()),
            sampler,
            draws: GaussianNoise::from_streams(seed.streams(Purpose::GuideDraws)),
            noise: GaussianNoise::new(seed),
            noise_scale: noise_multiplier * CLIP_NORM,
            mean: [0.0; WIDTH],
            log_scale: [0.1_f64.ln(); WIDTH],
            moments: [[0.0; 2 * WIDTH]; 2],
            average: [0.0; 2 * WIDTH],
            step: 0,
        })
    }

    /// One private step.
    pub fn step(&mut self) {
        let mut z = [0.0; WIDTH];
        self.draws.fill(self.step, &mut z);
        let scale = self.log_scale.map(f64::exp);
        let w: [f64; WIDTH] = std::array::from_fn(|j| self.mean[j] + scale[j] * z[j]);

        self.sampler.draw(self.step, &mut self.batch);
        let mut sum = [0.0; WIDTH];
        for &index in &self.batch {
            let (x, y) = &self.records[index as usize];
            let (mut logit, mut squared) = (0.0, 0.0);
            for j in 0..WIDTH {
                logit += x[j] * w[j];
                squared += x[j] * x[j];
            }
            let slope = y - 1.0 / (1.0 + (-logit).exp());
            let clip = (CLIP_NORM / (slope * slope * squared).sqrt()).min(1.0);
            for j in 0..WIDTH {
                sum[j] += clip * slope * x[j];
            }
        }

        let mut noise = [0.0; WIDTH];
        self.noise.fill(self.step, &mut noise);
        let mut gradient = [0.0; 2 * WIDTH];
        for j in 0..WIDTH {
            let released = (sum[j] + self.noise_scale * noise[j]) / RATE;
            let total = released - w[j] / (PRIOR_SCALE * PRIOR_SCALE);
            gradient[j] = total;
            gradient[WIDTH + j] = total * scale[j] * z[j] + 1.0;
        }
        self.step += 1;
        self.adam(&gradient);
        for j in 0..WIDTH {
            self.average[j] += self.mean[j];
            self.average[WIDTH + j] += self.log_scale[j];
        }
    }

    fn adam(&mut self, gradient: &[f64; 2 * WIDTH]) {
        let power = i32::try_from(self.step).unwrap_or(i32::MAX);
        let (correct_first, correct_second) = (1.0 - 0.9_f64.powi(power), 1.0 - 0.999_f64.powi(power));
        let [first, second] = &mut self.moments;
        for (k, parameter) in self.mean.iter_mut().chain(&mut self.log_scale).enumerate() {
            first[k] += 0.1 * (gradient[k] - first[k]);
            second[k] += 0.001 * (gradient[k] * gradient[k] - second[k]);
            let root = (second[k] / correct_second).sqrt() + 1e-8;
            *parameter += LEARNING_RATE * (first[k] / correct_first) / root;
        }
    }

    /// The means of the weights, averaged over all steps.
    #[must_use]
    pub fn averaged_means(&self) -> [f64; WIDTH] {
        std::array::from_fn(|j| self.average[j] / self.step as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::seed;
    use super::super::inference::BUDGET;
    use super::super::logistic::inference;
    use super::*;
    use dp_vi::{PrivacyNoise, Sensitive};

    #[test]
    fn the_same_seed_gives_the_same_posterior_as_the_library() {
        let inference = inference().unwrap();
        let behind = Sensitive::new(inference.records.clone());
        // By hand the noise is added in floating point.
        let settings = inference.settings(300).unwrap().noise(PrivacyNoise::Continuous);
        let fit = settings.budget(BUDGET).fit(&behind).unwrap();
        let mut by_hand = ByHand::new(fit.privacy().noise_multiplier.unwrap(), &seed()).unwrap();
        (0..300).for_each(|_| by_hand.step());
        let theirs = fit.posterior().mean("w").unwrap();
        // The library lowers the clip norm, here 2, by what underflow might hide, a few times 1e-8; the rest
        // is rounding.
        for (ours, theirs) in by_hand.averaged_means().iter().zip(&theirs) {
            assert!((ours - theirs).abs() < 1e-7 && ours.abs() > 1e-3, "{ours} against {theirs}");
        }
    }
}
