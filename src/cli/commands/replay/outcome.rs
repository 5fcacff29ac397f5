//! What a replay found, item by item.

use serde::Serialize;
use serde_json::json;

use crate::cli::output::terminal::{self, Tone, paint};
use crate::report::terminal::listing;

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// It was made again, byte for byte.
    Equal,
    /// It was made again on a processor of another class, and its numbers are within the tolerance.
    Close,
    /// What was made is something else, or nothing could be made.
    Differs,
    /// It can't be made again here.
    NotPossible,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Equal, Self::Close, Self::Differs, Self::NotPossible];

    const fn words(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Close => "close",
            Self::Differs => "differs",
            Self::NotPossible => "not possible",
        }
    }

    const fn tone(self) -> Tone {
        match self {
            Self::Equal => Tone::Good,
            Self::Close => Tone::Busy,
            Self::Differs => Tone::Bad,
            Self::NotPossible => Tone::Faint,
        }
    }
}

/// Something that was made again, or should have been.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Item {
    /// A stage, or a file of the report.
    #[serde(rename = "item")]
    pub(super) name: String,
    /// What it is: a kind of stage, `page` or `keys`.
    pub(super) kind: String,
    /// What became of it.
    pub(super) outcome: Outcome,
    /// Why it is not equal.
    pub(super) reason: Option<String>,
    /// How long it took.
    pub(super) seconds: Option<f64>,
}

impl Item {
    /// Says that something is as it was.
    pub(super) fn equal(name: &str, kind: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            outcome: Outcome::Equal,
            reason: None,
            seconds: None,
        }
    }

    /// Says that it is not.
    pub(super) fn unequal(name: &str, kind: &str, outcome: Outcome, reason: String) -> Self {
        Self { outcome, reason: Some(reason), ..Self::equal(name, kind) }
    }

    pub(super) fn took(self, seconds: f64) -> Self {
        Self { seconds: Some(seconds), ..self }
    }
}

/// Everything that a replay found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    items: Vec<Item>,
}

impl Findings {
    /// Adds something; as JSON it is told at once.
    pub(super) fn push(&mut self, item: Item, is_json: bool) {
        if is_json {
            terminal::json(&item);
        }
        self.items.push(item);
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.items.iter().filter(|item| item.outcome == outcome).count()
    }

    /// Returns whether something was made again and nothing came out otherwise.
    pub(super) fn is_confirmed(&self) -> bool {
        let is_made = |item: &Item| item.seconds.is_some() && item.outcome <= Outcome::Close;
        self.count(Outcome::Differs) == 0 && self.items.iter().any(is_made)
    }

    /// Prints what is not equal, and how much is.
    pub(super) fn show(&self, is_json: bool) {
        let counts = Outcome::ALL.map(|outcome| (outcome, self.count(outcome)));
        if is_json {
            let [equal, close, differs, not_possible] = counts.map(|(_, count)| count);
            terminal::json(&json!({
                "equal": equal, "close": close, "differs": differs, "not_possible": not_possible,
                "confirmed": self.is_confirmed(),
            }));
            return;
        }
        let lines: Vec<Vec<String>> = self.items.iter().map(line).collect();
        let header = ["item", "kind", "made again", "took", ""];
        terminal::line(listing(&header, &lines, terminal::columns()).trim_end());
        let told = counts.iter().filter(|(_, count)| *count > 0);
        let told: Vec<String> = told
            .map(|(outcome, count)| paint(outcome.tone(), &format!("{count} {}", outcome.words())))
            .collect();
        terminal::line(&told.join(", "));
    }
}

fn line(item: &Item) -> Vec<String> {
    vec![
        item.name.clone(),
        item.kind.clone(),
        item.outcome.words().to_owned(),
        item.seconds.map_or_else(String::new, terminal::duration),
        item.reason.clone().unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(outcomes: &[(Outcome, bool)]) -> Findings {
        let items = outcomes.iter().map(|&(outcome, is_made)| Item {
            outcome,
            seconds: is_made.then_some(1.0),
            ..Item::equal("t", "Table")
        });
        Findings { items: items.collect() }
    }

    #[test]
    fn a_bundle_is_confirmed_if_something_was_made_again_and_nothing_differs() {
        use Outcome::{Close, Differs, Equal, NotPossible};
        assert!(findings(&[(Equal, true), (NotPossible, false)]).is_confirmed());
        assert!(findings(&[(Close, true)]).is_confirmed());
        assert!(!findings(&[(Equal, true), (Differs, true)]).is_confirmed());
        assert!(!findings(&[(Equal, false), (NotPossible, false)]).is_confirmed());
        assert!(!findings(&[]).is_confirmed());
    }
}
