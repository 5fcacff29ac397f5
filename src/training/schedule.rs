//! How the learning rate changes over a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::models::Interval;
use crate::numerics::units::Fraction;

/// How the learning rate changes over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Schedule {
    /// A constant rate.
    #[default]
    Constant,
    /// Half a cosine from the full rate down to zero.
    Cosine,
    /// Full rate for a share of the steps, then half a cosine down to zero.
    FlatThenCosine {
        /// Share of the steps at full rate.
        flat: Fraction,
    },
    /// Multiplied by a factor at regular intervals.
    Step {
        /// Interval between two changes.
        every: Interval,
        /// The factor.
        factor: Fraction,
    },
}

impl Schedule {
    /// Returns whether a step's rate depends on how long the whole run is: such a run can't be
    /// made longer afterwards.
    pub const fn looks_ahead(self) -> bool {
        matches!(self, Self::Cosine | Self::FlatThenCosine { .. })
    }

    /// Returns the factor on the learning rate for a step counted from 0.
    pub fn factor(self, step: usize, steps: usize, steps_per_epoch: usize) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Cosine => fall(step as f64, steps as f64),
            Self::FlatThenCosine { flat } => {
                let flat_steps = flat.get() * steps as f64;
                fall(step as f64 - flat_steps, steps as f64 - flat_steps)
            }
            Self::Step { every, factor } => {
                let interval = match every {
                    Interval::Steps(steps) => steps.get(),
                    Interval::Epochs(epochs) => epochs.get() * steps_per_epoch,
                };
                let times = i32::try_from(step / interval).unwrap_or(i32::MAX);
                factor.get().powi(times)
            }
        }
    }
}

/// Returns the height of half a cosine that falls from 1 to 0 over some steps.
pub(super) fn fall(step: f64, steps: f64) -> f64 {
    let fallen = (step / steps.max(1.0)).clamp(0.0, 1.0);
    f64::midpoint(1.0, (std::f64::consts::PI * fallen).cos())
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "a factor of one and powers of one half are exact")]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_flat_then_falls_along_a_cosine() {
        let schedule = Schedule::FlatThenCosine { flat: Fraction::new(0.5).unwrap() };
        let factors = [0, 499, 500, 750, 999].map(|step| schedule.factor(step, 1000, 10));
        assert_eq!(factors[..3], [1.0, 1.0, 1.0]);
        assert!((factors[3] - 0.5).abs() < 1e-12);
        assert!(factors[4] > 0.0 && factors[4] < 1e-4);
        assert_eq!(Schedule::Constant.factor(999, 1000, 10), 1.0);
        assert!((Schedule::Cosine.factor(500, 1000, 10) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_run_that_is_flat_throughout_never_falls() {
        let schedule = Schedule::FlatThenCosine { flat: Fraction::new(1.0).unwrap() };
        assert_eq!(schedule.factor(9, 10, 5), 1.0);
    }

    #[test]
    fn steps_multiply_the_rate_at_intervals_whatever_the_length() {
        let text = "Step(every: Epochs(2), factor: 0.5)";
        let schedule: Schedule = ron::from_str(text).unwrap();
        let factors = [0, 19, 20, 39, 40].map(|step| schedule.factor(step, 7, 10));
        assert_eq!(factors, [1.0, 1.0, 0.5, 0.5, 0.25]);
        assert!(!schedule.looks_ahead());
        assert!(Schedule::Cosine.looks_ahead());
    }
}
