//! Results in the tidy form that data frames are read from: one row per run and measure.
//!
//! Polars types stay inside this file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;

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

/// A cell of a column that differs from row to row of a run.
#[derive(Clone, Debug, PartialEq)]
enum TidyCell {
    Missing,
    Number(f64),
    Count(i64),
    Text(Arc<str>),
}

/// The type of a column, whatever its cells are: tables of other pipelines have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnType {
    Number,
    Count,
    Text,
}

/// A column between those of the axes and those of the run.
#[derive(Clone, Debug, PartialEq)]
struct TidyColumn {
    name: &'static str,
    of_type: ColumnType,
    cells: Vec<TidyCell>,
}

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
    runs: Vec<TidyRun>,
    /// The run of each row.
    run_of_row: Vec<usize>,
    columns: Vec<TidyColumn>,
}

/// Columns before and behind those of the axes.
const LEADING: &str = "stage";
const TRAILING: [&str; 4] = ["key", "seconds", "host", "device"];

impl TidyTable {
    fn new(columns: &[(&'static str, ColumnType)]) -> Self {
        let column = |&(name, of_type)| TidyColumn { name, of_type, cells: Vec::new() };
        let columns = columns.iter().map(column).collect();
        Self { runs: Vec::new(), run_of_row: Vec::new(), columns }
    }

    /// Adds a row of the last run.
    fn push<const COLUMNS: usize>(&mut self, cells: [TidyCell; COLUMNS]) {
        self.run_of_row.push(self.runs.len() - 1);
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.cells.push(cell);
        }
    }

    /// Makes the table of measured values: a list has one row for each element, which `index` counts
    /// from 0; remarks are in `text`.
    pub fn of_results(
        runs: impl IntoIterator<Item = (TidyRun, Values)>,
        unit: impl Fn(&TidyRun, &str, &Values) -> Option<String>,
    ) -> Self {
        use ColumnType::{Count, Number, Text};
        use TidyCell::Missing;
        let mut table = Self::new(&[
            ("field", Text),
            ("index", Count),
            ("value", Number),
            ("text", Text),
            ("unit", Text),
        ]);
        for (run, values) in runs {
            table.runs.push(run.clone());
            for (field, value) in &values {
                let unit = unit(&run, field, &values);
                let unit = unit.map_or(Missing, |unit| TidyCell::Text(unit.into()));
                let field = TidyCell::Text(field.as_str().into());
                match value {
                    RecordValue::Number(number) => {
                        table.push([field, Missing, TidyCell::Number(*number), Missing, unit]);
                    }
                    RecordValue::Text(text) => {
                        let text = TidyCell::Text(text.as_str().into());
                        table.push([field, Missing, Missing, text, unit]);
                    }
                    RecordValue::List(numbers) => {
                        for (index, &number) in (0..).zip(numbers) {
                            let (index, number) =
                                (TidyCell::Count(index), TidyCell::Number(number));
                            table.push([field.clone(), index, number, Missing, unit.clone()]);
                        }
                    }
                }
            }
        }
        table
    }

    /// Makes the table of training curves: of each epoch one row for every other column of the record.
    /// What was not measured has no row.
    pub fn of_histories<'h>(
        runs: impl IntoIterator<Item = (TidyRun, &'h [String], &'h [Vec<f64>])>,
    ) -> Self {
        const EPOCH: &str = "epoch";
        let mut table = Self::new(&[
            (EPOCH, ColumnType::Count),
            ("field", ColumnType::Text),
            ("value", ColumnType::Number),
        ]);
        for (run, names, epochs) in runs {
            table.runs.push(run);
            let epoch_at = names.iter().position(|name| name == EPOCH);
            let fields: Vec<Arc<str>> = names.iter().map(|name| name.as_str().into()).collect();
            for row in epochs {
                let epoch =
                    epoch_at.map_or(TidyCell::Missing, |at| TidyCell::Count(row[at] as i64));
                for (at, (field, &value)) in fields.iter().zip(row).enumerate() {
                    if Some(at) != epoch_at && value.is_finite() {
                        let field = TidyCell::Text(Arc::clone(field));
                        table.push([epoch.clone(), field, TidyCell::Number(value)]);
                    }
                }
            }
        }
        table
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.run_of_row.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.run_of_row.is_empty()
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
        let axes = self.axes();
        self.run_of_row.iter().enumerate().map(move |(row, &run)| {
            let run = &self.runs[run];
            let mut object = Map::new();
            object.insert(LEADING.to_owned(), json!(run.stage));
            for (axis, name) in &axes {
                object.insert(name.clone(), json!(run.labels.get(*axis)));
            }
            for column in &self.columns {
                object.insert(column.name.to_owned(), column.cells[row].json());
            }
            let trailing = [json!(run.key), json!(run.seconds), json!(run.host), json!(run.device)];
            object.extend(TRAILING.map(str::to_owned).into_iter().zip(trailing));
            object
        })
    }

    fn frame(&self) -> Result<DataFrame, PolarsError> {
        let mut columns = vec![self.text_column(LEADING, |run| Some(&run.stage))];
        for (axis, name) in self.axes() {
            columns.push(self.text_column(&name, |run| run.labels.get(axis)));
        }
        columns.extend(self.columns.iter().map(TidyColumn::column));
        let [key, seconds, host, device] = TRAILING;
        columns.push(self.text_column(key, |run| Some(&run.key)));
        let times = self.run_of_row.iter().map(|&run| self.runs[run].seconds);
        columns.push(Column::new(seconds.into(), times.collect::<Vec<_>>()));
        columns.push(self.text_column(host, |run| Some(&run.host)));
        columns.push(self.text_column(device, |run| Some(&run.device)));
        DataFrame::new(self.len(), columns)
    }

    /// Returns a column of texts that belong to the runs.
    fn text_column(&self, name: &str, text: impl Fn(&TidyRun) -> Option<&String>) -> Column {
        let cells = self.run_of_row.iter().map(|&run| text(&self.runs[run]).map(String::as_str));
        Column::new(name.into(), cells.collect::<Vec<_>>())
    }

    /// Returns every axis with the name of its column, which no other column has.
    fn axes(&self) -> BTreeMap<&str, String> {
        let axes: BTreeSet<&str> =
            self.runs.iter().flat_map(|run| run.labels.keys()).map(String::as_str).collect();
        let is_ours = |name: &str| {
            name == LEADING
                || TRAILING.contains(&name)
                || self.columns.iter().any(|column| column.name == name)
        };
        let named = axes.iter().map(|&axis| {
            let mut name = axis.to_owned();
            while is_ours(&name) || name != axis && axes.contains(name.as_str()) {
                name = format!("axis_{name}");
            }
            (axis, name)
        });
        named.collect()
    }
}

impl TidyColumn {
    fn column(&self) -> Column {
        let (name, cells) = (self.name.into(), self.cells.iter());
        match self.of_type {
            ColumnType::Number => {
                Column::new(name, cells.map(TidyCell::number).collect::<Vec<_>>())
            }
            ColumnType::Count => Column::new(name, cells.map(TidyCell::count).collect::<Vec<_>>()),
            ColumnType::Text => Column::new(name, cells.map(TidyCell::text).collect::<Vec<_>>()),
        }
    }
}

impl TidyCell {
    fn json(&self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Number(number) => json!(number),
            Self::Count(count) => json!(count),
            Self::Text(text) => json!(&**text),
        }
    }

    const fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    const fn count(&self) -> Option<i64> {
        if let Self::Count(count) = self { Some(*count) } else { None }
    }

    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
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
    fn columns_have_their_types_and_names_whatever_is_in_them() {
        let remark = values(&[("remark", RecordValue::Text("none".to_owned()))]);
        let labels = [("host", "a"), ("axis_host", "b")];
        let table = TidyTable::of_results([(run("c", &labels), remark)], |_, _, _| None);
        let frame = table.frame().unwrap();
        let schema: Vec<String> =
            frame.columns().iter().map(|c| format!("{} {}", c.name(), c.dtype())).collect();
        assert_eq!(
            schema.join(", "),
            "stage str, axis_host str, axis_axis_host str, field str, index i64, value f64, \
             text str, unit str, key str, seconds f64, host str, device str"
        );
        let row = table.objects().next().unwrap();
        assert_eq!((&row["axis_host"], &row["axis_axis_host"]), (&json!("b"), &json!("a")));
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
