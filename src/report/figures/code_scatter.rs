//! Codes as points of a plane, colored by what is known of the samples.
//!
//! What: two coordinates of the codes of some samples, one panel per model. A factor colors points
//! from dark to light, a class by color and shape.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::report::Labels;
use crate::report::figures::Scale;
use crate::report::figures::chart::{Across, Chart, Panel};
use crate::report::figures::key::{Marker, Symbol, ramp};
use crate::report::figures::panel_title::panel_title;
use crate::report::figures::scene::{Ink, Mark, PALETTE, Scene};
use crate::report::figures::typeface::Typeface;
use crate::report::figures::value_axis::{ValueAxis, four_digits};

const DOT: f64 = 2.1;
/// Points lie on each other: how much of a point is seen through another.
const STRENGTH: f64 = 0.75;

/// A scatter of codes as declared in a pipeline file.
///
/// ```ron
/// CodeScatter(caption: "Codes", label: "Figure 7", coordinates: (1, 2), color: "orientation",
///             points: 2000, titles: {"pcae": "PCAE"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeScatterSpec {
    /// What the figure shows, as plain text.
    pub caption: String,
    /// What the figure is called in the paper, such as `Figure 1`.
    pub label: String,
    /// The two coordinates shown, counted from 1: to the right and up.
    #[serde(default = "first_two")]
    pub coordinates: (NonZeroUsize, NonZeroUsize),
    /// A factor of the samples, or `class`; without one all points have the same color.
    #[serde(default)]
    pub color: Option<String>,
    /// Points in a panel, at most; they are taken at equal distances from the first to the last.
    #[serde(default = "two_thousand")]
    pub points: NonZeroUsize,
    /// Panels side by side, at most three; one stays within a column of a paper.
    #[serde(default)]
    pub columns: Option<NonZeroUsize>,
    /// Display names of the factor and of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

const ONE: NonZeroUsize = NonZeroUsize::new(1).unwrap();
const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();
const TWO_THOUSAND: NonZeroUsize = NonZeroUsize::new(2000).unwrap();

const fn first_two() -> (NonZeroUsize, NonZeroUsize) {
    (ONE, TWO)
}

const fn two_thousand() -> NonZeroUsize {
    TWO_THOUSAND
}

impl CodeScatterSpec {
    /// Returns the title of a panel: the labels of its model, by their display names.
    pub fn title(&self, labels: &Labels) -> String {
        panel_title(&self.titles, labels)
    }

    /// Returns the display name of a factor or label.
    pub fn shown(&self, name: &str) -> String {
        self.titles.get(name).map_or(name, String::as_str).to_owned()
    }

    /// Returns the rows to show, of `available` ones.
    pub fn picked(&self, available: usize) -> Vec<usize> {
        let count = self.points.get().min(available);
        if count < 2 {
            return (0..count).collect();
        }
        (0..count).map(|place| place * (available - 1) / (count - 1)).collect()
    }

    /// Puts panels together.
    pub fn build(&self, coloring: Coloring, panels: Vec<ScatterPanel>) -> CodeScatter {
        CodeScatter {
            caption: self.caption.clone(),
            label: self.label.clone(),
            coordinates: (self.coordinates.0.get(), self.coordinates.1.get()),
            coloring,
            columns: self.columns.map(NonZeroUsize::get),
            panels,
        }
    }
}

/// What the colors of points mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Coloring {
    /// Nothing.
    Plain,
    /// A number that each sample has.
    Factor {
        /// What the number is called.
        title: String,
        /// The lowest one.
        low: f32,
        /// The highest one.
        high: f32,
    },
    /// One of these classes, by number.
    Classes(Vec<String>),
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodePoint {
    /// The two coordinates shown.
    pub at: (f32, f32),
    /// The factor or the number of the class of the sample; zero without either.
    pub value: f32,
}

/// One panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScatterPanel {
    /// Title of the panel.
    pub title: String,
    /// The codes.
    pub points: Vec<CodePoint>,
}

/// A finished scatter of codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeScatter {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// The two coordinates shown, counted from 1.
    pub coordinates: (usize, usize),
    /// What colors mean.
    pub coloring: Coloring,
    /// Panels side by side, if chosen.
    pub columns: Option<usize>,
    /// One panel for each model.
    pub panels: Vec<ScatterPanel>,
}

impl CodeScatter {
    /// Returns one line on each panel.
    pub(super) fn summaries(&self) -> Vec<String> {
        let line = |panel: &ScatterPanel| format!("{}: {} codes", panel.title, panel.points.len());
        self.panels.iter().map(line).collect()
    }

    fn key(&self) -> Vec<(Symbol, String)> {
        match &self.coloring {
            Coloring::Plain => Vec::new(),
            Coloring::Factor { title, low, high } => {
                let [low, high] = [*low, *high].map(|end| four_digits(f64::from(end)));
                vec![(Symbol::Ramp, format!("{title}, {low} to {high}"))]
            }
            Coloring::Classes(names) => {
                let entry = |(index, name): (usize, &String)| {
                    (Symbol::Point(Marker::of(index)), name.clone())
                };
                names.iter().enumerate().map(entry).collect()
            }
        }
    }

    fn draw_point(&self, scene: &mut Scene, at: (f64, f64), value: f32) {
        let dot = |ink: Ink| Mark::Dot { at, radius: DOT, ink: Ink { alpha: STRENGTH, ..ink } };
        match &self.coloring {
            Coloring::Plain => scene.marks.push(dot(PALETTE[0])),
            Coloring::Factor { low, high, .. } => {
                let share = (value - low) / (high - low).max(f32::MIN_POSITIVE);
                scene.marks.push(dot(ramp(f64::from(share))));
            }
            Coloring::Classes(_) => Marker::of(value as usize).draw(scene, at, DOT + 0.4),
        }
    }
}

/// Fits both axes to the points of a panel.
fn axes(panel: &ScatterPanel) -> (ValueAxis, ValueAxis) {
    let axis = |side: fn(&CodePoint) -> f32| {
        let values = panel.points.iter().map(|point| f64::from(side(point)));
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (value.min(low), value.max(high))
        });
        let ends = if low <= high { (low, high) } else { (0.0, 0.0) };
        ValueAxis::fitted(Scale::Linear, ends.0, ends.1)
    };
    (axis(|point| point.at.0), axis(|point| point.at.1))
}

/// Draws all panels and the key.
pub(super) fn draw(figure: &CodeScatter, typeface: &Typeface) -> Scene {
    let panel = |panel: &ScatterPanel| {
        let (across, up) = axes(panel);
        let (title, across) = (panel.title.clone(), Across::Measured(across));
        Panel { title, notes: Vec::new(), across, up }
    };
    let panels: Vec<Panel> = figure.panels.iter().map(panel).collect();
    let chart = Chart {
        panels: &panels,
        columns: figure.columns,
        across_title: &format!("Latent coordinate {}", figure.coordinates.0),
        up_title: &format!("Latent coordinate {}", figure.coordinates.1),
        aspect: 1.0,
        key: figure.key(),
    };
    chart.draw(typeface, |scene, index, frame| {
        let Panel { across, up, .. } = &panels[index];
        for point in &figure.panels[index].points {
            let (right, height) = (f64::from(point.at.0), f64::from(point.at.1));
            let at = frame.at(across.place(right), up.height(height));
            figure.draw_point(scene, at, point.value);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;

    fn spec(settings: &str) -> CodeScatterSpec {
        ron::from_str(&format!(r#"(caption: "c", label: "l", {settings})"#)).unwrap()
    }

    fn panel(count: usize) -> ScatterPanel {
        let point = |at: usize| CodePoint { at: (at as f32, -(at as f32)), value: at as f32 };
        ScatterPanel { title: "PCAE".to_owned(), points: (0..count).map(point).collect() }
    }

    #[test]
    fn a_factor_is_a_ramp_from_its_lowest_to_its_highest_number() {
        let coloring = Coloring::Factor { title: "Size".to_owned(), low: 0.0, high: 4.0 };
        let figure = spec("").build(coloring, vec![panel(5)]);
        let scene = draw(&figure, &Typeface::embedded().unwrap());
        let inks: Vec<Ink> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Dot { ink, .. } => Some(*ink),
                _ => None,
            })
            .collect();
        assert_eq!((inks[0].rgb, inks[4].rgb), (ramp(0.0).rgb, ramp(1.0).rgb));
        let svg = Figure::CodeScatter(figure).svg().unwrap();
        for text in ["Size, 0 to 4", "Latent coordinate 1", "Latent coordinate 2"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn more_classes_than_colors_are_told_apart_by_shape() {
        let names = (0..18).map(|class| format!("class {class}")).collect();
        let figure = spec("").build(Coloring::Classes(names), vec![panel(18), panel(1), panel(0)]);
        let scene = draw(&figure, &Typeface::embedded().unwrap());
        assert_inside(&scene);
        let dots = scene.marks.iter().filter(|mark| matches!(mark, Mark::Dot { .. })).count();
        // Six discs and six rings of two discs, in the panel and in the key; and one point alone.
        assert_eq!(dots, 2 * (6 + 6 * 2) + 1);
    }

    #[test]
    fn points_are_taken_from_the_first_to_the_last() {
        assert_eq!(spec("points: 3").picked(101), [0, 50, 100]);
        assert_eq!(spec("points: 3").picked(2), [0, 1]);
        assert!(spec("").picked(0).is_empty());
    }
}
