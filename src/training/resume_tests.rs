//! Tests that a training may be stopped, killed, resumed and made longer without a trace.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fixture::{Fixture, models, options};
use super::{Checkpointing, Fit, Flow, Length, Progress, fit};
use crate::device::test_device;
use crate::models::ModelSpec;

fn checkpointing(folder: &tempfile::TempDir, overhead: f64) -> Checkpointing {
    let owner = "a training".to_owned();
    Checkpointing { folder: folder.path().to_owned(), owner, overhead, keep_every: None }
}

fn epochs(count: usize) -> Length {
    Length::Epochs(NonZeroUsize::new(count).unwrap())
}

/// Trains until an epoch has ended, and panics there.
fn killed(fixture: &Fixture, keep: &Checkpointing, epoch: usize) {
    let mut observer = |progress: &Progress<'_>| {
        assert!(!(progress.epoch == epoch && progress.epoch_ended), "killed, as planned");
        Flow::Continue
    };
    let run = || {
        fit(&fixture.model, &fixture.spec, fixture.data(), test_device(), Some(keep), &mut observer)
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
}

/// Returns the first step that a run takes and the bytes that it ends with.
fn resumed(fixture: &Fixture, keep: &Checkpointing) -> (usize, (Vec<u8>, String)) {
    let mut from = usize::MAX;
    let mut observer = |progress: &Progress<'_>| {
        from = from.min(progress.resumed_from);
        Flow::Continue
    };
    let (data, device) = (fixture.data(), test_device());
    match fit(&fixture.model, &fixture.spec, data, device, Some(keep), &mut observer).unwrap() {
        Fit::Finished { model, history, .. } => {
            (from, (model.to_files().unwrap().weights, history.to_csv()))
        }
        Fit::Stopped { step } => panic!("stopped at {step}"),
    }
}

#[test]
fn every_model_killed_at_every_epoch_ends_with_the_same_bytes() {
    for (name, model) in models() {
        let fixture = Fixture::with(model);
        let whole = fixture.bytes(None);
        let epochs = whole.1.lines().count() - 1;
        assert!(epochs >= 12);
        let folder = tempfile::tempdir().unwrap();
        let keep = checkpointing(&folder, f64::INFINITY);
        for epoch in 1..=epochs {
            killed(&fixture, &keep, epoch);
        }
        let (from, bytes) = resumed(&fixture, &keep);
        assert!(from > 0, "{name} resumed from a checkpoint");
        assert_eq!(bytes, whole, "{name}");
    }
}

#[test]
fn early_stopping_survives_kills_and_ends_a_stage_not_the_training() {
    for stopping in
        ["(patience: 2, least_gain: 0.5)", "(patience: 1, least_gain: 0.5, cooldown: 2)"]
    {
        for name in ["Ae(latent: 3, ", "PcaAe(latent: 3, "] {
            let model = format!("{name}network: Conv(channels: [4, 6], batch_norm: true))");
            let mut fixture = Fixture::with(options().from_str(&model).unwrap());
            fixture.validates = true;
            fixture.spec.early_stopping = Some(options().from_str(stopping).unwrap());
            let whole = fixture.bytes(None);
            let rows = whole.1.lines().count() - 1;
            let stages = fixture.model.stages();
            assert!(rows >= 3 * stages && rows < 12 * stages, "{name}: {rows} epochs");
            let folder = tempfile::tempdir().unwrap();
            let keep = checkpointing(&folder, f64::INFINITY);
            for epoch in 1..=rows {
                killed(&fixture, &keep, epoch);
            }
            let (from, bytes) = resumed(&fixture, &keep);
            assert!(from > 0 && bytes == whole, "{name}{stopping}");
            let Fit::Finished { model, .. } = fixture.run(None, 0) else { panic!("not finished") };
            let codes = model.encode(&fixture.samples, test_device()).unwrap();
            assert_eq!(codes.width(), 3, "every coordinate is there");
        }
    }
}

#[test]
fn every_model_can_be_made_longer() {
    for (name, model) in models() {
        let mut long = Fixture::with(model);
        let mut short = Fixture::with(long.model.clone());
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
        assert!(from > 0, "{name} resumed from the shorter run");
        assert_eq!(bytes, whole.0, "{name}");
        // The end of the shorter run was kept, so no step is taken.
        assert_eq!(resumed(&short, &keep), (usize::MAX, whole.1), "{name}");
    }
}

#[test]
fn a_length_in_the_middle_of_an_epoch_can_be_made_longer_too() {
    let mut fixture = Fixture::with(models().swap_remove(0).1);
    let steps = |count| Length::Steps(NonZeroUsize::new(count).unwrap());
    fixture.spec.length = steps(11);
    let whole = fixture.bytes(None);
    let folder = tempfile::tempdir().unwrap();
    let keep = checkpointing(&folder, 0.0);
    fixture.spec.length = steps(6);
    fixture.bytes(Some(&keep));
    fixture.spec.length = steps(11);
    assert_eq!(resumed(&fixture, &keep), (6, whole));
}

#[test]
fn a_permanent_checkpoint_in_between_makes_a_shorter_run_free() {
    let mut fixture = Fixture::with(models().swap_remove(0).1);
    fixture.spec.length = epochs(4);
    let whole = fixture.bytes(None);
    let folder = tempfile::tempdir().unwrap();
    let keep = Checkpointing { keep_every: Some(epochs(4)), ..checkpointing(&folder, 0.0) };
    fixture.spec.length = epochs(10);
    fixture.bytes(Some(&keep));
    fixture.spec.length = epochs(4);
    assert_eq!(resumed(&fixture, &keep), (usize::MAX, whole));
}

#[test]
fn a_stopped_run_resumes_at_the_very_step() {
    let fixture = Fixture::new();
    let whole = fixture.bytes(None);
    for stop_at in [1, 4, 6, 10] {
        let folder = tempfile::tempdir().unwrap();
        let keep = checkpointing(&folder, 0.0);
        assert!(
            matches!(fixture.run(Some(&keep), stop_at), Fit::Stopped { step } if step == stop_at)
        );
        assert_eq!(resumed(&fixture, &keep), (stop_at, whole.clone()));
    }
}
