//! Images as tiles of a contact sheet, with what is known of each.

use crate::data::{Annotations, DataError, ImageShape, Images};
use crate::report::{ContactSheet, ContactSheetSpec, Tile, TileSize};

/// Returns the size of a picture of each image.
pub(super) const fn tile_size(shape: ImageShape) -> TileSize {
    TileSize { channels: shape.channels, height: shape.height, width: shape.width }
}

/// Puts the chosen images on a sheet.
pub(super) fn sheet(spec: &ContactSheetSpec, images: &Images) -> Result<ContactSheet, DataError> {
    let size = tile_size(images.shape());
    let tile = |index| {
        let text = text_under(images.annotations(), index, &spec.under)?;
        Ok(Tile { index, text, pixels: images.image(index).to_vec() })
    };
    let tiles = spec.picked(images.len()).into_iter().map(tile).collect::<Result<_, _>>()?;
    Ok(spec.build(size, tiles))
}

/// Returns what stands under a tile: the class, or factors to two decimals.
fn text_under(known: &Annotations, index: usize, names: &[String]) -> Result<String, DataError> {
    let one = |name: &String| {
        if let ("class", Some(classes)) = (name.as_str(), &known.classes) {
            return Ok(classes.names[usize::from(classes.values[index])].clone());
        }
        let column = known.factors.names.iter().position(|have| have == name);
        let value = column.map(|column| known.factors.row(index)[column]);
        value.map(|value| format!("{value:.2}")).ok_or_else(|| DataError::Unknown {
            what: if name == "class" { "classes for" } else { "factor" },
            name: name.clone(),
            present: known.factors.names.clone(),
        })
    };
    names.iter().map(one).collect::<Result<Vec<_>, _>>().map(|parts| parts.join(" "))
}
