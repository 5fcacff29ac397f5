//! Which columns of a table are coordinates, and why the others are not.

use serde::Serialize;

use super::table::has_braces;
use crate::data::{Cells, ColumnSummary, Missing, NumberSummary};

/// How many names are shown.
const SHOWN: usize = 8;
/// A column that lacks more than this share of its cells is left out, and not the rows.
const MOSTLY: f64 = 0.5;
/// If dropping rows would leave less than this share of them, columns are left out instead, ...
const ROWS_TO_KEEP: f64 = 0.5;
/// ... as long as one lacks at least this share of its cells.
const MANY: f64 = 0.1;
/// Whole numbers with at most this many different values may be codes of categories.
const MOST_CODES: usize = 10;
/// Names of columns that number their rows or records.
const ID_NAMES: [&str; 14] = [
    "id", "ids", "uid", "uuid", "guid", "key", "index", "idx", "row", "rownames", "no", "nr",
    "number", "level_0",
];

/// The columns of a table.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Columns {
    /// Those used as coordinates.
    pub(super) taken: Vec<String>,
    /// Those of them that may be categories.
    pub(super) few_valued: Vec<FewValued>,
    /// Those that are not used.
    pub(super) left_out: Vec<LeftOut>,
    /// The one that tells the class.
    pub(super) class: Option<String>,
    /// Rows of the table.
    pub(super) rows: usize,
}

/// A column of few different whole numbers, which are codes of categories or a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct FewValued {
    /// Its name.
    pub(super) name: String,
    /// How many different values it has.
    pub(super) distinct: usize,
}

/// A column that is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LeftOut {
    /// Its name.
    pub(super) name: String,
    /// What it holds instead of a measurement.
    pub(super) reason: String,
    /// Whether it holds numbers, so that it can be used after all.
    pub(super) numbers: bool,
}

impl LeftOut {
    fn new(column: &ColumnSummary, reason: String) -> Self {
        let is_empty = column.distinct == 0;
        let is_numeric = matches!(column.cells, Cells::Integers(_) | Cells::Reals(_));
        let numbers = is_numeric && !is_empty && !has_braces(&column.name);
        Self { name: column.name.clone(), reason, numbers }
    }
}

impl Columns {
    /// Chooses among all columns but the class.
    pub(super) fn choose(
        all: &[ColumnSummary],
        rows: usize,
        class: Option<&str>,
        missing: Missing,
    ) -> Self {
        let (mut taken, mut left_out) = (Vec::new(), Vec::new());
        for column in all.iter().filter(|column| class != Some(column.name.as_str())) {
            match reason(column, rows) {
                Some(reason) => left_out.push(LeftOut::new(column, reason)),
                None => taken.push(column),
            }
        }
        if missing == Missing::Drop {
            left_out.extend(spare_rows(&mut taken, rows));
        }
        let is_code = |column: &&&ColumnSummary| {
            matches!(column.cells, Cells::Integers(_)) && column.distinct <= MOST_CODES
        };
        let few_valued = taken
            .iter()
            .filter(is_code)
            .map(|column| FewValued { name: column.name.clone(), distinct: column.distinct })
            .collect();
        let taken = taken.iter().map(|column| column.name.clone()).collect();
        Self { taken, few_valued, left_out, class: class.map(str::to_owned), rows }
    }

    /// Names the columns that are taken.
    pub(super) fn taken_in_words(&self) -> String {
        listed(self.taken.iter().map(String::as_str))
    }

    /// Names the columns of few different whole numbers, with how many; nothing if there are none.
    pub(super) fn few_valued_in_words(&self) -> Option<String> {
        let few = self.few_valued.iter();
        let named = listed_with(few.map(|column| (column.name.as_str(), Some(column.distinct))));
        (!self.few_valued.is_empty()).then_some(named)
    }

    /// Names the columns that are left out, a text for each reason.
    pub(super) fn left_out_in_words(&self) -> Vec<String> {
        let mut reasons: Vec<&str> = Vec::new();
        for column in &self.left_out {
            if !reasons.contains(&column.reason.as_str()) {
                reasons.push(&column.reason);
            }
        }
        let names = |reason: &str| {
            let with_it = self.left_out.iter().filter(|column| column.reason == reason);
            listed(with_it.map(|column| column.name.as_str()))
        };
        reasons.into_iter().map(|reason| format!("{} ({reason})", names(reason))).collect()
    }

    /// Returns whether a column that is left out could be used.
    pub(super) fn has_usable(&self) -> bool {
        self.left_out.iter().any(|column| column.numbers)
    }

    /// Says which column alone is taken, and what is left out.
    pub(super) fn only(&self) -> String {
        let taken = format!("column {}", self.taken_in_words());
        match &self.left_out_in_words()[..] {
            [] => taken,
            left_out => format!("{taken} (left out: {})", left_out.join("; ")),
        }
    }
}

/// Names a few columns and counts the rest.
fn listed<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    listed_with(names.map(|name| (name, None)))
}

/// Names a few columns, some with a number, and counts the rest.
fn listed_with<'a>(columns: impl Iterator<Item = (&'a str, Option<usize>)> + Clone) -> String {
    let quoted = |(name, number): (&str, Option<usize>)| {
        let name = if name.is_empty() { "(unnamed)".to_owned() } else { format!("`{name}`") };
        number.map_or(name.clone(), |number| format!("{name} ({number})"))
    };
    let shown: Vec<_> = columns.clone().take(SHOWN).map(quoted).collect();
    match columns.count().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Takes columns away that lack many cells, the worst first, until enough rows are complete or half
/// of the columns are left.
fn spare_rows(taken: &mut Vec<&ColumnSummary>, rows: usize) -> Vec<LeftOut> {
    let fewest = taken.len().div_ceil(2).max(2);
    let mut left_out = Vec::new();
    loop {
        let mut is_complete = vec![true; rows];
        for &row in taken.iter().flat_map(|column| &column.missing) {
            is_complete[row] = false;
        }
        let complete = is_complete.iter().filter(|is_complete| **is_complete).count();
        let worst = (0..taken.len()).max_by_key(|&index| taken[index].missing.len());
        match worst {
            Some(worst)
                if taken.len() > fewest
                    && (complete as f64) < ROWS_TO_KEEP * rows as f64
                    && taken[worst].missing.len() as f64 >= MANY * rows as f64 =>
            {
                let column = taken.remove(worst);
                left_out.push(LeftOut::new(column, gaps(column, rows)));
            }
            _ => return left_out,
        }
    }
}

fn gaps(column: &ColumnSummary, rows: usize) -> String {
    let percent = 100.0 * column.missing.len() as f64 / rows as f64;
    format!("missing in {percent:.0} % of rows")
}

/// Returns why a column is no coordinate.
fn reason(column: &ColumnSummary, rows: usize) -> Option<String> {
    let reason = match &column.cells {
        Cells::Other(held) => held,
        _ if column.missing.len() == rows => "empty",
        Cells::Texts => "text",
        Cells::Booleans => "true or false",
        Cells::Dates => "dates or times",
        Cells::Categories => "categories",
        Cells::DecimalCommas => "decimal commas, where most columns have decimal points",
        Cells::AmbiguousCommas(text) => {
            return Some(format!(
                "`{text}` may be a decimal comma or group digits: write numbers without groups"
            ));
        }
        Cells::Mixed { row, text } => {
            return Some(format!("numbers and text, such as `{text}` in row {}", row + 1));
        }
        Cells::Integers(numbers) | Cells::Reals(numbers) => {
            return of_numbers(column, numbers, rows);
        }
    };
    Some(reason.to_owned())
}

/// Returns why a column of numbers is no coordinate.
fn of_numbers(column: &ColumnSummary, numbers: &NumberSummary, rows: usize) -> Option<String> {
    let is_whole = matches!(column.cells, Cells::Integers(_));
    let present = rows - column.missing.len();
    let is_unique = column.distinct == present;
    let (is_id, is_foreign_key) = named_like_id(&column.name);
    // So many different values among so few possible ones are no coincidence: drawn independently,
    // the probability is below exp(-10).
    let possible = numbers.high - numbers.low + 1.0;
    let is_too_unique = is_whole && is_unique && (present as f64).powi(2) > 20.0 * possible;
    let reason = if has_braces(&column.name) {
        "braces in its name, which mark axes in a pipeline"
    } else if column.missing.len() as f64 > MOSTLY * rows as f64 {
        return Some(gaps(column, rows));
    } else if numbers.low >= numbers.high {
        "constant"
    } else if numbers.is_even && is_whole {
        "numbers the rows"
    } else if numbers.is_even {
        "evenly spaced, as a time or an index is"
    } else if is_whole && (is_id && is_unique || is_foreign_key) {
        "an id by its name"
    } else if is_whole && numbers.is_monotone {
        "whole numbers in order, as ids and times are"
    } else if is_too_unique {
        "whole numbers that never repeat, as ids are"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

/// Returns whether a name is that of a row or record number, and whether it ends in `id`, as that of
/// a reference to something else does.
fn named_like_id(name: &str) -> (bool, bool) {
    let name = name.trim();
    let lower = name.to_ascii_lowercase();
    let is_index =
        lower.is_empty() || lower.starts_with("unnamed:") || lower.starts_with("__index");
    // user_id, user-id, "user id", userId, userID.
    let ends = ["_id", "-id", " id", ".id"].iter().any(|end| lower.ends_with(end));
    let before = |end: &str| name.strip_suffix(end).and_then(|rest| rest.chars().last());
    let is_camel = [before("Id"), before("ID")];
    let is_camel = is_camel.iter().flatten().any(char::is_ascii_lowercase);
    (is_index || ends || is_camel || ID_NAMES.contains(&lower.as_str()), ends || is_camel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, values: &[f64], missing: Vec<usize>) -> ColumnSummary {
        let fold = |start: f64, pick: fn(f64, f64) -> f64| values.iter().copied().fold(start, pick);
        let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let numbers = NumberSummary {
            low: fold(f64::INFINITY, f64::min),
            high: fold(f64::NEG_INFINITY, f64::max),
            is_monotone: steps.iter().all(|step| *step > 0.0),
            is_even: steps.iter().all(|step| (step - steps[0]).abs() < 1e-9 && *step != 0.0),
        };
        let mut distinct = values.to_vec();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let is_whole = values.iter().all(|value| value.fract() == 0.0);
        let cells = if is_whole { Cells::Integers(numbers) } else { Cells::Reals(numbers) };
        ColumnSummary { name: name.to_owned(), cells, missing, distinct: distinct.len() }
    }

    /// 100 values.
    fn values(of: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..100).map(of).collect()
    }

    #[test]
    fn ids_row_numbers_and_constants_are_told_from_measurements() {
        let why = |name: &str, values: &[f64]| reason(&column(name, values, Vec::new()), 100);
        let shuffled = values(|row| (row * 37 % 100) as f64);
        let repeated = values(|row| (row * row % 31) as f64);
        let wide = values(|row| (row * row * 7919 % 100_003) as f64);
        assert_eq!(why("x", &values(|row| row as f64)).unwrap(), "numbers the rows");
        assert_eq!(
            why("t", &values(|row| row as f64 * 0.25)).unwrap(),
            "evenly spaced, as a time or an index is"
        );
        assert!(why("x", &values(|row| (row * row) as f64)).unwrap().contains("in order"));
        assert!(why("x", &shuffled).unwrap().contains("never repeat"));
        assert_eq!(why("x", &repeated), None);
        assert_eq!(why("x", &wide), None);
        for name in ["id", "Unnamed: 0", "", "Patient_ID", "userId", "index"] {
            assert_eq!(why(name, &wide).unwrap(), "an id by its name", "{name}");
        }
        assert_eq!(why("store_id", &repeated).unwrap(), "an id by its name");
        for name in ["index", "acid", "grid", "KID"] {
            assert_eq!(why(name, &repeated), None, "{name}");
        }
        assert_eq!(why("x", &[2.5; 100]).unwrap(), "constant");
        assert_eq!(why("height", &values(|row| (row as f64).sin())), None);
    }

    #[test]
    fn columns_with_many_gaps_are_left_out_and_few_gaps_cost_rows() {
        let sine = values(|row| (row as f64).sin());
        let with_gaps = |name: &str, every: usize| {
            column(name, &sine, (0..100).filter(|row| row % every == 0).collect())
        };
        let few = [with_gaps("a", 50), with_gaps("b", 49), with_gaps("c", 48)];
        let chosen = Columns::choose(&few, 100, None, Missing::Drop);
        assert_eq!(chosen.taken, ["a", "b", "c"]);
        let many =
            [with_gaps("a", 50), with_gaps("half", 2), with_gaps("third", 3), with_gaps("all", 1)];
        let chosen = Columns::choose(&many, 100, None, Missing::Drop);
        assert_eq!(chosen.taken, ["a", "third"]);
        assert_eq!(
            chosen.left_out_in_words(),
            ["`all` (empty)", "`half` (missing in 50 % of rows)"]
        );
        let filled = Columns::choose(&many, 100, None, Missing::Median);
        assert_eq!(filled.taken, ["a", "half", "third"]);
    }

    #[test]
    fn many_columns_are_listed_in_short() {
        let taken = (0..30).map(|index| format!("c{index}")).collect();
        let columns = Columns { taken, ..Columns::default() };
        assert!(columns.taken_in_words().ends_with("`c7` and 22 more"));
    }
}
