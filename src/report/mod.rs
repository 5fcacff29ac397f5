//! Tables and figures from measured records.
//!
//! A stage leaves [`Record`]s; a declaration ([`TableSpec`], [`FigureSpec`]) says how to look at
//! them; the result is plain data, rendered separately: tables as LaTeX, Markdown, CSV and for
//! the terminal, figures as PNG and SVG. Knows nothing of pipelines, caches or models, and keeps
//! polars and plotters types to itself. Equal records always give equal bytes.

mod axes;
mod best;
mod cell;
pub mod csv;
mod dossier;
mod figures;
mod frame;
mod grid;
mod join;
pub mod latex;
pub mod markdown;
pub mod page;
mod record;
mod table;
mod tabulate;
pub mod terminal;

pub use axes::AxisError;
pub use cell::{Cell, rounded};
pub use dossier::{
    Attachment, Dossier, FigureFacts, Machine, Making, Note, StageFacts, Status, TableFacts,
    Verdict, VerdictTone, Work,
};
pub use figures::contact_sheet::{ContactSheet, ContactSheetSpec, Pick, Tile, TileSize};
pub use figures::interpolation::{Block, Interpolation, InterpolationSpec, Pixels, Strip};
pub use figures::learning_curves::{
    Course, Curve, CurvePanel, CurvePoint, LearningCurves, LearningCurvesSpec,
};
pub use figures::needed::Needed;
pub use figures::variance_spectrum::{
    Coordinate, Scatter, Series, VarianceSpectrum, VarianceSpectrumSpec,
};
pub use figures::{Figure, FigureError, FigureSpec, Scale};
pub use frame::{FrameError, Spread};
pub use join::JoinError;
pub use record::{
    Labels, Record, RecordError, RecordValue, Values, values_from_json, values_to_json,
};
pub use table::{
    Best, Published, Table, TableColumn, TableError, TableRow, TableSpec, Titled, ValueSpec,
};
pub use tabulate::tabulate;
