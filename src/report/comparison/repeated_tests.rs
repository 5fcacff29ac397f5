//! What repeated looks at growing tables keep to.

use crate::report::records::record::tests::record;
use crate::report::tables::tabulate::tests::spec;
use crate::report::{Judged, Table, Verdict, judge, judge_again, tabulate};

const ALPHA: f64 = 0.025;

/// Makes a table of one row for each model.
fn table(rows: &[(&str, &[f64])]) -> Vec<(String, Table)> {
    let text = r#"(caption: "c", label: "l", rows: ["model"], over: ["seed"],
        values: [Value(field: "x", title: "X", margin: Absolute(1), range: (1, 6), counts: true,
            published: {"sure": (4, 0), "other": (2, 0), "open": (4, 0)})])"#;
    let runs = rows.iter().flat_map(|(model, values)| {
        values.iter().enumerate().map(move |(seed, value)| {
            record(&[("model", model), ("seed", &seed.to_string())], &[("x", *value)])
        })
    });
    vec![("t".to_owned(), tabulate(&spec(text), &runs.collect::<Vec<_>>()).unwrap())]
}

const FIRST: [(&str, &[f64]); 3] =
    [("sure", &[4.0; 20]), ("other", &[6.0; 8]), ("open", &[4.0; 4])];

fn words(judged: &[Judged]) -> Vec<&str> {
    judged.iter().map(|judged| judged.verdict.word()).collect()
}

#[test]
fn what_a_look_decided_stays_whatever_the_next_one_brings() {
    let first = judge(&table(&FIRST), ALPHA);
    assert_eq!(words(&first), ["equivalent", "differs", "matches"]);
    let worse: [(&str, &[f64]); 3] =
        [("sure", &[4.0, 6.0, 1.0]), ("other", &[6.0, 2.0, 2.0]), FIRST[2]];
    let second = judge_again(&table(&worse), ALPHA / 2.0, &first);
    assert_eq!(words(&second), words(&first));
    assert_eq!(second[..2], first[..2], "with the p-values that decided it");
}

#[test]
fn a_decided_cell_counts_in_the_adjustment_of_the_others_as_it_was_decided() {
    let more = [FIRST[0], FIRST[1], ("open", &[4.0; 18][..])];
    let first = judge(&table(&FIRST), ALPHA);
    let second = judge_again(&table(&more), ALPHA, &first);
    assert_eq!(second[2].verdict, Verdict::Equivalent);
    // As Holm's method would have it at once: behind `sure`, which waits no more, and beside
    // `other`, which never was called equivalent and still waits.
    let at_once = judge(&table(&more), ALPHA)[2].equivalence_p.unwrap();
    let later = second[2].equivalence_p.unwrap();
    assert!((later - at_once).abs() < 1e-12, "{later} {at_once}");
}
