//! The paper as a pipeline: its three scales, and the report that is kept.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use pcae::engine::pipeline::search_paths::FileProbe;
use pcae::engine::pipeline::source::{ScaleChoice, Source};
use pcae::engine::plan::Plan;
use pcae::stages::AnyStage;

const SCALES: [&str; 3] = ["smoke", "laptop", "paper"];

fn plan_with(scale: Option<&str>, on_gpu: bool, present: &[&str]) -> Plan<AnyStage> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/paper.ron");
    let choice = ScaleChoice { name: scale.map(str::to_owned), on_gpu };
    let source = Source::read(&path).unwrap().at_scale(choice);
    let present = present.iter().map(|name| (*name).to_owned()).collect();
    Plan::load(&source, &FileProbe::Recorded(present)).unwrap()
}

fn plan(scale: &str) -> Plan<AnyStage> {
    plan_with(Some(scale), false, &[])
}

fn labels(plan: &Plan<AnyStage>, axis: &str) -> BTreeSet<String> {
    plan.stages().iter().filter_map(|stage| stage.labels.get(axis).cloned()).collect()
}

#[test]
fn every_table_and_figure_of_the_paper_has_its_stage_at_every_scale() {
    let mut wanted: Vec<String> = (1..=8).map(|number| format!("Table {number}")).collect();
    wanted.extend(["Figure 1", "Figure 2", "MLE"].map(str::to_owned));
    for scale in SCALES {
        let plan = plan(scale);
        let text: Vec<&str> = plan.stages().iter().map(|stage| stage.text.as_str()).collect();
        for label in &wanted {
            let named = format!("label: \"{label}\"");
            assert!(text.iter().any(|text| text.contains(&named)), "{scale} lacks {label}");
        }
    }
}

#[test]
fn every_scale_has_the_stages_of_every_other() {
    let templates = |scale: &str| -> BTreeSet<String> {
        plan(scale).stages().iter().map(|stage| stage.template.clone()).collect()
    };
    let [smoke, laptop, paper] = SCALES.map(templates);
    assert_eq!(smoke, laptop);
    let only_paper: Vec<_> = paper.difference(&laptop).map(String::as_str).collect();
    let files = ["3dshapes-files", "celeba-files", "dsprites-files", "inception-weights"];
    let published = [files.as_slice(), &["cubes", "ellipses", "mnist-files"]].concat();
    assert_eq!(
        only_paper.iter().copied().collect::<BTreeSet<_>>(),
        published.into_iter().collect()
    );
    let only_laptop: Vec<_> = laptop.difference(&paper).map(String::as_str).collect();
    assert_eq!(only_laptop, ["classifier"], "in the place of Inception");
}

#[test]
fn a_processor_gets_the_scale_it_can_do_and_a_gpu_the_whole_paper() {
    assert_eq!(plan_with(None, false, &[]).scale(), Some("laptop"));
    assert_eq!(plan_with(None, true, &[]).scale(), Some("paper"));
}

#[test]
fn faces_are_those_that_are_there_and_celeba_is_no_other_set() {
    let sets = |present: &[&str]| labels(&plan_with(Some("laptop"), false, present), "set");
    let with = |more: &[&str]| -> BTreeSet<String> {
        let known = ["3dshapes", "dsprites", "mnist"];
        known.iter().chain(more).map(|label| (*label).to_owned()).collect()
    };
    assert_eq!(sets(&[]), with(&[]), "nothing stands in for faces");
    assert_eq!(sets(&["faces"]), with(&["faces"]));
    assert_eq!(sets(&["faces", "celeba"]), with(&["celeba"]));
    assert_eq!(labels(&plan("paper"), "set"), with(&["celeba"]));
    let plan = plan_with(Some("laptop"), false, &["faces"]);
    let table = plan.stages().iter().find(|stage| stage.name == "table-2").unwrap();
    assert!(!table.text.contains("\"faces/"), "nothing is published of them");
}

#[test]
fn digits_are_real_with_or_without_the_whole_of_mnist() {
    let source = |present: &[&str]| {
        let plan = plan_with(Some("laptop"), false, present);
        let stage = plan.stages().iter().find(|stage| stage.name == "mnist-train").unwrap();
        stage.text.clone()
    };
    assert!(source(&[]).contains("Mnist()") && source(&[]).contains("data/mnist"));
    assert!(source(&["mnist"]).contains("path: \"mnist\""));
}

#[test]
fn the_kept_report_is_of_this_program_and_this_pipeline() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_pcae-run"))
        .args(["report", "pipelines/paper.ron", "--scale", "laptop", "--check"])
        .args(["--reports", "reports"])
        .current_dir(folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
}
