//! Device names and the tensor devices they stand for; the only file that names a backend.
//!
//! `cpu` is burn's pure-Rust backend and always there. The `tch` names run on libtorch and exist
//! only in a build with the cargo feature `tch`. A device's *family* goes into cache keys, since
//! two backends round differently; its index does not.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// The burn release, as pinned in the manifest; part of every family name.
const BURN: &str = "burn-0.22.1";

/// Says why a device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// No device has this name.
    #[error(
        "no device is named `{name}`; known devices are `cpu`, `tch`, `tch:cpu` and `tch:cuda:N`"
    )]
    Unknown {
        /// The name as the user wrote it.
        name: String,
    },
    /// The device exists, but not in this build.
    #[error("device `{name}` is not in this build; rebuild with `--features tch`")]
    NotBuilt {
        /// The name as the user wrote it.
        name: String,
    },
}

/// A device a user may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceName {
    /// `cpu`: burn's pure-Rust backend.
    #[default]
    Cpu,
    /// `tch` or `tch:cpu`: libtorch on the processor.
    TorchCpu,
    /// `tch:cuda:N`: libtorch on the GPU with index N.
    TorchCuda(usize),
}

impl FromStr for DeviceName {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unknown { name: name.to_owned() };
        match name {
            "cpu" => Ok(Self::Cpu),
            "tch" | "tch:cpu" => Ok(Self::TorchCpu),
            _ => {
                let index = name.strip_prefix("tch:cuda:").ok_or_else(unknown)?;
                index.parse().map(Self::TorchCuda).map_err(|_| unknown())
            }
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => formatter.write_str("cpu"),
            Self::TorchCpu => formatter.write_str("tch:cpu"),
            Self::TorchCuda(index) => write!(formatter, "tch:cuda:{index}"),
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
        DeviceName::Cpu => Ok(Device::flex()),
        DeviceName::TorchCpu | DeviceName::TorchCuda(_) => open_torch(name),
    }
}

/// Opens a device whose tensors record what gradients need.
pub fn open_for_training(name: DeviceName) -> Result<Device, DeviceError> {
    Ok(open(name)?.autodiff())
}

/// Returns the part of a device's name that changes results, such as `burn-0.22.1/flex`.
pub fn family(name: DeviceName) -> String {
    let backend = match name {
        DeviceName::Cpu => "flex",
        DeviceName::TorchCpu => "tch",
        DeviceName::TorchCuda(_) => "tch-cuda",
    };
    format!("{BURN}/{backend}")
}

#[cfg(feature = "tch")]
#[expect(deprecated, reason = "libtorch has no successor in burn that reads CUDA without cubecl")]
fn open_torch(name: DeviceName) -> Result<Device, DeviceError> {
    Ok(match name {
        DeviceName::TorchCuda(index) => Device::libtorch_cuda(index),
        DeviceName::Cpu | DeviceName::TorchCpu => Device::libtorch(),
    })
}

#[cfg(not(feature = "tch"))]
fn open_torch(name: DeviceName) -> Result<Device, DeviceError> {
    Err(DeviceError::NotBuilt { name: name.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_as_it_is_shown() {
        for name in ["cpu", "tch:cpu", "tch:cuda:0", "tch:cuda:11"] {
            assert_eq!(name.parse::<DeviceName>().unwrap().to_string(), name);
        }
        assert_eq!("tch".parse(), Ok(DeviceName::TorchCpu));
    }

    #[test]
    fn an_unknown_name_lists_the_valid_ones() {
        for name in ["gpu", "tch:cuda:", "tch:cuda:x", ""] {
            let error = name.parse::<DeviceName>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "no device is named `{name}`; known devices are `cpu`, `tch`, `tch:cpu` and `tch:cuda:N`"
                )
            );
        }
    }

    #[cfg(not(feature = "tch"))]
    #[test]
    fn a_torch_name_without_the_feature_says_how_to_rebuild() {
        let error = open(DeviceName::TorchCuda(0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "device `tch:cuda:0` is not in this build; rebuild with `--features tch`"
        );
    }

    #[test]
    fn only_a_training_device_records_gradients() {
        assert!(!open(DeviceName::Cpu).unwrap().is_autodiff());
        assert!(open_for_training(DeviceName::Cpu).unwrap().is_autodiff());
        assert_eq!(family(DeviceName::Cpu), "burn-0.22.1/flex");
    }
}
