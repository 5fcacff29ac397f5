//! Where samples come from: first a catalog of what there is, then the pixels of what is wanted.
//!
//! Rows are chosen from the catalog alone (by factor, class, split, at random), so a set of 737,280
//! images of which 64,512 are wanted never stands in memory, nor do its unwanted files get decoded.

use super::{Annotations, DataError, ImageShape, Split, Vectors};

/// What a source holds, without any pixels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    /// Number of samples.
    pub count: usize,
    /// What is known of each sample.
    pub annotations: Annotations,
    /// The part of each sample, where the publishers of the set have laid it down.
    pub partition: Option<Vec<Split>>,
}

/// An image that could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its place in the block that was asked for.
    pub position: usize,
    /// The file, the place and what is wrong, in one line.
    pub message: String,
}

/// Images that are read in blocks.
pub trait ImageSource {
    /// Returns what there is.
    fn catalog(&self) -> &Catalog;

    /// Returns the shape of every image.
    fn shape(&self) -> ImageShape;

    /// Returns how many images to ask for at a time: enough to keep all cores busy, and never so many
    /// that memory feels it.
    fn block(&self) -> usize {
        const BYTES: usize = 32 << 20;
        (BYTES / self.shape().pixels().max(1)).clamp(1, 2048)
    }

    /// Reads images into `pixels` (channel, row, column order, one image after the other), using all
    /// cores where that helps. Over all calls, rows only ever grow, so that a compressed stream is
    /// read once, forward. Images that are damaged by themselves are told, and their pixels are
    /// left as they are; a source that can't go on gives an error.
    fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError>;
}

/// A source that is open for reading.
pub enum Samples {
    /// Images, read in blocks.
    Images(Box<dyn ImageSource>),
    /// Vectors, all in memory, with the part of each where one is laid down.
    Vectors(Vectors, Option<Vec<Split>>),
}
