//! Parquet files: columns of numbers, texts and truth values are read, others are known by what
//! they hold.
//!
//! Polars is built without most of its types and panics at a column of one of them, so such columns
//! are never handed to it.

use std::fs::File;
use std::sync::Arc;

use polars::prelude::{ArrowDataType, DataFrame, PolarsError};
use polars_io::SerReader;
use polars_io::prelude::ParquetReader;

use super::{COPY, ColumnKind, ReadError, contained, pages};
use crate::numerics::memory;

/// Most rows of a Parquet file that are read; all of them are held in memory.
const MOST_ROWS: u32 = 1 << 28;

/// Bytes of a number in polars' column.
const NUMBER: u64 = 8;

/// Reads a Parquet file once its numbers of rows and values are known to be possible, and to fit
/// into memory: polars takes memory by them. Returns the columns that could be read, and all with
/// what they hold, in the file's order.
pub(super) fn read(mut file: File) -> Result<(DataFrame, Vec<(String, ColumnKind)>), ReadError> {
    let damaged = |reason: String| PolarsError::ComputeError(reason.into());
    let (mut metadata, columns) = contained(|| {
        let mut reader = ParquetReader::new(file.try_clone()?);
        let schema = reader.schema()?;
        let columns = schema.iter().map(|(name, field)| (name.to_string(), kind(field.dtype())));
        Ok((reader.get_metadata()?.clone(), columns.collect::<Vec<_>>()))
    })?;
    let mut is_read: Vec<String> = Vec::new();
    for (name, kind) in &columns {
        if !matches!(kind, ColumnKind::Other(_)) {
            is_read.push(name.clone());
        }
    }
    let needed = contained(|| {
        let mut rows = 0_usize;
        for group in &metadata.row_groups {
            rows = rows.saturating_add(group.num_rows());
        }
        if rows != metadata.num_rows || rows > MOST_ROWS as usize {
            let found = format!("{} rows, {rows} in its groups", metadata.num_rows);
            return Err(damaged(format!("expected at most {MOST_ROWS} rows, found {found}")));
        }
        let mut needed = 0_u64;
        for group in &metadata.row_groups {
            for chunk in group.parquet_columns() {
                let root = chunk.descriptor().path_in_schema.first();
                if !root.is_some_and(|root| is_read.iter().any(|name| name == root.as_str())) {
                    continue;
                }
                let values = chunk.num_values().clamp(0, MOST_ROWS.into());
                let unpacked =
                    pages::check(&mut file, chunk.byte_range(), values).map_err(damaged)?;
                // A short page can stand for many equal values, a long text for one.
                let values = values.unsigned_abs();
                let held = unpacked.max(values * NUMBER) + values * COPY;
                needed = needed.saturating_add(held);
            }
        }
        Ok(needed)
    })?;
    memory::check(needed).map_err(ReadError::TooLarge)?;
    if is_read.is_empty() {
        return Ok((DataFrame::empty(), columns));
    }
    if columns.iter().any(|(_, kind)| *kind == ColumnKind::Category) {
        // Only Arrow's own schema says that a column is one of categories; without it, the file
        // holds the texts or integers that they stand for.
        Arc::make_mut(&mut metadata).key_value_metadata = None;
    }
    let frame = contained(|| {
        let mut reader = ParquetReader::new(file);
        reader.set_metadata(metadata);
        reader.with_columns(Some(is_read)).finish()
    })?;
    Ok((frame, columns))
}

/// Returns what a column of a type holds.
fn kind(dtype: &ArrowDataType) -> ColumnKind {
    use ArrowDataType as Type;
    match dtype {
        Type::Boolean
        | Type::Int8
        | Type::Int16
        | Type::Int32
        | Type::Int64
        | Type::UInt8
        | Type::UInt16
        | Type::UInt32
        | Type::UInt64
        | Type::Float32
        | Type::Float64
        | Type::Utf8
        | Type::LargeUtf8
        | Type::Utf8View => ColumnKind::Plain,
        Type::Dictionary(_, values, _) => match kind(values) {
            ColumnKind::Plain => ColumnKind::Category,
            other => other,
        },
        Type::Extension(extension) => kind(&extension.inner),
        Type::Timestamp(..) | Type::Date32 | Type::Date64 | Type::Time32(_) | Type::Time64(_) => {
            ColumnKind::Other("dates or times")
        }
        Type::Duration(_) | Type::Interval(_) => ColumnKind::Other("durations"),
        Type::Decimal(..) | Type::Decimal32(..) | Type::Decimal64(..) | Type::Decimal256(..) => {
            ColumnKind::Other("decimals, which are not supported: store them as float64")
        }
        Type::Float16 => {
            ColumnKind::Other("16-bit floats, which are not supported: store them as float32")
        }
        Type::Binary | Type::LargeBinary | Type::BinaryView | Type::FixedSizeBinary(_) => {
            ColumnKind::Other("bytes")
        }
        Type::List(_)
        | Type::LargeList(_)
        | Type::FixedSizeList(..)
        | Type::Struct(_)
        | Type::Map(..)
        | Type::Union(_) => ColumnKind::Other("nested values"),
        Type::Null => ColumnKind::Other("empty"),
        _ => ColumnKind::Other("a type that is not supported"),
    }
}
