//! `Dataset`: samples of a data set, chosen, split and preprocessed.
//!
//! ```ron
//! "train-images": Dataset(
//!     source: Mnist(),                 // what it is: see below
//!     files: "mnist-files",            // where it comes from: a Download (or Command) stage,
//!                                      // or `path: "my/folder"` beside the pipeline or in --data
//!     select: {"class": Names(["3", "8"])},   // by class, or by factor: Values, Range, Levels
//!     split: Train,                    // Train, Validation or Test; left out: everything
//!     division: Shares(train: 0.8, validation: 0.1, test: 0.1, seed: 0),   // else the published
//!                                      // parts, or 70/15/15 where there are none
//!     steps: [Subset(count: 5000, seed: 0), Pad(32)],   // in this order
//! )
//! ```
//!
//! The whole set is divided first, then chosen from: parts never overlap, whatever each stage
//! selects. To divide a selection instead, select in a `Dataset` and split it in `Preprocess`.
//!
//! Sources without files: `Dsprites(Render(size: 64, factors: Lattice))`,
//! `Shapes3d(Render(size: 64, factors: Subset))`,
//! `Manifold(shape: SwissRoll, samples: 2000, seed: 0)`. Published files: `Mnist()`,
//! `FashionMnist()`, `CelebA()`, `Dsprites(Original)`, `Shapes3d(Original)`. Your own:
//! `ImageFolder()` (a folder or a zip; sub-folders are classes), `Array(content: Vectors)` or
//! `Array(content: Images(layout: Nhw))` (npy, npz), `Table()` (csv, parquet).
//! Steps: `First(n)`, `Subset(count, seed)`, `Crop(size)`, `Pad(size)`,
//! `Resize(size, filter: Lanczos)`, `Flatten`, `Scale(By(0.5))`. More of each:
//! `pcae-run explain ImageFolder`, `pcae-run explain Choice`, `pcae-run explain Step`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::command::AnyFiles;
use super::outlooks;
use super::samples::{Sort, making_problems, store};
use crate::data::{Choice, DatasetSpec, Division, Files, Recipe, Split, Step};
use crate::engine::context::{RunContext, StageError};
use crate::engine::cost::Outlook;
use crate::engine::digest::files_in;
use crate::engine::stage::{Externals, Input, Kind, Problem, Producer, Stage, StageRef};

/// Settings of a data set stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Which data.
    pub source: DatasetSpec,
    /// The stage whose files are read, for sources that read files.
    #[serde(default)]
    pub files: Option<StageRef<AnyFiles>>,
    /// The file or folder that is read instead.
    #[serde(default, skip_serializing)]
    pub path: Option<String>,
    /// Which samples of that, by factor or `class`.
    #[serde(default)]
    pub select: BTreeMap<String, Choice>,
    /// Which part of the set; all of it if left out.
    #[serde(default)]
    pub split: Option<Split>,
    /// How the parts are made; as published, or 70/15/15, if left out.
    #[serde(default)]
    pub division: Option<Division>,
    /// What is done to the samples.
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
        let mut found = BTreeMap::new();
        for (name, path) in context.outside_files() {
            if path.is_dir() {
                let inner = files_in(path)?.into_iter();
                found.extend(inner.map(|(file, path)| (format!("{name}/{file}"), path)));
            } else {
                found.insert(name.to_owned(), path.to_owned());
            }
        }
        Ok(Files::new(found))
    }
}

impl Stage for Dataset {
    fn kind(&self) -> Kind {
        Kind { name: "Dataset", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        self.files.iter().map(|files| files.input("files")).collect()
    }

    fn output(&self, _inputs: &[Vec<&str>]) -> String {
        let sort = Sort { content: self.source.content(), split: self.split };
        sort.after(&self.steps).kind().to_owned()
    }

    fn externals(&self) -> Externals {
        Externals { files: self.path.iter().cloned().collect(), ..Externals::default() }
    }

    fn problems(&self, _inputs: &[Vec<Producer>]) -> Vec<Problem> {
        let problem = |field, message: &str, help: &str| Problem {
            field,
            message: message.to_owned(),
            help: Some(help.to_owned()),
        };
        let mut found = Vec::new();
        match (self.source.reads_files(), &self.files, &self.path) {
            (true, None, None) => found.push(problem(
                "source",
                "this data set is read from files, and none are given",
                "add `files: \"a Download stage\"`, or `path: \"a file or folder\"`",
            )),
            (false, Some(_), _) => found.push(problem(
                "files",
                "this data set is made on the spot and reads no files",
                "delete this line",
            )),
            (false, None, Some(_)) => found.push(problem(
                "path",
                "this data set is made on the spot and reads no files",
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
            found.push(problem("path", "this path has no last name", "name a file or a folder"));
        }
        for message in self.source.problems() {
            found.push(Problem { field: "source", message, help: None });
        }
        if self.steps.iter().any(Step::measures) {
            found.push(problem(
                "steps",
                "a scale that is measured would differ between the parts of a set",
                "scale in a `Preprocess` stage, with `like` naming the training data",
            ));
        }
        let (content, division) = (Some(self.source.content()), self.division.as_ref());
        found.extend(making_problems(content, &self.steps, self.split, division));
        found
    }

    fn outlook(&self, _inputs: &[Vec<Outlook>]) -> Outlook {
        let extent = self.source.extent().map(|extent| extent.after(&self.recipe()));
        extent.map_or_else(Outlook::default, |extent| outlooks::of_extent(&extent))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let samples = self.source.open(&self.files(context)?)?;
        store(context, samples, &self.recipe())
    }
}
