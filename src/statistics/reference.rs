//! Tests against SciPy and statsmodels: tests/reference/statistics.json.

use serde::Deserialize;

use super::bounded_mean::BoundedMean;
use super::permutation::mean_difference_p;
use super::{PublishedRuns, holm, rank_sum_p};

#[derive(Deserialize)]
struct Reference {
    mean_difference: Vec<(Vec<i64>, Vec<i64>, f64)>,
    rank_sum: Vec<(Vec<f64>, Vec<f64>, f64)>,
    rank_sum_of_many: (Vec<f64>, Vec<f64>, f64),
    exceedance: Vec<(usize, usize, usize, f64)>,
    unseen_share: Vec<(usize, f64, f64)>,
    holm: Vec<(Vec<f64>, Vec<f64>)>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../tests/reference/statistics.json")).unwrap()
}

fn close(found: f64, expected: f64, what: &str) {
    let allowed = 1e-9 * expected.abs() + 1e-15;
    assert!((found - expected).abs() <= allowed, "{what}: {found} is not {expected}");
}

#[test]
fn permutation_tests_are_those_of_scipy() {
    let reference = reference();
    for (first, second, p) in reference.mean_difference {
        let found = mean_difference_p(&first, &second).unwrap();
        close(found, p, &format!("{first:?} {second:?}"));
    }
    for (larger, smaller, p) in reference.rank_sum {
        close(rank_sum_p(&larger, &smaller), p, &format!("{larger:?} {smaller:?}"));
    }
    let (larger, smaller, p) = reference.rank_sum_of_many;
    close(rank_sum_p(&larger, &smaller), p, "60 values each");
    for (p_values, adjusted) in reference.holm {
        for (found, expected) in holm(&p_values).into_iter().zip(adjusted) {
            close(found, expected, &format!("{p_values:?}"));
        }
    }
}

#[test]
fn runs_beyond_all_published_ones_are_as_rare_as_the_hypergeometric_law_has_it() {
    for (beyond, measured, published, p) in reference().exceedance {
        let known = PublishedRuns::Within { low: 0.0, high: 1.0, runs: published };
        for far in [2.0, -1.0] {
            let runs: Vec<f64> =
                (0..measured).map(|run| if run < beyond { far } else { 0.5 }).collect();
            close(known.difference_p(&runs), p, &format!("{beyond} of {measured}, {published}"));
        }
    }
}

#[test]
fn equal_runs_bound_the_share_of_others_as_clopper_and_pearson_do() {
    let range = BoundedMean { low: 0.0, high: 1.0 };
    for (runs, alpha, share) in reference().unseen_share {
        // Nine tenths of the money are staked in full.
        let (_, high) = range.interval(&vec![0.0; runs], alpha / 0.9);
        assert!(high <= share && high > 0.9 * share, "{runs} {alpha}: {high} {share}");
        let (_, high) = range.interval(&vec![0.0; runs], alpha);
        assert!(high >= share * 0.999 && high < 1.06 * share, "{runs} {alpha}: {high} {share}");
    }
}
