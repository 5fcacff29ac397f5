//! The stage kind [`Geodesic`].

use std::borrow::Cow;

use super::artifacts::TrainSamples;
use super::cost;
use super::report_counts;
use crate::data::SampleSet;
use crate::engine::digest::ContentDigest;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Input, Inputs, Kind, Problem, Producer, Stage, StageRef};
use crate::geometry::{Anchors, Distances, GeodesicSpec, PointSource, Rescale};
use crate::numerics::Points;
use crate::training::TrainError;

/// The file that says which samples the distances are between.
const SAMPLES_DIGEST: &str = "samples.blake3";

/// Returns a digest of the content of samples.
fn samples_digest(samples: &SampleSet) -> String {
    let mut hasher = blake3::Hasher::new();
    samples.feed(&mut |bytes| {
        hasher.update(bytes);
    });
    ContentDigest::of_hash(hasher.finalize()).to_string()
}

/// Checks that distances are between the given samples; distances of a program that doesn't say
/// which samples it read are trusted.
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

/// Settings of a stage of geodesic distances.
pub type Geodesic = GeodesicSpec<StageRef<TrainSamples>>;

impl Stage for Geodesic {
    fn kind(&self) -> Kind {
        Kind { name: "Geodesic", version: 2 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.data.input("data")]
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "distances".to_owned()
    }

    fn problems(&self, _inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let too_few = |anchors: &&Anchors| anchors.count <= self.neighbors;
        let problem = |anchors: &Anchors| Problem {
            field: "anchors",
            message: format!(
                "{} anchors are too few for {} neighbors each",
                anchors.count, self.neighbors
            ),
            help: Some("use more anchors, or fewer `neighbors`".to_owned()),
        };
        self.anchors.iter().filter(too_few).map(problem).collect()
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        let anchors = self.anchors.as_ref().map(|anchors| anchors.count.get());
        cost::shortest_paths(inputs.one("data"), self.neighbors.get(), anchors)
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let samples = context.load(&self.data)?.0;
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
        let distances = Distances::geodesic(&samples, self, &mut report_counts(context, "point"))?;
        if let Some(parts) = distances.parts().filter(|parts| parts.components > 1) {
            let components = parts.components;
            let tied = parts.bridges.iter().filter(|bridge| bridge.equally_short > 1).count();
            context.log(&format!(
                "the graph has {components} connected components, joined at their closest points; \
                 {tied} of {} links could have been another of the same length",
                parts.bridges.len()
            ));
        }
        let scaling = match self.rescale {
            Rescale::UnitMean => "before rescaling, 1 after",
            Rescale::None => "(not rescaled)",
        };
        context.log(&format!("mean distance {:.6} {scaling}", distances.mean_before_scaling()));
        context.store(&distances)?;
        Ok(context.writer().write(SAMPLES_DIGEST, samples_digest(&samples).as_bytes())?)
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (r#"Geodesic(data: "images", neighbors: 15)"#, "0664a2e0");
