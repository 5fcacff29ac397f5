//! Tables and figures from measured records.
//!
//! A stage leaves [`Record`]s; a declaration ([`TableSpec`], [`FigureSpec`]) says what to show of
//! them; the result is plain data, rendered separately: tables as LaTeX, Markdown, CSV and for the
//! terminal, figures as PNG and SVG. A [`page`] or a [`document::Document`] is all of them in one
//! file. Knows nothing of pipelines, caches or models, and keeps polars and plotters types to
//! itself. Equal records always give equal bytes.

pub mod bundle;
mod comparison;
pub mod conclusion;
mod content;
pub mod document;
mod figures;
pub mod folder;
mod latex_text;
mod markup_text;
pub mod page;
mod records;
mod tables;
mod tidy;

pub use comparison::cell_changes::{CellChange, Change, Numbers, cell_changes};
pub use comparison::verdict::{Judged, Verdict, judge, judge_again};
pub use conclusion::Conclusion;
pub use content::{
    Attachment, Badge, BadgeTone, ConclusionFacts, FigureFacts, Machine, MachineUsage, Note,
    ReportContent, RunInfo, StageFacts, Status, TableFacts,
};
pub use figures::{
    Figure, FigureChecks, FigureError, FigureFamily, FigureInputs, FigureMistake, FigureSpec,
    PATH_FACTORS, Scale, TRAVERSAL_FACTORS, TrainingLog,
};
pub use records::aggregate::{AggregateError, Spread};
pub use records::axis_roles::AxisError;
pub(crate) use records::axis_roles::quoted;
pub use records::joined_rows::JoinError;
pub use records::record::{
    Labels, Record, RecordError, RecordValue, Values, values_from_json, values_to_json,
};
pub use tables::cell::{Cell, measured_number, published_number, rounded};
pub use tables::csv_reader::{StoredCell, StoredError};
pub use tables::marks::{Rank, Unjudged};
pub use tables::selection::labels_without;
pub use tables::table::{
    Best, Collapsed, Given, Layout, Margin, Published, Range, Run, Table, TableColumn, TableError,
    TableRow, TableSpec, Titled, ValueSpec,
};
pub use tables::tabulate::tabulate;
pub use tables::{csv, latex, latex_macros, markdown, terminal};
pub use tidy::{TidyFormat, TidyRun, TidyTable};
