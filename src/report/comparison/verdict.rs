//! One verdict for each published number of some tables.
//!
//! A cell is equivalent if an exact test shows its mean within the margin of the published one, for
//! which the range of its values must be known. Else it is better or differs if an exact test shows
//! that published and measured runs have different distributions. Both kinds of p-values are
//! adjusted by Holm over all cells, each kind for itself: the chance that any cell is called
//! equivalent without being so is at most alpha, and likewise the chance that any is called
//! different. What remains is described: in how many runs the published mean is matched. That
//! claims nothing of other runs. A cell that can't be compared gets the reason instead of a verdict.

use serde::{Serialize, Serializer};

use crate::report::tables::cell::{Cell, printed_decimals};
use crate::report::tables::marks::Unjudged;
use crate::report::tables::table::{Margin, Table, TableColumn, TableRow};
use crate::statistics::{
    BoundedMean, MOST_RUNS, PrintedSpread, PublishedRuns, holm, next_holm_level, printed_spread,
    runs_needed,
};

/// What the measured runs say of a published number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The means are equal within the margin, tested.
    Equivalent,
    /// The runs differ, tested, and the measured mean is better.
    Better,
    /// The runs differ, tested.
    Differs,
    /// Every run matches the published mean; nothing is claimed of others.
    Matches,
    /// Neither can be said.
    Inconclusive,
    /// There are no runs.
    NotMeasured,
    /// There is no verdict, whatever the runs say.
    Unjudged(Unjudged),
}

impl Verdict {
    /// The verdicts in the order in which they are told.
    pub const ALL: [Self; 11] = [
        Self::Equivalent,
        Self::Better,
        Self::Differs,
        Self::Matches,
        Self::Inconclusive,
        Self::NotMeasured,
        Self::Unjudged(Unjudged::Tuned),
        Self::Unjudged(Unjudged::StandIn),
        Self::Unjudged(Unjudged::NotComparable),
        Self::Unjudged(Unjudged::AtItsLimit),
        Self::Unjudged(Unjudged::Collapsed),
    ];

    /// Returns the verdict in a word or two.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Equivalent => "equivalent",
            Self::Better => "better",
            Self::Differs => "differs",
            Self::Matches => "matches",
            Self::Inconclusive => "inconclusive",
            Self::NotMeasured => "not measured",
            Self::Unjudged(reason) => reason.word(),
        }
    }

    /// Returns what the verdict means, in a sentence without its end.
    pub const fn meaning(&self) -> &'static str {
        match self {
            Self::Equivalent => {
                "an exact test shows our mean within the margin of the published one"
            }
            Self::Better => "an exact test tells our runs from the published ones; ours are better",
            Self::Differs => "an exact test tells our runs from the published ones",
            Self::Matches => {
                "every run is within the margin of the published mean; no error rate is claimed"
            }
            Self::Inconclusive => "not every run matches, and no test decides",
            Self::NotMeasured => "there are no runs",
            Self::Unjudged(reason) => reason.meaning(),
        }
    }

    /// Returns whether a test decided.
    pub const fn is_decided(&self) -> bool {
        matches!(self, Self::Equivalent | Self::Better | Self::Differs)
    }

    /// Returns whether more runs may bring a verdict.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Matches | Self::Inconclusive)
    }

    /// Returns whether a test shows that the published number is matched or surpassed.
    pub const fn is_confirmed(&self) -> bool {
        matches!(self, Self::Equivalent | Self::Better)
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.word().replace(' ', "-"))
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
    pub verdict: Verdict,
    /// How near to the published mean counts as a match, exclusively.
    pub margin: f64,
    /// How many runs match.
    pub matching: usize,
    /// How many runs there are.
    pub runs: usize,
    /// About how many runs decide, if further ones are like these; nothing if it is decided, or if
    /// no number of runs up to a thousand decides.
    pub runs_needed: Option<usize>,
    /// The p-value of equivalence within the margin, adjusted by Holm; nothing without a range.
    pub equivalence_p: Option<f64>,
    /// The p-value of a difference, adjusted by Holm; nothing without a published spread.
    pub difference_p: Option<f64>,
    /// Where our mean is, each end wrong with a chance of at most alpha, not adjusted: within the
    /// margin of the published mean exactly if the cell alone would be equivalent.
    pub interval: Option<(f64, f64)>,
    /// What to know about the published number or the runs.
    pub note: Option<String>,
}

impl Judged {
    /// Returns the verdict with how many runs match, where that is all there is to say.
    pub fn text(&self) -> String {
        let word = self.verdict.word();
        match self.verdict {
            Verdict::Matches => format!("matches in {0} of {0} runs", self.runs),
            Verdict::Inconclusive => {
                format!("{word}, matches in {} of {} runs", self.matching, self.runs)
            }
            _ => word.to_owned(),
        }
    }

    /// Returns how many runs would decide, if the question is open.
    pub fn needs(&self) -> Option<String> {
        let open = self.verdict.is_open() || self.verdict == Verdict::NotMeasured;
        open.then(|| match self.runs_needed {
            Some(runs) => format!("about {runs}"),
            // What can't be shown to be equivalent, and does not differ, stays open.
            None if self.equivalence_p.is_none() => "–".to_owned(),
            None => format!("over {MOST_RUNS}"),
        })
    }
}

/// A published number before its verdict.
struct Case<'a> {
    place: (&'a str, usize, usize),
    column: &'a TableColumn,
    row: &'a TableRow,
    mean: f64,
    published: Option<PublishedRuns>,
    range: Option<BoundedMean>,
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
    let rejected = |is: bool| if is { 0.0 } else { 1.0 };
    let both = || cases.iter().zip(&decided);
    let equivalence = both().map(|(case, decided)| {
        let equals = |decided: &Judged| rejected(decided.verdict == Verdict::Equivalent);
        case.equivalence_p().map(|p| decided.map_or(p, equals))
    });
    let difference = both().map(|(case, decided)| {
        let differs = |decided: &Judged| rejected(decided.verdict != Verdict::Equivalent);
        case.difference_p().map(|p| decided.map_or(p, differs))
    });
    let equivalence = adjusted(&equivalence.collect::<Vec<_>>(), alpha);
    let difference = adjusted(&difference.collect::<Vec<_>>(), alpha);
    let levels = Levels { equivalence: equivalence.1, difference: difference.1 };
    let p_values = equivalence.0.into_iter().zip(difference.0);
    let judged = cases.iter().zip(decided).zip(p_values);
    judged
        .map(|((case, decided), p_values)| match decided {
            Some(decided) => decided.clone(),
            None => case.judged(p_values, alpha, levels),
        })
        .collect()
}

/// The levels at which the next cell is tested.
#[derive(Clone, Copy)]
struct Levels {
    equivalence: f64,
    difference: f64,
}

/// Adjusts the p-values that there are; returns the level of the next one, too.
fn adjusted(p_values: &[Option<f64>], alpha: f64) -> (Vec<Option<f64>>, f64) {
    let known: Vec<f64> = p_values.iter().flatten().copied().collect();
    let known = holm(&known);
    let level = next_holm_level(&known, alpha);
    let mut known = known.into_iter();
    (p_values.iter().map(|p| p.and_then(|_| known.next())).collect(), level)
}

impl Case<'_> {
    /// Returns the margin less so little that a difference of exactly the margin is beyond it,
    /// however it is rounded.
    fn exclusive_margin(&self) -> f64 {
        self.margin * (1.0 - 1e-9)
    }

    fn cell(&self) -> &Cell {
        &self.row.cells[self.place.2]
    }

    /// Returns what an earlier look decided.
    fn decided<'j>(&self, earlier: &'j [Judged]) -> Option<&'j Judged> {
        earlier.iter().find(|judged| {
            judged.verdict.is_decided()
                && (judged.table.as_str(), judged.row, judged.column) == self.place
        })
    }

    /// Returns the runs, if they are to be judged.
    fn tested_runs(&self) -> Option<&[f64]> {
        let cell = self.cell();
        (cell.unjudged.is_none() && cell.n > 0).then_some(&cell.values)
    }

    fn equivalence_p(&self) -> Option<f64> {
        Some(self.range?.equivalence_p(self.tested_runs()?, self.mean, self.exclusive_margin()))
    }

    fn difference_p(&self) -> Option<f64> {
        Some(self.published.as_ref()?.difference_p(self.tested_runs()?))
    }

    fn judged(&self, p_values: (Option<f64>, Option<f64>), alpha: f64, levels: Levels) -> Judged {
        let (table, row, column) = self.place;
        let runs = &self.cell().values;
        let matching =
            runs.iter().filter(|run| (*run - self.mean).abs() < self.exclusive_margin()).count();
        let verdict = self.verdict(p_values, alpha, matching);
        let open = verdict.is_open() || verdict == Verdict::NotMeasured;
        Judged {
            table: table.to_owned(),
            row,
            column,
            verdict,
            margin: self.margin,
            matching,
            runs: runs.len(),
            runs_needed: if open { self.runs_needed(levels) } else { None },
            equivalence_p: p_values.0,
            difference_p: p_values.1,
            interval: self.range.and_then(|range| Some(range.interval(self.tested_runs()?, alpha))),
            note: self.note.clone(),
        }
    }

    fn verdict(
        &self,
        p_values: (Option<f64>, Option<f64>),
        alpha: f64,
        matching: usize,
    ) -> Verdict {
        let cell = self.cell();
        let shown = |p: Option<f64>| p.is_some_and(|p| p <= alpha);
        match (cell.mean, cell.unjudged) {
            (None, _) => Verdict::NotMeasured,
            (Some(_), Some(reason)) => Verdict::Unjudged(reason),
            (Some(_), None) if shown(p_values.0) => Verdict::Equivalent,
            (Some(mean), None) if shown(p_values.1) => {
                if self.is_better(mean) {
                    Verdict::Better
                } else {
                    Verdict::Differs
                }
            }
            (Some(_), None) if matching == cell.n => Verdict::Matches,
            (Some(_), None) => Verdict::Inconclusive,
        }
    }

    /// Returns about how many runs decide, whichever way.
    fn runs_needed(&self, levels: Levels) -> Option<usize> {
        let runs = &self.cell().values;
        let equivalence = self.range.and_then(|range| {
            runs_needed(range, runs, self.mean, self.exclusive_margin(), levels.equivalence)
        });
        let published = self.published.as_ref();
        let difference = published.and_then(|known| known.runs_needed(runs, levels.difference));
        equivalence.into_iter().chain(difference).min()
    }

    fn is_better(&self, measured: f64) -> bool {
        let labels = self.row.labels.iter().chain(&self.column.labels);
        let labels: Vec<&str> = labels.map(|label| label.name.as_str()).collect();
        let distance = |mean: f64| self.column.best.distance(&labels, mean);
        distance(measured) < distance(self.mean)
    }
}

fn published_cells<'a>(name: &'a str, table: &'a Table) -> Vec<Case<'a>> {
    let mut cases = Vec::new();
    for (row, line) in table.rows.iter().enumerate() {
        for (column, (cell, shown)) in line.cells.iter().zip(&table.columns).enumerate() {
            if let Some(published) = cell.published {
                let runs = table.published_runs.get();
                cases.push(case((name, row, column), line, shown, published, runs));
            }
        }
    }
    cases
}

fn case<'a>(
    place: (&'a str, usize, usize),
    row: &'a TableRow,
    column: &'a TableColumn,
    (mean, spread): (f64, Option<f64>),
    runs: usize,
) -> Case<'a> {
    let cell = &row.cells[place.2];
    let (published, note) = published_runs(mean, spread, runs, column);
    let margin = margin_around(mean, column.margin);
    let range = range(cell, column);
    let outside = range.is_some_and(|range| !range.holds(&cell.values));
    let notes = [
        note,
        (cell.repeats > 0).then(|| {
            format!(
                "{} of {} runs repeat a result, which counts once",
                cell.repeats,
                cell.sources.len()
            )
        }),
        outside.then(|| "a run is outside of the range: equivalence can't be tested".to_owned()),
        (margin == 0.0)
            .then(|| "the margin is 0: state one with `margin: Absolute(..)`".to_owned()),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    let range = range.filter(|_| !outside && margin > 0.0);
    Case { place, column, row, mean, published, range, margin, note }
}

/// Returns the range of a cell's values, if it is known: as declared, or from one coordinate to all.
fn range(cell: &Cell, column: &TableColumn) -> Option<BoundedMean> {
    let declared =
        column.range.map(|range| BoundedMean { low: range.low.get(), high: range.high.get() });
    let counted = cell.coordinates.filter(|coordinates| *coordinates > 1);
    declared.or(counted.map(|coordinates| BoundedMean { low: 1.0, high: coordinates as f64 }))
}

/// Returns how near to a published mean counts as a match.
fn margin_around(mean: f64, margin: Option<Margin>) -> f64 {
    const DEFAULT_SHARE: f64 = 0.1;
    match margin {
        None => mean.abs() * DEFAULT_SHARE,
        Some(Margin::Relative(share)) => mean.abs() * share.get(),
        Some(Margin::Absolute(reach)) => reach.get(),
    }
}

/// Reads a published mean and spread, and says what had to be assumed.
fn published_runs(
    mean: f64,
    spread: Option<f64>,
    runs: usize,
    column: &TableColumn,
) -> (Option<PublishedRuns>, Option<String>) {
    let decimals = printed_decimals(mean, spread, column.digits);
    let Some(spread) = spread.or((runs == 1).then_some(0.0)) else {
        let note = "no spread is published: a difference can't be tested";
        return (None, Some(note.to_owned()));
    };
    if !column.counts {
        return (Some(PublishedRuns::real(mean, spread, runs, decimals)), None);
    }
    let note = match printed_spread(mean, spread, runs, decimals) {
        PrintedSpread::Deviation => None,
        PrintedSpread::Variance => Some(format!(
            "no {runs} whole numbers have a mean of {mean} and a standard deviation of {spread}: \
             it is taken to be the variance"
        )),
        PrintedSpread::Neither => Some(format!(
            "no {runs} whole numbers have a mean of {mean} and this spread: a difference can't be \
             tested"
        )),
    };
    (PublishedRuns::whole(mean, spread, runs, decimals), note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::record::tests::record;
    use crate::report::records::record::{Record, RecordValue};
    use crate::report::tables::tabulate::tabulate;
    use crate::report::tables::tabulate::tests::spec;

    /// Makes a table of one row for each list of values, judged at 5%.
    fn judged(value: &str, rows: &[(&str, &[f64])]) -> Vec<Judged> {
        judged_table("", value, rows, None)
    }

    /// The same with settings of the table, and records of so many coordinates.
    fn judged_table(
        settings: &str,
        value: &str,
        rows: &[(&str, &[f64])],
        coordinates: Option<usize>,
    ) -> Vec<Judged> {
        let text = format!(
            r#"(caption: "c", label: "l", rows: ["model"], over: ["seed"], {settings}
                values: [Value(field: "x", title: "X", {value})])"#
        );
        let runs = rows.iter().flat_map(|(model, values)| {
            values.iter().enumerate().map(move |(seed, value)| {
                let plain =
                    record(&[("model", model), ("seed", &seed.to_string())], &[("x", *value)]);
                let mut values = plain.values().clone();
                // No two runs have the same variances.
                let list = |count| RecordValue::List(vec![0.1 * (seed + 1) as f64; count]);
                values.extend(coordinates.map(|count| ("variances".to_owned(), list(count))));
                Record::new(plain.labels().clone(), values).unwrap()
            })
        });
        let records: Vec<_> = runs.collect();
        let table = tabulate(&spec(&text), &records).unwrap();
        judge(&[("t".to_owned(), table)], 0.05)
    }

    fn verdicts(value: &str, rows: &[(&str, &[f64])]) -> Vec<String> {
        judged(value, rows).iter().map(Judged::text).collect()
    }

    #[test]
    fn each_published_number_gets_one_verdict() {
        let found = verdicts(
            r#"best: Lowest, published: {"same": (4, 0), "less": (8, 0.4), "more": (8, 0.4),
                                         "wide": (8, 4.0)}"#,
            &[
                ("same", &[4.0, 4.0, 4.0]),
                ("less", &[5.0, 5.1, 4.9, 5.0, 5.0]),
                ("more", &[12.0, 12.1, 11.9, 12.0, 12.0]),
                ("wide", &[7.0, 9.5, 8.0]),
                ("unpublished", &[1.0, 2.0]),
            ],
        );
        let wide = "inconclusive, matches in 1 of 3 runs";
        assert_eq!(found, ["matches in 3 of 3 runs", "better", "differs", wide]);
    }

    #[test]
    fn equal_runs_match_but_are_equivalent_only_if_they_are_many() {
        let one = |runs: usize| {
            let value = r#"counts: true, margin: Absolute(0.5), published: {"a": (4, 0)}"#;
            judged_table("", value, &[("a", &vec![4.0; runs])], Some(16)).remove(0)
        };
        for runs in [2, 5, 20] {
            let found = one(runs);
            assert_eq!(found.verdict, Verdict::Matches, "{runs}");
            assert_eq!(found.text(), format!("matches in {runs} of {runs} runs"));
            let needed = found.runs_needed.unwrap();
            assert_eq!(one(needed).verdict, Verdict::Equivalent, "{needed}");
            assert_eq!(one(needed - 1).verdict, Verdict::Matches, "{needed}");
        }
    }

    #[test]
    fn a_difference_of_exactly_the_margin_is_no_match() {
        let value =
            r#"counts: true, margin: Absolute(1), range: (1, 12), published: {"a": (10, 0)}"#;
        let found = judged(value, &[("a", &[11.0; 5])]).remove(0);
        assert_eq!((found.matching, found.verdict), (0, Verdict::Differs));
        let many = judged(value, &[("a", &vec![11.0; 200])]).remove(0);
        assert_eq!(many.verdict, Verdict::Differs);
        assert!(many.equivalence_p.unwrap() > 0.99);
        // 3.9 is not exactly 0.2 below 4.1, nor 4.3 above.
        let value = r#"margin: Absolute(0.2), published: {"a": (4.1, 0.5)}"#;
        assert_eq!(judged(value, &[("a", &[3.9, 4.3])])[0].matching, 0);
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
    fn without_a_range_nothing_is_equivalent() {
        let one = |more: &str| {
            let value = format!(r#"published: {{"a": (10, 0.5)}}, margin: Absolute(2.0) {more}"#);
            judged(&value, &[("a", &[9.8, 10.3, 10.1, 9.6, 10.4].repeat(3))]).remove(0)
        };
        let unbounded = one("");
        assert_eq!((unbounded.verdict, unbounded.equivalence_p), (Verdict::Matches, None));
        assert_eq!(one(", range: (0, 15)").verdict, Verdict::Equivalent);
        let outside = one(", range: (0, 10)");
        assert_eq!(outside.verdict, Verdict::Matches);
        assert!(outside.note.unwrap().contains("outside of the range"));
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
        assert_eq!(judged(r#"published: {"a": (34.80, 6.56)}"#, values)[0].note, None);
    }

    #[test]
    fn what_can_not_be_tested_is_noted() {
        let one = |published: &str| {
            let value = format!(r#"counts: true, published: {{"a": {published}}}"#);
            judged(&value, &[("a", &[1.0, 2.0])]).remove(0)
        };
        let note = |published| one(published).note.unwrap();
        assert_eq!(note("(10, None)"), "no spread is published: a difference can't be tested");
        assert_eq!(one("(10, None)").difference_p, None);
        assert!(note("(4.1, 0.3)").ends_with("this spread: a difference can't be tested"));
        assert_eq!(note("(0, 0)"), "the margin is 0: state one with `margin: Absolute(..)`");
    }

    #[test]
    fn more_cells_make_every_verdict_harder() {
        let alone: &[(&str, &[f64])] = &[("a", &[10.0, 10.6, 11.1])];
        let p_alone = judged(r#"published: {"a": (8, 0.5)}"#, alone)[0].difference_p.unwrap();
        let both: &[(&str, &[f64])] = &[alone[0], ("b", &[10.0, 9.0, 11.0])];
        let published = r#"published: {"a": (8, 0.5), "b": (10, 1)}"#;
        let beside = judged(published, both);
        let p_beside = beside[0].difference_p.unwrap();
        assert!((p_beside - 2.0 * p_alone).abs() < 1e-12, "{p_alone} {p_beside}");
        assert_eq!(beside[0].runs_needed, Some(4), "three were enough for one cell");
    }

    #[test]
    fn a_verdict_is_one_word_in_json() {
        let found = judged(r#"published: {"a": (4, 0)}"#, &[("a", &[4.0, 4.0])]);
        let json = serde_json::to_value(&found[0]).unwrap();
        assert_eq!(json["verdict"], "matches");
        let limit = Verdict::Unjudged(Unjudged::AtItsLimit);
        assert_eq!(serde_json::to_value(limit).unwrap(), "at-its-limit");
    }

    #[test]
    fn every_verdict_is_counted_and_explained() {
        let words: std::collections::BTreeSet<&str> =
            Verdict::ALL.iter().map(Verdict::word).collect();
        assert_eq!(words.len(), Verdict::ALL.len());
        assert!(Unjudged::ALL.iter().all(|reason| words.contains(reason.word())));
    }

    #[test]
    fn what_can_not_be_compared_gets_the_reason_for_a_verdict() {
        let rows: &[(&str, &[f64])] = &[("a", &[1.0, 1.1]), ("b", &[1.0, 1.1]), ("c", &[9.0; 5])];
        let words = |unjudged: &str| -> Vec<&str> {
            let settings = format!("unjudged: {unjudged},");
            let value = r#"published: {"a": (1, 0.1), "b": (1, 0.1), "c": (1, 0)}"#;
            let judged = judged_table(&settings, value, rows, None);
            judged.iter().map(|judged| judged.verdict.word()).collect()
        };
        assert_eq!(words("{}"), ["inconclusive", "inconclusive", "differs"]);
        assert_eq!(words(r#"{"b": Tuned}"#), ["inconclusive", "tuned", "differs"]);
        assert_eq!(words(r#"{"*": StandIn}"#), ["stand-in"; 3]);
        let detailed = r#"{"*": StandIn, "c": NotComparable, "c/x": Tuned}"#;
        assert_eq!(words(detailed), ["stand-in", "stand-in", "tuned"]);
    }

    #[test]
    fn a_count_of_all_coordinates_gets_no_verdict() {
        let value = r#"counts: true, published: {"a": (24, 0), "b": (24, 0)}"#;
        let rows: &[(&str, &[f64])] = &[("a", &[24.0; 5]), ("b", &[23.0, 24.0, 23.0])];
        let found = judged_table("", value, rows, Some(24));
        let words: Vec<&str> = found.iter().map(|judged| judged.verdict.word()).collect();
        assert_eq!(words, ["at its limit"; 2]);
        assert_eq!(found[0].difference_p, None);
        let more = judged_table("", value, rows, Some(25));
        assert_eq!(more[0].verdict, Verdict::Matches);
    }

    #[test]
    fn a_collapsed_code_gets_no_verdict() {
        let made = |total: f64| {
            let text = r#"(caption: "c", label: "l", rows: ["m"], over: ["s"], values: [Value(field: "x",
                title: "X", published: {"a": (12, 0.4)}, collapsed: Below("total_variance", 0.01))])"#;
            let run = |s, total| {
                record(&[("m", "a"), ("s", s)], &[("x", 12.0), ("total_variance", total)])
            };
            let table = tabulate(&spec(text), &[run("0", total), run("1", 0.5)]).unwrap();
            judge(&[("t".to_owned(), table)], 0.05)[0].verdict.word()
        };
        assert_eq!((made(0.0002), made(0.4)), ("collapsed", "matches"));
    }
}
