//! Distributions and tests against SciPy: tests/reference/statistics.json.

use serde::Deserialize;

use super::{Difference, Sample, StudentT, normal_quantile};

#[derive(Deserialize)]
struct Reference {
    above: Vec<(f64, f64, f64)>,
    quantiles: Vec<(f64, f64, f64)>,
    normal: Vec<(f64, f64)>,
    tests: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    first: Vec<f64>,
    second: Vec<f64>,
    second_mean: f64,
    second_population_variance: f64,
    degrees_of_freedom: f64,
    difference_p: f64,
    larger_p: f64,
    interval: (f64, f64),
    equivalence_p: Vec<(f64, f64)>,
    one_sample_p: f64,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../tests/reference/statistics.json")).unwrap()
}

fn close(found: f64, expected: f64, what: &str) {
    let allowed = 1e-9 * expected.abs() + 1e-15;
    assert!((found - expected).abs() <= allowed, "{what}: {found} is not {expected}");
}

#[test]
fn tails_and_quantiles_are_those_of_scipy() {
    let reference = reference();
    for (degrees_of_freedom, t, above) in reference.above {
        let found = StudentT { degrees_of_freedom };
        close(found.above(t), above, &format!("above {t} with {degrees_of_freedom}"));
        close(found.cdf(-t), above, &format!("below -{t} with {degrees_of_freedom}"));
    }
    for (degrees_of_freedom, p, quantile) in reference.quantiles {
        let found = StudentT { degrees_of_freedom }.quantile(p);
        close(found, quantile, &format!("quantile {p} with {degrees_of_freedom}"));
    }
    for (p, quantile) in reference.normal {
        close(normal_quantile(p), quantile, &format!("normal quantile {p}"));
    }
}

#[test]
fn tests_of_two_samples_are_those_of_scipy() {
    for case in reference().tests {
        let first = Sample::of(&case.first).unwrap();
        let runs = case.second.len();
        let published = Sample::published(case.second_mean, case.second_population_variance, runs);
        for second in [Sample::of(&case.second).unwrap(), published] {
            let found = Difference::between(&first, &second).unwrap();
            close(found.degrees_of_freedom, case.degrees_of_freedom, &case.name);
            close(found.difference_p(), case.difference_p, &case.name);
            close(found.larger_p(), case.larger_p, &case.name);
            close(found.interval(0.95).0, case.interval.0, &case.name);
            close(found.interval(0.95).1, case.interval.1, &case.name);
            for (margin, p) in &case.equivalence_p {
                close(found.equivalence_p(*margin), *p, &format!("{} in {margin}", case.name));
            }
        }
        let alone = Difference::between(&first, &Sample::exact(case.second[0])).unwrap();
        close(alone.difference_p(), case.one_sample_p, &case.name);
    }
}
