//! Which stages share a job: short ones of equal resources, so that their predicted times together are
//! about as long as a job should be.

use std::time::Duration;

/// The most stages of one job: whatever happens to it happens to all of them.
const MOST: usize = 200;

/// Puts stages together, in their order; each has a predicted time, if there is one. One without shares
/// its job with none.
pub(super) fn packed<T>(
    stages: impl IntoIterator<Item = (T, Option<f64>)>,
    target: Duration,
) -> Vec<Vec<T>> {
    let target = target.as_secs_f64();
    let mut packs = Vec::new();
    let (mut open, mut filled) = (Vec::new(), 0.0);
    for (stage, seconds) in stages {
        // Half of a job each: two of them gain nothing by waiting for each other.
        let is_short = |seconds: &f64| target > 0.0 && *seconds <= target / 2.0;
        let Some(seconds) = seconds.filter(is_short) else {
            packs.push(vec![stage]);
            continue;
        };
        if filled + seconds > target || open.len() == MOST {
            packs.push(std::mem::take(&mut open));
            filled = 0.0;
        }
        open.push(stage);
        filled += seconds;
    }
    if !open.is_empty() {
        packs.push(open);
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(seconds: &[Option<f64>], target: u64) -> Vec<usize> {
        let stages = seconds.iter().map(|seconds| ((), *seconds));
        packed(stages, Duration::from_secs(target)).iter().map(Vec::len).collect()
    }

    #[test]
    fn short_stages_fill_jobs_up_to_the_target() {
        assert_eq!(sizes(&[Some(2.0); 10], 6), [3, 3, 3, 1]);
    }

    #[test]
    fn long_stages_and_those_of_unknown_length_are_alone() {
        assert_eq!(sizes(&[Some(100.0), None, Some(1.0), Some(1.0)], 10), [1, 1, 2]);
    }

    #[test]
    fn without_a_target_every_stage_is_alone() {
        assert_eq!(sizes(&[Some(0.5); 3], 0), [1, 1, 1]);
    }

    #[test]
    fn no_job_has_too_many() {
        assert_eq!(sizes(&[Some(0.0); 450], 600), [200, 200, 50]);
    }
}
