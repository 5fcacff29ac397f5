//! Draws 3DShapes scenes: one ray for each pixel, or several.
//!
//! What: a pinhole camera that stands at a fixed distance from the object's axis and always looks
//! at it; the orientation of a scene is the angle by which it has walked around.
//! Assumptions: 64-pixel coordinates, scaled to other sizes: center (32, 32), focal length 65.2,
//! eye 0.362 of the distance above the floor, tilted down by 1 degree.
//! Checked against: places measured in the original: edges of the room at orientations 0 and +-30,
//! widths of the cube's front.

use std::num::NonZeroUsize;
use std::ops::Range;

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};

use super::scene::{Rgb, Scene};
use super::solid::{GROUND, Solid, Vector, dot};
use crate::data::{Broken, Catalog, DataError, ImageShape, ImageSource};

/// Pixels along each side of the image in which the camera was measured.
const MEASURED: f64 = 64.0;
const CENTER: f64 = MEASURED / 2.0;
const FOCAL_LENGTH: f64 = 65.2;
const EYE_HEIGHT: f64 = 0.362;
const TILT: f64 = 1.0;

/// Scenes that are drawn when they are read.
pub(super) struct Drawing {
    catalog: Catalog,
    canvas: Canvas,
}

impl Drawing {
    /// Draws the scenes whose factors stand in `catalog`.
    pub(super) fn new(catalog: Catalog, size: NonZeroUsize, supersampling: NonZeroUsize) -> Self {
        let canvas = Canvas { size: size.get(), supersampling: supersampling.get() };
        Self { catalog, canvas }
    }
}

impl ImageSource for Drawing {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn shape(&self) -> ImageShape {
        ImageShape { channels: 3, height: self.canvas.size, width: self.canvas.size }
    }

    fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError> {
        let factors = &self.catalog.annotations.factors;
        pixels.par_chunks_mut(self.shape().pixels()).zip(rows).for_each(|(image, &row)| {
            let mut scene = [0.0; 6];
            scene.copy_from_slice(factors.row(row));
            self.canvas.draw(&Scene::new(scene), image);
        });
        Ok(Vec::new())
    }
}

/// The camera of a scene.
struct Camera {
    eye: Vector,
    forward: Vector,
    right: Vector,
    up: Vector,
}

impl Camera {
    fn new(azimuth: f64) -> Self {
        let (sin, cos) = azimuth.sin_cos();
        let (sin_tilt, cos_tilt) = TILT.to_radians().sin_cos();
        Self {
            eye: [sin, -cos, EYE_HEIGHT],
            forward: [-sin * cos_tilt, cos * cos_tilt, -sin_tilt],
            right: [cos, sin, 0.0],
            up: [-sin * sin_tilt, cos * sin_tilt, cos_tilt],
        }
    }

    /// Returns the direction that is seen at a place of the image.
    fn direction(&self, x: f64, y: f64) -> Vector {
        [0, 1, 2].map(|axis| {
            self.forward[axis] * FOCAL_LENGTH
                + self.right[axis] * (x - CENTER)
                + self.up[axis] * (CENTER - y)
        })
    }

    /// Returns where in the image a place in front of the camera is seen.
    fn project(&self, place: Vector) -> [f64; 2] {
        let seen = [0, 1, 2].map(|axis| place[axis] - self.eye[axis]);
        let scale = FOCAL_LENGTH / dot(seen, self.forward);
        [CENTER + scale * dot(seen, self.right), CENTER - scale * dot(seen, self.up)]
    }

    /// Returns columns and rows outside of which the solid is not seen.
    fn frame(&self, solid: &Solid) -> [Range<f64>; 2] {
        let mut frame = [f64::INFINITY..f64::NEG_INFINITY, f64::INFINITY..f64::NEG_INFINITY];
        for corner in 0..8 {
            let side = |bit: usize| if corner & bit == 0 { -1.0 } else { 1.0 };
            let height = if corner & 4 == 0 { GROUND } else { solid.top() };
            let radius = solid.radius();
            let seen = self.project([side(1) * radius, side(2) * radius, height]);
            for (range, place) in frame.iter_mut().zip(seen) {
                *range = range.start.min(place)..range.end.max(place);
            }
        }
        frame
    }
}

/// Cuts an image into its channels.
fn planes(image: &mut [u8], plane: usize) -> [&mut [u8]; 3] {
    let (red, rest) = image.split_at_mut(plane);
    let (green, blue) = rest.split_at_mut(plane);
    [red, green, blue]
}

/// The pixel grid that scenes are drawn on.
struct Canvas {
    size: usize,
    supersampling: usize,
}

impl Canvas {
    /// Sets every pixel to the mean color of its rays.
    fn draw(&self, scene: &Scene, image: &mut [u8]) {
        let camera = Camera::new(scene.azimuth());
        let [columns, rows] = camera.frame(scene.solid());
        let step = MEASURED / (self.size * self.supersampling) as f64;
        let color = |column: usize, row: usize| {
            let (x, y) = ((column as f64 + 0.5) * step, (row as f64 + 0.5) * step);
            let direction = camera.direction(x, y);
            let may_meet_object = columns.contains(&x) && rows.contains(&y);
            let hit = if may_meet_object { scene.solid().hit(camera.eye, direction) } else { None };
            match hit {
                Some(hit) => scene.object_color(hit, camera.eye, direction),
                None => scene.room_color(camera.eye, direction),
            }
        };
        let [reds, greens, blues] = planes(image, self.size * self.size);
        let pixels = reds.iter_mut().zip(greens).zip(blues);
        let places = (0..self.size).flat_map(|row| (0..self.size).map(move |column| (column, row)));
        for (((red, green), blue), (column, row)) in pixels.zip(places) {
            let mean = self.mean(|right, down| {
                color(column * self.supersampling + right, row * self.supersampling + down)
            });
            // Adding a half before cutting rounds to the nearest, faster than `round`.
            [*red, *green, *blue] = mean.map(|channel| (channel * 255.0 + 0.5) as u8);
        }
    }

    /// Returns the mean over the sub-pixels of one pixel.
    fn mean(&self, color: impl Fn(usize, usize) -> Rgb) -> Rgb {
        let mut sum = [0.0; 3];
        for down in 0..self.supersampling {
            for right in 0..self.supersampling {
                let color = color(right, down);
                sum = [0, 1, 2].map(|channel| sum[channel] + color[channel]);
            }
        }
        let count = (self.supersampling * self.supersampling) as f64;
        sum.map(|channel| channel / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Factors of a scene of the original's animation.
    const CUBE: [f32; 6] = [0.0, 0.6, 0.3, 0.75, 0.0, 0.0];

    const SKY: [u8; 3] = [153, 226, 249];

    fn draw(size: usize, supersampling: usize, factors: [f32; 6]) -> Vec<u8> {
        let mut image = vec![0; 3 * size * size];
        Canvas { size, supersampling }.draw(&Scene::new(factors), &mut image);
        image
    }

    fn turned(orientation: f32) -> [f32; 6] {
        [0.0, 0.6, 0.3, 0.75, 0.0, orientation]
    }

    /// A large image in which places can be found to a tenth of an original pixel.
    struct Picture(Vec<u8>);

    impl Picture {
        const SIZE: usize = 640;

        fn of(factors: [f32; 6]) -> Self {
            Self(draw(Self::SIZE, 1, factors))
        }

        fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
            [0, 1, 2].map(|channel| self.0[(channel * Self::SIZE + y) * Self::SIZE + x])
        }

        /// Returns where along a row, in original pixels, colors change.
        fn changes_in_row(&self, y: f64) -> Vec<f64> {
            let y = (y * 10.0) as usize;
            let changes = (1..Self::SIZE).filter(|&x| self.pixel(x, y) != self.pixel(x - 1, y));
            changes.map(|x| x as f64 / 10.0).collect()
        }

        /// Returns the first and the last place of a column that hold the object.
        fn object_in_column(&self, x: f64) -> (f64, f64) {
            let x = (x * 10.0) as usize;
            // The object is green on red and blue.
            let is_object = |&y: &usize| {
                let [red, green, blue] = self.pixel(x, y);
                green > red && green > blue
            };
            let rows: Vec<usize> = (0..Self::SIZE).filter(is_object).collect();
            (rows[0] as f64 / 10.0, rows[rows.len() - 1] as f64 / 10.0)
        }
    }

    fn assert_near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "found {found}, expected {expected}");
    }

    #[test]
    fn the_corner_of_the_room_is_where_the_original_has_it() {
        let above_the_object = 30.0;
        let right = Picture::of(turned(-30.0)).changes_in_row(above_the_object);
        assert_eq!(right.len(), 1);
        assert_near(right[0], 44.2, 0.3);
        let left = Picture::of(turned(30.0)).changes_in_row(above_the_object);
        assert_eq!(left.len(), 1);
        assert_near(left[0], 19.8, 0.3);
    }

    #[test]
    fn the_corner_is_out_of_sight_near_orientation_zero() {
        for orientation in [-4.3, 0.0, 4.3] {
            assert!(Picture::of(turned(orientation)).changes_in_row(30.0).is_empty());
        }
        for orientation in [-12.9, 12.9] {
            assert_eq!(Picture::of(turned(orientation)).changes_in_row(30.0).len(), 1);
        }
    }

    #[test]
    fn sky_wall_and_floor_meet_where_the_original_has_them() {
        let picture = Picture::of(CUBE);
        let column: Vec<[u8; 3]> = (0..Picture::SIZE).map(|y| picture.pixel(100, y)).collect();
        let end_of_sky = column.iter().position(|&color| color != SKY).unwrap();
        let wall = [0, 102, 255];
        let end_of_wall = column.iter().rposition(|&color| color == wall).unwrap() + 1;
        assert_near(end_of_sky as f64 / 10.0, 16.7, 0.3);
        assert_near(end_of_wall as f64 / 10.0, 40.6, 0.3);
        assert!(column[..end_of_sky].iter().all(|&color| color == SKY));
        assert_eq!(column[Picture::SIZE - 1], [255, 0, 0]);
    }

    #[test]
    fn the_front_of_the_cube_is_as_wide_as_in_the_original() {
        for (scale, width) in [(0.75, 16.0), (1.25, 29.0)] {
            let changes = Picture::of([0.0, 0.6, 0.3, scale, 0.0, 0.0]).changes_in_row(45.0);
            assert_near(changes[1] - changes[0], width, 0.2);
            assert_near(f64::midpoint(changes[0], changes[1]), 32.0, 0.2);
        }
    }

    #[test]
    fn an_object_that_grows_stays_on_its_ground() {
        for shape in 0..4_u8 {
            let bottom_and_top = [0.75, 1.0, 1.25].map(|scale| {
                let picture = Picture::of([0.0, 0.6, 0.3, scale, f32::from(shape), 0.0]);
                let (top, bottom) = picture.object_in_column(32.0);
                (bottom, top)
            });
            let [small, middle, large] = bottom_and_top;
            assert!(small.1 - middle.1 > 1.0 && middle.1 - large.1 > 1.0, "{bottom_and_top:?}");
            // The bottom of a larger object is nearer to the camera, hence a little lower.
            assert!(large.0 - small.0 < 4.0 && large.0 >= small.0 - 0.3, "{bottom_and_top:?}");
        }
    }

    #[test]
    fn every_factor_changes_the_image() {
        let image = draw(64, 1, CUBE);
        for (factor, value) in [(0, 0.1), (1, 0.7), (2, 0.4), (3, 0.82), (4, 1.0), (5, 4.3)] {
            let mut factors = CUBE;
            factors[factor] = value;
            assert_ne!(draw(64, 1, factors), image, "factor {factor}");
        }
    }

    #[test]
    fn hues_paint_nothing_but_their_own_surface() {
        let pixel = |factors: [f32; 6], x: usize, y: usize| {
            let image = draw(64, 1, factors);
            [0, 1, 2].map(|channel| image[channel * 4096 + y * 64 + x])
        };
        let (floor, wall, object) = ((5, 60), (5, 30), (32, 47));
        for (factor, painted) in [(0, floor), (1, wall), (2, object)] {
            let mut factors = CUBE;
            factors[factor] += 0.1;
            for place in [floor, wall, object] {
                let is_changed = pixel(CUBE, place.0, place.1) != pixel(factors, place.0, place.1);
                assert_eq!(is_changed, place == painted, "factor {factor} at {place:?}");
            }
        }
    }

    #[test]
    fn supersampling_smooths_edges_and_leaves_surfaces_alone() {
        let (rough, smooth) = (draw(64, 1, turned(-30.0)), draw(64, 4, turned(-30.0)));
        let changed = rough.iter().zip(&smooth).filter(|(a, b)| a.abs_diff(**b) > 4).count();
        assert!((100..1500).contains(&changed), "{changed} values of {}", rough.len());
    }

    #[test]
    fn the_frame_of_a_solid_holds_all_of_it() {
        for shape in 0..4_u8 {
            for orientation in [-30.0, -11.0, 0.0, 30.0] {
                let scene = Scene::new([0.0, 0.6, 0.3, 1.25, f32::from(shape), orientation]);
                let camera = Camera::new(scene.azimuth());
                let [columns, rows] = camera.frame(scene.solid());
                for place in 0..4096 {
                    let (x, y) = (f64::from(place % 64) + 0.5, f64::from(place / 64) + 0.5);
                    let is_hit = scene.solid().hit(camera.eye, camera.direction(x, y)).is_some();
                    assert!(!is_hit || columns.contains(&x) && rows.contains(&y), "{x} {y}");
                }
            }
        }
    }
}
