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
mod poisson;
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
pub use poisson::Poisson;
pub use words::Words;
