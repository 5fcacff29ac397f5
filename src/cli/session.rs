//! A pipeline, its cache and its surroundings, opened together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::Common;
use super::failure::Failure;
use super::terminal;
use crate::device::{self, DeviceName};
use crate::engine::cache::{Cache, Check, StoredResult};
use crate::engine::diagnostic::{Diagnostic, draw};
use crate::engine::extend::Extendable;
use crate::engine::host;
use crate::engine::outside::Presence;
use crate::engine::plan::{Plan, StageIndex};
use crate::engine::select;
use crate::engine::source::Source;
use crate::engine::{assess, assess::Standing};
use crate::stages::AnyStage;

/// What most commands work on.
pub(super) struct Session {
    /// The checked pipeline.
    pub plan: Plan<AnyStage>,
    /// The cache.
    pub cache: Cache,
    /// The pipeline file.
    pub source: Source,
    /// The backend's name in keys.
    pub backend: String,
}

impl Session {
    /// Opens a pipeline; without a file, the one that was run last.
    pub(super) fn open(common: &Common, file: Option<&Path>) -> Result<Self, Failure> {
        device::open(common.device).map_err(Failure::usage)?;
        let backend = device::family(common.device);
        // A mistake in the file must not leave an empty cache folder behind.
        let mut cache = None;
        let path = if let Some(path) = file {
            path.to_owned()
        } else {
            let path = last_pipeline(cache.insert(open_cache(common)?))?;
            terminal::note(&format!("pipeline: {}", path.display()));
            path
        };
        let source = Source::read(&path)?;
        let plan = load_plan(&source, common)?;
        let cache = match cache {
            Some(cache) => cache,
            None => open_cache(common)?,
        };
        Ok(Self { plan, cache, source, backend })
    }

    /// Returns where every stage stands; notes go to the user.
    pub(super) fn standings(&self) -> Result<Vec<Standing>, Failure> {
        let (standings, notes) = assess::assess(&self.plan, &self.cache, &self.backend)?;
        for note in &notes {
            terminal::note(&format!("note: {note}"));
        }
        Ok(standings)
    }

    /// Returns the one stage of a name.
    pub(super) fn stage(&self, name: &str) -> Result<StageIndex, Failure> {
        let found = select::find(&self.plan, name)?;
        if let [stage] = found[..] {
            return Ok(stage);
        }
        let first = &self.plan.stages()[found[0]].name;
        let count = found.len();
        Err(Failure::usage(format!("`{name}` matches {count} stages; name one, such as `{first}`")))
    }

    /// Returns the cached result of a stage.
    pub(super) fn result<'a>(
        &self,
        name: &str,
        standings: &'a [Standing],
    ) -> Result<&'a StoredResult, Failure> {
        let stage = self.stage(name)?;
        match &standings[stage] {
            Standing::Cached(result) => Ok(result),
            _ => Err(Failure::usage(format!(
                "`{}` has no cached result: run `pcae-run {} --until {}`",
                self.plan.stages()[stage].name,
                self.source.path().display(),
                self.plan.stages()[stage].name
            ))),
        }
    }
}

/// Parses a pipeline file, or draws its mistakes.
pub(super) fn load_plan(source: &Source, common: &Common) -> Result<Plan<AnyStage>, Failure> {
    if let Some(folder) = common.data.as_deref().filter(|folder| !folder.is_dir()) {
        let folder = folder.display();
        return Err(Failure::usage(format!("the data folder `{folder}` does not exist")));
    }
    Plan::load(source, &presence(common)).map_err(|mistakes| drawing(source, &mistakes))
}

/// Finds the axes of a pipeline file that can go on, or draws its mistakes.
pub(super) fn load_extendable<'a>(
    source: &'a Source,
    common: &Common,
) -> Result<Extendable<'a>, Failure> {
    Extendable::of(source, &presence(common)).map_err(|mistakes| drawing(source, &mistakes))
}

fn presence(common: &Common) -> Presence {
    common.data.clone().map_or(Presence::Seen, Presence::SeenIn)
}

fn drawing(source: &Source, mistakes: &[Diagnostic]) -> Failure {
    Failure::drawing(draw(source, mistakes, terminal::style()))
}

/// Parses a pipeline file as it was when only these outside files were there, or draws its mistakes.
pub(super) fn load_recorded_plan(
    source: &Source,
    present: &BTreeSet<String>,
) -> Result<Plan<AnyStage>, Failure> {
    Plan::load(source, &Presence::Recorded(present.clone()))
        .map_err(|mistakes| drawing(source, &mistakes))
}

/// Opens the cache folder.
pub(super) fn open_cache(common: &Common) -> Result<Cache, Failure> {
    let check = if common.verify { Check::Everything } else { Check::Small };
    Ok(Cache::open(&common.cache, check)?)
}

/// Returns how many stages use a device side by side unless the user says otherwise.
pub(super) fn device_jobs(device: DeviceName) -> usize {
    if device.is_processor() { host::cores() } else { 1 }
}

fn last_pipeline(cache: &Cache) -> Result<PathBuf, Failure> {
    let known = cache.pipelines()?;
    known.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        Failure::usage("name the pipeline file: none has been run on this cache so far")
    })
}
