//! A user's own tables, CSV or Parquet, as vectors: one row for each sample.

mod gaps;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::gaps::Missing;
use self::gaps::{Completed, Rows};
use crate::data::formats::table::Table;
use crate::data::{Annotations, Content, DataError, DataSet, Factors, Files, Samples, Vectors};
use crate::numerics::Points;

/// Settings of a data set in a table, for instance `Table(columns: ["width", "height"], class:
/// "species")`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// The columns used as coordinates, in this order; if left out, all that are not named
    /// elsewhere.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Columns with known factors of the samples.
    #[serde(default)]
    pub factors: Vec<String>,
    /// A column of text or integers: the class of each sample.
    #[serde(default)]
    pub class: Option<String>,
    /// The character between the cells of a CSV file.
    #[serde(default = "comma")]
    pub separator: char,
    /// The decimal mark of a CSV file's numbers: `'.'` or `','`.
    #[serde(default = "point", skip_serializing_if = "is_point")]
    #[schemars(!skip_serializing_if)]
    pub decimal: char,
    /// What happens to rows in which cells are missing.
    #[serde(default, skip_serializing_if = "Missing::is_drop")]
    #[schemars(!skip_serializing_if)]
    pub missing: Missing,
}

const fn comma() -> char {
    ','
}

const fn point() -> char {
    '.'
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_point(decimal: &char) -> bool {
    *decimal == '.'
}

impl DataSet for TableFile {
    fn content(&self) -> Content {
        Content::Vectors
    }

    fn reads_files(&self) -> bool {
        true
    }

    /// Reads the table.
    fn open(&self, files: &Files) -> Result<Samples, DataError> {
        let table = Table::read(files.only()?, self.separator, self.decimal)?;
        let elsewhere =
            |name: &String| self.factors.iter().chain(&self.class).any(|other| other == name);
        let others = || table.names().into_iter().filter(|name| !elsewhere(name)).collect();
        let columns: Vec<String> = self.columns.clone().unwrap_or_else(others);
        if columns.is_empty() {
            let reason = format!("expected columns of numbers, found {}", table.names().join(", "));
            return Err(DataError::malformed(table.file, "columns", reason));
        }
        let rows = Rows {
            table: &table,
            columns: &columns,
            factors: &self.factors,
            class: self.class.as_deref().filter(|_| self.missing != Missing::Refuse),
            coordinates: table.rows_of(&columns)?,
            factor_values: table.rows_of(&self.factors)?,
        };
        let Completed { coordinates, factor_values, kept, notes } = rows.complete(self.missing)?;
        let width = self.factors.len();
        let kept_factors = kept.iter().flat_map(|&row| &factor_values[row * width..][..width]);
        let factors =
            Factors { names: self.factors.clone(), values: kept_factors.copied().collect() };
        let classes = self.class.as_ref().map(|name| table.classes(name, &kept)).transpose()?;
        let points = Points::from_rows(columns.len(), coordinates).keep(&kept);
        let vectors = Vectors::new(points, Annotations { factors, classes })?;
        Ok(Samples::Vectors(vectors.with_coordinates(columns).with_notes(notes), None))
    }

    fn problems(&self) -> Vec<String> {
        let is_mark = ['.', ','].contains(&self.decimal);
        let problem = || format!("`decimal` must be '.' or ',', not '{}'", self.decimal);
        (!is_mark).then(problem).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::numerics::memory::pretended::with_available;

    fn reference(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/arrays/");
        fs::read(format!("{folder}{name}")).unwrap()
    }

    fn open(settings: &str, bytes: &[u8]) -> Result<Vectors, DataError> {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let settings: TableFile = options.from_str(settings).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        fs::write(&path, bytes).unwrap();
        let files = Files::new(BTreeMap::from([("t".to_owned(), path)]));
        match settings.open(&files)? {
            Samples::Vectors(vectors, None) => Ok(vectors),
            _ => panic!("no plain vectors"),
        }
    }

    fn refusal(settings: &str, bytes: &[u8]) -> String {
        open(settings, bytes).unwrap_err().to_string()
    }

    #[test]
    fn csv_and_parquet_of_one_table_give_the_same_vectors() {
        let settings = "(factors: [\"angle\"], class: \"kind\")";
        let vectors = open(settings, &reference("table.csv")).unwrap();
        assert_eq!(vectors.points().width(), 2);
        assert_eq!(vectors.points().values(), [0.5, 3.0, 1.5, 1.0, -2.0, 4.0, 4.0, 1.0]);
        assert_eq!(vectors.annotations().factors.values, [0.0, 90.0, 180.0, 270.0]);
        let classes = vectors.annotations().classes.as_ref().unwrap();
        assert_eq!(classes.names, ["bee", "cat", "dog"]);
        assert_eq!(classes.values, [2, 1, 2, 0]);
        assert_eq!(open(settings, &reference("table.parquet")).unwrap(), vectors);
    }

    #[test]
    fn parquet_of_every_packing_is_read() {
        for packing in ["snappy", "zstd", "gzip", "lz4", "none"] {
            let bytes = reference(&format!("types_{packing}.parquet"));
            let vectors = open("(class: \"i64\")", &bytes).unwrap();
            assert_eq!(vectors.points().row(1), [1.0; 5], "{packing}");
            let classes = vectors.annotations().classes.as_ref().unwrap();
            assert_eq!(classes.names, ["-2", "1"]);
        }
    }

    #[test]
    fn named_columns_are_taken_in_the_given_order() {
        let vectors = open("(columns: [\"count\", \"x\"])", &reference("table.csv")).unwrap();
        assert_eq!(vectors.points().row(0), [3.0, 0.5]);
    }

    #[test]
    fn a_name_that_is_not_there_lists_those_that_are() {
        assert_eq!(
            refusal("(columns: [\"z\"])", &reference("table.parquet")),
            "these samples have no column `z`, only x, count, kind, angle"
        );
    }

    #[test]
    fn a_cell_that_is_no_number_is_refused_with_row_and_column() {
        let table = |cell: &str| format!("a,b\n1,2\n3,{cell}\n").into_bytes();
        let refuse = |cell: &str| refusal("(missing: Refuse)", &table(cell));
        let expected = "t: row 2, column `b`: expected a finite number, found ";
        let hint = "; a column of text can be the `class`, or be left out of `columns`";
        assert_eq!(refuse("four"), format!("{expected}`four`{hint}"));
        assert_eq!(refuse("NaN"), format!("{expected}`NaN`"));
        assert_eq!(refuse("-inf"), format!("{expected}`-inf`"));
        assert_eq!(refuse("1e39"), format!("{expected}`1e39`"));
        assert_eq!(refuse(""), format!("{expected}an empty cell"));
        assert_eq!(
            refusal("(columns: [\"x\"], missing: Refuse)", &reference("null.parquet")),
            "t: row 3, column `x`: expected a finite number, found an empty cell"
        );
        assert_eq!(refusal("()", &table("four")), format!("{expected}`four`{hint}"));
        let comma = "; if this is a decimal comma, set `decimal: ','`";
        assert_eq!(refusal("()", &table("\"3,5\"")), format!("{expected}`3,5`{comma}"));
        assert_eq!(
            refusal("(columns: [\"kind\"])", &reference("table.parquet")),
            format!("t: row 1, column `kind`: expected a finite number, found `dog`{hint}")
        );
    }

    #[test]
    fn a_table_without_rows_or_numbers_is_refused() {
        assert_eq!(refusal("()", b"a,b\n"), "t: row 1: unexpected end of file, expected a row");
        assert!(
            refusal("()", b"a\nx\n").starts_with("t: row 1, column `a`: expected a finite number")
        );
        assert!(refusal("(class: \"a\")", b"a\nx\n").starts_with("t: columns: expected columns"));
        assert_eq!(
            refusal("()", b"1,2\n3,4\n"),
            "t: first line: expected the names of the columns, found numbers: add a header line"
        );
        assert!(refusal("()", b"").starts_with("t: table: "));
    }

    #[test]
    fn rows_with_missing_cells_are_left_out_and_counted() {
        let csv = b"a,b,k,f\n1,2,x,0\n,4,x,1\n5,NaN,y,2\n7,8,,3\n9,inf,y,4\n11,12,z,NA\n3,4,z,6\n";
        let settings = "(class: \"k\", factors: [\"f\"])";
        let vectors = open(settings, csv).unwrap();
        assert_eq!(vectors.points().values(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(vectors.annotations().factors.values, [0.0, 6.0]);
        assert_eq!(vectors.annotations().classes.as_ref().unwrap().names, ["x", "z"]);
        let told = "5 of 7 rows are left out because cells are missing, most of them in `b` (2), \
                    `a` (1), `f` (1)";
        assert_eq!(vectors.notes(), [told]);
        let null = open("(columns: [\"x\"])", &reference("null.parquet")).unwrap();
        assert_eq!(null.points().values(), [0.5, 1.5, 4.0]);
    }

    #[test]
    fn missing_cells_are_filled_in_where_that_is_asked_for() {
        let csv = b"a,b\n1,2\n,4\n5,6\n6,NA\n";
        let mean = open("(missing: Mean)", csv).unwrap();
        assert_eq!(mean.points().values(), [1.0, 2.0, 4.0, 4.0, 5.0, 6.0, 6.0, 4.0]);
        let told = "2 missing cells are replaced by the mean of their columns";
        assert_eq!(mean.notes(), [told]);
        let median = open("(missing: Median)", csv).unwrap();
        assert_eq!(median.points().row(1), [5.0, 4.0]);
        assert_eq!(
            refusal("(missing: Median)", b"a,b\n1,\n2,NA\n"),
            "t: column `b`: expected numbers, found none: leave it out of `columns`"
        );
    }

    #[test]
    fn too_few_complete_rows_are_refused_with_the_columns_that_lack_most() {
        assert_eq!(
            refusal("()", b"a,b\n1,\n,4\n5,\n"),
            "t: rows: 0 of 3 rows are complete; cells are missing, most of them in `b` (2), `a` \
             (1): leave such columns out of `columns`, or set `missing: Median`"
        );
    }

    #[test]
    fn decimal_commas_are_read_where_they_are_declared() {
        let vectors = open("(separator: ';', decimal: ',')", b"a;b\n1,5;-2,25e1\n3;4\n").unwrap();
        assert_eq!(vectors.points().values(), [1.5, -22.5, 3.0, 4.0]);
        let wrong = TableFile { decimal: ';', ..ron::from_str("()").unwrap() };
        assert_eq!(wrong.problems(), ["`decimal` must be '.' or ',', not ';'"]);
    }

    #[test]
    fn new_settings_leave_the_record_of_others_as_it_was() {
        let plain: TableFile = ron::from_str("()").unwrap();
        assert_eq!(
            serde_json::to_string(&plain).unwrap(),
            r#"{"columns":null,"factors":[],"class":null,"separator":","}"#
        );
    }

    #[test]
    fn columns_of_other_types_in_a_parquet_file_are_named_and_the_rest_is_read() {
        let kinds = reference("kinds.parquet");
        let settings = "(columns: [\"wide\", \"gaps\"], class: \"size\")";
        let vectors = open(settings, &kinds).unwrap();
        assert_eq!((vectors.points().rows(), vectors.points().width()), (57, 2));
        assert_eq!(vectors.annotations().classes.as_ref().unwrap().names, ["large", "small"]);
        for (class, names) in [("code", &["0", "1", "2"][..]), ("good", &["false", "true"])] {
            let settings = format!("(columns: [\"wide\"], class: \"{class}\")");
            let vectors = open(&settings, &kinds).unwrap();
            assert_eq!(vectors.annotations().classes.as_ref().unwrap().names, names);
        }
        assert_eq!(
            refusal("(columns: [\"wide\", \"when\"])", &kinds),
            "t: column `when`: expected numbers, found dates or times; leave it out of `columns`"
        );
        assert!(refusal("()", &kinds).starts_with("t: row 1, column `size`: expected a finite"));
    }

    #[test]
    fn another_separator_and_integer_classes_in_their_order_will_do() {
        let vectors = open("(separator: ';', class: \"k\")", b"x;k\n1.5;10\n2;9\n").unwrap();
        assert_eq!(vectors.points().values(), [1.5, 2.0]);
        assert_eq!(vectors.annotations().classes.as_ref().unwrap().names, ["9", "10"]);
        let reason = "the separator must be one ASCII character, not `\u{2192}`";
        assert_eq!(refusal("(separator: '\u{2192}')", b"x\n1\n"), reason);
    }

    #[test]
    fn rows_of_different_lengths_are_refused() {
        let reason = refusal("()", b"a,b\n1,2\n3,4,5\n");
        assert!(reason.starts_with("t: table: ") && !reason.contains('\n'), "{reason}");
    }

    #[test]
    fn a_table_that_does_not_fit_into_memory_is_refused_with_its_size() {
        let told = "t would take 0.0 GB of memory, but only 0.0 GB is available: use a smaller \
                    file, or more memory";
        let csv = format!("a,b\n{}", "1,2\n".repeat(100));
        // 404 bytes and 202 cells.
        let read = |available| with_available(available, || open("()", csv.as_bytes()));
        assert!(read(404 + 202 * 20).is_ok());
        assert_eq!(read(404 + 202 * 20 - 1).unwrap_err().to_string(), told);
        let parquet = reference("table.parquet");
        let read = |available| {
            with_available(available, || open("(columns: [\"x\", \"count\"])", &parquet))
        };
        assert!(read(1_000).is_ok());
        assert_eq!(read(100).unwrap_err().to_string(), told);
    }

    #[test]
    fn any_prefix_of_a_parquet_file_is_refused_and_no_changed_byte_brings_down_the_program() {
        let whole = reference("table.parquet");
        for end in (0..whole.len()).step_by(7) {
            assert!(open("()", &whole[..end]).is_err(), "{end} bytes");
        }
        for at in (0..whole.len()).step_by(3) {
            let mut changed = whole.clone();
            changed[at] ^= 0x01;
            let _ = open("()", &changed);
        }
    }
}
