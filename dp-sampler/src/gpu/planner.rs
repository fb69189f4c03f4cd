//! CPU or device: whichever has the result sooner where it is wanted.

use std::fmt;
use std::time::Instant;

use super::buffer::Words;
use super::{Backend, Device, DiscreteGaussianNoise, GaussianNoise, Permutation};
use crate::{NoiseSource, Purpose, Result, Seed, Subsampler, Subsampling};

/// What there is to choose a place for, and what is counted of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Work {
    /// Numbers of Gaussian noise in single precision.
    Gaussian,
    /// Numbers of discrete Gaussian noise.
    DiscreteGaussian,
    /// Images of a permutation, or a batch of fixed size drawn by one.
    Permutation,
    /// Expected records of a Poisson batch.
    Poisson,
}

impl Work {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Gaussian, Self::DiscreteGaussian, Self::Permutation, Self::Poisson];

    /// Bytes of one element of the result on a device and on the CPU, of which the larger has to travel.
    fn bytes(self) -> f64 {
        match self {
            Self::Gaussian | Self::Permutation | Self::Poisson => 4.0,
            Self::DiscreteGaussian => 8.0,
        }
    }
}

/// Where something is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Here, by the types at the root of this crate.
    Cpu,
    /// There, by the types of this module.
    Device,
}

/// Where a result is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// In the memory of the CPU: what a device made has to be copied back.
    OnCpu,
    /// In the memory of the device: what the CPU made has to be copied there.
    OnDevice,
}

/// A time that grows with what is done: `fixed + each · count` seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Seconds for anything at all.
    pub fixed: f64,
    /// Seconds for every element.
    pub each: f64,
}

impl Cost {
    /// Seconds for this many elements.
    #[must_use]
    pub fn of(self, count: f64) -> f64 {
        self.fixed + self.each * count
    }

    /// The line through the times for two counts; never falling, never below zero.
    fn through([few, many]: [usize; 2], mut seconds: impl FnMut(usize) -> Result<f64>) -> Result<Self> {
        let (short, long) = (seconds(few)?, seconds(many)?);
        let each = ((long - short) / (many - few) as f64).max(0.0);
        Ok(Self { fixed: (short - each * few as f64).max(0.0), each })
    }
}

/// What a kind of work costs in both places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// The kind of work.
    pub work: Work,
    /// On the CPU, on one thread.
    pub cpu: Cost,
    /// On the device, from the launch to the end of it.
    pub device: Cost,
}

/// What bytes cost to copy.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Transfer {
    /// To the device.
    pub upload: Cost,
    /// From the device.
    pub download: Cost,
}

/// Chooses between CPU and device by size.
///
/// Two straight lines, of which the lower is chosen:
///
/// ```text
/// CPU      a + b n      + upload of the result, where it is wanted on the device
/// device   a′ + b′ n    + download of the result, where it is wanted on the CPU
/// ```
///
/// The constants are [measured](Self::measure) on the machine at hand, in a fraction of a second on a GPU: no
/// table knows it. A launch costs from ten microseconds to half a millisecond, in which a CPU makes thousands
/// of numbers, so small batches stay on the CPU. Work that has not been measured goes to the CPU, as does
/// everything where there is no device.
///
/// The choice makes no difference to integers. Gaussian noise of the two places differs by rounding
/// ([`GaussianNoise`](super::GaussianNoise#accuracy)), so a run that has to be repeatable to the last bit
/// keeps to one place.
///
/// ```
/// use dp_sampler::gpu::{Cost, Costs, Place, Planner, Transfer, Wanted, Work};
///
/// let costs = Costs {
///     work: Work::Gaussian,
///     cpu: Cost { fixed: 1e-7, each: 1e-9 },
///     device: Cost { fixed: 2e-5, each: 1e-11 },
/// };
/// let planner = Planner::new(Transfer::default(), vec![costs]);
/// assert_eq!(planner.choose(Work::Gaussian, 1_000, Wanted::OnDevice).place, Place::Cpu);
/// assert_eq!(planner.choose(Work::Gaussian, 1_000_000, Wanted::OnDevice).place, Place::Device);
/// assert_eq!(planner.choose(Work::Poisson, 1_000_000, Wanted::OnDevice).place, Place::Cpu);
/// println!("{}", planner.choose(Work::Gaussian, 1_000_000, Wanted::OnDevice));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Planner {
    transfer: Transfer,
    costs: Vec<Costs>,
}

/// A choice, and what speaks for it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// Where.
    pub place: Place,
    /// Seconds on the CPU until the result is where it is wanted, as far as is known.
    pub cpu: Option<f64>,
    /// Seconds on the device until the result is where it is wanted, as far as is known.
    pub device: Option<f64>,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::Cpu => "CPU",
            Place::Device => "device",
        };
        match (self.cpu, self.device) {
            (Some(cpu), Some(device)) => {
                write!(f, "{place}: {:.1} µs on the CPU, {:.1} µs on the device", 1e6 * cpu, 1e6 * device)
            }
            _ => write!(f, "{place}: no device was measured for this"),
        }
    }
}

impl Planner {
    /// A planner with these costs.
    #[must_use]
    pub fn new(transfer: Transfer, costs: Vec<Costs>) -> Self {
        Self { transfer, costs }
    }

    /// A planner that leaves everything to the CPU.
    #[must_use]
    pub fn cpu_only() -> Self {
        Self::default()
    }

    /// The best device of a backend and a planner that knows it; without a device, one that leaves everything
    /// to the CPU.
    ///
    /// # Errors
    ///
    /// [`Error::Device`](crate::Error::Device) when there is a device but it does not work.
    pub fn find<R: Backend>(works: &[Work]) -> Result<(Option<Device<R>>, Self)> {
        match Device::find() {
            Ok(device) => {
                let planner = Self::measure(&device, works)?;
                Ok((Some(device), planner))
            }
            Err(_) => Ok((None, Self::cpu_only())),
        }
    }

    /// Measures what these kinds of work cost here and on the device: the best of several runs at two sizes.
    ///
    /// # Errors
    ///
    /// [`Error::Device`](crate::Error::Device) when the device refuses.
    pub fn measure<R: Backend>(device: &Device<R>, works: &[Work]) -> Result<Self> {
        let transfer = Transfer {
            upload: Cost::through([1 << 10, 1 << 22], |bytes| {
                let zeros = vec![0; bytes / 4];
                best(|| {
                    Words::copy_of(device, &zeros)?;
                    device.wait()
                })
            })?,
            download: Cost::through([1 << 10, 1 << 22], |bytes| {
                let zeros = Words::copy_of(device, &vec![0; bytes / 4])?;
                best(|| zeros.read().map(drop))
            })?,
        };
        let costs = works.iter().map(|&work| costs(device, work)).collect::<Result<_>>()?;
        Ok(Self { transfer, costs })
    }

    /// What is known of the costs.
    #[must_use]
    pub fn costs(&self) -> &[Costs] {
        &self.costs
    }

    /// Where this many elements are computed sooner.
    #[must_use]
    pub fn choose(&self, work: Work, count: u64, wanted: Wanted) -> Choice {
        let Some(costs) = self.costs.iter().find(|costs| costs.work == work) else {
            return Choice { place: Place::Cpu, cpu: None, device: None };
        };
        let count = count as f64;
        let bytes = count * work.bytes();
        let (mut cpu, mut device) = (costs.cpu.of(count), costs.device.of(count));
        match wanted {
            Wanted::OnCpu => device += self.transfer.download.of(bytes),
            Wanted::OnDevice => cpu += self.transfer.upload.of(bytes),
        }
        // Where nothing speaks for either, nothing is launched.
        let place = if device < cpu { Place::Device } else { Place::Cpu };
        Choice { place, cpu: Some(cpu), device: Some(device) }
    }
}

/// The shortest of a few times, the first of which compiles.
fn best(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    run()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Measures one kind of work at sizes at which a launch, and at which the numbers take the time.
fn costs<R: Backend>(device: &Device<R>, work: Work) -> Result<Costs> {
    const CPU: [usize; 2] = [256, 1 << 14];
    const DEVICE: [usize; 2] = [256, 1 << 18];
    let seed = Seed::for_tests(0);
    let (cpu, device) = match work {
        Work::Gaussian => {
            let host = crate::GaussianNoise::new(&seed);
            let cpu = Cost::through(CPU, |count| {
                let mut out = vec![0_f32; count];
                best(|| {
                    host.fill(0, &mut out);
                    Ok(())
                })
            })?;
            let noise = GaussianNoise::new(device, host)?;
            (cpu, Cost::through(DEVICE, |count| best(|| finish(device, noise.fill(0, count as u64))))?)
        }
        Work::DiscreteGaussian => {
            let host = crate::DiscreteGaussianNoise::new(&seed, 10_000, 1)?;
            let cpu = Cost::through(CPU, |count| {
                let mut out = vec![0_i64; count];
                best(|| {
                    host.fill(0, &mut out);
                    Ok(())
                })
            })?;
            let noise = DiscreteGaussianNoise::new(device, host)?;
            (cpu, Cost::through(DEVICE, |count| best(|| finish(device, noise.fill(0, count as u64))))?)
        }
        Work::Permutation => {
            let host = crate::Permutation::new(1 << 20, &mut seed.streams(Purpose::Split).at(0))?;
            let cpu = Cost::through(CPU, |count| {
                let mut out = vec![0; count];
                best(|| host.apply_range(0, &mut out))
            })?;
            let permutation = Permutation::new(device, &host)?;
            (
                cpu,
                Cost::through(DEVICE, |count| best(|| finish(device, permutation.images(0, count as u64))))?,
            )
        }
        Work::Poisson => {
            let bind = |count: usize| crate::Poisson::rate(0.01)?.bind(100 * count as u64, &seed);
            let cpu = Cost::through(CPU, |count| {
                let (mut sampler, mut batch) = (bind(count)?, Vec::new());
                best(|| {
                    sampler.draw(0, &mut batch);
                    Ok(())
                })
            })?;
            let device = Cost::through(DEVICE, |count| {
                let sampler = super::Poisson::new(device, bind(count)?)?;
                best(|| finish(device, sampler.draw(0)))
            })?;
            (cpu, device)
        }
    };
    Ok(Costs { work, cpu, device })
}

/// Waits for what was launched.
fn finish<R: Backend, T>(device: &Device<R>, launched: Result<T>) -> Result<()> {
    launched?;
    device.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planner() -> Planner {
        let cost = |fixed, each| Cost { fixed, each };
        let transfer = Transfer { upload: cost(1e-5, 1e-10), download: cost(2e-5, 2e-10) };
        let costs =
            Work::ALL[..3].iter().map(|&work| Costs { work, cpu: cost(0.0, 1e-8), device: cost(1e-4, 1e-9) });
        Planner::new(transfer, costs.collect())
    }

    #[test]
    fn the_lower_line_is_chosen_on_either_side_of_the_crossing() {
        let planner = planner();
        // On the device: 1e-8 n + 1e-5 + 4e-10 n = 1e-4 + 1e-9 n at n = 9e-5 / 9.4e-9 = 9,574.5.
        let on_device = |n| planner.choose(Work::Gaussian, n, Wanted::OnDevice).place;
        assert_eq!((on_device(9_574), on_device(9_575)), (Place::Cpu, Place::Device));
        // On the CPU: 1e-8 n = 1.2e-4 + 1e-9 n + 8e-10 n at n = 1.2e-4 / 8.2e-9 = 14,634.1.
        let on_cpu = |n| planner.choose(Work::Permutation, n, Wanted::OnCpu).place;
        assert_eq!((on_cpu(14_634), on_cpu(14_635)), (Place::Cpu, Place::Device));
        // Twice the bytes: 1.2e-4 / 7.4e-9 = 16,216.2.
        let wide = |n| planner.choose(Work::DiscreteGaussian, n, Wanted::OnCpu).place;
        assert_eq!((wide(16_216), wide(16_217)), (Place::Cpu, Place::Device));
    }

    #[test]
    fn what_is_not_known_stays_here() {
        let choice = planner().choose(Work::Poisson, u64::MAX, Wanted::OnDevice);
        assert_eq!((choice.place, choice.cpu, choice.device), (Place::Cpu, None, None));
        assert_eq!(choice.to_string(), "CPU: no device was measured for this");
        let choice = Planner::cpu_only().choose(Work::Gaussian, u64::MAX, Wanted::OnDevice);
        assert_eq!(choice.place, Place::Cpu);
    }

    #[test]
    fn choices_explain_themselves() {
        let choice = planner().choose(Work::Gaussian, 1_000_000, Wanted::OnDevice);
        assert_eq!(choice.to_string(), "device: 10410.0 µs on the CPU, 1100.0 µs on the device");
    }

    #[test]
    fn lines_neither_fall_nor_begin_below_zero() {
        let line = |times: [f64; 2]| Cost::through([1, 3], |n| Ok(times[n / 3])).unwrap();
        assert_eq!(line([5.0, 9.0]), Cost { fixed: 3.0, each: 2.0 });
        assert_eq!(line([5.0, 4.0]), Cost { fixed: 5.0, each: 0.0 });
        assert_eq!(line([1.0, 9.0]), Cost { fixed: 0.0, each: 4.0 });
    }
}
