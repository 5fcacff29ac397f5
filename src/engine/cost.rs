//! How much work stages are, counted before anything runs.
//!
//! Stages tell what they will leave ([`Outlook`]) and count their own work ([`Work`]); the engine
//! only passes on what is known from each stage to its readers.

use super::plan::Plan;
use super::stage::StageSet;

/// What is known of an artifact before it is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// Its number of rows, such as images; none if that is not known.
    pub rows: Option<usize>,
    /// The sizes of one row, such as channels, height and width; empty if they are not known.
    pub shape: Vec<usize>,
    /// The work of applying it to one row, if it is something to be applied, such as a model.
    pub application: Work,
}

impl Outlook {
    /// Returns the number of values in one row; none if that is not known.
    pub fn width(&self) -> Option<usize> {
        (!self.shape.is_empty()).then(|| self.shape.iter().product())
    }
}

/// An amount of work: counted floating-point operations, or as much time as these would take.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Work(pub f64);

impl Work {
    /// Returns this work done some number of times.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self(self.0 * count)
    }
}

/// Returns the work of every stage of a plan, in plan order, as far as stages can count it.
pub fn works<S: StageSet>(plan: &Plan<S>) -> Vec<Option<Work>> {
    let mut outlooks: Vec<Outlook> = Vec::with_capacity(plan.stages().len());
    let mut works = Vec::with_capacity(plan.stages().len());
    for planned in plan.stages() {
        let stage = planned.stage.as_stage();
        let inputs: Vec<Vec<_>> = planned
            .inputs
            .iter()
            .map(|input| input.members.iter().map(|&member| outlooks[member].clone()).collect())
            .collect();
        works.push(stage.work(&inputs).filter(|work| work.0.is_finite()));
        outlooks.push(stage.outlook(&inputs));
    }
    works
}
