//! Device names and the tensor devices they stand for; only this folder and the kernels name a backend.
//!
//! `flex` is burn's pure-Rust backend with kernels of our own, and always there; the others exist
//! only in a build with their cargo feature, and on a machine that has them. A device's *family*
//! goes into cache keys, since two backends round differently; its index does not.

mod choice;
mod failure;
mod found;
mod transfers;

use std::fmt;
use std::str::FromStr;

use burn::backend::DispatchDevice;
use burn::tensor::{Device, Tensor};
use thiserror::Error;

pub use self::choice::DeviceChoice;
pub(crate) use self::failure::catch;
pub use self::failure::{explain_failure, record_panics};
pub use self::found::{enumerate, model, reserved_memory};
pub use self::transfers::{Readback, read, send};
#[cfg(test)]
pub(crate) use self::transfers::{Transfers, transfers};
use crate::kernels;

/// The burn release, as pinned in the manifest; part of every family name.
const BURN: &str = "burn-0.22.1";

/// Says why a device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// No device has this name.
    #[error(
        "unknown device `{name}`: expected `flex`, `libtorch`, `libtorch-cuda`, `cuda` or `wgpu`; the last \
         three with numbers to use only some of several (`cuda:0,2`)"
    )]
    Unknown {
        /// The name as the user wrote it.
        name: String,
    },
    /// The device exists, but not in this build.
    #[error(
        "this build does not support device `{name}`, only {}; build with `--features {feature}`",
        built_in()
    )]
    NotBuilt {
        /// The kind of device.
        name: DeviceKind,
        /// The cargo feature that brings it.
        feature: &'static str,
    },
    /// The device is in this build, but not in this machine.
    #[error("device `{name}` is not available on this machine ({reason}); `flex` always is")]
    Unavailable {
        /// The device.
        name: String,
        /// What the backend says.
        reason: String,
    },
    /// The device works, but not now.
    #[error("device `{name}` has no memory left: something else uses it")]
    Full {
        /// The device.
        name: String,
    },
}

/// What a device computes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceKind {
    /// burn's pure-Rust backend, on the processor.
    #[default]
    Flex,
    /// libtorch on the processor.
    LibTorch,
    /// libtorch on NVIDIA GPUs.
    LibTorchCuda,
    /// burn's own CUDA backend, on NVIDIA GPUs.
    Cuda,
    /// What Vulkan, Metal or DirectX reach.
    Wgpu,
}

impl DeviceKind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 5] =
        [Self::Flex, Self::LibTorch, Self::LibTorchCuda, Self::Cuda, Self::Wgpu];

    /// Returns the name, without the number of a device.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flex => "flex",
            Self::LibTorch => "libtorch",
            Self::LibTorchCuda => "libtorch-cuda",
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
        }
    }

    /// Returns whether this is the processor, whose cores can be shared by several trainings; there is
    /// one such device.
    pub const fn is_processor(self) -> bool {
        matches!(self, Self::Flex | Self::LibTorch)
    }

    /// Returns the cargo feature that brings this kind, if this build lacks it.
    pub const fn missing_feature(self) -> Option<&'static str> {
        match self {
            Self::LibTorch | Self::LibTorchCuda if !cfg!(feature = "tch") => Some("tch"),
            Self::Cuda if !cfg!(feature = "cuda") => Some("cuda"),
            Self::Wgpu if !cfg!(feature = "wgpu") => Some("wgpu"),
            _ => None,
        }
    }

    /// Makes sure that this kind is in this build.
    pub fn check_built(self) -> Result<(), DeviceError> {
        match self.missing_feature() {
            Some(feature) => Err(DeviceError::NotBuilt { name: self, feature }),
            None => Ok(()),
        }
    }

    /// Returns the part of a device that changes results, such as `burn-0.22.1/wgpu`.
    pub fn family(self) -> String {
        let name = self.name();
        match self {
            Self::Flex | Self::LibTorch | Self::LibTorchCuda => {
                format!("{BURN}/{name}/kernels-{}", kernels::VERSION)
            }
            Self::Cuda | Self::Wgpu => format!("{BURN}/{name}"),
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// One device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceName {
    /// What it computes with.
    pub kind: DeviceKind,
    /// Which of several it is, from 0.
    pub index: usize,
}

impl DeviceName {
    /// Returns whether the device is the processor, whose cores can be shared by several trainings.
    pub const fn is_processor(self) -> bool {
        self.kind.is_processor()
    }
}

impl From<DeviceKind> for DeviceName {
    fn from(kind: DeviceKind) -> Self {
        Self { kind, index: 0 }
    }
}

impl FromStr for DeviceName {
    type Err = DeviceError;

    /// Reads one name; without a number, it is the first device of its kind.
    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unknown { name: text.to_owned() };
        match text.parse::<DeviceChoice>()? {
            choice if choice.indices().is_empty() => Ok(choice.kind().into()),
            choice => match choice.indices()[..] {
                [index] => Ok(Self { kind: choice.kind(), index }),
                _ => Err(unknown()),
            },
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_processor() {
            write!(formatter, "{}", self.kind)
        } else {
            write!(formatter, "{}:{}", self.kind, self.index)
        }
    }
}

/// Opens a device for inference.
pub fn open(name: DeviceName) -> Result<Device, DeviceError> {
    name.kind.check_built()?;
    found::open(name)
}

/// Opens a device whose tensors record what gradients need.
pub fn open_for_training(name: DeviceName) -> Result<Device, DeviceError> {
    Ok(open(name)?.autodiff())
}

/// Opens a device and computes something on it: only then do backends look for their hardware.
pub fn probe(name: DeviceName) -> Result<Device, DeviceError> {
    let device = open(name)?;
    if name.kind == DeviceKind::Flex {
        return Ok(device);
    }
    let sum = catch(|| Tensor::<1>::ones([2], &device).sum().into_scalar::<f32>());
    match sum {
        Ok(_) => Ok(device),
        Err(said) if failure::tells_of_memory(&said) => {
            Err(DeviceError::Full { name: name.to_string() })
        }
        Err(said) => {
            let reason = failure::first_line(&said);
            Err(DeviceError::Unavailable { name: name.to_string(), reason })
        }
    }
}

/// Returns whether a device is the processor.
fn is_processor(device: &Device) -> bool {
    let of_backend = |device: &DispatchDevice| match device {
        DispatchDevice::Flex(_) => true,
        #[cfg(feature = "tch")]
        DispatchDevice::LibTorch(device) => format!("{device:?}") == "Cpu",
        #[allow(unreachable_patterns, reason = "other devices exist in other builds only")]
        _ => false,
    };
    let device = device.as_dispatch();
    if let DispatchDevice::Autodiff(inner) = device {
        of_backend(inner)
    } else {
        of_backend(device)
    }
}

/// Lists the devices of this build.
fn built_in() -> String {
    let built = DeviceKind::ALL.into_iter().filter(|kind| kind.missing_feature().is_none());
    built.map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the device that tests run on: that of `PCAE_TEST_DEVICE`, or `flex`.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test switch, never an input of a stage")]
pub(crate) fn test_device() -> DeviceName {
    std::env::var("PCAE_TEST_DEVICE").map_or(DeviceName::default(), |name| name.parse().unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_as_it_is_shown() {
        for name in ["flex", "libtorch", "libtorch-cuda:0", "cuda:11", "wgpu:1"] {
            assert_eq!(name.parse::<DeviceName>().unwrap().to_string(), name);
        }
        assert_eq!("cuda".parse::<DeviceName>().unwrap().to_string(), "cuda:0");
    }

    #[test]
    fn what_is_no_single_device_is_refused() {
        for name in ["gpu", "cuda:0,1", "libtorch-cuda:x", "flex:0", ""] {
            let error = name.parse::<DeviceName>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("unknown device `{name}`: expected `flex`")),
                "{error}"
            );
        }
    }

    #[cfg(not(any(feature = "tch", feature = "cuda", feature = "wgpu")))]
    #[test]
    fn a_device_of_another_build_says_which_are_here_and_how_to_get_it() {
        let message = |name: &str| open(name.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(
            message("libtorch-cuda:0"),
            "this build does not support device `libtorch-cuda`, only `flex`; \
             build with `--features tch`"
        );
        assert!(message("cuda:1").ends_with("build with `--features cuda`"));
        assert!(message("wgpu").ends_with("build with `--features wgpu`"));
    }

    #[cfg(any(feature = "tch", feature = "wgpu"))]
    #[test]
    fn a_device_that_the_machine_lacks_is_refused() {
        assert!(probe(test_device()).is_ok());
        // No machine has a thousand GPUs.
        let kind = if cfg!(feature = "wgpu") { DeviceKind::Wgpu } else { DeviceKind::LibTorchCuda };
        let error = probe(DeviceName { kind, index: 1000 }).unwrap_err();
        let expected = format!("device `{kind}:1000` is not available on this machine (");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }

    #[test]
    fn only_a_training_device_records_gradients() {
        assert!(!open(DeviceName::default()).unwrap().is_autodiff());
        assert!(open_for_training(DeviceName::default()).unwrap().is_autodiff());
        assert_eq!(DeviceKind::Wgpu.family(), "burn-0.22.1/wgpu");
        assert_eq!(DeviceKind::LibTorch.family(), "burn-0.22.1/libtorch/kernels-1");
    }

    #[test]
    fn only_processors_are_read_at_once() {
        let device = test_device();
        assert_eq!(is_processor(&open(device).unwrap()), device.is_processor());
        assert_eq!(is_processor(&open_for_training(device).unwrap()), device.is_processor());
    }
}
