//! How much work the stages of a plan are, counted before anything runs.
//!
//! Stages estimate what they will leave and count their own work from what is known of their inputs.

use super::{Plan, PlannedStage, ResolvedInput};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Inputs, StageSet};

impl<S: StageSet> Plan<S> {
    /// Returns the work of every stage, in plan order, as far as stages can count it. Counted once, for
    /// files may be opened for it.
    pub fn works(&self) -> &[Option<Work>] {
        self.works.get_or_init(|| works(self))
    }
}

fn works<S: StageSet>(plan: &Plan<S>) -> Vec<Option<Work>> {
    let mut estimates: Vec<ArtifactEstimate> = Vec::with_capacity(plan.stages().len());
    let mut works = Vec::with_capacity(plan.stages().len());
    for planned in plan.stages() {
        let stage = planned.stage.as_stage();
        let behind = behind(planned, &estimates);
        works.push(stage.work(&behind).filter(|work| work.0.is_finite()));
        let estimate = stage.estimate(&behind);
        let is_known = estimate.rows.is_some() || planned.files.is_empty();
        let from_files = if is_known { None } else { stage.estimate_from_files(&planned.files) };
        estimates.push(from_files.unwrap_or(estimate));
    }
    works
}

fn behind<'a, S>(
    planned: &'a PlannedStage<S>,
    estimates: &'a [ArtifactEstimate],
) -> Inputs<'a, ArtifactEstimate> {
    let behind = |input: &'a ResolvedInput| {
        (input.role.as_str(), input.members.iter().map(|&member| &estimates[member]).collect())
    };
    planned.inputs.iter().map(behind).collect()
}
