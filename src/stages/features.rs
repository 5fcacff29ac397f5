//! `Features`: what a network sees in images, one row of numbers an image.
//!
//! ```ron
//! "inception-weights": Download(files: FidInception),
//! "real-features": Features(
//!     data: "test-images",
//!     // `weights` is a Download (or Command) stage that leaves one file; or write
//!     // `path: "my/weights.pth"` for a file beside the pipeline or in --data. PyTorch's .pth and
//!     // .safetensors are read.
//!     network: Inception(weights: "inception-weights", resize: PytorchFid),
//! ),
//! "learned": Features(data: "test-images", network: Classifier("classifier")),
//! "pixels": Features(data: "test-images", network: Pixels),
//! ```
//!
//! `Inception` is the network that FID is defined by. Packages bring images to its size in different
//! ways, and scores differ by them: `PytorchFid`, `Tensorflow1` (torch-fidelity, TTUR) or `Clean`
//! (clean-fid). A processor core takes a few images a second; what a stopped run has computed is kept.
//! `Classifier` names a `TrainClassifier` stage and takes what its classes are told from: it needs no
//! download, but a distance by it can be compared only with others by the very same classifier.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::artifacts::{AnyImages, CLASSIFIER_WEIGHTS};
use super::command::AnyFiles;
use super::outlooks;
use crate::classification::ImageClassifier;
use crate::data::{Files, Images, SampleSet};
use crate::device;
use crate::engine::context::{RunContext, StageError};
use crate::engine::cost::{Outlook, Work};
use crate::engine::digest::ContentDigest;
use crate::engine::events::Progress;
use crate::engine::stage::{Externals, Input, Kind, Needs, Problem, Producer, Stage, StageRef};
use crate::features::{Inception, LOT, Resize, WIDTH, read_weights};
use crate::numerics::Points;

/// The file that says which network the features are of, in one line.
pub(super) const NETWORK: &str = "network.txt";

/// Which network looks at the images.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum FeatureNetwork {
    /// The network that FID is defined by; 2048 features.
    Inception(InceptionSpec),
    /// The features of a classifier that a stage has trained.
    Classifier(StageRef<ImageClassifier>),
    /// None: the features are the pixels, between 0 and 1.
    Pixels,
}

/// Settings of the Inception network: `Inception(weights: "inception-weights", resize: PytorchFid)`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InceptionSpec {
    /// The stage whose one file holds the weights.
    #[serde(default)]
    pub weights: Option<StageRef<AnyFiles>>,
    /// The file that is read instead.
    #[serde(default, skip_serializing)]
    pub path: Option<String>,
    /// How images are brought to the network's size.
    #[serde(default)]
    pub resize: Resize,
}

/// Settings of a feature stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// The images.
    pub data: StageRef<AnyImages>,
    /// What looks at them.
    pub network: FeatureNetwork,
}

impl InceptionSpec {
    fn problems(&self) -> Vec<Problem> {
        let (message, help) = match (&self.weights, &self.path) {
            (None, None) => (
                "the Inception network has no weights",
                "add `weights: \"a stage\"` with `Download(files: FidInception)`, or \
                 `path: \"a file\"`",
            ),
            (Some(_), Some(_)) => {
                ("weights come either from a stage or from a path", "keep `weights` or `path`")
            }
            _ => return Vec::new(),
        };
        let (message, help) = (message.to_owned(), Some(help.to_owned()));
        vec![Problem { field: "network", message, help }]
    }

    /// Loads the network; the line says which it is.
    fn load(&self, context: &RunContext) -> Result<(Inception, String), StageError> {
        let files = if let Some(stage) = &self.weights {
            context.files_of(stage)?.files().clone()
        } else {
            let outside = context.outside_files();
            outside.map(|(name, path)| (name.to_owned(), path.to_owned())).collect()
        };
        let files = Files::new(files);
        let file = files.only()?;
        let weights = read_weights(file.name, file.path)?;
        let device = device::open(context.device().parse()?)?;
        let network = Inception::load(&weights, self.resize, &device)?;
        let weights = short_digest(file.path)?;
        Ok((network, format!("Inception, {:?}, weights {weights}", self.resize)))
    }
}

impl Stage for Features {
    fn kind(&self) -> Kind {
        Kind { name: "Features", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![self.data.input("data")];
        inputs.extend(match &self.network {
            FeatureNetwork::Inception(inception) => {
                inception.weights.as_ref().map(|weights| weights.input("network.weights"))
            }
            FeatureNetwork::Classifier(classifier) => Some(classifier.input("network")),
            FeatureNetwork::Pixels => None,
        });
        inputs
    }

    fn output(&self, _inputs: &[Vec<&str>]) -> String {
        "points".to_owned()
    }

    fn needs(&self) -> Needs {
        match self.network {
            FeatureNetwork::Inception(_) | FeatureNetwork::Classifier(_) => Needs::Device,
            FeatureNetwork::Pixels => Needs::Cpu,
        }
    }

    fn externals(&self) -> Externals {
        let files = match &self.network {
            FeatureNetwork::Inception(inception) => inception.path.iter().cloned().collect(),
            FeatureNetwork::Classifier(_) | FeatureNetwork::Pixels => Vec::new(),
        };
        Externals { files, ..Externals::default() }
    }

    fn problems(&self, _inputs: &[Vec<Producer>]) -> Vec<Problem> {
        match &self.network {
            FeatureNetwork::Inception(inception) => inception.problems(),
            FeatureNetwork::Classifier(_) | FeatureNetwork::Pixels => Vec::new(),
        }
    }

    fn outlook(&self, inputs: &[Vec<Outlook>]) -> Outlook {
        let images = outlooks::of_input(inputs, 0).cloned().unwrap_or_default();
        let shape = match &self.network {
            FeatureNetwork::Inception(_) => vec![2048],
            FeatureNetwork::Classifier(_) => {
                outlooks::of_input(inputs, 1).map(|made| made.shape.clone()).unwrap_or_default()
            }
            FeatureNetwork::Pixels => images.width().into_iter().collect(),
        };
        Outlook { shape, ..images }
    }

    fn work(&self, inputs: &[Vec<Outlook>]) -> Option<Work> {
        let images = outlooks::of_input(inputs, 0);
        match &self.network {
            FeatureNetwork::Inception(_) => Some(outlooks::INCEPTION.times(images?.rows? as f64)),
            FeatureNetwork::Classifier(_) => {
                outlooks::application(outlooks::of_input(inputs, 1), images)
            }
            FeatureNetwork::Pixels => None,
        }
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let images = context.load(&self.data)?.0;
        let (points, network) = match &self.network {
            FeatureNetwork::Inception(inception) => {
                let (network, line) = inception.load(context)?;
                (through(context, &network, &images)?, line)
            }
            FeatureNetwork::Classifier(stage) => {
                let classifier = context.load(stage)?;
                let samples = SampleSet::Images(images.clone());
                let points = classifier.features(&samples, context.device().parse()?)?;
                let weights = short_digest(context.files_of(stage)?.path(CLASSIFIER_WEIGHTS)?)?;
                (points, format!("Classifier, weights {weights}"))
            }
            FeatureNetwork::Pixels => (images.to_points(), "Pixels".to_owned()),
        };
        context.log(&format!(
            "{} images of {} became {} features each ({network})",
            images.len(),
            images.shape(),
            points.width()
        ));
        context.store(&points)?;
        Ok(context.writer().write(NETWORK, format!("{network}\n").as_bytes())?)
    }
}

/// Tells files of weights apart, in few letters.
fn short_digest(path: &Path) -> io::Result<String> {
    Ok(ContentDigest::of_file(path)?.to_string().chars().take(16).collect())
}

/// Takes images through the network, some at a time; goes on from where a stopped run was.
fn through(
    context: &mut RunContext,
    network: &Inception,
    images: &Images,
) -> Result<Points, StageError> {
    let (mut kept, mut file) = Kept::open(&context.state_folder().join("features.f32"))?;
    if kept.rows > 0 {
        context.log(&format!("{} images were done before", kept.rows));
    }
    let total = images.len() as u64;
    let tell = |context: &mut RunContext, done: usize| {
        let unit = "image".to_owned();
        context.progress(Progress { done: done as u64, total, unit, ..Progress::default() });
    };
    tell(context, kept.rows);
    while kept.rows < images.len() {
        if context.should_stop() {
            return Err(StageError::Stopped);
        }
        let lot = kept.rows..images.len().min(kept.rows + LOT);
        kept.add(&network.features(images, lot)?, &mut file)?;
        tell(context, kept.rows);
    }
    Ok(Points::new(images.len(), WIDTH, kept.values)?)
}

/// The features that a run of the same key has left.
struct Kept {
    rows: usize,
    values: Vec<f32>,
}

impl Kept {
    /// Reads whole lots, so that what follows is divided as it would have been.
    fn open(path: &Path) -> io::Result<(Self, File)> {
        let stored = match fs::read(path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            stored => stored.unwrap_or_default(),
        };
        let lot = LOT * WIDTH * size_of::<f32>();
        let whole = stored.len() / lot * lot;
        let (numbers, _) = stored[..whole].as_chunks::<4>();
        let values: Vec<f32> = numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        file.set_len(whole as u64)?;
        Ok((Self { rows: values.len() / WIDTH, values }, file))
    }

    fn add(&mut self, features: &[f32], file: &mut File) -> io::Result<()> {
        let bytes: Vec<u8> = features.iter().flat_map(|value| value.to_le_bytes()).collect();
        file.write_all(&bytes)?;
        self.values.extend(features);
        self.rows = self.values.len() / WIDTH;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ron::extensions::Extensions;

    use super::*;
    use crate::stages::records::tests::told;

    #[test]
    fn the_inception_network_needs_weights_from_one_place() {
        let problems = |network: &str| {
            let text = format!(r#"(data: "x", network: {network})"#);
            let extensions = Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES;
            let options = ron::Options::default().with_default_extension(extensions);
            let stage: Features = options.from_str(&text).unwrap();
            told(&stage.problems(&[]))
        };
        assert!(problems("Pixels").is_empty());
        assert!(problems(r#"Inception(weights: "w")"#).is_empty());
        assert!(problems(r#"Inception(path: "w.pth", resize: Clean)"#).is_empty());
        assert_eq!(
            problems("Inception(resize: Clean)"),
            ["network: the Inception network has no weights (add `weights: \"a stage\"` with \
              `Download(files: FidInception)`, or `path: \"a file\"`)"]
        );
        assert_eq!(
            problems(r#"Inception(weights: "w", path: "w.pth")"#),
            ["network: weights come either from a stage or from a path (keep `weights` or `path`)"]
        );
    }

    #[test]
    fn only_whole_lots_of_a_stopped_run_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("features");
        let (mut kept, mut file) = Kept::open(&path).unwrap();
        assert_eq!(kept.rows, 0);
        let lot: Vec<f32> = (0..LOT * WIDTH).map(|value| value as f32).collect();
        kept.add(&lot, &mut file).unwrap();
        kept.add(&lot[..3 * WIDTH], &mut file).unwrap();
        assert_eq!(kept.rows, LOT + 3);
        drop(file);
        let (kept, file) = Kept::open(&path).unwrap();
        assert_eq!((kept.rows, kept.values), (LOT, lot));
        assert_eq!(file.metadata().unwrap().len(), (LOT * WIDTH * 4) as u64);
    }
}
