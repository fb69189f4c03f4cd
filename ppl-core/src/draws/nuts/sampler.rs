//! Chains by `nuts-rs`, side by side.

use super::chains::Transition;
use crate::base::{Error, Result};
use crate::draws::density::Density;
use crate::model::key::Key;
use crate::model::noise::NoiseKind;
use nuts_rs::rand;
use nuts_rs::{
    Chain, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings as _,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Most chains.
const MOST_CHAINS: usize = 1024;
/// Most draws of a chain, those for tuning and those that are kept by themselves.
const MOST_DRAWS: usize = 100_000_000;
/// Most numbers that are kept: 2 GiB.
const MOST_NUMBERS: usize = 1 << 28;
/// Largest depth of the tree of a path, which then has up to a million steps.
const DEEPEST: usize = 20;
/// Points at which a chain tries to start.
const STARTS: usize = 100;

/// What is set.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) chains: usize,
    pub(super) tune: usize,
    pub(super) draws: usize,
    /// The target acceptance.
    pub(super) target: f64,
    pub(super) depth: usize,
    pub(super) key: Key,
}

impl Settings {
    /// Checks the settings by themselves.
    pub(super) fn check(&self) -> Result<()> {
        let counts = [
            ("the number of chains", self.chains, 1, MOST_CHAINS),
            ("the number of draws of each chain", self.draws, 1, MOST_DRAWS),
            ("the number of draws for tuning", self.tune, 0, MOST_DRAWS),
            ("the largest depth", self.depth, 1, DEEPEST),
        ];
        for (what, got, least, most) in counts {
            if !(least..=most).contains(&got) {
                return Err(Error::Values(format!("{what} must be from {least} to {most}, got {got}")));
            }
        }
        if !(self.target > 0.0 && self.target < 1.0) {
            let got = self.target;
            return Err(Error::Values(format!("the target acceptance must be between 0 and 1, got {got}")));
        }
        Ok(())
    }

    /// Refuses more draws than memory is meant for, before any is made.
    pub(super) fn check_size(&self, each: usize) -> Result<()> {
        let (chains, draws) = (self.chains, self.draws);
        match chains.checked_mul(draws).and_then(|all| all.checked_mul(each)) {
            Some(all) if all <= MOST_NUMBERS => Ok(()),
            _ => Err(Error::Values(format!(
                "{chains} chains of {draws} draws of {each} numbers (values, constrained and not) are more \
                 than {MOST_NUMBERS}: keep fewer draws"
            ))),
        }
    }

    /// All chains, each by itself. Each thread takes the next chain that nobody has, so which thread runs a
    /// chain is left to chance, but not what the chain is.
    pub(super) fn side_by_side(&self, density: &Density<'_>) -> Result<Vec<OneChain>> {
        let threads = rayon::current_num_threads().min(self.chains);
        if threads <= 1 {
            return (0..self.chains).map(|number| self.one(number, density.clone())).collect();
        }
        // Threads of their own rather than rayon's: one that waits for its records' sums would begin another
        // chain meanwhile, on the same stack.
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || {
            let mut done = Vec::new();
            while !failed.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.chains {
                    break;
                }
                let chain = self.one(number, density.clone());
                failed.fetch_or(chain.is_err(), Ordering::Relaxed);
                done.push((number, chain));
            }
            done
        };
        let mut done = Vec::new();
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for handle in handles {
                match handle.join() {
                    Ok(chains) => done.extend(chains),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, chain)| chain).collect()
    }

    fn one(&self, number: usize, mut density: Density<'_>) -> Result<OneChain> {
        let key = self.key.named("nuts").child(number as u64);
        let start =
            start(&mut density, &key).map_err(|told| Error::Values(format!("chain {number}: {told}")))?;
        let mut settings = DiagNutsSettings {
            num_tune: self.tune as u64,
            num_draws: self.draws as u64,
            maxdepth: self.depth as u64,
            ..DiagNutsSettings::default()
        };
        settings.adapt_options.step_size_settings.target_accept = self.target;
        let failed = |told: String| Error::Values(format!("chain {number}: {told}"));
        let elements = density.elements();
        let mut random = key.child(0).stream(0);
        let math = CpuMath::new(Target(density));
        let mut chain = settings
            .new_chain(number as u64, math, &mut random)
            .map_err(|error| failed(format!("the sampler takes no such settings: {error}")))?;
        chain.set_position(&start).map_err(|error| failed(format!("the sampler cannot start: {error}")))?;
        let mut found = OneChain {
            positions: Vec::with_capacity(self.draws * elements),
            transitions: Vec::with_capacity(self.draws),
        };
        for draw in 0..self.tune + self.draws {
            let (position, progress) = chain
                .draw()
                .map_err(|error| failed(format!("the sampler stopped at draw {draw}: {error}")))?;
            if draw >= self.tune {
                found.positions.extend_from_slice(&position);
                found.transitions.push(Transition {
                    diverging: progress.diverging,
                    steps: progress.num_steps,
                    step_size: progress.step_size,
                });
            }
        }
        Ok(found)
    }
}

/// What a chain leaves behind.
pub(super) struct OneChain {
    /// Unconstrained numbers, draw after draw.
    pub(super) positions: Vec<f64>,
    pub(super) transitions: Vec<Transition>,
}

/// A point at which density and gradient are finite.
fn start(density: &mut Density<'_>, key: &Key) -> std::result::Result<Vec<f64>, String> {
    let key = key.child(1);
    let mut position = vec![0.0; density.elements()];
    let mut gradient = position.clone();
    let mut last = f64::NAN;
    for attempt in 0..STARTS {
        key.fill(NoiseKind::Uniform, attempt as u64, 0, &mut position).map_err(|error| error.to_string())?;
        position.iter_mut().for_each(|u| *u = 4.0 * *u - 2.0);
        last = density.evaluate(&position, &mut gradient).map_err(|error| error.to_string())?;
        if last.is_finite() && gradient.iter().all(|slope| slope.is_finite()) {
            return Ok(position);
        }
    }
    let wrong = match last.is_finite() {
        true => "its gradient not finite".to_owned(),
        false => format!("the log density {last}"),
    };
    Err(format!(
        "no point to start from was found: at the last of {STARTS} points of (-2, 2) in unconstrained \
         numbers {wrong}; do the records fit the model, and is the density finite for values of order 1?"
    ))
}

/// The density as the sampler wants it.
struct Target<'r>(Density<'r>);

/// Why there is no density.
#[derive(Debug, thiserror::Error)]
enum NoDensity {
    #[error("the log density or its gradient is not finite")]
    NotFinite,
    #[error(transparent)]
    Failed(#[from] Error),
}

impl LogpError for NoDensity {
    /// A path that leaves the region where the density is finite is a divergence, and the chain goes on.
    fn is_recoverable(&self) -> bool {
        matches!(self, Self::NotFinite)
    }
}

impl HasDims for Target<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".to_owned(), self.0.elements() as u64)])
    }
}

impl CpuLogpFunc for Target<'_> {
    type LogpError = NoDensity;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        self.0.elements()
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> std::result::Result<f64, NoDensity> {
        let value = self.0.evaluate(position, gradient)?;
        match value.is_finite() && gradient.iter().all(|slope| slope.is_finite()) {
            true => Ok(value),
            false => Err(NoDensity::NotFinite),
        }
    }

    fn expand_vector<R: rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        position: &[f64],
    ) -> std::result::Result<Vec<f64>, CpuMathError> {
        Ok(position.to_vec())
    }
}
