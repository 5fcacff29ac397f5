//! Tensors of burn's pure-Rust backend as plain slices.

use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchDevice, Flex, FlexDevice};
use burn::tensor::{Device, TensorData};

pub(super) type FlexTensor = FloatTensor<Flex>;

/// Returns whether tensors on a device are computed with here.
pub(crate) fn is_served(device: &Device) -> bool {
    let is_known = |device: &DispatchDevice| match device {
        DispatchDevice::Flex(_) => true,
        #[cfg(feature = "tch")]
        DispatchDevice::LibTorch(_) => true,
        #[allow(unreachable_patterns, reason = "other devices exist in other builds only")]
        _ => false,
    };
    let device = device.as_dispatch();
    if let DispatchDevice::Autodiff(inner) = device { is_known(inner) } else { is_known(device) }
}

/// Values that one thread takes at a time, where any share would do.
pub(super) const SHARE: usize = 1 << 14;

/// Returns a tensor whose values lie in order, from the start of its memory to the end.
pub(super) fn dense(tensor: FlexTensor) -> FlexTensor {
    let whole = tensor.layout().contiguous_offsets() == Some((0, tensor.storage::<f32>().len()));
    if whole { tensor } else { tensor.to_contiguous() }
}

/// Returns the values of a dense tensor.
pub(super) fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.storage()
}

/// Returns the values of a dense tensor to change; a tensor that others see is copied.
pub(super) fn values_mut(tensor: &mut FlexTensor) -> &mut [f32] {
    tensor.storage_mut()
}

/// Makes a tensor.
pub(super) fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    Flex::float_from_data(TensorData::new(values, shape), &FlexDevice)
}
