//! The backends: how a device is found without a panic where there is none.

use crate::Result;
use crate::subsampling::sealed::Sealed;

/// A way to reach devices; the types of this module that the features `wgpu` and `cuda` bring.
pub trait Backend: cubecl::Runtime + Sealed {
    /// The best device there is.
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`](crate::Error::NoDevice) where a driver or a device is missing.
    fn find() -> Result<Self::Device>;
}

/// Devices by way of Vulkan, Metal or DirectX, whichever the operating system has (feature `wgpu`).
#[cfg(feature = "wgpu")]
pub type Vulkan = cubecl::wgpu::WgpuRuntime;

#[cfg(feature = "wgpu")]
mod vulkan {
    use cubecl::Runtime;
    use cubecl::wgpu::{AutoGraphicsApi, GraphicsApi, WgpuDevice};

    use super::{Backend, Sealed, Vulkan};
    use crate::{Error, Result};

    impl Sealed for Vulkan {}

    impl Backend for Vulkan {
        fn find() -> Result<WgpuDevice> {
            if Vulkan::enumerate_all_devices(&AutoGraphicsApi::backend()).is_empty() {
                return Err(Error::NoDevice {
                    backend: "wgpu",
                    reason: "no adapter; on Linux a Vulkan driver and its loader libvulkan.so.1 are needed",
                });
            }
            Ok(WgpuDevice::DefaultDevice)
        }
    }
}

/// NVIDIA's devices (feature `cuda`).
#[cfg(feature = "cuda")]
pub type Cuda = cubecl::cuda::CudaRuntime;

#[cfg(feature = "cuda")]
mod cuda {
    use cubecl::Runtime;
    use cubecl::cuda::{CudaDevice, install};

    use super::{Backend, Cuda, Sealed};
    use crate::{Error, Result};

    impl Sealed for Cuda {}

    impl Backend for Cuda {
        fn find() -> Result<CudaDevice> {
            let missing = |reason| Err(Error::NoDevice { backend: "cuda", reason });
            // SAFETY: these load the libraries if they are there, whose initialisers are the vendor's, and
            // look at nothing else.
            #[allow(unsafe_code)]
            let (driver, compiler) =
                unsafe { (cudarc::driver::sys::is_culib_present(), cudarc::nvrtc::sys::is_culib_present()) };
            if !driver {
                return missing("no NVIDIA driver: libcuda was not found");
            }
            if !compiler {
                return missing("no run-time compiler: libnvrtc was not found");
            }
            if !install::cuda_path().is_some_and(|path| path.join("include").is_dir()) {
                return missing("no CUDA headers: set CUDA_PATH to a toolkit with a folder include");
            }
            if Cuda::enumerate_all_devices(&()).is_empty() {
                return missing("no device");
            }
            Ok(CudaDevice::default())
        }
    }
}
