//! Fashion-MNIST: images of clothing in the files and the form of MNIST.
//!
//! Reference: Xiao et al. 2017. Parts are made as for MNIST (`mnist.rs`).
//! Checked against: the published numbers of images of each class, on the real files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mnist::{self, zero};
use super::published::Published;
use crate::data::{Content, DataError, DataSet, Extent, Files, Samples};
use crate::numerics::Seed;

/// The classes of Fashion-MNIST.
const ARTICLES: [&str; 10] = [
    "t-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
];

/// Settings of Fashion-MNIST, for instance `FashionMnist()`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FashionMnist {
    /// Decides which half of the official test images is used for validation.
    #[serde(default = "zero")]
    pub seed: Seed,
}

impl DataSet for FashionMnist {
    fn content(&self) -> Content {
        Content::Images
    }

    fn reads_files(&self) -> bool {
        true
    }

    fn open(&self, files: &Files) -> Result<Samples, DataError> {
        mnist::open(files, self.seed, ARTICLES)
    }

    fn extent(&self) -> Option<Extent> {
        Some(mnist::extent())
    }
}

/// The files of Fashion-MNIST.
pub(super) const FILES: &[Published] = &mnist::files(
    [
        (
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            26_421_880,
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        ),
        (
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            29_515,
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        ),
        (
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            4_422_102,
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        ),
        (
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            5_148,
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ],
    &MIRRORS,
);

const MIRRORS: [&str; 2] = [
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
];
