//! dSprites ellipses, drawn rather than downloaded.
//!
//! What: the paper's subset of dSprites (ellipse; orientation 0 to 28 pi / 39, scale 0.5 to 1,
//! position x and y), on its lattice of 6 x 15 x 32 x 32 images or at uniformly drawn factors.
//! Assumptions: geometry in 64-pixel coordinates, scaled to other sizes: center
//! (16 + 32 x, 16 + 32 y), semi-axes 12.76 s and 7.215 s, counter-clockwise on screen.
//! Checked against: the original animation's six scale frames (76 to 288 lit pixels).

use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::num::NonZeroUsize;
use std::ops::Range;

use rand::RngExt;
use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::{
    Annotations, Broken, Catalog, DataError, Extent, Factors, ImageShape, ImageSource, SampleForm,
    Split,
};
use crate::numerics::Seed;

const SCALES: usize = 6;
const ORIENTATIONS: usize = 15;
const POSITIONS: usize = 32;
const LATTICE: usize = SCALES * ORIENTATIONS * POSITIONS * POSITIONS;

/// The original has 40 orientations from 0 to 2 pi with both ends included.
const ORIENTATION_STEP: f64 = 2.0 * PI / 39.0;
const FACTOR_NAMES: [&str; 4] = ["scale", "orientation", "x", "y"];

/// How ellipses are rendered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rendering {
    /// Height and width in pixels.
    pub size: NonZeroUsize,
    /// Sub-pixels along each side of a pixel; 1 gives binary images as in the original.
    #[serde(default = "one")]
    pub supersampling: NonZeroUsize,
    /// Which ellipses are rendered.
    pub factors: Sampling,
}

/// Which ellipses are rendered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Sampling {
    /// All 92,160 ellipses of the paper's subset.
    Lattice,
    /// Ellipses with factors drawn uniformly.
    Continuous {
        /// Number of images in each split.
        samples: NonZeroUsize,
        /// Random seed for the factors; every split has its own random stream.
        seed: Seed,
        /// Factors that do not vary, such as `{"scale": 0.75}`, which lowers the dimension.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fixed: BTreeMap<String, f64>,
    },
}

const fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

impl Rendering {
    /// Returns how many images of which form will be drawn.
    pub(super) fn extent(&self) -> Extent {
        const ELLIPSES: &[(&str, usize)] =
            &[("scale", 6), ("orientation", 15), ("x", 32), ("y", 32)];
        let form = SampleForm::square(1, self.size.get());
        match &self.factors {
            Sampling::Lattice => Extent::lattice(form, ELLIPSES),
            Sampling::Continuous { samples, .. } => Extent::in_parts(form, [samples.get(); 3]),
        }
    }

    pub(super) fn open(&self) -> Drawing {
        let (ellipses, partition) = self.factors.ellipses();
        let names = FACTOR_NAMES.map(str::to_owned).to_vec();
        let values = ellipses.iter().flat_map(Ellipse::factors).collect();
        let factors = Factors { names, values };
        let catalog = Catalog {
            count: ellipses.len(),
            annotations: Annotations { factors, classes: None },
            partition,
        };
        let canvas = Canvas { size: self.size.get(), supersampling: self.supersampling.get() };
        Drawing { catalog, ellipses, canvas }
    }
}

/// Returns the least and the greatest value of a factor.
fn range_of(factor: &str) -> (f64, f64) {
    match factor {
        "scale" => (0.5, 1.0),
        "orientation" => (0.0, (ORIENTATIONS - 1) as f64 * ORIENTATION_STEP),
        _ => (0.0, 1.0),
    }
}

impl Sampling {
    /// Returns settings that can't hold, one line each.
    pub(super) fn problems(&self) -> Vec<String> {
        let Self::Continuous { fixed, .. } = self else {
            return Vec::new();
        };
        let problem = |(name, value): (&String, &f64)| {
            if !FACTOR_NAMES.contains(&&**name) {
                let names = FACTOR_NAMES.join(", ");
                return Some(format!("there is no factor `{name}`: the factors are {names}"));
            }
            let (low, high) = range_of(name);
            let inside = (low..=high).contains(value);
            (!inside).then(|| format!("{name} must be between {low} and {high:.4}, found {value}"))
        };
        fixed.iter().filter_map(problem).collect()
    }

    /// Returns all ellipses, with their parts where these are drawn apart.
    fn ellipses(&self) -> (Vec<Ellipse>, Option<Vec<Split>>) {
        match self {
            Self::Lattice => ((0..LATTICE).map(Ellipse::on_lattice).collect(), None),
            Self::Continuous { samples, seed, fixed } => {
                let parts = Split::ALL.map(|split| vec![split; samples.get()]).concat();
                let ellipses = Split::ALL.map(|split| {
                    let mut rng = seed.stream(&format!("dsprites/factors/{}", split.name()));
                    // A fixed factor is drawn too, so that the others stay what they were.
                    let mut draw = |name: &str| {
                        let (low, high) = range_of(name);
                        let drawn = low + (high - low) * rng.random::<f64>();
                        fixed.get(name).copied().unwrap_or(drawn)
                    };
                    (0..samples.get())
                        .map(|_| {
                            let [scale, orientation, x, y] = FACTOR_NAMES.map(&mut draw);
                            Ellipse { scale, orientation, x, y }
                        })
                        .collect::<Vec<_>>()
                });
                (ellipses.concat(), Some(parts))
            }
        }
    }
}

/// Ellipses that are drawn when they are read.
pub(super) struct Drawing {
    catalog: Catalog,
    ellipses: Vec<Ellipse>,
    canvas: Canvas,
}

impl ImageSource for Drawing {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn shape(&self) -> ImageShape {
        ImageShape { channels: 1, height: self.canvas.size, width: self.canvas.size }
    }

    fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError> {
        pixels
            .par_chunks_mut(self.shape().pixels())
            .zip(rows)
            .for_each(|(image, &row)| self.canvas.draw(&self.ellipses[row], image));
        Ok(Vec::new())
    }
}

/// One ellipse: the four factors, in dSprites' units.
#[derive(Clone, Debug, PartialEq)]
struct Ellipse {
    scale: f64,
    orientation: f64,
    x: f64,
    y: f64,
}

impl Ellipse {
    /// Returns the ellipse at a place of the lattice, whose last factor turns fastest.
    fn on_lattice(index: usize) -> Self {
        let along = |step: usize, count: usize| step as f64 / (count - 1) as f64;
        let position = |step: usize| along(step % POSITIONS, POSITIONS);
        let rest = index / (POSITIONS * POSITIONS);
        Self {
            scale: 0.5 + 0.5 * along(rest / ORIENTATIONS, SCALES),
            orientation: (rest % ORIENTATIONS) as f64 * ORIENTATION_STEP,
            x: position(index / POSITIONS),
            y: position(index),
        }
    }

    fn factors(&self) -> [f32; 4] {
        [self.scale, self.orientation, self.x, self.y].map(|factor| factor as f32)
    }
}

/// The pixel grid that ellipses are drawn on.
struct Canvas {
    size: usize,
    supersampling: usize,
}

impl Canvas {
    /// Sets every pixel to its share of sub-pixel centers inside the ellipse.
    fn draw(&self, ellipse: &Ellipse, image: &mut [u8]) {
        let (sin, cos) = ellipse.orientation.sin_cos();
        let (center_x, center_y) = (16.0 + 32.0 * ellipse.x, 16.0 + 32.0 * ellipse.y);
        let (major, minor) = (12.76 * ellipse.scale, 7.215 * ellipse.scale);
        let step = 64.0 / (self.size * self.supersampling) as f64;
        let inside = |column: usize, row: usize| {
            let right = (column as f64 + 0.5) * step - center_x;
            let down = (row as f64 + 0.5) * step - center_y;
            // Rows count downward, so this turns counter-clockwise on screen.
            let along = (right * cos - down * sin) / major;
            let across = (right * sin + down * cos) / minor;
            along * along + across * across <= 1.0
        };
        let full = self.supersampling * self.supersampling;
        image.fill(0);
        for row in self.pixels_near(center_y, major) {
            for column in self.pixels_near(center_x, major) {
                let (first_column, first_row) =
                    (column * self.supersampling, row * self.supersampling);
                let covered = (0..full)
                    .filter(|sub| {
                        let column = first_column + sub % self.supersampling;
                        inside(column, first_row + sub / self.supersampling)
                    })
                    .count();
                image[row * self.size + column] = ((covered * 255 + full / 2) / full) as u8;
            }
        }
    }

    /// Returns the rows or columns that lie within `reach` of a place, for speed alone.
    fn pixels_near(&self, place: f64, reach: f64) -> Range<usize> {
        let pixel = 64.0 / self.size as f64;
        let first = ((place - reach) / pixel).floor().max(0.0) as usize;
        let last = ((place + reach) / pixel).ceil().max(0.0) as usize;
        first..last.min(self.size)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn continuous(supersampling: usize) -> Rendering {
        Rendering {
            size: NonZeroUsize::new(16).unwrap(),
            supersampling: NonZeroUsize::new(supersampling).unwrap(),
            factors: Sampling::Continuous {
                samples: NonZeroUsize::new(20).unwrap(),
                seed: Seed(3),
                fixed: BTreeMap::new(),
            },
        }
    }

    #[test]
    fn a_fixed_factor_leaves_the_others_as_they_were() {
        let free = continuous(1).open().catalog.annotations.factors;
        let mut rendering = continuous(1);
        let Sampling::Continuous { fixed, .. } = &mut rendering.factors else { panic!() };
        fixed.insert("orientation".to_owned(), 1.0);
        let held = rendering.open().catalog.annotations.factors;
        for (free, held) in free.values.chunks(4).zip(held.values.chunks(4)) {
            assert_eq!((held[0], held[1]), (free[0], 1.0));
            assert_eq!(held[2..], free[2..]);
        }
        assert!(rendering.factors.problems().is_empty());
    }

    #[test]
    fn factors_can_be_fixed_only_where_they_exist() {
        let text = "Continuous(samples: 2, seed: 0, fixed: {\"scale\": 2.0, \"color\": 1.0})";
        let sampling: Sampling = ron::from_str(text).unwrap();
        let expected = [
            "there is no factor `color`: the factors are scale, orientation, x, y",
            "scale must be between 0.5 and 1.0000, found 2",
        ];
        assert_eq!(sampling.problems(), expected);
    }

    /// Draws everything.
    fn drawn(rendering: &Rendering) -> Vec<u8> {
        let mut drawing = rendering.open();
        let rows: Vec<usize> = (0..drawing.catalog.count).collect();
        let mut pixels = vec![0; rows.len() * drawing.shape().pixels()];
        assert!(drawing.read(&rows, &mut pixels).unwrap().is_empty());
        pixels
    }

    #[test]
    fn areas_of_the_six_scales_are_those_of_the_original() {
        let canvas = Canvas { size: 64, supersampling: 1 };
        let areas = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0].map(|scale| {
            let mut image = vec![0; 64 * 64];
            canvas.draw(&Ellipse { scale, orientation: 0.0, x: 0.0, y: 0.0 }, &mut image);
            assert!(image.iter().all(|&pixel| pixel == 0 || pixel == 255));
            image.iter().filter(|&&pixel| pixel > 0).count()
        });
        assert_eq!(areas, [76, 104, 144, 184, 228, 288]);
    }

    #[test]
    fn an_eighth_turn_counter_clockwise_lifts_the_right_end() {
        let canvas = Canvas { size: 64, supersampling: 1 };
        let mut image = vec![0; 64 * 64];
        let orientation = PI / 4.0;
        canvas.draw(&Ellipse { scale: 1.0, orientation, x: 0.5, y: 0.5 }, &mut image);
        assert_eq!(image[25 * 64 + 38], 255, "up and to the right of the center is inside");
        assert_eq!(image[38 * 64 + 38], 0, "down and to the right of the center is outside");
    }

    #[test]
    fn x_goes_right_and_y_goes_down_and_y_is_the_fastest_factor() {
        let canvas = Canvas { size: 64, supersampling: 1 };
        let mut image = vec![0; 64 * 64];
        canvas.draw(&Ellipse { scale: 1.0, orientation: 0.0, x: 1.0, y: 0.0 }, &mut image);
        assert_eq!(image[16 * 64 + 48], 255, "right and up holds the center");
        assert_eq!(image[48 * 64 + 16], 0, "left and down is empty");
        let second = Ellipse::on_lattice(1);
        assert_eq!((second.x, second.y), (0.0, 1.0 / 31.0));
    }

    #[test]
    fn the_lattice_has_92160_different_ellipses() {
        let (ellipses, partition) = Sampling::Lattice.ellipses();
        assert_eq!(partition, None);
        let distinct: BTreeSet<[u32; 4]> =
            ellipses.iter().map(|ellipse| ellipse.factors().map(f32::to_bits)).collect();
        assert_eq!((ellipses.len(), distinct.len()), (92_160, 92_160));
    }

    #[test]
    fn the_lattice_ends_at_the_last_of_the_papers_orientations() {
        let last = Ellipse::on_lattice(LATTICE - 1);
        assert_eq!(last, Ellipse { scale: 1.0, orientation: 28.0 * PI / 39.0, x: 1.0, y: 1.0 });
    }

    #[test]
    fn continuous_splits_share_no_image_and_are_repeatable() {
        let pixels = drawn(&continuous(8));
        assert_eq!(pixels, drawn(&continuous(8)));
        let images: BTreeSet<&[u8]> = pixels.chunks(256).collect();
        assert_eq!(images.len(), 60);
        let partition = continuous(8).open().catalog.partition.unwrap();
        assert_eq!((partition[19], partition[20]), (Split::Train, Split::Validation));
    }

    #[test]
    fn images_do_not_depend_on_the_number_of_threads() {
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| drawn(&continuous(3)))
        };
        assert_eq!(with_threads(1), with_threads(3));
    }

    #[test]
    fn antialiased_pixels_add_up_to_the_area_of_the_ellipse() {
        let canvas = Canvas { size: 16, supersampling: 8 };
        let mut image = vec![0; 256];
        canvas.draw(&Ellipse { scale: 1.0, orientation: 0.3, x: 0.4, y: 0.6 }, &mut image);
        let area = image.iter().map(|&pixel| f64::from(pixel) / 255.0).sum::<f64>() * 16.0;
        let exact = PI * 12.76 * 7.215;
        assert!((area - exact).abs() < 0.01 * exact, "{area} against {exact}");
    }

    #[test]
    fn the_pipeline_text_is_read_as_written() {
        let text = "(size: 16, supersampling: 8, factors: Continuous(samples: 20, seed: 3))";
        assert_eq!(ron::from_str::<Rendering>(text).unwrap(), continuous(8));
        let whole: Rendering = ron::from_str("(size: 64, factors: Lattice)").unwrap();
        assert_eq!((whole.supersampling, whole.factors), (one(), Sampling::Lattice));
    }
}
