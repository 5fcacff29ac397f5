use std::fs;
use std::path::Path;

use pcae::engine::pipeline::diagnostic::{Style, draw};
use pcae::engine::pipeline::search_paths::FileProbe;
use pcae::engine::pipeline::source::Source;
use pcae::engine::plan::Plan;
use pcae::stages::AnyStage;

use crate::sandbox::Sandbox;

/// Draws the mistakes of a pipeline text.
fn drawing(name: &str, text: &str) -> String {
    let source = Source::new(name, text);
    match Plan::<AnyStage>::load(&source, &FileProbe::Search) {
        Ok(_) => "no mistakes".to_owned(),
        Err(mistakes) => draw(&source, &mistakes, Style::Plain),
    }
}

#[test]
fn every_bad_pipeline_is_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_pipelines");
    let mut count = 0;
    for item in fs::read_dir(&folder).unwrap() {
        let path = item.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ron") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = drawing(&name, &fs::read_to_string(&path).unwrap());
        insta::with_settings!({
            snapshot_path => &folder, prepend_module_to_snapshot => false, omit_expression => true,
            // A new kind changes the list of all kinds, and no one else's message.
            filters => vec![("valid here: `Classify`, .*, and [0-9]+ more", "valid here: [KINDS]")],
        }, {
            insta::assert_snapshot!(name.trim_end_matches(".ron"), text);
        });
        count += 1;
    }
    assert!(count >= 20, "only {count} bad pipelines were found");
}

#[test]
fn an_unknown_kind_is_answered_with_the_kinds_that_there_are() {
    const SHOWN: usize = 12;
    let (shown, more) = AnyStage::KINDS.split_at(SHOWN);
    let help = format!("valid here: `{}`, and {} more\n", shown.join("`, `"), more.len());
    let text = r#"Pipeline(name: "p", stages: {"other": Nonsense()})"#;
    let drawn = drawing("p.ron", text);
    assert!(drawn.contains(&help), "{drawn}");
}

#[test]
fn deep_nesting_is_refused_without_a_crash() {
    for (open, close) in [("[", "]"), ("(", ")"), ("Some(", ")"), ("{\"a\":", "}")] {
        let deep = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        let text = format!(r#"Pipeline(name: "p", stages: {{"a": Command(args: {deep})}})"#);
        let drawn = drawing("deep.ron", &text);
        assert!(
            drawn.starts_with("error: brackets are nested more than 64 deep"),
            "{}",
            &drawn[..200]
        );
    }
}

#[test]
fn huge_and_odd_files_are_refused_with_one_line() {
    let sandbox = Sandbox::new("");
    let huge = fs::File::create(sandbox.path().join("pipeline.ron")).unwrap();
    huge.set_len(100 << 20).unwrap();
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("has 104857600 bytes"), "{}", refused.stderr);
    fs::write(sandbox.path().join("pipeline.ron"), [0xff, 0xfe, 0]).unwrap();
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("can't read the pipeline file"), "{}", refused.stderr);
    let missing = sandbox.call(&["nowhere.ron"]).fails_with(2);
    assert!(missing.stderr.contains("can't read the pipeline file `nowhere.ron`"));
}

#[test]
fn nothing_runs_when_there_is_a_mistake() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "good": Command(args: ["touch", "out"], outputs: ["out"]),
            "bad": Command(args: ["true"], inputs: {"x": "god"}, outputs: ["out"]),
        })"#,
    );
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    assert!(refused.stderr.contains("did you mean `good`?"), "{}", refused.stderr);
    assert!(!sandbox.path().join("cache").exists());
}
