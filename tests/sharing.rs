//! Results that hosts share by a folder, and the keys by which they trust each other; tests/remote has the rest.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::sandbox::{Outcome, SUMS, Sandbox, files};

/// A user with a pipeline, settings and a cache.
struct Host(Sandbox);

impl Host {
    fn new() -> Self {
        Self(Sandbox::new(SUMS))
    }

    fn call(&self, args: &[&str]) -> Outcome {
        let mut command = self.0.command(args);
        command.env("XDG_CONFIG_HOME", self.0.path().join("config")).env_remove("HOME");
        Outcome::of(command.output().unwrap())
    }

    fn make_key(&self, name: &str) -> String {
        let made = self.call(&["cache", "key", name, "--json"]).ok().summary();
        made["public_key"].as_str().unwrap().to_owned()
    }

    fn key_file(&self) -> PathBuf {
        self.0.path().join("config/pcae-run/signing.key")
    }

    fn write_site(&self, fields: &str) {
        fs::create_dir_all(self.0.path().join("config/pcae-run")).unwrap();
        let text = format!("(sites: {{ \"here\": (hosts: [\"*\"], {fields}) }})");
        self.0.write("config/pcae-run/sites.ron", &text);
    }
}

fn shared_folder() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    (folder, path)
}

#[test]
fn what_one_host_has_computed_another_takes() {
    let (_folder, remote) = shared_folder();
    let (first, second) = (Host::new(), Host::new());
    let key = first.make_key("lab");
    first.call(&["pipeline.ron", "--json"]).ok();
    let sent = first.call(&["cache", "push", "--remote", &remote]).ok();
    assert!(sent.stdout.starts_with("sent 5 results ("), "{}", sent.stdout);
    second.write_site(&format!("remote: \"{remote}\", trusted_keys: [\"{key}\"]"));
    let taken = second.call(&["pipeline.ron"]).ok();
    let last = taken.stderr.lines().last().unwrap();
    assert!(last.contains("0 executed, 5 cached, 5 of them from the remote cache"), "{last}");
    assert_eq!(first.0.objects(), second.0.objects());
    let again = second.call(&["pipeline.ron"]).ok();
    assert!(again.stderr.contains("nothing to do: 5 stages cached"), "{}", again.stderr);
}

#[test]
fn pull_takes_what_is_there_and_computes_nothing() {
    let (_folder, remote) = shared_folder();
    let (first, second) = (Host::new(), Host::new());
    let key = first.make_key("lab");
    second.write_site(&format!("remote: \"{remote}\", trusted_keys: [\"{key}\"]"));
    first
        .call(&["pipeline.ron", "--until", "square-one", "--json", "--remote", &remote, "--upload"])
        .ok();
    let pulled = second.call(&["cache", "pull", "--for", "pipeline.ron"]).ok();
    assert!(pulled.stdout.starts_with("fetched 2 results ("), "{}", pulled.stdout);
    assert!(pulled.stdout.contains("2 of 5 stages are cached; 3 are still to be computed"));
    let run = second.call(&["pipeline.ron", "--json"]).ok().summary();
    assert_eq!((run["executed"].as_u64(), run["fetched"].as_u64()), (Some(3), Some(0)));
}

#[test]
fn a_host_that_trusts_nobody_says_so_once_and_computes() {
    let (_folder, remote) = shared_folder();
    let (first, stranger) = (Host::new(), Host::new());
    first.make_key("lab");
    first.call(&["pipeline.ron", "--json"]).ok();
    first.call(&["cache", "push", "--remote", &remote]).ok();
    let run = stranger.call(&["pipeline.ron", "--remote", &remote]).ok();
    let refusals = run.stderr.lines().filter(|line| line.contains("not among the trusted keys"));
    assert_eq!(refusals.count(), 1, "{}", run.stderr);
    assert!(run.stderr.lines().last().unwrap().contains("5 executed"), "{}", run.stderr);
    let other = Host::new();
    let run = other.call(&["pipeline.ron", "--json", "--remote", &remote, "--allow-unsigned"]).ok();
    assert_eq!(run.summary()["fetched"], 5);
}

#[test]
fn a_key_is_for_its_owner_alone_and_is_not_replaced() {
    let host = Host::new();
    let made = host.call(&["cache", "key", "lab"]).ok();
    assert!(made.stdout.starts_with("trusted_keys: [\"lab:"), "{}", made.stdout);
    let about = fs::metadata(host.key_file()).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    let secret = fs::read_to_string(host.key_file()).unwrap();
    assert!(!made.stdout.contains(secret.trim()) && !made.stderr.contains(secret.trim()));
    let again = host.call(&["cache", "key", "lab"]).fails_with(2);
    assert!(again.stderr.contains("choose another file with `--out FILE`"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(host.key_file()).unwrap(), secret);
    let wrong = host.call(&["cache", "key", "no name", "--out", "x"]).fails_with(2);
    assert!(wrong.stderr.contains("can't be the name of a key"), "{}", wrong.stderr);
}

#[test]
fn mistakes_about_a_remote_are_told_with_their_place_and_without_passwords() {
    let host = Host::new();
    let none = host.call(&["cache", "push"]).fails_with(2);
    assert!(none.stderr.contains("there is no remote cache"), "{}", none.stderr);
    let secret = host.call(&["pipeline.ron", "--remote", "https://me:hunter2@x/y"]).fails_with(2);
    assert!(secret.stderr.contains("~/.netrc") && !secret.stderr.contains("hunter2"));
    host.write_site("remote: \"ftp://x/y\",\n trusted_keys: [\"lab:AAAA\"]");
    let scheme = host.call(&["pipeline.ron"]).fails_with(2);
    assert!(
        scheme.stderr.contains("sites.ron:1: the address of a remote cache"),
        "{}",
        scheme.stderr
    );
    host.write_site("remote: \"/x\",\n trusted_keys: [\"lab:AAAA\"]");
    let key = host.call(&["pipeline.ron"]).fails_with(2);
    assert!(key.stderr.contains("sites.ron:2: not a public key"), "{}", key.stderr);
    assert!(
        !host.0.path().join("cache/entries").exists()
            || files(&host.0.path().join("cache/entries")).is_empty()
    );
}

#[test]
fn without_a_network_only_folders_are_asked() {
    let host = Host::new();
    let run = host.call(&["pipeline.ron", "--offline", "--remote", "http://127.0.0.1:1/x"]).ok();
    let note = "offline: the remote cache http://127.0.0.1:1/x is not used";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    assert!(!run.stderr.contains("left alone"), "{}", run.stderr);
}
