//! `Geodesic`: distances along the neighbor graph of training images.
//!
//! ```ron
//! "distances": Geodesic(data: "train-images", neighbors: 15)
//! ```

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::artifacts::TrainImages;
use super::counter;
use crate::data::Images;
use crate::engine::context::{RunContext, StageError};
use crate::engine::digest::ContentDigest;
use crate::engine::stage::{Input, Kind, Stage, StageRef};
use crate::geometry::{Distances, GeodesicSpec, Rescale};

/// The file that says which images the distances are between.
pub(super) const IMAGES_DIGEST: &str = "images.blake3";

/// Returns what tells a set of images from any other.
pub(super) fn image_digest(images: &Images) -> String {
    ContentDigest::of_bytes(images.pixels()).to_string()
}

/// Settings of a geodesic stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geodesic {
    /// The images, compared pixel by pixel.
    pub data: StageRef<TrainImages>,
    /// Neighbors of each image in the graph.
    pub neighbors: NonZeroUsize,
    /// What distances are divided by.
    #[serde(default)]
    pub rescale: Rescale,
}

impl Stage for Geodesic {
    fn kind(&self) -> Kind {
        Kind { name: "Geodesic", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.data.input("data")]
    }

    fn output(&self, _inputs: &[Vec<String>]) -> String {
        "distances".to_owned()
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let images = context.load(&self.data)?.0;
        let points = images.to_points();
        let spec = GeodesicSpec { neighbors: self.neighbors, rescale: self.rescale };
        context.log(&format!(
            "{} points with {} coordinates, {} neighbors each",
            points.rows(),
            points.width(),
            self.neighbors
        ));
        let distances = Distances::geodesic(&points, &spec, &mut counter(context, "point"))?;
        let scaling = match self.rescale {
            Rescale::UnitMean => "before scaling, 1 after it",
            Rescale::None => "and no scaling",
        };
        context.log(&format!("mean distance {:.6} {scaling}", distances.mean_before_scaling()));
        context.store(&distances)?;
        Ok(context.writer().write(IMAGES_DIGEST, image_digest(&images).as_bytes())?)
    }
}
