use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::sandbox::{Outcome, SUMS, Sandbox, program};

const SITES: &str = r#"(sites: {
    "lab": (
        hosts: ["login*.lab"],
        executor: Slurm,
        cache: "$SITE_FOLDER/cache",
        partitions: [(name: "short", time: "30min", memory: "8GB")],
        resources: [
            (cpus: 2, time: "10min"),
            (stages: "total", memory: "5GB", time: "2h"),
        ],
    ),
})"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(SUMS);
    sandbox.write("sites.ron", SITES);
    // No Slurm here: only what the stages call.
    let programs = sandbox.path().join("bin");
    fs::create_dir(&programs).unwrap();
    for name in ["sh", "cat"] {
        symlink(Path::new("/bin").join(name), programs.join(name)).unwrap();
    }
    sandbox
}

fn call(sandbox: &Sandbox, args: &[&str]) -> Outcome {
    let folder = sandbox.path();
    let mut command = program();
    command.current_dir(folder).args(args);
    command.env("SITE_FOLDER", folder).env("PATH", folder.join("bin"));
    Outcome::of(command.output().unwrap())
}

#[test]
fn a_site_shows_every_value_with_the_line_it_comes_from() {
    let sandbox = sandbox();
    let shown = call(&sandbox, &["site", "--site", "sites.ron"]).ok();
    let line = |name: &str| {
        let found = shown.stdout.lines().find(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("{name}: {}", shown.stdout)).to_owned()
    };
    assert!(line("executor ").contains("slurm") && line("executor ").ends_with("sites.ron:4"));
    assert!(line("resources[1].memory").contains("5GB"), "{}", shown.stdout);
    assert!(line("resources[1].memory").ends_with("sites.ron:9"), "{}", shown.stdout);
    assert!(line("queue ").ends_with("default"), "{}", shown.stdout);
    let folder = sandbox.path().display().to_string();
    assert!(line("cache ").contains(&format!("{folder}/cache")), "{}", shown.stdout);
    let given = call(&sandbox, &["site", "--site", "sites.ron", "--cache", "own"]).ok();
    assert!(
        given.stdout.lines().any(|line| line.starts_with("cache ") && line.ends_with("--cache"))
    );
}

#[test]
fn mistakes_in_a_site_file_are_shown_where_they_stand() {
    let sandbox = sandbox();
    sandbox.write("sites.ron", &SITES.replace("10min", "10m"));
    let refused = call(&sandbox, &["plan", "pipeline.ron", "--site", "sites.ron"]).fails_with(2);
    assert!(refused.stderr.contains("sites.ron:8:"), "{}", refused.stderr);
    assert!(refused.stderr.contains("minutes are `min`"), "{}", refused.stderr);
    sandbox.write("sites.ron", &SITES.replace("stages: \"total\"", "kind: \"Comand\""));
    let refused = call(&sandbox, &["plan", "pipeline.ron", "--site", "sites.ron"]).fails_with(2);
    assert!(refused.stderr.contains("did you mean `Command`?"), "{}", refused.stderr);
    // What needs no site works all the same.
    call(&sandbox, &["explain", "Train", "--site", "sites.ron"]).ok();
}

#[test]
fn a_plan_shows_what_jobs_ask_for_and_which_limit_is_whose() {
    let sandbox = sandbox();
    sandbox.edit("stages:", "limits: { \"total\": Limits(timeout: 90) }, stages:");
    let plan = call(&sandbox, &["plan", "pipeline.ron", "--site", "sites.ron"]).ok();
    let of = |stage: &str| plan.stderr.lines().find(|line| line.trim_start().starts_with(stage));
    let total = of("total:").unwrap_or_else(|| panic!("{}", plan.stderr));
    for part in [
        "2 processors (sites.ron:8)",
        "5GB (sites.ron:9)",
        "2h (sites.ron:9)",
        "ended after 1min30s (limits of the pipeline)",
        "partition short, in jobs of 30min",
    ] {
        assert!(total.contains(part), "{part}: {total}");
    }
    let cache = sandbox.path().join("cache");
    assert!(!cache.exists(), "a plan makes no cache");
}

#[test]
fn without_slurm_there_is_one_clear_line_and_nothing_is_lost() {
    let sandbox = sandbox();
    let site = ["--site", "sites.ron"];
    let refused = call(&sandbox, &[&["pipeline.ron"][..], &site].concat()).fails_with(1);
    assert!(
        refused.stderr.contains("`squeue` is not installed on this machine"),
        "{}",
        refused.stderr
    );
    let local = [&["pipeline.ron", "--executor", "local"][..], &site].concat();
    call(&sandbox, &local).ok();
    let again = call(&sandbox, &local).ok();
    assert!(again.stderr.contains("nothing to do"), "{}", again.stderr);
    let detached = call(&sandbox, &["pipeline.ron", "--detach"]).fails_with(2);
    assert!(detached.stderr.contains("--detach needs a cluster"), "{}", detached.stderr);
    assert!(detached.stderr.contains("--executor slurm"), "{}", detached.stderr);
    let fetched = call(&sandbox, &[&["fetch", "pipeline.ron"][..], &site].concat());
    assert!(
        !fetched.stderr.contains("squeue"),
        "downloads are for this machine: {}",
        fetched.stderr
    );
}

#[test]
fn a_site_is_found_by_its_name_in_the_users_own_file() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.path().join("config/pcae-run")).unwrap();
    sandbox.write("config/pcae-run/sites.ron", SITES);
    let mut command = program();
    command.current_dir(sandbox.path()).arg("site").env("SITE_FOLDER", "/x");
    command.env("XDG_CONFIG_HOME", sandbox.path().join("config"));
    let elsewhere = Outcome::of(command.output().unwrap()).ok();
    assert!(elsewhere.stderr.contains("no site file applies here"), "{}", elsewhere.stderr);
    command.env("PCAE_RUN_SITE", "lab");
    let chosen = Outcome::of(command.output().unwrap()).ok();
    assert!(chosen.stderr.contains("PCAE_RUN_SITE names it"), "{}", chosen.stderr);
    command.env("PCAE_RUN_SITE", "lap");
    let unknown = Outcome::of(command.output().unwrap()).fails_with(2);
    assert!(unknown.stderr.contains("did you mean `lab`?"), "{}", unknown.stderr);
    command.env("PCAE_RUN_SITE", "lab").arg("--site");
    let own = Outcome::of(command.output().unwrap()).ok();
    assert_eq!(own.stdout, chosen.stdout, "without a file it is the user's own");
    let example = call(&sandbox, &["site", "--example"]).ok();
    sandbox.write("own.ron", &example.stdout.replace("$USER", "me"));
    call(&sandbox, &["site", "--site", "own.ron"]).ok();
}
