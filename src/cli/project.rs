//! Where a project keeps its cache and its reports.
//!
//! The folder of a project is the nearest one, from the folder of the pipeline file upward, that has a
//! cache; so a pipeline can be named from wherever one happens to be. The search ends at the root of the
//! repository or at the current folder, or else one folder further up: a cache that lies higher is another
//! project's. A new project's folder is the one above `pipelines/`, or else the current folder if the file
//! lies in it, or else the folder of the file.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::args::{Cli, OWN_SITE};
use super::cluster;
use super::error::CommandError;
use crate::engine::cache::Cache;
use crate::engine::site::Site;
use crate::stages::AnyStage;

const CACHE: &str = "cache";
const REPORTS: &str = "reports";
const PIPELINES: &str = "pipelines";

/// Fills in what belongs to this machine, and where the cache and the reports are; where the cache is opened
/// that is said, unless it is in the current folder.
pub(super) fn locate(cli: &mut Cli) -> Result<(), CommandError> {
    if cli.needs_site() {
        let common = &mut cli.common;
        let file = common.given_site.as_deref().filter(|file| *file != Path::new(OWN_SITE));
        if let Some(site) = Site::load(file)? {
            let kinds: Vec<&str> = AnyStage::KINDS.iter().copied().chain(cluster::KINDS).collect();
            site.check_kinds(&kinds)?;
            common.site = site;
        }
    }
    let of_site = cli.common.site.data.clone();
    cli.common.data = cli.common.given_data.clone().or(of_site);
    let folder = project_folder(cli.pipeline());
    let (makes_cache, shares_cache) = (cli.computes(), cli.computes_elsewhere());
    let common = &mut cli.common;
    let of_site = common.site.cache.clone();
    let found = of_site.unwrap_or_else(|| folder.join(CACHE));
    if common.given_cache.is_none() && found != Path::new(CACHE) {
        let note = format!("cache: {}", found.display());
        common.cache_note.replace(Some(note));
    }
    common.cache = common.given_cache.clone().unwrap_or(found);
    common.reports = common.given_reports.clone().unwrap_or_else(|| folder.join(REPORTS));
    (common.makes_cache, common.shares_cache) = (makes_cache, shares_cache);
    if shares_cache {
        // Other machines have another current folder.
        common.cache = std::path::absolute(&common.cache).unwrap_or_else(|_| common.cache.clone());
    }
    Ok(())
}

/// Returns the project's folder as seen from the current one, which is the empty path.
fn project_folder(pipeline: Option<&Path>) -> PathBuf {
    let Ok(here) = env::current_dir().and_then(fs::canonicalize) else {
        return PathBuf::new();
    };
    let of_file = pipeline.and_then(folder_of);
    let start = of_file.as_deref().unwrap_or(&here);
    let known = upward(start, &here).find(|folder| Cache::is_there(&folder.join(CACHE)));
    let folder = match (known, &of_file) {
        (Some(folder), _) => folder,
        (None, Some(of_file)) => new_folder(of_file, &here),
        (None, None) => &here,
    };
    as_seen_from(&here, folder)
}

/// Returns the folder of a file without links in it; the file itself may be one.
fn folder_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()
}

/// Returns a folder and those above it that may be the same project's: neither the home folder nor one that
/// everybody may write to is.
fn upward<'a>(start: &'a Path, here: &Path) -> impl Iterator<Item = &'a Path> {
    const STICKY: u32 = 0o1000;
    let is_shared = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & STICKY != 0)
    };
    let home = env::home_dir();
    let is_project = move |folder: &Path| {
        folder.parent().is_some() && home.as_deref() != Some(folder) && !is_shared(folder)
    };
    let top = start.ancestors().find(|folder| folder.join(".git").exists());
    let top = top.or_else(|| start.ancestors().find(|folder| *folder == here && *folder != start));
    let top = top.or_else(|| start.parent()).unwrap_or(start).to_owned();
    let mut folders = start.ancestors().take_while(move |folder| folder.starts_with(&top));
    folders.next().into_iter().chain(folders.take_while(move |folder| is_project(folder)))
}

fn new_folder<'a>(of_file: &'a Path, here: &'a Path) -> &'a Path {
    match of_file.parent() {
        Some(above) if of_file.ends_with(PIPELINES) => above,
        _ if of_file.starts_with(here) => here,
        _ => of_file,
    }
}

/// Returns a path as short as it can be written in a folder.
fn as_seen_from(here: &Path, folder: &Path) -> PathBuf {
    const MOST_STEPS: usize = 3;
    if let Ok(below) = folder.strip_prefix(here) {
        return below.to_owned();
    }
    let shared = here.ancestors().take(MOST_STEPS + 1).enumerate();
    let mut shared = shared.filter(|(_, above)| above.parent().is_some());
    shared
        .find_map(|(steps, above)| {
            let below = folder.strip_prefix(above).ok()?;
            let up: PathBuf = std::iter::repeat_n("..", steps).collect();
            Some(if below == Path::new("") { up } else { up.join(below) })
        })
        .unwrap_or_else(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_seen_from_the_current_folder() {
        let seen = |here: &str, folder: &str| {
            as_seen_from(Path::new(here), Path::new(folder)).display().to_string()
        };
        assert_eq!(seen("/home/me/work", "/home/me/work"), "");
        assert_eq!(seen("/home/me/work", "/home/me/work/a"), "a");
        assert_eq!(seen("/home/me/work/pipelines", "/home/me/work"), "..");
        assert_eq!(seen("/home/me/work/notes", "/home/me/other/b"), "../../other/b");
        assert_eq!(seen("/scratch/x", "/home/me/work"), "/home/me/work");
    }

    #[test]
    fn a_new_project_is_above_pipelines_or_where_one_is_or_beside_the_file() {
        let new = |of_file: &'static str, here: &'static str| {
            new_folder(Path::new(of_file), Path::new(here)).display().to_string()
        };
        assert_eq!(new("/w/pipelines", "/w"), "/w");
        assert_eq!(new("/w/pipelines", "/w/pipelines"), "/w");
        assert_eq!(new("/w/studies/a", "/w"), "/w");
        assert_eq!(new("/w/studies", "/elsewhere"), "/w/studies");
    }

    #[test]
    fn the_search_ends_where_another_project_may_begin() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let deep = root.join("work/project/studies/more");
        fs::create_dir_all(&deep).unwrap();
        let last = |here: &Path| upward(&deep, here).last().unwrap().to_owned();
        assert_eq!(last(Path::new("/elsewhere")), root.join("work/project/studies"));
        assert_eq!(last(&deep), root.join("work/project/studies"));
        assert_eq!(last(&root.join("work/project")), root.join("work/project"));
        fs::create_dir(root.join("work/project/.git")).unwrap();
        assert_eq!(last(Path::new("/elsewhere")), root.join("work/project"));
        assert_eq!(last(&root), root.join("work/project"));
        let shared = upward(&root, &root).collect::<Vec<_>>();
        assert_eq!(shared, [root.as_path()], "everybody may write to the folder above");
    }
}
