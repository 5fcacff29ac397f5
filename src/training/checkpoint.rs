//! Checkpoints: everything a training needs to resume as if it had never stopped.
//!
//! The folder belongs to one trajectory: one model on one data set with one seed, whatever the
//! length. Rolling checkpoints are for resuming after a stop or a kill, and only the two newest are
//! kept; permanent ones mark the ends of finished runs and other epochs that were asked for.
//! A file is written beside its final name and renamed, and starts with a digest of its content and of
//! what it belongs to, so a torn one or one of another trajectory costs time but never changes a result.
//! Layout: one line of magic, one of digest, the length of a JSON head, the head, safetensors.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::History;
use super::early_stopping::Best;
use super::recorder::RunningVariance;
use super::stage_length::StagePosition;
use crate::models::{WeightArray, Weights, WeightsError};

const MAGIC: &str = "pcae checkpoint 4\n";
const ROLLING: &str = "checkpoint";
const PERMANENT: &str = "kept";
/// A torn newest file leaves one to fall back to.
const GENERATIONS: usize = 2;
/// Prefixes of the arrays: weights, Adam's two moments, the best weights so far.
const GROUPS: [&str; 4] = ["weight/", "first/", "second/", "best/"];

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
    #[error("cannot encode the training state")]
    Encode(#[from] WeightsError),
    /// The head cannot be turned into bytes.
    #[error("cannot encode the header of a checkpoint")]
    Head(#[from] serde_json::Error),
}

/// The state of a training after some steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checkpoint {
    pub(super) step: usize,
    /// Steps that the optimizer remembers.
    pub(super) optimizer_steps: usize,
    pub(super) weights: Weights,
    pub(super) moments: [Weights; 2],
    /// What training has changed in the model besides the weights.
    pub(super) extra_state: Vec<f64>,
    pub(super) history: History,
    /// The codes of the running epoch.
    pub(super) codes: RunningVariance,
    /// Where in the training it is.
    pub(super) stage: StagePosition,
    /// The best weights so far, if the training may end early.
    pub(super) best: Option<Best>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    step: usize,
    optimizer_steps: usize,
    history_columns: Vec<String>,
    /// Epoch of the best weights, and epochs since then.
    best: Option<(usize, usize)>,
    stage: StagePosition,
}

/// How long a checkpoint is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retention {
    /// Until two newer ones are there.
    Rolling,
    /// As long as the folder.
    Permanent,
}

/// Writes a checkpoint, and drops running ones that are no longer needed.
pub(super) fn save(
    folder: &Path,
    owner: &str,
    state: &Checkpoint,
    retention: Retention,
) -> Result<(), CheckpointError> {
    let extension = if retention == Retention::Permanent { PERMANENT } else { ROLLING };
    let path = folder.join(format!("{:012}.{extension}", state.step));
    let temporary = path.with_extension("partial");
    let bytes = encode(state, owner)?;
    let write = || {
        // Not those above it: they are gone if another process has taken over.
        if !folder.is_dir() {
            fs::create_dir(folder)?;
        }
        let mut file = File::create(&temporary)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        // Rolling ones of later steps belong to a longer run that was stopped: they are kept.
        let passed = files(folder, state.step).into_iter().filter(|old| is(old, ROLLING));
        let generations = if retention == Retention::Permanent { 0 } else { GENERATIONS };
        for old in passed.skip(generations) {
            fs::remove_file(old)?;
        }
        Ok(())
    };
    write().map_err(|source| CheckpointError::Write { path: path.clone(), source })
}

/// Reads the newest whole checkpoint of `owner` that is not beyond a step, if there is one.
pub(super) fn load(folder: &Path, owner: &str, most: usize) -> Option<Checkpoint> {
    files(folder, most).iter().find_map(|path| decode(&fs::read(path).ok()?, owner))
}

/// Returns the checkpoint files up to a step, newest first; their names sort like their steps.
fn files(folder: &Path, most: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let step = |path: &PathBuf| path.file_stem()?.to_str()?.parse::<usize>().ok();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is(path, ROLLING) || is(path, PERMANENT))
        .filter(|path| step(path).is_some_and(|step| step <= most))
        .collect();
    paths.sort_unstable_by(|a, b| b.cmp(a));
    paths
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn encode(state: &Checkpoint, owner: &str) -> Result<Vec<u8>, CheckpointError> {
    let head = Head {
        step: state.step,
        optimizer_steps: state.optimizer_steps,
        history_columns: state.history.columns.clone(),
        best: state.best.as_ref().map(|best| (best.epoch, best.waited)),
        stage: state.stage,
    };
    let head = serde_json::to_vec(&head)?;
    let mut body = (head.len() as u64).to_le_bytes().to_vec();
    body.extend(head);
    body.extend(encode_arrays(state)?);
    let digest = digest(&body, owner);
    Ok([MAGIC.as_bytes(), digest.as_bytes(), b"\n", &body].concat())
}

fn encode_arrays(state: &Checkpoint) -> Result<Vec<u8>, WeightsError> {
    let nothing = Weights::default();
    let best = state.best.as_ref().map_or(&nothing, |best| &best.weights);
    let groups = [&state.weights, &state.moments[0], &state.moments[1], best];
    let mut raw: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
    for (prefix, group) in GROUPS.iter().zip(groups) {
        for (name, WeightArray { shape, values }) in &group.0 {
            let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            raw.push((format!("{prefix}{name}"), Dtype::F32, shape.clone(), bytes));
        }
    }
    let mut doubles = |name: &str, values: &[f64]| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        raw.push((name.to_owned(), Dtype::F64, vec![values.len()], bytes));
    };
    doubles("memory", &state.extra_state);
    doubles("history", &state.history.rows.concat());
    let RunningVariance { count, means, squares } = &state.codes;
    doubles("code-count", &[*count]);
    doubles("code-means", means);
    doubles("code-squares", squares);
    doubles("best-loss", &state.best.iter().map(|best| best.loss).collect::<Vec<_>>());
    let mut views = Vec::with_capacity(raw.len());
    for (name, dtype, shape, bytes) in &raw {
        views.push((name, TensorView::new(*dtype, shape.clone(), bytes)?));
    }
    Ok(safetensors::serialize(views, None)?)
}

fn digest(body: &[u8], owner: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(owner.len() as u64).to_le_bytes()).update(owner.as_bytes()).update(body);
    hasher.finalize().to_hex().to_string()
}

/// Returns the state in a file, or `None` if it is torn or belongs to another owner.
fn decode(bytes: &[u8], owner: &str) -> Option<Checkpoint> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let (found, rest) = rest.split_at_checked(2 * blake3::OUT_LEN)?;
    let body = rest.strip_prefix(b"\n")?;
    if digest(body, owner).as_bytes() != found {
        return None;
    }
    let (length, rest) = body.split_first_chunk::<8>()?;
    let (head, arrays) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
    let head: Head = serde_json::from_slice(head).ok()?;
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
    let [weights, first, second, best_weights] = GROUPS.map(group);
    let width = head.history_columns.len().max(1);
    let rows = doubles("history")?.chunks(width).map(<[f64]>::to_vec).collect();
    let history = History { columns: head.history_columns, rows };
    let codes = RunningVariance {
        count: *doubles("code-count")?.first()?,
        means: doubles("code-means")?,
        squares: doubles("code-squares")?,
    };
    let best = match (head.best, doubles("best-loss")?.first()) {
        (Some((epoch, waited)), Some(&loss)) => {
            Some(Best { epoch, waited, loss, weights: best_weights })
        }
        _ => None,
    };
    Some(Checkpoint {
        step: head.step,
        optimizer_steps: head.optimizer_steps,
        weights,
        moments: [first, second],
        extra_state: doubles("memory")?,
        history,
        codes,
        stage: head.stage,
        best,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: &str = "this training";

    fn state(step: usize) -> Checkpoint {
        let array = |values: &[f32]| {
            let array = WeightArray { shape: vec![values.len()], values: values.to_vec() };
            Weights([("a.weight".to_owned(), array)].into())
        };
        let columns = ["epoch", "total"].map(str::to_owned).to_vec();
        let history = History { columns, rows: vec![vec![1.0, 1.0 / 3.0], vec![2.0, 1e-300]] };
        Checkpoint {
            step,
            optimizer_steps: 3,
            weights: array(&[1.5, -0.1]),
            moments: [array(&[f32::MIN_POSITIVE, 0.0]), array(&[2.0, 3.0])],
            extra_state: vec![0.1, 1.9],
            history,
            codes: RunningVariance { count: 2.0, means: vec![0.1, 0.2], squares: vec![0.3, 0.7] },
            stage: StagePosition { index: 2, began: 5, ended: true, cooling_since: Some(6) },
            best: Some(Best { epoch: 4, waited: 2, loss: 0.7, weights: array(&[9.0]) }),
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_checkpoint_is_read_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), OWNER, &state(7), Retention::Rolling).unwrap();
        assert_eq!(load(folder.path(), OWNER, 7), Some(state(7)));
        let plain = Checkpoint { best: None, stage: StagePosition::default(), ..state(8) };
        save(folder.path(), OWNER, &plain, Retention::Rolling).unwrap();
        assert_eq!(load(folder.path(), OWNER, 8), Some(plain));
    }

    #[test]
    fn a_torn_file_falls_back_to_the_one_before_it_then_to_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for step in [10, 20] {
            save(folder.path(), OWNER, &state(step), Retention::Rolling).unwrap();
        }
        let paths = files(folder.path(), 20);
        let whole = fs::read(&paths[0]).unwrap();
        for length in [0, 10, MAGIC.len() + 30, whole.len() - 1] {
            fs::write(&paths[0], &whole[..length]).unwrap();
            assert_eq!(load(folder.path(), OWNER, 20).unwrap().step, 10, "cut at {length}");
        }
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        fs::write(&paths[0], &flipped).unwrap();
        fs::write(&paths[1], &flipped).unwrap();
        assert_eq!(load(folder.path(), OWNER, 20), None);
        assert_eq!(load(&folder.path().join("missing"), OWNER, 20), None);
    }

    #[test]
    fn a_checkpoint_of_another_training_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), OWNER, &state(10), Retention::Rolling).unwrap();
        save(folder.path(), "another training", &state(20), Retention::Rolling).unwrap();
        assert_eq!(load(folder.path(), OWNER, 20), Some(state(10)));
        assert_eq!(load(folder.path(), "a third one", 20), None);
    }

    #[test]
    fn only_the_two_newest_running_ones_stay_and_nothing_partial() {
        let folder = tempfile::tempdir().unwrap();
        for step in [5, 10, 100, 1000] {
            save(folder.path(), OWNER, &state(step), Retention::Rolling).unwrap();
        }
        assert_eq!(names(folder.path()), ["000000000100.checkpoint", "000000001000.checkpoint"]);
    }

    #[test]
    fn kept_ones_stay_and_a_shorter_run_leaves_a_longer_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), OWNER, &state(50), Retention::Permanent).unwrap();
        save(folder.path(), OWNER, &state(90), Retention::Rolling).unwrap();
        save(folder.path(), OWNER, &state(60), Retention::Rolling).unwrap();
        assert_eq!(load(folder.path(), OWNER, 55).unwrap().step, 50);
        assert_eq!(load(folder.path(), OWNER, 70).unwrap().step, 60);
        assert_eq!(load(folder.path(), OWNER, 99).unwrap().step, 90);
        save(folder.path(), OWNER, &state(70), Retention::Permanent).unwrap();
        let left = ["000000000050.kept", "000000000070.kept", "000000000090.checkpoint"];
        assert_eq!(names(folder.path()), left);
    }
}
