//! Bars: one number per label with its scatter, lying down so that long labels can be read.
//!
//! What: mean and standard deviation over runs, for each label of one axis and, side by side, for
//! each label of another.
//! Checked against: hand-computed means in the tests below.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::figures::chart::PRINT;
use crate::report::figures::chart::legend::{LABEL_SIZE, Legend, Symbol};
use crate::report::figures::chart::value_axis::{ValueAxis, four_digits, span};
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Align, BLACK, Drawing, FAINT, GRAY, Mark, PALETTE};
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FinishedFigure,
};
use crate::report::figures::titles::display_name;
use crate::report::figures::{FigureError, Scale};
use crate::report::records::aggregate::{AggregateError, RecordFrame, Spread};
use crate::report::records::axis_roles::check_axes;
use crate::report::records::joined_rows::check_fields;
use crate::report::records::record::Record;
use crate::report::tables::tabulate::appearance;

/// A bar chart as declared in a pipeline.
///
/// ```ron
/// Bars(caption: "Training time", label: "Figure 9", field: "seconds_per_epoch",
///      title: "Seconds per epoch", bars: "model", groups: "latent", over: ["seed"], scale: Log)
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BarsSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 1`.
    pub label: String,
    /// Name of the number in the records.
    pub field: String,
    /// Title of the number's axis, with its unit.
    pub title: String,
    /// The axis whose labels each get a bar.
    pub bars: String,
    /// The axis whose labels each get a color, side by side under one label.
    #[serde(default)]
    pub groups: Option<String>,
    /// Axes averaged over.
    #[serde(default)]
    pub over: Vec<String>,
    /// Scale of the number's axis.
    #[serde(default)]
    pub scale: Scale,
    /// Divisor of the standard deviation.
    #[serde(default)]
    pub spread: Spread,
    /// Display names of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

/// The runs behind one bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Mean over the runs.
    pub mean: f64,
    /// Standard deviation; none for a single run.
    pub std: Option<f64>,
    /// Number of runs.
    pub runs: usize,
}

/// The bars of one label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BarRow {
    /// What the bars stand for.
    pub title: String,
    /// One bar for each group; none where there are no records.
    pub bars: Vec<Option<Bar>>,
}

/// Finished bars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// Title of the number's axis.
    pub title: String,
    /// Scale of the number's axis.
    pub scale: Scale,
    /// What each color stands for; one without a name if there is only one.
    pub groups: Vec<String>,
    /// One row for each label, in the order of the records.
    pub rows: Vec<BarRow>,
}

impl BarsSpec {
    /// Computes mean and spread for each bar.
    fn build(&self, records: &[Record]) -> Result<Bars, FigureError> {
        let fields = [self.field.as_str()];
        check_fields(records, &fields).map_err(AggregateError::from)?;
        let groups: Vec<String> = self.groups.iter().cloned().collect();
        let roles: [(&'static str, &[String]); 3] =
            [("bars", std::slice::from_ref(&self.bars)), ("groups", &groups), ("over", &self.over)];
        check_axes(records, &fields, &roles, &["bars", "groups", "over"])?;
        let by: Vec<String> = std::iter::once(self.bars.clone()).chain(groups).collect();
        let mut found: BTreeMap<Vec<String>, Bar> = BTreeMap::new();
        let frame = RecordFrame::of(records, &fields)?;
        for summary in frame.summarize(&self.field, &by, self.spread)? {
            let (mean, std, runs) = (summary.mean, summary.std, summary.sources.len());
            if self.scale == Scale::Log && mean <= 0.0 {
                let (field, labels) = (self.field.clone(), summary.labels.join(", "));
                return Err(FigureError::NotAboveZero { field, labels, value: mean });
            }
            found.insert(summary.labels, Bar { mean, std, runs });
        }
        let groups = match &self.groups {
            Some(axis) => appearance(records, &fields, axis).into_iter().map(Some).collect(),
            None => vec![None],
        };
        let row = |label: &str| {
            let bar = |group: Option<&str>| {
                let labels: Vec<String> =
                    std::iter::once(label).chain(group).map(str::to_owned).collect();
                found.get(&labels).cloned()
            };
            BarRow {
                title: display_name(&self.titles, label),
                bars: groups.iter().copied().map(bar).collect(),
            }
        };
        Ok(Bars {
            caption: self.caption.clone(),
            label: self.label.clone(),
            title: self.title.clone(),
            scale: self.scale,
            groups: groups
                .iter()
                .map(|group| group.map_or_else(String::new, |g| display_name(&self.titles, g)))
                .collect(),
            rows: appearance(records, &fields, &self.bars).into_iter().map(row).collect(),
        })
    }
}

impl FigureKind for BarsSpec {
    type Finished = Bars;

    const SHOWS: &'static str = "bars show records";
    const INPUTS: &'static [&'static str] = &["records"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        let mut checks = FigureChecks::labeled(FigureFamily::Records, &self.titles);
        checks.value = Some(("field", &self.field));
        checks.roles = vec![
            ("bars", std::slice::from_ref(&self.bars)),
            ("groups", self.groups.as_slice()),
            ("over", &self.over),
        ];
        Some(checks)
    }

    fn finish(&self, inputs: &FigureInputs) -> Result<Bars, FigureError> {
        self.build(&inputs.records)
    }
}

impl Bars {
    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.rows.iter().flat_map(|row| row.bars.iter().flatten())
    }

    fn axis(&self) -> ValueAxis {
        let ends = self.bars().flat_map(|bar| {
            let std = bar.std.unwrap_or_default();
            [bar.mean, bar.mean + std, bar.mean - std]
        });
        let shown = ends.filter(|value| self.scale == Scale::Linear || *value > 0.0);
        let (low, high) = span(shown);
        match self.scale {
            Scale::Linear => ValueAxis::fitted(self.scale, low.min(0.0), high.max(0.0)),
            // A bar needs a length, also the shortest.
            Scale::Log => ValueAxis::fitted(self.scale, low / 2.0, high),
        }
    }
}

/// As wide as a column of a paper, so that the smallest text is printed at 7 points.
const PAGE: f64 = 390.0;
const MARGIN: f64 = 12.0;
const LABEL_GAP: f64 = 7.0;
/// Room of all labels, at most.
const MOST_LABEL: f64 = 130.0;
const BAR_HEIGHT: f64 = 14.0;
const ROW_GAP: f64 = 9.0;
const FOOT_ROOM: f64 = 44.0;
const AXIS_TITLE_SIZE: f64 = 12.5;
/// Between a bar and its number.
const NUMBER_GAP: f64 = 5.0;

impl FinishedFigure for Bars {
    /// Returns one line on each bar.
    fn summaries(&self) -> Vec<String> {
        let lines = self.rows.iter().flat_map(|row| {
            row.bars.iter().zip(&self.groups).filter_map(|(bar, group)| {
                let Bar { mean, std, runs } = bar.as_ref()?;
                let comma = if group.is_empty() { "" } else { ", " };
                let std = std.map_or_else(String::new, |std| format!(" ± {}", four_digits(std)));
                Some(format!(
                    "{}{comma}{group}: {}{std}, n = {runs}",
                    row.title,
                    four_digits(*mean)
                ))
            })
        });
        lines.collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| typeface.width(&text, LABEL_SIZE)).fold(0.0, f64::max)
        };
        let label_room = widest(&mut self.rows.iter().map(|row| row.title.clone())).min(MOST_LABEL);
        let number_room = widest(&mut self.bars().map(|bar| four_digits(bar.mean))) + NUMBER_GAP;
        let left = MARGIN + label_room + LABEL_GAP;
        let width = PAGE - MARGIN - number_room - left;
        let row_height = self.groups.len() as f64 * BAR_HEIGHT + ROW_GAP;
        let top = MARGIN;
        let bottom = top + ROW_GAP / 2.0 + self.rows.len() as f64 * row_height;
        let mut entries: Vec<(Symbol, String)> = Vec::new();
        if self.groups.iter().any(|group| !group.is_empty()) {
            let entry = |(index, group): (usize, &String)| {
                (Symbol::Area(PALETTE[index % PALETTE.len()]), group.clone())
            };
            entries.extend(self.groups.iter().enumerate().map(entry));
        }
        if self.bars().any(|bar| bar.std.is_some()) {
            entries.push((Symbol::LevelErrorBar, "± 1 std".to_owned()));
        }
        let legend = Legend::wrapped(entries, PRINT.legend, typeface, PAGE - 2.0 * MARGIN);
        let height = bottom + FOOT_ROOM + legend.height() + MARGIN;
        let mut drawing = Drawing { width: PAGE, height: height.ceil(), marks: Vec::new() };
        let axis = self.axis();
        let x = |value: f64| left + axis.height(value) * width;
        draw_axis(&mut drawing, &axis, typeface, (left, width), (top, bottom));
        for (index, row) in self.rows.iter().enumerate() {
            let row_top = top + ROW_GAP / 2.0 + index as f64 * row_height;
            let middle = row_top + self.groups.len() as f64 * BAR_HEIGHT / 2.0;
            let label = typeface.fitted(&row.title, LABEL_SIZE, MOST_LABEL);
            drawing.text(&label, (left - LABEL_GAP, middle + 4.0), LABEL_SIZE, Align::End, BLACK);
            for (group, bar) in row.bars.iter().enumerate() {
                let Some(bar) = bar else { continue };
                let bar_top = row_top + group as f64 * BAR_HEIGHT;
                let zero = if self.scale == Scale::Linear { x(0.0) } else { left };
                let ends = (x(bar.mean).min(zero), x(bar.mean).max(zero));
                let color = PALETTE[group % PALETTE.len()];
                let (from, to) = ((ends.0, bar_top + 1.0), (ends.1, bar_top + BAR_HEIGHT - 1.0));
                drawing.marks.push(Mark::Rect { from, to, color });
                let reach = draw_scatter(&mut drawing, bar, &x, bar_top + BAR_HEIGHT / 2.0);
                let at = (reach.max(ends.1) + NUMBER_GAP, bar_top + BAR_HEIGHT / 2.0 + 4.0);
                drawing.text(&four_digits(bar.mean), at, LABEL_SIZE, Align::Start, GRAY);
            }
        }
        let title = typeface.fitted(&self.title, AXIS_TITLE_SIZE, PAGE - 2.0 * MARGIN);
        let half = typeface.width(&title, AXIS_TITLE_SIZE) / 2.0;
        let center = (left + width / 2.0).clamp(MARGIN + half, PAGE - MARGIN - half);
        drawing.text(&title, (center, bottom + 35.0), AXIS_TITLE_SIZE, Align::Middle, BLACK);
        legend.draw(&mut drawing, (MARGIN, bottom + FOOT_ROOM));
        drawing
    }
}

/// Draws the error bar of a bar; returns how far right it reaches.
fn draw_scatter(drawing: &mut Drawing, bar: &Bar, x: &dyn Fn(f64) -> f64, middle: f64) -> f64 {
    let std = bar.std.unwrap_or_default();
    let (low, high) = (x(bar.mean - std), x(bar.mean + std));
    // One too short to see would only look like a smudge.
    if high - low >= 1.0 {
        drawing.horizontal_rule((low, high), middle, 1.0, BLACK);
        for end in [low, high] {
            drawing.vertical_rule(end, (middle - 3.0, middle + 3.0), 1.0, BLACK);
        }
    }
    high
}

fn draw_axis(
    drawing: &mut Drawing,
    axis: &ValueAxis,
    typeface: &Typeface,
    (left, width): (f64, f64),
    (top, bottom): (f64, f64),
) {
    let mut free = f64::NEG_INFINITY;
    for (tick, label) in axis.ticks() {
        let x = left + axis.height(tick) * width;
        drawing.vertical_rule(x, (top, bottom), 0.75, FAINT);
        let half = typeface.width(&label, LABEL_SIZE) / 2.0;
        if x - half >= free {
            drawing.vertical_rule(x, (bottom, bottom + 4.0), 1.0, GRAY);
            drawing.text(&label, (x, bottom + 17.0), LABEL_SIZE, Align::Middle, BLACK);
            free = x + half + LABEL_GAP;
        }
    }
    drawing.horizontal_rule((left, left + width), bottom, 1.0, GRAY);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;
    use crate::report::records::record::{Labels, RecordValue, Values};

    fn run(model: &str, latent: &str, seed: &str, seconds: f64) -> Record {
        let labels = [("model", model), ("latent", latent), ("seed", seed)];
        let labels: Labels = labels.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        Record::new(labels, Values::from([("seconds".to_owned(), RecordValue::Number(seconds))]))
            .unwrap()
    }

    fn spec(settings: &str) -> BarsSpec {
        let text = format!(
            r#"(caption: "c", label: "l", field: "seconds", title: "Seconds per epoch",
               bars: "model", groups: Some("latent"), over: ["seed"], {settings})"#
        );
        ron::from_str(&text).unwrap()
    }

    fn runs() -> Vec<Record> {
        vec![
            run("pcae", "8", "s0", 1.0),
            run("pcae", "8", "s1", 3.0),
            run("pcae", "64", "s0", 4.0),
            run("ae", "8", "s0", 0.5),
        ]
    }

    #[test]
    fn a_bar_has_the_mean_of_its_runs_and_their_spread() {
        let figure = spec(r#"titles: {"pcae": "PCAE"}"#).build(&runs()).unwrap();
        assert_eq!(figure.groups, ["8", "64"]);
        assert_eq!(figure.rows[1].bars[1], None);
        let figure = Figure::Bars(figure);
        assert_eq!(
            figure.summaries(),
            ["PCAE, 8: 2 ± 1, n = 2", "PCAE, 64: 4, n = 1", "ae, 8: 0.5, n = 1"]
        );
        let svg = figure.svg().unwrap();
        for text in ["Seconds per epoch", "PCAE", "ae", "± 1 std"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text}");
        }
    }

    #[test]
    fn a_logarithmic_bar_needs_a_number_above_zero() {
        let records = [runs(), vec![run("vae", "8", "s0", 0.0)]].concat();
        assert!(spec("").build(&records).is_ok());
        assert_eq!(
            spec("scale: Log").build(&records).unwrap_err().to_string(),
            "`seconds` of vae, 8 is 0, but a logarithmic scale needs a number above 0"
        );
    }

    #[test]
    fn many_bars_with_long_labels_find_their_place() {
        let typeface = Typeface::embedded().unwrap();
        let named = |index: u32| format!("a model with quite a long name {index}");
        let run = |index: u32| run(&named(index), "8", "s0", f64::from(index).exp());
        let records: Vec<Record> = (0..12).map(run).collect();
        for scale in ["Linear", "Log"] {
            let figure = spec(&format!("scale: {scale}")).build(&records).unwrap();
            assert_inside(&figure.draw(&typeface));
        }
        assert_inside(&spec("").build(&records[..1]).unwrap().draw(&typeface));
    }
}
