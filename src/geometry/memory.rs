//! Whether a table of distances fits into memory: told before hours are spent on it, not after.

use super::GeometryError;
use crate::numerics::memory::{self, TooLarge};

/// Refuses a table between so many points if the system says that it has no room for it.
pub(super) fn check_table(points: usize) -> Result<(), GeometryError> {
    let needed = (points as u64).saturating_mul(points as u64).saturating_mul(4);
    memory::check(needed).map_err(|TooLarge { needed, available }| GeometryError::TooLarge {
        points,
        needed,
        available,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::memory::pretended::with_available;

    #[test]
    fn a_table_that_does_not_fit_is_refused_with_its_size() {
        assert_eq!(with_available(400_000_000, || check_table(10_000)), Ok(()));
        assert_eq!(
            with_available(8_000_000_000, || check_table(64_512)).unwrap_err().to_string(),
            "distances between 64512 points take 16.6 GB, but 8.0 GB of memory is available: \
             use `anchors`, or fewer of them"
        );
        assert!(check_table(usize::MAX).is_err());
    }
}
