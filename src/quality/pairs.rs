//! Random pairs of different samples.

use rand::RngExt;

use super::QualityError;
use crate::numerics::Seed;

/// Draws pairs of different samples, each pair equally likely and independent of the others.
pub(super) fn random_pairs(
    samples: usize,
    count: usize,
    seed: Seed,
) -> Result<Vec<(usize, usize)>, QualityError> {
    if samples < 2 {
        return Err(QualityError::TooFewSamples { samples });
    }
    let mut rng = seed.stream("pairs");
    let mut draw = || {
        let one = rng.random_range(0..samples);
        let other = rng.random_range(0..samples - 1);
        (one, if other < one { other } else { other + 1 })
    };
    Ok((0..count).map(|_| draw()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_different_samples_is_about_equally_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for pair in random_pairs(3, 6000, Seed(2)).unwrap() {
            *counts.entry(pair).or_insert(0_u32) += 1;
        }
        assert!(counts.keys().all(|(one, other)| one != other), "{counts:?}");
        assert_eq!(counts.len(), 6);
        // Binomial(6000, 1/6) has a standard deviation of 29: 150 is beyond five of them.
        assert!(counts.values().all(|&count| count.abs_diff(1000) < 150), "{counts:?}");
        assert_eq!(random_pairs(1, 5, Seed(0)), Err(QualityError::TooFewSamples { samples: 1 }));
    }
}
