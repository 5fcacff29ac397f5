//! Checkpoints: everything a training needs to go on as if it had never stopped.
//!
//! A file is written beside its final name and renamed, and starts with a digest of its
//! content; the two newest are kept. Reading takes the newest that is whole and belongs to the
//! same run, so a torn or foreign file costs time but never changes a result.
//! Layout: one line of magic, one of digest, the length of a JSON head, the head, safetensors.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::History;
use crate::models::{WeightArray, Weights, WeightsError};

const MAGIC: &str = "pcae checkpoint 1\n";
const EXTENSION: &str = "checkpoint";
/// A torn newest file leaves one to fall back to.
const KEPT: usize = 2;
/// Prefixes of the arrays: weights, then Adam's two running means.
const GROUPS: [&str; 3] = ["weight/", "first/", "second/"];

/// Says why a checkpoint cannot be kept.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// The file system refused.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The content cannot be turned into bytes.
    #[error("cannot encode the state of the training")]
    Encode(#[from] WeightsError),
    /// The head cannot be turned into bytes.
    #[error("cannot encode the head of a checkpoint")]
    Head(#[from] serde_json::Error),
}

/// The state of a training after some steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checkpoint {
    pub(super) step: usize,
    pub(super) weights: Weights,
    pub(super) moments: [Weights; 2],
    pub(super) memory: Vec<f64>,
    pub(super) history: History,
}

#[derive(Serialize, Deserialize)]
struct Head {
    run: String,
    step: usize,
    history_columns: Vec<String>,
}

/// Writes a checkpoint of the run named `run` into a folder, and drops the oldest ones.
pub(super) fn save(folder: &Path, run: &str, state: &Checkpoint) -> Result<(), CheckpointError> {
    let path = folder.join(format!("{:012}.{EXTENSION}", state.step));
    let temporary = path.with_extension("partial");
    let bytes = encode(run, state)?;
    let write = || {
        fs::create_dir_all(folder)?;
        let mut file = File::create(&temporary)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        // Files of later steps could not be taken up, or this run would have gone on from them.
        let (later, mine): (Vec<_>, Vec<_>) =
            newest_first(folder).into_iter().partition(|other| *other > path);
        for old in later.iter().chain(mine.iter().skip(KEPT)) {
            fs::remove_file(old)?;
        }
        Ok(())
    };
    write().map_err(|source| CheckpointError::Write { path: path.clone(), source })
}

/// Reads the newest whole checkpoint of the run named `run`, if there is one.
pub(super) fn load(folder: &Path, run: &str) -> Option<Checkpoint> {
    newest_first(folder).iter().find_map(|path| decode(run, &fs::read(path).ok()?))
}

/// Returns the checkpoint files of a folder; their names sort like their steps.
fn newest_first(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
        .collect();
    paths.sort_unstable_by(|a, b| b.cmp(a));
    paths
}

fn encode(run: &str, state: &Checkpoint) -> Result<Vec<u8>, CheckpointError> {
    let history_columns = state.history.columns.clone();
    let head = serde_json::to_vec(&Head { run: run.into(), step: state.step, history_columns })?;
    let mut body = (head.len() as u64).to_le_bytes().to_vec();
    body.extend(head);
    body.extend(encode_arrays(state)?);
    let digest = blake3::hash(&body).to_hex();
    Ok([MAGIC.as_bytes(), digest.as_bytes(), b"\n", &body].concat())
}

fn encode_arrays(state: &Checkpoint) -> Result<Vec<u8>, WeightsError> {
    let groups = [&state.weights, &state.moments[0], &state.moments[1]];
    let mut raw: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for (prefix, group) in GROUPS.iter().zip(groups) {
        for (name, WeightArray { shape, values }) in &group.0 {
            let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            raw.push((format!("{prefix}{name}"), Dtype::F32, shape.clone(), bytes));
        }
    }
    let History { columns, rows } = &state.history;
    let doubles = |values: &mut dyn Iterator<Item = &f64>| -> Vec<u8> {
        values.flat_map(|value| value.to_le_bytes()).collect()
    };
    let memory = doubles(&mut state.memory.iter());
    raw.push(("memory".into(), Dtype::F64, vec![state.memory.len()], memory));
    let history = doubles(&mut rows.iter().flatten());
    raw.push(("history".into(), Dtype::F64, vec![rows.len(), columns.len()], history));
    let mut views = Vec::with_capacity(raw.len());
    for (name, dtype, shape, bytes) in &raw {
        views.push((name, TensorView::new(*dtype, shape.clone(), bytes)?));
    }
    Ok(safetensors::serialize(views, None)?)
}

/// Returns the state in a file, or `None` if it is torn or of another run.
fn decode(run: &str, bytes: &[u8]) -> Option<Checkpoint> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let (digest, rest) = rest.split_at_checked(2 * blake3::OUT_LEN)?;
    let body = rest.strip_prefix(b"\n")?;
    if blake3::hash(body).to_hex().as_bytes() != digest {
        return None;
    }
    let (length, rest) = body.split_first_chunk::<8>()?;
    let (head, arrays) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
    let head: Head = serde_json::from_slice(head).ok()?;
    if head.run != run {
        return None;
    }
    let arrays = SafeTensors::deserialize(arrays).ok()?;
    let doubles = |name: &str| -> Option<Vec<f64>> {
        let (chunks, _) = arrays.tensor(name).ok()?.data().as_chunks::<8>();
        Some(chunks.iter().map(|&chunk| f64::from_le_bytes(chunk)).collect())
    };
    let group = |prefix: &str| {
        let mut weights = Weights::default();
        for (name, view) in arrays.iter() {
            if let Some(name) = name.strip_prefix(prefix) {
                let (chunks, _) = view.data().as_chunks::<4>();
                let values = chunks.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect();
                let shape = view.shape().to_vec();
                weights.0.insert(name.into(), WeightArray { shape, values });
            }
        }
        weights
    };
    let [weights, first, second] = GROUPS.map(group);
    let width = head.history_columns.len().max(1);
    let rows = doubles("history")?.chunks(width).map(<[f64]>::to_vec).collect();
    let history = History { columns: head.history_columns, rows };
    let memory = doubles("memory")?;
    Some(Checkpoint { step: head.step, weights, moments: [first, second], memory, history })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(step: usize) -> Checkpoint {
        let array = |values: &[f32]| {
            let array = WeightArray { shape: vec![values.len()], values: values.to_vec() };
            Weights([("a.weight".to_owned(), array)].into())
        };
        let mut history = History::default();
        history.add(1, &[("total", 1.0 / 3.0), ("variance", 1e-300)]);
        Checkpoint {
            step,
            weights: array(&[1.5, -0.1]),
            moments: [array(&[f32::MIN_POSITIVE, 0.0]), array(&[2.0, 3.0])],
            memory: vec![0.1, 1.9],
            history,
        }
    }

    #[test]
    fn a_checkpoint_is_read_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), "run", &state(7)).unwrap();
        assert_eq!(load(folder.path(), "run"), Some(state(7)));
    }

    #[test]
    fn a_torn_file_falls_back_to_the_one_before_it_then_to_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for step in [10, 20] {
            save(folder.path(), "run", &state(step)).unwrap();
        }
        let files = newest_first(folder.path());
        let whole = fs::read(&files[0]).unwrap();
        for length in [0, 10, MAGIC.len() + 30, whole.len() - 1] {
            fs::write(&files[0], &whole[..length]).unwrap();
            assert_eq!(load(folder.path(), "run").unwrap().step, 10, "cut at {length}");
        }
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        fs::write(&files[0], &flipped).unwrap();
        fs::write(&files[1], &flipped).unwrap();
        assert_eq!(load(folder.path(), "run"), None);
    }

    #[test]
    fn a_checkpoint_of_another_run_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), "run", &state(7)).unwrap();
        assert_eq!(load(folder.path(), "other"), None);
        assert_eq!(load(&folder.path().join("missing"), "run"), None);
    }

    #[test]
    fn only_the_two_newest_are_kept_and_nothing_partial() {
        let folder = tempfile::tempdir().unwrap();
        for step in [5, 10, 100, 1000] {
            save(folder.path(), "run", &state(step)).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["000000000100.checkpoint", "000000001000.checkpoint"]);
    }
}
