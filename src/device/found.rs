//! The devices that are there.

use burn::tensor::Device;
#[cfg(feature = "wgpu")]
use burn::tensor::DeviceKind as AdapterKind;
#[cfg(any(feature = "tch", feature = "cuda", feature = "wgpu"))]
use burn::tensor::DeviceType;

use super::failure::{catch, first_line};
use super::{DeviceError, DeviceKind, DeviceName};

/// Returns the devices of a kind that this machine has.
pub fn enumerate(kind: DeviceKind) -> Result<Vec<DeviceName>, DeviceError> {
    kind.check_built()?;
    let unavailable = |reason| DeviceError::Unavailable { name: kind.to_string(), reason };
    let count = catch(|| count(kind)).map_err(|said| unavailable(first_line(&said)))?;
    Ok((0..count).map(|index| DeviceName { kind, index }).collect())
}

fn count(kind: DeviceKind) -> usize {
    match kind {
        DeviceKind::Flex | DeviceKind::LibTorch => 1,
        #[cfg(feature = "tch")]
        DeviceKind::LibTorchCuda => Device::enumerate(DeviceType::LibTorch).into_vec().len(),
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda => Device::enumerate(DeviceType::Cuda).into_vec().len(),
        #[cfg(feature = "wgpu")]
        DeviceKind::Wgpu => adapters().len(),
        #[allow(
            unreachable_patterns,
            reason = "all kinds exist only in a build with every feature"
        )]
        _ => 0,
    }
}

/// Opens a device of this build.
#[cfg_attr(
    not(feature = "wgpu"),
    expect(clippy::unnecessary_wraps, reason = "the others look for their hardware later")
)]
pub(super) fn open(name: DeviceName) -> Result<Device, DeviceError> {
    match name.kind {
        #[cfg(feature = "tch")]
        #[expect(deprecated, reason = "burn has no other backend on libtorch")]
        DeviceKind::LibTorch => Ok(Device::libtorch()),
        #[cfg(feature = "tch")]
        #[expect(deprecated, reason = "burn has no other backend on libtorch")]
        DeviceKind::LibTorchCuda => Ok(Device::libtorch_cuda(name.index)),
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda => Ok(Device::cuda(name.index)),
        #[cfg(feature = "wgpu")]
        DeviceKind::Wgpu => {
            let adapters = catch(|| adapters().to_vec()).unwrap_or_default();
            adapters.get(name.index).cloned().ok_or_else(|| DeviceError::Unavailable {
                name: name.to_string(),
                reason: match adapters.len() {
                    0 => "neither Vulkan nor Metal nor DirectX has a device here".to_owned(),
                    1 => "there is only `wgpu:0`".to_owned(),
                    count => format!("there are only `wgpu:0` to `wgpu:{}`", count - 1),
                },
            })
        }
        #[allow(
            unreachable_patterns,
            reason = "all kinds exist only in a build with every feature"
        )]
        _ => Ok(Device::flex()),
    }
}

/// Returns the devices that Vulkan, Metal or DirectX reach. A renderer in software is one only where there
/// is nothing else.
#[cfg(feature = "wgpu")]
fn adapters() -> &'static [Device] {
    static FOUND: std::sync::OnceLock<Vec<Device>> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        let all = Device::enumerate(DeviceType::Wgpu).into_vec();
        let software = Device::wgpu(AdapterKind::Cpu);
        if all.iter().all(|device| *device == software) {
            all
        } else {
            all.into_iter().filter(|device| *device != software).collect()
        }
    })
}

/// Returns what its maker calls a device, where that is told; opens it.
pub fn model(name: DeviceName) -> Option<String> {
    #[cfg(any(feature = "cuda", feature = "wgpu"))]
    if matches!(name.kind, DeviceKind::Cuda | DeviceKind::Wgpu) {
        let device = open(name).ok()?;
        return catch(|| device.identity().map(|identity| identity.name)).ok()?;
    }
    let _ = name;
    None
}

/// Returns how many bytes of a device's memory this process uses or keeps for reuse, where that is told.
pub fn reserved_memory(name: DeviceName) -> Option<u64> {
    let device = open(name).ok()?;
    Some(catch(|| device.memory_pool_usage()).ok()??.bytes_reserved)
}
