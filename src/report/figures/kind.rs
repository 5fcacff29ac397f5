//! What every kind of figure tells about itself, so that a new one is one file.
//!
//! A declaration ([`FigureKind`]) says what it shows and what it asks of its settings before
//! anything runs; then it is built from [`FigureInputs`]. The result ([`FinishedFigure`]) is numbers
//! and titles, which can be drawn at any time.

use std::collections::BTreeMap;

use crate::data::{Images, SampleSet};
use crate::geometry::Distances;
use crate::numerics::Points;
use crate::report::figures::FigureError;
use crate::report::figures::drawing::Drawing;
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::records::record::{Labels, Record};

/// What one training recorded: a table with a row for each epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingLog {
    /// The axis labels of the training.
    pub labels: Labels,
    /// Names of the columns, `epoch` among them.
    pub columns: Vec<String>,
    /// One row for each epoch; what was not measured is not a number.
    pub rows: Vec<Vec<f64>>,
}

/// What figures are made of; each kind takes what it shows.
#[derive(Clone, Debug, Default)]
pub struct FigureInputs {
    /// Measured values.
    pub records: Vec<Record>,
    /// Images of a data set.
    pub images: Option<Images>,
    /// What trainings recorded.
    pub trainings: Vec<TrainingLog>,
    /// Decoded images, with the labels by which their models differ.
    pub paths: Vec<(Labels, Images)>,
    /// Codes, with the labels by which their models differ.
    pub codes: Vec<(Labels, Points)>,
    /// The samples that the codes are of.
    pub samples: Option<SampleSet>,
    /// Distances between the samples that the codes are of.
    pub distances: Option<Distances>,
}

/// The families of inputs that a figure shows under their labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureFamily {
    /// Measured values.
    Records,
    /// Trained models.
    Models,
    /// Decoded images.
    Paths,
    /// Codes of samples.
    Codes,
}

/// A mistake in a setting, or an input that is lacking, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureMistake {
    /// The setting.
    pub setting: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// What a figure asks of its inputs and settings, to be checked before anything runs.
#[derive(Clone, Debug)]
pub struct FigureChecks<'a> {
    /// What is shown; no two members of it may have the same labels.
    pub family: FigureFamily,
    /// Display names of axes and labels.
    pub titles: &'a BTreeMap<String, String>,
    /// Other names that may have a title; whether they exist is known only after a run.
    pub other_titles: &'a [String],
    /// What is wrong whatever the inputs are.
    pub mistakes: Vec<FigureMistake>,
    /// A setting that names a value of the records, and that value.
    pub value: Option<(&'static str, &'a str)>,
    /// Settings that give axes a role, each with its axes; none if axes need no role.
    pub roles: Vec<(&'static str, &'a [String])>,
}

impl<'a> FigureChecks<'a> {
    /// Returns the checks of a figure that shows each member of a family under its labels.
    pub(crate) const fn labeled(
        family: FigureFamily,
        titles: &'a BTreeMap<String, String>,
    ) -> Self {
        Self {
            family,
            titles,
            other_titles: &[],
            mistakes: Vec::new(),
            value: None,
            roles: Vec::new(),
        }
    }
}

/// A kind of figure, as a pipeline file declares it.
pub trait FigureKind {
    /// The figure that it becomes.
    type Finished;

    /// What it shows, as the first half of a sentence: `bars show records`.
    const SHOWS: &'static str;

    /// The settings of a figure stage that name what it shows.
    const INPUTS: &'static [&'static str];

    /// Returns what to check before anything runs; nothing if its inputs have no labels.
    fn checks(&self) -> Option<FigureChecks<'_>>;

    /// Returns what is wrong about single inputs, given which settings name any.
    fn wrong_inputs(&self, is_given: &dyn Fn(&str) -> bool) -> Option<FigureMistake> {
        let _ = is_given;
        None
    }

    /// Builds the figure.
    fn finish(&self, inputs: &FigureInputs) -> Result<Self::Finished, FigureError>;
}

/// A finished figure.
pub(crate) trait FinishedFigure {
    /// Returns one line on each panel: its title and what it shows in numbers.
    fn summaries(&self) -> Vec<String>;

    /// Places all marks.
    fn draw(&self, typeface: &Typeface) -> Drawing;
}
