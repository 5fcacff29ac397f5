//! Which stages share a job: short ones of equal resources, so that their predicted times together are
//! about as long as a job should be, and not so many that processors of the cluster are left without.

use std::time::Duration;

/// The most stages of one job: whatever happens to it happens to all of them.
const MOST: usize = 200;

/// Jobs that a group of stages is spread over at least, if it has as many: they run side by side.
const LEAST_JOBS: f64 = 16.0;

/// Puts stages together, in their order; each has a predicted time, if there is one. One without shares
/// its job with none.
pub(super) fn packed<T>(stages: &[(T, Option<f64>)], target: Duration) -> Vec<Vec<T>>
where
    T: Copy,
{
    let all: f64 = stages.iter().filter_map(|(_, seconds)| *seconds).sum();
    let target = target.as_secs_f64().min(all / LEAST_JOBS);
    let mut packs = Vec::new();
    let (mut open, mut filled) = (Vec::new(), 0.0);
    for &(stage, seconds) in stages {
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
        let stages: Vec<_> = seconds.iter().map(|seconds| ((), *seconds)).collect();
        packed(&stages, Duration::from_secs(target)).iter().map(Vec::len).collect()
    }

    #[test]
    fn short_stages_fill_jobs_up_to_the_target() {
        assert_eq!(sizes(&[Some(2.0); 100], 6)[..2], [3, 3]);
        assert_eq!(sizes(&[Some(2.0); 100], 6).len(), 34);
    }

    #[test]
    fn few_stages_run_side_by_side_however_short_they_are() {
        assert_eq!(sizes(&[Some(2.0); 9], 600), [1; 9]);
        assert_eq!(sizes(&[Some(0.125); 64], 600), [4; 16]);
    }

    #[test]
    fn long_stages_and_those_of_unknown_length_are_alone() {
        let mut seconds = vec![Some(100.0), None];
        seconds.extend([Some(1.0); 200]);
        assert_eq!(sizes(&seconds, 10)[..3], [1, 1, 10]);
    }

    #[test]
    fn without_a_target_every_stage_is_alone() {
        assert_eq!(sizes(&[Some(0.5); 3], 0), [1, 1, 1]);
    }

    #[test]
    fn no_job_has_too_many() {
        assert_eq!(sizes(&vec![Some(0.001); 8000], 600), [200; 40]);
    }
}
