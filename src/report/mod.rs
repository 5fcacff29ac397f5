//! Tables and figures from measured records.
//!
//! A stage leaves [`Record`]s; a declaration ([`TableSpec`], [`FigureSpec`]) says how to look at
//! them; the result is plain data, rendered separately: tables as LaTeX, Markdown, CSV and for
//! the terminal, figures as PNG and SVG; a [`document::Document`] is all of them as one LaTeX file. Knows nothing of pipelines, caches or models, and keeps
//! polars and plotters types to itself. Equal records always give equal bytes.

mod axes;
mod best;
mod cell;
pub mod csv;
pub mod document;
mod dossier;
mod figures;
mod frame;
mod grid;
mod join;
pub mod latex;
mod latex_text;
#[cfg(test)]
mod layouts;
#[cfg(test)]
mod looks;
pub mod markdown;
mod movement;
mod notes;
pub mod numbers;
pub mod page;
mod record;
mod stored;
mod table;
mod tabulate;
pub mod terminal;
mod verdict;
mod view;

pub use axes::AxisError;
pub use cell::{Cell, rounded};
pub use dossier::{
    Attachment, Badge, BadgeTone, Dossier, FigureFacts, Machine, Making, Note, StageFacts, Status,
    TableFacts, Work,
};
pub use figures::bars::{Bar, BarRow, Bars, BarsSpec};
pub use figures::code_scatter::{CodePoint, CodeScatter, CodeScatterSpec, Coloring, ScatterPanel};
pub use figures::contact_sheet::{ContactSheet, ContactSheetSpec, Pick, Tile, TileSize};
pub use figures::coordinate_course::{CoordinateCourse, CoordinateCourseSpec};
pub use figures::distance_scatter::{
    DistancePanel, DistanceScatter, DistanceScatterSpec, LatentUnit,
};
pub use figures::image_rows::{ImageRow, ImageRows, ImageRowsSpec, RowBlock, Sides};
pub use figures::interpolation::{Block, Interpolation, InterpolationSpec, Pixels, Strip};
pub use figures::learning_curves::{
    Course, Curve, CurvePanel, CurvePoint, LearningCurves, LearningCurvesSpec,
};
pub use figures::needed::Needed;
pub use figures::variance_curves::{
    Show, VarianceCurve, VarianceCurves, VarianceCurvesSpec, VariancePanel,
};
pub use figures::variance_spectrum::{
    Coordinate, Scatter, Series, VarianceSpectrum, VarianceSpectrumSpec,
};
pub use figures::{Figure, FigureError, FigureSpec, Scale};
pub use frame::{FrameError, Spread};
pub use join::JoinError;
pub use movement::{Moved, Movement, Numbers, movements};
pub use record::{
    Labels, Record, RecordError, RecordValue, Values, values_from_json, values_to_json,
};
pub use stored::{StoredCell, StoredError};
pub(crate) use table::five_runs;
pub use table::{
    Best, Comparable, Given, Layout, Margin, Published, Run, Table, TableColumn, TableError,
    TableRow, TableSpec, Titled, ValueSpec,
};
pub use tabulate::tabulate;
pub use verdict::{Judged, Verdict, judge, judge_again};
pub use view::without;
