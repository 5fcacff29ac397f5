//! What is said of every kind and of every setting.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;

/// Words of Rust that no one who writes a pipeline should have to read.
const RUST: [&str; 11] = [
    "Option<", "NonZero", "Vec<", "BTreeMap", "StageRef", "Each<", "f64", "usize", "u64", "bool",
    "::",
];

fn with_manual(check: impl Fn(&Manual<'_>)) {
    let document = Document::of::<AnyStage>("A stage of a pipeline");
    check(&Manual { document: &document, topics: topics(&document) });
}

/// Returns the names of types that are no names in pipelines; single words may be plain English.
fn type_names(manual: &Manual<'_>) -> Vec<String> {
    let definitions = manual.document.root()["$defs"].as_object().unwrap();
    let is_written = |name: &str| manual.topics.iter().any(|topic| topic.variant.name == name);
    let is_compound = |name: &str| name.chars().skip(1).any(char::is_uppercase);
    let names = definitions.keys().filter(|name| !is_written(name) && is_compound(name));
    names.cloned().collect()
}

#[test]
fn every_name_and_every_setting_is_documented() {
    with_manual(|manual| {
        assert!(manual.topics.len() > 150, "{}", manual.topics.len());
        for topic in &manual.topics {
            let name = topic.variant.name;
            let (headline, _) = topic.about(manual.document);
            assert!(!headline.is_empty(), "`{name}` is not documented");
            for field in topic.fields(manual.document) {
                assert!(!field.about.is_empty(), "`{}` of `{name}` is not documented", field.name);
            }
        }
    });
}

#[test]
fn every_default_is_shown() {
    with_manual(|manual| {
        let mut hidden = Vec::new();
        for topic in &manual.topics {
            for field in topic.fields(manual.document).iter().filter(|field| field.is_optional) {
                let is_told = field.schema.get("default").is_some_and(|value| !value.is_null())
                    || schema::without_none(field.schema).1
                    || matches!(
                        manual.document.form(field.schema),
                        schema::Form::List(_) | schema::Form::Map(_)
                    );
                if !is_told {
                    hidden.push(format!("`{}` of `{}`", field.name, topic.variant.name));
                }
            }
        }
        assert!(hidden.is_empty(), "what these are if left out is not told: {hidden:#?}");
    });
}

#[test]
fn no_page_shows_rust() {
    with_manual(|manual| {
        let types = type_names(manual);
        assert!(types.iter().any(|name| name == "PcaeSpec"), "{types:?}");
        let words: Vec<&str> = RUST.into_iter().chain(types.iter().map(String::as_str)).collect();
        let topics = manual.topics.iter().map(|topic| manual.page(&Entry::Topic(topic)));
        for page in topics.chain([manual.list()]) {
            for word in &words {
                assert!(!page.contains(word), "`{word}` stands in\n{page}");
            }
        }
    });
}

#[test]
fn names_are_found_in_any_case_and_in_every_role() {
    with_manual(|manual| {
        for name in ["Encode", "pcae", "CONV", "TwoNn", "Adam", "Kid", "VarianceSpectrum"] {
            assert_eq!(manual.find(name).unwrap().len(), 1, "{name}");
        }
        assert_eq!(manual.find("celeba").unwrap().len(), 3, "a data set, its files, a network");
        let pages: Vec<_> =
            manual.find("Table").unwrap().iter().map(|entry| manual.page(entry)).collect();
        assert!(pages[0].starts_with("Table: a stage kind\n"), "{}", pages[0]);
        assert!(pages[1].starts_with("Table: `source` of Dataset\n"), "{}", pages[1]);
        let fields = manual.find("division").unwrap();
        assert!(
            matches!(&fields[..], [Entry::Field(_, owners)] if *owners == ["Dataset", "Preprocess"])
        );
        assert!(manual.find("Trian").is_err());
    });
}

#[test]
fn a_schema_stands_for_itself() {
    with_manual(|manual| {
        let found = manual.find("Train").unwrap();
        let schema = manual.schema(&found[0]);
        assert_eq!(schema["title"], "Train");
        assert!(schema["description"].as_str().unwrap().contains("```ron"));
        assert_eq!(schema["properties"]["batch_size"]["minimum"], 1);
        assert_eq!(schema["properties"]["data"]["x-stage-gives"][0], "train-images");
        let definitions = schema["$defs"].as_object().unwrap();
        assert!(definitions.contains_key("PcaeSpec") && !definitions.contains_key("ManifoldShape"));
    });
}

/// A model.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Settings {
    /// How many.
    count: std::num::NonZeroUsize,
    /// How often.
    #[serde(default = "three")]
    times: usize,
    /// How.
    #[serde(default)]
    style: Style,
    /// Where.
    pairs: Option<Vec<(f64, Option<bool>)>>,
    /// Who.
    #[serde(default)]
    names: std::collections::BTreeMap<String, Vec<String>>,
}

fn three() -> usize {
    3
}

/// How.
#[derive(Serialize, Deserialize, JsonSchema)]
enum Style {
    /// As it is.
    Plain,
    /// In steps.
    Steps(u64),
    /// In detail.
    Detailed {
        /// With this separator.
        separator: char,
    },
}

impl Default for Style {
    fn default() -> Self {
        Self::Detailed { separator: ',' }
    }
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Kinds {
    /// Does something.
    Settings(Settings),
}

#[test]
fn types_become_words() {
    let document = Document::of::<Kinds>("Kinds");
    let manual = Manual { document: &document, topics: topics(&document) };
    let page = manual.page(&manual.find("settings").unwrap()[0]);
    insta::assert_snapshot!(page, @r"
    Settings: a stage kind
    Does something.

    A model.

    Settings:
      count: a whole number above 0
          How many.
      names: a map from strings to a list of strings, optional, {} if left out
          Who.
      pairs: a list of (a number, true or false or None), optional, none if left out
          Where.
      style: one of the following, optional, Detailed(separator: ',') if left out
          How.
            Plain: As it is.
            Steps(a whole number): In steps.
            Detailed(..): In detail.
      times: a whole number, optional, 3 if left out
          How often.
    ");
    assert!(manual.list().contains("\nStage kinds:\n  Settings   Does something.\n"));
    insta::assert_snapshot!(manual.page(&manual.find("Steps").unwrap()[0]), @r"
    Steps: `style` of Settings
    In steps.

    Written as Steps(a whole number)
    ");
}
