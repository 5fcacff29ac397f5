//! Hosts that share results by a remote cache which can't be trusted.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::engine::cache::{Cache, Verification};
use crate::engine::digest::files_in;
use crate::engine::executor::Inline;
use crate::engine::plan::select::Choice;
use crate::engine::remote::{Remote, RemoteSettings, SecretKey, Trust};
use crate::engine::run::events::Event;
use crate::engine::run::options::{OnError, RunReport};
use crate::engine::run::sharing::Sharing;
use crate::engine::system::host;
use crate::engine::test_stages::{Fixture, TestStage};

const STAGES: &str = r#"
    "one": Constant(value: 1), "two": Constant(value: -20), "abs": Abs(of: "two"),
    "sum": Sum(left: "one", right: "abs"), "more": Sum(left: "sum", right: "sum", plus: 300),
"#;

/// A folder that hosts share, and the key of one of them.
struct Laboratory {
    folder: TempDir,
    key: SecretKey,
}

impl Laboratory {
    fn new() -> Self {
        let key = SecretKey::generate("lab").unwrap();
        Self { folder: tempfile::tempdir().unwrap(), key }
    }

    /// Returns a laboratory to which a host has sent the results of the stages.
    fn filled() -> Self {
        let laboratory = Self::new();
        let (report, _) = laboratory.run(&Fixture::stages(STAGES), |_| {});
        assert_eq!(report.executed.len(), 5);
        laboratory
    }

    /// Runs on a host that trusts the key and sends what it computes, unless its settings say otherwise.
    fn run(
        &self,
        fixture: &Fixture,
        settle: impl Fn(&mut RemoteSettings),
    ) -> (RunReport, Vec<String>) {
        let trust = Trust {
            keys: vec![self.key.public_key().unwrap()],
            processor_class: host::processor_class(),
            ..Trust::default()
        };
        let mut settings = RemoteSettings {
            address: self.folder.path().display().to_string().parse().unwrap(),
            trust,
            signing_key: Some(self.key.clone()),
        };
        settle(&mut settings);
        let remote = Arc::new(Remote::open(settings).unwrap());
        let mut sharing = Sharing::new(remote, fixture.cache().importer(), true).unwrap();
        let mut executor = Inline::<TestStage>::new(fixture.cache_folder());
        let mut notes = Vec::new();
        let mut emit = |event: Event| {
            if let Event::Note { message } = event {
                notes.push(message);
            }
        };
        let (choice, on_error) = (Choice::default(), OnError::Finish);
        let report =
            fixture.run_sharing(&mut executor, &choice, on_error, Some(&mut sharing), &mut emit);
        let (_, late) = sharing.finish(&mut |_| true);
        notes.extend(late);
        assert_eq!(fixture.values(&report)["more"], 342, "whatever the remote does");
        let Verification { damaged, .. } = fixture.cache().verify().unwrap();
        assert!(damaged.is_empty(), "{damaged:?}");
        (report, notes)
    }

    /// Runs on a new host.
    fn run_new(&self) -> (RunReport, Vec<String>) {
        self.run(&Fixture::stages(STAGES), |_| {})
    }

    /// Returns all files below a folder of the remote.
    fn files(&self, folder: &str) -> Vec<PathBuf> {
        let files = files_in(&self.folder.path().join(folder)).unwrap();
        files.into_iter().map(|(_, path)| path).collect()
    }
}

/// Returns the names and contents of every file in a cache's store.
fn objects(cache: &Cache) -> Vec<(String, Vec<u8>)> {
    let files = files_in(&cache.root().join("objects")).unwrap();
    files.into_iter().map(|(name, path)| (name, fs::read(path).unwrap())).collect()
}

fn change(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[0] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_second_host_takes_everything_and_computes_nothing() {
    let laboratory = Laboratory::new();
    let (first, second) = (Fixture::stages(STAGES), Fixture::stages(STAGES));
    laboratory.run(&first, |_| {});
    let (report, notes) = laboratory.run(&second, |_| {});
    assert_eq!((report.executed.len(), report.cached, report.fetched), (0, 5, 5));
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(objects(&first.cache()), objects(&second.cache()));
    let (report, _) = laboratory.run(&second, |_| {});
    assert_eq!((report.cached, report.fetched), (5, 0), "what is here is not asked for");
}

#[test]
fn only_what_a_trusted_key_has_signed_is_taken() {
    let laboratory = Laboratory::filled();
    let refuses = |settle: &dyn Fn(&mut RemoteSettings), why: &str| {
        let stranger = SecretKey::generate("stranger").unwrap();
        let (report, notes) = laboratory.run(&Fixture::stages(STAGES), |settings| {
            // What is computed anew must not replace what is tested.
            settings.signing_key = Some(stranger.clone());
            settle(settings);
        });
        assert_eq!((report.executed.len(), report.fetched), (5, 0));
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains(why), "{notes:?}");
    };
    let other = SecretKey::generate("lab").unwrap().public_key().unwrap();
    refuses(
        &|settings| settings.trust.keys = vec![other.clone()],
        "not of the trusted key of this name",
    );
    refuses(&|settings| settings.trust.keys.clear(), "signed by `stranger`");
    let laboratory = Laboratory::new();
    let unsigned = |settings: &mut RemoteSettings| settings.signing_key = None;
    laboratory.run(&Fixture::stages(STAGES), unsigned);
    let (report, notes) = laboratory.run(&Fixture::stages(STAGES), unsigned);
    assert_eq!((report.executed.len(), notes.len()), (5, 1), "{notes:?}");
    assert!(notes[0].contains("is not signed"), "{notes:?}");
    let (report, notes) = laboratory.run(&Fixture::stages(STAGES), |settings| {
        settings.trust.unsigned = true;
    });
    assert_eq!((report.fetched, notes.len()), (5, 0), "{notes:?}");
}

#[test]
fn who_can_not_sign_does_not_replace_what_others_have_signed() {
    let laboratory = Laboratory::filled();
    let (report, notes) = laboratory.run(&Fixture::stages(STAGES), |settings| {
        settings.trust.keys.clear();
        settings.signing_key = None;
    });
    assert_eq!((report.executed.len(), notes.len()), (5, 1), "{notes:?}");
    assert!(notes[0].contains("signed by `lab`, which is not among the trusted keys"), "{notes:?}");
    assert_eq!(laboratory.run_new().0.fetched, 5);
}

#[test]
fn damaged_and_missing_files_are_computed_again_and_replaced() {
    for harm in [
        change as fn(&Path),
        |path| fs::remove_file(path).unwrap(),
        |path| {
            fs::write(path, "").unwrap();
        },
    ] {
        let laboratory = Laboratory::filled();
        for path in laboratory.files("cas").iter().step_by(2) {
            harm(path);
        }
        let (report, notes) = laboratory.run_new();
        assert!(!report.executed.is_empty() && report.fetched > 0, "{report:?}");
        assert!(!notes.is_empty());
        let (report, notes) = laboratory.run_new();
        assert_eq!((report.executed.len(), report.fetched), (0, 5), "{notes:?}");
    }
}

#[test]
fn damaged_manifests_are_computed_again_and_replaced() {
    for harm in [
        change as fn(&Path),
        |path| fs::write(path, "").unwrap(),
        |path| {
            let text = fs::read_to_string(path).unwrap();
            fs::write(path, text.replace("\"seconds\"", "\"Seconds\"")).unwrap();
        },
    ] {
        let laboratory = Laboratory::filled();
        laboratory.files("ac").iter().for_each(|path| harm(path));
        let (report, notes) = laboratory.run_new();
        assert_eq!((report.executed.len(), report.fetched), (5, 0));
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(laboratory.run_new().0.fetched, 5);
    }
}

#[test]
fn a_manifest_under_the_key_of_another_is_not_taken() {
    let laboratory = Laboratory::filled();
    let manifests = laboratory.files("ac");
    let first = fs::read(&manifests[0]).unwrap();
    for pair in manifests.windows(2) {
        fs::copy(&pair[1], &pair[0]).unwrap();
    }
    fs::write(manifests.last().unwrap(), first).unwrap();
    let (report, notes) = laboratory.run_new();
    assert_eq!((report.executed.len(), report.fetched), (5, 0));
    assert!(notes[0].contains("has a damaged manifest"), "{notes:?}");
}

#[test]
fn a_result_of_another_machine_is_used_with_a_note_or_refused() {
    let laboratory = Laboratory::filled();
    let elsewhere = |same_machine: bool| {
        laboratory.run(&Fixture::stages(STAGES), |settings| {
            settings.trust.processor_class = "another".to_owned();
            settings.trust.same_machine = same_machine;
        })
    };
    let (report, notes) = elsewhere(false);
    assert_eq!((report.fetched, notes.len()), (5, 1), "{notes:?}");
    assert!(notes[0].contains(&format!("computed on {}", host::processor_class())), "{notes:?}");
    let (report, notes) = elsewhere(true);
    assert_eq!((report.fetched, notes.len()), (0, 1), "{notes:?}");
}

#[test]
fn a_remote_that_is_away_costs_one_line() {
    let laboratory = Laboratory::new();
    let away = laboratory.folder.path().join("away");
    let (report, notes) = laboratory.run(&Fixture::stages(STAGES), |settings| {
        settings.address = away.display().to_string().parse().unwrap();
        settings.trust.unsigned = true;
    });
    assert_eq!(report.executed.len(), 5);
    assert!(notes.len() <= 1, "{notes:?}");
    assert!(!away.exists(), "a folder that is not there may be one that is not mounted");
}

#[test]
fn a_file_that_was_cut_off_is_gone_on_with_whatever_is_there() {
    let laboratory = Laboratory::filled();
    let fixture = Fixture::stages(STAGES);
    let incoming = fixture.cache().root().join("incoming");
    fs::create_dir_all(&incoming).unwrap();
    for (at, path) in laboratory.files("cas").iter().enumerate() {
        let name = format!("{}.{}.part", path.file_name().unwrap().display(), host::name());
        let bytes = fs::read(path).unwrap();
        let begun = [&bytes[..1], b"?", &[bytes.as_slice(), b"more"].concat(), &bytes, b""];
        fs::write(incoming.join(name), begun[at % begun.len()]).unwrap();
    }
    let (report, notes) = laboratory.run(&fixture, |_| {});
    assert_eq!((report.fetched, notes.len()), (5, 0), "{notes:?}");
}
