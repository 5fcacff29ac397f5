//! CSV files, whose cells are all read as text.

use std::fs::File;
use std::io::{self, Read, Seek};

use polars::prelude::DataFrame;
use polars_io::SerReader;
use polars_io::prelude::{CsvParseOptions, CsvReadOptions};

use super::{COPY, ReadError, contained};
use crate::data::DataError;
use crate::numerics::memory;

/// Bytes of a text in polars' column, where it is short.
const TEXT: u64 = 16;

/// Reads all cells as text.
pub(super) fn read(
    mut file: File,
    separator: char,
) -> Result<Result<DataFrame, ReadError>, DataError> {
    let Some(separator) = u8::try_from(separator).ok().filter(u8::is_ascii) else {
        let reason = format!("the separator must be one ASCII character, not `{separator}`");
        return Err(DataError::Unfit(reason));
    };
    if let Err(error) = check(&mut file, separator) {
        return Ok(Err(error));
    }
    let options = CsvReadOptions::default()
        .with_infer_schema_length(Some(0))
        .with_parse_options(CsvParseOptions::default().with_separator(separator));
    Ok(contained(|| options.into_reader_with_file_handle(file).finish()).map_err(ReadError::from))
}

/// Makes sure that there is memory for all cells; they are counted only where that can matter.
fn check(file: &mut File, separator: u8) -> Result<(), ReadError> {
    let failed = |cause: io::Error| cause.to_string();
    let length = file.metadata().map_err(failed)?.len();
    let taken = |cells: u64| length.saturating_add(cells.saturating_mul(TEXT + COPY));
    if memory::check(taken(length)).is_ok() {
        return Ok(());
    }
    let mut cells = 0_u64;
    let mut block = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut block).map_err(failed)?;
        if count == 0 {
            break;
        }
        let ends = block[..count].iter().filter(|&&byte| byte == separator || byte == b'\n');
        cells += ends.count() as u64;
    }
    file.rewind().map_err(failed)?;
    memory::check(taken(cells)).map_err(ReadError::TooLarge)
}
