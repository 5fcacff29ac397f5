//! One verdict for each published number of some tables.
//!
//! A cell is reproduced if two one-sided tests show its mean within the margin of the published
//! one. Else it is better or differs if Welch's test shows a difference; else it is inconclusive.
//! Both kinds of p-values are adjusted by Holm over all cells, each kind for itself: the chance
//! that any cell is called reproduced without being so is at most alpha, and likewise the chance
//! that any is called different.

use std::fmt;

use serde::Serialize;

use crate::report::tables::table::{Margin, Table, TableColumn, TableRow};
use crate::statistics::{
    Difference, Levels, PrintedSpread, Sample, further_runs, holm, next_holm_level, printed_spread,
};

/// What the measured runs say of a published number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// The means are equal within the margin.
    Reproduced,
    /// The means differ, and the measured one is better.
    Better,
    /// The means differ.
    Differs,
    /// Neither can be said.
    Inconclusive {
        /// About how many more runs should decide; nothing if runs alone won't.
        more_runs: Option<usize>,
    },
    /// There are no runs.
    NotMeasured,
}

impl Verdict {
    /// Returns the verdict in a word or two, without how many runs are missing.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Better => "better",
            Self::Differs => "differs",
            Self::Inconclusive { .. } => "inconclusive",
            Self::NotMeasured => "not measured",
        }
    }

    /// Returns whether the runs say what there is to say.
    pub const fn is_decided(&self) -> bool {
        matches!(self, Self::Reproduced | Self::Better | Self::Differs)
    }

    /// Returns whether the published number is matched or surpassed.
    pub const fn is_confirmed(&self) -> bool {
        matches!(self, Self::Reproduced | Self::Better)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())?;
        match self {
            Self::Inconclusive { more_runs: Some(1) } => {
                formatter.write_str(", needs about 1 more run")
            }
            Self::Inconclusive { more_runs: Some(runs) } => {
                write!(formatter, ", needs about {runs} more runs")
            }
            Self::Inconclusive { more_runs: None } => {
                formatter.write_str(", more runs alone won't decide")
            }
            _ => Ok(()),
        }
    }
}

/// A published number with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The table's stage.
    pub table: String,
    /// Index of the row.
    pub row: usize,
    /// Index of the column.
    pub column: usize,
    /// What the runs say.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How far from the published mean counts as reproduced.
    pub margin: f64,
    /// The p-value of equivalence within the margin, adjusted by Holm.
    pub equivalence_p: Option<f64>,
    /// The p-value of a difference, adjusted by Holm.
    pub difference_p: Option<f64>,
    /// Measured minus published mean, with confidence 1 - 2 alpha, not adjusted: within the margin
    /// exactly if the cell alone would be reproduced.
    pub interval: Option<(f64, f64)>,
    /// What to know about the published number or the runs.
    pub note: Option<String>,
}

/// A published number before its verdict.
struct Case<'a> {
    place: (&'a str, usize, usize),
    column: &'a TableColumn,
    row: &'a TableRow,
    published: Sample,
    measured: Option<Sample>,
    difference: Option<Difference>,
    margin: f64,
    note: Option<String>,
}

/// Judges every published number of some tables, each given with the name of its stage.
pub fn judge(tables: &[(String, Table)], alpha: f64) -> Vec<Judged> {
    judge_again(tables, alpha, &[])
}

/// Judges the same tables at a further look with its own share of alpha. What an earlier look
/// decided stays decided, also where runs were added.
///
/// For Holm's method a decided cell is rejected in the one kind of hypothesis and never will be in
/// the other. So each look divides its share by at least the number of true hypotheses, as long as
/// none of them was rejected, and the chance that one ever is, is at most the sum of the shares.
pub fn judge_again(tables: &[(String, Table)], alpha: f64, earlier: &[Judged]) -> Vec<Judged> {
    let cases: Vec<Case<'_>> =
        tables.iter().flat_map(|(name, table)| published_cells(name, table)).collect();
    let decided: Vec<Option<&Judged>> = cases.iter().map(|case| case.decided(earlier)).collect();
    let tested = || {
        let both = cases.iter().zip(&decided);
        both.filter_map(|(case, decided)| Some((case, decided, case.difference?)))
    };
    let rejected = |is: bool| if is { 0.0 } else { 1.0 };
    let equivalence = tested().map(|(case, decided, found)| match decided {
        Some(decided) => rejected(decided.verdict == Verdict::Reproduced),
        None => found.equivalence_p(case.margin),
    });
    let difference = tested().map(|(_, decided, found)| match decided {
        Some(decided) => rejected(decided.verdict != Verdict::Reproduced),
        None => found.difference_p(),
    });
    let (equivalence, difference) =
        (holm(&equivalence.collect::<Vec<_>>()), holm(&difference.collect::<Vec<_>>()));
    let levels = Levels {
        equivalence: next_holm_level(&equivalence, alpha),
        difference: next_holm_level(&difference, alpha),
    };
    let mut adjusted = equivalence.into_iter().zip(difference);
    let mut judged = Vec::with_capacity(cases.len());
    for (case, decided) in cases.iter().zip(decided) {
        let p_values = case.difference.and_then(|_| adjusted.next());
        judged.push(decided.cloned().unwrap_or_else(|| case.judged(p_values, alpha, levels)));
    }
    judged
}

impl Case<'_> {
    /// Returns what an earlier look decided.
    fn decided<'j>(&self, earlier: &'j [Judged]) -> Option<&'j Judged> {
        earlier.iter().find(|judged| {
            judged.verdict.is_decided()
                && (judged.table.as_str(), judged.row, judged.column) == self.place
        })
    }

    fn judged(&self, p_values: Option<(f64, f64)>, alpha: f64, levels: Levels) -> Judged {
        let (table, row, column) = self.place;
        Judged {
            table: table.to_owned(),
            row,
            column,
            verdict: self.verdict(p_values, alpha, levels),
            margin: self.margin,
            equivalence_p: p_values.map(|(equivalence, _)| equivalence),
            difference_p: p_values.map(|(_, difference)| difference),
            interval: self.difference.map(|found| found.interval(1.0 - 2.0 * alpha)),
            note: self.note.clone(),
        }
    }

    fn verdict(&self, p_values: Option<(f64, f64)>, alpha: f64, levels: Levels) -> Verdict {
        let Some(measured) = self.measured else {
            return Verdict::NotMeasured;
        };
        match p_values {
            Some((equivalence, _)) if equivalence <= alpha => Verdict::Reproduced,
            Some((_, difference)) if difference <= alpha => {
                if self.is_better(measured.mean) {
                    Verdict::Better
                } else {
                    Verdict::Differs
                }
            }
            _ => {
                let more_runs = further_runs(&measured, &self.published, self.margin, levels);
                // Whatever else is unknown, a second run gives a variance to reckon with.
                let single = measured.variance().is_none();
                Verdict::Inconclusive { more_runs: more_runs.or(single.then_some(1)) }
            }
        }
    }

    fn is_better(&self, measured: f64) -> bool {
        let labels = self.row.labels.iter().chain(&self.column.labels);
        let labels: Vec<&str> = labels.map(|label| label.name.as_str()).collect();
        let distance = |mean: f64| self.column.best.distance(&labels, mean);
        distance(measured) < distance(self.published.mean)
    }
}

fn published_cells<'a>(name: &'a str, table: &'a Table) -> Vec<Case<'a>> {
    let mut cases = Vec::new();
    for (row, line) in table.rows.iter().enumerate() {
        for (column, (cell, shown)) in line.cells.iter().zip(&table.columns).enumerate() {
            let labels = line.labels.iter().chain(&shown.labels);
            let labels: Vec<&str> = labels.map(|label| label.name.as_str()).collect();
            if let Some((mean, spread)) = cell.published
                && table.comparable.covers(&labels)
            {
                let runs = table.published_runs.get();
                let (published, note) = published_sample(mean, spread, runs, shown);
                cases.push(case((name, row, column), line, shown, published, note));
            }
        }
    }
    cases
}

fn case<'a>(
    place: (&'a str, usize, usize),
    row: &'a TableRow,
    column: &'a TableColumn,
    published: Sample,
    note: Option<String>,
) -> Case<'a> {
    let measured = Sample::of(&row.cells[place.2].values);
    let difference = measured.and_then(|measured| Difference::between(&measured, &published));
    let margin = margin_around(published.mean, column.margin);
    let single = measured.is_some() && difference.is_none();
    let notes = [
        note,
        single.then(|| "a single run has no spread to test with".to_owned()),
        (margin == 0.0)
            .then(|| "the margin is 0: state one with `margin: Absolute(..)`".to_owned()),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Case { place, column, row, published, measured, difference, margin, note }
}

/// Returns how far from a published mean counts as reproduced.
fn margin_around(mean: f64, margin: Option<Margin>) -> f64 {
    const DEFAULT_SHARE: f64 = 0.1;
    match margin {
        None => mean.abs() * DEFAULT_SHARE,
        Some(Margin::Relative(share)) => mean.abs() * share.get(),
        Some(Margin::Absolute(reach)) => reach.get(),
    }
}

/// Reads a published mean and spread, and says what had to be assumed.
fn published_sample(
    mean: f64,
    spread: Option<f64>,
    runs: usize,
    column: &TableColumn,
) -> (Sample, Option<String>) {
    let Some(spread) = spread else {
        let note = "no spread is published: the mean is taken to be exact";
        return (Sample::exact(mean), Some(note.to_owned()));
    };
    if runs < 2 {
        let note = "a single run is published: it is taken to be exact";
        return (Sample::exact(mean), Some(note.to_owned()));
    }
    let deviation = Sample::published(mean, spread * spread, runs);
    if !column.counts {
        return (deviation, None);
    }
    let decimals = column.digits.max(decimals(mean)).max(decimals(spread));
    match printed_spread(mean, spread, runs, decimals) {
        PrintedSpread::Deviation => (deviation, None),
        PrintedSpread::Variance => {
            let note = format!(
                "no {runs} whole numbers have a mean of {mean} and a standard deviation of \
                 {spread}: it is taken to be the variance"
            );
            (Sample::published(mean, spread, runs), Some(note))
        }
        PrintedSpread::Neither => {
            let note = format!("no {runs} whole numbers have a mean of {mean} and this spread");
            (deviation, Some(note))
        }
    }
}

/// Counts the decimals with which a number is written.
fn decimals(value: f64) -> usize {
    value.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::record::tests::record;
    use crate::report::tables::tabulate::tabulate;
    use crate::report::tables::tabulate::tests::spec;

    /// Makes a table of one row for each list of values, judged at 5%.
    fn judged(value: &str, rows: &[(&str, &[f64])]) -> Vec<Judged> {
        let text = format!(
            r#"(caption: "c", label: "l", rows: ["model"], over: ["seed"],
                values: [Value(field: "x", title: "X", {value})])"#
        );
        let records: Vec<_> = rows
            .iter()
            .flat_map(|(model, values)| {
                values.iter().enumerate().map(move |(seed, value)| {
                    record(&[("model", model), ("seed", &seed.to_string())], &[("x", *value)])
                })
            })
            .collect();
        let table = tabulate(&spec(&text), &records).unwrap();
        judge(&[("t".to_owned(), table)], 0.05)
    }

    fn verdicts(value: &str, rows: &[(&str, &[f64])]) -> Vec<String> {
        judged(value, rows).iter().map(|judged| judged.verdict.to_string()).collect()
    }

    #[test]
    fn each_published_number_gets_one_verdict() {
        let found = verdicts(
            r#"best: Lowest, published: {"same": (4, 0), "less": (8, 0.4), "more": (8, 0.4),
                                         "wide": (8, 4.0)}"#,
            &[
                ("same", &[4.0, 4.0, 4.0]),
                ("less", &[5.0, 5.1, 4.9, 5.0]),
                ("more", &[12.0, 12.1, 11.9, 12.0]),
                ("wide", &[7.0, 9.5, 8.0]),
                ("unpublished", &[1.0, 2.0]),
            ],
        );
        let wide = "inconclusive, more runs alone won't decide";
        assert_eq!(found, ["reproduced", "better", "differs", wide]);
    }

    #[test]
    fn the_direction_of_better_is_that_of_best() {
        let one = |best: &str, mean: f64| {
            let value = format!(r#"best: {best}, published: {{"a": (8, 0.1)}}"#);
            verdicts(&value, &[("a", &[mean, mean + 0.01, mean - 0.01])]).concat()
        };
        assert_eq!(one("Highest", 10.0), "better");
        assert_eq!(one("Highest", 6.0), "differs");
        assert_eq!(one("Closest(5.0)", 6.0), "better");
        assert_eq!(one("Closest(5.0)", 10.0), "differs");
        assert_eq!(one("None", 6.0), "differs");
    }

    #[test]
    fn a_wider_margin_reproduces_what_a_narrow_one_leaves_open() {
        let one = |margin: &str| {
            let value = format!(r#"published: {{"a": (10, 0.5)}}, margin: {margin}"#);
            verdicts(&value, &[("a", &[9.8, 10.3, 10.1, 9.6, 10.4])]).concat()
        };
        assert_eq!(one("Absolute(2.0)"), "reproduced");
        assert_eq!(one("Relative(0.2)"), "reproduced");
        assert!(one("Absolute(0.1)").starts_with("inconclusive"));
    }

    #[test]
    fn a_single_run_is_inconclusive_and_says_why() {
        let found = judged(r#"published: {"a": (10, 0.5)}"#, &[("a", &[10.0])]);
        assert!(matches!(found[0].verdict, Verdict::Inconclusive { more_runs: Some(_) }));
        assert_eq!(found[0].note.as_deref(), Some("a single run has no spread to test with"));
        assert_eq!((found[0].equivalence_p, found[0].difference_p), (None, None));
    }

    #[test]
    fn a_spread_that_can_only_be_a_variance_is_used_as_one() {
        let values: &[(&str, &[f64])] = &[("a", &[35.0, 33.0, 34.0, 36.0, 35.0])];
        let counts = judged(r#"counts: true, published: {"a": (34.80, 6.56)}"#, values);
        assert_eq!(
            counts[0].note.as_deref(),
            Some(
                "no 5 whole numbers have a mean of 34.8 and a standard deviation of 6.56: \
                 it is taken to be the variance"
            )
        );
        let plain = judged(r#"published: {"a": (34.80, 6.56)}"#, values);
        assert_eq!(plain[0].note, None);
        assert!(counts[0].equivalence_p < plain[0].equivalence_p, "a smaller spread says more");
    }

    #[test]
    fn what_had_to_be_assumed_is_noted() {
        let note = |published: &str| {
            let value = format!(r#"published: {{"a": {published}}}"#);
            judged(&value, &[("a", &[1.0, 2.0])])[0].note.clone().unwrap()
        };
        assert_eq!(note("(10, None)"), "no spread is published: the mean is taken to be exact");
        assert_eq!(note("(0, 1)"), "the margin is 0: state one with `margin: Absolute(..)`");
    }

    #[test]
    fn more_cells_make_every_verdict_harder() {
        let alone: &[(&str, &[f64])] = &[("a", &[10.0, 10.6, 11.1])];
        let p_alone = judged(r#"published: {"a": (8, 0.5)}"#, alone)[0].difference_p.unwrap();
        let both: &[(&str, &[f64])] = &[alone[0], ("b", &[10.0, 9.0, 11.0])];
        let published = r#"published: {"a": (8, 0.5), "b": (10, 1)}"#;
        let p_beside = judged(published, both)[0].difference_p.unwrap();
        assert!((p_beside - 2.0 * p_alone).abs() < 1e-12, "{p_alone} {p_beside}");
    }

    #[test]
    fn a_verdict_is_one_word_in_json() {
        let found = judged(r#"published: {"a": (4, 0)}"#, &[("a", &[4.0, 4.0])]);
        let json = serde_json::to_value(&found[0]).unwrap();
        assert_eq!(json["verdict"], "reproduced");
        let open = Verdict::Inconclusive { more_runs: Some(3) };
        let json = serde_json::to_string(&open).unwrap();
        assert_eq!(json, r#"{"verdict":"inconclusive","more_runs":3}"#);
    }

    #[test]
    fn numbers_that_cannot_be_compared_get_no_verdict() {
        let judged = |comparable: &str| {
            let text = format!(
                r#"(caption: "c", label: "l", rows: ["m"], over: ["s"], comparable: {comparable},
                    values: [Value(field: "x", title: "X", published: {{"a": (1, 0.1), "b": (1, 0.1)}})])"#
            );
            let run = |m, s, x| record(&[("m", m), ("s", s)], &[("x", x)]);
            let records =
                [run("a", "0", 1.0), run("a", "1", 1.1), run("b", "0", 1.0), run("b", "1", 1.1)];
            let table = tabulate(&spec(&text), &records).unwrap();
            judge(&[("t".to_owned(), table)], 0.05).len()
        };
        assert_eq!((judged("All"), judged(r#"Except(["b"])"#), judged("None")), (2, 1, 0));
    }
}
