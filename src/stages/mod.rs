//! The stage kinds that a pipeline file may use, and the only code that knows both halves.
//!
//! One file per kind: the settings as the user writes them, with the documentation that
//! `pcae-run explain` shows, and a `run` that loads inputs, calls one function of the science side
//! and stores one artifact. A kind is declared by one line of `stage_kinds!`; tests fail to compile
//! until its key is pinned, and fail until its settings have an example.

mod artifacts;
mod calibration;
mod compute_device;
mod cost;
mod epoch_timer;
mod live_curves;
mod missing_files;
mod outside;
mod pytorch;
mod records;
mod report_checker;
mod samples;
mod settings_in_words;
#[cfg(test)]
mod test_inputs;
mod units;

use std::any::Any;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::stage::context::RunContext;
use crate::engine::stage::lifecycle::Progress;
use crate::engine::stage::{DeviceProblem, Stage, StageSet};
use crate::report::folder;

pub use artifacts::{AnyImages, AnySamples, TrainImages, TrainSamples, TrainingHistory};
pub use calibration::{TrainingRate, default_rate, measure_rate, paper_rates};
pub use command::AnyFiles;
pub use features::{FeatureNetwork, InceptionSpec};
pub use live_curves::write_curves;
pub use missing_files::{MissingFile, missing_files};
pub use outside::why_outside;
pub use pytorch::{PytorchError, is_model, leaves_model, pytorch_files};
pub use score::MetricSpec;
pub use settings_in_words::settings_in_words;
pub use train::EPOCH_SECONDS;
pub use units::unit;

/// Declares every kind by its module and the settings in it: the module, the variant of
/// [`AnyStage`] that is named like the settings, the way to its [`Stage`], and its name in
/// [`AnyStage::KINDS`].
macro_rules! stage_kinds {
    ($($module:ident::$kind:ident,)+) => {
        $(
            mod $module;
            pub use $module::$kind;
        )+

        /// A stage of any kind.
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[expect(missing_docs, reason = "what a kind does is said once, at its settings")]
        pub enum AnyStage {
            $($kind($kind),)+
        }

        impl AnyStage {
            /// The names of all kinds.
            pub const KINDS: &'static [&'static str] = &[$(stringify!($kind)),+];

            /// A stage of each kind, with the key of its settings.
            #[cfg(test)]
            const PINNED: &'static [(&'static str, &'static str)] = &[$($module::PINNED),+];
        }

        impl StageSet for AnyStage {
            fn as_stage(&self) -> &dyn Stage {
                match self {
                    $(Self::$kind(stage) => stage,)+
                }
            }

            fn check_device(name: &str) -> Result<(), DeviceProblem> {
                compute_device::check(name)
            }

            fn explain_panic(&self, device: &str, panic: &(dyn Any + Send)) -> Option<String> {
                compute_device::explain(self, device, panic)
            }

            fn reserved_report_file(stage: &str) -> Option<&'static str> {
                folder::own_file(stage)
            }
        }
    };
}

stage_kinds! {
    classify::Classify,
    command::Command,
    conclusion::Conclusion,
    dataset::Dataset,
    download::Download,
    encode::Encode,
    estimate::Estimate,
    features::Features,
    figure::Figure,
    frechet::Frechet,
    geodesic::Geodesic,
    interpolate::Interpolate,
    neighbors::Neighbors,
    preprocess::Preprocess,
    relevance::Relevance,
    runtime::Runtime,
    score::Score,
    table::Table,
    train::Train,
    train_classifier::TrainClassifier,
}

/// Returns a callback that reports counts as progress.
fn report_counts<'a>(context: &'a mut RunContext, unit: &'a str) -> impl FnMut(u64, u64) + 'a {
    move |done, total| {
        context.progress(Progress { done, total, unit: unit.to_owned(), ..Progress::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::key::builder;
    use crate::engine::pipeline::values::dialect;

    #[test]
    fn settings_of_every_kind_have_pinned_keys() {
        // A change here makes every user compute again: raise the kind's version on purpose instead.
        let mut changed = Vec::new();
        for (kind, (text, pinned)) in AnyStage::KINDS.iter().zip(AnyStage::PINNED) {
            let stage: AnyStage = dialect().from_str(text).unwrap();
            let record = builder::bare_record(&stage);
            assert_eq!(record.kind, *kind);
            let key = record.key().short();
            if key != *pinned {
                changed.push(format!("{kind}: {pinned} is now {key}"));
            }
        }
        assert!(changed.is_empty(), "{changed:#?}");
    }
}
