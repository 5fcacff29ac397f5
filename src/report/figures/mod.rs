//! Figures: what a pipeline file declares, the plain data it becomes, and the files drawn.
//!
//! A new kind of picture is one file here plus one variant in [`FigureSpec`] and [`Figure`].
//! Building a figure only computes numbers; drawing only places marks; `paint.rs` alone knows
//! plotters. The same marks give the PNG and the SVG.

pub(super) mod bars;
mod chart;
pub(super) mod code_scatter;
pub(super) mod contact_sheet;
pub(super) mod coordinate_course;
mod curve_legend;
mod curve_panels;
pub(super) mod distance_scatter;
pub(super) mod image_rows;
pub(super) mod interpolation;
mod key;
pub(super) mod learning_curves;
pub(super) mod needed;
mod paint;
mod panel_title;
mod scene;
mod share_axis;
mod spectrum_legend;
mod spectrum_panels;
mod typeface;
mod value_axis;
mod variance_curve_panels;
pub(super) mod variance_curves;
pub(super) mod variance_spectrum;

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::report::axes::{AxisError, quoted};
use crate::report::figures::bars::{Bars, BarsSpec};
use crate::report::figures::code_scatter::{CodeScatter, CodeScatterSpec};
use crate::report::figures::contact_sheet::{ContactSheet, ContactSheetSpec};
use crate::report::figures::coordinate_course::{CoordinateCourse, CoordinateCourseSpec};
use crate::report::figures::distance_scatter::{DistanceScatter, DistanceScatterSpec};
use crate::report::figures::image_rows::{ImageRows, ImageRowsSpec};
use crate::report::figures::interpolation::{Interpolation, InterpolationSpec};
use crate::report::figures::learning_curves::{LearningCurves, LearningCurvesSpec};
use crate::report::figures::scene::Scene;
use crate::report::figures::typeface::Typeface;
use crate::report::figures::variance_curves::{VarianceCurves, VarianceCurvesSpec};
use crate::report::figures::variance_spectrum::{VarianceSpectrum, VarianceSpectrumSpec};
use crate::report::frame::FrameError;
use crate::report::record::RecordError;

/// Says why a figure could not be built or drawn.
#[derive(Debug, Error)]
pub enum FigureError {
    /// The records cannot be joined or averaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// An axis is misnamed, forgotten or used twice.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// A share is not a finite number.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A variance below zero.
    #[error("element {index} of `{field}` in record {record} is {value}, expected at least 0")]
    NegativeVariance {
        /// Name of the value.
        field: String,
        /// Index of the record.
        record: usize,
        /// Zero-based coordinate.
        index: usize,
        /// The refused number.
        value: f64,
    },
    /// Nothing varies, so there are no shares.
    #[error("the variances `{field}` of record {record} sum to zero, so they have no shares")]
    NoVariance {
        /// Name of the value.
        field: String,
        /// Index of the record.
        record: usize,
    },
    /// Runs that are to be averaged have different numbers of coordinates.
    #[error("`{series}` has runs with {first} and with {second} coordinates, expected one number")]
    UnequalLengths {
        /// Label of the series.
        series: String,
        /// Coordinates of its first run.
        first: usize,
        /// Coordinates of the run that differs.
        second: usize,
    },
    /// There is no training to show.
    #[error("there are no trainings to show")]
    NoTrainings,
    /// No training has this column.
    #[error("no training has recorded `{column}`, expected one of {}", quoted(known))]
    UnknownColumn {
        /// The name asked for.
        column: String,
        /// Names of the columns that exist.
        known: Vec<String>,
    },
    /// A column has nothing that can be drawn.
    #[error("no training has {}", match scale {
        Scale::Linear => format!("measured `{column}` in any epoch"),
        Scale::Log => format!("a number above 0 in `{column}`, which a logarithmic scale needs"),
    })]
    EmptyColumn {
        /// Name of the column.
        column: String,
        /// Scale of the vertical axes.
        scale: Scale,
    },
    /// Two trainings have the same labels.
    #[error("trainings {first} and {second} both stand for {labels}")]
    SameTraining {
        /// Index of the earlier one.
        first: usize,
        /// Index of the later one.
        second: usize,
        /// The labels both have.
        labels: String,
    },
    /// A number that a logarithmic scale has no place for.
    #[error("`{field}` of {labels} is {value}, but a logarithmic scale needs a number above 0")]
    NotAboveZero {
        /// Name of the value.
        field: String,
        /// The labels of its records.
        labels: String,
        /// The refused number.
        value: f64,
    },
    /// The embedded font is damaged.
    #[error("the embedded font could not be read")]
    Font,
    /// Drawing or writing failed.
    #[error("the figure could not be drawn")]
    Draw(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl FigureError {
    fn draw(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Draw(Box::new(error))
    }
}

/// Scale of a vertical axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// Equal differences at equal distances; shares from zero to 100 %.
    #[default]
    Linear,
    /// Decades, which shows how small the small numbers are.
    Log,
}

/// A figure as declared in a pipeline file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FigureSpec {
    /// One number per label, with its scatter.
    Bars(BarsSpec),
    /// Two coordinates of codes, colored by what is known of the samples, one panel per model.
    CodeScatter(CodeScatterSpec),
    /// The images themselves.
    ContactSheet(ContactSheetSpec),
    /// What trainings recorded of each coordinate in each epoch, one panel per label.
    CoordinateCourse(CoordinateCourseSpec),
    /// Distances of codes against those along the data, one panel per model.
    DistanceScatter(DistanceScatterSpec),
    /// What models decode on the way from one sample to another, one block per model.
    Interpolation(InterpolationSpec),
    /// What trainings recorded in each epoch, one panel per column.
    LearningCurves(LearningCurvesSpec),
    /// Images and what models decode from their codes, one block per model.
    Reconstructions(ImageRowsSpec),
    /// What models decode while one coordinate after the other varies, one block per model.
    Traversals(ImageRowsSpec),
    /// Share of variance of each latent coordinate, several codes in one panel.
    VarianceCurves(VarianceCurvesSpec),
    /// Share of variance of each latent coordinate, one panel per series.
    VarianceSpectrum(VarianceSpectrumSpec),
}

/// A finished figure: numbers and titles, no pixels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Figure {
    /// One number per label, with its scatter.
    Bars(Bars),
    /// Two coordinates of codes, colored by what is known of the samples, one panel per model.
    CodeScatter(CodeScatter),
    /// The images themselves.
    ContactSheet(ContactSheet),
    /// What trainings recorded of each coordinate in each epoch, one panel per label.
    CoordinateCourse(CoordinateCourse),
    /// Distances of codes against those along the data, one panel per model.
    DistanceScatter(DistanceScatter),
    /// What models decode on the way from one sample to another, one block per model.
    Interpolation(Interpolation),
    /// What trainings recorded in each epoch, one panel per column.
    LearningCurves(LearningCurves),
    /// Images and what models decode from their codes, one block per model.
    Reconstructions(ImageRows),
    /// What models decode while one coordinate after the other varies, one block per model.
    Traversals(ImageRows),
    /// Share of variance of each latent coordinate, several codes in one panel.
    VarianceCurves(VarianceCurves),
    /// Share of variance of each latent coordinate, one panel per series.
    VarianceSpectrum(VarianceSpectrum),
}

impl Figure {
    /// Returns what the figure shows, as plain text.
    pub fn caption(&self) -> &str {
        self.words().0
    }

    /// Returns what the figure is called in the paper.
    pub fn label(&self) -> &str {
        self.words().1
    }

    fn words(&self) -> (&str, &str) {
        match self {
            Self::Bars(figure) => (&figure.caption, &figure.label),
            Self::CodeScatter(figure) => (&figure.caption, &figure.label),
            Self::ContactSheet(figure) => (&figure.caption, &figure.label),
            Self::CoordinateCourse(figure) => (&figure.caption, &figure.label),
            Self::DistanceScatter(figure) => (&figure.caption, &figure.label),
            Self::Interpolation(figure) => (&figure.caption, &figure.label),
            Self::LearningCurves(figure) => (&figure.caption, &figure.label),
            Self::Reconstructions(figure) | Self::Traversals(figure) => {
                (&figure.caption, &figure.label)
            }
            Self::VarianceCurves(figure) => (&figure.caption, &figure.label),
            Self::VarianceSpectrum(figure) => (&figure.caption, &figure.label),
        }
    }

    /// Returns one line on each panel: its title and what it shows in numbers.
    pub fn summaries(&self) -> Vec<String> {
        match self {
            Self::Bars(figure) => figure.summaries(),
            Self::CodeScatter(figure) => figure.summaries(),
            Self::ContactSheet(sheet) => vec![format!("{} images", sheet.tiles.len())],
            Self::CoordinateCourse(figure) => figure.summaries(),
            Self::DistanceScatter(figure) => figure.summaries(),
            Self::Interpolation(figure) => figure.summaries(),
            Self::LearningCurves(figure) => figure.summaries(),
            Self::Reconstructions(figure) | Self::Traversals(figure) => figure.summaries(),
            Self::VarianceCurves(figure) => figure.summaries(),
            Self::VarianceSpectrum(figure) => figure
                .series
                .iter()
                .map(|series| format!("{}: {}", series.title, series.summary(figure.threshold)))
                .collect(),
        }
    }

    /// Draws the figure as an SVG document.
    pub fn svg(&self) -> Result<String, FigureError> {
        paint::svg(&self.scene()?)
    }

    /// Draws the figure as an RGB image at twice its nominal size; `path` must end in `.png`.
    pub fn write_png(&self, path: &Path) -> Result<(), FigureError> {
        paint::write_png(&self.scene()?, path)
    }

    fn scene(&self) -> Result<Scene, FigureError> {
        let typeface = Typeface::embedded().ok_or(FigureError::Font)?;
        Ok(match self {
            Self::Bars(figure) => bars::draw(figure, &typeface),
            Self::CodeScatter(figure) => code_scatter::draw(figure, &typeface),
            Self::ContactSheet(figure) => contact_sheet::draw(figure, &typeface),
            Self::CoordinateCourse(figure) => coordinate_course::draw(figure, &typeface),
            Self::DistanceScatter(figure) => distance_scatter::draw(figure, &typeface),
            Self::Interpolation(figure) => interpolation::draw(figure, &typeface),
            Self::LearningCurves(figure) => curve_panels::draw(figure, &typeface),
            Self::Reconstructions(figure) | Self::Traversals(figure) => {
                image_rows::draw(figure, &typeface)
            }
            Self::VarianceCurves(figure) => variance_curve_panels::draw(figure, &typeface),
            Self::VarianceSpectrum(figure) => spectrum_panels::draw(figure, &typeface),
        })
    }
}
