//! Losses and codes of the latest steps, which a GPU has not given back yet.
//!
//! Reading them after every step would leave a GPU idle between steps, so those of some steps are read
//! together; on a processor, each step's at once. The record is the same either way.

use burn::tensor::Tensor;

use super::TrainError;
use super::recorder::Recorder;
use crate::device::Readback;
use crate::numerics::Points;

/// The total and the named terms of a step.
pub(super) type Terms = Vec<(&'static str, f64)>;

/// A step that is not in the record yet.
struct Step {
    epoch: usize,
    /// Counted from 1.
    number: usize,
    names: Vec<&'static str>,
    /// Samples and coordinates of the codes.
    codes: [usize; 2],
}

/// The latest steps, until they are in the record.
#[derive(Default)]
pub(super) struct UnreadSteps {
    steps: Vec<Step>,
    values: Readback,
}

impl UnreadSteps {
    /// Adds a step (counted from 1) of an epoch.
    pub(super) fn add(
        &mut self,
        [epoch, number]: [usize; 2],
        terms: Vec<(&'static str, Tensor<1>)>,
        codes: Tensor<2>,
    ) {
        let (names, terms): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
        self.steps.push(Step { epoch, number, names, codes: codes.dims() });
        // One transfer for all terms.
        self.values.push(Tensor::cat(terms, 0));
        self.values.push(codes);
    }

    /// Returns whether it is time to read them.
    pub(super) fn are_due(&self) -> bool {
        self.values.is_due()
    }

    /// Puts the steps into the record, and returns the terms of the last one; losses that are not finite
    /// are refused.
    pub(super) fn read_into(
        &mut self,
        recorder: &mut Recorder,
    ) -> Result<Option<Terms>, TrainError> {
        let values = self.values.take();
        let mut rest = &values[..];
        let mut last = None;
        for Step { epoch, number, names, codes: [batch, width] } in self.steps.drain(..) {
            let (terms, after) = rest.split_at(names.len());
            let (codes, after) = after.split_at(batch * width);
            rest = after;
            let terms: Terms =
                names.into_iter().zip(terms.iter().copied().map(f64::from)).collect();
            check_finite(&terms, epoch, number)?;
            recorder.add_step(epoch, &terms, &Points::from_rows(width, codes.to_vec()));
            last = Some(terms);
        }
        Ok(last)
    }
}

/// Refuses losses that are not finite.
fn check_finite(terms: &Terms, epoch: usize, step: usize) -> Result<(), TrainError> {
    // A named term says more than the total, which is reported only if all terms are finite.
    match terms.iter().rev().find(|(_, value)| !value.is_finite()) {
        Some(&(term, value)) => {
            Err(TrainError::NotFinite { term: term.into(), value, epoch, step })
        }
        None => Ok(()),
    }
}
