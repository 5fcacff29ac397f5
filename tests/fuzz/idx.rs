//! Any bytes as MNIST's images and labels.

#![no_main]

use libfuzzer_sys::fuzz_target;
use readers::data::DataSet;
use readers::data::sets::mnist::Mnist;
use readers::numerics::Seed;
use readers::{laid_out, read_all};

fuzz_target!(|bytes: &[u8]| {
    // The first byte says where the images end and the labels begin.
    let Some((&cut, bytes)) = bytes.split_first() else {
        return;
    };
    let (images, labels) = bytes.split_at(bytes.len() * usize::from(cut) / 255);
    let files = laid_out(&[
        ("train-images-idx3-ubyte", images),
        ("train-labels-idx1-ubyte", labels),
        ("t10k-images-idx3-ubyte", images),
        ("t10k-labels-idx1-ubyte", labels),
    ]);
    read_all(Mnist { seed: Seed(0) }.open(&files));
});
