//! The stage kind [`Geodesic`].

use std::borrow::Cow;

use super::artifacts::TrainSamples;
use super::cost;
use crate::data::SampleSet;
use crate::engine::digest::ContentDigest;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::lifecycle::{PERCENT, Progress};
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
        let phases = Phases::of(self, samples.len(), samples.form().values());
        context.progress(phases.progress(0));
        let mut report = |done, _| context.progress(phases.progress(done));
        let distances = Distances::geodesic(&samples, self, &mut report)?;
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

/// What is done for every point, one thing after the other, and how long each takes beside the others.
struct Phases([Phase; 3]);

struct Phase {
    name: &'static str,
    points: u64,
    work: f64,
}

impl Phases {
    fn of(settings: &Geodesic, points: usize, width: usize) -> Self {
        let anchors = settings.anchors.as_ref().map(|anchors| anchors.count.get().min(points));
        let nodes = anchors.unwrap_or(points);
        let linked = if anchors.is_some() { points } else { 0 };
        let phase = |name, points: usize, per_point: f64| Phase {
            name,
            points: points as u64,
            work: points as f64 * per_point,
        };
        let comparing = cost::comparing(nodes, width);
        Self([
            phase("neighbors", nodes, comparing),
            phase("paths", nodes, cost::visiting(nodes, settings.neighbors.get())),
            phase("links to anchors", linked, comparing),
        ])
    }

    /// Returns how far it is when so many points have been counted.
    fn progress(&self, counted: u64) -> Progress {
        const WHOLE: f64 = 1000.0;
        let Self(phases) = self;
        let (mut counted, mut work, mut note) = (counted, 0.0, String::new());
        for Phase { name, points, work: of_phase } in phases.iter().filter(|phase| phase.points > 0)
        {
            if counted > 0 || note.is_empty() {
                let done = counted.min(*points);
                work += of_phase * done as f64 / *points as f64;
                note = format!("{name} of {done} of {points} points");
                counted -= done;
            }
        }
        let all: f64 = phases.iter().map(|phase| phase.work).sum();
        let done = (WHOLE * work / all) as u64;
        let unit = PERCENT.to_owned();
        Progress { done, total: WHOLE as u64, unit, note, ..Progress::default() }
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (r#"Geodesic(data: "images", neighbors: 15)"#, "0664a2e0");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_share_of_the_work_and_says_what_is_done() {
        let settings: Geodesic = ron::from_str(r#"(data: "x", neighbors: 15)"#).unwrap();
        let phases = Phases::of(&settings, 10_500, 4096);
        let note = |counted| phases.progress(counted).note;
        assert_eq!(phases.progress(0).done, 0);
        assert_eq!(note(0), "neighbors of 0 of 10500 points");
        assert_eq!(note(2048), "neighbors of 2048 of 10500 points");
        assert_eq!(note(10_501), "paths of 1 of 10500 points");
        let searched = phases.progress(10_500).done;
        assert!((700..1000).contains(&searched), "most of the work: {searched}");
        assert_eq!(phases.progress(21_000).done, 1000);
    }

    #[test]
    fn anchors_are_counted_before_the_points_that_they_link() {
        let settings = r#"(data: "x", neighbors: 5, anchors: Some(Anchors(count: 10, seed: 0, link: AsAnchor)))"#;
        let settings: Geodesic = ron::from_str(settings).unwrap();
        let phases = Phases::of(&settings, 90, 2);
        assert_eq!(phases.progress(20).note, "paths of 10 of 10 points");
        assert_eq!(phases.progress(50).note, "links to anchors of 30 of 90 points");
        assert_eq!(phases.progress(110).done, 1000);
    }
}
