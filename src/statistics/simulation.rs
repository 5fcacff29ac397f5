//! What intervals and tests promise, counted on seeded draws.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

use super::{Difference, PrintedSpread, Sample, holm, printed_spread};

const DRAWS: usize = 4000;

/// Draws two samples that often: five runs around `mean`, and seven around 0 that vary thrice as
/// much; returns the share for which the difference fulfills a condition.
fn share(mean: f64, holds: impl Fn(&Difference) -> bool) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let first = Normal::new(mean, 1.0).unwrap();
    let second = Normal::new(0.0, 3.0).unwrap();
    let mut held = 0;
    for _ in 0..DRAWS {
        let first: Vec<f64> = first.sample_iter(&mut rng).take(5).collect();
        let second: Vec<f64> = second.sample_iter(&mut rng).take(7).collect();
        let samples = (Sample::of(&first).unwrap(), Sample::of(&second).unwrap());
        held += usize::from(holds(&Difference::between(&samples.0, &samples.1).unwrap()));
    }
    held as f64 / DRAWS as f64
}

#[test]
fn an_interval_of_95_percent_holds_the_truth_in_95_percent() {
    let covered = share(1.5, |found| {
        let (low, high) = found.interval(0.95);
        (low..=high).contains(&1.5)
    });
    assert!((0.935..=0.965).contains(&covered), "{covered}");
}

#[test]
fn equal_means_are_called_different_in_5_percent() {
    let called = share(0.0, |found| found.difference_p() <= 0.05);
    assert!((0.035..=0.065).contains(&called), "{called}");
}

#[test]
fn means_on_the_margin_are_called_equivalent_in_at_most_5_percent() {
    let margin = 6.0;
    let on_the_margin = share(margin, |found| found.equivalence_p(margin) <= 0.05);
    assert!((0.03..=0.065).contains(&on_the_margin), "{on_the_margin}");
    let beyond = share(1.2 * margin, |found| found.equivalence_p(margin) <= 0.05);
    assert!(beyond < on_the_margin, "{beyond}");
    let within = share(0.0, |found| found.equivalence_p(margin) <= 0.05);
    assert!(within > 0.8, "a test that never finds anything is no test: {within}");
}

#[test]
fn adjusted_tests_of_ten_cells_are_all_right_in_95_percent() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let normal = Normal::new(0.0, 1.0).unwrap();
    let wrong = (0..DRAWS).filter(|_| {
        let p_values: Vec<f64> = (0..10)
            .map(|_| {
                let values: Vec<f64> = normal.sample_iter(&mut rng).take(4).collect();
                let sample = Sample::of(&values).unwrap();
                Difference::between(&sample, &Sample::exact(0.0)).unwrap().difference_p()
            })
            .collect();
        holm(&p_values).iter().any(|p| *p <= 0.05)
    });
    let share = wrong.count() as f64 / DRAWS as f64;
    assert!((0.035..=0.06).contains(&share), "{share}");
}

#[test]
fn the_seven_spreads_that_the_paper_prints_as_variances_are_found() {
    let variances = [
        (14.4, 0.64),
        (15.8, 0.56),
        (16.8, 0.56),
        (55.6, 1.04),
        (34.8, 6.56),
        (18.8, 0.56),
        (44.6, 1.04),
    ];
    for (mean, spread) in variances {
        assert_eq!(printed_spread(mean, spread, 5, 2), PrintedSpread::Variance, "{mean}");
    }
    let deviations = [
        (6.2, 0.4),
        (11.0, 0.0),
        (11.4, 0.49),
        (16.0, 0.63),
        (42.4, 0.8),
        (61.4, 0.49),
        (54.0, 8.0),
        (61.0, 0.63),
    ];
    for (mean, spread) in deviations {
        assert_eq!(printed_spread(mean, spread, 5, 2), PrintedSpread::Deviation, "{mean}");
    }
}
