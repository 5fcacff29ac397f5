//! The stage kinds that a pipeline file may use, and the only code that knows both halves.
//!
//! One file per kind: the settings as the user writes them, and a `run` that loads inputs, calls
//! one function of the science side and stores one artifact. Wiring a kind in means three lines
//! here: `mod`, variant, arm; a fourth puts its documentation into the program.

mod artifacts;
mod command;
mod dataset;
mod download;
mod encode;
mod estimate;
mod figure;
mod geodesic;
mod preprocess;
mod records;
mod relevance;
mod samples;
mod score;
mod table;
mod train;

use serde::{Deserialize, Serialize};

use crate::engine::context::RunContext;
use crate::engine::events::Progress;
use crate::engine::stage::{Stage, StageSet};

pub use artifacts::{AnyImages, AnySamples, TrainImages, TrainSamples, TrainingHistory};
pub use command::{AnyFiles, Command};
pub use dataset::Dataset;
pub use download::Download;
pub use encode::Encode;
pub use estimate::Estimate;
pub use figure::Figure;
pub use geodesic::Geodesic;
pub use preprocess::Preprocess;
pub use relevance::Relevance;
pub use score::{MetricSpec, Score};
pub use table::Table;
pub use train::Train;

/// Every stage kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AnyStage {
    /// Runs any program.
    Command(Command),
    /// Makes or loads samples.
    Dataset(Dataset),
    /// Fetches files.
    Download(Download),
    /// Encodes images with a trained model.
    Encode(Encode),
    /// Estimates a dimension.
    Estimate(Estimate),
    /// Draws a figure.
    Figure(Figure),
    /// Measures distances along a neighbor graph.
    Geodesic(Geodesic),
    /// Chooses, splits and changes samples.
    Preprocess(Preprocess),
    /// Scores the coordinates of a code.
    Relevance(Relevance),
    /// Measures a trained model.
    Score(Score),
    /// Makes a table.
    Table(Table),
    /// Trains a model.
    Train(Train),
}

/// The source of each kind's file, whose comments are its documentation.
pub const SOURCES: &[(&str, &str)] = &[
    ("Command", include_str!("command.rs")),
    ("Dataset", include_str!("dataset.rs")),
    ("Download", include_str!("download.rs")),
    ("Encode", include_str!("encode.rs")),
    ("Estimate", include_str!("estimate.rs")),
    ("Figure", include_str!("figure.rs")),
    ("Geodesic", include_str!("geodesic.rs")),
    ("Preprocess", include_str!("preprocess.rs")),
    ("Relevance", include_str!("relevance.rs")),
    ("Score", include_str!("score.rs")),
    ("Table", include_str!("table.rs")),
    ("Train", include_str!("train.rs")),
];

/// The sources of all other settings, whose comments document them.
pub const SETTINGS: &[&str] = &[
    // First, because the names of data sets are also those of their files.
    include_str!("../data/mod.rs"),
    include_str!("../data/annotations.rs"),
    include_str!("../data/arrays/mod.rs"),
    include_str!("../data/celeba.rs"),
    include_str!("../data/dsprites/mod.rs"),
    include_str!("../data/dsprites/render.rs"),
    include_str!("../data/file_set.rs"),
    include_str!("../data/folder.rs"),
    include_str!("../data/manifolds/mod.rs"),
    include_str!("../data/manifolds/revolution.rs"),
    include_str!("../data/manifolds/shape.rs"),
    include_str!("../data/mnist.rs"),
    include_str!("../data/pictures/mod.rs"),
    include_str!("../data/resize.rs"),
    include_str!("../data/rows.rs"),
    include_str!("../data/shapes3d/mod.rs"),
    include_str!("../data/steps.rs"),
    include_str!("../data/tables/mod.rs"),
    include_str!("../dimension/mod.rs"),
    include_str!("../dimension/relevance.rs"),
    include_str!("../dimension/spectrum.rs"),
    include_str!("../dimension/variance.rs"),
    include_str!("../download/pin.rs"),
    include_str!("../geometry/anchors.rs"),
    include_str!("../geometry/geodesic.rs"),
    include_str!("../models/ae.rs"),
    include_str!("../models/ard_vae.rs"),
    include_str!("../models/gamma.rs"),
    include_str!("../models/hae.rs"),
    include_str!("../models/irmae.rs"),
    include_str!("../models/isometry.rs"),
    include_str!("../models/losses.rs"),
    include_str!("../models/mod.rs"),
    include_str!("../models/network.rs"),
    include_str!("../models/pca.rs"),
    include_str!("../models/pca_ae.rs"),
    include_str!("../models/pcae.rs"),
    include_str!("../models/prefixes.rs"),
    include_str!("../models/vae.rs"),
    include_str!("../quality/factors.rs"),
    include_str!("../quality/isometry.rs"),
    include_str!("../quality/smoothness.rs"),
    include_str!("../report/figures/contact_sheet.rs"),
    include_str!("../report/figures/learning_curves.rs"),
    include_str!("../report/figures/mod.rs"),
    include_str!("../report/figures/variance_spectrum.rs"),
    include_str!("../report/table.rs"),
    include_str!("../training/adam.rs"),
    include_str!("../training/mod.rs"),
    include_str!("../training/opened.rs"),
    include_str!("../training/schedule.rs"),
    include_str!("../training/stopping.rs"),
    include_str!("score.rs"),
];

impl StageSet for AnyStage {
    fn as_stage(&self) -> &dyn Stage {
        match self {
            Self::Command(stage) => stage,
            Self::Dataset(stage) => stage,
            Self::Download(stage) => stage,
            Self::Encode(stage) => stage,
            Self::Estimate(stage) => stage,
            Self::Figure(stage) => stage,
            Self::Geodesic(stage) => stage,
            Self::Preprocess(stage) => stage,
            Self::Relevance(stage) => stage,
            Self::Score(stage) => stage,
            Self::Table(stage) => stage,
            Self::Train(stage) => stage,
        }
    }
}

/// Returns a callback that passes counts on as progress.
fn counter<'a>(context: &'a mut RunContext, unit: &'a str) -> impl FnMut(u64, u64) + 'a {
    move |done, total| {
        context.progress(Progress { done, total, unit: unit.to_owned(), ..Progress::default() });
    }
}
