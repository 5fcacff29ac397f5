//! A Python module that rebuilds trained networks, and the file of their weights.
//!
//! Layers in, text out by the templates beside this file. Weights are named like the parameters and
//! buffers of the module that is written: `encoder.layers.0.weight`.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

use super::{EncoderNetwork, Layer, Networks};
use crate::data::{ImageShape, SampleForm};
use crate::models::{ModelError, Output, Weights};

/// Endings that make the templates escape nothing.
const MODEL: &str = "model.py";
const CLASSIFIER: &str = "classifier.py";
const READ_WEIGHTS: &str = include_str!("read_weights.py");

/// What is known of where networks come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// What they are called.
    pub title: String,
    /// Facts by name, such as the key.
    pub facts: Vec<(&'static str, String)>,
    /// Their settings, of several lines.
    pub settings: String,
}

/// The files from which plain PyTorch rebuilds trained networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PytorchFiles {
    /// `model.py`: the module.
    pub module: String,
    /// `weights.safetensors`: what its parameters and buffers are.
    pub weights: Vec<u8>,
}

/// A model as its template sees it.
#[derive(Debug, Serialize)]
struct ModelView<'a> {
    title: String,
    samples: &'static str,
    facts: Vec<String>,
    settings: String,
    encoder: Vec<&'a str>,
    coordinates: Option<usize>,
    is_distribution: bool,
    mean_shape: Option<String>,
    decoder: Vec<&'a str>,
    has_logits: bool,
    read_weights: &'static str,
}

/// A classifier as its template sees it.
#[derive(Debug, Serialize)]
struct ClassifierView<'a> {
    title: String,
    facts: Vec<String>,
    settings: String,
    classes: &'a str,
    body: Vec<&'a str>,
    to_classes: &'a str,
    read_weights: &'static str,
}

impl Networks {
    /// Returns the files that rebuild these networks, given what samples look like.
    pub fn files(
        &self,
        form: SampleForm,
        latent: usize,
        origin: &Origin,
    ) -> Result<PytorchFiles, ModelError> {
        let samples = plural(form);
        let mut facts = origin.facts.clone();
        facts.push(("Samples", samples_in_words(form)));
        facts.push(("Codes", format!("(batch, {latent}), as the stage kind `Encode` gives them")));
        facts.push(("Decoded", self.decoded_in_words(form).to_owned()));
        let one = match &self.encoder {
            EncoderNetwork::Coordinates(each) => each.first().map_or(&[][..], Vec::as_slice),
            EncoderNetwork::Code(layers)
            | EncoderNetwork::Distribution(layers)
            | EncoderNetwork::Centered { layers, .. } => layers,
        };
        let view = ModelView {
            title: in_docstring(&origin.title),
            samples,
            facts: aligned(&facts),
            settings: in_docstring(&origin.settings),
            encoder: expressions(one),
            coordinates: match &self.encoder {
                EncoderNetwork::Coordinates(each) => Some(each.len()),
                _ => None,
            },
            is_distribution: matches!(self.encoder, EncoderNetwork::Distribution(_)),
            mean_shape: match &self.encoder {
                EncoderNetwork::Centered { mean, .. } => Some(lengths(&mean.shape)),
                _ => None,
            },
            decoder: expressions(&self.decoder),
            has_logits: self.output == Output::Logits,
            read_weights: READ_WEIGHTS,
        };
        let module = rendered(MODEL, include_str!("model.py"), &view)?;
        Ok(PytorchFiles { module, weights: self.weights().to_bytes()? })
    }

    fn weights(&self) -> Weights {
        let mut weights = Weights::default();
        match &self.encoder {
            EncoderNetwork::Code(layers) | EncoderNetwork::Distribution(layers) => {
                add(&mut weights, "encoder.layers", layers);
            }
            EncoderNetwork::Centered { mean, layers } => {
                weights.0.insert("encoder.mean".to_owned(), mean.clone());
                add(&mut weights, "encoder.layers", layers);
            }
            EncoderNetwork::Coordinates(each) => {
                for (coordinate, layers) in each.iter().enumerate() {
                    add(&mut weights, &format!("encoder.coordinates.{coordinate}"), layers);
                }
            }
        }
        add(&mut weights, "decoder.layers", &self.decoder);
        weights
    }

    const fn decoded_in_words(&self, form: SampleForm) -> &'static str {
        match (self.output, form) {
            (Output::Logits, _) => {
                "pixels from 0 to 1; `decoder.logits(codes)` is what comes before the sigmoid"
            }
            (Output::Values, SampleForm::Image(_)) => "pixels, which may lie below 0 or above 1",
            (Output::Values, SampleForm::Vector { .. }) => "values like those of the samples",
        }
    }
}

/// Returns the files that rebuild a classifier of images: layers that give features, then one that
/// gives each class its score. Names of classes come as JSON, which Python reads, too.
pub fn classifier_files(
    body: &[Layer],
    to_classes: &Layer,
    classes: &str,
    form: SampleForm,
    origin: &Origin,
) -> Result<PytorchFiles, ModelError> {
    let mut facts = origin.facts.clone();
    facts.push(("Samples", samples_in_words(form)));
    let view = ClassifierView {
        title: in_docstring(&origin.title),
        facts: aligned(&facts),
        settings: in_docstring(&origin.settings),
        classes,
        body: expressions(body),
        to_classes: &to_classes.expression,
        read_weights: READ_WEIGHTS,
    };
    let mut weights = Weights::default();
    add(&mut weights, "body", body);
    for (name, array) in &to_classes.arrays {
        weights.0.insert(format!("to_classes.{name}"), array.clone());
    }
    let module = rendered(CLASSIFIER, include_str!("classifier.py"), &view)?;
    Ok(PytorchFiles { module, weights: weights.to_bytes()? })
}

/// Adds the weights of layers in a `Sequential` of this name.
fn add(weights: &mut Weights, name: &str, layers: &[Layer]) {
    for (index, layer) in layers.iter().enumerate() {
        for (part, array) in &layer.arrays {
            weights.0.insert(format!("{name}.{index}.{part}"), array.clone());
        }
    }
}

fn expressions(layers: &[Layer]) -> Vec<&str> {
    layers.iter().map(|layer| layer.expression.as_str()).collect()
}

const fn plural(form: SampleForm) -> &'static str {
    match form {
        SampleForm::Image(_) => "images",
        SampleForm::Vector { .. } => "vectors",
    }
}

fn samples_in_words(form: SampleForm) -> String {
    let SampleForm::Image(ImageShape { channels, height, width }) = form else {
        return format!("(batch, {}): vectors as the data have them", form.values());
    };
    let order = match channels {
        1 => "gray",
        3 => "channels in the order of the data, of pictures red, green, blue",
        _ => "channels in the order of the data",
    };
    format!("(batch, {channels}, {height}, {width}): pixels from 0 to 1, bytes / 255; {order}")
}

/// Returns lengths as arguments of a Python function.
fn lengths(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns lines with what comes after the names in one column.
fn aligned(facts: &[(&str, String)]) -> Vec<String> {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().map(|(name, text)| in_docstring(&format!("{name:width$}  {text}"))).collect()
}

/// Returns text so that neither a backslash nor a quote in it means anything to Python.
fn in_docstring(text: &str) -> String {
    text.trim_end().replace('\\', r"\\").replace('"', "\\\"")
}

fn rendered(name: &str, template: &str, view: &impl Serialize) -> Result<String, ModelError> {
    let mut environment = Environment::new();
    // A line of the template that only directs it leaves no trace.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    environment.set_syntax(syntax);
    environment.add_template(name, template)?;
    let text = environment.get_template(name)?.render(Value::from(Serde(view)))?;
    Ok(text.trim_end().to_owned() + "\n")
}
