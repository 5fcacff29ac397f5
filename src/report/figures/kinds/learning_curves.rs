//! Learning curves: what trainings recorded, epoch by epoch.
//!
//! What: for each column a panel, for each label of one axis a line through the means over runs,
//! with a band from the lowest to the highest run.
//! Assumptions: a mean is over the runs that measured the column in that epoch, so runs of unequal
//! length are compared as far as they go. A logarithmic scale leaves means out that are not above
//! zero; a band that reaches below goes down to the foot of the panel.
//! Checked against: hand-computed means in the tests below.
//!
//! A series has the same color in every panel; past the last color, lines are dashed. Epochs that
//! lie farther apart than is usual for a curve are a gap in its line, and a point between two gaps
//! is a dot.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::figures::chart::horizontal_axis::HorizontalAxis;
use crate::report::figures::chart::legend::{Legend, Symbol};
use crate::report::figures::chart::line_style::LineStyle;
use crate::report::figures::chart::value_axis::{ValueAxis, four_digits, span};
use crate::report::figures::chart::{
    Chart, Layout, Panel, PlotArea, SCREEN, VerticalLabels, default_columns, widest_label,
};
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Drawing, Mark};
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FigureMistake, FinishedFigure,
    TrainingLog,
};
use crate::report::figures::titles::display_name;
use crate::report::figures::{FigureError, Scale};
use crate::report::records::aggregate::AggregateError;
use crate::report::records::axis_roles::check_roles;

/// The column that counts epochs.
const EPOCH: &str = "epoch";

/// Learning curves as declared in a pipeline.
///
/// ```ron
/// LearningCurves(caption: "Losses", label: "Figure 2", columns: ["total", "reconstruction"],
///                scale: Log, series: "model", over: ["seed"], titles: {"total": "Total loss"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearningCurvesSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 1`.
    pub label: String,
    /// Columns of the training history, such as `total` or a loss term; each gets a panel.
    #[serde(default = "total")]
    pub columns: Vec<String>,
    /// Scale of the vertical axes.
    #[serde(default)]
    pub scale: Scale,
    /// The axis whose labels each get a line.
    pub series: String,
    /// Axes whose runs make the mean and the band.
    #[serde(default)]
    pub over: Vec<String>,
    /// Display names of columns and of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

fn total() -> Vec<String> {
    vec!["total".to_owned()]
}

impl TrainingLog {
    /// Returns the epochs in which a column was measured, with its values.
    fn measured(&self, column: &str) -> impl Iterator<Item = (usize, f64)> {
        let place = |name: &str| self.columns.iter().position(|known| known == name);
        let places = place(EPOCH).zip(place(column));
        let cells = places.into_iter().flat_map(|(epoch, column)| {
            let cell = move |row: &Vec<f64>| Some((*row.get(epoch)?, *row.get(column)?));
            self.rows.iter().filter_map(cell)
        });
        let known = |(epoch, value): &(f64, f64)| epoch.is_finite() && value.is_finite();
        cells.filter(known).map(|(epoch, value)| (epoch as usize, value))
    }
}

/// The runs of one series in one epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The epoch, counting from 1.
    pub epoch: usize,
    /// Mean over the runs.
    pub mean: f64,
    /// The lowest run.
    pub low: f64,
    /// The highest run.
    pub high: f64,
    /// Number of runs.
    pub runs: usize,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What the line shows.
    pub title: String,
    /// The epochs in which there is something to show; none if the series lacks the column.
    pub points: Vec<CurvePoint>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePanel {
    /// Title of the panel.
    pub title: String,
    /// One line for each series, the same in every panel.
    pub curves: Vec<Curve>,
}

/// Finished learning curves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearningCurves {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// Scale of the vertical axes.
    pub scale: Scale,
    /// One panel for each column.
    pub panels: Vec<CurvePanel>,
}

impl LearningCurvesSpec {
    /// Computes means and bands for each column and series.
    fn build(&self, trainings: &[TrainingLog]) -> Result<LearningCurves, FigureError> {
        self.check(trainings, &["series", "over"])?;
        let mut labels: Vec<&String> = Vec::new();
        for training in trainings {
            let label = training.labels.get(&self.series);
            let recorded = self.columns.iter().any(|column| training.measured(column).count() > 0);
            // A model that has nothing to train has no curve either.
            labels.extend(label.filter(|label| recorded && !labels.contains(label)));
        }
        let panel = |column: &String| {
            let curves: Vec<Curve> =
                labels.iter().map(|label| self.curve(trainings, column, label)).collect();
            if curves.iter().all(|curve| curve.points.is_empty()) {
                return Err(FigureError::EmptyColumn { column: column.clone(), scale: self.scale });
            }
            Ok(CurvePanel { title: display_name(&self.titles, column), curves })
        };
        Ok(LearningCurves {
            caption: self.caption.clone(),
            label: self.label.clone(),
            scale: self.scale,
            panels: self.columns.iter().map(panel).collect::<Result<_, _>>()?,
        })
    }

    /// Computes the means and bands of one column and series.
    pub(crate) fn curve(&self, trainings: &[TrainingLog], column: &str, label: &String) -> Curve {
        let mut epochs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for training in trainings.iter().filter(|run| run.labels.get(&self.series) == Some(label)) {
            for (epoch, value) in training.measured(column) {
                epochs.entry(epoch).or_default().push(value);
            }
        }
        let point = |(epoch, values): (usize, Vec<f64>)| CurvePoint {
            epoch,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            runs: values.len(),
        };
        let shown = |point: &CurvePoint| self.scale == Scale::Linear || point.mean > 0.0;
        let points = epochs.into_iter().map(point).filter(shown).collect();
        Curve { title: display_name(&self.titles, label), points }
    }

    /// Checks that columns and axes are those of the trainings, and that no two are the same;
    /// `places` are the settings that name the axis of labels and the axes of runs.
    pub(crate) fn check(
        &self,
        trainings: &[TrainingLog],
        places: &'static [&'static str; 2],
    ) -> Result<(), FigureError> {
        if trainings.is_empty() {
            return Err(FigureError::NoTrainings);
        }
        let recorded: Vec<&String> =
            trainings.iter().flat_map(|training| &training.columns).collect();
        for column in &self.columns {
            if !recorded.contains(&column) {
                let known = families(&recorded);
                return Err(FigureError::UnknownColumn { column: column.clone(), known });
            }
        }
        let known: BTreeSet<&String> = trainings.iter().flat_map(|run| run.labels.keys()).collect();
        let roles = [(places[0], std::slice::from_ref(&self.series)), (places[1], &self.over[..])];
        check_roles(&known, &roles, places)?;
        for (index, training) in trainings.iter().enumerate() {
            if !training.labels.contains_key(&self.series) {
                let (field, axis) = (self.columns.join("`, `"), self.series.clone());
                return Err(AggregateError::Unlabeled { field, record: index, axis }.into());
            }
            if let Some(first) =
                trainings[..index].iter().position(|run| run.labels == training.labels)
            {
                let pairs = training.labels.iter().map(|(axis, label)| format!("{axis}={label}"));
                let labels = pairs.collect::<Vec<_>>().join(", ");
                return Err(FigureError::SameTraining { first, second: index, labels });
            }
        }
        Ok(())
    }
}

impl FigureKind for LearningCurvesSpec {
    type Finished = LearningCurves;

    const SHOWS: &'static str = "learning curves show models";
    const INPUTS: &'static [&'static str] = &["models"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        let mut checks = FigureChecks::labeled(FigureFamily::Models, &self.titles);
        checks.other_titles = &self.columns;
        checks.roles = vec![("series", std::slice::from_ref(&self.series)), ("over", &self.over)];
        let mut mistake = |message: String, help: &str| {
            let help = help.to_owned();
            checks.mistakes.push(FigureMistake { setting: "columns", message, help });
        };
        if self.columns.is_empty() {
            let help = "name at least one: `columns: [\"total\"]`";
            mistake("there are no columns to show".to_owned(), help);
        }
        for (at, column) in self.columns.iter().enumerate() {
            if self.columns[..at].contains(column) {
                let message = format!("the column `{column}` is listed twice");
                mistake(message, "list each column once");
            }
        }
        Some(checks)
    }

    fn finish(&self, inputs: &FigureInputs) -> Result<LearningCurves, FigureError> {
        self.build(&inputs.trainings)
    }
}

/// Lists names once each, numbered ones such as `gamma_1` as a range.
fn families(names: &[&String]) -> Vec<String> {
    let mut found: Vec<(String, Option<(usize, usize)>)> = Vec::new();
    for name in names {
        let numbered =
            name.rsplit_once('_').and_then(|(stem, end)| Some((stem, end.parse::<usize>().ok()?)));
        let (stem, number) = match numbered {
            Some((stem, number)) => (stem.to_owned(), Some(number)),
            None => ((*name).clone(), None),
        };
        let known = found
            .iter_mut()
            .find(|(other, range)| *other == stem && range.is_some() == number.is_some());
        match (known, number) {
            (Some((_, Some((low, high)))), Some(number)) => {
                (*low, *high) = (number.min(*low), number.max(*high));
            }
            (Some(_), _) => {}
            (None, number) => found.push((stem, number.map(|number| (number, number)))),
        }
    }
    let name = |(stem, range): (String, Option<(usize, usize)>)| match range {
        None => stem,
        Some((low, high)) if low == high => format!("{stem}_{low}"),
        Some((low, high)) => format!("{stem}_{low} .. {high}"),
    };
    found.into_iter().map(name).collect()
}

const PANEL_GAP: f64 = 22.0;
const ROW_GAP: f64 = 14.0;
const TITLE_ROOM: f64 = 26.0;
const FOOT_ROOM: f64 = 46.0;
const PANEL_HEIGHT: f64 = 220.0;
/// Width of a panel, for one and for several side by side.
const PANEL_WIDTHS: [f64; 3] = [510.0, 330.0, 260.0];
const DOT: f64 = 2.2;
/// Points at least this far apart are marked.
const SPARSE: f64 = 10.0;

impl FinishedFigure for LearningCurves {
    /// Returns one line for each curve: where it ends.
    fn summaries(&self) -> Vec<String> {
        let curves = self.panels.iter().flat_map(|panel| {
            panel.curves.iter().map(|curve| (&panel.title, &curve.title, curve.points.last()))
        });
        let line = |(panel, curve, last): (&String, &String, Option<&CurvePoint>)| match last {
            Some(CurvePoint { epoch, mean, low, high, runs }) => {
                let [mean, low, high] = [*mean, *low, *high].map(four_digits);
                format!("{panel}, {curve}: {mean} ({low} to {high}) in epoch {epoch}, n = {runs}")
            }
            None => format!("{panel}, {curve}: nothing to show"),
        };
        curves.map(line).collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let (first, last) = self.epochs();
        let panel = |panel: &CurvePanel| Panel {
            title: panel.title.clone(),
            notes: Vec::new(),
            x: HorizontalAxis::Epochs(first, last),
            y: axis(panel, self.scale),
        };
        let panels: Vec<Panel> = self.panels.iter().map(panel).collect();
        let layout = self.layout(&panels, typeface);
        let chart = Chart { panels: &panels, layout, x_title: "Epoch", y_title: None };
        chart.draw(typeface, |drawing, index, area| {
            let (panel, curves) = (&panels[index], &self.panels[index].curves);
            for (index, curve) in curves.iter().enumerate() {
                draw_bands(drawing, (panel, area), curve, LineStyle::of(index));
            }
            for (index, curve) in curves.iter().enumerate() {
                draw_line(drawing, (panel, area), curve, LineStyle::of(index));
            }
        })
    }
}

impl LearningCurves {
    /// Places panels of a fixed size, with the legend below their plot areas.
    fn layout(&self, panels: &[Panel], typeface: &Typeface) -> Layout {
        let style = &SCREEN;
        let columns = default_columns(panels.len());
        let rows = panels.len().div_ceil(columns).max(1);
        let (width, height) = (PANEL_WIDTHS[columns - 1], PANEL_HEIGHT);
        let axis_room = widest_label(panels, typeface) + style.label_gap;
        let step = (axis_room + width + PANEL_GAP, TITLE_ROOM + height + FOOT_ROOM + ROW_GAP);
        let panels_width = columns as f64 * step.0 - PANEL_GAP;
        let legend_room = panels_width - axis_room;
        let legend = Legend::wrapped(self.legend(), style.legend, typeface, legend_room);
        let legend_top = style.margin + rows as f64 * step.1;
        let area = |index: usize| PlotArea {
            left: style.margin + (index % columns) as f64 * step.0 + axis_room,
            top: style.margin + (index / columns) as f64 * step.1 + TITLE_ROOM,
            width,
            height,
        };
        Layout {
            style,
            page: (2.0 * style.margin + panels_width, legend_top + legend.height() + style.margin),
            columns,
            areas: (0..panels.len()).map(area).collect(),
            head: TITLE_ROOM,
            vertical_labels: VerticalLabels::EveryPanel,
            legend,
            legend_at: (style.margin + axis_room, legend_top),
        }
    }

    fn legend(&self) -> Vec<(Symbol, String)> {
        let curves = self.panels.first().map_or(&[][..], |panel| &panel.curves);
        let has_band = self.panels.iter().flat_map(points).any(|point| point.runs > 1);
        let series = curves.iter().enumerate().map(|(index, curve)| {
            (Symbol::Curve { style: LineStyle::of(index), has_band }, curve.title.clone())
        });
        let explained = "line: mean, band: lowest to highest run".to_owned();
        series.chain(has_band.then_some((Symbol::Nothing, explained))).collect()
    }

    /// Returns the first and the last epoch of all panels.
    fn epochs(&self) -> (usize, usize) {
        let epochs = self.panels.iter().flat_map(points).map(|point| point.epoch);
        epochs.fold((usize::MAX, 0), |(first, last), epoch| (epoch.min(first), epoch.max(last)))
    }
}

/// Returns the points of all lines of a panel.
pub(crate) fn points(panel: &CurvePanel) -> impl Iterator<Item = &CurvePoint> {
    panel.curves.iter().flat_map(|curve| &curve.points)
}

/// Fits an axis to the lines and bands of a panel.
fn axis(panel: &CurvePanel, scale: Scale) -> ValueAxis {
    let ends = points(panel).flat_map(|point| [point.low, point.mean, point.high]);
    let (lowest, highest) = span(ends.filter(|value| scale == Scale::Linear || *value > 0.0));
    ValueAxis::fitted(scale, lowest, highest)
}

/// Cuts a curve where epochs lie farther apart than half of its steps do.
fn unbroken(curve: &Curve) -> impl Iterator<Item = &[CurvePoint]> {
    let step = |pair: &[CurvePoint]| pair[1].epoch - pair[0].epoch;
    let mut steps: Vec<usize> = curve.points.windows(2).map(step).collect();
    steps.sort_unstable();
    let median = steps.get(steps.len() / 2).copied().unwrap_or_default();
    curve.points.chunk_by(move |one, next| next.epoch - one.epoch <= median)
}

fn draw_bands(
    drawing: &mut Drawing,
    (panel, area): (&Panel, PlotArea),
    curve: &Curve,
    style: LineStyle,
) {
    for part in unbroken(curve).filter(|part| part.iter().any(|point| point.runs > 1)) {
        let edge = |value: fn(&CurvePoint) -> f64| {
            part.iter().map(|point| panel.at(area, point.epoch as f64, value(point))).collect()
        };
        let (upper, lower) = (edge(|point| point.high), edge(|point| point.low));
        drawing.marks.push(Mark::Band { upper, lower, color: style.band() });
    }
}

fn draw_line(
    drawing: &mut Drawing,
    (panel, area): (&Panel, PlotArea),
    curve: &Curve,
    style: LineStyle,
) {
    for part in unbroken(curve) {
        let at = |point: &CurvePoint| panel.at(area, point.epoch as f64, point.mean);
        let line: Vec<(f64, f64)> = part.iter().map(at).collect();
        let spacing = match &line[..] {
            [first, .., last] => (last.0 - first.0) / (line.len() - 1) as f64,
            _ => f64::INFINITY,
        };
        if spacing >= SPARSE {
            let dot = |at: &(f64, f64)| Mark::Dot { at: *at, radius: DOT, color: style.color };
            drawing.marks.extend(line.iter().map(dot));
        }
        style.draw(drawing, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::figures::drawing::Align;

    /// Returns a training that measured `total` in each epoch and `validation` in the second.
    fn training(model: &str, seed: &str, totals: &[f64]) -> TrainingLog {
        let labels = [("model", model), ("seed", seed)];
        let row = |(at, total): (usize, &f64)| {
            let validation = if at == 1 { 2.0 * total } else { f64::NAN };
            vec![(at + 1) as f64, 12.0, *total, validation]
        };
        TrainingLog {
            labels: labels.map(|(axis, label)| (axis.to_owned(), label.to_owned())).into(),
            columns: ["epoch", "steps", "total", "validation"].map(str::to_owned).into(),
            rows: totals.iter().enumerate().map(row).collect(),
        }
    }

    /// Two runs of one model and a shorter one of another.
    fn trainings() -> Vec<TrainingLog> {
        vec![
            training("pcae", "s0", &[8.0, 4.0, 2.0]),
            training("pcae", "s1", &[4.0, 2.0, 0.0]),
            training("ae", "s0", &[9.0, 3.0]),
        ]
    }

    /// Reads a declaration.
    fn spec(more: &str) -> LearningCurvesSpec {
        let text = format!(
            r#"(caption: "c", label: "Figure 2", series: "model", over: ["seed"], {more})"#
        );
        ron::from_str(&text).unwrap()
    }

    fn numbers(curve: &Curve) -> Vec<(usize, f64, f64, f64, usize)> {
        let numbers = |p: &CurvePoint| (p.epoch, p.mean, p.low, p.high, p.runs);
        curve.points.iter().map(numbers).collect()
    }

    #[test]
    fn a_line_has_the_mean_of_the_runs_and_a_band_from_the_lowest_to_the_highest() {
        let figure = spec(r#"titles: {"pcae": "PCAE", "total": "Total loss"}"#);
        let figure = figure.build(&trainings()).unwrap();
        assert_eq!(figure.panels.len(), 1);
        assert_eq!(figure.panels[0].title, "Total loss");
        let curves = &figure.panels[0].curves;
        assert_eq!(curves.iter().map(|curve| &curve.title).collect::<Vec<_>>(), ["PCAE", "ae"]);
        assert_eq!(
            numbers(&curves[0]),
            [(1, 6.0, 4.0, 8.0, 2), (2, 3.0, 2.0, 4.0, 2), (3, 1.0, 0.0, 2.0, 2)]
        );
        assert_eq!(numbers(&curves[1]), [(1, 9.0, 9.0, 9.0, 1), (2, 3.0, 3.0, 3.0, 1)]);
        assert_eq!(
            figure.summaries(),
            [
                "Total loss, PCAE: 1 (0 to 2) in epoch 3, n = 2",
                "Total loss, ae: 3 (3 to 3) in epoch 2, n = 1"
            ]
        );
    }

    #[test]
    fn epochs_without_a_measurement_and_models_without_a_training_are_left_out() {
        let mut trainings = trainings();
        trainings.push(TrainingLog {
            columns: Vec::new(),
            rows: Vec::new(),
            ..training("pca", "s0", &[])
        });
        let figure = spec(r#"columns: ["validation"]"#).build(&trainings).unwrap();
        let curves = &figure.panels[0].curves;
        assert_eq!(curves.len(), 2);
        assert_eq!(numbers(&curves[0]), [(2, 6.0, 4.0, 8.0, 2)]);
    }

    #[test]
    fn a_logarithmic_scale_leaves_out_what_is_not_above_zero() {
        let trainings = [training("pcae", "s0", &[1.0, 0.0, -1.0, 2.0])];
        let figure = spec("scale: Log").build(&trainings).unwrap();
        let epochs: Vec<_> = figure.panels[0].curves[0].points.iter().map(|p| p.epoch).collect();
        assert_eq!(epochs, [1, 4]);
        let none = [training("pcae", "s0", &[0.0, -1.0])];
        insta::assert_snapshot!(spec("scale: Log").build(&none).unwrap_err(),
            @"no training run has a number above 0 in `total`, which a logarithmic scale needs");
        assert!(spec("scale: Linear").build(&none).is_ok());
    }

    #[test]
    fn trainings_that_can_not_be_shown_are_refused() {
        let message = |settings: &str, trainings: &[TrainingLog]| {
            spec(settings).build(trainings).unwrap_err().to_string()
        };
        let mut trainings = trainings();
        trainings[2].columns.extend(["gamma_1", "gamma_2", "gamma_16"].map(str::to_owned));
        insta::assert_snapshot!(message(r#"columns: ["totl"]"#, &trainings),
            @"no training run recorded `totl`, expected one of `epoch`, `steps`, `total`, `validation`, `gamma_1 .. 16`");
        insta::assert_snapshot!(message(r#"columns: ["gamma_1"]"#, &trainings),
            @"no training run has measured `gamma_1` in any epoch");
        insta::assert_snapshot!(message("", &[]), @"there are no training runs to show");
        trainings.push(training("pcae", "s0", &[1.0]));
        insta::assert_snapshot!(message("", &trainings),
            @"training runs 0 and 3 both stand for model=pcae, seed=s0");
        trainings[3].labels.insert("set".to_owned(), "digits".to_owned());
        insta::assert_snapshot!(message("", &trainings),
            @"the records have the axis `set`, which is in none of `series`, `over`: add it to one of them");
    }

    fn svg(settings: &str) -> String {
        Figure::LearningCurves(spec(settings).build(&trainings()).unwrap()).svg().unwrap()
    }

    fn count(svg: &str, tag: &str) -> usize {
        svg.matches(&format!("<{tag} ")).count()
    }

    /// A curve measured in these epochs.
    fn curve(epochs: &[usize]) -> Curve {
        let point = |&epoch: &usize| CurvePoint { epoch, mean: 1.0, low: 1.0, high: 1.0, runs: 1 };
        Curve { title: String::new(), points: epochs.iter().map(point).collect() }
    }

    #[test]
    fn each_series_has_a_line_and_those_with_several_runs_a_band() {
        let svg = svg(r#"titles: {"pcae": "PCAE"}"#);
        // Two lines in the panel and two in the legend.
        assert_eq!(count(&svg, "polyline"), 4);
        assert_eq!(count(&svg, "polygon"), 1);
        for text in ["Epoch", "total", "PCAE", "ae", "line: mean, band: lowest to highest run"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text} is not in {svg}");
        }
    }

    #[test]
    fn each_column_has_a_panel_and_a_lone_measurement_is_a_dot() {
        let svg = svg(r#"columns: ["total", "validation"], scale: Log"#);
        assert_eq!(svg.matches("\nEpoch\n").count(), 2);
        // Both series were validated once; their losses stand far enough apart for dots, too.
        assert_eq!(count(&svg, "circle"), 2 + (3 + 2));
        assert_eq!(count(&svg, "polyline"), 4);
    }

    #[test]
    fn bands_are_explained_only_where_there_are_some() {
        let alone = [training("pcae", "s0", &[2.0, 1.0])];
        let svg = Figure::LearningCurves(spec("").build(&alone).unwrap()).svg().unwrap();
        assert_eq!(count(&svg, "polygon"), 0);
        assert!(!svg.contains("band"));
    }

    #[test]
    fn a_line_is_broken_where_epochs_lie_farther_apart_than_usual() {
        let parts = |epochs: &[usize]| {
            let curve = curve(epochs);
            unbroken(&curve).map(<[CurvePoint]>::len).collect::<Vec<_>>()
        };
        assert_eq!(parts(&[1, 2, 3, 4]), [4]);
        assert_eq!(parts(&[1, 2, 3, 6, 7]), [3, 2]);
        assert_eq!(parts(&[10, 20, 30, 34]), [4], "measured every ten epochs and at the end");
        assert_eq!(parts(&[5]), [1]);
        assert!(parts(&[]).is_empty());
    }

    #[test]
    fn equal_curves_give_equal_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let png = |name: &str| {
            let path = folder.path().join(name);
            let figure = spec("scale: Log").build(&trainings()).unwrap();
            Figure::LearningCurves(figure).write_png(&path).unwrap();
            std::fs::read(path).unwrap()
        };
        let first = png("a.png");
        assert_eq!(first, png("b.png"));
        assert!(first.starts_with(b"\x89PNG"));
    }

    #[test]
    fn many_series_and_epochs_find_their_place() {
        let models = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let totals: Vec<f64> = (1..=300).map(|epoch| 1e3 / f64::from(epoch)).collect();
        let trainings: Vec<_> = models.iter().map(|model| training(model, "s0", &totals)).collect();
        let figure =
            spec(r#"titles: {"h": "a title that alone fills most of the legend's width"}"#);
        let figure = figure.build(&trainings).unwrap();
        let typeface = Typeface::embedded().unwrap();
        let drawing = figure.draw(&typeface);
        for mark in &drawing.marks {
            if let Mark::Text(text) = mark {
                let right = match text.align {
                    Align::Start => text.at.0 + typeface.width(&text.content, text.size),
                    Align::Middle | Align::End => text.at.0,
                };
                assert!(right <= drawing.width && text.at.1 <= drawing.height, "{text:?}");
            }
        }
    }
}
