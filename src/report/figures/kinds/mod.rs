//! The kinds of figures, one file each: declaration, checks, numbers and drawing.
//!
//! A new one is a file here, its `mod` line and its line in `figure_kinds!`.

mod bars;
mod code_scatter;
mod contact_sheet;
mod coordinate_course;
mod dimension_by_scale;
mod distance_scatter;
mod interpolation;
mod learning_curves;
mod reconstructions;
mod traversals;
mod variance_curves;
mod variance_spectrum;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::figures::FigureError;
use crate::report::figures::drawing::render;
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::kind::{
    FigureChecks, FigureInputs, FigureKind, FigureMistake, FinishedFigure,
};

/// Declares the kinds of figures: the name in pipeline files, the type that reads its settings, and
/// what it shows.
macro_rules! figure_kinds {
    ($($kind:ident($spec:ty, $shows:literal),)+) => {
        /// A figure as declared in a pipeline file.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub enum FigureSpec {
            $(#[doc = $shows] $kind($spec),)+
        }

        /// A finished figure: numbers and titles, no pixels.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Figure {
            $(#[doc = $shows] $kind(<$spec as FigureKind>::Finished),)+
        }

        impl FigureSpec {
            /// Every kind, as pipeline files name it.
            pub const KINDS: &[&str] = &[$(stringify!($kind)),+];

            /// Returns what the figure shows, as the first half of a sentence, and the settings of
            /// a figure stage that name it.
            pub const fn shows(&self) -> (&'static str, &'static [&'static str]) {
                match self {
                    $(Self::$kind(_) => {
                        (<$spec as FigureKind>::SHOWS, <$spec as FigureKind>::INPUTS)
                    })+
                }
            }

            /// Returns what to check before anything runs; nothing if its inputs have no labels.
            pub fn checks(&self) -> Option<FigureChecks<'_>> {
                match self {
                    $(Self::$kind(spec) => spec.checks(),)+
                }
            }

            /// Returns what is wrong about single inputs, given which settings name any.
            pub fn wrong_inputs(&self, is_given: &dyn Fn(&str) -> bool) -> Option<FigureMistake> {
                match self {
                    $(Self::$kind(spec) => spec.wrong_inputs(is_given),)+
                }
            }

            /// Builds the figure.
            pub fn finish(&self, inputs: &FigureInputs) -> Result<Figure, FigureError> {
                match self {
                    $(Self::$kind(spec) => spec.finish(inputs).map(Figure::$kind),)+
                }
            }
        }

        impl Figure {
            /// Returns what the figure shows, as plain text.
            pub fn caption(&self) -> &str {
                match self {
                    $(Self::$kind(figure) => &figure.caption,)+
                }
            }

            /// Returns what the figure is called in the paper.
            pub fn label(&self) -> &str {
                match self {
                    $(Self::$kind(figure) => &figure.label,)+
                }
            }

            fn finished(&self) -> &dyn FinishedFigure {
                match self {
                    $(Self::$kind(figure) => figure,)+
                }
            }
        }
    };
}

figure_kinds! {
    Bars(bars::BarsSpec, "One number per label, with its scatter."),
    CodeScatter(code_scatter::CodeScatterSpec, "Two coordinates of codes, one panel per model."),
    ContactSheet(contact_sheet::ContactSheetSpec, "The images themselves."),
    CoordinateCourse(coordinate_course::CoordinateCourseSpec, "Each coordinate over the epochs."),
    DimensionByScale(dimension_by_scale::DimensionByScaleSpec, "The estimated dimension against the distance."),
    DistanceScatter(distance_scatter::DistanceScatterSpec, "Distances between codes against geodesic ones."),
    Interpolation(interpolation::InterpolationSpec, "What models decode between two samples."),
    LearningCurves(learning_curves::LearningCurvesSpec, "What training recorded in each epoch."),
    Reconstructions(reconstructions::ReconstructionsSpec, "Images above what models decode."),
    Traversals(traversals::TraversalsSpec, "What models decode while one coordinate varies."),
    VarianceCurves(variance_curves::VarianceCurvesSpec, "Variance by coordinate, as lines."),
    VarianceSpectrum(variance_spectrum::VarianceSpectrumSpec, "Variance by coordinate, as bars."),
}

impl Figure {
    /// Returns one line on each panel: its title and what it shows in numbers.
    pub fn summaries(&self) -> Vec<String> {
        self.finished().summaries()
    }

    /// Draws the figure as an SVG document.
    pub fn svg(&self) -> Result<String, FigureError> {
        let typeface = Typeface::embedded().ok_or(FigureError::Font)?;
        render::svg(&self.finished().draw(&typeface))
    }

    /// Draws the figure as an RGB image at twice its nominal size; `path` must end in `.png`.
    pub fn write_png(&self, path: &Path) -> Result<(), FigureError> {
        let typeface = Typeface::embedded().ok_or(FigureError::Font)?;
        render::write_png(&self.finished().draw(&typeface), path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_kind_is_declared() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/figures/kinds");
        let files = std::fs::read_dir(folder).unwrap();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let written: usize = texts.map(|text| text.matches("\nimpl FigureKind for ").count()).sum();
        assert_eq!(written, FigureSpec::KINDS.len(), "a kind is missing in `figure_kinds!`");
    }
}
