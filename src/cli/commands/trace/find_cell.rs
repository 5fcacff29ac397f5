//! Which cell a user means: by labels or by titles, whole or in part, as long as only one is meant.

use crate::cli::error::CommandError;
use crate::report::{Table, TableColumn, TableRow, Titled};

/// At most this many choices are listed.
const MOST_LISTED: usize = 12;

/// Returns the row and the column of the cell that is meant.
pub(super) fn find_cell(
    table: &Table,
    row: &str,
    column: &str,
) -> Result<(usize, usize), CommandError> {
    let rows: Vec<&TableRow> = table.rows.iter().collect();
    let columns: Vec<&TableColumn> = table.columns.iter().collect();
    let places =
        || (0..rows.len()).flat_map(|row| (0..columns.len()).map(move |column| (row, column)));
    // Where values stand in rows, people read the value off the row.
    let row_fits = |at: &(usize, usize)| means(row, &rows[at.0].labels, Some(&columns[at.1].value));
    let column_fits =
        |at: &(usize, usize)| means(column, &columns[at.1].labels, Some(&columns[at.1].value));
    let fits: Vec<Fit> = places()
        .filter_map(|at| Some(Fit { at, is_whole: row_fits(&at)? && column_fits(&at)? }))
        .collect();
    let whole: Vec<&Fit> = fits.iter().filter(|fit| fit.is_whole).collect();
    match (&whole[..], &fits[..]) {
        ([only], _) => return Ok(only.at),
        ([], [only]) => return Ok(only.at),
        ([], []) => {}
        _ => {
            let error = CommandError::usage(format!(
                "`{row}` and `{column}` mean {} cells of the table",
                fits.len()
            ));
            let names = fits.iter().map(|fit| {
                let (row, column) = (rows[fit.at.0], columns[fit.at.1]);
                format!("`{}` `{}`", plain_row(row), plain_column(column))
            });
            return Err(error.hint(format!("say which: {}", listed(names))));
        }
    }
    if !places().any(|at| row_fits(&at).is_some()) {
        let error = CommandError::usage(format!("the table has no row `{row}`"));
        let names = rows.iter().map(|row| with_title(&plain_row(row), &row_name(row)));
        return Err(error.hint(format!("its rows: {}", listed(names))));
    }
    let error = CommandError::usage(format!("the table has no column `{column}`"));
    let names =
        columns.iter().map(|column| with_title(&plain_column(column), &column_name(column)));
    Err(error.hint(format!("its columns: {}", listed(names))))
}

/// A cell that may be meant.
struct Fit {
    at: (usize, usize),
    /// Whether row and column were named in full.
    is_whole: bool,
}

/// Returns whether a text names some labels, and perhaps a value, in full (`true`) or in part.
fn means(text: &str, labels: &[Titled], value: Option<&Titled>) -> Option<bool> {
    let wanted = normalized(text);
    let all: Vec<&Titled> = labels.iter().chain(value).collect();
    let whole = [labels.len(), all.len()];
    // Every choice of parts, each by its name or its title; tables have few levels.
    let mut found = None;
    for choice in 0..3usize.pow(all.len() as u32) {
        let forms: Vec<&str> = all
            .iter()
            .enumerate()
            .filter_map(|(level, part)| match choice / 3usize.pow(level as u32) % 3 {
                0 => None,
                1 => Some(part.name.as_str()),
                _ => Some(part.title.as_str()),
            })
            .collect();
        if !forms.is_empty() && normalized(&forms.join("/")) == wanted {
            found = Some(found.unwrap_or(false) || whole.contains(&forms.len()));
        }
    }
    found
}

/// Makes texts alike that differ in case, in blanks around slashes, or in an arrow at the end.
fn normalized(text: &str) -> String {
    let text = text.trim().trim_end_matches(['↑', '↓']).to_lowercase();
    let parts: Vec<&str> = text.split('/').map(str::trim).collect();
    parts.join("/").trim_matches('/').to_owned()
}

fn plain_row(row: &TableRow) -> String {
    row.labels.iter().map(|label| label.name.as_str()).collect::<Vec<_>>().join("/")
}

fn plain_column(column: &TableColumn) -> String {
    let parts = column.labels.iter().chain([&column.value]);
    parts.map(|part| part.name.as_str()).collect::<Vec<_>>().join("/")
}

/// Returns a name with its title, if that says more.
fn with_title(name: &str, title: &str) -> String {
    if normalized(name) == normalized(title) {
        format!("`{name}`")
    } else {
        format!("`{name}` ({title})")
    }
}

fn joined(labels: &[Titled]) -> String {
    labels.iter().map(|label| label.title.as_str()).collect::<Vec<_>>().join(" / ")
}

/// Returns how a row is printed.
pub(super) fn row_name(row: &TableRow) -> String {
    joined(&row.labels)
}

/// Returns how a column is printed; a value without a title is left out.
pub(super) fn column_name(column: &TableColumn) -> String {
    let value = (!column.value.title.is_empty()).then(|| column.value.clone());
    let name = joined(&column.labels.iter().cloned().chain(value).collect::<Vec<_>>());
    if name.is_empty() { column.value.name.clone() } else { name }
}

fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = if names.len() > MOST_LISTED { ", .." } else { "" };
    names.take(MOST_LISTED).collect::<Vec<_>>().join(", ") + more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(name: &str, title: &str) -> Titled {
        Titled { name: name.to_owned(), title: title.to_owned() }
    }

    #[test]
    fn labels_and_titles_are_understood_in_any_case_and_in_part() {
        let labels = [titled("mnist", "MNIST"), titled("pcae-light", "PCAE, beta / 10")];
        let value = titled("dimension", "Dimension");
        let means = |text: &str| means(text, &labels, Some(&value));
        assert_eq!(means("mnist/pcae-light"), Some(true));
        assert_eq!(means("MNIST / PCAE, beta / 10"), Some(true));
        assert_eq!(means("mnist/pcae, beta/10/dimension ↓"), Some(true));
        assert_eq!(means("Dimension"), Some(false));
        assert_eq!(means("pcae-light"), Some(false));
        assert_eq!(means("pcae"), None);
    }
}
