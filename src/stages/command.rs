//! The stage kind [`Command`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::{check, required_files};

use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactReader, ArtifactWriter, plain_path,
};
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::{
    Each, Externals, Input, Inputs, Kind, Problem, Producer, Stage, StageRef,
};
use crate::engine::system::file_type;
use crate::engine::system::process::{ProgramEnd, run_program};

/// The artifact kind of a command that declares no other.
fn files() -> String {
    "files".to_owned()
}

/// Any program as a stage.
///
/// ```ron
/// "resize": Command(
///     args: ["python3", "resize.py", "inputs/images/images.npy"],
///     inputs: {"images": "ellipses"},   // laid out as inputs/images/<its files>
///     files: ["../scripts/resize.py"],  // copied in by name; content is in the key
///     env: ["OMP_NUM_THREADS"],         // passed on; value is in the key
///     outputs: ["small.npy"],           // must exist at the end
/// )
/// ```
///
/// The program starts in an empty folder. Its environment has the declared variables, `PATH`,
/// `HOME` and `USER` (not in the key) and a fixed `LC_ALL`. What it prints goes to the stage's log;
/// processes that it leaves running are killed.
///
/// With `yields: "record"` it writes `record.json`, one JSON object with a value per field:
///
/// ```json
/// {"dimension": 4, "variances": [2.5, 1.0], "note": "converged after 12 steps"}
/// ```
///
/// A value is a finite number, a list of finite numbers or a string; `NaN`, infinity, `null`, `true` and
/// nested objects are refused. A `Table` averages the numbers by their field names. Labels do not
/// belong into it: they come from the axes in the stage's name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
    /// Files from outside the pipeline, copied in under their file name.
    #[serde(default, skip_serializing)]
    pub files: Vec<String>,
    /// Environment variables that are passed on.
    #[serde(default, skip_serializing)]
    pub env: Vec<String>,
    /// Files that the program writes.
    pub outputs: Vec<String>,
    /// The artifact kind of the outputs, such as `record`, for stages that require one.
    #[serde(default = "files")]
    pub yields: String,
}

fn has_duplicates<T: PartialEq>(names: &[T]) -> bool {
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

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        self.yields.clone()
    }

    fn externals(&self) -> Externals {
        Externals { files: self.files.clone(), variables: self.env.clone() }
    }

    fn problems(&self, _inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut problem = |field, message: String, help: &str| {
            found.push(Problem { field, message, help: Some(help.to_owned()) });
        };
        if self.args.is_empty() {
            let help = "name it first: `args: [\"python3\", ..]`";
            problem("args", "there is no program to run".to_owned(), help);
        }
        if self.outputs.is_empty() {
            let message = "a stage must write at least one file".to_owned();
            problem("outputs", message, "list what the program writes");
        }
        let names: Vec<_> = self.files.iter().map(|file| Path::new(file).file_name()).collect();
        for (field, twice) in
            [("files", has_duplicates(&names)), ("outputs", has_duplicates(&self.outputs))]
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
                let message = format!("`{name}` is outside the stage's folder");
                problem(field, message, "use a plain relative path");
            }
        }
        match required_files(&self.yields) {
            None => problem(
                "yields",
                format!("a program can't make an artifact of kind `{}`", self.yields),
                "use `files`, or `record`, `points`, `distances`, `model`, `train-images`, ..",
            ),
            Some(required) => {
                for name in required.iter().filter(|name| !self.outputs.iter().any(|o| o == *name))
                {
                    let message =
                        format!("an artifact of kind `{}` needs the file `{name}`", self.yields);
                    problem("outputs", message, "list it, and have the program write it");
                }
            }
        }
        found
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let folder = context.scratch_folder().to_owned();
        self.prepare_folder(context, &folder)?;
        match self.execute(context, &folder)? {
            ProgramEnd::Code(0) => {}
            end => return Err(failure(&self.args, &end).into()),
        }
        for name in &self.outputs {
            let made = folder.join(name);
            let Ok(about) = fs::symlink_metadata(&made) else {
                return Err(missing_output(name, &folder).into());
            };
            copy(&made, about.file_type(), name, context.writer())?;
        }
        check(&self.yields, context.writer(), &self.outputs)
    }
}

impl Command {
    /// Fills the folder that the program starts in.
    fn prepare_folder(&self, context: &RunContext, folder: &Path) -> Result<(), StageError> {
        context.copy_files(folder)?;
        for (name, stage) in &self.inputs {
            write_files(&context.load(stage)?, folder.join("inputs").join(name))?;
        }
        for (name, family) in &self.families {
            for (labels, files) in context.load_each(family)? {
                // A folder per label: in one name, `a-b` and `c` would be joined like `a` and `b-c`.
                let member: PathBuf = labels.values().collect();
                write_files(&files, folder.join("inputs").join(name).join(member))?;
            }
        }
        Ok(fs::create_dir_all(folder.join("tmp"))?)
    }

    fn execute(&self, context: &RunContext, folder: &Path) -> Result<ProgramEnd, StageError> {
        let set_up = |command: &mut std::process::Command| {
            command
                .current_dir(folder)
                .env_clear()
                .envs(inherited())
                .env("LC_ALL", "C.UTF-8")
                .env("TMPDIR", folder.join("tmp"));
            for (name, value) in context.variables() {
                if let Some(value) = value {
                    command.env(name, value);
                }
            }
        };
        let end = run_program(&self.args, set_up, || context.should_stop())?;
        if context.should_stop() { Err(StageError::Stopped) } else { Ok(end) }
    }
}

/// Returns the variables that programs need: where to find programs and the user's own files.
fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    const KEPT: [&str; 3] = ["PATH", "HOME", "USER"];
    std::env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name == kept))
}

fn write_files(files: &AnyFiles, folder: PathBuf) -> Result<(), StageError> {
    fs::create_dir_all(&folder)?;
    Ok(files.write(&mut ArtifactWriter::new(folder))?)
}

/// Copies an output, a file or a folder of files, so that no process holds what is published. What
/// leads elsewhere or never ends is refused: a link, a named pipe, a device.
fn copy(
    from: &Path,
    kind: FileType,
    name: &str,
    writer: &mut ArtifactWriter,
) -> Result<(), StageError> {
    if kind.is_file() {
        fs::copy(from, writer.path(name)?)?;
        return Ok(());
    }
    if !kind.is_dir() {
        return Err(format!("the output `{name}` is {}, not a file", file_type::name(kind)).into());
    }
    for item in fs::read_dir(from)? {
        let item = item?;
        let Ok(inner) = item.file_name().into_string() else {
            let inner = item.path().display().to_string();
            return Err(format!("the name of the output `{inner}` is not valid UTF-8").into());
        };
        copy(&item.path(), item.file_type()?, &format!("{name}/{inner}"), writer)?;
    }
    Ok(())
}

fn failure(args: &[String], end: &ProgramEnd) -> String {
    let line = args.join(" ");
    match end {
        ProgramEnd::Code(code) => format!("`{line}` exited with code {code}"),
        ProgramEnd::NotStarted(message) => message.clone(),
        ProgramEnd::Signal { number, peak_memory } => {
            let memory = peak_memory.map_or_else(String::new, |bytes| {
                format!(", using {:.2} GB of memory", bytes as f64 / 1e9)
            });
            format!("`{line}` was killed by signal {number}{memory}")
        }
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
    let present = if present.is_empty() { "nothing".to_owned() } else { present.join(", ") };
    format!("the program did not write `{name}`; it wrote: {present}")
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) =
    (r#"Command(args: ["true"], outputs: ["out"])"#, "7d80a20e");
