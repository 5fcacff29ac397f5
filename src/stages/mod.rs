//! The stage kinds that a pipeline file may use, and the only code that knows both halves.
//!
//! One file per kind: the settings as the user writes them, and a `run` that loads inputs, calls
//! one function of the science side and stores one artifact. Wiring a kind in means three lines
//! here: `mod`, variant, arm; a fourth puts its documentation into the program.

mod artifacts;
mod calibration;
mod classify;
mod command;
mod dataset;
mod download;
mod encode;
mod estimate;
mod features;
mod figure;
mod frechet;
mod geodesic;
mod interpolate;
mod neighbors;
mod outlooks;
mod preprocess;
mod records;
mod relevance;
mod runtime;
mod samples;
mod score;
mod stopwatch;
mod supplies;
mod table;
mod train;
mod train_classifier;

use serde::{Deserialize, Serialize};

use crate::engine::context::RunContext;
use crate::engine::events::Progress;
use crate::engine::stage::{Stage, StageSet};

pub use artifacts::{AnyImages, AnySamples, TrainImages, TrainSamples, TrainingHistory};
pub use calibration::{measure, rough_rate};
pub use classify::Classify;
pub use command::{AnyFiles, Command};
pub use dataset::Dataset;
pub use download::Download;
pub use encode::Encode;
pub use estimate::Estimate;
pub use features::{FeatureNetwork, Features, InceptionSpec};
pub use figure::Figure;
pub use frechet::Frechet;
pub use geodesic::Geodesic;
pub use interpolate::Interpolate;
pub use neighbors::Neighbors;
pub use preprocess::Preprocess;
pub use relevance::Relevance;
pub use runtime::Runtime;
pub use score::{MetricSpec, Score};
pub use supplies::{MissingFile, missing_files};
pub use table::Table;
pub use train::Train;
pub use train_classifier::TrainClassifier;

/// Every stage kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AnyStage {
    /// Tells classes from codes.
    Classify(Classify),
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
    /// Takes images through a network.
    Features(Features),
    /// Draws a figure.
    Figure(Figure),
    /// Compares generated samples with real ones.
    Frechet(Frechet),
    /// Measures distances along a neighbor graph.
    Geodesic(Geodesic),
    /// Decodes codes between codes.
    Interpolate(Interpolate),
    /// Finds the nearest neighbors of points.
    Neighbors(Neighbors),
    /// Chooses, splits and changes samples.
    Preprocess(Preprocess),
    /// Scores the coordinates of a code.
    Relevance(Relevance),
    /// Tells how long a training took.
    Runtime(Runtime),
    /// Measures a trained model.
    Score(Score),
    /// Makes a table.
    Table(Table),
    /// Trains a model.
    Train(Train),
    /// Trains a classifier of images.
    TrainClassifier(TrainClassifier),
}

/// The source of each kind's file, whose comments are its documentation.
pub const SOURCES: &[(&str, &str)] = &[
    ("Classify", include_str!("classify.rs")),
    ("Command", include_str!("command.rs")),
    ("Dataset", include_str!("dataset.rs")),
    ("Download", include_str!("download.rs")),
    ("Encode", include_str!("encode.rs")),
    ("Estimate", include_str!("estimate.rs")),
    ("Features", include_str!("features.rs")),
    ("Figure", include_str!("figure/mod.rs")),
    ("Frechet", include_str!("frechet.rs")),
    ("Geodesic", include_str!("geodesic.rs")),
    ("Interpolate", include_str!("interpolate.rs")),
    ("Neighbors", include_str!("neighbors.rs")),
    ("Preprocess", include_str!("preprocess.rs")),
    ("Relevance", include_str!("relevance.rs")),
    ("Runtime", include_str!("runtime.rs")),
    ("Score", include_str!("score.rs")),
    ("Table", include_str!("table.rs")),
    ("Train", include_str!("train.rs")),
    ("TrainClassifier", include_str!("train_classifier.rs")),
];

/// The sources of all other settings, whose comments document them.
pub const SETTINGS: &[&str] = &[
    // First, because the names of data sets are also those of their files.
    include_str!("../data/mod.rs"),
    include_str!("../classification/labels.rs"),
    include_str!("../classification/probe.rs"),
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
    include_str!("../dimension/correlation.rs"),
    include_str!("../dimension/local_pca.rs"),
    include_str!("../dimension/mle.rs"),
    include_str!("../dimension/mod.rs"),
    include_str!("../dimension/relevance.rs"),
    include_str!("../dimension/moments.rs"),
    include_str!("../dimension/pca_rules.rs"),
    include_str!("../dimension/spectrum.rs"),
    include_str!("../dimension/two_nn.rs"),
    include_str!("../dimension/variance.rs"),
    include_str!("../download/pin.rs"),
    include_str!("../features/resize.rs"),
    include_str!("../geometry/anchors.rs"),
    include_str!("../geometry/geodesic.rs"),
    include_str!("../interpolation/mod.rs"),
    include_str!("../interpolation/traversal.rs"),
    include_str!("../metrics/kid.rs"),
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
    include_str!("../report/figures/bars.rs"),
    include_str!("../report/figures/code_scatter.rs"),
    include_str!("../report/figures/contact_sheet.rs"),
    include_str!("../report/figures/coordinate_course.rs"),
    include_str!("../report/figures/distance_scatter.rs"),
    include_str!("../report/figures/image_rows.rs"),
    include_str!("../report/figures/interpolation.rs"),
    include_str!("../report/figures/learning_curves.rs"),
    include_str!("../report/figures/mod.rs"),
    include_str!("../report/figures/variance_curves.rs"),
    include_str!("../report/figures/variance_spectrum.rs"),
    include_str!("../report/table.rs"),
    include_str!("../training/adam.rs"),
    include_str!("../training/mod.rs"),
    include_str!("../training/opened.rs"),
    include_str!("../training/schedule.rs"),
    include_str!("../training/stopping.rs"),
    include_str!("interpolate.rs"),
    include_str!("features.rs"),
    include_str!("score.rs"),
];

impl StageSet for AnyStage {
    fn as_stage(&self) -> &dyn Stage {
        match self {
            Self::Classify(stage) => stage,
            Self::Command(stage) => stage,
            Self::Dataset(stage) => stage,
            Self::Download(stage) => stage,
            Self::Encode(stage) => stage,
            Self::Estimate(stage) => stage,
            Self::Features(stage) => stage,
            Self::Figure(stage) => stage,
            Self::Frechet(stage) => stage,
            Self::Geodesic(stage) => stage,
            Self::Interpolate(stage) => stage,
            Self::Neighbors(stage) => stage,
            Self::Preprocess(stage) => stage,
            Self::Relevance(stage) => stage,
            Self::Runtime(stage) => stage,
            Self::Score(stage) => stage,
            Self::Table(stage) => stage,
            Self::Train(stage) => stage,
            Self::TrainClassifier(stage) => stage,
        }
    }
}

/// Returns a callback that passes counts on as progress.
fn counter<'a>(context: &'a mut RunContext, unit: &'a str) -> impl FnMut(u64, u64) + 'a {
    move |done, total| {
        context.progress(Progress { done, total, unit: unit.to_owned(), ..Progress::default() });
    }
}
