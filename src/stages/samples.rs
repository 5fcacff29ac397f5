//! What the stages that make samples have in common: the kind they leave, and the way to it.

use super::artifacts::{ImageFile, Known, images_kind, vectors_kind, write_vectors};
use super::counter;
use crate::data::{
    Annotations, Content, Division, Prepared, Recipe, Samples, Split, Step, prepare, step_problem,
};
use crate::engine::artifact::ArtifactKind;
use crate::engine::context::{RunContext, StageError};
use crate::engine::events::Progress;
use crate::engine::stage::Problem;

/// The sort of samples that a stage leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sort {
    pub(super) content: Content,
    pub(super) split: Option<Split>,
}

impl Sort {
    /// Returns the sort behind an artifact kind, if it is one of samples.
    pub(super) fn of_kind(kind: &str) -> Option<Self> {
        let contents = [Content::Images, Content::Vectors];
        let splits = [None, Some(Split::Train), Some(Split::Validation), Some(Split::Test)];
        let all = contents
            .into_iter()
            .flat_map(|content| splits.into_iter().map(move |split| Self { content, split }));
        all.into_iter().find(|sort| sort.kind() == kind)
    }

    /// Returns the sort after some steps.
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
pub(super) fn making_problems(
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
            message: "a division says how parts are made, but no part is asked for".to_owned(),
            help: Some("add `split: Train`, or delete this line".to_owned()),
        });
    }
    found
}

/// Makes samples and leaves them as the stage's artifact.
pub(super) fn store(
    context: &mut RunContext,
    samples: Samples,
    recipe: &Recipe<'_>,
) -> Result<(), StageError> {
    let mut images = ImageFile::new(context.writer())?;
    let prepared = prepare(samples, recipe, &mut images, &mut counter(context, "sample"))?;
    match prepared {
        Prepared::Images { shape, count, annotations, partition, skipped } => {
            let partition = partition.as_deref();
            let known = Known { partition, skipped: &skipped, ..Known::only(&annotations) };
            images.finish(context.writer(), known)?;
            tell(context, &format!("{count} images of {shape}"), &annotations, &skipped);
        }
        Prepared::Vectors { vectors, partition, skipped } => {
            write_vectors(context.writer(), &vectors, partition.as_deref(), &skipped)?;
            let points = vectors.points();
            let names = vectors.coordinates();
            let named = if names.is_empty() { "coordinates".to_owned() } else { names.join(", ") };
            let what = format!("{} vectors of {}: {named}", points.rows(), points.width());
            tell(context, &what, vectors.annotations(), &skipped);
        }
    }
    Ok(())
}

fn tell(context: &mut RunContext, what: &str, known: &Annotations, skipped: &[String]) {
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
        context.log(&format!("left out: {line}"));
    }
    if !skipped.is_empty() {
        let count = skipped.len();
        let first = &skipped[0];
        context.progress(Progress {
            message: Some(format!("{count} broken images left out, the first: {first}")),
            ..Progress::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_samples_is_known_by_its_name() {
        let train = Sort { content: Content::Images, split: Some(Split::Train) };
        assert_eq!(Sort::of_kind("train-images"), Some(train));
        assert_eq!(train.after(&[Step::Flatten]).kind(), "train-vectors");
        assert_eq!(Sort::of_kind("vectors").unwrap().kind(), "vectors");
        assert_eq!(Sort::of_kind("record"), None);
    }
}
