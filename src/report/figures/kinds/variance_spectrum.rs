//! The variance spectrum: how much of the latent variance each coordinate carries.
//!
//! What: per run, variances divided by their sum, and the running sum in coordinate order;
//! then mean and spread over runs, one series per label of one axis.
//! Reference: PCAE paper, section 5.1 and its figure on bottleneck sizes; how many coordinates
//! reach the threshold is counted in each run (see `coordinate_counts.rs`).
//! Assumptions: coordinates are comparable across runs by position, which those of unordered codes are
//! not: these are sorted by variance in each run.
//! Checked against: hand-computed shares in the tests below.
//!
//! Each panel shows bars (share of each coordinate), their scatter, and the running sum with the
//! threshold as a dashed rule; coordinates that every run needs to reach the threshold are in full
//! color, those that none needs pale, the others between.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::numerics::units::Fraction;
use crate::report::figures::chart::horizontal_axis::HorizontalAxis;
use crate::report::figures::chart::legend::{LABEL_SIZE, Legend, RUN_DOT, SUM_DOT, Symbol};
use crate::report::figures::chart::value_axis::{ValueAxis, percent};
use crate::report::figures::chart::{Chart, Layout, Panel, PlotArea, SCREEN, VerticalLabels};
use crate::report::figures::coordinate_counts::{CoordinateCount, Demand, count};
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{BLACK, Color, Drawing, GRAY, Mark, PALETTE};
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FinishedFigure,
};
use crate::report::figures::titles::display_name;
use crate::report::figures::{FigureError, Scale};
use crate::report::records::aggregate::{AggregateError, RecordFrame, Spread};
use crate::report::records::axis_roles::check_axes;
use crate::report::records::joined_rows::{JoinError, check_fields};
use crate::report::records::record::{Record, RecordError, RecordValue, Values};
use crate::report::tables::tabulate::appearance;

/// The axis added for coordinates; no pipeline axis can have this name.
const COORDINATE: &str = "#coordinate";

/// A variance spectrum as declared in a pipeline.
///
/// ```ron
/// VarianceSpectrum(caption: "Variance of latent coordinates", label: "Figure 1",
///                  series: "model", over: ["seed"], threshold: 0.99, scale: Linear)
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VarianceSpectrumSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 1`.
    pub label: String,
    /// Name of the list of variances in the records.
    #[serde(default = "variances")]
    pub field: String,
    /// The axis whose labels each get a panel.
    pub series: String,
    /// Axes averaged over.
    #[serde(default)]
    pub over: Vec<String>,
    /// Share of variance that counts as enough.
    #[serde(default = "ninety_nine_percent")]
    pub threshold: Fraction,
    /// Scale of the share axis.
    #[serde(default)]
    pub scale: Scale,
    /// How the scatter between runs is shown.
    #[serde(default)]
    pub scatter: Scatter,
    /// Divisor of the standard deviation.
    #[serde(default)]
    pub spread: Spread,
    /// Labels of the series whose models do not order their coordinates: these are sorted by
    /// variance, in each run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unordered: Vec<String>,
    /// Display names of axes and of their labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

fn variances() -> String {
    "variances".to_owned()
}

fn ninety_nine_percent() -> Fraction {
    Fraction::new(0.99).unwrap_or_else(|_| unreachable!("0.99 lies between 0 and 1"))
}

/// How the scatter between runs is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Scatter {
    /// One standard deviation up and down.
    #[default]
    ErrorBars,
    /// A small dot for every run.
    Dots,
}

/// The numbers behind one bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinate {
    /// Mean share of the variance, between 0 and 1.
    pub share: f64,
    /// Standard deviation of the share; none for a single run.
    pub share_std: Option<f64>,
    /// Mean share of this and all earlier coordinates.
    pub cumulative: f64,
    /// The share in every run, in record order.
    pub runs: Vec<f64>,
}

/// One panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Title of the panel.
    pub title: String,
    /// The coordinates in their own order.
    pub coordinates: Vec<Coordinate>,
    /// How many leading coordinates hold the threshold's share.
    pub needed: CoordinateCount,
    /// Whether the coordinates are sorted by variance.
    #[serde(default)]
    pub sorted: bool,
}

impl Series {
    /// Writes how many coordinates reach the threshold, of how many, in how many runs.
    fn summary(&self, threshold: f64) -> String {
        let (needed, count) = (self.needed.text(), self.coordinates.len());
        let runs = self.needed.runs.len();
        let sorted = if self.sorted { ", sorted" } else { "" };
        format!("{} % in {needed} of {count} coordinates{sorted}, n = {runs}", percent(threshold))
    }
}

/// One run of a series.
struct Run {
    shares: Vec<f64>,
    needed: usize,
}

/// A finished variance spectrum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarianceSpectrum {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// Share of variance that counts as enough, between 0 and 1.
    pub threshold: f64,
    /// Scale of the share axis.
    pub scale: Scale,
    /// How the scatter between runs is shown.
    pub scatter: Scatter,
    /// One panel per label, in the order of the records.
    pub series: Vec<Series>,
}

impl VarianceSpectrumSpec {
    /// Computes shares per run, then mean and spread per series and coordinate.
    pub(crate) fn build(&self, records: &[Record]) -> Result<VarianceSpectrum, FigureError> {
        let fields = [self.field.as_str()];
        check_fields(records, &fields).map_err(AggregateError::from)?;
        let series_axis = std::slice::from_ref(&self.series);
        let roles: [(&'static str, &[String]); 2] = [("series", series_axis), ("over", &self.over)];
        check_axes(records, &fields, &roles, &["series", "over"])?;

        let mut runs: BTreeMap<&str, Vec<Run>> = BTreeMap::new();
        let (mut cells, mut counts) = (Vec::new(), Vec::new());
        for (index, record) in records.iter().enumerate() {
            let Some(value) = record.values().get(&self.field) else {
                continue;
            };
            let Some(label) = record.labels().get(&self.series) else {
                let (field, axis) = (self.field.clone(), self.series.clone());
                return Err(AggregateError::Unlabeled { field, record: index, axis }.into());
            };
            self.refuse_twins(&records[..index], record, index)?;
            let run = self.run(value, index, self.unordered.contains(label))?;
            cells.extend(per_coordinate(record, &run.shares)?);
            let needed = RecordValue::Number(run.needed as f64);
            let needed = Values::from([("needed".to_owned(), needed)]);
            counts.push(Record::new(record.labels().clone(), needed)?);
            let known = runs.entry(label).or_default();
            let (first, second) = (known.first().map(|run| run.shares.len()), run.shares.len());
            if let Some(first) = first.filter(|first| *first != second) {
                return Err(FigureError::UnequalLengths { series: label.clone(), first, second });
            }
            known.push(run);
        }

        let frame = RecordFrame::of(&cells, &["share", "cumulative"])?;
        let by = [self.series.clone(), COORDINATE.to_owned()];
        let mut means = BTreeMap::new();
        for summary in frame.summarize("share", &by, self.spread)? {
            means.insert(summary.labels, (summary.mean, summary.std));
        }
        let mut cumulative = BTreeMap::new();
        for summary in frame.summarize("cumulative", &by, self.spread)? {
            cumulative.insert(summary.labels, summary.mean);
        }

        let mut needed = BTreeMap::new();
        let counts = RecordFrame::of(&counts, &["needed"])?;
        for summary in counts.summarize("needed", series_axis, self.spread)? {
            needed.insert(summary.labels, (summary.mean, summary.std));
        }

        let labels = appearance(records, &fields, &self.series);
        if let Some(label) = self.unordered.iter().find(|one| !labels.contains(&one.as_str())) {
            let known = labels.into_iter().map(str::to_owned).collect();
            return Err(FigureError::UnknownSeries { label: label.clone(), known });
        }
        let series = labels.into_iter().map(|label| {
            let runs = runs.get(label).map_or(&[][..], Vec::as_slice);
            let width = runs.first().map_or(0, |run| run.shares.len());
            let coordinates: Vec<Coordinate> = (0..width)
                .map(|k| {
                    let place = vec![label.to_owned(), k.to_string()];
                    let (share, share_std) = means.get(&place).copied().unwrap_or_default();
                    let cumulative = cumulative.get(&place).copied().unwrap_or_default();
                    let runs = runs.iter().map(|run| run.shares[k]).collect();
                    Coordinate { share, share_std, cumulative, runs }
                })
                .collect();
            let title = display_name(&self.titles, label);
            let (mean, std) =
                needed.get([label.to_owned()].as_slice()).copied().unwrap_or_default();
            let runs = runs.iter().map(|run| run.needed).collect();
            let sorted = self.unordered.iter().any(|one| one == label);
            Series { title, coordinates, needed: CoordinateCount { runs, mean, std }, sorted }
        });
        Ok(VarianceSpectrum {
            caption: self.caption.clone(),
            label: self.label.clone(),
            threshold: self.threshold.get(),
            scale: self.scale,
            scatter: self.scatter,
            series: series.collect(),
        })
    }

    /// Divides the variances of one run by their sum, and counts how many reach the threshold.
    fn run(
        &self,
        value: &RecordValue,
        record: usize,
        is_unordered: bool,
    ) -> Result<Run, FigureError> {
        let field = self.field.clone();
        let RecordValue::List(variances) = value else {
            let (expected, found) = ("a list", value.kind());
            let error = JoinError::WrongKind { field, record, expected, found };
            return Err(AggregateError::from(error).into());
        };
        if let Some(index) = variances.iter().position(|variance| *variance < 0.0) {
            let value = variances[index];
            return Err(FigureError::NegativeVariance { field, record, index, value });
        }
        let total: f64 = variances.iter().sum();
        if total <= 0.0 {
            return Err(FigureError::NoVariance { field, record });
        }
        let mut variances = variances.clone();
        if is_unordered {
            variances.sort_by(|a, b| b.total_cmp(a));
        }
        let shares = variances.iter().map(|variance| variance / total).collect();
        Ok(Run { shares, needed: count(&variances, self.threshold.get()) })
    }

    /// Refuses a second record with the labels of an earlier one.
    fn refuse_twins(
        &self,
        earlier: &[Record],
        record: &Record,
        second: usize,
    ) -> Result<(), AggregateError> {
        let twin = |other: &Record| {
            other.labels() == record.labels() && other.values().contains_key(&self.field)
        };
        let Some(first) = earlier.iter().position(twin) else {
            return Ok(());
        };
        let labels: Vec<String> =
            record.labels().iter().map(|(axis, label)| format!("{axis}={label}")).collect();
        let (field, labels) = (self.field.clone(), labels.join(", "));
        Err(JoinError::Conflict { field, labels, first, second }.into())
    }
}

/// Turns one run into one record per coordinate, so that the frame can average them.
fn per_coordinate(record: &Record, shares: &[f64]) -> Result<Vec<Record>, RecordError> {
    let mut sum = 0.0;
    let coordinates = shares.iter().enumerate().map(|(k, share)| {
        sum += share;
        let mut labels = record.labels().clone();
        labels.insert(COORDINATE.to_owned(), k.to_string());
        let values = Values::from([
            ("share".to_owned(), RecordValue::Number(*share)),
            ("cumulative".to_owned(), RecordValue::Number(sum)),
        ]);
        Record::new(labels, values)
    });
    coordinates.collect()
}

impl FigureKind for VarianceSpectrumSpec {
    type Finished = VarianceSpectrum;

    const SHOWS: &'static str = "a spectrum shows records";
    const INPUTS: &'static [&'static str] = &["records"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        let mut checks = FigureChecks::labeled(FigureFamily::Records, &self.titles);
        checks.value = Some(("field", &self.field));
        checks.roles = vec![("series", std::slice::from_ref(&self.series)), ("over", &self.over)];
        Some(checks)
    }

    fn finish(&self, inputs: &FigureInputs) -> Result<VarianceSpectrum, FigureError> {
        self.build(&inputs.records)
    }
}

const AXIS_ROOM: f64 = 52.0;
const PANEL_GAP: f64 = 24.0;
const ROW_GAP: f64 = 18.0;
const TITLE_ROOM: f64 = 44.0;
/// From the upper edge of the titles to the plot area.
const HEAD: f64 = 43.0;
const FOOT_ROOM: f64 = 46.0;
const LEGEND_GAP: f64 = 9.0;
const LEGEND_ROOM: f64 = 26.0;
const PANEL_HEIGHT: f64 = 220.0;
/// Width of a panel, for one and for several side by side.
const PANEL_WIDTHS: [f64; 4] = [510.0, 330.0, 270.0, 216.0];
/// Bar width as a share of the room of one coordinate.
const BAR: f64 = 0.66;

/// Chooses panels per row so that rows are as equally filled as possible.
const fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 => 2,
        3 | 5 | 6 | 9 => 3,
        _ => 4,
    }
}

/// Returns the strength of the color of a coordinate.
const fn strength(demand: Demand) -> f64 {
    match demand {
        Demand::Every => 1.0,
        Demand::Some => 0.6,
        Demand::None => 0.25,
    }
}

impl FinishedFigure for VarianceSpectrum {
    fn summaries(&self) -> Vec<String> {
        let line =
            |series: &Series| format!("{}: {}", series.title, series.summary(self.threshold));
        self.series.iter().map(line).collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let shares = self.series.iter().flat_map(|series| &series.coordinates);
        let axis = ValueAxis::of_shares(self.scale, shares.map(|coordinate| coordinate.share));
        let width = PANEL_WIDTHS[columns(self.series.len()) - 1];
        let panel = |series: &Series| {
            let mut summary = series.summary(self.threshold);
            if typeface.width(&summary, LABEL_SIZE) > width {
                // The axis below says what is counted; the numbers must stay.
                summary = summary.replace(" coordinates", "");
            }
            let summary = typeface.fitted(&summary, LABEL_SIZE, width);
            Panel {
                title: series.title.clone(),
                notes: vec![vec![summary]],
                x: HorizontalAxis::Coordinates(series.coordinates.len()),
                y: axis.clone(),
            }
        };
        let panels: Vec<Panel> = self.series.iter().map(panel).collect();
        let chart = Chart {
            panels: &panels,
            layout: self.layout(width, typeface),
            x_title: "Latent coordinate",
            y_title: Some("Share of variance (%)"),
        };
        chart.draw(typeface, |drawing, index, area| {
            let series = &self.series[index];
            let plot = Plot { figure: self, series, panel: &panels[index], area };
            plot.draw_bars(drawing, PALETTE[index % PALETTE.len()]);
            let threshold = plot.y(self.threshold);
            drawing.dashed_rule((area.left, area.right()), threshold, 1.0, GRAY);
            plot.draw_running_sum(drawing);
        })
    }
}

impl VarianceSpectrum {
    /// Places panels of a fixed size, of which only the leftmost of a row has the share axis, and
    /// the legend in one line below.
    fn layout(&self, width: f64, typeface: &Typeface) -> Layout {
        let style = &SCREEN;
        let columns = columns(self.series.len());
        let rows = self.series.len().div_ceil(columns).max(1);
        let left = style.margin + AXIS_ROOM;
        let panels_width = columns as f64 * (width + PANEL_GAP) - PANEL_GAP;
        let (legend, legend_length) = Legend::line(self.legend(), style.legend, typeface, left);
        let step = TITLE_ROOM + PANEL_HEIGHT + FOOT_ROOM + ROW_GAP;
        let bottom = style.margin + rows as f64 * step - ROW_GAP;
        let area = |index: usize| PlotArea {
            left: left + (index % columns) as f64 * (width + PANEL_GAP),
            top: style.margin + (index / columns) as f64 * step + TITLE_ROOM,
            width,
            height: PANEL_HEIGHT,
        };
        Layout {
            style,
            page: (
                left + panels_width.max(legend_length) + style.margin,
                bottom + LEGEND_ROOM + style.margin,
            ),
            columns,
            areas: (0..self.series.len()).map(area).collect(),
            head: HEAD,
            vertical_labels: VerticalLabels::FirstColumn,
            legend,
            legend_at: (0.0, bottom + LEGEND_GAP),
        }
    }

    /// Returns the entries that this figure needs, without the color of a series, since each panel
    /// has its own.
    fn legend(&self) -> Vec<(Symbol, String)> {
        let threshold = percent(self.threshold);
        let bar = |demand| Symbol::Bar(GRAY.tint(strength(demand)));
        let mut entries = vec![(bar(Demand::Every), format!("needed for {threshold} %"))];
        let disagree = |series: &Series| {
            (0..series.coordinates.len()).any(|k| series.needed.demand(k) == Demand::Some)
        };
        if self.series.iter().any(disagree) {
            entries.push((bar(Demand::Some), "in some runs".to_owned()));
        }
        entries.push((bar(Demand::None), "not needed".to_owned()));
        entries.push((Symbol::RunningSum, "cumulative".to_owned()));
        entries.push((Symbol::Dashes(21.0), format!("{threshold} % threshold")));
        let mut coordinates = self.series.iter().flat_map(|series| &series.coordinates);
        if coordinates.any(|coordinate| coordinate.share_std.is_some()) {
            entries.push(match self.scatter {
                Scatter::ErrorBars => (Symbol::ErrorBar, "± 1 std".to_owned()),
                Scatter::Dots => (Symbol::RunDot, "single run".to_owned()),
            });
        }
        entries
    }
}

/// The series of one panel, with its axes.
struct Plot<'a> {
    figure: &'a VarianceSpectrum,
    series: &'a Series,
    panel: &'a Panel,
    area: PlotArea,
}

impl Plot<'_> {
    fn room(&self) -> f64 {
        self.panel.x.step(self.area)
    }

    fn x(&self, index: usize) -> f64 {
        self.panel.x.x((index + 1) as f64, self.area)
    }

    fn y(&self, share: f64) -> f64 {
        self.area.y(self.panel.y.height(share))
    }

    fn draw_bars(&self, drawing: &mut Drawing, color: Color) {
        let half = self.room() * BAR / 2.0;
        for (index, coordinate) in self.series.coordinates.iter().enumerate() {
            let color = color.tint(strength(self.series.needed.demand(index)));
            let (x, y) = (self.x(index), self.y(coordinate.share));
            if y < self.area.bottom() {
                drawing.marks.push(Mark::Rect {
                    from: (x - half, y),
                    to: (x + half, self.area.bottom()),
                    color,
                });
            }
        }
        for (index, coordinate) in self.series.coordinates.iter().enumerate() {
            let x = self.x(index);
            match (self.figure.scatter, coordinate.share_std) {
                (Scatter::ErrorBars, Some(std)) => {
                    let (low, high) = (coordinate.share - std, coordinate.share + std);
                    self.draw_error_bar(drawing, x, (self.y(high), self.y(low)));
                }
                (Scatter::Dots, _) => self.draw_dots(drawing, x, &coordinate.runs),
                (Scatter::ErrorBars, None) => {}
            }
        }
    }

    fn draw_error_bar(&self, drawing: &mut Drawing, x: f64, (high, low): (f64, f64)) {
        // A bar too short to see would only look like a smudge on the axis.
        if low - high < 1.0 {
            return;
        }
        let cap = (self.room() * BAR / 4.0).min(3.5);
        drawing.vertical_rule(x, (high, low), 1.0, BLACK);
        drawing.horizontal_rule((x - cap, x + cap), high, 1.0, BLACK);
        if low < self.area.bottom() {
            drawing.horizontal_rule((x - cap, x + cap), low, 1.0, BLACK);
        }
    }

    fn draw_dots(&self, drawing: &mut Drawing, x: f64, runs: &[f64]) {
        let span = self.room() * BAR * 0.7;
        for (run, share) in runs.iter().enumerate() {
            let offset = ((run as f64 + 0.5) / runs.len() as f64 - 0.5) * span;
            let at = (x + offset, self.y(*share));
            // Runs at zero would only clutter the axis.
            if self.area.bottom() - at.1 >= 1.0 {
                drawing.marks.push(Mark::Dot { at, radius: RUN_DOT, color: BLACK });
            }
        }
    }

    fn draw_running_sum(&self, drawing: &mut Drawing) {
        let coordinates = self.series.coordinates.iter().enumerate();
        let points: Vec<(f64, f64)> =
            coordinates.map(|(index, c)| (self.x(index), self.y(c.cumulative))).collect();
        drawing.marks.push(Mark::Path { points: points.clone(), width: 1.5, color: BLACK });
        let radius = (self.room() * 0.2).clamp(1.0, SUM_DOT);
        // The first sum is the first bar: a dot there would hide that bar's scatter.
        for at in points.into_iter().skip(1) {
            drawing.marks.push(Mark::Dot { at, radius, color: BLACK });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::records::record::Labels;

    /// Returns the variances of one run.
    fn run(model: &str, seed: &str, variances: &[f64]) -> Record {
        let labels = [("model", model), ("seed", seed)];
        let labels: Labels = labels.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        let values = Values::from([("variances".to_owned(), RecordValue::List(variances.into()))]);
        Record::new(labels, values).unwrap()
    }

    /// Reads a declaration the way pipeline files are read.
    fn spec(more: &str) -> VarianceSpectrumSpec {
        use ron::extensions::Extensions;
        let text = format!(
            r#"(caption: "c", label: "Figure 1", series: "model", over: ["seed"], {more})"#
        );
        ron::Options::default()
            .with_default_extension(Extensions::UNWRAP_VARIANT_NEWTYPES | Extensions::IMPLICIT_SOME)
            .from_str(&text)
            .unwrap()
    }

    /// Two models with three and two coordinates.
    fn runs() -> Vec<Record> {
        vec![
            run("pcae", "s0", &[6.0, 3.0, 1.0]),
            run("pcae", "s1", &[16.0, 2.0, 2.0]),
            run("hae", "s0", &[1.0, 1.0]),
        ]
    }

    #[test]
    fn shares_are_averaged_over_runs_with_their_spread() {
        let figure = spec("").build(&runs()).unwrap();
        let titles: Vec<&str> = figure.series.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles, ["pcae", "hae"]);
        // Shares 0.6, 0.3, 0.1 and 0.8, 0.1, 0.1.
        let first = &figure.series[0].coordinates[0];
        assert!((first.share - 0.7).abs() < 1e-12);
        assert!((first.share_std.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(first.runs, [0.6, 0.8]);
        let second = &figure.series[0].coordinates[1];
        assert!((second.cumulative - 0.9).abs() < 1e-12);
        assert_eq!(figure.series[1].coordinates[0].share_std, None);
    }

    #[test]
    fn the_needed_coordinates_are_counted_in_each_run_not_in_the_mean_spectrum() {
        let figure = spec("threshold: 0.7").build(&runs()).unwrap();
        // The mean share of the first coordinate is 0.7 already, but one run needs two.
        assert_eq!(figure.series[0].needed.runs, [2, 1]);
        let summaries = |settings: &str| -> Vec<String> {
            let figure = spec(settings).build(&runs()).unwrap();
            figure.series.iter().map(|series| series.summary(figure.threshold)).collect()
        };
        let two = "70 % in 2 of 2 coordinates, n = 1";
        assert_eq!(summaries("threshold: 0.7"), ["70 % in 1.5 ± 0.5 of 3 coordinates, n = 2", two]);
        assert_eq!(
            summaries("threshold: 0.7, spread: Sample"),
            ["70 % in 1.5 ± 0.7 of 3 coordinates, n = 2", two]
        );
        assert_eq!(summaries("threshold: 1.0")[0], "100 % in 3 of 3 coordinates, n = 2");
    }

    #[test]
    fn coordinates_of_unordered_codes_are_sorted_in_each_run() {
        let records = [
            run("pcae", "s0", &[1.0, 3.0]),
            run("irmae", "s0", &[1.0, 3.0]),
            run("irmae", "s1", &[3.0, 1.0]),
        ];
        let settings = r#"unordered: ["irmae"], threshold: 0.7"#;
        let figure = spec(settings).build(&records).unwrap();
        let first = |series: usize| figure.series[series].coordinates[0].share;
        assert_eq!((first(0), first(1)), (0.25, 0.75));
        assert_eq!(figure.series[1].needed.runs, [1, 1]);
        assert_eq!(figure.series[1].summary(0.7), "70 % in 1 of 2 coordinates, sorted, n = 2");
        let unknown = spec(r#"unordered: ["hae"]"#).build(&records).unwrap_err().to_string();
        assert_eq!(unknown, "no series is `hae`, expected one of `pcae`, `irmae`");
    }

    #[test]
    fn runs_that_cannot_be_averaged_are_refused() {
        let message = |more: Record| {
            let records = [runs(), vec![more]].concat();
            spec("").build(&records).unwrap_err().to_string()
        };
        insta::assert_snapshot!(message(run("pcae", "s2", &[1.0])),
            @"`pcae` has runs with 3 and with 1 coordinates, expected one number");
        insta::assert_snapshot!(message(run("pcae", "s2", &[1.0, -0.5, 0.0])),
            @"element 1 of `variances` in record 3 is -0.5, expected at least 0");
        insta::assert_snapshot!(message(run("pcae", "s2", &[0.0, 0.0, 0.0])),
            @"the variances `variances` of record 3 sum to zero, so they have no shares");
        insta::assert_snapshot!(message(run("pcae", "s0", &[1.0, 1.0, 1.0])),
            @"records 0 and 3 both give `variances` for model=pcae, seed=s0");
    }

    fn texts(settings: &str, records: &[Record]) -> Vec<String> {
        let figure = spec(settings).build(records).unwrap();
        figure.legend().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn scatter_is_explained_only_where_there_is_some() {
        let mut expected =
            vec!["needed for 99.9 %", "not needed", "cumulative", "99.9 % threshold", "± 1 std"];
        assert_eq!(texts("threshold: 0.999", &runs()), expected);
        expected.pop();
        assert_eq!(texts("threshold: 0.999", &runs()[2..]), expected);
    }

    #[test]
    fn coordinates_that_only_some_runs_need_have_an_entry_where_there_are_any() {
        let entries = texts("threshold: 0.7", &runs());
        assert_eq!(entries[..3], ["needed for 70 %", "in some runs", "not needed"]);
    }

    fn figure(more: &str) -> Figure {
        Figure::VarianceSpectrum(spec(more).build(&runs()).unwrap())
    }

    fn count(svg: &str, tag: &str) -> usize {
        svg.matches(&format!("<{tag} ")).count()
    }

    #[test]
    fn the_svg_has_one_line_per_panel_and_one_dot_per_further_coordinate() {
        let svg = figure("").svg().unwrap();
        assert_eq!(count(&svg, "polyline"), 2);
        // Coordinates 2 and 3 of one panel, 2 of the other, and the legend's.
        assert_eq!(count(&svg, "circle"), 2 + 1 + 1);
        // Panel titles, summaries, axis titles; six share labels and their title; coordinate
        // labels; five legend entries.
        assert_eq!(count(&svg, "text"), 2 * 3 + 7 + (3 + 2) + 5);
        for text in ["Share of variance (%)", "99 % in 3 of 3 coordinates, n = 2"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn every_run_is_a_dot_on_request() {
        let with_dots = figure("scatter: Dots").svg().unwrap();
        let without = figure("").svg().unwrap();
        // Three coordinates of two runs, two of one run, and the legend's.
        assert_eq!(count(&with_dots, "circle") - count(&without, "circle"), 3 * 2 + 2 + 1);
    }

    #[test]
    fn a_narrow_panel_keeps_the_numbers_of_its_summary() {
        let runs: Vec<_> = ["a", "b", "c", "d"]
            .into_iter()
            .flat_map(|model| {
                // The first run needs all coordinates, the second all but one.
                let mut variances = vec![1.0; 100];
                let first = run(model, "s0", &variances);
                variances[99] = 0.0;
                [first, run(model, "s1", &variances)]
            })
            .collect();
        let figure = Figure::VarianceSpectrum(spec("threshold: 0.9999").build(&runs).unwrap());
        assert!(figure.svg().unwrap().contains("99.99 % in 99.5 ± 0.5 of 100, n = 2"));
        assert_eq!(figure.summaries()[3], "d: 99.99 % in 99.5 ± 0.5 of 100 coordinates, n = 2");
    }

    #[test]
    fn equal_figures_give_equal_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let png = |name: &str| {
            let path = folder.path().join(name);
            figure("scale: Log").write_png(&path).unwrap();
            std::fs::read(path).unwrap()
        };
        let first = png("a.png");
        assert_eq!(first, png("b.png"));
        assert!(first.starts_with(b"\x89PNG"));
        assert_eq!(figure("").svg().unwrap(), figure("").svg().unwrap());
    }
}
