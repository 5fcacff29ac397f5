//! A folder with a pipeline in it, and the real program run there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcae-run"));
    command.env_remove("PCAE_RUN_FAILPOINT").env("NO_COLOR", "1");
    // Whoever runs the tests may have a site file.
    command.env_remove("PCAE_RUN_SITE").env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// What a run printed and returned.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// Takes what a program left.
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts success.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts an exit code.
    pub(crate) fn fails_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns the JSON objects on standard output.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the stages that were executed, in the order they ended.
    pub(crate) fn executed(&self) -> Vec<String> {
        self.events()
            .iter()
            .filter(|event| event["event"] == "stage-ended" && event["outcome"] == "executed")
            .map(|event| event["stage"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the reason given for a stage that ran.
    pub(crate) fn reason(&self, stage: &str) -> String {
        self.events()
            .iter()
            .find(|event| event["event"] == "stage-started" && event["stage"] == stage)
            .map(|event| event["why"].as_str().unwrap().to_owned())
            .unwrap_or_default()
    }

    /// Returns the last event of a run.
    pub(crate) fn summary(&self) -> Value {
        self.events().pop().unwrap()
    }
}

/// A folder of its own for one test.
pub(crate) struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    /// Makes a folder with `pipeline.ron` in it.
    pub(crate) fn new(pipeline: &str) -> Self {
        let sandbox = Self { folder: tempfile::tempdir().unwrap() };
        sandbox.write("pipeline.ron", pipeline);
        sandbox
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Replaces text in the pipeline; the text must be there.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = self.read("pipeline.ron");
        assert!(text.contains(from), "`{from}` is not in the pipeline");
        self.write("pipeline.ron", &text.replace(from, to));
    }

    /// Returns the program, set to run in this folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = program();
        command.current_dir(self.path()).args(args);
        command
    }

    pub(crate) fn call(&self, args: &[&str]) -> Outcome {
        Outcome::of(self.command(args).output().unwrap())
    }

    /// Runs the pipeline with JSON events.
    pub(crate) fn run(&self) -> Outcome {
        self.run_with(&[])
    }

    pub(crate) fn run_with(&self, more: &[&str]) -> Outcome {
        let mut args = vec!["pipeline.ron", "--json"];
        args.extend(more);
        self.call(&args)
    }

    /// Returns every result by key: kind, names and digests, without how it was made.
    pub(crate) fn results(&self) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        for path in files(&self.path().join("cache/entries")) {
            let entry: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let key = entry["key"].as_str().unwrap().to_owned();
            found.insert(key, entry["artifact"].clone());
        }
        found
    }

    /// Returns all cached files with their bytes.
    pub(crate) fn objects(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let root = self.path().join("cache/objects");
        let relative = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_owned();
        files(&root).iter().map(|path| (relative(path), fs::read(path).unwrap())).collect()
    }
}

/// Returns every file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for item in fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() { waiting.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// A small pipeline of shell stages: two sources per label, a sum each, one total.
pub(crate) const SUMS: &str = r#"Pipeline(
    name: "sums",
    axes: {"n": {"one": "1", "two": "2"}},
    stages: {
        "number-{n}": Command(args: ["sh", "-c", "echo $0 > number; echo made $0", Axis(n)], outputs: ["number"]),
        "square-{n}": Command(
            args: ["sh", "-c", "read x < inputs/x/number; echo $((x * x)) > square; echo $x > root"],
            inputs: {"x": "number-{n}"},
            outputs: ["square", "root"],
        ),
        "total": Command(
            args: ["sh", "-c", "cat inputs/all/*/square > total"],
            families: {"all": Each("square-{n}")},
            outputs: ["total"],
        ),
    },
)"#;

/// Two shell stages that leave a record each, and a table of them.
pub(crate) const RECORDS: &str = r#"Pipeline(name: "own", axes: {"seed": [0, 1]}, stages: {
    "score-{seed}": Command(args: ["sh", "-c", "echo '{\"a\": 1}' > record.json"], outputs: ["record.json"], yields: "record"),
    "t": Table(records: [Each("score-{seed}")], caption: "c", label: "l", rows: ["seed"], values: [Value(field: "a", title: "A")]),
})"#;
