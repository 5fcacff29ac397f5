//! Distances between all points: a full table, or one between anchors that all points are linked
//! with.
//!
//! Training asks for the distances of one batch after the other; everything that takes time is
//! done before.

use super::{AnchorLink, GeometryError, Parts, Rescale};

/// Distances between `n` points, each of them twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    /// Points in the table: all of them, or the anchors.
    side: usize,
    /// The table, row-major, after scaling.
    values: Vec<f32>,
    links: Option<Links>,
    mean_before_scaling: f64,
    rescale: Rescale,
    parts: Option<Parts>,
}

/// Which anchor each point is linked with.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    /// What distances of points follow from those of their anchors.
    pub link: AnchorLink,
    /// The row of each point's nearest anchor in the table.
    pub nearest: Vec<u32>,
    /// The distance of each point to its anchor, after scaling; empty where it does not count.
    pub legs: Vec<f32>,
}

impl Distances {
    /// Makes a full table from its stored parts.
    pub fn from_parts(
        n: usize,
        values: Vec<f32>,
        mean_before_scaling: f64,
        rescale: Rescale,
    ) -> Result<Self, GeometryError> {
        if values.len() != n * n {
            return Err(GeometryError::NotSquare { n, found: values.len() });
        }
        Ok(Self { side: n, values, links: None, mean_before_scaling, rescale, parts: None })
    }

    /// Makes the points of the table anchors, which other points are linked with.
    pub fn with_links(self, links: Links) -> Result<Self, GeometryError> {
        let points = links.nearest.len();
        let unknown = links.nearest.iter().position(|&anchor| anchor as usize >= self.side);
        if let Some(point) = unknown {
            let anchor = links.nearest[point];
            return Err(GeometryError::UnknownAnchor { point, anchor, anchors: self.side });
        }
        let needed = if links.link == AnchorLink::ViaAnchor { points } else { 0 };
        if links.legs.len() != needed {
            return Err(GeometryError::LegCount { points, needed, found: links.legs.len() });
        }
        Ok(Self { links: Some(links), ..self })
    }

    /// Says which separate parts the graph had before they were joined.
    #[must_use]
    pub fn with_parts(self, parts: Option<Parts>) -> Self {
        Self { parts, ..self }
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.links.as_ref().map_or(self.side, |links| links.nearest.len())
    }

    /// Returns whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows of the table: all points, or the anchors.
    pub const fn side(&self) -> usize {
        self.side
    }

    /// Returns the table, row-major, after scaling.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns what links points with the anchors of the table, if it has any.
    pub const fn links(&self) -> Option<&Links> {
        self.links.as_ref()
    }

    /// Returns the mean over all ordered pairs of points before scaling.
    pub const fn mean_before_scaling(&self) -> f64 {
        self.mean_before_scaling
    }

    /// Returns how the distances were scaled.
    pub const fn rescale(&self) -> Rescale {
        self.rescale
    }

    /// Returns the length that counts as 1 in this table, in units of the original points.
    pub const fn unit(&self) -> f64 {
        match self.rescale {
            Rescale::UnitMean => self.mean_before_scaling,
            Rescale::None => 1.0,
        }
    }

    /// Returns which separate parts the graph had before they were joined, if it is known.
    pub const fn parts(&self) -> Option<&Parts> {
        self.parts.as_ref()
    }

    /// Returns the squared distances between the chosen points, row-major, after scaling.
    ///
    /// `euclid` gives the straight distance of two points in their original unit. It is asked only
    /// for points of one cell, under [`AnchorLink::StraightInCell`].
    pub fn squared_between(
        &self,
        indices: &[usize],
        euclid: &dyn Fn(usize, usize) -> f64,
    ) -> Vec<f32> {
        let Some(links) = &self.links else {
            return self.squares(indices, |_, _, distance| distance);
        };
        let rows: Vec<usize> = indices.iter().map(|&index| links.nearest[index] as usize).collect();
        match links.link {
            AnchorLink::AsAnchor => self.squares(&rows, |_, _, distance| distance),
            AnchorLink::StraightInCell => {
                let mut squares = self.squares(&rows, |_, _, distance| distance);
                for (one, other) in pairs(indices.len()).filter(|&(i, j)| rows[i] == rows[j]) {
                    let (from, to) = (indices[one], indices[other]);
                    if from != to {
                        let distance = (euclid(from, to) / self.unit()) as f32;
                        squares[one * indices.len() + other] = distance * distance;
                        squares[other * indices.len() + one] = distance * distance;
                    }
                }
                squares
            }
            AnchorLink::ViaAnchor => {
                let legs: Vec<f32> = indices.iter().map(|&index| links.legs[index]).collect();
                self.squares(&rows, |one, other, distance| {
                    let is_same = indices[one] == indices[other];
                    if is_same { 0.0 } else { (legs[one] + legs[other]) + distance }
                })
            }
        }
    }

    /// Squares what `distance` makes of the table's entry for each pair of the chosen rows.
    fn squares(&self, rows: &[usize], distance: impl Fn(usize, usize, f32) -> f32) -> Vec<f32> {
        let mut squares = Vec::with_capacity(rows.len() * rows.len());
        for (one, &from) in rows.iter().enumerate() {
            let row = &self.values[from * self.side..(from + 1) * self.side];
            let entries = rows.iter().enumerate();
            squares.extend(entries.map(|(other, &to)| distance(one, other, row[to]).powi(2)));
        }
        squares
    }

    /// Feeds all that distances depend on to `take`, to tell these from any other.
    pub fn feed(&self, take: &mut dyn FnMut(&[u8])) {
        const AT_ONCE: usize = 1 << 14;
        take(&self.unit().to_le_bytes());
        for values in self.values.chunks(AT_ONCE) {
            take(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>());
        }
        if let Some(Links { link, nearest, legs }) = &self.links {
            take(format!("{link:?}").as_bytes());
            take(&nearest.iter().flat_map(|row| row.to_le_bytes()).collect::<Vec<_>>());
            take(&legs.iter().flat_map(|leg| leg.to_le_bytes()).collect::<Vec<_>>());
        }
    }
}

/// Returns every two different places below `count`, the lower first.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
}
