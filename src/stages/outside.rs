//! Which stages do something besides computing from their inputs: those of a stranger's pipeline are not run.

use super::{AnyStage, FeatureNetwork};

/// Says what a stage does outside of its inputs and its output, if anything. Every kind is asked: a new one
/// has to answer.
pub fn why_outside(stage: &AnyStage) -> Option<&'static str> {
    const READS: &str = "it reads files from outside";
    match stage {
        AnyStage::Command(_) => Some("it runs a program of the pipeline's author"),
        AnyStage::Download(_) => Some("it downloads files"),
        AnyStage::Dataset(dataset) => dataset.path.as_ref().map(|_| READS),
        AnyStage::Features(features) => match &features.network {
            FeatureNetwork::Inception(network) => network.path.as_ref().map(|_| READS),
            FeatureNetwork::Classifier(_) | FeatureNetwork::Pixels => None,
        },
        AnyStage::Classify(_)
        | AnyStage::Conclusion(_)
        | AnyStage::Encode(_)
        | AnyStage::Estimate(_)
        | AnyStage::Figure(_)
        | AnyStage::Frechet(_)
        | AnyStage::Geodesic(_)
        | AnyStage::Interpolate(_)
        | AnyStage::Neighbors(_)
        | AnyStage::Preprocess(_)
        | AnyStage::Relevance(_)
        | AnyStage::Runtime(_)
        | AnyStage::Score(_)
        | AnyStage::Table(_)
        | AnyStage::Train(_)
        | AnyStage::TrainClassifier(_) => None,
    }
}
