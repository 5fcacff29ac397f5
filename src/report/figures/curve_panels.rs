//! Lays learning curves out: one panel per column, each with its own axis, and a common key.
//!
//! A series has the same color in every panel; past the last color, lines are dashed. Epochs that
//! lie farther apart than is usual for a curve are a gap in its line, and a point between two gaps
//! is a dot. All sizes are in CSS pixels.

use crate::report::figures::Scale;
use crate::report::figures::curve_legend::{CurveLegend, LABEL_SIZE, Pen};
use crate::report::figures::learning_curves::{Curve, CurvePanel, CurvePoint, LearningCurves};
use crate::report::figures::scene::{Align, BLACK, FAINT, GRAY, Mark, Scene};
use crate::report::figures::typeface::Typeface;
use crate::report::figures::value_axis::ValueAxis;

const MARGIN: f64 = 14.0;
const PANEL_GAP: f64 = 22.0;
const ROW_GAP: f64 = 14.0;
const TITLE_ROOM: f64 = 26.0;
const FOOT_ROOM: f64 = 46.0;
const PLOT_HEIGHT: f64 = 220.0;
const TITLE_SIZE: f64 = 15.0;
const AXIS_TITLE_SIZE: f64 = 13.0;
/// Between a tick's label and the panel.
const LABEL_GAP: f64 = 8.0;
const DOT: f64 = 2.2;
/// Points at least this far apart are marked.
const SPARSE: f64 = 10.0;

/// Draws all panels and the key.
pub(super) fn draw(figure: &LearningCurves, typeface: &Typeface) -> Scene {
    let columns = columns(figure.panels.len());
    let rows = figure.panels.len().div_ceil(columns).max(1);
    let plot_width = [510.0, 330.0, 260.0][columns - 1];
    let axes: Vec<ValueAxis> =
        figure.panels.iter().map(|panel| axis(panel, figure.scale)).collect();
    let labels = axes.iter().flat_map(ValueAxis::ticks).map(|(_, label)| label);
    let widest = labels.map(|label| typeface.width(&label, LABEL_SIZE)).fold(0.0, f64::max);
    let axis_room = widest + LABEL_GAP;
    let step = (axis_room + plot_width + PANEL_GAP, TITLE_ROOM + PLOT_HEIGHT + FOOT_ROOM + ROW_GAP);
    let panels_width = columns as f64 * step.0 - PANEL_GAP;
    let legend = CurveLegend::of(figure, typeface, panels_width - axis_room);
    let width = 2.0 * MARGIN + panels_width;
    let legend_top = MARGIN + rows as f64 * step.1;
    let height = legend_top + legend.height() + MARGIN;
    let mut scene = Scene { width: width.ceil(), height: height.ceil(), marks: Vec::new() };
    let epochs = epochs(figure);
    for (index, (panel, axis)) in figure.panels.iter().zip(&axes).enumerate() {
        let left = MARGIN + (index % columns) as f64 * step.0 + axis_room;
        let top = MARGIN + (index / columns) as f64 * step.1 + TITLE_ROOM;
        let plot = Plot { panel, axis, epochs, left, top, width: plot_width };
        plot.draw(&mut scene, typeface);
    }
    legend.draw(&mut scene, MARGIN + axis_room, legend_top);
    scene
}

/// Chooses panels per row so that rows are as equally filled as possible.
const fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
}

fn points(panel: &CurvePanel) -> impl Iterator<Item = &CurvePoint> {
    panel.curves.iter().flat_map(|curve| &curve.points)
}

/// Fits an axis to the lines and bands of a panel.
fn axis(panel: &CurvePanel, scale: Scale) -> ValueAxis {
    let ends = points(panel).flat_map(|point| [point.low, point.mean, point.high]);
    let shown = ends.filter(|value| scale == Scale::Linear || *value > 0.0);
    let (lowest, highest) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (value.min(low), value.max(high))
    });
    ValueAxis::fitted(scale, lowest, highest)
}

/// Returns the first and the last epoch of all panels.
fn epochs(figure: &LearningCurves) -> (usize, usize) {
    let epochs = figure.panels.iter().flat_map(points).map(|point| point.epoch);
    epochs.fold((usize::MAX, 0), |(first, last), epoch| (epoch.min(first), epoch.max(last)))
}

/// Cuts a curve where epochs lie farther apart than half of its steps do.
fn unbroken(curve: &Curve) -> impl Iterator<Item = &[CurvePoint]> {
    let step = |pair: &[CurvePoint]| pair[1].epoch - pair[0].epoch;
    let mut steps: Vec<usize> = curve.points.windows(2).map(step).collect();
    steps.sort_unstable();
    let usual = steps.get(steps.len() / 2).copied().unwrap_or_default();
    curve.points.chunk_by(move |one, next| next.epoch - one.epoch <= usual)
}

struct Plot<'a> {
    panel: &'a CurvePanel,
    axis: &'a ValueAxis,
    epochs: (usize, usize),
    left: f64,
    top: f64,
    width: f64,
}

impl Plot<'_> {
    fn bottom(&self) -> f64 {
        self.top + PLOT_HEIGHT
    }

    fn right(&self) -> f64 {
        self.left + self.width
    }

    fn x(&self, epoch: usize) -> f64 {
        let (first, last) = self.epochs;
        if first >= last {
            return self.left + self.width / 2.0;
        }
        self.left + (epoch - first) as f64 / (last - first) as f64 * self.width
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom() - self.axis.height(value) * PLOT_HEIGHT
    }

    fn draw(&self, scene: &mut Scene, typeface: &Typeface) {
        for (tick, label) in self.axis.ticks() {
            let y = self.y(tick);
            scene.rule((self.left, self.right()), y, 0.75, FAINT);
            let at = (self.left - LABEL_GAP, y + 4.0);
            scene.text(&label, at, LABEL_SIZE, Align::End, BLACK);
        }
        for (index, curve) in self.panel.curves.iter().enumerate() {
            self.draw_bands(scene, curve, Pen::of(index));
        }
        for (index, curve) in self.panel.curves.iter().enumerate() {
            self.draw_line(scene, curve, Pen::of(index));
        }
        scene.rule((self.left, self.right()), self.bottom(), 1.0, GRAY);
        self.draw_epochs(scene, typeface);
        let title = typeface.fitted(&self.panel.title, TITLE_SIZE, self.width);
        scene.text(&title, (self.left, self.top - 10.0), TITLE_SIZE, Align::Start, BLACK);
    }

    fn draw_bands(&self, scene: &mut Scene, curve: &Curve, pen: Pen) {
        for part in unbroken(curve).filter(|part| part.iter().any(|point| point.runs > 1)) {
            let edge = |value: fn(&CurvePoint) -> f64| {
                part.iter().map(|point| (self.x(point.epoch), self.y(value(point)))).collect()
            };
            let (upper, lower) = (edge(|point| point.high), edge(|point| point.low));
            scene.marks.push(Mark::Band { upper, lower, ink: pen.band() });
        }
    }

    fn draw_line(&self, scene: &mut Scene, curve: &Curve, pen: Pen) {
        for part in unbroken(curve) {
            let at = |point: &CurvePoint| (self.x(point.epoch), self.y(point.mean));
            let line: Vec<(f64, f64)> = part.iter().map(at).collect();
            let spacing = match &line[..] {
                [first, .., last] => (last.0 - first.0) / (line.len() - 1) as f64,
                _ => f64::INFINITY,
            };
            if spacing >= SPARSE {
                let dot = |at: &(f64, f64)| Mark::Dot { at: *at, radius: DOT, ink: pen.ink };
                scene.marks.extend(line.iter().map(dot));
            }
            pen.draw(scene, line);
        }
    }

    fn draw_epochs(&self, scene: &mut Scene, typeface: &Typeface) {
        let (first, last) = self.epochs;
        let room = self.width / (last - first).max(1) as f64;
        let widest = typeface.width(&last.to_string(), LABEL_SIZE) + 14.0;
        let steps = (0..).flat_map(|zeros| [1, 2, 5].map(|digit| digit * 10_usize.pow(zeros)));
        let step = steps.take(30).find(|step| room * *step as f64 >= widest).unwrap_or(last.max(1));
        let mut labeled: Vec<usize> = (first..=last).filter(|epoch| epoch % step == 0).collect();
        // The first epoch is worth a label, if there is room beside the next one.
        if labeled.first().is_none_or(|next| (next - first) as f64 * room >= widest) {
            labeled.insert(0, first);
        }
        for epoch in labeled {
            let x = self.x(epoch);
            scene.post(x, (self.bottom(), self.bottom() + 5.0), 1.0, GRAY);
            let at = (x, self.bottom() + 18.0);
            scene.text(&epoch.to_string(), at, LABEL_SIZE, Align::Middle, BLACK);
        }
        let at = (self.left + self.width / 2.0, self.bottom() + 37.0);
        scene.text("Epoch", at, AXIS_TITLE_SIZE, Align::Middle, BLACK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::figures::learning_curves::tests::{course, courses, spec};

    fn svg(settings: &str) -> String {
        Figure::LearningCurves(spec(settings).build(&courses()).unwrap()).svg().unwrap()
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
        // Two lines in the panel and two in the key.
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
        let alone = [course("pcae", "s0", &[2.0, 1.0])];
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
            let figure = spec("scale: Log").build(&courses()).unwrap();
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
        let courses: Vec<_> = models.iter().map(|model| course(model, "s0", &totals)).collect();
        let figure = spec(r#"titles: {"h": "a title that alone fills most of the key's width"}"#);
        let figure = figure.build(&courses).unwrap();
        let typeface = Typeface::embedded().unwrap();
        let scene = draw(&figure, &typeface);
        for mark in &scene.marks {
            if let Mark::Text(text) = mark {
                let right = match text.align {
                    Align::Start => text.at.0 + typeface.width(&text.content, text.size),
                    Align::Middle | Align::End => text.at.0,
                };
                assert!(right <= scene.width && text.at.1 <= scene.height, "{text:?}");
            }
        }
    }
}
