//! Latent traversals: what models decode while one coordinate after the other varies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::figures::FigureError;
use crate::report::figures::factors::{TRAVERSAL_FACTORS, by_path};
use crate::report::figures::image_grid::{Pixels, common_size};
use crate::report::figures::image_rows::{ImageRow, ImageRows, ImageRowsSpec, RowBlock, Sides};
use crate::report::figures::kind::{FigureChecks, FigureFamily, FigureInputs, FigureKind};
use crate::report::figures::titles::panel_title;

/// Latent traversals as declared in a pipeline.
///
/// ```ron
/// Traversals(caption: "One coordinate at a time", label: "Figure 5", titles: {"pcae": "PCAE"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TraversalsSpec(pub ImageRowsSpec);

impl FigureKind for TraversalsSpec {
    type Finished = ImageRows;

    const SHOWS: &'static str = "traversals show paths";
    const INPUTS: &'static [&'static str] = &["paths"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        Some(FigureChecks::labeled(FigureFamily::Paths, &self.0.titles))
    }

    /// Puts the images of each coordinate into a row.
    fn finish(&self, inputs: &FigureInputs) -> Result<ImageRows, FigureError> {
        let size = common_size(&inputs.paths, None)?;
        let (mut blocks, mut top) = (Vec::new(), None);
        for (labels, images) in &inputs.paths {
            let known = &images.annotations().factors;
            if known.names != TRAVERSAL_FACTORS {
                return Err(FigureError::Inputs(
                    "`Traversals` takes images of `Interpolate(between: Traversal(..))`".to_owned(),
                ));
            }
            let paths = by_path(images);
            let row = |places: &Vec<usize>| ImageRow {
                label: places.first().map_or_else(String::new, |at| known.row(*at)[1].to_string()),
                images: places.iter().map(|&place| Pixels::of(images, place)).collect(),
            };
            if let Some([first, .., last]) = paths.first().map(Vec::as_slice) {
                let [first, last] = [first, last].map(|at| format!("{:+} std", known.row(*at)[2]));
                top.get_or_insert([first, "0".to_owned(), last]);
            }
            let title = panel_title(&self.0.titles, labels);
            blocks.push(RowBlock { title, rows: paths.iter().map(row).collect() });
        }
        let sides = Sides { left: "coordinate".to_owned(), top };
        Ok(self.0.build(size, sides, blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::factors::PATH_FACTORS;
    use crate::report::figures::image_rows::tests::decoded;

    fn finish(names: &[&str], values: &[f32]) -> Result<ImageRows, FigureError> {
        let text = r#"(caption: "c", label: "l", titles: {"pcae": "PCAE"})"#;
        let spec: TraversalsSpec = ron::from_str(text).unwrap();
        let paths = decoded(names, values);
        spec.finish(&FigureInputs { paths, ..FigureInputs::default() })
    }

    #[test]
    fn each_coordinate_of_a_traversal_is_a_row_with_its_number() {
        let values = [0.0, 4.0, -2.0, 0.0, 4.0, 2.0, 1.0, 1.0, -2.0, 1.0, 1.0, 2.0];
        let found = finish(&TRAVERSAL_FACTORS, &values).unwrap();
        let rows = &found.blocks[0].rows;
        assert_eq!(found.blocks[0].title, "PCAE");
        assert_eq!([rows[0].label.as_str(), rows[1].label.as_str()], ["4", "1"]);
        assert_eq!(rows[1].images, [Pixels(vec![2]), Pixels(vec![3])]);
        assert_eq!(found.sides.top.unwrap(), ["-2 std", "0", "+2 std"]);
        assert_eq!(
            finish(&PATH_FACTORS, &[0.0, 1.0, 1.0, 0.0]).unwrap_err().to_string(),
            "`Traversals` takes images of `Interpolate(between: Traversal(..))`"
        );
    }
}
