//! Blocks of repeated work, timed in turns.

use std::time::Instant;

use super::Failure;

/// Blocks each work is timed in.
const BLOCKS: usize = 15;
/// Fewest blocks, for work that takes long.
const FEWEST_BLOCKS: usize = 5;

/// Microseconds for one repetition of some work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Median over the blocks.
    pub median_us: f64,
    /// The fastest block.
    pub best_us: f64,
}

impl Timing {
    fn of(mut blocks: Vec<f64>) -> Self {
        blocks.sort_by(f64::total_cmp);
        Self { median_us: blocks[blocks.len() / 2], best_us: blocks[0] }
    }
}

/// Times work within a number of seconds each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopwatch {
    seconds: f64,
}

/// Some work to be timed.
pub type Work<'w> = &'w mut dyn FnMut() -> Result<(), Failure>;

impl Stopwatch {
    /// A stopwatch that spends about this many seconds on each work, a tenth of them to warm up.
    #[must_use]
    pub fn new(seconds: f64) -> Self {
        Self { seconds }
    }

    /// An upper bound on the repetitions of work that takes at least half a microsecond.
    #[must_use]
    pub fn most_repetitions(&self) -> u64 {
        // A warm-up ends within twice its tenth and has come as far again before; the blocks take nine
        // tenths.
        ((2.0 * 1.5 * 1e6 * self.seconds) as u64).max(1000)
    }

    /// Times several works. Their blocks alternate, so that what slows the machine down for a while slows
    /// down all of them and their ratios stay.
    ///
    /// # Errors
    ///
    /// The first that a work returns.
    ///
    /// # Examples
    ///
    /// ```
    /// use dp_examples::harness::bench::Stopwatch;
    ///
    /// let (mut short, mut long) = (0.0_f64, 0.0_f64);
    /// let mut once = || Ok(short = (short + 1.0).sqrt());
    /// let mut often = || Ok((0..1000).for_each(|_| long = (long + 1.0).sqrt()));
    /// let timings = Stopwatch::new(0.01).compare([&mut once, &mut often])?;
    /// assert!(timings[0].best_us > 0.0 && timings[0].median_us < timings[1].median_us);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare<const N: usize>(&self, mut works: [Work<'_>; N]) -> Result<[Timing; N], Failure> {
        let mut repetitions = [1; N];
        let mut blocks = FEWEST_BLOCKS;
        for (work, repetitions) in works.iter_mut().zip(&mut repetitions) {
            let each = self.warm_up(work)?;
            *repetitions = ((0.9 * self.seconds / BLOCKS as f64 / each) as u64).max(1);
            let affordable = (self.seconds / each) as usize;
            blocks = blocks.max(affordable.min(BLOCKS));
        }
        let mut times = [(); N].map(|()| Vec::with_capacity(blocks));
        for _ in 0..blocks {
            for ((work, &repetitions), times) in works.iter_mut().zip(&repetitions).zip(&mut times) {
                let started = Instant::now();
                for _ in 0..repetitions {
                    work()?;
                }
                times.push(started.elapsed().as_secs_f64() * 1e6 / repetitions as f64);
            }
        }
        Ok(times.map(Timing::of))
    }

    /// Repeats the work for a tenth of the time; seconds for one repetition.
    fn warm_up(&self, work: &mut Work<'_>) -> Result<f64, Failure> {
        let mut repetitions = 1_u64;
        loop {
            let started = Instant::now();
            for _ in 0..repetitions {
                work()?;
            }
            let taken = started.elapsed().as_secs_f64();
            if taken >= self.seconds / 10.0 || repetitions >= 1 << 40 {
                return Ok((taken / repetitions as f64).max(1e-9));
            }
            repetitions *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_best() {
        assert_eq!(Timing::of(vec![3.0, 1.0, 9.0]), Timing { median_us: 3.0, best_us: 1.0 });
    }

    #[test]
    fn a_failure_ends_the_measurement() {
        let mut left = 3;
        let mut work = || {
            left -= 1;
            if left == 0 { Err("enough".into()) } else { Ok(()) }
        };
        let told = Stopwatch::new(1.0).compare([&mut work]).unwrap_err().to_string();
        assert_eq!((told.as_str(), left), ("enough", 0));
    }
}
