//! Drawing on a device: the same batches and the same noise, made where they are used (features `wgpu` and `cuda`).

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
#[cfg(test)]
#[cfg_attr(not(any(feature = "wgpu", feature = "cuda")), allow(dead_code, reason = "no backend to test"))]
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
