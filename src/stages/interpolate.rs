//! The stage kind [`Interpolate`].

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::{AnyImages, images_kind};
use super::cost;
use super::relevance::CoordinateScores;
use crate::data::{Annotations, Factors, SampleSet};
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Input, Inputs, Kind, Needs, Problem, Producer, Stage, StageRef};
use crate::evaluation::interpolation::{
    Between, Others, PathPoint, TraversalPoint, Varying, first, highest,
};
use crate::report::{PATH_FACTORS, TRAVERSAL_FACTORS, Values};
use crate::training::TrainedModel;

/// Images that a trained model decodes from codes between those of samples.
///
/// ```ron
/// "midpoints-{model}": Interpolate(
///     model: "train-{model}", data: "test-images",
///     between: Midpoints(count: 10000, seed: 0),       // of random pairs, as RAE measures them
///     coordinates: First(8),                           // ordered codes: the others keep their mean
/// ),
/// "midpoints-relevant-{model}": Interpolate(
///     model: "train-{model}", data: "test-images",
///     between: Midpoints(count: 10000, seed: 0),
///     coordinates: Relevant(k: 8, scores: "relevance-{model}"),   // on the axes that it scored
/// ),
/// "midpoints-prefix-{seed}": Interpolate(
///     model: "train-hae-{seed}", data: "test-images",
///     between: Midpoints(count: 10000, seed: 0),
///     coordinates: First(8), others: Zero,             // as an HAE was trained
/// ),
/// "paths-{model}": Interpolate(
///     model: "train-{model}", data: "test-images",
///     between: Paths(pairs: 5, images: 10, seed: 0),    // or Rows(pairs: [(0, 7)], images: 10)
/// ),
/// "decoded-{model}": Interpolate(
///     model: "train-{model}", data: "test-images",
///     between: Samples(count: 10, seed: 0),             // the codes themselves: reconstructions
/// ),
/// "traversals-{model}": Interpolate(
///     model: "train-{model}", data: "test-images",
///     between: Traversal(images: 9, range: 2.0, around: Mean),   // or Row(7); one at a time
///     coordinates: First(8),
/// )
/// ```
///
/// The result is images of no split, as bytes (rounded, clipped at black and white), which every
/// stage that takes images accepts. Their factors are `path`, `from`, `to` (rows of `data`) and
/// `share` (the position on the path, from 0 to 1); paths include both ends. Those of a traversal
/// are `path`, `coordinate` (from 1, along principal axes the number of the axis) and `deviations`
/// (the offset in standard deviations). Vectors can't be decoded to images: `data` takes images
/// only.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interpolate {
    /// The trained model.
    pub model: StageRef<TrainedModel>,
    /// The images whose codes are interpolated.
    pub data: StageRef<AnyImages>,
    /// Which codes are decoded.
    pub between: Between,
    /// Which coordinates vary.
    #[serde(default)]
    pub coordinates: Coordinates,
    /// What the others become: their mean over the codes of `data`, or zero.
    #[serde(default, skip_serializing_if = "Others::is_mean")]
    #[schemars(!skip_serializing_if)]
    pub others: Others,
}

/// Which coordinates of a code vary.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Coordinates {
    /// All of them.
    #[default]
    All,
    /// The first coordinates, for models that order them.
    First(NonZeroUsize),
    /// The coordinates with the highest scores.
    Relevant {
        /// Number of coordinates.
        k: NonZeroUsize,
        /// A stage whose record has a list `scores`, one for each coordinate. If it is a `Relevance`
        /// with `basis: Principal`, coordinates are those along the principal axes in its record.
        scores: StageRef<Values>,
    },
}

impl Coordinates {
    /// Returns the coordinates that vary, of codes of some width.
    fn varying(&self, context: &RunContext, width: usize) -> Result<Varying, StageError> {
        let own = |coordinates| Varying { coordinates, axes: None };
        match self {
            Self::All => Ok(own((0..width).collect())),
            Self::First(count) => Ok(own(first(count.get(), width)?)),
            Self::Relevant { k, scores: stage } => {
                let found = CoordinateScores::of(&context.load(stage)?);
                let CoordinateScores { scores, axes } =
                    found.ok_or_else(|| no_scores(stage.name()))?;
                Ok(Varying { coordinates: highest(&scores, k.get(), width)?, axes })
            }
        }
    }
}

fn no_scores(stage: &str) -> String {
    format!("the record of `{stage}` has no scores of coordinates")
}

impl Stage for Interpolate {
    fn kind(&self) -> Kind {
        Kind { name: "Interpolate", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![self.model.input("model"), self.data.input("data")];
        if let Coordinates::Relevant { scores, .. } = &self.coordinates {
            inputs.push(scores.input("coordinates.scores"));
        }
        inputs
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        images_kind(None).to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn problems(&self, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut refuse = |field, message: String, help: &str| {
            problems.push(Problem { field, message, help: Some(help.to_owned()) });
        };
        if let Between::Rows { pairs, .. } = &self.between
            && pairs.is_empty()
        {
            let help = "name at least one: `Rows(pairs: [(0, 7)], images: 10)`";
            refuse("between", "there are no pairs to interpolate between".to_owned(), help);
        }
        if let Coordinates::Relevant { scores, .. } = &self.coordinates {
            let known = inputs.one("coordinates.scores").and_then(|made| made.values.as_ref());
            if known.is_some_and(|names| !CoordinateScores::are_among(names)) {
                let help = "name a `Relevance` stage, which scores each coordinate";
                refuse("coordinates", no_scores(scores.name()), help);
            }
        }
        if let (Between::Traversal(_), Others::Zero) = (&self.between, self.others) {
            let message = "a traversal leaves all other coordinates as they are".to_owned();
            refuse("others", message, "delete this line");
        }
        problems
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        cost::application(inputs.one("model"), inputs.one("data"))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let model = context.load(&self.model)?;
        let samples = SampleSet::Images(context.load(&self.data)?.0);
        let device = context.device().parse()?;
        let codes = model.encode(&samples, device)?;
        let varying = self.coordinates.varying(context, codes.width())?;
        let (rows, width) = (codes.rows(), codes.width());
        let (codes, factors) = if let Between::Traversal(traversal) = &self.between {
            let points = traversal.points(&varying);
            (traversal.codes(&points, &codes, &varying)?, traversal_factors(&points))
        } else {
            let places = self.between.places(rows)?;
            (varying.codes_at(&places, &codes, self.others), factors(&places))
        };
        context.log(&format!(
            "{} codes between those of {rows} samples; {} of {width} {} vary",
            codes.rows(),
            varying.coordinates.len(),
            if varying.axes.is_some() { "principal axes" } else { "coordinates" },
        ));
        let known = Annotations { factors, classes: None };
        context.store(&AnyImages(model.decode_images(&codes, known, device)?))
    }
}

/// Returns what is known of interpolated images.
fn factors(places: &[PathPoint]) -> Factors {
    let row = |place: &PathPoint| {
        [place.path as f32, place.from as f32, place.to as f32, place.share as f32]
    };
    Factors {
        names: PATH_FACTORS.map(str::to_owned).into(),
        values: places.iter().flat_map(row).collect(),
    }
}

/// Returns what is known of images on a traversal; each coordinate is a path.
fn traversal_factors(points: &[TraversalPoint]) -> Factors {
    let mut values = Vec::with_capacity(points.len() * TRAVERSAL_FACTORS.len());
    let paths = points.chunk_by(|one, next| one.coordinate == next.coordinate);
    for (path, points) in paths.enumerate() {
        for TraversalPoint { coordinate, deviations } in points {
            values.extend([path as f32, (coordinate + 1) as f32, *deviations as f32]);
        }
    }
    Factors { names: TRAVERSAL_FACTORS.map(str::to_owned).into(), values }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (
    r#"Interpolate(
    model: "train", data: "images", between: Midpoints(count: 10000, seed: 0), coordinates: First(8),
)"#,
    "033acf43",
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::Basis;
    use crate::numerics::Points;
    use crate::stages::test_inputs::{problems_of, producer};

    fn problems(settings: &str, values: Option<&[&str]>) -> Vec<String> {
        let text = format!(r#"(model: "m", data: "d", {settings})"#);
        let stage: Interpolate =
            crate::engine::pipeline::values::dialect().from_str(&text).unwrap();
        let inputs =
            [vec![producer(&[], None)], vec![producer(&[], None)], vec![producer(&[], values)]];
        problems_of(&stage, &inputs)
    }

    #[test]
    fn a_record_without_scores_is_reported_before_anything_runs() {
        let settings = r#"between: Midpoints(count: 3, seed: 0),
            coordinates: Relevant(k: 2, scores: "r")"#;
        assert!(problems(settings, Some(&["dimension", "scores"])).is_empty());
        assert!(problems(settings, None).is_empty(), "what a program leaves is not known");
        assert_eq!(
            problems(settings, Some(&["dimension"])),
            ["coordinates: the record of `r` has no scores of coordinates \
              (name a `Relevance` stage, which scores each coordinate)"]
        );
        assert!(problems(settings, Some(&["axis_scores", "axes"])).is_empty());
        assert_eq!(problems(settings, Some(&["axis_scores"])).len(), 1, "of which axes?");
    }

    #[test]
    fn a_traversal_can_not_set_the_other_coordinates_to_zero() {
        assert_eq!(
            problems("between: Traversal(images: 3), others: Zero", None),
            ["others: a traversal leaves all other coordinates as they are (delete this line)"]
        );
        assert!(problems("between: Midpoints(count: 3, seed: 0), others: Zero", None).is_empty());
    }

    /// What NumPy makes of codes: turned to the principal axes of other codes, coordinates left out,
    /// and turned back.
    #[derive(Deserialize)]
    struct Reference {
        width: usize,
        training_codes: Vec<f32>,
        scores: Vec<f64>,
        codes: Vec<f32>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        between: Between,
        k: usize,
        others: Others,
        principal: bool,
        expected: Vec<f32>,
    }

    #[test]
    fn codes_along_principal_axes_are_those_of_numpy() {
        let text = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/reference/interpolation.json"
        ));
        let reference: Reference = serde_json::from_str(text).unwrap();
        let training = Points::from_rows(reference.width, reference.training_codes);
        let codes = Points::from_rows(reference.width, reference.codes);
        assert!(reference.cases.len() >= 8);
        for case in reference.cases {
            let axes = Basis::Principal.directions(&training).unwrap();
            let varying = Varying {
                coordinates: highest(&reference.scores, case.k, reference.width).unwrap(),
                axes: case.principal.then_some(axes),
            };
            let places = case.between.places(codes.rows()).unwrap();
            let found = varying.codes_at(&places, &codes, case.others);
            assert_eq!(found.values().len(), case.expected.len());
            for (found, expected) in found.values().iter().zip(&case.expected) {
                let close = (found - expected).abs() < 1e-5 * (1.0 + expected.abs());
                assert!(close, "{} of {:?}: {found}, {expected}", case.k, case.others);
            }
        }
    }

    #[test]
    fn missing_pairs_are_reported_before_anything_runs() {
        assert_eq!(
            problems("between: Rows(pairs: [], images: 3)", None),
            ["between: there are no pairs to interpolate between \
              (name at least one: `Rows(pairs: [(0, 7)], images: 10)`)"]
        );
        assert!(problems("between: Rows(pairs: [(0, 7)], images: 3)", None).is_empty());
    }

    #[test]
    fn each_image_says_where_it_lies() {
        let places = [PathPoint { path: 2, from: 5, to: 9, share: 0.25 }];
        let factors = factors(&places);
        assert_eq!(factors.names, ["path", "from", "to", "share"]);
        assert_eq!(factors.row(0), [2.0, 5.0, 9.0, 0.25]);
        let point = |coordinate, deviations| TraversalPoint { coordinate, deviations };
        let factors = traversal_factors(&[point(3, -2.0), point(3, 2.0), point(0, -2.0)]);
        assert_eq!(factors.names, ["path", "coordinate", "deviations"]);
        assert_eq!(factors.values, [0.0, 4.0, -2.0, 0.0, 4.0, 2.0, 1.0, 1.0, -2.0]);
    }
}
