//! The tables of the index, and how those of earlier programs are taken over.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, ffi};

use super::error::CacheError;

/// The layout of the tables. Version 1 had the manifests among the keys, which made searching slow;
/// version 2 had no outlines, version 3 did not tell what runs had reached.
const VERSION: u32 = 4;

/// How long the tables of a new index may take to be made.
const CREATION: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS entry (
        key TEXT PRIMARY KEY, kind TEXT NOT NULL, pipeline TEXT NOT NULL, stage TEXT NOT NULL,
        bytes INTEGER NOT NULL, seconds REAL NOT NULL, finished INTEGER NOT NULL,
        manifest TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS entry_by_kind ON entry (kind, finished);
    CREATE INDEX IF NOT EXISTS entry_by_stage ON entry (pipeline, stage, finished);
    CREATE TABLE IF NOT EXISTS run (
        pipeline TEXT NOT NULL, stage TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
        outcome TEXT NOT NULL, seconds REAL NOT NULL, bytes INTEGER NOT NULL,
        finished INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS run_by_kind ON run (kind, outcome);
    CREATE TABLE IF NOT EXISTS pipeline (path TEXT PRIMARY KEY, used INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS file (
        path TEXT PRIMARY KEY, stamp TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS sound (state TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS reached (
        pipeline TEXT NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL, keys BLOB NOT NULL,
        PRIMARY KEY (pipeline, context));
    CREATE TABLE IF NOT EXISTS outline (
        key TEXT PRIMARY KEY, content TEXT NOT NULL, artifact TEXT NOT NULL) WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS entry_added AFTER INSERT ON entry
        BEGIN DELETE FROM outline WHERE key = NEW.key; END;
    CREATE TRIGGER IF NOT EXISTS entry_removed AFTER DELETE ON entry
        BEGIN DELETE FROM outline WHERE key = OLD.key; END;
";

/// Outlines what the manifests tell; triggers see to it that an outline is of the manifest beside
/// it, also where a program writes that knows of none.
const OUTLINES: &str = "
    INSERT OR REPLACE INTO outline
        SELECT key, manifest ->> '$.artifact.digest', manifest -> '$.artifact' FROM entry
        WHERE CASE WHEN json_valid(manifest)
            THEN manifest ->> '$.key' = key AND manifest ->> '$.artifact.digest' NOT NULL END;
";

/// Makes the tables, if need be from earlier ones.
pub(super) fn ensure(
    connection: &Connection,
    root: &Path,
    network: bool,
) -> Result<(), CacheError> {
    match version(connection)? {
        VERSION => return Ok(()),
        found if found > VERSION => return Err(CacheError::NewerIndex(found)),
        _ => {}
    }
    // Once for all processes: SQLite doesn't wait when two of them switch the journal at the same
    // time.
    let path = root.join("claims").join("index.lock");
    let lock = File::options().create(true).append(true).open(&path);
    let lock = lock.map_err(CacheError::at(&path))?;
    lock.lock().map_err(CacheError::at(&path))?;
    let found = version(connection)?;
    if found == 0 {
        connection.busy_timeout(CREATION)?;
    }
    match upgrade(connection, found, network) {
        // Nobody uses an index before it has tables: this one has lost them while in use.
        Err(error) if found == 0 && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None).into())
        }
        upgraded => Ok(upgraded?),
    }
}

fn upgrade(connection: &Connection, found: u32, network: bool) -> rusqlite::Result<()> {
    if found == 0 {
        // A write-ahead log needs shared memory, which network file systems don't give.
        let journal = if network { "DELETE" } else { "WAL" };
        connection.pragma_update(None, "journal_mode", journal)?;
    }
    if found < VERSION {
        let immediate = TransactionBehavior::Immediate;
        let transaction = Transaction::new_unchecked(connection, immediate)?;
        if found == 1 {
            transaction.execute_batch(
                "ALTER TABLE entry RENAME TO earlier;
                 DROP INDEX entry_by_kind; DROP INDEX entry_by_stage;",
            )?;
        }
        transaction.execute_batch(TABLES)?;
        if found == 1 {
            transaction
                .execute_batch("INSERT INTO entry SELECT * FROM earlier; DROP TABLE earlier;")?;
        }
        transaction.execute_batch(OUTLINES)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Makes the tables in an empty database.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::index::{FILE, Index};
    use super::*;
    use crate::engine::digest::StageKey;
    use crate::engine::stage::artifact::{StoredArtifact, StoredFile};

    const ROW: &str = "INSERT OR REPLACE INTO entry VALUES (?1, 'Test', 'p', 's', 7, 0.5, 1, ?2)";

    fn artifact(content: &str) -> StoredArtifact {
        let file = StoredFile { name: "n".to_owned(), digest: content.parse().unwrap(), bytes: 7 };
        StoredArtifact::new("test", vec![file])
    }

    fn manifest(key: &StageKey, content: &str) -> String {
        serde_json::json!({"key": key, "artifact": artifact(content)}).to_string()
    }

    /// What earlier programs write has no outline, or would have that of another result.
    #[test]
    fn an_outline_is_of_the_manifest_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("claims")).unwrap();
        let key: StageKey = "ab".repeat(32).parse().unwrap();
        let (first, second) = ("1".repeat(64), "2".repeat(64));
        let index = Index::open(folder.path()).unwrap();
        let other = Connection::open(folder.path().join(FILE)).unwrap();
        let write = |content: &str| {
            other.execute(ROW, [key.to_string(), manifest(&key, content)]).unwrap();
        };
        write(&first);
        assert!(index.outline(&key).unwrap().is_none());
        other.pragma_update(None, "user_version", 2).unwrap();
        let index_again = Index::open(folder.path()).unwrap();
        let outline = index_again.outline(&key).unwrap().unwrap();
        assert_eq!(outline.content(), artifact(&first).digest);
        assert_eq!(outline.result().unwrap().artifact.files[0].bytes, 7);
        let stranger = "cd".repeat(32);
        other.execute(ROW, [&stranger, &manifest(&key, &second)]).unwrap();
        other.pragma_update(None, "user_version", 2).unwrap();
        other.execute_batch("DELETE FROM outline").unwrap();
        let index_again = Index::open(folder.path()).unwrap();
        assert!(index_again.outline(&key).unwrap().is_some());
        assert!(index_again.outline(&stranger.parse().unwrap()).unwrap().is_none());
        write(&second);
        assert!(index.outline(&key).unwrap().is_none());
        index.remove(&[key]).unwrap();
        assert!(index.outline(&key).unwrap().is_none());
    }

    #[test]
    fn an_index_of_the_first_layout_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("claims")).unwrap();
        let key: StageKey = "ab".repeat(32).parse().unwrap();
        let old = Connection::open(folder.path().join(FILE)).unwrap();
        let tables = TABLES.split("CREATE TABLE IF NOT EXISTS sound").next().unwrap();
        old.execute_batch(&tables.replacen("TEXT NOT NULL);", "TEXT NOT NULL) WITHOUT ROWID;", 1))
            .unwrap();
        let content = "1".repeat(64);
        old.execute(ROW, [key.to_string(), manifest(&key, &content)]).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        drop(old);
        for _ in 0..2 {
            let index = Index::open(folder.path()).unwrap();
            assert_eq!(index.manifest(&key).unwrap().unwrap(), manifest(&key, &content));
            let found = index.outline(&key).unwrap().unwrap().content();
            assert_eq!(found, artifact(&content).digest);
            assert_eq!(index.size().unwrap(), (1, 7));
            assert_eq!(version(&Connection::open(folder.path().join(FILE)).unwrap()), Ok(VERSION));
        }
    }
}
