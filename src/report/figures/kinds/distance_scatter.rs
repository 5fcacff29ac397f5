//! Distances between codes against distances along the data, pair by pair.
//!
//! What: for random pairs of samples, the straight distance of their codes over their geodesic
//! distance, with the diagonal that an isometry keeps to; one panel per model. Also the correlation
//! (Pearson) and the factor c that makes c times the geodesic distance the best fit of the latent
//! one (least squares through zero).
//! Checked against: hand-computed factors and correlations in the tests below.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::numerics::{Seed, rng};
use crate::report::figures::chart::horizontal_axis::HorizontalAxis;
use crate::report::figures::chart::legend::Symbol;
use crate::report::figures::chart::value_axis::{ValueAxis, four_digits};
use crate::report::figures::chart::{Chart, Layout, Panel};
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Color, Drawing, GRAY, Mark, PALETTE};
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FigureMistake, FinishedFigure,
};
use crate::report::figures::titles::panel_title;
use crate::report::figures::{FigureError, Scale};

const DOT: f64 = 1.7;
/// How much of a point is seen through another, so that dense places are darker.
const STRENGTH: f64 = 0.3;

/// A scatter plot of distances as declared in a pipeline.
///
/// ```ron
/// DistanceScatter(caption: "Distances of pairs", label: "Figure 8", pairs: 2000, seed: 0,
///                 unit: Fitted, titles: {"pcae": "PCAE"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DistanceScatterSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 1`.
    pub label: String,
    /// Pairs in each panel; the same in all.
    #[serde(default = "two_thousand")]
    pub pairs: NonZeroUsize,
    /// Random seed for choosing the pairs.
    #[serde(default = "zero")]
    pub seed: Seed,
    /// The unit of latent distances.
    #[serde(default)]
    pub unit: LatentUnit,
    /// Panels side by side, at most three; a single one fits a column of a paper.
    #[serde(default)]
    pub columns: Option<NonZeroUsize>,
    /// Display names of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

const TWO_THOUSAND: NonZeroUsize = NonZeroUsize::new(2000).unwrap();

const fn zero() -> Seed {
    Seed(0)
}

const fn two_thousand() -> NonZeroUsize {
    TWO_THOUSAND
}

/// The unit of latent distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LatentUnit {
    /// Their own: an isometry lies on the diagonal.
    #[default]
    Own,
    /// The one that fits best: an isometry up to scale lies on the diagonal.
    Fitted,
}

impl DistanceScatterSpec {
    /// Makes a panel of pairs of a geodesic and a latent distance.
    fn panel(&self, title: String, mut pairs: Vec<(f64, f64)>) -> DistancePanel {
        let factor = factor(&pairs);
        if self.unit == LatentUnit::Fitted && factor > 0.0 {
            for (_, latent) in &mut pairs {
                *latent /= factor;
            }
        }
        DistancePanel { title, factor, correlation: correlation(&pairs), pairs }
    }

    fn build(&self, panels: Vec<DistancePanel>) -> DistanceScatter {
        DistanceScatter {
            caption: self.caption.clone(),
            label: self.label.clone(),
            unit: self.unit,
            columns: self.columns.map(NonZeroUsize::get),
            panels,
        }
    }
}

impl FigureKind for DistanceScatterSpec {
    type Finished = DistanceScatter;

    const SHOWS: &'static str = "a scatter plot of distances shows codes and distances";
    const INPUTS: &'static [&'static str] = &["codes", "distances"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        Some(FigureChecks::labeled(FigureFamily::Codes, &self.titles))
    }

    fn wrong_inputs(&self, is_given: &dyn Fn(&str) -> bool) -> Option<FigureMistake> {
        (!is_given("distances")).then(|| FigureMistake {
            setting: "picture",
            message: "a scatter plot of distances needs geodesic ones, but none are given"
                .to_owned(),
            help: "add `distances: \"a Geodesic stage on the samples of the codes\"`".to_owned(),
        })
    }

    /// Compares distances of random pairs, the same for each model.
    fn finish(&self, inputs: &FigureInputs) -> Result<DistanceScatter, FigureError> {
        let refused = |found: &str| FigureError::Inputs(found.to_owned());
        let distances =
            inputs.distances.as_ref().ok_or_else(|| refused("there are no distances"))?;
        let pairs = rng::random_pairs(distances.len(), self.pairs.get(), self.seed);
        let pairs = pairs.ok_or_else(|| refused("pairs need at least two samples"))?;
        // A distance that only the samples themselves could tell is not a number, and not shown.
        let geodesic = |one: usize, other: usize| {
            f64::from(distances.squared_between(&[one, other], &|_, _| f64::NAN)[1]).sqrt()
        };
        let known: Vec<(usize, usize, f64)> = pairs
            .into_iter()
            .map(|(one, other)| (one, other, geodesic(one, other)))
            .filter(|(_, _, distance)| distance.is_finite())
            .collect();
        let mut panels = Vec::new();
        for (labels, codes) in &inputs.codes {
            if codes.rows() != distances.len() {
                let (rows, points) = (codes.rows(), distances.len());
                return Err(FigureError::Inputs(format!(
                    "{rows} codes, but distances between {points} samples: \
                     encode the `data` of the distances"
                )));
            }
            let latent = |one: usize, other: usize| {
                let pairs = codes.row(one).iter().zip(codes.row(other));
                let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
                pairs.map(square).sum::<f64>().sqrt()
            };
            let pairs = known.iter().map(|&(one, other, distance)| (distance, latent(one, other)));
            panels.push(self.panel(panel_title(&self.titles, labels), pairs.collect()));
        }
        Ok(self.build(panels))
    }
}

/// Returns the factor of geodesic distances that fits latent ones best; zero without any.
fn factor(pairs: &[(f64, f64)]) -> f64 {
    let products: f64 = pairs.iter().map(|(one, other)| one * other).sum();
    let squares: f64 = pairs.iter().map(|(one, _)| one * one).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// Returns how near pairs are to any line; zero if one side does not vary.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len().max(1) as f64;
    let means = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let (right, up) = (means.0 / count, means.1 / count);
    let sum = |term: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(term).sum::<f64>();
    let both = sum(&|pair| (pair.0 - right) * (pair.1 - up));
    let rights = sum(&|pair| (pair.0 - right).powi(2));
    let ups = sum(&|pair| (pair.1 - up).powi(2));
    if rights > 0.0 && ups > 0.0 { both / (rights * ups).sqrt() } else { 0.0 }
}

/// One panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistancePanel {
    /// Title of the panel.
    pub title: String,
    /// The factor of geodesic distances that fits latent ones best.
    pub factor: f64,
    /// Pearson's correlation of the two distances.
    pub correlation: f64,
    /// Geodesic and latent distance of each pair.
    pub pairs: Vec<(f64, f64)>,
}

impl DistancePanel {
    fn notes(&self) -> Vec<String> {
        vec![format!("r = {:.3}", self.correlation), format!("factor {}", four_digits(self.factor))]
    }
}

/// A finished scatter of distances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistanceScatter {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// The unit of latent distances.
    pub unit: LatentUnit,
    /// Panels side by side, if chosen.
    pub columns: Option<usize>,
    /// One panel for each model.
    pub panels: Vec<DistancePanel>,
}

/// Returns the largest distance of pairs on one side, or zero.
fn longest(pairs: &[(f64, f64)], side: fn(&(f64, f64)) -> f64) -> f64 {
    pairs.iter().map(side).fold(0.0, f64::max)
}

impl FinishedFigure for DistanceScatter {
    fn summaries(&self) -> Vec<String> {
        let line = |panel: &DistancePanel| {
            let notes = panel.notes().join(", ");
            format!("{}: {notes}, n = {}", panel.title, panel.pairs.len())
        };
        self.panels.iter().map(line).collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let panel = |panel: &DistancePanel| {
            let axis = |side| ValueAxis::fitted(Scale::Linear, 0.0, longest(&panel.pairs, side));
            Panel {
                title: panel.title.clone(),
                notes: vec![panel.notes()],
                x: HorizontalAxis::Measured(axis(|pair| pair.0)),
                y: axis(|pair| pair.1),
            }
        };
        let panels: Vec<Panel> = self.panels.iter().map(panel).collect();
        let legend = vec![
            (Symbol::Dashes(22.0), "isometry".to_owned()),
            (Symbol::Nothing, "r: correlation, factor: latent by geodesic".to_owned()),
        ];
        let chart = Chart {
            panels: &panels,
            layout: Layout::page(&panels, self.columns, 1.0, legend, typeface),
            x_title: "Geodesic distance",
            y_title: Some(match self.unit {
                LatentUnit::Own => "Latent distance",
                LatentUnit::Fitted => "Latent distance / factor",
            }),
        };
        chart.draw(typeface, |drawing, index, area| {
            let (panel, pairs) = (&panels[index], &self.panels[index].pairs);
            let color = Color { alpha: STRENGTH, ..PALETTE[0] };
            for (geodesic, latent) in pairs {
                let at = panel.at(area, *geodesic, *latent);
                drawing.marks.push(Mark::Dot { at, radius: DOT, color });
            }
            // As far as both axes go.
            let end = longest(pairs, |pair| pair.0).min(longest(pairs, |pair| pair.1));
            draw_dashes(drawing, panel.at(area, 0.0, 0.0), panel.at(area, end, end));
        })
    }
}

/// Draws a dashed line in any direction.
fn draw_dashes(drawing: &mut Drawing, from: (f64, f64), to: (f64, f64)) {
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let on = |distance: f64| {
        let share = distance.min(length) / length;
        (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
    };
    let mut start = 0.0;
    while start < length {
        let points = vec![on(start), on(start + 5.0)];
        drawing.marks.push(Mark::Path { points, width: 1.2, color: GRAY });
        start += 8.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Distances, Rescale};
    use crate::numerics::Points;
    use crate::report::Labels;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;

    fn spec(settings: &str) -> DistanceScatterSpec {
        ron::from_str(&format!(r#"(caption: "c", label: "l", {settings})"#)).unwrap()
    }

    #[test]
    fn an_isometry_up_to_scale_lies_on_the_diagonal_in_the_fitted_unit() {
        let pairs = vec![(1.0, 3.0), (2.0, 6.0), (4.0, 12.0)];
        let own = spec("").panel("PCAE".to_owned(), pairs.clone());
        assert!((own.factor - 3.0).abs() < 1e-12 && (own.correlation - 1.0).abs() < 1e-12);
        assert_eq!(own.pairs, pairs);
        let fitted = spec("unit: Fitted").panel("PCAE".to_owned(), pairs);
        assert!(fitted.pairs.iter().all(|(one, other)| (one - other).abs() < 1e-12));
        let figure = Figure::DistanceScatter(spec("").build(vec![own]));
        assert_eq!(figure.summaries(), ["PCAE: r = 1.000, factor 3, n = 3"]);
    }

    #[test]
    fn factor_and_correlation_are_those_computed_by_hand() {
        // Products 1 + 2 + 9 over squares 1 + 4 + 9; deviations (-1, 0, 1) and (-2/3, -2/3, 4/3).
        let pairs = [(1.0, 1.0), (2.0, 1.0), (3.0, 3.0)];
        assert!((factor(&pairs) - 12.0 / 14.0).abs() < 1e-12);
        assert!((correlation(&pairs) - 2.0 / (2.0_f64 * 24.0 / 9.0).sqrt()).abs() < 1e-12);
        assert!((factor(&[]), correlation(&[(1.0, 2.0)])) == (0.0, 0.0));
    }

    #[test]
    fn each_pair_is_a_point_and_codes_that_collapsed_are_drawn_too() {
        let spread = (1..50).map(|at| (f64::from(at), 1e-7 * f64::from(at))).collect();
        let collapsed = vec![(1.0, 0.0), (2.0, 0.0)];
        let title = "a model with a long name that goes on and on".to_owned();
        let spec = spec("");
        let panels = vec![spec.panel(title, spread), spec.panel(String::new(), collapsed)];
        let drawing = spec.build(panels).draw(&Typeface::embedded().unwrap());
        assert_inside(&drawing);
        let dots = drawing.marks.iter().filter(|mark| matches!(mark, Mark::Dot { .. })).count();
        assert_eq!(dots, 49 + 2);
    }

    #[test]
    fn each_pair_has_its_distance_along_the_data_and_between_its_codes() {
        let table = vec![0.0, 5.0, 1.0, 5.0, 0.0, 2.0, 1.0, 2.0, 0.0];
        let distances = Distances::from_parts(3, table, 1.0, Rescale::None).unwrap();
        let labels: Labels = [("model".to_owned(), "pcae".to_owned())].into();
        let codes = vec![(labels, Points::from_rows(2, vec![0.0, 0.0, 3.0, 4.0, 0.0, 1.0]))];
        let finish = |distances: Distances| {
            let (codes, distances) = (codes.clone(), Some(distances));
            let inputs = FigureInputs { codes, distances, ..FigureInputs::default() };
            spec("pairs: 50").finish(&inputs)
        };
        let found = finish(distances).unwrap();
        let pairs = &found.panels[0].pairs;
        assert_eq!(pairs.len(), 50);
        let expected = [(5.0, 5.0), (1.0, 1.0), (2.0, 18.0_f64.sqrt())];
        let is_expected = |pair: &(f64, f64)| {
            expected.iter().any(|(x, y)| (x - pair.0).abs() < 1e-6 && (y - pair.1).abs() < 1e-6)
        };
        assert!(pairs.iter().all(is_expected), "{pairs:?}");
        let few = Distances::from_parts(2, vec![0.0, 1.0, 1.0, 0.0], 1.0, Rescale::None).unwrap();
        assert!(finish(few).is_err());
    }
}
