//! What operations of burn's pure-Rust backend with backward passes of their own have in common.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::ops::{Backward, NodeGuard, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex};

use super::flex_tensor::FlexTensor;

/// Records an operation that has been computed; `save` makes the state that its backward pass needs,
/// and is called only if there will be one.
pub(super) fn record<C: CheckpointStrategy, O: Backward<Flex, N>, const N: usize>(
    operation: O,
    inputs: [NodeGuard; N],
    output: FlexTensor,
    save: impl FnOnce(&FlexTensor) -> O::State,
) -> FloatTensor<Autodiff<Flex, C>> {
    match operation.prepare::<C>(inputs).compute_bound().stateful() {
        OpsKind::Tracked(prep) => prep.finish(save(&output), output),
        OpsKind::UnTracked(prep) => prep.finish(output),
    }
}

/// Returns the gradient before a ReLU, given the gradient after it and its output; an output that is
/// not a number lets the gradient pass, so that it can be seen.
#[inline(always)]
pub(super) fn relu_gradient(gradient: f32, output: f32) -> f32 {
    if output > 0.0 || output.is_nan() { gradient } else { 0.0 }
}
