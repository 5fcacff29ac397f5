//! What is known of some runs.

/// Mean and variance of runs, measured or published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Mean of the runs.
    pub mean: f64,
    /// Variance of the mean: nothing if unknown, as it is of a single run.
    spread: Option<Spread>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    /// Variance of one run, with the divisor n - 1.
    variance: f64,
    /// Number of runs, at least 2.
    runs: usize,
}

impl Sample {
    /// Summarizes measured values; nothing without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        if runs == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / runs as f64;
        // A mean of equal values may round away from them; their variance is 0 all the same.
        let variance = if values.iter().all(|value| *value == values[0]) {
            0.0
        } else {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            squares / (runs as f64 - 1.0)
        };
        let mean = if variance == 0.0 { values[0] } else { mean };
        Some(Self { mean, spread: (runs > 1).then_some(Spread { variance, runs }) })
    }

    /// Takes over a published mean with the population variance (divisor n) of its runs.
    ///
    /// A single published run has no spread that says anything.
    pub fn published(mean: f64, population_variance: f64, runs: usize) -> Self {
        if runs < 2 {
            return Self::exact(mean);
        }
        let variance = population_variance * runs as f64 / (runs as f64 - 1.0);
        Self { mean, spread: Some(Spread { variance, runs }) }
    }

    /// Takes over a number of which nothing but its value is known.
    pub const fn exact(mean: f64) -> Self {
        Self { mean, spread: None }
    }

    /// Returns the variance of one run (divisor n - 1), if it is known.
    pub fn variance(&self) -> Option<f64> {
        self.spread.map(|spread| spread.variance)
    }

    /// Returns the number of runs behind the variance; 1 if there is none.
    pub fn runs(&self) -> usize {
        self.spread.map_or(1, |spread| spread.runs)
    }

    /// Returns the same mean and variance, as if measured on more runs.
    pub(super) fn with_further(self, further: usize) -> Self {
        let spread = self.spread.map(|spread| Spread { runs: spread.runs + further, ..spread });
        Self { spread, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_no_variance_and_equal_values_have_exactly_none() {
        assert_eq!(Sample::of(&[]), None);
        assert_eq!(Sample::of(&[3.0]), Some(Sample::exact(3.0)));
        let equal = Sample::of(&[0.1; 7]).unwrap();
        assert_eq!((equal.mean, equal.variance(), equal.runs()), (0.1, Some(0.0), 7));
    }

    #[test]
    fn a_population_variance_becomes_that_of_a_sample() {
        let measured = Sample::of(&[3.0, 4.0, 4.0, 4.0, 5.0]).unwrap();
        let published = Sample::published(4.0, 0.4, 5);
        assert_eq!(measured.variance(), Some(0.5));
        assert_eq!(published, measured);
        assert_eq!(Sample::published(4.0, 0.4, 1), Sample::exact(4.0));
    }
}
