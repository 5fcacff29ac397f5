//! Units of measured values.

use super::settings_in_words::loss_in_words;
use super::{AnyStage, MetricSpec};
use crate::models::Reconstruction;
use crate::report::{RecordValue, Values};

/// Returns the unit of a value in a stage's record, where it has one: most are counts, shares and
/// distances.
pub fn unit(stage: &AnyStage, value: &str, record: &Values) -> Option<String> {
    match stage {
        AnyStage::Runtime(_) => {
            let is_time = value.contains("seconds") || value.ends_with("_quartile");
            is_time.then(|| "s".to_owned())
        }
        AnyStage::Classify(_) => value.ends_with("_percent").then(|| "%".to_owned()),
        AnyStage::Score(score) => match (&score.metric, value) {
            (MetricSpec::Reconstruction, "reconstruction") => match record.get("loss") {
                Some(RecordValue::Text(loss)) => Some(loss.clone()),
                _ => None,
            },
            (MetricSpec::SquaredError, "squared_error") => {
                Some(loss_in_words(Reconstruction::SquaredError).to_owned())
            }
            _ => None,
        },
        _ => None,
    }
}
