//! READMEs: what they say is so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pcae::stages::AnyStage;

use crate::sandbox::{Sandbox, program};

/// The folders that have a README; the first is the project's own.
const FOLDERS: [&str; 5] = ["", "pipelines", "reports", "src", "tests"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// A README as it is written.
struct Readme {
    folder: &'static str,
    text: String,
}

impl Readme {
    fn read(folder: &'static str) -> Self {
        let text = fs::read_to_string(root().join(folder).join("README.md")).unwrap();
        Self { folder, text }
    }

    fn all() -> impl Iterator<Item = Self> {
        FOLDERS.into_iter().map(Self::read)
    }

    fn name(&self) -> PathBuf {
        Path::new(self.folder).join("README.md")
    }

    /// Returns the fenced blocks of a language.
    fn blocks<'a>(&'a self, language: &str) -> impl Iterator<Item = &'a str> {
        let fence = format!("```{language}\n");
        let rests: Vec<&str> = self.text.split(fence.as_str()).skip(1).collect();
        rests.into_iter().map(|rest| rest.split("```").next().unwrap())
    }

    /// Returns the text without its fenced blocks.
    fn prose(&self) -> String {
        self.text.split("```").step_by(2).collect()
    }

    /// Returns what stands between backquotes.
    fn code(&self) -> Vec<String> {
        self.prose().split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// Returns the targets of links and pictures that lead into the project.
    fn links(&self) -> Vec<String> {
        let prose = self.prose();
        let targets = prose.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
        targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
    }

    /// Returns the names of headings as links have them.
    fn anchors(&self) -> BTreeSet<String> {
        let prose = self.prose();
        let headings = prose.lines().filter(|line| line.starts_with('#'));
        let anchor = |heading: &str| {
            let kept = |c: &char| c.is_alphanumeric() || *c == ' ' || *c == '-';
            let title = heading.trim_start_matches('#').trim().to_lowercase();
            title.chars().filter(kept).collect::<String>().replace(' ', "-")
        };
        headings.map(anchor).collect()
    }

    /// Returns whether a file is where a reader of this README would look for it.
    fn finds(&self, path: &str) -> bool {
        let places = [root().join(self.folder), root(), root().join("pipelines")];
        places.iter().any(|place| place.join(path).exists())
    }
}

/// Returns whether a word is a path of one file or folder of the project.
fn is_project_path(word: &str) -> bool {
    const STARTS: [&str; 10] = [
        ".ci/",
        "cli/",
        "data/",
        "engine/",
        "pipelines/",
        "report/",
        "reports/paper-laptop",
        "reports/speed",
        "src/",
        "tests/",
    ];
    const ENDS: [&str; 3] = [".py", ".ron", ".rs"];
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    word.chars().all(plain)
        && (STARTS.iter().any(|start| word.starts_with(start))
            || ENDS.iter().any(|end| word.ends_with(end)))
}

/// Returns the options that a text names.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| word.len() > 2 && word.starts_with("--"))
}

/// Returns what `--help` of a command prints; of the program itself if the command is empty.
fn help(command: &str) -> String {
    let args = command.split_whitespace().chain(["--help"]);
    let output = program().args(args).output().unwrap();
    assert!(output.status.success(), "`pcae-run {command}` is no command");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the commands that the program lists.
fn commands() -> Vec<String> {
    let help = help("");
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    // Lines that are indented deeper go on with a description.
    let lines = list.lines().filter(|line| !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Returns what the program says is wrong with an example. Stages that stand alone may refer to
/// others, and to files, that are elsewhere.
fn mistakes(example: &str) -> Vec<String> {
    let is_whole = example.starts_with("Pipeline(");
    let sandbox = if is_whole {
        Sandbox::new(example)
    } else {
        let axes = r#"{"model": {"pcae": 1}, "seed": [0]}"#;
        Sandbox::new(&format!(r#"Pipeline(name: "p", axes: {axes}, stages: {{ {example} }})"#))
    };
    let outcome = sandbox.call(&["graph", "pipeline.ron"]);
    let told = outcome.stderr.lines().filter_map(|line| line.strip_prefix("error: "));
    let told: Vec<String> = told.map(str::to_owned).collect();
    assert_eq!(outcome.code, if told.is_empty() { 0 } else { 2 }, "{}", outcome.stderr);
    let elsewhere = |mistake: &String| {
        mistake.starts_with("no stage is named") || mistake.starts_with("there is no file")
    };
    told.into_iter().filter(|mistake| is_whole || !elsewhere(mistake)).collect()
}

#[test]
fn the_pipelines_in_the_readmes_have_no_mistakes() {
    let mut count = 0;
    for readme in Readme::all() {
        for example in readme.blocks("ron") {
            let wrong = mistakes(example);
            assert!(wrong.is_empty(), "{}: {example}: {wrong:?}", readme.name().display());
            count += 1;
        }
    }
    assert!(count >= 4, "only {count} examples were found");
}

#[test]
fn the_readme_is_short() {
    let lines = Readme::read("").text.lines().count();
    assert!(lines <= 200, "README.md has {lines} lines: move details to the README of a folder");
}

#[test]
fn links_in_the_readmes_lead_somewhere() {
    for readme in Readme::all() {
        let name = readme.name();
        for link in readme.links() {
            let (path, anchor) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let target = if path.is_empty() { name.clone() } else { name.with_file_name(path) };
            let target = root().join(target);
            assert!(target.exists(), "{}: nothing is at {link}", name.display());
            if !anchor.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let anchors = Readme { folder: "", text }.anchors();
                assert!(anchors.contains(anchor), "{}: {link} has no heading", name.display());
            }
        }
    }
}

#[test]
fn files_named_in_the_readmes_exist() {
    for readme in Readme::all() {
        let mut words = readme.code();
        words.extend(readme.blocks("sh").flat_map(str::split_whitespace).map(str::to_owned));
        // Written by `init` and `export` in examples, and by whoever has a cluster.
        let is_users =
            |word: &str| ["digits.ron", "model.py"].contains(&word) || word.ends_with("sites.ron");
        words.retain(|word| is_project_path(word) && !is_users(word));
        for word in words {
            assert!(readme.finds(&word), "{} names {word}", readme.name().display());
        }
    }
}

#[test]
fn commands_and_options_in_the_readmes_exist() {
    let commands = commands();
    let mut everywhere: Vec<String> = commands.iter().map(|command| help(command)).collect();
    everywhere.push(help(""));
    // The README of the tests is about other programs, too.
    for readme in FOLDERS.into_iter().filter(|folder| *folder != "tests").map(Readme::read) {
        let name = readme.name();
        let mut lines = readme.code();
        lines.extend(readme.blocks("sh").flat_map(str::lines).map(str::to_owned));
        for line in lines {
            if let Some((_, given)) = line.split_once("pcae-run ") {
                let first = given.split(' ').next().unwrap();
                let is_command = first.chars().all(|c| c.is_ascii_lowercase());
                let mut text = help(if is_command { first } else { "" });
                if is_command && text.contains("<COMMAND>") && options(given).next().is_some() {
                    let both: Vec<&str> = given.split(' ').take(2).collect();
                    text = help(&both.join(" "));
                }
                for option in options(given) {
                    assert!(text.contains(option), "{}: `{line}`", name.display());
                }
            } else if line.starts_with("--") {
                for option in options(&line) {
                    let known = everywhere.iter().any(|text| text.contains(option));
                    assert!(known, "{}: `{line}`", name.display());
                }
            }
        }
    }
}

#[test]
fn the_readme_lists_every_command() {
    let readme = Readme::read("").text;
    for command in commands() {
        assert!(readme.contains(&format!("`pcae-run {command}")), "README.md lacks `{command}`");
    }
}

#[test]
fn the_readme_of_the_pipelines_lists_every_stage_kind() {
    let text = Readme::read("pipelines").text;
    for kind in AnyStage::KINDS {
        assert!(text.contains(&format!("`{kind}`")), "pipelines/README.md lacks `{kind}`");
    }
}

#[test]
fn the_readme_of_the_pipelines_lists_every_pipeline() {
    let text = Readme::read("pipelines").text;
    let entries = fs::read_dir(root().join("pipelines")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in names.filter(|name| Path::new(name).extension().is_some_and(|end| end == "ron")) {
        assert!(text.contains(&format!("| `{name}`")), "pipelines/README.md has no row `{name}`");
    }
}
