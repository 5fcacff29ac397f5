//! When a stage gets another job, and with what.

use crate::engine::site::{Resources, Site};

/// Jobs in a row that may reach their time limit without getting any further.
const MOST_STALLS: usize = 2;

/// Why a stage needs another job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// Its job ended before it began.
    Unstarted,
    /// The job reached its time limit; the stage goes on from its saved state.
    TimeLimit,
    /// The job made room for another one.
    Preempted,
    /// The node failed.
    NodeFailed(String),
    /// The compute device of the node, by its name in Slurm, does not work, as the message says.
    NoDevice { node: String, message: String },
    /// There was too little memory, as the message says.
    Memory(String),
    /// Nobody knows what became of the job.
    Lost(String),
}

/// What has been tried for a stage.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    lost: usize,
    node_failures: usize,
    out_of_memory: usize,
    stalls: usize,
    /// How far the stage was when a job reached its time limit.
    reached: Option<u64>,
    excluded: Vec<String>,
}

impl Attempts {
    /// Returns the nodes that failed under it.
    pub(super) fn excluded(&self) -> &[String] {
        &self.excluded
    }

    /// Prepares another attempt; returns what to tell about it, or why there is none. `done` is how far
    /// the stage is.
    pub(super) fn again(
        &mut self,
        retry: &Retry,
        resources: &mut Resources,
        site: &Site,
        done: Option<u64>,
    ) -> Result<Option<String>, String> {
        match retry {
            Retry::Unstarted => Ok(None),
            Retry::Preempted => Ok(Some("preempted: submitted again".to_owned())),
            Retry::TimeLimit => self.after_time_limit(resources, done).map(Some),
            Retry::NodeFailed(node) => {
                self.node_failures += 1;
                if self.node_failures > site.attempts {
                    return Err(format!(
                        "its job failed with its node {} times",
                        site.attempts + 1
                    ));
                }
                self.exclude(node);
                Ok(Some(format!("node {node} failed: submitted again, to another one")))
            }
            Retry::NoDevice { node, message } => {
                self.node_failures += 1;
                if self.node_failures > site.attempts {
                    return Err(format!("{message}; given up after {} nodes", self.node_failures));
                }
                self.exclude(node);
                Ok(Some(format!("{message}: submitted again, to another node than {node}")))
            }
            Retry::Memory(message) => self.after_memory(message, resources, site).map(Some),
            Retry::Lost(message) => {
                self.lost += 1;
                if self.lost > site.attempts {
                    return Err(format!("{message}; given up after {} jobs", self.lost));
                }
                Ok(Some(format!("{message}: submitted again")))
            }
        }
    }

    /// Asks for another node from now on; where it is not known which it was, for any.
    fn exclude(&mut self, node: &str) {
        if !node.is_empty() && !self.excluded.iter().any(|known| known == node) {
            self.excluded.push(node.to_owned());
        }
    }

    fn after_time_limit(
        &mut self,
        resources: &Resources,
        done: Option<u64>,
    ) -> Result<String, String> {
        let minutes = resources.time.as_secs().div_ceil(60);
        if done.is_some() && done > self.reached {
            self.stalls = 0;
        } else {
            self.stalls += 1;
        }
        self.reached = self.reached.max(done);
        if self.stalls > MOST_STALLS {
            return Err(format!(
                "made no progress in {} jobs of {minutes} min in a row: give it more `time` in the \
                 site file",
                self.stalls
            ));
        }
        Ok(format!("time limit of {minutes} min reached: goes on in another job"))
    }

    fn after_memory(
        &mut self,
        message: &str,
        resources: &mut Resources,
        site: &Site,
    ) -> Result<String, String> {
        let gigabytes = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
        let asked = resources.memory;
        self.out_of_memory += 1;
        resources.memory = (2 * asked).min(resources.most_memory).max(asked);
        if resources.memory == asked || self.out_of_memory > site.attempts {
            return Err(format!(
                "{message}; it had asked for {}: give it more `memory` or `most_memory` in the site file",
                gigabytes(asked)
            ));
        }
        Ok(format!("{message}: submitted again with {}", gigabytes(resources.memory)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_whose_device_fails_is_avoided_and_the_last_message_says_why() {
        let site = Site::default();
        let (mut attempts, mut resources) =
            (Attempts::default(), site.resources("Train", "t", true));
        let mut try_again = |node: &str| {
            let message = "device `cuda:0` is not available".to_owned();
            let retry = Retry::NoDevice { node: node.to_owned(), message };
            attempts.again(&retry, &mut resources, &site, None)
        };
        for at in 0..site.attempts {
            let note = try_again(&format!("n{at}")).unwrap().unwrap();
            let expected =
                "device `cuda:0` is not available: submitted again, to another node than n";
            assert!(note.starts_with(expected), "{note}");
        }
        let error = try_again("last").unwrap_err();
        assert!(error.starts_with("device `cuda:0` is not available; given up after "), "{error}");
        assert_eq!(attempts.excluded().len(), site.attempts);
    }
}
