//! The paper as a pipeline: at its own scale, scaled down, and the report that is kept.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use pcae::engine::pipeline::search_paths::FileProbe;
use pcae::engine::pipeline::source::Source;
use pcae::engine::plan::Plan;
use pcae::stages::AnyStage;

fn plan(name: &str) -> Plan<AnyStage> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines").join(name);
    let source = Source::read(&path).unwrap();
    Plan::load(&source, &FileProbe::Recorded(BTreeSet::new())).unwrap()
}

#[test]
fn every_table_and_figure_of_the_paper_has_its_stage() {
    let mut wanted: Vec<String> = (1..=8).map(|number| format!("Table {number}")).collect();
    wanted.extend(["Figure 1", "Figure 2", "MLE"].map(str::to_owned));
    for name in ["paper.ron", "cpu.ron"] {
        let plan = plan(name);
        let text: Vec<&str> = plan.stages().iter().map(|stage| stage.text.as_str()).collect();
        for label in &wanted {
            let named = format!("label: \"{label}\"");
            assert!(text.iter().any(|text| text.contains(&named)), "{name} lacks {label}");
        }
    }
}

#[test]
fn the_small_pipeline_has_every_stage_of_the_large_one() {
    let templates = |name: &str| -> BTreeSet<String> {
        let plan = plan(name);
        let stages = plan.stages().iter();
        // Where data come from is what the two differ in.
        let made = stages.filter(|stage| !stage.text.trim_start().starts_with("Download"));
        made.map(|stage| stage.template.clone()).collect()
    };
    let missing: Vec<_> =
        templates("paper.ron").difference(&templates("cpu.ron")).cloned().collect();
    assert_eq!(missing, ["cubes", "ellipses"], "sets that are drawn need no selection");
}

#[test]
fn the_kept_report_is_of_this_program_and_this_pipeline() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_pcae-run"))
        .args(["report", "pipelines/cpu.ron", "--check", "--reports", "reports"])
        .current_dir(folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
}
