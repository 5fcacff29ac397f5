//! Tensors of burn's pure-Rust backend as plain slices.

use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchDevice, Flex, FlexDevice};
use burn::tensor::{Device, TensorData};

pub(super) type FlexTensor = FloatTensor<Flex>;

/// Returns whether the operations of this folder exist on a device.
pub(crate) fn has_kernel(device: &Device) -> bool {
    let is_supported = |device: &DispatchDevice| match device {
        DispatchDevice::Flex(_) => true,
        #[cfg(feature = "tch")]
        DispatchDevice::LibTorch(_) => true,
        #[allow(unreachable_patterns, reason = "other devices exist in other builds only")]
        _ => false,
    };
    let device = device.as_dispatch();
    if let DispatchDevice::Autodiff(inner) = device {
        is_supported(inner)
    } else {
        is_supported(device)
    }
}

/// Values in one task of an elementwise operation.
pub(super) const CHUNK: usize = 1 << 14;

/// Returns a contiguous tensor that fills its storage.
pub(super) fn contiguous(tensor: FlexTensor) -> FlexTensor {
    let whole = tensor.layout().contiguous_offsets() == Some((0, tensor.storage::<f32>().len()));
    if whole { tensor } else { tensor.to_contiguous() }
}

/// Returns the values of a contiguous tensor.
pub(super) fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.storage()
}

/// Returns the values of a contiguous tensor to change; shared storage is copied.
pub(super) fn values_mut(tensor: &mut FlexTensor) -> &mut [f32] {
    tensor.storage_mut()
}

/// Makes a tensor.
pub(super) fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    Flex::float_from_data(TensorData::new(values, shape), &FlexDevice)
}
