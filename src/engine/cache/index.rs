//! The SQLite index: the manifests for fast lookup, and run records for predictions.
//!
//! Entries can always be rebuilt from the manifests; only the history of failed runs is the
//! index's own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params,
};

use super::entry::{Entry, ResultSummary};
use super::error::CacheError;
use super::file_system::is_network;
use super::folders::{files_below, names_in, remove};
use super::lease::LeaseTerms;
use super::schema;
use super::stat::FileStamp;
use crate::engine::digest::{ContentDigest, StageKey};
use crate::engine::stage::artifact::StoredArtifact;
use crate::engine::stage::lifecycle::Outcome;
use crate::engine::system::clock;
use crate::engine::system::failpoint;
use crate::engine::system::host;
use crate::engine::system::regular_file;

pub(super) const FILE: &str = "index.sqlite";

/// Returns where the index of a cache is. Where machines share the cache, each has one of its own: SQLite
/// needs locks that reach every machine.
pub(super) fn path(root: &Path) -> PathBuf {
    match LeaseTerms::of(root) {
        None => root.join(FILE),
        Some(_) => root.join(format!("index-{}.sqlite", host::name())),
    }
}

/// Returns the other indexes of a cache that machines share: what pipelines were run from each of them, and
/// what those reached, is in its own.
pub(super) fn others(root: &Path) -> Result<Vec<Index>, CacheError> {
    if LeaseTerms::of(root).is_none() {
        return Ok(Vec::new());
    }
    let own = path(root);
    let is_index = |name: &String| name.starts_with("index") && name.ends_with(".sqlite");
    let paths = names_in(root).into_iter().filter(is_index).map(|name| root.join(name));
    let open = |path: PathBuf| {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(LONGEST_WAIT)?;
        Ok(Index { connection })
    };
    paths.filter(|path| *path != own).map(open).collect()
}

/// Returns the path with more at its end.
fn longer(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// States of files that are remembered as sound.
const STATES: u32 = 64;

/// Bytes of the file that are read where they lie, without a copy.
const MAPPED_BYTES: i64 = 1 << 30;

/// How long another process may keep the index; writing takes milliseconds.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Pages kept in memory where nothing can be mapped, so that none is read twice.
const CACHED_PAGES: i64 = 16_384;

/// How a stage ended, for the history.
#[derive(Clone, Debug)]
pub struct PastRun {
    /// The pipeline's name.
    pub pipeline: String,
    /// The stage's name.
    pub stage: String,
    /// The stage's kind.
    pub kind: String,
    /// Its key.
    pub key: StageKey,
    /// How it ended.
    pub outcome: Outcome,
    /// Wall time.
    pub seconds: f64,
    /// Size of what it left.
    pub bytes: u64,
}

/// A run of a stage that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailedRun {
    /// Wall time.
    pub seconds: f64,
    /// When it ended, in seconds since 1970.
    pub finished: u64,
}

/// What earlier runs of a kind took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Seconds of each run, ascending.
    pub seconds: Vec<f64>,
    /// Bytes of each run, ascending.
    pub bytes: Vec<u64>,
}

/// A run of a pipeline, as far as it decides which results are reached.
#[derive(Clone, Debug)]
pub struct ReachedBy {
    /// The pipeline file.
    pub pipeline: String,
    /// Device, scale and data folder: runs of one file with others reach other results.
    pub context: String,
    /// The digest of the file's text.
    pub text: String,
}

/// A place where a test may break a write off.
type Point = dyn Fn(&str) -> io::Result<()>;

/// While it lives, the index is seen as it was.
#[derive(Debug)]
pub struct ReadTransaction<'a> {
    _transaction: Transaction<'a>,
}

#[derive(Debug)]
pub(super) struct Index {
    connection: Connection,
}

impl Index {
    /// Opens the index, making it if needed.
    pub(super) fn open(root: &Path) -> Result<Self, CacheError> {
        let path = path(root);
        refuse_special(&path)?;
        let is_new = !path.exists();
        let connection = Connection::open(&path)?;
        connection.busy_timeout(LONGEST_WAIT)?;
        let network = is_network(root);
        schema::ensure(&connection, root, network)?;
        connection.busy_timeout(LONGEST_WAIT)?;
        let synchronous = if network { "FULL" } else { "NORMAL" };
        connection.pragma_update(None, "synchronous", synchronous)?;
        let index = Self::set_up(connection, network)?;
        if is_new && LeaseTerms::of(root).is_some() {
            index.adopt_all(root)?;
        }
        Ok(index)
    }

    /// Opens an index that can't be written, by this user or for want of space.
    pub(super) fn open_for_reading(root: &Path) -> Result<Self, CacheError> {
        let path = path(root);
        refuse_special(&path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let answers = |connection: &Connection| {
            let count = "SELECT count(*) FROM outline";
            connection.query_row(count, [], |row| row.get::<_, u64>(0)).is_ok()
        };
        if let Ok(connection) = Connection::open_with_flags(&path, flags) {
            connection.busy_timeout(LONGEST_WAIT)?;
            if answers(&connection) {
                return Self::set_up(connection, is_network(root));
            }
        }
        // Without a log that others still write, the file alone is the index. With one that can't be
        // read, or with no index at all, manifests tell everything.
        let log = longer(&path, "-wal");
        if fs::metadata(&log).map_or(0, |about| about.len()) == 0 {
            let uri = format!("file:{}?immutable=1", percent_encoded(&path));
            if let Ok(connection) = Connection::open_with_flags(uri, flags)
                && answers(&connection)
            {
                return Self::set_up(connection, true);
            }
        }
        let index = Self::empty()?;
        index.adopt_all(root)?;
        Ok(index)
    }

    /// Makes an index that is in memory alone.
    pub(super) fn empty() -> Result<Self, CacheError> {
        let connection = Connection::open_in_memory()?;
        schema::create(&connection)?;
        Self::set_up(connection, true)
    }

    fn set_up(connection: Connection, is_unmapped: bool) -> Result<Self, CacheError> {
        // Otherwise a statement is parsed anew whenever another value is bound in it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        if is_unmapped {
            connection.pragma_update(None, "cache_size", CACHED_PAGES)?;
        } else {
            connection.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
        }
        Ok(Self { connection })
    }

    /// Moves an index of a newer program out of the way; returns its new name. Its entries are in the
    /// manifests, too.
    pub(super) fn set_aside(root: &Path, version: u32) -> Result<PathBuf, CacheError> {
        let path = path(root);
        let aside = longer(&path, &format!(".version-{version}"));
        fs::rename(&path, &aside).map_err(CacheError::at(&path))?;
        Self::delete(root)?;
        Ok(aside)
    }

    pub(super) fn delete(root: &Path) -> Result<(), CacheError> {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            remove(&longer(&path(root), suffix))?;
        }
        Ok(())
    }

    /// Lets SQLite look for damage in its file; returns the first it finds.
    pub(super) fn damage(&self) -> rusqlite::Result<Option<String>> {
        let word: String =
            self.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        Ok((word != "ok").then_some(word))
    }

    /// Returns what other stages need to know about a result.
    pub(super) fn outline(&self, key: &StageKey) -> rusqlite::Result<Option<ResultSummary>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT content, artifact FROM outline WHERE key = ?1")?;
        let read = |row: &Row<'_>| {
            let content = row.get_ref(0)?.as_str()?.parse().ok();
            Ok(content.map(|content| (content, row.get(1))))
        };
        let found = statement.query_row([&*key.hex()], read).optional()?.flatten();
        found
            .map(|(content, artifact)| {
                Ok(ResultSummary { key: *key, content, artifact: artifact?, is_indexed: true })
            })
            .transpose()
    }

    pub(super) fn manifest(&self, key: &StageKey) -> rusqlite::Result<Option<String>> {
        let mut statement =
            self.connection.prepare_cached("SELECT manifest FROM entry WHERE key = ?1")?;
        statement.query_row([key.to_string()], |row| row.get(0)).optional()
    }

    /// Takes the lock for reading once for all reading until the result is dropped.
    pub(super) fn read_transaction(&self) -> rusqlite::Result<ReadTransaction<'_>> {
        let deferred = TransactionBehavior::Deferred;
        Ok(ReadTransaction {
            _transaction: Transaction::new_unchecked(&self.connection, deferred)?,
        })
    }

    /// Adds a result that was computed just now.
    pub(super) fn insert(&self, entry: &Entry) -> Result<(), CacheError> {
        let point = failpoint::pass("index.transaction.before");
        point.map_err(CacheError::at(Path::new(FILE)))?;
        Self::write(self.writing()?, entry, &failpoint::pass)
    }

    /// Adds a result that another process has left without an index row; while reading, it is left
    /// for later.
    pub(super) fn adopt(&self, entry: &Entry) -> Result<(), CacheError> {
        if !self.connection.is_autocommit() {
            return Ok(());
        }
        let transaction = self.writing()?;
        // Another process may have added it since.
        if self.outline(&entry.key)?.is_some() {
            return Ok(());
        }
        Self::write(transaction, entry, &|_| Ok(()))
    }

    /// Adds the manifests that are not there, or in whose place is something that can't be used;
    /// returns how many can't be used themselves.
    pub(super) fn adopt_all(&self, root: &Path) -> Result<usize, CacheError> {
        let mut unusable = 0;
        for path in files_below(&root.join("entries"))? {
            let Some(entry) = Entry::read(&path) else {
                unusable += 1;
                continue;
            };
            match self.manifest(&entry.key)? {
                Some(text) if Entry::parse(text.as_bytes()).is_ok() => {}
                Some(_) => {
                    self.remove(&[entry.key])?;
                    self.adopt(&entry)?;
                }
                None => self.adopt(&entry)?,
            }
        }
        Ok(unusable)
    }

    fn writing(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }

    fn write(transaction: Transaction<'_>, entry: &Entry, pass: &Point) -> Result<(), CacheError> {
        let at = CacheError::at(Path::new(FILE));
        transaction.execute(
            "INSERT OR REPLACE INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                entry.key.to_string(),
                entry.record.kind,
                entry.run.pipeline,
                entry.run.stage,
                entry.artifact.bytes(),
                entry.run.seconds,
                entry.run.finished,
                serde_json::to_string(entry).unwrap_or_default(),
            ],
        )?;
        if let Some(outline) = ResultSummary::of(entry) {
            transaction.execute(
                "INSERT INTO outline VALUES (?1, ?2, ?3)",
                [entry.key.to_string(), outline.content.to_string(), outline.artifact],
            )?;
        }
        pass("index.insert.after").map_err(&at)?;
        transaction.commit()?;
        pass("index.commit.after").map_err(&at)
    }

    /// Returns whether files in this state have been found right.
    pub(super) fn is_sound(&self, state: &str) -> rusqlite::Result<bool> {
        self.connection.prepare("SELECT 1 FROM sound WHERE state = ?1")?.exists([state])
    }

    /// Notes that files in this state have been found right, and forgets older states.
    pub(super) fn remember_sound(&self, state: &str) -> rusqlite::Result<()> {
        self.connection.execute("INSERT OR REPLACE INTO sound VALUES (?1)", [state])?;
        self.connection.execute(
            "DELETE FROM sound WHERE rowid <= (SELECT max(rowid) FROM sound) - ?1",
            [STATES],
        )?;
        Ok(())
    }

    /// Lets all files be read again.
    pub(super) fn forget_sound(&self) -> rusqlite::Result<()> {
        self.connection.execute("DELETE FROM sound", [])?;
        Ok(())
    }

    pub(super) fn forget_entries(&self) -> rusqlite::Result<()> {
        self.connection.execute("DELETE FROM entry", [])?;
        self.forget_sound()
    }

    /// Removes rows in one transaction.
    pub(super) fn remove(&self, keys: &[StageKey]) -> rusqlite::Result<()> {
        self.delete_each("DELETE FROM entry WHERE key = ?1", keys.iter().map(StageKey::to_string))
    }

    fn delete_each(
        &self,
        statement: &str,
        values: impl Iterator<Item = String>,
    ) -> rusqlite::Result<()> {
        let transaction = self.writing()?;
        for value in values {
            transaction.prepare_cached(statement)?.execute([value])?;
        }
        transaction.commit()
    }

    /// Returns the keys whose row is not what an entry would leave there, or that `expected` has no
    /// entry for.
    pub(super) fn deviating(
        &self,
        expected: &BTreeMap<StageKey, Entry>,
    ) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.connection.prepare(
            "SELECT entry.key, kind, pipeline, stage, bytes, seconds, finished, manifest,
                    content, artifact
             FROM entry LEFT JOIN outline ON outline.key = entry.key ORDER BY entry.key",
        )?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let key: String = row.get(0)?;
            let entry = key.parse().ok().and_then(|key| expected.get(&key));
            let matches = entry.is_some_and(|entry| is_row_of(row, entry).unwrap_or(false));
            if !matches {
                found.push(key);
            }
        }
        Ok(found)
    }

    /// Returns the entries of all rows that can be used.
    pub(super) fn intact(&self) -> rusqlite::Result<Vec<Entry>> {
        let mut statement = self.connection.prepare("SELECT manifest FROM entry")?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        Ok(rows.flatten().filter_map(|text| Entry::parse(text.as_bytes()).ok()).collect())
    }

    /// Notes which results a run of a pipeline reached.
    pub(super) fn remember_reached(&self, run: &ReachedBy, keys: &[u8]) -> rusqlite::Result<()> {
        self.connection.execute(
            "INSERT OR REPLACE INTO reached VALUES (?1, ?2, ?3, ?4)",
            params![run.pipeline, run.context, run.text, keys],
        )?;
        Ok(())
    }

    /// Returns which results runs of a pipeline with this text reached, one row for each context.
    pub(super) fn reached(&self, pipeline: &str, text: &str) -> rusqlite::Result<Vec<Vec<u8>>> {
        let mut statement = self
            .connection
            .prepare("SELECT keys FROM reached WHERE pipeline = ?1 AND text = ?2")?;
        statement.query_map([pipeline, text], |row| row.get(0))?.collect()
    }

    /// Returns what the latest run in this context reached, if the pipeline has had the same text.
    pub(super) fn reached_in(&self, run: &ReachedBy) -> rusqlite::Result<Option<Vec<u8>>> {
        let mut statement = self.connection.prepare(
            "SELECT keys FROM reached WHERE pipeline = ?1 AND context = ?2 AND text = ?3",
        )?;
        let key = [&run.pipeline, &run.context, &run.text];
        statement.query_row(key, |row| row.get(0)).optional()
    }

    pub(super) fn recent(&self, kind: &str, most: usize) -> rusqlite::Result<Vec<Entry>> {
        self.entries(
            "SELECT manifest FROM entry WHERE kind = ?1 ORDER BY finished DESC LIMIT ?2",
            params![kind, most],
        )
    }

    pub(super) fn recent_of_stage(
        &self,
        pipeline: &str,
        stage: &str,
        most: usize,
    ) -> rusqlite::Result<Vec<Entry>> {
        self.entries(
            "SELECT manifest FROM entry WHERE pipeline = ?1 AND stage = ?2
             ORDER BY finished DESC LIMIT ?3",
            params![pipeline, stage, most],
        )
    }

    pub(super) fn all(&self) -> rusqlite::Result<Vec<Entry>> {
        self.entries("SELECT manifest FROM entry ORDER BY key", [])
    }

    fn entries(&self, query: &str, values: impl rusqlite::Params) -> rusqlite::Result<Vec<Entry>> {
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map(values, |row| row.get::<_, String>(0))?;
        let mut found = Vec::new();
        for text in rows {
            found.extend(serde_json::from_str::<Entry>(&text?).ok());
        }
        Ok(found)
    }

    pub(super) fn size(&self) -> rusqlite::Result<(usize, u64)> {
        self.connection.query_row(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM entry",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    pub(super) fn size_by_kind(&self) -> rusqlite::Result<Vec<(String, u64, u64, f64)>> {
        let mut statement = self.connection.prepare(
            "SELECT kind, count(*), sum(bytes), sum(seconds) FROM entry GROUP BY kind ORDER BY kind",
        )?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        statement.query_map([], read)?.collect()
    }

    pub(super) fn history(&self, kind: &str) -> rusqlite::Result<History> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seconds, bytes FROM run WHERE kind = ?1 AND outcome = 'executed'
             ORDER BY finished DESC LIMIT 200",
        )?;
        let rows = statement
            .query_map([kind], |row| Ok((row.get::<_, f64>(0)?, row.get::<_, u64>(1)?)))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let (mut seconds, mut bytes): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        seconds.sort_by(f64::total_cmp);
        bytes.sort_unstable();
        Ok(History { seconds, bytes })
    }

    pub(super) fn remember_run(&self, run: &PastRun) -> rusqlite::Result<()> {
        let outcome = serde_json::to_value(&run.outcome).unwrap_or_default();
        self.connection.execute(
            "INSERT INTO run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                run.pipeline,
                run.stage,
                run.kind,
                run.key.to_string(),
                outcome.as_str(),
                run.seconds,
                run.bytes,
                clock::now(),
            ],
        )?;
        Ok(())
    }

    /// Returns the keys whose latest run for a pipeline failed, with that run.
    pub(super) fn failed_runs(
        &self,
        pipeline: &str,
    ) -> rusqlite::Result<Vec<(StageKey, FailedRun)>> {
        // With `max`, SQLite takes the other columns from the latest row of each key.
        let mut statement = self.connection.prepare(
            "SELECT key, outcome, seconds, finished, max(rowid) FROM run
             WHERE pipeline = ?1 GROUP BY key",
        )?;
        let read = |row: &Row<'_>| {
            let run = FailedRun { seconds: row.get(2)?, finished: row.get(3)? };
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, run))
        };
        let rows = statement.query_map([pipeline], read)?.collect::<rusqlite::Result<Vec<_>>>()?;
        let failed = rows.into_iter().filter(|(_, outcome, _)| outcome == "failed");
        Ok(failed.filter_map(|(key, _, run)| Some((key.parse().ok()?, run))).collect())
    }

    pub(super) fn remember_pipeline(&self, name: &str) -> rusqlite::Result<()> {
        self.connection.execute(
            "INSERT OR REPLACE INTO pipeline VALUES (?1, ?2)",
            params![name, clock::now()],
        )?;
        Ok(())
    }

    pub(super) fn pipelines(&self) -> rusqlite::Result<Vec<String>> {
        let mut statement =
            self.connection.prepare("SELECT path FROM pipeline ORDER BY used DESC, rowid DESC")?;
        statement.query_map([], |row| row.get(0))?.collect()
    }

    pub(super) fn known_file(
        &self,
        path: &Path,
    ) -> rusqlite::Result<Option<(FileStamp, ContentDigest)>> {
        let mut statement =
            self.connection.prepare_cached("SELECT stamp, digest FROM file WHERE path = ?1")?;
        let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let found = statement.query_row([path.to_string_lossy()], read).optional()?;
        Ok(found.and_then(|(stamp, digest)| {
            Some((serde_json::from_str(&stamp).ok()?, digest.parse().ok()?))
        }))
    }

    /// Forgets digests of files that are gone.
    pub(super) fn forget_files(&self, paths: &[PathBuf]) -> rusqlite::Result<()> {
        let paths = paths.iter().map(|path| path.to_string_lossy().into_owned());
        self.delete_each("DELETE FROM file WHERE path = ?1", paths)
    }

    pub(super) fn remember_file(
        &self,
        path: &Path,
        stamp: &FileStamp,
        digest: &ContentDigest,
    ) -> rusqlite::Result<()> {
        self.connection.execute(
            "INSERT OR REPLACE INTO file VALUES (?1, ?2, ?3)",
            params![
                path.to_string_lossy(),
                serde_json::to_string(stamp).unwrap_or_default(),
                digest.to_string()
            ],
        )?;
        Ok(())
    }
}

/// Refuses what SQLite would wait for or write to.
fn refuse_special(path: &Path) -> Result<(), CacheError> {
    fs::metadata(path)
        .map_or(Ok(()), |about| regular_file::check(&about).map_err(CacheError::at(path)))
}

/// Returns a path as part of a URI.
fn percent_encoded(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte);
    let bytes = path.as_os_str().as_bytes().iter();
    bytes.map(|b| if plain(b) { char::from(*b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// Returns whether a row with its outline is what an entry would leave there.
fn is_row_of(row: &Row<'_>, entry: &Entry) -> rusqlite::Result<bool> {
    let manifest: String = row.get(7)?;
    let outline = ResultSummary::of(entry);
    let (content, artifact): (Option<String>, Option<String>) = (row.get(8)?, row.get(9)?);
    let parsed = artifact.and_then(|text| serde_json::from_str::<StoredArtifact>(&text).ok());
    Ok(row.get::<_, String>(1)? == entry.record.kind
        && row.get::<_, String>(2)? == entry.run.pipeline
        && row.get::<_, String>(3)? == entry.run.stage
        && row.get::<_, u64>(4)? == entry.artifact.bytes()
        && row.get::<_, f64>(5)?.to_bits() == entry.run.seconds.to_bits()
        && row.get::<_, u64>(6)? == entry.run.finished
        && Entry::parse(manifest.as_bytes()).is_ok_and(|indexed| indexed == *entry)
        // Absent only where an older program wrote the row.
        && content.is_none_or(|found| outline.is_some_and(|o| o.content().to_string() == found))
        && parsed.is_none_or(|found| found == entry.artifact))
}
