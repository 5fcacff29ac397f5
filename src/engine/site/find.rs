//! Which site file there is, and which of its sites applies here.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::SiteError;
use super::provenance::Provenance;
use super::reader;
use super::{CHOICE_VARIABLE, Site};
use crate::engine::pipeline::diagnostic::{Diagnostic, nearest};
use crate::engine::pipeline::source::Source;
use crate::engine::system::host;

/// The site file in the user's configuration folder.
const FILE: &str = "pcae-run/sites.ron";

/// Returns where the user's site file is, or would be.
pub fn default_file() -> Option<PathBuf> {
    let given = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let given = given.filter(|folder| folder.is_absolute());
    let folder = given.or_else(|| env::home_dir().map(|home| home.join(".config")))?;
    Some(folder.join(FILE))
}

/// What decides which site applies.
pub(super) struct Here {
    /// The names of this host; the first is its own.
    pub(super) hosts: Vec<String>,
    /// The site that is asked for.
    pub(super) choice: Option<String>,
    /// Where the user's site file is.
    pub(super) file: Option<PathBuf>,
}

impl Site {
    /// Finds the site that applies here: in a file, or else in the user's site file; by
    /// `PCAE_RUN_SITE`, or else by the name of the host. A file that is given and has one site needs
    /// neither.
    pub fn load(file: Option<&Path>) -> Result<Option<Self>, SiteError> {
        let choice = env::var_os(CHOICE_VARIABLE).map(OsString::into_string);
        let choice = choice.map(|name| name.unwrap_or_else(|name| name.to_string_lossy().into()));
        let choice = choice.filter(|name| !name.is_empty());
        Self::find(file, &Here { hosts: host::names(), choice, file: default_file() })
    }

    /// Finds the site that applies somewhere.
    pub(super) fn find(given: Option<&Path>, here: &Here) -> Result<Option<Self>, SiteError> {
        let Some(path) = given.or(here.file.as_deref()) else {
            return Ok(None);
        };
        if given.is_none() && !path.exists() {
            return match &here.choice {
                Some(name) => Err(SiteError::NoFile { name: name.clone(), path: path.to_owned() }),
                None => Ok(None),
            };
        }
        let source = Arc::new(Source::read(path)?);
        let invalid = |mistakes| SiteError::Invalid { source_file: Arc::clone(&source), mistakes };
        let sites = reader::read(&source).map_err(invalid)?;
        let Some(mut site) = choose(sites, path, given.is_some(), here)? else {
            return Ok(None);
        };
        reader::expand_folders(&mut site).map_err(invalid)?;
        Ok(Some(site))
    }

    /// Returns why this site applies, in words.
    pub fn chosen_by(&self) -> &str {
        &self.provenance.chosen
    }

    /// Returns the file it is written in, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.provenance.file()
    }

    /// Makes sure that every kind in `resources` is known.
    pub fn check_kinds(&self, known: &[&str]) -> Result<(), SiteError> {
        let Some(source) = &self.provenance.source else {
            return Ok(());
        };
        let mut mistakes = Vec::new();
        for (at, rule) in self.resources.iter().enumerate() {
            let place = self.provenance.place(&format!("resources[{at}].kind"));
            if let (Some(kind), Some(place)) = (&rule.kind, place)
                && !known.contains(&kind.as_str())
            {
                let message = format!("`{kind}` is not a known stage kind");
                mistakes.push(Diagnostic::new(place, message).suggest(kind, known));
            }
        }
        if mistakes.is_empty() {
            return Ok(());
        }
        Err(SiteError::Invalid { source_file: Arc::clone(source), mistakes })
    }

    /// Returns the pattern of `hosts` that one of these names fits.
    fn claims(&self, names: &[String]) -> Option<String> {
        let fits = |name: &String| self.hosts.iter().find(|pattern| pattern.fits(name));
        names.iter().find_map(fits).map(ToString::to_string)
    }

    /// Returns the line of its name.
    fn line(&self) -> usize {
        let Provenance { source, name, .. } = &self.provenance;
        source.as_ref().zip(*name).map_or(1, |(source, name)| source.line(name.start))
    }

    fn chosen(mut self, why: String) -> Self {
        self.provenance.chosen = why;
        self
    }
}

fn choose(
    mut sites: Vec<Site>,
    path: &Path,
    is_given: bool,
    here: &Here,
) -> Result<Option<Site>, SiteError> {
    let path = path.to_owned();
    let known: Vec<String> = sites.iter().map(|site| site.name.clone()).collect();
    if let Some(name) = &here.choice {
        let Some(at) = known.iter().position(|known| known == name) else {
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            let nearest = nearest(name, &names).map(str::to_owned);
            return Err(SiteError::Unknown { name: name.clone(), path, known, nearest });
        };
        return Ok(Some(sites.swap_remove(at).chosen(format!("{CHOICE_VARIABLE} names it"))));
    }
    let host = here.hosts.first().cloned().unwrap_or_default();
    let claims: Vec<_> = sites.iter().map(|site| site.claims(&here.hosts)).collect();
    let mut claiming = claims.iter().enumerate().filter(|(_, claim)| claim.is_some());
    match (claiming.next(), claiming.next()) {
        (Some((at, Some(pattern))), None) => {
            let why = format!("the host `{host}` fits `{pattern}`");
            Ok(Some(sites.swap_remove(at).chosen(why)))
        }
        (Some(_), _) => {
            let claiming = sites.iter().zip(&claims).filter(|(_, claim)| claim.is_some());
            let sites = claiming.map(|(site, _)| (site.name.clone(), site.line())).collect();
            Err(SiteError::Ambiguous { host, path, sites })
        }
        (None, _) if !is_given => Ok(None),
        (None, _) if sites.len() == 1 => {
            Ok(sites.pop().map(|site| site.chosen("it is the only one of this file".to_owned())))
        }
        (None, _) => Err(SiteError::Undecided { host, path, known }),
    }
}
