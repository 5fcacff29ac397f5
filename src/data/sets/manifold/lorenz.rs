//! The Lorenz system: a path around a strange attractor.
//!
//! What: the states at even times of x' = 10 (y - x), y' = 28 x - y - x z, z' = x y - 2.667 z.
//! Reference: Lorenz 1963; constants, start and times of scikit-dimension 0.5.0.
//! Assumptions: classical Runge-Kutta with steps of at most 0.00025 time units. The system is
//! chaotic, so two solvers part after some 20 units, though both stay on the attractor.
//! Checked against: the same equations solved to 1e-12 (tests/reference/manifolds.json).

/// The longest time that is accepted: a few seconds of work.
pub(super) const LONGEST: f64 = 10_000.0;

const LONGEST_STEP: f64 = 2.5e-4;
const START: [f64; 3] = [0.0, 1.0, 1.05];

/// Returns `count` states at even times from 0 to `duration`, both included.
pub(super) fn path(duration: f64, count: usize) -> Vec<[f64; 3]> {
    let gap = duration / count.saturating_sub(1).max(1) as f64;
    let steps = (gap / LONGEST_STEP).ceil().max(1.0) as usize;
    let step = gap / steps as f64;
    let mut state = START;
    let mut states = Vec::with_capacity(count);
    for _ in 1..count {
        states.push(state);
        for _ in 0..steps {
            state = advance(state, step);
        }
    }
    states.push(state);
    states
}

fn velocity([x, y, z]: [f64; 3]) -> [f64; 3] {
    [10.0 * (y - x), 28.0 * x - y - x * z, x * y - 2.667 * z]
}

/// Takes one step of the classical Runge-Kutta method.
fn advance(state: [f64; 3], step: f64) -> [f64; 3] {
    let ahead = |slope: [f64; 3], by: f64| std::array::from_fn(|i| state[i] + by * slope[i]);
    let k1 = velocity(state);
    let k2 = velocity(ahead(k1, step / 2.0));
    let k3 = velocity(ahead(k2, step / 2.0));
    let k4 = velocity(ahead(k3, step));
    ahead(std::array::from_fn(|i| k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]), step / 6.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_starts_at_its_start_and_stays_bounded() {
        let states = path(100.0, 1000);
        assert_eq!(states.len(), 1000);
        assert!(states[0].iter().zip(START).all(|(found, start)| (found - start).abs() < 1e-12));
        // All of the attractor lies within some 55 units of the origin.
        assert!(states.iter().flatten().all(|value| value.abs() < 55.0));
    }

    #[test]
    fn one_state_is_the_start_alone() {
        assert_eq!(path(5.0, 1).len(), 1);
    }
}
