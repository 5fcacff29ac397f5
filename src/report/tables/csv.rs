//! A table as CSV for other programs: one line per cell, names instead of display titles.
//!
//! Quoting follows RFC 4180 (CRLF line ends, doubled quotes). Numbers have all their
//! digits, unlike in formats for people; an absent number is an empty field, never a dash. The
//! values behind a mean are separated by spaces, in the order of their records. Marks are words.

use crate::report::tables::marks::{Rank, Unjudged};
use crate::report::tables::table::{Given, Table, TableColumn, TableRow};

/// The columns after the labels and the given texts.
const NUMBERS: [&str; 10] = [
    "value",
    "mean",
    "std",
    "ddof",
    "n",
    "values",
    "published_mean",
    "published_std",
    "rank",
    "no_verdict",
];

/// Renders one header line and one line per cell, row by row.
pub fn render(table: &Table) -> String {
    let axes = table.row_axes.iter().chain(&table.column_axes).map(|axis| axis.name.as_str());
    let given = table.given.iter().map(|given| given.title.as_str());
    let mut text = line(axes.chain(given).chain(NUMBERS));
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let number =
                |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
            let values: Vec<String> = cell.values.iter().map(f64::to_string).collect();
            let published = cell.published;
            let fields = [
                column.value.name.clone(),
                number(cell.mean),
                number(cell.std),
                table.spread.lost_degrees_of_freedom().to_string(),
                cell.n.to_string(),
                values.join(" "),
                number(published.map(|(mean, _)| mean)),
                number(published.and_then(|(_, std)| std)),
                cell.rank.map(rank).unwrap_or_default().to_owned(),
                cell.unjudged.map(Unjudged::word).unwrap_or_default().to_owned(),
            ];
            let labels = row.labels.iter().chain(&column.labels).map(|label| label.name.as_str());
            let given = table.given.iter().map(|given| given_text(given, row, column));
            text += &line(labels.chain(given).chain(fields.iter().map(String::as_str)));
        }
    }
    text
}

const fn rank(rank: Rank) -> &'static str {
    match rank {
        Rank::Best => "best",
        Rank::NotToldApart => "not told apart from the best",
    }
}

/// Returns the text given for a row, or for one value of it.
fn given_text<'a>(given: &'a Given, row: &TableRow, column: &TableColumn) -> &'a str {
    let labels: Vec<&str> = row.labels.iter().map(|label| label.name.as_str()).collect();
    let labels = labels.join("/");
    let own = given.cells.get(&Given::key(&labels, &column.value.name));
    own.or_else(|| given.cells.get(&labels)).map_or("", String::as_str)
}

fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    fields.map(quote).collect::<Vec<_>>().join(",") + "\r\n"
}

/// Quotes a field if RFC 4180 asks for it.
fn quote(field: &str) -> String {
    if field.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tabulate::tests::{tall, wide};

    #[test]
    fn every_cell_is_one_line_and_absent_numbers_are_empty() {
        insta::assert_snapshot!(render(&wide()).replace("\r\n", "\n"), @"
        set,model,value,mean,std,ddof,n,values,published_mean,published_std,rank,no_verdict
        sprites,pcae,dimension,4,0,0,2,4 4,4,0,best,
        sprites,hae,dimension,7.5,0.5,0,2,7 8,,,not told apart from the best,
        sprites,irmae,dimension,6,0,0,2,6 6,,,not told apart from the best,
        shapes,pcae,dimension,5,0,0,2,5 5,,,best,
        shapes,hae,dimension,6,,0,1,6,6.2,0.4,,
        shapes,irmae,dimension,,,0,0,,,,,
        ");
    }

    #[test]
    fn a_published_mean_without_spread_leaves_its_spread_empty() {
        insta::assert_snapshot!(render(&tall()).replace("\r\n", "\n"), @"
        model,value,mean,std,ddof,n,values,published_mean,published_std,rank,no_verdict
        pcae,dimension,4,0,0,2,4 4,4,0,best,
        hae,dimension,7.5,0.5,0,2,7 8,7.4,,not told apart from the best,
        irmae,dimension,6,0,0,2,6 6,,,not told apart from the best,
        ");
    }

    #[test]
    fn quotes_commas_and_line_breaks_are_quoted() {
        assert_eq!(quote("plain"), "plain");
        assert_eq!(quote("a,b"), "\"a,b\"");
        assert_eq!(quote("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
    }
}
