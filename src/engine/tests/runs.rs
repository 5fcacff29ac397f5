//! The engine's promises, tested on test stages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use crate::engine::digest::ContentDigest;
use crate::engine::job::{Conditions, JobOutcome};
use crate::engine::key::{InputRecord, KeyRecord};
use crate::engine::run::options::OnError;
use crate::engine::stage::Kind;
use crate::engine::test_stages::{Fixture, TestStage};

const CHAIN: &str = r#"
    "a": Constant(value: 3),
    "b": Abs(of: "a"),
    "c": Sum(left: "b", right: "b"),
"#;

#[test]
fn an_unchanged_output_stops_the_rerun() {
    let mut fixture = Fixture::stages(CHAIN);
    assert_eq!(fixture.run().executed, ["a", "b", "c"]);
    let second = fixture.edit("value: 3", "value: -3").run();
    assert_eq!(second.executed, ["a", "b"], "|3| = |-3|: same digest, so `c` is a hit");
}

#[test]
fn a_default_written_out_is_the_same_key() {
    let mut fixture = Fixture::stages(CHAIN);
    fixture.run();
    assert!(fixture.edit(r#"right: "b""#, r#"right: "b", plus: 0"#).run().executed.is_empty());
    assert_eq!(fixture.edit("plus: 0", "plus: 1").run().executed, ["c"]);
}

#[test]
fn swapped_inputs_have_another_key() {
    let mut fixture = Fixture::stages(
        r#""x": Constant(value: 1), "y": Constant(value: 2), "s": Sum(left: "x", right: "y")"#,
    );
    fixture.run();
    let swapped = fixture.edit(r#"left: "x", right: "y""#, r#"left: "y", right: "x""#).run();
    assert_eq!(swapped.executed, ["s"]);
}

#[test]
fn equal_stages_are_computed_once() {
    let fixture = Fixture::stages(r#""x": Constant(value: 1), "y": Constant(value: 1)"#);
    let report = fixture.run();
    assert_eq!((report.executed.len(), report.cached), (1, 1));
    assert_eq!(fixture.values(&report), BTreeMap::from([("x".into(), 1), ("y".into(), 1)]));
}

#[test]
fn a_family_is_collected_in_axis_order_with_the_first_seed_first() {
    let fixture = Fixture::new(
        r#"Pipeline(name: "t", axes: {"m": {"p": 10, "q": 20}, "s": [0, 1]}, stages: {
            "n-{m}-{s}": Constant(value: Axis(m)),
            "k-{m}-{s}": Sum(left: "n-{m}-{s}", right: "n-{m}-{s}", plus: Axis(s)),
            "of-{m}": Total(of: Each("k-{m}-{s}")),
            "all": Total(of: Each("k-{m}-{s}")),
        })"#,
    );
    let order: Vec<_> = fixture.plan().stages().iter().map(|stage| stage.name.clone()).collect();
    assert_eq!(
        order,
        [
            "n-p-0", "k-p-0", "n-q-0", "k-q-0", "n-p-1", "k-p-1", "of-p", "n-q-1", "k-q-1", "all",
            "of-q"
        ]
    );
    let values = fixture.values(&fixture.run());
    assert_eq!((values["of-p"], values["of-q"], values["all"]), (41, 81, 122));
}

#[test]
fn failures_follow_the_policy() {
    let text = r#""bad": Fail(message: "no luck"), "after": Abs(of: "bad"), "other": Constant(value: 1),
        "last": Abs(of: "other")"#;
    let run = |policy| {
        let report = Fixture::stages(text).run_with(policy, &mut |_| {});
        (report.executed.len(), report.failed, report.skipped)
    };
    let failed = vec![("bad".to_owned(), "no luck".to_owned())];
    assert_eq!(run(OnError::Continue), (2, failed.clone(), 1));
    let (executed, seen, skipped) = run(OnError::Finish);
    assert_eq!((seen, executed + skipped), (failed, 3));
}

#[test]
fn a_job_of_another_version_is_refused() {
    let fixture = Fixture::stages(CHAIN);
    let mut job = fixture.job("a");
    job.record.version = 2;
    job.key = job.record.key();
    let conditions = Conditions {
        threads: 1,
        longest_wait: None,
        log: None,
        scratch: None,
        stop: Arc::default(),
        emit: Box::new(|_| {}),
    };
    let cache = fixture.cache();
    let JobOutcome::Failed { message, .. } = job.perform::<TestStage>(&cache, conditions) else {
        panic!("it ran");
    };
    assert!(message.contains("another version of pcae-run"), "{message}");
    assert!(cache.entries().unwrap().is_empty());
}

const TICKS: &str = r#""a": Measured(value: 3, ticks: [1, 4]), "b": Ticks(of: "a")"#;

#[test]
fn a_stage_reads_what_was_measured_when_its_input_was_made() {
    let fixture = Fixture::stages(TICKS);
    assert_eq!(fixture.values(&fixture.run())["b"], 5);
    let mut later = Fixture::stages(r#""a": Measured(value: 3, ticks: [1, 4])"#);
    later.run();
    later.text.clone_from(&fixture.text);
    let report = later.run();
    assert_eq!((report.executed.clone(), later.values(&report)["b"]), (vec!["b".to_owned()], 5));
    let unmeasured = Fixture::stages(r#""a": Constant(value: 3), "b": Ticks(of: "a")"#);
    assert_eq!(unmeasured.values(&unmeasured.run())["b"], -1);
}

#[test]
fn what_a_run_measured_is_no_part_of_its_content() {
    let mut fixture = Fixture::stages(TICKS);
    fixture.run();
    let slower = fixture.edit("[1, 4]", "[2, 8]").run();
    assert_eq!(slower.executed, ["a"], "the same number was left, so `b` is a hit");
    assert_eq!(fixture.values(&slower)["b"], 5, "and tells of the run that was there first");
}

#[test]
fn a_run_record_names_the_machine() {
    let fixture = Fixture::stages(r#""a": Constant(value: 1)"#);
    let run = fixture.cache().entry(&fixture.run().results[&0].key).unwrap().run;
    assert!(run.cores > 0 && run.device == "cpu", "{run:?}");
}

/// Stages that each read two random earlier ones.
fn random_stages(values: &[i64], links: &[(usize, usize)]) -> String {
    let mut text = String::new();
    for (at, value) in values.iter().enumerate() {
        let _ = write!(text, "\"n{at}\": Constant(value: {value}),");
    }
    for (at, (left, right)) in links.iter().enumerate() {
        let known = values.len() + at;
        let (left, right) = (left % known, right % known);
        let _ = write!(
            text,
            "\"n{known}\": Sum(left: \"n{left}\", right: \"n{right}\", plus: {known}),"
        );
    }
    text
}

fn expected(values: &[i64], links: &[(usize, usize)]) -> BTreeMap<String, i64> {
    let mut all = values.to_vec();
    for (left, right) in links {
        let known = all.len();
        all.push(all[left % known] + all[right % known] + i64::try_from(known).unwrap());
    }
    all.iter().enumerate().map(|(at, value)| (format!("n{at}"), *value)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_graphs_are_right_cached_and_planned_exactly(
        values in proptest::collection::vec(-9_i64..9, 1..4),
        links in proptest::collection::vec((0_usize..99, 0_usize..99), 0..7),
        edited in -9_i64..9,
    ) {
        let mut fixture = Fixture::stages(&random_stages(&values, &links));
        let first = fixture.run();
        prop_assert_eq!(fixture.values(&first), expected(&values, &links));
        prop_assert_eq!(fixture.run().executed.len(), 0);

        let mut changed = values.clone();
        changed[0] = edited;
        fixture.text = Fixture::stages(&random_stages(&changed, &links)).text;
        let (sure, possible) = fixture.planned();
        let second = fixture.run();
        prop_assert_eq!(fixture.values(&second), expected(&changed, &links));
        prop_assert!(sure.iter().all(|stage| second.executed.contains(stage)));
        let covers = |stage: &String| sure.contains(stage) || possible.contains(stage);
        prop_assert!(second.executed.iter().all(covers));
    }

    #[test]
    fn a_difference_names_every_changed_component_and_only_those(
        base in proptest::collection::btree_map("[a-e]", 0_i64..3, 1..5),
        edits in proptest::collection::btree_map("[a-e]", proptest::option::of(0_i64..3), 0..5),
        inputs in proptest::collection::btree_map("[a-c]", (0_u8..3, 0_u8..3), 0..3),
        version in 1_u32..3,
        backends in (0_u8..2, 0_u8..2),
    ) {
        let build = |fields: &BTreeMap<String, i64>, version, pick: fn(&(u8, u8)) -> u8, backend: u8| {
            let settings = json!({"model": {"Pcae": fields}, "list": [1, 2]});
            let mut record = KeyRecord::new(Kind { name: "Train", version }, settings);
            for (role, pair) in &inputs {
                let digest = ContentDigest::of_bytes(&[pick(pair)]);
                record.inputs.insert(role.clone(), InputRecord::One(digest));
            }
            record.backend = Some(format!("backend-{backend}"));
            record
        };
        let mut changed = base.clone();
        for (name, value) in &edits {
            match value {
                Some(value) => changed.insert(name.clone(), *value),
                None => changed.remove(name),
            };
        }
        let old = build(&base, 1, |pair| pair.0, backends.0);
        let new = build(&changed, version, |pair| pair.1, backends.1);

        let names = ["a", "b", "c", "d", "e"];
        let mut wanted: Vec<_> = names
            .iter()
            .filter(|name| base.get(**name) != changed.get(**name))
            .map(|name| format!("model.Pcae.{name}"))
            .collect();
        wanted.extend(inputs.iter().filter(|(_, pair)| pair.0 != pair.1).map(|(role, _)| format!("input {role}")));
        if version != 1 { wanted.push("kind version".into()) }
        if backends.0 != backends.1 { wanted.push("compute backend".into()) }
        let mut found: Vec<_> = new.differences(&old).into_iter().map(|d| d.component).collect();
        wanted.sort();
        found.sort();
        prop_assert_eq!(&found, &wanted);
        prop_assert_eq!(old.key() == new.key(), old == new);
    }

    #[test]
    fn a_key_survives_the_way_through_a_file(
        numbers in proptest::collection::vec(proptest::num::f64::NORMAL, 1..9),
        whole in any::<i64>(),
        text in ".*",
    ) {
        let settings = json!({"numbers": numbers, "whole": whole, "text": text, "none": null});
        let record = KeyRecord::new(Kind { name: "TestStage", version: 1 }, settings);
        let stored = serde_json::to_vec_pretty(&record).unwrap();
        prop_assert_eq!(serde_json::from_slice::<KeyRecord>(&stored).unwrap().key(), record.key());
    }
}
