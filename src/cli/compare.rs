//! `pcae-run compare`: published numbers beside ours, with one verdict each.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::Common;
use super::failure::{Failure, UNCONFIRMED};
use super::session::Session;
use super::terminal;
use crate::engine::artifact::Artifact;
use crate::engine::assess::Standing;
use crate::report::terminal::listing;
use crate::report::{Cell, Judged, Table, Titled, judge, rounded};
use crate::stages::AnyStage;

/// The verdicts in the order in which they are counted.
const WORDS: [&str; 5] = ["reproduced", "better", "differs", "inconclusive", "not measured"];

/// Judges every published number of a pipeline's tables; with `strict`, one that is not confirmed
/// makes the exit code 4.
pub(super) fn compare(
    common: &Common,
    alpha: f64,
    strict: bool,
    file: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let session = Session::open(common, file)?;
    let found = tables(&session)?;
    let judged = judge(&found.tables, alpha);
    let comparison = Comparison { alpha, found, judged, looks: None };
    comparison.show(common, strict, &session)
}

/// What a pipeline has to compare.
pub(super) struct Found {
    /// The cached tables by stage.
    pub tables: Vec<(String, Table)>,
    /// Published numbers of tables that are not cached.
    pub missing: usize,
}

/// When a cell was judged last, where runs are added between looks.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// The look, counted from 1.
    pub number: u32,
    /// Its share of alpha.
    pub alpha: f64,
    /// Runs of the cell before any was added.
    pub first_runs: usize,
}

/// Tables with the verdicts on their published numbers.
pub(super) struct Comparison {
    /// Chance of any wrong verdict of a kind.
    pub alpha: f64,
    /// The tables.
    pub found: Found,
    /// The verdicts.
    pub judged: Vec<Judged>,
    /// The last look at each of them, and how many looks there were, if runs were added.
    pub looks: Option<(Vec<Look>, u32)>,
}

impl Comparison {
    /// Prints everything; returns the exit code.
    pub(super) fn show(
        &self,
        common: &Common,
        strict: bool,
        session: &Session,
    ) -> Result<ExitCode, Failure> {
        let Self { found, judged, .. } = self;
        if judged.is_empty() && found.missing == 0 {
            return Err(nothing_published(session));
        }
        for (name, table) in &found.tables {
            let own = (0..judged.len()).filter(|&at| judged[at].table == *name);
            let own: Vec<_> = own.map(|at| (&judged[at], self.look(at))).collect();
            if common.json {
                for (judged, look) in own {
                    terminal::json(&as_json(table, judged, self.alpha, look));
                }
            } else if !own.is_empty() {
                print(name, table, &own);
            }
        }
        self.show_counts(common.json);
        let confirmed = judged.iter().all(|judged| judged.verdict.is_confirmed());
        let failed = strict && !(confirmed && found.missing == 0);
        Ok(if failed { ExitCode::from(UNCONFIRMED) } else { ExitCode::SUCCESS })
    }

    fn look(&self, at: usize) -> Option<&Look> {
        self.looks.as_ref().and_then(|(looks, _)| looks.get(at))
    }

    fn show_counts(&self, json: bool) {
        let counts = WORDS.map(|word| {
            let missing = if word == "not measured" { self.found.missing } else { 0 };
            self.judged.iter().filter(|judged| judged.verdict.word() == word).count() + missing
        });
        let (alpha, looks) = (self.alpha, self.looks.as_ref().map(|(_, count)| *count));
        if json {
            let counts: serde_json::Map<String, Value> = WORDS
                .iter()
                .zip(counts)
                .map(|(word, count)| (word.replace(' ', "-"), count.into()))
                .collect();
            let mut told = json!({"alpha": alpha, "adjusted": "holm", "counts": counts});
            if let Some(looks) = looks {
                told["looks"] = looks.into();
            }
            terminal::json(&told);
            return;
        }
        let counted = WORDS.iter().zip(counts).filter(|(_, count)| *count > 0);
        let counted: Vec<_> = counted.map(|(word, count)| format!("{count} {word}")).collect();
        let looks = looks.map_or_else(String::new, |looks| {
            format!(" over {}", terminal::count(looks as usize, "look"))
        });
        terminal::line(&format!(
            "{} (alpha {alpha}{looks}, adjusted by Holm over all cells)",
            counted.join(", ")
        ));
    }
}

/// Says that there is nothing to compare with.
pub(super) fn nothing_published(session: &Session) -> Failure {
    Failure::usage(format!(
        "{} has no published numbers: state them with `published: {{..}}` in a table's values",
        session.source.path().display()
    ))
}

/// Returns the cached tables of a pipeline; says what to run for the others.
pub(super) fn tables(session: &Session) -> Result<Found, Failure> {
    let standings = session.standings()?;
    let mut found = Found { tables: Vec::new(), missing: 0 };
    for (planned, standing) in session.plan.stages().iter().zip(&standings) {
        let AnyStage::Table(declared) = &*planned.stage else {
            continue;
        };
        if let Standing::Cached(result) = standing {
            let reader = session.cache.reader(&result.artifact);
            let table = Table::read(&reader).map_err(Failure::integrity)?;
            found.tables.push((planned.name.clone(), table));
            continue;
        }
        let published: usize = declared.values.iter().map(|value| value.published.len()).sum();
        found.missing += published;
        if published > 0 {
            let file = session.source.path().display();
            let name = &planned.name;
            terminal::note(&format!(
                "`{name}` has {}, but is not cached: run `pcae-run {file} --until {name}`",
                terminal::count(published, "published number")
            ));
        }
    }
    Ok(found)
}

fn print(name: &str, table: &Table, judged: &[(&Judged, Option<&Look>)]) {
    let lines: Vec<Vec<String>> = judged
        .iter()
        .map(|(judged, _)| {
            let (cell, digits) = (cell(table, judged), table.columns[judged.column].digits);
            let (mean, spread) = cell.published.unwrap_or_default();
            let p = |p: Option<f64>| p.map_or_else(|| "–".to_owned(), p_value);
            vec![
                place(table, judged, |label| &label.title).join(" / "),
                with_spread(mean, spread, digits),
                cell.mean
                    .map_or_else(|| "–".to_owned(), |mean| with_spread(mean, cell.std, digits)),
                cell.n.to_string(),
                // A digit more than shown: a margin is often less than a unit of the last one.
                rounded(judged.margin, digits + 1),
                p(judged.equivalence_p),
                p(judged.difference_p),
                judged.verdict.to_string(),
            ]
        })
        .collect();
    terminal::line(&format!("{name} ({})", table.label));
    let header = ["cell", "published", "ours", "n", "margin", "p equal", "p different", "verdict"];
    terminal::line(listing(&header, &lines).trim_end());
    for (judged, look) in judged {
        let place = place(table, judged, |label| &label.title).join(" / ");
        if let Some(note) = &judged.note {
            terminal::line(&format!("note: {place}: {note}"));
        }
        let runs = cell(table, judged).n;
        if let Some(look) = look.filter(|look| look.first_runs < runs) {
            let (first, number) = (look.first_runs, look.number);
            terminal::line(&format!(
                "extended: {place}: {runs} runs instead of {first}, look {number}"
            ));
        }
    }
    terminal::line("");
}

fn as_json(table: &Table, judged: &Judged, alpha: f64, look: Option<&Look>) -> Value {
    let cell = cell(table, judged);
    let mut told = json!(judged);
    told["place"] = json!(place(table, judged, |label| &label.name));
    told["published"] = json!(cell.published);
    told["published_runs"] = json!(table.published_runs);
    told["ours"] = json!({"mean": cell.mean, "std": cell.std, "n": cell.n});
    told["alpha"] = json!(look.map_or(alpha, |look| look.alpha));
    if let Some(look) = look {
        told["look"] = json!(look.number);
        told["runs_before"] = json!(look.first_runs);
    }
    told
}

pub(super) fn cell<'a>(table: &'a Table, judged: &Judged) -> &'a Cell {
    &table.rows[judged.row].cells[judged.column]
}

/// Returns the labels of a cell and the value it shows.
fn place<'a>(
    table: &'a Table,
    judged: &Judged,
    shown: impl Fn(&'a Titled) -> &'a str,
) -> Vec<&'a str> {
    let column = &table.columns[judged.column];
    let labels = table.rows[judged.row].labels.iter().chain(&column.labels);
    labels.chain([&column.value]).map(shown).collect()
}

fn with_spread(mean: f64, spread: Option<f64>, digits: usize) -> String {
    let spread = spread.map_or_else(String::new, |std| format!(" ± {}", rounded(std, digits)));
    format!("{}{spread}", rounded(mean, digits))
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { rounded(p, 3) }
}
