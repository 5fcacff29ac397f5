//! Figures: what a pipeline file declares, the plain data it becomes, and the files drawn.
//!
//! A new kind of picture is one file here plus one variant in [`FigureSpec`] and [`Figure`].
//! Building a figure only computes numbers; drawing only places marks; `paint.rs` alone knows
//! plotters. The same marks give the PNG and the SVG.

pub(super) mod contact_sheet;
pub(super) mod needed;
mod paint;
mod scene;
mod share_axis;
mod spectrum_legend;
mod spectrum_panels;
mod typeface;
pub(super) mod variance_spectrum;

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::report::axes::AxisError;
use crate::report::figures::contact_sheet::{ContactSheet, ContactSheetSpec};
use crate::report::figures::scene::Scene;
use crate::report::figures::typeface::Typeface;
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

/// A figure as declared in a pipeline file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FigureSpec {
    /// The images themselves.
    ContactSheet(ContactSheetSpec),
    /// Share of variance of each latent coordinate, one panel per series.
    VarianceSpectrum(VarianceSpectrumSpec),
}

/// A finished figure: numbers and titles, no pixels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Figure {
    /// The images themselves.
    ContactSheet(ContactSheet),
    /// Share of variance of each latent coordinate, one panel per series.
    VarianceSpectrum(VarianceSpectrum),
}

impl Figure {
    /// Returns one line on each panel: its title and what it shows in numbers.
    pub fn summaries(&self) -> Vec<String> {
        match self {
            Self::ContactSheet(sheet) => vec![format!("{} images", sheet.tiles.len())],
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
        match self {
            Self::ContactSheet(sheet) => Ok(contact_sheet::draw(sheet, &typeface)),
            Self::VarianceSpectrum(figure) => Ok(spectrum_panels::draw(figure, &typeface)),
        }
    }
}
