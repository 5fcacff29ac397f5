//! What settings mean, in words: how stages read them, with all defaults filled in.
//!
//! A report lists these sentences beside the notes that a person wrote, so that what depends on a
//! setting is never written by hand.

use super::interpolate::Coordinates;
use super::{AnyStage, Estimate, Geodesic, Interpolate, MetricSpec, Relevance, Score, Train, cost};
use crate::data::{Division, Split, Step};
use crate::dimension::{Basis, CountOrder, EstimatorSpec, RelevanceForm};
use crate::engine::stage::Inputs;
use crate::engine::stage::estimate::ArtifactEstimate;
use crate::evaluation::interpolation::{Between, Others};
use crate::geometry::{AnchorLink, Rescale};
use crate::models::{
    GammaSpec, Interval, IsometryLoss, ModelSpec, Objective, PrefixSpec, PrefixWeights,
    Reconstruction, Trunk,
};
use crate::numerics::units::Fraction;
use crate::training::{EarlyStopping, Length, OptimizerSpec, Schedule};

/// Returns how a stage reads its settings, one fact in each sentence; nothing for kinds whose
/// settings say it themselves.
pub fn settings_in_words(stage: &AnyStage, inputs: &Inputs<'_, ArtifactEstimate>) -> Vec<String> {
    match stage {
        AnyStage::Dataset(dataset) => {
            samples(&dataset.steps, dataset.split.zip(dataset.division.as_ref()))
        }
        AnyStage::Preprocess(preprocess) => {
            samples(&preprocess.steps, preprocess.split.zip(preprocess.division.as_ref()))
        }
        AnyStage::Geodesic(geodesic) => vec![graph(geodesic)],
        AnyStage::Train(train) => training(train, inputs),
        AnyStage::Estimate(estimate) => count(estimate).into_iter().collect(),
        AnyStage::Relevance(relevance) => vec![relevance_count(relevance)],
        AnyStage::Interpolate(interpolate) => vec![interpolation(interpolate)],
        AnyStage::Score(score) => metric(score).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns the name of a reconstruction loss.
pub(super) const fn loss_in_words(loss: Reconstruction) -> &'static str {
    match loss {
        Reconstruction::CrossEntropy => "binary cross-entropy, summed over values",
        Reconstruction::MeanCrossEntropy => "binary cross-entropy, averaged over values",
        Reconstruction::SquaredError => "squared error, summed over values",
        Reconstruction::MeanSquaredError => "squared error, averaged over values",
    }
}

fn samples(steps: &[Step], division: Option<(Split, &Division)>) -> Vec<String> {
    let mut parts: Vec<String> = division.into_iter().filter_map(published_first).collect();
    parts.extend(steps.iter().map(step));
    if parts.is_empty() { Vec::new() } else { vec![format!("Samples: {}.", parts.join(", "))] }
}

fn published_first((split, division): (Split, &Division)) -> Option<String> {
    let Division::PublishedFirst { train, validation, test } = division else { return None };
    let count = [train, validation, test][split as usize];
    Some(format!("the first {count} of the published {} split", split.name()))
}

fn step(step: &Step) -> String {
    match step {
        Step::First(count) => format!("the first {count}"),
        Step::Subset { count, .. } => format!("{count} drawn at random"),
        Step::Shuffle { .. } => "in a random order".to_owned(),
        Step::Crop(side) => format!("cropped to the {side} x {side} pixels in the middle"),
        Step::Pad(side) => format!("padded with black to {side} x {side}"),
        Step::Resize { size, filter } => format!("scaled to {size} x {size} ({filter:?})"),
        Step::Flatten => "as vectors of pixels between 0 and 1".to_owned(),
        Step::Scale(scale) => format!("with coordinates scaled ({scale:?})"),
    }
}

fn graph(geodesic: &Geodesic) -> String {
    let nodes = match &geodesic.anchors {
        None => "each sample".to_owned(),
        Some(anchors) => format!("each of {} samples drawn at random", anchors.count),
    };
    let unit = match geodesic.rescale {
        Rescale::UnitMean => "divided by their mean",
        Rescale::None => "not rescaled",
    };
    let others = geodesic.anchors.as_ref().map_or("", |anchors| match anchors.link {
        AnchorLink::AsAnchor => "; any other sample takes the distances of its nearest one there",
        AnchorLink::StraightInCell => {
            "; any other sample takes the distances of its nearest one there, but straight ones to \
             samples with the same nearest one"
        }
        AnchorLink::ViaAnchor => "; paths of any other sample go by way of its nearest one there",
    });
    format!(
        "Distances are shortest paths on a graph that links {nodes} with its {} nearest ones, \
         {unit}{others}.",
        geodesic.neighbors
    )
}

fn training(train: &Train, inputs: &Inputs<'_, ArtifactEstimate>) -> Vec<String> {
    if train.model.is_closed_form() {
        return vec!["A PCA is computed from all samples at once.".to_owned()];
    }
    let form = inputs.one("data").and_then(cost::form);
    let loss = form.and_then(|form| train.model.reconstruction(form));
    let mut sentences = vec![match loss {
        Some(loss) => format!("The reconstruction loss is {}.", loss_in_words(loss)),
        None => "The reconstruction loss is the one that goes with the network.".to_owned(),
    }];
    sentences.push(optimization(train));
    sentences.extend(train.early_stopping.map(stopping));
    sentences.extend(model(&train.model));
    sentences
}

fn stopping(stopping: EarlyStopping) -> String {
    let patience = counted(stopping.patience.get(), "epoch");
    let lower = match stopping.least_gain.get() {
        0.0 => "a lower validation loss".to_owned(),
        _ => format!("a validation loss lower by {}", percent(stopping.least_gain)),
    };
    let end = match stopping.cooldown {
        Some(epochs) => format!(
            "the learning rate falls to zero over {}, and the last weights are taken",
            counted(epochs.get(), "epoch")
        ),
        None => "training stops, and the weights of the best epoch are taken".to_owned(),
    };
    format!("After {patience} without {lower}, {end}.")
}

fn optimization(train: &Train) -> String {
    let OptimizerSpec::Adam(adam) = &train.optimizer;
    let decay = if adam.weight_decay.get() > 0.0 {
        format!("a weight decay of {}", adam.weight_decay)
    } else {
        "no weight decay".to_owned()
    };
    let rate = match train.schedule {
        Schedule::Constant => "constant".to_owned(),
        Schedule::Cosine => "falling along a cosine".to_owned(),
        Schedule::FlatThenCosine { flat } => {
            format!("constant for {} of the steps, then falling along a cosine", percent(flat))
        }
        Schedule::Step { every, factor } => {
            format!("multiplied by {} every {}", factor.get(), interval(every))
        }
    };
    let length = match train.length {
        Length::Epochs(epochs) => counted(epochs.get(), "epoch"),
        Length::Steps(steps) => counted(steps.get(), "step"),
    };
    let each = match train.model {
        ModelSpec::PcaAe(_) => " for each coordinate",
        _ => "",
    };
    format!(
        "The optimizer is Adam with a learning rate of {} ({rate}) and {decay}, for {length}{each} \
         in batches of {}.",
        adam.rate, train.batch_size
    )
}

fn model(model: &ModelSpec) -> Vec<String> {
    match model {
        ModelSpec::Pcae(pcae) => {
            let mut sentences = Vec::new();
            if pcae.objective != Objective::VarianceOnly {
                let compared = match pcae.isometry {
                    IsometryLoss::Absolute => "|a² - b²|",
                    IsometryLoss::Square => "(a - b)²",
                    IsometryLoss::Log => "log(a / b)²",
                };
                sentences.push(format!(
                    "PCAE compares distances a between codes and b along the data by {compared}."
                ));
            }
            if pcae.objective != Objective::IsometryOnly {
                sentences.push(match &pcae.gamma {
                    GammaSpec::Fixed => "PCAE's weights gamma stay as they begin.".to_owned(),
                    GammaSpec::Dynamic { threshold, every } => format!(
                        "PCAE's weights gamma follow the variances of all training codes every \
                         {}: j is the smallest index whose cumulative variance exceeds {} of the \
                         total.",
                        interval(*every),
                        percent(*threshold)
                    ),
                });
            }
            sentences
        }
        ModelSpec::Hae(hae) => vec![match &hae.prefixes {
            PrefixSpec::All { weights } => {
                let weights = match weights {
                    PrefixWeights::Equal => "equal weights".to_owned(),
                    PrefixWeights::Geometric { ratio } => {
                        format!("weights that fall by a factor of {}", ratio.get())
                    }
                    PrefixWeights::Listed(_) => "listed weights".to_owned(),
                };
                format!("HAE decodes all prefixes in every step, with {weights}.")
            }
            PrefixSpec::Sampled { ratio, sweep } => format!(
                "HAE decodes one prefix per sample, which continues beyond each coordinate with \
                 probability {}{}.",
                ratio.get(),
                if sweep.is_some() { "; settled coordinates are frozen" } else { "" }
            ),
        }],
        ModelSpec::PcaAe(pca_ae) => vec![format!(
            "PCA-AE weights its covariance by {}; its encoders {}.",
            pca_ae.covariance,
            match pca_ae.trunk {
                Trunk::Separate => "are separate networks",
                Trunk::Shared => "share all but the last layer",
            }
        )],
        ModelSpec::ArdVae(ard) => vec![format!(
            "ARD-VAE sets {} samples aside for its prior, drawn anew in each epoch.",
            ard.prior_samples
        )],
        ModelSpec::Irmae(irmae) => {
            vec![format!("IRMAE has {}.", counted(irmae.layers.get(), "linear layer"))]
        }
        ModelSpec::Ae(_) | ModelSpec::Pca(_) | ModelSpec::Vae(_) => Vec::new(),
    }
}

fn count(estimate: &Estimate) -> Option<String> {
    let EstimatorSpec::Variance(variance) = &estimate.estimator else { return None };
    let order = match variance.order {
        CountOrder::Coordinates => "in their own order",
        CountOrder::Sorted => "those with the largest variance first",
    };
    Some(format!(
        "Coordinates are counted {order}, until they hold {} of the variance.",
        shares(variance.threshold, &variance.also)
    ))
}

fn relevance_count(relevance: &Relevance) -> String {
    let coordinates = match relevance.basis {
        Basis::Own => "Coordinates",
        Basis::Principal => "Principal axes",
    };
    let form = match relevance.form {
        RelevanceForm::Code => "published code",
        RelevanceForm::Paper => "text",
    };
    format!(
        "{coordinates} are counted by relevance, as in ARD-VAE's {form}, until they hold more than \
         {} of the total; variances are those of up to {} samples drawn at random, Jacobians are \
         taken at {}.",
        shares(relevance.threshold, &relevance.also),
        relevance.codes,
        relevance.images
    )
}

fn interpolation(interpolate: &Interpolate) -> String {
    let images = match &interpolate.between {
        Between::Midpoints { count, .. } => format!("midpoints of {count} random pairs"),
        Between::Paths { pairs, images, .. } => {
            format!("paths of {images} images between {pairs} random pairs")
        }
        Between::Rows { pairs, images } => {
            format!("paths of {images} images between {}", counted(pairs.len(), "chosen pair"))
        }
        Between::Samples { count, .. } => format!("reconstructions of {count} random samples"),
        Between::Traversal(traversal) => format!(
            "one coordinate at a time, up to {} standard deviations to both sides",
            traversal.range
        ),
    };
    let others = match (&interpolate.between, interpolate.others) {
        (Between::Traversal(_), _) => "stay as they are",
        (_, Others::Mean) => "have their mean",
        (_, Others::Zero) => "are 0",
    };
    match &interpolate.coordinates {
        Coordinates::All => format!("Decoded are {images}."),
        Coordinates::First(count) => {
            format!("Decoded are {images}; the coordinates after the first {count} {others}.")
        }
        Coordinates::Relevant { k, .. } => format!(
            "Decoded are {images}; all but the {k} most relevant coordinates, on the axes that \
             were scored, {others}."
        ),
    }
}

fn metric(score: &Score) -> Option<String> {
    Some(match &score.metric {
        MetricSpec::Reconstruction => {
            "The reconstruction is measured by the loss that the model was trained with.".to_owned()
        }
        MetricSpec::Smoothness(smoothness) => format!(
            "Smoothness is the population variance of {} step lengths, averaged over {} random \
             pairs, times 100.",
            smoothness.steps, smoothness.pairs
        ),
        MetricSpec::Isometry(isometry) => {
            format!("Isometry is measured on {} random pairs.", isometry.pairs)
        }
        MetricSpec::SquaredError | MetricSpec::Order | MetricSpec::Factors(_) => return None,
    })
}

fn shares(first: Fraction, more: &[Fraction]) -> String {
    let all: Vec<String> = std::iter::once(&first).chain(more).map(|&one| percent(one)).collect();
    all.join(" or ")
}

fn percent(share: Fraction) -> String {
    // 0.999 times 100 is not 99.9 in binary.
    format!("{} %", (share.get() * 1e8).round() / 1e6)
}

fn interval(every: Interval) -> String {
    match every {
        Interval::Steps(steps) => counted(steps.get(), "step"),
        Interval::Epochs(epochs) => counted(epochs.get(), "epoch"),
    }
}

fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pipeline::values::dialect;

    fn words(text: &str, shape: &[usize]) -> Vec<String> {
        let stage: AnyStage = dialect().from_str(text).unwrap();
        let data = ArtifactEstimate { shape: shape.to_vec(), ..ArtifactEstimate::default() };
        settings_in_words(&stage, &std::iter::once(("data", vec![&data])).collect())
    }

    fn training(model: &str, shape: &[usize]) -> Vec<String> {
        let text = format!(
            r#"Train(model: {model}, data: "d", length: Steps(10), batch_size: 4,
                     optimizer: Adam(rate: 1e-3), seed: 0)"#
        );
        words(&text, shape)
    }

    #[test]
    fn the_loss_is_the_one_that_training_takes() {
        let image = [1, 64, 64];
        let loss = |model: &str, shape: &[usize]| training(model, shape)[0].clone();
        let cross_entropy = "The reconstruction loss is binary cross-entropy, summed over values.";
        let squared = "The reconstruction loss is squared error, summed over values.";
        assert_eq!(loss("Ae(latent: 2, network: Conv(channels: [4]))", &image), cross_entropy);
        assert_eq!(loss("Ae(latent: 2, network: Paper(of: Dsprites))", &image), cross_entropy);
        assert_eq!(loss("Ae(latent: 2, network: Paper(of: Mnist))", &image), squared);
        assert_eq!(loss("Ae(latent: 2, network: Mlp(widths: [4]))", &[9]), squared);
        assert_eq!(
            loss("PcaAe(latent: 2, network: Paper(of: Mnist))", &image),
            "The reconstruction loss is squared error, averaged over values."
        );
        assert_eq!(
            loss("Ae(latent: 2, network: Mlp(widths: [4]))", &[]),
            "The reconstruction loss is the one that goes with the network.",
            "what the samples look like is not known"
        );
        let pca = training("Pca(latent: 2)", &image);
        assert_eq!(pca, ["A PCA is computed from all samples at once."]);
    }

    #[test]
    fn the_weights_of_pcae_follow_the_smallest_index_beyond_the_threshold() {
        let gamma = "gamma: Dynamic(threshold: 0.99, every: Epochs(10))";
        let model = format!("Pcae(latent: 2, network: Paper(of: Mnist), beta: 1, {gamma})");
        assert_eq!(
            training(&model, &[1, 32, 32])[1..],
            [
                "The optimizer is Adam with a learning rate of 0.001 (constant) and no weight \
                 decay, for 10 steps in batches of 4.",
                "PCAE compares distances a between codes and b along the data by |a² - b²|.",
                "PCAE's weights gamma follow the variances of all training codes every 10 epochs: \
                 j is the smallest index whose cumulative variance exceeds 99 % of the total.",
            ]
        );
    }

    #[test]
    fn defaults_are_told_like_settings() {
        assert_eq!(
            words(r#"Relevance(model: "m", data: "d", threshold: 0.99, also: [0.999])"#, &[]),
            [
                "Coordinates are counted by relevance, as in ARD-VAE's published code, until they hold \
              more than 99 % or 99.9 % of the total; variances are those of up to 10000 samples \
              drawn at random, Jacobians are taken at 100."
            ]
        );
        let between = "between: Midpoints(count: 5, seed: 0)";
        let middle = |more: &str| {
            words(&format!(r#"Interpolate(model: "m", data: "d", {between}, {more})"#), &[])
        };
        assert_eq!(
            middle("coordinates: First(8)"),
            [
                "Decoded are midpoints of 5 random pairs; the coordinates after the first 8 have their \
              mean."
            ]
        );
        assert_eq!(
            middle("coordinates: First(8), others: Zero"),
            ["Decoded are midpoints of 5 random pairs; the coordinates after the first 8 are 0."]
        );
        let smoothness = r#"Score(model: "m", data: "d", metric: Smoothness(seed: 0))"#;
        assert_eq!(
            words(smoothness, &[]),
            [
                "Smoothness is the population variance of 10 step lengths, averaged over 1000 random \
              pairs, times 100."
            ]
        );
        let anchors = "anchors: Anchors(count: 50, seed: 0)";
        assert_eq!(
            words(&format!(r#"Geodesic(data: "d", neighbors: 5, {anchors})"#), &[]),
            [
                "Distances are shortest paths on a graph that links each of 50 samples drawn at random \
              with its 5 nearest ones, divided by their mean; any other sample takes the distances \
              of its nearest one there."
            ]
        );
        assert!(words(r#"Encode(model: "m", data: "d")"#, &[]).is_empty());
    }
}
