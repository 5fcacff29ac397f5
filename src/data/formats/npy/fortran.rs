//! Values in Fortran order, put into C order.

use std::io::{self, Read};

use super::header::Header;

/// Reads all values of an array in Fortran order into `values`, in C order, and makes sure that
/// nothing follows them.
pub(super) fn read(source: &mut impl Read, header: &Header, values: &mut [u8]) -> io::Result<()> {
    let (rows, size) = (header.shape[0], header.element.size);
    let row_bytes = values.len() / rows.max(1);
    // The first index varies fastest: a run of values is one place of all rows.
    let mut run = vec![0; rows * size];
    for index in 0..row_bytes / size {
        source.read_exact(&mut run)?;
        let place = c_place(&header.shape[1..], index) * size;
        for (row, value) in run.chunks_exact(size).enumerate() {
            values[row * row_bytes + place..][..size].copy_from_slice(value);
        }
    }
    // Reading to the end also checks what a member of an archive holds.
    if source.read(&mut [0])? > 0 {
        return Err(io::Error::other("there is more data than the header declares"));
    }
    Ok(())
}

/// Returns where a value stands in C order, by its place in Fortran order.
fn c_place(shape: &[usize], mut index: usize) -> usize {
    let mut stride: usize = shape.iter().product();
    let mut place = 0;
    for size in shape {
        stride /= size;
        place += index % size * stride;
        index /= size;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_other_order() {
        // A row of 2 x 3 values, numbered in Fortran order: 0 2 4 / 1 3 5.
        let places: Vec<usize> = (0..6).map(|index| c_place(&[2, 3], index)).collect();
        assert_eq!(places, [0, 3, 1, 4, 2, 5]);
    }
}
