//! Figures: what a pipeline file declares, the plain data it becomes, and the files drawn.
//!
//! A new kind of figure is one file in `kinds/` and two lines in `kinds/mod.rs`. Building a figure
//! only computes numbers; drawing only places marks; `drawing/render.rs` alone knows plotters. The
//! same marks give the PNG and the SVG.

mod chart;
mod coordinate_counts;
mod drawing;
mod factors;
mod image_grid;
mod image_rows;
mod kind;
mod kinds;
pub(in crate::report) mod titles;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::data::DataError;
use crate::report::records::aggregate::AggregateError;
use crate::report::records::axis_roles::{AxisError, quoted};
use crate::report::records::record::RecordError;

pub(in crate::report) use drawing::typeface::FAMILY as TYPEFACES;
pub use factors::{PATH_FACTORS, TRAVERSAL_FACTORS};
pub use kind::{FigureChecks, FigureFamily, FigureInputs, FigureMistake, TrainingLog};
pub use kinds::{Figure, FigureSpec};

/// Says why a figure could not be built or drawn.
#[derive(Debug, Error)]
pub enum FigureError {
    /// The records cannot be joined or averaged.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
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
    /// A setting names a series that there is not.
    #[error("no series is `{label}`, expected one of {}", quoted(known))]
    UnknownSeries {
        /// The label.
        label: String,
        /// The labels that there are.
        known: Vec<String>,
    },
    /// There is no training to show.
    #[error("there are no training runs to show")]
    NoTrainings,
    /// No training has this column.
    #[error("no training run recorded `{column}`, expected one of {}", quoted(known))]
    UnknownColumn {
        /// The name asked for.
        column: String,
        /// Names of the columns that exist.
        known: Vec<String>,
    },
    /// A column has nothing that can be drawn.
    #[error("no training run has {}", match scale {
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
    #[error("training runs {first} and {second} both stand for {labels}")]
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
    /// The inputs do not belong together.
    #[error("{0}")]
    Inputs(String),
    /// What is to be shown of samples is not known of them.
    #[error(transparent)]
    Data(#[from] DataError),
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Scale {
    /// Equal differences at equal distances; shares from zero to 100 %.
    #[default]
    Linear,
    /// Decades, which shows how small the small numbers are.
    Log,
}
