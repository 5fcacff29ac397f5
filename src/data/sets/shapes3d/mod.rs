//! 3DShapes: one object in a colored room, seen from a camera that walks around it.
//!
//! What: the original file (480,000 images of 64 x 64), or the same scenes drawn on the spot, all
//! of them, the paper's subset (hues 0.0 to 0.4, cube: 15,000), or at uniformly drawn factors. The
//! subset of the original is `select: {"floor_hue": Levels(0, 4), "wall_hue": Levels(0, 4),
//! "object_hue": Levels(0, 4), "shape": Values([0])}`.
//! Reference: Burgess and Kim 2018, 3D Shapes; subset from the paper, appendix C.

mod original;
mod render;
mod scene;
mod solid;

use std::num::NonZeroUsize;

use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::render::Drawing;
use crate::data::sets::published::Published;
use crate::data::{
    Annotations, Catalog, Content, DataError, DataSet, Extent, Factors, Files, SampleForm, Samples,
    Split, side_problem,
};
use crate::numerics::Seed;

const NAME: &str = "3dshapes.h5";

/// The factors of the original, slowest first.
const FACTORS: [&str; 6] = ["floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"];

/// Number of values of each factor in the original, and in the paper's subset.
const ORIGINAL: [usize; 6] = [10, 10, 10, 8, 4, 15];
const SUBSET: [usize; 6] = [5, 5, 5, 8, 1, 15];

const SCALES: [f64; 2] = [0.75, 1.25];
const ORIENTATIONS: [f64; 2] = [-30.0, 30.0];
const SUBSET_HUES: [f64; 2] = [0.0, 0.4];

/// Where the original can be had.
pub(super) const FILES: &[Published] = &[Published {
    name: NAME,
    bytes: 267_573_662,
    sha256: "0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
    gzip: None,
    mirrors: &["https://storage.googleapis.com/3d-shapes/"],
}];

/// Settings of 3DShapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Shapes3d {
    /// The published file.
    Original,
    /// Rendered scenes, for instance `Render(size: 64, factors: Subset)`.
    Render {
        /// Height and width in pixels.
        size: NonZeroUsize,
        /// Sub-pixels along each side of a pixel; more than 1 smooths the edges.
        #[serde(default = "one")]
        supersampling: NonZeroUsize,
        /// Which scenes are rendered.
        factors: Shapes3dFactors,
    },
}

/// Which scenes are rendered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Shapes3dFactors {
    /// All 480,000 of the original, in its order.
    Lattice,
    /// The paper's 15,000: hues 0.0 to 0.4, cube, all scales and orientations.
    Subset,
    /// Scenes with hues of the subset's range, scale and orientation drawn uniformly.
    Continuous {
        /// The shape of the object.
        shape: Shape,
        /// Number of images in each split.
        samples: NonZeroUsize,
        /// Random seed for the factors; every split has its own random stream.
        seed: Seed,
    },
}

/// The shape of the object, in the order of the original's numbers from 0 to 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Shape {
    /// A cube that stands parallel to the walls.
    Cube,
    /// An upright cylinder.
    Cylinder,
    /// A ball.
    Sphere,
    /// An upright cylinder with half a ball at each end.
    Capsule,
}

impl Shape {
    const ALL: [Self; 4] = [Self::Cube, Self::Cylinder, Self::Sphere, Self::Capsule];
}

const fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

impl DataSet for Shapes3d {
    fn content(&self) -> Content {
        Content::Images
    }

    fn reads_files(&self) -> bool {
        matches!(self, Self::Original)
    }

    fn open(&self, files: &Files) -> Result<Samples, DataError> {
        Ok(Samples::Images(match self {
            Self::Original => original::open(files.find(&[NAME])?)?,
            Self::Render { size, supersampling, factors } => {
                Box::new(Drawing::new(factors.catalog(), *size, *supersampling))
            }
        }))
    }

    fn extent(&self) -> Option<Extent> {
        const SCENES: &[(&str, usize)] = &[
            ("floor_hue", 10),
            ("wall_hue", 10),
            ("object_hue", 10),
            ("scale", 8),
            ("shape", 4),
            ("orientation", 15),
        ];
        Some(match self {
            Self::Original => Extent::lattice(SampleForm::square(3, 64), SCENES),
            Self::Render { size, factors, .. } => {
                let form = SampleForm::square(3, size.get());
                match factors {
                    Shapes3dFactors::Lattice => Extent::lattice(form, SCENES),
                    Shapes3dFactors::Subset => Extent::new(15_000, form),
                    Shapes3dFactors::Continuous { samples, .. } => {
                        Extent::in_parts(form, [samples.get(); 3])
                    }
                }
            }
        })
    }

    fn problems(&self) -> Vec<String> {
        match self {
            Self::Original => Vec::new(),
            Self::Render { size, .. } => side_problem(*size).into_iter().collect(),
        }
    }
}

impl Shapes3dFactors {
    /// Returns the factors of all scenes, with their parts where these are drawn apart.
    fn catalog(&self) -> Catalog {
        let (values, partition) = match self {
            Self::Lattice => (lattice(ORIGINAL), None),
            Self::Subset => (lattice(SUBSET), None),
            Self::Continuous { shape, samples, seed } => {
                let values = Split::ALL.map(|split| uniform(*shape, samples.get(), *seed, split));
                let parts = Split::ALL.map(|split| vec![split; samples.get()]);
                (values.concat(), Some(parts.concat()))
            }
        };
        let count = values.len() / FACTORS.len();
        let factors = Factors { names: FACTORS.map(str::to_owned).to_vec(), values };
        Catalog { count, annotations: Annotations { factors, classes: None }, partition }
    }
}

/// Returns the first values of each factor in all combinations; the last factor turns fastest.
fn lattice(counts: [usize; 6]) -> Vec<f32> {
    let scenes: usize = counts.iter().product();
    let mut values = Vec::with_capacity(scenes * counts.len());
    for scene in 0..scenes {
        let mut steps = [0; 6];
        let mut rest = scene;
        for (step, count) in steps.iter_mut().zip(counts).rev() {
            (*step, rest) = (rest % count, rest / count);
        }
        let [floor, wall, object, scale, shape, orientation] = steps;
        let hue = |step: usize| step as f64 / 10.0;
        let between = |[low, high]: [f64; 2], step: usize, count: usize| {
            low + (high - low) * step as f64 / (count - 1) as f64
        };
        values.extend(
            [
                hue(floor),
                hue(wall),
                hue(object),
                between(SCALES, scale, ORIGINAL[3]),
                shape as f64,
                between(ORIENTATIONS, orientation, ORIGINAL[5]),
            ]
            .map(|value| value as f32),
        );
    }
    values
}

/// Draws the factors of one split.
fn uniform(shape: Shape, samples: usize, seed: Seed, split: Split) -> Vec<f32> {
    let mut rng = seed.stream(&format!("shapes3d/factors/{}", split.name()));
    let mut draw = |[low, high]: [f64; 2]| (low + (high - low) * rng.random::<f64>()) as f32;
    let mut values = Vec::with_capacity(samples.saturating_mul(FACTORS.len()));
    for _ in 0..samples {
        let hues = [draw(SUBSET_HUES), draw(SUBSET_HUES), draw(SUBSET_HUES)];
        let (scale, orientation) = (draw(SCALES), draw(ORIENTATIONS));
        values.extend(hues);
        values.extend([scale, f32::from(shape as u8), orientation]);
    }
    values
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::data::ImageSource;

    fn render(size: usize, factors: Shapes3dFactors) -> Shapes3d {
        Shapes3d::Render { size: NonZeroUsize::new(size).unwrap(), supersampling: one(), factors }
    }

    fn continuous(shape: Shape) -> Shapes3dFactors {
        let samples = NonZeroUsize::new(20).unwrap();
        Shapes3dFactors::Continuous { shape, samples, seed: Seed(3) }
    }

    fn images(shapes: &Shapes3d) -> Box<dyn ImageSource> {
        match shapes.open(&Files::default()).unwrap() {
            Samples::Images(images) => images,
            Samples::Vectors(..) => panic!("expected images"),
        }
    }

    #[test]
    fn the_lattice_has_the_480000_scenes_of_the_original_in_its_order() {
        let catalog = Shapes3dFactors::Lattice.catalog();
        assert_eq!((catalog.count, catalog.partition), (480_000, None));
        let factors = catalog.annotations.factors;
        assert_eq!(factors.names, FACTORS);
        assert_eq!(factors.row(0), [0.0, 0.0, 0.0, 0.75, 0.0, -30.0]);
        assert_eq!(factors.row(14), [0.0, 0.0, 0.0, 0.75, 0.0, 30.0]);
        assert_eq!(factors.row(15), [0.0, 0.0, 0.0, 0.75, 1.0, -30.0]);
        assert_eq!(factors.row(480), [0.0, 0.0, 0.1, 0.75, 0.0, -30.0]);
        assert_eq!(factors.row(479_999), [0.9, 0.9, 0.9, 1.25, 3.0, 30.0]);
    }

    #[test]
    fn the_subset_has_15000_cubes_with_hues_up_to_four_tenths() {
        let catalog = Shapes3dFactors::Subset.catalog();
        assert_eq!(catalog.count, 15_000);
        let factors = &catalog.annotations.factors;
        assert_eq!(factors.row(14_999), [0.4, 0.4, 0.4, 1.25, 0.0, 30.0]);
        let whole = Shapes3dFactors::Lattice.catalog().annotations.factors;
        let chosen = |row: &&[f32]| row[..3].iter().all(|&hue| hue < 0.45) && row[4] < 0.5;
        let expected: Vec<&[f32]> = whole.values.chunks(6).filter(chosen).collect();
        assert_eq!(factors.values.chunks(6).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn drawn_factors_fill_their_ranges_and_no_split_repeats_another() {
        let catalog = continuous(Shape::Sphere).catalog();
        assert_eq!(catalog.count, 60);
        let partition = catalog.partition.as_ref().unwrap();
        assert_eq!([0, 20, 40].map(|row| partition[row]), Split::ALL);
        let rows: BTreeSet<Vec<u32>> = catalog
            .annotations
            .factors
            .values
            .chunks(6)
            .map(|row| {
                assert!(row[..3].iter().all(|hue| (0.0..=0.4).contains(hue)), "{row:?}");
                assert!((0.75..=1.25).contains(&row[3]), "{row:?}");
                assert_eq!(row[4].to_bits(), 2.0_f32.to_bits());
                assert!((-30.0..=30.0).contains(&row[5]), "{row:?}");
                row.iter().map(|value| value.to_bits()).collect()
            })
            .collect();
        assert_eq!(rows.len(), 60);
        assert_eq!(catalog, continuous(Shape::Sphere).catalog());
    }

    #[test]
    fn images_depend_neither_on_the_number_of_threads_nor_on_the_blocks_they_are_read_in() {
        let read = |threads: usize, block: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut source = images(&render(16, continuous(Shape::Capsule)));
                let rows: Vec<usize> = (0..60).collect();
                let mut pixels = vec![0; 60 * 3 * 16 * 16];
                for (rows, pixels) in rows.chunks(block).zip(pixels.chunks_mut(block * 768)) {
                    source.read(rows, pixels).unwrap();
                }
                pixels
            })
        };
        assert_eq!(read(1, 60), read(3, 7));
    }

    #[test]
    fn the_original_is_looked_for_by_name() {
        assert!(Shapes3d::Original.reads_files());
        let error = Shapes3d::Original.open(&Files::default()).err().unwrap();
        assert_eq!(error.to_string(), "no file `3dshapes.h5` found (there are none)");
        assert!(!render(16, Shapes3dFactors::Subset).reads_files());
    }

    #[test]
    fn the_pipeline_text_is_read_as_written() {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES)
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let read = |text: &str| options.from_str::<Shapes3d>(text).unwrap();
        assert_eq!(read("Original"), Shapes3d::Original);
        let subset = render(64, Shapes3dFactors::Subset);
        assert_eq!(read("Render(size: 64, factors: Subset)"), subset);
        assert_eq!(
            read("Render(size: 16, factors: Continuous(shape: Cube, samples: 20, seed: 3))"),
            render(16, continuous(Shape::Cube))
        );
    }
}
