//! `Command`: any program as a stage.
//!
//! ```ron
//! "resize": Command(
//!     args: ["python3", "resize.py", "inputs/images/images.npy"],
//!     inputs: {"images": "ellipses"},   // laid out as inputs/images/<its files>
//!     files: ["../scripts/resize.py"],  // copied in by name; content is in the key
//!     env: ["OMP_NUM_THREADS"],         // passed on; value is in the key
//!     outputs: ["small.npy"],           // must be there at the end
//! )
//! ```
//!
//! The program starts in an empty folder with a bare environment, so what it reads is what is
//! declared. What it prints goes to the stage's log.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::engine::artifact::{
    Artifact, ArtifactError, ArtifactReader, ArtifactWriter, plain_path,
};
use crate::engine::context::{RunContext, StageError};
use crate::engine::lifeline::NOT_STARTED;
use crate::engine::stage::{Each, Externals, Input, Kind, Labels, Problem, Stage, StageRef};

/// The artifact kind of a command that declares no other.
const FILES: &str = "files";

/// Settings of a command stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program and its arguments.
    pub args: Vec<String>,
    /// Stages whose files are laid out in `inputs/<name>/`.
    #[serde(default, skip_serializing)]
    pub inputs: BTreeMap<String, StageRef<AnyFiles>>,
    /// Families whose files are laid out in `inputs/<name>/<label>/`, one folder deeper per axis.
    #[serde(default, skip_serializing)]
    pub families: BTreeMap<String, Each<AnyFiles>>,
    /// Outside files, copied in under their last name.
    #[serde(default, skip_serializing)]
    pub files: Vec<String>,
    /// Environment variables that are passed on.
    #[serde(default, skip_serializing)]
    pub env: Vec<String>,
    /// Files that the program leaves.
    pub outputs: Vec<String>,
    /// The artifact kind of the outputs, such as `record`, for stages that ask for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yields: Option<String>,
}

fn has_twins<T: PartialEq>(names: &[T]) -> bool {
    names.iter().enumerate().any(|(at, name)| names[..at].contains(name))
}

/// The files of any artifact.
#[derive(Debug)]
pub struct AnyFiles(ArtifactReader);

impl Artifact for AnyFiles {
    const KINDS: &'static [&'static str] = &[];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        for (name, path) in self.0.files() {
            fs::copy(path, writer.path(name)?).map_err(ArtifactError::file(name))?;
        }
        Ok(())
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        Ok(Self(reader.clone()))
    }
}

impl Stage for Command {
    fn kind(&self) -> Kind {
        Kind { name: "Command", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let one = self.inputs.iter().map(|(name, stage)| stage.input(&format!("inputs.{name}")));
        let each =
            self.families.iter().map(|(name, family)| family.input(&format!("families.{name}")));
        one.chain(each).collect()
    }

    fn output(&self) -> String {
        self.yields.clone().unwrap_or_else(|| FILES.to_owned())
    }

    fn externals(&self) -> Externals {
        Externals { files: self.files.clone(), variables: self.env.clone() }
    }

    fn problems(&self, _families: &[Vec<Labels>]) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut problem = |field, message: String, help: &str| {
            found.push(Problem { field, message, help: Some(help.to_owned()) });
        };
        if self.args.is_empty() {
            let help = "name it first: `args: [\"python3\", ..]`";
            problem("args", "there is no program to run".to_owned(), help);
        }
        if self.outputs.is_empty() {
            let message = "a stage must leave at least one file".to_owned();
            problem("outputs", message, "list what the program writes");
        }
        let names: Vec<_> = self.files.iter().map(|file| Path::new(file).file_name()).collect();
        for (field, twice) in [("files", has_twins(&names)), ("outputs", has_twins(&self.outputs))]
        {
            if twice {
                let message = "two of these files have the same name".to_owned();
                problem(field, message, "rename or delete one of them");
            }
        }
        let names = [
            ("inputs", self.inputs.keys().collect::<Vec<_>>()),
            ("families", self.families.keys().collect()),
            ("outputs", self.outputs.iter().collect()),
        ];
        for (field, names) in names {
            for name in names.into_iter().filter(|name| plain_path(name).is_err()) {
                let message = format!("`{name}` would lie outside the stage's folder");
                problem(field, message, "use a plain relative path");
            }
        }
        found
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let folder = context.scratch_folder().to_owned();
        self.lay_out(context, &folder)?;
        let status = self.execute(context, &folder)?;
        if !status.success() {
            return Err(failure(&self.args, status).into());
        }
        for name in &self.outputs {
            let made = folder.join(name);
            if !made.is_file() {
                return Err(missing_output(name, &folder).into());
            }
            fs::rename(made, context.writer().path(name)?)?;
        }
        Ok(())
    }
}

impl Command {
    fn lay_out(&self, context: &RunContext, folder: &Path) -> Result<(), StageError> {
        for (name, path) in context.files() {
            fs::copy(path, folder.join(name))?;
        }
        for (name, stage) in &self.inputs {
            place(&context.load(stage)?, folder.join("inputs").join(name))?;
        }
        for (name, family) in &self.families {
            for (labels, files) in context.load_each(family)? {
                // A folder per label: joined into one, `a-b` and `c` could meet `a` and `b-c`.
                let member: PathBuf = labels.values().collect();
                place(&files, folder.join("inputs").join(name).join(member))?;
            }
        }
        Ok(fs::create_dir_all(folder.join("tmp"))?)
    }

    /// Runs the program through this one, which ties its life to ours first.
    fn execute(&self, context: &RunContext, folder: &Path) -> Result<ExitStatus, StageError> {
        let log = || -> io::Result<Stdio> {
            use std::os::fd::AsFd;
            Ok(io::stderr().as_fd().try_clone_to_owned()?.into())
        };
        let mut command = process::Command::new(std::env::current_exe()?);
        command
            .args(["replace-process", "--die-with", &process::id().to_string(), "--"])
            .args(&self.args)
            .current_dir(folder)
            .env_clear()
            .envs(inherited())
            .env("TMPDIR", folder.join("tmp"))
            .stdin(Stdio::null())
            .stdout(log()?)
            .stderr(log()?);
        for (name, value) in context.variables() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        wait(command.spawn()?, context)
    }
}

/// Returns the variables that programs can't do without and that say nothing about the task.
fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    const KEPT: [&str; 5] = ["PATH", "HOME", "USER", "LANG", "LC_ALL"];
    std::env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name == kept))
}

fn wait(mut child: process::Child, context: &RunContext) -> Result<ExitStatus, StageError> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let mut pause = Duration::from_millis(1);
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return if context.should_stop() { Err(StageError::Stopped) } else { Ok(status) };
        }
        if context.should_stop() {
            // The program got the same signal; one that ignores it is ended.
            let since = *asked.get_or_insert_with(Instant::now);
            if since.elapsed() > PATIENCE {
                child.kill()?;
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn place(files: &AnyFiles, folder: PathBuf) -> Result<(), StageError> {
    fs::create_dir_all(&folder)?;
    Ok(files.write(&mut ArtifactWriter::new(folder))?)
}

fn failure(args: &[String], status: ExitStatus) -> String {
    let line = args.join(" ");
    match (status.code(), status.signal()) {
        (Some(NOT_STARTED), _) => format!("`{}` was not found or can't be started", args[0]),
        (Some(code), _) => format!("`{line}` ended with code {code}"),
        (None, Some(signal)) => format!("`{line}` was killed by signal {signal}"),
        (None, None) => format!("`{line}` did not end well"),
    }
}

fn missing_output(name: &str, folder: &Path) -> String {
    let mut present: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|item| Some(item.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name != "inputs" && name != "tmp")
        .collect();
    present.sort();
    format!("the program left no `{name}`; it left: {}", present.join(", "))
}
