//! Tables read back from the CSV that `csv.rs` writes.

use thiserror::Error;

/// One cell as a file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCell {
    /// Its labels and the name of its value.
    pub place: Vec<String>,
    /// Mean over the runs.
    pub mean: Option<f64>,
    /// Standard deviation over the runs.
    pub std: Option<f64>,
    /// Number of runs.
    pub n: usize,
}

/// Says why a text is not such a table.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum StoredError {
    /// A column is missing.
    #[error("it has no column `{0}`, so it is not a table of this program")]
    NoColumn(&'static str),
    /// A quote never ends.
    #[error("a quoted field never ends")]
    OpenQuote,
    /// A line has too few fields.
    #[error("line {line} has {found} fields, expected {expected}")]
    Fields {
        /// The line, counted from 1.
        line: usize,
        /// Its fields.
        found: usize,
        /// The fields of the header.
        expected: usize,
    },
    /// A field is not a number.
    #[error("line {line}: `{field}` is not a number")]
    Number {
        /// The line, counted from 1.
        line: usize,
        /// The field.
        field: String,
    },
}

/// Reads all cells of a table.
pub(in crate::report) fn read(text: &str) -> Result<Vec<StoredCell>, StoredError> {
    let mut lines = split(text)?.into_iter();
    let header = lines.next().unwrap_or_default();
    let at = |name: &'static str| {
        header.iter().rposition(|title| title == name).ok_or(StoredError::NoColumn(name))
    };
    let (value, mean, std, n) = (at("value")?, at("mean")?, at("std")?, at("n")?);
    let mut cells = Vec::new();
    for (fields, line) in lines.zip(2..) {
        if fields.len() != header.len() {
            let (found, expected) = (fields.len(), header.len());
            return Err(StoredError::Fields { line, found, expected });
        }
        cells.push(StoredCell {
            place: fields[..=value].to_vec(),
            mean: number(&fields[mean], line)?,
            std: number(&fields[std], line)?,
            n: number(&fields[n], line)?.unwrap_or_default() as usize,
        });
    }
    Ok(cells)
}

fn number(field: &str, line: usize) -> Result<Option<f64>, StoredError> {
    if field.is_empty() {
        return Ok(None);
    }
    let number =
        field.parse().map_err(|_| StoredError::Number { line, field: field.to_owned() })?;
    Ok(Some(number))
}

/// Splits a text into lines of fields, by RFC 4180.
fn split(text: &str) -> Result<Vec<Vec<String>>, StoredError> {
    let mut lines = Vec::new();
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let end = fields.len() - 1;
        match c {
            '"' if quoted && rest.next_if_eq(&'"').is_some() => fields[end].push('"'),
            '"' => quoted = !quoted,
            _ if quoted => fields[end].push(c),
            ',' => fields.push(String::new()),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' => lines.push(std::mem::replace(&mut fields, vec![String::new()])),
            _ => fields[end].push(c),
        }
    }
    if quoted {
        return Err(StoredError::OpenQuote);
    }
    if fields.len() > 1 || !fields[0].is_empty() {
        lines.push(fields);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::csv;
    use crate::report::tables::tabulate::tests::wide;

    #[test]
    fn what_was_written_is_read_back() {
        let table = wide();
        let cells = read(&csv::render(&table)).unwrap();
        let written: Vec<_> = table.rows.iter().flat_map(|row| &row.cells).collect();
        assert_eq!(cells.len(), written.len());
        for (read, cell) in cells.iter().zip(written) {
            assert_eq!((read.mean, read.std, read.n), (cell.mean, cell.std, cell.n));
        }
        assert_eq!(cells[1].place, ["sprites", "hae", "dimension"]);
    }

    #[test]
    fn quoted_fields_keep_commas_quotes_and_line_breaks() {
        let lines = split("a,\"b,\"\"c\"\"\nd\"\r\n,\r\nlast,one").unwrap();
        let expected: [&[&str]; 3] = [&["a", "b,\"c\"\nd"], &["", ""], &["last", "one"]];
        assert_eq!(lines, expected);
        assert_eq!(split("\"open"), Err(StoredError::OpenQuote));
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        assert_eq!(read("x,y\r\n1,2\r\n"), Err(StoredError::NoColumn("value")));
        let short = read("value,mean,std,n\r\na,1\r\n").unwrap_err();
        assert_eq!(short.to_string(), "line 2 has 2 fields, expected 4");
        let word = read("value,mean,std,n\r\na,one,,1\r\n").unwrap_err();
        assert_eq!(word.to_string(), "line 2: `one` is not a number");
    }
}
