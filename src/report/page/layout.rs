//! Places for the boxes of a layered graph, and paths for the lines between them.
//!
//! Boxes stand in columns, left to right. A line that passes a column gets a narrow place of its own
//! there, so that it runs between boxes instead of behind them. Columns are ordered by the mean place
//! of what their boxes are tied to, a few times forth and back.

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) const BOX_WIDTH: f64 = 208.0;
pub(super) const BOX_HEIGHT: f64 = 68.0;
const COLUMN_GAP: f64 = 44.0;
const ROW_GAP: f64 = 16.0;
const PASSAGE_HEIGHT: f64 = 4.0;
const MARGIN: f64 = 8.0;
const ITERATIONS: usize = 8;

/// A drawing's size, the corners of its boxes and the paths of its lines.
#[derive(Debug)]
pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    /// The left upper corner of each box.
    pub corners: Vec<(f64, f64)>,
    /// One path per line, as SVG draws it.
    pub paths: Vec<String>,
}

/// A box, or the place of a line that passes.
struct Place {
    column: usize,
    height: f64,
    before: Vec<usize>,
    after: Vec<usize>,
    top: f64,
}

/// Finds places; boxes come with their columns, lines with the boxes they tie, left one first.
pub(super) fn layout(columns: &[usize], lines: &[(usize, usize)]) -> Layout {
    let mut places: Vec<Place> =
        columns.iter().map(|&column| Place::new(column, BOX_HEIGHT)).collect();
    let mut routes = Vec::new();
    for &(from, to) in lines {
        let mut route = vec![from];
        for column in columns[from] + 1..columns[to] {
            places.push(Place::new(column, PASSAGE_HEIGHT));
            route.push(places.len() - 1);
        }
        route.push(to);
        for pair in route.windows(2) {
            places[pair[0]].after.push(pair[1]);
            places[pair[1]].before.push(pair[0]);
        }
        routes.push(route);
    }
    let mut order: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, item) in places.iter().enumerate() {
        order.entry(item.column).or_default().push(place);
    }
    for column in order.values() {
        stack(&mut places, column);
    }
    for iteration in 0..ITERATIONS {
        let forth = iteration % 2 == 0;
        let mut numbers: Vec<usize> = order.keys().copied().collect();
        if !forth {
            numbers.reverse();
        }
        for number in numbers {
            if let Some(column) = order.get_mut(&number) {
                order_column(&mut places, column, forth);
            }
        }
    }
    let highest = places.iter().map(|place| place.top).fold(f64::INFINITY, f64::min);
    for place in &mut places {
        place.top += MARGIN - highest;
    }
    let bottom = places.iter().map(|place| place.top + place.height).fold(0.0, f64::max);
    let last = columns.iter().max().map_or(0, |column| column + 1) as f64;
    Layout {
        width: 2.0 * MARGIN + last * (BOX_WIDTH + COLUMN_GAP) - COLUMN_GAP,
        height: bottom + MARGIN,
        corners: places[..columns.len()].iter().map(|place| (place.left(), place.top)).collect(),
        paths: routes.iter().map(|route| svg_path(&places, route)).collect(),
    }
}

impl Place {
    fn new(column: usize, height: f64) -> Self {
        Self { column, height, before: Vec::new(), after: Vec::new(), top: 0.0 }
    }

    fn left(&self) -> f64 {
        MARGIN + self.column as f64 * (BOX_WIDTH + COLUMN_GAP)
    }

    fn middle(&self) -> f64 {
        self.top + self.height / 2.0
    }
}

/// Puts the places of a column one below the other, around zero.
fn stack(places: &mut [Place], column: &[usize]) {
    let total: f64 = column.iter().map(|&place| places[place].height + ROW_GAP).sum();
    let mut top = -total / 2.0;
    for &place in column {
        places[place].top = top;
        top += places[place].height + ROW_GAP;
    }
}

/// Moves the places of a column next to what they are tied to, as far as there is room.
fn order_column(places: &mut [Place], column: &mut Vec<usize>, forth: bool) {
    let wanted = |places: &[Place], place: usize| {
        let item = &places[place];
        let tied = if forth { &item.before } else { &item.after };
        if tied.is_empty() {
            return item.middle();
        }
        tied.iter().map(|&other| places[other].middle()).sum::<f64>() / tied.len() as f64
    };
    let mut wanted_places: Vec<(usize, f64)> =
        column.iter().map(|&place| (place, wanted(places, place))).collect();
    wanted_places.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut floor = f64::NEG_INFINITY;
    let mut excess = 0.0;
    for &(place, middle) in &wanted_places {
        let top = (middle - places[place].height / 2.0).max(floor);
        places[place].top = top;
        floor = top + places[place].height + ROW_GAP;
        excess += places[place].middle() - middle;
    }
    // RunInfo room only ever pushes down: half of it should have gone up.
    let shift = excess / wanted_places.len().max(1) as f64;
    for &(place, _) in &wanted_places {
        places[place].top -= shift;
    }
    *column = wanted_places.into_iter().map(|(place, _)| place).collect();
}

/// Draws a line from the right side of its first box to the left side of its last one.
fn svg_path(places: &[Place], route: &[usize]) -> String {
    let first = &places[route[0]];
    let (mut x, mut y) = (first.left() + BOX_WIDTH, first.middle());
    let mut path = format!("M{x:.1} {y:.1}");
    for (step, &place) in route.iter().enumerate().skip(1) {
        let next = &places[place];
        let (left, middle) = (next.left(), next.middle());
        let bend = f64::midpoint(x, left);
        let _ = write!(path, "C{bend:.1} {y:.1} {bend:.1} {middle:.1} {left:.1} {middle:.1}");
        (x, y) = (left, middle);
        if step + 1 < route.len() {
            x += BOX_WIDTH;
            let _ = write!(path, "H{x:.1}");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_never_overlap_and_all_lie_inside() {
        let columns = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3];
        let lines =
            [(0, 3), (1, 3), (2, 4), (0, 9), (3, 5), (3, 6), (4, 7), (4, 8), (5, 9), (8, 9)];
        let layout = layout(&columns, &lines);
        for (a, &(x, y)) in layout.corners.iter().enumerate() {
            assert!(x >= 0.0 && x + BOX_WIDTH <= layout.width);
            assert!(y >= 0.0 && y + BOX_HEIGHT <= layout.height);
            for &(other_x, other_y) in &layout.corners[..a] {
                let apart = (y - other_y).abs() >= BOX_HEIGHT || (x - other_x).abs() >= BOX_WIDTH;
                assert!(apart, "{a} covers another box");
            }
        }
        assert_eq!(layout.paths.len(), lines.len());
    }

    #[test]
    fn a_line_that_passes_a_column_runs_between_its_boxes() {
        let layout = layout(&[0, 1, 2], &[(0, 1), (1, 2), (0, 2)]);
        let (_, top) = layout.corners[1];
        let passage = layout.paths[2].split('H').next().unwrap();
        let height: f64 = passage.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(height < top || height > top + BOX_HEIGHT, "{height} is behind the box at {top}");
    }
}
