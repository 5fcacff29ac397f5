//! Distances between codes against distances along the data, pair by pair.
//!
//! What: for random pairs of samples, the straight distance of their codes over their geodesic
//! distance, with the diagonal that an isometry keeps to; one panel per model. Also the correlation
//! (Pearson) and the factor c that makes c times the geodesic distance the best fit of the latent
//! one (least squares through zero).
//! Checked against: hand-computed factors and correlations in the tests below.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::numerics::Seed;
use crate::report::Labels;
use crate::report::figures::Scale;
use crate::report::figures::chart::{Across, Chart, Panel};
use crate::report::figures::key::Symbol;
use crate::report::figures::panel_title::panel_title;
use crate::report::figures::scene::{GRAY, Ink, Mark, PALETTE, Scene};
use crate::report::figures::typeface::Typeface;
use crate::report::figures::value_axis::{ValueAxis, four_digits};

const DOT: f64 = 1.7;
/// How much of a point is seen through another, so that dense places are darker.
const STRENGTH: f64 = 0.3;

/// A scatter of distances as declared in a pipeline file.
///
/// ```ron
/// DistanceScatter(caption: "Distances of pairs", label: "Figure 8", pairs: 2000, seed: 0,
///                 unit: Fitted, titles: {"pcae": "PCAE"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistanceScatterSpec {
    /// What the figure shows, as plain text.
    pub caption: String,
    /// What the figure is called in the paper, such as `Figure 1`.
    pub label: String,
    /// Pairs in each panel; the same in all.
    #[serde(default = "two_thousand")]
    pub pairs: NonZeroUsize,
    /// Source of the pairs.
    #[serde(default = "zero")]
    pub seed: Seed,
    /// The unit of latent distances.
    #[serde(default)]
    pub unit: LatentUnit,
    /// Panels side by side, at most three; one stays within a column of a paper.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatentUnit {
    /// Their own: an isometry lies on the diagonal.
    #[default]
    Own,
    /// The one that fits best: an isometry up to scale lies on the diagonal.
    Fitted,
}

impl DistanceScatterSpec {
    /// Returns the title of a panel: the labels of its model, by their display names.
    pub fn title(&self, labels: &Labels) -> String {
        panel_title(&self.titles, labels)
    }

    /// Makes a panel of pairs of a geodesic and a latent distance.
    pub fn panel(&self, title: String, mut pairs: Vec<(f64, f64)>) -> DistancePanel {
        let factor = factor(&pairs);
        if self.unit == LatentUnit::Fitted && factor > 0.0 {
            for (_, latent) in &mut pairs {
                *latent /= factor;
            }
        }
        DistancePanel { title, factor, correlation: correlation(&pairs), pairs }
    }

    /// Puts panels together.
    pub fn build(&self, panels: Vec<DistancePanel>) -> DistanceScatter {
        DistanceScatter {
            caption: self.caption.clone(),
            label: self.label.clone(),
            unit: self.unit,
            columns: self.columns.map(NonZeroUsize::get),
            panels,
        }
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

impl DistanceScatter {
    /// Returns one line on each panel.
    pub(super) fn summaries(&self) -> Vec<String> {
        let line = |panel: &DistancePanel| {
            let notes = panel.notes().join(", ");
            format!("{}: {notes}, n = {}", panel.title, panel.pairs.len())
        };
        self.panels.iter().map(line).collect()
    }
}

/// Draws all panels and the key.
pub(super) fn draw(figure: &DistanceScatter, typeface: &Typeface) -> Scene {
    let highest = |pairs: &[(f64, f64)], side: fn(&(f64, f64)) -> f64| {
        pairs.iter().map(side).fold(0.0, f64::max)
    };
    let panel = |panel: &DistancePanel| {
        let axis = |side| ValueAxis::fitted(Scale::Linear, 0.0, highest(&panel.pairs, side));
        Panel {
            title: panel.title.clone(),
            notes: vec![panel.notes()],
            across: Across::Measured(axis(|pair| pair.0)),
            up: axis(|pair| pair.1),
        }
    };
    let panels: Vec<Panel> = figure.panels.iter().map(panel).collect();
    let chart = Chart {
        panels: &panels,
        columns: figure.columns,
        across_title: "Geodesic distance",
        up_title: match figure.unit {
            LatentUnit::Own => "Latent distance",
            LatentUnit::Fitted => "Latent distance / factor",
        },
        aspect: 1.0,
        key: vec![
            (Symbol::Dashes, "isometry".to_owned()),
            (Symbol::Nothing, "r: correlation, factor: latent by geodesic".to_owned()),
        ],
    };
    chart.draw(typeface, |scene, index, frame| {
        let Panel { across, up, .. } = &panels[index];
        let pairs = &figure.panels[index].pairs;
        let ink = Ink { alpha: STRENGTH, ..PALETTE[0] };
        for (geodesic, latent) in pairs {
            let at = frame.at(across.place(*geodesic), up.height(*latent));
            scene.marks.push(Mark::Dot { at, radius: DOT, ink });
        }
        // As far as both axes go.
        let end = highest(pairs, |pair| pair.0).min(highest(pairs, |pair| pair.1));
        let to = frame.at(across.place(end), up.height(end));
        draw_dashes(scene, frame.at(across.place(0.0), up.height(0.0)), to);
    })
}

/// Draws a dashed line in any direction.
fn draw_dashes(scene: &mut Scene, from: (f64, f64), to: (f64, f64)) {
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let on = |way: f64| {
        let share = way.min(length) / length;
        (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
    };
    let mut way = 0.0;
    while way < length {
        let points = vec![on(way), on(way + 5.0)];
        scene.marks.push(Mark::Path { points, width: 1.2, ink: GRAY });
        way += 8.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let scene = draw(&spec.build(panels), &Typeface::embedded().unwrap());
        assert_inside(&scene);
        let dots = scene.marks.iter().filter(|mark| matches!(mark, Mark::Dot { .. })).count();
        assert_eq!(dots, 49 + 2);
    }
}
