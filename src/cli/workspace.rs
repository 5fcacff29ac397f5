//! A pipeline with its cache, opened together: what most commands work on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::device::DeviceChoice;
use crate::engine::cache::{Cache, CacheError, Check, InUse, LeaseTerms, ReachedBy, StoredResult};
use crate::engine::digest::ContentDigest;
use crate::engine::pipeline::extend::Extendable;
use crate::engine::pipeline::search_paths::FileProbe;
use crate::engine::pipeline::source::{ScaleChoice, Source};
use crate::engine::plan::select;
use crate::engine::plan::{Plan, StageIndex};
use crate::engine::run::status::{self, StageStatus};
use crate::engine::system::host;
use crate::stages::AnyStage;

/// An open pipeline and its cache.
pub(crate) struct Workspace {
    /// The checked pipeline.
    pub plan: Plan<AnyStage>,
    /// The cache.
    pub cache: Cache,
    /// The pipeline file.
    pub source: Source,
    /// The backend's name in keys.
    pub backend: String,
}

impl Workspace {
    /// Opens a pipeline; without a file, the one that was run last. Says at which scale.
    pub(crate) fn open(common: &Common, file: Option<&Path>) -> Result<Self, CommandError> {
        let workspace = Self::open_silently(common, file)?;
        if let Some(note) = workspace.scale_note(common) {
            terminal::note(&note);
        }
        Ok(workspace)
    }

    /// Opens a pipeline, and leaves it to the caller to say at which scale.
    pub(crate) fn open_silently(
        common: &Common,
        file: Option<&Path>,
    ) -> Result<Self, CommandError> {
        common.device.kind().check_built().map_err(CommandError::usage)?;
        let backend = common.device.kind().family();
        // A mistake in the file must not leave an empty cache folder behind.
        let mut cache = None;
        let path = if let Some(path) = file {
            path.to_owned()
        } else {
            let path = last_pipeline(cache.insert(open_cache(common)?))?;
            terminal::note(&format!("pipeline: {}", path.display()));
            path
        };
        let source = Source::read(&path)?.at_scale(scale_choice(common));
        let plan = load_plan(&source, common)?;
        let cache = match cache {
            Some(cache) => cache,
            None => open_cache(common)?,
        };
        Ok(Self { plan, cache, source, backend })
    }

    /// Returns the scale in words, if the file chose it, with the others that there are.
    pub(crate) fn scale_note(&self, common: &Common) -> Option<String> {
        let scale = self.default_scale(common)?;
        let others = self.plan.scales().iter().filter(|name| *name != scale);
        let others: Vec<&str> = others.map(String::as_str).collect();
        let choice = match others[..] {
            [] => String::new(),
            _ => format!(" (choose another with `--scale`: {})", others.join(", ")),
        };
        Some(format!("scale: {scale}{choice}"))
    }

    /// Returns the scale, if the file chose it.
    pub(crate) fn default_scale(&self, common: &Common) -> Option<&str> {
        self.plan.scale().filter(|_| common.scale.is_none())
    }

    /// Returns the plan of the scale that the file has for a GPU, if it is another one.
    pub(crate) fn full_scale(
        &self,
        common: &Common,
    ) -> Result<Option<Plan<AnyStage>>, CommandError> {
        if self.default_scale(common).is_none() || !common.device.is_processor() {
            return Ok(None);
        }
        let choice = ScaleChoice { name: None, on_gpu: true };
        let plan = load_plan(&self.source.clone().at_scale(choice), common)?;
        Ok(Some(plan).filter(|plan| plan.scale() != self.plan.scale()))
    }

    /// Returns where every stage stands; notes go to the user.
    pub(crate) fn statuses(&self) -> Result<Vec<StageStatus>, CommandError> {
        let (statuses, notes) = status::of_plan(&self.plan, &self.cache, &self.backend)?;
        for note in &notes {
            terminal::note(&format!("note: {note}"));
        }
        Ok(statuses)
    }

    /// Returns the one stage of a name.
    pub(crate) fn stage(&self, name: &str) -> Result<StageIndex, CommandError> {
        let found = select::find(&self.plan, name)?;
        if let [stage] = found[..] {
            return Ok(stage);
        }
        let first = &self.plan.stages()[found[0]].name;
        let error = CommandError::usage(format!("`{name}` matches {} stages", found.len()));
        Err(error.hint(format!("choose one of them, such as `{first}`")))
    }

    /// Returns in words which stages must end before another one can start.
    pub(crate) fn waits_for(&self, stages: &[StageIndex]) -> String {
        let name = |stage: &StageIndex| self.plan.stages()[*stage].name.as_str();
        match stages {
            [] => String::new(),
            [only] => format!("waits for {}", name(only)),
            [first, rest @ ..] => format!("waits for {} and {} more", name(first), rest.len()),
        }
    }

    /// Returns the cached result of a stage.
    pub(crate) fn result<'a>(
        &self,
        name: &str,
        statuses: &'a [StageStatus],
    ) -> Result<&'a StoredResult, CommandError> {
        let stage = self.stage(name)?;
        if let StageStatus::Cached(result) = &statuses[stage] {
            return Ok(result);
        }
        let (name, file) = (&self.plan.stages()[stage].name, self.source.path().display());
        let error = CommandError::usage(format!("`{name}` has no cached result"));
        Err(error.hint(format!("run `pcae-run {file} --until {name}`")))
    }
}

/// Returns which scale of a pipeline the command line asks for.
pub(crate) fn scale_choice(common: &Common) -> ScaleChoice {
    ScaleChoice { name: common.scale.clone(), on_gpu: !common.device.is_processor() }
}

/// Parses a pipeline file.
pub(crate) fn load_plan(source: &Source, common: &Common) -> Result<Plan<AnyStage>, CommandError> {
    if let Some(folder) = common.data.as_deref().filter(|folder| !folder.is_dir()) {
        let folder = folder.display();
        return Err(CommandError::usage(format!("the data folder `{folder}` does not exist")));
    }
    Plan::load(source, &probe(common))
        .map_err(|mistakes| CommandError::invalid_pipeline(source, mistakes))
}

/// Finds the axes of a pipeline file that can be extended.
pub(crate) fn load_extendable<'a>(
    source: &'a Source,
    common: &Common,
) -> Result<Extendable<'a>, CommandError> {
    Extendable::of(source, &probe(common))
        .map_err(|mistakes| CommandError::invalid_pipeline(source, mistakes))
}

fn probe(common: &Common) -> FileProbe {
    common.data.clone().map_or(FileProbe::Search, FileProbe::SearchIn)
}

/// Parses a pipeline file as it was when only these outside files were present.
pub(crate) fn load_recorded_plan(
    source: &Source,
    present: &BTreeSet<String>,
) -> Result<Plan<AnyStage>, CommandError> {
    Plan::load(source, &FileProbe::Recorded(present.clone()))
        .map_err(|mistakes| CommandError::invalid_pipeline(source, mistakes))
}

/// Parses the pipeline file of a stranger as it was when only these outside files were present: nothing
/// outside its folder is read or even looked for.
pub(crate) fn load_enclosed_plan(
    source: &Source,
    present: &BTreeSet<String>,
) -> Result<Plan<AnyStage>, CommandError> {
    Plan::load(source, &FileProbe::Enclosed(present.clone()))
        .map_err(|mistakes| CommandError::invalid_pipeline(source, mistakes))
}

/// Opens the cache folder; only a command that computes makes one.
pub(crate) fn open_cache(common: &Common) -> Result<Cache, CommandError> {
    if let Some(note) = common.cache_note.take() {
        terminal::note(&note);
    }
    let check = if common.verify { Check::Everything } else { Check::Small };
    if common.shares_cache {
        Cache::share(&common.cache, LeaseTerms { expiry: common.site.lease })?;
    }
    let cache = if common.makes_cache {
        Cache::open(&common.cache, check)?
    } else {
        Cache::open_if_there(&common.cache, check)?
    };
    for note in cache.notes() {
        terminal::note(&format!("note: {note}"));
    }
    Ok(cache)
}

/// Returns what decides which results a run of a pipeline reaches, besides what is in it.
pub(crate) fn reached_by(common: &Common, workspace: &Workspace) -> ReachedBy {
    let path = |path: &Path| workspace.cache.portable_name(path);
    let data = common.data.as_deref().map(path).unwrap_or_default();
    ReachedBy {
        pipeline: path(workspace.source.path()),
        context: format!("{} {} {data}", workspace.backend, workspace.plan.scale().unwrap_or("-")),
        text: ContentDigest::of_bytes(workspace.source.text().as_bytes()).to_string(),
    }
}

/// Opens a cache that must be there.
pub(crate) fn open_known_cache(common: &Common) -> Result<Cache, CommandError> {
    require_cache(common)?;
    open_cache(common)
}

/// Makes sure that there is a cache.
pub(crate) fn require_cache(common: &Common) -> Result<(), CommandError> {
    if Cache::is_there(&common.cache) {
        return Ok(());
    }
    let error = CacheError::Absent { path: common.cache.clone() };
    Err(CommandError::from(error)
        .hint("run a pipeline first, or choose another with `--cache DIR`"))
}

/// Marks a cache as in use; says so if something else has to end first.
pub(crate) fn hold(cache: &Cache) -> Result<Option<InUse>, CommandError> {
    let mut on_wait = || terminal::note("waiting for `pcae-run gc` to finish with this cache");
    Ok(cache.hold(&mut on_wait)?)
}

/// Returns how many stages use a device in parallel unless the user says otherwise.
pub(crate) fn device_jobs(device: &DeviceChoice) -> usize {
    if device.is_processor() { host::cores() } else { 1 }
}

fn last_pipeline(cache: &Cache) -> Result<PathBuf, CommandError> {
    let known = cache.pipelines()?;
    known.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let error = if Cache::is_there(cache.root()) {
            CommandError::usage("no pipeline has been run with this cache yet")
        } else {
            CacheError::Absent { path: cache.root().to_owned() }.into()
        };
        error.hint("pass a pipeline file")
    })
}
