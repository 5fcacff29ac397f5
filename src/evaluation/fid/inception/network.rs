//! The Inception network of 2015 that FID is defined by, up to its last pool: 2048 features.
//!
//! What: images of 299 x 299 pixels through the blocks below, then the mean over all places.
//! Reference: Szegedy et al. 2016, "Rethinking the Inception architecture"; Heusel et al. 2017 (FID).
//! The weights are TensorFlow's of 2015-12-05 (1008 classes), with names as in torchvision. That
//! network differs from torchvision's: mean pools leave the padding out of the count, the last block
//! takes the maximum where others take the mean, and the epsilon of normalizations is 0.001.
//! Assumptions: gray images stand for three equal channels. The classifier at the end is not used.
//! Checked against: tests/reference/inception.json (pytorch-fid, torch-fidelity) and, end to end,
//! tests/real/inception.py.

use std::ops::Range;

use burn::tensor::Device;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use super::layers::{Convolution, Layer, Padding, Plan, Pool, forward};
use super::{FeatureError, Resize};
use crate::data::Images;
use crate::device::{read, send};
use crate::models::Weights;

/// Number of features of an image.
pub const WIDTH: usize = 2048;

/// Images taken through the network together; bounds memory to about half a gigabyte.
pub const CHUNK: usize = 16;

/// Height and width of the images that the network takes.
const SIDE: usize = 299;

/// The network with its weights.
#[derive(Debug)]
pub struct Inception {
    layers: Vec<Layer<Convolution>>,
    resize: Resize,
    device: Device,
}

impl Inception {
    /// Makes the network from weights that have torchvision's names; others are not used.
    pub fn load(weights: &Weights, resize: Resize, device: &Device) -> Result<Self, FeatureError> {
        let mut channels = 3;
        let mut make = |plan: &Plan, inputs: usize| plan.load(inputs, weights, device);
        let layers = network();
        let layers = layers.iter().map(|layer| layer.build(&mut channels, &mut make));
        let layers = layers.collect::<Result<_, _>>()?;
        Ok(Self { layers, resize, device: device.clone() })
    }

    /// Returns the features of some of the images, one row after the other.
    pub fn features(&self, images: &Images, rows: Range<usize>) -> Result<Vec<f32>, FeatureError> {
        let count = rows.len();
        let input = send(self.inputs(images, rows)?, [count, 3, SIDE, SIDE], &self.device);
        let output = forward(&self.layers, input);
        let [_, channels, height, width] = output.dims();
        let places = output.reshape([count, channels, height * width]);
        Ok(read(places.mean_dim(2)))
    }

    /// Returns images as the network takes them.
    fn inputs(&self, images: &Images, rows: Range<usize>) -> Result<Vec<f32>, FeatureError> {
        let shape = images.shape();
        if shape.channels != 1 && shape.channels != 3 {
            return Err(FeatureError::Channels { shape });
        }
        let (size, plane) = ((shape.height, shape.width), (shape.height * shape.width).max(1));
        let mut input = vec![0.0; rows.len() * 3 * SIDE * SIDE];
        let places = input.par_chunks_exact_mut(3 * SIDE * SIDE);
        places.zip(rows.into_par_iter()).for_each(|(input, row)| {
            let channels = images.image(row).chunks_exact(plane);
            let channels: Vec<_> =
                channels.map(|pixels| self.resize.apply(pixels, size, SIDE)).collect();
            for (place, channel) in input.chunks_exact_mut(SIDE * SIDE).zip(channels.iter().cycle())
            {
                place.copy_from_slice(channel);
            }
        });
        Ok(input)
    }
}

/// Describes the whole network.
fn network() -> Vec<Layer<Plan>> {
    vec![
        convolution("Conv2d_1a_3x3", 32, [3, 3], Padding::ValidStride2),
        convolution("Conv2d_2a_3x3", 32, [3, 3], Padding::Valid),
        convolution("Conv2d_2b_3x3", 64, [3, 3], Padding::Same),
        Layer::Pool(Pool::MaxStride2),
        convolution("Conv2d_3b_1x1", 80, [1, 1], Padding::Same),
        convolution("Conv2d_4a_3x3", 192, [3, 3], Padding::Valid),
        Layer::Pool(Pool::MaxStride2),
        Block("Mixed_5b").with_fives(32),
        Block("Mixed_5c").with_fives(64),
        Block("Mixed_5d").with_fives(64),
        Block("Mixed_6a").reduction_b(),
        Block("Mixed_6b").with_sevens(128),
        Block("Mixed_6c").with_sevens(160),
        Block("Mixed_6d").with_sevens(160),
        Block("Mixed_6e").with_sevens(192),
        Block("Mixed_7a").reduction_d(),
        Block("Mixed_7b").spread(Pool::Mean),
        Block("Mixed_7c").spread(Pool::Max),
    ]
}

fn convolution(
    name: impl Into<String>,
    outputs: usize,
    kernel: [usize; 2],
    padding: Padding,
) -> Layer<Plan> {
    Layer::Convolution(Plan { name: name.into(), outputs, kernel, padding })
}

/// A block of branches, by the name before those of its layers.
struct Block(&'static str);

impl Block {
    /// A convolution that keeps the size.
    fn same(&self, name: &str, outputs: usize, kernel: [usize; 2]) -> Layer<Plan> {
        convolution(format!("{}.{name}", self.0), outputs, kernel, Padding::Same)
    }

    /// A convolution of single pixels.
    fn point(&self, name: &str, outputs: usize) -> Layer<Plan> {
        self.same(name, outputs, [1, 1])
    }

    /// A 3 x 3 convolution that halves the size.
    fn downsample(&self, name: &str, outputs: usize) -> Layer<Plan> {
        convolution(format!("{}.{name}", self.0), outputs, [3, 3], Padding::ValidStride2)
    }

    /// The block at 35 x 35 pixels.
    fn with_fives(&self, pooled: usize) -> Layer<Plan> {
        Layer::Fork(vec![
            vec![self.point("branch1x1", 64)],
            vec![self.point("branch5x5_1", 48), self.same("branch5x5_2", 64, [5, 5])],
            vec![
                self.point("branch3x3dbl_1", 64),
                self.same("branch3x3dbl_2", 96, [3, 3]),
                self.same("branch3x3dbl_3", 96, [3, 3]),
            ],
            vec![Layer::Pool(Pool::Mean), self.point("branch_pool", pooled)],
        ])
    }

    /// The block from 35 x 35 to 17 x 17 pixels.
    fn reduction_b(&self) -> Layer<Plan> {
        Layer::Fork(vec![
            vec![self.downsample("branch3x3", 384)],
            vec![
                self.point("branch3x3dbl_1", 64),
                self.same("branch3x3dbl_2", 96, [3, 3]),
                self.downsample("branch3x3dbl_3", 96),
            ],
            vec![Layer::Pool(Pool::MaxStride2)],
        ])
    }

    /// The block at 17 x 17 pixels.
    fn with_sevens(&self, inner: usize) -> Layer<Plan> {
        Layer::Fork(vec![
            vec![self.point("branch1x1", 192)],
            vec![
                self.point("branch7x7_1", inner),
                self.same("branch7x7_2", inner, [1, 7]),
                self.same("branch7x7_3", 192, [7, 1]),
            ],
            vec![
                self.point("branch7x7dbl_1", inner),
                self.same("branch7x7dbl_2", inner, [7, 1]),
                self.same("branch7x7dbl_3", inner, [1, 7]),
                self.same("branch7x7dbl_4", inner, [7, 1]),
                self.same("branch7x7dbl_5", 192, [1, 7]),
            ],
            vec![Layer::Pool(Pool::Mean), self.point("branch_pool", 192)],
        ])
    }

    /// The block from 17 x 17 to 8 x 8 pixels.
    fn reduction_d(&self) -> Layer<Plan> {
        Layer::Fork(vec![
            vec![self.point("branch3x3_1", 192), self.downsample("branch3x3_2", 320)],
            vec![
                self.point("branch7x7x3_1", 192),
                self.same("branch7x7x3_2", 192, [1, 7]),
                self.same("branch7x7x3_3", 192, [7, 1]),
                self.downsample("branch7x7x3_4", 192),
            ],
            vec![Layer::Pool(Pool::MaxStride2)],
        ])
    }

    /// The block at 8 x 8 pixels, whose branches branch again.
    fn spread(&self, pool: Pool) -> Layer<Plan> {
        let both = |name: &str| {
            Layer::Fork(vec![
                vec![self.same(&format!("{name}a"), 384, [1, 3])],
                vec![self.same(&format!("{name}b"), 384, [3, 1])],
            ])
        };
        Layer::Fork(vec![
            vec![self.point("branch1x1", 320)],
            vec![self.point("branch3x3_1", 384), both("branch3x3_2")],
            vec![
                self.point("branch3x3dbl_1", 448),
                self.same("branch3x3dbl_2", 384, [3, 3]),
                both("branch3x3dbl_3"),
            ],
            vec![Layer::Pool(pool), self.point("branch_pool", 192)],
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde::Deserialize;

    use super::*;
    use crate::data::{Annotations, ImageShape};
    use crate::device::{open, reserved_memory, test_device};
    use crate::models::WeightArray;

    #[derive(Deserialize)]
    struct Reference {
        sets: Vec<Set>,
        /// The features that are compared.
        places: Vec<usize>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Set {
        channels: usize,
        height: usize,
        width: usize,
        pixels: Vec<u8>,
    }

    #[derive(Deserialize)]
    struct Case {
        resize: Resize,
        set: usize,
        /// One list for each image.
        features: Vec<Vec<f32>>,
    }

    /// Returns uniform numbers between -1 and 1 that depend on a name and a place alone.
    fn numbers(name: &str, count: usize) -> impl Iterator<Item = f64> {
        let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
        let key = name.bytes().fold(2_166_136_261, mix);
        (0..count as u32).map(move |place| {
            let mut x = place.wrapping_mul(0x9e37_79b1).wrapping_add(key);
            x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
            x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
            f64::from(x ^ (x >> 16)) / 2_147_483_648.0 - 1.0
        })
    }

    /// Returns the weights that the reference's script made by the same rule.
    fn weights() -> Weights {
        let mut weights = Weights::default();
        let mut put = |name: String, shape: &[usize], middle: f64, reach: f64| {
            let values = numbers(&name, shape.iter().product());
            let values = values.map(|number| (middle + reach * number) as f32).collect();
            weights.0.insert(name, WeightArray { shape: shape.to_vec(), values });
        };
        let mut channels = 3;
        for layer in network() {
            let made = layer.build(&mut channels, &mut |plan, inputs| {
                let fan_in = (inputs * plan.kernel[0] * plan.kernel[1]) as f64;
                let name = |part: &str| format!("{}.{part}", plan.name);
                put(name("conv.weight"), &plan.shape(inputs), 0.0, (6.0 / fan_in).sqrt());
                put(name("bn.weight"), &[plan.outputs], 1.0, 0.2);
                put(name("bn.bias"), &[plan.outputs], 0.0, 0.2);
                put(name("bn.running_mean"), &[plan.outputs], 0.0, 0.2);
                put(name("bn.running_var"), &[plan.outputs], 1.0, 0.3);
                Ok::<_, Infallible>(())
            });
            made.unwrap();
        }
        assert_eq!(channels, WIDTH);
        weights
    }

    #[test]
    fn features_are_those_of_the_packages_for_gray_and_color_and_every_resize() {
        let text = include_str!("../../../../tests/reference/inception.json");
        let reference: Reference = serde_json::from_str(text).unwrap();
        let (weights, device) = (weights(), open(test_device()).unwrap());
        assert!(reference.cases.len() >= 6);
        for case in &reference.cases {
            let Set { channels, height, width, pixels } = &reference.sets[case.set];
            let shape = ImageShape { channels: *channels, height: *height, width: *width };
            let images = Images::new(shape, pixels.clone(), Annotations::default()).unwrap();
            let network = Inception::load(&weights, case.resize, &device).unwrap();
            let features = network.features(&images, 0..images.len()).unwrap();
            assert_eq!(features.len(), case.features.len() * WIDTH);
            for (row, expected) in features.chunks(WIDTH).zip(&case.features) {
                let found: Vec<f32> = reference.places.iter().map(|&place| row[place]).collect();
                let size = expected.iter().fold(0.0_f32, |size, value| size.max(value.abs()));
                for (found, expected) in found.iter().zip(expected) {
                    assert!(
                        (found - expected).abs() < 1e-4 * size,
                        "{:?} of {shape}: {found} against {expected} (of {size})",
                        case.resize
                    );
                }
            }
            let last = images.len() - 1;
            let alone = network.features(&images, last..images.len()).unwrap();
            assert_eq!(alone, features[last * WIDTH..], "an image's neighbors don't matter");
        }
    }

    #[test]
    fn weights_of_another_network_are_refused_by_name() {
        let device = open(test_device()).unwrap();
        let told = |weights: &Weights| {
            Inception::load(weights, Resize::Clean, &device).unwrap_err().to_string()
        };
        let mut weights = weights();
        weights.0.get_mut("Mixed_6c.branch7x7_1.conv.weight").unwrap().shape = vec![128, 768, 1, 1];
        assert_eq!(
            told(&weights),
            "these are not the weights of the FID Inception network: array \
             `Mixed_6c.branch7x7_1.conv.weight` has shape [128, 768, 1, 1], expected [160, 768, 1, 1]"
        );
        assert_eq!(
            told(&Weights::default()),
            "these are not the weights of the FID Inception network: the model needs an array \
             `Conv2d_1a_3x3.conv.weight`, which is missing"
        );
    }

    /// Alone in its process, on a GPU: others would hold memory, too.
    #[test]
    #[ignore = "takes a minute, and the device for itself"]
    fn the_memory_of_a_gpu_does_not_grow_with_the_images() {
        let device = open(test_device()).unwrap();
        let network = Inception::load(&weights(), Resize::Clean, &device).unwrap();
        let shape = ImageShape { channels: 3, height: 64, width: 64 };
        let pixels = vec![100; 3 * CHUNK * shape.pixels()];
        let images = Images::new(shape, pixels, Annotations::default()).unwrap();
        let held = |chunk: usize| {
            network.features(&images, chunk * CHUNK..(chunk + 1) * CHUNK).unwrap();
            reserved_memory(test_device()).expect("a GPU tells")
        };
        let last = [0, 1, 2].map(held)[2];
        println!("Inception, {CHUNK} images at a time: {} MB", last / 1_000_000);
        assert!(last < 1_000_000_000, "{last}");
    }

    #[test]
    fn images_with_two_channels_are_refused() {
        let device = open(test_device()).unwrap();
        let network = Inception { layers: Vec::new(), resize: Resize::Clean, device };
        let shape = ImageShape { channels: 2, height: 1, width: 1 };
        let images = Images::new(shape, vec![0, 0], Annotations::default()).unwrap();
        assert_eq!(
            network.features(&images, 0..1).unwrap_err().to_string(),
            "images of 2 x 1 x 1 have neither one channel nor three"
        );
    }
}
