//! Search for a pinned file in the user's folders: by name, decided by hash.
//!
//! Looks into each folder and two levels of folders below it, the upper ones first and in the
//! order of their names, so that the same file is found every time. A file of the right name and
//! the wrong content is named in the log and left alone.

use std::fs;
use std::path::{Path, PathBuf};

use super::pin::FileName;
use super::verify::{Verdict, Wanted, copy_if_right};
use super::watch::Watch;
use super::{DownloadError, MirrorFailure};

/// Levels of folders that are searched below each given one.
const LEVELS: usize = 2;

/// Most folders that are looked into for each given one, so that `--data /` ends.
const MOST_FOLDERS: usize = 2000;

/// Copies the wanted file from the first place that has it, and says where that is. Files of its name
/// with another content are added to `misfits`.
pub(super) fn find(
    folders: &[PathBuf],
    wanted: Wanted<'_>,
    watch: &mut Watch<'_>,
    misfits: &mut Vec<MirrorFailure>,
) -> Result<Option<PathBuf>, DownloadError> {
    let names = spellings(&wanted.file.name);
    for folder in folders {
        for folder in below(folder, watch)? {
            for name in &names {
                let found = folder.join(name);
                if !found.is_file() {
                    continue;
                }
                match copy_if_right(&found, wanted, watch)? {
                    Verdict::Right => return Ok(Some(found)),
                    Verdict::Wrong(reason) => {
                        let mirror = found.display().to_string();
                        watch.log(&format!("found {mirror} but {reason}"));
                        misfits.push(MirrorFailure { mirror, reason });
                    }
                }
            }
        }
    }
    Ok(None)
}

/// Returns whether a file of one of the wanted names lies in the folders.
pub(super) fn lies_in(folders: &[PathBuf], name: &FileName, watch: &Watch<'_>) -> bool {
    let names = spellings(name);
    let holds = |folder: PathBuf| names.iter().any(|name| folder.join(name).is_file());
    folders.iter().any(|folder| below(folder, watch).is_ok_and(|all| all.into_iter().any(holds)))
}

/// Returns the names that the file may have: some distributions of idx files write the dot before
/// `idx` as a dash, others do not; and any file may be packed.
fn spellings(name: &FileName) -> Vec<String> {
    let name = name.as_str();
    let swapped = [("-idx", ".idx"), (".idx", "-idx")].into_iter().find_map(|(from, to)| {
        let at = name.rfind(from)?;
        Some(format!("{}{to}{}", &name[..at], &name[at + from.len()..]))
    });
    let raw = [Some(name.to_owned()), swapped].into_iter().flatten();
    raw.flat_map(|name| [format!("{name}.gz"), name].into_iter().rev()).collect()
}

/// Returns a folder and those below it, level by level.
fn below(folder: &Path, watch: &Watch<'_>) -> Result<Vec<PathBuf>, DownloadError> {
    let mut all = vec![folder.to_owned()];
    let mut level = 0..1;
    for _ in 0..LEVELS {
        for index in level.clone() {
            watch.check()?;
            let folders = match folders_in(&all[index]) {
                Ok(folders) => folders,
                Err(error) => {
                    watch.log(&format!("cannot read the folder {}: {error}", all[index].display()));
                    continue;
                }
            };
            let room = MOST_FOLDERS.saturating_sub(all.len());
            if folders.len() > room {
                let folder = folder.display();
                watch.log(&format!(
                    "{folder} has more than {MOST_FOLDERS} folders: not all searched"
                ));
                all.extend(folders.into_iter().take(room));
                return Ok(all);
            }
            all.extend(folders);
        }
        level = level.end..all.len();
    }
    Ok(all)
}

fn folders_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() || (kind.is_symlink() && entry.path().is_dir()) {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_looked_for_under_both_spellings_and_packed() {
        let names = |name: &str| spellings(&FileName::new(name).unwrap());
        let both = ["t-images-idx3", "t-images-idx3.gz", "t-images.idx3", "t-images.idx3.gz"];
        assert_eq!(names("t-images-idx3"), both);
        assert_eq!(names("t-images.idx3"), [both[2], both[3], both[0], both[1]]);
        assert_eq!(names("faces.zip"), ["faces.zip", "faces.zip.gz"]);
    }

    #[test]
    fn folders_are_searched_level_by_level_in_order_of_name_and_not_deeper_than_two() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["b/y/deep", "a/x", "a/w"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let (stop, log) = (|| false, |_: &str| ());
        let mut progress = |_| ();
        let folders = below(root.path(), &Watch::new(&stop, &mut progress, &log)).unwrap();
        let expected = ["", "a", "b", "a/w", "a/x", "b/y"].map(|folder| root.path().join(folder));
        assert_eq!(folders, expected);
    }
}
