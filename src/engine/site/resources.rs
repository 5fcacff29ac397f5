//! What a stage gets, and in which partition there is room for it.

use super::error::SiteError;
use super::provenance::Origin;
use super::{DEFAULT_RESOURCES, MOST_MEMORY_FACTOR, Partition, ResourceRule, Resources, Site};

/// Where what a stage gets is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceOrigins {
    /// Its processors.
    pub cpus: Origin,
    /// Its memory.
    pub memory: Origin,
    /// Its memory at most.
    pub most_memory: Origin,
    /// Its GPUs.
    pub gpus: Origin,
    /// Its time.
    pub time: Origin,
}

impl ResourceRule {
    /// Returns whether the rule is for a stage.
    pub fn fits(&self, kind: &str, stage: &str) -> bool {
        self.kind.as_deref().is_none_or(|own| own == kind)
            && self.stages.as_ref().is_none_or(|pattern| pattern.fits(stage))
    }
}

impl Partition {
    /// Returns whether a job with these resources may run here.
    pub fn fits(&self, wanted: &Resources) -> bool {
        self.unmet(wanted) == 0
    }

    /// Returns how many of the limits are exceeded.
    fn unmet(&self, wanted: &Resources) -> usize {
        let exceeded = [
            self.time.is_some_and(|most| wanted.time > most),
            self.cpus.is_some_and(|most| wanted.cpus > most),
            self.memory.is_some_and(|most| wanted.memory > most),
            wanted.gpus > self.gpus.unwrap_or_default(),
        ];
        exceeded.into_iter().filter(|exceeded| *exceeded).count()
    }
}

impl Site {
    /// Returns what a stage gets: of the rules that are for it, the last one that says so decides each
    /// value. GPUs are only for stages that need the device (and only where that is one).
    pub fn resources(&self, kind: &str, stage: &str, needs_device: bool) -> Resources {
        let default = DEFAULT_RESOURCES;
        let memory = self.decided(kind, stage, |rule| rule.memory).map_or(default.memory, second);
        let most_memory = self.decided(kind, stage, |rule| rule.most_memory);
        let most_memory = most_memory.map_or(memory.saturating_mul(MOST_MEMORY_FACTOR), second);
        let gpus = self.decided(kind, stage, |rule| rule.gpus).map_or(default.gpus, second);
        Resources {
            cpus: self.decided(kind, stage, |rule| rule.cpus).map_or(default.cpus, second),
            memory,
            most_memory: most_memory.max(memory),
            gpus: if needs_device { gpus } else { 0 },
            time: self.decided(kind, stage, |rule| rule.time).map_or(default.time, second),
        }
    }

    /// Returns where what a stage gets is written.
    pub fn resource_origins(&self, kind: &str, stage: &str) -> ResourceOrigins {
        let origin = |field: &str, rule: Option<usize>| {
            rule.map_or(Origin::Default, |at| {
                self.provenance.origin(&format!("resources[{at}].{field}"))
            })
        };
        ResourceOrigins {
            cpus: origin("cpus", self.decided(kind, stage, |rule| rule.cpus).map(first)),
            memory: origin("memory", self.decided(kind, stage, |rule| rule.memory).map(first)),
            most_memory: origin(
                "most_memory",
                self.decided(kind, stage, |rule| rule.most_memory).map(first),
            ),
            gpus: origin("gpus", self.decided(kind, stage, |rule| rule.gpus).map(first)),
            time: origin("time", self.decided(kind, stage, |rule| rule.time).map(first)),
        }
    }

    /// Returns the last rule for a stage that has a value, with that value.
    fn decided<T>(
        &self,
        kind: &str,
        stage: &str,
        value: impl Fn(&ResourceRule) -> Option<T>,
    ) -> Option<(usize, T)> {
        let rules = self.resources.iter().enumerate().rev();
        let mut rules = rules.filter(|(_, rule)| rule.fits(kind, stage));
        rules.find_map(|(at, rule)| Some((at, value(rule)?)))
    }

    /// Returns the first partition with room for a job, or none if the site lists no partitions.
    pub fn partition(&self, wanted: &Resources) -> Result<Option<&Partition>, SiteError> {
        if self.partitions.is_empty() {
            return Ok(None);
        }
        if let Some(partition) = self.partitions.iter().find(|partition| partition.fits(wanted)) {
            return Ok(Some(partition));
        }
        let limits = |partition: &Partition| {
            (partition.gpus, partition.memory, partition.time, partition.cpus)
        };
        let nearest = self.partitions.iter().max_by(|a, b| {
            let fewer = b.unmet(wanted).cmp(&a.unmet(wanted));
            fewer.then_with(|| limits(a).cmp(&limits(b)))
        });
        Err(SiteError::NoPartition {
            site: self.name.clone(),
            wanted: *wanted,
            largest: Box::new(nearest.cloned().unwrap_or_default()),
        })
    }
}

fn first<A, B>((first, _): (A, B)) -> A {
    first
}

fn second<A, B>((_, second): (A, B)) -> B {
    second
}
