//! `Dataset`: one split of an image set.
//!
//! ```ron
//! "train-images": Dataset(
//!     source: Dsprites(Render(size: 16, supersampling: 8,
//!                             factors: Continuous(samples: 3000, seed: 0))),
//!     split: Train,
//! )
//! ```

use serde::{Deserialize, Serialize};

use super::artifacts::{AnyImages, images_kind};
use super::counter;
use crate::data::{DatasetSpec, Split};
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Input, Kind, Stage};

/// Settings of a data set stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Which images.
    pub source: DatasetSpec,
    /// Which part of them.
    pub split: Split,
}

impl Stage for Dataset {
    fn kind(&self) -> Kind {
        Kind { name: "Dataset", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        Vec::new()
    }

    fn output(&self) -> String {
        images_kind(self.split).to_owned()
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let images = self.source.load(self.split, &mut counter(context, "image"))?;
        context.log(&format!(
            "{} images of {}, split {}, factors {}",
            images.len(),
            images.shape(),
            self.split.name(),
            images.factors().names.join(", ")
        ));
        context.store(&AnyImages(images))
    }
}
