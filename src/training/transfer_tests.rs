//! Tests of how often a training step and an application go to the device and back.

use std::num::NonZeroUsize;

use super::fixture::{Fixture, models};
use super::{Fit, Flow, Length, Progress, fit};
use crate::device::{Transfers, test_device, transfers};
use crate::models::ModelSpec;

/// Returns the transfers between the second and the last step of an epoch, and how many steps that is.
fn within_an_epoch(mut model: ModelSpec) -> (Transfers, u64) {
    if let ModelSpec::PcaAe(spec) = &mut model {
        spec.latent = NonZeroUsize::MIN;
    }
    let mut fixture = Fixture::with(model);
    fixture.spec.batch_size = NonZeroUsize::MIN;
    fixture.spec.length = Length::Epochs(NonZeroUsize::MIN);
    let (mut first, mut last, mut steps) = (None, Transfers::default(), 0);
    let mut observer = |progress: &Progress<'_>| {
        if progress.step == 2 {
            first = Some(transfers());
        } else if first.is_some() && !progress.epoch_ended {
            (last, steps) = (transfers(), progress.step as u64 - 2);
        }
        Flow::Continue
    };
    fit(&fixture.model, &fixture.spec, fixture.data(), test_device(), None, &mut observer).unwrap();
    let first: Transfers = first.unwrap();
    (Transfers { sent: last.sent - first.sent, read: last.read - first.read }, steps)
}

#[test]
fn a_step_sends_its_batch_once_and_a_gpu_is_not_read_in_every_step() {
    for (name, model) in models() {
        // Batches and what goes with them: distances and weights of the variances; noise and a prior's
        // two rows; masks; earlier codes.
        let sent = match &model {
            ModelSpec::Pcae(_) => 3,
            ModelSpec::ArdVae(_) | ModelSpec::Vae(_) => 4,
            ModelSpec::Hae(_) => 2,
            _ => 1,
        };
        // PCAE looks at all codes now and then, to update those weights: one more transfer each way.
        let updates = if matches!(model, ModelSpec::Pcae(_)) { 4 } else { 1 };
        let (transfers, steps) = within_an_epoch(model);
        assert!(steps >= 30, "{name}: {steps}");
        let extra = steps.div_ceil(updates);
        assert!(transfers.sent >= steps, "{name}: {transfers:?}");
        assert!(transfers.sent <= sent * steps + extra, "{name}: {transfers:?} in {steps} steps");
        let reads = if test_device().is_processor() { 2 * steps } else { steps.div_ceil(16) + 1 };
        assert!(transfers.read <= reads + extra, "{name}: {transfers:?} in {steps} steps");
    }
}

#[test]
fn samples_are_encoded_in_one_read_and_sent_once() {
    let fixture = Fixture::new();
    let Fit::Finished { model, .. } = fixture.run(None, 0) else { panic!("not finished") };
    let model = model.load(test_device()).unwrap();
    let before = transfers();
    model.encode(&fixture.samples).unwrap();
    let after = transfers();
    assert_eq!((after.sent - before.sent, after.read - before.read), (1, 1));
}
