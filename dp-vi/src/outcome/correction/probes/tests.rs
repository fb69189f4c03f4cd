//! Probes of made-up likelihoods.

use super::*;
use crate::outcome::correction::linear_algebra::{cholesky, inverse};
use crate::outcome::correction::tail::TailMeans;
use crate::outcome::correction::unknown_curvature::law::Shrunk;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};

/// Standard normals, one vector after the other.
struct Normals(GaussianNoise, u64);

impl Normals {
    fn new(seed: u64) -> Self {
        Self(GaussianNoise::with_purpose(&Seed::for_tests(seed), Purpose::Custom("probes")), 0)
    }

    fn vector(&mut self, n: usize) -> DVector<f64> {
        let mut z = vec![0.0; n];
        self.0.fill(self.1, &mut z);
        self.1 += 1;
        z.into()
    }
}

/// 201 draws of a standard normal, evenly spread.
fn standard_normal() -> Vec<f64> {
    let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let quantile = |p: f64| {
        let (mut low, mut high) = (-8.0, 8.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if below(middle) < p { low = middle } else { high = middle }
        }
        low
    };
    (0..201).map(|k| quantile((f64::from(k) + 0.5) / 201.0)).collect()
}

/// Hands in a probe.
fn take(probes: &mut Probes, half: &DVector<f64>, variance: f64) {
    probes.take(variance, |_, of| of.copy_from_slice(half.as_slice()));
}

fn standard_priors(n: usize) -> Vec<ElementPrior> {
    vec![ElementPrior::new(Some(standard_normal()), true); n]
}

/// A quadratic likelihood of values with standard normal priors, and noise of this variance in each step.
struct Problem {
    curvature: DMatrix<f64>,
    variance: f64,
    steps: u64,
}

impl Problem {
    /// Curvatures from 1,000 down to 10, turned at random.
    fn turned(n: usize, variance: f64, normals: &mut Normals) -> Self {
        let axes = DMatrix::from_iterator(n, n, normals.vector(n * n).iter().copied()).qr().q();
        let curvature = |k: usize| 1_000.0 * 0.01_f64.powf(k as f64 / (n - 1) as f64);
        let curvature = compose(&DMatrix::from_diagonal(&DVector::from_fn(n, |k, _| curvature(k))), &axes);
        Self { curvature, variance, steps: 900 }
    }

    fn n(&self) -> usize {
        self.curvature.nrows()
    }

    fn posterior_covariance(&self) -> DMatrix<f64> {
        inverse(&cholesky(&self.curvature + DMatrix::identity(self.n(), self.n())).unwrap())
    }

    /// Deviations of the posterior given as much noise if the curvature were known.
    fn deviations_if_known(&self, steps: f64) -> Vec<f64> {
        let (n, s) = (self.n(), &self.curvature);
        let noisy = s + DMatrix::from_diagonal_element(n, n, self.variance / steps);
        let precision = symmetrised(&(s * cholesky(noisy).unwrap().solve(s))) + DMatrix::identity(n, n);
        deviations(&inverse(&cholesky(precision).unwrap()))
    }

    /// A truth, and what a run finds of it.
    fn run(&self, normals: &mut Normals) -> (DVector<f64>, NoiseAware) {
        let (truth, found, _) = self.run_at((0.0, 0.0), normals);
        (truth, found.unwrap())
    }

    /// The same where all gradients are larger by this and scores are sampled with this variance, and whether
    /// the run had arrived.
    fn run_at(
        &self,
        (larger, sampling): (f64, f64),
        normals: &mut Normals,
    ) -> (DVector<f64>, Option<NoiseAware>, bool) {
        let (n, covariance) = (self.n(), self.posterior_covariance());
        let truth = normals.vector(n);
        let lower = cholesky(self.curvature.clone()).unwrap().unpack();
        let optimum = &truth + lower.tr_solve_lower_triangular(&normals.vector(n)).unwrap();
        // Where the run has come: the mode and its noise, no further than an optimiser goes.
        let noise = &covariance * normals.vector(n) * (1.5 * self.variance / self.steps as f64).sqrt();
        let centre = &covariance * (&self.curvature * &optimum) + noise.map(|x| 2.0 * (0.5 * x).tanh());
        let guide = covariance.diagonal().map(f64::sqrt);
        let mut probes = Probes::new((self.steps, number_of_probes(self.steps, n)), standard_priors(n));
        let (mut mean, mut count) = (DVector::zeros(n), 0.0);
        for step in probes.first() / 2..self.steps {
            let probing = step >= probes.first();
            let away = match probing {
                true => DVector::from_column_slice(probes.displacement(step)),
                false => normals.vector(n).component_mul(&guide),
            };
            let mut gradient = |sign: f64| {
                let noise = normals.vector(n) * (2.0 * self.variance).sqrt();
                (&self.curvature * (&optimum - &centre - sign * &away) + noise).add_scalar(larger)
            };
            let (plus, minus) = (gradient(1.0), gradient(-1.0));
            mean += 0.5 * (&plus + &minus);
            count += 1.0;
            let half = 0.5 * (plus - minus);
            match probing {
                true => take(&mut probes, &half, self.variance),
                false => probes.take_draw(self.variance, |to, of| {
                    to.copy_from_slice(away.as_slice());
                    of.copy_from_slice(half.as_slice());
                }),
            }
        }
        let (mean, pull, prior) = (mean / count, -&centre, DMatrix::identity(n, n));
        let evidence = Evidence {
            curvature: &[],
            values: centre.as_slice(),
            gradients: mean.as_slice(),
            noise_variance: self.variance / count,
            sampling: 0.0,
            prior_gradient: pull.as_slice(),
            prior_curvature: prior.as_slice(),
        };
        let searched = TailMeans {
            steps: count as u64,
            values: centre.as_slice().to_vec(),
            wandered: 0.0,
            gradients: mean.as_slice().to_vec(),
            noise_variance: evidence.noise_variance,
            probed: false,
            snapshots: None,
        };
        let arrived =
            searched.have_arrived(&probes.diagonal(), sampling, pull.as_slice(), prior.diagonal().as_slice());
        (truth, probes.posterior(Vec::new(), &evidence, &vec![1.0; n]), arrived)
    }
}

/// A mean gradient that is zero but for noise is that of a run that has arrived, at every size of the noise. Nine
/// deviations are not: of the noise, and of what a posterior deviation makes of it. Where nothing follows from
/// gradients but that the run is far away, there is no posterior.
#[test]
fn runs_that_have_not_arrived_are_told_from_others() {
    for (number, variance) in [(21, 1e1), (22, 1e5), (23, 1e9)] {
        let mut normals = Normals::new(number);
        let problem = Problem::turned(4, variance, &mut normals);
        let deviation = (variance / 560.0 + problem.curvature.diagonal().max()).sqrt();
        for _ in 0..5 {
            assert!(problem.run_at((0.0, 0.0), &mut normals).2);
            assert!(!problem.run_at((9.0 * deviation, 0.0), &mut normals).2);
        }
    }
    let mut normals = Normals::new(24);
    let problem = Problem::turned(4, 1e7, &mut normals);
    let (_, found, arrived) = problem.run_at((1e6, 0.0), &mut normals);
    assert!(found.is_none() && !arrived);
    // Batches that are small samples may have made as much: with a variance of 60 of the scores' own in the
    // mean, the limit is 5 √61 = 39 times the root of the curvature, and 5 without.
    let problem = Problem::turned(4, 1e1, &mut normals);
    let smallest = problem.curvature.diagonal().min().sqrt();
    assert!(!problem.run_at((30.0 * smallest, 0.0), &mut normals).2);
    assert!(problem.run_at((30.0 * smallest, 60.0 * 560.0), &mut normals).2);
}

/// 90 % intervals hold the truth wherever the noise stands: below the posterior's own spread, of its size,
/// and so far above that next to nothing is learned.
///
/// Measured with 60 runs: .92, .92, .86, .85 and .85 held at variances of 1e3, 1e5, 1e6, 1e7 and 1e8,
/// intervals 1.07, 1.39, 1.35, 1.34 and 1.16 times as long as with a known curvature.
///
/// n = 20 runs of 9 values for each. As if values of one run were independent, a share below 0.84 − 5.2
/// √(0.134/180) = 0.70 has a probability of 1e-7 where 0.84 are held.
#[test]
fn intervals_hold_the_truth_at_every_size_of_the_noise() {
    for (number, variance) in [(1, 1e1), (3, 1e5), (5, 1e8)] {
        let mut normals = Normals::new(number);
        let problem = Problem::turned(9, variance, &mut normals);
        let known = problem.deviations_if_known(540.0);
        let (mut held, mut length, runs) = (0, 0.0, 20);
        for _ in 0..runs {
            let (truth, found) = problem.run(&mut normals);
            for j in 0..9 {
                let deviation = found.covariance[10 * j].sqrt();
                held += u32::from((found.mean[j] - truth[j]).abs() < 1.644_854 * deviation);
                length += (deviation / known[j]).ln() / f64::from(9 * runs);
            }
        }
        let (share, length) = (f64::from(held) / f64::from(9 * runs), length.exp());
        assert!(share > 0.70, "{share} held at a variance of {variance:e}");
        assert!(length > 0.9 && length < 2.2, "{length} times as long at a variance of {variance:e}");
    }
}

/// With next to no noise it is the posterior of the quadratic likelihood: Laplace's.
#[test]
fn without_noise_it_is_the_posterior() {
    let mut normals = Normals::new(6);
    let problem = Problem::turned(5, 1e-8, &mut normals);
    let (_, found) = problem.run(&mut normals);
    let expected = problem.posterior_covariance();
    let largest = (square(&found.covariance, 5) - &expected).amax() / expected.amax();
    assert!(largest < 1e-3, "{largest}");
}

/// Over a round all displacements are orthogonal to each other, so that one direction's slope is not taken
/// for another's.
#[test]
fn displacements_of_a_round_are_orthogonal() {
    let n = 11;
    let mut probes = Probes::new((1_000, 200), standard_priors(n));
    for _ in 800 - 50..800 {
        probes.take_draw(1.0, |to, _| to.fill(0.1));
    }
    let mut sum = DMatrix::<f64>::zeros(n, n);
    // 200/8 pairs are one block of 16 and a part of another, so a round is a block.
    for step in 800..816 {
        let away = DVector::from_column_slice(probes.displacement(step));
        sum += &away * away.transpose();
        probes.take(1.0, |_, of| of.fill(0.0));
    }
    let diagonal = DMatrix::from_diagonal(&sum.diagonal());
    assert!(sum.diagonal().min() > 0.0);
    assert!((&sum - &diagonal).amax() < 1e-12 * sum.amax());
    // Probes that make no whole round are where the run has come.
    let last: Vec<f64> =
        (816..1_000).map(|step| DVector::from_column_slice(probes.displacement(step)).norm()).collect();
    assert_eq!(last[last.len() - 184 % 16..], [0.0; 184 % 16]);
}

/// Probes go on where they were saved, to the last bit.
#[test]
fn probes_are_saved_and_restored() {
    let mut normals = Normals::new(7);
    let n = 4;
    let new = || Probes::new((400, 80), standard_priors(n));
    let (mut whole, mut saved) = (new(), None);
    let slopes = DMatrix::from_fn(n, n, |j, k| if j == k { 50.0 } else { 35.0 });
    let mut gradients = Vec::new();
    for step in 320..400 {
        if step == 371 {
            let mut numbers = Vec::new();
            whole.save(&mut numbers);
            saved = Some(numbers);
        }
        let away = DVector::from_column_slice(whole.displacement(step));
        let half = -&slopes * away + normals.vector(n);
        take(&mut whole, &half, 1.0);
        gradients.push(half);
    }
    let (saved, mut rest) = (saved.unwrap(), new());
    let mut state = SavedState::new(&saved);
    rest.restore(&mut state).unwrap();
    state.finish().unwrap();
    for step in 371..400 {
        let away = rest.displacement(step).to_vec();
        assert!(away.iter().all(|x| x.is_finite()));
        take(&mut rest, &gradients[step as usize - 320], 1.0);
    }
    let numbers = |probes: &Probes| {
        let mut numbers = Vec::new();
        probes.save(&mut numbers);
        numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&whole), numbers(&rest));
    assert!(new().restore(&mut SavedState::new(&saved[..saved.len() - 1])).is_err());
}

/// A round that is not whole says nothing, and a guide without spread is probed from a width of one.
#[test]
fn half_a_round_says_nothing_and_a_guide_of_points_something() {
    let n = 4;
    let mut probes = Probes::new((400, 100), standard_priors(n));
    for _ in 200..300 {
        probes.take_draw(1.0, |away, half| (away.fill(0.0), half.fill(0.0)).0);
    }
    for step in 300..308 {
        assert!(probes.own.reading().variances.iter().all(|variance| variance.is_infinite()));
        let away = probes.displacement(step).to_vec();
        assert!(away.iter().all(|x| (x.abs() - 1.0).abs() < 0.01), "{away:?}");
        probes.take(1.0, |_, half| half.iter_mut().zip(&away).for_each(|(half, x)| *half = -30.0 * x));
    }
    let reading = probes.own.reading();
    assert!((0..n).all(|j| (reading.matrix[(j, j)] - 30.0).abs() < 1e-9 && reading.variances[(j, j)] < 0.2));
    // Beyond the planned steps nothing is displaced.
    let mut probes = Probes::new((100, 0), standard_priors(n));
    probes.take_draw(1.0, |away, half| (away.fill(0.1), half.fill(0.0)).0);
    assert!([100, 101].iter().all(|&step| probes.displacement(step).iter().all(|x| *x == 0.0)));
}

/// The errors that are stated of a reading are those that are made: mean squares of 400 standardised errors
/// of each element lie within 1 ± 5.2 √(2/400), α = 2e-7 each.
#[test]
fn errors_of_a_reading_are_as_stated() {
    let (mut normals, n, count) = (Normals::new(8), 3, 400);
    let truth = DMatrix::from_row_slice(n, n, &[900.0, 200.0, 0.0, 200.0, 600.0, -100.0, 0.0, -100.0, 400.0]);
    let axes = DMatrix::from_iterator(n, n, normals.vector(n * n).iter().copied()).qr().q();
    let (mut squares, mut turned) = (DMatrix::<f64>::zeros(n, n), DMatrix::<f64>::zeros(n, n));
    for _ in 0..count {
        let mut slopes = Slopes::new(n);
        for pair in 0..16_usize {
            let sign = |j: usize| if (pair & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
            let away = DVector::from_fn(n, |j, _| sign(j) * [0.1, 0.5, 2.0][j]);
            let half = -&truth * &away + normals.vector(n) * 30.0;
            slopes.take(away.as_slice(), half.as_slice(), 900.0);
        }
        let reading = slopes.reading();
        let along = reading.along(&axes);
        for (sum, reading, truth) in [
            (&mut squares, &reading, truth.clone()),
            (&mut turned, &along, axes.transpose() * &truth * &axes),
        ] {
            let error = &reading.matrix - truth;
            *sum += error.component_mul(&error).component_div(&reading.variances) / f64::from(count);
        }
    }
    let slack = 5.2 * (2.0 / f64::from(count)).sqrt();
    for square in squares.iter().chain(&turned) {
        assert!((square - 1.0).abs() < slack, "{squares} {turned}");
    }
}

/// Where nothing was displaced nothing is known.
#[test]
fn without_displacements_nothing_is_known() {
    let nothing = Slopes::new(2).reading();
    assert!(nothing.variances.iter().all(|variance| *variance == f64::INFINITY));
    assert!(nothing.matrix.iter().all(|element| *element == 0.0));
}

/// A normal prior stays what it is, correlated or not; a half-Cauchy far from its median, which has no
/// curvature and a slope, is a normal that reaches its median.
#[test]
fn a_prior_is_a_normal() {
    let n = 2;
    let evidence = |values: &'static [f64], gradient: &'static [f64], curvature: &'static [f64]| Evidence {
        curvature: &[],
        values,
        gradients: &[0.0, 0.0],
        noise_variance: 1.0,
        sampling: 0.0,
        prior_gradient: gradient,
        prior_curvature: curvature,
    };
    let (precision, pull) = normal_prior(
        &standard_priors(n),
        &evidence(&[1.0, 2.0], &[-0.4, -1.4], &[1.2, -0.8, -0.8, 1.1]),
        None,
    )
    .unwrap();
    // Its eigenvalues are 1.95 and .35. In the second's direction draws vary more, and by what they do is
    // taken.
    let eigenvalues = precision.symmetric_eigenvalues();
    assert!((eigenvalues.max() - 1.95).abs() < 0.01 && eigenvalues.min() > 0.4, "{eigenvalues}");
    assert!(pull.iter().all(|x| x.is_finite()));
    let (precision, pull) =
        normal_prior(&standard_priors(n), &evidence(&[1.0, 2.0], &[-1.0, -2.0], &[1.0, 0.0, 0.0, 1.0]), None)
            .unwrap();
    assert!((precision - DMatrix::<f64>::identity(n, n)).amax() < 0.03);
    assert!((pull + DVector::from_row_slice(&[1.0, 2.0])).amax() < 0.03);
    // ln x of a half-Cauchy: density sech(u)/π. At u = 6 slope −1, curvature 2e-5·…, deviation from
    // quantiles.
    let sech: Vec<f64> =
        (0..201).map(|k| ((f64::from(k) + 0.5) / 201.0 * std::f64::consts::FRAC_PI_2).tan().ln()).collect();
    let priors = vec![ElementPrior::new(Some(sech), false); n];
    let (precision, pull) = normal_prior(
        &priors,
        &evidence(&[6.0, -6.0], &[-0.999_988, 0.999_988], &[2.5e-5, 0.0, 0.0, 2.5e-5]),
        None,
    )
    .unwrap();
    let mean: Vec<f64> = (0..n).map(|j| [6.0, -6.0][j] + pull[j] / precision[(j, j)]).collect();
    assert!(mean.iter().all(|x| x.abs() < 0.1), "{mean:?}");
    assert!((precision[(0, 0)].sqrt().recip() - 1.3).abs() < 0.2, "{precision}");
    // Of the first the data say so much that the prior matters where it is alone.
    let at = evidence(&[6.0, -6.0], &[-0.999_988, 0.999_988], &[2.5e-5, 0.0, 0.0, 2.5e-5]);
    let (precision, pull) =
        normal_prior(&priors, &at, Some(&DMatrix::from_row_slice(n, n, &[50.0, 0.0, 0.0, 0.1]))).unwrap();
    assert!((precision[(0, 0)] - 2.5e-5).abs() < 1e-12 && (pull[0] + 0.999_988).abs() < 1e-9);
    assert!((precision[(1, 1)].sqrt().recip() - 1.3).abs() < 0.2, "{precision}");
    // A flat prior is as wide as is said of it.
    let flat = vec![ElementPrior::new(None, true), ElementPrior::new(None, false)];
    let (precision, pull) =
        normal_prior(&flat, &evidence(&[5.0, 1.0], &[0.0, 0.0], &[0.0; 4]), None).unwrap();
    assert!((precision[(0, 0)] - 1e-6).abs() < 1e-18 && (precision[(1, 1)] - 1.0 / 9.0).abs() < 1e-12);
    assert!(pull.amax() < 1e-12);
}

/// Elements off the diagonal that are errors are drawn to zero, those that stand out stay.
#[test]
fn what_does_not_scatter_is_drawn_to_zero() {
    let (mut normals, n) = (Normals::new(9), 20);
    let variances = DMatrix::from_fn(n, n, |j, k| if j == k { 400.0 } else { 200.0 });
    let noisy = |truth: DMatrix<f64>, normals: &mut Normals| {
        let z = DMatrix::from_iterator(n, n, normals.vector(n * n).iter().map(|z| 20.0 * z));
        truth + 0.5 * (&z + z.transpose())
    };
    let diagonal = noisy(DMatrix::from_diagonal_element(n, n, 100.0), &mut normals);
    let shrunk = Shrunk::new(&diagonal, &variances);
    let off = |matrix: &DMatrix<f64>| {
        let square: f64 = (0..n).flat_map(|j| (0..j).map(move |k| (j, k))).map(|at| matrix[at].powi(2)).sum();
        (square / 190.0).sqrt()
    };
    assert!(off(&diagonal) > 12.0 && off(&shrunk.mean) < 4.0, "{}", off(&shrunk.mean));
    assert!(shrunk.variances[(1, 0)] < 60.0 && shrunk.variances[(0, 0)] == 400.0);
    let standing_out = |matrix: &DMatrix<f64>| {
        Reading { matrix: matrix.clone(), variances: variances.clone() }.standing_out()
    };
    assert!(standing_out(&diagonal).is_none());
    let mut one = diagonal.clone();
    (one[(3, 7)], one[(7, 3)]) = (95.0, 95.0);
    assert!(Shrunk::new(&one, &variances).mean[(3, 7)] > 65.0);
    let left = standing_out(&one).unwrap();
    assert!(
        left[(3, 7)] == 95.0 && left[(7, 3)] == 95.0 && left[(2, 1)] == 0.0 && left[(1, 1)] == one[(1, 1)]
    );
    // A curvature of one direction only, along (1, …, 1).
    let along = noisy(DMatrix::from_fn(n, n, |j, k| if j == k { 120.0 } else { 100.0 }), &mut normals);
    let shrunk = Shrunk::new(&along, &variances);
    assert!((shrunk.mean[(2, 1)] / along[(2, 1)] - 1.0).abs() < 0.1);
    assert!(standing_out(&along).is_some_and(|left| left[(2, 1)] == along[(2, 1)]));
    // One row has nothing to do with the others, as that of a scale: of it less is kept than of them.
    let mut apart = along;
    for k in 0..n - 1 {
        let error = diagonal[(n - 1, k)];
        (apart[(n - 1, k)], apart[(k, n - 1)]) = (error, error);
    }
    let shrunk = Shrunk::new(&apart, &variances);
    let kept = |at: (usize, usize)| shrunk.variances[at] / variances[at];
    assert!(kept((2, 1)) > 0.9 && kept((n - 1, 1)) < 0.7, "{} {}", kept((2, 1)), kept((n - 1, 1)));
}
