//! What may have been meant by a pipeline file that is not there.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use super::args::Cli;
use crate::engine::pipeline::diagnostic::nearest;

const EXTENSION: &str = "ron";

/// Returns a hint: the command of nearly that name, or the pipeline file.
pub(super) fn for_missing_pipeline(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let is_word = path.parent() == Some(Path::new("")) && path.extension().is_none();
    let files = pipelines_near(path);
    if is_word && let Some(file) = files.iter().find(|file| stem(file) == Some(name)) {
        return Some(did_you_mean(file));
    }
    let commands = Cli::command();
    let commands = commands.get_subcommands().filter(|command| !command.is_hide_set());
    let commands: Vec<&str> = commands.map(clap::Command::get_name).collect();
    if is_word && let Some(command) = nearest(name, &commands) {
        return Some(format!("did you mean the command `pcae-run {command}`?"));
    }
    let wanted = path.file_stem()?.to_str()?;
    let stems: Vec<&str> = files.iter().filter_map(|file| stem(file)).collect();
    let near = nearest(wanted, &stems)?;
    files.iter().find(|file| stem(file) == Some(near)).map(|file| did_you_mean(file))
}

fn did_you_mean(file: &Path) -> String {
    format!("did you mean `{}`?", file.display())
}

fn stem(file: &Path) -> Option<&str> {
    file.file_stem()?.to_str()
}

/// Returns the pipeline files in the folder of a path and in its `pipelines` folder.
fn pipelines_near(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for folder in [folder.to_owned(), folder.join("pipelines")] {
        let place = if folder == Path::new("") { Path::new(".") } else { &folder };
        let names = fs::read_dir(place).into_iter().flatten().flatten();
        let files = names.map(|item| folder.join(item.file_name()));
        found.extend(files.filter(|file| file.extension().is_some_and(|end| end == EXTENSION)));
    }
    found.sort();
    found
}
