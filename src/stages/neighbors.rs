//! The stage kind [`Neighbors`].

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cost;
use super::report_counts;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Input, Inputs, Kind, Problem, Producer, Stage, StageRef};
use crate::geometry;
use crate::numerics::{Points, Seed};

/// The nearest neighbors of points among all others, found once for several stages.
///
/// ```ron
/// "neighbors": Neighbors(data: "images", count: 20),
/// // Neighbors of only 6,000 of the images, searched for among all of them.
/// "some-neighbors": Neighbors(data: "images", count: 20, queries: 6000, seed: 0),
/// "dimension": Estimate(points: "images", neighbors: "some-neighbors",
///                       estimator: Mle(neighbors: 20, form: Pope))
/// ```
///
/// Neighbors are exact and Euclidean; images are compared pixel by pixel. A point is not its own
/// neighbor, but its copies are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbors {
    /// The points: images, vectors or codes.
    pub data: StageRef<Points>,
    /// Number of neighbors of each point.
    pub count: NonZeroUsize,
    /// Number of points, chosen at random, whose neighbors are searched for; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<NonZeroUsize>,
    /// Random seed for the choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
}

impl Stage for Neighbors {
    fn kind(&self) -> Kind {
        Kind { name: "Neighbors", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.data.input("data")]
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "neighbors".to_owned()
    }

    fn row_length(&self) -> Option<usize> {
        Some(self.count.get())
    }

    fn problems(&self, _inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let problem = |field, message: &str, help: &str| Problem {
            field,
            message: message.to_owned(),
            help: Some(help.to_owned()),
        };
        match (self.queries, self.seed) {
            (Some(_), None) => vec![problem(
                "queries",
                "some points are chosen at random, but there is no seed",
                "add `seed: 0`",
            )],
            (None, Some(_)) => vec![problem(
                "seed",
                "all points are queried, so nothing is chosen at random",
                "delete this line, or add `queries`",
            )],
            _ => Vec::new(),
        }
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        let queries = self.queries.map(NonZeroUsize::get);
        cost::neighbor_search(inputs.one("data"), queries)
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let points = context.load(&self.data)?;
        let queries = match (self.queries, self.seed) {
            (Some(queries), Some(seed)) => {
                geometry::Neighbors::choose(&points, queries.get(), seed)?
            }
            _ => (0..points.rows()).map(|row| row as u32).collect(),
        };
        context.log(&format!(
            "{} neighbors of {} points among {} with {} coordinates",
            self.count,
            queries.len(),
            points.rows(),
            points.width()
        ));
        let count = self.count.get();
        let found = geometry::Neighbors::of_some(
            &points,
            queries,
            count,
            &mut report_counts(context, "point"),
        )?;
        context.store(&found)
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) =
    (r#"Neighbors(data: "images", count: 20, queries: 100, seed: 0)"#, "40d49ed8");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::test_inputs::problems_of;

    #[test]
    fn a_random_choice_needs_a_seed_and_a_seed_needs_a_choice() {
        let problems = |more: &str| {
            let stage: Neighbors =
                ron::from_str(&format!(r#"(data: "x", count: 5{more})"#)).unwrap();
            problems_of(&stage, &[])
        };
        assert!(problems("").is_empty());
        assert!(problems(", queries: Some(10), seed: Some(0)").is_empty());
        assert_eq!(
            problems(", queries: Some(10)"),
            ["queries: some points are chosen at random, but there is no seed (add `seed: 0`)"]
        );
        assert_eq!(problems(", seed: Some(0)").len(), 1);
    }
}
