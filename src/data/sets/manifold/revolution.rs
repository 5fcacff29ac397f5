//! Surfaces of revolution: a curve y = f(x), turned around one of its axes.
//!
//! What: where a point of the surface lies, and how much area a step along x covers there.
//! Reference: the area element is |radius| sqrt(1 + f'(x)^2) for one unit of x and of angle.
//! Assumptions: no part of the curve is vertical.
//! Checked against: `SurfaceOfRevolution` and `dumbbell` of scikit-dimension 0.5.0, which take the
//! curve from a table of 20,001 places instead.

use std::f64::consts::PI;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problems::LONGEST;
use crate::numerics::units::{Finite, PositiveF64};

/// The least share of proposed points that may lie on the surface, so that drawing comes to an end.
const SMALLEST_SHARE: f64 = 1e-3;

/// A curve y = f(x).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Profile {
    /// One wave, y = sin(pi x) for x from -1 to 1.
    Sine,
    /// Two tips of height 0.5 at x = -0.6 and 0.6, with a level stretch between -0.2 and 0.2.
    Dumbbell {
        /// Height of the level stretch.
        #[serde(default = "tenth")]
        waist: PositiveF64,
    },
    /// Straight lines between corners (x, y), with x growing.
    Polyline(Vec<(Finite, Finite)>),
}

/// The axis that a curve is turned around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Axis {
    /// The radius is the curve's y.
    X,
    /// The radius is the curve's x.
    Y,
}

fn tenth() -> PositiveF64 {
    PositiveF64::new(0.1).unwrap_or_else(|_| unreachable!("0.1 lies above 0"))
}

/// A straight piece of a curve.
#[derive(Clone, Copy)]
struct Segment {
    from: (f64, f64),
    to: (f64, f64),
}

impl Segment {
    fn run(&self) -> f64 {
        self.to.0 - self.from.0
    }

    fn slope(&self) -> f64 {
        (self.to.1 - self.from.1) / self.run()
    }

    /// Returns the radii at both ends.
    fn radii(&self, axis: Axis) -> (f64, f64) {
        match axis {
            Axis::X => (self.from.1, self.to.1),
            Axis::Y => (self.from.0, self.to.0),
        }
    }

    fn largest_element(&self, axis: Axis) -> f64 {
        let (start, end) = self.radii(axis);
        start.abs().max(end.abs()) * self.slope().hypot(1.0)
    }

    /// Returns the area for one unit of angle.
    fn area(&self, axis: Axis) -> f64 {
        let (start, end) = self.radii(axis);
        let mean_radius = if start * end < 0.0 {
            (start * start + end * end) / (2.0 * (end - start).abs())
        } else {
            f64::midpoint(start.abs(), end.abs())
        };
        mean_radius * self.slope().hypot(1.0) * self.run()
    }
}

impl Profile {
    /// Returns the x that lies at this fraction of the curve's range.
    fn along(&self, fraction: f64) -> f64 {
        let (low, high) = match self {
            Self::Sine | Self::Dumbbell { .. } => (-1.0, 1.0),
            Self::Polyline(corners) => {
                let x =
                    |corner: Option<&(Finite, Finite)>| corner.map_or(0.0, |corner| corner.0.get());
                (x(corners.first()), x(corners.last()))
            }
        };
        low + (high - low) * fraction
    }

    /// Hands the straight pieces to `take` until it has found what it looks for.
    fn find_segment<T>(&self, mut take: impl FnMut(Segment) -> Option<T>) -> Option<T> {
        match self {
            Self::Sine => None,
            Self::Dumbbell { waist } => {
                let waist = waist.get();
                let corners =
                    [(-1.0, 0.0), (-0.6, 0.5), (-0.2, waist), (0.2, waist), (0.6, 0.5), (1.0, 0.0)];
                corners.windows(2).find_map(|ends| take(Segment { from: ends[0], to: ends[1] }))
            }
            Self::Polyline(corners) => corners.windows(2).find_map(|ends| {
                let [from, to] = [ends[0], ends[1]].map(|(x, y)| (x.get(), y.get()));
                take(Segment { from, to })
            }),
        }
    }

    fn segments(&self) -> Vec<Segment> {
        let mut segments = Vec::new();
        self.find_segment(|segment| {
            segments.push(segment);
            None::<()>
        });
        segments
    }

    /// Returns y and the slope of the curve.
    fn at(&self, x: f64) -> (f64, f64) {
        if *self == Self::Sine {
            return ((PI * x).sin(), PI * (PI * x).cos());
        }
        let straight = |segment: Segment| {
            let slope = segment.slope();
            (x <= segment.to.0).then_some((segment.from.1 + slope * (x - segment.from.0), slope))
        };
        self.find_segment(straight).unwrap_or((0.0, 0.0))
    }

    /// Returns a bound of the area element.
    fn largest_element(&self, axis: Axis) -> f64 {
        match (self, axis) {
            // The maximum of s (1 + pi^2 (1 - s)) over s = sin^2 is where its derivative is zero.
            (Self::Sine, Axis::X) => (1.0 + PI * PI) / (2.0 * PI),
            (Self::Sine, Axis::Y) => PI.hypot(1.0),
            _ => self
                .segments()
                .iter()
                .map(|segment| segment.largest_element(axis))
                .fold(0.0, f64::max),
        }
    }

    /// Returns the area element at a fraction of the range, relative to its bound.
    pub(super) fn acceptance(&self, axis: Axis, fraction: f64) -> f64 {
        let x = self.along(fraction);
        let (y, slope) = self.at(x);
        let radius = match axis {
            Axis::X => y,
            Axis::Y => x,
        };
        radius.abs() * slope.hypot(1.0) / self.largest_element(axis)
    }

    /// Returns the point at a fraction of the range and an angle.
    pub(super) fn point(&self, axis: Axis, fraction: f64, angle: f64) -> [f64; 3] {
        let x = self.along(fraction);
        let (y, _) = self.at(x);
        match axis {
            Axis::X => [x, y * angle.cos(), y * angle.sin()],
            Axis::Y => [x * angle.cos(), y, x * angle.sin()],
        }
    }

    /// Returns what is wrong with the curve, one line for each mistake.
    pub(super) fn problems(&self, axis: Axis) -> Vec<String> {
        if let Self::Polyline(corners) = self {
            if corners.len() < 2 {
                return vec![format!(
                    "a polyline needs at least 2 corners, found {}",
                    corners.len()
                )];
            }
            if let Some(place) = corners.windows(2).position(|ends| ends[0].0 >= ends[1].0) {
                let (before, after) = (corners[place].0, corners[place + 1].0);
                return vec![format!(
                    "the corners of a polyline need increasing x, found {before} and then {after}"
                )];
            }
        }
        let segments = self.segments();
        let is_far = |(x, y): (f64, f64)| x.abs().max(y.abs()) > LONGEST;
        if segments.iter().any(|segment| is_far(segment.from) || is_far(segment.to)) {
            return vec![format!("the curve must stay within {LONGEST} of both axes")];
        }
        let (Some(first), Some(last)) = (segments.first(), segments.last()) else {
            return Vec::new();
        };
        let area: f64 = segments.iter().map(|segment| segment.area(axis)).sum();
        let share = area / (self.largest_element(axis) * (last.to.0 - first.from.0));
        if share >= SMALLEST_SHARE {
            return Vec::new();
        }
        vec!["the curve is too steep in places, or has no surface at all".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polyline(corners: &[(f64, f64)]) -> Profile {
        let finite = |value| Finite::new(value).unwrap();
        Profile::Polyline(corners.iter().map(|&(x, y)| (finite(x), finite(y))).collect())
    }

    #[test]
    fn a_cone_is_accepted_in_proportion_to_its_radius() {
        let cone = polyline(&[(0.0, 0.0), (2.0, 4.0)]);
        assert!((cone.acceptance(Axis::X, 0.25) - 0.25).abs() < 1e-12);
        let [x, y, z] = cone.point(Axis::X, 0.5, 0.0);
        assert!((x - 1.0).abs() + (y - 2.0).abs() + z.abs() < 1e-12);
        assert!(cone.problems(Axis::X).is_empty());
    }

    #[test]
    fn no_place_of_a_curve_is_accepted_more_often_than_always() {
        let bent = polyline(&[(-1.0, 0.3), (0.0, -2.0), (0.5, 0.0), (3.0, 1.0)]);
        for profile in [Profile::Sine, Profile::Dumbbell { waist: tenth() }, bent] {
            for axis in [Axis::X, Axis::Y] {
                let largest = (0..=10_000)
                    .map(|step| profile.acceptance(axis, f64::from(step) / 10_000.0))
                    .fold(0.0, f64::max);
                assert!((0.99..=1.0 + 1e-12).contains(&largest), "{profile:?} {axis:?} {largest}");
            }
        }
    }

    #[test]
    fn the_area_of_a_piece_that_crosses_the_axis_counts_both_sides() {
        // Two cones of radius 1 and height 1 each: half of the slanted length times the radius.
        let crossing = Segment { from: (0.0, -1.0), to: (2.0, 1.0) };
        assert!((crossing.area(Axis::X) - 2.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn curves_without_a_surface_are_told() {
        let told = |corners: &[(f64, f64)]| polyline(corners).problems(Axis::X).join(" ");
        assert_eq!(told(&[(0.0, 1.0)]), "a polyline needs at least 2 corners, found 1");
        assert_eq!(
            told(&[(0.0, 1.0), (2.0, 1.0), (2.0, 3.0)]),
            "the corners of a polyline need increasing x, found 2 and then 2"
        );
        assert_eq!(
            told(&[(0.0, 1e300), (1.0, 1.0)]),
            "the curve must stay within 1000000 of both axes"
        );
        let steep = "the curve is too steep in places, or has no surface at all";
        assert_eq!(told(&[(0.0, 0.0), (1.0, 0.0)]), steep);
        assert_eq!(told(&[(0.0, 1.0), (1.0, 1.0), (1.0 + 1e-9, 9.0)]), steep);
    }
}
