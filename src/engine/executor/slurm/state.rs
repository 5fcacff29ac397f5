//! The states of a Slurm job, as far as they decide what is done.
//!
//! Reference: "JOB STATE CODES" in the manual page of squeue, Slurm 20.11 to 25.05.

use serde::Serialize;

/// What Slurm says of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// It waits for its turn or for its dependencies.
    Pending,
    /// It runs, or is being started, suspended or ended.
    Running,
    /// It is over.
    Ended(End),
    /// A word that this program does not know: taken for a job that is still there.
    Unknown(String),
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Its script ended with code 0.
    Completed,
    /// Its script ended with another code, or by a signal.
    Failed,
    /// It reached its time limit.
    Timeout,
    /// It made room for a job of higher priority.
    Preempted,
    /// Its node failed, or did not boot.
    NodeFailed,
    /// It took more memory than it had asked for.
    OutOfMemory,
    /// Someone cancelled it.
    Cancelled,
    /// It could not have ended before its deadline.
    Deadline,
}

impl JobState {
    /// Reads the word that squeue or sacct print, such as `CANCELLED by 1000`.
    pub fn parse(word: &str) -> Self {
        let first = word.split([' ', '+']).next().unwrap_or_default();
        match first {
            "PENDING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "SPECIAL_EXIT"
            | "RESV_DEL_HOLD" => Self::Pending,
            "RUNNING" | "COMPLETING" | "CONFIGURING" | "SUSPENDED" | "STOPPED" | "SIGNALING"
            | "STAGE_OUT" | "RESIZING" | "POWER_UP_NODE" => Self::Running,
            "COMPLETED" => Self::Ended(End::Completed),
            "FAILED" | "LAUNCH_FAILED" | "RECONFIG_FAIL" => Self::Ended(End::Failed),
            "TIMEOUT" => Self::Ended(End::Timeout),
            "PREEMPTED" | "REVOKED" => Self::Ended(End::Preempted),
            "NODE_FAIL" | "BOOT_FAIL" => Self::Ended(End::NodeFailed),
            "OUT_OF_MEMORY" => Self::Ended(End::OutOfMemory),
            "CANCELLED" => Self::Ended(End::Cancelled),
            "DEADLINE" => Self::Ended(End::Deadline),
            _ => Self::Unknown(word.to_owned()),
        }
    }

    /// Returns whether a job that is pending for this reason will never start by itself.
    pub fn is_stuck(reason: &str) -> bool {
        const REASONS: [&str; 7] = [
            "DependencyNeverSatisfied",
            "PartitionConfig",
            "BadConstraints",
            "PartitionTimeLimit",
            "AccountNotAllowed",
            "QOSNotAllowed",
            "InvalidAccount",
        ];
        REASONS.contains(&reason) || reason.to_lowercase().contains("held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_squeue_and_sacct_are_read() {
        assert_eq!(JobState::parse("PENDING"), JobState::Pending);
        assert_eq!(JobState::parse("COMPLETING"), JobState::Running);
        assert_eq!(JobState::parse("CANCELLED by 1000"), JobState::Ended(End::Cancelled));
        assert_eq!(JobState::parse("CANCELLED+"), JobState::Ended(End::Cancelled));
        assert_eq!(JobState::parse("OUT_OF_MEMORY"), JobState::Ended(End::OutOfMemory));
        assert_eq!(JobState::parse("BOOT_FAIL"), JobState::Ended(End::NodeFailed));
        assert_eq!(JobState::parse("HALF_GONE"), JobState::Unknown("HALF_GONE".to_owned()));
    }

    #[test]
    fn a_job_that_is_held_is_stuck_and_one_that_waits_its_turn_is_not() {
        assert!(JobState::is_stuck("JobHeldUser"));
        assert!(JobState::is_stuck("launch_failed_requeued_held"));
        assert!(JobState::is_stuck("DependencyNeverSatisfied"));
        assert!(!JobState::is_stuck("Priority"));
        assert!(!JobState::is_stuck("Resources"));
    }
}
