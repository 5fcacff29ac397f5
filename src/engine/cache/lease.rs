//! Rights that hold across machines, on file systems whose locks need not.
//!
//! A lease on `<name>.lease` is a folder of that name with one folder in it, named by a number that
//! only its owner knows. Three renames decide everything, and a file server does each of them for
//! one process alone:
//!
//! - It is taken by renaming a filled folder onto the name, which fails if the one there is filled.
//! - It is taken over from a dead owner by renaming the inner folder.
//! - What an owner publishes is renamed out of the inner folder, whose old name is gone once the
//!   lease has been taken over: an owner that was paused and wakes up finds nothing to publish.
//!
//! An owner shows that it lives by writing a file again and again. Its age is measured by the file
//! server's clock, so that clocks of machines need not agree. An owner on this machine is asked for
//! by its process.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::error::CacheError;
use super::file_system::is_network;
use super::folders::{names_in, remove};
use super::run_place::RunPlace;
use crate::engine::system::{host, process, regular_file};

/// The ending of the name of a lease.
pub(super) const SUFFIX: &str = "lease";

const OWNER: &str = "owner.json";

/// How long a silent owner is looked at once more.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// Endings of names that are there for a moment.
const NEW: &str = ".new";
const OLD: &str = ".old";
const NOW: &str = ".now";

/// Bytes of what is read of an owner.
const LARGEST: u64 = 1 << 12;

/// How long leases last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseTerms {
    /// After so long without a sign of life an owner is taken for dead.
    pub expiry: Duration,
}

/// The file that marks a cache as shared by machines.
const MARK: &str = "shared";

impl LeaseTerms {
    /// Returns how long leases last in a cache, if machines share it.
    pub(super) fn of(root: &Path) -> Option<Self> {
        if let Ok(text) = regular_file::read_text(&root.join(MARK), LARGEST) {
            return Some(serde_json::from_str(&text).unwrap_or_default());
        }
        is_network(root).then(Self::default)
    }

    /// Returns whether a cache is marked as shared by machines.
    pub(super) fn is_marked(root: &Path) -> bool {
        root.join(MARK).is_file()
    }

    /// Marks a cache as shared by machines.
    pub(super) fn write(self, root: &Path) -> Result<(), CacheError> {
        let (new, path) = (root.join(format!("{MARK}.{}", nonce())), root.join(MARK));
        let text = serde_json::to_vec(&self).unwrap_or_default();
        fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).map_err(CacheError::at(&path))
    }
}

impl Default for LeaseTerms {
    fn default() -> Self {
        Self { expiry: Duration::from_secs(90) }
    }
}

/// Who owns a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    #[serde(flatten)]
    place: RunPlace,
    /// What tells this start of this machine from every other.
    machine: String,
    /// When the process began, as its machine counts.
    began: u64,
    /// The name of its folder: that of a dead one may lie in the folder of whoever has just taken over.
    nonce: String,
    /// The job of a cluster that it is part of.
    job: Option<String>,
}

impl Owner {
    fn this(nonce: &str) -> Self {
        #[expect(clippy::disallowed_methods, reason = "where it runs, never an input of a stage")]
        let job = std::env::var("SLURM_JOB_ID").ok();
        let process = std::process::id();
        Self {
            place: RunPlace { host: host::name(), process },
            machine: host::identity(),
            began: process::began(process).unwrap_or_default(),
            nonce: nonce.to_owned(),
            job,
        }
    }

    /// Returns whether its process is surely gone.
    fn is_gone(&self) -> bool {
        self.machine == host::identity() && process::is_gone(self.place.process, self.began)
    }
}

/// A lease that this process owns.
#[derive(Debug)]
pub(super) struct Lease {
    path: PathBuf,
    folder: PathBuf,
    beat: Heartbeat,
    /// Who had it before and died.
    taken_from: Option<String>,
}

impl Lease {
    /// Takes a lease, or takes it over from a dead owner; nothing if it is owned.
    pub(super) fn try_acquire(path: &Path, terms: LeaseTerms) -> io::Result<Option<Self>> {
        let nonce = nonce();
        let owner = serde_json::to_vec(&Owner::this(&nonce))?;
        let folder = path.join(&nonce);
        let new = path.with_extension(format!("{nonce}{NEW}"));
        fs::create_dir_all(new.join(&nonce))?;
        fs::write(new.join(&nonce).join(OWNER), &owner)?;
        let taken = fs::rename(&new, path);
        let taken_from = match taken {
            Ok(()) => None,
            Err(cause) => {
                let _ = fs::remove_dir_all(&new);
                // Linux says one, other file servers the other.
                if !matches!(cause.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists)
                {
                    return Err(cause);
                }
                let Some((old, dead)) = dead_owner(path, terms)? else {
                    return Ok(None);
                };
                let sign = |()| fs::write(folder.join(OWNER), &owner);
                match fs::rename(path.join(&old), &folder).and_then(sign) {
                    Ok(()) => {}
                    Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
                    Err(cause) => return Err(cause),
                }
                Some(dead)
            }
        };
        let beat = Heartbeat::start(folder.join(OWNER), owner, terms.expiry / 5);
        Ok(Some(Self { path: path.to_owned(), folder, beat, taken_from }))
    }

    /// Returns the folder that is the owner's own for as long as it owns the lease.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns who had it before and died, in words.
    pub(super) fn taken_from(&self) -> Option<&str> {
        self.taken_from.as_deref()
    }

    /// Gives it back, with whatever is left in its folder.
    pub(super) fn release(self) {
        let Self { path, folder, beat, .. } = self;
        beat.stop();
        let old = folder.file_name().map(|nonce| nonce.to_string_lossy().into_owned());
        let old = path.with_extension(format!("{}{OLD}", old.unwrap_or_default()));
        if fs::rename(&folder, &old).is_ok() {
            // Whoever has it by now has a filled folder there, which stays.
            let _ = fs::remove_dir(&path);
            let _ = remove(&old);
        }
    }
}

/// Returns whether a name is one that taking or giving back a lease needs for a moment.
pub(super) fn is_passing(name: &str) -> bool {
    [NEW, OLD, NOW].iter().any(|ending| name.ends_with(ending))
}

/// Returns whether a lease is owned by someone who lives, as far as can be told.
pub(super) fn is_owned(path: &Path, terms: LeaseTerms) -> bool {
    match fs::read_dir(path) {
        Ok(mut items) => items.next().is_some() && !matches!(dead_owner(path, terms), Ok(Some(_))),
        // What can't be seen may be there.
        Err(cause) => cause.kind() != ErrorKind::NotFound,
    }
}

/// Returns where the owner of a lease runs.
pub(super) fn place(path: &Path) -> Option<RunPlace> {
    let nonce = names_in(path).into_iter().next()?;
    Some(read(&path.join(nonce).join(OWNER))?.place)
}

/// Returns the number of a dead owner, and who it was; nothing if it lives or there is none.
fn dead_owner(path: &Path, terms: LeaseTerms) -> io::Result<Option<(String, String)>> {
    let Some(old) = names_in(path).into_iter().next() else {
        return Ok(None);
    };
    let file = path.join(&old).join(OWNER);
    let owner = read(&file);
    let is_signed = owner.as_ref().is_some_and(|owner| owner.nonce == old);
    let is_dead = if is_signed {
        owner.as_ref().is_some_and(Owner::is_gone) || is_silent_for_long(path, &file, terms)?
    } else {
        // Taken over a moment ago: the folder tells when.
        is_silent(path, path, terms)?
    };
    let who = owner.map_or_else(
        || "an unknown process".to_owned(),
        |Owner { place: RunPlace { host, process }, job, .. }| {
            let job = job.map_or_else(String::new, |job| format!(" (Slurm job {job})"));
            format!("process {process} on {host}{job}")
        },
    );
    Ok(is_dead.then_some((old, who)))
}

/// Returns whether an owner has given no sign of life for too long, seen twice: after the file server was
/// away, its owners need a moment to tell.
fn is_silent_for_long(lease: &Path, file: &Path, terms: LeaseTerms) -> io::Result<bool> {
    if !is_silent(lease, file, terms)? {
        return Ok(false);
    }
    thread::sleep(SECOND_LOOK.min(terms.expiry / 5));
    is_silent(lease, file, terms)
}

/// Returns whether a path was written too long ago, by the clock of the file server of a lease.
fn is_silent(lease: &Path, path: &Path, terms: LeaseTerms) -> io::Result<bool> {
    // Opened, so that a network file system asks its server.
    let last = match fs::File::open(path).and_then(|file| file.metadata()?.modified()) {
        Ok(last) => last,
        // Given back or taken over meanwhile.
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(false),
        Err(cause) => return Err(cause),
    };
    let probe = lease.with_extension(format!("{}{NOW}", nonce()));
    fs::write(&probe, b"x")?;
    let now = fs::File::open(&probe).and_then(|file| file.metadata()?.modified());
    let _ = fs::remove_file(&probe);
    Ok(now?.duration_since(last).unwrap_or_default() > terms.expiry)
}

fn read(file: &Path) -> Option<Owner> {
    serde_json::from_str(&regular_file::read_text(file, LARGEST).ok()?).ok()
}

/// Returns the name of a lease that says no more than that its owner uses the cache.
pub(super) fn of_user() -> String {
    format!("use-{}.{SUFFIX}", nonce())
}

/// Returns a number that no other owner has.
fn nonce() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    #[expect(clippy::disallowed_methods, reason = "a name, never an input of a stage")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let text = format!("{} {} {count} {now:?}", host::identity(), std::process::id());
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Signs of life of an owner, from a thread of their own.
#[derive(Debug)]
struct Heartbeat {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Heartbeat {
    fn start(file: PathBuf, owner: Vec<u8>, every: Duration) -> Self {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let asked = Arc::clone(&stop);
        let beat = move || {
            let (stopped, wake) = &*asked;
            let mut stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
            while !*stopped {
                let waited = wake.wait_timeout(stopped, every);
                stopped = waited.unwrap_or_else(PoisonError::into_inner).0;
                // A full disk, or a server that is away, is no end: the next one may succeed. The file
                // of a lease that was taken over is not there, and is not made anew.
                if !*stopped && let Ok(file) = fs::File::options().write(true).open(&file) {
                    let _ = io::Write::write_all(&mut &file, &owner);
                }
            }
        };
        let thread = thread::Builder::new().name("lease".to_owned()).spawn(beat).ok();
        Self { stop, thread }
    }

    fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: LeaseTerms = LeaseTerms { expiry: Duration::from_secs(1) };

    /// Makes a lease of a process that is on another machine, or that this one does not have.
    fn of_another(path: &Path, machine: &str) -> String {
        let place = RunPlace { host: "far".to_owned(), process: u32::MAX };
        let (machine, nonce, job) = (machine.to_owned(), nonce(), Some("17".to_owned()));
        let owner = Owner { place, machine, began: 1, nonce: nonce.clone(), job };
        fs::create_dir_all(path.join(&nonce)).unwrap();
        fs::write(path.join(&nonce).join(OWNER), serde_json::to_vec(&owner).unwrap()).unwrap();
        nonce
    }

    #[test]
    fn a_lease_has_one_owner_and_the_next_one_gets_it_when_it_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lease");
        let first = Lease::try_acquire(&path, TERMS).unwrap().unwrap();
        assert!(Lease::try_acquire(&path, TERMS).unwrap().is_none());
        // It says that it lives, for much longer than its lease lasts.
        thread::sleep(3 * TERMS.expiry);
        assert!(Lease::try_acquire(&path, TERMS).unwrap().is_none());
        assert!(is_owned(&path, TERMS));
        first.release();
        assert!(!is_owned(&path, TERMS));
        let second = Lease::try_acquire(&path, TERMS).unwrap().unwrap();
        assert_eq!(second.taken_from(), None);
        second.release();
        assert_eq!(names_in(folder.path()), Vec::<String>::new());
    }

    #[test]
    fn of_many_that_ask_at_once_one_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lease");
        for dead in [false, true] {
            if dead {
                of_another(&path, &host::identity());
            }
            let ask = || Lease::try_acquire(&path, TERMS).unwrap();
            let taken: Vec<Lease> = thread::scope(|scope| {
                let asking: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
                asking.into_iter().filter_map(|asking| asking.join().unwrap()).collect()
            });
            assert_eq!(taken.len(), 1);
            assert_eq!(taken[0].taken_from().is_some(), dead);
            taken.into_iter().for_each(Lease::release);
        }
    }

    #[test]
    fn an_owner_on_another_machine_is_dead_once_it_is_silent_for_long_enough() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lease");
        let old = of_another(&path, "another start of it");
        fs::write(path.join(&old).join("state"), "17 epochs").unwrap();
        assert!(Lease::try_acquire(&path, TERMS).unwrap().is_none());
        thread::sleep(2 * TERMS.expiry);
        let lease = Lease::try_acquire(&path, TERMS).unwrap().unwrap();
        assert_eq!(lease.taken_from().unwrap(), "process 4294967295 on far (Slurm job 17)");
        let state = fs::read_to_string(lease.folder().join("state")).unwrap();
        assert_eq!(state, "17 epochs", "what the dead one has left goes with it");
        assert!(!path.join(old).exists(), "and is nowhere the dead one would look for it");
    }

    #[test]
    fn an_owner_whose_process_has_ended_here_is_dead_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lease");
        of_another(&path, &host::identity());
        let terms = LeaseTerms { expiry: Duration::from_hours(1) };
        assert!(!is_owned(&path, terms));
        assert!(Lease::try_acquire(&path, terms).unwrap().is_some());
    }
}
