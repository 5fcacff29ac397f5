//! All values of an array, seen once: their range, and whether bytes can hold them.

use super::{PixelRange, find};
use crate::data::formats::npy;
use crate::data::{DataError, Files};
use crate::numerics::Points;

/// A value this near to one of 256 levels is that level, in another number type.
const SAME_LEVEL: f64 = 1e-3;

/// What the values of an array are.
#[derive(Clone, Debug)]
pub struct ArrayValues {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// The narrowest range that holds all of them, if there is one.
    pub range: Option<PixelRange>,
    /// Whether each is one of the 256 levels of that range.
    pub are_levels: bool,
    /// Some rows, evenly spread over all.
    pub sample: Points,
}

/// Reads all values of an array, and keeps at most so many rows of it.
pub fn scan_values(files: &Files, name: &str, most: usize) -> Result<ArrayValues, DataError> {
    const RANGES: [PixelRange; 3] = [PixelRange::Unit, PixelRange::Symmetric, PixelRange::Full];
    let mut stored = Vec::new();
    for file in files.iter() {
        stored.extend(npy::list(file)?);
    }
    let mut array = find(&stored, name)?.open()?;
    let (rows, element) = (array.rows(), array.element());
    let every = rows.div_ceil(most.max(1)).max(1);
    let width: usize = array.header().shape[1..].iter().product();
    let mut sample = array.room_for(rows.div_ceil(every) * width)?;
    let mut row = array.row_buffer()?;
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut are_levels = [true; RANGES.len()];
    for index in 0..rows {
        array.read_row(index, &mut row)?;
        for (place, bytes) in row.chunks_exact(element.size).enumerate() {
            let value = element.float(bytes);
            if !(value as f32).is_finite() {
                let reason = format!("expected a finite number, found {value}");
                return Err(array.error(array.place(index, place), reason));
            }
            (low, high) = (low.min(value), high.max(value));
            for (are_levels, range) in are_levels.iter_mut().zip(RANGES) {
                let level = range.level(value);
                *are_levels = *are_levels && (level - level.round()).abs() < SAME_LEVEL;
            }
            if index % every == 0 {
                sample.push(value as f32);
            }
        }
    }
    // As the reader has it: a value is in a range if it rounds to one of its levels.
    let holds =
        |range: &PixelRange| range.level(low).round() >= 0.0 && range.level(high).round() <= 255.0;
    let found = RANGES.iter().position(holds);
    Ok(ArrayValues {
        low,
        high,
        range: found.map(|found| RANGES[found]),
        are_levels: found.is_some_and(|found| are_levels[found]),
        sample: Points::from_rows(width, sample),
    })
}

impl ArrayValues {
    /// Returns how far rounding to bytes moves a row, as a share of the distance to its nearest
    /// neighbor among the sample: the median over some rows. Nothing if all rows are equal, or no
    /// range holds the values.
    pub fn rounding(&self) -> Option<f64> {
        const QUERIES: usize = 100;
        let range = self.range?;
        let rows = self.sample.rows();
        let mut shares = Vec::new();
        for row in (0..rows).step_by(rows.div_ceil(QUERIES).max(1)) {
            let levels: Vec<f64> =
                self.sample.row(row).iter().map(|&value| range.level(value.into())).collect();
            let moved: f64 = levels.iter().map(|level| (level - level.round()).powi(2)).sum();
            let others = (0..rows).filter(|&other| other != row);
            let nearest = others
                .map(|other| {
                    let pairs = self.sample.row(other).iter().zip(&levels);
                    pairs.map(|(&value, level)| (range.level(value.into()) - level).powi(2)).sum()
                })
                .filter(|distance: &f64| *distance > 0.0)
                .min_by(f64::total_cmp);
            shares.extend(nearest.map(|nearest| (moved / nearest).sqrt()));
        }
        shares.sort_by(f64::total_cmp);
        shares.get(shares.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn scanned(name: &str, most: usize) -> Result<ArrayValues, DataError> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/arrays/");
        let place = format!("{folder}{name}.npy").into();
        scan_values(&Files::new(BTreeMap::from([(format!("{name}.npy"), place)])), name, most)
    }

    #[test]
    fn bytes_in_another_number_type_are_known_with_their_range() {
        for (name, range) in [("unit", PixelRange::Unit), ("symmetric", PixelRange::Symmetric)] {
            let values = scanned(name, 2).unwrap();
            assert_eq!((values.range, values.are_levels), (Some(range), true), "{name}");
            assert_eq!(values.sample.rows(), 2);
            assert!(values.rounding().unwrap() < 1e-4);
        }
    }

    #[test]
    fn values_between_the_levels_or_beyond_all_ranges_are_told() {
        let eighths = scanned("vectors_f8", 10).unwrap();
        assert_eq!((eighths.low, eighths.high), (-0.5, 0.875));
        assert_eq!((eighths.range, eighths.are_levels), (Some(PixelRange::Symmetric), false));
        // Neighbors are 1 apart in sum of squares; each value is rounded by at most half a level.
        assert!(eighths.rounding().unwrap() < 0.01);
        let negative = scanned("vectors_i2", 10).unwrap();
        assert_eq!((negative.range, negative.rounding()), (None, None));
        let refused = scanned("nan", 10).unwrap_err().to_string();
        assert_eq!(refused, "nan.npy: value [2, 1]: expected a finite number, found NaN");
    }
}
