//! The horizontal axis of a panel: counted numbers or measured ones, and where their labels fit.

use crate::report::figures::chart::PlotArea;
use crate::report::figures::chart::legend::LABEL_SIZE;
use crate::report::figures::chart::value_axis::ValueAxis;
use crate::report::figures::drawing::typeface::Typeface;

/// A horizontal axis.
pub(crate) enum HorizontalAxis {
    /// Whole numbers from the first to the last, each with room of its own.
    Counted(usize, usize),
    /// Epochs from the first at the left end to the last at the right end.
    Epochs(usize, usize),
    /// Coordinates from 1 to this many, each with room of its own and a tick if they fit.
    Coordinates(usize),
    /// Any numbers.
    Measured(ValueAxis),
}

/// A tick below a panel.
pub(super) struct Tick {
    pub(super) x: f64,
    /// Whether it is one of those between labeled ticks.
    pub(super) is_short: bool,
    pub(super) label: Option<String>,
}

impl HorizontalAxis {
    /// Returns the distance from one counted number to the next.
    pub(crate) fn step(&self, area: PlotArea) -> f64 {
        match self {
            Self::Counted(first, last) => area.width / (last.saturating_sub(*first) + 1) as f64,
            Self::Epochs(first, last) => area.width / (last - first).max(1) as f64,
            Self::Coordinates(count) => area.width / (*count).max(1) as f64,
            Self::Measured(_) => area.width,
        }
    }

    /// Returns where a number stands on the page.
    pub(crate) fn x(&self, number: f64, area: PlotArea) -> f64 {
        match self {
            Self::Counted(first, last) => {
                let count = last.saturating_sub(*first) + 1;
                area.left + (number - *first as f64 + 0.5) / count as f64 * area.width
            }
            Self::Epochs(first, last) if first >= last => area.left + area.width / 2.0,
            Self::Epochs(first, last) => {
                area.left + (number - *first as f64) / (last - first) as f64 * area.width
            }
            Self::Coordinates(_) => area.left + (number - 1.0 + 0.5) * self.step(area),
            Self::Measured(axis) => area.left + axis.height(number) * area.width,
        }
    }

    /// Returns the ticks, each with its label if there is room for it.
    pub(super) fn ticks(&self, area: PlotArea, typeface: &Typeface) -> Vec<Tick> {
        let tick = |(number, label): (f64, String)| Tick {
            x: self.x(number, area),
            is_short: false,
            label: Some(label),
        };
        match self {
            Self::Counted(first, last) => {
                let shown = self.labeled(*first, *last, 10.0, area, typeface);
                shown.into_iter().map(|number| tick((number as f64, number.to_string()))).collect()
            }
            Self::Epochs(first, last) => {
                let shown = self.labeled(*first, *last, 14.0, area, typeface);
                shown.into_iter().map(|epoch| tick((epoch as f64, epoch.to_string()))).collect()
            }
            Self::Coordinates(count) => self.coordinate_ticks(*count, area, typeface),
            Self::Measured(axis) => {
                let all: Vec<(f64, String)> = axis.ticks().collect();
                let widths = all.iter().map(|(_, label)| typeface.width(label, LABEL_SIZE));
                let widest = widths.fold(0.0, f64::max) + 10.0;
                let room = area.width / all.len().saturating_sub(1).max(1) as f64;
                let every = (widest / room).ceil().max(1.0) as usize;
                all.into_iter().step_by(every).map(tick).collect()
            }
        }
    }

    /// Returns the numbers with labels at least this far apart: multiples of a round number.
    fn labeled(
        &self,
        first: usize,
        last: usize,
        distance: f64,
        area: PlotArea,
        typeface: &Typeface,
    ) -> Vec<usize> {
        let room = self.step(area);
        let widest = typeface.width(&last.to_string(), LABEL_SIZE) + distance;
        let mut steps =
            (0..10).flat_map(|zeros| [1, 2, 5].map(|digit| digit * 10_usize.pow(zeros)));
        let step = steps.find(|step| room * *step as f64 >= widest).unwrap_or(last.max(1));
        let mut shown: Vec<usize> =
            (first..=last).filter(|number| number.is_multiple_of(step)).collect();
        // The first number is worth a label, if there is room beside the next one.
        if shown.first().is_none_or(|next| (next - first) as f64 * room >= widest) {
            shown.insert(0, first);
        }
        shown
    }

    fn coordinate_ticks(&self, count: usize, area: PlotArea, typeface: &Typeface) -> Vec<Tick> {
        let room = self.step(area);
        let widest = typeface.width(&count.to_string(), LABEL_SIZE) + 6.0;
        let steps = [1, 2, 5, 10, 20, 50, 100];
        let fits = |step: &usize| room * *step as f64 >= widest;
        let step = steps.into_iter().find(fits).unwrap_or(count.max(1));
        let tick = |number: usize| {
            let is_labeled = number.is_multiple_of(step) || (number == 1 && step > 2);
            (is_labeled || room >= 4.0).then(|| Tick {
                x: self.x(number as f64, area),
                is_short: !is_labeled,
                label: is_labeled.then(|| number.to_string()),
            })
        };
        (1..=count).filter_map(tick).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Scale;

    #[test]
    fn labels_of_a_horizontal_axis_have_room_between_them() {
        let typeface = Typeface::embedded().unwrap();
        let area = PlotArea { left: 0.0, top: 0.0, width: 180.0, height: 100.0 };
        let labels = |axis: &HorizontalAxis| -> Vec<String> {
            axis.ticks(area, &typeface).into_iter().filter_map(|tick| tick.label).collect()
        };
        assert_eq!(labels(&HorizontalAxis::Counted(1, 4)), ["1", "2", "3", "4"]);
        assert_eq!(
            labels(&HorizontalAxis::Counted(1, 64)),
            ["1", "10", "20", "30", "40", "50", "60"]
        );
        assert_eq!(labels(&HorizontalAxis::Counted(3, 3)), ["3"]);
        let wide = HorizontalAxis::Measured(ValueAxis::fitted(Scale::Linear, 1000.1, 1000.4));
        assert_eq!(labels(&wide), ["1000.1", "1000.2", "1000.3", "1000.4"]);
    }
}
