//! Results in the tidy form that data frames are read from: one row per run and measure.
//!
//! Polars types stay inside this file.

use std::collections::BTreeSet;
use std::io::{self, Write};

use polars::prelude::{Column, DataFrame, PolarsError};
use polars_io::SerWriter;
use polars_io::csv::write::CsvWriter;
use polars_io::parquet::write::ParquetWriter;
use serde_json::{Map, Value, json};

use super::records::record::{Labels, RecordValue, Values};

/// What is told of the run behind a row.
#[derive(Clone, Debug, PartialEq)]
pub struct TidyRun {
    /// The stage.
    pub stage: String,
    /// Its label on each of its axes.
    pub labels: Labels,
    /// The key of its result.
    pub key: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The machine that computed it.
    pub host: String,
    /// The device that computed it.
    pub device: String,
}

/// A cell; the cells of a column that are there are all numbers, all counts, or all texts.
#[derive(Clone, Debug, PartialEq)]
enum TidyCell {
    Missing,
    Number(f64),
    Count(i64),
    Text(String),
}

/// A row: the run, then the cells of the columns between its labels and its key.
type TidyRow = (TidyRun, Vec<TidyCell>);

/// A file format of data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TidyFormat {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values.
    Csv,
    /// An array of objects.
    Json,
}

impl TidyFormat {
    /// Returns the format that the ending of a file name means.
    pub fn of_ending(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "parquet" => Some(Self::Parquet),
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Rows about runs, with one column for each axis that any run has.
#[derive(Clone, Debug, PartialEq)]
pub struct TidyTable {
    /// The columns that differ from table to table.
    columns: &'static [&'static str],
    rows: Vec<TidyRow>,
}

/// Columns before and behind those of the axes.
const LEADING: &str = "stage";
const TRAILING: [&str; 4] = ["key", "seconds", "host", "device"];

impl TidyTable {
    /// Makes the table of measured values: a list has one row for each element, which `index` counts
    /// from 0; remarks are in `text`.
    pub fn of_results(
        runs: impl IntoIterator<Item = (TidyRun, Values)>,
        unit: impl Fn(&TidyRun, &str, &Values) -> Option<String>,
    ) -> Self {
        let mut rows = Vec::new();
        for (run, values) in runs {
            for (field, value) in &values {
                let unit = unit(&run, field, &values).map_or(TidyCell::Missing, TidyCell::Text);
                let mut add = |index: TidyCell, value: TidyCell, text: TidyCell| {
                    let field = TidyCell::Text(field.clone());
                    rows.push((run.clone(), vec![field, index, value, text, unit.clone()]));
                };
                match value {
                    RecordValue::Number(number) => {
                        add(TidyCell::Missing, TidyCell::Number(*number), TidyCell::Missing);
                    }
                    RecordValue::Text(text) => {
                        add(TidyCell::Missing, TidyCell::Missing, TidyCell::Text(text.clone()));
                    }
                    RecordValue::List(numbers) => {
                        for (index, &number) in numbers.iter().enumerate() {
                            let index = TidyCell::Count(index as i64);
                            add(index, TidyCell::Number(number), TidyCell::Missing);
                        }
                    }
                }
            }
        }
        Self { columns: &["field", "index", "value", "text", "unit"], rows }
    }

    /// Makes the table of training curves: of each epoch one row for every other column of the record.
    /// What was not measured has no row.
    pub fn of_histories<'h>(
        runs: impl IntoIterator<Item = (TidyRun, &'h [String], &'h [Vec<f64>])>,
    ) -> Self {
        const EPOCH: &str = "epoch";
        let mut rows = Vec::new();
        for (run, columns, epochs) in runs {
            let epoch_at = columns.iter().position(|name| name == EPOCH);
            for row in epochs {
                let epoch =
                    epoch_at.map_or(TidyCell::Missing, |at| TidyCell::Count(row[at] as i64));
                for (name, &value) in columns.iter().zip(row) {
                    if name != EPOCH && value.is_finite() {
                        let field = TidyCell::Text(name.clone());
                        let cells = vec![epoch.clone(), field, TidyCell::Number(value)];
                        rows.push((run.clone(), cells));
                    }
                }
            }
        }
        Self { columns: &[EPOCH, "field", "value"], rows }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table.
    pub fn write(&self, format: TidyFormat, to: &mut impl Write) -> io::Result<()> {
        let failed = |error: PolarsError| io::Error::other(error.to_string());
        match format {
            TidyFormat::Parquet => {
                let mut frame = self.frame().map_err(failed)?;
                ParquetWriter::new(to).finish(&mut frame).map_err(failed).map(drop)
            }
            TidyFormat::Csv => {
                let mut frame = self.frame().map_err(failed)?;
                CsvWriter::new(to).finish(&mut frame).map_err(failed)
            }
            TidyFormat::Json => {
                let mut separator = "[\n";
                for object in self.objects() {
                    write!(to, "{separator}{}", Value::Object(object))?;
                    separator = ",\n";
                }
                if self.is_empty() { writeln!(to, "[]") } else { writeln!(to, "\n]") }
            }
        }
    }

    /// Returns each row as an object.
    pub fn objects(&self) -> impl Iterator<Item = Map<String, Value>> {
        let columns = self.cells();
        (0..self.len()).map(move |row| {
            let cell = |(name, cells): &(String, Vec<TidyCell>)| (name.clone(), cells[row].json());
            columns.iter().map(cell).collect()
        })
    }

    fn frame(&self) -> Result<DataFrame, PolarsError> {
        let columns = self.cells().into_iter().map(|(name, cells)| column(&name, cells)).collect();
        DataFrame::new(self.len(), columns)
    }

    /// Returns every column by its name, in order.
    fn cells(&self) -> Vec<(String, Vec<TidyCell>)> {
        let of = |cell: &dyn Fn(&TidyRow) -> TidyCell| self.rows.iter().map(cell).collect();
        let text = |text: &str| TidyCell::Text(text.to_owned());
        let mut columns: Vec<(String, Vec<TidyCell>)> = Vec::new();
        columns.push((LEADING.to_owned(), of(&|(run, _)| text(&run.stage))));
        let axes: BTreeSet<&String> =
            self.rows.iter().flat_map(|(run, _)| run.labels.keys()).collect();
        for axis in axes {
            let label = |(run, _): &TidyRow| match run.labels.get(axis) {
                Some(label) => text(label),
                None => TidyCell::Missing,
            };
            columns.push((self.axis_column(axis), of(&label)));
        }
        for (at, name) in self.columns.iter().enumerate() {
            columns.push(((*name).to_owned(), of(&|(_, cells)| cells[at].clone())));
        }
        let trailing: [&dyn Fn(&TidyRow) -> TidyCell; 4] = [
            &|(run, _)| text(&run.key),
            &|(run, _)| TidyCell::Number(run.seconds),
            &|(run, _)| text(&run.host),
            &|(run, _)| text(&run.device),
        ];
        for (name, cell) in TRAILING.iter().zip(trailing) {
            columns.push(((*name).to_owned(), of(cell)));
        }
        columns
    }

    /// Returns the name of an axis' column, which no other column has.
    fn axis_column(&self, axis: &str) -> String {
        let is_taken = axis == LEADING || TRAILING.contains(&axis) || self.columns.contains(&axis);
        if is_taken { format!("axis_{axis}") } else { axis.to_owned() }
    }
}

impl TidyCell {
    fn json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Number(number) => json!(number),
            Self::Count(count) => json!(count),
            Self::Text(text) => json!(text),
        }
    }
}

/// Makes a column of the type of its cells; of texts if there are none.
fn column(name: &str, cells: Vec<TidyCell>) -> Column {
    let first = cells.iter().find(|cell| **cell != TidyCell::Missing);
    match first {
        Some(TidyCell::Number(_)) => {
            let number = |cell: TidyCell| match cell {
                TidyCell::Number(number) => Some(number),
                _ => None,
            };
            Column::new(name.into(), cells.into_iter().map(number).collect::<Vec<_>>())
        }
        Some(TidyCell::Count(_)) => {
            let count = |cell: TidyCell| match cell {
                TidyCell::Count(count) => Some(count),
                _ => None,
            };
            Column::new(name.into(), cells.into_iter().map(count).collect::<Vec<_>>())
        }
        Some(TidyCell::Text(_) | TidyCell::Missing) | None => {
            let text = |cell: TidyCell| match cell {
                TidyCell::Text(text) => Some(text),
                _ => None,
            };
            Column::new(name.into(), cells.into_iter().map(text).collect::<Vec<_>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stage: &str, labels: &[(&str, &str)]) -> TidyRun {
        let owned = |(axis, label): &(&str, &str)| ((*axis).to_owned(), (*label).to_owned());
        TidyRun {
            stage: stage.to_owned(),
            labels: labels.iter().map(owned).collect(),
            key: "ab".repeat(32),
            seconds: 1.5,
            host: "node, 1".to_owned(),
            device: "flex".to_owned(),
        }
    }

    fn values(pairs: &[(&str, RecordValue)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn table() -> TidyTable {
        let first = values(&[
            ("dimension", RecordValue::Number(4.0)),
            ("shares", RecordValue::List(vec![0.1, 1.0 / 3.0])),
        ]);
        let second = values(&[
            ("loss", RecordValue::Text("squared \"error\"".to_owned())),
            ("seconds", RecordValue::Number(1e-7)),
        ]);
        let runs = [(run("a-0", &[("seed", "0"), ("host", "x")]), first), (run("b", &[]), second)];
        let unit =
            |_: &TidyRun, field: &str, _: &Values| (field == "seconds").then(|| "s".to_owned());
        TidyTable::of_results(runs, unit)
    }

    fn written(table: &TidyTable, format: TidyFormat) -> String {
        let mut bytes = Vec::new();
        table.write(format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_measure_of_a_run_has_a_row_and_each_axis_a_column() {
        let key = "ab".repeat(32);
        assert_eq!(
            written(&table(), TidyFormat::Csv),
            format!(
                "stage,axis_host,seed,field,index,value,text,unit,key,seconds,host,device\n\
                 a-0,x,0,dimension,,4.0,,,{key},1.5,\"node, 1\",flex\n\
                 a-0,x,0,shares,0,0.1,,,{key},1.5,\"node, 1\",flex\n\
                 a-0,x,0,shares,1,0.3333333333333333,,,{key},1.5,\"node, 1\",flex\n\
                 b,,,loss,,,\"squared \"\"error\"\"\",,{key},1.5,\"node, 1\",flex\n\
                 b,,,seconds,,1e-7,,s,{key},1.5,\"node, 1\",flex\n"
            )
        );
    }

    #[test]
    fn json_holds_the_same_rows() {
        let rows: Vec<Value> = serde_json::from_str(&written(&table(), TidyFormat::Json)).unwrap();
        assert_eq!(rows.len(), 5);
        assert_eq!((&rows[2]["index"], &rows[2]["value"]), (&json!(1), &json!(1.0 / 3.0)));
        assert_eq!((&rows[4]["seed"], &rows[4]["unit"]), (&Value::Null, &json!("s")));
        let empty = TidyTable::of_results([], |_, _, _| None);
        assert_eq!(written(&empty, TidyFormat::Json), "[]\n");
    }

    #[test]
    fn curves_have_a_row_for_each_epoch_and_measure() {
        let columns = ["epoch", "steps", "total", "validation"].map(str::to_owned);
        let epochs = [vec![1.0, 12.0, 3.5, f64::NAN], vec![2.0, 12.0, 2.5, 0.25]];
        let runs = [(run("train", &[]), &columns[..], &epochs[..])];
        let table = TidyTable::of_histories(runs);
        let told: Vec<String> = table
            .objects()
            .map(|row| format!("{} {} {}", row["epoch"], row["field"], row["value"]))
            .collect();
        assert_eq!(
            told,
            [
                "1 \"steps\" 12.0",
                "1 \"total\" 3.5",
                "2 \"steps\" 12.0",
                "2 \"total\" 2.5",
                "2 \"validation\" 0.25"
            ]
        );
    }
}
