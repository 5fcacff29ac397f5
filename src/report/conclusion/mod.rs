//! What the numbers of a pipeline amount to: a range of the dimension, and a paragraph on it.
//!
//! The range is in `range.rs`, each further sentence comes from one rule in `rules.rs`, and both see
//! nothing but [`Evidence`]. A conclusion claims no more than its numbers: without intervals that
//! include bias it states a range of estimates, and says so.

mod evidence;
mod range;
mod rules;
mod wording;

use serde::{Deserialize, Serialize};

use crate::report::latex_text::escape;
use crate::report::records::record::{RecordValue, Values};
use crate::report::tables::terminal::wrapped;

pub use evidence::{Evidence, Interval, ModelFreeEstimate, ModelResult, Reading};
pub use range::{Basis, DimensionRange};

use rules::{Finding, RULES, findings};
use wording::{interval_text, number};

/// What is said if no rule found anything to do.
const NOTHING_LEFT: &str =
    "No check failed; another sample of the data or more seeds would test the result further.";

/// The title of a conclusion in every format.
pub const TITLE: &str = "Conclusion";

/// A conclusion in sentences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// Lower end of the range of the dimension, if there is one.
    pub low: Option<f64>,
    /// Upper end; none if the data set no upper bound.
    pub high: Option<f64>,
    /// The names of the rules that found something.
    pub rules: Vec<String>,
    /// The answer, then what was found.
    pub sentences: Vec<String>,
    /// What to do next.
    pub next: Vec<String>,
}

impl Conclusion {
    /// Draws the conclusion.
    pub fn of(evidence: &Evidence) -> Self {
        let range = DimensionRange::of(evidence);
        let mut conclusion = Self {
            low: range.as_ref().map(|range| range.interval.low),
            high: range.as_ref().and_then(|range| range.interval.high),
            rules: Vec::new(),
            sentences: vec![answer(evidence, range.as_ref())],
            next: Vec::new(),
        };
        for Finding { rule, text, advice } in findings(evidence, range.as_ref()) {
            conclusion.rules.push(rule.to_owned());
            conclusion.sentences.push(text);
            conclusion.next.extend(advice);
        }
        if conclusion.next.is_empty() {
            conclusion.next.push(NOTHING_LEFT.to_owned());
        }
        conclusion
    }

    /// Returns the names of the values of its record.
    pub fn value_names() -> Vec<String> {
        let rules = RULES.iter().map(|(rule, _)| field(rule));
        ["low", "high", "text"].map(str::to_owned).into_iter().chain(rules).collect()
    }

    /// Returns the range, for each rule whether it found something (1) or not (0), and the text.
    pub fn values(&self) -> Values {
        let flag = |rule: &str| f64::from(u8::from(self.rules.iter().any(|own| own == rule)));
        let mut values: Values =
            RULES.iter().map(|(rule, _)| (field(rule), RecordValue::Number(flag(rule)))).collect();
        let ends = [("low", self.low), ("high", self.high)];
        values.extend(
            ends.into_iter()
                .filter_map(|(name, end)| Some((name.to_owned(), RecordValue::Number(end?)))),
        );
        values.insert("text".to_owned(), RecordValue::Text(self.paragraph()));
        values
    }

    /// Returns what was found as one paragraph.
    pub fn paragraph(&self) -> String {
        self.sentences.join(" ")
    }

    /// Returns the conclusion for a terminal of some width.
    pub fn terminal(&self, width: usize) -> String {
        let mut lines = wrapped(&format!("{TITLE}. {}", self.paragraph()), width);
        lines.push("Next:".to_owned());
        for step in &self.next {
            let step = wrapped(step, width.saturating_sub(2));
            let marks = std::iter::once("- ").chain(std::iter::repeat("  "));
            lines.extend(step.iter().zip(marks).map(|(line, mark)| format!("{mark}{line}")));
        }
        lines.join("\n") + "\n"
    }

    /// Returns the conclusion in Markdown.
    pub fn markdown(&self) -> String {
        let steps: Vec<String> = self.next.iter().map(|step| format!("- {step}\n")).collect();
        format!("**{TITLE}.** {}\n\nNext:\n\n{}", self.paragraph(), steps.concat())
    }

    /// Returns the conclusion in LaTeX.
    pub fn latex(&self) -> String {
        let steps: Vec<String> =
            self.next.iter().map(|step| format!("  \\item {}\n", escape(step))).collect();
        format!(
            "\\paragraph{{{TITLE}}} {}\n\nNext:\n\\begin{{itemize}}\n{}\\end{{itemize}}\n",
            escape(&self.paragraph()),
            steps.concat()
        )
    }
}

/// Returns the name of a rule among the values of a record.
fn field(rule: &str) -> String {
    rule.replace('-', "_")
}

/// Returns the sentence that everything else is about.
fn answer(evidence: &Evidence, range: Option<&DimensionRange>) -> String {
    let Some(range) = range else {
        return "There is no estimate without a model, so no range can be given.".to_owned();
    };
    let dimension = match (range.interval.high, range.whole_numbers()) {
        (Some(_), Some((least, most))) if least >= most => format!("about {}", number(least)),
        (Some(_), Some((least, most))) => format!("between {} and {}", number(least), number(most)),
        _ => format!("at least {}", number(range.interval.low.ceil())),
    };
    let interval = interval_text(&range.interval);
    match range.basis {
        Basis::Estimates => {
            let (all, used) = (evidence.estimates.len(), range::central(&evidence.estimates).len());
            let estimates = match (used, all) {
                (_, 1) => "the estimate without a model".to_owned(),
                (used, all) if used < all => format!("{used} of {all} estimates without a model"),
                (_, all) => format!("the {all} estimates without a model"),
            };
            format!(
                "The intrinsic dimension appears to be {dimension}, by {estimates} with two standard \
                 errors. These do not include bias, so this is not a confidence interval."
            )
        }
        Basis::Majority => {
            let intervals = evidence.estimates.iter().filter_map(|one| one.interval);
            let agreeing = intervals.clone().filter(|one| one.meets(&range.interval)).count();
            let basis = match intervals.count() {
                1 => {
                    format!("the 90 % interval of the only estimate without a model is {interval}")
                }
                all => format!(
                    "{agreeing} of {all} estimates without a model agree on {interval} (the values \
                     that most of their 90 % intervals hold; these include bias)"
                ),
            };
            format!("The intrinsic dimension is {dimension}: {basis}.")
        }
        Basis::Union => format!(
            "The intrinsic dimension is uncertain: the 90 % intervals of the estimates without a \
             model, which include bias, together span {interval}."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(intervals: &[Option<(f64, Option<f64>)>]) -> Evidence {
        let estimate = |interval: &Option<(f64, Option<f64>)>| ModelFreeEstimate {
            title: "MLE".to_owned(),
            dimension: interval.map_or(4.2, |(low, _)| low + 0.3),
            spread: 0.1,
            interval: interval.map(|(low, high)| Interval { low, high }),
            points: Some(3000),
        };
        Evidence { estimates: intervals.iter().map(estimate).collect(), ..Evidence::default() }
    }

    fn first(intervals: &[Option<(f64, Option<f64>)>]) -> String {
        Conclusion::of(&evidence(intervals)).sentences.remove(0)
    }

    #[test]
    fn the_answer_says_what_it_rests_on() {
        let agreeing = [Some((3.5, Some(4.4))), Some((3.7, Some(4.8))), Some((7.0, Some(8.0)))];
        assert_eq!(
            first(&agreeing),
            "The intrinsic dimension is about 4: 2 of 3 estimates without a model agree on 3.7 to \
             4.4 (the values that most of their 90 % intervals hold; these include bias)."
        );
        assert_eq!(
            first(&[Some((7.4, None)), Some((8.1, None))]),
            "The intrinsic dimension is at least 9: 2 of 2 estimates without a model agree on at \
             least 8.1 (the values that most of their 90 % intervals hold; these include bias)."
        );
        assert_eq!(
            first(&[Some((3.5, Some(5.4)))]),
            "The intrinsic dimension is between 4 and 5: the 90 % interval of the only estimate \
             without a model is 3.5 to 5.4."
        );
        assert!(first(&[Some((1.0, Some(2.0))), Some((5.0, Some(6.0)))]).contains("uncertain"));
        assert!(first(&[None, None]).ends_with("this is not a confidence interval."));
        assert!(first(&[]).contains("no range"));
    }

    #[test]
    fn the_record_has_the_range_and_every_rule() {
        let conclusion = Conclusion::of(&evidence(&[Some((3.5, Some(4.4)))]));
        let values = conclusion.values();
        assert_eq!(values["low"], RecordValue::Number(3.5));
        assert_eq!(values["at_limit"], RecordValue::Number(0.0));
        let mut names = Conclusion::value_names();
        names.sort_unstable();
        assert_eq!(names, values.keys().cloned().collect::<Vec<_>>());
        let open = Conclusion::of(&evidence(&[Some((3.5, None))]));
        assert!(!open.values().contains_key("high"));
    }

    #[test]
    fn every_format_has_all_sentences_and_the_next_step() {
        let conclusion = Conclusion::of(&evidence(&[Some((3.5, Some(4.4)))]));
        let narrow = conclusion.terminal(40);
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
        assert!(narrow.starts_with("Conclusion. The intrinsic dimension is"), "{narrow}");
        assert!(narrow.contains("\nNext:\n- No check failed;"), "{narrow}");
        assert!(conclusion.markdown().starts_with("**Conclusion.** The intrinsic"));
        assert!(conclusion.latex().contains(r"90 \% interval"), "{}", conclusion.latex());
    }
}
