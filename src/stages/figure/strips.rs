//! Interpolated images as strips: one for each path, with the real images at its ends.

use super::sheet::tile_size;
use crate::data::{ImageShape, Images};
use crate::engine::context::StageError;
use crate::engine::stage::Labels;
use crate::report::{Block, Interpolation, InterpolationSpec, Pixels, Strip};
use crate::stages::artifacts::AnyImages;
use crate::stages::interpolate::PATH_FACTORS;

/// Returns the shape that all images have.
pub(super) fn common_shape(
    families: &[(Labels, AnyImages)],
    others: Option<&Images>,
) -> Result<ImageShape, StageError> {
    let mut shapes = families.iter().map(|(_, images)| images.0.shape());
    let Some(shape) = shapes.next() else {
        return Err("there are no paths to show".into());
    };
    match shapes.chain(others.map(Images::shape)).find(|other| *other != shape) {
        Some(other) => {
            Err(format!("images of {other} can't stand beside images of {shape}").into())
        }
        None => Ok(shape),
    }
}

/// Puts the paths of each model into strips, with the real images at their ends.
pub(super) fn strips(
    spec: &InterpolationSpec,
    families: &[(Labels, AnyImages)],
    ends: Option<&Images>,
) -> Result<Interpolation, StageError> {
    let shape = common_shape(families, ends)?;
    let mut blocks = Vec::new();
    for (labels, AnyImages(images)) in families {
        let known = &images.annotations().factors;
        if known.names != PATH_FACTORS {
            return Err("`paths` takes images that `Interpolate` made".into());
        }
        let rows: Vec<usize> = (0..images.len()).collect();
        let strips = rows
            .chunk_by(|one, next| known.row(*one)[0].to_bits() == known.row(*next)[0].to_bits());
        let strip = |rows: &[usize]| strip(images, rows, ends);
        let strips = strips.take(spec.strips.get()).map(strip).collect::<Result<_, _>>()?;
        blocks.push(Block { title: spec.title(labels), strips });
    }
    Ok(spec.build(tile_size(shape), blocks))
}

/// Returns one path; its first two factors after `path` are the rows of the images at its ends.
fn strip(images: &Images, rows: &[usize], ends: Option<&Images>) -> Result<Strip, StageError> {
    let pixels = |images: &Images, row: usize| Pixels(images.image(row).to_vec());
    let ends = match (ends, rows.first()) {
        (Some(real), Some(&row)) => {
            let factors = images.annotations().factors.row(row);
            let [from, to] = [factors[1] as usize, factors[2] as usize];
            if from.max(to) >= real.len() {
                return Err("`images` is not the `data` that the paths were made from".into());
            }
            Some([pixels(real, from), pixels(real, to)])
        }
        _ => None,
    };
    Ok(Strip { ends, steps: rows.iter().map(|&row| pixels(images, row)).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Annotations, Factors};

    fn interpolated(rows: &[[f32; 4]]) -> Images {
        let shape = ImageShape { channels: 1, height: 1, width: 1 };
        let names = PATH_FACTORS.map(str::to_owned).into();
        let factors = Factors { names, values: rows.iter().flatten().copied().collect() };
        let pixels = (0..rows.len()).map(|row| row as u8).collect();
        Images::new(shape, pixels, Annotations { factors, classes: None }).unwrap()
    }

    #[test]
    fn each_path_is_a_strip_between_the_images_that_it_leads_from_and_to() {
        let spec: InterpolationSpec = ron::from_str(r#"(caption: "c", label: "l")"#).unwrap();
        let rows = [[0.0, 2.0, 0.0, 0.0], [0.0, 2.0, 0.0, 1.0], [1.0, 1.0, 2.0, 0.0]];
        let labels: Labels = [("model".to_owned(), "pcae".to_owned())].into();
        let families = [(labels, AnyImages(interpolated(&rows)))];
        let real = Images::new(
            ImageShape { channels: 1, height: 1, width: 1 },
            vec![70, 80, 90],
            Annotations::default(),
        );
        let real = real.unwrap();
        let found = strips(&spec, &families, Some(&real)).unwrap();
        let shown = &found.blocks[0].strips;
        assert_eq!((found.blocks[0].title.as_str(), shown.len()), ("pcae", 2));
        assert_eq!(shown[0].steps, [Pixels(vec![0]), Pixels(vec![1])]);
        assert_eq!(shown[0].ends, Some([Pixels(vec![90]), Pixels(vec![70])]));
        assert_eq!(shown[1].ends, Some([Pixels(vec![80]), Pixels(vec![90])]));
        let other = interpolated(&rows[..1]);
        let StageError::Failed(error) = strips(&spec, &families, Some(&other)).unwrap_err() else {
            panic!("not refused");
        };
        assert_eq!(error.to_string(), "`images` is not the `data` that the paths were made from");
        let StageError::Failed(error) =
            strips(&spec, &[(Labels::new(), AnyImages(real))], None).unwrap_err()
        else {
            panic!("not refused");
        };
        assert_eq!(error.to_string(), "`paths` takes images that `Interpolate` made");
    }
}
