//! The stage kind [`Features`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::{AnyImages, CLASSIFIER_WEIGHTS};
use super::command::AnyFiles;
use super::cost;
use crate::data::{Files, Images, SampleSet};
use crate::device;
use crate::engine::digest::ContentDigest;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::lifecycle::Progress;
use crate::engine::stage::{
    Externals, Input, Inputs, Kind, Needs, Problem, Producer, Stage, StageRef,
};
use crate::evaluation::fid::inception::{CHUNK, Inception, Resize, WIDTH, read_weights};
use crate::evaluation::probe::ImageClassifier;
use crate::numerics::Points;

/// The file that says which network the features are of, in one line.
pub(super) const NETWORK: &str = "network.txt";

/// The network that extracts features.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum FeatureNetwork {
    /// The network that FID is defined by; 2048 features.
    Inception(InceptionSpec),
    /// The classifier of a `TrainClassifier` stage.
    Classifier(StageRef<ImageClassifier>),
    /// None: the features are the pixels, between 0 and 1.
    Pixels,
}

/// Settings of the Inception network: `Inception(weights: "inception-weights", resize:
/// PytorchFid)`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InceptionSpec {
    /// The stage whose single file holds the weights.
    #[serde(default)]
    pub weights: Option<StageRef<AnyFiles>>,
    /// The file to read instead of `weights`.
    #[serde(default, skip_serializing)]
    pub path: Option<String>,
    /// How images are resized for the network.
    #[serde(default)]
    pub resize: Resize,
}

/// The features that a network extracts from images, one row of numbers per image.
///
/// ```ron
/// "inception-weights": Download(files: FidInception),
/// "real-features": Features(
///     data: "test-images",
///     // `weights` is a Download (or Command) stage with one file; or write
///     // `path: "my/weights.pth"` for a file beside the pipeline or in --data. PyTorch's .pth and
///     // .safetensors are read.
///     network: Inception(weights: "inception-weights", resize: PytorchFid),
/// ),
/// "learned": Features(data: "test-images", network: Classifier("classifier")),
/// "pixels": Features(data: "test-images", network: Pixels),
/// ```
///
/// `Inception` is the network that FID is defined by. Packages resize images for it in different
/// ways, and scores depend on that: `PytorchFid`, `Tensorflow1` (torch-fidelity, TTUR) or `Clean`
/// (clean-fid). A processor core takes a few images per second; what a stopped run has computed is
/// kept. `Classifier` names a `TrainClassifier` stage and takes the features that its classes are
/// predicted from: it needs no download, but its distances can be compared only with others by the
/// very same classifier.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// The images.
    pub data: StageRef<AnyImages>,
    /// The network that extracts features from them.
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

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
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

    fn problems(&self, _inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        match &self.network {
            FeatureNetwork::Inception(inception) => inception.problems(),
            FeatureNetwork::Classifier(_) | FeatureNetwork::Pixels => Vec::new(),
        }
    }

    fn estimate(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> ArtifactEstimate {
        let images = inputs.one("data").cloned().unwrap_or_default();
        let shape = match &self.network {
            FeatureNetwork::Inception(_) => vec![2048],
            FeatureNetwork::Classifier(_) => {
                inputs.one("network").map(|made| made.shape.clone()).unwrap_or_default()
            }
            FeatureNetwork::Pixels => images.width().into_iter().collect(),
        };
        ArtifactEstimate { shape, ..images }
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        let images = inputs.one("data");
        match &self.network {
            FeatureNetwork::Inception(_) => Some(cost::INCEPTION.times(images?.rows? as f64)),
            FeatureNetwork::Classifier(_) => cost::application(inputs.one("network"), images),
            FeatureNetwork::Pixels => None,
        }
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let images = context.load(&self.data)?.0;
        let (points, network) = match &self.network {
            FeatureNetwork::Inception(inception) => {
                let (network, line) = inception.load(context)?;
                (inception_features(context, &network, &images)?, line)
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
            "{} images of {}, {} features each ({network})",
            images.len(),
            images.shape(),
            points.width()
        ));
        context.store(&points)?;
        Ok(context.writer().write(NETWORK, format!("{network}\n").as_bytes())?)
    }
}

/// Identifies a file of weights in few letters.
fn short_digest(path: &Path) -> io::Result<String> {
    Ok(ContentDigest::of_file(path)?.to_string().chars().take(16).collect())
}

/// Computes features, some images at a time; resumes where a stopped run ended.
fn inception_features(
    context: &mut RunContext,
    network: &Inception,
    images: &Images,
) -> Result<Points, StageError> {
    let path = context.state_folder().join("features.f32");
    let (mut partial, mut file) = PartialFeatures::open(&path, context.state_owner())?;
    if partial.rows > 0 {
        context.log(&format!("resumes after {} images", partial.rows));
    }
    let total = images.len() as u64;
    let report = |context: &mut RunContext, done: usize| {
        let unit = "image".to_owned();
        context.progress(Progress { done: done as u64, total, unit, ..Progress::default() });
    };
    report(context, partial.rows);
    while partial.rows < images.len() {
        if context.should_stop() {
            return Err(StageError::Stopped);
        }
        let chunk = partial.rows..images.len().min(partial.rows + CHUNK);
        partial.add(&network.features(images, chunk)?, &mut file)?;
        report(context, partial.rows);
    }
    Ok(Points::new(images.len(), WIDTH, partial.values)?)
}

/// The features that earlier runs of the same key have computed.
struct PartialFeatures {
    rows: usize,
    values: Vec<f32>,
}

impl PartialFeatures {
    /// Reads whole chunks, so that what follows is divided as it would have been. The file begins with
    /// a line that says what it belongs to; one of another owner is begun anew.
    fn open(path: &Path, owner: &str) -> io::Result<(Self, File)> {
        let stored = match fs::read(path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            stored => stored.unwrap_or_default(),
        };
        let head = format!("features of {owner}\n");
        let body = stored.strip_prefix(head.as_bytes());
        let chunk = CHUNK * WIDTH * size_of::<f32>();
        let whole = body.map_or(0, |body| body.len() / chunk * chunk);
        let (numbers, _) = body.unwrap_or_default()[..whole].as_chunks::<4>();
        let values: Vec<f32> = numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        if body.is_some() {
            file.set_len((head.len() + whole) as u64)?;
        } else {
            file.set_len(0)?;
            file.write_all(head.as_bytes())?;
        }
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

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (
    r#"Features(data: "images", network: Inception(weights: "files", resize: Clean))"#,
    "59d58637",
);

#[cfg(test)]
mod tests {
    use ron::extensions::Extensions;

    use super::*;
    use crate::stages::test_inputs::problems_of;

    #[test]
    fn the_inception_network_needs_weights_from_one_place() {
        let problems = |network: &str| {
            let text = format!(r#"(data: "x", network: {network})"#);
            let extensions = Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES;
            let options = ron::Options::default().with_default_extension(extensions);
            let stage: Features = options.from_str(&text).unwrap();
            problems_of(&stage, &[])
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
    fn only_whole_chunks_of_a_stopped_run_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("features");
        let (mut partial, mut file) = PartialFeatures::open(&path, "key").unwrap();
        assert_eq!(partial.rows, 0);
        let chunk: Vec<f32> = (0..CHUNK * WIDTH).map(|value| value as f32).collect();
        partial.add(&chunk, &mut file).unwrap();
        partial.add(&chunk[..3 * WIDTH], &mut file).unwrap();
        assert_eq!(partial.rows, CHUNK + 3);
        drop(file);
        let (partial, file) = PartialFeatures::open(&path, "key").unwrap();
        assert_eq!((partial.rows, partial.values), (CHUNK, chunk));
        let head = "features of key\n".len();
        assert_eq!(file.metadata().unwrap().len(), (head + CHUNK * WIDTH * 4) as u64);
        let (partial, _) = PartialFeatures::open(&path, "another key").unwrap();
        assert_eq!(partial.rows, 0);
    }
}
