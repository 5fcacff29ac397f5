//! What is known of an artifact before it is made, and how much work that is.

/// What is known of an artifact before it is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArtifactEstimate {
    /// Its number of rows, such as images; none if that is not known.
    pub rows: Option<usize>,
    /// The sizes of one row, such as channels, height and width; empty if they are not known.
    pub shape: Vec<usize>,
    /// The work of applying it to one row, if it is something to be applied, such as a model.
    pub application: Work,
}

impl ArtifactEstimate {
    /// Returns the number of values in one row; none if that is not known.
    pub fn width(&self) -> Option<usize> {
        (!self.shape.is_empty()).then(|| self.shape.iter().product())
    }
}

/// An amount of work: counted floating-point operations, or as much time as these would take.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Work(pub f64);

impl Work {
    /// Returns this work done some number of times.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self(self.0 * count)
    }
}
