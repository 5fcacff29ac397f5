//! Brings images to the size and the range that the Inception network takes.
//!
//! What: each row, then each column is a weighted sum of pixels (the weights depend on places alone),
//! then values are scaled to about -1 to 1.
//! Reference: Parmar, Zhang and Zhu 2022, "On aliased resizing and surprising subtleties in GAN
//! evaluation": scores of the three ways differ, so only equal ones can be compared.
//! Assumptions: pixels are bytes.
//! Checked against: tests/reference/inception.json (PyTorch, torch-fidelity, and clean-fid's Pillow).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How images are resized to 299 x 299 pixels, and their values scaled to about -1 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Resize {
    /// As pytorch-fid: bilinear between pixel centers, no antialiasing; x / 127.5 - 1.
    #[default]
    PytorchFid,
    /// As TensorFlow 1 and torch-fidelity: bilinear between pixel corners, no antialiasing;
    /// (x - 128) / 128.
    Tensorflow1,
    /// As clean-fid: bicubic with antialiasing, clipped to 0 and 255; (x - 128) / 128.
    Clean,
}

/// The pixels that one pixel of the new line is mixed from.
#[derive(Clone, Debug, PartialEq)]
struct Mix {
    /// The first of them.
    start: usize,
    /// The weight of each; they add up to 1.
    weights: Vec<f64>,
}

impl Resize {
    /// Returns one channel with `to` rows and as many columns, scaled for the network.
    pub(super) fn apply(
        self,
        pixels: &[u8],
        (height, width): (usize, usize),
        to: usize,
    ) -> Vec<f32> {
        let mut resized = self.resized(pixels, (height, width), (to, to));
        for value in &mut resized {
            *value = match self {
                Self::PytorchFid => 2.0 * (*value / 255.0) - 1.0,
                Self::Tensorflow1 => (*value - 128.0) / 128.0,
                Self::Clean => (value.clamp(0.0, 255.0) - 128.0) / 128.0,
            };
        }
        resized
    }

    /// Returns one channel in another size, not scaled.
    fn resized(self, pixels: &[u8], from: (usize, usize), to: (usize, usize)) -> Vec<f32> {
        let (height, width) = from;
        let across = self.mixes(width, to.1);
        let mut narrow = Vec::with_capacity(height * to.1);
        for row in pixels.chunks_exact(width.max(1)).take(height) {
            narrow.extend(across.iter().map(|mix| {
                let pixels = row[mix.start..].iter().zip(&mix.weights);
                pixels.map(|(&pixel, weight)| weight * f64::from(pixel)).sum::<f64>() as f32
            }));
        }
        let mut resized = Vec::with_capacity(to.0 * to.1);
        let mut sums = vec![0.0; to.1];
        for mix in self.mixes(height, to.0) {
            sums.fill(0.0);
            let rows = narrow.chunks_exact(to.1).skip(mix.start);
            for (row, weight) in rows.zip(&mix.weights) {
                for (sum, &value) in sums.iter_mut().zip(row) {
                    *sum += weight * f64::from(value);
                }
            }
            resized.extend(sums.iter().map(|&sum| sum as f32));
        }
        resized
    }

    /// Returns what each pixel of a line of length `to` is mixed from.
    fn mixes(self, from: usize, to: usize) -> Vec<Mix> {
        let scale = from as f64 / to as f64;
        let mix = |place: usize| match self {
            Self::PytorchFid => between((scale * (place as f64 + 0.5) - 0.5).max(0.0), from),
            Self::Tensorflow1 => between(scale * place as f64, from),
            Self::Clean => around(scale * (place as f64 + 0.5), scale.max(1.0), from),
        };
        (0..to).map(mix).collect()
    }
}

/// Mixes the two pixels that a place lies between; beyond the last there is none.
fn between(place: f64, length: usize) -> Mix {
    let start = (place.floor() as usize).min(length.saturating_sub(1));
    let share = place - start as f64;
    let weights = if start + 1 < length { vec![1.0 - share, share] } else { vec![1.0] };
    Mix { start, weights }
}

/// Mixes the pixels around a center by a cubic that is `scale` times as wide as between pixels.
fn around(center: f64, scale: f64, length: usize) -> Mix {
    const REACH: f64 = 2.0;
    // As Pillow: places are rounded before they are cut off.
    let start = (center - REACH * scale + 0.5).max(0.0) as usize;
    let end = ((center + REACH * scale + 0.5) as usize).min(length);
    let mut weights: Vec<f64> =
        (start..end).map(|pixel| cubic((pixel as f64 - center + 0.5) / scale)).collect();
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= sum;
    }
    Mix { start, weights }
}

/// The cubic of Keys 1981 with the parameter -1/2.
fn cubic(distance: f64) -> f64 {
    let x = distance.abs();
    if x < 1.0 {
        (1.5 * x - 2.5) * x * x + 1.0
    } else if x < 2.0 {
        ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Resize; 3] = [Resize::PytorchFid, Resize::Tensorflow1, Resize::Clean];

    #[derive(Deserialize)]
    struct Reference {
        resizes: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        resize: Resize,
        height: usize,
        width: usize,
        pixels: Vec<u8>,
        new_height: usize,
        new_width: usize,
        resized: Vec<f32>,
    }

    #[test]
    fn resized_channels_are_those_of_the_packages() {
        let text = include_str!("../../../../tests/reference/inception.json");
        let reference: Reference = serde_json::from_str(text).unwrap();
        for resize in ALL {
            let cases: Vec<_> = reference.resizes.iter().filter(|c| c.resize == resize).collect();
            assert!(cases.len() >= 3, "larger, smaller, and both");
            for case in cases {
                let (from, to) = ((case.height, case.width), (case.new_height, case.new_width));
                let ours = resize.resized(&case.pixels, from, to);
                assert_eq!(ours.len(), case.resized.len());
                for (found, expected) in ours.iter().zip(&case.resized) {
                    let found =
                        if resize == Resize::Clean { found.clamp(0.0, 255.0) } else { *found };
                    assert!(
                        (found - expected).abs() < 2e-4,
                        "{resize:?} {from:?} to {to:?}: {found} against {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_flat_image_stays_flat_and_its_range_is_that_of_the_network() {
        for resize in ALL {
            let ends = [0, 255].map(|pixel| {
                let flat = resize.apply(&[pixel; 35], (5, 7), 11);
                assert_eq!(flat.len(), 121);
                assert!(flat.iter().all(|value| (value - flat[0]).abs() < 1e-5), "{resize:?}");
                flat[0]
            });
            let top = if resize == Resize::PytorchFid { 1.0 } else { 127.0 / 128.0 };
            assert!((ends[0] + 1.0).abs() < 1e-5 && (ends[1] - top).abs() < 1e-5, "{ends:?}");
        }
    }

    #[test]
    fn an_image_that_has_the_size_is_only_scaled() {
        let pixels: Vec<u8> = (0..81).map(|pixel| pixel * 3).collect();
        for resize in ALL {
            let same = resize.resized(&pixels, (9, 9), (9, 9));
            for (found, &expected) in same.iter().zip(&pixels) {
                assert!((found - f32::from(expected)).abs() < 1e-4, "{resize:?}");
            }
        }
    }
}
