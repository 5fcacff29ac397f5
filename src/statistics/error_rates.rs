//! How often verdicts are wrong: computed over every outcome where runs have few values, counted on
//! seeded draws where they have many. `tests/README.md` has the table that this prints.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp, LogNormal, Normal, Uniform};

use super::bounded_mean::BoundedMean;
use super::{PublishedRuns, mean, standard_deviation};

const PUBLISHED: usize = 5;
const LEVELS: [f64; 3] = [0.05, 0.01, 0.05 / 45.0];

/// Values of a count with their chances, the number of coordinates, and a margin around 4 that the
/// mean is not within: none is equivalent to a published mean of 4.
struct Law {
    name: &'static str,
    chances: &'static [(f64, f64)],
    coordinates: f64,
    margin: f64,
}

const fn law(name: &'static str, chances: &'static [(f64, f64)]) -> Law {
    Law { name, chances, coordinates: 16.0, margin: 0.5 }
}

/// A law of which a few runs can already decide something.
const fn narrow(name: &'static str, chances: &'static [(f64, f64)]) -> Law {
    Law { name, chances, coordinates: 6.0, margin: 1.0 }
}

const LAWS: [Law; 10] = [
    law("4 or 5, of 16", &[(4.0, 0.5), (5.0, 0.5)]),
    law("4, or 7 with 20 %, of 16", &[(4.0, 0.8), (7.0, 0.2)]),
    law("4, or 9 with 10 %, of 16", &[(4.0, 0.9), (9.0, 0.1)]),
    law("2 or 7, of 16", &[(2.0, 0.5), (7.0, 0.5)]),
    law("4, or 16 with 4 %, of 16", &[(4.0, 1.0 - 0.5 / 12.0), (16.0, 0.5 / 12.0)]),
    law("3, 4 or 7, of 16", &[(3.0, 0.2), (4.0, 0.567), (7.0, 0.233)]),
    narrow("always 5, of 6", &[(5.0, 1.0)]),
    narrow("4 or 6, of 6", &[(4.0, 0.5), (6.0, 0.5)]),
    narrow("4, or 1 with 33 %, of 6", &[(4.0, 2.0 / 3.0), (1.0, 1.0 / 3.0)]),
    narrow("3, 4 or 6, of 6", &[(3.0, 0.1), (4.0, 0.35), (6.0, 0.55)]),
];

/// Lists how often each value may come up in so many runs, with the chance of it.
fn outcomes(law: &[(f64, f64)], runs: usize) -> Vec<(Vec<f64>, f64)> {
    let Some(((value, chance), rest)) = law.split_first() else {
        return if runs == 0 { vec![(Vec::new(), 1.0)] } else { Vec::new() };
    };
    let mut found = Vec::new();
    let mut ways = 1.0;
    for count in 0..=runs {
        for (others, of_others) in outcomes(rest, runs - count) {
            let values = [vec![*value; count], others].concat();
            found.push((values, ways * chance.powf(count as f64) * of_others));
        }
        ways *= (runs - count) as f64 / (count + 1) as f64;
    }
    found
}

/// Returns how often so many runs are called equivalent to 4, at each level.
fn called_equivalent(law: &Law, runs: usize) -> [f64; 3] {
    let range = BoundedMean { low: 1.0, high: law.coordinates };
    let mut called = [0.0; 3];
    for (runs, chance) in outcomes(law.chances, runs) {
        let p = range.equivalence_p(&runs, 4.0, law.margin);
        for (called, level) in called.iter_mut().zip(LEVELS) {
            *called += if p <= level { chance } else { 0.0 };
        }
    }
    called
}

/// Returns how often so many runs and five published ones of the same law are called different, at
/// each level. Of the published ones only the printed mean and spread are used.
fn called_different(law: &[(f64, f64)], runs: usize) -> [f64; 3] {
    let mut wrong = [0.0; 3];
    let mut known: BTreeMap<String, PublishedRuns> = BTreeMap::new();
    let measured = outcomes(law, runs);
    for (published, of_published) in outcomes(law, PUBLISHED) {
        let (mean, spread) = printed(&published);
        let published = known
            .entry(format!("{mean} {spread}"))
            .or_insert_with(|| PublishedRuns::whole(mean, spread, PUBLISHED, 2).unwrap());
        for (runs, of_runs) in &measured {
            let p = published.difference_p(runs);
            for (wrong, level) in wrong.iter_mut().zip(LEVELS) {
                *wrong += if p <= level { of_published * of_runs } else { 0.0 };
            }
        }
    }
    wrong
}

/// Returns mean and population deviation of runs, with two decimals.
fn printed(runs: &[f64]) -> (f64, f64) {
    let decimals = |value: f64| format!("{value:.2}").parse().unwrap();
    (decimals(mean(runs).unwrap()), decimals(standard_deviation(runs, 0).unwrap()))
}

#[test]
fn no_law_of_counts_is_called_equivalent_or_different_too_often() {
    const SHOWN: [usize; 4] = [2, 5, 10, 20];
    println!("| law | verdict | n = 2 | 5 | 10 | 20 |\n|---|---|---:|---:|---:|---:|");
    for law in &LAWS {
        let mut shown = [Vec::new(), Vec::new()];
        for runs in 2..=20 {
            let rates = [called_equivalent(law, runs), called_different(law.chances, runs)];
            for (rate, level) in rates.iter().flat_map(|rates| rates.iter().zip(LEVELS)) {
                assert!(*rate <= level, "{}: {rate} of {runs} runs at {level}", law.name);
            }
            if SHOWN.contains(&runs) {
                let percent = rates.map(|rates| format!("{:.1} %", 100.0 * rates[0]));
                shown.iter_mut().zip(percent).for_each(|(shown, percent)| shown.push(percent));
            }
        }
        for (verdict, shown) in ["equivalent", "differs"].iter().zip(shown) {
            println!("| {} | {verdict} | {} |", law.name, shown.join(" | "));
        }
    }
}

#[test]
fn runs_that_happen_to_be_equal_are_not_called_equivalent() {
    let law = &LAWS[1];
    assert!(called_equivalent(law, 5)[0] <= 0.0);
    let (_, all_4) =
        outcomes(law.chances, 5).into_iter().find(|(runs, _)| *runs == [4.0; 5]).unwrap();
    assert!(all_4 > 0.3, "although a third of the time all five are 4");
}

#[test]
fn a_test_that_never_finds_anything_is_no_test() {
    let always =
        |coordinates, margin| Law { name: "always 4", chances: &[(4.0, 1.0)], coordinates, margin };
    assert!(called_equivalent(&always(6.0, 1.0), 8)[0] > 0.999);
    assert!(called_equivalent(&always(16.0, 0.5), 80)[0] > 0.999);
    let published = PublishedRuns::whole(4.0, 0.0, PUBLISHED, 2).unwrap();
    assert!(published.difference_p(&[7.0; 5]) <= 0.05);
    let real = PublishedRuns::real(4.55, 0.12, PUBLISHED, 2);
    assert!(real.difference_p(&[5.2, 5.1, 5.3, 5.2, 5.1]) <= 0.05);
}

type Draw<'a> = &'a dyn Fn(&mut ChaCha8Rng) -> f64;

#[test]
fn no_law_of_other_values_is_called_different_too_often() {
    const DRAWS: usize = 4000;
    let peaks = |rng: &mut ChaCha8Rng| {
        let peak = if Uniform::new(0.0, 1.0).unwrap().sample(rng) < 0.5 { 4.0 } else { 7.0 };
        peak + 0.01 * Normal::new(0.0, 1.0).unwrap().sample(rng)
    };
    let laws: [(&str, Draw<'_>); 5] = [
        ("normal", &|rng| Normal::new(10.0, 1.0).unwrap().sample(rng)),
        ("uniform", &|rng| Uniform::new(9.0, 11.0).unwrap().sample(rng)),
        ("exponential", &|rng| Exp::new(1.0).unwrap().sample(rng)),
        ("log-normal", &|rng| LogNormal::new(0.0, 1.5).unwrap().sample(rng)),
        ("two peaks", &peaks),
    ];
    for (name, draw) in laws {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for runs in 2..=20 {
            let mut wrong = [0; 3];
            for _ in 0..DRAWS {
                let published: Vec<f64> = (0..PUBLISHED).map(|_| draw(&mut rng)).collect();
                let measured: Vec<f64> = (0..runs).map(|_| draw(&mut rng)).collect();
                let (mean, spread) = printed(&published);
                let p = PublishedRuns::real(mean, spread, PUBLISHED, 2).difference_p(&measured);
                for (wrong, level) in wrong.iter_mut().zip(LEVELS) {
                    *wrong += usize::from(p <= level);
                }
            }
            for (wrong, level) in wrong.into_iter().zip(LEVELS) {
                let rate = wrong as f64 / DRAWS as f64;
                let noise = 3.0 * (level / DRAWS as f64).sqrt();
                assert!(rate <= level + noise, "{name}: {rate} of {runs} runs at {level}");
            }
        }
    }
}
