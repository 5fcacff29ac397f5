//! Codes as points of a plane, colored by what is known of the samples.
//!
//! What: two coordinates of the codes of some samples, one panel per model. A factor colors points
//! from dark to light, a class by color and shape.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::{Annotations, DataError};
use crate::numerics::{Seed, rng};
use crate::report::figures::chart::horizontal_axis::HorizontalAxis;
use crate::report::figures::chart::legend::Symbol;
use crate::report::figures::chart::line_style::{Marker, ramp};
use crate::report::figures::chart::value_axis::{ValueAxis, four_digits, span};
use crate::report::figures::chart::{Chart, Layout, Panel};
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Color, Drawing, Mark, PALETTE};
use crate::report::figures::factors::factor_column;
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FigureMistake, FinishedFigure,
};
use crate::report::figures::titles::{display_name, panel_title};
use crate::report::figures::{FigureError, Scale};

const DOT: f64 = 2.1;
/// Points lie on each other: how much of a point is seen through another.
const STRENGTH: f64 = 0.75;

/// A scatter plot of codes as declared in a pipeline.
///
/// ```ron
/// CodeScatter(caption: "Codes", label: "Figure 7", coordinates: (1, 2), color: "orientation",
///             points: 2000, titles: {"pcae": "PCAE"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeScatterSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 1`.
    pub label: String,
    /// The two coordinates shown, counted from 1: to the right and up.
    #[serde(default = "first_two")]
    pub coordinates: (NonZeroUsize, NonZeroUsize),
    /// A factor of the samples, or `class`; without one all points have the same color.
    #[serde(default)]
    pub color: Option<String>,
    /// Points in a panel, at most; one is drawn from each of as many equal parts of all.
    #[serde(default = "two_thousand")]
    pub points: NonZeroUsize,
    /// Panels side by side, at most three; a single one fits a column of a paper.
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
    /// Returns the rows to show, of `available` ones.
    fn picked(&self, available: usize) -> Vec<usize> {
        rng::spread(available, self.points.get(), &mut Seed(0).stream("code-scatter"))
    }

    fn build(&self, coloring: Coloring, panels: Vec<ScatterPanel>) -> CodeScatter {
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

impl FigureKind for CodeScatterSpec {
    type Finished = CodeScatter;

    const SHOWS: &'static str = "a scatter plot of codes shows codes and their samples";
    const INPUTS: &'static [&'static str] = &["codes", "samples"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        let mut checks = FigureChecks::labeled(FigureFamily::Codes, &self.titles);
        checks.other_titles = self.color.as_slice();
        if self.coordinates.0 == self.coordinates.1 {
            checks.mistakes.push(FigureMistake {
                setting: "coordinates",
                message: format!("coordinate {} is on both axes", self.coordinates.0),
                help: "name two different ones: `coordinates: (1, 2)`".to_owned(),
            });
        }
        Some(checks)
    }

    fn wrong_inputs(&self, is_given: &dyn Fn(&str) -> bool) -> Option<FigureMistake> {
        let (message, help) = match (self.color.is_some(), is_given("samples")) {
            (true, false) => (
                "`color` needs the samples behind the codes, but none are given",
                "add `samples: \"the stage that was encoded\"`, or delete `color`",
            ),
            (false, true) => (
                "samples are given, but no factor to color the points by",
                "add `color: \"the name of a factor, or class\"`, or delete `samples`",
            ),
            _ => return None,
        };
        let (message, help) = (message.to_owned(), help.to_owned());
        Some(FigureMistake { setting: "picture", message, help })
    }

    /// Puts the codes of each model into a panel.
    fn finish(&self, inputs: &FigureInputs) -> Result<CodeScatter, FigureError> {
        let named = self.color.as_ref().zip(inputs.samples.as_ref());
        let (coloring, values) = match named {
            Some((name, samples)) => self.coloring(name, samples.annotations())?,
            None => (Coloring::Plain, Vec::new()),
        };
        let (right, up) = (self.coordinates.0.get() - 1, self.coordinates.1.get() - 1);
        let mut panels = Vec::new();
        for (labels, codes) in &inputs.codes {
            let (asked, width) = (right.max(up) + 1, codes.width());
            if asked > width {
                let found = format!("coordinate {asked} is requested, but codes have {width}");
                return Err(FigureError::Inputs(found));
            }
            if named.is_some() && values.len() != codes.rows() {
                let found = "`samples` is not the `data` that was encoded".to_owned();
                return Err(FigureError::Inputs(found));
            }
            let point = |row: usize| CodePoint {
                at: (codes.row(row)[right], codes.row(row)[up]),
                value: values.get(row).copied().unwrap_or_default(),
            };
            let points = self.picked(codes.rows()).into_iter().map(point).collect();
            panels.push(ScatterPanel { title: panel_title(&self.titles, labels), points });
        }
        Ok(self.build(coloring, panels))
    }
}

impl CodeScatterSpec {
    /// Returns what colors mean, and the value of each sample.
    fn coloring(&self, name: &str, known: &Annotations) -> Result<(Coloring, Vec<f32>), DataError> {
        if let ("class", Some(classes)) = (name, &known.classes) {
            let values = classes.values.iter().map(|&class| f32::from(class)).collect();
            return Ok((Coloring::Classes(classes.names.clone()), values));
        }
        let values: Vec<f32> = known.factors.column(factor_column(known, name)?).collect();
        let low = values.iter().copied().fold(f32::INFINITY, f32::min);
        let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let title = display_name(&self.titles, name);
        Ok((Coloring::Factor { title, low, high }, values))
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
    fn legend(&self) -> Vec<(Symbol, String)> {
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

    fn draw_point(&self, drawing: &mut Drawing, at: (f64, f64), value: f32) {
        let dot =
            |color: Color| Mark::Dot { at, radius: DOT, color: Color { alpha: STRENGTH, ..color } };
        match &self.coloring {
            Coloring::Plain => drawing.marks.push(dot(PALETTE[0])),
            Coloring::Factor { low, high, .. } => {
                let share = (value - low) / (high - low).max(f32::MIN_POSITIVE);
                drawing.marks.push(dot(ramp(f64::from(share))));
            }
            Coloring::Classes(_) => Marker::of(value as usize).draw(drawing, at, DOT + 0.4),
        }
    }
}

/// Fits both axes to the points of a panel.
fn axes(panel: &ScatterPanel) -> (ValueAxis, ValueAxis) {
    let axis = |side: fn(&CodePoint) -> f32| {
        let values = panel.points.iter().map(|point| f64::from(side(point)));
        let (low, high) = span(values);
        let ends = if low <= high { (low, high) } else { (0.0, 0.0) };
        ValueAxis::fitted(Scale::Linear, ends.0, ends.1)
    };
    (axis(|point| point.at.0), axis(|point| point.at.1))
}

impl FinishedFigure for CodeScatter {
    fn summaries(&self) -> Vec<String> {
        let line = |panel: &ScatterPanel| format!("{}: {} codes", panel.title, panel.points.len());
        self.panels.iter().map(line).collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let panel = |panel: &ScatterPanel| {
            let (x, y) = axes(panel);
            let (title, x) = (panel.title.clone(), HorizontalAxis::Measured(x));
            Panel { title, notes: Vec::new(), x, y }
        };
        let panels: Vec<Panel> = self.panels.iter().map(panel).collect();
        let title = |coordinate: usize| format!("Latent coordinate {coordinate}");
        let (x_title, y_title) = (title(self.coordinates.0), title(self.coordinates.1));
        let layout = Layout::page(&panels, self.columns, 1.0, self.legend(), typeface);
        let chart = Chart { panels: &panels, layout, x_title: &x_title, y_title: Some(&y_title) };
        chart.draw(typeface, |drawing, index, area| {
            for point in &self.panels[index].points {
                let (x, y) = (f64::from(point.at.0), f64::from(point.at.1));
                self.draw_point(drawing, panels[index].at(area, x, y), point.value);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Classes, Factors, SampleSet, Vectors};
    use crate::numerics::Points;
    use crate::report::Labels;
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
        let drawing = figure.draw(&Typeface::embedded().unwrap());
        let colors: Vec<Color> = drawing
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Dot { color, .. } => Some(*color),
                _ => None,
            })
            .collect();
        assert_eq!((colors[0].rgb, colors[4].rgb), (ramp(0.0).rgb, ramp(1.0).rgb));
        let svg = Figure::CodeScatter(figure).svg().unwrap();
        for text in ["Size, 0 to 4", "Latent coordinate 1", "Latent coordinate 2"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn more_classes_than_colors_are_told_apart_by_shape() {
        let names = (0..18).map(|class| format!("class {class}")).collect();
        let figure = spec("").build(Coloring::Classes(names), vec![panel(18), panel(1), panel(0)]);
        let drawing = figure.draw(&Typeface::embedded().unwrap());
        assert_inside(&drawing);
        let dots = drawing.marks.iter().filter(|mark| matches!(mark, Mark::Dot { .. })).count();
        // Eight discs and eight rings of two discs, in the panel and in the key; and one point alone.
        assert_eq!(dots, 2 * (8 + 8 * 2) + 1);
    }

    #[test]
    fn points_are_drawn_from_all_parts_whatever_their_order() {
        let picked = spec("points: 450").picked(450 * 32);
        assert!(picked.iter().enumerate().all(|(part, row)| row / 32 == part), "{picked:?}");
        let mut places: Vec<usize> = picked.iter().map(|row| row % 32).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 32, "the fastest factor of a lattice has all its values");
        assert_eq!(spec("points: 3").picked(2), [0, 1]);
        assert!(spec("").picked(0).is_empty());
    }

    fn families() -> Vec<(Labels, Points)> {
        let labels: Labels = [("model".to_owned(), "pcae".to_owned())].into();
        vec![(labels, Points::from_rows(2, vec![0.0, 0.0, 3.0, 4.0, 0.0, 1.0]))]
    }

    fn samples(count: usize) -> SampleSet {
        let factors = Factors {
            names: vec!["size".to_owned()],
            values: (0..count).map(|at| 10.0 + at as f32).collect(),
        };
        let names = vec!["a".to_owned(), "b".to_owned()];
        let classes = Some(Classes { names, values: vec![1; count] });
        let points = Points::from_rows(1, vec![0.0; count]);
        SampleSet::Vectors(Vectors::new(points, Annotations { factors, classes }).unwrap())
    }

    fn scatter(settings: &str, samples: Option<&SampleSet>) -> Result<CodeScatter, String> {
        let samples = samples.cloned();
        let inputs = FigureInputs { codes: families(), samples, ..FigureInputs::default() };
        spec(settings).finish(&inputs).map_err(|error| error.to_string())
    }

    #[test]
    fn codes_are_colored_by_a_factor_or_by_their_class() {
        let by_size = scatter(r#"color: Some("size"), coordinates: (2, 1)"#, Some(&samples(3)));
        let by_size = by_size.unwrap();
        let found = by_size.panels[0].points[1];
        assert_eq!((found.at, found.value), ((4.0, 3.0), 11.0));
        let expected = Coloring::Factor { title: "size".to_owned(), low: 10.0, high: 12.0 };
        assert_eq!(by_size.coloring, expected);
        let by_class = scatter(r#"color: Some("class")"#, Some(&samples(3))).unwrap();
        assert_eq!(by_class.coloring, Coloring::Classes(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(scatter("", None).unwrap().coloring, Coloring::Plain);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        assert_eq!(
            scatter(r#"color: Some("size")"#, Some(&samples(4))).unwrap_err(),
            "`samples` is not the `data` that was encoded"
        );
        assert_eq!(
            scatter("coordinates: (1, 3)", None).unwrap_err(),
            "coordinate 3 is requested, but codes have 2"
        );
        let unknown = scatter(r#"color: Some("hue")"#, Some(&samples(3))).unwrap_err();
        assert!(unknown.contains("hue") && unknown.contains("size"), "{unknown}");
    }
}
