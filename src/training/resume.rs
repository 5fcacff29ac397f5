//! Tests that a training may be stopped, killed, resumed and made longer without a trace.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::lab::{Lab, models};
use super::{Checkpointing, Fit, Flow, Length, Progress, fit};
use crate::device::test_device;
use crate::models::ModelSpec;

fn checkpointing(folder: &tempfile::TempDir, overhead: f64) -> Checkpointing {
    Checkpointing { folder: folder.path().to_owned(), overhead, keep_every: None }
}

fn epochs(count: usize) -> Length {
    Length::Epochs(NonZeroUsize::new(count).unwrap())
}

/// Trains until an epoch has ended, and dies there without another word.
fn killed(lab: &Lab, keep: &Checkpointing, epoch: usize) {
    let mut observer = |progress: &Progress<'_>| {
        assert!(!(progress.epoch == epoch && progress.epoch_ended), "killed, as planned");
        Flow::Continue
    };
    let run = || fit(&lab.model, &lab.spec, lab.data(), test_device(), Some(keep), &mut observer);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
}

/// Returns the first step that a run takes and the bytes that it ends with.
fn resumed(lab: &Lab, keep: &Checkpointing) -> (usize, (Vec<u8>, String)) {
    let mut from = usize::MAX;
    let mut observer = |progress: &Progress<'_>| {
        from = from.min(progress.resumed_from);
        Flow::Continue
    };
    let (data, device) = (lab.data(), test_device());
    match fit(&lab.model, &lab.spec, data, device, Some(keep), &mut observer).unwrap() {
        Fit::Finished { model, history, .. } => {
            (from, (model.to_files().unwrap().weights, history.to_csv()))
        }
        Fit::Stopped { step } => panic!("stopped at {step}"),
    }
}

#[test]
fn every_model_killed_at_every_epoch_ends_with_the_same_bytes() {
    for (name, model) in models() {
        let lab = Lab::with(model);
        let whole = lab.bytes(None);
        let epochs = whole.1.lines().count() - 1;
        assert!(epochs >= 12);
        let folder = tempfile::tempdir().unwrap();
        let keep = checkpointing(&folder, f64::INFINITY);
        for epoch in 1..=epochs {
            killed(&lab, &keep, epoch);
        }
        let (from, bytes) = resumed(&lab, &keep);
        assert!(from > 0, "{name} went on from a checkpoint");
        assert_eq!(bytes, whole, "{name}");
    }
}

#[test]
fn every_model_can_be_made_longer() {
    for (name, model) in models() {
        let mut long = Lab::with(model);
        let mut short = Lab::with(long.model.clone());
        // What a PCA-AE can have more of is coordinates: each is trained for the whole length.
        if let (ModelSpec::PcaAe(long), ModelSpec::PcaAe(short)) =
            (&mut long.model, &mut short.model)
        {
            (long.latent, short.latent) =
                (NonZeroUsize::new(3).unwrap(), NonZeroUsize::new(2).unwrap());
        } else {
            (long.spec.length, short.spec.length) = (epochs(12), epochs(5));
        }
        let whole = (long.bytes(None), short.bytes(None));
        let folder = tempfile::tempdir().unwrap();
        let keep = checkpointing(&folder, 0.0);
        assert_eq!(resumed(&short, &keep), (0, whole.1.clone()), "{name}");
        let (from, bytes) = resumed(&long, &keep);
        assert!(from > 0, "{name} went on from the shorter run");
        assert_eq!(bytes, whole.0, "{name}");
        // The end of the shorter run was kept, so it is served without a step.
        assert_eq!(resumed(&short, &keep), (usize::MAX, whole.1), "{name}");
    }
}

#[test]
fn a_length_in_the_middle_of_an_epoch_can_be_made_longer_too() {
    let mut lab = Lab::with(models().swap_remove(0).1);
    let steps = |count| Length::Steps(NonZeroUsize::new(count).unwrap());
    lab.spec.length = steps(11);
    let whole = lab.bytes(None);
    let folder = tempfile::tempdir().unwrap();
    let keep = checkpointing(&folder, 0.0);
    lab.spec.length = steps(6);
    lab.bytes(Some(&keep));
    lab.spec.length = steps(11);
    assert_eq!(resumed(&lab, &keep), (6, whole));
}

#[test]
fn an_epoch_between_is_served_if_it_was_kept() {
    let mut lab = Lab::with(models().swap_remove(0).1);
    lab.spec.length = epochs(4);
    let whole = lab.bytes(None);
    let folder = tempfile::tempdir().unwrap();
    let four_epochs = NonZeroUsize::new(16).unwrap();
    let keep = Checkpointing { keep_every: Some(four_epochs), ..checkpointing(&folder, 0.0) };
    lab.spec.length = epochs(10);
    lab.bytes(Some(&keep));
    lab.spec.length = epochs(4);
    assert_eq!(resumed(&lab, &keep), (usize::MAX, whole));
}

#[test]
fn a_stopped_run_goes_on_from_the_very_step() {
    let lab = Lab::new();
    let whole = lab.bytes(None);
    for stop_at in [1, 4, 6, 10] {
        let folder = tempfile::tempdir().unwrap();
        let keep = checkpointing(&folder, 0.0);
        assert!(matches!(lab.run(Some(&keep), stop_at), Fit::Stopped { step } if step == stop_at));
        assert_eq!(resumed(&lab, &keep), (stop_at, whole.clone()));
    }
}
