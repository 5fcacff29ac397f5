//! How large a stage becomes and which axes it needs, known before it is filled.
//!
//! Values may stand inside values many times over, so the text of a stage can be exponentially longer
//! than the file. Each value is measured once for each depth at which it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::bounds::DEEPEST_VALUES;
use super::source::Span;
use super::template::{Origin, Piece, Template, Templates};

/// What stands in a template for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    Shared(usize),
    /// An axis, and the field of its values.
    Value(usize, Option<&'a str>),
}

/// The extent of a filled template, over all labels that its axes may have.
#[derive(Clone, Debug, Default)]
pub(super) struct Extent {
    /// Bytes of the longest text, with the places where it came from.
    pub(super) largest: usize,
    /// Bytes on average.
    pub(super) mean: f64,
    /// The axes that must be bound, in the order of their first use.
    axes: Vec<usize>,
}

impl Extent {
    fn add(&mut self, largest: usize, mean: f64) {
        self.largest = self.largest.saturating_add(largest);
        self.mean += mean;
    }
}

/// Measures templates; remembers the values inside them.
pub(super) struct Extents<'t, 'a> {
    templates: &'t Templates<'a>,
    longest_labels: Vec<usize>,
    known: BTreeMap<(Part<'a>, usize), Rc<Extent>>,
}

impl<'t, 'a> Extents<'t, 'a> {
    /// Starts with no value measured.
    pub(super) fn new(templates: &'t Templates<'a>) -> Self {
        let longest = |labels: &[(String, Span)]| labels.iter().map(|(label, _)| label.len()).max();
        let axes = templates.spec.axes.iter();
        let longest_labels = axes.map(|axis| longest(&axis.values).unwrap_or_default()).collect();
        Self { templates, longest_labels, known: BTreeMap::new() }
    }

    /// Measures a stage's template.
    pub(super) fn of(&mut self, template: &Template) -> Extent {
        self.at_depth(template, 0)
    }

    /// Returns the axes that a stage's template needs, with the first place in it that needs each.
    pub(super) fn needs(&mut self, template: &Template) -> Vec<(usize, Span)> {
        let mut needed = template.uses.clone();
        for piece in &template.pieces {
            if let Some((part, at)) = self.part_of(piece) {
                needed.extend(self.of_part(part, 1).axes.iter().map(|&axis| (axis, at)));
            }
        }
        let mut seen = BTreeSet::new();
        needed.retain(|(axis, _)| seen.insert(*axis));
        needed
    }

    /// Returns the value that a piece stands for, and where it is mentioned.
    fn part_of(&self, piece: &Piece) -> Option<(Part<'a>, Span)> {
        match *piece {
            Piece::Shared { index, at } => Some((Part::Shared(index), at)),
            Piece::Value { axis, field, at } => {
                let field = field.map(|field| self.templates.source.slice(field));
                Some((Part::Value(axis, field), at))
            }
            Piece::Copy(_)
            | Piece::Label { .. }
            | Piece::FieldLabel { .. }
            | Piece::OpenLabel { .. } => None,
        }
    }

    fn at_depth(&mut self, template: &Template, depth: usize) -> Extent {
        let mut extent = Extent::default();
        let mut axes: Vec<usize> = template.uses.iter().map(|(axis, _)| *axis).collect();
        for piece in &template.pieces {
            let own = match piece {
                Piece::Copy(span) => span.end - span.start,
                Piece::Label { axis, .. } => self.longest_labels[*axis],
                // A plain value: no longer than all values together.
                Piece::FieldLabel { axis, .. } => {
                    let values = self.templates.spec.axes[*axis].values.iter();
                    values.map(|(_, value)| value.end - value.start).max().unwrap_or_default()
                }
                Piece::OpenLabel { axis, at } => self.longest_labels[*axis].max(at.end - at.start),
                Piece::Value { .. } | Piece::Shared { .. } => 0,
            };
            match self.part_of(piece) {
                None => {
                    let bytes = own + size_of::<Origin>();
                    extent.add(bytes, bytes as f64);
                }
                // Filling stops here.
                Some(_) if depth >= DEEPEST_VALUES => {}
                Some((part, _)) => {
                    let inner = self.of_part(part, depth + 1);
                    extent.add(inner.largest, inner.mean);
                    axes.extend(&inner.axes);
                }
            }
        }
        let mut seen = BTreeSet::new();
        axes.retain(|axis| seen.insert(*axis));
        extent.axes = axes;
        extent
    }

    fn of_part(&mut self, part: Part<'a>, depth: usize) -> Rc<Extent> {
        if let Some(known) = self.known.get(&(part, depth)) {
            return Rc::clone(known);
        }
        let templates = self.templates;
        let extent = match part {
            Part::Shared(index) => self.at_depth(&templates.shared[index], depth),
            Part::Value(axis, field) => {
                let values = &templates.axes[axis];
                let mut all = Extent::default();
                let mut seen = BTreeSet::new();
                for value in values.iter().filter_map(|value| value.part(field)) {
                    let one = self.at_depth(value, depth);
                    all.largest = all.largest.max(one.largest);
                    all.mean += one.mean / values.len() as f64;
                    all.axes.extend(one.axes.into_iter().filter(|axis| seen.insert(*axis)));
                }
                all
            }
        };
        let extent = Rc::new(extent);
        self.known.insert((part, depth), Rc::clone(&extent));
        extent
    }
}
