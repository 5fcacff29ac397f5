//! Panels with two axes: where they stand on the page, their grids, ticks, titles and key.
//!
//! One panel is as wide as a column of a paper (8.5 cm), several side by side as its page
//! (17.5 cm): the smallest text is then printed at 7 points or more. What is inside a panel is
//! drawn by whoever has the data. All sizes are in CSS pixels.

use crate::report::figures::key::{Key, LABEL_SIZE, Symbol};
use crate::report::figures::scene::{Align, BLACK, FAINT, GRAY, Mark, Scene, Text, Turn};
use crate::report::figures::typeface::Typeface;
use crate::report::figures::value_axis::ValueAxis;

/// Width of the page for one panel and for several side by side.
const PAGES: [f64; 3] = [390.0, 640.0, 790.0];
const MARGIN: f64 = 12.0;
const PANEL_GAP: f64 = 18.0;
const ROW_GAP: f64 = 16.0;
const TITLE_SIZE: f64 = 14.0;
const TITLE_ROOM: f64 = 22.0;
const NOTE_HEIGHT: f64 = 15.0;
const AXIS_TITLE_SIZE: f64 = 12.5;
/// Room of a vertical axis title.
const UP_TITLE_ROOM: f64 = 20.0;
/// Between a tick's label and the panel.
const LABEL_GAP: f64 = 7.0;
const FOOT_ROOM: f64 = 44.0;
const KEY_GAP: f64 = 4.0;
/// Least distance between the labels of a level axis.
const LABEL_DISTANCE: f64 = 10.0;

/// A level axis.
pub(super) enum Across {
    /// Whole numbers from the first to the last, each with room of its own.
    Counted(usize, usize),
    /// Any numbers.
    Measured(ValueAxis),
}

impl Across {
    /// Returns where a number stands, from 0 at the left to 1 at the right.
    pub(super) fn place(&self, number: f64) -> f64 {
        match self {
            Self::Counted(first, last) => {
                (number - *first as f64 + 0.5) / (last.saturating_sub(*first) + 1) as f64
            }
            Self::Measured(axis) => axis.height(number),
        }
    }

    /// Returns the places that get a tick, each with its label if there is room for it.
    fn ticks(&self, width: f64, typeface: &Typeface) -> Vec<(f64, String)> {
        let labeled: Vec<(f64, String)> = match self {
            Self::Counted(first, last) => {
                let room = width / (last.saturating_sub(*first) + 1) as f64;
                let widest = typeface.width(&last.to_string(), LABEL_SIZE) + LABEL_DISTANCE;
                let steps =
                    (0..6).flat_map(|zeros| [1, 2, 5].map(|digit| digit * 10_usize.pow(zeros)));
                let mut steps = steps.filter(|step| room * *step as f64 >= widest);
                let step = steps.next().unwrap_or((*last).max(1));
                let mut shown: Vec<usize> =
                    (*first..=*last).filter(|number| number % step == 0).collect();
                // The first number is worth a label, if there is room beside the next one.
                let has_room = |next: &usize| (next - first) as f64 * room >= widest;
                if shown.first().is_none_or(has_room) {
                    shown.insert(0, *first);
                }
                shown.into_iter().map(|number| (number as f64, number.to_string())).collect()
            }
            Self::Measured(axis) => {
                let all: Vec<(f64, String)> = axis.ticks().collect();
                let widths = all.iter().map(|(_, label)| typeface.width(label, LABEL_SIZE));
                let widest = widths.fold(0.0, f64::max) + LABEL_DISTANCE;
                let room = width / all.len().saturating_sub(1).max(1) as f64;
                let every = (widest / room).ceil().max(1.0) as usize;
                all.into_iter().step_by(every).collect()
            }
        };
        labeled.into_iter().map(|(number, label)| (self.place(number), label)).collect()
    }
}

/// What stands around the data of a panel.
pub(super) struct Panel {
    /// Title of the panel.
    pub(super) title: String,
    /// Phrases below the title; a line is broken between phrases only.
    pub(super) notes: Vec<Vec<String>>,
    pub(super) across: Across,
    pub(super) up: ValueAxis,
}

/// Where the data of a panel are drawn.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Frame {
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Returns the place of a point, given as shares of both axes.
    pub(super) fn at(&self, across: f64, up: f64) -> (f64, f64) {
        (self.left + across * self.width, self.bottom() - up * self.height)
    }
}

/// Panels with common axis titles and a common key.
pub(super) struct Chart<'a> {
    pub(super) panels: &'a [Panel],
    /// Panels side by side; chosen by their number if not given.
    pub(super) columns: Option<usize>,
    pub(super) across_title: &'a str,
    pub(super) up_title: &'a str,
    /// Height of a panel as a share of its width, at most.
    pub(super) aspect: f64,
    pub(super) key: Vec<(Symbol, String)>,
}

impl Chart<'_> {
    /// Draws all panels; `fill` draws the data of the panel with an index.
    pub(super) fn draw(
        self,
        typeface: &Typeface,
        fill: impl Fn(&mut Scene, usize, Frame),
    ) -> Scene {
        let columns = self.columns.unwrap_or_else(|| usual_columns(self.panels.len()));
        let columns = columns.clamp(1, PAGES.len()).min(self.panels.len().max(1));
        let rows = self.panels.len().div_ceil(columns).max(1);
        let page = PAGES[columns - 1];
        let labels = self.panels.iter().flat_map(|panel| panel.up.ticks());
        let widest =
            labels.map(|(_, label)| typeface.width(&label, LABEL_SIZE)).fold(0.0, f64::max);
        let axis_room = widest + LABEL_GAP;
        let gaps = (columns - 1) as f64 * PANEL_GAP;
        let free = page - 2.0 * MARGIN - UP_TITLE_ROOM - gaps - columns as f64 * axis_room;
        let width = free / columns as f64;
        let height = (width * self.aspect).min(230.0);
        let notes: Vec<Vec<String>> =
            self.panels.iter().map(|panel| wrapped(&panel.notes, typeface, width)).collect();
        let note_lines = notes.iter().map(Vec::len).max().unwrap_or_default();
        let is_titled = self.panels.iter().any(|panel| !panel.title.is_empty());
        let head = if is_titled { TITLE_ROOM } else { 6.0 } + note_lines as f64 * NOTE_HEIGHT;
        let step = (axis_room + width + PANEL_GAP, head + height + FOOT_ROOM + ROW_GAP);
        let key = Key::of(self.key, typeface, page - 2.0 * MARGIN);
        let key_top = MARGIN + rows as f64 * step.1 - ROW_GAP + KEY_GAP;
        let mut scene = Scene {
            width: page.ceil(),
            height: (key_top + key.height() + MARGIN).ceil(),
            marks: Vec::new(),
        };
        for (index, panel) in self.panels.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            let left = MARGIN + UP_TITLE_ROOM + axis_room + column as f64 * step.0;
            let top = MARGIN + row as f64 * step.1 + head;
            let frame = Frame { left, top, width, height };
            panel.draw_grid(&mut scene, frame);
            fill(&mut scene, index, frame);
            panel.draw_level_axis(&mut scene, frame, typeface, self.across_title);
            panel.draw_words(&mut scene, frame, typeface, &notes[index], head);
            if column == 0 {
                draw_up_title(&mut scene, frame, self.up_title, typeface);
            }
        }
        key.draw(&mut scene, (MARGIN, key_top));
        scene
    }
}

/// Chooses panels per row so that rows are as equally filled as possible.
const fn usual_columns(panels: usize) -> usize {
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

fn draw_up_title(scene: &mut Scene, frame: Frame, title: &str, typeface: &Typeface) {
    scene.marks.push(Mark::Text(Text {
        content: typeface.fitted(title, AXIS_TITLE_SIZE, frame.height + TITLE_ROOM),
        at: (MARGIN + 11.0, frame.top + frame.height / 2.0),
        size: AXIS_TITLE_SIZE,
        align: Align::Middle,
        turn: Turn::Upward,
        ink: BLACK,
    }));
}

impl Panel {
    fn draw_grid(&self, scene: &mut Scene, frame: Frame) {
        for (tick, label) in self.up.ticks() {
            let (_, y) = frame.at(0.0, self.up.height(tick));
            scene.rule((frame.left, frame.right()), y, 0.75, FAINT);
            let at = (frame.left - LABEL_GAP, y + 4.0);
            scene.text(&label, at, LABEL_SIZE, Align::End, BLACK);
        }
    }

    fn draw_level_axis(&self, scene: &mut Scene, frame: Frame, typeface: &Typeface, title: &str) {
        scene.rule((frame.left, frame.right()), frame.bottom(), 1.0, GRAY);
        for (place, label) in self.across.ticks(frame.width, typeface) {
            let (x, bottom) = frame.at(place, 0.0);
            scene.post(x, (bottom, bottom + 4.0), 1.0, GRAY);
            // A label at the very end of the axis has only the margin to reach into.
            let half = typeface.width(&label, LABEL_SIZE) / 2.0;
            let middle = x.min(frame.right() + MARGIN - 1.0 - half);
            scene.text(&label, (middle, bottom + 17.0), LABEL_SIZE, Align::Middle, BLACK);
        }
        let title = typeface.fitted(title, AXIS_TITLE_SIZE, frame.width);
        let at = (frame.left + frame.width / 2.0, frame.bottom() + 35.0);
        scene.text(&title, at, AXIS_TITLE_SIZE, Align::Middle, BLACK);
    }

    fn draw_words(
        &self,
        scene: &mut Scene,
        frame: Frame,
        typeface: &Typeface,
        notes: &[String],
        head: f64,
    ) {
        let title = typeface.fitted(&self.title, TITLE_SIZE, frame.width);
        let top = frame.top - head;
        scene.text(&title, (frame.left, top + 12.0), TITLE_SIZE, Align::Start, BLACK);
        let first = top + 12.0 + if self.title.is_empty() { 0.0 } else { NOTE_HEIGHT };
        for (line, note) in notes.iter().enumerate() {
            let at = (frame.left, first + line as f64 * NOTE_HEIGHT);
            scene.text(note, at, LABEL_SIZE, Align::Start, GRAY);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::figures::Scale;

    /// Asserts that no text reaches over the edge of the page.
    pub(in crate::report::figures) fn assert_inside(scene: &Scene) {
        let typeface = Typeface::embedded().unwrap();
        for mark in &scene.marks {
            let Mark::Text(text) = mark else { continue };
            let length = typeface.width(&text.content, text.size);
            let (before, after) = match text.align {
                Align::Start => (0.0, length),
                Align::Middle => (length / 2.0, length / 2.0),
                Align::End => (length, 0.0),
            };
            let (low, high, end) = match text.turn {
                Turn::Level => (text.at.0 - before, text.at.0 + after, scene.width),
                Turn::Upward => (text.at.1 - after, text.at.1 + before, scene.height),
            };
            assert!(low >= 0.0 && high <= end, "{text:?} leaves the page");
        }
    }

    fn chart(panels: usize) -> Scene {
        let panel = |index| Panel {
            title: format!("a long title that hardly fits anywhere {index}"),
            notes: vec![vec!["99 % in 4 coordinates".to_owned(); index]],
            across: Across::Counted(1, 64),
            up: ValueAxis::fitted(Scale::Linear, 0.0, 100.0),
        };
        let panels: Vec<Panel> = (0..panels).map(panel).collect();
        let chart = Chart {
            panels: &panels,
            columns: None,
            across_title: "Latent coordinate",
            up_title: "Share of variance (%)",
            aspect: 0.7,
            key: vec![(Symbol::Dashes, "threshold".to_owned())],
        };
        chart.draw(&Typeface::embedded().unwrap(), |_, _, _| {})
    }

    #[test]
    fn the_smallest_text_is_printed_at_seven_points_or_more() {
        // Widths of a column and of a page in points.
        for (panels, print) in [(1, 241.0), (2, 496.0), (3, 496.0), (12, 496.0)] {
            let scene = chart(panels);
            assert_inside(&scene);
            let sizes = scene.marks.iter().filter_map(|mark| match mark {
                Mark::Text(text) => Some(text.size * print / scene.width),
                _ => None,
            });
            let smallest = sizes.fold(f64::INFINITY, f64::min);
            assert!(smallest >= 7.0, "{smallest} points with {panels} panels");
        }
    }

    #[test]
    fn labels_of_a_level_axis_have_room_between_them() {
        let typeface = Typeface::embedded().unwrap();
        let labels = |across: &Across| -> Vec<String> {
            across.ticks(180.0, &typeface).into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels(&Across::Counted(1, 4)), ["1", "2", "3", "4"]);
        assert_eq!(labels(&Across::Counted(1, 64)), ["1", "10", "20", "30", "40", "50", "60"]);
        assert_eq!(labels(&Across::Counted(3, 3)), ["3"]);
        let wide = Across::Measured(ValueAxis::fitted(Scale::Linear, 1000.1, 1000.4));
        assert_eq!(labels(&wide), ["1000.1", "1000.2", "1000.3", "1000.4"]);
    }

    #[test]
    fn notes_are_broken_between_phrases_only() {
        let typeface = Typeface::embedded().unwrap();
        let notes = [vec!["PCAE 4".to_owned(), "HAE 12".to_owned(), "AE 16".to_owned()]];
        assert_eq!(wrapped(&notes, &typeface, 90.0), ["PCAE 4, HAE 12,", "AE 16"]);
        assert_eq!(wrapped(&notes, &typeface, 900.0), ["PCAE 4, HAE 12, AE 16"]);
    }
}
