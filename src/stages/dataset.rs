//! The stage kind [`Dataset`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::AnyFiles;
use super::cost;
use super::samples::{SampleKind, recipe_problems, store_prepared};
use crate::data::{
    Choice, Content, DatasetSpec, Division, Extent, Files, Recipe, SampleForm, Samples, Split, Step,
};
use crate::engine::digest::files_in;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::ArtifactEstimate;
use crate::engine::stage::{Externals, Input, Inputs, Kind, Problem, Producer, Stage, StageRef};

/// Samples of a data set: selected, split and preprocessed.
///
/// ```ron
/// "train-images": Dataset(
///     source: Mnist(),                 // what it is: see below
///     files: "mnist-files",            // where it comes from: a Download (or Command) stage,
///                                      // or `path: "my/folder"` beside the pipeline or in --data
///     select: {"class": Names(["3", "8"])},   // by class, or by factor: Values, Range, Levels
///     split: Train,                    // Train, Validation or Test; everything if left out
///     division: Shares(train: 0.8, validation: 0.1, test: 0.1, seed: 0),   // else the published
///                                      // parts, or 70/15/15 where there are none
///     steps: [Subset(count: 5000, seed: 0), Pad(32)],   // in this order
/// )
/// ```
///
/// The whole set is divided first, then selected from: parts never overlap, whatever each stage
/// selects. To divide a selection instead, select in a `Dataset` and split it in `Preprocess`.
///
/// Sources without files: `Dsprites(Render(size: 64, factors: Lattice))`,
/// `Shapes3d(Render(size: 64, factors: Subset))`,
/// `Manifold(shape: SwissRoll, samples: 2000, seed: 0)`. Published files: `Mnist()`,
/// `FashionMnist()`, `CelebA()`, `Dsprites(Original)`, `Shapes3d(Original)`. Your own:
/// `ImageFolder()` (a folder or a zip file; sub-folders are classes), `Array(content: Vectors)` or
/// `Array(content: Images(layout: Nhw))` (npy, npz), `Table()` (CSV, Parquet).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// The data set.
    pub source: DatasetSpec,
    /// The stage whose files are read, for sources that read files.
    #[serde(default)]
    pub files: Option<StageRef<AnyFiles>>,
    /// The file or folder to read instead of `files`.
    #[serde(default, skip_serializing)]
    pub path: Option<String>,
    /// Which samples to keep, by factor or `class`.
    #[serde(default)]
    pub select: BTreeMap<String, Choice>,
    /// Which part of the set; all of it if left out.
    #[serde(default)]
    pub split: Option<Split>,
    /// How the parts are made; if left out, as published, or 70/15/15 where nothing is published.
    #[serde(default)]
    pub division: Option<Division>,
    /// Preprocessing steps, in this order.
    #[serde(default)]
    pub steps: Vec<Step>,
}

impl Dataset {
    fn recipe(&self) -> Recipe<'_> {
        Recipe {
            select: &self.select,
            split: self.split,
            division: self.division.as_ref(),
            steps: &self.steps,
            broken: self.source.broken(),
            like: None,
        }
    }

    fn files(&self, context: &RunContext) -> Result<Files, StageError> {
        if let Some(stage) = &self.files {
            return Ok(Files::new(context.files_of(stage)?.files().clone()));
        }
        Ok(Files::new(single_files(context.outside_files())?))
    }

    /// Opens files, unless there is too much to read only to count it.
    fn extent_of_files(&self, files: BTreeMap<String, PathBuf>) -> Option<Extent> {
        const MOST_BYTES: u64 = 64 << 20;
        let sizes = files.values().map(|path| fs::metadata(path).map_or(0, |about| about.len()));
        // Images are not read before they are asked for.
        if self.source.content() == Content::Vectors && sizes.sum::<u64>() > MOST_BYTES {
            return None;
        }
        Some(match self.source.open(&Files::new(files)).ok()? {
            Samples::Images(images) => {
                Extent::new(images.catalog().count, SampleForm::Image(images.shape()))
            }
            Samples::Vectors(vectors, _) => {
                let (rows, width) = (vectors.points().rows(), vectors.points().width());
                Extent::new(rows, SampleForm::Vector { width })
            }
        })
    }
}

/// Returns files by name, those of a folder as `folder/file`.
fn single_files<'a>(
    files: impl Iterator<Item = (&'a str, &'a Path)>,
) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for (name, path) in files {
        if path.is_dir() {
            let inner = files_in(path)?.into_iter();
            found.extend(inner.map(|(file, path)| (format!("{name}/{file}"), path)));
        } else {
            found.insert(name.to_owned(), path.to_owned());
        }
    }
    Ok(found)
}

impl Stage for Dataset {
    fn kind(&self) -> Kind {
        Kind { name: "Dataset", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        self.files.iter().map(|files| files.input("files")).collect()
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        let samples = SampleKind { content: self.source.content(), split: self.split };
        samples.after(&self.steps).kind().to_owned()
    }

    fn externals(&self) -> Externals {
        Externals { files: self.path.iter().cloned().collect(), ..Externals::default() }
    }

    fn problems(&self, _inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let problem = |field, message: &str, help: &str| Problem {
            field,
            message: message.to_owned(),
            help: Some(help.to_owned()),
        };
        let mut found = Vec::new();
        match (self.source.reads_files(), &self.files, &self.path) {
            (true, None, None) => found.push(problem(
                "source",
                "this data set is read from files, but none are given",
                "add `files: \"a Download stage\"`, or `path: \"a file or folder\"`",
            )),
            (false, Some(_), _) => found.push(problem(
                "files",
                "this data set is generated and reads no files",
                "delete this line",
            )),
            (false, None, Some(_)) => found.push(problem(
                "path",
                "this data set is generated and reads no files",
                "delete this line",
            )),
            (true, Some(_), Some(_)) => found.push(problem(
                "path",
                "files come either from a stage or from a path",
                "keep `files` or `path`",
            )),
            _ => {}
        }
        if let Some(path) = &self.path
            && Path::new(path).file_name().is_none()
        {
            found.push(problem(
                "path",
                "this path ends in no file name",
                "name a file or a folder",
            ));
        }
        for message in self.source.problems() {
            found.push(Problem { field: "source", message, help: None });
        }
        if self.steps.iter().any(Step::measures) {
            found.push(problem(
                "steps",
                "a measured scale would differ between the splits of a data set",
                "scale in a `Preprocess` stage, with `like` naming the training data",
            ));
        }
        let (content, division) = (Some(self.source.content()), self.division.as_ref());
        found.extend(recipe_problems(content, &self.steps, self.split, division));
        found
    }

    fn estimate(&self, _inputs: &Inputs<'_, ArtifactEstimate>) -> ArtifactEstimate {
        let extent = self.source.extent().map(|extent| extent.after(&self.recipe()));
        extent.map_or_else(ArtifactEstimate::default, |extent| cost::sample_estimate(&extent))
    }

    fn estimate_from_files(&self, files: &BTreeMap<String, PathBuf>) -> Option<ArtifactEstimate> {
        let files = files.iter().map(|(name, path)| (name.as_str(), path.as_path()));
        let extent = self.extent_of_files(single_files(files).ok()?)?;
        Some(cost::sample_estimate(&extent.after(&self.recipe())))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let samples = self.source.open(&self.files(context)?)?;
        store_prepared(context, samples, &self.recipe())
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (
    r"Dataset(
    source: Dsprites(Render(size: 16, supersampling: 8, factors: Continuous(samples: 3000, seed: 0))),
    split: Train,
)",
    "d2bd52c8",
);
