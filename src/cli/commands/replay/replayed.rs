//! A bundle unpacked: its plan, its manifest, and a cache that holds its results and nothing else.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::folder::ReplayFolder;
use crate::cli::args::Common;
use crate::cli::commands::bundle::{PIPELINE, REPORT};
use crate::cli::commands::report::check;
use crate::cli::commands::report::manifest::{Manifest, ManifestEntry};
use crate::cli::error::CommandError;
use crate::cli::workspace::{Workspace, load_enclosed_plan};
use crate::engine::bundle::{Bundle, BundleError, object_name};
use crate::engine::cache::{Cache, Check, Entry, StoredResult};
use crate::engine::digest::StageKey;
use crate::engine::job::{JobInput, JobMember};
use crate::engine::pipeline::source::{ScaleChoice, Source};
use crate::engine::plan::{PlannedStage, ResolvedInput};
use crate::engine::run::status::StageStatus;
use crate::engine::stage::artifact::StoredFile;
use crate::report::folder::MANIFEST;
use crate::stages::AnyStage;

/// A bundle, unpacked.
pub(super) struct Replayed {
    /// The plan, and the cache that results were unpacked into.
    pub(super) workspace: Workspace,
    /// Keys and digests of all stages, as the report has them.
    pub(super) manifest: Manifest,
    /// The results in the bundle, as they are there.
    pub(super) entries: BTreeMap<StageKey, Entry>,
}

/// What is known before anything is unpacked.
pub(super) struct Known {
    manifest: Manifest,
    entries: BTreeMap<StageKey, Entry>,
}

impl Known {
    /// Reads every manifest of a bundle whose digests have been checked.
    pub(super) fn of(bundle: &Bundle) -> Result<Self, CommandError> {
        let name = format!("{REPORT}{MANIFEST}");
        let text = bundle.read(&name).map_err(refused)?;
        let manifest = Manifest::parse(&text)
            .map_err(|error| refused(bundle.refused(format!("`{name}` can't be read: {error}"))))?;
        let file = &bundle.about().file;
        if !file.starts_with(PIPELINE) || bundle.file(file).is_none() {
            let what = format!("it has no pipeline `{}`", file.escape_debug());
            return Err(refused(bundle.refused(what)));
        }
        let entries = bundle.results().map_err(refused)?;
        for (stage, listed) in &manifest.stages {
            let entry = entries.get(&listed.key);
            if entry.is_some_and(|entry| entry.artifact.digest != listed.digest) {
                let what = format!("the result of `{stage}` is not the one in its report");
                return Err(refused(bundle.refused(what)));
            }
        }
        Ok(Self { manifest, entries })
    }

    /// Unpacks pipeline and results.
    pub(super) fn unpack(
        self,
        common: &Common,
        bundle: &Bundle,
        folder: &ReplayFolder,
        stop: &AtomicBool,
    ) -> Result<Replayed, CommandError> {
        let Self { manifest, entries } = self;
        for file in bundle.files().iter().filter(|file| file.name.starts_with(PIPELINE)) {
            folder.write(&file.name, &bundle.read(&file.name).map_err(refused)?)?;
        }
        let about = bundle.about();
        let scale = ScaleChoice { name: about.scale.clone(), on_gpu: false };
        let source = Source::read(&folder.path().join(&about.file))?.at_scale(scale);
        let plan = load_enclosed_plan(&source, &manifest.present)?;
        if plan.name() != about.pipeline {
            let what = format!("its pipeline is `{}`, not `{}`", plan.name(), about.pipeline);
            return Err(refused(bundle.refused(what)));
        }
        let cache = Cache::open(&folder.path().join("cache"), Check::Small)?;
        for entry in entries.values() {
            import(&cache, bundle, entry, stop)?;
        }
        let backend = common.device.kind().family();
        let workspace = Workspace { plan, cache, source, backend };
        Ok(Replayed { workspace, manifest, entries })
    }
}

impl Replayed {
    /// Returns what the report knows of a stage, and its result.
    pub(super) fn result(&self, stage: &str) -> Option<(&ManifestEntry, &Entry)> {
        let listed = self.manifest.stages.get(stage)?;
        Some((listed, self.entries.get(&listed.key)?))
    }

    /// Returns in what the key of a stage differs that this program makes of the pipeline.
    pub(super) fn key_differences(
        &self,
        planned: &PlannedStage<AnyStage>,
    ) -> Result<Vec<String>, CommandError> {
        match self.manifest.stages.get(&planned.name) {
            Some(listed) => check::compare(&self.workspace.plan, planned, listed, &self.manifest),
            None => Ok(vec!["is not in the report".to_owned()]),
        }
    }

    /// Returns every stage as cached, if the bundle has all results.
    pub(super) fn statuses(&self) -> Option<Vec<StageStatus>> {
        let cached = |planned: &PlannedStage<AnyStage>| {
            let (_, entry) = self.result(&planned.name)?;
            Some(StageStatus::Cached(StoredResult::from(entry.clone())))
        };
        self.workspace.plan.stages().iter().map(cached).collect()
    }

    /// Returns what an input leads to, as it is in the bundle; the error names a stage that is not there.
    pub(super) fn input(&self, input: &ResolvedInput) -> Result<JobInput, String> {
        let stages = self.workspace.plan.stages();
        let member = |&member: &usize| {
            let planned = &stages[member];
            let (_, entry) = self.result(&planned.name).ok_or_else(|| planned.name.clone())?;
            Ok(JobMember {
                labels: planned.labels.clone(),
                artifact: entry.artifact.clone(),
                run: entry.run.clone(),
            })
        };
        let members = input.members.iter().map(member).collect::<Result<_, String>>()?;
        Ok(JobInput { reference: input.reference.text().to_owned(), members })
    }
}

fn import(
    cache: &Cache,
    bundle: &Bundle,
    entry: &Entry,
    stop: &AtomicBool,
) -> Result<(), CommandError> {
    if stop.load(Ordering::Relaxed) {
        return Err(CommandError::interrupted("stopped"));
    }
    let mut open = |file: &StoredFile| {
        let name = object_name(&file.digest);
        let listed = bundle.file(&name).ok_or_else(|| io::Error::other("it is not there"))?;
        bundle.reader(listed)
    };
    Ok(cache.import(entry, &mut open).map(drop)?)
}

/// Says that a bundle is not taken: that is no difference between results.
pub(super) fn refused(error: BundleError) -> CommandError {
    CommandError::usage(error)
}
