//! How much work the stages of a plan are, counted before anything runs.
//!
//! Stages estimate what they will leave and count their own work from what is known of their inputs.

use super::{Plan, PlannedStage};
use crate::engine::stage::StageSet;
use crate::engine::stage::estimate::Work;

/// Returns the work of every stage of a plan, in plan order, as far as stages can count it.
pub fn works<S: StageSet>(plan: &Plan<S>) -> Vec<Option<Work>> {
    let work = |planned: &PlannedStage<S>| {
        let work = planned.stage.as_stage().work(&plan.estimates_behind(planned));
        work.filter(|work| work.0.is_finite())
    };
    plan.stages().iter().map(work).collect()
}
