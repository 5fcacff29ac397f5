//! What deflate can do at best: a claim beyond it is a lie, whatever the stream holds.

/// Deflate packs at most 1032 bytes into one.
const BEST_RATIO: u64 = 1032;

/// Returns whether a deflated stream of so many bytes can hold what it claims.
pub(super) const fn can_hold(packed: u64, claimed: u64) -> bool {
    claimed / BEST_RATIO <= packed
}
