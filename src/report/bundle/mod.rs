//! The texts of a bundle: what a reviewer reads first, and what catalogs of research objects read.
//!
//! Plain data in, text out: whoever packs a bundle fills [`BundleFacts`]. Nothing of it depends on when or
//! where the bundle was packed.

mod research_object;

use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

use crate::report::page::units::{date, duration};
use crate::report::tables::markdown::escape;

pub use research_object::metadata;

const README: &str = "README.md";
const CLAIMS: &str = "CLAIMS.md";
const LICENSES: &str = "LICENSES.md";

/// What a bundle holds and claims.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BundleFacts {
    /// The pipeline's name.
    pub pipeline: String,
    /// The pipeline file in the bundle.
    pub file: String,
    /// The scale, if the pipeline has several.
    pub scale: Option<String>,
    /// The version of the program.
    pub program: String,
    /// Whether every result is there, or only those of tables.
    pub is_whole: bool,
    /// Published numbers with ours.
    pub claims: Vec<Claim>,
    /// What the results amount to: the stage, and a paragraph.
    pub conclusions: Vec<(String, String)>,
    /// Tables and figures.
    pub exhibits: Vec<Exhibit>,
    /// What stages read from outside, too large or too far away for a bundle.
    pub left_out: Vec<String>,
    /// The data sets that were used, by their names in pipelines.
    pub data_sets: Vec<String>,
    /// How many stages there are.
    pub stages: usize,
    /// Seconds that all stages took.
    pub seconds: f64,
    /// Seconds that the stages took which a replay runs again.
    pub replay_seconds: f64,
    /// When the last of the results was computed, in seconds since 1970.
    pub finished: u64,
    /// The processors and devices on which results were computed.
    pub machines: Vec<String>,
}

/// A published number with ours.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// Whether it is confirmed.
    pub standing: Standing,
    /// The table and the cell.
    pub place: String,
    /// The published number.
    pub published: String,
    /// Ours.
    pub ours: String,
    /// Of how many runs.
    pub runs: usize,
    /// The verdict.
    pub verdict: String,
    /// The command that makes it.
    pub command: String,
    /// Seconds that everything behind it took.
    pub seconds: f64,
}

/// Whether a published number is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// A test shows that it is matched or surpassed.
    Supported,
    /// A test tells our runs from the published ones.
    NotSupported,
    /// No test decides.
    Open,
    /// There is no verdict, for the reason that stands in its place.
    NotJudged,
}

/// A table or figure.
#[derive(Clone, Debug, Serialize)]
pub struct Exhibit {
    /// Its stage.
    pub stage: String,
    /// What it is called in the paper.
    pub label: String,
    /// What it shows.
    pub caption: String,
    /// The command that makes it.
    pub command: String,
    /// Seconds that everything behind it took.
    pub seconds: f64,
}

/// Says why a text could not be made.
#[derive(Debug, thiserror::Error)]
#[error("a text of the bundle could not be made: {0}")]
pub struct BundleTextError(#[from] minijinja::Error);

/// A group of claims as the template sees it.
#[derive(Debug, Serialize)]
struct Group<'a> {
    title: &'static str,
    about: &'static str,
    claims: Vec<&'a Claim>,
}

const GROUPS: [(Standing, &str, &str); 4] = [
    (
        Standing::Supported,
        "Supported",
        "An exact test shows that our mean is within the margin of the published one, or better.",
    ),
    (
        Standing::NotSupported,
        "Not supported",
        "An exact test tells our runs from the published ones, and ours are not better.",
    ),
    (
        Standing::Open,
        "Open",
        "No test decides: the verdict says in how many runs the published mean is matched.",
    ),
    (Standing::NotJudged, "Not judged", "The verdict says why the numbers are not compared."),
];

/// Returns what a reviewer reads first.
pub fn readme(facts: &BundleFacts) -> Result<String, BundleTextError> {
    render(README, include_str!("readme.md"), facts, &[])
}

/// Returns the list of claims.
pub fn claims(facts: &BundleFacts) -> Result<String, BundleTextError> {
    let of = |standing| facts.claims.iter().filter(move |claim| claim.standing == standing);
    let groups = GROUPS.iter().map(|&(standing, title, about)| Group {
        title,
        about,
        claims: of(standing).collect(),
    });
    let groups: Vec<_> = groups.filter(|group| !group.claims.is_empty()).collect();
    render(CLAIMS, include_str!("claims.md"), facts, &groups)
}

/// Returns the notes on licences.
pub fn licenses(facts: &BundleFacts) -> Result<String, BundleTextError> {
    render(LICENSES, include_str!("licenses.md"), facts, &[])
}

/// Fills in a template. Its name makes it escape nothing by itself: the filter `md` does.
fn render(
    name: &'static str,
    template: &'static str,
    facts: &BundleFacts,
    groups: &[Group<'_>],
) -> Result<String, BundleTextError> {
    let mut environment = Environment::new();
    environment.add_filter("md", |text: String| escape(&text));
    environment.add_filter("code", |text: String| code(&text));
    environment.add_filter("duration", duration);
    environment.add_filter("date", date);
    environment.add_template(name, template)?;
    let view = View { facts, groups };
    Ok(environment.get_template(name)?.render(Value::from(Serde(&view)))? + "\n")
}

#[derive(Debug, Serialize)]
struct View<'a> {
    facts: &'a BundleFacts,
    groups: &'a [Group<'a>],
}

/// Returns a text as code that stands in a table, too.
fn code(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).collect();
    format!("`{}`", plain.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> BundleFacts {
        let claim = |standing, verdict: &str| Claim {
            standing,
            place: "Table 1 / a|b".to_owned(),
            published: "4.0 ± 0.1".to_owned(),
            ours: "4.1 ± 0.2".to_owned(),
            runs: 5,
            verdict: verdict.to_owned(),
            command: "pcae-run pipeline/p.ron --until table-1".to_owned(),
            seconds: 125.0,
        };
        BundleFacts {
            pipeline: "p".to_owned(),
            file: "pipeline/p.ron".to_owned(),
            program: "0.1.0".to_owned(),
            is_whole: true,
            claims: vec![
                claim(Standing::NotSupported, "differs"),
                claim(Standing::Supported, "equivalent"),
            ],
            stages: 3,
            seconds: 4000.0,
            replay_seconds: 2.0,
            finished: 951_827_696,
            ..BundleFacts::default()
        }
    }

    #[test]
    fn claims_are_told_by_whether_they_are_supported_each_with_its_command_and_time() {
        let text = claims(&facts()).unwrap();
        let (supported, rest) = text.split_once("## Not supported").unwrap();
        assert!(supported.contains("## Supported") && supported.contains("equivalent"), "{text}");
        let line = r"| Table 1 / a\|b | 4.0 ± 0.1 | 4.1 ± 0.2 | 5 | differs | `pcae-run pipeline/p.ron --until table-1` | 2 min 5 s |";
        assert!(rest.contains(line), "{text}");
        assert!(!text.contains("## Open"), "{text}");
    }

    #[test]
    fn the_readme_says_how_to_replay_and_how_long_it_takes() {
        let text = readme(&facts()).unwrap();
        assert!(text.contains("pcae-run replay") && text.contains("1 h 6 min"), "{text}");
        assert!(!text.contains("left out"), "{text}");
        let text = readme(&BundleFacts { is_whole: false, ..facts() }).unwrap();
        assert!(text.contains("left out"), "{text}");
    }
}
