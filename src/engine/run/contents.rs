//! The contents of keys as they are now: results in the cache, files, environment, backend.

use std::path::Path;

use crate::engine::cache::CacheError;
use crate::engine::digest::ContentDigest;
use crate::engine::key::builder::Contents;
use crate::engine::plan::StageIndex;

/// Where the contents of keys come from: results by `stage`, files by `file`.
pub(super) struct CurrentContents<'a, F, G> {
    pub(super) stage: F,
    pub(super) file: G,
    pub(super) backend: &'a str,
}

impl<F, G> Contents for CurrentContents<'_, F, G>
where
    F: Fn(StageIndex) -> Option<ContentDigest>,
    G: Fn(&Path) -> Result<ContentDigest, CacheError>,
{
    type Error = CacheError;

    fn of_stage(&self, stage: StageIndex) -> Option<ContentDigest> {
        (self.stage)(stage)
    }

    fn of_file(
        &self,
        _name: &str,
        path: Option<&Path>,
    ) -> Result<Option<ContentDigest>, CacheError> {
        path.map(&self.file).transpose()
    }

    fn of_variable(&self, name: &str) -> Result<Option<String>, CacheError> {
        match std::env::var_os(name).map(std::ffi::OsString::into_string) {
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(_)) => Err(CacheError::Variable(name.to_owned())),
            None => Ok(None),
        }
    }

    fn backend(&self) -> Option<&str> {
        Some(self.backend)
    }
}
