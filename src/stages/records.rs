//! Loads the records that tables and figures show.

use crate::engine::stage::Each;
use crate::engine::stage::context::{RunContext, StageError};
use crate::report::{Record, Values};

/// Loads families of records with the labels of the stages that made them.
pub(super) fn labeled_records(
    context: &RunContext,
    families: &[Each<Values>],
) -> Result<Vec<Record>, StageError> {
    let mut records = Vec::new();
    for family in families {
        for (labels, values) in context.load_each(family)? {
            records.push(Record::new(labels, values)?);
        }
    }
    Ok(records)
}
