//! Plain vectors as a data set: measurements, features, points of a known manifold.

use super::{Annotations, DataError};
use crate::numerics::Points;

/// Vectors of one width, with what is known of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    points: Points,
    annotations: Annotations,
    coordinates: Vec<String>,
    notes: Vec<String>,
}

impl Vectors {
    /// Makes a set of vectors.
    pub fn new(points: Points, annotations: Annotations) -> Result<Self, DataError> {
        annotations.check(points.rows())?;
        Ok(Self { points, annotations, coordinates: Vec::new(), notes: Vec::new() })
    }

    /// Gives the coordinates names.
    #[must_use]
    pub fn with_coordinates(self, coordinates: Vec<String>) -> Self {
        Self { coordinates, ..self }
    }

    /// Adds what to know of how the vectors were read, one line each.
    #[must_use]
    pub fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Returns what to know of how the vectors were read, such as rows that were left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the names of the coordinates, if they have any.
    pub fn coordinates(&self) -> &[String] {
        &self.coordinates
    }

    /// Returns the vectors.
    pub const fn points(&self) -> &Points {
        &self.points
    }

    /// Returns the chosen vectors, in the order in which they are given.
    #[must_use]
    pub fn at(&self, indices: &[usize]) -> Self {
        let (points, annotations) = (self.points.at(indices), self.annotations.of(indices));
        let (coordinates, notes) = (self.coordinates.clone(), self.notes.clone());
        Self { points, annotations, coordinates, notes }
    }

    /// Takes the vectors out, with what is known of them, the names of their coordinates, and notes.
    pub(super) fn into_parts(self) -> (Points, Annotations, Vec<String>, Vec<String>) {
        (self.points, self.annotations, self.coordinates, self.notes)
    }

    /// Returns what is known of the vectors.
    pub const fn annotations(&self) -> &Annotations {
        &self.annotations
    }
}
