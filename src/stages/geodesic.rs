//! `Geodesic`: distances along the neighbor graph of training samples.
//!
//! ```ron
//! "distances": Geodesic(data: "train-images", neighbors: 15),
//! "many-distances": Geodesic(
//!     data: "train-images", neighbors: 15,
//!     // The graph is built on 5,000 of the images; each other one is linked with the nearest.
//!     anchors: Anchors(count: 5000, seed: 0, link: AsAnchor),
//! )
//! ```
//!
//! Without anchors the table holds all pairs, 4 bytes each: 10,000 samples take 400 MB. A graph in
//! separate parts is joined at the closest points of every two; the log says so.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::artifacts::TrainSamples;
use super::counter;
use super::outlooks;
use crate::data::SampleSet;
use crate::engine::context::{RunContext, StageError};
use crate::engine::cost::{Outlook, Work};
use crate::engine::digest::ContentDigest;
use crate::engine::stage::{Input, Kind, Problem, Producer, Stage, StageRef};
use crate::geometry::{Anchors, Distances, GeodesicSpec, PointSource, Rescale};
use crate::numerics::Points;
use crate::training::TrainError;

/// The file that says which samples the distances are between.
const SAMPLES_DIGEST: &str = "samples.blake3";

/// Returns what tells a set of samples from any other.
fn samples_digest(samples: &SampleSet) -> String {
    let mut hasher = blake3::Hasher::new();
    samples.feed(&mut |bytes| {
        hasher.update(bytes);
    });
    ContentDigest::of_hash(hasher.finalize()).to_string()
}

/// Makes sure that distances are between the very samples given; distances of a program that
/// doesn't say which samples it took are trusted.
pub(super) fn check_samples(
    context: &RunContext,
    distances: &StageRef<Distances>,
    samples: &SampleSet,
) -> Result<(), StageError> {
    match context.files_of(distances)?.read(SAMPLES_DIGEST) {
        Ok(of) if of != samples_digest(samples).as_bytes() => Err(TrainError::OtherSamples.into()),
        _ => Ok(()),
    }
}

impl PointSource for SampleSet {
    fn count(&self) -> usize {
        self.len()
    }

    fn width(&self) -> usize {
        self.form().values()
    }

    fn coordinates(&self, indices: &[usize]) -> Vec<f32> {
        self.batch(indices)
    }

    fn all(&self) -> Cow<'_, Points> {
        match self {
            Self::Images(images) => Cow::Owned(images.to_points()),
            Self::Vectors(vectors) => Cow::Borrowed(vectors.points()),
        }
    }
}

/// Settings of a geodesic stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geodesic {
    /// The samples: images, compared pixel by pixel, or vectors.
    pub data: StageRef<TrainSamples>,
    /// Neighbors of each sample in the graph.
    pub neighbors: NonZeroUsize,
    /// What distances are divided by.
    #[serde(default)]
    pub rescale: Rescale,
    /// The samples that make the graph, if there are too many for all to do so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchors: Option<Anchors>,
}

impl Stage for Geodesic {
    fn kind(&self) -> Kind {
        Kind { name: "Geodesic", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.data.input("data")]
    }

    fn output(&self, _inputs: &[Vec<&str>]) -> String {
        "distances".to_owned()
    }

    fn problems(&self, _inputs: &[Vec<Producer>]) -> Vec<Problem> {
        let too_few = |anchors: &&Anchors| anchors.count <= self.neighbors;
        let problem = |anchors: &Anchors| Problem {
            field: "anchors",
            message: format!(
                "{} anchors can't have {} neighbors each among themselves",
                anchors.count, self.neighbors
            ),
            help: Some("use more anchors, or fewer `neighbors`".to_owned()),
        };
        self.anchors.iter().filter(too_few).map(problem).collect()
    }

    fn work(&self, inputs: &[Vec<Outlook>]) -> Option<Work> {
        let anchors = self.anchors.as_ref().map(|anchors| anchors.count.get());
        outlooks::shortest_ways(outlooks::of_input(inputs, 0), self.neighbors.get(), anchors)
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let samples = context.load(&self.data)?.0;
        let spec = GeodesicSpec {
            neighbors: self.neighbors,
            rescale: self.rescale,
            anchors: self.anchors.clone(),
        };
        let graph = match &self.anchors {
            Some(anchors) => format!("{} of them anchors with ", anchors.count),
            None => String::new(),
        };
        context.log(&format!(
            "{} points with {} coordinates, {graph}{} neighbors each",
            samples.len(),
            samples.form().values(),
            self.neighbors
        ));
        let distances = Distances::geodesic(&samples, &spec, &mut counter(context, "point"))?;
        if let Some(parts) = distances.components().filter(|parts| *parts > 1) {
            let line =
                format!("the graph has {parts} separate parts; joined at their closest points");
            context.log(&line);
        }
        let scaling = match self.rescale {
            Rescale::UnitMean => "before scaling, 1 after it",
            Rescale::None => "and no scaling",
        };
        context.log(&format!("mean distance {:.6} {scaling}", distances.mean_before_scaling()));
        context.store(&distances)?;
        Ok(context.writer().write(SAMPLES_DIGEST, samples_digest(&samples).as_bytes())?)
    }
}
