//! Reconstructions: images, and below them what models decode from their codes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::figures::FigureError;
use crate::report::figures::factors::PATH_FACTORS;
use crate::report::figures::image_grid::{ADD_IMAGES, Pixels, common_size, no_images};
use crate::report::figures::image_rows::{ImageRow, ImageRows, ImageRowsSpec, RowBlock, Sides};
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FigureMistake,
};
use crate::report::figures::titles::panel_title;

/// Reconstructions as declared in a pipeline.
///
/// ```ron
/// Reconstructions(caption: "Test images, decoded", label: "Figure 6", columns: 1)
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ReconstructionsSpec(pub ImageRowsSpec);

impl FigureKind for ReconstructionsSpec {
    type Finished = ImageRows;

    const SHOWS: &'static str = "reconstructions show paths and the original images";
    const INPUTS: &'static [&'static str] = &["paths", "images"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        Some(FigureChecks::labeled(FigureFamily::Paths, &self.0.titles))
    }

    fn wrong_inputs(&self, is_given: &dyn Fn(&str) -> bool) -> Option<FigureMistake> {
        (!is_given("images")).then(|| FigureMistake {
            setting: "picture",
            message: "reconstructions are shown below real images, but none are given".to_owned(),
            help: ADD_IMAGES.to_owned(),
        })
    }

    /// Puts decoded images below the real ones.
    fn finish(&self, inputs: &FigureInputs) -> Result<ImageRows, FigureError> {
        let real = inputs.images.as_ref().ok_or_else(no_images)?;
        let size = common_size(&inputs.paths, Some(real))?;
        let mut blocks = Vec::new();
        for (labels, images) in &inputs.paths {
            let known = &images.annotations().factors;
            // Nothing but a path from a sample to itself decodes its very code.
            let is_sample =
                |place: usize| known.row(place)[1].to_bits() == known.row(place)[2].to_bits();
            if known.names != PATH_FACTORS || !(0..images.len()).all(is_sample) {
                return Err(FigureError::Inputs(
                    "`Reconstructions` takes images of `Interpolate(between: Samples(..))`"
                        .to_owned(),
                ));
            }
            let rows: Vec<usize> =
                (0..images.len()).map(|place| known.row(place)[1] as usize).collect();
            if rows.iter().any(|&row| row >= real.len()) {
                let found = "`images` is not the `data` that was decoded".to_owned();
                return Err(FigureError::Inputs(found));
            }
            let row =
                |label: &str, images: Vec<Pixels>| ImageRow { label: label.to_owned(), images };
            let above = row("real", rows.iter().map(|&row| Pixels::of(real, row)).collect());
            let below =
                row("decoded", (0..images.len()).map(|at| Pixels::of(images, at)).collect());
            let title = panel_title(&self.0.titles, labels);
            blocks.push(RowBlock { title, rows: vec![above, below] });
        }
        Ok(self.0.build(size, Sides::default(), blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Annotations, ImageShape, Images};
    use crate::report::figures::image_rows::tests::decoded;

    fn finish(values: &[f32]) -> Result<ImageRows, FigureError> {
        let spec: ReconstructionsSpec = ron::from_str(r#"(caption: "c", label: "l")"#).unwrap();
        let shape = ImageShape { channels: 1, height: 1, width: 1 };
        let real = Images::new(shape, vec![70, 80, 90], Annotations::default()).unwrap();
        let (paths, images) = (decoded(&PATH_FACTORS, values), Some(real));
        spec.finish(&FigureInputs { images, paths, ..FigureInputs::default() })
    }

    #[test]
    fn decoded_images_stand_below_those_that_they_were_encoded_from() {
        let found = finish(&[0.0, 2.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0]).unwrap();
        let rows = &found.blocks[0].rows;
        assert_eq!(rows[0].images, [Pixels(vec![90]), Pixels(vec![70])]);
        assert_eq!(rows[1].images, [Pixels(vec![0]), Pixels(vec![1])]);
        let refused = |values: &[f32]| finish(values).unwrap_err().to_string();
        assert_eq!(
            refused(&[0.0, 2.0, 1.0, 0.5]),
            "`Reconstructions` takes images of `Interpolate(between: Samples(..))`"
        );
        assert_eq!(refused(&[0.0, 7.0, 7.0, 0.0]), "`images` is not the `data` that was decoded");
    }
}
