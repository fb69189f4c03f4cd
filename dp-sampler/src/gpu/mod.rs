//! Drawing on a device: the same batches and the same noise, made where they are used (features `wgpu` and
//! `cuda`).
//!
//! A training loop whose records and gradients live on a GPU should not wait for a CPU to draw its batch and
//! its noise. The types here take over a sampler or a source of noise from the root of this crate and do its
//! work on a [`Device`]; results stay there until they are read.
//!
//! ```no_run
//! # #[cfg(feature = "wgpu")] {
//! use dp_sampler::gpu::{self, Device, Matrix, Vulkan};
//! use dp_sampler::{GaussianNoise, Poisson, Seed, Subsampling};
//!
//! let device = Device::<Vulkan>::find()?; // or `Cuda`; an error that says what is missing where there is none
//! let seed = Seed::from_os()?;
//! let records = Matrix::new(&device, &vec![0.5; 60_000 * 8], 8)?;
//! let sampler = gpu::Poisson::new(&device, Poisson::rate(0.01)?.bind(60_000, &seed)?)?;
//! let noise = gpu::GaussianNoise::new(&device, GaussianNoise::new(&seed))?;
//! for step in 0..100 {
//!     let batch = records.gather(&sampler.draw(step)?)?; // rows, then zeros: how many rows is secret
//!     let z = noise.fill(step, 8)?;
//!     // kernels of your own take `batch.argument()` and `z.argument()`
//! }
//! # }
//! # Ok::<(), dp_sampler::Error>(())
//! ```
//!
//! | on the CPU | on a device | the same |
//! |---|---|---|
//! | [`Streams`](crate::Streams) | [`Words`] | words |
//! | [`Permutation`](crate::Permutation) | [`Permutation`] | images, up to 2⁶³ elements |
//! | [`FixedSize::by_permutation`](crate::FixedSize::by_permutation) | [`FixedSize`] | records, in the same order |
//! | [`Poisson`](crate::Poisson) | [`Poisson`] | records, in the same order |
//! | [`DiscreteGaussianNoise`](crate::DiscreteGaussianNoise) | [`DiscreteGaussianNoise`] | integers |
//! | [`GaussianNoise`](crate::GaussianNoise) | [`GaussianNoise`], `f32` | up to rounding |
//!
//! "The same" is for the same seed, purpose and step, on every backend: what is proven and tested of the
//! CPU's laws holds for the device's. [`Planner`] chooses between CPU and device by size.
//!
//! # Backends
//!
//! `Vulkan` (feature `wgpu`: Vulkan, Metal or DirectX by way of WGSL) and `Cuda` (feature `cuda`). Neither
//! needs more than this registry's crates to build. To run, the first needs a driver with compute shaders,
//! the second NVIDIA's driver, its run-time compiler NVRTC, and `CUDA_PATH` with a folder `include`; where
//! the machine that builds has no toolkit, `CUDARC_CUDA_VERSION=12080` says for which version to build. The
//! kernels are one source, in 32-bit integers and single precision, so every device can run them.
//!
//! # Privacy
//!
//! Keys are secrets ([`Seed`](crate::Seed)), and a device has to have them: the key of the one purpose that
//! it draws for, which makes that purpose's words at all steps, or of one permutation. They are overwritten
//! with zeros in the device's memory when the type that holds them is dropped. What a driver copies on the
//! way, and what a compiler spills, are out of reach, as they are on a CPU. So are batches, noise and
//! intermediate results in the device's memory, which is pooled and not wiped between uses: a device belongs
//! inside the wall, and one that is shared with processes that are not trusted does not (virtual machines
//! that share a GPU, browsers).
//!
//! The length of a Poisson batch does not leave the device, and [`Matrix::gather`] does the same work for
//! every length. How long the kernels take is not hidden.

mod backend;
mod buffer;
mod device;
mod discrete_gaussian;
mod gaussian;
mod kernels;
mod key;
mod matrix;
mod permutation;
mod planner;
mod poisson;
#[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
mod tests;
mod words;

pub use backend::Backend;
#[cfg(feature = "cuda")]
pub use backend::Cuda;
#[cfg(feature = "wgpu")]
pub use backend::Vulkan;
pub use buffer::{Indices, Number, Numbers};
pub use device::{Device, Limits};
pub use discrete_gaussian::DiscreteGaussianNoise;
pub use gaussian::GaussianNoise;
pub use matrix::Matrix;
pub use permutation::{FixedSize, Permutation};
pub use planner::{Choice, Cost, Costs, Place, Planner, Transfer, Wanted, Work};
pub use poisson::Poisson;
pub use words::Words;
