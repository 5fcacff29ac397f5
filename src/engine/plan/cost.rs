//! How much work the stages of a plan are, counted before anything runs.
//!
//! Stages estimate what they will leave and count their own work; the engine only passes on what is
//! known from each stage to its readers.

use super::{Plan, ResolvedInput};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Inputs, StageSet};

/// Returns the work of every stage of a plan, in plan order, as far as stages can count it.
pub fn works<S: StageSet>(plan: &Plan<S>) -> Vec<Option<Work>> {
    let mut estimates: Vec<ArtifactEstimate> = Vec::with_capacity(plan.stages().len());
    let mut works = Vec::with_capacity(plan.stages().len());
    for planned in plan.stages() {
        let stage = planned.stage.as_stage();
        let behind = |input: &ResolvedInput| {
            input.members.iter().map(|&member| &estimates[member]).collect()
        };
        let inputs = planned.inputs.iter().map(|input| (input.role.as_str(), behind(input)));
        let inputs: Inputs<'_, _> = inputs.collect();
        works.push(stage.work(&inputs).filter(|work| work.0.is_finite()));
        let estimate = stage.estimate(&inputs);
        estimates.push(estimate);
    }
    works
}
