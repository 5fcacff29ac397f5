//! Compute devices that fail: before a stage begins, or while it runs.

use std::any::Any;

use super::AnyStage;
use crate::device::{self, DeviceError, DeviceName};
use crate::engine::stage::DeviceProblem;

/// Makes sure that a device works.
pub(super) fn check(name: &str) -> Result<(), DeviceProblem> {
    let probed = name.parse::<DeviceName>().and_then(device::probe);
    probed.map(|_| ()).map_err(|error| match error {
        DeviceError::Full { .. } => DeviceProblem::Full(error.to_string()),
        _ => DeviceProblem::Broken(error.to_string()),
    })
}

/// Says in one line what a panic of a stage on a device means, if that is known.
pub(super) fn explain(stage: &AnyStage, name: &str, panic: &(dyn Any + Send)) -> Option<String> {
    let advice = match stage {
        AnyStage::Train(_) | AnyStage::TrainClassifier(_) | AnyStage::Classify(_) => {
            "lower `batch_size`, or use a device with more"
        }
        _ => "use a device with more, or none beside it",
    };
    device::explain_failure(name, panic, advice)
}
