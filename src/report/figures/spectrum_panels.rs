//! Lays a variance spectrum out as panels side by side that share their axes.
//!
//! Each panel shows bars (share of each coordinate), their scatter, and the running sum with
//! the threshold as a dashed rule; coordinates that every run needs to reach the threshold are
//! in full color, those that none needs pale, the others between. Panels have equal heights and scales, so they compare by eye; only the
//! leftmost of a row carries the share axis. All sizes are in CSS pixels.

use crate::report::figures::scene::{
    Align, BLACK, FAINT, GRAY, Ink, Mark, PALETTE, Scene, Text, Turn,
};
use crate::report::figures::share_axis::{ShareAxis, percent};
use crate::report::figures::spectrum_legend::{LABEL_SIZE, Legend, RUN_DOT, SUM_DOT, strength};
use crate::report::figures::typeface::Typeface;
use crate::report::figures::variance_spectrum::{Scatter, Series, VarianceSpectrum};

const MARGIN: f64 = 14.0;
const AXIS_ROOM: f64 = 52.0;
const PANEL_GAP: f64 = 24.0;
const ROW_GAP: f64 = 18.0;
const TITLE_ROOM: f64 = 44.0;
const FOOT_ROOM: f64 = 46.0;
const LEGEND_ROOM: f64 = 26.0;
const PLOT_HEIGHT: f64 = 220.0;
const TITLE_SIZE: f64 = 15.0;
const AXIS_TITLE_SIZE: f64 = 13.0;
/// Bar width as a share of the room of one coordinate.
const BAR: f64 = 0.66;

/// Draws all panels and the legend.
pub(super) fn draw(figure: &VarianceSpectrum, typeface: &Typeface) -> Scene {
    let columns = columns(figure.series.len());
    let rows = figure.series.len().div_ceil(columns).max(1);
    let plot_width = [510.0, 330.0, 270.0, 216.0][columns - 1];
    let panels = columns as f64 * (plot_width + PANEL_GAP) - PANEL_GAP;
    let legend = Legend::of(figure, typeface);
    let width = MARGIN + AXIS_ROOM + panels.max(legend.width) + MARGIN;
    let panel_height = TITLE_ROOM + PLOT_HEIGHT + FOOT_ROOM;
    let stacked = rows as f64 * (panel_height + ROW_GAP) - ROW_GAP;
    let height = MARGIN + stacked + LEGEND_ROOM + MARGIN;
    let mut scene = Scene { width: width.ceil(), height: height.ceil(), marks: Vec::new() };

    let axis = ShareAxis::of(figure);
    for (index, series) in figure.series.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let left = MARGIN + AXIS_ROOM + column as f64 * (plot_width + PANEL_GAP);
        let top = MARGIN + row as f64 * (panel_height + ROW_GAP) + TITLE_ROOM;
        let panel = Panel { figure, series, axis: &axis, left, top, width: plot_width };
        panel.draw(&mut scene, PALETTE[index % PALETTE.len()], typeface);
        if column == 0 {
            panel.draw_share_axis(&mut scene);
        }
    }
    legend.draw(&mut scene, MARGIN + AXIS_ROOM, height - MARGIN - 4.0);
    scene
}

/// Chooses panels per row so that rows are as equally filled as possible.
const fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 => 2,
        3 | 5 | 6 | 9 => 3,
        _ => 4,
    }
}

struct Panel<'a> {
    figure: &'a VarianceSpectrum,
    series: &'a Series,
    axis: &'a ShareAxis,
    left: f64,
    top: f64,
    width: f64,
}

impl Panel<'_> {
    fn bottom(&self) -> f64 {
        self.top + PLOT_HEIGHT
    }

    fn right(&self) -> f64 {
        self.left + self.width
    }

    fn room(&self) -> f64 {
        self.width / self.series.coordinates.len().max(1) as f64
    }

    fn x(&self, index: usize) -> f64 {
        self.left + (index as f64 + 0.5) * self.room()
    }

    fn y(&self, share: f64) -> f64 {
        self.bottom() - self.axis.height(share) * PLOT_HEIGHT
    }

    fn draw(&self, scene: &mut Scene, ink: Ink, typeface: &Typeface) {
        for tick in self.axis.ticks() {
            scene.rule((self.left, self.right()), self.y(tick), 0.75, FAINT);
        }
        self.draw_bars(scene, ink);
        scene.dashes((self.left, self.right()), self.y(self.figure.threshold), 1.0, GRAY);
        self.draw_running_sum(scene);
        scene.rule((self.left, self.right()), self.bottom(), 1.0, GRAY);
        self.draw_coordinate_axis(scene, typeface);
        self.draw_titles(scene, typeface);
    }

    fn draw_bars(&self, scene: &mut Scene, ink: Ink) {
        let half = self.room() * BAR / 2.0;
        for (index, coordinate) in self.series.coordinates.iter().enumerate() {
            let ink = ink.tint(strength(self.series.needed.demand(index)));
            let (x, y) = (self.x(index), self.y(coordinate.share));
            if y < self.bottom() {
                scene.marks.push(Mark::Rect {
                    from: (x - half, y),
                    to: (x + half, self.bottom()),
                    ink,
                });
            }
        }
        for (index, coordinate) in self.series.coordinates.iter().enumerate() {
            let x = self.x(index);
            match (self.figure.scatter, coordinate.share_std) {
                (Scatter::ErrorBars, Some(std)) => {
                    let (low, high) = (coordinate.share - std, coordinate.share + std);
                    self.draw_error_bar(scene, x, (self.y(high), self.y(low)));
                }
                (Scatter::Dots, _) => self.draw_dots(scene, x, &coordinate.runs),
                (Scatter::ErrorBars, None) => {}
            }
        }
    }

    fn draw_error_bar(&self, scene: &mut Scene, x: f64, (high, low): (f64, f64)) {
        // A bar too short to see would only look like a smudge on the axis.
        if low - high < 1.0 {
            return;
        }
        let cap = (self.room() * BAR / 4.0).min(3.5);
        scene.post(x, (high, low), 1.0, BLACK);
        scene.rule((x - cap, x + cap), high, 1.0, BLACK);
        if low < self.bottom() {
            scene.rule((x - cap, x + cap), low, 1.0, BLACK);
        }
    }

    fn draw_dots(&self, scene: &mut Scene, x: f64, runs: &[f64]) {
        let span = self.room() * BAR * 0.7;
        for (run, share) in runs.iter().enumerate() {
            let offset = ((run as f64 + 0.5) / runs.len() as f64 - 0.5) * span;
            let at = (x + offset, self.y(*share));
            // Runs at zero would only clutter the axis.
            if self.bottom() - at.1 >= 1.0 {
                scene.marks.push(Mark::Dot { at, radius: RUN_DOT, ink: BLACK });
            }
        }
    }

    fn draw_running_sum(&self, scene: &mut Scene) {
        let coordinates = self.series.coordinates.iter().enumerate();
        let points: Vec<(f64, f64)> =
            coordinates.map(|(index, c)| (self.x(index), self.y(c.cumulative))).collect();
        scene.marks.push(Mark::Path { points: points.clone(), width: 1.5, ink: BLACK });
        let radius = (self.room() * 0.2).clamp(1.0, SUM_DOT);
        // The first sum is the first bar: a dot there would hide that bar's scatter.
        for at in points.into_iter().skip(1) {
            scene.marks.push(Mark::Dot { at, radius, ink: BLACK });
        }
    }

    fn draw_coordinate_axis(&self, scene: &mut Scene, typeface: &Typeface) {
        let count = self.series.coordinates.len();
        let widest = typeface.width(&count.to_string(), LABEL_SIZE) + 6.0;
        let steps = [1, 2, 5, 10, 20, 50, 100];
        let fits = |step: &usize| self.room() * *step as f64 >= widest;
        let step = steps.into_iter().find(fits).unwrap_or(count.max(1));
        for index in 0..count {
            let number = index + 1;
            let labeled = number % step == 0 || (number == 1 && step > 2);
            let length = if labeled { 5.0 } else { 3.0 };
            if labeled || self.room() >= 4.0 {
                scene.post(self.x(index), (self.bottom(), self.bottom() + length), 1.0, GRAY);
            }
            if labeled {
                let at = (self.x(index), self.bottom() + 18.0);
                scene.text(&number.to_string(), at, LABEL_SIZE, Align::Middle, BLACK);
            }
        }
        let at = (self.left + self.width / 2.0, self.bottom() + 37.0);
        scene.text("Latent coordinate", at, AXIS_TITLE_SIZE, Align::Middle, BLACK);
    }

    fn draw_titles(&self, scene: &mut Scene, typeface: &Typeface) {
        let title = typeface.fitted(&self.series.title, TITLE_SIZE, self.width);
        let mut summary = self.series.summary(self.figure.threshold);
        if typeface.width(&summary, LABEL_SIZE) > self.width {
            // The axis below says what is counted; the numbers must stay.
            summary = summary.replace(" coordinates", "");
        }
        let summary = typeface.fitted(&summary, LABEL_SIZE, self.width);
        scene.text(&title, (self.left, self.top - 27.0), TITLE_SIZE, Align::Start, BLACK);
        scene.text(&summary, (self.left, self.top - 10.0), LABEL_SIZE, Align::Start, GRAY);
    }

    fn draw_share_axis(&self, scene: &mut Scene) {
        for tick in self.axis.ticks() {
            let at = (self.left - 8.0, self.y(tick) + 4.0);
            scene.text(&percent(tick), at, LABEL_SIZE, Align::End, BLACK);
        }
        scene.marks.push(Mark::Text(Text {
            content: "Share of variance (%)".to_owned(),
            at: (MARGIN + 10.0, self.top + PLOT_HEIGHT / 2.0),
            size: AXIS_TITLE_SIZE,
            align: Align::Middle,
            turn: Turn::Upward,
            ink: BLACK,
        }));
    }
}

#[cfg(test)]
mod tests {
    use crate::report::figures::Figure;
    use crate::report::figures::variance_spectrum::tests::{run, runs, spec};

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
