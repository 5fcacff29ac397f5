use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::crash::{children, send};
use crate::sandbox::{SUMS, Sandbox, files};

/// A file of 300 kB, and its last 100 kB.
const LARGE: &str = r#"Pipeline(name: "large", stages: {
    "zeros": Command(args: ["sh", "-c", "head -c 300000 /dev/zero > out"], outputs: ["out"]),
    "tail": Command(args: ["sh", "-c", "tail -c 100000 inputs/x/out > end"], inputs: {"x": "zeros"}, outputs: ["end"]),
})"#;

/// One stage that writes a line.
const ONE: &str = r#"Pipeline(name: "one", stages: {
    "line": Command(args: ["sh", "-c", "echo text > out"], outputs: ["out"]),
})"#;

/// Waits for something that happens soon, or never.
fn wait_until(happened: impl Fn() -> bool) {
    for _ in 0..12_000 {
        if happened() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("waited for a minute");
}

/// Returns where an object of this size is.
fn object(sandbox: &Sandbox, bytes: u64) -> PathBuf {
    let objects = files(&sandbox.path().join("cache/objects"));
    objects.into_iter().find(|path| path.metadata().unwrap().len() == bytes).unwrap()
}

/// Changes the last byte of a file where it lies.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Edits the only manifest of a cache.
fn edit_manifest(sandbox: &Sandbox, edit: impl FnOnce(&mut Value)) {
    let path = files(&sandbox.path().join("cache/entries")).remove(0);
    let mut entry: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    edit(&mut entry);
    fs::write(&path, entry.to_string()).unwrap();
}

fn forget_index(sandbox: &Sandbox) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.path().join(format!("cache/index.sqlite{suffix}")));
    }
}

#[test]
fn a_flipped_bit_in_a_large_input_never_reaches_a_result() {
    let sandbox = Sandbox::new(LARGE);
    let reference = Sandbox::new(LARGE);
    reference.run().ok();
    sandbox.run_with(&["--until", "zeros"]).ok();
    flip(&object(&sandbox, 300_000));
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(1);
    assert!(refused.stderr.contains("has changed since it was stored"), "{}", refused.stderr);
    assert!(refused.stderr.contains("run again to recompute it"), "{}", refused.stderr);
    assert_eq!(sandbox.run().ok().executed(), ["zeros", "tail"]);
    assert_eq!(sandbox.objects(), reference.objects());
}

#[test]
fn damaged_files_are_not_exported() {
    let sandbox = Sandbox::new(LARGE);
    sandbox.run().ok();
    flip(&object(&sandbox, 300_000));
    let refused = sandbox.call(&["export", "zeros", "out"]).fails_with(5);
    assert!(refused.stderr.contains("has changed since it was stored"), "{}", refused.stderr);
    assert!(!sandbox.path().join("out").exists());
}

#[test]
fn pipes_in_the_cache_are_named_and_never_waited_for() {
    for name in ["layout", "index.sqlite", "logs"] {
        let sandbox = Sandbox::new(ONE);
        sandbox.run().ok();
        let path = sandbox.path().join("cache").join(name);
        let path = if path.is_dir() { files(&path).remove(0) } else { path };
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let refused = sandbox.call(&["log", "line", "pipeline.ron"]);
        assert_ne!(refused.code, 0, "{name}");
        assert!(refused.stderr.contains("a named pipe"), "{name}: {}", refused.stderr);
    }
}

#[test]
fn a_folder_that_a_program_protected_keeps_no_run_from_starting() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "s": Command(args: ["sh", "-c", "mkdir d; touch d/x; chmod 555 d; [ -e $0 ] && echo > out", "FOLDER/go"], outputs: ["out"]),
        })"#,
    );
    sandbox.edit("FOLDER", sandbox.path().to_str().unwrap());
    sandbox.call(&["pipeline.ron"]).fails_with(1);
    sandbox.write("go", "");
    sandbox.run().ok();
    assert!(files(&sandbox.path().join("cache/work")).is_empty());
}

#[test]
fn results_that_may_come_from_a_damaged_file_are_named() {
    let sandbox = Sandbox::new(LARGE);
    sandbox.run().ok();
    let path = object(&sandbox, 300_000);
    let times = fs::metadata(&path).unwrap();
    flip(&path);
    // As if the disk had changed it: the file system shows nothing.
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(times.modified().unwrap()).unwrap();
    let verified = sandbox.call(&["cache", "verify"]).fails_with(5);
    assert!(verified.stderr.contains("tail was computed from it"), "{}", verified.stderr);
    let healed = sandbox.call(&["pipeline.ron", "--verify"]).ok();
    assert!(healed.stderr.contains("tail was computed from it"), "{}", healed.stderr);
    sandbox.call(&["cache", "verify"]).ok();
}

#[test]
fn names_in_a_manifest_do_not_lead_out_of_a_folder() {
    for name in ["../../escaped", "/tmp/pcae-run-escaped"] {
        let sandbox = Sandbox::new(ONE);
        sandbox.run().ok();
        edit_manifest(&sandbox, |entry| entry["artifact"]["files"][0]["name"] = json!(name));
        forget_index(&sandbox);
        let refused = sandbox.call(&["export", "line", "out/deep", "pipeline.ron"]).fails_with(2);
        assert!(refused.stderr.contains("no cached result"), "{}", refused.stderr);
        assert!(!sandbox.path().join("escaped").exists());
        let verified = sandbox.call(&["cache", "verify"]).fails_with(5);
        assert!(verified.stderr.contains("use a plain relative path"), "{}", verified.stderr);
        assert_eq!(sandbox.run().ok().executed(), ["line"]);
    }
}

#[test]
fn an_export_follows_no_link() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "line": Command(args: ["sh", "-c", "mkdir deep; echo a > out; echo b > deep/out"], outputs: ["out", "deep"]),
        })"#,
    );
    sandbox.run().ok();
    sandbox.write("victim", "precious");
    fs::create_dir(sandbox.path().join("target")).unwrap();
    symlink(sandbox.path().join("victim"), sandbox.path().join("target/out")).unwrap();
    sandbox.call(&["export", "line", "target"]).ok();
    assert_eq!(sandbox.read("victim"), "precious");
    assert_eq!(sandbox.read("target/out"), "a\n");
    fs::create_dir_all(sandbox.path().join("elsewhere")).unwrap();
    fs::create_dir(sandbox.path().join("linked")).unwrap();
    symlink(sandbox.path().join("elsewhere"), sandbox.path().join("linked/deep")).unwrap();
    let refused = sandbox.call(&["export", "line", "linked"]).fails_with(1);
    assert!(refused.stderr.contains("is a symbolic link, not a folder"), "{}", refused.stderr);
    assert_eq!(fs::read_dir(sandbox.path().join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn gc_keeps_what_a_run_with_another_data_folder_reached() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p",
            shared: {"word": IfPresent(path: "here.txt", then: "present", otherwise: "absent")},
            stages: {"read": Command(args: ["sh", "-c", "echo $0 > out", Shared(word)], outputs: ["out"])},
        )"#,
    );
    fs::create_dir(sandbox.path().join("data")).unwrap();
    sandbox.write("data/here.txt", "");
    let with_data = ["--data", "data"];
    assert_eq!(sandbox.run_with(&with_data).ok().executed(), ["read"]);
    assert_eq!(sandbox.run().ok().executed(), ["read"]);
    sandbox.call(&["gc", "pipeline.ron", "--delete"]).ok();
    assert_eq!(sandbox.run_with(&with_data).ok().summary()["executed"], 0);
}

#[test]
fn gc_collects_what_an_edited_pipeline_no_longer_reaches() {
    let sandbox = Sandbox::new(ONE);
    sandbox.run().ok();
    sandbox.edit("echo text", "echo other");
    sandbox.run().ok();
    sandbox.call(&["gc", "--delete"]).ok();
    assert_eq!(sandbox.results().len(), 1);
}

#[test]
fn an_alias_that_leads_to_another_file_is_not_believed() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "hello": Download(files: Pinned([(
                name: "a.bin", bytes: 5,
                sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
                mirrors: ["file:FOLDER/hello"],
            )])),
            "other": Command(args: ["sh", "-c", "printf other > out"], outputs: ["out"]),
        })"#,
    );
    sandbox.edit("FOLDER", sandbox.path().to_str().unwrap());
    sandbox.write("hello", "hello");
    sandbox.run().ok();
    let is_other = |path: &PathBuf| fs::read(path).unwrap() == b"other";
    let other = files(&sandbox.path().join("cache/objects")).into_iter().find(is_other).unwrap();
    let name = other.strip_prefix(sandbox.path().join("cache/objects")).unwrap();
    let alias = files(&sandbox.path().join("cache/aliases")).remove(0);
    fs::write(alias, name.to_str().unwrap().replace('/', "")).unwrap();
    sandbox.edit("a.bin", "b.bin");
    sandbox.run().ok();
    sandbox.call(&["export", "hello", "exported"]).ok();
    assert_eq!(sandbox.read("exported/b.bin"), "hello");
}

#[test]
fn outputs_that_are_not_files_of_the_stage_are_refused() {
    for (script, declared, why) in [
        ("ln -s /etc/hostname out", "out", "the output `out` is a symbolic link, not a file"),
        ("mkfifo out", "out", "the output `out` is a named pipe, not a file"),
        ("echo > out; echo > ../output/more", "out", "`more` was written into the output folder"),
        (
            "mkdir out; echo a > out/$(printf '\\\\376'); echo b > out/$(printf '\\\\377')",
            "out",
            "is not valid UTF-8",
        ),
    ] {
        let sandbox = Sandbox::new(&format!(
            r#"Pipeline(name: "p", stages: {{"s": Command(args: ["sh", "-c", "{script}"], outputs: ["{declared}"])}})"#
        ));
        let refused = sandbox.call(&["pipeline.ron"]).fails_with(1);
        assert!(refused.stderr.contains(why), "{script}: {}", refused.stderr);
        assert!(sandbox.results().is_empty(), "{script}");
    }
}

#[test]
fn whatever_is_changed_in_a_manifest_or_the_index_is_found() {
    type Edit = fn(&mut Value);
    let edits: [(Edit, &str); 6] = [
        (
            |entry| entry["artifact"]["kind"] = json!("record"),
            "its digest is not that of its files",
        ),
        (|entry| entry["artifact"]["files"] = json!([]), "it has no files"),
        (|entry| entry["record"]["version"] = json!(2), "is of another key than its record"),
        (|entry| entry["run"]["finished"] = json!(u64::MAX), "has impossible times"),
        (|entry| entry["run"]["finished"] = json!(1_u64 << 62), "has impossible times"),
        (
            |entry| entry["artifact"]["files"][0]["bytes"] = json!(1_u64 << 63),
            "the sizes of its files are impossible",
        ),
    ];
    for (edit, why) in edits {
        let sandbox = Sandbox::new(ONE);
        sandbox.run().ok();
        edit_manifest(&sandbox, edit);
        let verified = sandbox.call(&["cache", "verify"]).fails_with(5);
        assert!(verified.stderr.contains(why), "{}", verified.stderr);
        forget_index(&sandbox);
        sandbox.call(&["status", "pipeline.ron"]).ok();
        sandbox.call(&["cache", "rebuild"]).ok();
        assert_eq!(sandbox.run().ok().executed(), ["line"]);
        sandbox.call(&["cache", "verify"]).ok();
    }
    let sandbox = Sandbox::new(ONE);
    sandbox.run().ok();
    edit_manifest(&sandbox, |entry| entry["run"]["stage"] = json!("another"));
    let verified = sandbox.call(&["cache", "verify"]).fails_with(5);
    assert!(verified.stderr.contains("differs from its manifest"), "{}", verified.stderr);
    sandbox.call(&["cache", "rebuild"]).ok();
    sandbox.call(&["cache", "verify"]).ok();
}

#[test]
fn lost_manifests_are_found_and_restored_from_the_index() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    let before = sandbox.results();
    fs::remove_dir_all(sandbox.path().join("cache/entries")).unwrap();
    let verified = sandbox.call(&["cache", "verify"]).fails_with(5);
    assert!(verified.stderr.contains("has no manifest"), "{}", verified.stderr);
    sandbox.call(&["cache", "rebuild"]).ok();
    assert_eq!(sandbox.results(), before);
    sandbox.call(&["cache", "verify"]).ok();
    assert_eq!(sandbox.run().ok().summary()["executed"], 0);
}

#[test]
fn an_index_of_a_newer_program_is_set_aside() {
    let sandbox = Sandbox::new(ONE);
    sandbox.run().ok();
    let index = sandbox.path().join("cache/index.sqlite");
    // Where SQLite keeps the version of the user.
    let mut bytes = fs::read(&index).unwrap();
    bytes[60..64].copy_from_slice(&9_u32.to_be_bytes());
    fs::write(&index, bytes).unwrap();
    let run = sandbox.call(&["pipeline.ron"]).ok();
    assert!(run.stderr.contains("index.sqlite.version-9"), "{}", run.stderr);
    assert!(run.stderr.contains("nothing to do"), "{}", run.stderr);
    assert!(sandbox.path().join("cache/index.sqlite.version-9").exists());
    assert!(!sandbox.call(&["pipeline.ron"]).ok().stderr.contains("newer"));
}

#[test]
fn what_killed_runs_leave_is_removed_by_the_next_one() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "p", stages: {
            "slow": Command(args: ["sh", "-c", "head -c 1000000 /dev/zero > big; sleep 2; echo > out"], outputs: ["out"]),
        })"#,
    );
    let jobs = sandbox.path().join("cache/jobs");
    let listed = || if jobs.is_dir() { files(&jobs) } else { Vec::new() };
    for round in 0..3 {
        let before = listed();
        let mut runner = sandbox.command(&["pipeline.ron"]).stderr(Stdio::null()).spawn().unwrap();
        wait_until(|| listed().iter().any(|path| !before.contains(path)));
        runner.kill().unwrap();
        runner.wait().unwrap();
        let page = sandbox.call(&["status", "pipeline.ron", "--json"]);
        assert!(!page.stdout.contains("running"), "round {round}: {}", page.stdout);
    }
    sandbox.run().ok();
    for folder in ["jobs", "work"] {
        let left = files(&sandbox.path().join("cache").join(folder));
        assert!(left.is_empty(), "{left:?}");
    }
    let aborted = sandbox
        .command(&["pipeline.ron", "--force", "slow"])
        .env("PCAE_RUN_FAILPOINT", "claim.clear.before=abort")
        .output()
        .unwrap();
    assert_eq!(aborted.status.code(), Some(1));
    assert!(!files(&sandbox.path().join("cache/work")).is_empty());
    assert_eq!(sandbox.run().ok().summary()["executed"], 0);
    assert!(files(&sandbox.path().join("cache/work")).is_empty());
}

#[test]
fn whatever_lies_in_an_objects_place_is_replaced() {
    for make in ["mkdir -p \"$0/more\"", "mkfifo \"$0\"", "ln -s /dev/zero \"$0\""] {
        let sandbox = Sandbox::new(ONE);
        sandbox.run().ok();
        let path = object(&sandbox, 5);
        fs::remove_file(&path).unwrap();
        Command::new("sh").args(["-c", make]).arg(&path).status().unwrap();
        sandbox.call(&["cache", "verify"]).fails_with(5);
        assert_eq!(sandbox.run().ok().executed(), ["line"], "{make}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "text\n");
        sandbox.call(&["cache", "verify"]).ok();
    }
}

#[test]
fn an_index_that_is_cut_off_while_a_run_uses_it_is_told_in_one_line() {
    let sandbox = Sandbox::new(&SUMS.replace("echo made", "sleep 1; echo made"));
    sandbox.run_with(&["--until", "number-one"]).ok();
    let runner = sandbox.command(&["pipeline.ron"]).stderr(Stdio::piped()).spawn().unwrap();
    let logs = sandbox.path().join("cache/logs");
    wait_until(|| files(&logs).len() >= 2);
    let index = fs::File::options().write(true).open(sandbox.path().join("cache/index.sqlite"));
    index.unwrap().set_len(0).unwrap();
    let output = runner.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        assert!(stderr.contains("`pcae-run cache rebuild` rebuilds it"), "{stderr}");
    }
    sandbox.call(&["cache", "rebuild"]).ok();
    sandbox.run().ok();
    sandbox.call(&["cache", "verify"]).ok();
}

/// Returns whether a process lives and is no zombie.
fn lives(process: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", process.trim()))
        .is_ok_and(|text| !text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

fn dies(process: &str) -> bool {
    (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        !lives(process)
    })
}

const DAEMON: &str = r#"Pipeline(name: "p", stages: {
    "s": Command(args: ["sh", "-c", "setsid sleep 1000 & echo $! > $PIDS.daemon; sleep 1000 & echo $! > $PIDS.child; echo $$ > $PIDS.program; [ $LONG = 1 ] && sleep 1000; echo > out"], env: ["PIDS", "LONG"], outputs: ["out"]),
})"#;

#[test]
fn nothing_that_a_program_starts_outlives_it() {
    let sandbox = Sandbox::new(DAEMON);
    let pids = sandbox.path().join("pids");
    let run = sandbox.command(&["pipeline.ron"]).env("PIDS", &pids).env("LONG", "0").output();
    assert!(run.unwrap().status.success());
    for name in ["pids.daemon", "pids.child"] {
        let process = sandbox.read(name);
        assert!(dies(&process), "{name}: {process} lives");
    }
}

#[test]
fn children_of_the_program_that_became_this_one_are_left_alone() {
    let sandbox = Sandbox::new(DAEMON);
    let script =
        "sleep 1000 >&- 2>&- & echo $! > own; PIDS=$PWD/pids LONG=0 exec \"$0\" pipeline.ron";
    let program = env!("CARGO_BIN_EXE_pcae-run");
    let mut shell = Command::new("sh");
    shell.args(["-c", script, program]).current_dir(sandbox.path());
    assert!(shell.output().unwrap().status.success());
    let own = sandbox.read("own");
    assert!(lives(&own), "the shell's own child was killed");
    send("-KILL", own.trim().parse().unwrap());
    assert!(dies(&sandbox.read("pids.daemon")));
}

#[test]
fn nothing_that_a_program_starts_outlives_a_killed_stage_or_runner() {
    for kill_runner in [false, true] {
        let sandbox = Sandbox::new(DAEMON);
        let pids = sandbox.path().join("pids");
        let mut command = sandbox.command(&["pipeline.ron"]);
        command.env("PIDS", &pids).env("LONG", "1").stderr(Stdio::null());
        let mut runner = command.spawn().unwrap();
        wait_until(|| sandbox.path().join("pids.program").exists());
        thread::sleep(Duration::from_millis(50));
        if kill_runner {
            runner.kill().unwrap();
        } else {
            for stage in children(runner.id()) {
                send("-KILL", stage);
            }
        }
        runner.wait().unwrap();
        for name in ["pids.program", "pids.daemon", "pids.child"] {
            let process = sandbox.read(name);
            assert!(dies(&process), "{name}: {process} lives, runner killed: {kill_runner}");
        }
    }
}

/// Takes the right to write from a folder and everything below it.
fn write_protect(folder: &Path, protect: bool) {
    let mode = |path: &Path| if path.is_dir() { 0o755 } else { 0o644 };
    let mask = if protect { 0o555 } else { 0o777 };
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        if !protect {
            fs::set_permissions(&path, Permissions::from_mode(mode(&path))).unwrap();
        }
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|item| item.unwrap().path()));
        }
        if protect {
            fs::set_permissions(&path, Permissions::from_mode(mode(&path) & mask)).unwrap();
        }
    }
}

#[test]
fn a_cache_that_can_not_be_written_serves_readers() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    write_protect(&sandbox.path().join("cache"), true);
    // Root may write anywhere: another user tries, where there is one.
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    fs::set_permissions(sandbox.path(), Permissions::from_mode(0o777)).unwrap();
    // A copy: the user may not reach the folder that the program was built in.
    let program = sandbox.path().join("program");
    fs::copy(env!("CARGO_BIN_EXE_pcae-run"), &program).unwrap();
    let call = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(sandbox.path()).env("NO_COLOR", "1").args(args);
        if is_root {
            command.uid(65534).gid(65534);
        }
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), stderr)
    };
    for args in [
        &["status", "pipeline.ron"][..],
        &["plan", "pipeline.ron"],
        &["why", "total", "pipeline.ron"],
        &["log", "number-one", "pipeline.ron"],
        &["graph", "pipeline.ron"],
        &["cache", "stats"],
        &["cache", "verify"],
        &["gc", "pipeline.ron"],
        &["export", "total", "exported", "pipeline.ron"],
    ] {
        let (code, stdout, stderr) = call(args);
        assert_eq!(code, Some(0), "{args:?}: {stdout}{stderr}");
    }
    let (code, _, stderr) = call(&["pipeline.ron"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("nothing to do: 5 stages cached"), "{stderr}");
    sandbox.edit("echo made $0", "echo now made $0");
    let (code, _, stderr) = call(&["pipeline.ron"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("nothing can be added to the cache"), "{stderr}");
    write_protect(&sandbox.path().join("cache"), false);
    if is_root {
        let path = object(&sandbox, 2);
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        let (_, _, stderr) = call(&["cache", "verify"]);
        assert!(stderr.contains("can't be read"), "{stderr}");
        assert!(!stderr.contains("is missing"), "{stderr}");
    }
}
