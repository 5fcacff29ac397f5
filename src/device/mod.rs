//! Device names and the tensor devices they stand for; only this file and the kernels name a backend.
//!
//! `flex` is burn's pure-Rust backend with kernels of our own, and always there; the others exist
//! only in a build with their cargo feature, and on a machine that has them. A device's *family*
//! goes into cache keys, since two backends round differently; its index does not.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::str::FromStr;

use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::kernels;

/// The burn release, as pinned in the manifest; part of every family name.
const BURN: &str = "burn-0.22.1";

/// Says why a device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// No device has this name.
    #[error(
        "unknown device `{name}`: expected `flex`, `libtorch`, `libtorch-cuda:N`, `cuda:N` or \
         `wgpu`"
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
        /// The device.
        name: DeviceName,
        /// The cargo feature that brings it.
        feature: &'static str,
    },
    /// The device is in this build, but not in this machine.
    #[error("device `{name}` is not available on this machine ({reason}); `flex` always is")]
    Unavailable {
        /// The device.
        name: DeviceName,
        /// What the backend says.
        reason: String,
    },
}

/// A device a user may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceName {
    /// `flex`: burn's pure-Rust backend, on the processor.
    #[default]
    Flex,
    /// `libtorch`: libtorch on the processor.
    LibTorch,
    /// `libtorch-cuda:N`: libtorch on the NVIDIA GPU with index N.
    LibTorchCuda(usize),
    /// `cuda:N`: burn's own CUDA backend on the NVIDIA GPU with index N.
    Cuda(usize),
    /// `wgpu`: the best GPU that Vulkan, Metal or DirectX reach.
    Wgpu,
}

impl DeviceName {
    /// Returns whether the device is the processor, whose cores can be shared by several trainings.
    pub const fn is_processor(self) -> bool {
        matches!(self, Self::Flex | Self::LibTorch)
    }
}

impl FromStr for DeviceName {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        let numbered = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
        match name {
            "flex" => Ok(Self::Flex),
            "libtorch" => Ok(Self::LibTorch),
            "wgpu" => Ok(Self::Wgpu),
            _ => numbered("libtorch-cuda:")
                .map(Self::LibTorchCuda)
                .or_else(|| numbered("cuda:").map(Self::Cuda))
                .ok_or_else(|| DeviceError::Unknown { name: name.to_owned() }),
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flex => formatter.write_str("flex"),
            Self::LibTorch => formatter.write_str("libtorch"),
            Self::LibTorchCuda(index) => write!(formatter, "libtorch-cuda:{index}"),
            Self::Cuda(index) => write!(formatter, "cuda:{index}"),
            Self::Wgpu => formatter.write_str("wgpu"),
        }
    }
}

impl Serialize for DeviceName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DeviceName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

/// Opens a device for inference.
pub fn open(name: DeviceName) -> Result<Device, DeviceError> {
    match name {
        DeviceName::Flex => Ok(Device::flex()),
        DeviceName::LibTorch | DeviceName::LibTorchCuda(_) => open_libtorch(name),
        DeviceName::Cuda(index) => open_cuda(name, index),
        DeviceName::Wgpu => open_wgpu(name),
    }
}

/// Opens a device whose tensors record what gradients need.
pub fn open_for_training(name: DeviceName) -> Result<Device, DeviceError> {
    Ok(open(name)?.autodiff())
}

/// Opens a device and computes something on it: only then do backends look for their hardware.
pub fn probe(name: DeviceName) -> Result<Device, DeviceError> {
    let device = open(name)?;
    if name == DeviceName::Flex {
        return Ok(device);
    }
    // A backend without its hardware panics; the message is part of the error, not printed twice.
    let hook = take_hook();
    set_hook(Box::new(|_| ()));
    let sum = catch_unwind(AssertUnwindSafe(|| {
        Tensor::<1>::ones([2], &device).sum().into_scalar::<f32>()
    }));
    set_hook(hook);
    match sum {
        Ok(_) => Ok(device),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            let reason = said.and_then(|text| text.lines().next()).unwrap_or("no reason given");
            Err(DeviceError::Unavailable { name, reason: reason.to_owned() })
        }
    }
}

/// Returns the part of a device's name that changes results, such as `burn-0.22.1/wgpu`.
pub fn family(name: DeviceName) -> String {
    let (backend, has_kernels) = match name {
        DeviceName::Flex => ("flex", true),
        DeviceName::LibTorch => ("libtorch", true),
        DeviceName::LibTorchCuda(_) => ("libtorch-cuda", true),
        DeviceName::Cuda(_) => ("cuda", false),
        DeviceName::Wgpu => ("wgpu", false),
    };
    if has_kernels {
        format!("{BURN}/{backend}/kernels-{}", kernels::VERSION)
    } else {
        format!("{BURN}/{backend}")
    }
}

/// Lists the devices of this build.
fn built_in() -> String {
    let mut names = vec!["`flex`"];
    if cfg!(feature = "tch") {
        names.extend(["`libtorch`", "`libtorch-cuda:N`"]);
    }
    if cfg!(feature = "cuda") {
        names.push("`cuda:N`");
    }
    if cfg!(feature = "wgpu") {
        names.push("`wgpu`");
    }
    names.join(", ")
}

#[cfg(feature = "tch")]
#[expect(deprecated, reason = "libtorch has no successor in burn that reads CUDA without cubecl")]
fn open_libtorch(name: DeviceName) -> Result<Device, DeviceError> {
    Ok(match name {
        DeviceName::LibTorchCuda(index) => Device::libtorch_cuda(index),
        _ => Device::libtorch(),
    })
}

#[cfg(not(feature = "tch"))]
fn open_libtorch(name: DeviceName) -> Result<Device, DeviceError> {
    Err(DeviceError::NotBuilt { name, feature: "tch" })
}

#[cfg(feature = "cuda")]
fn open_cuda(_name: DeviceName, index: usize) -> Result<Device, DeviceError> {
    Ok(Device::cuda(index))
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(name: DeviceName, _index: usize) -> Result<Device, DeviceError> {
    Err(DeviceError::NotBuilt { name, feature: "cuda" })
}

#[cfg(feature = "wgpu")]
fn open_wgpu(_name: DeviceName) -> Result<Device, DeviceError> {
    Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice))
}

#[cfg(not(feature = "wgpu"))]
fn open_wgpu(name: DeviceName) -> Result<Device, DeviceError> {
    Err(DeviceError::NotBuilt { name, feature: "wgpu" })
}

/// Returns the device that tests run on: that of `PCAE_TEST_DEVICE`, or `flex`.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test switch, never an input of a stage")]
pub(crate) fn test_device() -> DeviceName {
    std::env::var("PCAE_TEST_DEVICE").map_or(DeviceName::Flex, |name| name.parse().unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_as_it_is_shown() {
        for name in ["flex", "libtorch", "libtorch-cuda:0", "cuda:11", "wgpu"] {
            assert_eq!(name.parse::<DeviceName>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_valid_ones() {
        for name in ["gpu", "cuda", "libtorch-cuda:x", ""] {
            let error = name.parse::<DeviceName>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "unknown device `{name}`: expected `flex`, `libtorch`, `libtorch-cuda:N`, \
                     `cuda:N` or `wgpu`"
                )
            );
        }
    }

    #[cfg(not(any(feature = "tch", feature = "cuda", feature = "wgpu")))]
    #[test]
    fn a_device_of_another_build_says_which_are_here_and_how_to_get_it() {
        let message = |name: &str| open(name.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(
            message("libtorch-cuda:0"),
            "this build does not support device `libtorch-cuda:0`, only `flex`; \
             build with `--features tch`"
        );
        assert!(message("cuda:1").ends_with("build with `--features cuda`"));
        assert!(message("wgpu").ends_with("build with `--features wgpu`"));
    }

    #[cfg(feature = "tch")]
    #[test]
    fn a_device_that_the_machine_lacks_is_refused() {
        assert!(probe(DeviceName::LibTorch).is_ok());
        // No machine has a thousand GPUs.
        let error = probe(DeviceName::LibTorchCuda(1000)).unwrap_err();
        assert!(error.to_string().starts_with("device `libtorch-cuda:1000` is not available"));
    }

    #[test]
    fn only_a_training_device_records_gradients() {
        assert!(!open(DeviceName::Flex).unwrap().is_autodiff());
        assert!(open_for_training(DeviceName::Flex).unwrap().is_autodiff());
        assert_eq!(family(DeviceName::Wgpu), "burn-0.22.1/wgpu");
        assert_eq!(family(DeviceName::LibTorch), "burn-0.22.1/libtorch/kernels-1");
    }
}
