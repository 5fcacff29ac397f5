//! Settings that suit the data, chosen so that a first result takes minutes on two cores.

use super::inspect::Inspection;
use crate::data::{ArrayContent, DatasetSpec, ImageShape, PixelRange, SampleForm};

/// At most this many samples are trained on: all pairs of them have a distance.
const MOST_TRAINED: usize = 3000;
/// At most this many samples are tested on.
const MOST_TESTED: usize = 1000;
/// Pixels below this level, all of them, are not what they are meant to be.
const DARK: f64 = 128.0;

/// How the estimate is made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    /// Samples to train on.
    pub(super) train: usize,
    /// Samples to test on.
    pub(super) test: usize,
    /// What is done to each sample by itself, as in a pipeline.
    pub(super) steps: Vec<String>,
    /// Whether each coordinate gets a scale of its own, measured on the training samples.
    pub(super) is_standardized: bool,
    /// The network, as in a pipeline.
    pub(super) network: &'static str,
    /// Weight of PCAE's variance and isometry terms: a starting point. Beside the
    /// cross-entropy of images, which is larger than squared errors of vectors, it takes more.
    pub(super) beta: f64,
    /// Coordinates of a code.
    pub(super) latent: usize,
    /// Samples in a batch.
    pub(super) batch: usize,
    /// Neighbors in the graph.
    pub(super) graph: usize,
    /// Neighbors that estimators without a model use.
    pub(super) near: usize,
    /// Neighbors whose principal axes are counted.
    pub(super) local: usize,
    /// Samples from which ARD-VAE learns its prior.
    pub(super) prior: usize,
    /// Training steps of most models.
    pub(super) length: usize,
    /// Training steps of models that decode or train many times in place of once.
    pub(super) slow_length: usize,
}

impl Settings {
    /// Chooses settings for some data; columns of a table keep their units if that is asked for.
    pub(super) fn of(inspection: &Inspection, keeps_units: bool) -> Self {
        let train = (inspection.count * 3 / 4).min(MOST_TRAINED);
        let test = (inspection.count - train).min(MOST_TESTED);
        let near = (train / 3).min(20);
        let base = Self {
            train,
            test,
            steps: Vec::new(),
            is_standardized: false,
            network: "Mlp(widths: [128, 64])",
            beta: 1.0,
            latent: inspection.form.values().min(16),
            batch: train.min(256),
            graph: (train / 3).min(15),
            near,
            local: (train / 2).min(50),
            prior: (train / 5).clamp(1, 500),
            length: 2000,
            slow_length: 500,
        };
        match inspection.form {
            SampleForm::Image(shape) => base.for_images(shape, inspection),
            SampleForm::Vector { .. } => {
                let statistics = &inspection.statistics;
                let is_standardized = if inspection.columns.is_some() {
                    !keeps_units
                } else if inspection.is_flattened {
                    statistics.is_offset()
                } else {
                    statistics.is_uneven
                };
                if is_standardized {
                    Self { is_standardized: true, ..base }
                } else {
                    Self { steps: vec![scale(1.0 / inspection.statistics.spread)], ..base }
                }
            }
        }
    }

    fn for_images(mut self, shape: ImageShape, inspection: &Inspection) -> Self {
        let longest = shape.height.max(shape.width);
        let side = match longest {
            0..=8 => 8,
            9..=24 => 16,
            _ => 32,
        };
        if (shape.height, shape.width) != (side, side) {
            let is_close = longest <= side && 4 * shape.height.min(shape.width) >= 3 * side;
            self.steps.push(if is_close {
                format!("Pad({side})")
            } else {
                format!("Resize(size: {side})")
            });
        }
        let in_range = |range: PixelRange| {
            matches!(&inspection.source, DatasetSpec::Array(array)
            if matches!(array.content, ArrayContent::Images { range: found, .. } if found == range))
        };
        let is_stretchable = in_range(PixelRange::Full) || in_range(PixelRange::Bytes);
        if is_stretchable && inspection.statistics.high < DARK {
            // Levels such as 0 to 16 would be nearly black as images; as vectors they are not.
            self.steps.push("Flatten".to_owned());
            self.steps.push(scale(255.0 / inspection.statistics.spread));
            return self;
        }
        self.beta = 4.0;
        (self.network, self.length, self.slow_length) = match side {
            8 => ("Conv(channels: [16, 32])", 1000, 200),
            16 => ("Conv(channels: [16, 32])", 600, 100),
            _ => ("Conv(channels: [16, 32, 32])", 300, 50),
        };
        self
    }
}

/// Returns a step that scales all values alike, with a factor of three digits.
fn scale(factor: f64) -> String {
    let digits = format!("{factor:.2e}");
    let rounded = digits.parse::<f64>().unwrap_or(factor);
    format!("Scale(By({rounded:?}))")
}
