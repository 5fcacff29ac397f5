//! A table of points: one row of `f32` coordinates for each point.
//!
//! The one shape in which codes, flattened images and features travel between modules.

use thiserror::Error;

/// Says why a list of values is not a table of points.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PointsError {
    /// The number of values does not fit the stated shape.
    #[error("{rows} points of width {width} need {} values, found {found}", rows * width)]
    Shape {
        /// Stated number of points.
        rows: usize,
        /// Stated coordinates for each point.
        width: usize,
        /// Number of values given.
        found: usize,
    },
}

/// Points in a Euclidean space, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    rows: usize,
    width: usize,
    values: Vec<f32>,
}

impl Points {
    /// Makes a table of `rows` points from row-major values.
    pub fn new(rows: usize, width: usize, values: Vec<f32>) -> Result<Self, PointsError> {
        if values.len() == rows * width {
            Ok(Self { rows, width, values })
        } else {
            Err(PointsError::Shape { rows, width, found: values.len() })
        }
    }

    /// Makes a table of as many whole points as the values hold.
    pub fn from_rows(width: usize, mut values: Vec<f32>) -> Self {
        let rows = values.len().checked_div(width).unwrap_or(0);
        values.truncate(rows * width);
        Self { rows, width, values }
    }

    /// Keeps the chosen points, given in ascending order, without a second table.
    #[must_use]
    pub fn keep(mut self, rows: &[usize]) -> Self {
        debug_assert!(rows.is_sorted_by(|one, next| one < next), "each moves toward the front");
        for (to, &from) in rows.iter().enumerate() {
            let (to, from) = (to * self.width, from * self.width);
            self.values.copy_within(from..from + self.width, to);
        }
        self.values.truncate(rows.len() * self.width);
        self.values.shrink_to_fit();
        Self { rows: rows.len(), ..self }
    }

    /// Returns the chosen points, in the order in which they are given.
    #[must_use]
    pub fn at(&self, rows: &[usize]) -> Self {
        Self::from_rows(self.width, rows.iter().flat_map(|&row| self.row(row)).copied().collect())
    }

    /// Returns the number of points.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of coordinates of each point.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Returns all coordinates, row-major.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns all coordinates for change, row-major.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Returns the coordinates of one point.
    pub fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.width..(index + 1) * self.width]
    }

    /// Returns the mean of each coordinate.
    pub fn means(&self) -> Vec<f64> {
        self.column_means(|_, value| value)
    }

    /// Returns the biased variance (divided by the number of points) of each coordinate.
    pub fn variances(&self) -> Vec<f64> {
        let means = self.means();
        self.column_means(|column, value| (value - means[column]).powi(2))
    }

    /// Returns the mean square of each coordinate.
    pub fn second_moments(&self) -> Vec<f64> {
        self.column_means(|_, value| value.powi(2))
    }

    fn column_means(&self, term: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.width];
        for row in 0..self.rows {
            for (column, &value) in self.row(row).iter().enumerate() {
                sums[column] += term(column, f64::from(value));
            }
        }
        sums.into_iter().map(|sum| sum / self.rows.max(1) as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variances_are_biased_and_per_coordinate() {
        let points = Points::new(2, 2, vec![1.0, 5.0, 3.0, 5.0]).unwrap();
        assert_eq!(points.variances(), [1.0, 0.0]);
        assert_eq!(points.second_moments(), [5.0, 25.0]);
        assert_eq!(points.row(1), [3.0, 5.0]);
    }

    #[test]
    fn chosen_points_stay_in_their_order() {
        let points = Points::new(4, 2, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        let kept = points.clone().keep(&[1, 3]);
        assert_eq!(kept, Points::new(2, 2, vec![2.0, 3.0, 6.0, 7.0]).unwrap());
        assert_eq!(points.clone().keep(&[0, 1, 2, 3]), points);
        assert_eq!(points.at(&[3, 0]).values(), [6.0, 7.0, 0.0, 1.0]);
    }

    #[test]
    fn a_wrong_number_of_values_is_refused() {
        let error = Points::new(2, 3, vec![0.0; 5]).unwrap_err();
        assert_eq!(error.to_string(), "2 points of width 3 need 6 values, found 5");
    }
}
