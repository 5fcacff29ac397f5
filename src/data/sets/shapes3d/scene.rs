//! A 3DShapes scene: room, sky, lamp and object, and the color of what a ray meets.
//!
//! What: a square room around the object, walls without a ceiling, a lamp high up on the left that
//! casts a hard shadow on the floor, and a light at the camera.
//! Assumptions: lengths in units of the camera's distance from the object's axis. Room, sky, shades
//! of the walls and of the cube's faces are measurements of the original; shades in between follow
//! the angle to camera and lamp. The original's faint texture of walls and floor is left out.
//! Checked against: 25 frames of the original's animation, from which lamp and ground were fitted:
//! colors differ by 5 of 255 on average, of which the animation's coarse palette is a part.

use super::Shape;
use super::solid::{GROUND, Hit, Solid, Vector, along, dot};

/// A color with channels between 0 and 1.
pub(super) type Rgb = [f64; 3];

const SKY: Rgb = [153.0 / 255.0, 226.0 / 255.0, 249.0 / 255.0];

/// Distance of the walls at both sides and at the back from the object, and their height.
const SIDE_WALL: f64 = 1.465;
const BACK_WALL: f64 = 1.43;
const WALL_HEIGHT: f64 = 0.881;

const LAMP: Vector = [-0.59, 0.21, 3.15];

/// What the shadow leaves of the floor's color.
const SHADOW: f64 = 0.29;

/// The floor's edge along the walls is darker: how wide it is, and how much light is missing.
const DIM_EDGE: f64 = 0.25;
const DIMMING: f64 = 0.2;

/// Light on the object from everywhere, from the camera and from the lamp, and the lamp's gleam.
const AMBIENT: f64 = 0.35;
const HEADLIGHT: f64 = 0.6;
const LAMPLIGHT: f64 = 1.2;
const GLEAM: f64 = 0.15;

/// Everything that the six factors decide.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    floor: Rgb,
    wall: Rgb,
    object: Rgb,
    solid: Solid,
    azimuth: f64,
    /// The light at the camera shines along its line of sight, not from a point.
    to_camera: Vector,
    left_shade: f64,
    back_shade: f64,
    right_shade: f64,
    shadow: [[f64; 2]; 2],
}

impl Scene {
    /// Makes a scene from factors in the order of the original.
    pub(super) fn new(factors: [f32; 6]) -> Self {
        let [floor, wall, object, scale, shape, orientation] = factors.map(f64::from);
        let shape = Shape::ALL.into_iter().nth(shape as usize).unwrap_or(Shape::Capsule);
        let solid = Solid::new(shape, scale);
        let azimuth = orientation.to_radians();
        let (sin, cos) = azimuth.sin_cos();
        Self {
            floor: hue(floor),
            wall: hue(wall),
            object: hue(object),
            azimuth,
            to_camera: [sin, -cos, 0.0],
            // The camera's light falls more straight on a wall as the camera turns toward it, and
            // the lamp on the left gleams toward a camera on the right.
            left_shade: 0.516 + 0.51 * sin,
            back_shade: (1.0 - 0.56 * (1.0 - cos) + 0.07 * sin).min(1.0),
            right_shade: 0.535 - 0.29 * sin,
            shadow: [0, 1].map(|axis| reach_of_shadow(&solid, axis)),
            solid,
        }
    }

    /// Returns the angle by which the camera has walked to the right around the object.
    pub(super) const fn azimuth(&self) -> f64 {
        self.azimuth
    }

    /// Returns the object.
    pub(super) const fn solid(&self) -> &Solid {
        &self.solid
    }

    /// Returns the color of the object where a ray meets it.
    pub(super) fn object_color(&self, hit: Hit, eye: Vector, direction: Vector) -> Rgb {
        let place = along(eye, direction, hit.distance);
        let to_lamp = [0, 1, 2].map(|axis| LAMP[axis] - place[axis]);
        let lamp = (dot(hit.normal, to_lamp) / dot(to_lamp, to_lamp).sqrt()).max(0.0);
        let camera = dot(hit.normal, self.to_camera).max(0.0);
        let light = (AMBIENT + HEADLIGHT * camera + LAMPLIGHT * lamp).min(1.0);
        self.object.map(|channel| (channel * light + GLEAM * lamp).min(1.0))
    }

    /// Returns the color of what a ray meets if the object is not in its way.
    pub(super) fn room_color(&self, eye: Vector, direction: Vector) -> Rgb {
        let side_wall = SIDE_WALL.copysign(direction[0]);
        let to_side = (side_wall - eye[0]) / direction[0];
        let to_back = (BACK_WALL - eye[1]) / direction[1];
        let (distance, shade) = match (to_back < to_side, side_wall < 0.0) {
            (true, _) => (to_back, self.back_shade),
            (false, true) => (to_side, self.left_shade),
            (false, false) => (to_side, self.right_shade),
        };
        let height = eye[2] + direction[2] * distance;
        if height > WALL_HEIGHT {
            SKY
        } else if height >= 0.0 {
            self.wall.map(|channel| channel * shade)
        } else {
            self.floor.map(|channel| channel * self.floor_shade(eye, direction))
        }
    }

    /// Returns how bright the floor is where a falling ray meets it.
    fn floor_shade(&self, eye: Vector, direction: Vector) -> f64 {
        let per_height = 1.0 / direction[2];
        let ground = along(eye, direction, (GROUND - eye[2]) * per_height);
        if self.is_in_shadow(ground) {
            return SHADOW;
        }
        let [x, y, _] = along(eye, direction, -eye[2] * per_height);
        let to_wall = (BACK_WALL - y).min(SIDE_WALL - x.abs());
        1.0 - DIMMING * (1.0 - to_wall * (1.0 / DIM_EDGE)).max(0.0)
    }

    fn is_in_shadow(&self, ground: Vector) -> bool {
        let is_local = |axis: usize| {
            let [low, high] = self.shadow[axis];
            (low..=high).contains(&ground[axis])
        };
        let to_lamp = [0, 1, 2].map(|axis| LAMP[axis] - ground[axis]);
        is_local(0) && is_local(1) && self.solid.hit(ground, to_lamp).is_some()
    }
}

/// Returns the lowest and the highest coordinate that the object's shadow can have, for speed.
fn reach_of_shadow(solid: &Solid, axis: usize) -> [f64; 2] {
    let magnified = (LAMP[2] - GROUND) / (LAMP[2] - solid.top());
    let of_top = |edge: f64| LAMP[axis] + (edge - LAMP[axis]) * magnified;
    let radius = solid.radius();
    [of_top(-radius).min(-radius), of_top(radius).max(radius)]
}

/// Returns a pure color: red at 0, green at a third, blue at two thirds, and red again at 1.
fn hue(hue: f64) -> Rgb {
    [0.0, 1.0 / 3.0, 2.0 / 3.0].map(|peak| {
        let turned = (hue - peak).rem_euclid(1.0);
        (2.0 - 6.0 * turned.min(1.0 - turned)).clamp(0.0, 1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(orientation: f32) -> Scene {
        Scene::new([0.0, 0.6, 0.3, 0.75, 0.0, orientation])
    }

    fn bytes(color: Rgb) -> [u8; 3] {
        color.map(|channel| (channel * 255.0).round() as u8)
    }

    #[test]
    fn hues_are_those_of_the_color_circle() {
        assert_eq!(bytes(hue(0.0)), [255, 0, 0]);
        assert_eq!(bytes(hue(0.1)), [255, 153, 0]);
        assert_eq!(bytes(hue(0.3)), [51, 255, 0]);
        assert_eq!(bytes(hue(0.5)), [0, 255, 255]);
        assert_eq!(bytes(hue(0.9)), [255, 0, 153]);
    }

    #[test]
    fn rays_meet_sky_walls_and_floor_in_their_colors() {
        let eye = [0.0, -1.0, 0.362];
        let scene = scene(0.0);
        assert_eq!(bytes(scene.room_color(eye, [0.0, 1.0, 0.4])), [153, 226, 249]);
        assert_eq!(bytes(scene.room_color(eye, [0.0, 1.0, 0.0])), [0, 102, 255]);
        assert_eq!(bytes(scene.room_color(eye, [0.3, 1.0, -0.4])), [255, 0, 0]);
        assert_eq!(bytes(scene.room_color(eye, [1.0, 0.1, 0.0]))[2], 136, "right wall: 0.535");
    }

    #[test]
    fn walls_are_as_bright_as_measured() {
        let shades = |orientation| {
            let scene = scene(orientation);
            [scene.left_shade, scene.back_shade, scene.right_shade]
        };
        let near = |found: f64, expected: f64| (found - expected).abs() < 0.01;
        assert!(near(shades(0.0)[1], 1.0));
        assert!(near(shades(-30.0)[1], 0.89) && near(shades(30.0)[1], 0.96));
        assert!(near(shades(-30.0)[2], 174.0 / 255.0) && near(shades(-13.0)[2], 153.0 / 255.0));
        assert!(near(shades(13.0)[0], 161.0 / 255.0) && near(shades(30.0)[0], 196.0 / 255.0));
    }

    #[test]
    fn the_faces_of_the_cube_are_as_bright_as_measured() {
        let shade = |orientation: f32, normal: Vector| {
            // The place hardly matters: the lamp is far away.
            scene(orientation).object_color(
                Hit { distance: 0.0, normal },
                [0.0, 0.0, 0.1],
                [0.0; 3],
            )
        };
        let (front, right, top) = ([0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]);
        assert!((shade(0.0, front)[1] - 0.95).abs() < 0.01);
        assert!((shade(30.0, front)[1] - 0.87).abs() < 0.01);
        assert!((shade(30.0, right)[1] - 0.65).abs() < 0.01);
        assert!((shade(0.0, top)[1] - 1.0).abs() < 0.02);
        let gleam = 255.0 * shade(0.0, top)[2];
        assert!((30.0..45.0).contains(&gleam), "{gleam} of white on the dark channel");
    }

    #[test]
    fn the_shadow_lies_to_the_right_and_takes_all_but_a_third_of_the_light() {
        let scene = scene(0.0);
        let right = scene.solid().radius() + 0.02;
        assert!(scene.is_in_shadow([right, 0.0, GROUND]));
        assert!(!scene.is_in_shadow([-right, 0.0, GROUND]));
        assert!(!scene.is_in_shadow([right + 0.2, 0.0, GROUND]));
    }

    #[test]
    fn no_shadow_reaches_beyond_the_bounds_that_are_searched() {
        for shape in 0..4_u8 {
            for scale in [0.75, 1.25] {
                let mut scene = Scene::new([0.0, 0.0, 0.0, scale, f32::from(shape), 0.0]);
                let bounds = std::mem::replace(&mut scene.shadow, [[-1.0, 1.0]; 2]);
                for step in 0..10_000 {
                    let (x, y) = (f64::from(step % 100), f64::from(step / 100));
                    let ground = [(x - 50.0) / 100.0, (y - 50.0) / 100.0, GROUND];
                    let is_inside = (0..2).all(|axis| {
                        bounds[axis][0] <= ground[axis] && ground[axis] <= bounds[axis][1]
                    });
                    assert!(is_inside || !scene.is_in_shadow(ground), "{shape} {scale} {ground:?}");
                }
            }
        }
    }
}
