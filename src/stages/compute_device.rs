//! Compute devices that fail: before a stage begins, or while it runs.

use std::any::Any;

use super::AnyStage;
use crate::device::{self, DeviceName};

/// Makes sure that a device works.
pub(super) fn check(name: &str) -> Result<(), String> {
    let name: DeviceName = name.parse().map_err(|error: device::DeviceError| error.to_string())?;
    device::probe(name).map(|_| ()).map_err(|error| error.to_string())
}

/// Says in one line what a panic of a stage on a device means, if that is known.
pub(super) fn explain(stage: &AnyStage, name: &str, panic: &(dyn Any + Send)) -> Option<String> {
    let advice = match stage {
        AnyStage::Train(_) | AnyStage::TrainClassifier(_) | AnyStage::Classify(_) => {
            "lower `batch_size`, or run fewer stages on it (`--device-jobs 1`)"
        }
        _ => "run fewer stages on it (`--device-jobs 1`), or use a device with more memory",
    };
    device::explain_failure(name, panic, advice)
}
