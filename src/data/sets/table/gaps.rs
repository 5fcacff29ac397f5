//! Cells of a table that are missing: rows without them are left out, or the cells are filled in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::DataError;
use crate::data::formats::table::Table;

/// How many columns are named in a message.
const NAMED: usize = 3;

/// What happens to rows with cells that are missing (empty, NA, NaN, null) or infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Missing {
    /// The row is left out.
    #[default]
    Drop,
    /// The cell gets the mean of its column over the whole table. Rows without a class or a factor
    /// are left out.
    Mean,
    /// The cell gets the median of its column over the whole table, else as with `Mean`.
    Median,
    /// The first such cell is an error.
    Refuse,
}

impl Missing {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_drop(&self) -> bool {
        *self == Self::Drop
    }
}

/// The cells that are used of a table's rows, before those with gaps are dealt with.
pub(super) struct Rows<'a, 'b> {
    pub(super) table: &'a Table<'b>,
    pub(super) columns: &'a [String],
    pub(super) factors: &'a [String],
    pub(super) class: Option<&'a str>,
    /// Values of all rows, NaN where one is missing.
    pub(super) coordinates: Vec<f32>,
    pub(super) factor_values: Vec<f32>,
}

/// What became of rows with gaps.
pub(super) struct Completed {
    /// Values of all rows.
    pub(super) coordinates: Vec<f32>,
    pub(super) factor_values: Vec<f32>,
    /// The rows that are complete now.
    pub(super) kept: Vec<usize>,
    /// What was done, for people.
    pub(super) notes: Vec<String>,
}

impl Rows<'_, '_> {
    /// Deals with the gaps.
    pub(super) fn complete(mut self, missing: Missing) -> Result<Completed, DataError> {
        let mut notes = Vec::new();
        let presence = self.class.map(|name| self.table.presence(name)).transpose()?;
        match missing {
            Missing::Drop => {}
            Missing::Refuse => self.refuse_first()?,
            Missing::Mean | Missing::Median => notes.extend(self.fill(missing)?),
        }
        let kept = self.complete_rows(presence.as_deref());
        let (rows, left) = (self.table.rows(), kept.len());
        if left < rows {
            let worst = self.worst(presence.as_deref());
            if left < 2 {
                let reason = format!(
                    "{left} of {rows} rows are complete; cells are missing, most of them in \
                     {worst}: leave such columns out of `columns`, or set `missing: Median`"
                );
                return Err(DataError::malformed(self.table.file, "rows", reason));
            }
            notes.push(format!(
                "{} of {rows} rows are left out because cells are missing, most of them in {worst}",
                rows - left
            ));
        }
        let Self { coordinates, factor_values, .. } = self;
        Ok(Completed { coordinates, factor_values, kept, notes })
    }

    fn complete_rows(&self, presence: Option<&[bool]>) -> Vec<usize> {
        let is_whole = |values: &[f32], width: usize, row: usize| {
            values[row * width..][..width].iter().all(|value| !value.is_nan())
        };
        (0..self.table.rows())
            .filter(|&row| {
                is_whole(&self.coordinates, self.columns.len(), row)
                    && is_whole(&self.factor_values, self.factors.len(), row)
                    && presence.is_none_or(|presence| presence[row])
            })
            .collect()
    }

    fn refuse_first(&self) -> Result<(), DataError> {
        for (names, values) in
            [(self.columns, &self.coordinates), (self.factors, &self.factor_values)]
        {
            if let Some(index) = values.iter().position(|value| value.is_nan()) {
                let (row, column) = (index / names.len(), index % names.len());
                return Err(self.table.missing_cell(row, &names[column]));
            }
        }
        Ok(())
    }

    /// Fills in coordinates that are missing, and says how many.
    fn fill(&mut self, how: Missing) -> Result<Option<String>, DataError> {
        let (width, mut filled) = (self.columns.len(), 0);
        for (column, name) in self.columns.iter().enumerate() {
            let values = || self.coordinates.iter().skip(column).step_by(width).copied();
            let present: Vec<f32> = values().filter(|value| !value.is_nan()).collect();
            let gaps = self.table.rows() - present.len();
            if gaps == 0 {
                continue;
            }
            if present.is_empty() {
                let place = format!("column `{name}`");
                let reason = "expected numbers, found none: leave it out of `columns`";
                return Err(DataError::malformed(self.table.file, place, reason));
            }
            let value = if how == Missing::Mean { mean(&present) } else { median(present) };
            let places = self.coordinates.iter_mut().skip(column).step_by(width);
            places.filter(|place| place.is_nan()).for_each(|place| *place = value);
            filled += gaps;
        }
        let name = if how == Missing::Mean { "mean" } else { "median" };
        Ok(match filled {
            0 => None,
            1 => Some(format!("1 missing cell is replaced by the {name} of its column")),
            _ => {
                Some(format!("{filled} missing cells are replaced by the {name} of their columns"))
            }
        })
    }

    /// Names the columns in which most cells are missing, with how many.
    fn worst(&self, presence: Option<&[bool]>) -> String {
        let mut counts = Vec::new();
        for (names, values) in
            [(self.columns, &self.coordinates), (self.factors, &self.factor_values)]
        {
            for (column, name) in names.iter().enumerate() {
                let cells = values.iter().skip(column).step_by(names.len());
                counts.push((cells.filter(|value| value.is_nan()).count(), name.as_str()));
            }
        }
        if let (Some(name), Some(presence)) = (self.class, presence) {
            counts.push((presence.iter().filter(|is_there| !**is_there).count(), name));
        }
        counts.retain(|(count, _)| *count > 0);
        counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let named = counts.iter().take(NAMED).map(|(count, name)| format!("`{name}` ({count})"));
        named.collect::<Vec<_>>().join(", ")
    }
}

fn mean(values: &[f32]) -> f32 {
    (values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64) as f32
}

fn median(mut values: Vec<f32>) -> f32 {
    values.sort_by(f32::total_cmp);
    let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    f32::midpoint(low, high)
}
