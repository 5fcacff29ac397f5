//! Panels with two axes: where they stand on the page, their grids, ticks, titles and legend.
//!
//! A figure gives its [`Panel`]s, a [`Layout`] and a [`Legend`], and draws the series of each panel
//! itself; everything around them is drawn here. In [`Layout::page`] one panel is as wide as a
//! column of a paper (8.5 cm), several side by side as its page (17.5 cm): the smallest text is then
//! printed at 7 points or more. All sizes are in CSS pixels.

pub(crate) mod horizontal_axis;
pub(crate) mod legend;
pub(crate) mod line_style;
pub(crate) mod value_axis;

use crate::report::figures::chart::horizontal_axis::HorizontalAxis;
use crate::report::figures::chart::legend::{LABEL_SIZE, Legend, LegendSpacing, Symbol};
use crate::report::figures::chart::value_axis::ValueAxis;
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Align, BLACK, Direction, Drawing, FAINT, GRAY, Mark, Text};

/// Sizes of what stands around the data of a panel.
pub(crate) struct Style {
    pub(crate) margin: f64,
    pub(crate) title_size: f64,
    /// From the upper edge of a panel's head to the baseline of its title.
    title_baseline: f64,
    note_height: f64,
    axis_title_size: f64,
    /// Between a tick's label and the panel.
    pub(crate) label_gap: f64,
    /// Lengths of the ticks below a panel: with labels and without.
    tick_lengths: [f64; 2],
    tick_label_baseline: f64,
    axis_title_baseline: f64,
    /// From the left edge of the page to the baseline of the vertical axis title.
    vertical_title_baseline: f64,
    /// Whether room is scarce: a missing title leaves no gap, and labels at the end of a horizontal
    /// axis stay on the page.
    is_compact: bool,
    pub(crate) legend: LegendSpacing,
}

/// For print: smaller text in panels that share the width of a page.
pub(crate) const PRINT: Style = Style {
    margin: 12.0,
    title_size: 14.0,
    title_baseline: 12.0,
    note_height: 15.0,
    axis_title_size: 12.5,
    label_gap: 7.0,
    tick_lengths: [4.0, 4.0],
    tick_label_baseline: 17.0,
    axis_title_baseline: 35.0,
    vertical_title_baseline: 23.0,
    is_compact: true,
    legend: LegendSpacing { line_height: 18.0, entry_gap: 18.0 },
};

/// For the screen: larger text around panels of a fixed size.
pub(crate) const SCREEN: Style = Style {
    margin: 14.0,
    title_size: 15.0,
    title_baseline: 16.0,
    note_height: 17.0,
    axis_title_size: 13.0,
    label_gap: 8.0,
    tick_lengths: [5.0, 3.0],
    tick_label_baseline: 18.0,
    axis_title_baseline: 37.0,
    vertical_title_baseline: 24.0,
    is_compact: false,
    legend: LegendSpacing { line_height: 19.0, entry_gap: 20.0 },
};

/// Width of a page in print for one panel and for several side by side.
const PAGES: [f64; 3] = [390.0, 640.0, 790.0];
const PANEL_GAP: f64 = 18.0;
const ROW_GAP: f64 = 16.0;
const TITLE_ROOM: f64 = 22.0;
/// Room of a vertical axis title.
const VERTICAL_TITLE_ROOM: f64 = 20.0;
const FOOT_ROOM: f64 = 44.0;
const LEGEND_GAP: f64 = 4.0;
const HIGHEST_PANEL: f64 = 230.0;

/// What stands around the series of a panel.
pub(crate) struct Panel {
    /// Title of the panel.
    pub(crate) title: String,
    /// Phrases below the title; a line is broken between phrases only.
    pub(crate) notes: Vec<Vec<String>>,
    pub(crate) x: HorizontalAxis,
    pub(crate) y: ValueAxis,
}

impl Panel {
    /// Returns where a point stands on the page.
    pub(crate) fn at(&self, area: PlotArea, x: f64, y: f64) -> (f64, f64) {
        (self.x.x(x, area), area.y(self.y.height(y)))
    }
}

/// Where the series of a panel are drawn.
#[derive(Clone, Copy)]
pub(crate) struct PlotArea {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl PlotArea {
    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Returns the place of a share of the vertical axis.
    pub(crate) fn y(&self, share: f64) -> f64 {
        self.bottom() - share * self.height
    }
}

/// Which panels have the labels of the vertical axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum VerticalLabels {
    /// Every one, since each has an axis of its own.
    EveryPanel,
    /// The leftmost of each row, since all have the same axis.
    FirstColumn,
}

/// Where everything is on the page.
pub(crate) struct Layout {
    pub(crate) style: &'static Style,
    pub(crate) page: (f64, f64),
    pub(crate) columns: usize,
    /// One for each panel.
    pub(crate) areas: Vec<PlotArea>,
    /// From the upper edge of a panel's titles to its plot area.
    pub(crate) head: f64,
    pub(crate) vertical_labels: VerticalLabels,
    pub(crate) legend: Legend,
    pub(crate) legend_at: (f64, f64),
}

impl Layout {
    /// Fits panels into the width of a page in print; `aspect` is the height of a panel as a share
    /// of its width, at most.
    pub(crate) fn page(
        panels: &[Panel],
        columns: Option<usize>,
        aspect: f64,
        legend: Vec<(Symbol, String)>,
        typeface: &Typeface,
    ) -> Self {
        let style = &PRINT;
        let columns = columns.unwrap_or_else(|| default_columns(panels.len()));
        let columns = columns.clamp(1, PAGES.len()).min(panels.len().max(1));
        let rows = panels.len().div_ceil(columns).max(1);
        let page = PAGES[columns - 1];
        let axis_room = widest_label(panels, typeface) + style.label_gap;
        let gaps = (columns - 1) as f64 * PANEL_GAP;
        let free =
            page - 2.0 * style.margin - VERTICAL_TITLE_ROOM - gaps - columns as f64 * axis_room;
        let width = free / columns as f64;
        let height = (width * aspect).min(HIGHEST_PANEL);
        let note_lines = panels.iter().map(|panel| wrapped(&panel.notes, typeface, width).len());
        let note_lines = note_lines.max().unwrap_or_default();
        let is_titled = panels.iter().any(|panel| !panel.title.is_empty());
        let head = if is_titled { TITLE_ROOM } else { 6.0 } + note_lines as f64 * style.note_height;
        let step = (axis_room + width + PANEL_GAP, head + height + FOOT_ROOM + ROW_GAP);
        let legend = Legend::wrapped(legend, style.legend, typeface, page - 2.0 * style.margin);
        let legend_top = style.margin + rows as f64 * step.1 - ROW_GAP + LEGEND_GAP;
        let area = |index: usize| {
            let (row, column) = (index / columns, index % columns);
            let left = style.margin + VERTICAL_TITLE_ROOM + axis_room + column as f64 * step.0;
            let top = style.margin + row as f64 * step.1 + head;
            PlotArea { left, top, width, height }
        };
        Self {
            style,
            page: (page, legend_top + legend.height() + style.margin),
            columns,
            areas: (0..panels.len()).map(area).collect(),
            head,
            vertical_labels: VerticalLabels::EveryPanel,
            legend,
            legend_at: (style.margin, legend_top),
        }
    }
}

/// Returns the width of the widest label of any vertical axis.
pub(crate) fn widest_label(panels: &[Panel], typeface: &Typeface) -> f64 {
    let labels = panels.iter().flat_map(|panel| panel.y.ticks());
    labels.map(|(_, label)| typeface.width(&label, LABEL_SIZE)).fold(0.0, f64::max)
}

/// Chooses panels per row so that rows are as equally filled as possible.
pub(crate) const fn default_columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
}

/// Sets phrases in lines.
fn wrapped(notes: &[Vec<String>], typeface: &Typeface, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for phrases in notes {
        let mut line = String::new();
        for phrase in phrases {
            let longer = if line.is_empty() { phrase.clone() } else { format!("{line}, {phrase}") };
            if !line.is_empty() && typeface.width(&longer, LABEL_SIZE) > room {
                lines.push(format!("{line},"));
                line.clone_from(phrase);
            } else {
                line = longer;
            }
        }
        lines.push(line);
    }
    lines.into_iter().map(|line| typeface.fitted(&line, LABEL_SIZE, room)).collect()
}

/// Panels with common axis titles and a common legend.
pub(crate) struct Chart<'a> {
    pub(crate) panels: &'a [Panel],
    pub(crate) layout: Layout,
    pub(crate) x_title: &'a str,
    /// Title of the vertical axes, if the titles of the panels don't tell.
    pub(crate) y_title: Option<&'a str>,
}

impl Chart<'_> {
    /// Draws all panels; `draw_series` draws the data of the panel with an index.
    pub(crate) fn draw(
        self,
        typeface: &Typeface,
        draw_series: impl Fn(&mut Drawing, usize, PlotArea),
    ) -> Drawing {
        let Layout { page, legend, legend_at, .. } = &self.layout;
        let mut drawing =
            Drawing { width: page.0.ceil(), height: page.1.ceil(), marks: Vec::new() };
        for (index, (panel, area)) in self.panels.iter().zip(&self.layout.areas).enumerate() {
            self.draw_grid(&mut drawing, panel, *area);
            draw_series(&mut drawing, index, *area);
            self.draw_horizontal_axis(&mut drawing, panel, *area, typeface);
            self.draw_titles(&mut drawing, panel, *area, typeface);
            if index % self.layout.columns == 0 {
                self.draw_vertical_axis(&mut drawing, panel, *area, typeface);
            }
        }
        legend.draw(&mut drawing, *legend_at);
        drawing
    }

    fn draw_grid(&self, drawing: &mut Drawing, panel: &Panel, area: PlotArea) {
        for (tick, label) in panel.y.ticks() {
            let y = area.y(panel.y.height(tick));
            drawing.horizontal_rule((area.left, area.right()), y, 0.75, FAINT);
            if self.layout.vertical_labels == VerticalLabels::EveryPanel {
                self.draw_vertical_label(drawing, &label, area, y);
            }
        }
    }

    fn draw_vertical_label(&self, drawing: &mut Drawing, label: &str, area: PlotArea, y: f64) {
        let at = (area.left - self.layout.style.label_gap, y + 4.0);
        drawing.text(label, at, LABEL_SIZE, Align::End, BLACK);
    }

    fn draw_vertical_axis(
        &self,
        drawing: &mut Drawing,
        panel: &Panel,
        area: PlotArea,
        typeface: &Typeface,
    ) {
        if self.layout.vertical_labels == VerticalLabels::FirstColumn {
            for (tick, label) in panel.y.ticks() {
                let y = area.y(panel.y.height(tick));
                self.draw_vertical_label(drawing, &label, area, y);
            }
        }
        let Some(title) = self.y_title else { return };
        let Style { axis_title_size, vertical_title_baseline, .. } = *self.layout.style;
        drawing.marks.push(Mark::Text(Text {
            content: typeface.fitted(title, axis_title_size, area.height + TITLE_ROOM),
            at: (vertical_title_baseline, area.top + area.height / 2.0),
            size: axis_title_size,
            align: Align::Middle,
            direction: Direction::Upward,
            color: BLACK,
        }));
    }

    fn draw_horizontal_axis(
        &self,
        drawing: &mut Drawing,
        panel: &Panel,
        area: PlotArea,
        typeface: &Typeface,
    ) {
        let style = self.layout.style;
        let bottom = area.bottom();
        drawing.horizontal_rule((area.left, area.right()), bottom, 1.0, GRAY);
        for tick in panel.x.ticks(area, typeface) {
            let length = style.tick_lengths[usize::from(tick.is_short)];
            drawing.vertical_rule(tick.x, (bottom, bottom + length), 1.0, GRAY);
            if let Some(label) = &tick.label {
                let half = typeface.width(label, LABEL_SIZE) / 2.0;
                let last = area.right() + style.margin - 1.0 - half;
                let middle = if style.is_compact { tick.x.min(last) } else { tick.x };
                let at = (middle, bottom + style.tick_label_baseline);
                drawing.text(label, at, LABEL_SIZE, Align::Middle, BLACK);
            }
        }
        let title = typeface.fitted(self.x_title, style.axis_title_size, area.width);
        let at = (area.left + area.width / 2.0, bottom + style.axis_title_baseline);
        drawing.text(&title, at, style.axis_title_size, Align::Middle, BLACK);
    }

    fn draw_titles(
        &self,
        drawing: &mut Drawing,
        panel: &Panel,
        area: PlotArea,
        typeface: &Typeface,
    ) {
        let Layout { style, head, .. } = &self.layout;
        let baseline = area.top - head + style.title_baseline;
        let title = typeface.fitted(&panel.title, style.title_size, area.width);
        drawing.text(&title, (area.left, baseline), style.title_size, Align::Start, BLACK);
        let is_untitled = panel.title.is_empty() && style.is_compact;
        let first = baseline + if is_untitled { 0.0 } else { style.note_height };
        for (line, note) in wrapped(&panel.notes, typeface, area.width).iter().enumerate() {
            let at = (area.left, first + line as f64 * style.note_height);
            drawing.text(note, at, LABEL_SIZE, Align::Start, GRAY);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::report::figures::Scale;

    /// Asserts that no text reaches over the edge of the page.
    pub(crate) fn assert_inside(drawing: &Drawing) {
        let typeface = Typeface::embedded().unwrap();
        for mark in &drawing.marks {
            let Mark::Text(text) = mark else { continue };
            let length = typeface.width(&text.content, text.size);
            let (before, after) = match text.align {
                Align::Start => (0.0, length),
                Align::Middle => (length / 2.0, length / 2.0),
                Align::End => (length, 0.0),
            };
            let (low, high, end) = match text.direction {
                Direction::Level => (text.at.0 - before, text.at.0 + after, drawing.width),
                Direction::Upward => (text.at.1 - after, text.at.1 + before, drawing.height),
            };
            assert!(low >= 0.0 && high <= end, "{text:?} leaves the page");
        }
    }

    fn chart(panels: usize) -> Drawing {
        let typeface = Typeface::embedded().unwrap();
        let panel = |index| Panel {
            title: format!("a long title that hardly fits anywhere {index}"),
            notes: vec![vec!["99 % in 4 coordinates".to_owned(); index]],
            x: HorizontalAxis::Counted(1, 64),
            y: ValueAxis::fitted(Scale::Linear, 0.0, 100.0),
        };
        let panels: Vec<Panel> = (0..panels).map(panel).collect();
        let legend = vec![(Symbol::Dashes(22.0), "threshold".to_owned())];
        let layout = Layout::page(&panels, None, 0.7, legend, &typeface);
        let (x_title, y_title) = ("Latent coordinate", Some("Share of variance (%)"));
        let chart = Chart { panels: &panels, layout, x_title, y_title };
        chart.draw(&typeface, |_, _, _| {})
    }

    #[test]
    fn the_smallest_text_is_printed_at_seven_points_or_more() {
        // Widths of a column and of a page in points.
        for (panels, print) in [(1, 241.0), (2, 496.0), (3, 496.0), (12, 496.0)] {
            let drawing = chart(panels);
            assert_inside(&drawing);
            let sizes = drawing.marks.iter().filter_map(|mark| match mark {
                Mark::Text(text) => Some(text.size * print / drawing.width),
                _ => None,
            });
            let smallest = sizes.fold(f64::INFINITY, f64::min);
            assert!(smallest >= 7.0, "{smallest} points with {panels} panels");
        }
    }

    #[test]
    fn notes_are_broken_between_phrases_only() {
        let typeface = Typeface::embedded().unwrap();
        let notes = [vec!["PCAE 4".to_owned(), "HAE 12".to_owned(), "AE 16".to_owned()]];
        assert_eq!(wrapped(&notes, &typeface, 90.0), ["PCAE 4, HAE 12,", "AE 16"]);
        assert_eq!(wrapped(&notes, &typeface, 900.0), ["PCAE 4, HAE 12, AE 16"]);
    }
}
