//! Leaves a remote alone that fails again and again: waiting for it would cost more than it saves.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::store::StoreError;

/// Errors in a row after which nothing more is asked.
const MOST_ERRORS: usize = 4;

/// Counts errors in a row.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    errors: usize,
    reason: Option<String>,
    write_refusal: Option<String>,
}

impl Breaker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn succeeded(&self) {
        self.state().errors = 0;
    }

    pub(super) fn failed(&self, error: &StoreError) {
        let mut state = self.state();
        match error {
            StoreError::WriteRefused(_) => {
                state.write_refusal.get_or_insert_with(|| error.to_string());
            }
            StoreError::Denied(_) => {
                state.reason.get_or_insert_with(|| error.to_string());
            }
            StoreError::Failed(_) => {
                state.errors += 1;
                if state.errors >= MOST_ERRORS {
                    let why = format!("{MOST_ERRORS} errors in a row, the last: {error}");
                    state.reason.get_or_insert(why);
                }
            }
            StoreError::GivenUp
            | StoreError::TooLarge(_)
            | StoreError::Local(_)
            | StoreError::Stopped => {}
        }
    }

    /// Returns why nothing more is to be asked, if so.
    pub(super) fn reason(&self) -> Option<String> {
        self.state().reason.clone()
    }

    /// Returns why nothing more is to be sent, if so.
    pub(super) fn write_refusal(&self) -> Option<String> {
        self.state().write_refusal.clone()
    }

    /// Makes sure that it may be asked.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.state().reason.is_some() { Err(StoreError::GivenUp) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_in_a_row_open_it_and_a_success_between_them_does_not() {
        let breaker = Breaker::default();
        let fail = || breaker.failed(&StoreError::Failed("timed out".to_owned()));
        (1..MOST_ERRORS).for_each(|_| fail());
        breaker.succeeded();
        (1..MOST_ERRORS).for_each(|_| fail());
        assert_eq!(breaker.reason(), None);
        fail();
        let why = format!("{MOST_ERRORS} errors in a row, the last: timed out");
        assert_eq!(breaker.reason().unwrap(), why);
        assert!(matches!(breaker.check(), Err(StoreError::GivenUp)));
    }

    #[test]
    fn one_denial_is_enough() {
        let breaker = Breaker::default();
        breaker.failed(&StoreError::Denied("401 Unauthorized".to_owned()));
        assert!(breaker.reason().is_some());
    }

    #[test]
    fn what_refuses_to_be_written_can_still_be_read() {
        let breaker = Breaker::default();
        breaker.failed(&StoreError::WriteRefused("405".to_owned()));
        assert!(breaker.check().is_ok() && breaker.write_refusal().is_some());
    }
}
