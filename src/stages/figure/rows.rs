//! Decoded images as labeled rows: traversals, and reconstructions below what they stand for.

use super::sheet::tile_size;
use super::strips::common_shape;
use crate::data::Images;
use crate::engine::context::StageError;
use crate::engine::stage::Labels;
use crate::report::{ImageRow, ImageRows, ImageRowsSpec, Pixels, RowBlock, Sides};
use crate::stages::artifacts::AnyImages;
use crate::stages::interpolate::{PATH_FACTORS, TRAVERSAL_FACTORS};

fn pixels(images: &Images, row: usize) -> Pixels {
    Pixels(images.image(row).to_vec())
}

/// Puts the images of each coordinate into a row.
pub(super) fn traversals(
    spec: &ImageRowsSpec,
    families: &[(Labels, AnyImages)],
) -> Result<ImageRows, StageError> {
    let shape = common_shape(families, None)?;
    let (mut blocks, mut top) = (Vec::new(), None);
    for (labels, AnyImages(images)) in families {
        let known = &images.annotations().factors;
        if known.names != TRAVERSAL_FACTORS {
            return Err("`Traversals` takes images of `Interpolate(between: Traversal(..))`".into());
        }
        let places: Vec<usize> = (0..images.len()).collect();
        let paths = places
            .chunk_by(|one, next| known.row(*one)[0].to_bits() == known.row(*next)[0].to_bits());
        let row = |places: &[usize]| ImageRow {
            label: places.first().map_or_else(String::new, |at| known.row(*at)[1].to_string()),
            images: places.iter().map(|&place| pixels(images, place)).collect(),
        };
        if let Some([first, .., last]) = paths.clone().next() {
            let ends = [first, last].map(|at| format!("{:+} std", known.row(*at)[2]));
            let [first, last] = ends;
            top.get_or_insert([first, "0".to_owned(), last]);
        }
        blocks.push(RowBlock { title: spec.title(labels), rows: paths.map(row).collect() });
    }
    let sides = Sides { left: "coordinate".to_owned(), top };
    Ok(spec.build(tile_size(shape), sides, blocks))
}

/// Puts decoded images below the real ones.
pub(super) fn reconstructions(
    spec: &ImageRowsSpec,
    families: &[(Labels, AnyImages)],
    real: &Images,
) -> Result<ImageRows, StageError> {
    let shape = common_shape(families, Some(real))?;
    let mut blocks = Vec::new();
    for (labels, AnyImages(images)) in families {
        let known = &images.annotations().factors;
        // Nothing but a path from a sample to itself decodes its very code.
        let is_sample =
            |place: usize| known.row(place)[1].to_bits() == known.row(place)[2].to_bits();
        if known.names != PATH_FACTORS || !(0..images.len()).all(is_sample) {
            let expected = "`Reconstructions` takes images of `Interpolate(between: Samples(..))`";
            return Err(expected.into());
        }
        let rows: Vec<usize> =
            (0..images.len()).map(|place| known.row(place)[1] as usize).collect();
        if rows.iter().any(|&row| row >= real.len()) {
            return Err("`images` is not the `data` that was decoded".into());
        }
        let row = |label: &str, images: Vec<Pixels>| ImageRow { label: label.to_owned(), images };
        let above = row("real", rows.iter().map(|&row| pixels(real, row)).collect());
        let below = row("decoded", (0..images.len()).map(|at| pixels(images, at)).collect());
        blocks.push(RowBlock { title: spec.title(labels), rows: vec![above, below] });
    }
    Ok(spec.build(tile_size(shape), Sides::default(), blocks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Annotations, Factors, ImageShape};

    const SHAPE: ImageShape = ImageShape { channels: 1, height: 1, width: 1 };

    fn spec() -> ImageRowsSpec {
        ron::from_str(r#"(caption: "c", label: "l", titles: {"pcae": "PCAE"})"#).unwrap()
    }

    fn made(names: &[&str], values: &[f32]) -> Vec<(Labels, AnyImages)> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let count = values.len() / names.len();
        let factors = Factors { names, values: values.to_vec() };
        let pixels = (0..count).map(|row| row as u8).collect();
        let images = Images::new(SHAPE, pixels, Annotations { factors, classes: None }).unwrap();
        vec![([("model".to_owned(), "pcae".to_owned())].into(), AnyImages(images))]
    }

    fn real() -> Images {
        Images::new(SHAPE, vec![70, 80, 90], Annotations::default()).unwrap()
    }

    fn refused(result: Result<ImageRows, StageError>) -> String {
        match result {
            Err(StageError::Failed(error)) => error.to_string(),
            _ => panic!("not refused"),
        }
    }

    #[test]
    fn each_coordinate_of_a_traversal_is_a_row_with_its_number() {
        let values = [0.0, 4.0, -2.0, 0.0, 4.0, 2.0, 1.0, 1.0, -2.0, 1.0, 1.0, 2.0];
        let found = traversals(&spec(), &made(&TRAVERSAL_FACTORS, &values)).unwrap();
        let rows = &found.blocks[0].rows;
        assert_eq!(found.blocks[0].title, "PCAE");
        assert_eq!([rows[0].label.as_str(), rows[1].label.as_str()], ["4", "1"]);
        assert_eq!(rows[1].images, [Pixels(vec![2]), Pixels(vec![3])]);
        assert_eq!(found.sides.top.unwrap(), ["-2 std", "0", "+2 std"]);
        assert_eq!(
            refused(traversals(&spec(), &made(&PATH_FACTORS, &[0.0, 1.0, 1.0, 0.0]))),
            "`Traversals` takes images of `Interpolate(between: Traversal(..))`"
        );
    }

    #[test]
    fn decoded_images_stand_below_those_that_they_were_encoded_from() {
        let decoded = made(&PATH_FACTORS, &[0.0, 2.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        let found = reconstructions(&spec(), &decoded, &real()).unwrap();
        let rows = &found.blocks[0].rows;
        assert_eq!(rows[0].images, [Pixels(vec![90]), Pixels(vec![70])]);
        assert_eq!(rows[1].images, [Pixels(vec![0]), Pixels(vec![1])]);
        let between = made(&PATH_FACTORS, &[0.0, 2.0, 1.0, 0.5]);
        assert_eq!(
            refused(reconstructions(&spec(), &between, &real())),
            "`Reconstructions` takes images of `Interpolate(between: Samples(..))`"
        );
        let elsewhere = made(&PATH_FACTORS, &[0.0, 7.0, 7.0, 0.0]);
        assert_eq!(
            refused(reconstructions(&spec(), &elsewhere, &real())),
            "`images` is not the `data` that was decoded"
        );
    }
}
