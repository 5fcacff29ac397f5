//! The cache against a model: a plain map, and whatever can happen to a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::{
    Cache, CacheError, Check, Claim, Claimed, GcRoots, LeaseTerms, Lookup, Patience, Reuse,
};
use crate::engine::digest::{StageKey, TrajectoryKey};
use crate::engine::key::KeyRecord;
use crate::engine::stage::Kind;
use crate::engine::stage::run_record::RunRecord;

/// What can happen.
#[derive(Clone, Debug)]
enum Action {
    Put(u8),
    Abandon(u8),
    Damage(u8),
    Lose(u8),
    LoseIndex,
    SpoilIndex,
    Rebuild,
    Collect(Vec<u8>),
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (0_u8..6).prop_map(Action::Put),
        1 => (0_u8..6).prop_map(Action::Abandon),
        1 => (0_u8..6).prop_map(Action::Damage),
        1 => (0_u8..6).prop_map(Action::Lose),
        1 => Just(Action::LoseIndex),
        1 => Just(Action::SpoilIndex),
        1 => Just(Action::Rebuild),
        2 => proptest::collection::vec(0_u8..6, 0..4).prop_map(Action::Collect),
    ]
}

fn record(number: u8) -> KeyRecord {
    KeyRecord::new(Kind { name: "Test", version: 1 }, json!({ "number": number }))
}

/// Keys 4 and 5 have the same content, so that they share a file.
fn content(number: u8) -> String {
    format!("content {}", number.min(4))
}

fn claim<'a>(cache: &'a Cache, key: &StageKey) -> Claimed<'a> {
    let patience = Patience { longest: None, stop: &AtomicBool::new(false), on_wait: &mut || {} };
    cache.claim(key, None, Reuse::Allowed, patience).unwrap()
}

fn put(cache: &Cache, number: u8) {
    let record = record(number);
    match claim(cache, &record.key()) {
        Claimed::Hit(_) => {}
        Claimed::Mine(claim) => {
            fs::write(claim.output_folder().join("file"), content(number)).unwrap();
            let declared = ["file".to_owned()].into();
            claim.commit("test", &declared, record, RunRecord::default()).unwrap();
        }
    }
}

fn spoil(cache: &Cache, number: u8, damage: impl Fn(&Path)) {
    if let Lookup::Hit(entry) = cache.lookup(&record(number).key()).unwrap() {
        damage(cache.reader(&entry.artifact).path("file").unwrap());
    }
}

/// How long leases last.
const LEASE: Duration = Duration::from_secs(1);

/// Makes a cache that machines share.
fn shared() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    Cache::share(folder.path(), LeaseTerms { expiry: LEASE }).unwrap();
    let cache = Cache::open(folder.path(), Check::Small).unwrap();
    (folder, cache)
}

fn mine<'a>(cache: &'a Cache, key: &StageKey, trajectory: Option<&TrajectoryKey>) -> Claim<'a> {
    let patience = Patience { longest: None, stop: &AtomicBool::new(false), on_wait: &mut || {} };
    match cache.claim(key, trajectory, Reuse::Allowed, patience).unwrap() {
        Claimed::Mine(claim) => claim,
        Claimed::Hit(_) => panic!("it is there"),
    }
}

/// Takes a lease over, as another machine does from an owner that gives no sign of life.
fn take_over(root: &Path, key: &str) {
    let lease = root.join("claims").join(format!("{key}.lease"));
    let owner = fs::read_dir(&lease).unwrap().next().unwrap().unwrap().path();
    fs::rename(owner, lease.join("another")).unwrap();
}

#[test]
fn who_was_paused_past_its_lease_publishes_nothing() {
    let (folder, cache) = shared();
    let record = record(0);
    let claim = mine(&cache, &record.key(), None);
    fs::write(claim.output_folder().join("file"), content(0)).unwrap();
    take_over(folder.path(), &record.key().to_string());
    let declared = ["file".to_owned()].into();
    let key = record.key();
    let lost = claim.lost();
    claim.commit("test", &declared, record, RunRecord::default()).unwrap_err();
    assert!(lost.load(std::sync::atomic::Ordering::Relaxed));
    assert!(matches!(cache.lookup(&key).unwrap(), Lookup::Miss));
    assert!(folder.path().join("claims").join(format!("{key}.lease/another")).is_dir());
}

#[test]
fn who_was_paused_between_hashing_and_the_manifest_publishes_nothing() {
    let (folder, cache) = shared();
    let record = record(0);
    let claim = mine(&cache, &record.key(), None);
    // As far as it gets before the manifest.
    let temporary = claim.scratch_folder().join("manifest.json");
    take_over(folder.path(), &record.key().to_string());
    let artifact = crate::engine::stage::artifact::StoredArtifact::new("test", Vec::new());
    let (key, run) = (record.key(), RunRecord::default());
    let entry = super::Entry { key, record, trajectory: None, artifact, run };
    cache.write_manifest(&entry, &temporary).unwrap_err();
    assert!(!cache.entry_path(&key).exists());
}

#[test]
fn state_is_where_the_next_claim_looks_for_it_whoever_had_it_before() {
    let (folder, cache) = shared();
    let key = record(0).key();
    let trajectory: TrajectoryKey = record(1).key().to_string().parse().unwrap();
    for trajectory in [None, Some(&trajectory)] {
        let claim = mine(&cache, &key, trajectory);
        fs::write(claim.state_folder().join("checkpoint"), "17").unwrap();
        drop(claim);
        let claim = mine(&cache, &key, trajectory);
        let state = fs::read_to_string(claim.state_folder().join("checkpoint")).unwrap();
        assert_eq!(state, "17");
        // Its process dies: what it leaves is put in order by the next run.
        std::mem::forget(claim);
        for name in [Some(key.to_string()), trajectory.map(ToString::to_string)].iter().flatten() {
            take_over(folder.path(), name);
        }
        std::thread::sleep(2 * LEASE);
        cache.remove_leftovers();
        let claim = mine(&cache, &key, trajectory);
        assert!(claim.state_folder().join("checkpoint").exists());
        claim.clear_state().unwrap();
    }
}

#[test]
fn nothing_is_collected_from_a_shared_cache_while_someone_uses_it_or_jobs_will() {
    let (folder, cache) = shared();
    let claim = mine(&cache, &record(0).key(), None);
    assert!(matches!(cache.hold_alone(), Err(CacheError::InUse)));
    drop(claim);
    let in_use = cache.hold(&mut || {}).unwrap();
    assert!(matches!(cache.hold_alone(), Err(CacheError::InUse)));
    drop(in_use);
    let batch = folder.path().join("jobs/ab12.0.batch");
    fs::write(&batch, "{}").unwrap();
    assert!(matches!(cache.hold_alone(), Err(CacheError::InUse)));
    fs::remove_file(batch).unwrap();
    drop(cache.hold_alone().unwrap());
}

#[test]
fn what_another_machine_has_collected_or_published_is_known_without_its_index() {
    let (folder, cache) = shared();
    (0..2).for_each(|number| put(&cache, number));
    // As another machine does, which has another index.
    let node = Cache::open_on_node(folder.path()).unwrap();
    assert!(matches!(node.lookup(&record(0).key()).unwrap(), Lookup::Hit(_)));
    fs::remove_file(cache.entry_path(&record(0).key())).unwrap();
    assert!(matches!(cache.lookup(&record(0).key()).unwrap(), Lookup::Miss));
    put(&node, 2);
    assert!(cache.index.outline(&record(2).key()).unwrap().is_none(), "it has not written there");
    assert!(matches!(cache.lookup(&record(2).key()).unwrap(), Lookup::Hit(_)));
    put(&cache, 0);
    assert!(matches!(cache.lookup(&record(0).key()).unwrap(), Lookup::Hit(_)));
}

#[test]
fn pipelines_of_every_machine_and_of_before_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let alone = Cache::open(folder.path(), Check::Small).unwrap();
    alone.remember_pipeline(&file("before.ron")).unwrap();
    drop(alone);
    Cache::share(folder.path(), LeaseTerms::default()).unwrap();
    let cache = Cache::open(folder.path(), Check::Small).unwrap();
    cache.remember_pipeline(&file("elsewhere.ron")).unwrap();
    drop(cache);
    fs::rename(super::index::path(folder.path()), file("index-elsewhere.sqlite")).unwrap();
    let cache = Cache::open(folder.path(), Check::Small).unwrap();
    cache.remember_pipeline(&file("here.ron")).unwrap();
    let mut known: Vec<_> =
        cache.pipelines().unwrap().iter().map(|p| p.file_name().unwrap().to_owned()).collect();
    known.sort();
    assert_eq!(known, ["before.ron", "elsewhere.ron", "here.ron"]);
}

#[test]
fn a_cache_that_is_in_use_does_not_become_a_shared_one() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), Check::Small).unwrap();
    let in_use = cache.hold(&mut || {}).unwrap();
    let share = || Cache::share(folder.path(), LeaseTerms::default());
    assert!(matches!(share(), Err(CacheError::InUse)));
    drop(in_use);
    share().unwrap();
    put(&Cache::open(folder.path(), Check::Small).unwrap(), 0);
    let found = Cache::open(folder.path(), Check::Small).unwrap().lookup(&record(0).key()).unwrap();
    assert!(matches!(found, Lookup::Hit(_)));
}

#[test]
fn files_that_were_found_right_are_read_again_once_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), Check::Small).unwrap();
    (0..2).for_each(|number| put(&cache, number));
    let see = |number: u8| {
        let found = cache.find(&record(number).key()).unwrap().unwrap();
        cache.locator().locate(&found).unwrap()
    };
    // Times of files may be kept to two seconds.
    std::thread::sleep(Duration::from_secs(4));
    let both = [see(0), see(1)];
    for _ in 0..2 {
        assert!(cache.check_all(&both.each_ref()).unwrap().is_empty());
        assert!(cache.index.is_sound(&super::lookup::state(&both.each_ref())).unwrap());
    }
    spoil(&cache, 1, |path| {
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
        fs::write(path, "Content 1").unwrap();
    });
    let both = [see(0), see(1)];
    let damaged = cache.check_all(&both.each_ref()).unwrap();
    assert_eq!(damaged.len(), 1);
    assert_eq!(damaged[0].0, record(1).key());
    assert!(damaged[0].1.contains("has changed since it was stored"), "{damaged:?}");
    // What is remembered as right is read only if everything is.
    cache.index.remember_sound(&super::lookup::state(&both.each_ref())).unwrap();
    assert!(cache.check_all(&both.each_ref()).unwrap().is_empty());
    let strict = Cache::open(folder.path(), Check::Everything).unwrap();
    assert_eq!(strict.check_all(&both.each_ref()).unwrap().len(), 1);
    assert_eq!(cache.verify().unwrap().damaged.len(), 1);
    assert_eq!(cache.check_all(&both.each_ref()).unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_hit_is_always_right_and_only_what_was_lost_is_missing(
        actions in proptest::collection::vec(any_action(), 1..25),
        is_shared in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        if is_shared {
            Cache::share(root, LeaseTerms::default()).unwrap();
        }
        let mut cache = Cache::open(root, Check::Small).unwrap();
        let mut model = BTreeMap::<u8, String>::new();
        for action in actions {
            match action {
                Action::Put(number) => {
                    put(&cache, number);
                    model.insert(number, content(number));
                }
                Action::Abandon(number) => {
                    let key = record(number).key();
                    if let Claimed::Mine(claim) = claim(&cache, &key) {
                        fs::write(claim.output_folder().join("file"), "half").unwrap();
                    }
                }
                Action::Damage(number) => {
                    spoil(&cache, number, |path| {
                        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
                        fs::write(path, "damaged!!").unwrap();
                    });
                    model.retain(|_, text| *text != content(number));
                }
                Action::Lose(number) => {
                    spoil(&cache, number, |path| fs::remove_file(path).unwrap());
                    model.retain(|_, text| *text != content(number));
                }
                Action::LoseIndex | Action::SpoilIndex | Action::Rebuild => {
                    drop(cache);
                    if matches!(action, Action::LoseIndex) {
                        super::Index::delete(root).unwrap();
                    }
                    if matches!(action, Action::SpoilIndex) {
                        super::Index::delete(root).unwrap();
                        fs::write(super::index::path(root), "not a database, but long enough to be read as one").unwrap();
                        prop_assert!(Cache::open(root, Check::Small).is_err());
                        Cache::rebuild(root).unwrap();
                    }
                    if matches!(action, Action::Rebuild) {
                        Cache::rebuild(root).unwrap();
                    }
                    cache = Cache::open(root, Check::Small).unwrap();
                }
                Action::Collect(kept) => {
                    let keys: BTreeSet<StageKey> = kept.iter().map(|&n| record(n).key()).collect();
                    let roots = GcRoots { keys, ..GcRoots::default() };
                    let collection = cache.collectable(&roots, None).unwrap();
                    cache.collect(&collection, &cache.hold_alone().unwrap()).unwrap();
                    model.retain(|number, _| kept.contains(number));
                }
            }
            for number in 0..6 {
                match cache.lookup(&record(number).key()).unwrap() {
                    Lookup::Hit(entry) => {
                        let bytes = cache.reader(&entry.artifact).read("file").unwrap();
                        prop_assert_eq!(String::from_utf8(bytes).unwrap(), content(number));
                    }
                    Lookup::Miss | Lookup::Damaged(..) => {
                        prop_assert!(!model.contains_key(&number), "{} is lost", number);
                    }
                }
            }
        }
    }
}
