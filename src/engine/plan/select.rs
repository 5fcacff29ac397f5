//! Which stages of a plan a run is about: `--only`, `--from`, `--until`, `--force`.

use std::collections::BTreeSet;

use super::{Plan, StageIndex};
use crate::engine::pipeline::diagnostic::nearest;
use crate::engine::pipeline::spec::NamePattern;

/// What the user asked to run.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// These and nothing else; their inputs must be cached.
    pub only: Vec<String>,
    /// These and whatever reads them.
    pub from: Vec<String>,
    /// These and whatever they need.
    pub until: Vec<String>,
    /// Run these even though the cache has them.
    pub force: Vec<String>,
}

/// A choice with its names looked up.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Stages that may run.
    pub allowed: BTreeSet<StageIndex>,
    /// Stages that run in any case.
    pub forced: BTreeSet<StageIndex>,
}

impl Selection {
    /// Returns the choice of some stages with everything they need.
    pub fn needed_by<S>(plan: &Plan<S>, stages: BTreeSet<StageIndex>) -> Self {
        let allowed = closure(stages, |stage| inputs(plan, stage));
        Self { allowed, forced: BTreeSet::new() }
    }
}

/// Why a choice can't be followed.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// A name or glob matches nothing.
    #[error(transparent)]
    NoSuchStage(#[from] NoSuchStage),
    /// A forced stage is not among the chosen ones.
    #[error("`--force` names `{0}`, but `--only`, `--from` or `--until` exclude it")]
    ForcedOutside(String),
}

/// A name or glob that matches no stage.
#[derive(Debug, thiserror::Error)]
#[error("no stage matches `{pattern}`")]
pub struct NoSuchStage {
    /// What was asked for.
    pub pattern: String,
    /// A name that is near.
    pub hint: Option<String>,
}

impl Choice {
    /// Looks the names up in a plan.
    pub fn select<S>(&self, plan: &Plan<S>) -> Result<Selection, SelectError> {
        let forced = find_all(plan, &self.force)?;
        let allowed = self.allowed(plan)?;
        if let Some(&outside) = forced.difference(&allowed).next() {
            return Err(SelectError::ForcedOutside(plan.stages()[outside].name.clone()));
        }
        Ok(Selection { allowed, forced })
    }

    fn allowed<S>(&self, plan: &Plan<S>) -> Result<BTreeSet<StageIndex>, NoSuchStage> {
        if !self.only.is_empty() {
            return find_all(plan, &self.only);
        }
        let mut wanted: BTreeSet<_> = (0..plan.stages().len()).collect();
        if !self.from.is_empty() {
            let downstream =
                closure(find_all(plan, &self.from)?, |stage| plan.stages()[stage].readers.clone());
            wanted = wanted.intersection(&downstream).copied().collect();
        }
        if !self.until.is_empty() {
            let upstream = closure(find_all(plan, &self.until)?, |stage| inputs(plan, stage));
            wanted = wanted.intersection(&upstream).copied().collect();
        }
        Ok(Selection::needed_by(plan, wanted).allowed)
    }
}

/// Returns the stages that a name or glob matches; none is an error.
pub fn find<S>(plan: &Plan<S>, pattern: &str) -> Result<Vec<StageIndex>, NoSuchStage> {
    let wanted = NamePattern::new(pattern);
    let stages = plan.stages().iter().enumerate();
    let found: Vec<_> =
        stages.filter(|(_, stage)| wanted.fits(&stage.name)).map(|(index, _)| index).collect();
    if found.is_empty() {
        let hint = nearest_stage(plan, pattern);
        return Err(NoSuchStage { pattern: pattern.to_owned(), hint });
    }
    Ok(found)
}

/// Returns the name, or the glob of a family, that comes nearest to what was asked for.
fn nearest_stage<S>(plan: &Plan<S>, pattern: &str) -> Option<String> {
    let globs = globs(plan.stages().iter().map(|stage| stage.template.as_str()));
    let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
    let names: Vec<&str> = plan.stages().iter().map(|stage| stage.name.as_str()).collect();
    let is_glob = pattern.contains(['*', '?', '[']);
    let (first, then) = if is_glob { (&globs, &names) } else { (&names, &globs) };
    nearest(pattern, first).or_else(|| nearest(pattern, then)).map(str::to_owned)
}

/// Returns stage names as globs, with `*` in place of every axis.
pub(super) fn globs<'a>(templates: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let glob = |template: &str| {
        let mut glob = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            glob.push_str(before);
            glob.push('*');
            rest = after.split_once('}').map_or("", |(_, rest)| rest);
        }
        glob.push_str(rest);
        glob
    };
    templates.map(glob).collect()
}

fn find_all<S>(plan: &Plan<S>, patterns: &[String]) -> Result<BTreeSet<StageIndex>, NoSuchStage> {
    let mut all = BTreeSet::new();
    for pattern in patterns {
        all.extend(find(plan, pattern)?);
    }
    Ok(all)
}

fn inputs<S>(plan: &Plan<S>, stage: StageIndex) -> Vec<StageIndex> {
    plan.stages()[stage].members().collect()
}

fn closure(
    start: BTreeSet<StageIndex>,
    next: impl Fn(StageIndex) -> Vec<StageIndex>,
) -> BTreeSet<StageIndex> {
    let mut waiting: Vec<_> = start.iter().copied().collect();
    let mut all = start;
    while let Some(stage) = waiting.pop() {
        waiting.extend(next(stage).into_iter().filter(|&found| all.insert(found)));
    }
    all
}
