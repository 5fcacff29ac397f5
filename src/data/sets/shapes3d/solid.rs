//! The object of a 3DShapes scene as a solid that rays hit.
//!
//! What: a cube, cylinder, ball or capsule that stands upright on the ground, on the vertical axis
//! through the origin. Its lowest point stays where it is whatever the scale.
//! Assumptions: lengths in units of the camera's distance from the axis.
//! Checked against: the outlines of 25 objects in the original's animation, to which the sizes were
//! fitted: half of them differ by at most 2.2 % of their pixels, the worst by 12 %.

use super::Shape;

/// A place or a direction: right and back along the walls, and up.
pub(super) type Vector = [f64; 3];

/// Returns the scalar product.
pub(super) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the place `distance` times `direction` away from `origin`.
pub(super) fn along(origin: Vector, direction: Vector, distance: f64) -> Vector {
    [0, 1, 2].map(|axis| origin[axis] + direction[axis] * distance)
}

/// Height of the ground on which objects stand and shadows lie, above the foot of the walls.
pub(super) const GROUND: f64 = 0.03;

/// Half the side of the cube of scale 1.
const CUBE: f64 = 0.1457;

/// Half the width of each shape, and half its height, in halves of the cube's side.
const fn proportions(shape: Shape) -> (f64, f64) {
    match shape {
        Shape::Cube => (1.0, 1.0),
        Shape::Cylinder => (1.0, 1.05),
        Shape::Sphere => (1.2, 1.2),
        Shape::Capsule => (0.9, 1.885),
    }
}

/// Where a ray enters a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hit {
    /// Distance in lengths of the ray's direction.
    pub(super) distance: f64,
    /// The direction in which the surface looks, of length 1.
    pub(super) normal: Vector,
}

/// An upright solid on the vertical axis through the origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Solid {
    shape: Shape,
    radius: f64,
    top: f64,
}

impl Solid {
    pub(super) fn new(shape: Shape, scale: f64) -> Self {
        let (radius, half_height) = proportions(shape);
        let half_side = CUBE * scale;
        Self { shape, radius: half_side * radius, top: GROUND + 2.0 * half_side * half_height }
    }

    /// Returns half the width along each wall.
    pub(super) const fn radius(&self) -> f64 {
        self.radius
    }

    /// Returns the height of the highest point.
    pub(super) const fn top(&self) -> f64 {
        self.top
    }

    /// Returns where a ray from outside enters, if it does.
    pub(super) fn hit(&self, origin: Vector, direction: Vector) -> Option<Hit> {
        let hits = match self.shape {
            Shape::Cube => [self.hit_box(origin, direction), None, None],
            Shape::Cylinder => [
                self.hit_side(origin, direction, GROUND, self.top),
                self.hit_disc(origin, direction, GROUND),
                self.hit_disc(origin, direction, self.top),
            ],
            Shape::Sphere | Shape::Capsule => {
                let (low, high) = (GROUND + self.radius, self.top - self.radius);
                [
                    self.hit_side(origin, direction, low, high),
                    self.hit_ball(origin, direction, low),
                    self.hit_ball(origin, direction, high),
                ]
            }
        };
        let nearer = |a: Hit, b: Hit| if b.distance < a.distance { b } else { a };
        hits.into_iter().flatten().filter(|hit| hit.distance > 0.0).reduce(nearer)
    }

    fn hit_box(&self, origin: Vector, direction: Vector) -> Option<Hit> {
        let low = [-self.radius, -self.radius, GROUND];
        let high = [self.radius, self.radius, self.top];
        let (mut enter, mut leave, mut face) = (f64::NEG_INFINITY, f64::INFINITY, 0);
        for axis in 0..3 {
            let a = (low[axis] - origin[axis]) / direction[axis];
            let b = (high[axis] - origin[axis]) / direction[axis];
            if a.min(b) > enter {
                (enter, face) = (a.min(b), axis);
            }
            leave = leave.min(a.max(b));
        }
        let mut normal = [0.0; 3];
        normal[face] = -direction[face].signum();
        (enter < leave).then_some(Hit { distance: enter, normal })
    }

    /// The upright part of a cylinder between two heights.
    fn hit_side(&self, origin: Vector, direction: Vector, low: f64, high: f64) -> Option<Hit> {
        let flat = |vector: Vector| [vector[0], vector[1], 0.0];
        let hit = self.hit_round(flat(origin), flat(direction))?;
        let height = origin[2] + direction[2] * hit.distance;
        (low..=high).contains(&height).then_some(hit)
    }

    /// The flat end of a cylinder.
    fn hit_disc(&self, origin: Vector, direction: Vector, height: f64) -> Option<Hit> {
        let distance = (height - origin[2]) / direction[2];
        let [x, y, _] = along(origin, direction, distance);
        let normal = [0.0, 0.0, -direction[2].signum()];
        (x * x + y * y <= self.radius * self.radius).then_some(Hit { distance, normal })
    }

    /// A ball around a place of the axis.
    fn hit_ball(&self, origin: Vector, direction: Vector, height: f64) -> Option<Hit> {
        self.hit_round([origin[0], origin[1], origin[2] - height], direction)
    }

    /// All places that are `radius` away from the origin.
    fn hit_round(&self, origin: Vector, direction: Vector) -> Option<Hit> {
        let square = dot(direction, direction);
        let half = dot(origin, direction);
        let rest = dot(origin, origin) - self.radius * self.radius;
        let discriminant = half * half - square * rest;
        if discriminant <= 0.0 || square <= 0.0 {
            return None;
        }
        let distance = (-half - discriminant.sqrt()) / square;
        let normal = along(origin, direction, distance).map(|part| part / self.radius);
        Some(Hit { distance, normal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ray at the given height, from the camera's side toward the back wall.
    fn level(shape: Shape, x: f64, height: f64) -> Option<Hit> {
        Solid::new(shape, 1.0).hit([x, -1.0, height], [0.0, 1.0, 0.0])
    }

    #[test]
    fn every_shape_is_entered_at_its_front_and_missed_beside_and_above() {
        for shape in Shape::ALL {
            let solid = Solid::new(shape, 1.0);
            let middle = f64::midpoint(GROUND, solid.top());
            let hit = level(shape, 0.0, middle).unwrap();
            assert!((hit.distance - (1.0 - solid.radius())).abs() < 1e-12, "{shape:?}");
            assert!((dot(hit.normal, [0.0, -1.0, 0.0]) - 1.0).abs() < 1e-12, "{shape:?}");
            assert_eq!(level(shape, solid.radius() + 1e-6, middle), None, "{shape:?}");
            assert_eq!(level(shape, 0.0, solid.top() + 1e-6), None, "{shape:?}");
            assert_eq!(level(shape, 0.0, GROUND - 1e-6), None, "{shape:?}");
        }
    }

    #[test]
    fn a_ray_from_above_hits_the_top_and_its_normal_looks_up() {
        for shape in Shape::ALL {
            let solid = Solid::new(shape, 0.75);
            let hit = solid.hit([0.0, 0.0, 2.0], [0.0, 0.0, -1.0]).unwrap();
            assert!((2.0 - hit.distance - solid.top()).abs() < 1e-12, "{shape:?}");
            assert!((hit.normal[2] - 1.0).abs() < 1e-12, "{shape:?}");
        }
    }

    #[test]
    fn a_capsule_is_round_where_a_cylinder_has_an_edge() {
        let near_top = |shape: Shape| {
            let solid = Solid::new(shape, 1.0);
            level(shape, 0.95 * solid.radius(), solid.top() - 1e-3)
        };
        assert!(near_top(Shape::Cylinder).is_some());
        assert_eq!(near_top(Shape::Capsule), None);
    }

    #[test]
    fn normals_of_slanted_hits_have_length_one() {
        for shape in Shape::ALL {
            let hit = Solid::new(shape, 1.25).hit([0.5, -0.9, 0.36], [-0.5, 0.9, -0.2]).unwrap();
            assert!((dot(hit.normal, hit.normal) - 1.0).abs() < 1e-12, "{shape:?}");
        }
    }

    #[test]
    fn nothing_behind_the_origin_of_a_ray_is_hit() {
        for shape in Shape::ALL {
            assert_eq!(Solid::new(shape, 1.0).hit([0.0, -1.0, 0.2], [0.0, -1.0, 0.0]), None);
        }
    }
}
