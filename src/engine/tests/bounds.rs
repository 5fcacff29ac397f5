//! Pipelines that ask for more than a machine holds, or have more mistakes than anyone reads.

use crate::engine::pipeline::diagnostic::{Diagnostic, Style, draw};
use crate::engine::pipeline::search_paths::FileProbe;
use crate::engine::pipeline::source::Source;
use crate::engine::plan::Plan;
use crate::engine::test_stages::TestStage;

/// Loads a pipeline. What would grow with the square here, or double with every value, would not end.
fn load(text: &str) -> (Source, Result<Plan<TestStage>, Vec<Diagnostic>>) {
    let source = Source::new("p.ron", text);
    let plan = Plan::load(&source, &FileProbe::Search);
    (source, plan)
}

/// Returns the mistakes of a pipeline: each message, with what it points at.
fn mistakes(text: &str) -> Vec<(String, String)> {
    let (source, plan) = load(text);
    let mistakes = plan.err().unwrap();
    draw(&source, &mistakes, Style::Plain);
    let place = |mistake: &Diagnostic| source.slice(mistake.at).to_owned();
    mistakes.iter().map(|mistake| (mistake.message.clone(), place(mistake))).collect()
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_product_of_axes_is_counted_before_it_is_expanded() {
    let labels = list(16, |label| label.to_string());
    let axes = list(16, |axis| format!("\"x{axis}\": [{labels}]"));
    let name = list(16, |axis| format!("{{x{axis}}}")).replace(", ", "-");
    let text = format!(
        "Pipeline(name: \"p\", axes: {{{axes}}}, stages: {{\"{name}\": Constant(value: 1)}})"
    );
    let expected = ("this makes more than 100000 stages".to_owned(), format!("\"{name}\""));
    assert_eq!(mistakes(&text), [expected]);
}

#[test]
fn values_inside_values_are_measured_before_they_are_put_in() {
    for times in [2, 100] {
        let mut shared = format!("\"v0\": [{}]", list(1000, |at| format!("{at}.5")));
        for depth in 1..8 {
            let inner = list(times, |_| format!("Shared(v{})", depth - 1));
            shared = format!("{shared}, \"v{depth}\": [{inner}]");
        }
        let text = format!(
            "Pipeline(name: \"p\", shared: {{{shared}}}, axes: {{\"n\": [{}]}},
            stages: {{\"a-{{n}}\": Measured(value: 1, ticks: Shared(v7))}})",
            list(500, |label| label.to_string())
        );
        let found = mistakes(&text);
        let (message, place) = &found[0];
        assert!(message.starts_with("with "), "{message}");
        assert!(message.contains("larger than"), "{message}");
        assert_eq!((place.as_str(), found.len()), ("\"a-{n}\"", 1));
    }
}

#[test]
fn values_that_refer_to_each_other_many_times_are_refused_at_once() {
    let uses = list(200, |_| "Shared(a), Axis(n)".to_owned());
    let text = format!(
        "Pipeline(name: \"p\", axes: {{\"n\": {{\"x\": [{uses}], \"y\": 1}}}},
        shared: {{\"a\": [{uses}]}},
        stages: {{\"s-{{n}}\": Measured(value: 1, ticks: Shared(a))}})"
    );
    assert!(!mistakes(&text).is_empty());
}

#[test]
fn an_axis_may_have_as_many_labels_as_there_may_be_stages() {
    let pipeline = |count| {
        format!(
            "Pipeline(name: \"p\", axes: {{\"n\": [{}]}}, limits: {{\"a-7*\": Limits(retries: 2)}},
            stages: {{\"a-{{n}}\": Constant(value: Axis(n))}})",
            list(count, |label| label.to_string())
        )
    };
    let (_, plan) = load(&pipeline(100_000));
    let plan = plan.unwrap();
    assert_eq!(plan.stages().len(), 100_000);
    assert_eq!(plan.stages()[70_000].limits.retries, Some(2));
    assert_eq!(mistakes(&pipeline(100_001)).len(), 1);
}

#[test]
fn members_of_families_are_counted_before_they_are_looked_up() {
    let text = format!(
        "Pipeline(name: \"p\", axes: {{\"a\": [{labels}], \"b\": [{labels}]}}, stages: {{
            \"one-{{a}}\": Constant(value: 1), \"all-{{b}}\": Total(of: Each(\"one-{{a}}\")),
        }})",
        labels = list(3000, |label| label.to_string())
    );
    let found = mistakes(&text);
    assert_eq!(found[0].0, "stages refer to each other more than 5000000 times");
    assert_eq!((found[0].1.as_str(), found.len()), ("\"one-{a}\"", 1));
}

#[test]
fn a_report_stage_can_not_take_the_place_of_another_file() {
    let text = r#"Pipeline(name: "p", axes: {"n": [0]}, stages: {
        "one-{n}": Constant(value: 1), "numbers": Constant(value: 2),
        "report": Total(of: Each("one-{n}")),
        "loss": Total(of: Each("one-{n}")), "Loss": Total(of: Each("one-{n}")),
    })"#;
    let expected = [
        ("the report itself has a file `report.tex`", "\"report\""),
        ("`Loss` and `loss` differ only in case", "\"Loss\""),
    ];
    assert_eq!(mistakes(text), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn a_long_cycle_is_walked_once() {
    let stages = list(30_000, |at| format!("\"s{at}\": Abs(of: \"s{}\")", (at + 1) % 30_000));
    let found = mistakes(&format!("Pipeline(name: \"p\", stages: {{{stages}}})"));
    assert_eq!(found[0].0, "these stages depend on each other");
}

#[test]
fn one_stage_of_a_template_stands_for_all_with_the_same_mistake() {
    let labels = list(20_000, |label| label.to_string());
    let stages = r#""a-{n}": Constant(value: 1), "b-{n}": Abs(of: "c-{n}"), "d-{n}": Abs(of: 1)"#;
    let text = format!("Pipeline(name: \"p\", axes: {{\"n\": [{labels}]}}, stages: {{{stages}}})");
    let found = mistakes(&text);
    let messages: Vec<_> = found.iter().map(|(message, _)| message.as_str()).collect();
    let expected = [
        "no stage is named `c-0` (20000 stages)",
        "expected a string in quotes, found `1` (20000 stages)",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn mistakes_without_end_are_looked_for_only_so_long() {
    let unknown = list(30_000, |at| format!("\"s{at}\": Abs(of: \"t{at}\")"));
    let shared = list(30_000, |at| format!("\"s{at}\": Constant(value: Shared(t{at}))"));
    let fields = list(30_000, |at| format!("f{at}: 1"));
    let declared = list(30_000, |at| format!("\"v{at}\": 1"));
    for text in [
        format!("Pipeline(name: \"p\", stages: {{{unknown}}})"),
        format!("Pipeline(name: \"p\", shared: {{{declared}}}, stages: {{{shared}}})"),
        format!("Pipeline(name: \"p\", stages: {{\"s\": Constant({fields})}})"),
        format!("Pipeline(name: \"p\", axes: {{\"a b\": [{unknown}]}}, stages: {{\"s\": X()}})"),
    ] {
        let count = mistakes(&text).len();
        assert!((1..=200).contains(&count), "{count} mistakes");
    }
}

#[test]
fn a_name_is_no_longer_than_a_file_name() {
    let long = "x".repeat(120);
    let text = format!(
        "Pipeline(name: \"p\", axes: {{\"a\": [\"{long}\"], \"b\": [\"{long}\"]}},
        stages: {{\"{{a}}-{{b}}\": Constant(value: 1)}})"
    );
    let found = mistakes(&text);
    assert_eq!(found[0].0, "the name of this stage is longer than 200 bytes");
    let text = "Pipeline(name: \"p\", axes: {\"a\": [.5]}, stages: {\"{a}\": Constant(value: 1)})";
    assert_eq!(mistakes(text)[0].0, "`{a}` can't be a stage name");
}

#[test]
fn braces_and_comments_without_end_are_read_once() {
    let braces = format!("{}}}", "{".repeat(500_000));
    let text = format!(
        "Pipeline(name: \"p\", axes: {{\"n\": [0]}}, stages: {{\"a\": Fail(message: \"{braces}\")}})"
    );
    let (_, plan) = load(&text);
    assert_eq!(plan.unwrap().stages().len(), 1);
    let comments = format!("{}{}", "/*".repeat(1 << 20), "*/".repeat(1 << 20));
    let text = format!("Pipeline(name: \"p\", stages: {{{comments} \"a\": Constant(value: 1)}})");
    let (_, plan) = load(&text);
    assert_eq!(plan.unwrap().stages().len(), 1);
    for open in ["[", "Some(", "{1: "] {
        let deep = open.repeat(1 << 20);
        let text = format!("Pipeline(name: \"p\", stages: {{\"a\": Constant(value: {deep}");
        assert_eq!(mistakes(&text)[0].0, "brackets are nested more than 64 deep");
    }
}
