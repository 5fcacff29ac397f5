//! dSprites ellipses, drawn rather than downloaded.
//!
//! What: the paper's subset of dSprites (ellipse; orientation 0 to 28 pi / 39, scale 0.5 to 1,
//! position x and y), on its lattice of 6 x 15 x 32 x 32 images or at uniformly drawn factors.
//! Reference: Matthey et al. 2017, dSprites; subset and 70/15/15 split from the paper, appendix C.
//! Assumptions: geometry in 64-pixel coordinates, scaled to other sizes: center
//! (16 + 32 x, 16 + 32 y), semi-axes 12.76 s and 7.215 s, counter-clockwise on screen.
//! Checked against: the original animation's six scale frames (76 to 288 lit pixels).

use std::f64::consts::PI;
use std::num::NonZeroUsize;
use std::ops::Range;

use rand::RngExt;
use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};
use serde::{Deserialize, Serialize};

use super::{DataError, Factors, ImageShape, Images, Split};
use crate::numerics::Seed;
use crate::numerics::rng::permutation;

const SCALES: usize = 6;
const ORIENTATIONS: usize = 15;
const POSITIONS: usize = 32;
const LATTICE: usize = SCALES * ORIENTATIONS * POSITIONS * POSITIONS;

/// The original has 40 orientations from 0 to 2 pi with both ends included.
const ORIENTATION_STEP: f64 = 2.0 * PI / 39.0;
const FACTOR_NAMES: [&str; 4] = ["scale", "orientation", "x", "y"];

/// Images drawn between two progress reports.
const BLOCK: usize = 2048;

/// Settings of the dSprites ellipses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Dsprites {
    /// Draws the images, for instance
    /// `Render(size: 16, supersampling: 8, factors: Continuous(samples: 3000, seed: 0))`.
    Render {
        /// Height and width in pixels.
        size: NonZeroUsize,
        /// Sub-pixels along each side of a pixel; 1 gives binary images as in the original.
        #[serde(default = "one")]
        supersampling: NonZeroUsize,
        /// Which ellipses are drawn.
        factors: Sampling,
    },
}

/// Which ellipses are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Sampling {
    /// All 92,160 ellipses of the paper's subset, shuffled and cut 70/15/15.
    Lattice {
        /// Decides which images go into which split.
        seed: Seed,
        /// Keeps only this many images of each split; all of them if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<NonZeroUsize>,
    },
    /// Ellipses with uniformly drawn factors.
    Continuous {
        /// Number of images in each split.
        samples: NonZeroUsize,
        /// Decides the factors; every split has its own stream.
        seed: Seed,
    },
}

const fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

impl Dsprites {
    /// Returns the shape of the images.
    pub fn shape(&self) -> ImageShape {
        let Self::Render { size, .. } = self;
        ImageShape { channels: 1, height: size.get(), width: size.get() }
    }

    /// Draws one split; the result does not depend on the number of threads.
    pub fn load(
        &self,
        split: Split,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Images, DataError> {
        let Self::Render { size, supersampling, factors } = self;
        let ellipses = factors.ellipses(split);
        let canvas = Canvas { size: size.get(), supersampling: supersampling.get() };
        let image_size = canvas.size * canvas.size;
        let mut pixels = vec![0; ellipses.len() * image_size];
        let total = ellipses.len() as u64;
        let mut done = 0;
        for (block, ellipses) in pixels.chunks_mut(BLOCK * image_size).zip(ellipses.chunks(BLOCK)) {
            block
                .par_chunks_mut(image_size)
                .zip(ellipses)
                .for_each(|(image, ellipse)| canvas.draw(ellipse, image));
            done += ellipses.len() as u64;
            on_progress(done, total);
        }
        let values = ellipses.iter().flat_map(Ellipse::factors).collect();
        let names = FACTOR_NAMES.map(str::to_owned).to_vec();
        Images::new(self.shape(), pixels, Factors { names, values })
    }
}

impl Sampling {
    fn ellipses(&self, split: Split) -> Vec<Ellipse> {
        match self {
            Self::Lattice { seed, limit } => {
                let order = permutation(LATTICE, &mut seed.stream("dsprites/split"));
                let part = part_of(split, &order);
                let kept = limit.map_or(part.len(), |limit| limit.get().min(part.len()));
                part[..kept].iter().map(|&index| Ellipse::on_lattice(index)).collect()
            }
            Self::Continuous { samples, seed } => {
                let mut rng = seed.stream(&format!("dsprites/factors/{}", split.name()));
                let mut draw = |low: f64, high: f64| low + (high - low) * rng.random::<f64>();
                (0..samples.get())
                    .map(|_| Ellipse {
                        scale: draw(0.5, 1.0),
                        orientation: draw(0.0, (ORIENTATIONS - 1) as f64 * ORIENTATION_STEP),
                        x: draw(0.0, 1.0),
                        y: draw(0.0, 1.0),
                    })
                    .collect()
            }
        }
    }
}

/// Cuts a shuffled list into 70 % training, 15 % validation and 15 % test.
fn part_of(split: Split, order: &[usize]) -> &[usize] {
    let train_end = order.len() * 70 / 100;
    let validation_end = order.len() * 85 / 100;
    match split {
        Split::Train => &order[..train_end],
        Split::Validation => &order[train_end..validation_end],
        Split::Test => &order[validation_end..],
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

    fn lattice(size: usize, limit: usize) -> Dsprites {
        Dsprites::Render {
            size: NonZeroUsize::new(size).unwrap(),
            supersampling: one(),
            factors: Sampling::Lattice { seed: Seed(0), limit: NonZeroUsize::new(limit) },
        }
    }

    fn continuous(supersampling: usize) -> Dsprites {
        Dsprites::Render {
            size: NonZeroUsize::new(16).unwrap(),
            supersampling: NonZeroUsize::new(supersampling).unwrap(),
            factors: Sampling::Continuous {
                samples: NonZeroUsize::new(20).unwrap(),
                seed: Seed(3),
            },
        }
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
    fn the_lattice_has_92160_images_cut_70_15_15_without_overlap() {
        let Dsprites::Render { factors, .. } = lattice(4, usize::MAX);
        let parts = Split::ALL.map(|split| factors.ellipses(split));
        assert_eq!(parts.each_ref().map(Vec::len), [64_512, 13_824, 13_824]);
        let distinct: BTreeSet<[u32; 4]> =
            parts.iter().flatten().map(|ellipse| ellipse.factors().map(f32::to_bits)).collect();
        assert_eq!(distinct.len(), 92_160);
    }

    #[test]
    fn the_lattice_ends_at_the_last_of_the_papers_orientations() {
        let last = Ellipse::on_lattice(LATTICE - 1);
        assert_eq!(last, Ellipse { scale: 1.0, orientation: 28.0 * PI / 39.0, x: 1.0, y: 1.0 });
    }

    #[test]
    fn continuous_splits_share_no_image_and_are_repeatable() {
        let load = |split| continuous(8).load(split, &mut |_, _| ()).unwrap();
        assert_eq!(load(Split::Train), load(Split::Train));
        let images: BTreeSet<Vec<u8>> = Split::ALL
            .iter()
            .flat_map(|&split| {
                let images = load(split);
                (0..images.len()).map(|index| images.image(index).to_vec()).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(images.len(), 60);
    }

    #[test]
    fn images_do_not_depend_on_the_number_of_threads() {
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| continuous(3).load(Split::Train, &mut |_, _| ()).unwrap())
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
    fn progress_ends_at_the_total_and_a_limit_keeps_the_first_images() {
        let mut last = (0, 0);
        let images = lattice(8, 3000).load(Split::Train, &mut |done, all| last = (done, all));
        assert_eq!(images.unwrap().len(), 3000);
        assert_eq!(last, (3000, 3000));
    }

    #[test]
    fn the_pipeline_text_is_read_as_written() {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES)
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let text = "Dsprites(Render(size: 16, supersampling: 8, \
                    factors: Continuous(samples: 20, seed: 3)))";
        let spec: super::super::DatasetSpec = options.from_str(text).unwrap();
        assert_eq!(spec, super::super::DatasetSpec::Dsprites(continuous(8)));
        let text = "Dsprites(Render(size: 64, factors: Lattice(seed: 0, limit: 7)))";
        let spec: super::super::DatasetSpec = options.from_str(text).unwrap();
        assert_eq!(spec, super::super::DatasetSpec::Dsprites(lattice(64, 7)));
    }
}
