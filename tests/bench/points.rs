//! The points: real digits, or synthetic images of the same shape.
//!
//! Both sides read a file of bytes, 784 for each point, and divide them by 255.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use pcae::numerics::{Points, Seed};
use rand::{Rng, RngExt};

/// Coordinates of a point.
pub(crate) const WIDTH: usize = SIDE * SIDE;
const SIDE: usize = 28;
/// Points in the file.
const ROWS: usize = 60_000;
/// What comes before the pixels of an idx file of images.
const IDX_HEADER: usize = 16;

/// Writes the file of points and says what they are.
pub(crate) fn write(data: Option<&Path>, to: &Path) -> Result<String, String> {
    let (bytes, what) = match data {
        Some(folder) => (digits(folder)?, "the training images of MNIST".to_owned()),
        None => (
            synthetic(ROWS),
            "SYNTHETIC images of MNIST's shape: name a folder of MNIST by --data for the real ones"
                .to_owned(),
        ),
    };
    fs::write(to, bytes).map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(what)
}

/// Reads the first points of the file.
pub(crate) fn read(path: &Path, rows: usize) -> Result<Points, String> {
    let told = |error| format!("{}: {error}", path.display());
    let mut bytes = vec![0; rows * WIDTH];
    File::open(path).map_err(told)?.read_exact(&mut bytes).map_err(told)?;
    Ok(unit_points(&bytes))
}

/// Returns synthetic points.
pub(crate) fn some(rows: usize) -> Points {
    unit_points(&synthetic(rows))
}

fn unit_points(bytes: &[u8]) -> Points {
    Points::from_rows(WIDTH, bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect())
}

fn digits(folder: &Path) -> Result<Vec<u8>, String> {
    let path = folder.join("train-images-idx3-ubyte");
    let content = fs::read(&path).map_err(|error| {
        format!("{}: {error}; it must be there, unpacked, for --data to name it", path.display())
    })?;
    match content.get(IDX_HEADER..) {
        Some(pixels) if pixels.len() == ROWS * WIDTH => Ok(pixels.to_vec()),
        _ => Err(format!("{} does not hold {ROWS} images of 28 x 28 bytes", path.display())),
    }
}

/// Draws images of five soft blobs each, and noise in every pixel.
fn synthetic(rows: usize) -> Vec<u8> {
    let mut rng = Seed(0).stream("blobs");
    let mut bytes = Vec::with_capacity(rows * WIDTH);
    for _ in 0..rows {
        let mut image = [0.0_f32; WIDTH];
        for _ in 0..5 {
            let (across, down) = (bump(&mut rng), bump(&mut rng));
            for (row, down) in image.chunks_exact_mut(SIDE).zip(down) {
                for (pixel, across) in row.iter_mut().zip(across) {
                    *pixel += down * across;
                }
            }
        }
        let noisy = image.map(|pixel| pixel + 0.07 * (rng.random::<f32>() - 0.5));
        bytes.extend(noisy.map(|pixel| (200.0 * pixel) as u8));
    }
    bytes
}

/// Returns a bell at a random place.
fn bump(rng: &mut impl Rng) -> [f32; SIDE] {
    let middle = 6.0 + (SIDE - 12) as f32 * rng.random::<f32>();
    std::array::from_fn(|at| (-((at as f32 - middle) / 3.0).powi(2)).exp())
}
