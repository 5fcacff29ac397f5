//! `--recompute`: which of the stages behind a report run again, too.

use std::collections::BTreeMap;

use super::remake::Remaker;
use super::replayed::Replayed;
use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::engine::plan::StageIndex;
use crate::engine::stage::StageSet;

/// A random share of the stages that can run again.
pub(super) struct Chosen {
    /// Those that were chosen.
    pub(super) stages: Vec<StageIndex>,
    /// How many there were to choose from.
    candidates: usize,
    /// The others, and why they can't run again.
    obstacles: Vec<(String, String)>,
}

/// Chooses a share, at least one stage; equal seeds choose equal stages.
pub(super) fn choose(remaker: &Remaker<'_>, share: f64, seed: u64) -> Result<Chosen, CommandError> {
    let Replayed { workspace, .. } = remaker.replayed;
    let mut candidates = Vec::new();
    let mut obstacles = Vec::new();
    for (stage, planned) in workspace.plan.stages().iter().enumerate() {
        if planned.stage.as_stage().is_report() {
            continue;
        }
        match remaker.obstacle(stage)? {
            Some(why) => obstacles.push((planned.name.clone(), why)),
            None => candidates.push((lot(seed, &planned.name), stage)),
        }
    }
    candidates.sort_unstable();
    let count = (candidates.len() as f64 * share).ceil() as usize;
    let stages = candidates.iter().take(count).map(|(_, stage)| *stage);
    Ok(Chosen { stages: stages.collect(), candidates: candidates.len(), obstacles })
}

/// Returns by what stages are put in order.
fn lot(seed: u64, stage: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(stage.as_bytes());
    *hasher.finalize().as_bytes()
}

impl Chosen {
    /// Says which stages run, how long they took before, and which can't run.
    pub(super) fn tell(&self, common: &Common, replayed: &Replayed) {
        if common.json {
            return;
        }
        let stages = replayed.workspace.plan.stages();
        let seconds = self.stages.iter().filter_map(|stage| {
            let (_, entry) = replayed.result(&stages[*stage].name)?;
            Some(entry.run.seconds)
        });
        let (count, candidates) = (self.stages.len(), self.candidates);
        terminal::note(&if count == 0 {
            "no other stage can be computed anew".to_owned()
        } else {
            let seconds = terminal::duration(seconds.sum());
            format!("computing {count} of {candidates} other stages anew, which took {seconds}")
        });
        let mut reasons = BTreeMap::<&str, Vec<&str>>::new();
        for (stage, why) in &self.obstacles {
            // Each lacks an input of its own.
            let why =
                if why.starts_with("its input") { "inputs are not in the bundle" } else { why };
            reasons.entry(why).or_default().push(stage);
        }
        for (why, stages) in reasons {
            let more = stages.len() - 1;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            terminal::note(&format!("not computed anew: `{}`{more}: {why}", stages[0]));
        }
    }
}
