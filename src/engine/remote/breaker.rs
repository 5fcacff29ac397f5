//! Leaves a remote alone that fails again and again: waiting for it would cost more than it saves.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::store::StoreError;

/// Errors in a row after which nothing more is asked, or sent.
const MOST_ERRORS: usize = 4;

/// What is done at a remote. Each fails for reasons of its own, so each has a count of its own: a server that
/// answers every question may still break off every file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// To ask for a manifest, or whether a file is there.
    Ask,
    /// To read a file.
    Read,
    /// To write anything.
    Write,
}

/// Counts errors in a row.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    errors: [usize; 3],
    reason: Option<String>,
    write_refusal: Option<String>,
}

impl Breaker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn succeeded(&self, act: Act) {
        self.state().errors[act as usize] = 0;
    }

    pub(super) fn failed(&self, act: Act, error: &StoreError) {
        let mut state = self.state();
        match error {
            StoreError::WriteRefused(_) => {
                state.write_refusal.get_or_insert_with(|| error.to_string());
            }
            StoreError::Denied(_) => {
                state.reason.get_or_insert_with(|| error.to_string());
            }
            StoreError::Failed(_) => {
                let errors = &mut state.errors[act as usize];
                *errors += 1;
                if *errors >= MOST_ERRORS {
                    let why = format!("{MOST_ERRORS} errors in a row, the last: {error}");
                    // What can't be written may still be read.
                    let reason = match act {
                        Act::Write => &mut state.write_refusal,
                        Act::Ask | Act::Read => &mut state.reason,
                    };
                    reason.get_or_insert(why);
                }
            }
            StoreError::GivenUp
            | StoreError::TooLarge(_)
            | StoreError::Local(_)
            | StoreError::Stopped => {}
        }
    }

    /// Asks nothing more, for a reason that is not the remote's.
    pub(super) fn stop(&self, reason: String) {
        self.state().reason.get_or_insert(reason);
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

    fn fail(breaker: &Breaker, act: Act) {
        breaker.failed(act, &StoreError::Failed("timed out".to_owned()));
    }

    #[test]
    fn errors_in_a_row_open_it_and_a_success_between_them_does_not() {
        let breaker = Breaker::default();
        (1..MOST_ERRORS).for_each(|_| fail(&breaker, Act::Ask));
        breaker.succeeded(Act::Ask);
        (1..MOST_ERRORS).for_each(|_| fail(&breaker, Act::Ask));
        assert_eq!(breaker.reason(), None);
        fail(&breaker, Act::Ask);
        let why = format!("{MOST_ERRORS} errors in a row, the last: timed out");
        assert_eq!(breaker.reason().unwrap(), why);
        assert!(matches!(breaker.check(), Err(StoreError::GivenUp)));
    }

    #[test]
    fn answers_do_not_hide_that_every_file_is_cut_off() {
        let breaker = Breaker::default();
        for _ in 0..MOST_ERRORS {
            fail(&breaker, Act::Read);
            breaker.succeeded(Act::Ask);
        }
        assert!(breaker.reason().is_some());
    }

    #[test]
    fn one_denial_is_enough() {
        let breaker = Breaker::default();
        breaker.failed(Act::Ask, &StoreError::Denied("401 Unauthorized".to_owned()));
        assert!(breaker.reason().is_some());
    }

    #[test]
    fn what_refuses_to_be_written_can_still_be_read() {
        let refused = Breaker::default();
        refused.failed(Act::Write, &StoreError::WriteRefused("405".to_owned()));
        let failing = Breaker::default();
        (0..MOST_ERRORS).for_each(|_| fail(&failing, Act::Write));
        for breaker in [refused, failing] {
            assert!(breaker.check().is_ok() && breaker.write_refusal().is_some());
        }
    }
}
