//! Any bytes as an npy or npz file of images and of vectors.

#![no_main]

use libfuzzer_sys::fuzz_target;
use readers::data::DataSet;
use readers::data::sets::array::{ArrayContent, ArrayFile, Layout, PixelRange};
use readers::{laid_out, read_all};

fuzz_target!(|bytes: &[u8]| {
    let files = laid_out(&[("array.npz", bytes)]);
    let contents = [
        ArrayContent::Images { layout: Layout::Nhw, range: PixelRange::Bytes },
        ArrayContent::Images { layout: Layout::Nhwc, range: PixelRange::Unit },
        ArrayContent::Vectors,
    ];
    for content in contents {
        read_all(ArrayFile { content, array: None, labels: None }.open(&files));
    }
});
