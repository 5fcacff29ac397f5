//! The cache against a model: a plain map, and whatever can happen to a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use serde_json::json;

use super::{Cache, Check, Claimed, GcRoots, Lookup, Patience, Reuse};
use crate::engine::digest::StageKey;
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
    std::thread::sleep(std::time::Duration::from_secs(4));
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
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
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
                        fs::write(root.join("index.sqlite"), "not a database, but long enough to be read as one").unwrap();
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
