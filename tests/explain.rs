use std::path::Path;

use serde_json::Value;

use crate::sandbox::Sandbox;

fn explained(name: &str) -> String {
    Sandbox::new("").call(&["explain", name]).ok().stdout
}

fn assert_page(name: &str) {
    insta::with_settings!({
        snapshot_path => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
        // One model stands for all: a new one has its own page.
        filters => vec![("(The model to train.\n +Ae.*\n)(?: {8}[A-Z].*\n)+", "${1}        [MODELS]\n")],
    }, {
        insta::assert_snapshot!(name, explained(name));
    });
}

#[test]
fn a_stage_kind_is_explained_with_its_settings() {
    assert_page("Train");
}

#[test]
fn a_choice_lists_every_name_with_what_it_means() {
    let schema = Sandbox::new("").call(&["explain", "--json", "Train"]).ok().stdout;
    let schema: Value = serde_json::from_str(schema.lines().next().unwrap()).unwrap();
    let models = schema["$defs"]["ModelSpec"]["oneOf"].as_array().unwrap();
    assert!(models.len() >= 8, "{models:?}");
    let page = explained("Train");
    for model in models {
        let name = model["properties"].as_object().unwrap().keys().next().unwrap();
        let line = format!("        {name}(..): {}\n", model["description"].as_str().unwrap());
        assert!(page.contains(&line), "{line}{page}");
    }
}

#[test]
fn a_name_in_two_roles_is_explained_in_both() {
    assert_page("Table");
}

#[test]
fn stage_kinds_are_listed_with_a_line_each() {
    let all = Sandbox::new("").call(&["explain"]).ok();
    let is_train = |line: &str| line.starts_with("  Train ") && line.contains("model");
    assert!(all.stdout.lines().any(is_train), "{}", all.stdout);
    let (language, kinds) = all.stdout.split_once("\nStage kinds:\n").unwrap();
    let names = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
        lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    };
    let kinds = names(kinds);
    assert!(kinds.len() > 15 && kinds.is_sorted(), "{kinds:?}");
    assert_eq!(
        names(language)[..3],
        ["Pipeline", "Axis", "Each"],
        "what a file is made of comes first"
    );
}

#[test]
fn the_words_of_the_language_are_explained() {
    for name in [
        "Pipeline",
        "Axis",
        "Shared",
        "Each",
        "Limits",
        "IfPresent",
        "AtScale",
        "Absent",
        "ByDevice",
        "Of",
    ] {
        let page = explained(name);
        let is_first = page.starts_with(&format!("{name}: "))
            || page.contains(&format!("\n\n{name}: in place of"));
        assert!(is_first, "{page}");
    }
    let limits = explained("Limits");
    assert!(limits.contains("timeout: a whole number, optional, none if left out\n"), "{limits}");
    let scale = explained("scales");
    assert!(scale.contains("scales: a map from names to fields"), "{scale}");
}

#[test]
fn a_name_with_several_meanings_lists_them_all() {
    let first = explained("First");
    assert!(
        first.starts_with("`First` has 4 meanings:\n  - in place of the values of an axis\n"),
        "{first}"
    );
    assert!(first.contains("\nFirst: in place of the values of an axis\n"), "{first}");
    assert!(first.contains("`steps` of "), "{first}");
}

#[test]
fn names_are_found_in_any_case_and_typos_are_recognized() {
    assert!(explained("train").contains("batch_size: a whole number above 0\n"));
    assert!(explained("pcae").contains("  latent: a whole number above 0\n"));
    let typo = Sandbox::new("").call(&["explain", "Trian"]).fails_with(2);
    assert!(typo.stderr.contains("did you mean `Train`?"), "{}", typo.stderr);
}

#[test]
fn tools_get_json_schemas() {
    let sandbox = Sandbox::new("");
    let call = |args: &[&str]| -> Vec<Value> {
        let lines = sandbox.call(args).ok().stdout;
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = call(&["explain", "--json"]);
    assert_eq!(all.len(), 1);
    assert!(all[0]["oneOf"].as_array().unwrap().len() > 15 && all[0]["$defs"].is_object());
    let tables = call(&["explain", "--json", "Table"]);
    assert_eq!(tables.len(), 2, "a stage kind and a source of data");
    assert!(tables.iter().all(|schema| schema["title"] == "Table"));
    assert!(tables[0]["properties"]["records"]["items"]["x-family-gives"].is_array());
}
