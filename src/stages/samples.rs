//! What the stages that make samples share: the artifact kind, checks, and writing the samples.

use super::artifacts::{ImageFile, SampleMetadata, images_kind, vectors_kind, write_vectors};
use super::report_counts;
use crate::data::{
    Annotations, Content, Division, Prepared, Recipe, Samples, Split, Step, prepare, step_problem,
};
use crate::engine::stage::Problem;
use crate::engine::stage::artifact::ArtifactKind;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::lifecycle::Progress;

/// What the samples of an artifact are: images or vectors, of which split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleKind {
    pub(super) content: Content,
    pub(super) split: Option<Split>,
}

impl SampleKind {
    /// Returns what an artifact kind stands for, if it is one of samples.
    pub(super) fn of_kind(kind: &str) -> Option<Self> {
        let contents = [Content::Images, Content::Vectors];
        let splits = [None, Some(Split::Train), Some(Split::Validation), Some(Split::Test)];
        let all = contents
            .into_iter()
            .flat_map(|content| splits.into_iter().map(move |split| Self { content, split }));
        all.into_iter().find(|samples| samples.kind() == kind)
    }

    /// Returns what the samples are after some steps.
    pub(super) fn after(self, steps: &[Step]) -> Self {
        let content = if steps.contains(&Step::Flatten) { Content::Vectors } else { self.content };
        Self { content, ..self }
    }

    /// Returns the artifact kind.
    pub(super) const fn kind(self) -> ArtifactKind {
        match self.content {
            Content::Images => images_kind(self.split),
            Content::Vectors => vectors_kind(self.split),
        }
    }
}

/// Returns steps and divisions that can't hold, whatever the samples are.
pub(super) fn recipe_problems(
    content: Option<Content>,
    steps: &[Step],
    split: Option<Split>,
    division: Option<&Division>,
) -> Vec<Problem> {
    let plain = |field, message| Problem { field, message, help: None };
    let mut found = Vec::new();
    if let Some(message) = content.and_then(|content| step_problem(content, steps)) {
        found.push(plain("steps", message));
    }
    if let Some(message) = division.and_then(Division::problem) {
        found.push(plain("division", message));
    }
    if division.is_some() && split.is_none() {
        found.push(Problem {
            field: "division",
            message: "`division` says how splits are made, but no `split` is chosen".to_owned(),
            help: Some("add `split: Train`, or delete this line".to_owned()),
        });
    }
    found
}

/// Makes samples and stores them as the stage's artifact.
pub(super) fn store_prepared(
    context: &mut RunContext,
    samples: Samples,
    recipe: &Recipe<'_>,
) -> Result<(), StageError> {
    let mut images = ImageFile::new(context.writer())?;
    let prepared = prepare(samples, recipe, &mut images, &mut report_counts(context, "sample"))?;
    match prepared {
        Prepared::Images { shape, count, annotations, partition, skipped } => {
            let partition = partition.as_deref();
            let known = SampleMetadata {
                partition,
                skipped: &skipped,
                ..SampleMetadata::only(&annotations)
            };
            images.finish(context.writer(), known)?;
            log_samples(context, &format!("{count} images of {shape}"), &annotations, &skipped);
        }
        Prepared::Vectors { vectors, partition, skipped } => {
            write_vectors(context.writer(), &vectors, partition.as_deref(), &skipped)?;
            let points = vectors.points();
            let mut what = format!("{} vectors of length {}", points.rows(), points.width());
            if !vectors.coordinates().is_empty() {
                what = format!("{what}: {}", vectors.coordinates().join(", "));
            }
            log_samples(context, &what, vectors.annotations(), &skipped);
            for note in vectors.notes() {
                context.log(note);
                let message = Some(note.clone());
                context.progress(Progress { message, ..Progress::default() });
            }
        }
    }
    Ok(())
}

fn log_samples(context: &mut RunContext, what: &str, known: &Annotations, skipped: &[String]) {
    context.log(what);
    if !known.factors.names.is_empty() {
        context.log(&format!("factors: {}", known.factors.names.join(", ")));
    }
    if let Some(classes) = &known.classes {
        let counts = classes.counts();
        let each: Vec<_> =
            classes.names.iter().zip(counts).map(|(name, n)| format!("{name} {n}")).collect();
        context.log(&format!("classes: {}", each.join(", ")));
    }
    for line in skipped {
        context.log(&format!("skipped: {line}"));
    }
    if !skipped.is_empty() {
        let first = &skipped[0];
        let message = match skipped.len() {
            1 => format!("skipped an unreadable image: {first}"),
            count => format!("skipped {count} unreadable images, the first: {first}"),
        };
        context.progress(Progress { message: Some(message), ..Progress::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_samples_is_known_by_its_name() {
        let train = SampleKind { content: Content::Images, split: Some(Split::Train) };
        assert_eq!(SampleKind::of_kind("train-images"), Some(train));
        assert_eq!(train.after(&[Step::Flatten]).kind(), "train-vectors");
        assert_eq!(SampleKind::of_kind("vectors").unwrap().kind(), "vectors");
        assert_eq!(SampleKind::of_kind("record"), None);
    }
}
