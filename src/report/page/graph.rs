//! The graph of stages as the page draws it: one box per family, with how its stages stand.

use serde::Serialize;

use super::families::Family;
use super::layout::{self, BOX_HEIGHT, BOX_WIDTH};
use super::units;
use crate::report::content::Status;

/// How many characters of a name fit into a box.
const LONGEST_NAME: usize = 25;

/// How far the bar in a box stays away from its sides.
const BAR_INSET: f64 = 12.0;

/// The drawing.
#[derive(Debug, Serialize)]
pub(super) struct Graph {
    width: f64,
    height: f64,
    box_width: f64,
    box_height: f64,
    paths: Vec<String>,
    nodes: Vec<Node>,
}

#[derive(Debug, Serialize)]
struct Node {
    x: f64,
    y: f64,
    /// The family's whole name.
    name: String,
    /// As much of it as fits.
    title: String,
    /// Kind, count and time.
    line: String,
    /// How its stages stand, in words.
    summary: String,
    /// The status that needs attention first.
    status: &'static str,
    /// How its stages stand, as a bar.
    bar: Vec<Segment>,
}

#[derive(Debug, Serialize)]
struct Segment {
    x: f64,
    width: f64,
    status: &'static str,
}

impl Graph {
    pub(super) fn of(families: &[Family<'_>]) -> Self {
        let columns: Vec<_> = families.iter().map(|family| family.layer).collect();
        let lines: Vec<_> = families
            .iter()
            .enumerate()
            .flat_map(|(to, family)| family.inputs.iter().map(move |&from| (from, to)))
            .collect();
        let layout = layout::layout(&columns, &lines);
        let nodes = families.iter().zip(&layout.corners);
        Self {
            width: layout.width.ceil(),
            height: layout.height.ceil(),
            box_width: BOX_WIDTH,
            box_height: BOX_HEIGHT,
            paths: layout.paths,
            nodes: nodes.map(|(family, &corner)| node(family, corner)).collect(),
        }
    }
}

fn node(family: &Family<'_>, (x, y): (f64, f64)) -> Node {
    let count = family.members.len();
    let many = if count == 1 { String::new() } else { format!("{count} × ") };
    let time = if family.seconds > 0.0 {
        format!(" · {}", units::duration(family.seconds))
    } else {
        String::new()
    };
    Node {
        x: rounded(x),
        y: rounded(y),
        name: family.name.to_owned(),
        title: shortened(family.name),
        line: format!("{many}{}{time}", family.kind),
        summary: summary(family),
        status: family.statuses.keys().next().map_or("", |status| status.word()),
        bar: bar(family),
    }
}

/// Returns how the stages of a family stand, in words.
fn summary(family: &Family<'_>) -> String {
    let parts: Vec<_> = family
        .statuses
        .iter()
        .map(|(status, &count)| match family.members.len() {
            1 => status.word().to_owned(),
            all if all == count => format!("all {}", status.word()),
            _ => format!("{count} {}", status.word()),
        })
        .collect();
    parts.join(", ")
}

fn bar(family: &Family<'_>) -> Vec<Segment> {
    let share = (BOX_WIDTH - 2.0 * BAR_INSET) / family.members.len().max(1) as f64;
    let mut x = BAR_INSET;
    let segment = |(status, count): (&Status, &usize)| {
        let width = share * *count as f64;
        let segment = Segment { x: rounded(x), width: rounded(width), status: status.word() };
        x += width;
        segment
    };
    family.statuses.iter().map(segment).collect()
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::content::tests::stage;
    use crate::report::page::families::families;

    #[test]
    fn a_box_says_how_its_stages_stand() {
        let mut stages: Vec<_> = ["a-0", "a-1", "a-2", "a-3"]
            .map(|name| stage(name, "a-{the-name-of-a-very-long-axis}", &[]))
            .into();
        let all = Graph::of(&families(&stages));
        assert_eq!(all.nodes[0].summary, "all ran");
        stages[3].status = Status::Failed;
        let graph = Graph::of(&families(&stages));
        let node = &graph.nodes[0];
        assert_eq!((node.summary.as_str(), node.status), ("1 failed, 3 ran", "failed"));
        assert_eq!(node.line, "4 × Command · 10 s");
        assert_eq!(node.title.chars().count(), LONGEST_NAME);
        let lengths: Vec<_> = node.bar.iter().map(|part| (part.width / 46.0).round()).collect();
        assert_eq!(lengths, [1.0, 3.0], "the bar shows the shares");
    }
}
