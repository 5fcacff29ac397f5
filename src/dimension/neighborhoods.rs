//! The distinct neighbors of points, which most estimators look at.
//!
//! What: for each asked point its nearest points at a distance above zero, nearest first. A repeated
//! point says nothing about dimension, and the logarithm of its distance is infinite: it is left
//! out as a neighbor and counted, and the next one takes its place.
//! Reference: Pope et al. 2021, whose search skips repeated images the same way.

use super::EstimateError;
use crate::geometry::Neighbors;
use crate::numerics::Points;

/// The distinct neighbors of each asked point.
pub(super) struct Neighborhoods {
    count: usize,
    links: Vec<(u32, f64)>,
    /// The points whose neighbors these are.
    asked: Vec<u32>,
    /// How many pairs of an asked point and another point coincide.
    duplicates: usize,
}

impl Neighborhoods {
    /// Finds the `count` nearest distinct neighbors, if possible among those found already.
    pub(super) fn of(
        points: &Points,
        count: usize,
        known: Option<&Neighbors>,
    ) -> Result<Self, EstimateError> {
        if points.rows() == 0 || points.width() == 0 {
            return Err(EstimateError::NoPoints);
        }
        let searched;
        let neighbors = if let Some(known) = known {
            known.check(points)?;
            if known.count() < count {
                let (found, needed) = (known.count(), count);
                return Err(EstimateError::FewNeighbors { needed, found });
            }
            known
        } else {
            searched = Neighbors::of(points, count)?;
            &searched
        };
        let asked = neighbors.asked().to_vec();
        let mut this =
            Self { count, links: vec![(0, 0.0); asked.len() * count], asked, duplicates: 0 };
        let mut short = Vec::new();
        for at in 0..this.rows() {
            let row = neighbors.row(at);
            let copies = row.partition_point(|&(_, distance)| distance == 0.0);
            match row.get(copies..copies + count) {
                Some(found) => this.put(at, found, copies),
                None => short.push(at),
            }
        }
        if !short.is_empty() {
            this.fill(points, &short)?;
        }
        Ok(this)
    }

    fn put(&mut self, at: usize, found: &[(u32, f64)], copies: usize) {
        self.links[at * self.count..(at + 1) * self.count].copy_from_slice(found);
        self.duplicates += copies;
    }

    /// Finds the neighbors of asked points that have too many copies: among one of each kind, for
    /// all points of a kind have the same neighbors.
    fn fill(&mut self, points: &Points, short: &[usize]) -> Result<(), EstimateError> {
        let kinds = Kinds::of(points);
        let few = EstimateError::FewDistinct { needed: self.count, points: points.rows() };
        let mut wanted: Vec<u32> = short.iter().map(|&at| kinds.of_row(self.asked[at])).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let count = self.count.min(kinds.first_of_each.rows() - 1);
        if count == 0 {
            return Err(few);
        }
        let near = Neighbors::of_some(&kinds.first_of_each, wanted, count, &mut |_, _| ())?;
        for &at in short {
            let kind = kinds.of_row(self.asked[at]);
            let place = near.asked().partition_point(|&asked| asked < kind);
            let copies = |&(kind, distance): &(u32, f64)| {
                kinds.members[kind as usize].iter().map(move |&row| (row, distance))
            };
            let mut found: Vec<(u32, f64)> = near.row(place).iter().flat_map(copies).collect();
            found.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            let found = found.get(..self.count).ok_or_else(|| few.clone())?;
            self.put(at, found, kinds.members[kind as usize].len() - 1);
        }
        Ok(())
    }

    /// Returns the number of points whose neighbors these are.
    pub(super) fn rows(&self) -> usize {
        self.asked.len()
    }

    /// Returns the points whose neighbors these are.
    pub(super) fn asked(&self) -> &[u32] {
        &self.asked
    }

    /// Returns how many neighbors coincided with their point and were left out.
    pub(super) const fn duplicates(&self) -> usize {
        self.duplicates
    }

    /// Returns the neighbors of each point, nearest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[(u32, f64)]> {
        self.links.chunks_exact(self.count)
    }

    /// Returns the distances to the neighbor of a rank, counting from 1, one for each point.
    pub(super) fn distances(&self, rank: usize) -> Vec<f64> {
        self.iter().map(|row| row[rank - 1].1).collect()
    }
}

/// Points sorted into kinds: those of one kind coincide.
struct Kinds {
    first_of_each: Points,
    /// The rows of each kind, in ascending order.
    members: Vec<Vec<u32>>,
    kind_of_row: Vec<u32>,
}

impl Kinds {
    fn of(points: &Points) -> Self {
        let mut order: Vec<u32> = (0..points.rows()).map(|row| row as u32).collect();
        // Adding zero makes -0.0 and 0.0 equal, as they are.
        let bits = |row: u32| points.row(row as usize).iter().map(|value| (value + 0.0).to_bits());
        order.sort_by(|&one, &other| bits(one).cmp(bits(other)));
        let members: Vec<Vec<u32>> =
            order.chunk_by(|&one, &other| bits(one).eq(bits(other))).map(<[u32]>::to_vec).collect();
        let mut kind_of_row = vec![0; points.rows()];
        for (kind, rows) in (0..).zip(&members) {
            for &row in rows {
                kind_of_row[row as usize] = kind;
            }
        }
        let firsts = members.iter().flat_map(|rows| points.row(rows[0] as usize));
        let first_of_each = Points::from_rows(points.width(), firsts.copied().collect());
        Self { first_of_each, members, kind_of_row }
    }

    fn of_row(&self, row: u32) -> u32 {
        self.kind_of_row[row as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(places: &[f32]) -> Points {
        Points::new(places.len(), 1, places.to_vec()).unwrap()
    }

    #[test]
    fn repeated_points_are_left_out_as_neighbors_and_counted() {
        let points = line(&[0.0, 0.0, 0.0, 0.0, 1.0, 3.0]);
        let found = Neighborhoods::of(&points, 2, None).unwrap();
        let rows: Vec<_> = found.iter().collect();
        assert_eq!(rows[0], [(4, 1.0), (5, 3.0)]);
        assert_eq!(rows[3], [(4, 1.0), (5, 3.0)]);
        // Those at 0 are neighbors of the others, each by itself.
        assert_eq!(rows[4], [(0, 1.0), (1, 1.0)]);
        assert_eq!(found.duplicates(), 4 * 3);
        assert_eq!(found.distances(2), [3.0, 3.0, 3.0, 3.0, 1.0, 2.0 + 1.0]);
    }

    #[test]
    fn neighbors_found_before_are_used_and_must_suffice() {
        let points = line(&[0.0, 1.0, 3.0, 7.0, 15.0]);
        let known = Neighbors::of_some(&points, vec![1, 3], 3, &mut |_, _| ()).unwrap();
        let found = Neighborhoods::of(&points, 2, Some(&known)).unwrap();
        assert_eq!(found.asked(), [1, 3]);
        assert_eq!(found.distances(1), [1.0, 4.0]);
        let short = Neighborhoods::of(&points, 4, Some(&known)).err();
        assert_eq!(short, Some(EstimateError::FewNeighbors { needed: 4, found: 3 }));
    }

    #[test]
    fn points_that_all_coincide_have_no_neighborhoods() {
        let refused = Neighborhoods::of(&line(&[2.0; 9]), 3, None).err();
        assert_eq!(refused, Some(EstimateError::FewDistinct { needed: 3, points: 9 }));
        let few = Neighborhoods::of(&line(&[2.0, 2.0, 2.0, 5.0, 6.0, 7.0]), 4, None).err();
        assert_eq!(few, Some(EstimateError::FewDistinct { needed: 4, points: 6 }));
    }

    #[test]
    fn thousands_of_blank_points_are_no_difficulty() {
        let mut places = vec![0.0; 3000];
        places.extend([-0.0, 1.0, 2.0, 2.0]);
        let found = Neighborhoods::of(&line(&places), 3, None).unwrap();
        let expected = [(3001, 1.0), (3002, 2.0), (3003, 2.0)];
        assert!(found.iter().take(3001).all(|row| row == expected));
        assert_eq!(found.iter().nth(3002).unwrap(), [(3001, 1.0), (0, 2.0), (1, 2.0)]);
        assert_eq!(found.duplicates(), 3001 * 3000 + 2);
    }
}
